//! [`RunFolder`]: everything a run leaves behind.
//!
//! ```text
//! summary.json      the whole run on one page
//! flows.parquet     one row per flow
//! ports.parquet     one row per port and class
//! queues.parquet    queues over time
//! events.parquet    pauses, drops, watchdog, deadlock
//! counters.parquet  every counter of every port over time, if asked for
//! report.html       the run as a page to read
//! input/            the files the run was made from
//! ```
//!
//! The summary is there from the start and says that the run is running, so that a folder without
//! an ending says so too. It is replaced as a whole: a reader finds the old one or the new one.

use crate::error::RunError;
use crate::file::replace;
use crate::summary::{Summary, TOOL};
use crate::table::Table;
use crate::{CounterRow, EventRow, PortRow, QueueRow, Row};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// An input file, as it was when the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Where the run read it.
    pub path: String,
    /// Its copy in the run folder.
    pub copy: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, as `sha256sum` prints it.
    pub sha256: String,
}

/// A folder that holds a run.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    inputs: Vec<InputFile>,
}

const SUMMARY: &str = "summary.json";
const INPUT: &str = "input";
const REPORT: &str = "report.html";

impl RunFolder {
    /// Makes the folder, or takes over one that is empty or holds an earlier run, whose results are
    /// removed. A folder with anything else in it is refused.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, RunError> {
        let path = path.into();
        let failed = |source| RunError::Folder { path: path.clone(), source };
        let occupied = match fs::read_dir(&path) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(failed(error)),
        };
        if occupied && !Self::is_one(&path) {
            return Err(RunError::NotARunFolder { path });
        }
        fs::create_dir_all(path.join(INPUT)).map_err(failed)?;
        let folder = Self { path, inputs: Vec::new() };
        folder.remove_results()?;
        folder.write_summary(&Summary::new(0))?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The input files copied so far.
    pub fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }

    /// Copies a file the run is made from into `input/`, and remembers its hash. Files of equal
    /// name get a number.
    pub fn keep_input(&mut self, file: &Path) -> Result<&InputFile, RunError> {
        let copy = self.free_name(file);
        let target = self.path.join(&copy);
        let (bytes, sha256) = copy_and_hash(file, &target)
            .map_err(|source| RunError::Input { path: file.to_owned(), source })?;
        let path = file.display().to_string();
        let at = self.inputs.len();
        self.inputs.push(InputFile { path, copy, bytes, sha256 });
        Ok(&self.inputs[at])
    }

    /// Opens the table of `R`, empty.
    pub fn table<R: Row>(&self) -> Result<Table<R>, RunError> {
        Table::create(&self.table_path::<R>())
    }

    /// Replaces the summary, as a whole.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RunError> {
        let path = self.path.join(SUMMARY);
        let text = serde_json::to_vec_pretty(summary).map_err(io::Error::other);
        let written = text.and_then(|mut text| {
            text.push(b'\n');
            replace(&path, &text)
        });
        written.map_err(|source| RunError::Summary { path, source })
    }

    /// Writes the report, as a whole: a page that does not fit the disk leaves nothing behind.
    pub fn write_report(&self, page: &str) -> Result<(), RunError> {
        let path = self.path.join(REPORT);
        replace(&path, page.as_bytes()).map_err(|source| RunError::Report { path, source })
    }

    /// The summary in the folder of an earlier run.
    pub fn read_summary(path: &Path) -> io::Result<Summary> {
        let text = fs::read(path.join(SUMMARY))?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    /// Whether a run wrote this folder.
    pub fn is_one(path: &Path) -> bool {
        Self::read_summary(path).is_ok_and(|summary| summary.tool == TOOL)
    }

    fn table_path<R: Row>(&self) -> PathBuf {
        self.path.join(R::TABLE).with_extension("parquet")
    }

    /// Removes the results of an earlier run: only files of names that a run writes.
    fn remove_results(&self) -> Result<(), RunError> {
        let results = [
            self.table_path::<crate::FlowRow>(),
            self.table_path::<PortRow<'_>>(),
            self.table_path::<QueueRow>(),
            self.table_path::<EventRow>(),
            self.table_path::<CounterRow>(),
            self.path.join(REPORT),
        ];
        for file in results {
            match fs::remove_file(&file) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(RunError::Folder { path: file, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A name under `input/` that this run has not used.
    fn free_name(&self, file: &Path) -> String {
        let part = |text: Option<&std::ffi::OsStr>| {
            text.map(|t| t.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let (stem, extension) = (part(file.file_stem()), part(file.extension()));
        let dot = if extension.is_empty() { "" } else { "." };
        let used = |name: &String| self.inputs.iter().any(|input| input.copy == *name);
        let first = format!("{INPUT}/{stem}{dot}{extension}");
        if !used(&first) {
            return first;
        }
        (2u64..)
            .map(|number| format!("{INPUT}/{stem}-{number}{dot}{extension}"))
            .find(|name| !used(name))
            .unwrap_or(first)
    }
}

/// Copies in pieces, because a trace may be larger than memory. A file that is its own copy (a run
/// repeated from its folder) is only hashed.
fn copy_and_hash(from: &Path, to: &Path) -> io::Result<(u64, String)> {
    let same = fs::canonicalize(from)? == fs::canonicalize(to).unwrap_or_default();
    let mut source = File::open(from)?;
    let mut target = if same { None } else { Some(File::create(to)?) };
    let (mut hash, mut bytes, mut piece) = (Sha256::new(), 0u64, vec![0; 1 << 16]);
    loop {
        let count = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hash.update(&piece[..count]);
        if let Some(target) = &mut target {
            target.write_all(&piece[..count])?;
        }
        bytes += count as u64;
    }
    let hex = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((bytes, hex))
}

#[cfg(test)]
mod tests;
