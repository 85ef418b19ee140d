//! Jobs that go on when a switch dies that adds up for them.
//!
//! The switch's queue pairs are gone with all that it holds, so what is under way cannot be finished: after the time that it
//! takes to notice ([`Fallback::after`](xoff_workload::Fallback::after)), or when one of the job's queue pairs fails first,
//! the run begins anew by the other program, on queue pairs of its own. It keeps its start: what the fallback cost is in its time.
//! All runs that follow use the other program from their start. A switch that comes back adds up for jobs that start then.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::JobId;
use crate::job::state::Next;
use xoff_fabric::model::SwitchId;
use xoff_units::{Instant, Span};
use xoff_workload::program::Program;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A job's next program, and the number of its queue pairs; one that needs no switches once some have died.
    pub(super) fn next_program(&mut self, job: JobId) -> Option<(Program, u32)> {
        let running = &mut self.hosts.jobs.running[job];
        let (program, connections) = running.next_program()?;
        let fallen = !running.fallbacks.is_empty();
        let other = running.fallback.take_if(|_| fallen);
        Some((other.map_or(program, |other| other.program.clone()), connections))
    }

    /// Switches go down or come up again.
    pub(crate) fn lose_switches(&mut self, switches: &[SwitchId], begins: bool) {
        if !begins {
            self.hosts.jobs.dead.retain(|switch| !switches.contains(switch));
            return;
        }
        self.hosts.jobs.dead.extend(switches);
        for job in self.hosts.jobs.running.ids() {
            self.plan_fallback(job, |switch| switches.contains(switch));
        }
    }

    /// A program has begun: it may need switches that are down.
    pub(super) fn watch_switches(&mut self, job: JobId) {
        if !self.hosts.jobs.dead.is_empty() {
            let dead = self.hosts.jobs.dead.clone();
            self.plan_fallback(job, |switch| dead.contains(switch));
        }
    }

    fn plan_fallback(&mut self, job: JobId, dead: impl Fn(&SwitchId) -> bool) {
        let running = &self.hosts.jobs.running[job];
        let Some(run) = running.needs(dead) else { return };
        let after = running.fallback.as_ref().map_or(Span::ZERO, |fallback| fallback.after);
        let program = self.hosts.jobs.program(job);
        self.schedule_job(self.now.plus(after), Next::FallBack { program, run });
    }

    /// A queue pair of a job has failed: whether the job goes on by another program. Not at once: the one that
    /// fails may be in the middle of an action.
    pub(super) fn does_without(&mut self, job: JobId) -> bool {
        let running = &self.hosts.jobs.running[job];
        if running.fallback.is_none() || running.now.is_none() {
            return false;
        }
        let (program, run) = (self.hosts.jobs.program(job), running.runs.len() as u32);
        self.schedule_job(self.now, Next::FallBack { program, run });
        true
    }

    /// The run of a job begins anew by the other program, unless it has ended or fallen back before.
    pub(super) fn fall_back(&mut self, program: u32, run: u32) {
        let Some(job) = self.hosts.jobs.job(program) else { return };
        let running = &mut self.hosts.jobs.running[job];
        let same = running.runs.len() as u32 == run && running.now.is_some();
        let Some(fallback) = running.fallback.take_if(|_| same) else { return };
        let Some(start) = running.runs.last().filter(|run| run.end.is_none()).map(|run| run.start)
        else {
            return;
        };
        running.fallbacks.push((run, self.now));
        self.close_connections(job);
        let mut other = fallback.program.clone();
        let mut actions = std::mem::take(&mut self.hosts.jobs.actions);
        other.at(Instant::ZERO + (self.now - start));
        other.start(&mut actions);
        self.hosts.jobs.running[job].now = Some(other);
        self.carry_out(job, actions);
    }
}
