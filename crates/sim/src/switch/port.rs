//! The state of ports, laid out for the hot loop.
//!
//! A [`Port`] is one direction of a cable at its sending end, with a [`Lane`] per class. Whatever a
//! packet's passage reads and writes of a port lies in one cache line, and of a lane in another:
//! what is only counted now and then is elsewhere.

use crate::event::Key;
use crate::id::PlaneId;
use crate::switch::buffer::{Ingress, Profile};
use crate::switch::packet::Queue;
use prefetch_index::prefetch_index;
use xoff_fabric::model::{ClassId, PortId, SwitchId};
use xoff_units::{ByteTime, Instant, Span};

/// A switch that cuts through decides when it has seen this much of a packet.
pub(crate) const HEAD_BYTES: u32 = 64;

/// The time until a cut-through switch has seen enough of a packet of `size` bytes on the wire,
/// `gap` of them around it.
#[inline(always)]
pub(crate) fn head_time(byte_time: ByteTime, size: u32, gap: u32) -> Span {
    byte_time.times((HEAD_BYTES + gap).min(size))
}

/// One direction of a cable, at the sending end, and the buffer of what came the other way.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct Port {
    /// The wire is taken until then.
    pub(crate) busy_until: Instant,
    /// When the pending transmit event fires; never if there is none.
    pub(crate) wake_at: Instant,
    /// Classes with something queued.
    pub(crate) waiting: u8,
    /// Classes the peer has paused.
    pub(crate) paused: u8,
    /// Classes this end wants the peer to pause.
    pub(crate) xoff: u8,
    /// Classes that the last pause frame to the peer paused.
    pub(crate) announced: u8,
    /// Classes whose pause is announced again though nothing changed.
    pub(crate) refresh: u8,
    /// Classes the watchdog has declared stuck.
    pub(crate) stuck: u8,
    /// Classes whose egress queue has a limit, or marks packets that join it.
    pub(crate) limited: u8,
    /// See [`port_flag`].
    pub(crate) flags: u8,
    /// From the end of a transmission to its arrival: pipeline, propagation, FEC.
    pub(crate) flight: Span,
    /// Time of a byte on this wire.
    pub(crate) byte_time: ByteTime,
    /// [`Port::state`] when there is nothing to do here but to send what comes; never the state of
    /// a port where sending is more than that.
    pub(crate) calm: u64,
    /// The event that a packet sent here becomes at the other end.
    pub(crate) arrival: Key,
    /// The NIC or switch this port belongs to, counted among its kind.
    pub(crate) owner: u32,
    /// With so many bytes of a packet the other end goes on: all there can be, or those of its head.
    pub(crate) enough: u32,
    /// Classes served before all others.
    pub(crate) strict: u8,
    /// Queue and buffer of each class.
    pub(crate) lanes: [Lane; 8],
}

/// When a port is to look for something to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wake {
    /// It will anyway.
    Known,
    /// Then; an event is needed.
    At(Instant),
    /// At once.
    Now,
}

/// Bits of [`Port::flags`].
pub(crate) mod port_flag {
    /// The port belongs to a NIC.
    pub(crate) const NIC: u8 = 1;
    /// Packets can get lost on the cable.
    pub(crate) const LOSSY: u8 = 2;
    /// The other end of the cable is simulated on another thread: see [`crate::parallel`].
    pub(crate) const BORDER: u8 = 4;
    /// A pause expiry event is pending.
    pub(crate) const EXPIRY_PENDING: u8 = 8;
    /// A pause refresh event is pending.
    pub(crate) const REFRESH_PENDING: u8 = 16;
    /// The peer takes packets only as far as it has room: see [`crate::credit`].
    pub(crate) const CREDITS: u8 = 32;
    /// The host gives its NIC data more slowly than the wire takes it: see [`crate::host`].
    pub(crate) const SLOW_HOST: u8 = 64;
    /// The port belongs to a switch with virtual output queues: see [`crate::voq`].
    pub(crate) const VOQ: u8 = 128;
    /// There is more to a transmission than the time it takes.
    pub(crate) const CAREFUL: u8 = LOSSY | CREDITS | SLOW_HOST;
}

impl Port {
    /// Classes whose pause state the peer does not know yet.
    #[inline(always)]
    pub(crate) fn unannounced(&self) -> u8 {
        (self.xoff ^ self.announced) | self.refresh
    }

    /// Classes that have something and may send it.
    #[inline(always)]
    pub(crate) fn eligible(&self) -> u8 {
        self.waiting & !self.paused
    }

    /// The port at the other end.
    pub(crate) fn peer(&self) -> PortId {
        PortId(self.arrival.id())
    }

    /// The switch it belongs to, which the caller knows it does.
    #[inline(always)]
    pub(crate) fn switch(&self) -> SwitchId {
        debug_assert!(!self.is_nic(), "a NIC's port was taken for a switch's");
        SwitchId(self.owner)
    }

    /// The NIC's port that it is, which the caller knows it is.
    #[inline(always)]
    pub(crate) fn plane(&self) -> PlaneId {
        debug_assert!(self.is_nic(), "a switch's port was taken for a NIC's");
        PlaneId(self.owner)
    }

    #[inline(always)]
    pub(crate) fn is_nic(&self) -> bool {
        self.flags & port_flag::NIC != 0
    }

    /// Prefetches what all of its packets need.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch_index(std::slice::from_ref(self), 0);
    }

    /// Prefetches what those of a class need besides.
    #[inline(always)]
    pub(crate) fn prefetch_lane(&self, class: ClassId) {
        prefetch_index(&self.lanes, class.index());
    }

    #[inline(always)]
    pub(crate) fn lane(&mut self, class: ClassId) -> &mut Lane {
        &mut self.lanes[class.index()]
    }

    /// The port has something to send: when is it to look? Remembers the answer.
    #[inline(always)]
    pub(crate) fn plan_wake(&mut self, now: Instant) -> Wake {
        let busy_until = self.busy_until;
        if self.wake_at <= busy_until.max(now) {
            return Wake::Known;
        }
        if busy_until <= now {
            return Wake::Now;
        }
        self.wake_at = busy_until;
        Wake::At(busy_until)
    }

    /// Whether a packet of this class could go out at once, with nothing else to do or to count. Sure if
    /// it says so; a port that is busy with other classes says no.
    #[inline(always)]
    pub(crate) fn is_idle(&self, now: Instant, class: ClassId) -> bool {
        self.busy_until <= now
            && self.wake_at > now
            && self.state() == self.calm
            && self.limited & class.bit() == 0
    }

    /// What may stand in the way of a packet: all its masks in one number, which is one load.
    #[inline(always)]
    fn state(&self) -> u64 {
        let [waiting, paused, xoff, announced] =
            [self.waiting, self.paused, self.xoff, self.announced];
        let [refresh, stuck, limited, flags] = [self.refresh, self.stuck, self.limited, self.flags];
        u64::from_le_bytes([waiting, paused, xoff, announced, refresh, stuck, limited, flags])
    }

    /// The port is new, and calm.
    pub(crate) fn settle(mut self) -> Self {
        let careful = self.flags & (port_flag::CAREFUL | port_flag::VOQ) != 0;
        self.calm = if careful { u64::MAX } else { self.state() };
        self
    }

    /// The other end of its cable is simulated on another thread, or no longer is.
    pub(crate) fn set_border(&mut self, border: bool) {
        let before = self.state();
        self.flags = self.flags & !port_flag::BORDER | if border { port_flag::BORDER } else { 0 };
        // A calm port stays calm.
        if self.calm != u64::MAX {
            self.calm ^= before ^ self.state();
        }
    }

    /// Takes the wire for a packet and counts it. Returns when it arrives at the other end, or
    /// enough of it does for a peer that cuts through.
    #[inline(always)]
    pub(crate) fn take_wire(
        &mut self,
        now: Instant,
        class: ClassId,
        size: u32,
        gap: u32,
    ) -> Instant {
        let on_wire = size + gap;
        let end = now.plus(self.byte_time.times(on_wire));
        self.busy_until = end;
        let known = now.plus(self.byte_time.times(on_wire.min(self.enough)));
        let arrival = known.plus(self.flight);
        let lane = self.lane(class);
        lane.tx_packets += 1;
        lane.tx_bytes += u64::from(size);
        arrival
    }

    /// Bytes queued, all classes. Each class is in a cache line of its own: only those that have something are read.
    #[inline(always)]
    pub(crate) fn queued(&self) -> u32 {
        let (mut left, mut sum) = (self.waiting, 0);
        while left != 0 {
            sum += self.lanes[left.trailing_zeros() as usize].queue.bytes;
            left &= left - 1;
        }
        debug_assert_eq!(
            sum,
            self.lanes.iter().map(|lane| lane.queue.bytes).sum::<u32>(),
            "what is queued waits"
        );
        sum
    }

    /// Bytes sent, all classes.
    pub(crate) fn tx_bytes(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.tx_bytes).sum()
    }
}

/// One class at one port: the egress queue here, and the buffer of what came in here.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Lane {
    /// Packets waiting for this port's wire.
    pub(crate) queue: Queue,
    /// Buffer charged to this port.
    pub(crate) ingress: Ingress,
    /// Thresholds: index into the profiles.
    pub(crate) profile: u32,
    /// Of these, the queue length up to which nothing that leaves is marked.
    pub(crate) kmin: u32,
    /// Packets sent. At 1.6T a port passes 2^32 of them in some minutes.
    pub(crate) tx_packets: u64,
    /// Bytes sent.
    pub(crate) tx_bytes: u64,
}

impl Lane {
    /// What its packets took of the wire, with a preamble and gap of so many bytes.
    pub(crate) fn wire_bytes(&self, gap: u32) -> u64 {
        self.tx_bytes + self.tx_packets * u64::from(gap)
    }

    /// A lane with the thresholds `rules`, which have this index.
    pub(crate) fn new(profile: u32, rules: &Profile) -> Self {
        Self {
            queue: Queue::default(),
            ingress: Ingress::new(rules),
            profile,
            kmin: rules.kmin,
            tx_packets: 0,
            tx_bytes: 0,
        }
    }
}

const _: () = assert!(size_of::<Lane>() == 64, "a lane is one cache line");

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_fabric::model::{Fabric, PortId};

    #[test]
    fn packets_are_counted_beyond_32_bits() {
        let text = "[cluster]\nhosts = 2\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
        let fabric = Fabric::from_toml(text).expect("a sound fabric");
        let rules = Profile::new(&fabric.ports[0].classes[3], true);
        let byte_time = ByteTime::of(fabric.cable(PortId(0)).rate);
        let lanes = std::array::from_fn(|_| Lane::new(0, &rules));
        let mut port = Port {
            busy_until: Instant::ZERO,
            wake_at: Instant::MAX,
            waiting: 0,
            paused: 0,
            xoff: 0,
            announced: 0,
            refresh: 0,
            stuck: 0,
            limited: 0,
            flags: 0,
            flight: Span::ZERO,
            byte_time,
            calm: 0,
            arrival: Key(0),
            owner: 0,
            enough: u32::MAX,
            strict: 0,
            lanes,
        };
        port.lane(ClassId(3)).tx_packets = u32::MAX.into();
        port.take_wire(Instant::ZERO, ClassId(3), 4158, 20);
        assert_eq!(port.lane(ClassId(3)).tx_packets, 1 << 32);
        assert_eq!(port.lane(ClassId(3)).tx_bytes, 4158);
    }
}
