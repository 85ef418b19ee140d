//! The result for machines.

use serde::Serialize;
use std::path::Path;
use xoff_workload::trace::{Group, Members, Note, NoteKind, Place, Rank, Tally, Trace};

/// What is in a trace.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'a> {
    tool: &'static str,
    version: &'static str,
    path: &'a Path,
    format: String,
    ranks: u32,
    operations: usize,
    dependencies: u64,
    kinds: Vec<Kind>,
    groups: Vec<GroupRow<'a>>,
    by_rank: Vec<RankRow>,
    connections: Vec<ConnectionRow<'a>>,
    notes: Vec<NoteRow<'a>>,
    further_notes: u64,
}

#[derive(Debug, Serialize)]
struct Kind {
    kind: String,
    #[serde(flatten)]
    tally: Counts,
}

#[derive(Debug, Serialize)]
struct GroupRow<'a> {
    name: &'a str,
    size: Option<u32>,
    /// Distance between neighbours, where every rank has a group like this.
    stride: Option<u32>,
    /// Its ranks, where the trace lists them.
    members: Option<Vec<u32>>,
    #[serde(flatten)]
    tally: Counts,
}

#[derive(Debug, Serialize)]
struct RankRow {
    /// None: every rank.
    rank: Option<u32>,
    communication: Counts,
    other: Counts,
}

#[derive(Debug, Serialize)]
struct Counts {
    count: u64,
    bytes: u64,
    without_size: u64,
    time_ns: u64,
}

#[derive(Debug, Serialize)]
struct ConnectionRow<'a> {
    from: u32,
    to: u32,
    via: &'a str,
    lines: u64,
}

#[derive(Debug, Serialize)]
struct NoteRow<'a> {
    kind: &'static str,
    what: &'a str,
    count: u64,
    file: &'a str,
    line: Option<u64>,
    byte: Option<u64>,
    event: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u64>,
    rank: Option<u32>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(path: &'a Path, trace: &'a Trace) -> Self {
        let summary = trace.summary();
        let kinds = summary
            .kinds
            .iter()
            .map(|line| Kind { kind: line.kind.to_string(), tally: (&line.tally).into() });
        let groups =
            summary.groups.iter().map(|line| group_row(trace.group(line.group), &line.tally));
        let by_rank = summary.ranks.iter().map(|line| RankRow {
            rank: line.rank.map(|rank| rank.0),
            communication: (&line.communication).into(),
            other: (&line.other).into(),
        });
        let connections = trace.connections.iter().map(|one| ConnectionRow {
            from: one.from.0,
            to: one.to.0,
            via: &one.via,
            lines: one.lines,
        });
        Self {
            tool: "xoff",
            version: env!("CARGO_PKG_VERSION"),
            path,
            format: trace.format.to_string(),
            ranks: trace.ranks,
            operations: trace.operations.len(),
            dependencies: trace.dependencies(),
            kinds: kinds.collect(),
            groups: groups.collect(),
            by_rank: by_rank.collect(),
            connections: connections.collect(),
            notes: trace.notes.iter().map(note_row).collect(),
            further_notes: trace.further_notes,
        }
    }
}

impl From<&Tally> for Counts {
    fn from(tally: &Tally) -> Self {
        Self {
            count: tally.count,
            bytes: tally.bytes.get(),
            without_size: tally.unsized_count,
            time_ns: tally.span.as_ps() / 1000,
        }
    }
}

fn group_row<'a>(group: &'a Group, tally: &Tally) -> GroupRow<'a> {
    let (members, stride) = match &group.members {
        Members::List(list) => (Some(list.iter().map(|Rank(rank)| *rank).collect()), None),
        Members::Every { stride, .. } => (None, Some(*stride)),
        Members::All { .. } | Members::Unknown { .. } => (None, None),
    };
    GroupRow { name: &group.name, size: group.size(), stride, members, tally: tally.into() }
}

/// The word for how something was dealt with.
pub(super) const fn word(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Unknown => "unknown",
        NoteKind::Assumed => "assumed",
        NoteKind::Skipped => "skipped",
    }
}

fn note_row(note: &Note) -> NoteRow<'_> {
    let (mut line, mut byte, mut event, mut node) = (None, None, None, None);
    match note.place {
        Place::File => {}
        Place::Line(number) => line = Some(number),
        Place::Byte(number) => byte = Some(number),
        Place::Event(number) => event = Some(number),
        Place::Node(number) => node = Some(number),
    }
    NoteRow {
        kind: word(note.kind),
        what: &note.what,
        count: note.count,
        file: &note.file,
        line,
        byte,
        event,
        node,
        rank: note.rank.map(|rank| rank.0),
    }
}
