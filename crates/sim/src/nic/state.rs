//! A port of a NIC: which of its endpoints may send, and when the others may.

use crate::connection::state::End;
use crate::host::cnp_limit::CnpLimits;
use crate::host::recycle::Feedback;
use crate::id::{EndpointId, PlaneId};
use crate::receiver::state::Receiver;
use crate::switch::port::Port;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use xoff_fabric::model::{ClassId, PortId};
use xoff_transport::config::QpConfig;
use xoff_units::{ByteTime, Instant, Rate, Span};
use xoff_wire::{Aeth, Extension, Header, Syndrome};

/// An endpoint as its NIC sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// The NIC, or which of its ports (see [`crate::plane`]).
    pub(crate) plane: PlaneId,
    pub(crate) class: ClassId,
    /// Place in its class's turn-taking.
    pub(super) place: u32,
    /// When it stands in the pacing heap; never if it does not.
    pub(super) paced_at: Instant,
}

impl Member {
    pub(crate) fn new(plane: PlaneId, class: ClassId) -> Self {
        Self { plane, class, place: 0, paced_at: Instant::MAX }
    }
}

/// The endpoints of one class at one NIC. What every packet reads comes first: a NIC with few endpoints
/// never looks at the lists.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Group {
    /// One bit per place, of the first 64, whose endpoint is ready.
    pub(super) ready: u64,
    pub(super) ready_count: u32,
    /// The place that was served last, and the endpoint there.
    pub(super) cursor: u32,
    pub(super) served: EndpointId,
    /// The same for the places beyond 64.
    pub(super) more_ready: Vec<u64>,
    /// Endpoint at each place.
    pub(super) places: Vec<EndpointId>,
    pub(super) vacant: Vec<u32>,
}

impl Group {
    pub(super) const fn new() -> Self {
        Self {
            ready: 0,
            ready_count: 0,
            cursor: 0,
            served: EndpointId(0),
            more_ready: Vec::new(),
            places: Vec::new(),
            vacant: Vec::new(),
        }
    }

    pub(super) fn join(&mut self, endpoint: EndpointId) -> u32 {
        let place = self.vacant.pop().unwrap_or(self.places.len() as u32);
        match self.places.get_mut(place as usize) {
            Some(known) => *known = endpoint,
            None => self.places.push(endpoint),
        }
        if place as usize / 64 > self.more_ready.len() {
            self.more_ready.push(0);
        }
        if place == self.cursor {
            self.served = endpoint;
        }
        place
    }

    pub(super) fn leave(&mut self, place: u32) {
        self.set_ready(place, false);
        self.vacant.push(place);
    }

    #[inline(always)]
    pub(super) fn set_ready(&mut self, place: u32, ready: bool) {
        let word = match (place as usize / 64).checked_sub(1) {
            None => &mut self.ready,
            Some(more) => &mut self.more_ready[more],
        };
        let bit = 1u64 << (place % 64);
        let was = *word & bit != 0;
        if ready != was {
            *word ^= bit;
            self.ready_count = self.ready_count.wrapping_add(if ready { 1 } else { u32::MAX });
        }
    }

    /// The next ready endpoint after the one served last.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<EndpointId> {
        if self.ready_count == 0 {
            return None;
        }
        let place = if self.more_ready.is_empty() {
            let start = self.cursor.wrapping_add(1);
            start.wrapping_add(self.ready.rotate_right(start).trailing_zeros()) % 64
        } else {
            self.next_of_many()
        };
        if place != self.cursor {
            self.cursor = place;
            self.served = self.places[place as usize];
        }
        Some(self.served)
    }

    /// The place of the next ready endpoint, which there is, among more than 64.
    #[inline(never)]
    pub(super) fn next_of_many(&self) -> u32 {
        let words = self.more_ready.len() + 1;
        let ready = |word: usize| match word.checked_sub(1) {
            None => self.ready,
            Some(more) => self.more_ready[more],
        };
        let start = (self.cursor + 1) as usize % (words * 64);
        let mut word = start / 64;
        let mut bits = ready(word) & (u64::MAX << (start % 64));
        while bits == 0 {
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = ready(word);
        }
        word as u32 * 64 + bits.trailing_zeros()
    }
}

/// A NIC, or one port of a NIC with several. What every packet reads comes first.
#[repr(C)]
pub(crate) struct NicState {
    /// When the next paced endpoint's time comes, and which it is.
    pub(super) next_paced: Instant,
    pub(super) paced: EndpointId,
    /// The endpoint that sent data last, and is likely to do so next.
    pub(crate) last: EndpointId,
    pub(crate) port: PortId,
    /// Classes with a ready endpoint.
    pub(crate) ready: u8,
    /// Its packets collect telemetry for HPCC.
    pub(crate) collects: bool,
    /// Acknowledgements bring back telemetry or entropies.
    pub(crate) returns: bool,
    /// Marks travel back in acknowledgements, which can be marked themselves.
    pub(crate) echo_marks: bool,
    /// Some of its traffic has a transport of its own.
    pub(crate) hosts_guests: bool,
    /// Its host, where that may be slower than the wire.
    pub(crate) receiver: Option<Box<Receiver>>,
    pub(super) groups: [Group; 8],
    pub(crate) mtu: u32,
    pub(crate) rate: Rate,
    /// No flow is faster: the port's rate, or less where cores serve flows.
    pub(crate) flow_rate: Rate,
    pub(crate) qp: Arc<QpConfig>,
    /// Paced endpoints that come after it.
    pub(super) pace: BinaryHeap<Reverse<(Instant, EndpointId)>>,
    /// Limiters of congestion notifications that its queue pairs share.
    pub(super) cnps: CnpLimits,
    /// Storms under way: pauses without end, by class.
    pub(crate) storms: [u32; 8],
    /// How queue pairs behave whose packets travel in VXLAN.
    pub(super) in_vxlan: Arc<QpConfig>,
    /// Time in which a byte comes out of the host's memory, where that is longer than on the wire.
    pub(crate) fetch: Option<ByteTime>,
    /// Time that a packet takes at least, however small.
    pub(crate) packet: Span,
}

impl NicState {
    pub(crate) fn new(
        port: PortId,
        rate: Rate,
        qp: Arc<QpConfig>,
        in_vxlan: Arc<QpConfig>,
        seed: u64,
    ) -> Self {
        use xoff_transport::config::{Congestion, Notification};
        Self {
            next_paced: Instant::MAX,
            paced: EndpointId(0),
            last: EndpointId::NONE,
            port,
            rate,
            flow_rate: rate,
            mtu: qp.mtu.get() as u32,
            collects: matches!(qp.congestion, Congestion::Hpcc(_)),
            returns: matches!(qp.congestion, Congestion::Hpcc(_)),
            echo_marks: qp.notification == Notification::EchoInAck,
            cnps: CnpLimits::new(qp.cnp_scope, port, seed),
            qp,
            ready: 0,
            groups: std::array::from_fn(|_| Group::new()),
            pace: BinaryHeap::new(),
            receiver: None,
            hosts_guests: false,
            storms: [0; 8],
            in_vxlan,
            fetch: None,
            packet: Span::ZERO,
        }
    }

    /// How its queue pairs behave.
    pub(crate) fn qp_of(&self, vxlan: bool) -> &Arc<QpConfig> {
        if vxlan { &self.in_vxlan } else { &self.qp }
    }

    #[inline(always)]
    pub(super) fn set_ready(&mut self, class: ClassId, place: u32, ready: bool) {
        let group = &mut self.groups[class.index()];
        group.set_ready(place, ready);
        if group.ready_count > 0 {
            self.ready |= class.bit();
        } else {
            self.ready &= !(class.bit());
        }
    }

    /// Classes that a storm pauses.
    pub(crate) fn storm_classes(&self) -> u8 {
        let storming = self.storms.iter().enumerate().filter(|(_, storms)| **storms > 0);
        storming.fold(0, |classes, (class, _)| classes | 1 << class)
    }

    /// Puts an endpoint among the ready or the paced ones; when it can send next. Nothing is sent
    /// before the wire is free: an endpoint that may send by then is ready, and needs no place in the heap.
    #[inline(always)]
    pub(super) fn place(&mut self, endpoint: EndpointId, end: &mut End, free: Instant) -> Instant {
        let at = end.qp.next_send();
        let member = &mut end.member;
        let ready = at <= free;
        self.set_ready(member.class, member.place, ready);
        if !ready && at < member.paced_at {
            member.paced_at = at;
            self.pace(at, endpoint);
        }
        at
    }

    /// An endpoint whose time has come by `now`, and when it was.
    pub(super) fn take_paced(&mut self, now: Instant) -> Option<(Instant, EndpointId)> {
        let first = (self.next_paced, self.paced);
        if first.0 > now || first.0.is_never() {
            return None;
        }
        let next = self.pace.pop();
        (self.next_paced, self.paced) =
            next.map_or((Instant::MAX, EndpointId(0)), |Reverse(next)| next);
        Some(first)
    }

    /// An endpoint's time comes at `at`. Mostly it is the only one, and needs no heap.
    #[inline(always)]
    pub(super) fn pace(&mut self, at: Instant, endpoint: EndpointId) {
        let mut later = (at, endpoint);
        if later < (self.next_paced, self.paced) {
            std::mem::swap(&mut self.next_paced, &mut later.0);
            std::mem::swap(&mut self.paced, &mut later.1);
        }
        if !later.0.is_never() {
            self.pace.push(Reverse(later));
        }
    }

    /// When its port, which is `here`, can send next; never if nothing waits.
    #[inline(always)]
    pub(super) fn next_transmit(&self, here: &Port, now: Instant) -> Instant {
        let waiting = (here.waiting | self.ready) & !here.paused;
        if waiting | here.unannounced() != 0 {
            here.busy_until.max(now)
        } else if self.next_paced.is_never() {
            Instant::MAX
        } else {
            self.next_paced.max(here.busy_until).max(now)
        }
    }
}

/// What an answer says of the path of the packet that it answers.
#[cold]
pub(super) fn feedback(answer: &Header, marked: bool) -> Feedback {
    match answer.extension {
        Extension::Aeth(Aeth { syndrome: Syndrome::Trimmed, .. }) => Feedback::Trimmed,
        _ if marked => Feedback::Marked,
        _ => Feedback::Good,
    }
}
