//! [`programs`]: from the collectives, training steps and services of a scenario to programs on a fabric.

mod inference;
mod replay;
mod service;
mod setting;
mod traced;
mod training;

pub(crate) use setting::cost;

use crate::collective::{
    self, Algorithm, Collective, CollectiveError, Lateness, Ledger, Refusal, Settings, Uneven,
};
use crate::error::{Findings, Place, WorkloadError};
use crate::layout::Layout;
use crate::program::{Program, RequestId};
use crate::replay::{Choice, Replay, ReplayError};
use crate::resolve::Resolver;
use crate::stream;
use crate::training::{Step, StepError};
use service::Maker;
use setting::{algorithm, collective, placement, uneven};
use std::path::Path;
use std::sync::Arc;
use xoff_fabric::model::{ClassId, Fabric, SwitchId};
use xoff_fabric::scenario::{self, ConnectionsSetting, TrainingStep, Workload};
use xoff_units::{Bytes, Instant, Ratio, Span};

/// A collective of a scenario, over its sizes, a training step, a trace, or a service.
#[derive(Debug, Clone)]
pub struct Job {
    /// Which `[[workload]]` it is, counted from 0.
    pub workload: u32,
    /// When its first run starts; each other starts when the one before has finished.
    pub start: Instant,
    /// The class its data travels in.
    pub class: ClassId,
    /// Its ranks.
    pub layout: Layout,
    /// How it is cut.
    pub settings: Settings,
    /// The collectives that it runs, in this order.
    pub runs: Vec<Run>,
    /// How uneven its AllToAlls are, if they are.
    pub uneven: Option<Uneven>,
    /// The training step that it runs instead.
    pub training: Option<TrainingRun>,
    /// The trace that it replays instead.
    pub replay: Option<ReplayRun>,
    /// The service that it runs instead.
    pub service: Option<ServiceRun>,
    /// Whether sizes with the same algorithm share their queue pairs; otherwise each has its own.
    pub keeps_connections: bool,
    /// Whether its packets travel in VXLAN.
    pub vxlan: bool,
    /// Whether the ways of its queue pairs depend on nothing but the job: so that they are the same
    /// when it runs alone.
    pub own_ports: bool,
    /// Why switches do not add up for it, where it asks for that: it runs by rings.
    pub refused: Option<Refusal>,
}

/// Requests or rounds of a job: remote disks, key-value caches, parameter servers, halos.
#[derive(Debug, Clone)]
pub struct ServiceRun {
    /// What runs.
    pub program: Program,
    /// How often.
    pub repeat: u32,
    /// Rounds that one run of the program makes.
    pub rounds: u32,
    /// What a request may take.
    pub objective: Option<Span>,
    /// What one may take to its tokens, if it is served to its last.
    pub tokens: Option<TokenObjective>,
    /// What requests move, one after the other; the last stands for all that follow. Of a program
    /// without requests: what a run of it sends over the network.
    sizes: Vec<Bytes>,
}

impl ServiceRun {
    fn new(program: Program, sizes: Vec<Bytes>) -> Self {
        Self { program, repeat: 1, rounds: 1, objective: None, tokens: None, sizes }
    }

    /// Whether it has requests; if not, it has rounds.
    pub fn has_requests(&self) -> bool {
        matches!(self.program, Program::Blocks(_) | Program::Requests(_) | Program::Serving(_))
    }

    /// What a request moves, or a run if there are no requests.
    pub fn size(&self, request: RequestId) -> Bytes {
        self.sizes.get(request.index()).or(self.sizes.last()).copied().unwrap_or(Bytes::ZERO)
    }
}

/// What a request may take to its tokens, and how many must keep to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenObjective {
    /// From its arrival to its first token.
    pub first: Option<Span>,
    /// For each token after the first, on average over the request.
    pub each: Option<Span>,
    /// The share of all requests that must keep to both.
    pub share: Ratio,
}

/// A training step of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainingRun {
    /// The step.
    pub step: Step,
    /// How often.
    pub repeat: u32,
}

/// A trace of a job.
#[derive(Debug, Clone)]
pub struct ReplayRun {
    /// The trace, planned.
    pub replay: Arc<Replay>,
    /// How its collectives are done.
    pub choice: Choice,
    /// How often it runs.
    pub repeat: u32,
}

/// Why the program of a job cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// A collective cannot.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    /// A training step cannot.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A trace cannot.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// One size of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// What is done.
    pub collective: Collective,
    /// How.
    pub algorithm: Algorithm,
    /// How much.
    pub size: Bytes,
    /// How often.
    pub repeat: u32,
}

impl Job {
    /// All its programs in their order, ready to start.
    pub fn programs(&self) -> Result<Vec<Turn>, JobError> {
        let mut programs = Vec::new();
        for (run, number) in self.runs.iter().zip(0..) {
            let connections = match self.keeps_connections {
                true => run.algorithm as u32,
                false => number,
            };
            let fallback = self.fallback(run)?;
            let (program, repeat) = (self.program(run)?, run.repeat);
            programs.push(Turn { program, repeat, connections, fallback });
        }
        if let Some(TrainingRun { step, repeat }) = &self.training {
            programs.push(Turn::alone(step.program(&self.layout)?, *repeat));
        }
        if let Some(ReplayRun { replay, choice, repeat }) = &self.replay {
            let program = replay.program(&self.layout, &self.settings, *choice)?;
            programs.push(Turn::alone(program, *repeat));
        }
        if let Some(service) = &self.service {
            programs.push(Turn::alone(service.program.clone(), service.repeat));
        }
        Ok(programs)
    }

    /// The program of one of its runs, ready to start.
    pub fn program(&self, run: &Run) -> Result<Program, CollectiveError> {
        let Run { collective, algorithm, size, .. } = *run;
        let (layout, settings) = (&self.layout, &self.settings);
        match &self.uneven {
            None => collective::program(collective, algorithm, size, layout, settings),
            Some(uneven) => {
                let matrix = uneven.matrix(size, layout.ranks());
                collective::uneven(&matrix, algorithm, layout, settings)
            }
        }
    }

    /// What takes the place of a run's program when a switch dies that adds up for it.
    fn fallback(&self, run: &Run) -> Result<Option<Arc<Fallback>>, CollectiveError> {
        let groups = self.layout.aggregation().filter(|_| run.algorithm == Algorithm::InNetwork);
        let Some(groups) = groups else { return Ok(None) };
        let ring = Run { algorithm: Algorithm::Ring, ..*run };
        let (switches, after) = (groups.switches(), groups.fallback);
        Ok(Some(Arc::new(Fallback { switches, after, program: self.program(&ring)? })))
    }
}

/// A program that takes the place of one that needs switches to add up.
#[derive(Debug, Clone)]
pub struct Fallback {
    /// The switches that must not die.
    pub switches: Vec<SwitchId>,
    /// From the death of one of them to the start of the other program.
    pub after: Span,
    /// The other program.
    pub program: Program,
}

/// A program that is the next one of a job for a while.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The program.
    pub program: Program,
    /// How often it runs.
    pub repeat: u32,
    /// Which queue pairs it uses: programs of a job with the same number here share them. Where the next program has
    /// another number those of the one before are closed.
    pub connections: u32,
    /// What takes its place when a switch dies that it needs.
    pub fallback: Option<Arc<Fallback>>,
}

impl Turn {
    /// The only program of a job.
    pub fn alone(program: Program, repeat: u32) -> Self {
        Self { program, repeat, connections: 0, fallback: None }
    }
}

/// Most sizes and repetitions of a job together: far beyond what can be simulated.
const MOST_RUNS: u64 = 1_000_000;

/// The jobs of all workloads that are programs, in their order, where none of them is read from a file. All
/// that is wrong is said at once.
pub fn programs(
    workloads: &[Workload],
    fabric: &Fabric,
    seed: u64,
) -> Result<Vec<Job>, Vec<WorkloadError>> {
    programs_in(workloads, fabric, seed, None)
}

/// The same, with traces that are read relative to the folder `base`.
pub fn programs_in(
    workloads: &[Workload],
    fabric: &Fabric,
    seed: u64,
    base: Option<&Path>,
) -> Result<Vec<Job>, Vec<WorkloadError>> {
    let names = Resolver::new(fabric);
    let mut findings = Findings::default();
    let (mut jobs, mut ledger) = (Vec::new(), Ledger::default());
    for (workload, index) in workloads.iter().zip(0..) {
        let made = match (workload, workload.collective()) {
            (Workload::TrainingStep(entry), _) => training_job(entry, index, fabric, &names, seed),
            (Workload::Trace(entry), _) => replay::job(entry, index, fabric, &names, seed, base),
            (_, Some(entry)) => uneven(workload, stream::hash(seed, u64::from(index)), base)
                .and_then(|uneven| job((workload, entry), uneven, index, fabric, &names, seed))
                .and_then(|job| aggregated(job, fabric, &mut ledger)),
            _ => {
                let maker = Maker { fabric, names: &names, workload: index, seed, base };
                match maker.job(workload) {
                    Some(made) => made,
                    None => continue,
                }
            }
        };
        match made {
            Ok(job) => jobs.push(job),
            Err(message) => findings.add(index, Place::Entry, message),
        }
    }
    findings.into_result()?;
    Ok(jobs)
}

fn job(
    (workload, entry): (&Workload, &scenario::Collective),
    uneven: Option<Uneven>,
    index: u32,
    fabric: &Fabric,
    names: &Resolver<'_>,
    seed: u64,
) -> Result<Job, String> {
    let start = start(&entry.common)?;
    let placement = placement(&entry.placement, stream::hash(seed, u64::from(index)));
    let layout = Layout::new(fabric, entry.ranks, &placement).map_err(|error| error.to_string())?;
    let settings = Settings {
        channels: entry.channels.or(fabric.collectives.channels),
        queues: entry.qps.unwrap_or(fabric.queue_pairs),
        cost: cost(&entry.cost, fabric),
        lateness: Lateness {
            most: entry.late.unwrap_or(Span::ZERO),
            seed: stream::hash(seed, u64::from(index)),
        },
        ..Settings::default()
    };
    let sizes: Vec<Bytes> = match (entry.size, entry.sizes, &uneven) {
        (None, None, Some(Uneven::Exactly(matrix))) => vec![matrix.busiest()],
        (Some(size), None, _) => vec![size],
        (None, Some(range), _) => range.iter().collect(),
        _ => return Err("give either `size` or `sizes`".into()),
    };
    let repeat = entry.repeat.unwrap_or(1);
    if repeat == 0 || u64::from(repeat).saturating_mul(sizes.len() as u64) > MOST_RUNS {
        return Err(format!("`repeat` is {repeat}; 1 to {MOST_RUNS} runs can be made"));
    }
    let collective = collective(workload);
    let run = |size| {
        let algorithm = algorithm(entry.algorithm, collective, size, &layout);
        Run { collective, algorithm, size, repeat }
    };
    let runs = sizes.into_iter().map(run).collect();
    let class = names.class(entry.common.class)?;
    let job = Job {
        workload: index,
        start,
        class,
        layout,
        settings,
        runs,
        uneven,
        training: None,
        replay: None,
        service: None,
        keeps_connections: entry.connections == ConnectionsSetting::Kept,
        vxlan: entry.common.vxlan,
        own_ports: entry.common.tenant.is_some(),
        refused: None,
    };
    Ok(job)
}

/// Gives a job the switches that add up for it, if it asks for them; where they are in use it runs by rings.
fn aggregated(mut job: Job, fabric: &Fabric, ledger: &mut Ledger) -> Result<Job, String> {
    let asks = job.runs.iter().any(|run| run.algorithm == Algorithm::InNetwork);
    if asks && job.layout.domains().len() > 1 {
        match ledger.allot(fabric, &job.layout) {
            Ok(groups) => job.layout = job.layout.aggregated(groups),
            Err(refusal) => {
                job.runs.iter_mut().for_each(|run| run.algorithm = Algorithm::Ring);
                job.refused = Some(refusal);
            }
        }
    }
    for run in &job.runs {
        job.program(run).map_err(|error| error.to_string())?;
    }
    Ok(job)
}

fn start(common: &scenario::Common) -> Result<Instant, String> {
    let start = Instant::ZERO + common.start;
    if start.is_never() {
        return Err("`start` is beyond simulated time (213 days)".into());
    }
    Ok(start)
}

fn training_job(
    entry: &TrainingStep,
    index: u32,
    fabric: &Fabric,
    names: &Resolver<'_>,
    seed: u64,
) -> Result<Job, String> {
    let placement = placement(&entry.placement, stream::hash(seed, u64::from(index)));
    let layout = Layout::new(fabric, training::ranks(entry), &placement);
    let layout = layout.map_err(|error| error.to_string())?;
    let repeat = entry.repeat.unwrap_or(1);
    if repeat == 0 || u64::from(repeat) > MOST_RUNS {
        return Err(format!("`repeat` is {repeat}; 1 to {MOST_RUNS} steps can be made"));
    }
    let queues = entry.qps.unwrap_or(fabric.queue_pairs);
    let step = training::step(entry, &layout)?.costing(cost(&entry.cost, fabric));
    let step = step.with_queues(queues).map_err(|error| error.to_string())?;
    let job = Job {
        workload: index,
        start: start(&entry.common)?,
        class: names.class(entry.common.class)?,
        layout,
        settings: Settings { cost: step.collective_cost(), queues, ..Settings::default() },
        runs: Vec::new(),
        uneven: None,
        training: Some(TrainingRun { step, repeat }),
        replay: None,
        service: None,
        keeps_connections: true,
        vxlan: entry.common.vxlan,
        own_ports: entry.common.tenant.is_some(),
        refused: None,
    };
    job.programs().map_err(|error| error.to_string())?;
    Ok(job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Network;
    use crate::layout::RankId;
    use crate::testing::workloads;
    use crate::{expand, ideal};

    fn pod() -> Fabric {
        Fabric::from_toml("[cluster]\ngpus = 32\n[fabric]\nkind = 'rail'\n").unwrap()
    }

    fn jobs(text: &str) -> Vec<Job> {
        programs(&workloads(text), &pod(), 1).unwrap()
    }

    fn refused(text: &str) -> String {
        let wrong = programs(&workloads(text), &pod(), 1).unwrap_err();
        wrong.iter().map(|error| format!("{error}\n")).collect()
    }

    #[test]
    fn pat_needs_one_rank_per_server() {
        let text = "kind='all-gather'\nsize='1MiB'\nalgorithm='pat'";
        assert!(refused(text).contains("several servers with one rank each"), "{}", refused(text));
        let jobs = jobs(&format!("{text}\nplacement=[0, 8, 16, 24]"));
        assert_eq!(jobs[0].runs[0].algorithm, Algorithm::Pat);
        let mut program = jobs[0].program(&jobs[0].runs[0]).unwrap();
        ideal::run(&mut program, &pod(), &Network::default()).unwrap();
    }

    #[test]
    fn every_kind_becomes_a_job_that_runs() {
        let text = "kind='permutation'\nsize='1MB'\n\
            [[workload]]\nkind='all-reduce'\nsizes='1KiB..4MiB'\nrepeat=3\nstart='5us'\n\
            [[workload]]\nkind='all-gather'\nsize='1MiB'\nranks=16\nchannels=4\n\
            [[workload]]\nkind='reduce-scatter'\nsize='1MiB'\nplacement='fragmented'\nqps=4\n\
            [[workload]]\nkind='all-to-all-collective'\nsize='1MiB'\nalgorithm='pairwise'\n\
            [[workload]]\nkind='broadcast'\nsize='1MiB'\nroot=7\nalgorithm='tree'\n\
            [[workload]]\nkind='send-recv'\nsize='1MiB'\nplacement=[3, 9, 27]\nclass=2\n\
            [[workload]]\nkind='all-reduce'\nsize='1MiB'\nalgorithm='rail'";
        let jobs = jobs(text);
        let numbers: Vec<u32> = jobs.iter().map(|job| job.workload).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(jobs[0].runs.len(), 13);
        assert_eq!((jobs[0].start, jobs[0].runs[0].repeat), (Instant::from_ps(5_000_000), 3));
        assert_eq!((jobs[1].layout.ranks(), jobs[1].settings.channels), (16, Some(4)));
        assert_eq!((jobs[5].layout.ranks(), jobs[5].class), (3, ClassId(2)));
        // Small ones by trees, large ones by rings.
        assert_eq!(jobs[0].runs[0].algorithm, Algorithm::Tree);
        let fabric = pod();
        for job in &jobs {
            for run in &job.runs {
                let mut program = job.program(run).unwrap();
                ideal::run(&mut program, &fabric, &Network::default()).unwrap();
            }
        }
    }

    #[test]
    fn collectives_are_no_flows() {
        let text = "kind='all-reduce'\nsize='1MB'\nname='step'\n\
                    [[workload]]\nkind='permutation'\nsize='1MB'";
        let workloads = workloads(text);
        let mut none = crate::testing::files(&[]);
        let flows = expand(&workloads, &pod(), 1, &mut none).unwrap();
        assert!(flows.len() == 32 && flows.iter().all(|flow| flow.workload == 1));
        let labels: Vec<_> = workloads.iter().map(crate::label).collect();
        assert_eq!(labels, ["step", "permutation"]);
    }

    #[test]
    fn places_depend_on_seed_and_workload_alone() {
        let one = "kind='all-reduce'\nsize='1MB'\nranks=16\nplacement='fragmented'";
        let text = format!("{one}\n[[workload]]\n{one}\n[[workload]]\n{one}");
        let seats = |seed| -> Vec<Vec<u32>> {
            let jobs = programs(&workloads(&text), &pod(), seed).unwrap();
            let gpus = |job: &Job| (0..16).map(|r| job.layout.seat(RankId(r)).gpu.0).collect();
            jobs.iter().map(gpus).collect()
        };
        assert_eq!(seats(1), seats(1));
        assert_ne!(seats(1), seats(2));
        assert!(seats(1).windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn mistakes_are_all_said() {
        let said = refused(
            "kind='all-reduce'\nsize='1MB'\nranks=33\n\
             [[workload]]\nkind='all-reduce'\n\
             [[workload]]\nkind='all-reduce'\nsize='0B'\n\
             [[workload]]\nkind='all-gather'\nsize='1MB'\nalgorithm='tree'\n\
             [[workload]]\nkind='broadcast'\nsize='1MB'\nroot=32\n\
             [[workload]]\nkind='all-reduce'\nsize='1MB'\nchannels=65\n\
             [[workload]]\nkind='all-reduce'\nsize='1MB'\nqps=0\n\
             [[workload]]\nkind='all-reduce'\nsize='1MB'\nrepeat=0\n\
             [[workload]]\nkind='all-reduce'\nsize='1MB'\nalgorithm='rail'\nranks=12\n\
             [[workload]]\nkind='all-reduce'\nsize='18446744073709551615B'\n\
             [[workload]]\nkind='all-reduce'\nsize='1MB'\nplacement=[1, 1]\n\
             [[workload]]\nkind='all-to-all-collective'\nsize='18446744073709551615B'",
        );
        for text in [
            "workload 0: 33 ranks",
            "workload 1: give either",
            "workload 2: a collective of no bytes",
            "workload 3: all-gather has no algorithm `tree`",
            "workload 4: rank 32 is the root",
            "workload 5: `channels` is 65",
            "workload 6: `queues` is 0",
            "workload 7: `repeat` is 0",
            "workload 8: algorithm `rail`",
            "workload 9: 18446744073709551.615KB make more pieces",
            "workload 10: GPU 1 is listed twice",
            "workload 11: 18446744073709551.615KB make more pieces",
        ] {
            assert!(said.contains(text), "{text}\n{said}");
        }
    }
}
