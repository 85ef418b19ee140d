//! The receiving half: accepts requests in order, and says so.

use crate::config::{QpConfig, Recovery};
use crate::counters::Counters;
use crate::discard::Discard;
use crate::host::{Host, Receive, Source, Target};
use crate::inbound::Inbound;
use crate::message::mtu;
use crate::reads::Reads;
use crate::rnr;
use crate::selective::{Piece, Reorder};
use crate::sequence;
use crate::work::{Received, Status};
use xoff_units::Instant;
use xoff_wire::{Aeth, Extension, Header, Opcode, Operation, Psn, Qpn, Service, Syndrome};

/// Message sequence numbers have 24 bits.
const MSN_MASK: u32 = 0x00ff_ffff;
/// The credit code that says that end-to-end credits are not in use.
const NO_CREDITS: u8 = 0x1f;

/// Most lost packets that are asked for after one that came. The next ones that come ask for more.
const ASKS: u8 = 2;

/// A NAK to be sent.
#[derive(Debug, Clone, Copy)]
struct Nak {
    syndrome: Syndrome,
    /// With selective repeat, the packet that arrived.
    arrived: Psn,
}

impl Nak {
    /// Whether it ends the connection, instead of requesting packets.
    fn is_final(self) -> bool {
        matches!(
            self.syndrome,
            Syndrome::InvalidRequest
                | Syndrome::RemoteAccessError
                | Syndrome::RemoteOperationalError
        )
    }
}

/// A request was refused for good: the queue pair has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

/// State of the receiving half.
#[derive(Debug, Clone)]
pub(crate) struct Responder {
    /// The packet that comes next.
    pub(crate) expected: u64,
    delivered: u64,
    /// The expected packet of the last NAK.
    nak_for: u64,
    /// When the last NAK was made.
    nak_at: Instant,
    /// The NAK to be sent.
    nak: Option<Nak>,
    /// Reads being answered; boxed, because most queue pairs are never read from.
    pub(crate) reads: Option<Box<Reads>>,
    reorder: Option<Box<Reorder>>,
    /// How many lost packets may be asked for until the next packet comes.
    asks: u8,
    /// Where messages go; boxed, because without memory there is nothing to keep.
    inbound: Option<Box<Inbound>>,
    msn: u32,
    pub(crate) mtu: u32,
    peer: Qpn,
    /// The message being received is a send (or a write); nothing between messages.
    pub(crate) inside: Option<bool>,
    owes_ack: bool,
    /// A marked packet came since the last acknowledgement.
    echo: bool,
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
            reorder: (config.recovery != Recovery::GoBackN).then(|| Box::new(Reorder::new(config))),
            asks: 0,
            inbound: None,
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

    pub(crate) fn poll_receive(&mut self) -> Option<Received> {
        self.inbound.as_mut()?.poll_receive()
    }

    /// Ends a receive that is not needed any more.
    pub(crate) fn end_receive(&mut self, receive: Receive, status: Status) {
        self.inbound.get_or_insert_default().end(receive, status);
    }

    /// The queue pair has failed: the receive in use ends, and nothing more is answered than what
    /// comes before a NAK.
    pub(crate) fn flush(&mut self) {
        if let Some(inbound) = &mut self.inbound {
            inbound.flush(Status::Flushed);
        }
        self.inside = None;
        self.owes_ack = false;
        if self.nak.is_none() {
            self.reads = None;
        }
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
        let header = self.reads.as_mut()?.transmit(self.mtu, self.msn, self.peer);
        // The last answer says as much as an acknowledgement would, except that of a mark.
        let last = sequence::psn(self.expected - 1);
        if !self.echo && header.is_some_and(|header| header.psn == last) {
            self.owes_ack = false;
        }
        header
    }

    /// Where the payload of the last packet of data comes from.
    pub(crate) fn source(&self) -> Source {
        self.reads.as_ref().map_or(Source::Nothing, |reads| reads.source())
    }

    pub(crate) fn is_idle(&self) -> bool {
        !self.has_data() && !self.owes_ack && self.asks == 0 && self.nak.is_none()
    }

    /// A packet of a send or write arrived. Says where its payload goes.
    #[inline]
    pub(crate) fn request<H: Host>(
        &mut self,
        now: Instant,
        header: &Header,
        config: &QpConfig,
        counters: &mut Counters,
        host: &mut H,
    ) -> Result<Target, Refused> {
        let number = sequence::near(self.expected, header.psn);
        if number > self.expected {
            self.early::<H>(now, number, header, config, counters);
            return Ok(Target::Nowhere);
        }
        if number < self.expected {
            self.late(counters);
            return Ok(Target::Nowhere);
        }
        let packet = Piece::of(header);
        let mut target = Target::Nowhere;
        if let Err(reason) = self.follows(packet) {
            return Err(self.refuse(reason, counters));
        }
        if H::REAL {
            match self.inbound.get_or_insert_default().place(header, host) {
                Ok(place) => target = place,
                Err(Discard::NoReceive) => {
                    self.not_ready(now, config, counters);
                    return Ok(Target::Nowhere);
                }
                Err(reason) => return Err(self.refuse(reason, counters)),
            }
        }
        self.owes_ack |= header.ack_request;
        if let Some(reorder) = &self.reorder {
            // The sender of a packet that was asked for waits to hear that it came.
            self.owes_ack |= reorder.has_asked_for(self.expected);
        }
        self.accept(packet);
        if self.reorder.is_some() {
            self.accept_early(counters)?;
        }
        self.check_invariants();
        Ok(target)
    }

    /// Whether a packet of a send or write is one that can come next.
    #[inline]
    fn follows(&self, packet: Piece) -> Result<(), Discard> {
        let fits =
            if packet.ends { packet.payload <= self.mtu } else { packet.payload == self.mtu };
        let follows = match self.inside {
            None => packet.begins,
            Some(send) => !packet.begins && send == packet.send,
        };
        if !follows {
            return Err(Discard::OutOfOrderOpcode);
        }
        if fits { Ok(()) } else { Err(Discard::BadLength) }
    }

    /// Takes the expected packet, of a send or write.
    #[inline]
    fn accept(&mut self, packet: Piece) {
        self.delivered += u64::from(packet.payload);
        self.inside = if packet.ends { None } else { Some(packet.send) };
        self.complete(packet.ends);
        self.advance(1);
    }

    /// Counts a message of the peer, if it is all there.
    #[inline]
    pub(crate) fn complete(&mut self, ends: bool) {
        self.msn = (self.msn + u32::from(ends)) & MSN_MASK;
    }

    /// No receive is posted for the expected packet. What follows it cannot be taken either, which
    /// needs no NAK of its own.
    #[cold]
    fn not_ready(&mut self, now: Instant, config: &QpConfig, counters: &mut Counters) {
        counters.rnr_sent += 1;
        counters.discards.count(Discard::NoReceive);
        self.nak_for = self.expected;
        self.nak_at = now;
        let timer = rnr::code(config.rnr_delay);
        self.nak = Some(Nak { syndrome: Syndrome::RnrNak { timer }, arrived: Psn::new(0) });
    }

    /// The expected packet cannot be carried out, now or ever.
    #[cold]
    pub(crate) fn refuse(&mut self, reason: Discard, counters: &mut Counters) -> Refused {
        counters.refuse(reason);
        let syndrome = match reason {
            Discard::AccessDenied => Syndrome::RemoteAccessError,
            _ => Syndrome::InvalidRequest,
        };
        self.nak = Some(Nak { syndrome, arrived: Psn::new(0) });
        if let (Discard::ReceiveTooShort, Some(inbound)) = (reason, &mut self.inbound) {
            inbound.flush(Status::LocalLength);
        }
        Refused
    }

    #[inline]
    pub(crate) fn advance(&mut self, count: u64) {
        self.expected += count;
        if let Some(reorder) = &mut self.reorder {
            reorder.advance(count);
        }
    }

    /// Accepts what was kept and is now in order. Filling a gap that the sender has heard of is always acknowledged: it
    /// is waiting to hear that it is closed.
    pub(crate) fn accept_early(&mut self, counters: &mut Counters) -> Result<(), Refused> {
        let quiet = self.reorder.as_ref().is_some_and(|reorder| reorder.is_quiet());
        while let Some(packet) = self.reorder.as_mut().and_then(|reorder| reorder.take_expected()) {
            self.owes_ack |= packet.asks || !quiet;
            if let Err(reason) = self.follows(packet) {
                return Err(self.refuse(reason, counters));
            }
            self.accept(packet);
        }
        if self.reorder.as_ref().is_some_and(|reorder| reorder.has_lost(self.expected)) {
            self.asks = ASKS;
        }
        Ok(())
    }

    /// A packet with others missing before it. On fabrics that spray most are.
    #[inline(never)]
    pub(crate) fn early<H: Host>(
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
            // A read or atomic that comes early is not kept: the sender repeats it like a lost
            // packet. So does it with payload that would have to be put into memory, because only
            // the first packet of its message says where.
            let data = matches!(header.opcode.operation(), Operation::Send | Operation::Write);
            if data && !H::REAL {
                let new = reorder.keep(ahead, Piece::of(header));
                counters.duplicates += u64::from(new == Some(false));
                kept = new.is_some();
            }
        }
        let lately = now.since(self.nak_at) < config.nak_interval;
        if let Some(reorder) = self.reorder.as_mut().filter(|reorder| kept && reorder.is_quiet()) {
            if reorder.has_asked_for(self.expected) && !lately {
                reorder.ask_again();
            }
            if reorder.overtaken_by(number, self.expected) {
                (self.asks, self.nak_at) = (ASKS, now);
            }
            return;
        }
        let repeated = self.nak_for == self.expected && lately;
        if !kept && repeated {
            return;
        }
        self.nak_for = self.expected;
        self.nak_at = now;
        counters.naks_sent += 1;
        let syndrome = if kept { Syndrome::SelectiveNak } else { Syndrome::SequenceError };
        self.nak = Some(Nak { syndrome, arrived: header.psn });
    }

    /// Only the header of a packet arrived: requests that packet again, immediately and nothing
    /// else.
    #[cold]
    pub(crate) fn trimmed(&mut self, now: Instant, header: &Header, counters: &mut Counters) {
        let number = sequence::near(self.expected, header.psn);
        if number < self.expected {
            return self.late(counters);
        }
        let kept = |reorder: &Reorder| reorder.has(number - self.expected);
        if self.reorder.as_deref().is_some_and(kept) {
            return;
        }
        self.nak_for = self.expected;
        self.nak_at = now;
        counters.naks_sent += 1;
        self.nak = Some(Nak { syndrome: Syndrome::Trimmed, arrived: header.psn });
    }

    /// A packet that was accepted before: its acknowledgement may have been lost.
    #[cold]
    fn late(&mut self, counters: &mut Counters) {
        counters.duplicates += 1;
        self.owes_ack = true;
    }

    /// An acknowledgement or NAK to be sent. While data of a read goes before it, it waits: a peer
    /// may take answers that are out of order for lost ones (IBTA 9.7.5.1.1).
    #[inline]
    pub(crate) fn poll_control(&mut self, counters: &mut Counters) -> Option<Header> {
        if (self.nak.is_none() && !self.owes_ack && self.asks == 0) || self.has_data() {
            return None;
        }
        if let Some(nak) = self.nak.take()
            && (self.nak_for == self.expected || nak.is_final())
        {
            let selective = matches!(nak.syndrome, Syndrome::SelectiveNak | Syndrome::Trimmed);
            let msn = if selective { nak.arrived.get() } else { self.msn };
            return Some(self.acknowledgement(self.expected, Aeth { syndrome: nak.syndrome, msn }));
        }
        if self.asks > 0 {
            let expected = self.expected;
            if let Some(number) = self.reorder.as_mut().and_then(|own| own.next_lost(expected)) {
                counters.naks_sent += 1;
                self.asks -= 1;
                // It says what an acknowledgement would.
                self.owes_ack = false;
                let msn = sequence::psn(number).get();
                return Some(
                    self.acknowledgement(expected, Aeth { syndrome: Syndrome::Missing, msn }),
                );
            }
            self.asks = 0;
            if !self.owes_ack {
                return None;
            }
        }
        // If there was a NAK, the packet that it reports missing came while it waited.
        self.owes_ack = false;
        counters.acks_sent += 1;
        let aeth = Aeth { syndrome: Syndrome::Ack { credits: NO_CREDITS }, msn: self.msn };
        Some(self.acknowledgement(self.expected - 1, aeth))
    }

    /// What holds after every request that was accepted.
    #[inline(always)]
    pub(crate) fn check_invariants(&self) {
        debug_assert!(self.msn <= MSN_MASK, "a message number of more than 24 bits");
        debug_assert!(
            self.reorder.as_deref().is_none_or(|reorder| !reorder.has(0)),
            "the expected packet is here and was not taken"
        );
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
