//! Numbers of a fabric file that cannot be, or are unusual.

use super::{adaptive, local, transport};
use crate::build::receive;
use crate::diagnostic::code;
use crate::document::{Path, Report, Step, keys};
use crate::file::{
    EcnSettings, FabricFile, Kind, NotifyName, Quanta, ReceiveSettings, ResponseSetting,
    SchedulingEntry,
};
use crate::rules::packet;
use crate::rules::pause::QUANTUM;
use xoff_transport::config::Notification;
use xoff_units::{Bytes, PacketRate, Ratio, Span};

/// Checks everything that does not need the topology.
pub(crate) fn fabric(file: &FabricFile, report: &mut Report<'_>) {
    pfc(file, report);
    ecn(&file.ecn, &file.ecn, &[Step::Key("ecn")], report);
    marking(file, report);
    adaptive::check(file, report);
    classes(file, report);
    layout(file, report);
    nic(file, report);
    transport::check(&file.transport.qp, report);
    credits(file, report);
    local::check(file, report);
}

pub(super) fn impossible(
    report: &mut Report<'_>,
    path: &Path<'_>,
    message: impl Into<String>,
    help: &str,
) {
    report.error(code::IMPOSSIBLE, path, message, help);
}

fn pfc(file: &FabricFile, report: &mut Report<'_>) {
    let pfc = &file.pfc;
    if pfc.alpha.is_some_and(Ratio::is_zero) {
        let message = "with alpha 0 every packet pauses the sender";
        impossible(report, keys!["pfc", "alpha"], message, "1/8 is usual");
    }
    if pfc.alpha.is_some() && pfc.xoff.is_some() {
        let message = "`alpha` and `xoff` both say when to pause";
        impossible(report, keys!["pfc", "xoff"], message, "keep one of them");
    }
    if let Some(xoff) = pfc.xoff {
        if xoff.is_zero() {
            let message = "with xoff 0 every packet pauses the sender";
            impossible(report, keys!["pfc", "xoff"], message, "give a size of several packets");
        } else if pfc.xon_offset >= xoff {
            let message =
                format!("resuming {} below an XOFF of {xoff} is below empty", pfc.xon_offset);
            let help = "xon-offset has to be smaller than xoff";
            impossible(report, keys!["pfc", "xon-offset"], message, help);
        }
    }
    if pfc.quanta == Quanta::Count(0) {
        let message = "a pause of 0 quanta is a resume";
        impossible(report, keys!["pfc", "quanta"], message, "65535 or \"until-resume\" is usual");
    }
    short_pause(file, report);
    if pfc.frame > Bytes::new(9_000) {
        let message = format!("a pause frame of {} is none", pfc.frame);
        impossible(report, keys!["pfc", "frame"], message, "84B with preamble and gap is usual");
    }
    if let ResponseSetting::After(time) = pfc.response
        && time > Span::from_ms(1000)
    {
        let message = format!("a port that answers a pause after {time} never does");
        impossible(report, keys!["pfc", "response"], message, "\"standard\" is usual");
    }
}

/// A link is held back in one way.
fn credits(file: &FabricFile, report: &mut Report<'_>) {
    if file.credits.enabled && file.pfc.enabled {
        let message = "a link is held back by pauses or by credits, not by both";
        let written = |keys: &Path<'_>| {
            report.document().get(keys).is_some_and(|node| node.place.origin.is_some())
        };
        let pfc = keys!["pfc", "enabled"];
        let at = if written(pfc) { pfc } else { keys!["credits", "enabled"] };
        impossible(report, at, message, "turn one of `pfc.enabled` and `credits.enabled` off");
    }
}

/// A pause is refreshed half-way, and the frame that does it may have to wait for a full packet and
/// for another pause frame. A pause whose second half is shorter runs out, and then no headroom is
/// enough. All of it is wire time at one rate, so bytes can be compared.
fn short_pause(file: &FabricFile, report: &mut Report<'_>) {
    let Quanta::Count(quanta) = file.pfc.quanta else { return };
    let pause = QUANTUM * u64::from(quanta);
    let wait = packet::largest(&file.transport.qp) + file.transport.qp.framing.gap + file.pfc.frame;
    if quanta == 0 || pause >= wait * 2 || !file.pfc.enabled {
        return;
    }
    let least = (wait * 2).get().div_ceil(QUANTUM.get());
    report.warn(
        code::UNUSUAL,
        keys!["pfc", "quanta"],
        format!("a pause of {quanta} quanta can run out before it is refreshed, so that packets are lost"),
        format!("a full packet on the wire outlasts its second half: use {least} quanta or more"),
    );
}

/// One set of thresholds: its own values, and those of `[ecn]` where it has none.
fn ecn(own: &EcnSettings, all: &EcnSettings, at: &Path<'_>, report: &mut Report<'_>) {
    let path = |key: &'static str| [at, &[Step::Key(key)]].concat();
    let kmin = own.kmin.or(all.kmin).unwrap_or(Bytes::new(400_000));
    let kmax = own.kmax.or(all.kmax).unwrap_or(Bytes::new(1_600_000));
    if kmin > kmax {
        let message = format!("marking starts at {kmin} (kmin) and is certain at {kmax} (kmax)");
        let key = if own.kmin.is_some() { "kmin" } else { "kmax" };
        impossible(report, &path(key), message, "kmin must not be above kmax");
    }
    share_of_marks(own, at, report);
}

/// A probability, and the rate that thresholds are given for.
pub(super) fn share_of_marks(own: &EcnSettings, at: &Path<'_>, report: &mut Report<'_>) {
    let path = |key: &'static str| [at, &[Step::Key(key)]].concat();
    if own.pmax.is_some_and(|p| p > Ratio::ONE) {
        let message = "a probability above 1";
        impossible(
            report,
            &path("pmax"),
            message,
            "pmax lies between 0 and 1, like 0.2 or \"20%\"",
        );
    }
    if own.at.is_some_and(|rate| rate.bps() == 0) {
        let message = "thresholds for ports of rate zero";
        impossible(report, &path("at"), message, "give the rate they are meant for");
    }
}

/// When switches mark and who notifies is the same for all classes, and has to fit the NICs.
fn marking(file: &FabricFile, report: &mut Report<'_>) {
    let by_switch = file.ecn.notify == Some(NotifyName::Switch);
    if file.ecn.notify_interval.is_some() && !by_switch {
        let message = "receivers notify senders, and switches do not";
        let help = "add `notify = \"switch\"`, or set `transport.cnp-interval` for receivers";
        impossible(report, keys!["ecn", "notify-interval"], message, help);
    }
    if by_switch && file.transport.qp.notification != Notification::Cnp {
        let message = "switches cannot notify senders that wait for marks in acknowledgements";
        let help = "use `transport.notification = \"cnp\"`, or leave `notify` out";
        impossible(report, keys!["ecn", "notify"], message, help);
    }
}

fn classes(file: &FabricFile, report: &mut Report<'_>) {
    for (index, class) in file.classes.iter().enumerate() {
        if let Some(own) = &class.ecn {
            let general = [
                ("mark", own.mark.is_some()),
                ("notify", own.notify.is_some()),
                ("notify-interval", own.notify_interval.is_some()),
                ("adaptive", own.adaptive.is_some()),
            ];
            for (key, _) in general.into_iter().filter(|(_, said)| *said) {
                let message = format!("`{key}` holds for all classes");
                let path =
                    [Step::Key("class"), Step::Index(index), Step::Key("ecn"), Step::Key(key)];
                impossible(report, &path, message, "write it in `[ecn]`");
            }
            ecn(own, &file.ecn, keys!["class", index, "ecn"], report);
        }
        if class.scheduling == Some(SchedulingEntry::Weight(0)) {
            let message = "a class of weight 0 never has its turn";
            impossible(report, keys!["class", index, "scheduling"], message, "give 1 or more");
        }
        for (key, alpha) in [("alpha", class.alpha), ("egress-alpha", class.egress_alpha)] {
            if alpha.is_some_and(Ratio::is_zero) {
                let message = format!("with {key} 0 the class has no buffer");
                impossible(report, keys!["class", index, key], message, "1/8 or more is usual");
            }
        }
    }
    let lossless = file.classes.iter().filter(|c| c.lossless == Some(true)).count();
    if lossless > 2 {
        report.warn(
            code::UNUSUAL,
            keys!["class"],
            format!("{lossless} lossless classes each need headroom on every port"),
            "one is usual, two are common",
        );
    }
}

fn layout(file: &FabricFile, report: &mut Report<'_>) {
    let layout = &file.fabric;
    for (key, ratio) in [
        ("oversubscription", layout.oversubscription),
        ("spine-oversubscription", layout.spine_oversubscription),
    ] {
        if ratio.is_some_and(Ratio::is_zero) {
            let message = "an oversubscription of zero asks for endless uplinks";
            impossible(report, keys!["fabric", key], message, "\"1:1\" is full bandwidth");
        }
    }
    let links = &file.links;
    for (tier, settings) in [("leaf-spine", &links.leaf_spine), ("spine-core", &links.spine_core)] {
        if settings.parallel == Some(0) {
            let message = "no cable between switches that need one";
            impossible(report, keys!["links", tier, "parallel"], message, "give at least 1");
        }
    }
    for (index, link) in file.custom_links.iter().enumerate() {
        if link.parallel == Some(0) {
            let message = "a link of no cables";
            impossible(report, keys!["link", index, "parallel"], message, "give at least 1");
        }
    }
    let listed = !file.nodes.is_empty() || !file.custom_links.is_empty();
    if listed && layout.kind != Kind::Custom {
        let key = if file.nodes.is_empty() { "link" } else { "node" };
        report.error(
            code::TOPOLOGY,
            keys![key, 0],
            format!("[[{key}]] is not used by this kind of fabric"),
            "set `kind = \"custom\"` under [fabric], or remove the list",
        );
    }
}

fn nic(file: &FabricFile, report: &mut Report<'_>) {
    receive_side(file.nic.receive.as_ref(), keys!["nic", "receive"], report);
    packets(file.nic.packet_rate, keys!["nic", "packet-rate"], report);
    for (index, host) in file.hosts.iter().enumerate() {
        receive_side(host.receive.as_ref(), keys!["host", index, "receive"], report);
        packets(host.packet_rate, keys!["host", index, "packet-rate"], report);
    }
}

fn packets(rate: Option<PacketRate>, at: &Path<'_>, report: &mut Report<'_>) {
    if rate.is_some_and(|rate| rate.pps() == 0) {
        let help = "leave it out for no limit, or give a rate like \"200Mpps\"";
        impossible(report, at, "a NIC that handles no packet sends nothing", help);
    }
}

fn receive_side(given: Option<&ReceiveSettings>, at: &Path<'_>, report: &mut Report<'_>) {
    let Some(given) = given else { return };
    let limit = receive(given);
    if limit.rate.bps() == 0 {
        let message = "a NIC that takes nothing in stops the fabric";
        let help = "use a small rate, or a pause-storm in a scenario";
        impossible(report, &[at, keys!["rate"]].concat(), message, help);
    }
    if limit.xoff > limit.buffer || limit.xon > limit.xoff || limit.buffer.is_zero() {
        let message = format!(
            "a receive buffer of {} that pauses at {} and resumes at {}",
            limit.buffer, limit.xoff, limit.xon
        );
        let help = "xon is at most xoff, and xoff is below the buffer";
        impossible(report, at, message, help);
    }
}

#[cfg(test)]
mod tests {
    use crate::load::load_fabric;

    #[test]
    fn pauses_that_run_out_before_their_refresh_are_told() {
        let told = |quanta: &str| {
            let text = format!("[fabric]\nkind = \"single\"\n[pfc]\nquanta = {quanta}\n");
            let loaded = load_fabric(&text);
            assert!(loaded.value.is_some(), "{:?}", loaded.diagnostics);
            loaded.diagnostics.iter().any(|diagnostic| diagnostic.message.contains("refreshed"))
        };
        // 4178 + 20 + 84 bytes take 66.9 quanta.
        assert!(told("1") && told("133"));
        assert!(!told("134") && !told("65535") && !told("\"until-resume\""));
    }
}
