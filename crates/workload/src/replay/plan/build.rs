//! From the operations of a trace to tasks, calls and messages.

use super::super::call::What;
use super::super::matching::{Post, matched};
use super::super::member::{CommId, Comms, Place, Scale, Unfit};
use super::super::{LeftOut, Options, ReplayError};
use super::links::{Order, links};
use super::{Call, NO_QUEUE, NODE, Replay, Sent, Task};
use crate::collective::Collective as Plain;
use crate::layout::RankId;
use crate::trace::write::{channel, is_clear_to_send};
use crate::trace::{
    ALL_RANKS, Collective, CollectiveKind, Effort, Format, GroupId, OperationId, Rank, Stream,
    Trace, Work,
};
use std::collections::BTreeMap;
use xoff_units::{Bytes, Span};

/// A trace while it is planned.
pub(super) struct Planner<'t> {
    trace: &'t Trace,
    options: &'t Options,
    scale: Scale,
    order: Order,
    plan: Replay,
    comms: Comms,
    /// Calls of every communicator, in order.
    calls: Vec<Vec<Draft>>,
    sends: Vec<Post>,
    receives: Vec<Post>,
    left_out: BTreeMap<String, LeftOut>,
    /// Of the rank whose nodes are made: its queues, communicators, and calls of each.
    queues: BTreeMap<Option<Stream>, u32>,
    own: BTreeMap<GroupId, Result<CommId, Unfit>>,
    made: BTreeMap<CommId, u32>,
}

/// A call that some members have come to.
struct Draft {
    what: What,
    kind: CollectiveKind,
    size: Bytes,
    nodes: Vec<u32>,
}

/// Most nodes of a plan: the rest of the bits of a number are in use.
const MOST_NODES: u64 = NODE as u64;
/// Most ranks of a job.
const MOST_RANKS: u64 = 1 << 20;

impl<'t> Planner<'t> {
    pub(super) fn new(trace: &'t Trace, options: &'t Options) -> Result<Self, ReplayError> {
        let ranks = u64::from(trace.ranks) * u64::from(options.replicas);
        if ranks == 0 || ranks > MOST_RANKS {
            let text = format!("{ranks} ranks; 1 to {MOST_RANKS} can be replayed");
            return Err(ReplayError::new(text));
        }
        let order = Order::new(trace)?;
        let nodes = order.nodes() * u64::from(options.replicas);
        if nodes > MOST_NODES {
            let text = format!("{nodes} operations; at most {MOST_NODES} can be replayed");
            return Err(ReplayError::new(text));
        }
        if nodes == 0 {
            let cure = match trace.format {
                Format::Kineto => {
                    ": of a profile communication calls are replayed; take those of the ranks of a distributed job"
                }
                Format::NcclLog => ": log with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL",
                Format::Chakra | Format::Goal | Format::SimAi => "",
            };
            return Err(ReplayError::new(format!("there is no operation in the trace{cure}")));
        }
        Ok(Self {
            trace,
            options,
            scale: Scale { ranks: trace.ranks, replicas: options.replicas },
            order,
            plan: Replay::default(),
            comms: Comms::default(),
            calls: Vec::new(),
            sends: Vec::new(),
            receives: Vec::new(),
            left_out: BTreeMap::new(),
            queues: BTreeMap::new(),
            own: BTreeMap::new(),
            made: BTreeMap::new(),
        })
    }

    /// A node for every operation of every rank, rank by rank.
    pub(super) fn nodes(&mut self) -> Result<(), ReplayError> {
        let nodes = self.order.nodes() * u64::from(self.scale.replicas);
        self.plan.tasks.reserve_exact(nodes as usize);
        for replica in 0..self.scale.replicas {
            for rank in 0..self.scale.ranks {
                let place = Place { rank: Rank(rank), replica };
                self.plan.starts.push(self.plan.tasks.len() as u32);
                self.queues.clear();
                self.own.clear();
                self.made.clear();
                for at in 0..self.order.count(rank) {
                    let operation = self.order.operation(rank, at);
                    if self.order.gaps {
                        let span = self.scaled(gap(self.trace, operation));
                        self.plan.tasks.push(Task::Compute { span, queue: NO_QUEUE });
                    }
                    let task = self.task(operation, place)?;
                    self.plan.tasks.push(task);
                }
            }
        }
        self.plan.starts.push(self.plan.tasks.len() as u32);
        if self.order.gaps {
            let first = OperationId(0);
            self.note("time between the calls of a recorded run: taken for computing", first);
        }
        Ok(())
    }

    fn task(&mut self, id: OperationId, place: Place) -> Result<Task, ReplayError> {
        let operation = self.trace.operations[id.0 as usize];
        let node = self.plan.tasks.len() as u32;
        let offset = place.replica * self.scale.ranks;
        let rank = place.rank.0 + offset;
        Ok(match operation.work {
            Work::Nothing => Task::Nothing,
            Work::Compute(effort) => self.compute(id, effort, operation.stream),
            Work::Memory(..) => match operation.measured {
                Some(measured) => self.computing(measured.took, operation.stream),
                None => {
                    self.note("memory access without a duration: takes no time", id);
                    Task::Nothing
                }
            },
            Work::Send(message) | Work::Receive(message) => {
                let is_send = matches!(operation.work, Work::Send(_));
                if is_send && message.peer.is_none() {
                    self.leave("send that does not say to which rank", id, place)?;
                    return Ok(Task::Nothing);
                }
                if message.peer == Some(place.rank) {
                    self.leave("message of a rank to itself", id, place)?;
                    return Ok(Task::Nothing);
                }
                let post = Post::new(rank, offset, &message, node);
                if is_send {
                    self.sends.push(post)
                } else {
                    self.receives.push(post)
                }
                // What it is follows when sends and receives have been matched.
                Task::Nothing
            }
            Work::Collective(collective) => self.collective(id, &collective, place)?,
        })
    }

    fn compute(&mut self, id: OperationId, effort: Effort, stream: Option<Stream>) -> Task {
        let mut span = effort.span;
        if span.is_zero() && effort.operations > 0 {
            self.note("computing time from FLOPs, since the trace states none", id);
            span = self.options.gpu.time(effort.operations as f64);
        }
        self.computing(span, stream)
    }

    fn computing(&mut self, span: Span, stream: Option<Stream>) -> Task {
        let span = self.scaled(span);
        if span.is_zero() {
            return Task::Nothing;
        }
        let next = self.plan.queues;
        let queue = *self.queues.entry(stream).or_insert(next);
        self.plan.queues = self.plan.queues.max(queue + 1);
        Task::Compute { span, queue }
    }

    fn scaled(&self, span: Span) -> Span {
        Span::from_ps(self.options.compute_scale.of(span.as_ps()))
    }

    fn collective(
        &mut self,
        id: OperationId,
        one: &Collective,
        place: Place,
    ) -> Result<Task, ReplayError> {
        let group = self.trace.group(one.group);
        let spans = group.name.starts_with("data parallel")
            || group.name == ALL_RANKS
            || self.options.spread.contains(&group.name);
        let (trace, scale) = (self.trace, self.scale);
        let comms = &mut self.comms;
        let find = || comms.of(trace, one.group, spans, place, scale);
        let comm = match *self.own.entry(one.group).or_insert_with(find) {
            Ok(comm) => comm,
            Err(unfit) => {
                let what = match unfit {
                    Unfit::Unknown if trace.group(one.group).name == ALL_RANKS => {
                        "collective of all ranks, of which the trace does not say how many there are; give the \
                         number of `replicas`"
                    }
                    Unfit::Unknown if spans => {
                        "collective of a data-parallel group whose ranks the trace does not \
                         name; give the number of `replicas`"
                    }
                    Unfit::Unknown => "collective of a group whose ranks the trace does not name",
                    Unfit::Outsider => "collective of a group that its rank is not in",
                    Unfit::Uneven => "collective of groups that the ranks cannot be cut into",
                };
                self.leave(what, id, place)?;
                return Ok(Task::Nothing);
            }
        };
        let size = match one.kind {
            CollectiveKind::Barrier => Some(Bytes::new(4)),
            _ => one.buffer(group),
        };
        let Some(size) = size else {
            self.leave("collective without a size", id, place)?;
            return Ok(Task::Nothing);
        };
        let members = &self.comms.members[comm as usize];
        if members.len() < 2 {
            self.note("collective of a group of one rank: nothing is sent", id);
            return Ok(Task::Nothing);
        }
        if size.is_zero() {
            return Ok(Task::Nothing);
        }
        let offset = place.replica * self.scale.ranks;
        let root = one.root.and_then(|root| members.iter().position(|m| *m == root.0 + offset));
        let root = RankId(root.unwrap_or(0) as u32);
        self.check_absent(id, comm, place)?;
        self.join(
            id,
            comm,
            place,
            Draft { what: what(one.kind, root), kind: one.kind, size, nodes: Vec::new() },
        )
    }

    /// Members of which the trace says nothing cannot be waited for.
    fn check_absent(
        &mut self,
        id: OperationId,
        comm: CommId,
        at: Place,
    ) -> Result<(), ReplayError> {
        let absent = |rank: &&u32| self.order.count(**rank % self.scale.ranks) == 0;
        let members = &self.comms.members[comm as usize];
        let Some(first) = members.iter().find(absent) else { return Ok(()) };
        if self.options.lenient {
            let what =
                "collective of ranks that the trace says nothing of: taken to be there in time";
            self.note(what, id);
            return Ok(());
        }
        let name = &self.trace.group(self.comms.groups[comm as usize]).name;
        let (there, ranks) = (self.order.present(), self.scale.ranks);
        let first = first % self.scale.ranks;
        Err(ReplayError::new(format!(
            "{}: group `{name}` has rank {first}, and the trace has operations of {there} of {ranks} \
             ranks; add the others, or be lenient: they then take part as soon as the rest do",
            self.named(id, at.rank)
        )))
    }

    /// A rank's next call of a communicator.
    fn join(
        &mut self,
        id: OperationId,
        comm: CommId,
        place: Place,
        draft: Draft,
    ) -> Result<Task, ReplayError> {
        self.calls.resize_with(self.comms.members.len(), Vec::new);
        let number = self.made.entry(comm).or_insert(0);
        let at = *number as usize;
        *number += 1;
        let node = self.plan.tasks.len() as u32;
        let calls = &mut self.calls[comm as usize];
        let Some(known) = calls.get_mut(at) else {
            calls.push(Draft { nodes: vec![node], ..draft });
            return Ok(Task::Nothing);
        };
        let (same, kind, size) = (known.what == draft.what, known.kind, known.size);
        if same {
            known.nodes.push(node);
            known.size = known.size.max(draft.size);
        }
        if same && size != draft.size && draft.kind.has_shares() {
            self.note("collective whose ranks state different sizes: the largest is taken", id);
        } else if !same || size != draft.size {
            let group = &self.trace.group(self.comms.groups[comm as usize]).name;
            let what = format!(
                "{} of {} is call {at} of group `{group}`, where another rank has {kind} of {size}",
                draft.kind, draft.size
            );
            self.leave(&what, id, place)?;
        }
        Ok(Task::Nothing)
    }

    /// Pairs sends with receives.
    pub(super) fn match_messages(&mut self) -> Result<(), ReplayError> {
        let (sends, receives) =
            (std::mem::take(&mut self.sends), std::mem::take(&mut self.receives));
        let found = matched(sends, receives);
        for pair in &found.pairs {
            let (send, receive) = (pair.send, pair.receive);
            let (sent, received) = (self.size(send.node), self.size(receive.node));
            let Some(bytes) = sent.or(received) else {
                self.leave_node("message without a size", send.node)?;
                continue;
            };
            if received.is_some_and(|other| other != bytes) {
                let id = self.order.of_node(&self.plan.starts, receive.node, self.scale.ranks);
                self.note("receive of another size than its send: that of the send is taken", id);
            }
            let number = self.plan.messages.len() as u32;
            self.plan.tasks[send.node as usize] = Task::Send(number);
            self.plan.tasks[receive.node as usize] = Task::Receive(number);
            let (from, to) = (send.rank, receive.rank);
            let goal = self.trace.format == Format::Goal;
            let tag = send.tag.filter(|_| goal).map_or(0, |tag| tag.0);
            let (clears, channel) = (is_clear_to_send(tag, bytes), channel(tag));
            let (send, receive) = (send.node, receive.node);
            self.plan.messages.push(Sent { from, to, bytes, send, receive, clears, channel });
        }
        if found.open > 0 {
            let first = OperationId(0);
            let what = "receive from any rank or with any tag: given the first send that is left";
            self.note_times(what, first, found.open);
        }
        for receive in &found.receives {
            self.leave_node("receive without a send", receive.node)?;
        }
        for send in &found.sends {
            self.leave_node("send without a receive", send.node)?;
        }
        Ok(())
    }

    /// The size of the message that a node sends or receives.
    fn size(&self, node: u32) -> Option<Bytes> {
        let id = self.order.of_node(&self.plan.starts, node, self.scale.ranks);
        match self.trace.operations[id.0 as usize].work {
            Work::Send(message) | Work::Receive(message) => message.bytes,
            _ => None,
        }
    }

    /// Calls that all members come to become tasks.
    pub(super) fn complete_calls(&mut self) -> Result<(), ReplayError> {
        let calls = std::mem::take(&mut self.calls);
        self.plan.call_first.push(0);
        for (comm, drafts) in calls.into_iter().enumerate() {
            let here = |rank: &&u32| self.order.count(**rank % self.scale.ranks) > 0;
            let expected = self.comms.members[comm].iter().filter(here).count();
            for (number, draft) in drafts.into_iter().enumerate() {
                if draft.nodes.len() < expected {
                    let what = format!(
                        "call {number} of group `{}`, {} of {}, which {} of {expected} ranks make",
                        self.trace.group(self.comms.groups[comm]).name,
                        draft.kind,
                        draft.size,
                        draft.nodes.len(),
                    );
                    self.leave_node(&what, draft.nodes[0])?;
                    continue;
                }
                let call = self.plan.calls.len() as u32;
                debug_assert!(draft.nodes.is_sorted(), "ranks are read in their order");
                for &node in &draft.nodes {
                    self.plan.tasks[node as usize] = Task::Call(call);
                }
                self.plan.call_nodes.extend(&draft.nodes);
                self.plan.call_first.push(self.plan.call_nodes.len() as u32);
                let Draft { what, size, .. } = draft;
                self.plan.calls.push(Call { comm: comm as u32, what, size });
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Replay, ReplayError> {
        self.plan.comms = self.comms.members;
        links(self.trace, &self.order, self.scale, &mut self.plan);
        self.plan.left_out = self.left_out.into_values().collect();
        Ok(self.plan)
    }

    fn named(&self, id: OperationId, rank: Rank) -> String {
        named(self.trace, id, rank)
    }

    fn leave_node(&mut self, what: &str, node: u32) -> Result<(), ReplayError> {
        let id = self.order.of_node(&self.plan.starts, node, self.scale.ranks);
        let rank = self.plan.rank(node);
        let place = Place { rank: Rank(rank % self.scale.ranks), replica: rank / self.scale.ranks };
        self.leave(what, id, place)
    }

    /// Leaves an operation out, or refuses the trace because of it.
    fn leave(&mut self, what: &str, id: OperationId, place: Place) -> Result<(), ReplayError> {
        if self.options.lenient {
            self.note(&format!("left out: {what}"), id);
            return Ok(());
        }
        let place = self.named(id, place.rank);
        Err(ReplayError::new(format!("{place}: {what}; be lenient to leave such things out")))
    }

    fn note(&mut self, what: &str, id: OperationId) {
        self.note_times(what, id, 1);
    }

    fn note_times(&mut self, what: &str, id: OperationId, count: u64) {
        if let Some(known) = self.left_out.get_mut(what) {
            known.count += count;
            return;
        }
        let first = self.trace.origin(id).map(|(file, place)| format!("{file}{place}"));
        let note = LeftOut { what: what.to_owned(), count, first: first.unwrap_or_default() };
        self.left_out.insert(what.to_owned(), note);
    }
}

fn named(trace: &Trace, id: OperationId, rank: Rank) -> String {
    let kind = trace.operations[id.0 as usize].work.kind();
    match trace.origin(id) {
        Some((file, place)) => format!("{file}{place} (rank {rank}, {kind})"),
        None => format!("rank {rank}, {kind}"),
    }
}

/// Says which operations wait for each other.
pub(super) fn stuck(trace: &Trace, options: &Options, plan: &Replay, cycle: &[u32]) -> ReplayError {
    /// Names shown of a long one.
    const SHOWN: usize = 5;
    let ranks = plan.ranks() / options.replicas.max(1);
    let name = |node: &u32| match Order::new(trace) {
        Ok(order) => {
            let id = order.of_node(&plan.starts, *node, ranks);
            named(trace, id, Rank(plan.rank(*node) % ranks))
        }
        Err(_) => format!("node {node}"),
    };
    let mut names: Vec<String> = cycle.iter().take(SHOWN).map(name).collect();
    if cycle.len() > SHOWN {
        names.push("…".to_owned());
    }
    names.extend(cycle.first().map(name));
    let chain = names.join(" waits for ");
    ReplayError::new(format!("{chain}: none of them can ever start"))
}

fn what(kind: CollectiveKind, root: RankId) -> What {
    match kind {
        CollectiveKind::AllReduce => What::Plain(Plain::AllReduce),
        CollectiveKind::AllGather => What::Plain(Plain::AllGather),
        CollectiveKind::ReduceScatter => What::Plain(Plain::ReduceScatter),
        CollectiveKind::AllToAll => What::Plain(Plain::AllToAll),
        CollectiveKind::Broadcast => What::Plain(Plain::Broadcast { root }),
        CollectiveKind::Gather => What::Plain(Plain::Gather { root }),
        CollectiveKind::Reduce => What::Plain(Plain::Reduce { root }),
        CollectiveKind::Scatter => What::Plain(Plain::Scatter { root }),
        CollectiveKind::Barrier => What::Barrier,
    }
}

/// The time that a recorded rank spent between what an operation waits for and its start.
fn gap(trace: &Trace, id: OperationId) -> Span {
    let start = |id: OperationId| trace.operations[id.0 as usize].measured;
    let Some(own) = start(id) else { return Span::ZERO };
    let ends = trace.needs(id).iter().filter_map(|need| start(need.on)).map(|m| m.start + m.took);
    match ends.max() {
        Some(end) if end > own.start => Span::ZERO,
        Some(end) => own.start - end,
        None => Span::from_ps(own.start.as_ps()),
    }
}

impl Order {
    /// Whether the time between calls is all that is known of computing.
    pub(super) fn has_gaps(trace: &Trace) -> bool {
        trace.format == Format::Kineto && trace.operations.iter().any(|o| o.measured.is_some())
    }
}
