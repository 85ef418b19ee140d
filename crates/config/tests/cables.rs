//! Cables as tables tell them against cables as they are planned: clean fabrics have no finding, swapped, moved and missing
//! cables have one where they are.

mod common;

use std::collections::BTreeMap;
use xoff_config::audit::{Finding, Report, audit_with, read};
use xoff_config::device::{Balancing, PortName};
use xoff_config::intent::{Choices, End, Intent};
use xoff_config::{Files, SystemId};
use xoff_fabric::FabricSetup;

const RAIL: &str = "
[cluster]
gpus = 16
gpus-per-server = 4
[fabric]
kind = 'rail'
leaf = 'tomahawk-5'
spines = 2
";

/// A fabric, and its cables as they really are.
struct Lab {
    setup: FabricSetup,
    intent: Intent,
    cables: Vec<[End; 2]>,
    /// Configurations by file name.
    files: BTreeMap<String, String>,
    /// Ports that are called otherwise, in configurations and tables.
    renamed: Vec<(String, String, String)>,
}

impl Lab {
    fn new(file: &str, system: SystemId) -> Self {
        let setup = common::setup(file);
        let intent = Intent::with(&setup, Choices::all(system));
        let mut files = BTreeMap::new();
        for device in &intent.devices {
            let system = device.system.system();
            let file = system.render(&system.fit(device, &mut Vec::new())).remove(0);
            files.insert(file.name, file.text);
        }
        let cables = intent.links.iter().map(|link| link.ends.clone()).collect();
        Self { setup, intent, cables, files, renamed: Vec::new() }
    }

    /// The number of the cable at a port.
    fn at(&self, device: &str, port: &str) -> usize {
        let is = |end: &End| end.device == device && end.port.as_str() == port;
        let found = self.cables.iter().position(|ends| ends.iter().any(is));
        found.unwrap_or_else(|| panic!("no cable at {device} {port}: {:#?}", self.cables))
    }

    /// Ports of a device that lead to another, in order.
    fn ports(&self, device: &str, peer: &str) -> Vec<String> {
        let mut ports: Vec<&PortName> = Vec::new();
        for [a, b] in &self.cables {
            for (near, far) in [(a, b), (b, a)] {
                if near.device == device && far.device == peer {
                    ports.push(&near.port);
                }
            }
        }
        ports.sort();
        ports.into_iter().map(|port| port.as_str().to_owned()).collect()
    }

    /// Two cables have each other's end at that device.
    fn swap(&mut self, device: &str, first: usize, second: usize) {
        let side = |ends: &[End; 2]| usize::from(ends[0].device != device);
        let (a, b) = (side(&self.cables[first]), side(&self.cables[second]));
        let one = self.cables[first][a].clone();
        self.cables[first][a] = std::mem::replace(&mut self.cables[second][b], one);
    }

    fn name(&self, end: &End) -> String {
        let renamed = |(device, from, _): &&(String, String, String)| {
            *device == end.device && *from == end.port.as_str()
        };
        let found = self.renamed.iter().find(renamed);
        found.map_or(end.port.to_string(), |(_, _, to)| to.clone())
    }

    /// The neighbour table of a device in the form of EOS.
    fn table(&self, device: &str) -> String {
        let mut text = "Port  Neighbor Device ID  Neighbor Port ID  TTL\n".to_owned();
        for [a, b] in &self.cables {
            for (near, far) in [(a, b), (b, a)] {
                if near.device == device {
                    let (own, port) = (self.name(near), self.name(far));
                    text += &format!("{own}  {}.example.net  {port}  120\n", far.device);
                }
            }
        }
        text
    }

    fn with_tables(&mut self, of: impl Fn(&str) -> bool) {
        let names: Vec<String> =
            self.intent.devices.iter().map(|device| device.name.clone()).collect();
        for name in names.iter().filter(|name| of(name)) {
            let table = self.table(name);
            self.files.insert(format!("{name}-lldp.txt"), table);
        }
    }

    fn audit(&self, with_fabric: bool) -> Report {
        let mut files = Files::default();
        for (name, text) in &self.files {
            files.add(name.clone(), text.clone());
        }
        let found = read(&files);
        assert!(found.strange.is_empty(), "{:?}", found.strange);
        assert_eq!(found.cables.remarks, []);
        let intent = common::intent_for(&self.setup, Balancing::Hash, &found.devices);
        audit_with(&found.devices, &found.cables, with_fabric.then_some(&intent))
    }
}

fn about_cables(report: &Report) -> Vec<&Finding> {
    let rules = ["cable-mismatch", "cable-missing", "description-stale"];
    report.findings.iter().filter(|finding| rules.contains(&finding.rule.id)).collect()
}

fn told(report: &Report) -> Vec<String> {
    let word = |finding: &&Finding| {
        let error = finding.severity == xoff_fabric::Severity::Error;
        let word = if error { "error" } else { "warning" };
        format!("{word} {} {}: {}", finding.rule.id, finding.device, finding.message)
    };
    about_cables(report).iter().map(word).collect()
}

#[test]
fn what_is_cabled_as_planned_has_no_finding() {
    for system in SystemId::ALL.into_iter().filter(|system| *system != SystemId::Host) {
        for file in [common::POD, RAIL] {
            let mut lab = Lab::new(file, system);
            let links = lab.intent.links.len();
            lab.with_tables(|_| true);
            for with_fabric in [true, false] {
                let report = lab.audit(with_fabric);
                assert_eq!(told(&report), [""; 0], "{system}");
                assert_eq!(report.links, links, "{system} {with_fabric}");
            }
        }
    }
}

#[test]
fn uplinks_that_are_swapped_are_one_finding_of_the_leaf() {
    let mut lab = Lab::new(common::POD, SystemId::Eos);
    let (one, two) =
        (lab.ports("leaf0", "spine0").remove(0), lab.ports("leaf0", "spine1").remove(0));
    let (a, b) = (lab.at("leaf0", &one), lab.at("leaf0", &two));
    let far = lab.cables[a].iter().find(|end| end.device == "spine0").unwrap().port.to_string();
    lab.swap("leaf0", a, b);
    lab.with_tables(|_| true);
    let report = lab.audit(true);
    assert_eq!(
        told(&report),
        [format!(
            "error cable-mismatch leaf0: {one} leads to spine1 {far}; the fabric file has spine0 {far}. \
             {two} leads to spine0 {far}; the fabric file has spine1 {far}"
        )]
    );
    let finding = about_cables(&report)[0];
    assert_eq!(finding.ports.len(), 2);
    assert_eq!(finding.places.len(), 2);
    assert!(finding.fix.apply.is_empty());
}

#[test]
fn cables_of_two_leaves_that_are_swapped_are_told_at_all_four_devices() {
    let mut lab = Lab::new(common::POD, SystemId::Cumulus);
    let a = lab.at("leaf0", &lab.ports("leaf0", "spine0")[0]);
    let b = lab.at("leaf1", &lab.ports("leaf1", "spine1")[0]);
    lab.swap(if lab.cables[a][0].device == "leaf0" { "spine0" } else { "leaf0" }, a, a);
    let (one, two) = (lab.cables[a].clone(), lab.cables[b].clone());
    lab.cables[a] = [one[0].clone(), two[1].clone()];
    lab.cables[b] = [two[0].clone(), one[1].clone()];
    lab.with_tables(|_| true);
    let report = lab.audit(true);
    let devices: Vec<&str> = about_cables(&report).iter().map(|f| f.device.as_str()).collect();
    assert_eq!(devices, ["leaf0", "leaf1", "spine0", "spine1"], "{:#?}", told(&report));
}

#[test]
fn a_nic_on_the_wrong_rail() {
    let mut lab = Lab::new(RAIL, SystemId::Sonic);
    let (a, b) = (lab.at("server1", "mlx5_0"), lab.at("server1", "mlx5_2"));
    lab.swap("server1", a, b);
    // What hosts themselves hear.
    let mut host = Lab { files: lab.files.clone(), ..Lab::new(RAIL, SystemId::Sonic) };
    host.cables.clone_from(&lab.cables);
    host.with_tables(|name| name == "server1");
    // What leaves hear of hosts.
    lab.with_tables(|name| name.starts_with("leaf"));
    for lab in [host, lab] {
        let told = told(&lab.audit(true));
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(
            told[0].starts_with("error cable-mismatch server1: mlx5_0 leads to leaf2 "),
            "{told:?}"
        );
        assert!(
            told[0].contains("the fabric file has leaf0 ") && told[0].contains(", rail 0"),
            "{told:?}"
        );
        assert!(
            told[0].contains("mlx5_2 leads to leaf0 ") && told[0].contains(", rail 2"),
            "{told:?}"
        );
    }
}

#[test]
fn a_cable_that_no_table_shows() {
    let mut lab = Lab::new(common::POD, SystemId::NxOs);
    let port = lab.ports("leaf1", "spine0").remove(0);
    let gone = lab.at("leaf1", &port);
    lab.cables.remove(gone);
    lab.with_tables(|name| name == "leaf1");
    let report = told(&lab.audit(true));
    assert_eq!(report.len(), 1, "{report:#?}");
    assert!(report[0].starts_with(
        "warning cable-missing leaf1: no neighbour is seen where the fabric file has a cable: "
    ));
    assert!(report[0].contains(&format!("{port} to spine0 ")), "{report:?}");
    // Devices without tables of their own say nothing.
    lab.files.retain(|name, _| !name.contains("lldp"));
    assert_eq!(told(&lab.audit(true)), [""; 0]);
}

#[test]
fn hosts_that_do_not_speak_are_not_missing() {
    let mut lab = Lab::new(common::POD, SystemId::Eos);
    lab.cables.retain(|ends| ends.iter().all(|end| !end.device.starts_with("server")));
    lab.with_tables(|name| !name.starts_with("server"));
    assert_eq!(told(&lab.audit(true)), [""; 0]);
}

/// A leaf whose ports are not the ones that the fabric file would name.
fn renamed() -> Lab {
    let mut lab = Lab::new(common::POD, SystemId::Eos);
    let text = lab.files.get_mut("leaf0.cfg").unwrap();
    let mut renamed = Vec::new();
    for port in lab.intent.device("leaf0").unwrap().ports.keys() {
        let (cage, lane) = port.as_str().trim_start_matches("Ethernet").split_once('/').unwrap();
        let cage: u32 = cage.parse().unwrap();
        let to = format!("Ethernet{}/{lane}", 90 - cage);
        *text = text.replace(&format!("interface {port}\n"), &format!("interface {to}\n"));
        renamed.push(("leaf0".to_owned(), port.to_string(), to));
    }
    // Descriptions would give it away, and those of its peers name ports that are called otherwise now.
    for text in lab.files.values_mut() {
        let kept = text.lines().filter(|line| !line.contains("description"));
        *text = kept.map(|line| format!("{line}\n")).collect();
    }
    lab.renamed = renamed;
    lab
}

#[test]
fn ports_with_other_names_are_matched_by_where_they_lead() {
    let mut lab = renamed();
    let links = lab.intent.links.len();
    assert!(lab.audit(true).links < links, "nothing says where ports lead");
    lab.with_tables(|_| true);
    for with_fabric in [true, false] {
        let report = lab.audit(with_fabric);
        assert_eq!(told(&report), [""; 0]);
        assert_eq!(report.links, links, "{with_fabric}");
        let rules: Vec<&str> = report.findings.iter().map(|finding| finding.rule.id).collect();
        assert!(!rules.contains(&"qos-not-applied"), "{rules:?}");
    }
}

#[test]
fn cables_of_ports_with_other_names_are_counted() {
    let mut lab = renamed();
    let (one, two) =
        (lab.ports("leaf0", "spine0").remove(0), lab.ports("leaf1", "spine1").remove(0));
    let (a, b) = (lab.at("leaf0", &one), lab.at("leaf1", &two));
    let (left, right) = (lab.cables[a].clone(), lab.cables[b].clone());
    lab.cables[a] = [left[0].clone(), right[1].clone()];
    lab.cables[b] = [right[0].clone(), left[1].clone()];
    lab.with_tables(|_| true);
    let told = told(&lab.audit(true));
    let leaf0: Vec<&String> = told.iter().filter(|text| text.contains(" leaf0:")).collect();
    assert_eq!(leaf0.len(), 1, "{told:#?}");
    assert!(leaf0[0].starts_with("error cable-mismatch leaf0: "), "{told:#?}");
    assert!(
        leaf0[0].contains("to spine1; the fabric file has ") && leaf0[0].contains("to spine0; "),
        "{leaf0:?}"
    );
}

#[test]
fn a_description_that_lldp_contradicts() {
    let mut lab = Lab::new(common::POD, SystemId::Eos);
    let (one, two) =
        (lab.ports("leaf0", "spine0").remove(0), lab.ports("leaf0", "spine1").remove(0));
    let text = lab.files.get_mut("leaf0.cfg").unwrap();
    for (port, said) in [(&one, "P2P_LINK_TO_SPINE0_Ethernet1/1"), (&two, "to spine1")] {
        let line = format!("interface {port}\n");
        assert!(text.contains(&line), "{text}");
        *text = text.replace(&line, &format!("{line}   description {said}\n"));
    }
    let (a, b) = (lab.at("leaf0", &one), lab.at("leaf0", &two));
    lab.swap("leaf0", a, b);
    lab.with_tables(|_| true);
    // Without a plan, the descriptions at both ends are what is wrong; with one, the cable.
    let without = lab.audit(false);
    let stale: Vec<&str> = about_cables(&without).iter().map(|f| f.rule.id).collect();
    assert_eq!(stale, ["description-stale"; 4], "{:#?}", told(&without));
    assert!(told(&without)[0].contains("LLDP shows spine"), "{:#?}", told(&without));
    let with = lab.audit(true);
    let rules: Vec<&str> = about_cables(&with).iter().map(|f| f.rule.id).collect();
    assert_eq!(rules, ["cable-mismatch"]);
}

#[test]
fn a_list_of_cables_is_the_plan_where_there_is_no_fabric_file() {
    let mut lab = Lab::new(common::POD, SystemId::Eos);
    let mut list =
        "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name\n".to_owned();
    for [a, b] in &lab.cables {
        let kind = "dcim.interface";
        list += &format!("{},{kind},{},{},{kind},{}\n", a.device, a.port, b.device, b.port);
    }
    lab.files.insert("netbox.csv".to_owned(), list);
    let clean = lab.audit(false);
    assert_eq!((told(&clean).len(), clean.links), (0, lab.cables.len()));
    let (one, two) =
        (lab.ports("leaf0", "spine0").remove(0), lab.ports("leaf0", "spine1").remove(0));
    let (a, b) = (lab.at("leaf0", &one), lab.at("leaf0", &two));
    lab.swap("leaf0", a, b);
    lab.with_tables(|_| true);
    let report = lab.audit(false);
    let wrong: Vec<String> = told(&report).into_iter().filter(|t| t.contains("mismatch")).collect();
    assert_eq!(wrong.len(), 1, "{wrong:#?}");
    assert!(wrong[0].contains("; the list of cables has spine0 "), "{wrong:?}");
}

#[test]
fn the_list_of_a_plan_has_names_of_its_own() {
    // Numbers of cages and links, and servers by NIC.
    let mut lab = Lab::new(RAIL, SystemId::Eos);
    let clean = Lab::new(RAIL, SystemId::Eos);
    let number = |end: &End| {
        if let Some(nic) = end.port.as_str().strip_prefix("mlx5_") {
            return (format!("{}-nic{nic}", end.device), "1".to_owned());
        }
        let (cage, lane) =
            end.port.as_str().trim_start_matches("Ethernet").split_once('/').unwrap();
        let link = (lane.parse::<u32>().unwrap() - 1) / 4 + 1;
        (end.device.clone(), format!("{cage}/{link}"))
    };
    let mut list = "cable,from_device,from_port,to_device,to_port\n".to_owned();
    for (at, [a, b]) in clean.cables.iter().enumerate() {
        let ((a, a_port), (b, b_port)) = (number(a), number(b));
        list += &format!("H{at},{a},{a_port},{b},{b_port}\n");
    }
    lab.files.insert("cabling.csv".to_owned(), list);
    let report = lab.audit(true);
    assert_eq!(told(&report), [""; 0]);
    assert_eq!(report.links, lab.cables.len());
}

#[test]
fn a_neighbour_that_nobody_knows_is_a_warning() {
    let mut lab = Lab::new(common::POD, SystemId::Eos);
    let port = lab.ports("leaf0", "spine0").remove(0);
    let at = lab.at("leaf0", &port);
    for end in lab.cables[at].iter_mut().filter(|end| end.device == "spine0") {
        end.device = "router7".to_owned();
    }
    lab.with_tables(|name| name == "leaf0");
    let told = told(&lab.audit(true));
    let wanted = format!(
        "warning cable-mismatch leaf0: {port} leads to router7.example.net; the fabric file has spine0 "
    );
    assert!(told.iter().any(|text| text.starts_with(&wanted)), "{told:#?}");
}

/// Many ports, many neighbours, no name that means anything: it ends, and joins nothing that it should not.
#[test]
fn many_cables_between_two_devices() {
    let mut lab = Lab::new(common::POD, SystemId::Cumulus);
    let port = |device: &str, peer: &str, at: usize| {
        format!(
            "nv set interface swp{at} description 'to {peer}'\nnv set interface swp{at} qos pfc on # {device}\n"
        )
    };
    let ports = |device: &str, peer: &str| -> String {
        (0..2_000).map(|at| port(device, peer, at)).collect()
    };
    lab.files.clear();
    lab.files.insert("a.txt".to_owned(), ports("a", "b"));
    lab.files.insert("b.txt".to_owned(), ports("b", "a"));
    let rows = (0..2_000).map(|at| format!("swp{at}  400G  swp  b  0{at}:00:00:00:00:00\n"));
    let head = "Interface  Speed  Type  Remote Host  Remote Port\n".to_owned();
    lab.files.insert("a-lldp.txt".to_owned(), head + &rows.collect::<String>());
    assert_eq!(lab.audit(false).links, 2_000);
}

/// Files of a fabric with other names for its devices.
fn renamed_files(file: &str, names: &[(&str, &str)]) -> BTreeMap<String, String> {
    let with =
        |text: &str| names.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let lab = Lab::new(file, SystemId::Eos);
    lab.files.iter().map(|(name, text)| (with(name), with(text))).collect()
}

/// Two fabrics in one folder that no cable joins are no mistakes of each other.
#[test]
fn fabrics_of_their_own_are_audited_each_for_itself() {
    let class =
        |dscp: u8| format!("{}[[class]]\nid = 3\ndscp = [{dscp}]\nlossless = true\n", common::POD);
    let report = |second: u8, change: fn(&str) -> String| {
        let mut files = Files::default();
        let names = [("leaf", "rack"), ("spine", "roof"), ("server", "node")];
        let one = renamed_files(&class(26), &[]);
        for (name, text) in one.into_iter().chain(renamed_files(&class(second), &names)) {
            files.add(name, change(&text));
        }
        let found = read(&files);
        audit_with(&found.devices, &found.cables, None)
    };
    let clean = report(24, str::to_owned);
    assert_eq!(clean.findings.len(), 0, "{:#?}", clean.findings);
    assert_eq!((clean.devices, clean.links), (16, 24));
    let note = "2 fabrics that no cable joins";
    assert!(clean.notes.iter().any(|said| said.starts_with(note)), "{:#?}", clean.notes);
    // Where both say the same they are one.
    let alike = report(26, str::to_owned);
    assert_eq!(alike.findings.len(), 0, "{:#?}", alike.findings);
    assert_eq!((alike.devices, alike.links), (16, 24));
    assert!(!alike.notes.iter().any(|said| said.starts_with(note)), "{:#?}", alike.notes);
    // A mistake in one of them is found, and only that.
    let wrong = report(24, |text| match text.contains("RoCE configuration of rack1 ") {
        true => text.replace("priority-flow-control on", "no priority-flow-control"),
        false => text.to_owned(),
    });
    let found: Vec<(&str, &str)> =
        wrong.findings.iter().map(|one| (one.rule.id, one.device.as_str())).collect();
    assert_eq!(found, [("pfc-missing", "rack1")], "{:#?}", wrong.findings);
}

/// What all devices of a kind lack is said by the other ends of their cables.
#[test]
fn pfc_that_is_off_on_all_spines_or_on_all_switches_is_found() {
    let found = |edit: &dyn Fn(&str, &str) -> String| {
        let mut files = Files::default();
        for (name, text) in renamed_files(common::POD, &[]) {
            files.add(name.clone(), edit(&name, &text));
        }
        let read = read(&files);
        let report = audit_with(&read.devices, &read.cables, None);
        let said = report.findings.iter().map(|one| (one.rule.id, one.device.clone()));
        said.collect::<Vec<(&str, String)>>()
    };
    let off = |text: &str| text.replace("priority-flow-control on", "no priority-flow-control");
    let missing = |names: &[&str]| {
        names.iter().map(|name| ("pfc-missing", (*name).to_owned())).collect::<Vec<_>>()
    };
    let spines = |name: &str, text: &str| match name.starts_with("spine") {
        true => off(text),
        false => text.to_owned(),
    };
    assert_eq!(found(&spines), missing(&["spine0", "spine1"]));
    assert_eq!(found(&|_, text| off(text)), missing(&["leaf0", "leaf1", "spine0", "spine1"]));
    assert_eq!(found(&|_, text| text.to_owned()), []);
}
