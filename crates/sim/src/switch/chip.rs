//! What a switch needs beside its ports.

use crate::id::HashSeed;
use crate::switch::buffer::Shared;
use xoff_fabric::model::{ClassId, Trimming};

/// What a switch needs beside its ports.
#[derive(Debug, Clone)]
pub(crate) struct SwitchState {
    /// The common part of its buffer.
    pub(crate) shared: Shared,
    /// Class of each DSCP.
    pub(crate) classes: [ClassId; 64],
    /// Seed of its hash, ready for use.
    pub(crate) hash_seed: HashSeed,
    /// Unit in which buffer is handed out; zero counts bytes.
    pub(crate) cell: u16,
    /// Packets leave before they have arrived whole.
    pub(crate) cut_through: bool,
    /// Common buffer when nothing is in it.
    pub(crate) shared_total: u64,
    /// What becomes of packets that a queue has no room for, if they are not dropped.
    pub(crate) trimming: Option<Trimming>,
}

impl SwitchState {
    /// Buffer that a packet of this size takes.
    #[inline(always)]
    pub(crate) fn charge(&self, size: u16) -> u16 {
        match self.cell {
            0 => size,
            cell => size.div_ceil(cell) * cell,
        }
    }
}
