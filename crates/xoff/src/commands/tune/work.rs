//! [`Local`]: runs settings on the cores of this machine, and keeps what they gave.

use super::folder::{Folder, Keeper, Line, Made};
use super::source::Source;
use crate::commands::sweep::work::{in_point, quiet_crashes};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::pool;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Duration;
use xoff_sweep::{Point as Swept, Row};
use xoff_tune::Plan;
use xoff_tune::search::{Point, Run, Runner, Stage};

/// Runs settings here.
pub(super) struct Local<'a> {
    source: &'a Source,
    threads: Option<usize>,
    interrupt: &'a Interrupt,
    /// What was run before.
    made: Made,
    keeper: Mutex<Keeper>,
    bar: Option<ProgressBar>,
    done: u64,
    failure: Option<Failure>,
}

fn bar(budget: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(budget), ProgressDrawTarget::stderr());
    let template = "{bar:20} {pos} of at most {len} runs  {wide_msg} {elapsed}, about {eta} left";
    // The template is ours and valid; without it the bar only looks plainer.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

impl<'a> Local<'a> {
    pub(super) fn new(
        source: &'a Source,
        folder: &Folder,
        threads: Option<usize>,
        interrupt: &'a Interrupt,
        quiet: bool,
    ) -> Result<Self, Failure> {
        quiet_crashes();
        let made = folder.runs();
        let shown = !quiet && std::io::stderr().is_terminal();
        let bar = shown.then(|| bar(source.budget));
        let keeper = Mutex::new(folder.keeper()?);
        Ok(Self { source, threads, interrupt, made, keeper, bar, done: 0, failure: None })
    }

    /// How many runs there are; what went wrong otherwise.
    pub(super) fn finish(self) -> Result<u64, Failure> {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
        self.failure.map_or(Ok(self.done), Err)
    }

    fn one(&self, plan: &Plan, points: &[Point], run: Run) -> Result<Option<Row>, Failure> {
        if self.interrupt.requested() {
            return Ok(None);
        }
        let settings = plan.settings(&points[run.point].places);
        let seed = plan.seed(run.case, run.seed);
        let point = Swept { number: run.point as u64, setting: run.point as u64, seed, settings };
        let go_on = &mut |_: &xoff_sim::Progress| !self.interrupt.requested();
        let base = &self.source.cases[run.case].base;
        let Some(row) = in_point(|| base.run_point(&point, go_on)) else { return Ok(None) };
        let setting = plan.text(&points[run.point].places);
        let line = Line { setting, case: run.case, seed: run.seed, row };
        let mut keeper = self.keeper.lock().unwrap_or_else(|lock| lock.into_inner());
        keeper.keep(&line)?;
        self.bar.iter().for_each(|bar| bar.inc(1));
        Ok(Some(line.row))
    }

    fn tell(&self, points: &[Point], runs: &[Run]) {
        let (Some(bar), Some(last)) = (&self.bar, runs.last()) else { return };
        bar.set_position(self.done);
        let searching = last.seed < self.source.plan.options.all_seeds();
        bar.set_message(match points[last.point].stage {
            _ if !searching => "unseen seeds",
            Stage::Present => "present setting",
            Stage::Start => "space-filling start",
            Stage::Model => "model-based search",
            Stage::Back => "turning knobs back",
        });
    }
}

impl Runner for Local<'_> {
    fn run(&mut self, plan: &Plan, points: &[Point], runs: &[Run]) -> Option<Vec<Row>> {
        let key = |run: &Run| (plan.text(&points[run.point].places), run.case, run.seed);
        let missing: Vec<Run> =
            runs.iter().filter(|run| !self.made.contains_key(&key(run))).copied().collect();
        self.done += (runs.len() - missing.len()) as u64;
        self.tell(points, runs);
        let own: &Self = self;
        let ran = pool::each(&missing, self.threads, |run| match own.one(plan, points, *run) {
            Ok(Some(row)) => ControlFlow::Continue(Ok(Some(row))),
            ended => ControlFlow::Break(ended),
        });
        let mut whole = ran.len() == missing.len();
        for (run, ended) in ran {
            match ended {
                Ok(Some(row)) => {
                    self.done += 1;
                    self.made.insert(key(run), row);
                }
                Ok(None) => whole = false,
                Err(failure) => self.failure = Some(failure),
            }
        }
        if !whole || self.failure.is_some() {
            return None;
        }
        runs.iter().map(|run| self.made.get(&key(run)).cloned()).collect()
    }
}
