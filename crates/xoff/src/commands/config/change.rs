//! `xoff config --diff`: what would change on devices as they run, and the way back.

use super::super::audit::collect;
use super::{Args, usual_system, write};
use crate::exit::{Exit, Failure, Level, say};
use crate::output::number::counted;
use crate::output::{self, printable, style::Style};
use std::fmt::Write;
use std::path::Path;
use xoff_config::audit::{Collection, read};
use xoff_config::system::Rendered;
use xoff_config::{Change, Files, Intent, SystemId};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::Switch;

/// Differences that are named for one device.
const MOST_DIFFERENCES: usize = 12;

pub(super) fn execute(args: &Args, setup: &FabricSetup, running: &Path) -> Result<Exit, Failure> {
    let mut files = Files::default();
    collect(running, 0, &mut files)?;
    let Collection { devices, strange, .. } = read(&files);
    for file in strange.iter().filter_map(|id| files.get(*id)) {
        say(Level::Warning, &format!("`{}` looks like no known configuration", file.name));
    }
    if devices.is_empty() {
        return Err(Failure::input(format!(
            "nothing in `{}` looks like a configuration",
            running.display()
        )));
    }
    let usual = |switch: &Switch| usual_system(setup, switch);
    let intent = Intent::running(setup, args.balancing, &devices, usual);
    let mut changes = Vec::new();
    let mut same = 0;
    for device in &devices {
        let Some(meant) = intent.device(&device.name) else {
            say(Level::Note, &format!("`{}` is not in the fabric", printable(&device.name)));
            continue;
        };
        match Change::between(device, meant) {
            Some(change) => changes.push(change),
            None => same += 1,
        }
    }
    if let Some(out) = &args.out {
        write(out, &patches(&changes, args.rollback), args.force)?;
    }
    output::stdout(&page(&changes, same, Style::stdout()))?;
    if args.rollback && changes.iter().any(|change| change.system == SystemId::Sonic) {
        say(
            Level::Note,
            "sonic: a file can only add; entries that were not there before are removed by hand",
        );
    }
    Ok(if changes.is_empty() { Exit::Fine } else { Exit::BrokeARule })
}

/// `leaf0.change.cfg`, and `leaf0.back.cfg`.
fn patches(changes: &[Change], rollback: bool) -> Vec<Rendered> {
    let mut files = Vec::new();
    for change in changes {
        let name = |file: Rendered, kind: &str| {
            let end = file.name.rsplit_once('.').map_or("txt", |(_, end)| end);
            Rendered { name: format!("{}.{kind}.{end}", change.device), text: file.text }
        };
        files.extend(change.forward.render().into_iter().map(|file| name(file, "change")));
        if rollback {
            files.extend(change.back.render().into_iter().map(|file| name(file, "back")));
        }
    }
    files
}

fn page(changes: &[Change], same: usize, style: Style) -> String {
    let mut text = String::new();
    for change in changes {
        let name = style.bold(&printable(&change.device));
        let count = change.differences.len();
        let _ = writeln!(text, "{name} ({}): {count} settings differ", change.system);
        for difference in change.differences.iter().take(MOST_DIFFERENCES) {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
            let line = format!(
                "  {}: {} -> {}",
                difference.about,
                value(&difference.left),
                value(&difference.right)
            );
            let _ = writeln!(text, "{}", printable(&line));
        }
        if count > MOST_DIFFERENCES {
            let _ = writeln!(text, "  … and {} more", count - MOST_DIFFERENCES);
        }
        for file in change.forward.render() {
            for line in file.text.lines() {
                let _ = writeln!(text, "  {} {}", style.green("+"), printable(line));
            }
        }
        text.push('\n');
    }
    let devices = counted(changes.len() as u64, "device", "devices");
    let _ = writeln!(text, "{devices} would change, {same} would not");
    text
}
