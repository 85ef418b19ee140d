//! What switches do with marked packets and whether they do it alike: class maps, PFC at every port, and settings
//! that differ between switches of a tier; NICs that are plugged into another rail.

use super::words::{count, some};
use super::{Evidence, advice};
use crate::advice::Advice;
use crate::check::{Aspect, Check};
use crate::phase::Phase;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{ClassId, Fabric, PortId, Switch};
use xoff_report::Verdict;
use xoff_transport::config::Congestion;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let all = [class_map(evidence), same_settings(evidence), on_rail(&evidence.setup.fabric)];
    all.into_iter().flatten().collect()
}

fn check(name: &str, title: &str) -> Check {
    Check::new(Phase::Laboratory, name, title)
}

/// Switches at which a class is not protected by PFC on some port.
pub(super) fn unprotected(fabric: &Fabric, class: ClassId) -> Vec<String> {
    let bare = |switch: &&Switch| {
        let mut ports = switch.ports.clone();
        ports.any(|port| !fabric.ports[port as usize].classes[usize::from(class.0)].lossless)
    };
    fabric.switches.iter().filter(bare).map(|switch| switch.name.clone()).collect()
}

/// Where the DSCPs that NICs write lead: data and notifications must be in their classes at every switch.
fn class_map(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    if !evidence.pauses() || fabric.switches.is_empty() {
        return None;
    }
    let astray = |class: ClassId| -> Vec<String> {
        let mut written: BTreeMap<u8, Vec<&str>> = BTreeMap::new();
        for nic in &fabric.nics {
            written.entry(nic.dscp[usize::from(class.0)]).or_default().push(&nic.name);
        }
        let lost = |dscp: u8| -> BTreeMap<u8, Vec<String>> {
            let mut lost: BTreeMap<u8, Vec<String>> = BTreeMap::new();
            for switch in &fabric.switches {
                let there = switch.dscp_to_class[usize::from(dscp)];
                if there != class {
                    lost.entry(there.0).or_default().push(switch.name.clone());
                }
            }
            lost
        };
        let words = written.iter().flat_map(|(dscp, nics)| {
            lost(*dscp).into_iter().map(move |(there, switches)| {
                format!(
                    "DSCP {dscp} of {} is class {there} at {}, not {}",
                    count(nics.len() as u64, "NIC", "NICs"),
                    some(&switches),
                    class.0
                )
            })
        });
        words.collect()
    };
    let data = astray(fabric.data_class);
    let notified = fabric.nics.iter().any(|nic| matches!(nic.qp.congestion, Congestion::Dcqcn(_)));
    let cnp = fabric.cnp_class.filter(|_| notified).map_or(Vec::new(), astray);
    let verdict = match (data.is_empty(), cnp.is_empty()) {
        (true, true) => Verdict::Pass,
        (true, false) => Verdict::Warn,
        (false, _) => Verdict::Fail,
    };
    let wrong: Vec<String> = data
        .iter()
        .map(|words| format!("RDMA data: {words}"))
        .chain(cnp.iter().map(|words| format!("notifications: {words}")))
        .collect();
    let seen = match wrong.is_empty() {
        true => "data and notifications are in their classes at every switch".to_owned(),
        false => some(&wrong),
    };
    let mut check = check("class-map", "NICs and switches agree on DSCPs")
        .about(Aspect::Lossless)
        .done("put the DSCPs that NICs write through the map of every switch")
        .seen(seen, "the class that the traffic is meant to have, at every switch")
        .verdict(verdict)
        .places(wrong);
    if verdict == Verdict::Fail {
        check = check.headline();
    }
    let as_switches = advice::dscp_of_switches(evidence);
    Some(check.consider(advice::as_the_others(evidence, &["class"]).into_iter().chain(as_switches)))
}

/// Settings of a port that are to be the same at all ports of the same kind, by name.
fn of_a_port(fabric: &Fabric, port: PortId) -> Vec<(&'static str, String)> {
    let classes = &fabric.ports[port.index()].classes;
    let each = |of: fn(&xoff_fabric::model::PortClass) -> String| -> String {
        classes.iter().map(of).collect::<Vec<_>>().join(" ")
    };
    vec![
        ("ECN", each(|class| format!("{:?}", class.ecn))),
        ("PFC", each(|class| format!("{} {:?}", class.lossless, class.threshold))),
        ("XON", each(|class| class.xon_offset.to_string())),
        ("headroom", each(|class| class.headroom.to_string())),
        ("scheduling", each(|class| format!("{:?}", class.scheduling))),
        ("egress limits", each(|class| format!("{:?}", class.egress_limit))),
    ]
}

/// Settings of a switch that are to be the same at all of its tier.
fn of_a_switch(switch: &Switch) -> Vec<(&'static str, String)> {
    vec![
        ("the watchdog", format!("{:?}", switch.watchdog)),
        ("the class map", format!("{:?}", switch.dscp_to_class)),
        ("hash fields", format!("{:?}", switch.hash.fields)),
        ("balancing", format!("{:?}", switch.balancing)),
        ("the MTU", switch.mtu.to_string()),
        ("the discipline", format!("{:?}", switch.discipline)),
    ]
}

/// Whose setting is not the usual one: the setting, then those that have another than most. Of two that are as many, those
/// are the usual ones that the file makes no exceptions of.
fn odd(
    values: &BTreeMap<(String, &'static str), BTreeMap<String, Vec<String>>>,
    exceptions: &BTreeSet<String>,
) -> Vec<String> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for ((_, setting), by_value) in values.iter().filter(|(_, by_value)| by_value.len() > 1) {
        let plain =
            |names: &[String]| names.iter().filter(|name| !exceptions.contains(*name)).count();
        let usual = by_value.iter().max_by_key(|(_, names)| (names.len(), plain(names)));
        let usual = usual.map(|(value, _)| value);
        for (_, names) in by_value.iter().filter(|(value, _)| Some(*value) != usual) {
            found.entry(setting).or_default().extend(names.iter().cloned());
        }
    }
    let line = |(setting, mut names): (&str, Vec<String>)| {
        names.sort();
        names.dedup();
        format!("{setting} at {}", some(&names))
    };
    found.into_iter().map(line).collect()
}

/// Switches that have settings of their own in the file.
fn exceptions(text: &str) -> BTreeSet<String> {
    let file: toml::Table = text.parse().unwrap_or_default();
    let entries = file.get("device").and_then(toml::Value::as_array);
    let names = |entry: &toml::Value| -> Vec<String> {
        let one = entry.get("name").into_iter();
        let list = entry.get("names").and_then(toml::Value::as_array).into_iter().flatten();
        one.chain(list).filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    entries.into_iter().flatten().flat_map(names).collect()
}

/// One switch that is configured otherwise than the others of its tier.
fn same_settings(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let mut values: BTreeMap<(String, &'static str), BTreeMap<String, Vec<String>>> =
        BTreeMap::new();
    let mut put = |group: &str, (setting, value): (&'static str, String), switch: &Switch| {
        let by_value = values.entry((group.to_owned(), setting)).or_default();
        let names = by_value.entry(value).or_default();
        if names.last() != Some(&switch.name) {
            names.push(switch.name.clone());
        }
    };
    for switch in &fabric.switches {
        let group = format!("{:?} {}", switch.tier, switch.silicon);
        for setting in of_a_switch(switch) {
            put(&group, setting, switch);
        }
        for port in switch.ports.clone().map(PortId) {
            let peer = fabric.ports[fabric.ports[port.index()].peer.index()].node;
            let towards = fabric.node_switch(peer).map(|peer| fabric.switches[peer.index()].tier);
            // Headroom follows from the cable.
            let cable = fabric.cable(port);
            let kind = format!("{group} {towards:?} {} {}", cable.rate, cable.delay);
            for setting in of_a_port(fabric, port) {
                put(&kind, setting, switch);
            }
        }
    }
    (fabric.switches.len() > 1).then_some(())?;
    let odd = odd(&values, &exceptions(evidence.text));
    let seen = match odd.is_empty() {
        true => "switches of a tier have the same settings".to_owned(),
        false => format!("different: {}", some(&odd)),
    };
    let check = check("same-settings", "Switches of a tier are configured alike")
        .done("compared ECN, PFC, headroom, scheduling, class maps, hash, balancing, MTU and watchdog within tiers")
        .seen(seen, "one configuration for a tier")
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
    Some(check.consider((!off.is_empty()).then(|| Advice::words(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let derived = xoff_fabric::derived::Derived::of(&setup);
        let all = super::super::laboratory::checks(&evidence, &derived).into_iter();
        let all = all.chain(checks(&evidence));
        let wrong = all.filter(|check| check.verdict != Verdict::Pass);
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
            ("same-settings", "[[device]]\nname = 'spine1'\necn = { enabled = false }"),
            ("same-settings", "[[device]]\nname = 'leaf2'\npfc = { alpha = '1/64' }"),
            ("same-settings", "[[device]]\nname = 'leaf2'\nwatchdog = { enabled = false }"),
            ("same-settings", "[[device]]\nname = 'leaf2'\nhash = { fields = ['addresses'] }"),
            ("pfc", "[[device]]\nname = 'spine1'\npfc = { enabled = false }"),
            ("pfc", "[switch.spine.pfc]\nenabled = false"),
            ("class-map", "[[device]]\nname = 'spine0'\n[[device.class]]\nid = 3\ndscp = [24]"),
            ("class-map", "[nic.dscp]\ndata = 10"),
            ("class-map", "[[host]]\nservers = [2]\ndscp = { cnp = 0 }"),
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
