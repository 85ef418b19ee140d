//! The fabric in virtual time: packets, queues and pauses of a whole cluster, one event at a time.
//!
//! [`run`] takes a [`Fabric`], its traffic and faults, and gives back a [`Report`]. The same fabric,
//! traffic, faults and seed give the same report, whatever observes the run: see `event.rs` for the order of
//! events, which is total, and the streams of `workload` for randomness, one per port and purpose.
//!
//! What it is not: it reads no files, prints nothing and asks no clock. What the model leaves out is
//! in `docs/model.md`.
//!
//! Read `engine.rs` first, then `forward.rs` and `transmit.rs`, which are the life of a packet. A module
//! is named for what happens in it: a pause is decided in `pause.rs`, a packet dropped in `drop.rs`, a
//! route chosen in `route.rs` and `balance.rs`, a fault applied in `fault.rs`. What a module remembers is
//! in its `state.rs`, which knows no engine. State that many modules share is in `switch/` (ports,
//! buffers, packets, routes) and `host/` (what is on both ends of the wires).

mod account;
mod adapt;
mod balance;
mod build;
mod check;
mod connection;
mod convergence;
mod credit;
mod deadlock;
mod drop;
mod engine;
mod engineer;
mod event;
mod fast;
mod fault;
mod fluid;
mod forward;
mod host;
mod hosts;
mod id;
mod ideal;
mod job;
mod link;
mod lookahead;
mod net;
mod nic;
mod notify;
mod observe;
mod parallel;
mod pause;
mod plane;
mod receiver;
mod report;
mod result;
mod route;
mod sample;
mod scrape;
mod setting;
pub mod spread;
mod switch;
mod transmit;
mod trim;
mod voq;
mod watchdog;
mod wheel;

pub use fluid::refusal::Refusal;
pub use job::state::Job;
pub use parallel::Threads;
pub use report::{
    ClassResult, Cycle, Drop, Failure, FlowCounters, FlowResult, JobResult, JobRun, LinkState,
    Observer, OneThread, Outcome, PortHealth, Progress, Report, Sample, Scrape, Sections, Sent,
    Shortcuts, Silent, Trace, TraceKind,
};

use event::EventQueue;
use job::state::{JobWay, Steering};
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, Ties};
use xoff_fabric::scenario::{Fault, Fidelity};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

/// How to run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Seed of every random draw.
    pub seed: u64,
    /// The run ends here even if traffic is left.
    pub until: Option<Instant>,
    /// Queues are sampled this often; zero takes no samples.
    pub sample_period: Span,
    /// All counters are read this often; zero is never.
    pub scrape_period: Span,
    /// Every packet's header is encoded and decoded on its way, and must not change.
    pub check_wire: bool,
    /// What is simulated of the traffic.
    pub fidelity: Fidelity,
    /// On how many threads. What acts beyond cables (credits, virtual output queues, notifications by switches, global
    /// balancing, queue pairs of jobs where tiers hash different fields) is simulated on one.
    pub threads: Threads,
    /// Which event queue to use. Where the fabric wants ties in insertion order this changes nothing.
    pub queue: QueueKind,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            until: None,
            sample_period: Span::ZERO,
            scrape_period: Span::ZERO,
            check_wire: false,
            fidelity: Fidelity::Packet,
            threads: Threads::ONE,
            queue: QueueKind::Wheel,
        }
    }
}

/// The event queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueKind {
    /// The fast one.
    #[default]
    Wheel,
    /// A plain heap, and every packet looks up its routes anew: slower, and the same result.
    Heap,
}

/// Why a run could not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// More ports or flows than event ids can tell apart.
    #[error(
        "the fabric or its traffic is too large: at most 33 million ports and 134 million flows"
    )]
    TooLarge,
    /// Reserved buffer and headroom exceed what a switch has.
    #[error("{0}: reserved buffer and headroom of its ports exceed its packet memory")]
    Buffer(String),
    /// A pinned path uses a link that is not there.
    #[error("a pinned path goes from {from} to {to}, and no link does")]
    NoLink {
        /// One end.
        from: String,
        /// The other.
        to: String,
    },
    /// A fault names something that is not there.
    #[error("{0}")]
    Name(String),
    /// Something that flows cannot show.
    #[error("fidelity `flow` cannot simulate {0}; use `packet`")]
    Flow(fluid::refusal::Refusal),
}

/// Runs flows on a fabric.
pub fn run(
    fabric: &Fabric,
    flows: &[Flow],
    faults: &[Fault],
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Report, SimError> {
    run_jobs(fabric, flows, Vec::new(), faults, settings, observer)
}

/// Runs flows and jobs on a fabric.
pub fn run_jobs(
    fabric: &Fabric,
    flows: &[Flow],
    jobs: Vec<Job>,
    faults: &[Fault],
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Report, SimError> {
    let traffic = Traffic { flows, jobs, ways: BTreeMap::new() };
    if settings.fidelity == Fidelity::Fast {
        return run_fast(fabric, traffic, faults, settings, observer);
    }
    run_traffic(fabric, traffic, faults, settings, observer)
}

/// Runs jobs at the fidelity `fast`, or packet by packet where that cannot be.
fn run_fast(
    fabric: &Fabric,
    traffic: Traffic<'_>,
    faults: &[Fault],
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Report, SimError> {
    let mut reason = fast::refusal::reason(fabric, &traffic, faults, settings);
    if reason.is_none() {
        // There are no queues to sample beside those of episodes.
        let settings = Settings { sample_period: Span::ZERO, ..settings.clone() };
        let report = run_traffic(fabric, traffic.clone(), faults, &settings, observer)?;
        reason = match report.outcome {
            Outcome::TimeUp => Some(Refusal::Duration),
            _ => report.instead_of_fast,
        };
        if reason.is_none() {
            return Ok(report);
        }
    }
    let settings = Settings { fidelity: Fidelity::Packet, ..settings.clone() };
    let report = run_traffic(fabric, traffic, faults, &settings, observer)?;
    Ok(Report { instead_of_fast: reason, ..report })
}

/// What is sent.
#[derive(Clone)]
pub(crate) struct Traffic<'a> {
    pub(crate) flows: &'a [Flow],
    pub(crate) jobs: Vec<Job>,
    /// Queue pairs of jobs whose paths are given.
    pub(crate) ways: BTreeMap<JobWay, Steering>,
}

pub(crate) fn run_traffic(
    fabric: &Fabric,
    traffic: Traffic<'_>,
    faults: &[Fault],
    settings: &Settings,
    observer: &mut dyn Observer,
) -> Result<Report, SimError> {
    if fabric.ties == Ties::Insertion {
        return run_on(fabric, traffic, faults, settings, wheel::TurnHeap::default(), observer);
    }
    if settings.queue == QueueKind::Heap {
        return run_on(fabric, traffic, faults, settings, wheel::Heap::default(), observer);
    }
    let wheel = parallel::wheel(fabric, settings, 1);
    run_on(fabric, traffic, faults, settings, wheel, observer)
}

fn run_on<Q: EventQueue>(
    fabric: &Fabric,
    Traffic { flows, jobs, ways }: Traffic<'_>,
    faults: &[Fault],
    settings: &Settings,
    events: Q,
    observer: &mut dyn Observer,
) -> Result<Report, SimError> {
    let mut engine = build::engine(fabric, (flows, jobs), faults, settings, events, observer)?;
    engine.steer(ways);
    let outcome = Q::run(&mut engine, settings);
    engine.count_fluid();
    engine.scrape_after(outcome);
    engine.assert_conserved();
    Ok(engine.into_report(outcome))
}
