//! Collectives and training steps, beside the same programs on an ideal network.

use super::Run;
use super::figures::{CollectiveFigures, TrainingFigures};
use xoff_results::jobs::by_size;
use xoff_sim::JobRun;
use xoff_units::{Instant, Span};
use xoff_workload::collective::Figures;
use xoff_workload::ideal::Paths;
use xoff_workload::program::Program;
use xoff_workload::training::StepError;
use xoff_workload::{Job, TrainingRun, ideal};

impl Run<'_> {
    pub(super) fn collectives(&self) -> Vec<CollectiveFigures> {
        let mut known = Known::default();
        let mut rows = Vec::new();
        for (job, result) in self.case.jobs.iter().zip(&self.report.jobs) {
            for (run, own) in by_size(job, result) {
                let time = || job.program(run).map_or(Span::ZERO, |program| self.ideal(program));
                // What has more than its layout and its size decides for itself.
                let ideal = match job.uneven {
                    None => known.or_run(self.paths(), job, *run, time),
                    Some(_) => time(),
                };
                rows.push(self.collective(job, run, own, ideal));
            }
        }
        rows
    }

    fn collective(
        &self,
        job: &Job,
        run: &xoff_workload::Run,
        own: &[JobRun],
        ideal: Span,
    ) -> CollectiveFigures {
        let mean = JobRun::mean(own);
        let ranks = job.layout.ranks();
        let figures = |time| Figures::new(run.collective, run.size, ranks, time);
        CollectiveFigures {
            name: self.case.workload_name(job.workload).to_owned(),
            algorithm: format!("{:?}", run.algorithm).to_lowercase(),
            ranks,
            bytes: run.size.get(),
            finished: JobRun::finished(own) == run.repeat,
            time_us: mean.as_us_f64(),
            busbw: figures(mean).bus_bandwidth,
            ideal_us: ideal.as_us_f64(),
            ideal_busbw: figures(ideal).bus_bandwidth,
        }
    }

    pub(super) fn steps(&self) -> Vec<TrainingFigures> {
        let mut known = Known::default();
        let mut rows = Vec::new();
        for (job, result) in self.case.jobs.iter().zip(&self.report.jobs) {
            let Some(training) = job.training else { continue };
            let ideal = known.or_run(self.paths(), job, training, || {
                training.step.program(&job.layout).map_or(Span::ZERO, |program| self.ideal(program))
            });
            // Building a step's script can fail, but not for a step that has already run.
            rows.extend(self.step(job, &training, &result.runs, ideal));
        }
        rows
    }

    fn step(
        &self,
        job: &Job,
        training: &TrainingRun,
        runs: &[JobRun],
        ideal: Span,
    ) -> Result<TrainingFigures, StepError> {
        let step = &training.step;
        let figures = step.figures(JobRun::mean(runs))?;
        let ideal = step.figures(ideal)?;
        Ok(TrainingFigures {
            name: self.case.workload_name(job.workload).to_owned(),
            ranks: step.gpus(),
            finished: JobRun::finished(runs) == training.repeat,
            time_us: figures.time.as_us_f64(),
            compute_us: step.compute()?.as_us_f64(),
            idle: figures.idle,
            mfu: figures.mfu,
            ideal_us: ideal.time.as_us_f64(),
            ideal_idle: ideal.idle,
        })
    }

    /// How long a program takes with the same NICs, headers, costs and path delays where no link
    /// between NICs is ever busy: the difference to the measured time is what the network costs.
    fn ideal(&self, mut program: Program) -> Span {
        let outcome = ideal::run_on_paths(&mut program, self.paths());
        outcome.map_or(Span::ZERO, |outcome| outcome.end - Instant::ZERO)
    }

    fn paths(&self) -> &Paths<'_> {
        self.paths.get_or_init(|| Paths::new(self.case.fabric))
    }
}

/// Ideal times that are known. The jobs that fill a cluster sit alike on its servers: one of them is run, and the
/// others take as long.
struct Known<'a, T> {
    times: Vec<(&'a Job, T, Span)>,
}

impl<T> Default for Known<'_, T> {
    fn default() -> Self {
        Self { times: Vec::new() }
    }
}

impl<'a, T: PartialEq> Known<'a, T> {
    /// The time that a job takes for `what`, found with `run` unless one like it is known.
    fn or_run(
        &mut self,
        paths: &Paths<'_>,
        job: &'a Job,
        what: T,
        run: impl FnOnce() -> Span,
    ) -> Span {
        let same = |(other, its, _): &&(&Job, T, Span)| {
            *its == what
                && other.settings == job.settings
                && paths.are_alike(&other.layout, &job.layout)
        };
        if let Some(&(_, _, time)) = self.times.iter().find(same) {
            return time;
        }
        let time = run();
        self.times.push((job, what, time));
        time
    }
}
