//! Chakra execution traces, in the fields that its schema names.

use super::super::model::{CollectiveKind, Edge, Operation, OperationId, Rank, Trace, Work};
use super::{Clock, Create, WriteError, Written, of_rank};
use crate::replay::member::{Comms, Place, Scale};
use std::collections::BTreeMap;
use std::io::Write;
use xoff_units::{Bytes, Span};

/// Fields of `AttributeProto`.
const INT64: u64 = 9;
const BOOL: u64 = 27;
const TEXT: u64 = 29;

/// Writes `NAME.R.et` for every rank and `comm_group.json`.
pub fn chakra(trace: &Trace, name: &str, create: Create<'_>) -> Result<Written, WriteError> {
    let mut groups = Comms::default();
    let mut written = Written::default();
    for rank in 0..trace.ranks {
        let mut file = create(&format!("{name}.{rank}.et"))?;
        let mut message = Vec::new();
        text(1, "0.0.4", &mut message);
        delimited(&message, &mut *file)?;
        let mut places = BTreeMap::new();
        let mut clock = Clock::default();
        for (number, id) in (0u64..).zip(of_rank(trace, rank)) {
            places.insert(id, number);
        }
        for (number, id) in (0u64..).zip(of_rank(trace, rank)) {
            let mut node = Node { trace, rank, groups: &mut groups, clock: &mut clock };
            let message = node.message(id, number, &places)?;
            delimited(&message, &mut *file)?;
            written.operations += 1;
        }
        file.flush()?;
        written.files += 1;
    }
    let map: BTreeMap<String, &Vec<u32>> =
        groups.members.iter().enumerate().map(|(at, list)| (at.to_string(), list)).collect();
    let mut file = create("comm_group.json")?;
    let text = serde_json::to_vec(&map).map_err(std::io::Error::other)?;
    file.write_all(&text)?;
    file.flush()?;
    written.files += 1;
    Ok(written)
}

/// A node while it is written.
struct Node<'a> {
    trace: &'a Trace,
    rank: u32,
    groups: &'a mut Comms,
    clock: &'a mut Clock,
}

impl Node<'_> {
    fn message(
        &mut self,
        id: OperationId,
        number: u64,
        places: &BTreeMap<OperationId, u64>,
    ) -> Result<Vec<u8>, WriteError> {
        let operation = &self.trace.operations[id.0 as usize];
        let mut out = Vec::new();
        let (kind, name) = kind(&operation.work);
        varint_field(1, number, &mut out);
        text(2, name, &mut out);
        varint_field(3, kind, &mut out);
        for need in self.trace.needs(id) {
            if need.edge == Edge::Start {
                let text = "Chakra cannot say that an operation waits for the start of another";
                return Err(WriteError::Beyond(text.to_owned()));
            }
            // Data dependencies are what every reader of the format follows.
            varint_field(5, places.get(&need.on).copied().unwrap_or(0), &mut out);
        }
        self.rest(operation, &mut out)?;
        Ok(out)
    }

    fn rest(&mut self, operation: &Operation, out: &mut Vec<u8>) -> Result<(), WriteError> {
        attribute("is_cpu_op", BOOL, 0, out);
        if let Some(stream) = operation.stream {
            attribute("stream", INT64, stream.0.into(), out);
        }
        match &operation.work {
            Work::Nothing => varint_field(7, 0, out),
            Work::Compute(effort) => {
                varint_field(7, self.clock.whole(effort.span, Span::from_us(1)), out);
                if effort.operations > 0 {
                    attribute("num_ops", INT64, effort.operations, out);
                    attribute("tensor_size", INT64, effort.bytes.get(), out);
                }
            }
            Work::Memory(_, bytes) => attribute("tensor_size", INT64, bytes.get(), out),
            Work::Send(message) | Work::Receive(message) => {
                let is_send = matches!(operation.work, Work::Send(_));
                let key = if is_send { "comm_dst" } else { "comm_src" };
                message.peer.iter().for_each(|peer| attribute(key, INT64, peer.0.into(), out));
                message.tag.iter().for_each(|tag| attribute("comm_tag", INT64, tag.0.into(), out));
                message
                    .bytes
                    .iter()
                    .for_each(|size| attribute("comm_size", INT64, size.get(), out));
            }
            Work::Collective(one) => {
                let (rank, replica) = (Rank(self.rank), 0);
                let scale = Scale { ranks: self.trace.ranks, replicas: 1 };
                let place = Place { rank, replica };
                let comm = self.groups.of(self.trace, one.group, false, place, scale);
                let group = self.trace.group(one.group);
                let comm = comm.map_err(|_| {
                    let name = &group.name;
                    WriteError::Beyond(format!(
                        "group `{name}` of rank {rank} has no ranks to name"
                    ))
                })?;
                attribute("comm_type", INT64, number(one.kind), out);
                if let Some(buffer) = one.buffer(group) {
                    // Of an AllGather, what a rank puts in.
                    let ranks = self.groups.members[comm as usize].len() as u64;
                    let share = one.kind == CollectiveKind::AllGather;
                    let size = if share { buffer.get().div_ceil(ranks) } else { buffer.get() };
                    attribute("comm_size", INT64, Bytes::new(size).get(), out);
                }
                one.root.iter().for_each(|root| attribute("root_rank", INT64, root.0.into(), out));
                text_attribute("pg_name", &comm.to_string(), out);
            }
        }
        Ok(())
    }
}

/// The numbers are those of Chakra's schema, `NodeType`.
fn kind(work: &Work) -> (u64, &'static str) {
    match work {
        Work::Nothing => (4, "join"),
        Work::Compute(_) => (4, "compute"),
        Work::Memory(super::super::model::Access::Load, _) => (2, "load"),
        Work::Memory(super::super::model::Access::Store, _) => (3, "store"),
        Work::Send(_) => (5, "send"),
        Work::Receive(_) => (6, "receive"),
        Work::Collective(_) => (7, "collective"),
    }
}

/// The numbers are those of Chakra's schema, `CollectiveCommType`.
const fn number(kind: CollectiveKind) -> u64 {
    match kind {
        CollectiveKind::AllReduce => 0,
        CollectiveKind::Reduce => 1,
        CollectiveKind::AllGather => 2,
        CollectiveKind::Gather => 3,
        CollectiveKind::Scatter => 4,
        CollectiveKind::Broadcast => 5,
        CollectiveKind::AllToAll => 6,
        CollectiveKind::ReduceScatter => 7,
        CollectiveKind::Barrier => 9,
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint_field(field: u64, value: u64, out: &mut Vec<u8>) {
    varint(field << 3, out);
    varint(value, out);
}

fn inner(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn text(field: u64, text: &str, out: &mut Vec<u8>) {
    inner(field, text.as_bytes(), out);
}

fn attribute(name: &str, field: u64, value: u64, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    text(1, name, &mut bytes);
    varint_field(field, value, &mut bytes);
    inner(10, &bytes, out);
}

fn text_attribute(name: &str, value: &str, out: &mut Vec<u8>) {
    let mut bytes = Vec::new();
    text(1, name, &mut bytes);
    text(TEXT, value, &mut bytes);
    inner(10, &bytes, out);
}

fn delimited(message: &[u8], file: &mut dyn Write) -> std::io::Result<()> {
    let mut length = Vec::new();
    varint(message.len() as u64, &mut length);
    file.write_all(&length)?;
    file.write_all(message)
}
