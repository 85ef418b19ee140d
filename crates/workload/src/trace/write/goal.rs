//! GOAL schedules, as text.

use super::super::model::{Collective, CollectiveKind, Edge, OperationId, Rank, Trace, Work};
use super::exchanged::Exchanged;
use super::ring::{Group, Hop};
use super::unrolled::{self, CHANNELS, LANES, Unrolled};
use super::{Clock, Create, WriteError, Written, of_rank};
use crate::collective::{self, Algorithm, Collective as Plain, Settings};
use crate::layout::{Layout, RankId};
use crate::program::Program;
use crate::replay::member::{Comms, Place, Scale};
use std::collections::BTreeMap;
use std::io::Write;
use xoff_units::{Bytes, Span};

/// Tags from here on are those of collectives.
const OF_COLLECTIVES: u32 = 1 << 20;

/// Whether a message of a schedule is one of the clear-to-sends that [`goal`] writes.
pub(crate) fn is_clear_to_send(tag: u32, bytes: Bytes) -> bool {
    let lane = tag.checked_sub(OF_COLLECTIVES).map(|tag| tag % LANES);
    lane.is_some_and(|lane| unrolled::is_clear_to_send(lane, bytes.get()))
}

/// The channel of a collective that a message of a schedule written by [`goal`] belongs to, from 1 on; 0 for all others.
pub(crate) fn channel(tag: u32) -> u8 {
    let lane = tag.checked_sub(OF_COLLECTIVES).map(|tag| tag % LANES);
    lane.filter(|lane| *lane < CHANNELS).map_or(0, |lane| lane as u8 + 1)
}

/// Writes `NAME.goal`. The layout says where each rank is: between servers, collectives go by the NICs that they go by there.
pub fn goal(
    trace: &Trace,
    layout: &Layout,
    name: &str,
    create: Create<'_>,
) -> Result<Written, WriteError> {
    let mut file = create(&format!("{name}.goal"))?;
    let seat = |rank| layout.seat(RankId(rank)).domain;
    let servers: Vec<u32> = (0..layout.ranks()).map(seat).collect();
    let (mut groups, mut known) = (Comms::default(), BTreeMap::new());
    let mut operations = 0;
    writeln!(file, "num_ranks {}", trace.ranks)?;
    for rank in 0..trace.ranks {
        writeln!(file, "\nrank {rank} {{")?;
        let mut block = Block {
            trace,
            layout,
            servers: &servers,
            rank,
            file: &mut *file,
            groups: &mut groups,
            known: &mut known,
            clock: Clock::default(),
            ends: BTreeMap::new(),
            last: BTreeMap::new(),
            statements: 0,
        };
        for id in of_rank(trace, rank) {
            block.operation(id)?;
        }
        operations += u64::from(block.statements);
        writeln!(file, "}}")?;
    }
    file.flush()?;
    Ok(Written { files: 1, operations })
}

/// A collective: its communicator, its kind, its bytes and its root.
type Key = (u32, &'static str, u64, u32);

/// A collective piece by piece: along links, or between pairs.
#[derive(Debug)]
enum Pieces {
    Passed(Unrolled),
    Exchanged(Exchanged),
}

/// The statements of a rank.
struct Block<'a> {
    trace: &'a Trace,
    layout: &'a Layout,
    servers: &'a [u32],
    rank: u32,
    file: &'a mut dyn Write,
    groups: &'a mut Comms,
    known: &'a mut BTreeMap<Key, Option<Pieces>>,
    clock: Clock,
    /// The statement that ends an operation.
    ends: BTreeMap<OperationId, u32>,
    /// The end of each group's last collective.
    last: BTreeMap<u32, u32>,
    statements: u32,
}

impl Block<'_> {
    fn operation(&mut self, id: OperationId) -> Result<(), WriteError> {
        let operation = self.trace.operations[id.0 as usize];
        let cpu = operation.stream.map_or(0, |stream| stream.0);
        let statement = match operation.work {
            Work::Nothing => format!("calc 0 cpu {cpu}"),
            Work::Compute(effort) => {
                let span = effort.span;
                if span.is_zero() && effort.operations > 0 {
                    let text = "GOAL knows times and no FLOPs, and the trace states FLOPs only";
                    return Err(WriteError::Beyond(text.to_owned()));
                }
                format!("calc {} cpu {cpu}", self.clock.whole(span, Span::from_ns(1)))
            }
            Work::Memory(..) => {
                let took = operation.measured.map_or(Span::ZERO, |measured| measured.took);
                format!("calc {} cpu {cpu}", self.clock.whole(took, Span::from_ns(1)))
            }
            Work::Send(message) | Work::Receive(message) => {
                let is_send = matches!(operation.work, Work::Send(_));
                let tag = message.tag.map_or(0, |tag| tag.0);
                let (Some(peer), Some(bytes)) = (message.peer, message.bytes) else {
                    let text = format!("message of rank {} without a size or a peer", self.rank);
                    return Err(WriteError::Beyond(text));
                };
                if tag >= OF_COLLECTIVES {
                    let text = format!("tag {tag}; tags are below {OF_COLLECTIVES} here");
                    return Err(WriteError::Beyond(text));
                }
                message_text(is_send, bytes.get(), peer.0, tag)
            }
            Work::Collective(one) => return self.collective(id, &one),
        };
        let label = self.state(&statement)?;
        self.waits(label, id)?;
        self.ends.insert(id, label);
        Ok(())
    }

    /// Writes a statement; its label.
    fn state(&mut self, statement: &str) -> Result<u32, WriteError> {
        let label = self.statements;
        self.statements += 1;
        writeln!(self.file, "l{label}: {statement}")?;
        Ok(label)
    }

    /// Makes a statement wait for what an operation waits for.
    fn waits(&mut self, label: u32, id: OperationId) -> Result<(), WriteError> {
        for need in self.trace.needs(id) {
            let word = if need.edge == Edge::Start { "irequires" } else { "requires" };
            let Some(on) = self.ends.get(&need.on) else {
                let text = "an operation waits for a later one; GOAL wants them in order";
                return Err(WriteError::Beyond(text.to_owned()));
            };
            writeln!(self.file, "l{label} {word} l{on}")?;
        }
        Ok(())
    }

    /// What this rank does in a collective between servers, or of pairs; `None` for all others.
    fn pieces(&mut self, comm: u32, group: &Group<'_>) -> Option<Vec<Hop>> {
        let place = |rank: u32| group.members.iter().position(|&member| member == rank);
        let root = RankId(place(group.root)? as u32);
        let kind = match group.kind {
            CollectiveKind::AllReduce | CollectiveKind::Barrier => Plain::AllReduce,
            CollectiveKind::AllGather => Plain::AllGather,
            CollectiveKind::ReduceScatter => Plain::ReduceScatter,
            CollectiveKind::Broadcast => Plain::Broadcast { root },
            CollectiveKind::Reduce => Plain::Reduce { root },
            CollectiveKind::AllToAll => Plain::AllToAll,
            CollectiveKind::Gather => Plain::Gather { root },
            CollectiveKind::Scatter => Plain::Scatter { root },
        };
        let layout = self.layout;
        let key = (comm, kind.name(), group.bytes, group.root);
        let made = self.known.entry(key).or_insert_with(|| {
            let ranks: Vec<RankId> = group.members.iter().map(|rank| RankId(*rank)).collect();
            let own = layout.group(&ranks);
            let (size, settings) = (Bytes::new(group.bytes), Settings::without_cost());
            let way = Algorithm::of(kind)[0];
            match collective::program(kind, way, size, &own, &settings) {
                Ok(Program::Machine(machine)) if own.domains().len() > 1 => {
                    Unrolled::new(machine, &own).map(Pieces::Passed)
                }
                Ok(Program::Exchange(exchange)) => {
                    Exchanged::new(exchange, &own).map(Pieces::Exchanged)
                }
                _ => None,
            }
        });
        let member = place(self.rank)? as u32;
        let mut hops = match made.as_ref()? {
            Pieces::Passed(unrolled) => unrolled.hops(member),
            Pieces::Exchanged(exchanged) => exchanged.hops(member),
        };
        hops.iter_mut().for_each(|hop| hop.peer = group.members[hop.peer as usize]);
        Some(hops)
    }

    /// The messages of a collective, between a statement that begins it and one that ends it.
    fn collective(&mut self, id: OperationId, one: &Collective) -> Result<(), WriteError> {
        let place = Place { rank: Rank(self.rank), replica: 0 };
        let scale = Scale { ranks: self.trace.ranks, replicas: 1 };
        let group = self.trace.group(one.group);
        let comm = self.groups.of(self.trace, one.group, false, place, scale);
        let size =
            one.buffer(group).or((one.kind == CollectiveKind::Barrier).then_some(Bytes::new(4)));
        let (Ok(comm), Some(size)) = (comm, size) else {
            let text = format!("{} of group `{}` without ranks or a size", one.kind, group.name);
            return Err(WriteError::Beyond(text));
        };
        let begin = self.state("calc 0")?;
        self.waits(begin, id)?;
        if let Some(before) = self.last.get(&comm) {
            writeln!(self.file, "l{begin} requires l{before}")?;
        }
        let members = self.groups.members[comm as usize].clone();
        let root = one.root.map(|root| root.0).or(members.first().copied()).unwrap_or(0);
        let bytes = size.get();
        let ring = Group { kind: one.kind, members: &members, servers: self.servers, bytes, root };
        let hops = self.pieces(comm, &ring).unwrap_or_else(|| ring.hops(self.rank));
        let first = self.statements;
        let tag = OF_COLLECTIVES + one.group.0 * LANES;
        for hop in &hops {
            let text = message_text(hop.is_send, hop.bytes, hop.peer, tag + hop.lane);
            let label = self.state(&text)?;
            for on in hop.after.into_iter().flatten() {
                writeln!(self.file, "l{label} requires l{}", first + on)?;
            }
            if hop.after == [None; 2] {
                writeln!(self.file, "l{label} requires l{begin}")?;
            }
        }
        let end = self.state("calc 0")?;
        for at in 0..hops.len() as u32 {
            writeln!(self.file, "l{end} requires l{}", first + at)?;
        }
        if hops.is_empty() {
            writeln!(self.file, "l{end} requires l{begin}")?;
        }
        self.last.insert(comm, end);
        self.ends.insert(id, end);
        Ok(())
    }
}

fn message_text(is_send: bool, bytes: u64, peer: u32, tag: u32) -> String {
    let (word, to) = if is_send { ("send", "to") } else { ("recv", "from") };
    format!("{word} {bytes}b {to} {peer} tag {tag}")
}
