//! Running the points of shards: on the cores of this machine, or as one of many jobs.

use super::folder::{Folder, Part};
use super::source::Source;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::pool;
use crate::progress::Progress;
use crate::slurm;
use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// How work on a shard ended.
enum Ended {
    Complete,
    Interrupted,
    Failed(Failure),
}

/// Runs the points of these shards that the folder does not have. Returns whether all of them were.
pub(super) fn run(
    folder: &Folder,
    source: &Source,
    shards: &[u64],
    threads: Option<usize>,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<bool, Failure> {
    quiet_crashes();
    let left = folder.parts();
    let none = Vec::new();
    let all = pool::each(shards, threads, |shard| {
        let parts = left.get(shard).unwrap_or(&none);
        match one(folder, source, *shard, parts, interrupt, progress) {
            Ended::Complete => ControlFlow::Continue(Ended::Complete),
            ended => ControlFlow::Break(ended),
        }
    });
    let mut complete = all.len() == shards.len();
    for (_, ended) in all {
        match ended {
            Ended::Complete => {}
            Ended::Interrupted => complete = false,
            Ended::Failed(failure) => return Err(failure),
        }
    }
    Ok(complete)
}

/// Runs the points of one shard that nothing has left.
fn one(
    folder: &Folder,
    source: &Source,
    shard: u64,
    parts: &[PathBuf],
    interrupt: &Interrupt,
    progress: &Progress,
) -> Ended {
    let mut rows = folder.left(shard, parts);
    let points = folder.shards.points_of(shard);
    let last = points.end.saturating_sub(1);
    let mut parts = parts.to_vec();
    let mut part: Option<Part> = None;
    for point in points {
        if rows.contains_key(&point) {
            continue;
        }
        if interrupt.requested() {
            return Ended::Interrupted;
        }
        let go_on = &mut |_: &xoff_sim::Progress| !interrupt.requested();
        let ran = in_point(|| source.base.run(&source.plan, point, go_on));
        let Some(row) = ran else { return Ended::Interrupted };
        // The last one completes the shard, which is written at once.
        if point != last {
            let kept = match &mut part {
                Some(part) => part.keep(&row),
                None => folder.part(shard).and_then(|mut new| {
                    new.keep(&row)?;
                    parts.push(new.path.clone());
                    part = Some(new);
                    Ok(())
                }),
            };
            if let Err(failure) = kept {
                return Ended::Failed(failure);
            }
        }
        rows.insert(point, row);
        progress.one();
    }
    match folder.complete(shard, &rows, &parts) {
        Ok(()) => Ended::Complete,
        Err(failure) => Ended::Failed(failure),
    }
}

/// A sweep as work for Slurm.
pub(super) struct OnSlurm<'a> {
    pub(super) folder: &'a Folder,
    pub(super) progress: &'a Progress,
}

impl slurm::Work for OnSlurm<'_> {
    fn what(&self) -> &'static str {
        "sweep"
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, folder: &Path) -> Vec<String> {
        vec!["sweep".to_owned(), folder.display().to_string()]
    }

    fn missing(&self) -> Vec<String> {
        self.folder.missing().iter().map(ToString::to_string).collect()
    }

    fn done(&self) -> u64 {
        self.folder.points()
    }

    fn show(&self, words: &str) {
        self.progress.reach(self.folder.points(), words);
    }

    fn resume(&self) -> &'static str {
        "--resume"
    }
}

thread_local! {
    /// Whether this thread runs a point, whose panics are rows of the table.
    static IN_POINT: Cell<bool> = const { Cell::new(false) };
}

/// Runs a point whose panics are rows of a table.
pub(in crate::commands) fn in_point<T>(work: impl FnOnce() -> T) -> T {
    IN_POINT.set(true);
    let result = work();
    IN_POINT.set(false);
    result
}

/// Keeps the messages of points that crash off the screen: the table has them.
pub(in crate::commands) fn quiet_crashes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IN_POINT.get() {
                usual(panic);
            }
        }));
    });
}
