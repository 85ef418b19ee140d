//! The folder of a collection: files that only their owner reads, each whole or not there, and `collection.json`.

use super::device::{Collected, State};
use crate::exit::Failure;
use crate::output::{self, files};
use serde::Serialize;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use xoff_config::inventory::{NOT_READ, Target, asks};

/// What was asked, when, and what came of it.
pub(super) const RECORD: &str = "collection.json";

/// Takes a folder: a new one is its owner's alone, one with anything but an earlier collection is refused.
pub(super) fn claim(folder: &Path) -> Result<(), Failure> {
    let own = |folder: &Path| {
        let there = fs::read_to_string(folder.join(RECORD));
        there.is_ok_and(|text| text.lines().take(5).any(|line| line.contains(NOT_READ)))
    };
    if !folder.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| files::failed(folder, &error))?;
    }
    files::claim(folder, &files::Contents::Results { what: "collection", own })
}

/// The names that files of a device can have.
fn names(target: &Target) -> impl Iterator<Item = String> + '_ {
    asks(target.system).iter().map(|ask| format!("{}{}", target.name, ask.ending))
}

/// Files of an earlier time that are still there.
pub(super) fn kept(folder: &Path, target: &Target) -> Vec<String> {
    names(target).filter(|name| folder.join(name).exists()).collect()
}

/// Writes what a device answered. Files of an earlier time that were not answered again are removed.
pub(super) fn write(
    folder: &Path,
    target: &Target,
    answers: &[(String, String)],
) -> Result<(), Failure> {
    for (name, text) in answers {
        let path = folder.join(name);
        private(&path, text.as_bytes()).map_err(|error| files::failed(&path, &error))?;
    }
    for old in names(target).filter(|name| !answers.iter().any(|(new, _)| new == name)) {
        let path = folder.join(old);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(files::failed(&path, &error)),
        }
    }
    Ok(())
}

/// Writes beside the file, then moves over it. Only the owner may read it.
fn private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.to_owned();
    beside.as_mut_os_string().push(".partial");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
    let moved = opened
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    if moved.is_err() {
        let _ = fs::remove_file(&beside);
    }
    moved
}

/// Files of the folder that belong to no device of the inventory: the audit reads them, too.
pub(super) fn others(folder: &Path, targets: &[Target]) -> Vec<String> {
    let known: std::collections::BTreeSet<String> = targets.iter().flat_map(names).collect();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<String> =
        names.filter(|name| name != RECORD && !known.contains(name)).collect();
    others.sort_unstable();
    others
}

/// `collection.json`.
#[derive(Debug, Serialize)]
pub(super) struct Record<'a> {
    /// Has the audit pass this file over.
    pub(super) note: &'static str,
    pub(super) tool: &'static str,
    pub(super) version: &'static str,
    pub(super) inventory: String,
    pub(super) began: String,
    pub(super) seconds: f64,
    pub(super) redacted: bool,
    pub(super) collected: usize,
    pub(super) failed: usize,
    /// Devices of the fabric that the inventory lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_in_inventory: Vec<&'a str>,
    pub(super) devices: Vec<Entry<'a>>,
}

/// A device in it.
#[derive(Debug, Serialize)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) address: &'a str,
    pub(super) system: &'static str,
    pub(super) state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cure: Option<&'a str>,
    #[serde(flatten)]
    pub(super) collected: &'a Collected,
}

/// Writes the record.
pub(super) fn record(folder: &Path, record: &Record<'_>) -> Result<(), Failure> {
    let path = folder.join(RECORD);
    private(&path, output::json(record)?.as_bytes()).map_err(|error| files::failed(&path, &error))
}
