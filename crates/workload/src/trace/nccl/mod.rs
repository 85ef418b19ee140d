//! What NCCL (and RCCL) logs with `NCCL_DEBUG=INFO`: with the subsystem `COLL` a line per call, with `INIT`
//! which communicators there are, their members, and how ranks reach each other.
//!
//! A call names its communicator by an address in its process. The rank of a process in the job is
//! its rank in the largest communicator it is in: ranks of smaller ones count from zero again. Calls on
//! a communicator run one after the other; anything else is not in the log. Sizes are those of NCCL's
//! arguments: of an AllGather, ReduceScatter or AllToAll, one rank's share.

mod group;
mod line;

use super::builder::{Builder, Link};
use super::error::{Outcome, Place, TraceError};
use super::model::{
    Basis, Collective, CollectiveKind, Connection, Edge, Message, Operation, Rank, Stream, Who,
    Work,
};
use super::names::{self, Call};
use super::note::At;
use super::source::{self, Source};
use group::Groups;
use std::collections::BTreeMap;
use xoff_units::Bytes;

/// Reads the files of a log.
#[derive(Debug, Default)]
pub(super) struct Reader {
    files: Vec<String>,
    groups: Groups,
    records: Vec<Record>,
    streams: BTreeMap<(u32, String), u32>,
    connections: BTreeMap<(u32, u32, String), u64>,
}

/// A call.
#[derive(Debug, Clone, Copy)]
struct Record {
    call: Call,
    bytes: Option<Bytes>,
    /// A rank of the communicator: root or peer.
    root: u64,
    communicator: u32,
    process: u32,
    stream: Option<u32>,
    file: u32,
    line: Place,
}

/// Most pairs of ranks whose connection is kept.
const MOST_CONNECTIONS: usize = 1 << 20;

impl Reader {
    /// Reads a file.
    pub(super) fn file(&mut self, mut source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
        let name = source.name.clone();
        self.files.push(name.clone());
        let mut buffer = Vec::new();
        loop {
            let read = source.line(&mut buffer)?;
            let at = At { file: &name, place: source.line_place(), rank: None };
            match read {
                source::Line::End => return Ok(()),
                source::Line::TooLong => builder.notes.unknown("line of more than 1 MiB", at),
                source::Line::Whole => {
                    let text = String::from_utf8_lossy(&buffer);
                    self.line(&text, builder, at)?;
                }
            }
        }
    }

    fn line(&mut self, text: &str, builder: &mut Builder, at: At<'_>) -> Outcome<()> {
        let Some(line) = line::read(text) else {
            if text.contains("NCCL") || text.contains(": opCount ") {
                builder.notes.unknown("torn line of NCCL", at);
            } else if !text.trim().is_empty() {
                builder.notes.skipped("line that is not NCCL's", at);
            }
            return Ok(());
        };
        if line.torn {
            builder.notes.unknown("line with two messages: the first is lost", at);
        }
        match line.message {
            line::Message::Operation(operation) => {
                self.operation(line.process, line.device, &operation, builder, at)?;
            }
            line::Message::Communicator(made) => {
                let process = self.groups.process(line.process, line.device);
                self.groups.made(process, line.process, &made, builder, at)?;
            }
            line::Message::Channel { from, to, via } => {
                let key = (from, to, via.to_owned());
                if self.connections.len() < MOST_CONNECTIONS || self.connections.contains_key(&key)
                {
                    *self.connections.entry(key).or_default() += 1;
                } else {
                    builder.notes.skipped("connection beyond those that are kept", at);
                }
            }
            line::Message::Cut => builder.notes.unknown("call that is cut off", at),
            line::Message::Warning(text) => builder.notes.unknown(&format!("warning: {text}"), at),
            line::Message::Other(text) => {
                let word = text.split_whitespace().next().unwrap_or("");
                let known = word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'/');
                let word = if known { word } else { "…" };
                builder.notes.skipped(&format!("message `{word}`"), at);
            }
        }
        Ok(())
    }

    fn operation(
        &mut self,
        name: &str,
        device: u32,
        operation: &line::Operation<'_>,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<()> {
        let Some(call) = operation.call.filter(|call| *call != Call::Any) else {
            builder.notes.unknown(&format!("call `{}`", operation.name), at);
            return Ok(());
        };
        let most = builder.limits().operations as usize;
        if self.records.len() >= most {
            let text = format!("more than {most} calls; take a shorter part of the run");
            return Err(TraceError::new(at.file, at.place, text));
        }
        let size = names::nccl_type(operation.datatype);
        if size.is_none() {
            builder.notes.unknown(&format!("data type {}", operation.datatype), at);
        }
        let communicator = self.groups.used(name, device, operation, builder, at)?;
        let process = self.groups.process_of(communicator);
        let stream = operation.stream.map(|stream| {
            let next = self.streams.len() as u32;
            *self.streams.entry((process, stream.to_owned())).or_insert(next)
        });
        self.records.push(Record {
            call,
            bytes: size.map(|size| size * operation.count),
            root: operation.root,
            communicator,
            process,
            stream,
            file: self.files.len() as u32 - 1,
            line: at.place,
        });
        Ok(())
    }

    /// Works out ranks and groups, and writes the calls down rank by rank.
    pub(super) fn finish(self, builder: &mut Builder, name: &str) -> Outcome<()> {
        let at = At { file: name, place: Place::File, rank: None };
        let known = self.groups.resolve(builder, at)?;
        let mut records = self.records;
        records.sort_by_key(|record| known.rank(record.process));
        let mut links = Vec::new();
        let mut last: BTreeMap<(Rank, u32), u32> = BTreeMap::new();
        for (index, record) in records.iter().enumerate() {
            let rank = known.rank(record.process);
            let file = self.files.get(record.file as usize).map_or(name, String::as_str);
            let at = At { file, place: record.line, rank: Some(rank) };
            let work = work(record, &known, builder, at);
            let stream = record.stream.map(Stream);
            let operation = Operation { who: Who::One(rank), work, stream, measured: None };
            builder.push(operation, at)?;
            let from = index as u32;
            let before = last.insert((rank, record.communicator), from);
            links.extend(before.map(|on| Link { from, on, edge: Edge::Control }));
        }
        if records.is_empty() {
            builder.notes.unknown("no calls: log with NCCL_DEBUG_SUBSYS=INIT,COLL", at);
        }
        builder.connections = self.connections.into_iter().map(connection).collect();
        let cycle = |_| TraceError::new(name, Place::File, "calls that wait for each other");
        builder.link(links, name)?.map_err(cycle)
    }
}

fn connection(((from, to, via), lines): ((u32, u32, String), u64)) -> Connection {
    Connection { from: Rank(from), to: Rank(to), via, lines }
}

fn work(record: &Record, known: &group::Known, builder: &mut Builder, at: At<'_>) -> Work {
    let root =
        u32::try_from(record.root).ok().and_then(|root| known.member(record.communicator, root));
    let mut message = |bytes| {
        if root.is_none() {
            builder.notes.assumed("message whose other rank is not in the log", at);
        }
        Message { peer: root, bytes, tag: None }
    };
    match record.call {
        Call::Send => Work::Send(message(record.bytes)),
        Call::Receive => Work::Receive(message(record.bytes)),
        Call::Any => Work::Nothing,
        Call::Collective(kind) => {
            let basis = if kind.has_shares() { Basis::Share } else { Basis::Buffer };
            let root = root.filter(|_| kind.has_root());
            let bytes = record.bytes.filter(|_| kind != CollectiveKind::Barrier);
            let group = known.group(record.communicator);
            Work::Collective(Collective { kind, group, bytes, basis, root })
        }
    }
}

#[cfg(test)]
mod tests;
