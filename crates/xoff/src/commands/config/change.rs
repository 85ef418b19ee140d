//! `xoff config --diff`: what would change on devices as they run, and the way back.

use super::super::audit::{self, collect};
use super::folder::{self, Made};
use super::{Args, usual_system};
use crate::exit::{Exit, Failure, Level, say};
use crate::output::number::counted;
use crate::output::{self, printable, style::Style};
use std::fmt::Write;
use std::path::Path;
use xoff_config::delivery::{
    self,
    patches::{between, read},
};
use xoff_config::place::File;
use xoff_config::system::Rendered;
use xoff_config::{Change, Device, Files, Intent, SystemId};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::Switch;

/// Differences that are named for one device.
const MOST_DIFFERENCES: usize = 12;

pub(super) fn execute(args: &Args, setup: &FabricSetup, running: &Path) -> Result<Exit, Failure> {
    let mut files = Files::default();
    collect(running, &mut files)?;
    let devices = audit::devices(&files);
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
    let mut told = String::new();
    if let Some(out) = &args.out {
        let mut made = statements(&changes, args);
        if args.patches {
            made.extend(patches(&changes, &devices, &files, &intent)?);
        }
        let plan = folder::fill(out, &made, args.intent_hash()?, args.force)?;
        told = folder::told(&plan);
    }
    output::stdout(&(page(&changes, same, Style::stdout()) + &told))?;
    if args.rollback
        && !args.patches
        && changes.iter().any(|change| change.system == SystemId::Sonic)
    {
        say(
            Level::Note,
            "sonic: a file can only add; entries that were not there before are removed by hand",
        );
    }
    Ok(if changes.is_empty() { Exit::Fine } else { Exit::BrokeARule })
}

/// `leaf0.change.cfg`, and `leaf0.back.cfg`.
fn statements(changes: &[Change], args: &Args) -> Vec<Made> {
    let mut files = Vec::new();
    let patched = |change: &&Change| args.patches && change.system == SystemId::Sonic;
    for change in changes.iter().filter(|change| !patched(change)) {
        let name = |file: Rendered, kind: &str| {
            let end = file.name.rsplit_once('.').map_or("txt", |(_, end)| end);
            let name = format!("{}.{kind}.{end}", change.device);
            Made::of(&change.device, change.system, Rendered { name, text: file.text })
        };
        files.extend(change.forward.render().into_iter().map(|file| name(file, "change")));
        if args.rollback {
            files.extend(change.back.render().into_iter().map(|file| name(file, "back")));
        }
    }
    files
}

/// `leaf0.patch.json` and `leaf0.patch-back.json` of the devices with SONiC.
fn patches(
    changes: &[Change],
    devices: &[Device],
    files: &Files,
    intent: &Intent,
) -> Result<Vec<Made>, Failure> {
    let mut made = Vec::new();
    let sonic = changes.iter().filter(|change| change.system == SystemId::Sonic);
    for change in sonic {
        let device = devices.iter().find(|device| device.name == change.device);
        let (Some(device), Some(meant)) = (device, intent.device(&change.device)) else { continue };
        let Some(file) = source(device, files) else {
            return Err(Failure::input(format!(
                "which file is `{}` is not known: nothing in it says a port",
                printable(&change.device)
            )));
        };
        let running = read(&file.text);
        let patches = running
            .and_then(|running| between(&running, meant))
            .map_err(|why| Failure::input(format!("`{}` cannot be patched: {why}", file.name)))?;
        for said in &patches.shared {
            let message = format!("`{}`: {said}, which changes", printable(&change.device));
            say(Level::Warning, &message);
        }
        for (operations, kind) in [(&patches.forward, "patch"), (&patches.back, "patch-back")] {
            let name = format!("{}.{kind}.json", change.device);
            let text = delivery::patches::text(operations);
            made.push(Made::of(&change.device, change.system, Rendered { name, text }));
        }
    }
    let others = changes.iter().filter(|change| change.system != SystemId::Sonic).count();
    if others > 0 {
        let others = counted(others as u64, "device", "devices");
        say(Level::Note, &format!("{others} of other systems get statements, not patches"));
    }
    Ok(made)
}

/// The file that a device was read from.
fn source<'a>(device: &Device, files: &'a Files) -> Option<&'a File> {
    let port = device.ports.values().find_map(|port| port.place.or(port.mtu.place()));
    let port = port.or_else(|| device.ports.values().find_map(|port| port.pfc.place()));
    let place = port.or(device.remarks.first().map(|remark| remark.place))?;
    files.get(place.file)
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
