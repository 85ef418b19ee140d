//! Texts of switches that are cut off, as far as the others tell it: many systems end a configuration with a line of
//! its own, and half a line is one that no other device has. Formats with brackets tell it themselves, and so does the output of
//! EOS, which names its command at the top and ends with `end`.

use crate::audit::role;
use crate::device::{Device, Remark, RemarkKind};
use crate::place::{File, FileId, Files, Place};
use crate::system::SystemId;
use std::collections::{BTreeMap, BTreeSet};

/// Others that have to end alike before one that does not is called cut off.
const LEAST: usize = 3;

/// How the texts of a kind of device end.
#[derive(Default)]
struct Endings {
    texts: usize,
    ended: usize,
    /// The last lines, each with how many texts end so and how those begin.
    last: BTreeMap<String, (usize, BTreeSet<String>)>,
}

/// Remarks the devices whose text lacks the line that all others of their kind end with, or ends within a line.
pub(super) fn mark(devices: &mut [Device], files: &Files) {
    let by_lines = |device: &&Device| !matches!(device.system, SystemId::Sonic | SystemId::Junos);
    let text = |device: &Device| {
        let known = Some(device).filter(by_lines)?;
        known.files.first().and_then(|id| files.get(*id))
    };
    // Leaves and spines may well end with different lines.
    let kinds =
        |device: &Device| [role(&device.name), String::new()].map(|role| (device.system, role));
    let mut all: BTreeMap<(SystemId, String), Endings> = BTreeMap::new();
    for device in devices.iter() {
        let Some(file) = text(device) else { continue };
        for kind in kinds(device) {
            let endings = all.entry(kind).or_default();
            endings.texts += 1;
            endings.ended += usize::from(file.text.ends_with('\n'));
            let (count, openings) = endings.last.entry(last(&file.text)).or_default();
            *count += 1;
            openings.insert(opening(&file.text));
        }
    }
    let lines = |system: SystemId, but: FileId| {
        let alike = devices.iter().filter(move |d| d.system == system && !d.files.contains(&but));
        alike.filter_map(text).flat_map(|file| file.text.lines()).map(plain)
    };
    // Half a line: no other device has it, and some have a longer one that begins so. People who edit files leave out the last line's end.
    let half = |device: &Device, file: &File| {
        let own = last(&file.text);
        let Some(id) = device.files.first().copied() else { return false };
        if file.text.ends_with('\n') || !kinds(device).iter().any(|kind| all[kind].all_others_end())
        {
            return false;
        }
        // Nothing but the blanks that a statement begins with.
        let indented = file.text.lines().last().is_some_and(|line| line.trim().is_empty());
        let begun = |line: String| line != own && line.starts_with(&own);
        let known = lines(device.system, id).any(|line| line == own);
        indented || (!known && lines(device.system, id).any(begun))
    };
    let cut: Vec<bool> = devices
        .iter()
        .map(|device| {
            let Some(file) = text(device) else { return false };
            let lacking =
                kinds(device).map(|kind| all[&kind].lacking(&file.text)).into_iter().flatten();
            let own = last(&file.text);
            let known = || {
                let id = device.files.first().copied();
                id.is_some_and(|id| lines(device.system, id).any(|line| line == own))
            };
            let mut lacking = lacking.filter(|usual| !is_other_value(&own, usual) || known());
            lacking.next().is_some() || half(device, file)
        })
        .collect();
    for (device, cut) in devices.iter_mut().zip(cut) {
        let Some(file) = device.files.first().and_then(|id| files.get(*id)) else { continue };
        let known = device.remarks.iter().any(|remark| remark.kind == RemarkKind::Truncated);
        let kind = match cut {
            true => RemarkKind::Truncated,
            false if device.system == SystemId::Eos && is_unended(&file.text) => {
                RemarkKind::Unended
            }
            false => continue,
        };
        if let (false, Some(id)) = (known, device.files.first()) {
            let line = file.text.trim_end().lines().count().max(1) as u32;
            device.remarks.push(Remark { place: Place::line(*id, line), kind });
        }
    }
}

/// Whether a text of EOS says that it is the output of `show running-config`, and lacks the `end` of it. Parts of a configuration
/// (`show running-config section qos`) have none.
fn is_unended(text: &str) -> bool {
    let command = |line: &str| {
        let words = line.trim_start_matches('!').trim_start().strip_prefix("Command:")?;
        let words: Vec<&str> = words.split_whitespace().collect();
        let ["show", "running-config" | "startup-config", rest @ ..] = &words[..] else {
            return Some(false);
        };
        Some(rest.iter().all(|word| matches!(*word, "all" | "sanitized" | "detail")))
    };
    let whole = text.lines().take(20).find_map(command) == Some(true);
    whole && !text.lines().any(|line| line.trim_end() == "end")
}

/// The last line that is not empty, without its numbers.
fn last(text: &str) -> String {
    plain(text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default())
}

/// Whether a line says the same as another with another value, which is a setting of its own. Where other devices have that line,
/// too, it stands before the last one.
fn is_other_value(line: &str, usual: &str) -> bool {
    let (Some((own, value)), Some((other, usual))) =
        (line.rsplit_once(" "), usual.rsplit_once(" "))
    else {
        return false;
    };
    own == other && own.contains(' ') && !usual.starts_with(value)
}

/// How a text begins: a comment, a word, the prompt before a command. A part of a configuration, which is not what a device was
/// asked for, begins otherwise.
fn opening(text: &str) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut words = first.split_whitespace();
    let is_word = |word: &&str| word.contains(|letter: char| letter.is_alphanumeric());
    match words.find(is_word).map(plain) {
        Some(word) if word.contains(['#', '>', '@']) => "prompt".to_owned(),
        Some(word) => word,
        None => first.to_owned(),
    }
}

/// A line without its numbers. A prompt that waits for a command has the name of its device, and ends all texts alike.
fn plain(line: &str) -> String {
    let line = line.trim();
    let letters = line.contains(char::is_alphanumeric) && !line.contains(char::is_whitespace);
    if letters && line.ends_with(['#', '>', '$']) {
        return "prompt".to_owned();
    }
    line.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

impl Endings {
    /// The line that all others end with, and that a text lacks. One that goes on behind the usual end is not cut off.
    fn lacking(&self, text: &str) -> Option<&str> {
        let others = self.texts - 1;
        if others < LEAST {
            return None;
        }
        let usual = self.last.iter().find(|(_, (count, _))| *count == others);
        let lacks = |usual: &String| {
            last(text) != *usual && !text.lines().any(|line| plain(line) == *usual)
        };
        let (usual, (_, openings)) = usual?;
        (lacks(usual) && openings.contains(&opening(text))).then_some(usual)
    }

    /// Whether all texts but one, which does not, end with a whole line.
    fn all_others_end(&self) -> bool {
        self.texts > LEAST && self.ended + 1 == self.texts
    }
}
