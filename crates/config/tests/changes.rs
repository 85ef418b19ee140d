//! From a running device to the intent and back.

mod common;

use common::{fabric_files, setup};
use proptest::prelude::*;
use std::sync::Arc;
use xoff_config::approval::{self, Approval};
use xoff_config::device::{Balancing, RemarkKind};
use xoff_config::intent::{Choices, Intent};
use xoff_config::place::{FileId, Said};
use xoff_config::system::{Input, SystemId};
use xoff_config::{Change, Device, Facts};

fn intent(file: &str, system: SystemId, balancing: Balancing) -> Intent {
    Intent::with(&setup(file), Choices { balancing, ..Choices::all(system) })
}

fn parse(system: SystemId, name: &str, text: &str) -> Device {
    system.system().parse(&Input { name, file: FileId(0), text })
}

fn text_of(device: &Device) -> String {
    let system = device.system.system();
    system.render(&system.fit(device, &mut Vec::new())).remove(0).text
}

fn restricted(device: &Device, to: &Device) -> Facts {
    let mut device = device.clone();
    device.ports.retain(|name, _| to.ports.contains_key(name));
    Facts::of(&device)
}

/// There and back on the model.
fn check(old: &Device, new: &Device) {
    let text = text_of(old);
    let running = parse(old.system, &old.name, &text);
    let meant = old.system.system().fit(new, &mut Vec::new());
    let Some(change) = Change::between(&running, new) else {
        assert_eq!(restricted(&running, &meant), Facts::of(&meant));
        return;
    };
    let forth = change.forward.apply(&running);
    assert_eq!(restricted(&forth, &meant), Facts::of(&meant), "{}", old.system);
    let back = change.back.apply(&forth);
    assert_eq!(restricted(&back, &meant), restricted(&running, &meant), "{}", old.system);
    assert!(Change::between(&forth, new).is_none());
}

/// The statements of a change, entered below what runs, make what is meant; those of the way back
/// make what ran. For systems whose configuration is a list of statements.
#[test]
fn statements_there_and_back() {
    let changed = common::POD.replace("'40m'", "'80m'").replace(
        "[switch.watchdog]",
        "[switch]\nmtu = '8000B'\n[ecn]\nkmin = '300KB'\n[switch.watchdog]",
    );
    let mut problems = Vec::new();
    for system in SystemId::ALL.into_iter().filter(|id| *id != SystemId::Sonic) {
        let of = if system == SystemId::Host { SystemId::Eos } else { system };
        let name = if system == SystemId::Host { "server0" } else { "leaf0" };
        let (old, new) =
            (intent(common::POD, of, Balancing::Hash), intent(&changed, of, Balancing::Hash));
        let (old, new) = (old.device(name).unwrap(), new.device(name).unwrap());
        let text = text_of(old);
        let running = parse(system, name, &text);
        let meant = system.system().fit(new, &mut Vec::new());
        let Some(change) = Change::between(&running, new) else {
            problems.push(format!("{system}: no change"));
            continue;
        };
        let both = format!("{text}{}", change.forward.render().remove(0).text);
        let merged = parse(system, name, &both);
        let left = restricted(&merged, &meant).differences(&Facts::of(&meant));
        problems.extend(left.first().map(|d| format!("{system} there: {d:?} of {}", left.len())));
        let all = format!("{both}{}", change.back.render().remove(0).text);
        let merged = parse(system, name, &all);
        let left = restricted(&merged, &meant).differences(&restricted(&running, &meant));
        problems.extend(left.first().map(|d| format!("{system} back: {d:?} of {}", left.len())));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn there_and_back(old in fabric_files(), new in fabric_files()) {
        for system in SystemId::ALL.into_iter().filter(|id| *id != SystemId::Host) {
            let old = intent(&old, system, Balancing::Flowlet);
            let new = intent(&new, system, Balancing::Flowlet);
            for device in old.devices.iter().filter(|d| d.name == "leaf0" || d.name == "server0") {
                check(device, new.device(&device.name).unwrap());
            }
        }
    }
}

/// A port without any QoS gets it, and is bare again after the way back.
#[test]
fn a_bare_port_is_bare_again() {
    for system in SystemId::ALL.into_iter().filter(|id| *id != SystemId::Host) {
        let meant = intent(common::POD, system, Balancing::Hash);
        let leaf = meant.device("leaf0").unwrap();
        let mut running = Device::new("leaf0", system);
        for name in leaf.ports.keys() {
            running.port(name.as_str());
        }
        let change = Change::between(&running, leaf).unwrap();
        let forth = change.forward.apply(&running);
        assert_eq!(Facts::of(&change.back.apply(&forth)), Facts::of(&running), "{system}");
        let back = change.back.render().remove(0).text;
        if system != SystemId::Sonic {
            let first = leaf.ports.keys().next().unwrap().as_str();
            assert!(back.contains(first), "{system}: {back}");
            assert!(
                ["no ", "unset", "delete"].iter().any(|w| back.contains(w)),
                "{system}: {back}"
            );
        }
    }
}

/// What somebody sees of a port: buffers that belong to the whole box are not among it.
fn at_ports(device: &Device, like: &Device) -> Facts {
    let mut device = device.clone();
    device.headroom_pool = Said::Absent;
    device.shared_buffer = Said::Absent;
    for port in device.ports.values_mut() {
        port.groups = Arc::default();
    }
    restricted(&device, like)
}

/// The way there and the way back, entered below what runs and read again, leave a box whose ports
/// had no QoS as it was: for systems whose text can take a statement back.
#[test]
fn statements_make_a_bare_port_bare_again() {
    let mut problems = Vec::new();
    let systems = [
        SystemId::Eos,
        SystemId::NxOs,
        SystemId::Os10,
        SystemId::Cumulus,
        SystemId::Junos,
        SystemId::JunosSet,
        SystemId::PicOs,
    ];
    for system in systems {
        let meant = intent(common::POD, system, Balancing::Flowlet);
        let leaf = meant.device("leaf0").unwrap();
        // Ports with an MTU and nothing else.
        let mut bare = Device::new("leaf0", system);
        for (name, port) in &leaf.ports {
            bare.port(name.as_str()).mtu = port.mtu;
        }
        let text = text_of(&bare);
        let running = parse(system, "leaf0", &text);
        assert_eq!(running.ports.len(), leaf.ports.len(), "{system}: {text}");
        let change = Change::between(&running, leaf).unwrap();
        let there = format!("{text}{}", change.forward.render().remove(0).text);
        let fitted = system.system().fit(leaf, &mut Vec::new());
        let read = parse(system, "leaf0", &there);
        let left = restricted(&read, &fitted).differences(&Facts::of(&fitted));
        problems.extend(left.first().map(|d| format!("{system} there: {d:?} of {}", left.len())));
        let back = change.back.render().remove(0).text;
        let read = parse(system, "leaf0", &format!("{there}{back}"));
        let left = at_ports(&read, leaf).differences(&at_ports(&running, leaf));
        problems.extend(left.first().map(|d| format!("{system} back: {d:?} of {}", left.len())));
        let unknown = read.count(RemarkKind::Unknown) + read.count(RemarkKind::Malformed);
        if unknown > 0 {
            problems.push(format!("{system}: {unknown} statements are not understood"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn an_approval_remembers_and_tells_drift() {
    let approval = Approval::new(
        "ops".into(),
        "2026-11-15T12:00:00Z".into(),
        common::POD.into(),
        Balancing::Hash,
    );
    assert!(approval.is_whole());
    let mut forged = approval.clone();
    forged.fabric = forged.fabric.replace("40m", "10m");
    assert!(!forged.is_whole() && forged.approved(&[]).is_none());
    assert_ne!(
        approval::intent_hash(common::POD, Balancing::Hash),
        approval::intent_hash(common::POD, Balancing::Flowlet)
    );
    let meant = intent(common::POD, SystemId::Eos, Balancing::Hash);
    let mut devices: Vec<Device> =
        meant.devices.iter().map(|d| parse(d.system, &d.name, &text_of(d))).collect();
    let approved = approval.approved(&devices).unwrap();
    assert!(approval::drift(&approved, &devices).is_empty());
    let changed = text_of(&meant.devices[0]).replacen("mtu 9214", "mtu 1500", 1);
    devices[0] = parse(SystemId::Eos, &meant.devices[0].name, &changed);
    let drift = approval::drift(&approved, &devices);
    assert_eq!(drift.len(), 1);
    assert_eq!(drift[0].changed.len(), 1, "{drift:#?}");
    assert_eq!(drift[0].changed[0].left.as_deref(), Some("9.214KB"));
}
