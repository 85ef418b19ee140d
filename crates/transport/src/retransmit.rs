//! What the sending half does with acknowledgements, NAKs, data of reads, and silence.

use crate::config::QpConfig;
use crate::counters::Counters;
use crate::discard::Discard;
use crate::host::Target;
use crate::message::mtu;
use crate::rack::{Rack, Wait};
use crate::requester::Requester;
use crate::rnr;
use crate::sequence::{self, NEVER};
use crate::work::Status;
use xoff_units::{Instant, Span};
use xoff_wire::{Aeth, Header, Psn, Syndrome};

/// A limit of seven on receivers that are not ready means without end (IBTA 9.7.5.2.8). The limit
/// on silence is a plain count.
const RNR_FOREVER: u8 = 7;

impl Requester {
    /// An acknowledgement or NAK. Returns the payload bytes it newly acknowledges.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        psn: Psn,
        aeth: Aeth,
        counters: &mut Counters,
    ) -> u64 {
        let number = sequence::near(self.acked, psn);
        if let Syndrome::Ack { .. } = aeth.syndrome {
            counters.acks_received += 1;
            // Late acknowledgements are harmless; one of a packet that was never sent is not
            // believed.
            let acked = number + 1;
            if acked > self.high {
                counters.ignore(Discard::OutsideWindow);
                return 0;
            }
            let bytes = if acked > self.acked { self.acknowledge(now, acked) } else { 0 };
            self.check_invariants();
            return bytes;
        }
        // A NAK that requests packets may say that all arrived; one that refuses a packet, for now
        // or for good, names one that was sent.
        let sent = number < self.high || (number == self.high && aeth.syndrome.requests_packets());
        if number < self.acked || !sent {
            counters.ignore(Discard::OutsideWindow);
            return 0;
        }
        let bytes = self.refused(now, number, aeth, counters);
        self.check_invariants();
        self.check_timer();
        bytes
    }

    /// A NAK: everything before `number` arrived, and `number` did not.
    #[cold]
    fn refused(&mut self, now: Instant, number: u64, aeth: Aeth, counters: &mut Counters) -> u64 {
        let bytes = if number > self.acked { self.acknowledge(now, number) } else { 0 };
        let status = match aeth.syndrome {
            Syndrome::Ack { .. } => return bytes,
            Syndrome::SequenceError => {
                counters.naks_received += 1;
                self.turned_away.count_repeat();
                self.send_again(now);
                return bytes;
            }
            Syndrome::SelectiveNak => {
                counters.naks_received += 1;
                self.turned_away.count_repeat();
                self.send_missing(now, number, Psn::new(aeth.msn));
                return bytes;
            }
            Syndrome::Trimmed | Syndrome::Missing => {
                counters.naks_received += 1;
                self.turned_away.count_repeat();
                self.send_one(Psn::new(aeth.msn));
                return bytes;
            }
            Syndrome::RnrNak { timer } => {
                counters.rnr_received += 1;
                if self.wait_limit < RNR_FOREVER && self.turned_away.waits() >= self.wait_limit {
                    self.fail(Status::RnrRetryExceeded);
                    return bytes;
                }
                self.turned_away.count_wait();
                self.send_again(now);
                self.not_before = now + rnr::delay(timer);
                if self.by_time() {
                    self.arm(self.not_before);
                } else if self.awaits() {
                    self.timer = self.not_before + self.timeout;
                }
                return bytes;
            }
            Syndrome::InvalidRequest => Status::RemoteInvalidRequest,
            Syndrome::RemoteAccessError => Status::RemoteAccess,
            Syndrome::RemoteOperationalError => Status::RemoteOperational,
        };
        self.fail(status);
        bytes
    }

    /// Sends again from the first packet that has not reached the peer: all of them, or with
    /// selective repeat those that are known or presumed to be missing.
    fn send_again(&mut self, now: Instant) {
        if let Some(rack) = self.rack() {
            return rack.timed_out(now);
        }
        match &mut self.board {
            Some(board) if self.counts_flight => board.retry_all(self.acked, self.high),
            Some(board) => board.retry(self.acked, self.high),
            None => {
                self.continue_from(self.acked);
                self.timer = if self.awaits() { now + self.patience() } else { Instant::MAX };
            }
        }
    }

    /// `expected` is missing at the peer, which has kept the later packet `arrived`.
    fn send_missing(&mut self, now: Instant, expected: u64, arrived: Psn) {
        let arrived = sequence::near(expected, arrived);
        if arrived <= expected || arrived >= self.high {
            return;
        }
        let acked = self.acked;
        match &mut self.board {
            Some(board) => board.arrived(arrived, acked, now),
            // The peer repeats selectively and we do not: its NAK still says where to go on.
            None => self.continue_from(acked),
        }
    }

    /// Of this packet only the header reached the peer, or nothing.
    fn send_one(&mut self, psn: Psn) {
        let (acked, number) = (self.acked, sequence::near(self.acked, psn));
        if number < acked || number >= self.high {
            return;
        }
        match &mut self.board {
            Some(board) => board.ask(number, acked),
            None => self.continue_from(acked),
        }
    }

    /// A packet was sent that takes `count` numbers, and whose time is kept.
    #[cold]
    pub(crate) fn track(&mut self, count: u64, now: Instant) {
        let next = self.next;
        if let Some(rack) = self.rack() {
            (next - count..next).for_each(|number| rack.sent(number, now));
        }
        self.arm(now);
    }

    /// Sets the timer of a sender that detects losses by time.
    #[cold]
    pub(crate) fn arm(&mut self, now: Instant) {
        let awaits = self.awaits();
        let deadline = self.rack().map(|rack| rack.deadline(now).0);
        self.timer = deadline.filter(|_| awaits).unwrap_or(Instant::MAX);
    }

    fn rack(&mut self) -> Option<&mut Rack> {
        self.board.as_mut()?.rack.as_mut()
    }

    /// Takes the time stamp of an answer.
    #[cold]
    pub(crate) fn answered_at(&mut self, now: Instant, sent_at: Instant) {
        if let Some(rack) = self.rack() {
            rack.answered(now, sent_at);
        }
        if self.counts_flight {
            self.widen();
        }
        self.arm(now);
    }

    /// Whether a loss was found that was not yet reported to congestion control.
    #[cold]
    pub(crate) fn take_loss(&mut self) -> bool {
        self.rack().is_some_and(Rack::take_news)
    }

    /// The timer of a sender that detects losses by time is due. Says whether it was a timeout.
    #[cold]
    fn time_is_up(&mut self, now: Instant) -> bool {
        let Some(rack) = self.rack() else { return true };
        match rack.waits_for() {
            Wait::Reordering => rack.detect(now),
            Wait::Probe => rack.probe(),
            Wait::Timeout => return true,
        }
        if self.counts_flight {
            self.widen();
        }
        self.arm(now);
        false
    }

    /// Something to be sent again out of line: the request of a read, or a missing packet.
    #[cold]
    pub(crate) fn repair(&mut self, now: Instant) -> Option<Header> {
        if self.reread != NEVER {
            let number = self.reread;
            let (header, count) = self.again(number)?;
            self.reread = self.next_read(number + count, self.next);
            return Some(header);
        }
        let number = self.board.as_ref()?.first_lost()?;
        assert!(
            self.acked <= number && number < self.high,
            "packet {number} counts as lost, outside what is unacknowledged: {} to {}",
            self.acked,
            self.high,
        );
        let again = self.again(number);
        let count = again.map_or(1, |(_, count)| count);
        let acked = self.acked;
        if let Some(board) = &mut self.board {
            board.repaired(number + count, acked, now);
        }
        if self.counts_flight {
            self.widen();
        }
        if self.by_time() {
            self.arm(now);
        }
        again.map(|(header, _)| header)
    }

    /// The first packet of a read between `number` and `limit`.
    fn next_read(&self, number: u64, limit: u64) -> u64 {
        let from = self.index_of(number);
        self.queue
            .iter()
            .skip(from)
            .take_while(|message| message.first < limit)
            .find(|message| message.fetches)
            .map(|message| message.first.max(number))
            .filter(|&first| first < limit)
            .unwrap_or(NEVER)
    }

    /// Data of a read or the result of an atomic arrived. Says where it goes if it was new, and
    /// with it how many bytes.
    pub(crate) fn read_data(
        &mut self,
        now: Instant,
        header: &Header,
        config: &QpConfig,
        counters: &mut Counters,
    ) -> (Target, u32) {
        const NOTHING: (Target, u32) = (Target::Nowhere, 0);
        if self.read_next == NEVER {
            counters.duplicates += 1;
            return NOTHING;
        }
        let number = sequence::near(self.read_next, header.psn);
        if number < self.read_next {
            counters.duplicates += 1;
            return NOTHING;
        }
        if number >= self.high {
            counters.ignore(Discard::OutsideWindow);
            return NOTHING;
        }
        if number > self.read_next {
            counters.out_of_sequence += 1;
            self.data_missing(now, number, config);
            return NOTHING;
        }
        let index = self.index_of(number);
        let Some(message) = self.queue.get_mut(index) else { return NOTHING };
        let target = match message.answered_by(number, header, mtu(config)) {
            Ok(target) => target,
            Err(reason) => {
                counters.ignore(reason);
                return NOTHING;
            }
        };
        let end = message.end;
        // Up to `high`: a read that was once requested stays open, also if we went back before it.
        self.read_next =
            if number + 1 == end { self.next_read(end, self.high) } else { number + 1 };
        if self.reread != NEVER {
            self.reread =
                if self.read_next == NEVER { NEVER } else { self.reread.max(self.read_next) };
        }
        // Data of a read also says that its request, and all before it, arrived.
        if number + 1 > self.acked {
            self.acknowledge(now, number + 1);
        } else {
            self.progress(now);
        }
        self.check_invariants();
        (target, header.payload)
    }

    /// Data of a read is missing before `number`, which arrived, be it later data or an
    /// acknowledgement, because answers come in order: requests it again, but not for every packet.
    ///
    /// A peer may finish its answers to earlier requests before it answers the repeated one. Data
    /// further and further ahead was on its way by then, and says nothing new; a step back shows
    /// the new answer, and that its beginning is missing, too.
    #[cold]
    pub(crate) fn data_missing(&mut self, now: Instant, number: u64, config: &QpConfig) {
        // Numbers in flight are never further apart than 24 bits.
        let ahead = (number - self.read_next) as u32;
        let back = ahead < std::mem::replace(&mut self.reread_ahead, ahead);
        let patience = if back { Span::ZERO } else { config.timeout };
        // The lower half of the number distinguishes it from every other in flight.
        let wanted = self.read_next as u32;
        let asked = self.reread_for == wanted
            && now.since(self.reread_at) < patience.max(config.nak_interval);
        if !asked {
            self.reread = self.read_next;
            self.reread_for = wanted;
            self.reread_at = now;
        }
    }

    /// The timer is due: no answer arrived in time.
    pub(crate) fn timed_out(&mut self, now: Instant, limit: u8, counters: &mut Counters) {
        if !self.awaits() {
            self.timer = Instant::MAX;
            return;
        }
        if self.by_time() && !self.time_is_up(now) {
            return;
        }
        counters.timeouts += 1;
        if self.is_out_of_retries(limit) {
            self.fail(Status::RetryExceeded);
            return;
        }
        self.retries = self.retries.saturating_add(1);
        if self.read_next < self.acked {
            self.reread = self.read_next;
        }
        self.send_again(now);
        if self.counts_flight {
            self.widen();
        }
        if self.by_time() {
            return self.arm(now);
        }
        self.timer = if self.awaits() { now + self.patience() } else { Instant::MAX };
        self.check_invariants();
        self.check_timer();
    }

    /// Whether silence ends the queue pair at this timeout.
    fn is_out_of_retries(&self, limit: u8) -> bool {
        if self.adaptive == 0 {
            self.retries >= limit
        } else {
            waited(self.retries.saturating_add(1)) >= budget(self.adaptive)
        }
    }

    /// How long to wait for an answer to what is sent now.
    #[inline]
    pub(crate) fn patience(&self) -> Span {
        match (self.adaptive, self.retries) {
            (0, _) => self.timeout,
            // The usual case, for every acknowledgement.
            (_, 0) => Span::from_ps(self.timeout.as_ps() / SIXTEENTHS),
            _ => self.adaptive_patience(),
        }
    }

    /// The last wait is cut short, so that silence ends the queue pair when fixed timeouts would.
    #[cold]
    fn adaptive_patience(&self) -> Span {
        let end = waited(self.retries.saturating_add(1)).min(budget(self.adaptive));
        let sixteenths = end.saturating_sub(waited(self.retries));
        Span::from_ps((self.timeout.as_ps() / SIXTEENTHS).saturating_mul(sixteenths.into()))
    }
}

/// Adaptive timeouts are counted in sixteenths of the full one: 1, 2, 4, 8, then 16 each.
const SIXTEENTHS: u64 = 16;

/// Most full timeouts that adaptive retransmission waits: more shorter ones cannot be counted.
pub(crate) const MOST_ADAPTIVE: u8 = 250;

/// Sixteenths of a full timeout that have passed after a number of adaptive timeouts.
fn waited(timeouts: u8) -> u32 {
    match timeouts {
        0..=4 => (1 << timeouts) - 1,
        _ => 15 + 16 * (u32::from(timeouts) - 4),
    }
}

/// Full timeouts in sixteenths.
fn budget(timeouts: u8) -> u32 {
    16 * u32::from(timeouts)
}
