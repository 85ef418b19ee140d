//! What holds of the sending half after every call, whatever the peer sends.
//!
//! Nothing here is left in a build without debug assertions; tests and simulations in debug builds
//! check all of it for every packet.

use super::{MAX_POSTED, NEVER, Requester};
use crate::sequence;

impl Requester {
    /// What holds after every call, whatever the peer sends. Compiled to nothing without debug
    /// assertions.
    #[inline(always)]
    pub(crate) fn check_invariants(&self) {
        if cfg!(debug_assertions) {
            self.check_numbers();
            self.check_queue();
        }
    }

    fn check_numbers(&self) {
        let Self { acked, next, high, end, acked_bytes, next_bytes, .. } = *self;
        debug_assert!(
            acked <= next && next <= high && high <= end,
            "numbers out of order: acked {acked}, next {next}, high {high}, end {end}"
        );
        // Beyond that a PSN of the peer could mean two of them.
        debug_assert!(high - self.una() < sequence::HALF_LAP, "too many numbers in flight");
        debug_assert!(
            acked_bytes <= next_bytes,
            "{acked_bytes} bytes are acknowledged and {next_bytes} sent"
        );
        debug_assert!(
            next > acked || next_bytes == acked_bytes,
            "bytes in flight without a packet"
        );
        debug_assert!(self.window > 0, "a window of nothing never opens again");
        debug_assert!(self.unasked < self.ack_every, "an acknowledgement was not asked for");
        debug_assert!(self.reads <= self.max_reads, "more reads outstanding than allowed");
        let (read_next, reread) = (self.read_next, self.reread);
        debug_assert!(read_next == NEVER || read_next <= high, "data awaited of no request");
        debug_assert!(
            reread == NEVER || read_next <= reread && reread <= high,
            "a read is requested again from {reread}, and awaits {read_next}"
        );
    }

    /// While an answer is awaited a timer runs: without one, a lost packet would stall the
    /// connection. Not checked after packets that are taken together, because the next one sets it.
    #[inline(always)]
    pub(crate) fn check_timer(&self) {
        debug_assert!(
            !self.awaits() || !self.timer.is_never() || self.timeout.as_ps() > u64::MAX / 2,
            "an answer is awaited, and no timer runs"
        );
    }

    fn check_queue(&self) {
        debug_assert!(self.queue.len() <= MAX_POSTED, "more is posted than allowed");
        debug_assert!(self.queue.back().is_none_or(|last| last.end == self.end));
        // Complete is what no answer is awaited for, so the first message has one to come.
        debug_assert!(self.queue.front().is_none_or(|first| self.una() < first.end));
        match self.queue.get(self.cursor as usize) {
            Some(message) => debug_assert!(
                message.first <= self.next && self.next < message.end,
                "the cursor is at a message that the next packet is not in"
            ),
            None => debug_assert!(
                self.cursor as usize == self.queue.len() && self.next == self.end,
                "the cursor is at no message, and not all is sent"
            ),
        }
    }
}
