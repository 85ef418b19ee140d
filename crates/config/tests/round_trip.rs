//! What is rendered is read back as it was meant, for every system and random intents.

mod common;

use common::{fabric_files, facts_of, setup};
use proptest::prelude::*;
use xoff_config::device::{Balancing, RemarkKind};
use xoff_config::intent::{Choices, Intent};
use xoff_config::system::{Input, SystemId};
use xoff_config::{Device, Facts, Said};
use xoff_units::Bytes;

fn check(device: &Device) {
    let system = device.system.system();
    let meant = system.fit(device, &mut Vec::new());
    let rendered = system.render(&meant);
    assert_eq!(rendered, system.render(&meant), "rendering is not deterministic");
    let text = &rendered[0].text;
    let input = Input { name: &device.name, file: xoff_config::place::FileId(0), text };
    assert_eq!(SystemId::recognise(text), Some(device.system), "not recognised:\n{text}");
    let read = system.parse(&input);
    assert_eq!(read.name, device.name);
    for kind in [RemarkKind::Foreign, RemarkKind::Unknown, RemarkKind::Malformed] {
        let lines: Vec<&str> = read
            .remarks
            .iter()
            .filter(|remark| remark.kind == kind)
            .filter_map(|remark| text.lines().nth(remark.place.first as usize - 1))
            .collect();
        assert!(lines.is_empty(), "{} {kind:?}: {lines:#?}", device.system);
    }
    let different = Facts::of(&meant).differences(&Facts::of(&read));
    assert!(different.is_empty(), "{}: {different:#?}\n{text}", device.system);
    // What is meant survives being fitted twice.
    let again = system.fit(&meant, &mut Vec::new());
    assert_eq!(Facts::of(&again), Facts::of(&meant));
}

fn check_all(file: &str, balancing: Balancing) {
    let setup = setup(file);
    for system in SystemId::ALL.into_iter().filter(|id| *id != SystemId::Host) {
        let intent = Intent::with(&setup, Choices { balancing, ..Choices::all(system) });
        // One switch per tier and one host have seen it all.
        let mut seen = Vec::new();
        for device in &intent.devices {
            let kind: String = device.name.chars().filter(|c| !c.is_ascii_digit()).collect();
            if !seen.contains(&kind) {
                check(device);
                seen.push(kind);
            }
        }
    }
}

#[test]
fn a_pod_survives_the_round_trip() {
    check_all(common::POD, Balancing::Hash);
    check_all(common::POD, Balancing::Flowlet);
}

#[test]
fn facts_do_not_depend_on_places() {
    assert_eq!(facts_of(SystemId::Sonic), facts_of(SystemId::Sonic));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn random_intents_survive_the_round_trip(
        file in fabric_files(),
        balancing in prop_oneof![
            Just(Balancing::Hash), Just(Balancing::Flowlet), Just(Balancing::Packet)
        ],
    ) {
        check_all(&file, balancing);
    }
}

/// What is written says where cables lead, and is read back so.
#[test]
fn cables_survive_the_round_trip() {
    let setup = setup(common::POD);
    for system in [SystemId::Eos, SystemId::NxOs, SystemId::Os10] {
        let intent = Intent::with(&setup, Choices::all(system));
        for device in intent.devices.iter().filter(|device| !device.is_host()) {
            let rendered = system.system().render(&system.system().fit(device, &mut Vec::new()));
            let text = &rendered[0].text;
            let input = Input { name: "", file: xoff_config::place::FileId(0), text };
            let read = system.system().parse(&input);
            for (name, port) in &device.ports {
                let found = read.ports.get(name).and_then(|port| port.neighbour.value());
                assert_eq!(found, port.neighbour.value(), "{} {name}", device.name);
            }
        }
    }
}

/// A port that says no MTU has the system's, and is found to be too small.
#[test]
fn a_missing_mtu_is_the_system_s() {
    let setup = setup(common::POD);
    for (system, mtu) in [(SystemId::Eos, 1500), (SystemId::NxOs, 1500), (SystemId::Os10, 1532)] {
        let intent = Intent::with(&setup, Choices::all(system));
        let leaf = intent.device("leaf0").expect("a leaf");
        let rendered = system.system().render(&system.system().fit(leaf, &mut Vec::new()));
        let lines = rendered[0].text.lines().filter(|line| !line.trim().starts_with("mtu "));
        let text = lines.fold(String::new(), |all, line| all + line + "\n");
        let input = Input { name: "leaf0", file: xoff_config::place::FileId(0), text: &text };
        let read = system.system().parse(&input);
        assert!(read.ports.values().all(|p| p.mtu == Said::Default(Bytes::new(mtu))), "{system}");
        let report = xoff_config::audit::audit(&[read], Some(&intent));
        assert!(report.findings.iter().any(|f| f.rule.id == "mtu-small"), "{system}");
    }
}

/// Rules of a tier and of single devices.
const LOCAL: &str = "
[switch.spine.ecn]
enabled = false

[[switch.leaf.class]]
id = 3
scheduling = 70

[[device]]
name = 'spine1'
watchdog = { enabled = false }
pfc = { enabled = false }

[[device]]
name = 'leaf1'
pfc = { alpha = '1/16', xon-offset = '40KB' }
ecn = { kmin = '200KB', kmax = '900KB', pmax = '10%' }

[[device.class]]
id = 3
dscp = [26, 24]

[[host]]
servers = ['server1']
dscp = { data = 24 }
";

#[test]
fn rules_of_single_devices_survive_the_round_trip_and_their_audit() {
    let setup = setup(&format!("{}{LOCAL}", common::POD));
    for system in SystemId::ALL.into_iter().filter(|id| *id != SystemId::Host) {
        let intent = Intent::with(&setup, Choices::all(system));
        intent.devices.iter().for_each(check);
        let fit = |device: &Device| device.system.system().fit(device, &mut Vec::new());
        let devices: Vec<Device> = intent.devices.iter().map(fit).collect();
        let found = xoff_config::audit::audit(&devices, Some(&intent));
        let found: Vec<String> = found.findings.iter().map(|f| format!("{f:?}")).collect();
        assert!(found.is_empty(), "{system}: {found:#?}");
        let marks = |name: &str| {
            let ports = &intent.device(name).expect("a device").ports;
            ports.values().any(|port| port.queues[3].wred.is_said())
        };
        assert_eq!(["leaf0", "leaf1", "spine0"].map(marks), [true, true, false], "{system}");
    }
}
