//! The other way round: a [`Trace`] as files of other tools.
//!
//! [`chakra`] writes a file per rank and the process groups as JSON. [`goal`] writes one schedule; GOAL knows no
//! collectives, so that they are written as the messages of their algorithms. Both keep dependencies and streams.
//! Times are rounded to what a format can say (microseconds in Chakra, nanoseconds in GOAL), with what is cut off one
//! computation added to the next of its rank.

mod chakra;
mod exchanged;
mod goal;
mod ring;
mod unrolled;

pub use chakra::chakra;
pub use goal::goal;
pub(crate) use goal::{channel, is_clear_to_send};

use super::model::{OperationId, Rank, Trace, Who};
use std::io;
use xoff_units::Span;

/// Opens a file to be written, by its name.
pub type Create<'a> = &'a mut dyn FnMut(&str) -> io::Result<Box<dyn io::Write>>;

/// Why a trace cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The format cannot say it.
    #[error("{0}")]
    Beyond(String),
    /// The disk, or what is in its place.
    #[error("{0}")]
    Disk(#[from] io::Error),
}

/// How much was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Files.
    pub files: u64,
    /// Nodes or statements.
    pub operations: u64,
}

/// The operations of a rank, in their order.
fn of_rank(trace: &Trace, rank: u32) -> impl Iterator<Item = OperationId> {
    let own = move |who: Who| who == Who::Every || who == Who::One(Rank(rank));
    (0..).zip(&trace.operations).filter(move |(_, one)| own(one.who)).map(|(at, _)| OperationId(at))
}

/// Cuts times to whole units, so that what is cut off is in the next one.
#[derive(Debug, Default)]
struct Clock {
    rest: u64,
}

impl Clock {
    fn whole(&mut self, span: Span, unit: Span) -> u64 {
        let (all, unit) = (span.as_ps().saturating_add(self.rest), unit.as_ps());
        self.rest = all % unit;
        all / unit
    }
}
