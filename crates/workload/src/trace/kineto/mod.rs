//! The JSON of the PyTorch profiler (Kineto), one file per rank: its communication calls.
//!
//! PyTorch notes every call of a process group as an event `record_param_comms`, whose arguments say
//! what is called, how many elements of which type go in and out, and in which group. The kernel
//! that does it is an event of its own, tied to the call by an external id, and says how long it took
//! on the device. Older traces mark calls by [`annotation`]s instead, with the shapes of what goes in and without a
//! group; or have only the kernels, whose names say which collective it is and whose size is not known.
//!
//! Operations of a group run one after the other; between groups the trace shows no
//! dependencies, and computation is left out. Times count from the first operation of a rank.

mod annotation;
mod event;
mod record;

use super::builder::{Builder, Link};
use super::error::{Outcome, Place, TraceError};
use super::group::{GroupId, Members};
use super::json::{self, Guard};
use super::model::{
    Basis, Collective, Edge, Measured, Message, Operation, Rank, Stream, Who, Work,
};
use super::names::Call;
use super::note::At;
use super::source::Source;
use event::{Distributed, Scalar};
use record::{Collector, GroupKey, Record};
use std::collections::{BTreeMap, BTreeSet};
use xoff_units::{Instant, Span};

/// Reads the files of a trace.
#[derive(Debug, Default)]
pub(super) struct Reader {
    files: BTreeSet<Rank>,
}

impl Reader {
    /// Reads the trace of a rank.
    pub(super) fn file(&mut self, source: Source<'_>, builder: &mut Builder) -> Outcome<()> {
        let Source { name, reader, .. } = source;
        let mut collector = Collector::new(&name, builder);
        let mut refused = None;
        let file = event::File { listener: &mut collector, refused: &mut refused };
        let found = json::read_seed(&name, Guard::new(reader), file);
        let found = found.map_err(|error| refused.unwrap_or(error))?;
        if !found {
            let text = "no \"traceEvents\" in it; export it with `export_chrome_trace`";
            return Err(TraceError::new(&name, Place::File, text));
        }
        let (records, groups, distributed) = collector.finish();
        let rank = self.rank(&distributed, builder, &name)?;
        let at = At { file: &name, place: Place::File, rank: Some(rank) };
        if let Some(world) = distributed.world.whole() {
            builder.at_least(world, at)?;
        }
        let groups = resolve(groups, &distributed, builder, at)?;
        if records.is_empty() {
            let what = "no communication calls: is it the profile of a rank of a distributed job?";
            builder.notes.unknown(what, at);
        }
        let groups = Groups { named: groups, world: distributed.world.whole() };
        write(&records, &groups, rank, builder, at)
    }

    fn rank(&mut self, who: &Distributed, builder: &mut Builder, file: &str) -> Outcome<Rank> {
        let at = At { file, place: Place::File, rank: None };
        let number = match who.rank.whole().or_else(|| rank_in_name(file)) {
            Some(rank) => rank,
            None => {
                builder.notes.assumed("no rank in the file: counted in order", at);
                (0..).find(|rank| !self.files.contains(&Rank(*rank))).unwrap_or(0).into()
            }
        };
        let rank = builder.rank(number, at)?;
        if !self.files.insert(rank) {
            let text = format!("there is another file of rank {rank}; leave one of them");
            return Err(TraceError::new(file, Place::File, text));
        }
        Ok(rank)
    }

    /// Says what is missing.
    pub(super) fn finish(self, builder: &mut Builder, file: &str) -> Outcome<()> {
        let at = At { file, place: Place::File, rank: None };
        for _ in (self.files.len() as u32)..builder.ranks() {
            builder.notes.assumed("rank without a file: does nothing", at);
        }
        Ok(())
    }
}

/// The rank in a file name such as `rank3_trace.json` or `kineto.rank_0_step_4.json`.
fn rank_in_name(name: &str) -> Option<u64> {
    let lower = name.to_ascii_lowercase();
    let (_, after) = lower.split_once("rank")?;
    let after = after.trim_start_matches(['_', '-', '.']);
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..end].parse().ok()
}

/// The groups that calls name, with their members as far as the file says so.
fn resolve(
    keys: Vec<GroupKey>,
    distributed: &Distributed,
    builder: &mut Builder,
    at: At<'_>,
) -> Outcome<Vec<GroupId>> {
    let mut listed: BTreeMap<&str, &Scalar> = BTreeMap::new();
    for group in &distributed.groups.0 {
        listed.extend(group.name.text().map(|name| (name, &group.ranks)));
    }
    let world = distributed.world.whole();
    keys.into_iter()
        .map(|key| {
            let named = key.ranks.as_deref().and_then(record::rank_list);
            let named = named.or_else(|| match listed.get(key.name.as_str())? {
                Scalar::Ranks(ranks) => Some(ranks.clone()),
                other => record::rank_list(other.text()?),
            });
            let named = named.filter(|ranks| key.fits(ranks.len())).or_else(|| key.strided());
            let members = match named {
                Some(ranks) => {
                    let ranks: Outcome<Vec<Rank>> =
                        ranks.iter().map(|rank| builder.rank(*rank, at)).collect();
                    Members::List(ranks?)
                }
                None if key.size.is_some() && key.size == world => Members::All { ranks: 0 },
                None => {
                    builder.notes.assumed("group without a list of ranks", at);
                    let size = key.size.and_then(|size| u32::try_from(size).ok());
                    Members::Unknown { size }
                }
            };
            builder.group(&key.name, members, at)
        })
        .collect()
}

/// The groups of a file.
struct Groups {
    named: Vec<GroupId>,
    /// Ranks of the job, where the file says so.
    world: Option<u64>,
}

impl Groups {
    /// The group of a call. Older profiles do not say which.
    fn of(&self, record: &Record, builder: &mut Builder, at: At<'_>) -> Outcome<GroupId> {
        if let Some(group) = record.group.and_then(|group| self.named.get(group as usize)) {
            return Ok(*group);
        }
        if self.world.is_some() {
            builder.notes.assumed("collective without a group: all ranks", at);
            return builder.group("", Members::All { ranks: 0 }, at);
        }
        builder.notes.assumed("collective without a group", at);
        builder.group("", Members::Unknown { size: None }, at)
    }
}

/// Turns records into operations, in the order of time.
fn write(
    records: &[Record],
    groups: &Groups,
    rank: Rank,
    builder: &mut Builder,
    at: At<'_>,
) -> Outcome<()> {
    let mut order: Vec<&Record> = records.iter().collect();
    order.sort_by(|a, b| a.start.total_cmp(&b.start));
    let first = order.first().map_or(0.0, |record| record.start);
    let mut links = Vec::new();
    let mut last: BTreeMap<(Option<u32>, Option<u32>), u32> = BTreeMap::new();
    for (index, record) in order.iter().enumerate() {
        let at = At { place: Place::Event(record.event), ..at };
        let work = work(record, groups, builder, at)?;
        let start = Instant::from_ps(picoseconds(record.start - first));
        let took = Span::from_ps(picoseconds(record.duration));
        let measured = Some(Measured { start, took });
        let stream = record.stream.map(Stream);
        builder.push(Operation { who: Who::One(rank), work, stream, measured }, at)?;
        // A communicator has a stream of its own, which is all that is known without one.
        let queue = match record.stream {
            Some(stream) => (Some(stream), None),
            None => (None, record.group),
        };
        let from = index as u32;
        links.extend(last.insert(queue, from).map(|on| Link { from, on, edge: Edge::Control }));
    }
    let cycle = |_| TraceError::new(at.file, Place::File, "operations that wait for each other");
    builder.link(links, at.file)?.map_err(cycle)
}

fn work(record: &Record, groups: &Groups, builder: &mut Builder, at: At<'_>) -> Outcome<Work> {
    let message = |builder: &mut Builder| -> Outcome<Message> {
        let peer = record.peer.map(|peer| builder.rank(peer, at)).transpose()?;
        if peer.is_none() {
            builder.notes.assumed("message without the other rank", at);
        }
        if record.bytes.is_none() {
            builder.notes.assumed("message without a size", at);
        }
        Ok(Message { peer, bytes: record.bytes, tag: None })
    };
    Ok(match record.call {
        Call::Send => Work::Send(message(builder)?),
        Call::Receive => Work::Receive(message(builder)?),
        // How many messages it was, to and from which ranks, its call would say.
        Call::Any => {
            let what = "kernel of sends and receives without their calls: counted as one send";
            builder.notes.unknown(what, at);
            Work::Send(Message { peer: None, bytes: None, tag: None })
        }
        Call::Collective(kind) => {
            if record.bytes.is_none() && kind != super::CollectiveKind::Barrier {
                builder.notes.assumed("collective without a size", at);
            }
            let group = groups.of(record, builder, at)?;
            let bytes = record.bytes;
            let is_share = record.by_shape && kind == super::CollectiveKind::AllGather;
            let basis = if is_share { Basis::Share } else { Basis::Buffer };
            Work::Collective(Collective { kind, group, bytes, basis, root: None })
        }
    })
}

/// The profiler's times are microseconds.
fn picoseconds(microseconds: f64) -> u64 {
    // A cast saturates, and takes what is no number for zero. Whole nanoseconds are all there is.
    (microseconds * 1e3).round().max(0.0) as u64 * 1_000
}

#[cfg(test)]
mod tests;
