//! What simulations measured, kept in a folder, each with what it was made from: it counts only for that.

use crate::exit::Failure;
use crate::output;
use crate::output::files::failed;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use xoff_telemetry::file;
use xoff_validate::Measurement;

/// How a simulation ended that was not interrupted.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// With figures.
    Measured(Box<Measurement>),
    /// It could not be made, and why.
    Refused(String),
}

/// The file of one simulation.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    measurement: Option<Box<Measurement>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// A folder that keeps them.
#[derive(Debug)]
pub(crate) struct Keeper {
    path: PathBuf,
    /// What tells this process from others that may write the same files at the same time, where there are such.
    process: Option<String>,
}

impl Keeper {
    /// Of a folder in which no other process writes.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, process: None }
    }

    /// Of a folder in which others write, too, on this machine and on others.
    pub(crate) fn shared(path: PathBuf) -> Self {
        Self { path, process: Some(process()) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole or not at all.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        let written = match &self.process {
            None => file::replace(&path, text.as_bytes()),
            Some(process) => file::replace_among(&path, text.as_bytes(), process),
        };
        written.map_err(|error| failed(&path, &error))
    }

    /// What an earlier run of the very same simulation gave. A file that cannot be read is as good as none: the simulation
    /// is run again.
    pub(crate) fn recall(&self, name: &str, key: &str) -> Option<Outcome> {
        let kept: Kept = serde_json::from_slice(&fs::read(self.path.join(name)).ok()?).ok()?;
        let measured = kept.measurement.map(Outcome::Measured);
        let outcome = measured.or_else(|| kept.refused.map(Outcome::Refused))?;
        (kept.key == key).then_some(outcome)
    }

    /// Keeps an outcome, and gives it back as it will be read again: whether it was interrupted in between, or made by
    /// another machine, makes no difference to what follows from it.
    pub(crate) fn keep(&self, name: &str, key: &str, outcome: Outcome) -> Result<Outcome, Failure> {
        let (measurement, refused) = match outcome {
            Outcome::Measured(measurement) => (Some(measurement), None),
            Outcome::Refused(why) => (None, Some(why)),
        };
        let kept = Kept { key: key.to_owned(), measurement, refused };
        self.write(name, &output::json(&kept)?)?;
        self.recall(name, key).ok_or_else(|| {
            let path = self.path.join(name);
            Failure::write(format!("`{}` does not hold what was written to it", path.display()))
        })
    }
}

/// What tells this process from all others that may work in the same folder, on other machines, too.
pub(crate) fn process() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let host: String = host.chars().filter(plain).collect();
    format!("{host}-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_counts_for_its_key_only() {
        let folder = tempfile::tempdir().unwrap();
        let here = Keeper::new(folder.path().to_owned());
        let there = Keeper::shared(folder.path().to_owned());
        let refused = |outcome: Option<Outcome>| match outcome {
            Some(Outcome::Refused(why)) => why,
            other => panic!("{other:?}"),
        };
        assert!(here.recall("a.json", "1").is_none());
        there.keep("a.json", "1", Outcome::Refused("too large".to_owned())).unwrap();
        assert_eq!(refused(here.recall("a.json", "1")), "too large");
        assert!(here.recall("a.json", "2").is_none());
        let measured = Outcome::Measured(Box::default());
        assert!(matches!(here.keep("a.json", "2", measured), Ok(Outcome::Measured(_))));
        assert!(there.recall("a.json", "1").is_none() && there.recall("a.json", "2").is_some());
        // Half a file, and one of another shape.
        for text in ["{\"key\": \"2\", \"measu", "{\"key\": \"2\"}", "[]"] {
            here.write("a.json", text).unwrap();
            assert!(here.recall("a.json", "2").is_none(), "{text}");
        }
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
