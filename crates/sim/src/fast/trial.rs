//! An episode packet by packet: its collectives on the paths that they have in the run, and nothing else.

use super::state::Fast;
use crate::engine::Engine;
use crate::event::EventQueue;
use crate::fluid::call::Whole;
use crate::job::state::{Job, JobWay, Steering};
use crate::report::{Observer, Progress, Report};
use crate::{Traffic, id};
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::ClassId;
use xoff_units::{Instant, Span};
use xoff_workload::Turn;

/// A member of an episode.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) whole: Arc<Whole>,
    /// When it begins after the first.
    pub(super) offset: Span,
    pub(super) class: ClassId,
    pub(super) clear_to_send: ClassId,
}

/// Tells whoever observes the run that it goes on, and hears when it should not.
struct Within<'a> {
    observer: &'a mut dyn Observer,
    run: Progress,
}

impl Observer for Within<'_> {
    fn progress(&mut self, trial: &Progress) -> bool {
        self.observer.progress(&Progress {
            events: self.run.events + trial.events,
            packet_hops: self.run.packet_hops + trial.packet_hops,
            packets_alive: trial.packets_alive,
            ..self.run
        })
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// Simulates an episode.
    pub(super) fn try_out(&mut self, parts: &[Part]) -> Report {
        let fabric = self.fabric;
        let settings = self.fast_state().settings.clone();
        let hops = self.fast_state().tally.hops_simulated;
        let run = Progress { packet_hops: hops, ..self.progress() };
        let mut within = Within { observer: &mut *self.observation.observer, run };
        let traffic = Traffic { flows: &[], jobs: jobs(parts), ways: ways(parts) };
        let report = crate::run_traffic(fabric, traffic, &[], &settings, &mut within);
        report.expect("what runs as a whole runs in parts")
    }

    fn fast_state(&mut self) -> &Fast {
        self.fluid().fast.as_deref().expect("the fidelity is `fast`")
    }
}

fn jobs(parts: &[Part]) -> Vec<Job> {
    let job = |part: &Part| Job {
        start: Instant::ZERO + part.offset,
        class: part.class,
        clear_to_send: part.clear_to_send,
        programs: vec![Turn::alone(part.whole.trial().program.clone(), 1)],
        vxlan: false,
        identity: None,
    };
    parts.iter().map(job).collect()
}

/// The hashes and ports of all queue pairs, both ways.
fn ways(parts: &[Part]) -> BTreeMap<JobWay, Steering> {
    let mut ways = BTreeMap::new();
    for (part, job) in parts.iter().zip(0..) {
        for way in &part.whole.trial().ways {
            let job = id::JobId(job);
            for (end, (from, to)) in
                [(way.from, way.to), (way.to, way.from)].into_iter().enumerate()
            {
                let steering = Steering { hashes: way.hashes[end], turn: way.turn };
                ways.insert(JobWay { job, from, to, queue: way.queue }, steering);
            }
        }
    }
    ways
}
