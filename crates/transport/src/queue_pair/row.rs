//! Rows of short messages, and the middles of long ones: packets that are given together.

use super::QueuePair;
use crate::pacing::Slack;
use xoff_units::Instant;
use xoff_wire::Header;

impl QueuePair {
    /// As many calls of [`QueuePair::poll_transmit_within`] at once as give packets which differ
    /// from `last`, the one given last, in their number alone: the middle of a message. Says how
    /// many, at most `most`. Their numbers count on from `last`, and their payloads follow its.
    pub fn poll_alike_within(
        &mut self,
        now: Instant,
        slack: Slack,
        last: &Header,
        most: u32,
    ) -> u32 {
        if self.responder.has_data() {
            return 0;
        }
        let most = most.min(self.requester.alike(last));
        let (count, moved) = self.pace(now, slack, last, most);
        if count > 0 {
            self.requester.sent_alike(count, &mut self.counters);
        }
        if moved {
            self.follow_controller();
        }
        count
    }

    /// As many calls of [`QueuePair::poll_transmit_within`] at once as give the only packets of messages like that of
    /// `last`, the packet given last: they differ from it in their number alone, and those of writes in the address.
    /// Says how many, at most `most`. Their numbers count on from `last`; [`QueuePair::row`] says the rest.
    pub fn poll_row_within(&mut self, now: Instant, slack: Slack, last: &Header, most: u32) -> u32 {
        if self.responder.has_data() {
            return 0;
        }
        let most = self.requester.row_after(last, most);
        let (count, moved) = self.pace(now, slack, last, most);
        if count > 0 {
            self.requester.sent_row(count, last.payload, &mut self.counters);
        }
        if moved {
            self.follow_controller();
        }
        count
    }

    /// Of the `count` messages that [`QueuePair::poll_row_within`] gave: the names they were posted with, and where they
    /// go at the peer. Valid until the next call.
    #[inline]
    pub fn row(&self, count: u32) -> impl Iterator<Item = (u64, u64)> {
        self.requester.row(count)
    }

    /// Lets packets as long as `last` leave as pacing allows, at most `most`. Says how many, and whether congestion control
    /// has something new after the last: the caller has to follow it.
    #[inline]
    fn pace(&mut self, now: Instant, slack: Slack, last: &Header, most: u32) -> (u32, bool) {
        if most == 0 {
            return (0, false);
        }
        let len = self.wire.of_packet(last);
        // The rate stays what it is until congestion control says otherwise.
        let time = self.pacer.time_of(len);
        let mut count = 0;
        while count < most
            && let Some(start) = self.pacer.start(now, slack)
        {
            count += 1;
            self.pacer.sent_for(start, len, time);
            if self.controller.sent(now, len, &self.config, &mut self.counters) {
                return (count, true);
            }
        }
        (count, false)
    }
}
