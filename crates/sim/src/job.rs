//! Jobs: programs that unroll while they run, on the packets of the fabric.
//!
//! A [`Job`](state::Job) is one program after another: the sizes of a sweep, the repetitions of a collective, the
//! steps of a training run. What a program asks for ([`Action`]) becomes
//!
//! - a message on a queue pair between two NICs, which is made when it is first asked for and stays for the
//!   programs that share it ([`xoff_workload::Turn::connections`]). It is done when its last byte is in place at the receiver,
//!   not when the sender hears of it;
//! - a transfer inside a server, over the NVLinks of its two GPUs ([`xoff_workload::ports::Ports`]);
//! - a pause.
//!
//! Deliveries are events, so a program is never called from within itself. What jobs wait for beside packets is in an
//! [`Agenda`](xoff_workload::agenda::Agenda) of their own, with one engine event for the next of it: so what happens at the same instant is in the
//! order that [`xoff_workload::ideal`] has, and a program that uses no NIC takes exactly as long as there.

pub(crate) mod carried;
mod fallback;
pub(crate) mod state;

mod waiting;

use crate::connection::state::Way;
use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{ConnectionId, EndpointId, FlowId, JobId};
use crate::report::{JobResult, JobRun};
use crate::switch::hashing::Hashes;
use carried::{Carried, Due};
use state::{JobWay, LinkKey, Next, Running, Steering};
use std::collections::BTreeMap;
use xoff_fabric::model::{ClassId, NicId};
use xoff_fabric::rules::hash;
use xoff_transport::{Status, Verb, WorkRequest};
use xoff_units::{Bytes, Instant};
use xoff_wire::Rkey;
use xoff_workload::layout::GpuId;
use xoff_workload::ports::Transfer;
use xoff_workload::program::{Action, Calls, Program, Queue, Token, Traffic};

impl<Q: EventQueue> Engine<'_, Q> {
    /// Begins a job's next program; ends the job if there is none.
    fn begin(&mut self, job: JobId) {
        if self.hosts.jobs.running[job].failure.is_some() {
            return;
        }
        let next = self.next_program(job);
        if let Some((_, connections)) = &next {
            self.use_connections(job, *connections);
        }
        let mut actions = std::mem::take(&mut self.hosts.jobs.actions);
        let running = &mut self.hosts.jobs.running[job];
        running.now = next.map(|(program, _)| program);
        let mut whole = None;
        if let Some(program) = &mut running.now {
            running.runs.push(JobRun { start: self.now, end: None });
            running.requests_before = running.requests.len();
            // Programs count from their start, so that a repetition is the same whenever it begins.
            program.at(Instant::ZERO);
            let calls = self.fluid.as_ref().map(|fluid| fluid.whole_calls());
            whole = Some(program.clone()).filter(|program| match calls {
                None => false,
                Some(Calls::InStep) => program.is_in_step(),
                Some(Calls::All) => program.is_collective(),
            });
            if whole.is_none() {
                if let Some(calls) = calls {
                    program.hand_out_calls(calls);
                }
                program.start(&mut actions);
            }
        } else {
            self.finish_one();
        }
        self.carry_out(job, actions);
        if let Some(program) = whole {
            self.begin_whole(job, program);
        }
        self.watch_switches(job);
    }

    /// Reports to a job's program that something is done.
    fn tell(&mut self, job: JobId, token: Token) {
        let mut actions = std::mem::take(&mut self.hosts.jobs.actions);
        let running = &mut self.hosts.jobs.running[job];
        if let (Some(program), Some(run)) = (&mut running.now, running.runs.last()) {
            program.at(Instant::ZERO + (self.now - run.start));
            program.done(token, &mut actions);
        }
        self.carry_out(job, actions);
    }

    /// Gives queue pairs of jobs their paths.
    pub(crate) fn steer(&mut self, ways: BTreeMap<JobWay, Steering>) {
        self.hosts.jobs.steer(ways);
    }

    /// Does what a program asks for, and keeps the emptied buffer for the next time.
    fn carry_out(&mut self, job: JobId, mut actions: Vec<Action>) {
        for action in actions.drain(..) {
            match action {
                Action::Network { token, from, to, queue, traffic, bytes } if self.is_fluid() => {
                    self.hosts.jobs.count_sent(job, bytes);
                    self.send_fluid(job, (from, to, queue), traffic, bytes, token);
                }
                Action::Call { token, call } => self.begin_call(job, token, call),
                Action::Network { token, from, to, queue, traffic, bytes } => {
                    let class = match traffic {
                        Traffic::Data => self.hosts.jobs.running[job].class,
                        Traffic::ClearToSend => self.hosts.jobs.running[job].clear_to_send,
                    };
                    let endpoint = self.link(job, from, to, queue.0, class);
                    self.hosts.jobs.running[job].posted += bytes;
                    self.send_transfer(endpoint, bytes, token);
                }
                Action::Nvlink { token, from, to, bytes } => {
                    let (GpuId(from), GpuId(to)) = (from, to);
                    let program = self.hosts.jobs.program(job);
                    let transfer = Transfer { from, to, bytes, program, token };
                    if let Some(at) = self.hosts.jobs.gpus.send(self.now, transfer) {
                        self.schedule_job(at, Next::Free { gpu: from });
                    }
                }
                Action::Wait { token, span, .. } => {
                    let program = self.hosts.jobs.program(job);
                    self.schedule_job(self.now.plus(span), Next::Done { program, token });
                }
                Action::Begins { request } => {
                    let running = &mut self.hosts.jobs.running[job];
                    let number = running.requests.len() - running.requests_before;
                    debug_assert_eq!(request.index(), number, "requests count from 0");
                    running.requests.push(JobRun { start: self.now, end: None });
                }
                Action::Ends { request } => {
                    let running = &mut self.hosts.jobs.running[job];
                    let number = running.requests_before + request.index();
                    if let Some(request) = running.requests.get_mut(number) {
                        request.end = Some(self.now);
                    }
                }
                Action::Finished => self.end_run(job),
            }
        }
        self.hosts.jobs.actions = actions;
    }

    /// A program has finished: the next one begins at the same instant.
    pub(super) fn end_run(&mut self, job: JobId) {
        let now = self.now;
        let running = &mut self.hosts.jobs.running[job];
        if let Some(run) = running.runs.last_mut() {
            run.end = Some(now);
        }
        running.paths.extend(running.now.as_ref().and_then(Program::critical_path));
        let calls = running.now.as_ref().map(Program::calls).unwrap_or_default();
        running.calls.extend(Some(calls).filter(|calls| !calls.is_empty()));
        running.ends.extend(running.now.as_ref().and_then(Program::ends));
        if let Some(program) = running.now.take() {
            running.served.extend(program.served());
        }
        self.schedule_job(now, Next::Start { job });
    }

    /// The job's next program uses these queue pairs: if they are others than the last one's, those are closed.
    fn use_connections(&mut self, job: JobId, connections: u32) {
        let before = self.hosts.jobs.running[job].connections.replace(connections);
        if before.is_none_or(|before| before == connections) {
            return;
        }
        self.close_connections(job);
    }

    /// Closes all queue pairs of a job.
    fn close_connections(&mut self, job: JobId) {
        if self.is_fluid() {
            self.close_fluid(job);
        }
        let own = (job, NicId(0), NicId(0), 0, 0)..(JobId(job.0 + 1), NicId(0), NicId(0), 0, 0);
        let keys: Vec<LinkKey> = self.hosts.jobs.links.range(own).map(|(key, _)| *key).collect();
        for key in keys {
            let Some(slot) = self.hosts.jobs.links.remove(&key) else { continue };
            let closed = self.hosts.jobs.running[job].closed;
            self.hosts.jobs.running[job].closed = self.disconnect(slot, closed);
        }
        self.hosts.jobs.running[job].links = 0;
    }

    /// The endpoint at `from` of a job's queue pair to `to`, which is made if there is none.
    fn link(
        &mut self,
        job: JobId,
        from: NicId,
        to: NicId,
        queue: u32,
        class: ClassId,
    ) -> EndpointId {
        let (low, high) = (from.min(to), from.max(to));
        let end = usize::from(from != low);
        let key = (job, low, high, queue, class.0);
        if let Some(&slot) = self.hosts.jobs.links.get(&key) {
            return slot.end(end);
        }
        // A queue pair of the same place may have been closed, and its packets may still be under way.
        let unique = self.hosts.flows.len() as u32 + self.hosts.jobs.opened;
        self.hosts.jobs.opened += 1;
        let hashes = self.link_hashes(key);
        let turn = self.hosts.jobs.turn(key);
        let way = Way {
            flow: FlowId(unique),
            nics: [low, high],
            entropy: hashes.map(|hashes| self.net.hashing.entropy(&hashes)),
            class,
            pinned: false,
            turn: Some(turn),
            base_rtt: self.hosts.jobs.base_rtt,
            vxlan: self.hosts.jobs.running[job].vxlan,
            guest: 0,
        };
        let carried = Carried {
            job,
            turn,
            posted: [0; 2],
            due: Default::default(),
            backlog: Default::default(),
        };
        let slot = self.connect(&way, 0, Some(Box::new(carried)));
        self.hosts.jobs.links.insert(key, slot);
        slot.end(end)
    }

    /// What packets of a new queue pair of a job are hashed to, from its lower NIC and from its higher one.
    fn link_hashes(&mut self, (job, low, high, queue, _): LinkKey) -> [Hashes; 2] {
        let number = self.hosts.jobs.links.len() as u32;
        self.hashes_of(job, (low, high, queue), number)
    }

    /// The same at the fidelity of flows.
    pub(crate) fn pair_hashes(&mut self, job: JobId, pair: (NicId, NicId, u32)) -> [Hashes; 2] {
        let number = self.fluid().pairs_open();
        self.hashes_of(job, pair, number)
    }

    /// The hashes of a job's queue pair that is opened as the one of this number.
    fn hashes_of(
        &mut self,
        job: JobId,
        (low, high, queue): (NicId, NicId, u32),
        number: u32,
    ) -> [Hashes; 2] {
        let flow = self.hosts.flows.len() as u32 + number;
        // What NICs derive the source port from: the queue pair, as RoCEv2 suggests.
        let running = &mut self.hosts.jobs.running[job];
        let (counted, named) = match running.identity {
            Some(identity) => {
                let own = hash::mixed(identity).wrapping_add(running.links);
                (own, own)
            }
            None => (number, flow),
        };
        running.links += 1;
        let first = self.hosts.jobs.first_qp;
        let (counted, named) = (counted.wrapping_add(first), named.wrapping_add(first));
        let port = 0xc000 | (counted.wrapping_mul(0x9e37_79b1) >> 18) as u16;
        let hashes = |from: NicId, to: NicId, end: u32| {
            let way = JobWay { job, from, to, queue: Queue(queue) };
            let chosen = self.hosts.jobs.engineered.get(&way).copied();
            let own = || self.net.hashing.hashes(from, to, port, named << 1 | end);
            chosen.unwrap_or_else(own)
        };
        [hashes(low, high, 1), hashes(high, low, 0)]
    }

    /// Sends bytes from an endpoint of a job.
    fn send_transfer(&mut self, endpoint: EndpointId, bytes: Bytes, token: Token) {
        let (slot, end) = (endpoint.connection(), endpoint.end());
        let Some(carried) = &mut self.hosts.connections[slot].carried else { return };
        carried.posted[end] += bytes.get();
        carried.due[1 - end].push_back(Due { bytes: carried.posted[end], token });
        let mut left = bytes.get();
        while left > 0 {
            let length = left.min(1 << 30);
            carried.backlog[end].push_back(Bytes::new(length));
            left -= length;
        }
        if !self.post_backlog(endpoint) {
            self.after_input(endpoint);
        }
    }

    /// Posts what an endpoint of a job has to send, as far as its queue takes it. Completions say
    /// nothing that the receiver's side has not said before, unless work failed: that ends the job, and
    /// the answer is true.
    pub(crate) fn post_backlog(&mut self, endpoint: EndpointId) -> bool {
        let now = self.now;
        let connection = &mut self.hosts.connections[endpoint.connection()];
        let side = endpoint.end();
        let qp = &mut connection.ends[side].qp;
        while let Some(completion) = qp.poll_completion() {
            if completion.status != Status::Ok {
                self.fail_job(endpoint, completion.status);
                return true;
            }
        }
        let Some(carried) = &mut connection.carried else { return false };
        while let Some(&length) = carried.backlog[side].front() {
            let work =
                WorkRequest { id: 0, operation: Verb::Write, length, address: 0, rkey: Rkey(0) };
            if qp.post(now, work).is_err() {
                break;
            }
            carried.backlog[side].pop_front();
        }
        false
    }

    /// A queue pair of a job failed. Its ranks can no longer finish what they do together: as NCCL
    /// does, the job ends with the error, and nothing more is sent for it.
    #[cold]
    fn fail_job(&mut self, endpoint: EndpointId, status: Status) {
        let Some(carried) = &self.hosts.connections[endpoint.connection()].carried else { return };
        let job = carried.job;
        if self.does_without(job) {
            return;
        }
        let failure = self.failure(endpoint, status);
        let running = &mut self.hosts.jobs.running[job];
        if running.failure.is_some() {
            return;
        }
        running.failure = Some(failure);
        running.now = None;
        running.programs.clear();
        let own = self.hosts.jobs.links.range((job, NicId(0), NicId(0), 0, 0)..);
        let slots: Vec<ConnectionId> =
            own.take_while(|((other, ..), _)| *other == job).map(|(_, &slot)| slot).collect();
        slots.into_iter().for_each(|slot| self.detach(slot));
        self.finish_one();
    }

    /// Data has arrived at an endpoint of a job: what is complete is done.
    #[inline(never)]
    pub(crate) fn transfers_arrive(&mut self, endpoint: EndpointId) {
        let (slot, end) = (endpoint.connection(), endpoint.end());
        let delivered = self.hosts.connections[slot].ends[end].qp.delivered();
        loop {
            let Some(carried) = &mut self.hosts.connections[slot].carried else { return };
            let job = carried.job;
            match carried.due[end].front() {
                Some(due) if due.bytes <= delivered => {
                    let token = due.token;
                    carried.due[end].pop_front();
                    self.tell(job, token);
                }
                _ => return,
            }
        }
    }

    /// What became of the jobs.
    pub(crate) fn job_results(&self) -> Vec<JobResult> {
        let result = |running: &Running| JobResult {
            runs: running.runs.clone(),
            requests: running.requests.clone(),
            paths: running.paths.clone(),
            calls: running.calls.clone(),
            ends: running.ends.clone(),
            served: running.served.iter().chain(running.serving()).copied().collect(),
            failure: running.failure,
            posted: running.posted,
            counters: running.closed,
            fallbacks: running.fallbacks.clone(),
        };
        let mut results: Vec<JobResult> = self.hosts.jobs.running.iter().map(result).collect();
        for (&(job, ..), &slot) in &self.hosts.jobs.links {
            for end in &self.hosts.connections[slot].ends {
                results[job.0 as usize].counters.add(&end.qp);
            }
        }
        results
    }
}
