//! What is in flight, and how much more may be: for a device that bounds what all its queue pairs send to one peer.

use super::QueuePair;
use crate::pacing::Slack;
use xoff_units::{Bytes, Instant};
use xoff_wire::Header;

impl QueuePair {
    /// [`QueuePair::poll_transmit_within`] with at most `grant` more payload in flight than there is, whatever the window allows. The packet that
    /// reaches that requests an acknowledgement, so that what is granted comes back; one packet may go beyond it.
    #[inline]
    pub fn poll_granted(&mut self, now: Instant, slack: Slack, grant: Bytes) -> Option<Header> {
        self.granted(grant, |pair| pair.poll_transmit_within(now, slack))
    }

    /// [`QueuePair::poll_alike_within`] with at most `grant` more payload in flight than there is.
    #[inline]
    pub fn poll_alike_granted(
        &mut self,
        now: Instant,
        slack: Slack,
        last: &Header,
        most: u32,
        grant: Bytes,
    ) -> u32 {
        self.granted(grant, |pair| pair.poll_alike_within(now, slack, last, most))
    }

    /// [`QueuePair::poll_row_within`] with at most `grant` more payload in flight than there is.
    #[inline]
    pub fn poll_row_granted(
        &mut self,
        now: Instant,
        slack: Slack,
        last: &Header,
        most: u32,
        grant: Bytes,
    ) -> u32 {
        self.granted(grant, |pair| pair.poll_row_within(now, slack, last, most))
    }

    /// Calls something while the window is no wider than `grant` beyond what is in flight.
    #[inline(always)]
    fn granted<T>(&mut self, grant: Bytes, call: impl FnOnce(&mut Self) -> T) -> T {
        let full = self.requester.window;
        let narrow = self.requester.bytes_in_flight().saturating_add(grant.get()).max(1);
        if narrow >= full {
            return call(self);
        }
        self.requester.window = narrow;
        let result = call(self);
        // Unless congestion control has set another meanwhile.
        if self.requester.window == narrow {
            self.requester.window = full;
        }
        result
    }

    /// What the peer has yet to answer: payload bytes, and packets, those of the data of reads among them.
    #[inline]
    pub fn in_flight(&self) -> (Bytes, u64) {
        if self.requester.failed {
            return (Bytes::ZERO, 0);
        }
        let packets = self.requester.next.saturating_sub(self.requester.una());
        (Bytes::new(self.requester.bytes_in_flight()), packets)
    }
}
