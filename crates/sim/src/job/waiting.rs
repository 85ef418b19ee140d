//! What jobs wait for beside packets: starts, time that passes, and transfers inside servers.

use super::state::{Jobs, Next};
use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use xoff_units::Instant;
use xoff_workload::ports::Transfer;

impl<Q: EventQueue> Engine<'_, Q> {
    /// Sees to it that every job begins.
    pub(crate) fn schedule_jobs(&mut self) {
        for job in self.hosts.jobs.running.ids() {
            let start = self.hosts.jobs.running[job].start;
            self.schedule_job(start, Next::Start { job });
        }
    }

    pub(crate) fn schedule_job(&mut self, at: Instant, next: Next) {
        self.hosts.jobs.agenda.push(at, next.rank(), next);
        self.wake_jobs();
    }

    /// Sees to it that there is an event for the next thing that jobs wait for.
    fn wake_jobs(&mut self) {
        if let Some(at) = self.hosts.jobs.agenda.next_at()
            && at < self.hosts.jobs.wake_at
        {
            self.hosts.jobs.wake_at = at;
            self.schedule(at, Kind::Job, 0, 0);
        }
    }

    /// Things that jobs waited for have happened.
    pub(crate) fn go_on(&mut self) {
        let now = self.now;
        let due = |jobs: &Jobs| jobs.agenda.next_at().is_some_and(|at| at <= now);
        if !due(&self.hosts.jobs) {
            return;
        }
        // What comes up for this instant is seen to here, without an event of its own.
        self.hosts.jobs.wake_at = now;
        while due(&self.hosts.jobs)
            && let Some((_, next)) = self.hosts.jobs.agenda.pop()
        {
            match next {
                Next::Start { job } => self.begin(job),
                Next::Done { program, token } => {
                    if let Some(job) = self.hosts.jobs.job(program) {
                        self.tell(job, token);
                    }
                }
                Next::FallBack { program, run } => self.fall_back(program, run),
                Next::Arrive(transfer) => {
                    let at = self.hosts.jobs.gpus.arrive(now, &transfer);
                    let Transfer { program, token, .. } = transfer;
                    self.schedule_job(at, Next::Done { program, token });
                }
                Next::Free { gpu } => self.send_over_nvlink(gpu),
                Next::Ended { program } => {
                    if let Some(job) = self.hosts.jobs.job(program) {
                        self.end_run(job);
                    }
                }
                Next::Passed { load, turn } => self.pass(load, turn),
                Next::FlowEnds { flow } => self.end_fluid_flow(flow),
                Next::Settle if self.is_fast() => self.settle_fast(),
                Next::Settle => self.settle(),
                Next::CallEnds { member, turn } => self.end_member(member, turn),
            }
        }
        self.hosts.jobs.wake_at = Instant::MAX;
        self.wake_jobs();
    }

    /// A GPU's NVLink is free: the next transfer goes.
    fn send_over_nvlink(&mut self, gpu: u32) {
        let Some((transfer, again)) = self.hosts.jobs.gpus.next(self.now, gpu) else { return };
        let near = self.hosts.jobs.near[gpu as usize];
        self.schedule_job(self.now.plus(near), Next::Arrive(transfer));
        if let Some(at) = again {
            self.schedule_job(at, Next::Free { gpu });
        }
    }
}
