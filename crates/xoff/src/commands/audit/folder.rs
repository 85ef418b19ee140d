//! The configurations in a folder: every file below it, and a word on each that could not be read.

use super::super::config::folder::carriers;
use crate::exit::{Failure, Level, say};
use crate::output::number::counted;
use crate::output::printable;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use xoff_config::audit::{Collection, read};
use xoff_config::collection::{decode, parts};
use xoff_config::{Device, Files};

/// Larger files are not configurations.
const MOST_BYTES: u64 = 64 << 20;
/// Folders in each other: an unpacked sosreport has a dozen.
const DEEPEST: usize = 24;
/// Warnings that are printed one by one.
const MOST_NAMED: usize = 40;

/// What a folder has and was not read.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// What may be a configuration and could not be read: an audit of the rest is not one of the folder.
    pub(super) unreadable: Vec<String>,
    /// What is none, or not as it stands there: archives, pipes, links that lead nowhere.
    pub(super) others: Vec<String>,
}

/// Why a file was left out.
enum Why {
    Unreadable(String),
    Other(String),
}

/// The configurations in a folder; what looks like none is named.
pub(crate) fn read_folder(dir: &Path) -> Result<(Files, Vec<Device>), Failure> {
    read_collection(dir).map(|(files, found, _)| (files, found.devices))
}

/// All that is in a folder: configurations, tables of cables, and what was left out.
pub(super) fn read_collection(dir: &Path) -> Result<(Files, Collection, LeftOut), Failure> {
    let mut files = Files::default();
    let left_out = collect(dir, &mut files)?;
    let found = collection(&files);
    if found.devices.is_empty() {
        return Err(Failure::input(format!(
            "nothing in `{}` looks like a configuration; known are SONiC's config_db.json, Arista \
             EOS, Cisco NX-OS, NVUE commands and YAML, Junos, Dell OS10, PicOS, and of hosts the \
             output of mlnx_qos, dcb, lldptool, niccli, nicctl and check scripts, sysfs and environments",
            dir.display()
        )));
    }
    Ok((files, found, left_out))
}

/// The devices that files describe, with a word on those that describe none.
pub(crate) fn devices(files: &Files) -> Vec<Device> {
    collection(files).devices
}

fn collection(files: &Files) -> Collection {
    let found = read(files);
    let strange = found.strange.iter().filter_map(|id| files.get(*id));
    let unknown = strange.map(unknown);
    list(Level::Warning, &unknown.collect::<Vec<String>>());
    for remark in &found.remarks {
        say(Level::Note, remark);
    }
    found
}

/// A word on a file that looks like no system's.
pub(super) fn unknown(file: &xoff_config::place::File) -> String {
    match &file.owner {
        Some(owner) => {
            format!("`{}`: what it has of {owner} looks like no known configuration", file.name)
        }
        None => format!("`{}` looks like no known configuration", file.name),
    }
}

/// Reads a file, or all files below a folder in the order of their names. What cannot be read is named, and is not
/// the end, unless it is the place that was asked for.
pub(crate) fn collect(path: &Path, files: &mut Files) -> Result<LeftOut, Failure> {
    let failed =
        |error: io::Error| Failure::input(format!("cannot read `{}`: {error}", path.display()));
    let metadata = fs::metadata(path).map_err(failed)?;
    let mut walk = Walk {
        files,
        above: Vec::new(),
        seen: BTreeSet::new(),
        carriers: BTreeSet::new(),
        again: 0,
        left_out: LeftOut::default(),
    };
    if metadata.is_dir() {
        fs::read_dir(path).map_err(failed)?;
        walk.folder(path);
    } else if let Err(Why::Unreadable(why) | Why::Other(why)) = walk.file(path) {
        return Err(Failure::input(format!("cannot read `{}`: {why}", path.display())));
    }
    let (left_out, again) = (walk.left_out, walk.again);
    list(Level::Error, &left_out.unreadable);
    list(Level::Warning, &left_out.others);
    if again > 0 {
        let folders = counted(again as u64, "folder", "folders");
        say(Level::Note, &format!("links lead to {folders} once more; they are read once"));
    }
    Ok(left_out)
}

/// Some sentences, and how many more there were.
fn list(level: Level, sentences: &[String]) {
    for sentence in sentences.iter().take(MOST_NAMED) {
        say(level, sentence);
    }
    if sentences.len() > MOST_NAMED {
        say(level, &format!("and {} more files like these", sentences.len() - MOST_NAMED));
    }
}

struct Walk<'a> {
    files: &'a mut Files,
    /// The folders that the walk is in, as they really are: a link back to one of them has no end.
    above: Vec<PathBuf>,
    /// All folders that were read: links can lead to one folder on more ways than could ever be walked.
    seen: BTreeSet<PathBuf>,
    /// Files that carry what other files say.
    carriers: BTreeSet<PathBuf>,
    /// Folders that were reached again.
    again: usize,
    /// Why something was left out.
    left_out: LeftOut,
}

impl Walk<'_> {
    fn folder(&mut self, path: &Path) {
        let shown = path.display();
        let entries = fs::canonicalize(path).and_then(|real| Ok((real, fs::read_dir(path)?)));
        let (real, entries) = match entries {
            Ok(entries) => entries,
            Err(error) => {
                return self.left_out.unreadable.push(format!("cannot read `{shown}`: {error}"));
            }
        };
        if self.above.contains(&real) {
            return self
                .left_out
                .others
                .push(format!("`{shown}` leads back to a folder that it is in"));
        }
        if !self.seen.insert(real.clone()) {
            self.again += 1;
            return;
        }
        if self.above.len() >= DEEPEST {
            return self
                .left_out
                .others
                .push(format!("`{shown}` is more than {DEEPEST} folders deep"));
        }
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        self.above.push(real);
        // What `xoff config` wrote for other tools says of devices what their own files say.
        self.carriers.extend(carriers(path));
        for path in paths {
            if self.carriers.contains(&path) {
                continue;
            }
            match fs::metadata(&path) {
                // Hidden folders are those of tools, like `.git`.
                Ok(found) if found.is_dir() && is_hidden(&path) => {}
                Ok(found) if found.is_dir() => self.folder(&path),
                Ok(_) => {
                    let sentence = |why: String| format!("`{}` is not read: {why}", path.display());
                    match self.file(&path) {
                        Ok(()) => {}
                        Err(Why::Unreadable(why)) => self.left_out.unreadable.push(sentence(why)),
                        Err(Why::Other(why)) => self.left_out.others.push(sentence(why)),
                    }
                }
                Err(error) => {
                    let sentence = format!("`{}` is not read: {error}", path.display());
                    self.left_out.others.push(sentence);
                }
            }
        }
        self.above.pop();
    }

    /// Reads a file, or says why not. Pipes and devices would wait for ever.
    fn file(&mut self, path: &Path) -> Result<(), Why> {
        let unreadable = |error: io::Error| Why::Unreadable(error.to_string());
        let metadata = fs::metadata(path).map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(Why::Other("it is a pipe, a socket or a device, not a file".to_owned()));
        }
        if metadata.len() > MOST_BYTES {
            return Err(Why::Other("it is too large for a configuration".to_owned()));
        }
        let mut bytes = Vec::new();
        // It may grow while it is read; files of sysfs say they have 4096 bytes.
        let file = File::open(path).map_err(unreadable)?;
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
        let text = decode(&bytes).map_err(|what| Why::Other(format!("it is {what}")))?;
        let name = path.display().to_string();
        match parts(&name, &text) {
            Ok((all, strays)) => {
                for part in all {
                    self.files.add_part(part);
                }
                for (line, text) in strays {
                    let sentence = format!("`{name}:{line}` is of no device: {}", printable(text));
                    self.left_out.others.push(sentence);
                }
                Ok(())
            }
            Err(names) => Err(Why::Unreadable(format!(
                "it has several devices ({}{}), and nothing says where each begins: give each a file of its own",
                names[..names.len().min(4)].join(", "),
                if names.len() > 4 { ", …" } else { "" }
            ))),
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.starts_with('.'))
}
