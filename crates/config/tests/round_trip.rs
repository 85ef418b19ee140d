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
            if device.is_host() && nic == "pollara-400" {
                // No command turns its notifications on: that they are is no drift.
                let on = |name: &PortName| {
                    format!("NIC : 1\nROCE device : {}\n  Status : Enabled\n", name.as_str())
                };
                let text: String = device.ports.keys().map(on).collect();
                all.add(format!("{}.nicctl_show_dcqcn", device.name), text);
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

/// Two servers with two NICs each, two leaves and a spine, with `ports` of the four links to NICs and the two above.
fn listed(ports: [&str; 6]) -> String {
    let mut file = "[fabric]\nkind = 'custom'\nleaf = 'tomahawk-5'\nspine = 'tomahawk-5'\n\
                    [switch.watchdog]\nenabled = true\n"
        .to_owned();
    for (server, nic) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        file +=
            &format!("[[node]]\nname = 's{server}n{nic}'\nkind = 'nic'\nserver = 's{server}'\n");
    }
    for (name, tier) in [("leaf-a", "leaf"), ("leaf-b", "leaf"), ("top", "spine")] {
        file += &format!("[[node]]\nname = '{name}'\nkind = 'switch'\ntier = '{tier}'\n");
    }
    let ends =
        ["s0n0 leaf-a", "s0n1 leaf-b", "s1n0 leaf-a", "s1n1 leaf-b", "leaf-a top", "leaf-b top"];
    for (ends, ports) in ends.into_iter().zip(ports) {
        let parallel = if ends.ends_with("top") { 2 } else { 1 };
        file += &format!("[[link]]\nends = '{ends}'\nlength = '5m'\nparallel = {parallel}\n");
        if !ports.is_empty() {
            file += &format!("ports = {ports}\n");
        }
    }
    file
}

/// Reads all that is written for a fabric and holds it against the fabric; says how systems cannot say it, and what is found.
fn written_and_audited(file: &str, system: SystemId) -> (Vec<String>, Vec<String>) {
    let setup = setup(file);
    let intent = Intent::with(&setup, Choices::all(system));
    let (mut all, mut limits) = (xoff_config::Files::default(), Vec::new());
    for device in &intent.devices {
        for file in intent.files(device, &mut limits) {
            all.add(file.name, file.text);
        }
    }
    let found = xoff_config::audit::read(&all);
    assert_eq!(found.devices.len(), intent.devices.len());
    let expected = common::intent_for(&setup, Balancing::Hash, &found.devices);
    let report = xoff_config::audit(&found.devices, Some(&expected));
    (limits, report.findings.iter().map(|finding| format!("{finding:?}")).collect())
}

/// Ports that a fabric file names are written and expected by that name.
#[test]
fn names_of_the_fabric_file_survive_the_round_trip() {
    for (system, names) in [
        (SystemId::Eos, ["Ethernet17/1", "Ethernet3/1/5", "Ethernet40", "Ethernet41"]),
        (SystemId::NxOs, ["Ethernet1/17", "Ethernet2/5/2", "Ethernet1/40", "Ethernet1/41"]),
        (SystemId::Sonic, ["Ethernet136", "Ethernet4", "Ethernet320", "Ethernet328"]),
        (SystemId::Junos, ["et-0/0/17", "et-1/0/5:2", "et-0/0/40", "et-0/0/41"]),
        (SystemId::Os10, ["ethernet1/1/17", "ethernet1/1/5:2", "ethernet1/1/40", "ethernet1/1/41"]),
        (SystemId::Cumulus, ["swp17", "swp5s1", "swp40", "swp41"]),
        (SystemId::PicOs, ["xe-1/1/17", "xe-1/1/5.2", "xe-1/1/40", "xe-1/1/41"]),
    ] {
        let [one, two, up, second] = names;
        let host = |nic: &str, port: &str| format!("['{nic} {port}']");
        let above = format!("['{up} {one}', '{second} -']");
        let (first, last) = (host("mlx5_4", one), host("mlx5_bond_1", two));
        // The others are generated, around those.
        let file = listed([&first, "", &last, "", &above, ""]);
        let intent = Intent::with(&setup(&file), Choices::all(system));
        let leaf = intent.device("leaf-a").unwrap();
        let mut sorted = names.map(PortName::new).to_vec();
        sorted.sort();
        assert!(leaf.ports.keys().eq(&sorted), "{system}: {:?}", leaf.ports.keys());
        let leads = leaf.ports[&PortName::new(up)].neighbour.value().unwrap();
        assert_eq!((leads.device.as_str(), leads.port.as_deref()), ("top", Some(one)), "{system}");
        assert!(intent.device("s0").unwrap().ports.contains_key(&PortName::new("mlx5_4")));
        let text = &intent.files(leaf, &mut Vec::new())[0].text;
        assert!(names.iter().all(|name| text.contains(name)), "{system}: {text}");
        let (limits, findings) = written_and_audited(&file, system);
        assert_eq!(findings, [""; 0], "{system}");
        assert!(!limits.iter().any(|limit| limit.contains("names ports")), "{system}: {limits:?}");
        let (plain, none) = written_and_audited(&listed([""; 6]), system);
        assert_eq!((plain, none.len()), (limits, 0), "{system}");
    }
}

/// A name that is not the system's is written as it stands, and said to be none.
#[test]
fn names_of_another_system_are_reported() {
    let strange = [
        "x",
        "Vlan10",
        "mgmt0",
        "Management1",
        "lo",
        "all",
        "default",
        "Port-Channel1",
        "irb.0",
        "eth0",
        "a-b.c:d/1_2",
        "interface",
        "vni1",
        "Ethernet",
        "ethernet1/1/1",
        "swp1-4",
        "et-0/0/0.0",
        "Ethernet1/1",
    ];
    for system in SystemId::ALL.into_iter().filter(|id| *id != SystemId::Host) {
        for name in strange {
            let file = listed(["", &format!("['{name} {name}']"), "", "", "", ""]);
            let intent = Intent::with(&setup(&file), Choices::all(system));
            for device in ["leaf-b", "s0"] {
                let (device, mut limits) = (intent.device(device).unwrap(), Vec::new());
                let text = intent.files(device, &mut limits).remove(0).text;
                let input = Input { name: "", file: xoff_config::place::FileId(0), text: &text };
                let read = device.system.system().parse(&input);
                let known = read.ports.contains_key(&PortName::new(name));
                let said = limits.iter().any(|limit| limit.contains(&format!("`{name}`")));
                assert!(known || said, "{} {name}: {limits:?}", device.system);
            }
        }
    }
    let (limits, _) =
        written_and_audited(&listed(["", "['- swp1']", "", "", "", ""]), SystemId::Eos);
    assert!(limits.iter().any(|limit| limit.contains("not: `swp1`;")), "{limits:?}");
}
