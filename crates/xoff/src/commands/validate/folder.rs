//! The folder of a validation.

use crate::exit::Failure;
use crate::kept::{Keeper, Outcome};
use crate::output;
use crate::output::files::{self, Contents, failed};
use crate::slurm;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The folder of a validation.
#[derive(Debug)]
pub(super) struct Folder(Keeper);

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
        let folder = Self(Keeper::new(path));
        let experiments = folder.path().join("experiments");
        if fresh {
            slurm::forget(folder.path())?;
        }
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

    /// The folder that another process made, in which more of them write.
    pub(super) fn of_worker(path: &Path) -> Result<Self, Failure> {
        if !is_one(path) {
            let shown = path.display();
            return Err(Failure::input(format!("`{shown}` is no folder of a validation")));
        }
        Ok(Self(Keeper::shared(path.to_owned())))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file whole or not at all.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        self.0.write(name, text)
    }

    /// Removes a file of an earlier validation that is not true any more.
    pub(super) fn forget(&self, name: &str) -> Result<(), Failure> {
        let path = self.path().join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, &error)),
            _ => Ok(()),
        }
    }

    pub(super) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        self.write(name, &output::json(value)?)
    }

    /// What an earlier run of this very experiment gave.
    pub(super) fn recall(&self, name: &str, key: &str) -> Option<Outcome> {
        self.0.recall(&format!("experiments/{name}.json"), key)
    }

    /// Keeps what an experiment gave.
    pub(super) fn keep(&self, name: &str, key: &str, outcome: Outcome) -> Result<Outcome, Failure> {
        self.0.keep(&format!("experiments/{name}.json"), key, outcome)
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// SHA-256 of a text, in hexadecimal.
pub(super) fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
