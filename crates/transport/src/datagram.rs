//! [`DatagramPair`]: single packets to and from any queue pair (UD).

use crate::config::QpConfig;
use crate::congestion::CongestionState;
use crate::counters::Counters;
use crate::discard::Discard;
use crate::host::{Host, Source, Target};
use crate::inbound::Inbound;
use crate::message::mtu;
use crate::pacing::Slack;
use crate::receive::ReceiveQueue;
use crate::regulator;
use crate::send_queue::{Posted, SendQueue};
use crate::sequence;
use crate::signals::{PathInfo, Signals};
use crate::work::{Completion, PostError, Received, Status};
use std::sync::Arc;
use xoff_units::{Bytes, Instant, Rate};
use xoff_wire::{Deth, Extension, Header, Immediate, Opcode, Psn, Qpn, Service};

/// The caller's name for a route to a peer. The transport knows no addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressHandle(pub u64);

/// The key a datagram must carry to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Qkey(pub u32);

/// A datagram to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// The caller's name for it, which comes back in the [`Completion`].
    pub id: u64,
    /// How long it is: at most the MTU.
    pub length: Bytes,
    /// Four bytes beside it.
    pub immediate: Option<Immediate>,
    /// The way to the peer.
    pub address: AddressHandle,
    /// The peer's queue pair.
    pub to: Qpn,
    /// The peer's key.
    pub qkey: Qkey,
}

/// A queue pair for datagrams: each is one packet, to any queue pair, and may get lost.
///
/// It is driven like a [`QueuePair`](crate::QueuePair). Work is complete when its packet was given
/// to the wire.
#[derive(Debug, Clone)]
pub struct DatagramPair {
    send: SendQueue<Datagram>,
    /// The datagram sent last.
    last: Option<Datagram>,
    inbound: Inbound,
    /// Bytes of every receive before the payload.
    reserve: u64,
    qkey: Qkey,
    local: Qpn,
    /// No notification before this.
    allowed: Instant,
    /// The queue pair to be notified now.
    notify: Option<Qpn>,
    delivered: u64,
    mtu: u32,
    counters: Counters,
}

impl Posted for Datagram {
    fn id(&self) -> u64 {
        self.id
    }
}

impl DatagramPair {
    /// Our queue pair `local`, which takes datagrams that carry `qkey`.
    pub fn new(config: Arc<QpConfig>, local: Qpn, qkey: Qkey, path: PathInfo) -> Self {
        Self {
            mtu: mtu(&config),
            send: SendQueue::new(config, path),
            last: None,
            inbound: Inbound::default(),
            reserve: 0,
            qkey,
            local,
            allowed: Instant::ZERO,
            notify: None,
            delivered: 0,
            counters: Counters::default(),
        }
    }

    /// The same, with `bytes` of every receive left free before the payload. Verbs put the 40
    /// bytes of a global route header there, and count them in [`Received::length`].
    #[must_use]
    pub fn reserving(mut self, bytes: Bytes) -> Self {
        self.reserve = bytes.get();
        self
    }

    /// The same, with the number of the first packet.
    #[must_use]
    pub fn starting_at(mut self, send: Psn) -> Self {
        self.send.start_at(send);
        self
    }

    /// The number packets to us carry.
    pub fn local(&self) -> Qpn {
        self.local
    }

    /// Gives a datagram to send.
    pub fn post(&mut self, _now: Instant, datagram: Datagram) -> Result<(), PostError> {
        self.send.check_open()?;
        if datagram.length.get() > self.mtu.into() {
            return Err(PostError::TooLong);
        }
        self.send.push(datagram)
    }

    /// When [`DatagramPair::poll_transmit`] has a packet.
    pub fn next_send(&self) -> Instant {
        self.send.next_send()
    }

    /// The next datagram, if there is one to send at `now`; [`DatagramPair::address`] says where
    /// to.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Header> {
        self.poll_transmit_within(now, Slack::default())
    }

    /// The same for a sender that works in bursts.
    pub fn poll_transmit_within(&mut self, now: Instant, slack: Slack) -> Option<Header> {
        let (&datagram, start) = self.send.ready(now, slack)?;
        let deth = Deth { qkey: datagram.qkey.0, source: self.local };
        let (opcode, extension) = match datagram.immediate {
            None => (Opcode::SendOnly, Extension::Deth(deth)),
            Some(immediate) => (Opcode::SendOnlyImm, Extension::DethImm(deth, immediate)),
        };
        let header = Header {
            service: Service::Datagram,
            opcode,
            ack_request: false,
            becn: false,
            dest_qp: datagram.to,
            psn: sequence::psn(self.send.next()),
            extension,
            payload: u32::try_from(datagram.length.get()).unwrap_or(self.mtu),
        };
        self.last = Some(datagram);
        self.send.sent(now, start, &header, true, &mut self.counters);
        Some(header)
    }

    /// Where the payload of the datagram that [`DatagramPair::poll_transmit`] gave last comes from.
    pub fn payload_of(&self, header: &Header) -> Source {
        match self.last {
            Some(datagram) if header.payload > 0 => Source::Work { id: datagram.id, offset: 0 },
            _ => Source::Nothing,
        }
    }

    /// The way that the datagram which [`DatagramPair::poll_transmit`] gave last is to take.
    pub fn address(&self) -> Option<AddressHandle> {
        self.last.map(|datagram| datagram.address)
    }

    /// The next congestion notification packet. It goes to where the packet came from that was
    /// handled last.
    pub fn poll_control(&mut self, _now: Instant) -> Option<Header> {
        let peer = self.notify.take()?;
        self.counters.cnps_sent += 1;
        Some(regulator::notification(peer))
    }

    /// A packet arrived. Says where its payload belongs.
    pub fn handle_at<H: Host>(
        &mut self,
        now: Instant,
        header: &Header,
        signals: Signals<'_>,
        host: &mut H,
    ) -> Target {
        self.notify = None;
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
        if header.service != Service::Datagram || !header.service.allows(header.opcode) {
            return Err(Discard::WrongOpcode);
        }
        let (Extension::Deth(deth) | Extension::DethImm(deth, _)) = header.extension else {
            return Err(Discard::Malformed);
        };
        if deth.qkey != self.qkey.0 {
            return Err(Discard::WrongQkey);
        }
        if signals.ce {
            self.marked(now, deth.source);
        }
        if header.payload > self.mtu {
            return Err(Discard::BadLength);
        }
        let target = self.inbound.place_datagram(header, self.reserve, host)?;
        self.delivered += u64::from(header.payload);
        Ok(target)
    }

    /// A marked datagram from `source`. The sender is notified now or not at all: only the caller
    /// knows the address, and only while it handles this packet.
    fn marked(&mut self, now: Instant, source: Qpn) {
        self.counters.marked_packets += 1;
        if now >= self.allowed {
            self.allowed = now + self.send.regulator.config.cnp_interval;
            self.notify = Some(source);
        }
    }

    /// When [`DatagramPair::handle_deadline`] has something to do.
    pub fn deadline(&self) -> Instant {
        self.send.regulator.deadline()
    }

    /// Does what is due by `now`; nothing if it is too early.
    pub fn handle_deadline(&mut self, now: Instant) {
        if now >= self.deadline() {
            self.send.regulator.handle_deadline(now, &mut self.counters);
        }
    }

    /// The next datagram of ours that is done with.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.send.poll_completion()
    }

    /// The next posted receive that has ended.
    pub fn poll_receive(&mut self) -> Option<Received> {
        self.inbound.poll_receive()
    }

    /// Takes the queue pair out of use: the oldest work that is posted ends with `status`, the rest
    /// is flushed.
    pub fn fail(&mut self, status: Status) {
        self.send.fail(status);
        self.notify = None;
        self.inbound.flush(Status::Flushed);
    }

    /// Whether the queue pair is out of use.
    pub fn has_failed(&self) -> bool {
        self.send.has_failed()
    }

    /// Ends the receives in `queue`, if the queue pair is out of use.
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

    /// Whether nothing is posted and no notification is due.
    pub fn is_idle(&self) -> bool {
        self.send.is_empty() && self.notify.is_none()
    }
}
