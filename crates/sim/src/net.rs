//! Wires and switches, and the packets in them.

use crate::adapt::state::Adaptation;
use crate::balance::state::Balance;
use crate::convergence::state::Convergence;
use crate::credit::state::Credit;
use crate::deadlock::state::Deadlocks;
use crate::id::{Slot, Table};
use crate::link::state::Links;
use crate::notify::state::Marking;
use crate::pause::state::Pauses;
use crate::switch::buffer::Profile;
use crate::switch::chip::SwitchState;
use crate::switch::hashing::Hashing;
use crate::switch::header::Headers;
use crate::switch::packet::Packets;
use crate::switch::port::Port;
use crate::switch::routing::Routing;
use crate::switch::scheduler::Scheduler;
use crate::switch::trail::Trails;
use crate::voq::state::Voqs;
use std::sync::Arc;
use xoff_fabric::model::{PortId, SwitchId};

/// The state of all wires and switches. Ports of NICs are among the ports: they are ends of wires, too.
pub(crate) struct Net {
    pub(crate) headers: Headers,
    pub(crate) packets: Packets,
    pub(crate) ports: Table<PortId, Port>,
    /// Thresholds that ports and classes share.
    pub(crate) profiles: Vec<Profile>,
    pub(crate) schedulers: Table<PortId, Scheduler>,
    /// The turn of each port's last transmission, where turns count.
    pub(crate) turns: Table<PortId, u64>,
    pub(crate) switches: Table<SwitchId, SwitchState>,
    pub(crate) links: Links,
    pub(crate) pauses: Pauses,
    /// By sending port and class, where links have credits.
    pub(crate) credits: Table<Slot, Credit>,
    /// By switch, where any has virtual output queues.
    pub(crate) voqs: Table<SwitchId, Option<Box<Voqs>>>,
    pub(crate) routing: Arc<Routing>,
    /// What switches hash.
    pub(crate) hashing: Hashing,
    pub(crate) trails: Trails,
    pub(crate) balance: Balance,
    pub(crate) marking: Marking,
    /// Thresholds that move.
    pub(crate) adaptation: Adaptation,
    pub(crate) deadlocks: Deadlocks,
    /// What switches know of links that are down.
    pub(crate) convergence: Convergence,
    /// Bytes of preamble and gap around every packet.
    pub(crate) gap: u32,
}

impl Net {
    /// Packets sent over links so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        let lanes = self.ports.iter().flat_map(|port| &port.lanes);
        lanes.map(|lane| lane.tx_packets).sum()
    }
}
