//! Thresholds, headroom and marking of every port, and whether they fit the buffer.

use super::assemble::response;
use super::classes::{ClassPlan, Classes, PauseAt};
use super::distance;
use super::places::{Place, Places};
use super::switches::SwitchKind;
use super::terms::Terms;
use super::wiring::{End, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, Step, keys};
use crate::file::HeadroomSetting;
use crate::model::{CLASSES, Cable, Model, PacketMemory, PortClass, PortId, Switch, Threshold};
use crate::rules::headroom::{self, Situation};
use crate::rules::{buffer, ecn, packet};
use std::collections::BTreeSet;
use xoff_units::{Bytes, Ratio, Span};

/// Computes the rules of ports.
pub(super) struct PortRules<'a> {
    pub(super) terms: &'a Terms<'a>,
    pub(super) wiring: &'a Wiring,
    pub(super) classes: &'a Classes,
    pub(super) places: &'a Places,
}

impl PortRules<'_> {
    /// Time from the scheduler to the wire at one end of a link.
    pub(super) fn latency(&self, end: End) -> Span {
        match end {
            End::Nic(nic) => self.wiring.nic_kinds[self.wiring.nics[nic as usize].kind].latency,
            End::Switch(switch) => self.wiring.kind(switch).latency,
        }
    }

    /// All classes of a port on a cable: of a switch kind, or of a NIC.
    pub(super) fn classes(
        &self,
        kind: Option<usize>,
        cable: usize,
        peer_latency: Span,
    ) -> [PortClass; CLASSES] {
        let cable = &self.wiring.cables[cable];
        std::array::from_fn(|id| match kind {
            None => nic_port(&self.classes.plans[id]),
            Some(kind) => self.switch_port(id, kind, cable, peer_latency),
        })
    }

    fn switch_port(
        &self,
        class: usize,
        kind: usize,
        cable: &Cable,
        peer_latency: Span,
    ) -> PortClass {
        let place = self.places.of(kind);
        let (plan, kind) = (&place.plans[class], &self.wiring.switch_kinds[kind]);
        let threshold = if plan.lossless { self.pause_threshold(plan, cable) } else { lossy(plan) };
        let marking = plan.ecn.map(|plan| {
            if plan.scale { ecn::scaled(plan.ecn, plan.at, cable.rate) } else { plan.ecn }
        });
        PortClass {
            lossless: plan.lossless,
            reserved: plan.reserved,
            threshold,
            xon_offset: if plan.lossless { place.xon_offset } else { Bytes::ZERO },
            headroom: match plan.lossless {
                true => self.headroom(place.headroom, kind, cable, peer_latency),
                false => Bytes::ZERO,
            },
            egress_limit: (!plan.lossless).then_some(match plan.egress_delay {
                Some(delay) => Threshold::Static(cable.rate.bytes_in(delay)),
                None => Threshold::Dynamic(plan.egress_alpha),
            }),
            ecn: marking,
            scheduling: plan.scheduling,
        }
    }

    fn pause_threshold(&self, plan: &ClassPlan, cable: &Cable) -> Threshold {
        let alpha = match plan.pause {
            PauseAt::Size(xoff) => return Threshold::Static(xoff),
            PauseAt::Share(alpha) => alpha,
        };
        let nic = self.terms.host_cable.rate;
        match self.terms.file.pfc.scale_alpha_with_rate {
            true => Threshold::Dynamic(buffer::alpha_at(alpha, nic, cable.rate)),
            false => Threshold::Dynamic(alpha),
        }
    }

    fn headroom(
        &self,
        setting: HeadroomSetting,
        kind: &SwitchKind,
        cable: &Cable,
        peer_latency: Span,
    ) -> Bytes {
        let file = self.terms.file;
        match setting {
            HeadroomSetting::Size(size) => size,
            HeadroomSetting::Delays(count) => {
                Bytes::new(count.of(cable.rate.bytes_in(cable.delay).get()))
            }
            HeadroomSetting::Auto => headroom::headroom(&Situation {
                rate: cable.rate,
                length: cable.length,
                delay: cable.delay,
                port_mtu: kind.mtu,
                largest: packet::largest(&file.transport.qp),
                smallest: packet::smallest(&file.transport.qp),
                gap: file.transport.qp.framing.gap,
                pause_frame: file.pfc.frame,
                response: response(file.pfc.response, cable.rate),
                peer_latency,
                cell: kind.cell,
                silicon: kind.forwards.headroom,
            }),
        }
    }
}

/// A NIC port only takes turns, and obeys pauses.
fn nic_port(plan: &ClassPlan) -> PortClass {
    PortClass {
        lossless: plan.lossless,
        reserved: Bytes::ZERO,
        threshold: Threshold::Static(Bytes::MAX),
        xon_offset: Bytes::ZERO,
        headroom: Bytes::ZERO,
        egress_limit: None,
        ecn: None,
        scheduling: plan.scheduling,
    }
}

/// Lossy classes are held back at egress; at ingress they may take most of the pool.
fn lossy(plan: &ClassPlan) -> Threshold {
    Threshold::Dynamic(plan.alpha.unwrap_or(Ratio::new(8, 1)))
}

/// Reports, once per kind of switch, headroom that does not fit and ECN that marks after PFC.
pub(super) fn check(
    terms: &Terms<'_>,
    fabric: &Model,
    wiring: &Wiring,
    places: &Places,
    report: &mut Report<'_>,
) {
    let mut seen = vec![false; wiring.switch_kinds.len()];
    let mut told = Told::default();
    for (index, switch) in fabric.switches.iter().enumerate() {
        let kind = wiring.switches[index].kind;
        // Switches of one kind may still differ in their cables: only the first complaint counts.
        if seen[kind] {
            continue;
        }
        let PacketMemory { headroom, reserved, shared } = fabric.packet_memory(switch);
        if headroom + reserved >= switch.buffer {
            seen[kind] = true;
            distance::refuse(terms, wiring, fabric, index, (headroom, reserved), report);
            continue;
        }
        let place = places.of(kind);
        check_headroom(fabric, switch, place, &mut told, report);
        check_marking(fabric, switch, shared, place, &mut told, report);
        check_resume(fabric, switch, shared, place, &mut told, report);
    }
}

/// What has been said: once for the fabric, and once for each place with rules of its own.
#[derive(Default)]
struct Told {
    short: BTreeSet<Vec<Step<'static>>>,
    marked: BTreeSet<(Vec<Step<'static>>, usize)>,
    late: BTreeSet<Vec<Step<'static>>>,
}

/// Warns of headroom that a file sets below what the model can need: meant or not, it may drop.
fn check_headroom(
    fabric: &Model,
    switch: &Switch,
    place: &Place,
    told: &mut Told,
    report: &mut Report<'_>,
) {
    if told.short.contains(place.key()) || switch.headroom_pool.is_some() {
        return;
    }
    for port in switch.ports.clone().map(PortId) {
        let lossless = fabric.ports[port.index()].classes.iter().find(|class| class.lossless);
        let Some((class, at)) = lossless.zip(Situation::at(fabric, port)) else { return };
        let (given, needed) = (class.headroom, headroom::needed(&at));
        if given < needed {
            told.short.insert(place.key().to_vec());
            report.warn(
                code::HEADROOM,
                &place.written(&["pfc", "headroom"], keys!["pfc", "headroom"], report),
                format!(
                    "{given} of headroom at `{}` is less than the {needed} that may arrive after a \
                     pause, so the class can lose packets",
                    fabric.port_name(port)
                ),
                "`headroom = \"auto\"` is always enough",
            );
            return;
        }
    }
}

/// ECN has to speak before PFC does. The rule compares with the XOFF point of one ingress queue on
/// an otherwise idle switch, the highest it ever is: if marking cannot start below that it never
/// comes first (an error); if it is not certain there, PFC acts before ECN has said all (a warning).
fn check_marking(
    fabric: &Model,
    switch: &Switch,
    shared: Bytes,
    place: &Place,
    told: &mut Told,
    report: &mut Report<'_>,
) {
    for port in switch.ports.clone() {
        for (id, class) in fabric.ports[port as usize].classes.iter().enumerate() {
            let plan = &place.plans[id];
            let known = (place.key().to_vec(), id);
            let ecn = class.ecn.filter(|_| class.lossless && !told.marked.contains(&known));
            let Some(ecn) = ecn else { continue };
            let xoff = class.reserved + buffer::xoff(class.threshold, shared, 1);
            if ecn.kmax <= xoff {
                continue;
            }
            told.marked.insert(known);
            let rate = fabric.cables[fabric.ports[port as usize].cable.index()].rate;
            let at = format!("on the {rate} ports of `{}`", switch.name);
            let (key, length) =
                if ecn.kmin >= xoff { ("kmin", ecn.kmin) } else { ("kmax", ecn.kmax) };
            let most = switch.ports.len() as u64 - 1;
            let limits = (class.reserved, class.threshold, shared);
            let message = marking_arithmetic(key, length, &at, limits, most);
            let pair = class.reserved + buffer::xoff(class.threshold, shared, 2);
            let most_of_two = Bytes::new(pair.get().saturating_mul(2));
            // What decides when to pause is what has to be larger: `alpha` and `xoff` exclude each other.
            let later = match class.threshold {
                Threshold::Dynamic(_) => "a larger `pfc.alpha` pauses later".to_owned(),
                Threshold::Static(_) => format!(
                    "an `xoff` above {} pauses later, and an `alpha` in its place lets queues grow \
                     while the buffer is free",
                    length.saturating_sub(class.reserved)
                ),
            };
            let help = format!("with {key} below {most_of_two} two ingresses are enough; {later}");
            let path = ecn_path(key, plan, switch.tier.name(), report);
            let path = place.written(&["pfc", "alpha"], &path, report);
            let path = place.written(&["pfc", "xoff"], &path, report);
            let path = place.written(&["ecn", key], &path, report);
            report.warn(code::ECN_ABOVE_XOFF, &path, message, help);
        }
    }
}

/// A resume takes the cable there, and what it lets go takes the cable back: meanwhile the link lives on what is left
/// in the queue, XON. With less than the cable holds there and back the queue runs empty and the link idles after
/// every pause. The rule looks at the highest XON there is, of one ingress on an otherwise idle switch.
fn check_resume(
    fabric: &Model,
    switch: &Switch,
    shared: Bytes,
    place: &Place,
    told: &mut Told,
    report: &mut Report<'_>,
) {
    if told.late.contains(place.key()) {
        return;
    }
    for port in switch.ports.clone().map(PortId) {
        let cable = fabric.cable(port);
        let round = cable.rate.bytes_in(cable.delay * 2);
        let lossless = fabric.ports[port.index()].classes.iter().filter(|class| class.lossless);
        let xon = |class: &PortClass| {
            let xoff = class.reserved + buffer::xoff(class.threshold, shared, 1);
            (xoff.saturating_sub(class.xon_offset), xoff)
        };
        let Some((xon, xoff)) = lossless.map(xon).find(|(xon, _)| *xon < round) else { continue };
        told.late.insert(place.key().to_vec());
        let missing = round.saturating_sub(xon);
        let idle = cable.rate.time_for(missing).as_us_f64();
        let candidates: [&[Step<'_>]; 4] = [
            keys!["pfc", "xon-offset"],
            keys!["pfc", "xoff"],
            keys!["pfc", "alpha"],
            keys!["pfc", "headroom"],
        ];
        let path = first_written(&candidates, report).to_vec();
        let path = place.written(&["pfc", "alpha"], &path, report);
        let path = place.written(&["pfc", "xoff"], &path, report);
        let path = place.written(&["pfc", "xon-offset"], &path, report);
        report.warn(
            code::UNUSUAL,
            &path,
            format!(
                "`{}` resumes its peer with {xon} left (XON: {xoff} less {}), and {round} pass in the \
                 {} that its cable takes there and back: the queue runs empty, and the link can \
                 idle for {idle:.2} us after every pause",
                fabric.port_name(port),
                xoff.saturating_sub(xon),
                cable.delay * 2,
            ),
            match xoff >= round {
                true => format!(
                    "an `xon-offset` of {} or less leaves enough",
                    xoff.saturating_sub(round)
                ),
                false => format!("pause later: XOFF has to be above {round} for this cable"),
            },
        );
        return;
    }
}

/// How many ingresses fill an egress queue to `length` before PFC pauses them, in words. One does not.
fn marking_arithmetic(
    key: &str,
    length: Bytes,
    place: &str,
    limits: (Bytes, Threshold, Bytes),
    most: u64,
) -> String {
    let (reserved, threshold, shared) = limits;
    let paused_at = |ingresses| reserved + buffer::xoff(threshold, shared, ingresses);
    let what = if key == "kmin" { "marking starts" } else { "marking is certain" };
    let alone = format!(
        "{what} at {length} ({key}) {place}, and an ingress that feeds the queue alone is paused at {}",
        paused_at(1)
    );
    match buffer::ingresses_to_fill(length, limits, most) {
        Some((ingresses, each)) => {
            format!(
                "{alone}: it comes before the pause only where {ingresses} or more ingresses, paused at {each} each, feed a queue"
            )
        }
        None => format!(
            "{alone}: it never comes before the pause, as not even {most} ingresses, paused at {} each, fill a queue so far",
            paused_at(most)
        ),
    }
}

/// Where the ECN threshold of a class is written; or else the PFC threshold, or the buffer.
fn ecn_path<'a>(
    key: &'a str,
    plan: &ClassPlan,
    tier: &'a str,
    report: &Report<'_>,
) -> Vec<Step<'a>> {
    let own = plan.entry.map_or(Vec::new(), |index| keys!["class", index, "ecn", key].to_vec());
    let candidates: [&[Step<'a>]; 8] = [
        &own,
        &[Step::Key("ecn"), Step::Key(key)],
        keys!["pfc", "xoff"],
        keys!["pfc", "alpha"],
        &[Step::Key("switch"), Step::Key(tier), Step::Key("buffer")],
        keys!["switch", "buffer"],
        keys!["pfc", "headroom"],
        &[Step::Key("fabric"), Step::Key(tier)],
    ];
    first_written(&candidates, report).to_vec()
}

/// The first of these keys that the user wrote.
pub(super) fn first_written<'c, 'a>(
    candidates: &'c [&'c [Step<'a>]],
    report: &Report<'_>,
) -> &'c [Step<'a>] {
    let written = |path: &&&[Step<'a>]| {
        let node = report.document().get(path).filter(|_| !path.is_empty());
        node.is_some_and(|node| node.place.origin.is_some())
    };
    candidates.iter().find(written).copied().unwrap_or(&[])
}

#[cfg(test)]
mod tests;
