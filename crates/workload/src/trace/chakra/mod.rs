//! Chakra execution traces: a file of length-delimited protocol buffers per rank, first one
//! `GlobalMetadata`, then one `Node` after the other; or the same as JSON ([`json`]).
//!
//! Every node becomes an operation, also those that do nothing, because others wait for them. Sizes
//! are what a rank puts in, as ASTRA-sim takes them: of an AllGather its share, otherwise the buffer.
//!
//! What real traces do: the version is empty; attributes have no value; `is_cpu_op` is a bool or a
//! number; calls on the host are collective nodes, too, without a size, beside the node of the
//! device that has one; the ranks of a group are in a file of their own, or nowhere.

mod attribute;
mod groups;
mod json;
mod node;
mod proto;

use super::builder::{Builder, Link};
use super::error::{Outcome, Place, TraceError};
use super::group::{GroupId, Members};
use super::model::{
    Access, Basis, Collective, CollectiveKind, Edge, Effort, Measured, Message, Operation, Rank,
    Stream, Tag, Who, Work,
};
use super::names::{self, Call};
use super::note::At;
use super::sniff::is_binary;
use super::source::Source;
use node::{Node, NodeReader, place};
use proto::Fields;
use std::collections::{BTreeMap, BTreeSet};
use xoff_units::Instant;

pub(super) use json::has_nodes;

/// Whether a file begins like one of these: with messages whose fields are those of the schema.
pub(super) fn begins(head: &[u8]) -> bool {
    /// Messages looked at.
    const ENOUGH: usize = 3;
    let mut rest = head;
    for message in 0..ENOUGH {
        if rest.is_empty() {
            return message > 0 && !head.trim_ascii().is_empty();
        }
        let Some((length, after)) = varint(rest) else { return false };
        let Ok(length) = usize::try_from(length) else { return false };
        if length > after.len() {
            // It goes on beyond what is looked at, unless the file is damaged.
            return !after.is_empty() && fields_fit(after, message == 0);
        }
        if !fields_fit(&after[..length], message == 0) {
            return false;
        }
        rest = &after[length..];
    }
    true
}

fn fields_fit(message: &[u8], first: bool) -> bool {
    let mut rest = message;
    while let Some((key, after)) = varint(rest) {
        let length = match (key >> 3, key & 7) {
            // `GlobalMetadata`: a version and attributes.
            (1 | 2, 2) if first => varint(after),
            (1 | 3 | 6 | 7, 0) | (4 | 5, 0) => varint(after).map(|(_, after)| (0, after)),
            (2 | 4 | 5 | 8..=11, 2) => varint(after),
            _ => return false,
        };
        let Some((length, after)) = length else { return false };
        match usize::try_from(length).ok().and_then(|length| after.get(length..)) {
            Some(after) => rest = after,
            // Beyond what is looked at.
            None => return true,
        }
    }
    rest.is_empty()
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let value =
        bytes[..=end].iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
    Some((value, &bytes[end + 1..]))
}

/// Reads the files of a trace, groups first.
#[derive(Debug, Default)]
pub(super) struct Reader {
    map: groups::Map,
    /// Groups by the name that nodes use, and the ranks that use it.
    used: BTreeMap<String, (GroupId, BTreeSet<Rank>)>,
    files: BTreeSet<Rank>,
    nodes: NodeReader,
}

/// The rank of a file by its name: the last number before its endings.
fn rank_of(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let end = stem.rfind(|c: char| c.is_ascii_digit())? + 1;
    let number = stem[..end].rsplit(|c: char| !c.is_ascii_digit()).next()?;
    number.parse().ok()
}

impl Reader {
    /// Reads a file of process groups.
    pub(super) fn groups(&mut self, source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
        groups::read(source, builder, &mut self.map)
    }

    /// Reads the trace of a rank.
    pub(super) fn file(&mut self, mut source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
        let name = source.name.clone();
        let start = At { file: &name, place: Place::File, rank: None };
        let rank = match rank_of(&name) {
            Some(number) => builder.rank(number, start)?,
            None => {
                builder.notes.assumed("no rank in the file name: taken for rank 0", start);
                builder.rank(0, start)?
            }
        };
        if !self.files.insert(rank) {
            let text = format!("there is another file of rank {rank}; leave one of them");
            return Err(TraceError::new(&name, Place::File, text));
        }
        let mut links = Section::default();
        let head = source.head.trim_ascii_start();
        if matches!(head.first(), Some(b'{' | b'[')) && !source.head.iter().any(is_binary) {
            self.objects(source, rank, &mut links, builder)?;
        } else {
            self.messages(&mut source, rank, &mut links, builder)?;
        }
        links.resolve(builder, &name, rank)
    }

    /// The nodes of a file of protocol buffers.
    fn messages(
        &mut self,
        source: &mut Source<'_>,
        rank: Rank,
        links: &mut Section,
        builder: &mut Builder,
    ) -> Outcome<()> {
        let name = source.name.clone();
        let mut fields = Fields::new(source);
        let mut first = true;
        while let Some(begin) = fields.message()? {
            let at = At { file: &name, place: place(begin), rank: Some(rank) };
            if std::mem::take(&mut first) && is_metadata(&mut fields)? {
                continue;
            }
            let most = builder.limits().dependencies as usize;
            let mut depend = |id, edge| links.want(id, edge, most, at);
            let node = self.nodes.read(&mut fields, &mut builder.notes, at, &mut depend)?;
            self.push(node, rank, links, builder, at)?;
        }
        Ok(())
    }

    /// The nodes of a file of JSON.
    fn objects(
        &mut self,
        source: Source<'_>,
        rank: Rank,
        links: &mut Section,
        builder: &mut Builder,
    ) -> Outcome<()> {
        let name = source.name.clone();
        json::read(source, &mut |mut item| {
            let place = if item.is_node { Place::Node(item.node.id) } else { Place::File };
            let at = At { file: &name, place, rank: Some(rank) };
            if !item.is_node {
                for (key, _) in item.attributes {
                    builder.notes.skipped(&format!("`{key}` of the file"), at);
                }
                return Ok(());
            }
            if let Some(name) = item.other_type {
                builder.notes.unknown(&format!("node of type `{name}`"), at);
            }
            for (name, value) in item.attributes {
                self.nodes.take(&mut item.node.attributes, &name, value, &mut builder.notes, at);
            }
            let most = builder.limits().dependencies as usize;
            item.control.iter().try_for_each(|&id| links.want(id, Edge::Control, most, at))?;
            item.data.iter().try_for_each(|&id| links.want(id, Edge::Data, most, at))?;
            self.push(item.node, rank, links, builder, at)
        })
    }

    fn push(
        &mut self,
        node: Node,
        rank: Rank,
        links: &mut Section,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<()> {
        links.ids.push((node.id, links.ids.len() as u32));
        let named = At { place: Place::Node(node.id), ..at };
        let operation = self.operation(node, rank, builder, at)?;
        builder.push(operation, named)
    }

    fn operation(
        &mut self,
        node: Node,
        rank: Rank,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<Operation> {
        let work = self.work(&node, rank, builder, at)?;
        let stream = node.attributes.stream.and_then(|number| u32::try_from(number).ok());
        let measured = (!node.start.is_zero())
            .then(|| Measured { start: Instant::from_ps(node.start.as_ps()), took: node.duration });
        Ok(Operation { who: Who::One(rank), work, stream: stream.map(Stream), measured })
    }

    /// The numbers are those of Chakra's schema, `NodeType`.
    fn work(
        &mut self,
        node: &Node,
        rank: Rank,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<Work> {
        let a = &node.attributes;
        Ok(match node.kind {
            1 => {
                builder.notes.skipped("metadata node", at);
                Work::Nothing
            }
            2 => Work::Memory(Access::Load, a.tensor),
            3 => Work::Memory(Access::Store, a.tensor),
            4 => Work::Compute(effort(node)),
            5 => Work::Send(message(node, a.destination, builder, at)?),
            6 => Work::Receive(message(node, a.source, builder, at)?),
            7 => self.collective(node, rank, builder, at)?,
            0 => {
                builder.notes.unknown("node without a type", at);
                Work::Nothing
            }
            8 => {
                builder.notes.unknown("storage node: its traffic is not known", at);
                Work::Nothing
            }
            9 | 10 => {
                builder.notes.skipped("mark of a batch or checkpoint", at);
                Work::Nothing
            }
            other => {
                builder.notes.unknown(&format!("node of type {other}"), at);
                Work::Nothing
            }
        })
    }

    fn collective(
        &mut self,
        node: &Node,
        rank: Rank,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<Work> {
        let a = &node.attributes;
        if a.bytes.is_none() && a.on_host == Some(true) {
            // What moves the data is a node of the device, which comes after it.
            builder.notes.skipped("call of a collective on the host", at);
            return Ok(Work::Compute(effort(node)));
        }
        let kind = match a.collective {
            Some(number) => kind_of(number),
            None => match names::call(&node.name) {
                Some(Call::Collective(kind)) => {
                    builder.notes.assumed("collective without a type: recognised by its name", at);
                    Some(kind)
                }
                _ => None,
            },
        };
        let Some(kind) = kind else {
            let what = match a.collective {
                Some(number) => format!("collective of type {number}"),
                None => "collective without a type".to_owned(),
            };
            builder.notes.unknown(&what, at);
            return Ok(Work::Nothing);
        };
        if a.bytes.is_none() && kind != CollectiveKind::Barrier {
            builder.notes.assumed("collective without a size", at);
        }
        let group = self.group(node, rank, builder, at)?;
        let basis = if kind == CollectiveKind::AllGather { Basis::Share } else { Basis::Buffer };
        let root = match a.root {
            Some(number) if kind.has_root() => Some(builder.rank(number, at)?),
            _ => None,
        };
        Ok(Work::Collective(Collective { kind, group, bytes: a.bytes, basis, root }))
    }

    fn group(
        &mut self,
        node: &Node,
        rank: Rank,
        builder: &mut Builder,
        at: At<'_>,
    ) -> Outcome<GroupId> {
        let a = &node.attributes;
        let Some(name) = a.group.as_deref().filter(|name| !name.is_empty()) else {
            if a.dimensions.contains(&false) {
                builder.notes.assumed("group by dimensions of a network: all ranks", at);
            } else if a.dimensions.is_empty() {
                builder.notes.assumed("collective without a group: all ranks", at);
            }
            return builder.group("", Members::All { ranks: 0 }, at);
        };
        if let Some((id, users)) = self.used.get_mut(name) {
            users.insert(rank);
            return Ok(*id);
        }
        let members = match self.map.get(name) {
            Some(list) => Members::List(list.clone()),
            None => Members::Unknown { size: None },
        };
        let id = builder.group(name, members, at)?;
        self.used.insert(name.to_owned(), (id, BTreeSet::from([rank])));
        Ok(id)
    }

    /// Works out the members of groups that no file named, once all ranks are read.
    pub(super) fn finish(self, builder: &mut Builder, file: &str) {
        let at = At { file, place: Place::File, rank: None };
        for (name, (id, users)) in &self.used {
            if let Some(list) = self.map.get(name) {
                let members: BTreeSet<Rank> = list.iter().copied().collect();
                if !users.is_subset(&members) {
                    let what = format!("group `{name}` used by a rank that is not in it");
                    builder.notes.unknown(&what, at);
                }
            } else if self.files.len() > 1 {
                builder.notes.assumed("group without a list of ranks: those that use it", at);
                builder.set_members(*id, Members::List(users.iter().copied().collect()));
            } else {
                builder.notes.assumed("group without a list of ranks", at);
            }
        }
        for _ in (self.files.len() as u32)..builder.ranks() {
            builder.notes.assumed("rank without a file: does nothing", at);
        }
    }
}

/// The numbers are those of Chakra's schema, `CollectiveCommType`.
const fn kind_of(number: u64) -> Option<CollectiveKind> {
    Some(match number {
        0 => CollectiveKind::AllReduce,
        1 => CollectiveKind::Reduce,
        2 => CollectiveKind::AllGather,
        3 => CollectiveKind::Gather,
        4 => CollectiveKind::Scatter,
        5 => CollectiveKind::Broadcast,
        6 => CollectiveKind::AllToAll,
        7 | 8 => CollectiveKind::ReduceScatter,
        9 => CollectiveKind::Barrier,
        _ => return None,
    })
}

fn effort(node: &Node) -> Effort {
    let a = &node.attributes;
    Effort { span: node.duration, operations: a.operations, bytes: a.tensor }
}

fn message(node: &Node, peer: Option<u64>, builder: &mut Builder, at: At<'_>) -> Outcome<Message> {
    let a = &node.attributes;
    if a.bytes.is_none() {
        builder.notes.assumed("message without a size", at);
    }
    let peer = match peer {
        Some(number) => Some(builder.rank(number, at)?),
        None => {
            builder.notes.assumed("message without the other rank", at);
            None
        }
    };
    let tag = a.tag.and_then(|tag| u32::try_from(tag).ok()).map(Tag);
    Ok(Message { peer, bytes: a.bytes, tag })
}

/// Whether the first message is `GlobalMetadata`, which it then passes over: its first field is a
/// text, where that of a node is a number. An empty one has neither version nor attributes.
fn is_metadata(fields: &mut Fields<'_, '_>) -> Outcome<bool> {
    if !fields.more() || fields.peek()? & 7 == 2 {
        while let Some(field) = fields.next()? {
            fields.skip(field.wire)?;
        }
        return Ok(true);
    }
    Ok(false)
}

/// The nodes of a file and what they wait for.
#[derive(Debug, Default)]
struct Section {
    ids: Vec<(u64, u32)>,
    wanted: Vec<(u32, u64, Edge)>,
}

impl Section {
    /// The node that comes next waits for another one.
    fn want(&mut self, id: u64, edge: Edge, most: usize, at: At<'_>) -> Outcome<()> {
        if self.wanted.len() >= most {
            let text = format!("more than {most} dependencies in a file");
            return Err(TraceError::new(at.file, at.place, text));
        }
        self.wanted.push((self.ids.len() as u32, id, edge));
        Ok(())
    }

    /// Finds the nodes that others wait for, by their numbers.
    fn resolve(mut self, builder: &mut Builder, file: &str, rank: Rank) -> Outcome<()> {
        let at = At { file, place: Place::File, rank: Some(rank) };
        let names: Vec<u64> = self.ids.iter().map(|(id, _)| *id).collect();
        self.ids.sort_unstable();
        for pair in self.ids.windows(2) {
            if pair[0].0 == pair[1].0 {
                builder.notes.unknown("node with the number of another one", at);
            }
        }
        let find = |id: u64| {
            let found = self.ids.get(self.ids.partition_point(|(known, _)| *known < id));
            found.filter(|(known, _)| *known == id).map(|(_, on)| *on)
        };
        let mut links = Vec::with_capacity(self.wanted.len());
        for &(from, id, edge) in &self.wanted {
            match find(id) {
                Some(on) => links.push(Link { from, on, edge }),
                None => builder.notes.unknown("dependency on a node that is not there", at),
            }
        }
        let Err(_) = builder.link(links, file)? else { return Ok(()) };
        // The call stack of PyTorch as control dependencies can be circular; Chakra's own feeder follows
        // data dependencies only.
        let data = self.wanted.iter().filter(|(.., edge)| *edge == Edge::Data);
        let link = |&(from, id, edge): &(u32, u64, Edge)| Some(Link { from, on: find(id)?, edge });
        let links = data.filter_map(link).collect();
        let what = "control dependencies in a circle: only data dependencies are kept";
        builder.notes.assumed(what, at);
        builder.link(links, file)?.map_err(|cycle| {
            let chain = cycle.describe(|at| format!("node {}", names[at as usize]));
            let text = format!("{chain}, so that none can start; convert the trace again");
            TraceError::new(file, Place::File, text)
        })
    }
}

#[cfg(test)]
mod tests;
