//! Jobs under way, their queue pairs, and what they wait for.

use crate::connection::state::FlowState;
use crate::fast::state::MemberId;
use crate::fluid::shares::LoadId;
use crate::id::{ConnectionId, FlowId, JobId, Table};
use crate::ideal;
use crate::report::{Failure, FlowCounters, JobRun};
use crate::switch::hashing::{Hashes, Hashing};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use xoff_fabric::model::{ClassId, Fabric, NicId, SwitchId};
use xoff_fabric::route::Routes;
use xoff_fabric::rules::hash;
use xoff_fabric::scenario::{Fidelity, Operation};
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::agenda::{Agenda, Rank};
use xoff_workload::layout::{self};
use xoff_workload::ports::{Ports, Transfer};
use xoff_workload::program::{Action, Program, Queue, Token};
use xoff_workload::replay::{CallFigures, RankEnds};
use xoff_workload::service::Served;
use xoff_workload::training::CriticalPath;
use xoff_workload::{Fallback, JobError, Turn};

/// Programs to run one after the other.
#[derive(Debug, Clone)]
pub struct Job {
    /// When the first begins.
    pub start: Instant,
    /// Class of its data.
    pub class: ClassId,
    /// Class of its clear-to-sends. In the class of the data they share its queue pairs.
    pub clear_to_send: ClassId,
    /// The programs, how often each runs and on which queue pairs.
    pub programs: Vec<Turn>,
    /// Whether its packets travel in VXLAN.
    pub vxlan: bool,
    /// What its queue pairs derive their source ports from, beside their number within the job. Without
    /// it they are numbered through all jobs, and go other ways when another job is there.
    pub identity: Option<u32>,
}

impl Job {
    /// A job of a scenario, ready to run.
    pub fn of(job: &xoff_workload::Job) -> Result<Self, JobError> {
        let programs = job.programs()?;
        Ok(Self {
            start: job.start,
            class: job.class,
            clear_to_send: job.class,
            programs,
            vxlan: job.vxlan,
            identity: job.own_ports.then_some(job.workload),
        })
    }
}

/// A queue pair of a job: both its NICs, the lower first, its number and its class.
pub(super) type LinkKey = (JobId, NicId, NicId, u32, u8);

/// One direction of a job's queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobWay {
    pub(crate) job: JobId,
    pub(crate) from: NicId,
    pub(crate) to: NicId,
    pub(crate) queue: Queue,
}

/// The path of one direction of a queue pair, where that is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steering {
    pub(crate) hashes: Hashes,
    /// Which of their ports its NICs send by.
    pub(crate) turn: u32,
}

/// A job under way.
pub(super) struct Running {
    pub(super) start: Instant,
    pub(super) class: ClassId,
    pub(super) clear_to_send: ClassId,
    /// What is still to begin, and how often.
    pub(super) programs: VecDeque<Turn>,
    /// Whose queue pairs are open.
    pub(super) connections: Option<u32>,
    /// What queue pairs counted that are closed.
    pub(super) closed: FlowCounters,
    /// What runs now.
    pub(super) now: Option<Program>,
    pub(super) runs: Vec<JobRun>,
    pub(super) requests: Vec<JobRun>,
    /// Requests of the programs before this one.
    pub(super) requests_before: usize,
    pub(super) paths: Vec<CriticalPath>,
    pub(super) calls: Vec<Vec<CallFigures>>,
    pub(super) ends: Vec<RankEnds>,
    /// Of the programs that have ended.
    pub(super) served: Vec<Served>,
    pub(super) failure: Option<Failure>,
    pub(super) posted: Bytes,
    pub(super) vxlan: bool,
    pub(super) identity: Option<u32>,
    /// Queue pairs it has.
    pub(super) links: u32,
    /// What takes the place of the program that runs, when a switch dies that it needs.
    pub(super) fallback: Option<Arc<Fallback>>,
    /// The runs in which that has happened, and when.
    pub(super) fallbacks: Vec<(u32, Instant)>,
}

impl Running {
    /// What the requests of the program under way took so far.
    pub(super) fn serving(&self) -> &[Served] {
        self.now.as_ref().map_or(&[], Program::served)
    }

    /// A program that has still to run and the queue pairs it uses, if there is one.
    pub(super) fn next_program(&mut self) -> Option<(Program, u32)> {
        while let Some(turn) = self.programs.front_mut() {
            let connections = turn.connections;
            self.fallback = turn.fallback.clone();
            if turn.repeat > 1 {
                turn.repeat -= 1;
                return Some((turn.program.clone(), connections));
            }
            let last = self.programs.pop_front().filter(|turn| turn.repeat == 1);
            if let Some(turn) = last {
                return Some((turn.program, connections));
            }
        }
        None
    }

    /// The number of its run, if it can do without switches that add up and does not yet.
    pub(super) fn needs(&self, dead: impl Fn(&SwitchId) -> bool) -> Option<u32> {
        let fallback = self.fallback.as_ref()?;
        let lost = self.now.is_some() && fallback.switches.iter().any(dead);
        lost.then_some(self.runs.len() as u32)
    }
}

/// All jobs, and what they wait for.
pub(crate) struct Jobs {
    pub(super) running: Table<JobId, Running>,
    pub(super) links: BTreeMap<LinkKey, ConnectionId>,
    /// Queue pairs ever made. Their packets carry this number, so that what arrives late is known.
    pub(super) opened: u32,
    /// What is to happen beside packets, and when the engine's next event for it is due.
    pub(super) agenda: Agenda<Next>,
    pub(super) wake_at: Instant,
    /// The GPUs' NVLinks, and how long a transfer is under way from each.
    pub(super) gpus: Ports,
    pub(super) near: Vec<Span>,
    /// Queue pairs are numbered from here: the seed decides where that is.
    pub(super) first_qp: u32,
    /// Hashes that a controller chose.
    pub(super) engineered: BTreeMap<JobWay, Hashes>,
    /// Which of their ports NICs send by, where that is given.
    pub(super) turns: BTreeMap<JobWay, u32>,
    pub(super) base_rtt: Span,
    /// What a program asked for, while it is carried out.
    pub(super) actions: Vec<Action>,
    /// Switches that are down.
    pub(super) dead: BTreeSet<SwitchId>,
}

impl Jobs {
    /// No jobs.
    pub(crate) fn none() -> Self {
        Self {
            running: Table::new(),
            links: BTreeMap::new(),
            opened: 0,
            agenda: Agenda::default(),
            wake_at: Instant::MAX,
            gpus: Ports::new(Vec::new()),
            near: Vec::new(),
            first_qp: 0,
            engineered: BTreeMap::new(),
            turns: BTreeMap::new(),
            base_rtt: Span::ZERO,
            actions: Vec::new(),
            dead: BTreeSet::new(),
        }
    }

    /// The connections of all jobs that are open.
    pub(crate) fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.links.values().copied()
    }

    pub(crate) fn new(
        fabric: &Fabric,
        routes: &Routes,
        hashing: &mut Hashing,
        jobs: Vec<Job>,
        engineered: BTreeMap<JobWay, Hashes>,
        first_qp: u32,
        fidelity: Fidelity,
    ) -> Self {
        // Congestion control wants it, and only for packets.
        let none = jobs.is_empty() || fidelity != Fidelity::Packet;
        let running = jobs.into_iter().map(|job| Running {
            start: job.start,
            class: job.class,
            clear_to_send: job.clear_to_send,
            programs: job.programs.into(),
            connections: None,
            closed: FlowCounters::default(),
            now: None,
            runs: Vec::new(),
            requests: Vec::new(),
            requests_before: 0,
            paths: Vec::new(),
            calls: Vec::new(),
            ends: Vec::new(),
            served: Vec::new(),
            failure: None,
            posted: Bytes::ZERO,
            vxlan: job.vxlan,
            identity: job.identity,
            links: 0,
            fallback: None,
            fallbacks: Vec::new(),
        });
        Self {
            running: running.collect(),
            links: BTreeMap::new(),
            opened: 0,
            agenda: Agenda::default(),
            wake_at: Instant::MAX,
            gpus: Ports::new(layout::nvlinks(fabric)),
            near: layout::nvlink_latencies(fabric),
            first_qp,
            engineered,
            turns: BTreeMap::new(),
            base_rtt: if none { Span::ZERO } else { longest_round_trip(fabric, routes, hashing) },
            actions: Vec::new(),
            dead: BTreeSet::new(),
        }
    }

    /// The number of the program that a job runs. It has another one after a fallback, so that what the program
    /// before has asked for is not taken for its own.
    pub(crate) fn program(&self, job: JobId) -> u32 {
        let fallbacks = self.running[job].fallbacks.len();
        (fallbacks * self.running.len()) as u32 + job.0
    }

    /// The job of a program's number, if that program still runs.
    pub(super) fn job(&self, program: u32) -> Option<JobId> {
        let job = JobId(program % self.running.len() as u32);
        (self.program(job) == program).then_some(job)
    }

    pub(crate) fn count(&self) -> usize {
        self.running.len()
    }

    /// The class of a job's data.
    pub(crate) fn class(&self, job: JobId) -> ClassId {
        self.running[job].class
    }

    /// The classes of its data and of its clear-to-sends.
    pub(crate) fn classes(&self, job: JobId) -> (ClassId, ClassId) {
        (self.running[job].class, self.running[job].clear_to_send)
    }

    /// What queue pairs of a job counted beside what they delivered.
    pub(crate) fn count_reactions(&mut self, job: JobId, counters: &FlowCounters) {
        let closed = &mut self.running[job].closed;
        let delivered = closed.delivered;
        closed.add_all(counters);
        closed.delivered = delivered;
    }

    /// Gives queue pairs their paths.
    pub(super) fn steer(&mut self, ways: BTreeMap<JobWay, Steering>) {
        for (way, Steering { hashes, turn }) in ways {
            self.engineered.insert(way, hashes);
            self.turns.insert(way, turn);
        }
    }

    /// The program of a collective that a job's program handed out.
    pub(crate) fn callee(&self, job: JobId, token: Token) -> Option<Program> {
        self.running[job].now.as_ref()?.callee(token)
    }

    /// A job sends so much over the network as a flow, all of which arrives.
    pub(crate) fn count_sent(&mut self, job: JobId, bytes: Bytes) {
        let running = &mut self.running[job];
        running.posted += bytes;
        running.closed.delivered += bytes.get();
    }

    /// Whether the start of a job, a computation or a transfer inside a server is scheduled.
    pub(crate) fn has_scheduled(&self) -> bool {
        self.agenda.next_at().is_some()
    }

    /// The turn of a new queue pair: those between the same two NICs take the NICs' ports one after the
    /// other, as bonded NICs give them out, and start anywhere.
    pub(super) fn turn(&self, (job, low, high, queue, class): LinkKey) -> u32 {
        let way = JobWay { job, from: low, to: high, queue: Queue(queue) };
        if let Some(&turn) = self.turns.get(&way) {
            return turn;
        }
        let all = self.links.range((job, low, high, 0, 0)..=(job, low, high, u32::MAX, u8::MAX));
        let before = all.filter(|((.., other), _)| *other == class).count() as u32;
        let start = hash::mixed(low.0.rotate_left(16) ^ high.0) >> 24;
        start + before
    }
}

/// The base round trip for congestion control: that of the longest path from the first NIC.
pub(super) fn longest_round_trip(fabric: &Fabric, routes: &Routes, hashing: &mut Hashing) -> Span {
    let entropy = [hashing.entropy(&Hashes::default()); 2];
    let times = (1..fabric.nics.len() as u32).map(NicId).filter_map(|nic| {
        let flow = FlowState {
            start: Instant::ZERO,
            end: Instant::MAX,
            bytes: Bytes::new(1),
            source: NicId(0),
            destination: nic,
            entropy,
            connection: ConnectionId::NONE,
            class: ClassId(0),
            operation: Operation::Write,
            failure: None,
            pins: None,
            vxlan: false,
            guest: 0,
            bound: Span::ZERO,
            floor: Span::ZERO,
            base_rtt: Span::ZERO,
            counters: FlowCounters::default(),
        };
        ideal::ideal(fabric, (routes, hashing), &flow, &fabric.nics[0].qp)
            .map(|ideal| ideal.base_rtt)
    });
    times.max().unwrap_or(Span::ZERO)
}

/// What jobs wait for beside packets.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    Start {
        job: JobId,
    },
    Done {
        program: u32,
        token: Token,
    },
    /// A job goes on without switches that add up, if its program is still this one.
    FallBack {
        program: u32,
        run: u32,
    },
    /// The first bit of a transfer over NVLink arrives.
    Arrive(Transfer),
    /// A GPU's NVLink may send the next transfer.
    Free {
        gpu: u32,
    },
    /// All of a program that is one collective is done, at the fidelity of flows like all that follows.
    Ended {
        program: u32,
    },
    /// All of a load has passed, if it still has this turn.
    Passed {
        load: LoadId,
        turn: u32,
    },
    /// The initiator of a flow knows that it is done.
    FlowEnds {
        flow: FlowId,
    },
    /// Shares of links are worked out again.
    Settle,
    /// A collective or message is over, if its end still has this turn.
    CallEnds {
        member: MemberId,
        turn: u32,
    },
}

impl Next {
    /// As on the ideal network: ports look when everything else has happened.
    pub(crate) fn rank(&self) -> Rank {
        let (class, source) = match self {
            Next::Start { .. } | Next::Done { .. } | Next::FallBack { .. } => (0, 0),
            Next::Ended { .. } | Next::FlowEnds { .. } => (0, 0),
            Next::Passed { load, .. } => (1, load.0),
            Next::CallEnds { member, .. } => (1, member.0),
            // When everything that happens at this instant has changed what it changes.
            Next::Settle => (3, 0),
            Next::Arrive(transfer) => (1, transfer.connection()),
            Next::Free { gpu } => (2, *gpu),
        };
        Rank { class, source }
    }
}
