//! Messages that arrive into real memory: where each packet's payload goes, and what ends receives.

use crate::discard::Discard;
use crate::host::{Host, Receive, Target};
use crate::memory::Access;
use crate::work::{MAX_MESSAGE, Received, ReceivedKind, Status};
use std::collections::VecDeque;
use xoff_units::Bytes;
use xoff_wire::{Extension, Header, Immediate, Opcode, Operation, Reth, Rkey};

/// Sends and writes under way, and the receives they ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inbound {
    write: WriteUnderWay,
    /// The receive being filled, and its bytes so far.
    filling: Option<Receive>,
    filled: u64,
    done: VecDeque<Received>,
}

/// The write that is arriving.
#[derive(Debug, Clone, Copy, Default)]
struct WriteUnderWay {
    key: Rkey,
    /// Where its next packet goes.
    address: u64,
    length: u32,
    /// Bytes still to come.
    left: u32,
}

impl Inbound {
    /// Finds the place for a packet of a send or write that is next in its message. If there is
    /// none, the message goes on from the same packet or not at all.
    pub(crate) fn place<H: Host>(
        &mut self,
        header: &Header,
        host: &mut H,
    ) -> Result<Target, Discard> {
        if header.opcode.operation() == Operation::Write {
            self.place_write(header, host)
        } else {
            self.place_send(header, host)
        }
    }

    fn place_write<H: Host>(&mut self, header: &Header, host: &mut H) -> Result<Target, Discard> {
        let position = header.opcode.position();
        let mut write = self.write;
        // All of it has to be allowed before any of it is written. Later packets are checked again:
        // the region may be gone by then.
        let mut extent = header.payload;
        if position.begins() {
            let reth = reth_of(header)?;
            extent = reth.length;
            let (key, address, length) = (reth.rkey, reth.address, reth.length);
            write = WriteUnderWay { key, address, length, left: length };
        }
        let fits = match write.left.checked_sub(header.payload) {
            Some(left) => (left == 0) == position.ends(),
            None => false,
        };
        if !fits || u64::from(write.length) > MAX_MESSAGE.get() {
            return Err(Discard::BadLength);
        }
        let mut target = Target::Nowhere;
        if extent > 0 {
            let length = Bytes::new(extent.into());
            let access = Access::REMOTE_WRITE;
            let place = host.check(write.key, write.address, length, access);
            target = Target::Region(place.map_err(|_| Discard::AccessDenied)?);
        }
        if header.opcode.has_immediate() {
            let immediate = immediate_of(header)?;
            let receive = self.next_receive(host)?;
            self.done.push_back(Received {
                kind: ReceivedKind::Write,
                immediate: Some(immediate),
                ..Received::sent(receive.id, Bytes::new(write.length.into()))
            });
        }
        write.address = write.address.wrapping_add(header.payload.into());
        write.left -= header.payload;
        self.write = write;
        Ok(target)
    }

    fn place_send<H: Host>(&mut self, header: &Header, host: &mut H) -> Result<Target, Discard> {
        let position = header.opcode.position();
        if position.begins() {
            self.filling = Some(self.next_receive(host)?);
            self.filled = 0;
        }
        let receive = self.filling.ok_or(Discard::OutOfOrderOpcode)?;
        let offset = self.filled;
        let filled = offset + u64::from(header.payload);
        if filled > receive.length.get() {
            return Err(Discard::ReceiveTooShort);
        }
        if position.ends() {
            let mut received = Received::sent(receive.id, Bytes::new(filled));
            if header.opcode.has_immediate() {
                received.immediate = Some(immediate_of(header)?);
            }
            if header.opcode.has_invalidate() {
                received.invalidated = Some(invalidate(header, host)?);
            }
            self.done.push_back(received);
            self.filling = None;
        }
        self.filled = filled;
        let nothing = header.payload == 0;
        Ok(if nothing { Target::Nowhere } else { Target::Receive { id: receive.id, offset } })
    }

    /// A datagram: all of it is in this packet, and goes into the receive at `offset`.
    pub(crate) fn place_datagram<H: Host>(
        &mut self,
        header: &Header,
        offset: u64,
        host: &mut H,
    ) -> Result<Target, Discard> {
        let (deth, immediate) = match header.extension {
            Extension::Deth(deth) if header.opcode == Opcode::SendOnly => (deth, None),
            Extension::DethImm(deth, immediate) if header.opcode == Opcode::SendOnlyImm => {
                (deth, Some(immediate))
            }
            _ => return Err(Discard::Malformed),
        };
        // One that does not fit costs no receive: the next may.
        let receive = self.next_receive(host)?;
        let length = offset.saturating_add(header.payload.into());
        if length > receive.length.get() {
            self.filling = Some(receive);
            return Err(Discard::ReceiveTooShort);
        }
        let received = Received::sent(receive.id, Bytes::new(length));
        self.done.push_back(Received { immediate, source: Some(deth.source), ..received });
        Ok(Target::Receive { id: receive.id, offset })
    }

    /// The receive for the message that begins: one that a lost message left over, or the next.
    fn next_receive<H: Host>(&mut self, host: &mut H) -> Result<Receive, Discard> {
        self.filling.take().or_else(|| host.take_receive()).ok_or(Discard::NoReceive)
    }

    /// The queue pair has failed: the receive in use ends, too.
    pub(crate) fn flush(&mut self, status: Status) {
        if let Some(receive) = self.filling.take() {
            self.done.push_back(Received::failed(receive.id, status));
        }
    }

    /// A receive that was not used ends.
    pub(crate) fn end(&mut self, receive: Receive, status: Status) {
        self.done.push_back(Received::failed(receive.id, status));
    }

    pub(crate) fn poll_receive(&mut self) -> Option<Received> {
        self.done.pop_front()
    }
}

fn reth_of(header: &Header) -> Result<Reth, Discard> {
    match header.extension {
        Extension::Reth(reth) | Extension::RethImm(reth, _) => Ok(reth),
        _ => Err(Discard::Malformed),
    }
}

fn immediate_of(header: &Header) -> Result<Immediate, Discard> {
    match header.extension {
        Extension::Imm(immediate) | Extension::RethImm(_, immediate) => Ok(immediate),
        _ => Err(Discard::Malformed),
    }
}

fn invalidate<H: Host>(header: &Header, host: &mut H) -> Result<Rkey, Discard> {
    let Extension::Ieth(key) = header.extension else { return Err(Discard::Malformed) };
    if host.invalidate(key) { Ok(key) } else { Err(Discard::AccessDenied) }
}
