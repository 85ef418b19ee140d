//! What people see of a collection: what would be asked, how far it is, and what came of it.

use super::device::{Result, State};
use super::ssh::Ssh;
use crate::output::number::{bytes, counted};
use crate::output::printable;
use crate::output::style::Style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use xoff_config::SystemId;
use xoff_config::inventory::{Target, asks, systems};
use xoff_units::Bytes;

/// Every command of every system.
pub(super) fn list(style: Style) -> String {
    let mut text = String::new();
    for system in systems() {
        let _ = writeln!(text, "{}", style.bold(system.name()));
        for ask in asks(system) {
            for (command, number) in ask.commands.iter().zip(0..) {
                let what = if number == 0 { ask.what } else { "or" };
                let _ = writeln!(text, "  {what:<9}{command}");
            }
        }
    }
    text += &script([SystemId::Host].into_iter());
    text
}

/// Every line that would be run.
pub(super) fn dry_run(ssh: &Ssh, targets: &[Target]) -> String {
    let mut text = String::new();
    for target in targets {
        let _ = writeln!(text, "# {} ({})", target.name, target.system);
        for ask in asks(target.system) {
            for (command, number) in ask.commands.iter().zip(0..) {
                let or = if number == 0 { "" } else { "# or, where that is not known: " };
                let input = if ask.input.is_some() { " < SCRIPT" } else { "" };
                let _ = writeln!(text, "{or}{}{input}", ssh.line(target, command));
            }
        }
    }
    text + &script(targets.iter().map(|target| target.system))
}

/// The scripts that systems are given.
fn script(systems: impl Iterator<Item = SystemId>) -> String {
    let mut inputs = systems.flat_map(asks).filter_map(|ask| ask.input);
    let indented = |script: &str| -> String {
        script.lines().map(|line| format!("    {line}\n").replace("    \n", "\n")).collect()
    };
    inputs.next().map_or(String::new(), |script| {
        format!("\n# SCRIPT, which hosts are given on standard input\n{}", indented(script))
    })
}

/// How far it is; shown on a terminal only.
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(super) fn new(devices: usize, quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        Self(shown.then(|| bar(devices as u64)))
    }

    /// A device is done.
    pub(super) fn done(&self, target: &Target, failed: bool) {
        if let Some(bar) = &self.0 {
            let word = if failed { "failed" } else { "done" };
            bar.set_message(format!("{} {word}", target.name));
            bar.inc(1);
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn bar(devices: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(devices), ProgressDrawTarget::stderr());
    let template = "{bar:20} {pos} of {len} devices  {wide_msg} {elapsed}, about {eta} left";
    // The template is ours and valid; without it the bar only looks plainer.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(500));
    bar
}

/// What came of it: the numbers, then every failure with its cause, and what helps the first of each.
pub(super) fn summary(
    folder: &Path,
    results: &[(&Target, Result)],
    devices: usize,
    seconds: f64,
    style: Style,
) -> String {
    let of = |state| results.iter().filter(move |(_, result)| result.state == state);
    let collected = of(State::Collected).count();
    let files: usize = results.iter().map(|(_, result)| result.written.0).sum();
    let size: usize = results.iter().map(|(_, result)| result.written.1).sum();
    let word = format!("collected {collected} of {devices}");
    let word = if collected == devices { style.green(&word) } else { style.yellow(&word) };
    let mut text = format!(
        "{}  {word} devices: {}, {} in {seconds:.1} s\n",
        style.bold(&printable(&folder.display().to_string())),
        counted(files as u64, "file", "files"),
        bytes(Bytes::new(size as u64)),
    );
    let mut failed = of(State::Failed).peekable();
    if failed.peek().is_some() {
        text.push('\n');
    }
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for (target, result) in failed {
        let Some(cause) = &result.cause else { continue };
        let (name, message) = (style.red(&target.name), printable(&cause.message));
        let _ = writeln!(text, "  {name} ({} at {}) {message}", target.system, target.address);
        // What helps one device helps the next: hundreds that refuse a key are read once.
        if told.insert(&cause.message) {
            let _ = writeln!(text, "      {}", printable(&cause.cure));
        }
        if !result.collected.kept.is_empty() {
            let _ =
                writeln!(text, "      of an earlier time: {}", result.collected.kept.join(", "));
        }
    }
    let waiting = devices - collected - of(State::Failed).count();
    if waiting > 0 {
        let _ = writeln!(text, "\n  interrupted before {waiting} of them were done");
    }
    text
}

/// What else is worth a sentence.
pub(super) fn notes(results: &[(&Target, Result)]) -> Vec<String> {
    let (mut notes, mut otherwise) = (Vec::new(), Vec::new());
    let mut missing: BTreeMap<(&str, SystemId, String), Vec<&str>> = BTreeMap::new();
    for (target, result) in results.iter().filter(|(_, result)| result.state == State::Collected) {
        let collected = &result.collected;
        if let Some(name) = &collected.calls_itself {
            otherwise.push(format!("`{}` calls itself `{name}`", target.name));
        }
        if let Some(like) = collected.looks_like {
            notes.push(format!(
                "`{}` is said to run {}, and what it answered looks like {like}",
                target.name, target.system
            ));
        }
        for ask in asks(target.system).iter().filter(|ask| !ask.needed) {
            let answers = || collected.asked.iter().filter(|asked| asked.what == ask.what);
            if answers().all(|asked| asked.file.is_none()) {
                let why = answers().next_back().and_then(|asked| asked.error.clone());
                let why = why.unwrap_or_default();
                missing.entry((ask.what, target.system, why)).or_default().push(&target.name);
            }
        }
    }
    if !otherwise.is_empty() {
        notes.push(format!("the audit takes the devices' own names: {}", some(&otherwise)));
    }
    for ((what, system, why), names) in missing {
        notes.push(format!("no {what} of {} ({system}): {}", some(&names), printable(&why)));
    }
    notes
}

/// The first few of many names.
pub(super) fn some<T: AsRef<str>>(names: &[T]) -> String {
    const SHOWN: usize = 8;
    let first: Vec<&str> = names.iter().take(SHOWN).map(T::as_ref).collect();
    let rest = names.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    printable(&format!("{}{more}", first.join(", ")))
}
