//! Rows: short messages alike, given together.

use super::Requester;
use crate::counters::Counters;
use crate::message::Message;
use crate::sequence;
use xoff_wire::{Extension, Header, Opcode};

impl Requester {
    /// How many messages follow the one whose only packet is `last`, the one given last, that have one packet which
    /// differs from it in its number alone, and of a write in the address: as many as may be sent now.
    pub(crate) fn row_after(&self, last: &Header, most: u32) -> u32 {
        let key = match (last.opcode, last.extension) {
            (Opcode::WriteOnly, Extension::Reth(reth)) => Some(reth.rkey),
            (Opcode::SendOnly, _) => None,
            _ => return 0,
        };
        let in_line = last.psn.plus(1) == sequence::psn(self.next);
        if self.by_time() || !in_line || self.repairs() || !self.can_go_on() {
            return 0;
        }
        // What each that was given takes of window and numbers the next one finds gone.
        let numbers = u64::from(self.flight).saturating_sub(self.next - self.una());
        let bytes = self.window.saturating_sub(self.next_bytes - self.acked_bytes);
        let allowed = match u64::from(last.payload) {
            0 if bytes > 0 => u64::MAX,
            // The window is closed, and one packet is let out: it is for the caller that polls.
            0 => 0,
            length => bytes.div_ceil(length),
        };
        let most = u64::from(most).min(numbers).min(allowed) as usize;
        let alike = |message: &&Message| message.is_like(last, key);
        self.queue.iter().skip(self.cursor as usize).take(most).take_while(alike).count() as u32
    }

    /// `count` of them are sent, each of `length` bytes.
    pub(crate) fn sent_row(&mut self, count: u32, length: u32, counters: &mut Counters) {
        let end = self.next + u64::from(count);
        counters.retransmitted += self.high.clamp(self.next, end) - self.next;
        self.next = end;
        self.next_bytes += u64::from(count) * u64::from(length);
        self.high = self.high.max(end);
        self.cursor += count;
        // Each requests an acknowledgement, because each ends a message.
        self.unasked = 0;
        self.check_invariants();
        self.check_timer();
    }

    /// The names of the `count` messages before the next packet, and where they go at the peer.
    pub(crate) fn row(&self, count: u32) -> impl Iterator<Item = (u64, u64)> {
        let start = self.cursor.saturating_sub(count) as usize;
        self.queue.range(start..self.cursor as usize).map(Message::name_and_address)
    }
}
