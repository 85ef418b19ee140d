//! [`QueuePair`]: the two halves, the pacer, congestion control and the notifier, put together.

mod grant;
mod row;

use crate::cache::prefetch;
use crate::config::{Notification, QpConfig};
use crate::congestion::{CongestionState, Controller, Feedback};
use crate::counters::Counters;
use crate::delay::DelayLine;
use crate::discard::Discard;
use crate::framing::WireTime;
use crate::host::{Bare, Host, Source, Target};
use crate::notifier::Notifier;
use crate::pacing::{Pacer, Slack};
use crate::receive::ReceiveQueue;
use crate::requester::Requester;
use crate::responder::{Refused, Responder};
use crate::sequence;
use crate::signals::{PathInfo, Signals};
use crate::work::{Completion, PostError, Received, Status, WorkRequest};
use std::sync::Arc;
use xoff_units::{Bytes, Instant, Rate, Span};
use xoff_wire::{Extension, Header, Opcode, Operation, Psn, Qpn, Service, Syndrome};

/// A number that no packet carries, because queue pair numbers have 24 bits.
const NO_QPN: u32 = u32::MAX;

/// One end of a reliable connection. The crate's page says which calls to make, and when.
///
/// The order of its fields matters: what a request of the peer needs comes first, in three cache
/// lines.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct QueuePair {
    responder: Responder,
    notifier: Notifier,
    local: Qpn,
    /// When the peer first let nothing through since the last progress, in microseconds that wrap.
    /// Here, and short, because there is room.
    stuck_since: u32,
    /// The number packets must carry to be accepted: ours, and none once we have failed. One
    /// comparison on the path of every packet stands for both checks.
    listens_to: u32,
    /// The last data packet was for the peer's read: our own requests go first now.
    answered_last: bool,
    /// Notifications that the sender has received and not yet acted on.
    reactions: DelayLine,
    counters: Counters,
    requester: Requester,
    pacer: Pacer,
    wire: WireTime,
    controller: Controller,
    config: Arc<QpConfig>,
}

impl QueuePair {
    /// A connection between our queue pair `local` and the peer's. It starts at line rate.
    pub fn new(config: Arc<QpConfig>, local: Qpn, peer: Qpn, path: PathInfo) -> Self {
        let controller = Controller::new(&config, path);
        let mut pair = Self {
            requester: Requester::new(&config, peer),
            responder: Responder::new(&config, peer),
            pacer: Pacer::new(controller.rate()),
            wire: WireTime::of(&config.framing, config.mtu),
            controller,
            notifier: Notifier::default(),
            reactions: DelayLine::default(),
            config,
            local,
            stuck_since: 0,
            listens_to: local.get(),
            answered_last: false,
            counters: Counters::default(),
        };
        pair.follow_controller();
        pair
    }

    /// The same, with the first packet numbers of both directions; before that they are zero.
    #[must_use]
    pub fn starting_at(mut self, send: Psn, receive: Psn) -> Self {
        self.requester.start_at(send);
        self.responder.start_at(receive);
        self
    }

    /// The number packets to us carry.
    pub fn local(&self) -> Qpn {
        self.local
    }

    /// The number packets from us carry.
    pub fn peer(&self) -> Qpn {
        self.requester.peer
    }

    /// Gives a message to move.
    pub fn post(&mut self, _now: Instant, work: WorkRequest) -> Result<(), PostError> {
        self.requester.post(work)
    }

    /// When [`QueuePair::poll_transmit`] has a packet: in the past means at once, [`Instant::MAX`]
    /// not before something else happens.
    #[inline(always)]
    pub fn next_send(&self) -> Instant {
        if self.responder.has_data() {
            return self.pacer.next();
        }
        self.requester.next_send(self.pacer.next())
    }

    /// Prefetches what a request of the peer needs.
    #[inline(always)]
    pub fn prefetch_responder(&self) {
        prefetch(&self.responder);
        prefetch(&self.listens_to);
        prefetch(&self.counters);
    }

    /// Prefetches what requests of our own, and answers to them, need.
    #[inline(always)]
    pub fn prefetch_requester(&self) {
        self.prefetch_responder();
        self.requester.prefetch();
        prefetch(&self.pacer);
        prefetch(&self.controller);
        prefetch(&self.config);
    }

    /// The next request, or data for a read of the peer, if there is one to send at `now`. It is
    /// taken to start on the wire at `now`, and the next is spaced accordingly.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Header> {
        if now < self.pacer.next() {
            return None;
        }
        self.transmit(now, now)
    }

    /// The same for a sender that works in bursts: packets may leave earlier than pacing allows,
    /// and those of a sender that is late catch up, within `slack`. Over time the rate is the same.
    /// The next call is due at [`QueuePair::next_send`] less [`Slack::ahead`].
    #[inline]
    pub fn poll_transmit_within(&mut self, now: Instant, slack: Slack) -> Option<Header> {
        let start = self.pacer.start(now, slack)?;
        self.transmit(now, start)
    }

    /// The next packet at `now`, which counts as sent at `start`.
    #[inline(always)]
    fn transmit(&mut self, now: Instant, start: Instant) -> Option<Header> {
        let header = if self.responder.has_data() {
            self.either_half(now)?
        } else {
            self.requester.transmit(now, &mut self.counters)?
        };
        let len = self.wire.of_packet(&header);
        self.pacer.sent(start, len);
        if self.controller.sent(now, len, &self.config, &mut self.counters) {
            self.follow_controller();
        }
        Some(header)
    }

    /// Both halves may have something to send: they take turns.
    #[inline(never)]
    fn either_half(&mut self, now: Instant) -> Option<Header> {
        // Without turns, a peer that keeps reading would keep our own requests from being sent.
        if self.answered_last {
            self.answered_last = false;
            if let Some(header) = self.requester.transmit(now, &mut self.counters) {
                return Some(header);
            }
        }
        self.answered_last = true;
        self.responder.transmit()
    }

    /// Bytes a packet of this queue pair takes in buffers: see
    /// [`crate::config::Framing::wire_len`].
    pub fn wire_len(&self, header: &Header) -> u32 {
        self.config.framing.wire_len(header, self.config.mtu)
    }

    /// The next acknowledgement, NAK or congestion notification packet. These are not paced.
    #[inline]
    pub fn poll_control(&mut self, _now: Instant) -> Option<Header> {
        let answer = self.responder.poll_control(&mut self.counters);
        if answer.is_some() || !self.notifier.take() {
            return answer;
        }
        self.counters.cnps_sent += 1;
        Some(Header {
            service: Service::Reliable,
            opcode: Opcode::Cnp,
            ack_request: false,
            becn: true,
            dest_qp: self.requester.peer,
            psn: Psn::new(0),
            extension: Extension::None,
            payload: 0,
        })
    }

    /// A packet arrived at a host that has no memory: headers and lengths are all that counts, and
    /// whatever the peer sends has room.
    #[inline]
    pub fn handle(&mut self, now: Instant, header: &Header, signals: Signals<'_>) {
        self.handle_at(now, header, signals, &mut Bare);
    }

    /// A packet arrived, with payload for the memory of `host`. Says where it belongs: put it there
    /// before the next call, so that nothing is acknowledged that is not there.
    #[inline]
    pub fn handle_at<H: Host>(
        &mut self,
        now: Instant,
        header: &Header,
        signals: Signals<'_>,
        host: &mut H,
    ) -> Target {
        if header.dest_qp.get() != self.listens_to {
            self.counters.ignore(self.discard_reason(header));
            return Target::Nowhere;
        }
        if H::REAL && header.service != Service::Reliable {
            self.counters.ignore(Discard::WrongOpcode);
            return Target::Nowhere;
        }
        match header.opcode.operation() {
            Operation::Send | Operation::Write => {
                if signals.ce {
                    self.saw_mark(now, true, signals.cnp_withheld);
                    // Switches mark what they trim, so that the check costs unmarked packets
                    // nothing.
                    if signals.trimmed {
                        self.responder.trimmed(now, header, &mut self.counters);
                        return Target::Nowhere;
                    }
                }
                let (config, counters) = (&self.config, &mut self.counters);
                match self.responder.request(now, header, config, counters, host) {
                    Ok(target) => return target,
                    Err(Refused) => self.fail(Status::Flushed),
                }
            }
            Operation::ReadRequest | Operation::Atomic => {
                if H::REAL && signals.ce {
                    self.saw_mark(now, false, signals.cnp_withheld);
                }
                let (config, counters) = (&self.config, &mut self.counters);
                if self.responder.fetch(now, header, config, counters, host).is_err() {
                    self.fail(Status::Flushed);
                }
            }
            Operation::ReadResponse | Operation::AtomicAcknowledge => {
                if signals.ce {
                    self.saw_mark(now, false, signals.cnp_withheld);
                    if signals.trimmed {
                        return Target::Nowhere;
                    }
                }
                return self.read_data(now, header);
            }
            Operation::Acknowledge => self.acknowledged(now, header, signals),
            Operation::Cnp => {
                self.counters.cnps_handled += 1;
                self.notified(now);
            }
        }
        Target::Nowhere
    }

    #[cold]
    fn discard_reason(&self, header: &Header) -> Discard {
        if header.dest_qp == self.local { Discard::Failed } else { Discard::OtherQueuePair }
    }

    /// Data of a read of ours, or the result of an atomic, arrived.
    fn read_data(&mut self, now: Instant, header: &Header) -> Target {
        let config = &self.config;
        let (target, bytes) = self.requester.read_data(now, header, config, &mut self.counters);
        self.responder.deliver(bytes);
        target
    }

    /// A data packet arrived with a mark.
    #[inline(never)]
    fn saw_mark(&mut self, now: Instant, acknowledged: bool, withheld: bool) {
        self.counters.marked_packets += 1;
        self.notifier.marked(now, &self.config, acknowledged, withheld);
        if acknowledged && self.config.notification == Notification::EchoInAck {
            self.responder.note_mark();
        }
    }

    fn acknowledged(&mut self, now: Instant, header: &Header, signals: Signals<'_>) {
        let Extension::Aeth(aeth) = header.extension else {
            self.counters.ignore(Discard::Malformed);
            return;
        };
        let (heard, had_lost) = self.requester.known_before();
        let turned_away = self.counters.rnr_received + self.counters.naks_received;
        let mut bytes = self.requester.answered(now, header.psn, aeth, &mut self.counters);
        if self.counters.rnr_received + self.counters.naks_received != turned_away {
            self.peer_lets_nothing_through(now);
        }
        if self.requester.failed {
            self.fail(Status::Flushed);
        }
        if let (true, Some(sent_at)) = (self.requester.by_time(), signals.sent_at) {
            self.requester.answered_at(now, sent_at);
        }
        // Answers come in order: an acknowledgement beyond the data of a read says that the data
        // was lost.
        if self.requester.read_next < self.requester.acked {
            let acked = self.requester.acked;
            self.requester.data_missing(now, acked, &self.config);
        }
        self.counters.echo_marks += u64::from(header.becn);
        if self.controller.wants_feedback() {
            if self.requester.counts_flight {
                bytes = self.requester.heard_bytes().saturating_sub(heard);
            }
            let feedback = Feedback {
                acked: self.requester.acked,
                next: self.requester.next,
                bytes,
                marked: header.becn,
                rtt: signals.sent_at.map(|sent| now.since(sent)),
                lost: self.loss_seen(aeth.syndrome, had_lost),
                int: signals.int,
            };
            self.controller.acknowledged(now, feedback, &self.config, &mut self.counters);
            self.follow_controller();
        } else if header.becn {
            // The echo of a mark stands for a notification packet to a scheme that counts no
            // shares.
            self.notified(now);
        }
    }

    /// The receiver was not ready once more, or requests the same packet once more. Fails if that
    /// has gone on for too long.
    #[cold]
    fn peer_lets_nothing_through(&mut self, now: Instant) {
        let us = (now.as_ps() / 1_000_000) as u32;
        let turned_away = self.requester.turned_away;
        if turned_away.is_first() {
            self.stuck_since = us;
        }
        let limit = self.config.rnr_time_limit;
        let waited = Span::from_us(us.wrapping_sub(self.stuck_since).into());
        if !limit.is_zero() && waited >= limit && !self.requester.failed {
            let unready = turned_away.waits() > 0;
            let status = if unready { Status::RnrRetryExceeded } else { Status::RetryExceeded };
            self.requester.fail(status);
        }
    }

    /// Whether to report a loss to congestion control.
    fn loss_seen(&mut self, syndrome: Syndrome, had_lost: bool) -> bool {
        if self.requester.by_time() {
            return self.requester.take_loss();
        }
        let has_lost = self.requester.has_lost();
        if self.controller.counts_news() {
            syndrome == Syndrome::Trimmed || has_lost && !had_lost
        } else {
            has_lost
        }
    }

    /// The peer reports congestion.
    #[inline(never)]
    fn notified(&mut self, now: Instant) {
        if self.config.reaction_delay.is_zero() {
            self.controller.notified(now, &self.config, &mut self.counters);
            self.follow_controller();
        } else {
            self.react(now);
            self.reactions.push(now + self.config.reaction_delay);
        }
    }

    /// Acts on notifications whose delay is over, as of the instant it was.
    fn react(&mut self, now: Instant) {
        while let Some(at) = self.reactions.pop(now) {
            self.controller.notified(at, &self.config, &mut self.counters);
        }
    }

    /// Makes pacer and window obey what congestion control says now.
    #[inline]
    fn follow_controller(&mut self) {
        let moves = self.controller.moves_next_send(&self.config);
        self.pacer.set_rate(self.controller.rate(), moves);
        let set = self.config.window;
        let set = if set.is_zero() { Bytes::MAX } else { set };
        self.requester.set_window(self.controller.window().min(set));
    }

    /// When [`QueuePair::handle_deadline`] has something to do; [`Instant::MAX`] if nothing.
    #[inline]
    pub fn deadline(&self) -> Instant {
        let congestion = self.controller.deadline().min(self.reactions.due());
        self.requester.timer.min(congestion).min(self.notifier.deadline())
    }

    /// Does what is due by `now`; nothing if it is too early.
    pub fn handle_deadline(&mut self, now: Instant) {
        if now < self.deadline() {
            return;
        }
        self.notifier.handle_deadline(now);
        self.react(now);
        self.controller.handle_deadline(now, &self.config, &mut self.counters);
        self.follow_controller();
        if now >= self.requester.timer {
            // The numbers as they were when the packets were sent: a timeout may go back.
            let next = self.requester.high;
            let before = self.counters.timeouts;
            self.requester.timed_out(now, self.config.retry_limit, &mut self.counters);
            if self.counters.timeouts > before {
                self.controller.timed_out(next, &self.config, &mut self.counters);
                self.follow_controller();
            }
            if self.requester.failed {
                self.fail(Status::Flushed);
            }
        }
    }

    /// Ends the connection: work that is posted ends with `status`, the oldest, and as
    /// [`Status::Flushed`], the rest. Packets that arrive from now on are dropped and counted.
    #[cold]
    pub fn fail(&mut self, status: Status) {
        self.listens_to = NO_QPN;
        self.requester.fail(status);
        self.responder.flush();
    }

    /// Whether the connection has ended for good, at our wish or because something went wrong.
    pub fn has_failed(&self) -> bool {
        self.listens_to == NO_QPN
    }

    /// Ends the receives in `queue`, if the connection has: those of this queue pair alone, not a
    /// queue that others share.
    pub fn flush_receives(&mut self, queue: &mut ReceiveQueue) {
        while self.has_failed()
            && let Some(receive) = queue.take()
        {
            self.responder.end_receive(receive, Status::Flushed);
        }
    }

    /// Where the payload of a packet comes from. Valid until the next call: the packet must be the
    /// one that [`QueuePair::poll_transmit`] gave last.
    pub fn payload_of(&self, header: &Header) -> Source {
        match header.opcode.operation() {
            Operation::Send | Operation::Write => self.requester.source(header.psn),
            Operation::ReadResponse => self.responder.source(),
            _ => Source::Nothing,
        }
    }

    /// The packet that [`QueuePair::poll_transmit`] gave last cannot be sent, because the peer may
    /// no longer read the memory its payload is in. The read is refused and the connection ends.
    pub fn withdraw(&mut self, header: &Header) {
        if header.opcode.operation() == Operation::ReadResponse && !self.has_failed() {
            let number = sequence::near(self.responder.expected, header.psn);
            self.responder.withdraw(number, &mut self.counters);
            self.fail(Status::Flushed);
        }
    }

    /// The next message of ours that is done with, in the order they were posted.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.requester.poll_completion()
    }

    /// The next posted receive that has ended, in the order they were used.
    pub fn poll_receive(&mut self) -> Option<Received> {
        self.responder.poll_receive()
    }

    /// Bytes of payload accepted in order: of the peer's writes and sends, and of our own reads.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.responder.delivered()
    }

    /// Whether it slows down for ECN marks.
    pub fn obeys_marks(&self) -> bool {
        self.config.congestion.obeys_marks()
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The rate packets are paced at.
    #[inline]
    pub fn rate(&self) -> Rate {
        self.controller.rate()
    }

    /// What congestion control says at `now`, for traces. Some of it changes with time alone and is
    /// computed here; the call changes nothing.
    pub fn congestion_state(&self, now: Instant) -> CongestionState {
        let mut state = self.controller.state(now, &self.config);
        if !self.config.window.is_zero() {
            state.window = state.window.min(self.config.window);
        }
        state
    }

    /// Whether nothing is posted, unacknowledged or owed to the peer.
    pub fn is_idle(&self) -> bool {
        self.requester.is_idle() && self.responder.is_idle() && self.notifier.is_idle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_compact() {
        let size = std::mem::size_of::<QueuePair>();
        assert!(size <= 640, "a queue pair takes {size} bytes");
    }
}
