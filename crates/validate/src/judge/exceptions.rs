//! What holds everywhere but here: a switch, a tier or a NIC that is configured or plugged otherwise than the rest.
//!
//! One such place does little to the mean of an experiment, and much to the job whose packets pass it.

use super::words::{percent, some};
use super::{Evidence, advice};
use crate::check::{Aspect, Check};
use crate::phase::Phase;
use std::collections::BTreeMap;
use xoff_fabric::model::{Balancing, ClassId, Fabric, Nic, PortClass, PortId, Switch, Tier};
use xoff_report::Verdict;
use xoff_units::Rate;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let fabric = &evidence.setup.fabric;
    let all = [
        pauses(evidence, fabric),
        code_points(evidence, fabric),
        alike(evidence, fabric),
        on_rail(fabric),
        packet_rate(evidence, fabric),
    ];
    all.into_iter().flatten().collect()
}

fn check(name: &str, title: &str) -> Check {
    Check::new(Phase::Laboratory, name, title)
}

/// A class that is lossless at one end of a path only is not lossless.
fn pauses(evidence: &Evidence<'_>, fabric: &Fabric) -> Option<Check> {
    let data = usize::from(fabric.data_class.0);
    if !fabric.pause.enabled || !fabric.classes[data].lossless {
        return None;
    }
    let lossy = |switch: &&Switch| {
        switch.ports.clone().any(|port| !fabric.ports[port as usize].classes[data].lossless)
    };
    let without: Vec<String> =
        fabric.switches.iter().filter(lossy).map(|switch| switch.name.clone()).collect();
    let seen = match without.len() {
        0 => format!("at all {} switches", fabric.switches.len()),
        number => format!("not at {number} of {}: {}", fabric.switches.len(), some(&without)),
    };
    let check = check("pfc-everywhere", "PFC protects RDMA data on every hop")
        .about(Aspect::Lossless)
        .headline()
        .done("looked for the RDMA class at every port of every switch")
        .seen(seen, "lossless at every switch: one lossy hop is enough to lose packets")
        .verdict(if without.is_empty() { Verdict::Pass } else { Verdict::Fail })
        .places(without);
    Some(check.consider(advice::as_the_others(evidence, &["pfc", "class"])))
}

/// What a NIC writes into a packet decides its class at every switch.
fn code_points(evidence: &Evidence<'_>, fabric: &Fabric) -> Option<Check> {
    let kinds = [
        ("data", Some(fabric.data_class)),
        ("acknowledgements", fabric.ack_class),
        ("notifications", fabric.cnp_class),
    ];
    let kinds = || kinds.iter().filter_map(|(what, class)| Some((*what, (*class)?)));
    // What NICs write and where switches put it, each once.
    let mut written: BTreeMap<(&str, ClassId, u8), u32> = BTreeMap::new();
    for nic in &fabric.nics {
        for (what, class) in kinds() {
            *written.entry((what, class, nic.dscp[usize::from(class.0)])).or_default() += 1;
        }
    }
    let mut wrong = Vec::new();
    for ((what, class, dscp), nics) in written {
        let elsewhere = |switch: &&Switch| switch.dscp_to_class[usize::from(dscp)] != class;
        let names: Vec<String> =
            fabric.switches.iter().filter(elsewhere).map(|switch| switch.name.clone()).collect();
        if !names.is_empty() {
            wrong.push(format!(
                "DSCP {dscp} ({what} of {nics} NICs) is not class {} at {}",
                class.0,
                some(&names)
            ));
        }
    }
    let seen = match wrong.is_empty() {
        true => "every switch puts what NICs send into the class that is meant".to_owned(),
        false => some(&wrong),
    };
    let check = check("dscp", "Switches and NICs agree on what a DSCP means")
        .about(Aspect::Lossless)
        .headline()
        .done("looked up the DSCPs of every NIC in the map of every switch")
        .seen(
            seen,
            "the same class everywhere; what is mapped elsewhere loses PFC, ECN and its queue",
        )
        .verdict(if wrong.is_empty() { Verdict::Pass } else { Verdict::Fail })
        .places(wrong);
    let as_switches = advice::dscp_of_switches(evidence);
    Some(check.consider(advice::as_the_others(evidence, &["class"]).into_iter().chain(as_switches)))
}

/// What of a switch is compared with the others of its tier: a word for it and, where it is about ports, which of them.
type Setting = (&'static str, Option<(Option<Tier>, Rate)>);

/// Everything that is compared, as text.
fn settings(fabric: &Fabric, switch: &Switch) -> BTreeMap<Setting, String> {
    let balancing = match switch.balancing {
        // Seeds differ for good reason.
        Balancing::Hash => format!("{:?}", switch.hash.fields),
        _ => format!("{:?}", switch.balancing),
    };
    let mut all = BTreeMap::from([
        (("load balancing", None), balancing),
        (("DSCP map", None), format!("{:?}", switch.dscp_to_class)),
        (("PFC watchdog", None), format!("{:?}", switch.watchdog)),
    ]);
    for port in switch.ports.clone() {
        let own = &fabric.ports[port as usize];
        let peer = fabric.node_switch(fabric.ports[own.peer.index()].node);
        let tier = peer.map(|peer| fabric.switches[peer.index()].tier);
        let kind = Some((tier, fabric.cable(PortId(port)).rate));
        let mut note = |what, setting: fn(&PortClass) -> String| {
            all.entry((what, kind)).or_insert_with(|| own.classes.iter().map(setting).collect());
        };
        note("ECN", |class| format!("{:?}", class.ecn));
        note("class scheduling", |class| format!("{:?}", class.scheduling));
        // Headroom follows the cable.
        note("PFC", |class| {
            format!("{:?}", (class.lossless, class.reserved, class.threshold, class.xon_offset))
        });
    }
    all
}

/// Switches of the same make in the same tier differ in nothing that decides how packets fare.
fn alike(evidence: &Evidence<'_>, fabric: &Fabric) -> Option<Check> {
    if fabric.switches.len() < 2 {
        return None;
    }
    let mut compared: BTreeMap<(Tier, &str, Setting), BTreeMap<String, Vec<&str>>> =
        BTreeMap::new();
    for switch in &fabric.switches {
        for (setting, value) in settings(fabric, switch) {
            let key = (switch.tier, switch.silicon.as_str(), setting);
            compared.entry(key).or_default().entry(value).or_default().push(&switch.name);
        }
    }
    let mut odd = Vec::new();
    for ((_, _, (what, _)), values) in &compared {
        // Of two halves none is the usual one; the first is as good as the other.
        let usual = values.values().map(Vec::len).max();
        let usual = values.values().position(|names| Some(names.len()) == usual);
        let others = values.values().enumerate().filter(|(at, _)| Some(*at) != usual);
        odd.extend(others.flat_map(|(_, names)| names).map(|name| format!("{name} ({what})")));
    }
    odd.dedup();
    let seen = match odd.is_empty() {
        true => "every switch of a tier has the settings of the others".to_owned(),
        false => format!("otherwise than most of their tier: {}", some(&odd)),
    };
    let check = check("alike", "Switches of a tier are configured alike")
        .done("compared ECN, PFC, classes, DSCPs, watchdog and load balancing within each tier")
        .seen(seen, "no exceptions: a job is as fast as the worst switch that it passes")
        .verdict(if odd.is_empty() { Verdict::Pass } else { Verdict::Warn })
        .places(odd);
    let keys = ["ecn", "pfc", "class", "watchdog", "hash"];
    Some(check.consider(advice::as_the_others(evidence, &keys)))
}

/// A NIC on the leaf of another rail.
fn on_rail(fabric: &Fabric) -> Option<Check> {
    if fabric.nics.iter().all(|nic| nic.rail.is_none()) {
        return None;
    }
    let off: Vec<String> =
        fabric.off_rail().iter().map(|nic| fabric.nics[nic.index()].name.clone()).collect();
    let seen = match off.len() {
        0 => "every NIC is on a leaf of its rail".to_owned(),
        number => format!("{number} of {} are not: {}", fabric.nics.len(), some(&off)),
    };
    let check = check("on-rail", "NICs are plugged into their rail")
        .done("compared the rail of every NIC with that of its neighbours on the same leaf")
        .seen(
            seen,
            "all of a rail on the same leaves: what is plugged elsewhere crosses the spines",
        )
        .verdict(if off.is_empty() { Verdict::Pass } else { Verdict::Warn })
        .places(off.clone());
    let text = format!("move the cables of {} to the leaf of their rail", some(&off));
    Some(check.consider((!off.is_empty()).then(|| crate::advice::Advice::words(text))))
}

/// NICs that cannot make packets fast enough to fill their ports.
fn packet_rate(evidence: &Evidence<'_>, fabric: &Fabric) -> Option<Check> {
    if fabric.nics.iter().all(|nic| nic.packet_rate.is_none()) {
        return None;
    }
    let reached = |nic: &Nic| {
        let rate = nic.packet_rate?;
        let most = rate.pps() as f64 * nic.qp.mtu.get() as f64 * 8.0;
        Some(most / fabric.nic_rate(nic).bps().max(1) as f64)
    };
    let slow = |nic: &&Nic| reached(nic).is_some_and(|share| share < 1.0);
    let names: Vec<String> = fabric.nics.iter().filter(slow).map(|nic| nic.name.clone()).collect();
    let least = fabric.nics.iter().filter_map(reached).fold(f64::INFINITY, f64::min);
    let seen = match names.len() {
        0 => "every NIC makes packets of full size faster than its ports send them".to_owned(),
        _ => {
            format!("packets of full size fill {} of the ports of {}", percent(least), some(&names))
        }
    };
    let check = check("packet-rate", "NICs make enough packets to fill their ports")
        .done("multiplied the packet rate of every NIC by its MTU")
        .seen(seen, "line rate or more with packets of full size")
        .verdict(if names.is_empty() { Verdict::Pass } else { Verdict::Fail })
        .places(names);
    Some(check.consider(advice::usual_packets(evidence)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::Advice;
    use std::collections::BTreeMap;
    use xoff_fabric::load_fabric;

    const BASE: &str = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n\
        [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n\
        [switch.watchdog]\nenabled = true\n";

    /// Checks that do not pass, with their advice.
    fn unhappy(more: &str) -> Vec<(String, Option<Advice>)> {
        let text = format!("{BASE}{more}\n");
        let setup = load_fabric(&text).value.expect(more);
        let (measured, refused) = (BTreeMap::new(), BTreeMap::new());
        let evidence =
            Evidence { setup: &setup, text: &text, measured: &measured, refused: &refused };
        let wrong = checks(&evidence).into_iter().filter(|check| check.verdict != Verdict::Pass);
        wrong
            .map(|mut check| {
                super::super::possible(&evidence, &mut check);
                (check.id.replace("laboratory.", ""), check.advice)
            })
            .collect()
    }

    #[test]
    fn a_fabric_without_exceptions_has_none() {
        assert_eq!(unhappy(""), []);
        // Seeds of the hash differ from switch to switch, and tiers from each other.
        assert_eq!(unhappy("[switch.hash]\nseed = 'per-switch'"), []);
        assert_eq!(unhappy("[switch.leaf.ecn]\nkmin = '300KB'"), []);
    }

    #[test]
    fn exceptions_are_named_and_their_cure_cures() {
        let mistakes = [
            ("alike", "[[device]]\nname = 'spine1'\necn = { enabled = false }"),
            ("alike", "[[device]]\nname = 'leaf2'\npfc = { alpha = '1/64' }"),
            ("alike", "[[device]]\nname = 'leaf2'\nwatchdog = { enabled = false }"),
            ("alike", "[[device]]\nname = 'leaf2'\nhash = { fields = ['addresses'] }"),
            ("pfc-everywhere", "[[device]]\nname = 'spine1'\npfc = { enabled = false }"),
            ("pfc-everywhere", "[switch.spine.pfc]\nenabled = false"),
            ("dscp", "[[device]]\nname = 'spine0'\n[[device.class]]\nid = 3\ndscp = [24]"),
            ("dscp", "[nic.dscp]\ndata = 10"),
            ("dscp", "[[host]]\nservers = [2]\ndscp = { cnp = 0 }"),
            ("packet-rate", "[nic]\npacket-rate = '40Mpps'\n[transport]\nmtu = '512B'"),
        ];
        for (name, keys) in mistakes {
            let found = unhappy(keys);
            let advice = found.iter().find(|(found, _)| found == name);
            let advice = advice.unwrap_or_else(|| panic!("{keys}: {found:?}")).1.as_ref();
            let text = format!("{BASE}{keys}\n");
            let with = advice.and_then(|advice| advice.apply(&text)).expect(keys);
            let rest = with.strip_prefix(BASE).expect("it only takes out");
            assert_eq!(unhappy(rest), [], "{keys}\nbecomes\n{with}");
        }
    }

    #[test]
    fn a_slow_packet_engine_has_no_cure_in_the_file() {
        let found = unhappy("[[host]]\nservers = [2]\npacket-rate = '8Mpps'");
        assert!(
            matches!(&found[..], [(name, Some(advice))]
            if name == "packet-rate" && advice.is_words()),
            "{found:?}"
        );
    }

    #[test]
    fn a_nic_in_the_wrong_leaf_is_off_its_rail() {
        let setup = load_fabric(BASE).value.expect("sound");
        let check = on_rail(&setup.fabric).expect("there are rails");
        assert_eq!(check.verdict, Verdict::Pass);
        // Two NICs of one server change places.
        let fabric = &setup.fabric;
        let ends = |nic: usize| {
            let port = PortId(fabric.nics[nic].ports.start);
            (port, fabric.ports[port.index()].peer)
        };
        let mut wiring = fabric.overlay();
        wiring.swap(ends(0), ends(1)).expect("both cables are there");
        let check = on_rail(&wiring.finish()).expect("there are rails");
        assert_eq!(check.verdict, Verdict::Warn);
        assert_eq!(check.places, [fabric.nics[0].name.clone(), fabric.nics[1].name.clone()]);
    }
}
