//! The folder of a sweep: what it is made from, shards, the table and the page.
//!
//! ```text
//! .xoff-sweep       the files of the sweep as they were when it began
//! shards/           rows of some points each: NNNNNN.jsonl when complete, NNNNNN.*.part before
//! sweep.parquet     all rows, when all shards are there
//! sweep.html        what they show
//! slurm/            scripts, logs and the program, of a sweep on Slurm
//! ```
//!
//! A shard appears under its name when it is complete and never changes. Until then every process that
//! works on it appends rows to a file of its own, which the next one reads: no kill loses a finished point.

use super::source::{Inputs, Source};
use crate::exit::{Exit, Failure};
use crate::kept::process;
use crate::output::files::{self, Contents, Earlier, failed};
use crate::slurm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use xoff_sweep::Row;
use xoff_sweep::analysis::Gathered;
use xoff_sweep::shard::{self, Header, Shards};
use xoff_sweep::table::Writer;
use xoff_telemetry::file;

const MARK: &str = ".xoff-sweep";
const SHARDS: &str = "shards";
pub(super) const TABLE: &str = "sweep.parquet";
pub(super) const PAGE: &str = "sweep.html";
pub(super) const SUMMARY: &str = "sweep.json";

/// What a folder is for.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    key: String,
    shards: Shards,
    inputs: Inputs,
}

/// The folder of a sweep.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    key: String,
    pub(super) shards: Shards,
}

fn is_one(path: &Path) -> bool {
    path.join(MARK).is_file()
}

fn mark(path: &Path) -> Option<Mark> {
    serde_json::from_slice(&fs::read(path.join(MARK)).ok()?).ok()
}

impl Folder {
    /// Makes the folder of a sweep, or goes on in it.
    pub(super) fn open(path: &Path, source: &Source, earlier: Earlier) -> Result<Self, Failure> {
        files::claim(path, &Contents::Results { what: "sweep", own: is_one })?;
        let shards = Shards::of(source.plan.points());
        let folder = Self { path: path.to_owned(), key: source.key.clone(), shards };
        let there = mark(path);
        match (&there, earlier) {
            (Some(mark), Earlier::Resume | Earlier::Refuse) if mark.key != source.key => {
                return Err(Failure::write(format!(
                    "`{}` has another sweep: its files, or the version of xoff, were different\n  \
                     choose another --out, or --fresh to begin again",
                    path.display()
                )));
            }
            (Some(_), Earlier::Refuse) => {
                return Err(Failure::write(format!(
                    "`{}` has {} of {} points of this sweep\n  --resume goes on with it, --fresh \
                     begins again",
                    path.display(),
                    folder.points(),
                    source.plan.points()
                )));
            }
            (Some(_), Earlier::Resume) => folder.remove_damaged()?,
            (_, Earlier::Forget) => folder.empty()?,
            (None, _) => {}
        }
        let shards = folder.path.join(SHARDS);
        fs::create_dir_all(&shards).map_err(|error| failed(&shards, &error))?;
        let mark =
            Mark { key: source.key.clone(), shards: folder.shards, inputs: source.inputs.clone() };
        let text = serde_json::to_vec(&mark).map_err(|error| Failure::write(error.to_string()))?;
        folder.write(MARK, &text)?;
        Ok(folder)
    }

    /// The folder that another process made, with the sweep it is for.
    pub(super) fn of_worker(path: &Path) -> Result<(Self, Source), Failure> {
        let mark = mark(path).ok_or_else(|| {
            Failure::input(format!("`{}` is no folder of a sweep", path.display()))
        })?;
        let source = Source::of(mark.inputs)?;
        if source.key != mark.key {
            return Err(Failure::input(format!(
                "files of the sweep in `{}`, or the version of xoff, have changed since it began",
                path.display()
            )));
        }
        Ok((Self { path: path.to_owned(), key: mark.key, shards: mark.shards }, source))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file whole or not at all.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.path.join(name);
        file::replace(&path, bytes).map_err(|error| failed(&path, &error))
    }

    fn shard_path(&self, shard: u64) -> PathBuf {
        self.path.join(SHARDS).join(format!("{shard:06}.jsonl"))
    }

    /// Files in the folder of shards by number, complete ones apart from others.
    fn listed(&self) -> (Vec<u64>, Vec<(u64, PathBuf)>) {
        let entries = fs::read_dir(self.path.join(SHARDS)).into_iter().flatten().flatten();
        let (mut complete, mut parts) = (Vec::new(), Vec::new());
        for entry in entries {
            let name = entry.file_name();
            let Some((number, rest)) = name.to_str().and_then(|name| name.split_once('.')) else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else { continue };
            match rest {
                "jsonl" => complete.push(number),
                rest if rest.ends_with(".part") => parts.push((number, entry.path())),
                _ => {}
            }
        }
        complete.sort_unstable();
        parts.sort();
        (complete, parts)
    }

    /// The shards that are not complete.
    pub(super) fn missing(&self) -> Vec<u64> {
        let (complete, _) = self.listed();
        (0..self.shards.count()).filter(|shard| complete.binary_search(shard).is_err()).collect()
    }

    /// How many points have been run.
    pub(super) fn points(&self) -> u64 {
        let (complete, parts) = self.listed();
        let size = |shard: u64| self.shards.points_of(shard).count() as u64;
        let mut rows: BTreeMap<u64, u64> = BTreeMap::new();
        for (shard, path) in &parts {
            // A first line that is no row, and as many rows as other lines.
            let lines =
                fs::read(path).map_or(0, |text| text.iter().filter(|b| **b == b'\n').count());
            let own = rows.entry(*shard).or_default();
            *own = (*own).max(lines.saturating_sub(1) as u64).min(size(*shard));
        }
        rows.retain(|shard, _| complete.binary_search(shard).is_err());
        complete.into_iter().map(size).sum::<u64>() + rows.values().sum::<u64>()
    }

    fn header(&self, shard: u64) -> Header {
        Header::new(&self.key, shard)
    }

    /// The rows of a complete shard; nothing if it has not all of them.
    fn rows(&self, shard: u64) -> Option<BTreeMap<u64, Row>> {
        let points = self.shards.points_of(shard);
        let input = BufReader::new(File::open(self.shard_path(shard)).ok()?);
        let rows = shard::read(input, &self.header(shard), &points);
        (rows.len() as u64 == points.end - points.start).then_some(rows)
    }

    /// What others have left of shards that are not complete.
    pub(super) fn parts(&self) -> BTreeMap<u64, Vec<PathBuf>> {
        let mut parts: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
        for (shard, path) in self.listed().1 {
            parts.entry(shard).or_default().push(path);
        }
        parts
    }

    /// The rows in what others have left of a shard.
    pub(super) fn left(&self, shard: u64, parts: &[PathBuf]) -> BTreeMap<u64, Row> {
        let points = self.shards.points_of(shard);
        let files = parts.iter().filter_map(|path| File::open(path).ok());
        files
            .flat_map(|file| shard::read(BufReader::new(file), &self.header(shard), &points))
            .collect()
    }

    /// Begins to keep rows of a shard one by one.
    pub(super) fn part(&self, shard: u64) -> Result<Part, Failure> {
        let name = format!("{shard:06}.{}.part", process());
        let path = self.path.join(SHARDS).join(name);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|error| failed(&path, &error))?;
        let header = self.header(shard).line();
        file.write_all(header.as_bytes()).map_err(|error| failed(&path, &error))?;
        Ok(Part { path, file })
    }

    /// Puts a complete shard into its place, and removes what was kept of it before.
    pub(super) fn complete(
        &self,
        shard: u64,
        rows: &BTreeMap<u64, Row>,
        parts: &[PathBuf],
    ) -> Result<(), Failure> {
        let lines = rows.values().map(shard::row_line);
        let text: String = std::iter::once(self.header(shard).line()).chain(lines).collect();
        let path = self.shard_path(shard);
        let beside = path.with_extension(format!("{}.new", process()));
        let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &path));
        if let Err(error) = written {
            let _ = fs::remove_file(&beside);
            return Err(failed(&path, &error));
        }
        // Another process may have removed them.
        parts.iter().for_each(|part| drop(fs::remove_file(part)));
        Ok(())
    }

    /// Removes shards whose files do not hold what they should: their points are run again.
    fn remove_damaged(&self) -> Result<(), Failure> {
        for shard in self.listed().0.into_iter().filter(|shard| self.rows(*shard).is_none()) {
            let path = self.shard_path(shard);
            fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
        }
        Ok(())
    }

    /// Removes everything of an earlier sweep.
    fn empty(&self) -> Result<(), Failure> {
        let (complete, parts) = self.listed();
        let shards = complete.into_iter().map(|shard| self.shard_path(shard));
        let results = [TABLE, PAGE, SUMMARY].map(|name| self.path.join(name));
        let parts = parts.into_iter().map(|(_, path)| path);
        for path in shards.chain(parts).chain(results) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed(&path, &error));
                }
                _ => {}
            }
        }
        slurm::forget(&self.path)
    }

    /// Makes the table of all shards, in the order of their points, and hands over what it shows.
    pub(super) fn merge<'a>(&self, source: &'a Source) -> Result<Gathered<'a>, Failure> {
        let path = self.path.join(TABLE);
        let beside = path.with_extension("parquet.partial");
        let mut table = Writer::create(&beside, &source.plan)?;
        let mut gathered = Gathered::new(&source.plan);
        for shard in 0..self.shards.count() {
            let rows = self.rows(shard).ok_or_else(|| {
                let damaged = self.shard_path(shard);
                let _ = fs::remove_file(&damaged);
                Failure::write(format!(
                    "`{}` does not hold what was written to it; --resume runs its points again",
                    damaged.display()
                ))
            })?;
            for row in rows.into_values() {
                gathered.add(&row);
                table.push(row)?;
            }
        }
        table.finish()?;
        fs::rename(&beside, &path).map_err(|error| failed(&path, &error))?;
        Ok(gathered.finish())
    }

    /// What is said when a sweep stops before its end.
    pub(super) fn interrupted(&self, source: &Source, resume: &str) -> Failure {
        let (done, all) = (self.points(), source.plan.points());
        let place = self.path.display();
        let text =
            format!("interrupted: {done} of {all} points are in {place}; `{resume}` goes on");
        crate::exit::say(crate::exit::Level::Warning, &text);
        Failure::silent(Exit::Interrupted)
    }
}

/// Rows of a shard that is not complete.
pub(super) struct Part {
    pub(super) path: PathBuf,
    file: File,
}

impl Part {
    /// Keeps a row. It is in the file when this returns, whatever happens to the process.
    pub(super) fn keep(&mut self, row: &Row) -> Result<(), Failure> {
        let line = shard::row_line(row);
        self.file.write_all(line.as_bytes()).map_err(|error| failed(&self.path, &error))
    }
}
