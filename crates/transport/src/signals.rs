//! What a queue pair learns beside the headers: the path, and what the network did to a packet.

use xoff_units::{Instant, Rate, Span};

/// What congestion control needs to know of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathInfo {
    /// Rate of the NIC's port: no queue pair sends faster.
    pub line_rate: Rate,
    /// Round-trip time of a full packet and its acknowledgement in the idle network.
    pub base_rtt: Span,
}

/// What came with a packet but is not in its transport header.
#[derive(Debug, Clone, Copy, Default)]
pub struct Signals<'a> {
    /// The packet was marked "congestion experienced".
    pub ce: bool,
    /// Its payload was trimmed on the way. Counts only in packets that are marked as well.
    pub trimmed: bool,
    /// A limiter that this queue pair shares with others allows no congestion notification now
    /// ([`CnpLimiter`](crate::CnpLimiter)); of no meaning where each queue pair has its own.
    pub cnp_withheld: bool,
    /// On an acknowledgement: when the data packet it answers left its sender.
    pub sent_at: Option<Instant>,
    /// On an acknowledgement: what the hops wrote into the data packet it answers.
    pub int: Option<&'a IntStack>,
}

/// Most hops that fit into a packet's telemetry.
pub const MAX_INT_HOPS: usize = 5;

/// In-band telemetry: one entry per egress port a packet left through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntStack {
    hops: [IntHop; MAX_INT_HOPS],
    len: u8,
}

/// What one egress port wrote into a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntHop {
    /// When the packet left.
    pub at: Instant,
    /// Bytes the port had sent by then.
    pub tx_bytes: u64,
    /// Bytes left in the queue.
    pub queue: u32,
    /// Rate of the port.
    pub rate: Rate,
}

impl IntHop {
    /// The hop as HPCC's header can carry it: time in nanoseconds, bytes sent in units of 128 and
    /// queue in units of 80, times `scale`; all rounded down.
    fn coarse(self, scale: u32) -> Self {
        let sent = 128 * u64::from(scale);
        Self {
            at: Instant::from_ps(self.at.as_ps() / 1_000 * 1_000),
            tx_bytes: self.tx_bytes / sent * sent,
            queue: self.queue / (80 * scale) * (80 * scale),
            rate: self.rate,
        }
    }
}

impl IntStack {
    /// Nothing written yet.
    pub const EMPTY: Self = Self {
        hops: [IntHop { at: Instant::ZERO, tx_bytes: 0, queue: 0, rate: Rate::ZERO }; MAX_INT_HOPS],
        len: 0,
    };

    /// Adds a hop; a full stack stays as it is.
    #[inline]
    pub fn push(&mut self, hop: IntHop) {
        if let Some(slot) = self.hops.get_mut(usize::from(self.len)) {
            *slot = hop;
            self.len += 1;
        }
    }

    /// The same stack in the units of HPCC's header, which grow with the NIC's rate so that its
    /// few bits suffice.
    pub(crate) fn coarse(mut self, line_rate: Rate) -> Self {
        const UNIT_RATE: u64 = 25_000_000_000;
        let scale = (line_rate.bps() / UNIT_RATE).clamp(1, 1 << 16) as u32;
        self.hops = self.hops.map(|hop| hop.coarse(scale));
        self
    }

    /// The hops in the order the packet passed them.
    #[inline]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_stack_takes_no_more() {
        let mut stack = IntStack::EMPTY;
        for queue in 0..8 {
            stack.push(IntHop { queue, ..IntHop::default() });
        }
        assert_eq!(stack.hops().len(), MAX_INT_HOPS);
        assert_eq!(stack.hops().last().map(|hop| hop.queue), Some(4));
    }
}
