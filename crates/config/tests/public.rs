//! Configurations that others published: `XOFF_PUBLIC=DIR cargo test -p xoff-config --test public -- --ignored --nocapture`
//! reads every folder below `DIR` as one set of devices and audits it without a fabric file.
//!
//! The table says per system how many statements were not understood, which is asserted to be one in twenty at most. Errors are printed
//! with what says them, to be judged by a person (`XOFF_SHOW=1` prints warnings and statements that were not understood, too). None
//! of these files is kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use xoff_config::audit::{self, Finding};
use xoff_config::collection::decode;
use xoff_config::device::{Device, RemarkKind};
use xoff_config::place::FileId;
use xoff_config::{Files, Place, SystemId};
use xoff_fabric::Severity;

/// What was read of one system.
#[derive(Default)]
struct Tally {
    devices: usize,
    statements: usize,
    strange: usize,
    errors: usize,
    warnings: usize,
}

/// Folders that have files, each with those files.
fn folders(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<PathBuf>>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            folders(&path, found);
        } else {
            found.entry(dir.to_owned()).or_default().push(path);
        }
    }
}

/// Lines that say something, and are no comment.
fn statements(text: &str) -> usize {
    let says = |line: &&str| {
        let line = line.trim();
        line.contains(|c: char| c.is_alphanumeric()) && !line.starts_with(['!', '#'])
    };
    text.lines().filter(says).count()
}

fn strange(device: &Device) -> BTreeSet<(u32, u32)> {
    let kinds = [RemarkKind::Unknown, RemarkKind::Malformed, RemarkKind::Truncated];
    let all = device.remarks.iter().filter(|remark| kinds.contains(&remark.kind));
    all.flat_map(|remark| {
        (remark.place.first..=remark.place.last).map(|line| (remark.place.file.0, line))
    })
    .collect()
}

fn first_line(files: &Files, place: Place) -> &str {
    files.lines(place, 1).first().map_or("", |(_, line)| line.trim())
}

fn shown(folder: &Path, files: &Files, finding: &Finding) {
    let places = finding
        .places
        .iter()
        .take(3)
        .map(|place| format!("\n      {} {}", files.label(*place), first_line(files, *place)));
    let ports: Vec<&str> = finding.ports.iter().take(4).map(|port| port.as_str()).collect();
    println!(
        "  {:?} {} {} {ports:?} {}: {}{}",
        finding.severity,
        folder.display(),
        finding.device,
        finding.rule.id,
        finding.message,
        places.collect::<String>()
    );
}

#[test]
#[ignore = "needs configurations of others, in the folder that XOFF_PUBLIC names"]
fn what_others_published() {
    let root = std::env::var("XOFF_PUBLIC").expect("XOFF_PUBLIC names a folder");
    let show = std::env::var("XOFF_SHOW").is_ok();
    let mut sets = BTreeMap::new();
    folders(Path::new(&root), &mut sets);
    assert!(!sets.is_empty(), "no files in {root}");
    let mut tallies: BTreeMap<SystemId, Tally> = BTreeMap::new();
    for (folder, paths) in &mut sets {
        paths.sort();
        let mut files = Files::default();
        for path in paths.iter() {
            let Some(text) = fs::read(path).ok().and_then(|bytes| decode(&bytes).ok()) else {
                continue;
            };
            files.add(path.file_name().unwrap_or_default().to_string_lossy(), text);
        }
        let found = audit::read(&files);
        for id in &found.strange {
            println!(
                "  no device: {} {}",
                folder.display(),
                files.get(*id).map_or("", |f| f.name.as_str())
            );
        }
        for device in &found.devices {
            let tally = tallies.entry(device.system).or_default();
            tally.devices += 1;
            let texts = device.files.iter().filter_map(|id| files.get(*id));
            tally.statements += texts.map(|file| statements(&file.text)).sum::<usize>();
            let lines = strange(device);
            for (file, line) in lines.iter().filter(|_| show) {
                let line = first_line(&files, Place::line(FileId(*file), *line));
                println!("  ? {} {}: {line}", device.system.name(), device.name);
            }
            tally.strange += lines.len();
        }
        let report = audit::audit_with(&found.devices, &found.cables, None);
        for finding in &report.findings {
            let system = found.devices.iter().find(|d| d.name == finding.device).map(|d| d.system);
            let tally = tallies.entry(system.unwrap_or(SystemId::Host)).or_default();
            match finding.severity {
                Severity::Error => tally.errors += 1,
                Severity::Warning => tally.warnings += 1,
            }
            if show || finding.severity == Severity::Error {
                shown(folder, &files, finding);
            }
        }
    }
    println!("{:<14} devices statements not-understood errors warnings", "system");
    for (system, tally) in &tallies {
        let share = 100.0 * tally.strange as f64 / tally.statements.max(1) as f64;
        println!(
            "{:<14} {:>7} {:>10} {:>6} {share:>6.2}% {:>6} {:>8}",
            system.name(),
            tally.devices,
            tally.statements,
            tally.strange,
            tally.errors,
            tally.warnings
        );
    }
    let many = |tally: &&Tally| tally.strange * 20 > tally.statements;
    assert!(!tallies.values().any(|tally| many(&tally)), "more than 5 % were not understood");
}
