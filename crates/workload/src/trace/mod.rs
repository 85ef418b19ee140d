//! Traces that users have, read into one form: ranks, what each of them does, and after what.
//!
//! | format | what is read |
//! | --- | --- |
//! | Chakra | a folder of `.et` files, or of their JSON, one per rank, with the process groups as JSON beside them |
//! | GOAL | a schedule as text, or as the binary of LogGOPSim |
//! | SimAI, AICB | a workload as text, with either header, or as AICB's own CSV |
//! | Kineto | the JSON of the PyTorch profiler, one file per rank: its communication calls |
//! | NCCL | what it logs with `NCCL_DEBUG=INFO` and `NCCL_DEBUG_SUBSYS=INIT,COLL` |
//!
//! [`read`] takes a file or a folder, gzipped or not, and recognises the format by content. Files are
//! streamed: memory goes with the operations that are kept, never with the size of the file, and
//! within [`Limits`]. What is not understood, left out or assumed is counted by kind with its first
//! place ([`Trace::notes`]); nothing is dropped silently.
//!
//! What it is not: it runs nothing, and a [`Trace`] knows no network. Read [`Trace`] and [`Work`]
//! first; each format is a module beside them.

mod aicb;
mod builder;
mod chakra;
mod error;
mod files;
mod goal;
mod group;
mod json;
mod kineto;
mod model;
mod names;
mod nccl;
mod note;
mod simai;
mod sniff;
mod source;
mod summary;
pub mod write;

pub use builder::Limits;
pub(crate) use builder::{Builder, Link};
pub use error::{Place, TraceError};
pub use files::{Options, read, read_stream};
pub use group::{Group, GroupId, Members};
pub use model::{
    Access, Basis, Collective, CollectiveKind, Connection, Edge, Effort, Measured, Message, Need,
    Operation, OperationId, Rank, Stream, Tag, Trace, Who, Work,
};
pub(crate) use note::At;
pub use note::{MOST_NOTES, Note, NoteKind};
pub(crate) use simai::ALL_RANKS;
pub use sniff::Format;
pub use source::Watcher;
pub use summary::{GroupLine, Kind, KindLine, RankLine, Summary, Tally};
