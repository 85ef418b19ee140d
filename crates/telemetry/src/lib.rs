//! What a run leaves behind: the rows of its tables ([`FlowRow`], [`PortRow`], [`QueueRow`],
//! [`EventRow`], [`CounterRow`]), the [`Summary`], and the [`RunFolder`] that holds them with the input files. And what
//! operators count: the schema of [`metric`]s, and [`recording`]s of them.
//!
//! The producer of results keeps its own counters and hands them over at the end; only events and
//! series stream into their tables while it runs. A table on disk is a complete Parquet file after
//! every flush, so a run that is interrupted, killed or out of disk keeps what it has written.
//!
//! What it is not: it measures nothing, reads no clock and knows no simulator. Every column and
//! field is described in `docs/results.md`. Read [`folder`] first, then [`table`].

mod column;
mod counter;
mod digest;
mod distribution;
mod error;
mod event;
pub mod file;
mod flow;
pub mod folder;
mod id;
pub mod metric;
mod name;
mod port;
mod queue;
mod ranking;
pub mod recording;
mod summary;
pub mod table;
mod workload;

pub use column::{Cells, Column, Kind, Row};
pub use counter::CounterRow;
pub use digest::Digest;
pub use distribution::{Distribution, Percentiles, nearest_rank};
pub use error::{RunError, cure};
pub use event::{EventKind, EventLog, EventRow};
pub use flow::{FlowRow, FlowSummary, FlowTally};
pub use folder::{InputFile, RunFolder};
pub use id::{ClassNumber, FlowNumber, WorkloadNumber};
pub use metric::Metric;
pub use name::{Name, distinct_names};
pub use port::{LinkUse, PortCounters, PortReport, PortRow, PortTally, QueueDepth, TierSummary};
pub use queue::QueueRow;
pub use recording::{Recorder, Recording};
pub use summary::{
    AdaptationSummary, CollectiveSummary, CriticalSummary, DimensionWait, DropSummary, EndsSummary,
    LinkSpread, LongestWait, Outcome, ShortcutsSummary, StepSummary, Summary, TOOL,
    TransferSummary, VerificationSummary,
};
pub use table::{Sink, Table};
pub use workload::{RankEndsSummary, ServingSummary, TenantSummary, WorkloadSummary};
