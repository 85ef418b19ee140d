//! What a run counts.

use crate::id::{Slot, Table};
use crate::report::{Drop, PortHealth};
use xoff_fabric::model::{CLASSES, PortId};

/// What is counted per port and class outside the hot path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClassCount {
    pub(crate) marked: u64,
    pub(crate) dropped_packets: u64,
    pub(crate) dropped_bytes: u64,
    pub(crate) buffer_drops: u64,
    pub(crate) xoff_sent: u64,
    pub(crate) xon_sent: u64,
    pub(crate) pauses_received: u64,
}

impl ClassCount {
    /// Adds what was counted elsewhere.
    pub(crate) fn take_in(&mut self, other: Self) {
        self.marked += other.marked;
        self.dropped_packets += other.dropped_packets;
        self.dropped_bytes += other.dropped_bytes;
        self.buffer_drops += other.buffer_drops;
        self.xoff_sent += other.xoff_sent;
        self.xon_sent += other.xon_sent;
        self.pauses_received += other.pauses_received;
    }
}

/// Totals of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    /// Packets for a flow that had already ended.
    pub(crate) late: u64,
    /// Packets and bytes dropped, by class and reason.
    pub(crate) dropped: [[u64; Drop::COUNT]; 8],
    pub(crate) dropped_bytes: u64,
    /// Of `delivered`: congestion notifications.
    pub(crate) cnps: u64,
    /// Congestion notifications that switches made.
    pub(crate) switch_cnps: u64,
    /// Packets that lost their payload and went on.
    pub(crate) trimmed: u64,
}

impl Totals {
    /// Adds what was counted elsewhere.
    pub(crate) fn take_in(&mut self, other: Self) {
        self.delivered += other.delivered;
        self.delivered_bytes += other.delivered_bytes;
        self.late += other.late;
        let dropped = self.dropped.iter_mut().flatten().zip(other.dropped.iter().flatten());
        dropped.for_each(|(own, other)| *own += other);
        self.dropped_bytes += other.dropped_bytes;
        self.cnps += other.cnps;
        self.switch_cnps += other.switch_cnps;
        self.trimmed += other.trimmed;
    }
}

/// All counts of a run.
pub(crate) struct Accounts {
    pub(crate) classes: Table<Slot, ClassCount>,
    pub(crate) health: Table<PortId, PortHealth>,
    pub(crate) totals: Totals,
}

impl Accounts {
    pub(crate) fn new(slots: usize) -> Self {
        let classes = vec![ClassCount::default(); slots].into();
        let health = vec![PortHealth::default(); slots / CLASSES].into();
        Self { classes, health, totals: Totals::default() }
    }

    /// A packet was dropped.
    pub(crate) fn drop(&mut self, slot: Slot, size: u16, reason: Drop) {
        let count = &mut self.classes[slot];
        count.dropped_packets += 1;
        count.dropped_bytes += u64::from(size);
        count.buffer_drops += u64::from(reason.is_full_buffer());
        self.health[slot.port()].dropped[reason as usize] += 1;
        self.totals.dropped[slot.class().index()][reason as usize] += 1;
        self.totals.dropped_bytes += u64::from(size);
    }

    /// Packets dropped, whatever for.
    pub(crate) fn dropped(&self) -> u64 {
        self.totals.dropped.iter().flatten().sum()
    }
}
