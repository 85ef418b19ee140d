//! The folder of a validation.

use crate::exit::Failure;
use crate::output;
use crate::output::files::{self, Contents, failed};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};
use xoff_telemetry::file;
use xoff_validate::Measurement;

/// The folder of a validation.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

/// A file that is there before anything else, with the path of the fabric: a validation that is interrupted before its
/// verdict is known by it.
const MARK: &str = ".xoff-validation";

/// Whether a validation wrote this folder: the mark, or the verdict of a version without a mark.
fn is_one(path: &Path) -> bool {
    let verdict = || read::<serde_json::Value>(&path.join("validation.json"));
    let ours = |verdict: serde_json::Value| verdict["fabric_sha256"].is_string();
    path.join(MARK).is_file() || verdict().is_some_and(ours)
}

/// The fabric file that a folder has a validation of, if it is another than this one. A file that was edited since is
/// the same one, and so is a copy of it.
pub(super) fn of_another(folder: &Path, fabric: &Path, text: &str) -> Option<String> {
    if fs::read_to_string(folder.join("fabric.toml")).is_ok_and(|there| there == text) {
        return None;
    }
    let marked = fs::read_to_string(folder.join(MARK)).ok().filter(|path| !path.is_empty());
    let judged = || {
        let verdict = read::<serde_json::Value>(&folder.join("validation.json"))?;
        verdict["fabric"].as_str().map(str::to_owned)
    };
    let there = marked.or_else(judged)?;
    (whole(Path::new(&there)) != whole(fabric)).then_some(there)
}

/// A path from the root, as far as it can be known.
fn whole(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What an experiment measured, with what it was made from: it counts only for that.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    key: String,
    measurement: Measurement,
}

impl Folder {
    /// Makes the folder, or goes on in it; `fresh` forgets what was measured there.
    /// A validation of another fabric stays, unless `fresh` says otherwise.
    pub(super) fn open(
        path: PathBuf,
        fabric: &Path,
        text: &str,
        fresh: bool,
    ) -> Result<Self, Failure> {
        if let Some(there) = of_another(&path, fabric, text).filter(|_| !fresh) {
            return Err(Failure::write(format!(
                "`{}` has the validation of another fabric, `{there}`\n  choose another --out, or --fresh to replace it",
                path.display()
            )));
        }
        files::claim(&path, &Contents::Results { what: "validation", own: is_one })?;
        let mark = path.join(MARK);
        let whole = whole(fabric).display().to_string();
        fs::write(&mark, whole).map_err(|error| failed(&mark, &error))?;
        let folder = Self { path };
        let experiments = folder.path.join("experiments");
        if fresh && experiments.is_dir() {
            let ours = |name: &str| name.ends_with(".json") || name.ends_with(".toml");
            let entries = fs::read_dir(&experiments).map_err(|e| failed(&experiments, &e))?;
            for entry in entries.flatten() {
                if entry.file_name().to_str().is_some_and(ours) {
                    fs::remove_file(entry.path()).map_err(|e| failed(&entry.path(), &e))?;
                }
            }
        }
        fs::create_dir_all(&experiments).map_err(|error| failed(&experiments, &error))?;
        folder.write("fabric.toml", text)?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole or not at all.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        replace(&self.path.join(name), text.as_bytes())
    }

    /// Removes a file of an earlier validation that is not true any more.
    pub(super) fn forget(&self, name: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, &error)),
            _ => Ok(()),
        }
    }

    pub(super) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        self.write(name, &output::json(value)?)
    }

    /// What an earlier run of this very experiment measured. A file that cannot be read is as good
    /// as none: the experiment is made again.
    pub(super) fn recall(&self, name: &str, key: &str) -> Option<Measurement> {
        let kept: Kept = read(&self.path.join(format!("experiments/{name}.json")))?;
        (kept.key == key).then_some(kept.measurement)
    }

    /// Keeps what an experiment measured, and gives it back as it will be read again: whether it
    /// was interrupted in between makes no difference to the verdict.
    pub(super) fn keep(
        &self,
        name: &str,
        key: String,
        measurement: Measurement,
    ) -> Result<Measurement, Failure> {
        let file = format!("experiments/{name}.json");
        self.write_json(&file, &Kept { key: key.clone(), measurement })?;
        self.recall(name, &key).ok_or_else(|| {
            let path = self.path.join(file);
            Failure::write(format!("`{}` does not hold what was written to it", path.display()))
        })
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes a file whole or not at all.
pub(super) fn replace(path: &Path, text: &[u8]) -> Result<(), Failure> {
    file::replace(path, text).map_err(|error| failed(path, &error))
}

/// SHA-256 of a text, in hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
