//! Credits of one port and class.

use crate::id::{Slot, Table};
use xoff_fabric::model::{CLASSES, Fabric, PortId};
use xoff_fabric::rules::packet;

/// What one class of one port may send.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Credit {
    /// Bytes of buffer behind the link when nothing is in it.
    pub(super) whole: u32,
    /// Of these, what nothing was sent for.
    pub(super) free: u32,
    /// The class waits while less than this is free.
    pub(super) full: u32,
}

impl Credit {
    /// Whether a class whose buffer holds only `stuck` bytes would go on.
    pub(crate) fn would_go_on(self, stuck: u64) -> bool {
        u64::from(self.whole) >= stuck.saturating_add(self.full.into())
    }
}

/// The credits of all ports and classes at the beginning; nothing where links have none.
pub(crate) fn initial(fabric: &Fabric) -> Table<Slot, Credit> {
    if !fabric.credits {
        return Table::new();
    }
    let largest = fabric.nics.iter().map(|nic| packet::largest(&nic.qp).get()).max().unwrap_or(0);
    let mut credits = vec![Credit::default(); fabric.ports.len() * CLASSES];
    for (port, state) in fabric.ports.iter().enumerate() {
        let peer = &fabric.ports[state.peer.index()];
        let Some(switch) = fabric.node_switch(peer.node) else { continue };
        let cell = fabric.switches[switch.index()].cell.get().clamp(1, 4096);
        let full = (largest.div_ceil(cell) * cell).min(u64::from(u32::MAX)) as u32;
        for (class, rules) in peer.classes.iter().enumerate() {
            let whole = rules.reserved.get().min(u64::from(u32::MAX >> 1)) as u32;
            credits[port * CLASSES + class] = Credit { whole, free: whole, full };
        }
    }
    credits.into()
}

/// Whether packets sent by this port need credits: those to switches do.
pub(crate) fn governs(fabric: &Fabric, port: PortId) -> bool {
    let peer = fabric.ports[port.index()].peer;
    fabric.credits && fabric.node_switch(fabric.ports[peer.index()].node).is_some()
}

/// Class, bytes and epoch of the link, as an event carries them.
pub(super) const CLASS_BITS: u32 = 3;
pub(super) const EPOCH_SHIFT: u32 = CLASS_BITS + 16;
pub(super) const EPOCH_MASK: u32 = u32::MAX >> EPOCH_SHIFT;
