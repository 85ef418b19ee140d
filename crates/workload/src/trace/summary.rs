//! [`Summary`]: what is in a trace, counted.

use super::group::GroupId;
use super::model::{CollectiveKind, Rank, Trace, Who, Work};
use std::collections::BTreeMap;
use std::fmt;
use xoff_units::{Bytes, Span};

/// What is in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// By what is done, in a fixed order; only what there is.
    pub kinds: Vec<KindLine>,
    /// By group, in the order of [`Trace::groups`]; only those with operations.
    pub groups: Vec<GroupLine>,
    /// By rank; only those with operations. What every rank does has no rank.
    pub ranks: Vec<RankLine>,
}

/// Operations of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindLine {
    /// The kind.
    pub kind: Kind,
    /// How many, and how much.
    pub tally: Tally,
}

/// Operations in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupLine {
    /// The group.
    pub group: GroupId,
    /// How many, and how much.
    pub tally: Tally,
}

/// Operations of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankLine {
    /// The rank; none for what every rank does.
    pub rank: Option<Rank>,
    /// Its communication.
    pub communication: Tally,
    /// Everything else.
    pub other: Tally,
}

/// How many operations, and how much they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// Their sizes, as the trace states them.
    pub bytes: Bytes,
    /// How many say no size although they have one.
    pub unsized_count: u64,
    /// How long they take (computation) or took in the recorded run (anything).
    pub span: Span,
}

/// What is done, as a summary counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of `Work`")]
pub enum Kind {
    Collective(CollectiveKind),
    Send,
    Receive,
    Compute,
    Memory,
    Nothing,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Collective(kind) => kind.fmt(f),
            Kind::Send => f.pad("send"),
            Kind::Receive => f.pad("receive"),
            Kind::Compute => f.pad("compute"),
            Kind::Memory => f.pad("memory"),
            Kind::Nothing => f.pad("nothing"),
        }
    }
}

impl Work {
    /// What it is counted as.
    pub const fn kind(&self) -> Kind {
        match self {
            Work::Nothing => Kind::Nothing,
            Work::Compute(_) => Kind::Compute,
            Work::Memory(..) => Kind::Memory,
            Work::Send(_) => Kind::Send,
            Work::Receive(_) => Kind::Receive,
            Work::Collective(collective) => Kind::Collective(collective.kind),
        }
    }

    /// Whether ranks meet in it.
    pub const fn is_communication(&self) -> bool {
        matches!(self, Work::Send(_) | Work::Receive(_) | Work::Collective(_))
    }
}

impl Tally {
    fn add(&mut self, work: &Work, measured: Option<Span>) {
        self.count += 1;
        let bytes = match work {
            Work::Nothing => Some(Bytes::ZERO),
            Work::Compute(effort) => Some(effort.bytes),
            Work::Memory(_, bytes) => Some(*bytes),
            Work::Send(message) | Work::Receive(message) => message.bytes,
            Work::Collective(one) if one.kind == CollectiveKind::Barrier => Some(Bytes::ZERO),
            Work::Collective(one) => one.bytes,
        };
        match bytes {
            Some(bytes) => self.bytes += bytes,
            None => self.unsized_count += 1,
        }
        self.span += match work {
            Work::Compute(effort) => effort.span,
            _ => measured.unwrap_or(Span::ZERO),
        };
    }
}

impl Trace {
    /// Counts and sizes by kind, group and rank.
    pub fn summary(&self) -> Summary {
        let mut kinds: BTreeMap<Kind, Tally> = BTreeMap::new();
        let mut groups: BTreeMap<GroupId, Tally> = BTreeMap::new();
        let mut ranks: BTreeMap<Option<Rank>, (Tally, Tally)> = BTreeMap::new();
        for operation in &self.operations {
            let took = operation.measured.map(|measured| measured.took);
            let add = |tally: &mut Tally| tally.add(&operation.work, took);
            add(kinds.entry(operation.work.kind()).or_default());
            if let Work::Collective(collective) = &operation.work {
                add(groups.entry(collective.group).or_default());
            }
            let rank = match operation.who {
                Who::One(rank) => Some(rank),
                Who::Every => None,
            };
            let (communication, other) = ranks.entry(rank).or_default();
            add(if operation.work.is_communication() { communication } else { other });
        }
        let rank_line = |(rank, (communication, other))| RankLine { rank, communication, other };
        Summary {
            kinds: kinds.into_iter().map(|(kind, tally)| KindLine { kind, tally }).collect(),
            groups: groups.into_iter().map(|(group, tally)| GroupLine { group, tally }).collect(),
            ranks: ranks.into_iter().map(rank_line).collect(),
        }
    }
}
