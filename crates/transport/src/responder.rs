//! The receiving half: accepts requests in order, and says so.

use crate::config::{QpConfig, Recovery};
use crate::counters::Counters;
use crate::message::mtu;
use crate::reads::{Reads, Taken};
use crate::rnr;
use crate::selective::{Piece, Reorder};
use crate::sequence;
use crate::work::Received;
use std::collections::VecDeque;
use xoff_units::{Bytes, Instant};
use xoff_wire::{Aeth, Extension, Header, Opcode, Operation, Psn, Qpn, Service, Syndrome};

const MSN_MASK: u32 = 0x00ff_ffff;
const NO_CREDITS: u8 = 0x1f;

/// A NAK to be sent.
#[derive(Debug, Clone, Copy)]
struct Nak {
    syndrome: Syndrome,
    /// With selective repeat, the packet that arrived.
    arrived: Psn,
}

/// State of the receiving half.
#[derive(Debug, Clone)]
pub(crate) struct Responder {
    /// The packet that comes next.
    expected: u64,
    delivered: u64,
    /// The last packet a NAK was sent for, and when.
    nak_for: u64,
    nak_at: Instant,
    nak: Option<Nak>,
    /// Reads being answered; boxed, because most queue pairs are never read from.
    reads: Option<Box<Reads>>,
    reorder: Option<Box<Reorder>>,
    receives: Option<Box<Receives>>,
    msn: u32,
    mtu: u32,
    peer: Qpn,
    /// The message being received is a send (or a write); nothing between messages.
    inside: Option<bool>,
    owes_ack: bool,
    /// A marked packet came since the last acknowledgement.
    echo: bool,
}

/// Receives, for the queue pair that posts them.
#[derive(Debug, Clone, Default)]
struct Receives {
    posted: VecDeque<Received>,
    done: VecDeque<Received>,
    /// The receive being filled, and its bytes so far.
    filling: Option<(Received, Bytes)>,
    /// Sends are taken only into a posted receive.
    limited: bool,
}

impl Responder {
    pub(crate) fn new(config: &QpConfig, peer: Qpn) -> Self {
        Self {
            expected: sequence::start(Psn::new(0)),
            delivered: 0,
            nak_for: 0,
            nak_at: Instant::ZERO,
            nak: None,
            reads: None,
            reorder: (config.recovery == Recovery::SelectiveRepeat).then(Box::default),
            receives: None,
            msn: 0,
            mtu: mtu(config),
            peer,
            inside: None,
            owes_ack: false,
            echo: false,
        }
    }

    pub(crate) fn start_at(&mut self, psn: Psn) {
        if self.msn == 0 && self.inside.is_none() {
            self.expected = sequence::start(psn);
        }
    }

    pub(crate) fn post_receive(&mut self, id: u64, length: Bytes) {
        self.receives.get_or_insert_default().posted.push_back(Received { id, length });
    }

    pub(crate) fn limit_receives(&mut self, limited: bool) {
        self.receives.get_or_insert_default().limited = limited;
    }

    pub(crate) fn poll_receive(&mut self) -> Option<Received> {
        self.receives.as_mut()?.done.pop_front()
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Data of one of our own reads arrived.
    pub(crate) fn deliver(&mut self, payload: u32) {
        self.delivered += u64::from(payload);
    }

    /// A packet with a mark arrived; the next acknowledgement says so.
    #[inline]
    pub(crate) fn note_mark(&mut self) {
        self.echo = true;
    }

    #[inline]
    pub(crate) fn has_data(&self) -> bool {
        self.reads.as_ref().is_some_and(|reads| !reads.is_empty())
    }

    /// The next packet of data for the peer.
    pub(crate) fn transmit(&mut self) -> Option<Header> {
        self.reads.as_mut()?.transmit(self.mtu, self.msn, self.peer)
    }

    pub(crate) fn is_idle(&self) -> bool {
        !self.has_data() && !self.owes_ack && self.nak.is_none()
    }

    /// A request arrived: a packet of a send or write, or a read.
    #[inline]
    pub(crate) fn request(
        &mut self,
        now: Instant,
        header: &Header,
        config: &QpConfig,
        counters: &mut Counters,
    ) {
        let number = sequence::near(self.expected, header.psn);
        if number > self.expected {
            self.early(now, number, header, config, counters);
        } else if number < self.expected {
            self.late(number, header, counters);
        } else if header.opcode.operation() == Operation::ReadRequest {
            self.read(header, counters);
            self.accept_early(config, counters);
        } else if self.accept(Piece::of(header), config, counters) {
            self.owes_ack |= header.ack_request;
            if self.reorder.is_some() {
                self.accept_early(config, counters);
            }
        }
    }

    /// The expected packet, of a send or write. Says whether it was accepted.
    #[inline]
    fn accept(&mut self, packet: Piece, config: &QpConfig, counters: &mut Counters) -> bool {
        let fits =
            if packet.ends { packet.payload <= self.mtu } else { packet.payload == self.mtu };
        let follows = match self.inside {
            None => packet.begins,
            Some(send) => !packet.begins && send == packet.send,
        };
        if !fits || !follows {
            self.refuse(Syndrome::InvalidRequest, counters);
            return false;
        }
        if packet.send && self.receives.is_some() && !self.receive(packet, config, counters) {
            return false;
        }
        self.delivered += u64::from(packet.payload);
        self.inside = if packet.ends { None } else { Some(packet.send) };
        self.msn = (self.msn + u32::from(packet.ends)) & MSN_MASK;
        self.advance(1);
        true
    }

    /// Puts a packet of a send into a receive. Says whether there was one, and room in it.
    fn receive(&mut self, packet: Piece, config: &QpConfig, counters: &mut Counters) -> bool {
        let Some(receives) = &mut self.receives else { return true };
        if packet.begins {
            receives.filling = receives.posted.pop_front().map(|receive| (receive, Bytes::ZERO));
            if receives.filling.is_none() && receives.limited {
                let timer = rnr::code(config.rnr_delay);
                counters.rnr_sent += 1;
                self.nak = Some(Nak { syndrome: Syndrome::RnrNak { timer }, arrived: Psn::new(0) });
                return false;
            }
        }
        let Some((receive, filled)) = &mut receives.filling else { return true };
        *filled += Bytes::new(packet.payload.into());
        if *filled > receive.length {
            self.refuse(Syndrome::InvalidRequest, counters);
            return false;
        }
        if packet.ends {
            receives.done.push_back(Received { id: receive.id, length: *filled });
            receives.filling = None;
        }
        true
    }

    /// The expected packet is a read.
    fn read(&mut self, header: &Header, counters: &mut Counters) {
        let Extension::Reth(reth) = header.extension else {
            self.refuse(Syndrome::InvalidRequest, counters);
            return;
        };
        if self.inside.is_some() {
            self.refuse(Syndrome::InvalidRequest, counters);
            return;
        }
        match self.reads.get_or_insert_default().answer(self.expected, reth.length, self.mtu) {
            Taken::Yes(count) => {
                self.msn = (self.msn + 1) & MSN_MASK;
                self.advance(count);
            }
            Taken::Full => counters.ignored += 1,
            Taken::TooLong => self.refuse(Syndrome::InvalidRequest, counters),
        }
    }

    fn refuse(&mut self, syndrome: Syndrome, counters: &mut Counters) {
        counters.refused += 1;
        self.nak = Some(Nak { syndrome, arrived: Psn::new(0) });
    }

    #[inline]
    fn advance(&mut self, count: u64) {
        self.expected += count;
        if let Some(reorder) = &mut self.reorder {
            reorder.advance(count);
        }
    }

    /// Accepts what was kept and is now in order. Filling a gap is always acknowledged: the sender
    /// is waiting to hear that it is closed.
    fn accept_early(&mut self, config: &QpConfig, counters: &mut Counters) {
        while let Some(packet) = self.reorder.as_mut().and_then(|reorder| reorder.take_expected()) {
            self.owes_ack = true;
            if !self.accept(packet, config, counters) {
                return;
            }
        }
    }

    /// A packet with others missing before it.
    #[cold]
    fn early(
        &mut self,
        now: Instant,
        number: u64,
        header: &Header,
        config: &QpConfig,
        counters: &mut Counters,
    ) {
        counters.out_of_sequence += 1;
        let ahead = number - self.expected;
        let mut kept = false;
        if let Some(reorder) = &mut self.reorder {
            // A read that comes early is not kept: the sender repeats it like a lost packet.
            if header.opcode.operation() != Operation::ReadRequest {
                let new = reorder.keep(ahead, Piece::of(header));
                counters.duplicates += u64::from(new == Some(false));
                kept = new.is_some();
            }
        }
        let repeated =
            self.nak_for == self.expected && now.since(self.nak_at) < config.nak_interval;
        if !kept && repeated {
            return;
        }
        self.nak_for = self.expected;
        self.nak_at = now;
        counters.naks_sent += 1;
        let syndrome = if kept { Syndrome::SelectiveNak } else { Syndrome::SequenceError };
        self.nak = Some(Nak { syndrome, arrived: header.psn });
    }

    /// A packet that was accepted before: its acknowledgement or its data may have been lost.
    #[cold]
    fn late(&mut self, number: u64, header: &Header, counters: &mut Counters) {
        counters.duplicates += 1;
        match header.extension {
            Extension::Reth(reth) if header.opcode == Opcode::ReadRequest => {
                let count = Reads::numbers(reth.length, self.mtu);
                if number + count <= self.expected {
                    self.reads.get_or_insert_default().answer(number, reth.length, self.mtu);
                } else {
                    counters.ignored += 1;
                }
            }
            _ => self.owes_ack = true,
        }
    }

    /// An acknowledgement or NAK to be sent.
    #[inline]
    pub(crate) fn poll_control(&mut self, counters: &mut Counters) -> Option<Header> {
        if let Some(nak) = self.nak.take() {
            let selective = nak.syndrome == Syndrome::SelectiveNak;
            let msn = if selective { nak.arrived.get() } else { self.msn };
            return Some(self.acknowledgement(self.expected, Aeth { syndrome: nak.syndrome, msn }));
        }
        if !self.owes_ack {
            return None;
        }
        self.owes_ack = false;
        counters.acks_sent += 1;
        let aeth = Aeth { syndrome: Syndrome::Ack { credits: NO_CREDITS }, msn: self.msn };
        Some(self.acknowledgement(self.expected - 1, aeth))
    }

    #[inline]
    fn acknowledgement(&mut self, number: u64, aeth: Aeth) -> Header {
        Header {
            service: Service::Reliable,
            opcode: Opcode::Acknowledge,
            ack_request: false,
            becn: std::mem::take(&mut self.echo),
            dest_qp: self.peer,
            psn: sequence::psn(number),
            extension: Extension::Aeth(aeth),
            payload: 0,
        }
    }
}
