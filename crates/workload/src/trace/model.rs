//! [`Trace`] and what it is made of: operations of ranks and their dependencies, as plain data.

use super::error::Place;
use super::group::{Group, GroupId};
use super::note::Note;
use super::sniff::Format;
use std::fmt;
use xoff_units::{Bytes, Instant, Span};

/// A process of the job, usually one GPU, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

/// What a send and its receive have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

/// A queue of a rank whose operations run one after the other: a CUDA stream, a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(pub u32);

/// An operation by its place in [`Trace::operations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub u32);

/// What a trace says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// What it was read from.
    pub format: Format,
    /// Ranks of the job, whether or not the trace says anything of them.
    pub ranks: u32,
    /// What is done, rank by rank as far as the format allows, in the order of the trace.
    pub operations: Vec<Operation>,
    /// Groups of ranks that collectives run on.
    pub groups: Vec<Group>,
    /// How ranks reach each other, where the trace says so (NCCL logs).
    pub connections: Vec<Connection>,
    /// What was not understood, left out or assumed.
    pub notes: Vec<Note>,
    /// Notes beyond [`super::MOST_NOTES`] kinds, which are only counted.
    pub further_notes: u64,
    pub(super) offsets: Vec<u32>,
    pub(super) needs: Vec<Need>,
    pub(super) origins: Origins,
}

/// Where operations were read: files by the first operation of each, and a number in the file for
/// every operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Origins {
    files: Vec<(u32, String)>,
    places: Vec<(PlaceKind, u32)>,
}

/// A [`Place`] without its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    File,
    Line,
    Byte,
    Event,
    Node,
}

impl Origins {
    /// The next operation was read here. Numbers beyond 32 bits are not kept.
    pub(super) fn push(&mut self, file: &str, place: Place) {
        let (kind, number) = match place {
            Place::File => (PlaceKind::File, 0),
            Place::Line(number) => (PlaceKind::Line, number),
            Place::Byte(number) => (PlaceKind::Byte, number),
            Place::Event(number) => (PlaceKind::Event, number),
            Place::Node(number) => (PlaceKind::Node, number),
        };
        let place = u32::try_from(number).map_or((PlaceKind::File, 0), |number| (kind, number));
        if self.files.last().is_none_or(|(_, name)| name != file) {
            self.files.push((self.places.len() as u32, file.to_owned()));
        }
        self.places.push(place);
    }

    fn get(&self, index: u32) -> Option<(&str, Place)> {
        let (kind, number) = *self.places.get(index as usize)?;
        let file = self.files.partition_point(|(first, _)| *first <= index).checked_sub(1)?;
        let number = u64::from(number);
        let place = match kind {
            PlaceKind::File => Place::File,
            PlaceKind::Line => Place::Line(number),
            PlaceKind::Byte => Place::Byte(number),
            PlaceKind::Event => Place::Event(number),
            PlaceKind::Node => Place::Node(number),
        };
        Some((&self.files[file].1, place))
    }
}

impl Trace {
    /// What an operation waits for: always operations of the same rank.
    pub fn needs(&self, id: OperationId) -> &[Need] {
        let at = id.0 as usize;
        match (self.offsets.get(at), self.offsets.get(at + 1)) {
            (Some(&from), Some(&to)) => &self.needs[from as usize..to as usize],
            _ => &[],
        }
    }

    /// How many dependencies there are in all.
    pub fn dependencies(&self) -> u64 {
        self.needs.len() as u64
    }

    /// The file that an operation was read from, and its place there.
    pub fn origin(&self, id: OperationId) -> Option<(&str, Place)> {
        self.origins.get(id.0)
    }

    /// The group of a collective.
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.0 as usize]
    }
}

/// One thing that one rank, or every rank, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// The actor that does it.
    pub who: Who,
    /// What is done.
    pub work: Work,
    /// In which queue of the rank, where the trace says so.
    pub stream: Option<Stream>,
    /// When it was done, where the trace is a record of a run.
    pub measured: Option<Measured>,
}

/// What does an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// One rank.
    One(Rank),
    /// Every rank, each for itself: the trace is one program for all.
    Every,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Nothing: a point that others wait for.
    Nothing,
    /// Computation on the GPU or the host.
    Compute(Effort),
    /// Reading or writing memory that is not the GPU's own.
    Memory(Access, Bytes),
    /// A message to another rank.
    Send(Message),
    /// A message from another rank.
    Receive(Message),
    /// A rank's part in a collective.
    Collective(Collective),
}

/// How much computation. What the trace does not say is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// How long it takes.
    pub span: Span,
    /// Floating-point operations.
    pub operations: u64,
    /// Memory touched.
    pub bytes: Bytes,
}

/// The direction of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// From memory.
    Load,
    /// To memory.
    Store,
}

/// A message between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The other rank. None: the trace does not say, and a receive takes it from any.
    pub peer: Option<Rank>,
    /// Its size, if the trace says so.
    pub bytes: Option<Bytes>,
    /// Its tag. None: any.
    pub tag: Option<Tag>,
}

/// A rank's part in a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// The group that takes part.
    pub group: GroupId,
    /// Its size as the trace states it, if it does.
    pub bytes: Option<Bytes>,
    /// What that size is the size of.
    pub basis: Basis,
    /// Where it starts or ends, for those with a root.
    pub root: Option<Rank>,
}

impl Collective {
    /// The size in the sense of nccl-tests: the larger of a rank's two buffers. None where the trace
    /// states no size, or a share in a group whose size is not known.
    pub fn buffer(&self, group: &Group) -> Option<Bytes> {
        let bytes = self.bytes?;
        match self.basis {
            Basis::Buffer => Some(bytes),
            Basis::Share => Some(bytes * u64::from(group.size()?)),
        }
    }
}

/// What the size of a collective is the size of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The larger of the two buffers of a rank.
    Buffer,
    /// One rank's share of that: what it puts into an AllGather, what it gets from a ReduceScatter,
    /// what it sends to one peer in an AllToAll.
    Share,
}

/// The collectives that traces know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of MPI and NCCL")]
pub enum CollectiveKind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    Barrier,
}

impl CollectiveKind {
    /// Whether a size may be stated as one rank's share, so that it must be known which.
    pub const fn has_shares(self) -> bool {
        use CollectiveKind as K;
        matches!(self, K::AllGather | K::ReduceScatter | K::AllToAll | K::Gather | K::Scatter)
    }

    /// Whether one rank is special.
    pub const fn has_root(self) -> bool {
        use CollectiveKind as K;
        matches!(self, K::Broadcast | K::Reduce | K::Gather | K::Scatter)
    }
}

impl fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CollectiveKind::AllReduce => "AllReduce",
            CollectiveKind::AllGather => "AllGather",
            CollectiveKind::ReduceScatter => "ReduceScatter",
            CollectiveKind::AllToAll => "AllToAll",
            CollectiveKind::Broadcast => "Broadcast",
            CollectiveKind::Reduce => "Reduce",
            CollectiveKind::Gather => "Gather",
            CollectiveKind::Scatter => "Scatter",
            CollectiveKind::Barrier => "Barrier",
        })
    }
}

/// When an operation was done in the recorded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// When it began, on the clock of its rank.
    pub start: Instant,
    /// How long it took.
    pub took: Span,
}

/// Something an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// What.
    pub on: OperationId,
    /// Until when.
    pub edge: Edge,
}

/// Until when an operation waits, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// Until it is done, for its data.
    Data,
    /// Until it is done, because the program says so.
    Control,
    /// Until it has begun.
    Start,
}

/// How one rank reaches another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The sender, as counted in its communicator.
    pub from: Rank,
    /// The receiver, likewise.
    pub to: Rank,
    /// What carries it (`P2P/CUMEM`, `NET/IB/0/GDRDMA`).
    pub via: String,
    /// How many times the log says so, once per channel and side.
    pub lines: u64,
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
