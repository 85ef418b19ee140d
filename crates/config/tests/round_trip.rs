//! What is rendered is read back as it was meant, for every system and random intents.

mod common;

use common::{fabric_files, facts_of, setup};
use proptest::prelude::*;
use xoff_config::device::{Balancing, Maker, PortName, RemarkKind};
use xoff_config::intent::{Choices, Intent};
use xoff_config::number::Priorities;
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn random_hosts_of_every_maker_survive_the_round_trip(file in fabric_files()) {
        let intent = Intent::with(&setup(&file), Choices::all(SystemId::Eos));
        let host = intent.device("server0").unwrap();
        for (maker, name) in [
            (Maker::Nvidia, "mlx5_"), (Maker::Broadcom, "bnxt_re"), (Maker::Amd, "ionic_"), (Maker::Intel, "irdma"),
            // As udev names the devices of any maker.
            (Maker::Broadcom, "rocep1s"),
        ] {
            let mut host = host.clone();
            let ports = std::mem::take(&mut host.ports).into_values().enumerate();
            host.ports = ports
                .map(|(number, mut port)| {
                    port.nic.maker = Some(maker);
                    (PortName::new(format!("{name}{number}")), port)
                })
                .collect();
            check(&host);
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

/// A host of each maker: what is written with its tools is read as it was meant, and nothing of it is unknown.
#[test]
fn hosts_of_every_maker_survive_the_round_trip() {
    for (nic, device, tool) in [
        ("connectx-7", "mlx5_0", "mlnx_qos -i $NET"),
        ("thor-2", "bnxt_re0", "/sys/kernel/config/bnxt_re/"),
        ("pollara-400", "ionic_0", "nicctl update qos"),
        ("e810", "irdma0", "/sys/kernel/config/irdma/"),
    ] {
        let file = common::POD.replacen("connectx-7", nic, 1);
        let file = if nic == "e810" { file.replacen("400Gbps", "100Gbps", 1) } else { file };
        let intent = Intent::with(&setup(&file), Choices::all(SystemId::Eos));
        let host = intent.device("server0").unwrap();
        check(host);
        let mut limits = Vec::new();
        let files = intent.files(host, &mut limits);
        assert!(files[0].text.contains(tool), "{nic}: {}", files[0].text);
        assert!(
            nic == "connectx-7" || !files.iter().any(|file| file.text.contains("mlnx_qos")),
            "{nic}"
        );
        let first = host.ports.keys().next().unwrap();
        assert_eq!(first.as_str(), device);
        // All that is written for the fabric, read and held against it.
        let mut all = xoff_config::Files::default();
        for device in &intent.devices {
            for file in intent.files(device, &mut Vec::new()) {
                all.add(file.name, file.text);
            }
        }
        let found = xoff_config::audit::read(&all);
        assert_eq!((found.devices.len(), found.strange.len()), (intent.devices.len(), 0), "{nic}");
        let report = xoff_config::audit(&found.devices, Some(&intent));
        assert!(report.findings.is_empty(), "{nic}: {:#?}", report.findings);
        // udev may have named the devices otherwise.
        let renamed =
            |name: &PortName| PortName::new(format!("rocep{}", name.as_str().replace('_', "x")));
        let mut other =
            found.devices.iter().find(|device| device.name == "server0").unwrap().clone();
        other.ports =
            other.ports.iter().map(|(name, port)| (renamed(name), port.clone())).collect();
        other
            .ports
            .values_mut()
            .for_each(|port| port.pfc = xoff_config::Said::meant(Priorities::NONE));
        let report = xoff_config::audit(&[other], Some(&intent));
        let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id).collect();
        assert!(rules.contains(&"pfc-missing"), "{nic}: {rules:?}");
        assert_eq!(limits.is_empty(), matches!(nic, "connectx-7" | "thor-2"), "{nic}: {limits:?}");
    }
}
