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
        let all = self.case.jobs.iter().zip(&self.report.jobs);
        let rows = all.flat_map(|(job, result)| {
            by_size(job, result).map(|(run, own)| self.collective(job, run, own))
        });
        rows.collect()
    }

    fn collective(&self, job: &Job, run: &xoff_workload::Run, own: &[JobRun]) -> CollectiveFigures {
        let mean = JobRun::mean(own);
        let ranks = job.layout.ranks();
        let figures = |time| Figures::new(run.collective, run.size, ranks, time);
        let ideal = job.program(run).map_or(Span::ZERO, |program| self.ideal(program));
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
        let all = self.case.jobs.iter().zip(&self.report.jobs);
        // Building a step's script can fail, but not for a step that has already run.
        all.filter_map(|(job, result)| self.step(job, job.training.as_ref()?, &result.runs).ok())
            .collect()
    }

    fn step(
        &self,
        job: &Job,
        training: &TrainingRun,
        runs: &[JobRun],
    ) -> Result<TrainingFigures, StepError> {
        let step = &training.step;
        let figures = step.figures(JobRun::mean(runs))?;
        let ideal = step.figures(self.ideal(step.program(&job.layout)?))?;
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
        let paths = self.paths.get_or_init(|| Paths::new(self.case.fabric));
        let outcome = ideal::run_on_paths(&mut program, paths);
        outcome.map_or(Span::ZERO, |outcome| outcome.end - Instant::ZERO)
    }
}
