//! The sending half: messages are cut into packets, and complete when they are acknowledged.
//!
//! Numbers below `acked` have reached the peer; `next` is sent next; `high` is one beyond
//! everything ever sent. A read takes one number per packet of its data: its request has the first
//! of them, and `read_next` is the data packet that must come next. How lost packets are sent again
//! is in `retransmit`.

mod invariants;
mod row;

use crate::cache::prefetch;
use crate::config::{QpConfig, Recovery};
use crate::counters::Counters;
use crate::host::Source;
use crate::message::{Message, mtu};
use crate::rack::Rack;
use crate::retransmit::MOST_ADAPTIVE;
use crate::rnr::TurnedAway;
use crate::selective::Scoreboard;
use crate::sequence::{self, NEVER};
use crate::work::{Completion, MAX_MESSAGE, MAX_POSTED, PostError, Status, Verb, WorkRequest};
use std::collections::VecDeque;
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{Header, Opcode, Psn, Qpn};

/// Numbers in use at a time: far from the half lap at which old and new would be confused.
const MAX_FLIGHT: u64 = 3 << 20;

/// State of the sending half.
#[derive(Debug, Clone)]
pub(crate) struct Requester {
    pub(crate) acked: u64,
    pub(crate) next: u64,
    pub(crate) high: u64,
    /// One beyond the last packet posted.
    end: u64,
    /// Payload bytes before `acked`.
    acked_bytes: u64,
    /// Payload bytes before `next`.
    next_bytes: u64,
    /// Most payload bytes between `acked` and `next`: the window of congestion control, and where
    /// that counts what is in flight, also the bytes between the two that have left the network.
    pub(crate) window: u64,
    /// The next packet of read data that must arrive; never while no read is outstanding.
    pub(crate) read_next: u64,
    /// Reads from this number on are to be requested again; never if none.
    pub(crate) reread: u64,
    /// When a read was last requested again because data was missing.
    pub(crate) reread_at: Instant,
    /// The lower half of the number of the packet that was missing then.
    pub(crate) reread_for: u32,
    /// How far ahead of missing data was what arrived last.
    pub(crate) reread_ahead: u32,
    /// When too long has passed without an answer; never while none is awaited.
    pub(crate) timer: Instant,
    /// How long to wait for an answer; [`Span::MAX`] without a timeout, and zero where losses are
    /// detected by time ([`Rack`]), which has timeouts of its own.
    pub(crate) timeout: Span,
    /// The receiver was not ready, and wants nothing before this instant.
    pub(crate) not_before: Instant,
    pub(crate) queue: VecDeque<Message>,
    completions: VecDeque<Completion>,
    pub(crate) board: Option<Box<Scoreboard>>,
    /// Index in the queue of the message that `next` is in.
    cursor: u32,
    mtu: u32,
    ack_every: u32,
    /// Packets sent since the last one that requested an acknowledgement.
    unasked: u32,
    /// Most numbers in flight.
    flight: u32,
    pub(crate) peer: Qpn,
    /// Reads requested and not complete.
    reads: u8,
    /// Timeouts since the last progress.
    pub(crate) retries: u8,
    /// Answers since the last progress that let nothing through.
    pub(crate) turned_away: TurnedAway,
    /// The queue pair fails when there were more waits than this; seven means never.
    pub(crate) wait_limit: u8,
    /// Most reads outstanding at a time.
    max_reads: u8,
    pub(crate) failed: bool,
    /// The window counts what is in flight: see [`crate::config::Congestion::counts_flight`].
    pub(crate) counts_flight: bool,
    /// With adaptive retransmission, after how many full timeouts silence ends the queue pair; zero
    /// without.
    pub(crate) adaptive: u8,
}

impl Requester {
    /// Prefetches all of it.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(&self.queue);
        prefetch(&self.acked);
        prefetch(&self.reread);
        prefetch(&self.ack_every);
    }

    pub(crate) fn new(config: &QpConfig, peer: Qpn) -> Self {
        let start = sequence::start(Psn::new(0));
        let selective = config.recovery != Recovery::GoBackN;
        let by_time = config.recovery == Recovery::Rack;
        let mut board = selective.then(|| Box::new(Scoreboard::new(config)));
        if let (true, Some(board)) = (by_time, &mut board) {
            board.rack = Some(Rack::new(config.timeout, config.probe_floor));
        }
        let timeout = match config.timeout {
            _ if by_time => Span::ZERO,
            Span::ZERO => Span::MAX,
            timeout => timeout,
        };
        Self {
            acked: start,
            next: start,
            high: start,
            end: start,
            acked_bytes: 0,
            next_bytes: 0,
            window: u64::MAX,
            read_next: NEVER,
            reread: NEVER,
            reread_at: Instant::ZERO,
            reread_for: u32::MAX,
            reread_ahead: 0,
            timer: Instant::MAX,
            timeout,
            not_before: Instant::ZERO,
            queue: VecDeque::new(),
            completions: VecDeque::new(),
            board,
            cursor: 0,
            mtu: mtu(config),
            ack_every: config.ack_every.max(1),
            unasked: 0,
            reads: 0,
            // A scoreboard keeps no more packets than its span.
            flight: if selective { Scoreboard::SPAN as u32 } else { MAX_FLIGHT as u32 },
            peer,
            retries: 0,
            turned_away: TurnedAway::default(),
            wait_limit: config.rnr_retry_limit,
            max_reads: config.max_reads.max(1),
            failed: false,
            counts_flight: selective && config.congestion.counts_flight(),
            adaptive: match config.adaptive_retransmission && !by_time {
                true => config.retry_limit.saturating_add(1).min(MOST_ADAPTIVE),
                false => 0,
            },
        }
    }

    /// Whether losses are detected by time, from the instant each packet was sent.
    #[inline(always)]
    pub(crate) fn by_time(&self) -> bool {
        self.timeout.is_zero()
    }

    /// Numbers start at `psn`; only while nothing was posted.
    pub(crate) fn start_at(&mut self, psn: Psn) {
        if self.queue.is_empty() && self.high == self.acked {
            let start = sequence::start(psn);
            (self.acked, self.next, self.high, self.end) = (start, start, start, start);
        }
    }

    pub(crate) fn set_window(&mut self, window: Bytes) {
        self.window = window.get().max(1);
        if let (true, Some(board)) = (self.counts_flight, &mut self.board) {
            board.allowed = self.window;
            self.widen();
        }
    }

    /// Packets that have left the network, arrived or lost, make room for as many.
    #[cold]
    pub(crate) fn widen(&mut self) {
        let Some(board) = &self.board else { return };
        let gone = board.gone(self.acked).saturating_mul(self.mtu.into());
        self.window = board.allowed.saturating_add(gone);
    }

    /// Payload bytes that have arrived, as far as we know, in order or not.
    #[cold]
    pub(crate) fn heard_bytes(&self) -> u64 {
        let early = self.board.as_ref().map_or(0, |board| board.early());
        self.acked_bytes + early * u64::from(self.mtu)
    }

    /// Bytes known to have arrived and whether something is lost, to compare with after an answer;
    /// zero where the window does not count what is in flight.
    #[inline]
    pub(crate) fn known_before(&self) -> (u64, bool) {
        if self.counts_flight { (self.heard_bytes(), self.has_lost()) } else { (0, false) }
    }

    /// Whether something is lost and has not been sent again.
    pub(crate) fn has_lost(&self) -> bool {
        self.board.as_ref().is_some_and(|board| board.has_lost())
    }

    pub(crate) fn post(&mut self, work: WorkRequest) -> Result<(), PostError> {
        if self.failed {
            return Err(PostError::Failed);
        }
        if work.length > MAX_MESSAGE {
            return Err(PostError::TooLong);
        }
        // The peer would refuse it, and the refusal would end the connection.
        if matches!(work.operation, Verb::Atomic(_)) && !work.address.is_multiple_of(8) {
            return Err(PostError::Misaligned);
        }
        if self.queue.len() >= MAX_POSTED {
            return Err(PostError::QueueFull);
        }
        // With an empty queue everything posted is acknowledged, and `next_bytes` counts all of it.
        let before = self.queue.back().map_or(self.next_bytes, Message::bytes_after);
        let message = Message::new(&work, self.end, before, self.mtu);
        assert!(
            self.high <= self.end && self.end < message.end,
            "a message must take numbers after all that were sent"
        );
        self.end = message.end;
        self.queue.push_back(message);
        self.check_invariants();
        Ok(())
    }

    /// The first number that is not done with: unacknowledged, or data of a read still to come.
    #[inline]
    pub(crate) fn una(&self) -> u64 {
        self.acked.min(self.read_next)
    }

    /// Payload bytes sent and not acknowledged.
    #[inline]
    pub(crate) fn bytes_in_flight(&self) -> u64 {
        self.next_bytes - self.acked_bytes
    }

    /// Whether an answer is awaited.
    #[inline]
    pub(crate) fn awaits(&self) -> bool {
        self.next > self.una()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// When there is a packet to send, given when pacing allows one.
    #[inline]
    pub(crate) fn next_send(&self, paced: Instant) -> Instant {
        if self.repairs() || self.can_go_on() { paced.max(self.not_before) } else { Instant::MAX }
    }

    /// Whether something is to be sent again out of line.
    #[inline]
    fn repairs(&self) -> bool {
        self.reread != NEVER
            || self.board.as_ref().is_some_and(|board| board.has_lost()) && self.may_repair()
    }

    /// Whether there is room for what is sent again.
    #[cold]
    fn may_repair(&self) -> bool {
        !self.counts_flight || self.next_bytes - self.acked_bytes < self.window
    }

    /// Whether the next packet in line may be sent.
    #[inline]
    fn can_go_on(&self) -> bool {
        self.next < self.end
            && self.next - self.una() < u64::from(self.flight)
            // A window that shrank below what is in flight still lets one packet out if none in
            // flight asked for an acknowledgement: otherwise the peer would have no reason to send
            // one.
            && (self.next_bytes - self.acked_bytes < self.window || self.unasked > 0)
            && (self.reads < self.max_reads || !self.next_is_new_read())
    }

    fn next_is_new_read(&self) -> bool {
        self.queue.get(self.cursor as usize).is_some_and(|m| m.fetches && m.first == self.next)
    }

    /// The next packet, if there is one to send at `now`.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Instant, counters: &mut Counters) -> Option<Header> {
        if now < self.not_before {
            return None;
        }
        if self.repairs()
            && let Some(header) = self.repair(now)
        {
            counters.retransmitted += 1;
            return Some(header);
        }
        if !self.can_go_on() {
            return None;
        }
        let message = self.queue.get(self.cursor as usize)?;
        let (mut header, count) = message.packet(self.next, self.mtu, self.peer);
        let ends = self.next + count == message.end;
        if message.fetches {
            self.request_read();
        }
        // After going back, what is in line was sent before.
        let repeated = self.next < self.high;
        self.next += count;
        self.next_bytes += u64::from(header.payload);
        self.cursor += u32::from(ends);
        if repeated {
            counters.retransmitted += 1;
        }
        self.high = self.high.max(self.next);
        header.ack_request = self.wants_ack(ends);
        if self.by_time() {
            self.track(count, now);
        } else if self.timer.is_never() {
            self.timer = now + self.patience();
        }
        self.check_invariants();
        self.check_timer();
        Some(header)
    }

    /// Notes that the read at `next` is being requested.
    #[cold]
    fn request_read(&mut self) {
        self.reads += u8::from(self.next_is_new_read());
        if self.read_next == NEVER {
            self.read_next = self.next;
        }
    }

    /// Whether the packet just sent requests an acknowledgement: one in `ack_every`, the last of
    /// its message, and the last that the window allows.
    #[inline]
    fn wants_ack(&mut self, ends: bool) -> bool {
        self.unasked += 1;
        let closes = self.next_bytes - self.acked_bytes >= self.window
            || self.next - self.una() >= u64::from(self.flight);
        let ask = ends || closes || self.unasked >= self.ack_every;
        if ask {
            self.unasked = 0;
        }
        ask
    }

    /// How many packets follow `last`, the one given last, that differ from it in their number
    /// alone: those in the middle of a message that request no acknowledgement.
    pub(crate) fn alike(&self, last: &Header) -> u32 {
        let middle = matches!(last.opcode, Opcode::WriteMiddle | Opcode::SendMiddle);
        let in_line = last.psn.plus(1) == sequence::psn(self.next);
        if !middle
            || self.by_time()
            || last.ack_request
            || !in_line
            || self.repairs()
            || !self.can_go_on()
        {
            return 0;
        }
        let Some(message) = self.queue.get(self.cursor as usize) else { return 0 };
        // Each bound leaves out the packet that reaches it, because that one requests an
        // acknowledgement.
        let numbers = u64::from(self.flight).saturating_sub(self.next - self.una());
        let bytes = self.window.saturating_sub(self.next_bytes - self.acked_bytes);
        let unasked = u64::from(self.ack_every.saturating_sub(self.unasked));
        let bound = (message.end - self.next).min(numbers).min(unasked).saturating_sub(1);
        bound.min(bytes.saturating_sub(1) / u64::from(self.mtu)) as u32
    }

    /// `count` of them are sent.
    pub(crate) fn sent_alike(&mut self, count: u32, counters: &mut Counters) {
        let end = self.next + u64::from(count);
        counters.retransmitted += self.high.clamp(self.next, end) - self.next;
        self.next = end;
        self.next_bytes += u64::from(count) * u64::from(self.mtu);
        self.high = self.high.max(end);
        self.unasked += count;
        self.check_invariants();
    }

    /// The packet with this number once more, and how many numbers it covers.
    pub(crate) fn again(&self, number: u64) -> Option<(Header, u64)> {
        let message = self.queue.get(self.index_of(number))?;
        let (mut header, count) = message.packet(number, self.mtu, self.peer);
        header.ack_request = true;
        Some((header, count))
    }

    /// Where the payload of the packet with this number comes from, while its message is posted.
    pub(crate) fn source(&self, psn: Psn) -> Source {
        // The packet was sent or sent again just now, so its number is near `next`.
        let number = sequence::near(self.next, psn);
        let holds = |message: &&Message| message.first <= number && number < message.end;
        // Most often it is the packet before `next`.
        let cursor = self.cursor as usize;
        let message = self.queue.get(cursor).filter(holds).or_else(|| {
            let before = cursor.checked_sub(1).and_then(|before| self.queue.get(before));
            let found = before.filter(holds);
            found.or_else(|| self.queue.get(self.index_of(number)).filter(holds))
        });
        message.map_or(Source::Nothing, |message| message.source(number, self.mtu))
    }

    /// Index of the message that `number` is in; beyond the queue if none.
    pub(crate) fn index_of(&self, number: u64) -> usize {
        match self.queue.front() {
            Some(front) if number < front.end => 0,
            _ => self.queue.partition_point(|message| message.end <= number),
        }
    }

    /// Payload bytes before `number`.
    fn bytes_to(&self, number: u64) -> u64 {
        match self.queue.get(self.index_of(number)) {
            Some(message) => message.bytes_to(number, self.mtu),
            None => self.queue.back().map_or(self.next_bytes, Message::bytes_after),
        }
    }

    /// Continues from `number`, which is not beyond `high`.
    #[cold]
    pub(crate) fn continue_from(&mut self, number: u64) {
        assert!(
            self.acked <= number && number <= self.high,
            "going on from {number}, outside what is unacknowledged: {} to {}",
            self.acked,
            self.high,
        );
        self.next = number;
        self.next_bytes = self.bytes_to(number);
        self.cursor = self.index_of(number) as u32;
        // Whether what is in flight requested an acknowledgement counts no more: it is sent again.
        self.unasked = 0;
        self.count_reads();
    }

    /// Counts the reads that are requested and not complete.
    fn count_reads(&mut self) {
        let (next, done) = (self.next, self.read_next);
        let open = |m: &&Message| m.fetches && m.end > done;
        let count = if done == NEVER {
            0
        } else {
            self.queue.iter().take_while(|m| m.first < next).filter(open).count()
        };
        assert!(
            count <= usize::from(self.max_reads),
            "{count} reads are outstanding, of at most {}",
            self.max_reads,
        );
        self.reads = count as u8;
    }

    /// Everything before `number` has reached the peer. Returns the payload bytes that were new.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Instant, number: u64) -> u64 {
        debug_assert!(
            self.acked < number && number <= self.high,
            "acknowledging {number}, outside what is unacknowledged: {} to {}",
            self.acked,
            self.high,
        );
        let new = number - self.acked;
        self.acked = number;
        if self.next < number {
            self.continue_from(number);
        }
        if let Some(board) = &mut self.board {
            board.acknowledge(new, number, now);
        }
        match self.queue.front() {
            // Inside a message, and no data of a read to wait for: nothing completes.
            Some(front) if front.end > number && self.read_next == NEVER => {
                let before = self.acked_bytes;
                self.acked_bytes = front.bytes_to(number, self.mtu);
                self.restart_timer(now);
                self.acked_bytes - before
            }
            _ => self.progress(now),
        }
    }

    #[inline]
    fn restart_timer(&mut self, now: Instant) {
        (self.retries, self.turned_away) = (0, TurnedAway::default());
        if self.by_time() {
            return self.arm(now);
        }
        self.timer = if self.awaits() { now + self.patience() } else { Instant::MAX };
    }

    /// Completes what is done with, and starts the timer anew.
    pub(crate) fn progress(&mut self, now: Instant) -> u64 {
        let una = self.una();
        let before = self.acked_bytes;
        self.acked_bytes = self.bytes_to(self.acked);
        let mut read_done = false;
        while let Some(front) = self.queue.front() {
            if front.end > una {
                break;
            }
            read_done |= front.fetches;
            let (id, before) = (front.id, front.before);
            self.completions.push_back(Completion { id, status: Status::Ok, before });
            self.queue.pop_front();
            debug_assert!(self.cursor > 0, "a message is complete that was not sent to its end");
            self.cursor -= 1;
        }
        if read_done {
            self.count_reads();
        }
        self.restart_timer(now);
        self.acked_bytes - before
    }

    /// Ends all posted work: the oldest with `status`, the rest unattempted.
    pub(crate) fn fail(&mut self, status: Status) {
        self.failed = true;
        let mut status = status;
        for message in self.queue.drain(..) {
            self.completions.push_back(Completion { id: message.id, status, before: 0 });
            status = Status::Flushed;
        }
        // Everything counts as acknowledged, so that nothing is awaited or sent.
        (self.acked, self.next, self.end) = (self.high, self.high, self.high);
        self.acked_bytes = self.next_bytes;
        (self.read_next, self.reread) = (NEVER, NEVER);
        if let Some(board) = &mut self.board {
            board.clear();
        }
        (self.cursor, self.reads) = (0, 0);
        self.timer = Instant::MAX;
        self.check_invariants();
    }

    pub(crate) fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }
}
