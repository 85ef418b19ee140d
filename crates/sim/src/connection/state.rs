//! Flows, the two ends of a connection, and the packets that each end sends.

use crate::host::recycle::Recycler;
use crate::id::{ConnectionId, Entropy, FlowId, PacketId, PlaneId, Slot, Table};
use crate::job::carried::Carried;
use crate::nic::state::Member;
use crate::report::{Failure, FlowCounters};
use crate::switch::header::{Headers, PacketHeader};
use crate::switch::packet::{Packet, Packets, flag};
use crate::switch::trail::Stamp;
use prefetch_index::prefetch_index;
use std::ops::{Index, IndexMut};
use xoff_fabric::model::{ClassId, NicId, PortId};
use xoff_fabric::scenario::Operation;
use xoff_transport::QueuePair;
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{Extension, Header};

/// A flow, from before it starts until after it ends.
#[derive(Debug, Clone)]
pub(crate) struct FlowState {
    pub(crate) start: Instant,
    /// When the initiator knew that it was done; never if it is not.
    pub(crate) end: Instant,
    pub(crate) bytes: Bytes,
    pub(crate) source: NicId,
    pub(crate) destination: NicId,
    pub(crate) entropy: [Entropy; 2],
    pub(crate) connection: ConnectionId,
    pub(crate) class: ClassId,
    pub(crate) operation: Operation,
    /// The end of its queue pair, if that failed.
    pub(crate) failure: Option<Failure>,
    pub(crate) pins: Option<Box<Pins>>,
    /// Its packets travel in VXLAN.
    pub(crate) vxlan: bool,
    /// Its transport, if it is a guest's: the place of the guest and one; zero if not.
    pub(crate) guest: u8,
    /// Shortest time the flow could take on an idle fabric.
    pub(crate) bound: Span,
    /// Shortest time it could take whatever way it went: `bound`, unless ways change.
    pub(crate) floor: Span,
    pub(crate) base_rtt: Span,
    pub(crate) counters: FlowCounters,
}

/// The ports a pinned flow takes, one per switch.
#[derive(Debug, Clone)]
pub(crate) struct Pins {
    pub(crate) forth: Vec<PortId>,
    pub(crate) back: Vec<PortId>,
    /// The ports by which the two ends send.
    pub(crate) first: [PortId; 2],
}

/// The flows of a run, and which of them have started.
pub(crate) struct Flows {
    table: Table<FlowId, FlowState>,
    /// Those that have not started, the last to start first.
    to_start: Vec<FlowId>,
}

impl Flows {
    pub(crate) fn new(table: Table<FlowId, FlowState>) -> Self {
        let mut to_start: Vec<FlowId> = table.ids().collect();
        to_start.sort_by_key(|&flow| (table[flow].start, flow));
        to_start.reverse();
        Self { table, to_start }
    }

    /// The same flows, none of which starts; none at all if no path is given.
    pub(crate) fn pinned(&self) -> Self {
        let any = self.table.iter().any(|flow| flow.pins.is_some());
        let table = if any { self.table.clone() } else { Table::new() };
        Self { table, to_start: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn get(&self, flow: FlowId) -> Option<&FlowState> {
        self.table.get(flow)
    }

    pub(crate) fn get_mut(&mut self, flow: FlowId) -> &mut FlowState {
        &mut self.table[flow]
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, FlowState> {
        self.table.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, FlowState> {
        self.table.iter_mut()
    }

    /// When the next flow starts, if any is left.
    pub(crate) fn next_start(&self) -> Option<Instant> {
        self.to_start.last().map(|&flow| self.table[flow].start)
    }

    /// The next flow to start by `now`, which then has.
    pub(crate) fn take_started(&mut self, now: Instant) -> Option<FlowId> {
        if self.next_start()? > now {
            return None;
        }
        self.to_start.pop()
    }
}

/// All connections, and the places of those that have ended.
#[derive(Default)]
pub(crate) struct Connections {
    table: Table<ConnectionId, Connection>,
    free: Vec<ConnectionId>,
}

impl Connections {
    /// The place that the next connection gets.
    pub(super) fn next_id(&self) -> ConnectionId {
        self.free.last().copied().unwrap_or(self.table.next_id())
    }

    /// Puts a connection into the next place.
    pub(super) fn add(&mut self, connection: Connection) {
        match self.free.pop() {
            Some(place) => self.table[place] = connection,
            None => self.table.push(connection),
        }
    }

    /// A connection has ended: its place is for another one.
    pub(super) fn free(&mut self, place: ConnectionId) {
        debug_assert!(!self.free.contains(&place), "a place was given back twice");
        self.free.push(place);
    }

    #[inline(always)]
    pub(crate) fn get(&self, connection: ConnectionId) -> Option<&Connection> {
        self.table.get(connection)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ConnectionId> + use<> {
        self.table.ids()
    }
}

impl Index<ConnectionId> for Connections {
    type Output = Connection;

    #[inline(always)]
    fn index(&self, connection: ConnectionId) -> &Connection {
        &self.table[connection]
    }
}

impl IndexMut<ConnectionId> for Connections {
    #[inline(always)]
    fn index_mut(&mut self, connection: ConnectionId) -> &mut Connection {
        &mut self.table[connection]
    }
}

/// The two ends of a flow: 0 opened it, 1 is at its destination.
pub(crate) struct Connection {
    /// The flow; none when it has ended.
    pub(crate) flow: FlowId,
    /// Its transport, if it is a guest's: the place of the guest and one; zero if not.
    pub(crate) guest: u8,
    /// Messages that have not completed.
    pub(super) messages: u64,
    /// What it carries for jobs, if it does not carry a flow.
    pub(crate) carried: Option<Box<Carried>>,
    pub(crate) ends: [End; 2],
}

/// Where a connection goes, and how.
pub(crate) struct Way {
    /// The flow, or a number beyond all flows.
    pub(crate) flow: FlowId,
    pub(crate) nics: [NicId; 2],
    /// Of packets from each end.
    pub(crate) entropy: [Entropy; 2],
    pub(crate) class: ClassId,
    pub(crate) pinned: bool,
    /// Which of its NICs' ports it uses, counted on; by hash without it.
    pub(crate) turn: Option<u32>,
    pub(crate) base_rtt: Span,
    /// Its packets travel in VXLAN.
    pub(crate) vxlan: bool,
    /// Its transport, if it is a guest's: the place of the guest and one; zero if not.
    pub(crate) guest: u8,
}

/// One end of a flow, in whole cache lines.
#[repr(C)]
pub(crate) struct End {
    pub(crate) qp: QueuePair,
    pub(super) forms: Forms,
    pub(crate) member: Member,
    /// When the pending deadline event fires; never if there is none.
    pub(crate) timer_at: Instant,
}

impl End {
    /// Prefetches what a packet needs here: one that answers ours, or one of the other end's.
    #[inline(always)]
    pub(crate) fn prefetch(&self, answers: bool) {
        prefetch_index(std::slice::from_ref(&self.forms.ack), 0);
        if answers {
            prefetch_index(std::slice::from_ref(&self.forms.data), 0);
            self.qp.prefetch_requester();
        } else {
            self.qp.prefetch_responder();
        }
    }

    /// The entropy of the packets it sends, unless they have a path of their own.
    pub(crate) fn hashed(&self) -> Option<Entropy> {
        let data = &self.forms.data;
        (data.flags & flag::PINNED == 0).then_some(data.entropy)
    }

    /// What chooses the entropy of its packets, where senders do.
    pub(crate) fn recycler(&mut self) -> Option<&mut Recycler> {
        self.forms.recycler.as_deref_mut()
    }

    /// Sends by another plane, whose port this is, from now on.
    pub(crate) fn move_to(&mut self, plane: PlaneId, port: PortId) {
        self.member = Member::new(plane, self.member.class);
        self.forms.ack_slot = Slot::new(port, self.forms.ack_slot.class());
    }

    /// Makes the data packet that carries `header`; its place and size.
    #[inline(always)]
    pub(crate) fn packet(
        &mut self,
        header: Header,
        now: Instant,
        packets: &mut Packets,
        headers: &mut Headers,
    ) -> (PacketId, u16) {
        let forms = &mut self.forms;
        let mut packet = forms.data;
        if header.extension != Extension::None || header.payload != forms.mtu {
            packet.size = self.qp.wire_len(&header) as u16;
            if let Some(recycler) = &mut forms.recycler {
                packet.entropy = recycler.next();
                headers.entropy = Some(packet.entropy);
            }
        }
        let index = packets.add(&packet);
        headers.write(index, forms.header(header, now), packet.size);
        (index, packet.size)
    }
}

/// The packets an end sends, filled in as far as all of a kind are alike. What answers need stands together.
#[repr(C)]
pub(super) struct Forms {
    /// An acknowledgement.
    pub(super) ack: Packet,
    /// Where acknowledgements wait at the NIC.
    pub(super) ack_slot: Slot,
    pub(super) flow: FlowId,
    /// Payload of a full packet; more than any has where each packet is filled in by itself.
    pub(super) mtu: u32,
    /// Chooses the entropy of every packet, where senders do.
    pub(super) recycler: Option<Box<Recycler>>,
    /// A full packet of data.
    pub(super) data: Packet,
}

impl Forms {
    /// Its packets follow another trail from now on.
    pub(super) fn set_stamp(&mut self, stamp: Stamp) {
        (self.ack.stamp, self.data.stamp) = (stamp, stamp);
    }

    #[inline(always)]
    pub(super) fn header(&self, header: Header, sent_at: Instant) -> PacketHeader {
        PacketHeader { transport: header, sent_at, flow: self.flow }
    }
}

/// A longer flow is several messages, and done when the last of them is.
pub(super) const LONGEST_MESSAGE: u64 = 1 << 30;
