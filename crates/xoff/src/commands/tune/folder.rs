//! The folder of a tuning: what was run, the table, the page, and the files that are advised.
//!
//! ```text
//! .xoff-tune        what tells the tuning from others
//! runs.jsonl        a line for every run, in the order in which they ended
//! tune.parquet      all runs, by setting, case and seed
//! tune.html         what they show
//! tune.json         the same for machines
//! advised.toml      the fabric with the values that are advised
//! ```

use super::source::Source;
use crate::exit::{Exit, Failure, Level, say};
use crate::output::files::{self, Contents, Earlier, failed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use xoff_sweep::{Figure, Row};
use xoff_telemetry::file;
use xoff_tune::search::Found;
use xoff_tune::{Plan, table};

const MARK: &str = ".xoff-tune";
const RUNS: &str = "runs.jsonl";
pub(super) const TABLE: &str = "tune.parquet";
pub(super) const PAGE: &str = "tune.html";
pub(super) const SUMMARY: &str = "tune.json";

/// Longer lines are no runs.
const LONGEST_LINE: u64 = 1 << 20;

/// What a folder is for.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    key: String,
}

/// A run that was made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// What the keys got.
    pub(super) setting: String,
    pub(super) case: usize,
    pub(super) seed: u64,
    pub(super) row: Row,
}

/// Runs that were made: what the keys got, the case and the seed.
pub(super) type Made = BTreeMap<(String, usize, u64), Row>;

/// The folder of a tuning.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
}

fn is_one(path: &Path) -> bool {
    path.join(MARK).is_file()
}

impl Folder {
    /// Makes the folder of a tuning, or goes on in it.
    pub(super) fn open(path: &Path, source: &Source, earlier: Earlier) -> Result<Self, Failure> {
        files::claim(path, &Contents::Results { what: "tuning", own: is_one })?;
        let folder = Self { path: path.to_owned() };
        let mark = fs::read(path.join(MARK)).ok();
        let mark: Option<Mark> = mark.and_then(|text| serde_json::from_slice(&text).ok());
        let shown = path.display();
        match (&mark, earlier) {
            (Some(mark), Earlier::Resume | Earlier::Refuse) if mark.key != source.key => {
                return Err(Failure::write(format!(
                    "`{shown}` has another tuning: its files, its knobs, or the version of xoff, were \
                     different\n  choose another --out, or --fresh to begin again"
                )));
            }
            (Some(_), Earlier::Refuse) => {
                return Err(Failure::write(format!(
                    "`{shown}` has {} runs of this tuning\n  --resume goes on with it, --fresh begins again",
                    folder.runs().len()
                )));
            }
            (_, Earlier::Forget) => folder.empty()?,
            _ => {}
        }
        let mark = Mark { key: source.key.clone() };
        let text = serde_json::to_vec(&mark).map_err(|error| Failure::write(error.to_string()))?;
        folder.write(MARK, &text)?;
        Ok(folder)
    }

    /// Writes a file whole or not at all.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path.join(name);
        file::replace(&path, bytes).map_err(|error| failed(&path, &error))
    }

    /// Removes a file that is not made any more.
    pub(super) fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failed(&path, &error))
            }
            _ => Ok(()),
        }
    }

    /// Removes everything of an earlier tuning.
    fn empty(&self) -> Result<(), Failure> {
        [RUNS, TABLE, PAGE, SUMMARY].into_iter().try_for_each(|name| self.remove(name))?;
        self.remove_advised()
    }

    /// Removes what an earlier tuning advised.
    pub(super) fn remove_advised(&self) -> Result<(), Failure> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let own = |name: &String| {
            name.starts_with("advised") && (name.ends_with(".toml") || name.ends_with(".txt"))
        };
        names.filter(own).try_for_each(|name| self.remove(&name))
    }

    /// The runs that were made before. A line that is cut off, or is none, is a run that was not.
    pub(super) fn runs(&self) -> Made {
        let mut made = Made::new();
        let Ok(file) = File::open(self.path.join(RUNS)) else { return made };
        let mut input = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) {
                return made;
            }
            let Ok(line) = serde_json::from_slice::<Line>(&line) else { continue };
            if line.row.figures.len() == Figure::ALL.len() {
                made.insert((line.setting, line.case, line.seed), line.row);
            }
        }
    }

    /// Where runs are kept one by one.
    pub(super) fn keeper(&self) -> Result<Keeper, Failure> {
        let path = self.path.join(RUNS);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.map_err(|error| failed(&path, &error))?;
        // What a kill cut off ends here.
        file.write_all(b"\n").map_err(|error| failed(&path, &error))?;
        Ok(Keeper { path, file })
    }

    /// Makes the table.
    pub(super) fn table(&self, plan: &Plan, found: &Found) -> Result<(), Failure> {
        let path = self.path.join(TABLE);
        let beside = path.with_extension("parquet.partial");
        table::write(&beside, plan, found)?;
        fs::rename(&beside, &path).map_err(|error| failed(&path, &error))
    }

    /// What is said when a tuning stops before its end.
    pub(super) fn interrupted(&self, done: u64, source: &Source, resume: &str) -> Failure {
        let most = source.budget;
        let place = self.path.display();
        let text = format!(
            "interrupted: {done} runs of at most {most} are in {place}; `{resume}` goes on"
        );
        say(Level::Warning, &text);
        Failure::silent(Exit::Interrupted)
    }
}

/// Keeps runs.
pub(super) struct Keeper {
    path: PathBuf,
    file: File,
}

impl Keeper {
    /// Keeps a run. It is in the file when this returns, whatever happens to the process.
    pub(super) fn keep(&mut self, line: &Line) -> Result<(), Failure> {
        let mut text =
            serde_json::to_string(line).map_err(|error| Failure::write(error.to_string()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(|error| failed(&self.path, &error))
    }
}
