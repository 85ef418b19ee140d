//! The folder of a comparison.
//!
//! ```text
//! .xoff-comparison   the files of the comparison as they were when it began
//! runs/NNN.json      what each run measured
//! comparison.json    all figures, when all runs are there
//! report.html        what they show
//! slurm/             scripts, logs and the program, of a comparison on Slurm
//! ```

use super::Row;
use super::work::{Comparison, Order};
use crate::exit::Failure;
use crate::kept::{Keeper, Outcome};
use crate::output;
use crate::output::files::{self, Contents, failed};
use crate::slurm;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::Path;

const MARK: &str = ".xoff-comparison";
const ROWS: &str = "comparison.json";
const RUNS: &str = "runs";
pub(super) const PAGE: &str = "report.html";

/// What a folder is for.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    /// What the first run counts for: files that workloads name are in no other field.
    key: String,
    order: Order,
}

/// The folder of a comparison.
pub(super) struct Folder(Keeper);

/// Whether a folder is one: by its mark, or by the figures of a version without a mark.
fn is_one(path: &Path) -> bool {
    let figures = || {
        let text = fs::read(path.join(ROWS)).unwrap_or_default();
        let rows: Result<Vec<serde_json::Value>, _> = serde_json::from_slice(&text);
        rows.is_ok_and(|rows| rows.iter().all(|row| row["variant"].is_string()))
    };
    path.join(MARK).is_file() || figures()
}

fn mark(path: &Path) -> Option<Mark> {
    serde_json::from_slice(&fs::read(path.join(MARK)).ok()?).ok()
}

/// Removes a file, which need not be there.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != NotFound => Err(failed(path, &error)),
        _ => Ok(()),
    }
}

impl Folder {
    /// Takes the folder, before anything is run. Runs of this very comparison stay, unless `fresh` forgets them.
    pub(super) fn open(path: &Path, comparison: &Comparison, fresh: bool) -> Result<Self, Failure> {
        files::claim(path, &Contents::Results { what: "comparison", own: is_one })?;
        let folder = Self(Keeper::new(path.to_owned()));
        let key = comparison.key(0);
        let same = mark(path).is_some_and(|mark| mark.key == key && mark.order == comparison.order);
        if fresh || !same {
            folder.empty()?;
        }
        let runs = path.join(RUNS);
        fs::create_dir_all(&runs).map_err(|error| failed(&runs, &error))?;
        let mark = Mark { key, order: comparison.order.clone() };
        folder.0.write(MARK, &output::json(&mark)?)?;
        Ok(folder)
    }

    /// The folder that another process made, with the comparison it is for.
    pub(super) fn of_worker(path: &Path) -> Result<(Self, Comparison), Failure> {
        let shown = path.display();
        let mark = mark(path)
            .ok_or_else(|| Failure::input(format!("`{shown}` is no folder of a comparison")))?;
        let comparison = Comparison::of(mark.order)?;
        if comparison.key(0) != mark.key {
            return Err(Failure::input(format!(
                "files of the comparison in `{shown}`, or the version of xoff, have changed since it began"
            )));
        }
        Ok((Self(Keeper::shared(path.to_owned())), comparison))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Removes everything of an earlier comparison.
    fn empty(&self) -> Result<(), Failure> {
        let runs = fs::read_dir(self.path().join(RUNS)).into_iter().flatten().flatten();
        let own = |name: &Path| name.extension().is_some_and(|ending| ending == "json");
        for run in runs.map(|entry| entry.path()).filter(|path| own(path)) {
            remove(&run)?;
        }
        for name in [ROWS, PAGE] {
            remove(&self.path().join(name))?;
        }
        slurm::forget(self.path())
    }

    pub(super) fn recall(&self, number: usize, key: &str) -> Option<Outcome> {
        self.0.recall(&run_name(number), key)
    }

    pub(super) fn keep(
        &self,
        number: usize,
        key: &str,
        outcome: Outcome,
    ) -> Result<Outcome, Failure> {
        self.0.keep(&run_name(number), key, outcome)
    }

    /// Writes the figures and the page.
    pub(super) fn conclude(&self, rows: &[Row], page: &str) -> Result<(), Failure> {
        self.0.write(ROWS, &output::json(rows)?)?;
        self.0.write(PAGE, page)
    }
}

fn run_name(number: usize) -> String {
    format!("{RUNS}/{number:03}.json")
}
