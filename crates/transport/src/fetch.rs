//! The receiving half's reads and atomics: requests whose answer is more than an acknowledgement.

use crate::config::QpConfig;
use crate::counters::Counters;
use crate::discard::Discard;
use crate::host::{Atomic, Host};
use crate::memory::{Access, Placement};
use crate::reads::{Reads, Taken};
use crate::responder::{Refused, Responder};
use crate::sequence;
use xoff_units::{Bytes, Instant};
use xoff_wire::{Extension, Header, Opcode, Operation, Reth, Rkey};

/// Bytes an atomic operation works on.
const ATOMIC_BYTES: u64 = 8;

impl Responder {
    /// A read or atomic arrived.
    pub(crate) fn fetch<H: Host>(
        &mut self,
        now: Instant,
        header: &Header,
        config: &QpConfig,
        counters: &mut Counters,
        host: &mut H,
    ) -> Result<(), Refused> {
        let number = sequence::near(self.expected, header.psn);
        if number > self.expected {
            self.early::<H>(now, number, header, config, counters);
            return Ok(());
        }
        if number < self.expected {
            self.fetch_again(number, header, counters, host);
            return Ok(());
        }
        let taken = if self.inside.is_some() {
            Err(Discard::OutOfOrderOpcode)
        } else if header.opcode.operation() == Operation::Atomic {
            self.atomic(header, host)
        } else {
            self.read(header, host)
        };
        match taken {
            Ok(count) => {
                self.complete(true);
                self.advance(count);
                self.accept_early(counters)?;
                self.check_invariants();
                Ok(())
            }
            // No NAK: none says "later". The peer repeats the request when its timer is due.
            Err(Discard::TooManyReads) => {
                counters.ignore(Discard::TooManyReads);
                Ok(())
            }
            Err(reason) => Err(self.refuse(reason, counters)),
        }
    }

    /// The expected packet is a read. Says how many numbers it takes.
    fn read<H: Host>(&mut self, header: &Header, host: &mut H) -> Result<u64, Discard> {
        let Extension::Reth(reth) = header.extension else { return Err(Discard::Malformed) };
        may_read(reth, host)?;
        match self.reads.get_or_insert_default().answer(self.expected, reth, self.mtu) {
            Taken::Yes(count) => Ok(count),
            Taken::Full => Err(Discard::TooManyReads),
            Taken::TooLong => Err(Discard::BadLength),
        }
    }

    /// The expected packet is an atomic: it is carried out, and its result kept.
    fn atomic<H: Host>(&mut self, header: &Header, host: &mut H) -> Result<u64, Discard> {
        let Extension::Atomic { address, rkey, operand, compare } = header.extension else {
            return Err(Discard::Malformed);
        };
        let operation = match header.opcode {
            Opcode::CompareSwap => Atomic::CompareSwap { compare, swap: operand },
            _ => Atomic::FetchAdd { add: operand },
        };
        if !address.is_multiple_of(ATOMIC_BYTES) {
            return Err(Discard::Misaligned);
        }
        let reads = self.reads.get_or_insert_default();
        if !reads.has_room() {
            return Err(Discard::TooManyReads);
        }
        let mut before = 0;
        if H::REAL {
            let place = allowed(host, rkey, address, ATOMIC_BYTES, Access::REMOTE_ATOMIC)?;
            before = host.atomic(place, operation);
        }
        reads.found(self.expected, before);
        Ok(1)
    }

    /// A read or atomic that was accepted before: its answer may have been lost. An atomic is not
    /// carried out again. What may not be answered (any more) is dropped and counted.
    #[cold]
    fn fetch_again<H: Host>(
        &mut self,
        number: u64,
        header: &Header,
        counters: &mut Counters,
        host: &mut H,
    ) {
        counters.duplicates += 1;
        let reads = self.reads.get_or_insert_default();
        let answered = match header.extension {
            Extension::Reth(reth) if header.opcode == Opcode::ReadRequest => {
                let count = Reads::numbers(reth.length, self.mtu);
                if number + count > self.expected {
                    Err(Discard::OutsideWindow)
                } else {
                    may_read(reth, host).and_then(|()| match reads.answer(number, reth, self.mtu) {
                        Taken::Yes(_) => Ok(()),
                        Taken::Full => Err(Discard::TooManyReads),
                        Taken::TooLong => Err(Discard::BadLength),
                    })
                }
            }
            Extension::Atomic { .. } if header.opcode != Opcode::ReadRequest => {
                if reads.found_before(number) { Ok(()) } else { Err(Discard::Forgotten) }
            }
            _ => Err(Discard::Malformed),
        };
        if let Err(reason) = answered {
            counters.ignore(reason);
        }
    }

    /// The bytes of the read that is answered with packet `number` are gone: it and everything
    /// after it is refused.
    pub(crate) fn withdraw(&mut self, number: u64, counters: &mut Counters) -> Refused {
        assert!(
            number < self.expected,
            "the answer {number} is withdrawn, and the next request is {}",
            self.expected,
        );
        if let Some(reads) = &mut self.reads {
            reads.cancel_from(number);
        }
        self.expected = number;
        self.refuse(Discard::AccessDenied, counters)
    }
}

/// Whether the peer may read this.
fn may_read<H: Host>(reth: Reth, host: &mut H) -> Result<(), Discard> {
    if H::REAL && reth.length > 0 {
        let length = reth.length.into();
        allowed(host, reth.rkey, reth.address, length, Access::REMOTE_READ)?;
    }
    Ok(())
}

fn allowed<H: Host>(
    host: &mut H,
    key: Rkey,
    address: u64,
    length: u64,
    access: Access,
) -> Result<Placement, Discard> {
    host.check(key, address, Bytes::new(length), access).map_err(|_| Discard::AccessDenied)
}
