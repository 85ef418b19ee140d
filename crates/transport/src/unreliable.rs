//! [`UnreliablePair`]: a connection that loses messages and says nothing about it (UC).

use crate::config::QpConfig;
use crate::congestion::CongestionState;
use crate::counters::Counters;
use crate::discard::Discard;
use crate::host::{Host, Source, Target};
use crate::inbound::Inbound;
use crate::message::{Message, mtu};
use crate::notifier::Notifier;
use crate::pacing::Slack;
use crate::receive::ReceiveQueue;
use crate::regulator;
use crate::send_queue::{Posted, SendQueue};
use crate::signals::{PathInfo, Signals};
use crate::work::{Completion, MAX_MESSAGE, PostError, Received, Status, Verb, WorkRequest};
use std::sync::Arc;
use xoff_units::{Instant, Rate};
use xoff_wire::{Header, Opcode, Operation, Psn, Qpn, Service};

/// One end of an unreliable connection: sends and writes, with or without immediate data.
///
/// It is driven like a [`QueuePair`](crate::QueuePair). Work is complete when its last packet was
/// given to the wire. A message of which a packet is missing is lost as a whole; of a write, bytes
/// may be in memory by then (IBTA 9.8.2).
#[derive(Debug, Clone)]
pub struct UnreliablePair {
    send: SendQueue<Message>,
    notifier: Notifier,
    /// Where the payload of the packet sent last comes from.
    source: Source,
    inbound: Inbound,
    /// The packet that comes next. A plain PSN: whatever comes is taken for the next of its message
    /// or the first of another, so there is no window in which it would have to be placed.
    expected: Psn,
    /// The message being received is a send (or a write); nothing between messages, or when the
    /// rest of one is of no use.
    inside: Option<bool>,
    delivered: u64,
    /// Messages that arrived whole.
    messages: u64,
    local: Qpn,
    peer: Qpn,
    mtu: u32,
    counters: Counters,
}

impl Posted for Message {
    fn id(&self) -> u64 {
        self.id
    }
}

impl UnreliablePair {
    /// A connection between our queue pair `local` and the peer's. It starts at line rate.
    pub fn new(config: Arc<QpConfig>, local: Qpn, peer: Qpn, path: PathInfo) -> Self {
        Self {
            mtu: mtu(&config),
            send: SendQueue::new(config, path),
            notifier: Notifier::default(),
            source: Source::Nothing,
            inbound: Inbound::default(),
            expected: Psn::new(0),
            inside: None,
            delivered: 0,
            messages: 0,
            local,
            peer,
            counters: Counters::default(),
        }
    }

    /// The same, with the first packet numbers of both directions; before that they are zero.
    #[must_use]
    pub fn starting_at(mut self, send: Psn, receive: Psn) -> Self {
        if self.send.is_empty() {
            self.send.start_at(send);
            self.expected = receive;
        }
        self
    }

    /// The number packets to us carry.
    pub fn local(&self) -> Qpn {
        self.local
    }

    /// The number packets from us carry.
    pub fn peer(&self) -> Qpn {
        self.peer
    }

    /// Gives a message to move: a send or a write.
    pub fn post(&mut self, _now: Instant, work: WorkRequest) -> Result<(), PostError> {
        self.send.check_open()?;
        if work.operation.fetches() || matches!(work.operation, Verb::SendInvalidate(_)) {
            return Err(PostError::Unsupported);
        }
        if work.length > MAX_MESSAGE {
            return Err(PostError::TooLong);
        }
        let first = self.send.back().map_or(self.send.next(), |last| last.end);
        self.send.push(Message::new(&work, first, 0, self.mtu))
    }

    /// When [`UnreliablePair::poll_transmit`] has a packet.
    pub fn next_send(&self) -> Instant {
        self.send.next_send()
    }

    /// The next packet, if there is one to send at `now`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Header> {
        self.poll_transmit_within(now, Slack::default())
    }

    /// The same for a sender that works in bursts.
    pub fn poll_transmit_within(&mut self, now: Instant, slack: Slack) -> Option<Header> {
        let (message, start) = self.send.ready(now, slack)?;
        let number = self.send.next();
        // Sends and writes take one number per packet: what takes more, a read, was not posted.
        let (mut header, _) = message.packet(number, self.mtu, self.peer);
        header.service = Service::Unreliable;
        self.source = message.source(number, self.mtu);
        let last = number + 1 == message.end;
        self.send.sent(now, start, &header, last, &mut self.counters);
        Some(header)
    }

    /// Where the payload of the packet that [`UnreliablePair::poll_transmit`] gave last comes from.
    pub fn payload_of(&self, _header: &Header) -> Source {
        self.source
    }

    /// The next congestion notification packet.
    pub fn poll_control(&mut self, _now: Instant) -> Option<Header> {
        if !self.notifier.take() {
            return None;
        }
        self.counters.cnps_sent += 1;
        Some(regulator::notification(self.peer))
    }

    /// A packet arrived. Says where its payload belongs.
    pub fn handle_at<H: Host>(
        &mut self,
        now: Instant,
        header: &Header,
        signals: Signals<'_>,
        host: &mut H,
    ) -> Target {
        match self.accept(now, header, signals, host) {
            Ok(target) => target,
            Err(reason) => {
                self.counters.ignore(reason);
                Target::Nowhere
            }
        }
    }

    fn accept<H: Host>(
        &mut self,
        now: Instant,
        header: &Header,
        signals: Signals<'_>,
        host: &mut H,
    ) -> Result<Target, Discard> {
        if header.dest_qp != self.local {
            return Err(Discard::OtherQueuePair);
        }
        if self.has_failed() {
            return Err(Discard::Failed);
        }
        if header.opcode == Opcode::Cnp {
            self.send.regulator.notified(now, &mut self.counters);
            return Ok(Target::Nowhere);
        }
        if header.service != Service::Unreliable || !header.service.allows(header.opcode) {
            return Err(Discard::WrongOpcode);
        }
        if signals.ce {
            self.counters.marked_packets += 1;
            self.notifier.marked(now, &self.send.regulator.config, false, signals.cnp_withheld);
        }
        self.data(header, host)
    }

    /// A packet of a send or write. Whatever is not the next of its message ends that message, and
    /// nothing is taken until another begins.
    fn data<H: Host>(&mut self, header: &Header, host: &mut H) -> Result<Target, Discard> {
        let in_line = header.psn == self.expected;
        self.counters.out_of_sequence += u64::from(!in_line);
        self.expected = header.psn.plus(1);
        let position = header.opcode.position();
        let send = header.opcode.operation() == Operation::Send;
        let under_way = self.inside.take();
        if !position.begins() {
            if !in_line {
                return Err(Discard::Incomplete);
            }
            match under_way {
                Some(kind) if kind == send => {}
                Some(_) => return Err(Discard::OutOfOrderOpcode),
                None => return Err(Discard::Incomplete),
            }
        } else if under_way.is_some() {
            self.counters.discards.count(Discard::Incomplete);
        }
        let whole = header.payload == self.mtu;
        if !whole && (!position.ends() || header.payload > self.mtu) {
            return Err(Discard::BadLength);
        }
        let target = self.inbound.place(header, host)?;
        self.delivered += u64::from(header.payload);
        self.messages += u64::from(position.ends());
        self.inside = if position.ends() { None } else { Some(send) };
        Ok(target)
    }

    /// When [`UnreliablePair::handle_deadline`] has something to do.
    pub fn deadline(&self) -> Instant {
        self.send.regulator.deadline().min(self.notifier.deadline())
    }

    /// Does what is due by `now`; nothing if it is too early.
    pub fn handle_deadline(&mut self, now: Instant) {
        if now >= self.deadline() {
            self.notifier.handle_deadline(now);
            self.send.regulator.handle_deadline(now, &mut self.counters);
        }
    }

    /// The next message of ours that is done with.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.send.poll_completion()
    }

    /// The next posted receive that has ended.
    pub fn poll_receive(&mut self) -> Option<Received> {
        self.inbound.poll_receive()
    }

    /// Ends the connection: the oldest work that is posted ends with `status`, the rest is flushed.
    pub fn fail(&mut self, status: Status) {
        self.send.fail(status);
        self.inside = None;
        self.inbound.flush(Status::Flushed);
    }

    /// Whether the connection has ended.
    pub fn has_failed(&self) -> bool {
        self.send.has_failed()
    }

    /// Ends the receives in `queue`, if the connection has.
    pub fn flush_receives(&mut self, queue: &mut ReceiveQueue) {
        while self.has_failed()
            && let Some(receive) = queue.take()
        {
            self.inbound.end(receive, Status::Flushed);
        }
    }

    /// Bytes of payload accepted.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Messages that arrived whole: sends, and writes, which nothing else reports.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The rate packets are paced at.
    pub fn rate(&self) -> Rate {
        self.send.regulator.rate()
    }

    /// What congestion control says at `now`.
    pub fn congestion_state(&self, now: Instant) -> CongestionState {
        self.send.regulator.state(now)
    }

    /// Whether nothing is posted and no notification is on its way.
    pub fn is_idle(&self) -> bool {
        self.send.is_empty() && self.notifier.is_idle()
    }
}
