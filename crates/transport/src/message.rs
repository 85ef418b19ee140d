//! A posted message and how it is cut into packets.

use crate::config::QpConfig;
use crate::sequence;
use crate::work::{Verb, WorkRequest};
use xoff_wire::{Extension, Header, Opcode, Operation, Position, Qpn, Reth, Rkey, Service};

/// Data packets one read request asks for; longer reads ask several times.
const READ_CHUNK: u64 = 1 << 20;

/// A message that is posted and not completed.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: u64,
    address: u64,
    /// Its first packet, and one beyond its last.
    pub(crate) first: u64,
    pub(crate) end: u64,
    /// Payload bytes of all messages before it.
    bytes_before: u64,
    rkey: Rkey,
    length: u32,
    pub(crate) verb: Verb,
}

impl Message {
    /// The message of `work`, whose first packet is `first`. Its length is known to fit.
    pub(crate) fn new(work: &WorkRequest, first: u64, bytes_before: u64, mtu: u32) -> Self {
        let length = u32::try_from(work.length.get()).unwrap_or(u32::MAX);
        Self {
            id: work.id,
            address: work.address,
            first,
            end: first + packets(length, mtu),
            bytes_before,
            rkey: work.rkey,
            length,
            verb: work.operation,
        }
    }

    /// The packet with this number, and how many numbers it covers.
    #[inline]
    pub(crate) fn packet(&self, number: u64, mtu: u32, peer: Qpn) -> (Header, u64) {
        let index = number - self.first;
        let offset = self.offset(index, mtu);
        let mut header = Header {
            service: Service::Reliable,
            opcode: Opcode::ReadRequest,
            ack_request: false,
            becn: false,
            dest_qp: peer,
            psn: sequence::psn(number),
            extension: Extension::None,
            payload: 0,
        };
        let reth = |length| {
            let address = self.address.wrapping_add(u64::from(offset));
            Extension::Reth(Reth { address, rkey: self.rkey, length })
        };
        if self.verb == Verb::Read {
            // Requests end where the first request of that part did, so that one which is repeated
            // never asks for more than the peer has seen.
            let last = self.end.min(self.first + (index / READ_CHUNK + 1) * READ_CHUNK);
            header.extension = reth(self.offset(last - self.first, mtu) - offset);
            return (header, last - number);
        }
        let operation = if self.verb == Verb::Write { Operation::Write } else { Operation::Send };
        let position = Position::of(index == 0, number + 1 == self.end);
        header.opcode = Opcode::new(operation, position);
        header.payload = mtu.min(self.length - offset);
        if header.opcode.has_reth() {
            header.extension = reth(self.length);
        }
        (header, 1)
    }

    /// Payload bytes before the message's packet `index`.
    #[inline]
    fn offset(&self, index: u64, mtu: u32) -> u32 {
        (index * u64::from(mtu)).min(u64::from(self.length)) as u32
    }

    /// Length of the message's packet with this number.
    pub(crate) fn payload_of(&self, number: u64, mtu: u32) -> u32 {
        mtu.min(self.length - self.offset(number - self.first, mtu))
    }

    /// Payload bytes we send before `number`; the data of a read is not ours.
    #[inline]
    pub(crate) fn bytes_to(&self, number: u64, mtu: u32) -> u64 {
        if self.verb == Verb::Read {
            return self.bytes_before;
        }
        self.bytes_before + u64::from(self.offset(number.saturating_sub(self.first), mtu))
    }

    /// Payload bytes we send up to the end of the message.
    pub(crate) fn bytes_after(&self) -> u64 {
        let own = if self.verb == Verb::Read { 0 } else { self.length };
        self.bytes_before + u64::from(own)
    }
}

/// Packets of a message: an empty one takes one, too.
pub(crate) fn packets(length: u32, mtu: u32) -> u64 {
    u64::from(length.div_ceil(mtu)).max(1)
}

/// The MTU as the arithmetic wants it, whatever a file says.
pub(crate) fn mtu(config: &QpConfig) -> u32 {
    config.mtu.get().clamp(1, 1 << 16) as u32
}
