//! What can happen, and in which order.
//!
//! Events are ordered by time, then by [`Kind`], then by the id of what they happen to. That order
//! is total and does not depend on which was pushed first, so it is the same on one thread and on many:
//! a port receives at most one packet and frees at most once at a given picosecond.

use crate::Settings;
use crate::engine::Engine;
use crate::id::{EndpointId, PacketId, PlaneId, Slot};
use crate::report::Outcome;
use xoff_fabric::model::PortId;
use xoff_units::Instant;

/// The kinds of event, in the order in which those of one instant are handled.
///
/// Pauses act before data, so that a packet never leaves in the instant its class is paused; data
/// before transmit opportunities, so that what has just arrived takes part; timers last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// The run is over. Id 0.
    End = 0,
    /// Flows start. Id 0.
    Start = 1,
    /// A fault begins, ends, or is heard of. Id: index of the change.
    Fault = 2,
    /// A pause frame takes effect. Id: the port that obeys. Data: see [`crate::pause`].
    Pause = 3,
    /// A pause runs out. Id: the port.
    PauseExpiry = 4,
    /// A packet arrives at a NIC. Id: the port it arrives at. Data: the packet. Ports of NICs have
    /// lower numbers than those of switches, so this kind is where their numbers would put it.
    Deliver = 5,
    /// A packet arrives at a switch. Id: the port it arrives at. Data: the packet.
    Arrive = 6,
    /// A port may transmit. Id: the port. Data: the packet that is likely to go, as a hint for prefetching.
    Transmit = 7,
    /// A queue pair's deadline. Id: the endpoint.
    Deadline = 8,
    /// Pause frames are sent again before they run out. Id: the port.
    PauseRefresh = 9,
    /// A limited receive side has drained to its resume point. Id: the NIC. Or, with ids beyond all NICs, a
    /// packet leaves a cell fabric. Id: NICs + the port it leaves by. Data: the packet.
    Drain = 10,
    /// The watchdog looks at a queue. Id: port x 8 + class.
    Watchdog = 11,
    /// Look for a deadlock. Id 0.
    Deadlock = 12,
    /// Take a sample of all queues: id 0. Read all counters: id 1. Controllers of thresholds: ids from 2 on, see
    /// [`crate::observe::Look`].
    Sample = 13,
    /// Checks that packets are still delivered. Id 0.
    StallCheck = 14,
    /// A job begins, or something it waited for beside packets is done. Id 0; which is in [`crate::job`].
    Job = 15,
}

/// Bits of the id in a key; the kind stands above them.
const ID_BITS: u32 = 28;

/// Largest id an event can carry.
pub(crate) const MAX_ID: u32 = (1 << ID_BITS) - 1;

/// Kind and id in one number whose order is the order of handling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(pub(crate) u32);

impl Key {
    #[inline(always)]
    pub(crate) const fn new(kind: Kind, id: u32) -> Self {
        debug_assert!(id <= MAX_ID);
        Self((kind as u32) << ID_BITS | id)
    }

    /// Whether this is an event of the given kind.
    #[inline(always)]
    pub(crate) const fn is(self, kind: Kind) -> bool {
        self.0 >> ID_BITS == kind as u32
    }

    #[inline(always)]
    pub(crate) const fn kind(self) -> Option<Kind> {
        Some(match self.0 >> ID_BITS {
            0 => Kind::End,
            1 => Kind::Start,
            2 => Kind::Fault,
            3 => Kind::Pause,
            4 => Kind::PauseExpiry,
            5 => Kind::Deliver,
            6 => Kind::Arrive,
            7 => Kind::Transmit,
            8 => Kind::Deadline,
            9 => Kind::PauseRefresh,
            10 => Kind::Drain,
            11 => Kind::Watchdog,
            12 => Kind::Deadlock,
            13 => Kind::Sample,
            14 => Kind::StallCheck,
            15 => Kind::Job,
            _ => return None,
        })
    }

    #[inline(always)]
    pub(crate) const fn id(self) -> u32 {
        self.0 & MAX_ID
    }
}

/// What an event carries as its id or its data, in 32 bits.
pub(crate) trait Word {
    fn word(self) -> u32;
}

impl Word for u32 {
    #[inline(always)]
    fn word(self) -> u32 {
        self
    }
}

macro_rules! word {
    ($($name:ident),+) => {
        $(impl Word for $name {
            #[inline(always)]
            fn word(self) -> u32 {
                self.0
            }
        })+
    };
}

word!(PortId, PlaneId, PacketId, EndpointId, Slot);

/// One event: 16 bytes of plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) at: Instant,
    pub(crate) key: Key,
    pub(crate) data: u32,
}

/// How often events have been shown before they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Showing {
    /// This once.
    Only,
    /// They will be shown twice more.
    First,
    /// What they name is in cache by now, and says what else they need.
    Second,
    /// They come next.
    Third,
}

/// Events that come soon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ahead<'a> {
    pub(crate) showing: Showing,
    /// Their keys, in the low halves.
    pub(crate) orders: &'a [u64],
    pub(crate) data: &'a [u32],
}

impl Ahead<'_> {
    /// Keys and data.
    #[inline(always)]
    pub(crate) fn events(&self) -> impl Iterator<Item = (Key, u32)> {
        self.orders.iter().zip(self.data).map(|(&order, &data)| (Key(order as u32), data))
    }
}

/// A queue of events that gives them back in order. One implementation is fast, one is plain: they
/// must agree.
pub(crate) trait EventQueue {
    /// Whether events of one instant are handled in the order of their turns (see
    /// [`EventQueue::take_turn`]) and not by kind and id. For comparison with simulators that do
    /// so; such an order depends on which comes first and cannot be kept on several threads.
    const BY_TURN: bool = false;
    /// Adds an event, which must not lie before the last one given back.
    fn push(&mut self, event: Event);
    /// A place in the order, to be used later.
    fn take_turn(&mut self) -> u64 {
        0
    }
    /// Adds an event under a turn taken before.
    fn push_in_turn(&mut self, event: Event, _turn: u64) {
        self.push(event);
    }
    /// The next event. Now and then shows events that come soon after it, before it is handled.
    fn pop_and_show(&mut self, show: impl FnMut(Ahead<'_>)) -> Option<Event>;
    /// The next event.
    #[cfg(test)]
    fn pop(&mut self) -> Option<Event> {
        self.pop_and_show(|_| {})
    }
    /// The keys and data of all events that wait, in no order. For the cold paths.
    fn pending(&self) -> impl Iterator<Item = (Key, u32)>;
    /// Runs an engine with such a queue to its end.
    fn run(engine: &mut Engine<'_, Self>, _settings: &Settings) -> Outcome
    where
        Self: Sized,
    {
        engine.run()
    }
    /// Whether at most so many events wait.
    fn at_most(&self, count: usize) -> bool {
        self.pending().nth(count).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_kind_and_id() {
        let kinds = (0..16).filter_map(|raw| Key(raw << ID_BITS).kind());
        for (raw, kind) in kinds.enumerate() {
            assert_eq!(kind as usize, raw);
            let key = Key::new(kind, 123_456);
            assert_eq!((key.kind(), key.id()), (Some(kind), 123_456));
        }
        assert!(Key::new(Kind::Pause, MAX_ID) < Key::new(Kind::Arrive, 0));
    }
}
