//! A posted message and how it is cut into packets.

use crate::config::QpConfig;
use crate::discard::Discard;
use crate::host::{Atomic, Source, Target};
use crate::sequence;
use crate::work::{MAX_MESSAGE, Verb, WorkRequest};
use xoff_wire::{Extension, Header, Opcode, Operation, Position, Qpn, Reth, Rkey, Service};

/// Most data packets of one read request; longer reads take several requests.
const READ_CHUNK: u64 = 1 << 20;

/// A message that is posted and not completed.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: u64,
    address: u64,
    /// The number of its first packet.
    pub(crate) first: u64,
    /// One beyond the number of its last packet.
    pub(crate) end: u64,
    /// Payload bytes of all messages before it.
    bytes_before: u64,
    rkey: Rkey,
    length: u32,
    // What follows from the verb, kept beside it because matching it for every packet is slow.
    /// The answer is more than an acknowledgement: a read or an atomic.
    pub(crate) fetches: bool,
    /// It is a write, with or without immediate data.
    writes: bool,
    /// Its last packet carries more than payload.
    decorated: bool,
    verb: Verb,
    /// What an atomic operation found.
    pub(crate) before: u64,
}

impl Message {
    /// The message of `work`, whose first packet is `first`. Its length is known to fit.
    pub(crate) fn new(work: &WorkRequest, first: u64, bytes_before: u64, mtu: u32) -> Self {
        // An atomic has no payload of its own, and its answer takes one number like an empty
        // message.
        let atomic = matches!(work.operation, Verb::Atomic(_));
        assert!(work.length <= MAX_MESSAGE, "a message of {} was not refused", work.length);
        let length = if atomic { 0 } else { work.length.get() as u32 };
        Self {
            id: work.id,
            address: work.address,
            first,
            end: first + packets(length, mtu),
            bytes_before,
            rkey: work.rkey,
            length,
            fetches: work.operation.fetches(),
            writes: work.operation.writes(),
            decorated: !matches!(work.operation, Verb::Write | Verb::Send | Verb::Read),
            verb: work.operation,
            before: 0,
        }
    }

    /// The packet with this number and how many numbers it covers.
    #[inline]
    pub(crate) fn packet(&self, number: u64, mtu: u32, peer: Qpn) -> (Header, u64) {
        debug_assert!(
            self.first <= number && number < self.end,
            "packet {number} is not of the message from {} to {}",
            self.first,
            self.end,
        );
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
        if self.fetches {
            return self.fetch(header, index, mtu);
        }
        let operation = if self.writes { Operation::Write } else { Operation::Send };
        let ends = number + 1 == self.end;
        header.opcode = Opcode::new(operation, Position::of(index == 0, ends));
        header.payload = mtu.min(self.length - offset);
        if header.opcode.has_reth() {
            let reth = Reth { address: self.address, rkey: self.rkey, length: self.length };
            header.extension = Extension::Reth(reth);
        }
        if self.decorated && ends {
            self.decorate(&mut header);
        }
        (header, 1)
    }

    /// The request of a read or an atomic, and how many numbers it covers.
    fn fetch(&self, mut header: Header, index: u64, mtu: u32) -> (Header, u64) {
        if let Verb::Atomic(operation) = self.verb {
            let (opcode, operand, compare) = match operation {
                Atomic::CompareSwap { compare, swap } => (Opcode::CompareSwap, swap, compare),
                Atomic::FetchAdd { add } => (Opcode::FetchAdd, add, 0),
            };
            let (address, rkey) = (self.address, self.rkey);
            header.opcode = opcode;
            header.extension = Extension::Atomic { address, rkey, operand, compare };
            return (header, 1);
        }
        // A repeated request ends where the first request of that part did: one that reached beyond
        // what the peer has seen would look to it like a request outside its window.
        let numbers = self.end - self.first;
        let last = numbers.min((index / READ_CHUNK + 1) * READ_CHUNK);
        let offset = self.offset(index, mtu);
        header.extension = Extension::Reth(Reth {
            address: self.address.wrapping_add(u64::from(offset)),
            rkey: self.rkey,
            length: self.offset(last, mtu) - offset,
        });
        (header, last - index)
    }

    /// Adds what the last packet of some messages carries beside its payload.
    #[cold]
    fn decorate(&self, header: &mut Header) {
        match self.verb {
            Verb::WriteImmediate(immediate) | Verb::SendImmediate(immediate) => {
                header.opcode = header.opcode.with_immediate().unwrap_or(header.opcode);
                header.extension = match header.extension {
                    Extension::Reth(reth) => Extension::RethImm(reth, immediate),
                    _ => Extension::Imm(immediate),
                };
            }
            Verb::SendInvalidate(key) => {
                header.opcode = match header.opcode {
                    Opcode::SendOnly => Opcode::SendOnlyInvalidate,
                    _ => Opcode::SendLastInvalidate,
                };
                header.extension = Extension::Ieth(key);
            }
            Verb::Write | Verb::Send | Verb::Read | Verb::Atomic(_) => {}
        }
    }

    /// Whether its only packet differs from `last`, the only one of another message, in its number and address alone.
    /// `key` is that of the peer's memory, if `last` is a write.
    #[inline]
    pub(crate) fn is_like(&self, last: &Header, key: Option<Rkey>) -> bool {
        !self.fetches
            && !self.decorated
            && self.length == last.payload
            && self.end == self.first + 1
            && self.writes == key.is_some()
            && key.is_none_or(|key| key == self.rkey)
    }

    /// Its name, and where it goes at the peer.
    #[inline]
    pub(crate) fn name_and_address(&self) -> (u64, u64) {
        (self.id, self.address)
    }

    /// Where the payload of the packet with this number comes from.
    pub(crate) fn source(&self, number: u64, mtu: u32) -> Source {
        if self.fetches || self.payload_of(number, mtu) == 0 {
            return Source::Nothing;
        }
        Source::Work { id: self.id, offset: self.offset_of(number, mtu) }
    }

    /// Takes the answer to a read or atomic: the packet with this number. Says where its data goes.
    pub(crate) fn answered_by(
        &mut self,
        number: u64,
        header: &Header,
        mtu: u32,
    ) -> Result<Target, Discard> {
        match (self.verb, header.extension) {
            (Verb::Atomic(_), Extension::AtomicAck(_, before))
                if header.opcode == Opcode::AtomicAcknowledge =>
            {
                self.before = before;
                Ok(Target::Nowhere)
            }
            (Verb::Read, _) if header.opcode.operation() == Operation::ReadResponse => {
                if header.payload != self.payload_of(number, mtu) {
                    return Err(Discard::BadLength);
                }
                let offset = self.offset_of(number, mtu);
                let nothing = header.payload == 0;
                Ok(if nothing { Target::Nowhere } else { Target::Read { id: self.id, offset } })
            }
            _ => Err(Discard::Unsolicited),
        }
    }

    /// Payload bytes of the message before this number.
    pub(crate) fn offset_of(&self, number: u64, mtu: u32) -> u64 {
        u64::from(self.offset(number.saturating_sub(self.first), mtu))
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
        if self.fetches {
            return self.bytes_before;
        }
        self.bytes_before + u64::from(self.offset(number.saturating_sub(self.first), mtu))
    }

    /// Payload bytes we send up to the end of the message.
    pub(crate) fn bytes_after(&self) -> u64 {
        let own = if self.fetches { 0 } else { self.length };
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
