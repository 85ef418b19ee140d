//! [`StepProgram`]: a step that unrolls while it runs.
//!
//! Every rank goes through the script of its stage. A collective begins when all ranks of its group have come to
//! it and the group's last one is done; it is a program of its own while it runs, with a lane for its tokens.
//! What goes from stage to stage is one transfer per rank and micro-batch, by NVLink inside a
//! server and otherwise from the sender's NIC to the receiver's.
//!
//! Memory grows with ranks, lines of the scripts and collectives under way. Unlike a collective alone,
//! a step allocates while it runs: every collective that begins is made then.

use super::analysis::algorithm;
use super::cost::Call;
use super::critical::{Account, CriticalPath, Held, Path};
use super::groups::{COMMS, Comm};
use super::script::{Direction, Op, Script};
use super::step::{Step, StepError};
use crate::collective::{self, Settings};
use crate::layout::{Layout, RankId};
use crate::program::{Action, CallId, Calls, Program, Queue, Token, Traffic};
use std::collections::VecDeque;
use xoff_units::{Bytes, Instant};

/// What the step's own tokens say is done; those of collectives are in lanes from 1 on.
mod kind {
    pub(super) const COMPUTED: u8 = 0;
    pub(super) const HANDED_OVER: u8 = 1;
}

/// Bits of a queue's number that a group has to itself.
const QUEUE_BITS: u32 = 28;
/// The queues of hand-overs, after those of all kinds of groups.
const PIPELINE_QUEUES: u32 = COMMS.len() as u32;
/// Most collectives that run at once: lanes of a token.
const MOST_LANES: usize = u16::MAX as usize;

/// A rank on its way through its script.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    at: u32,
    computing: bool,
    through: bool,
    begun: [u32; COMMS.len()],
    /// What has come from other stages, and what of it was taken.
    arrived: [u32; 2],
    taken: [u32; 2],
    /// What it has sent to other stages: its queue pairs take turns.
    sent: [u32; 2],
}

/// A group of ranks, which runs one collective after the other.
#[derive(Debug, Clone)]
struct Group {
    members: Vec<u32>,
    layout: Layout,
    done: u32,
    /// Calls that some have come to, the one that runs first.
    calls: VecDeque<Come>,
    running: bool,
    /// When its last call ended, and after what.
    ended: (Instant, Path),
}

/// A call that some ranks of a group have come to.
#[derive(Debug, Clone)]
struct Come {
    call: Call,
    ranks: u32,
    /// The last of them, when it came, and after what.
    last: u32,
    at: Instant,
    path: Path,
}

/// A collective that runs.
#[derive(Debug, Clone)]
struct Lane {
    comm: Comm,
    group: u32,
    call: Call,
    /// Nothing where calls are handed out.
    program: Option<Program>,
    begun: Instant,
    path: Path,
    /// The rank that came last.
    last: u32,
}

/// A training step that unrolls while it runs. Made by [`Step::program`].
#[derive(Debug, Clone)]
pub struct StepProgram {
    step: Step,
    layout: Layout,
    settings: Settings,
    hand_over: Bytes,
    /// By stage.
    scripts: Vec<Script>,
    ranks: Vec<Cursor>,
    /// By kind, then by number.
    groups: [Vec<Group>; COMMS.len()],
    lanes: Vec<Option<Box<Lane>>>,
    free: Vec<u32>,
    /// Ranks and groups that may be able to go on. Kept for their memory.
    ready: Vec<u32>,
    due: Vec<(Comm, u32)>,
    /// What collectives ask for, before it is passed on.
    inner: Vec<Action>,
    /// Ranks that are not through.
    active: usize,
    account: Account,
    /// These collectives are handed out whole.
    hands_out: Option<Calls>,
}

impl Step {
    /// The step as a program on the GPUs of a layout.
    pub fn program(&self, layout: &Layout) -> Result<Program, StepError> {
        self.check_ranks(layout)?;
        let spread = &self.parallelism;
        let scripts: Result<Vec<_>, _> =
            (0..spread.pipeline).map(|stage| Script::new(self, stage)).collect();
        let groups = COMMS.map(|comm| {
            let mut groups: Vec<Option<Group>> = vec![None; spread.groups(comm) as usize];
            for rank in 0..if spread.size(comm) > 1 { self.gpus() } else { 0 } {
                let group = &mut groups[spread.group(comm, rank) as usize];
                group.get_or_insert_with(|| Group::new(layout, &spread.members(comm, rank)));
            }
            groups.into_iter().flatten().collect()
        });
        let program = StepProgram {
            step: *self,
            layout: layout.clone(),
            settings: Settings { cost: self.cost, queues: self.queues, ..Settings::default() },
            hand_over: self.hand_over()?,
            scripts: scripts?,
            ranks: vec![Cursor::default(); layout.ranks() as usize],
            groups,
            lanes: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            due: Vec::new(),
            inner: Vec::new(),
            active: layout.ranks() as usize,
            account: Account::new(layout.ranks()),
            hands_out: None,
        };
        program.check()?;
        Ok(Program::Step(Box::new(program)))
    }
}

impl Group {
    fn new(layout: &Layout, members: &[RankId]) -> Self {
        Self {
            layout: layout.group(members),
            members: members.iter().map(|rank| rank.0).collect(),
            done: 0,
            calls: VecDeque::new(),
            running: false,
            ended: (Instant::ZERO, Path::default()),
        }
    }
}

impl StepProgram {
    /// Every collective can be made: whether it can does not depend on which group it is.
    fn check(&self) -> Result<(), StepError> {
        let mut known = Vec::new();
        for op in self.scripts.iter().flat_map(|script| &script.ops) {
            if let Op::Begin(call) = *op
                && !known.contains(&call)
            {
                known.push(call);
                self.collective(call, &self.groups[call.comm().index()][0].layout)?;
            }
        }
        Ok(())
    }

    fn collective(&self, call: Call, layout: &Layout) -> Result<Program, StepError> {
        let event = self.step.event(call)?;
        let way = algorithm(event.collective);
        Ok(collective::program(event.collective, way, event.size, layout, &self.settings)?)
    }

    /// What the step's time is made of, as far as the time was given.
    pub fn critical_path(&self) -> Option<CriticalPath> {
        let group = |comm: Comm, number: u32| &self.groups[comm.index()][number as usize].members;
        let ranks = |comm, number| group(comm, number).iter().map(|&rank| RankId(rank)).collect();
        self.account.critical(ranks)
    }

    pub(crate) fn at(&mut self, now: Instant) {
        self.account.now = now;
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        self.ready.extend((0..self.ranks.len() as u32).rev());
        self.go_on(out);
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        if token.lane() > 0 {
            self.tell(token, out);
        } else {
            let Some(cursor) = self.ranks.get_mut(token.index()) else {
                debug_assert!(false, "a token of another program");
                return;
            };
            let rank = token.index() as u32;
            if token.kind() == kind::COMPUTED {
                cursor.computing = false;
                self.account.computed(rank);
            } else {
                let way = usize::from(token.slot()) & 1;
                cursor.arrived[way] += 1;
                self.account.arrives(rank, way);
            }
            self.ready.push(rank);
        }
        self.go_on(out);
    }

    pub(crate) fn hand_out_calls(&mut self, calls: Calls) {
        self.hands_out = Some(calls);
    }

    pub(crate) fn callee(&self, token: Token) -> Option<Program> {
        let lane = self.lanes.get(token.lane().checked_sub(1)? as usize)?.as_ref()?;
        let group = &self.groups[lane.comm.index()][lane.group as usize];
        self.collective(lane.call, &group.layout).ok()
    }

    /// Reports to a collective that something of it is done.
    fn tell(&mut self, token: Token, out: &mut Vec<Action>) {
        let number = token.lane() - 1;
        let Some(Some(lane)) = self.lanes.get_mut(number as usize) else {
            debug_assert!(false, "a token of a collective that is over");
            return;
        };
        let mut inner = std::mem::take(&mut self.inner);
        match &mut lane.program {
            Some(program) => program.done(token.in_lane(0), &mut inner),
            None => inner.push(Action::Finished),
        }
        self.pass_on(number, inner, out);
    }

    /// Passes on what a collective asks for, and ends it if it has finished.
    fn pass_on(&mut self, number: u32, mut inner: Vec<Action>, out: &mut Vec<Action>) {
        let Some(Some(lane)) = self.lanes.get(number as usize) else { return };
        let (comm, group) = (lane.comm, lane.group);
        let own = |token: Token| token.in_lane(number + 1);
        let first = (comm.index() as u32) << QUEUE_BITS;
        for action in inner.drain(..) {
            out.push(match action {
                Action::Network { token, from, to, queue, traffic, bytes } => {
                    debug_assert!(queue.0 >> QUEUE_BITS == 0, "a queue of another group");
                    let queue = Queue(first | queue.0);
                    Action::Network { token: own(token), from, to, queue, traffic, bytes }
                }
                Action::Nvlink { token, from, to, bytes } => {
                    Action::Nvlink { token: own(token), from, to, bytes }
                }
                Action::Wait { token, gpu, span } => Action::Wait { token: own(token), gpu, span },
                Action::Call { token, call } => Action::Call { token: own(token), call },
                Action::Begins { .. } | Action::Ends { .. } => action,
                Action::Finished => {
                    if let Some(lane) = self.lanes[number as usize].take() {
                        let (now, what) = (self.account.now, Held::Call(comm, group));
                        let path = lane.path.after(now - lane.begun, what, lane.last);
                        self.groups[comm.index()][group as usize].ended = (now, path);
                    }
                    self.free.push(number);
                    self.end_call(comm, group);
                    continue;
                }
            });
        }
        self.inner = inner;
    }

    /// The collective that a group was at is done: its ranks go on, and so does the group.
    fn end_call(&mut self, comm: Comm, number: u32) {
        let group = &mut self.groups[comm.index()][number as usize];
        group.running = false;
        group.done += 1;
        group.calls.pop_front();
        self.ready.extend(group.members.iter().rev());
        self.due.push((comm, number));
    }

    /// Everything that can go on does.
    fn go_on(&mut self, out: &mut Vec<Action>) {
        loop {
            if let Some(rank) = self.ready.pop() {
                self.advance(rank, out);
            } else if let Some((comm, group)) = self.due.pop() {
                self.begin_call(comm, group, out);
            } else {
                return;
            }
        }
    }

    /// Begins a group's next collective, if all have come to it and there is a lane for it.
    fn begin_call(&mut self, comm: Comm, number: u32, out: &mut Vec<Action>) {
        let group = &self.groups[comm.index()][number as usize];
        let Some(come) = group.calls.front() else { return };
        if group.running || (come.ranks as usize) < group.members.len() {
            return;
        }
        // It begins when the last rank comes, or when the group is done with what was before.
        let (ended, before) = group.ended;
        let (path, last) = (if come.at < ended { before } else { come.path }, come.last);
        let call = come.call;
        let Ok((program, whole)) = self.open_call(call, number) else {
            debug_assert!(false, "a collective that was checked cannot be made");
            return self.end_call(comm, number);
        };
        self.groups[comm.index()][number as usize].running = true;
        let begun = self.account.now;
        let lane = Lane { comm, group: number, call, program, begun, path, last };
        let lane = Some(Box::new(lane));
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.lanes.push(None);
                self.lanes.len() as u32 - 1
            }
        };
        assert!(self.lanes.len() <= MOST_LANES, "more than 65535 collectives at once");
        self.lanes[slot as usize] = lane;
        let mut inner = std::mem::take(&mut self.inner);
        inner.extend(whole);
        if let Some(program) = self.lanes[slot as usize].as_mut().and_then(|l| l.program.as_mut()) {
            program.start(&mut inner);
        }
        self.pass_on(slot, inner, out);
    }

    /// The program of a group's call; or, where calls are handed out, the action that stands for all of it.
    fn open_call(
        &self,
        call: Call,
        group: u32,
    ) -> Result<(Option<Program>, Option<Action>), StepError> {
        let (comm, event) = (call.comm(), self.step.event(call)?);
        let whole = match self.hands_out {
            None => false,
            // Pairs go on one by one, each as its own messages let it.
            Some(Calls::InStep) => !algorithm(event.collective).is_between_pairs(),
            Some(Calls::All) => true,
        };
        if !whole {
            let layout = &self.groups[comm.index()][group as usize].layout;
            return Ok((Some(self.collective(call, layout)?), None));
        }
        let space = comm.index() as u32;
        let call = CallId { space, group, collective: event.collective, size: event.size };
        Ok((None, Some(Action::Call { token: Token::new(0, 0, 0), call })))
    }

    /// A rank as far as it comes.
    fn advance(&mut self, rank: u32, out: &mut Vec<Action>) {
        let stage = self.step.parallelism.position(rank).stage;
        loop {
            let cursor = &mut self.ranks[rank as usize];
            if cursor.computing {
                return;
            }
            let Some(&op) = self.scripts[stage as usize].ops.get(cursor.at as usize) else {
                return self.arrive(rank, out);
            };
            match op {
                Op::Compute(span) if span.is_zero() => {}
                Op::Compute(span) => {
                    cursor.computing = true;
                    self.account.computes(rank);
                    let token = Token::new(kind::COMPUTED, 0, rank);
                    let gpu = self.layout.seat(RankId(rank)).gpu;
                    out.push(Action::Wait { token, gpu, span });
                }
                Op::Begin(call) => self.come(rank, call),
                Op::Await(comm, number) => {
                    let group = self.step.parallelism.group(comm, rank);
                    let group = &self.groups[comm.index()][group as usize];
                    if group.done < number {
                        return self.account.waits(rank);
                    }
                    self.account.goes_on(rank, group.ended.1);
                }
                Op::Send(direction) => self.send(rank, stage, direction, out),
                Op::Receive(direction) => {
                    let way = direction as usize;
                    if cursor.taken[way] == cursor.arrived[way] {
                        return self.account.waits(rank);
                    }
                    cursor.taken[way] += 1;
                    self.account.takes(rank, way);
                }
            }
            self.ranks[rank as usize].at += 1;
        }
    }

    /// A rank has come to the end of its script; with the last of them all is done, since scripts
    /// wait for everything that they begin.
    fn arrive(&mut self, rank: u32, out: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.ranks[rank as usize].through, true) {
            self.active -= 1;
            self.account.through(rank);
            if self.active == 0 {
                out.push(Action::Finished);
            }
        }
    }

    /// A rank has come to a call of its group.
    fn come(&mut self, rank: u32, call: Call) {
        let comm = call.comm();
        let number = self.step.parallelism.group(comm, rank);
        let group = &mut self.groups[comm.index()][number as usize];
        let begun = &mut self.ranks[rank as usize].begun[comm.index()];
        // Calls before the first in the queue are done.
        let place = (*begun - group.done) as usize;
        *begun += 1;
        let (at, path) = (self.account.now, self.account.path(rank));
        if place == group.calls.len() {
            group.calls.push_back(Come { call, ranks: 0, last: rank, at, path });
        }
        let come = &mut group.calls[place];
        debug_assert_eq!(come.call, call, "ranks of a group disagree");
        come.ranks += 1;
        (come.last, come.at, come.path) = (rank, at, path);
        if place == 0 && come.ranks as usize == group.members.len() {
            self.due.push((comm, number));
        }
    }

    /// Hands a micro-batch over to another stage.
    fn send(&mut self, rank: u32, stage: u32, direction: Direction, out: &mut Vec<Action>) {
        let stages = self.step.parallelism.pipeline;
        let to = match direction {
            Direction::Forward => (stage + 1) % stages,
            Direction::Backward => (stage + stages - 1) % stages,
        };
        let peer = self.step.parallelism.peer(rank, to);
        self.account.sends(rank, peer.0, direction as usize);
        let (own, other) = (self.layout.seat(RankId(rank)), self.layout.seat(peer));
        let token = Token::new(kind::HANDED_OVER, direction as u8, peer.0);
        let bytes = self.hand_over;
        if own.domain == other.domain {
            return out.push(Action::Nvlink { token, from: own.gpu, to: other.gpu, bytes });
        }
        let sent = &mut self.ranks[rank as usize].sent[direction as usize];
        let turn = *sent % self.step.queues;
        *sent += 1;
        // GPUs that share a NIC have queues of their own. These are the last queues, so that they may take more than
        // the bits of one group.
        let place = (rank << 1 | direction as u32) * self.step.queues + turn;
        let queue = (PIPELINE_QUEUES << QUEUE_BITS) + place;
        let (queue, traffic) = (Queue(queue), Traffic::Data);
        out.push(Action::Network { token, from: own.nic, to: other.nic, queue, traffic, bytes });
    }
}
