//! Texts nobody expected: whatever is read, nothing panics, nothing vanishes, nothing grows.

mod common;

use proptest::prelude::*;
use xoff_config::audit;
use xoff_config::device::Balancing;
use xoff_config::intent::{Choices, Intent};
use xoff_config::place::FileId;
use xoff_config::system::{Input, SystemId};
use xoff_config::{Device, Files};

/// Rendered text of a switch, or of a host.
fn rendered(system: SystemId) -> String {
    let of_switches = if system == SystemId::Host { SystemId::Eos } else { system };
    let choices = Choices { balancing: Balancing::Flowlet, ..Choices::all(of_switches) };
    let intent = Intent::with(&common::setup(common::POD), choices);
    let name = if system == SystemId::Host { "server0" } else { "leaf0" };
    let device = intent.device(name).unwrap();
    let system = device.system.system();
    system.render(&system.fit(device, &mut Vec::new())).remove(0).text
}

fn parse(system: SystemId, text: &str) -> Device {
    system.system().parse(&Input { name: "x", file: FileId(0), text })
}

/// What an editor, a terminal or a bad day does to a text.
#[derive(Debug, Clone)]
enum Damage {
    Cut(usize),
    Drop(usize),
    Swap(usize, usize),
    Repeat(usize),
    Garble(usize, String),
    Indent(usize, usize),
}

fn damages() -> impl Strategy<Value = Damage> {
    let line = 0usize..400;
    prop_oneof![
        (0usize..20_000).prop_map(Damage::Cut),
        line.clone().prop_map(Damage::Drop),
        (line.clone(), line.clone()).prop_map(|(a, b)| Damage::Swap(a, b)),
        line.clone().prop_map(Damage::Repeat),
        (line.clone(), "[ -~é\\t]{0,12}").prop_map(|(at, text)| Damage::Garble(at, text)),
        (line, 0usize..40).prop_map(|(at, width)| Damage::Indent(at, width)),
    ]
}

fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for damage in damages {
        let count = lines.len().max(1);
        match damage {
            Damage::Cut(at) => {
                let whole = lines.join("\n");
                let end = (0..=(*at).min(whole.len())).rev().find(|i| whole.is_char_boundary(*i));
                lines = whole[..end.unwrap_or(0)].lines().map(str::to_owned).collect();
            }
            Damage::Drop(at) if !lines.is_empty() => drop(lines.remove(at % count)),
            Damage::Swap(a, b) if !lines.is_empty() => lines.swap(a % count, b % count),
            Damage::Repeat(at) if !lines.is_empty() => {
                let line = lines[at % count].clone();
                lines.insert(at % count, line);
            }
            Damage::Garble(at, new) if !lines.is_empty() => {
                let line = &mut lines[at % count];
                let words: Vec<&str> = line.split(' ').collect();
                let place = at % words.len().max(1);
                let garbled: Vec<&str> = words
                    .iter()
                    .enumerate()
                    .map(|(i, word)| if i == place { new.as_str() } else { word })
                    .collect();
                *line = garbled.join(" ");
            }
            Damage::Indent(at, width) if !lines.is_empty() => {
                let line = &mut lines[at % count];
                *line = format!("{}{}", " ".repeat(*width), line.trim_start());
            }
            _ => {}
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    #[test]
    fn damaged_configurations_are_read_and_audited(
        which in 0usize..SystemId::ALL.len(),
        damages in prop::collection::vec(damages(), 1..12),
    ) {
        let system = SystemId::ALL[which];
        let text = damaged(&rendered(system), &damages);
        let device = parse(system, &text);
        let lines = text.lines().count() as u32;
        for remark in &device.remarks {
            prop_assert!(remark.place.first <= remark.place.last);
            prop_assert!(remark.place.last <= lines, "{remark:?} of {lines}");
        }
        let _ = xoff_config::audit(std::slice::from_ref(&device), None);
        let setup = common::setup(common::POD);
        let intent = common::intent_for(&setup, Balancing::Flowlet, std::slice::from_ref(&device));
        let _ = xoff_config::audit(&[device], Some(&intent));
    }

    #[test]
    fn any_text_is_read_by_every_system(text in "(?s).{0,300}") {
        for system in SystemId::ALL {
            let _ = parse(system, &text);
        }
        let _ = SystemId::recognise(&text);
    }

    #[test]
    fn words_of_configurations_in_any_order(
        words in prop::collection::vec(prop::sample::select(vec![
            "qos", "map", "dscp", "to", "traffic-class", "nv", "set", "interface", "swp1-99999999",
            "Ethernet1/1", "priority-flow-control", "26", "-1", "99999999999999999999", "\n", "\n  ",
            "\n    ", "policy-map", "type", "queuing", "network-qos", "class", "c-out-8q-q3",
            "random-detect", "minimum-threshold", "kbytes", "mlnx_qos", "-i", "--pfc=1,1", "eth0",
            "{", "}", "\"PORT_QOS_MAP\"", ":", "\"QUEUE\"", "\"|\"", ",", "banner", "motd", "^C", "é",
            "description", "uc-tx-queue", "class-of-service", "forwarding-class", "TC3", ";", "code-points", "et-0/0/1",
            "congestion-notification-profile", "input", "fill-level", "trust", "dscp-map", "qos-group",
            "- set:", "qos:", "'26':", "wred", "pfc-profile", "[", "]", "unit", "*", "inactive:", "8", "pfc", "switch-priority", "0-7", "7-0", "tc:", "bw:",
        ]), 0..60),
    ) {
        let text = words.join(" ");
        for system in SystemId::ALL {
            let device = parse(system, &text);
            prop_assert!(device.ports.len() <= 2048);
        }
    }
}

/// A line that nobody knows is counted, whichever file it stands in.
#[test]
fn nothing_vanishes() {
    let strange = [
        (SystemId::Eos, "qos profile ROCE\n", "qos profile ROCE\n   qos make-it-fast\n"),
        (SystemId::Eos, "qos map dscp 8 to", "qos map dscp 800 to"),
        (SystemId::NxOs, "system qos\n", "system qos\n  service-policy type roce output X\n"),
        (SystemId::NxOs, "pause pfc-cos 3", "pause pfc-cos 9"),
        (SystemId::Cumulus, "nv set qos pfc ROCE tx enable\n", "nv set qos pfc on\n"),
        (SystemId::Cumulus, "cable-length 40", "cable-length forty"),
        (SystemId::CumulusYaml, "trust: l3", "trust: l4"),
        (SystemId::CumulusYaml, "    qos:\n", "    qos:\n      fast: on\n"),
        (SystemId::Junos, "class-of-service {\n", "class-of-service {\n    faster;\n"),
        (SystemId::Junos, "[ 011010 ]", "[ 0110102 ]"),
        (SystemId::JunosSet, "queue-num 3", "queue-num 9"),
        (SystemId::JunosSet, "unit *", "unite *"),
        (SystemId::Os10, " pause\n", " pause\n  faster\n"),
        (SystemId::Os10, "dscp 26", "dscp 66"),
        (SystemId::PicOs, "mode \"SP\"", "moder \"SP\""),
        (SystemId::PicOs, "code-point 26", "code-point 66"),
        (SystemId::Sonic, "\"pfc_enable\": \"3\"", "\"pfc_enable\": \"three\""),
        (SystemId::Sonic, "\"pfc_enable\": \"3\"", "\"pfc_enabled\": \"3\""),
        (SystemId::Host, "--pfc=0,0,0,1,0,0,0,0", "--pfc=0,0,0,1"),
        (SystemId::Host, "mlnx_qos -i $NET --trust=dscp", "mlnx_qos -i $NET --trusted=dscp"),
    ];
    for (system, from, to) in strange {
        let text = rendered(system);
        assert!(parse(system, &text).remarks.is_empty(), "{system}");
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{system}: {from}");
        assert!(!parse(system, &changed).remarks.is_empty(), "{system}: {to}");
    }
}

/// A thousand devices, as a file each: time and findings stay in proportion.
#[test]
fn a_thousand_devices() {
    let file = "[cluster]\ngpus = 4096\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
    let setup = common::setup(file);
    let mut files = Files::default();
    let intent = Intent::with(&setup, Choices::all(SystemId::Eos));
    for device in &intent.devices {
        let system = device.system.system();
        let rendered = system.render(&system.fit(device, &mut Vec::new())).remove(0);
        files.add(rendered.name, rendered.text);
    }
    assert!(intent.devices.len() > 500, "{}", intent.devices.len());
    let audit::Collection { devices, strange, .. } = audit::read(&files);
    assert!(strange.is_empty());
    let intent = common::intent_for(&setup, Balancing::Hash, &devices);
    let report = xoff_config::audit(&devices, Some(&intent));
    // The fabric has no watchdog and asks for none.
    assert!(report.findings.is_empty(), "{:#?}", report.findings.first());
    assert_eq!(report.links, setup.fabric.cables.len());
}

/// How long more than a thousand devices take, from text to report: run by hand, with `--release
/// --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::disallowed_methods, reason = "it measures")]
fn how_long_a_thousand_devices_take() {
    let setup = common::setup(
        "[cluster]\ngpus = 4096\ngpus-per-server = 4\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n",
    );
    for system in [SystemId::Eos, SystemId::Sonic, SystemId::JunosSet] {
        let intent = Intent::with(&setup, Choices::all(system));
        let mut files = Files::default();
        let mut bytes = 0;
        for device in &intent.devices {
            let system = device.system.system();
            let file = system.render(&system.fit(device, &mut Vec::new())).remove(0);
            bytes += file.text.len();
            files.add(file.name, file.text);
        }
        let start = std::time::Instant::now();
        let devices = audit::read(&files).devices;
        let parsed = start.elapsed();
        let intent = common::intent_for(&setup, Balancing::Hash, &devices);
        let report = xoff_config::audit(&devices, Some(&intent));
        println!(
            "{system}: {} devices, {} cables, {} KiB: read in {parsed:?}, audited after {:?}, {} findings",
            report.devices,
            report.links,
            bytes / 1024,
            start.elapsed(),
            report.findings.len()
        );
    }
}
