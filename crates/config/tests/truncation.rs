//! Configurations that end too early, at every one of their lines: a cut that takes settings of RoCE away is never passed over
//! in silence. Some lines are tried always, all of them by `cargo test -p xoff-config --test truncation -- --ignored`;
//! `XOFF_SYSTEM=eos` chooses one system.

mod common;

use std::collections::BTreeMap;
use xoff_config::audit;
use xoff_config::device::{Device, RemarkKind};
use xoff_config::intent::{Choices, Intent};
use xoff_config::place::FileId;
use xoff_config::system::{Input, SystemId};
use xoff_config::{Facts, Files};

/// Four leaves with a server and two uplinks each.
fn pods() -> String {
    common::POD.replace("leaves = 2", "leaves = 4")
}

/// The texts of all devices.
struct Fleet {
    intent: Intent,
    texts: BTreeMap<String, String>,
}

impl Fleet {
    fn of(system: SystemId) -> Self {
        let switches = if system == SystemId::Host { SystemId::Eos } else { system };
        let intent = Intent::with(&common::setup(&pods()), Choices::all(switches));
        let text = |device: &Device| {
            let system = device.system.system();
            system.render(&system.fit(device, &mut Vec::new())).remove(0).text
        };
        let texts = intent.devices.iter().map(|device| (device.name.clone(), text(device)));
        Self { texts: texts.collect(), intent }
    }

    /// What is found where the text of one device is another one.
    fn findings(&self, name: &str, text: &str, with_fabric: bool) -> Vec<String> {
        let mut files = Files::default();
        for (other, whole) in &self.texts {
            files.add(format!("{other}.cfg"), if other == name { text } else { whole });
        }
        let found = audit::read(&files);
        let intent = with_fabric.then_some(&self.intent);
        let report = audit::audit_with(&found.devices, &found.cables, intent);
        let about = ["ports may be missing", "was not checked on"];
        let said = |note: &&String| about.iter().any(|words| note.contains(words));
        let notes = report.notes.iter().filter(said);
        let found = found.strange.iter().map(|id| format!("{id:?} is no device"));
        let found = found.chain(notes.cloned());
        let say = |f: &audit::Finding| format!("{} {} {}", f.device, f.rule.id, f.message);
        found.chain(report.findings.iter().map(say)).collect()
    }
}

fn parse(system: SystemId, text: &str) -> Device {
    system.system().parse(&Input { name: "x", file: FileId(0), text })
}

/// The text up to the end of each of its lines but the last, with that end and without in turns.
fn cuts(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = text.match_indices('\n').map(|(at, _)| at).filter(|at| at + 1 < text.len());
    ends.enumerate().map(move |(line, at)| (line + 1, &text[..at + line % 2]))
}

/// Lines at which a cut takes something away and nothing is said.
fn silent(system: SystemId, with_fabric: bool, step: usize) -> Vec<usize> {
    let fleet = Fleet::of(system);
    let name = if system == SystemId::Host { "server0" } else { "leaf0" };
    let text = &fleet.texts[name];
    let whole = Facts::of(&parse(system, text));
    let clean = fleet.findings(name, text, with_fabric);
    assert_eq!(clean, [""; 0], "{system}: whole configurations have findings");
    let changed = |cut: &str| {
        let device = parse(system, cut);
        // What the reader itself says is an error always.
        device.count(RemarkKind::Truncated) == 0 && Facts::of(&device) != whole
    };
    let passed = |cut: &str| fleet.findings(name, cut, with_fabric).is_empty();
    let lines = cuts(text).step_by(step).filter(|(_, cut)| changed(cut) && passed(cut));
    lines.map(|(line, _)| line).collect()
}

fn assert_said(with_fabric: bool, step: usize) {
    let wanted = std::env::var("XOFF_SYSTEM").ok();
    let chosen = |system: &SystemId| wanted.as_deref().is_none_or(|name| name == system.name());
    let all = SystemId::ALL.into_iter().filter(chosen);
    let all = all.map(|system| (system, silent(system, with_fabric, step)));
    let passed: Vec<_> = all.filter(|(_, lines)| !lines.is_empty()).collect();
    assert_eq!(passed, [], "with a fabric file: {with_fabric}");
}

#[test]
fn some_cuts_are_seen() {
    assert_said(true, 41);
    assert_said(false, 37);
}

#[test]
#[ignore = "takes minutes; some lines are tried always"]
fn with_a_fabric_file_every_cut_is_seen() {
    assert_said(true, 1);
}

#[test]
#[ignore = "takes minutes; some lines are tried always"]
fn without_one_the_other_devices_tell() {
    assert_said(false, 1);
}

/// Formats with brackets need no other device, and EOS names its command and ends with `end`.
#[test]
fn some_formats_tell_it_themselves() {
    for system in [SystemId::Sonic, SystemId::Junos] {
        let text = &Fleet::of(system).texts["leaf0"];
        for (line, cut) in cuts(text.trim_end()) {
            // Between two blocks, nothing is open.
            let open = cut.matches('{').count() > cut.matches('}').count();
            let seen = parse(system, cut).count(RemarkKind::Truncated);
            assert_eq!(seen, usize::from(open), "{system} line {line}");
        }
    }
    let text = &Fleet::of(SystemId::Eos).texts["leaf0"];
    let whole = format!("! Command: show running-config\n{text}end\n");
    let rules = |text: &str| {
        let mut files = Files::default();
        files.add("leaf0.cfg", text);
        let found = audit::read(&files);
        let report = audit::audit_with(&found.devices, &found.cables, None);
        let rules = report.findings.iter().map(|finding| finding.rule.id);
        rules.chain(found.strange.iter().map(|_| "no device")).collect::<Vec<_>>()
    };
    assert!(!rules(&whole).contains(&"truncated"));
    // Parts of it, and what people write themselves, have no end.
    assert!(!rules(text).contains(&"truncated"));
    assert!(
        !rules(&whole.replace("config\n", "config section qos\n").replace("end\n", ""))
            .contains(&"truncated")
    );
    for (line, cut) in
        cuts(&whole).filter(|(_, cut)| SystemId::recognise(cut) == Some(SystemId::Eos))
    {
        let rules = rules(cut);
        assert!(rules.iter().any(|rule| ["truncated", "no device"].contains(rule)), "line {line}");
    }
}
