//! [`ReplayProgram`]: a replay that unrolls while it runs.
//!
//! A collective is a program of its own while it runs, with a lane for its tokens, as in a training step. It begins when all of
//! its ranks have come to it; each goes on when it is done itself.
//! Memory grows with operations and with collectives under way.

use super::call::Choice;
use super::frontier::Frontier;
use super::plan::{NO_QUEUE, Replay, Task};
use super::{CallFigures, RankEnds};
use crate::collective::{CollectiveError, Settings};
use crate::layout::{Layout, RankId};
use crate::program::{Action, CallId, Program, Queue, Token, Traffic};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use xoff_units::{Instant, Span};

/// What the program's own tokens say is done; those of collectives are in lanes from 1 on.
mod kind {
    pub(super) const COMPUTED: u8 = 0;
    pub(super) const ARRIVED: u8 = 1;
}

/// Most collectives that run at once: lanes of a token.
const MOST_LANES: usize = u16::MAX as usize;

/// Computation of one stream of a GPU.
#[derive(Debug, Clone, Default)]
struct Lineup {
    busy: bool,
    waiting: VecDeque<u32>,
}

/// A communicator, which runs one collective after the other.
#[derive(Debug, Clone, Default)]
struct Comm {
    running: bool,
    due: VecDeque<u32>,
}

/// A collective that runs.
#[derive(Debug, Clone)]
struct Lane {
    call: u32,
    begun: Instant,
    /// How much later the last of its ranks came than the first.
    apart: Span,
    /// Members that are done, by their place in the communicator; how many, and when the first and half of them were.
    gone: Vec<bool>,
    count: usize,
    first: Option<Instant>,
    median: Option<Instant>,
    /// Nothing where calls are handed out.
    program: Option<Program>,
}

/// The queue pair of a rank's clear-to-sends: they do not wait behind its data.
const OF_CLEAR_TO_SENDS: u32 = u32::MAX;

/// What queue pairs are told apart by: a communicator and its own number, or messages of a rank.
type QueueKey = (Option<u32>, u32, u32);

/// A replay that unrolls while it runs. Made by [`Replay::program`].
#[derive(Debug, Clone)]
pub struct ReplayProgram {
    plan: Arc<Replay>,
    layout: Arc<Layout>,
    /// Of each communicator.
    layouts: Arc<Vec<Layout>>,
    settings: Settings,
    choice: Choice,
    frontier: Frontier,
    lineups: Vec<Lineup>,
    comms: Vec<Comm>,
    lanes: Vec<Option<Box<Lane>>>,
    free: Vec<u32>,
    queues: BTreeMap<QueueKey, u32>,
    /// Messages that each rank has sent: its queue pairs take turns.
    sent: Vec<u32>,
    /// What collectives ask for. Kept for its memory.
    inner: Vec<Action>,
    left: usize,
    /// When the last operation of each rank was done so far.
    ends: Vec<Instant>,
    /// When the first rank came to the calls that not all have come to, and how far apart all came to those that are due.
    first_come: BTreeMap<u32, Instant>,
    apart: BTreeMap<u32, Span>,
    now: Instant,
    figures: BTreeMap<(&'static str, u32, u64), CallFigures>,
    /// Collectives are handed out whole.
    hands_out: bool,
}

impl Lane {
    /// A member that is done now.
    fn next_gone(&mut self, now: Instant) -> Option<usize> {
        let place = self.program.as_mut()?.next_gone()? as usize;
        self.gone[place] = true;
        self.count += 1;
        self.first.get_or_insert(now);
        if self.count * 2 >= self.gone.len() {
            self.median.get_or_insert(now);
        }
        Some(place)
    }
}

impl ReplayProgram {
    pub(super) fn new(
        plan: Arc<Replay>,
        layout: &Layout,
        settings: Settings,
        choice: Choice,
    ) -> Self {
        let of = |ranks: &Vec<u32>| -> Layout {
            let ranks: Vec<RankId> = ranks.iter().map(|rank| RankId(*rank)).collect();
            layout.group(&ranks)
        };
        Self {
            layouts: Arc::new(plan.comms.iter().map(of).collect()),
            layout: Arc::new(layout.clone()),
            settings,
            choice,
            frontier: Frontier::new(&plan),
            lineups: vec![Lineup::default(); plan.queues as usize],
            comms: vec![Comm::default(); plan.comms.len()],
            lanes: Vec::new(),
            free: Vec::new(),
            queues: BTreeMap::new(),
            sent: vec![0; plan.ranks() as usize],
            inner: Vec::new(),
            left: plan.tasks.len(),
            ends: vec![Instant::ZERO; plan.ranks() as usize],
            first_come: BTreeMap::new(),
            apart: BTreeMap::new(),
            now: Instant::ZERO,
            figures: BTreeMap::new(),
            hands_out: false,
            plan,
        }
    }

    /// What its collectives took so far, as far as the time was given.
    pub fn figures(&self) -> Vec<CallFigures> {
        self.figures.values().cloned().collect()
    }

    /// When its ranks were done, once they all are.
    pub fn ends(&self) -> Option<RankEnds> {
        let busy =
            |rank: u32| self.plan.starts[rank as usize] < self.plan.starts[rank as usize + 1];
        let ends = (0..).zip(&self.ends).filter(|(rank, _)| busy(*rank));
        let ends = ends.map(|(rank, end)| (rank, *end - Instant::ZERO));
        RankEnds::new(ends.collect()).filter(|_| self.left == usize::MAX)
    }

    pub(super) fn collective(&self, call: u32) -> Result<Program, CollectiveError> {
        let call = self.plan.calls[call as usize];
        let layout = &self.layouts[call.comm as usize];
        call.what.program(call.size, layout, &self.settings, self.choice)
    }

    pub(crate) fn at(&mut self, now: Instant) {
        self.now = now;
    }

    pub(crate) fn hand_out_calls(&mut self) {
        self.hands_out = true;
    }

    fn is_between_pairs(&self, call: u32) -> bool {
        let call = self.plan.calls[call as usize];
        let layout = &self.layouts[call.comm as usize];
        call.what.algorithm(call.size, layout, self.choice).is_between_pairs()
    }

    pub(crate) fn callee(&self, token: Token) -> Option<Program> {
        let lane = self.lanes.get(token.lane().checked_sub(1)? as usize)?.as_ref()?;
        self.collective(lane.call).ok()
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        self.go_on(out);
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        if token.lane() > 0 {
            let number = token.lane() - 1;
            let mut inner = std::mem::take(&mut self.inner);
            match self.lanes.get_mut(number as usize).map(|lane| lane.as_mut()) {
                Some(Some(lane)) => match &mut lane.program {
                    Some(program) => program.done(token.in_lane(0), &mut inner),
                    None => inner.push(Action::Finished),
                },
                _ => debug_assert!(false, "a token of a collective that is over"),
            }
            self.let_go(number);
            self.pass_on(number, inner, out);
        } else if token.kind() == kind::COMPUTED {
            let node = token.index() as u32;
            self.end_compute(node, out);
            self.finish(node);
        } else if let Some(message) = self.plan.messages.get(token.index()).copied() {
            self.finish(message.send);
            self.meet(token.index() as u32);
        }
        self.go_on(out);
    }

    /// Everything that can go on does.
    fn go_on(&mut self, out: &mut Vec<Action>) {
        while let Some(node) = self.frontier.pop() {
            self.begin(node, out);
        }
        // Ranks that are in no trace may be at a collective when all others have left it.
        if self.left == 0 && self.free.len() == self.lanes.len() {
            self.left = usize::MAX;
            out.push(Action::Finished);
        }
    }

    fn begin(&mut self, node: u32, out: &mut Vec<Action>) {
        self.frontier.begun(&self.plan, node);
        match self.plan.tasks[node as usize] {
            Task::Nothing => self.finish(node),
            Task::Compute { span, .. } if span.is_zero() => self.finish(node),
            Task::Compute { span, queue: NO_QUEUE } => self.compute(node, span, out),
            Task::Compute { span, queue } => {
                let lineup = &mut self.lineups[queue as usize];
                match std::mem::replace(&mut lineup.busy, true) {
                    true => lineup.waiting.push_back(node),
                    false => self.compute(node, span, out),
                }
            }
            Task::Send(message) => self.send(message, out),
            Task::Receive(message) => self.meet(message),
            Task::Call(call) => {
                let first = *self.first_come.entry(call).or_insert(self.now);
                if self.frontier.come(&self.plan, call) {
                    self.first_come.remove(&call);
                    self.apart.insert(call, self.now - first);
                    let comm = self.plan.calls[call as usize].comm;
                    self.comms[comm as usize].due.push_back(call);
                    self.begin_call(comm, out);
                }
            }
        }
    }

    fn compute(&self, node: u32, span: Span, out: &mut Vec<Action>) {
        let gpu = self.layout.seat(RankId(self.plan.rank(node))).gpu;
        out.push(Action::Wait { token: Token::new(kind::COMPUTED, 0, node), gpu, span });
    }

    /// The next computation of the same stream begins.
    fn end_compute(&mut self, node: u32, out: &mut Vec<Action>) {
        let Some(Task::Compute { queue, .. }) = self.plan.tasks.get(node as usize) else { return };
        let Some(lineup) = self.lineups.get_mut(*queue as usize) else { return };
        match lineup.waiting.pop_front() {
            None => lineup.busy = false,
            Some(next) => {
                if let Task::Compute { span, .. } = self.plan.tasks[next as usize] {
                    self.compute(next, span, out);
                }
            }
        }
    }

    fn send(&mut self, number: u32, out: &mut Vec<Action>) {
        let message = self.plan.messages[number as usize];
        if message.bytes.is_zero() {
            self.finish(message.send);
            return self.meet(number);
        }
        let (own, other) =
            (self.layout.seat(RankId(message.from)), self.layout.seat(RankId(message.to)));
        let (token, bytes) = (Token::new(kind::ARRIVED, 0, number), message.bytes);
        if own.domain == other.domain {
            return out.push(Action::Nvlink { token, from: own.gpu, to: other.gpu, bytes });
        }
        let (traffic, turn) = match message.clears {
            true => (Traffic::ClearToSend, OF_CLEAR_TO_SENDS),
            false => {
                let (sent, queues) =
                    (&mut self.sent[message.from as usize], self.settings.queues.max(1));
                let turn = *sent % queues;
                *sent = sent.wrapping_add(1);
                (Traffic::Data, u32::from(message.channel) * queues + turn)
            }
        };
        let queue = self.queue((None, message.from, turn));
        let (from, to) = (own.nic, other.nic);
        out.push(Action::Network { token, from, to, queue, traffic, bytes });
    }

    fn queue(&mut self, key: QueueKey) -> Queue {
        let next = self.queues.len() as u32;
        Queue(*self.queues.entry(key).or_insert(next))
    }

    /// A receive is done when it is ready and its message has arrived, whichever comes last.
    fn meet(&mut self, message: u32) {
        if self.frontier.meet(message) {
            self.finish(self.plan.messages[message as usize].receive);
        }
    }

    fn finish(&mut self, node: u32) {
        self.left -= 1;
        self.ends[self.plan.rank(node) as usize] = self.now;
        self.frontier.done(&self.plan, node);
    }

    /// Begins a communicator's next collective, if there is one that all have come to.
    fn begin_call(&mut self, comm: u32, out: &mut Vec<Action>) {
        let state = &mut self.comms[comm as usize];
        if state.running {
            return;
        }
        let Some(call) = state.due.pop_front() else { return };
        state.running = true;
        // Pairs go on one by one, each as its own messages let it.
        let program = match self.hands_out && !self.is_between_pairs(call) {
            true => None,
            false => Some(self.collective(call)),
        };
        let Ok(program) = program.transpose() else {
            debug_assert!(false, "a collective that was checked cannot be made");
            return self.end_call(call, &[], out);
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.lanes.push(None);
            self.lanes.len() as u32 - 1
        });
        assert!(self.lanes.len() <= MOST_LANES, "more than 65535 collectives at once");
        let apart = self.apart.remove(&call).unwrap_or_default();
        let (begun, gone) = (self.now, vec![false; self.plan.comms[comm as usize].len()]);
        let (count, first, median) = (0, None, None);
        let lane = Lane { call, begun, apart, gone, count, first, median, program };
        let lane = self.lanes[slot as usize].insert(Box::new(lane));
        let mut inner = Vec::new();
        match &mut lane.program {
            Some(program) => program.start(&mut inner),
            None => {
                let call = self.plan.calls[call as usize];
                let (collective, size) = (call.what.shown(), call.size);
                let call = CallId { space: comm, group: 0, collective, size };
                inner.push(Action::Call { token: Token::new(0, 0, 0), call });
            }
        }
        self.let_go(slot);
        self.pass_on(slot, inner, out);
    }

    /// Passes on what a collective asks for, and ends it if it has finished.
    fn pass_on(&mut self, number: u32, mut inner: Vec<Action>, out: &mut Vec<Action>) {
        let Some(Some(lane)) = self.lanes.get(number as usize) else { return };
        let comm = self.plan.calls[lane.call as usize].comm;
        let own = |token: Token| token.in_lane(number + 1);
        let mut ended = None;
        for action in inner.drain(..) {
            out.push(match action {
                Action::Network { token, from, to, queue, traffic, bytes } => {
                    let queue = self.queue((Some(comm), queue.0, 0));
                    Action::Network { token: own(token), from, to, queue, traffic, bytes }
                }
                Action::Nvlink { token, from, to, bytes } => {
                    Action::Nvlink { token: own(token), from, to, bytes }
                }
                Action::Wait { token, gpu, span } => Action::Wait { token: own(token), gpu, span },
                Action::Call { token, call } => Action::Call { token: own(token), call },
                Action::Begins { .. } | Action::Ends { .. } => action,
                Action::Finished => {
                    ended = self.lanes[number as usize].take();
                    continue;
                }
            });
        }
        self.inner = inner;
        if let Some(lane) = ended {
            self.free.push(number);
            self.count(&lane);
            self.end_call(lane.call, &lane.gone, out);
        }
    }

    /// Ranks that are done with a collective go on, while others are at it.
    fn let_go(&mut self, number: u32) {
        while let Some(Some(lane)) = self.lanes.get_mut(number as usize)
            && let Some(place) = lane.next_gone(self.now)
        {
            let call = lane.call;
            let comm = self.plan.calls[call as usize].comm;
            let rank = self.plan.comms[comm as usize][place];
            if let Some(node) = self.plan.call_node(call, rank) {
                self.finish(node);
            }
        }
    }

    /// A collective is done: its ranks go on that have not yet, and so does its communicator.
    fn end_call(&mut self, call: u32, gone: &[bool], out: &mut Vec<Action>) {
        let plan = Arc::clone(&self.plan);
        let comm = plan.calls[call as usize].comm;
        for (place, &rank) in plan.comms[comm as usize].iter().enumerate() {
            let left = !gone.get(place).is_some_and(|gone| *gone);
            if let Some(node) = plan.call_node(call, rank).filter(|_| left) {
                self.finish(node);
            }
        }
        self.comms[comm as usize].running = false;
        self.begin_call(comm, out);
    }

    fn count(&mut self, lane: &Lane) {
        let call = self.plan.calls[lane.call as usize];
        let since = |at: Option<Instant>| at.unwrap_or(self.now) - lane.begun;
        let (took, first, median) = (since(None), since(lane.first), since(lane.median));
        let layout = &self.layouts[call.comm as usize];
        let (name, ranks) = (call.what.name(), layout.ranks());
        let key = (name, ranks, call.size.get());
        let figures = self.figures.entry(key).or_insert_with(|| CallFigures {
            collective: call.what.shown(),
            name,
            algorithm: call.what.algorithm(call.size, layout, self.choice),
            ranks,
            size: call.size,
            count: 0,
            total: Span::ZERO,
            longest: Span::ZERO,
            apart: Span::ZERO,
            most_apart: Span::ZERO,
            first: Span::ZERO,
            median: Span::ZERO,
        });
        figures.count += 1;
        figures.total += took;
        figures.longest = figures.longest.max(took);
        figures.apart += lane.apart;
        figures.most_apart = figures.most_apart.max(lane.apart);
        figures.first += first;
        figures.median += median;
    }
}
