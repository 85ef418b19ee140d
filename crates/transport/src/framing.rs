//! How long packets are.

use crate::config::Framing;
use xoff_units::Bytes;
use xoff_wire::{Extension, Header, Opcode, Operation};

/// The shortest Ethernet frame, with its checksum.
const MIN_FRAME: u32 = 64;
const RETH: u32 = 16;
const AETH: u32 = 4;
const CNP_RESERVED: u32 = 16;

impl Framing {
    /// Bytes the packet takes in buffers. On the wire [`Framing::gap`] comes on top of it.
    ///
    /// The Ethernet minimum holds where sizes are computed ([`Framing::ack`] zero); a profile that
    /// gives them exactly gets exactly those.
    #[inline]
    pub fn wire_len(&self, header: &Header, mtu: Bytes) -> u32 {
        let around = count(self.header);
        match header.opcode.operation() {
            Operation::Acknowledge => {
                let computed = around.saturating_add(if self.extensions { AETH } else { 0 });
                given_or(self.ack, computed)
            }
            Operation::Cnp => given_or(self.cnp, around.saturating_add(CNP_RESERVED)),
            _ => {
                let payload = if self.pad_last && header.opcode.has_payload() {
                    count(mtu)
                } else {
                    header.payload
                };
                let extension = if self.extensions { extension(header.opcode) } else { 0 };
                let len = around.saturating_add(payload).saturating_add(extension);
                if self.ack.is_zero() { len.max(MIN_FRAME) } else { len }
            }
        }
    }
}

/// The lengths of one configuration's data packets on the wire, prepared for the hot path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireTime {
    /// What is around every payload, with the gap.
    around: u32,
    /// Payloads shorter than this count as this.
    shortest: u32,
    /// Packets shorter than this count as this.
    least: u32,
    reth: u32,
    aeth: u32,
}

impl WireTime {
    pub(crate) fn of(framing: &Framing, mtu: Bytes) -> Self {
        let gap = count(framing.gap);
        let given = |len| if framing.extensions { len } else { 0 };
        Self {
            around: count(framing.header).saturating_add(gap),
            shortest: if framing.pad_last { count(mtu) } else { 0 },
            least: if framing.ack.is_zero() { MIN_FRAME.saturating_add(gap) } else { 0 },
            reth: given(RETH),
            aeth: given(AETH),
        }
    }

    /// [`Framing::wire_len`] and the gap, of a request or of data.
    #[inline]
    pub(crate) fn of_packet(&self, header: &Header) -> u32 {
        let (payload, extension) = match header.extension {
            Extension::None => (header.payload.max(self.shortest), 0),
            Extension::Reth(_) if header.opcode == Opcode::ReadRequest => (0, self.reth),
            Extension::Reth(_) => (header.payload.max(self.shortest), self.reth),
            Extension::Aeth(_) => (header.payload.max(self.shortest), self.aeth),
        };
        self.around.saturating_add(payload).saturating_add(extension).max(self.least)
    }
}

#[inline]
fn given_or(given: Bytes, computed: u32) -> u32 {
    if given.is_zero() { computed.max(MIN_FRAME) } else { count(given) }
}

#[inline]
fn extension(opcode: Opcode) -> u32 {
    if opcode.has_reth() {
        RETH
    } else if opcode.has_aeth() {
        AETH
    } else {
        0
    }
}

/// A size in a file may be any; one that does not fit is as large as can be.
#[inline]
fn count(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_wire::{Aeth, Psn, Qpn, Reth, Syndrome};

    const MTU: Bytes = Bytes::new(4096);

    fn packet(opcode: Opcode, payload: u32) -> Header {
        Header {
            opcode,
            ack_request: false,
            becn: false,
            dest_qp: Qpn::new(1),
            psn: Psn::new(0),
            extension: Extension::None,
            payload,
        }
    }

    #[test]
    fn real_frames() {
        let framing = Framing::default();
        let len = |opcode, payload| framing.wire_len(&packet(opcode, payload), MTU);
        assert_eq!(len(Opcode::WriteMiddle, 4096), 4158);
        assert_eq!(len(Opcode::WriteFirst, 4096), 4174);
        assert_eq!(len(Opcode::ReadResponseLast, 10), 76);
        assert_eq!(len(Opcode::ReadRequest, 0), 78);
        assert_eq!(len(Opcode::SendOnly, 0), 64);
        assert_eq!(len(Opcode::Acknowledge, 0), 66);
        assert_eq!(len(Opcode::Cnp, 0), 78);
    }

    #[test]
    fn a_profile_with_exact_sizes() {
        let framing = Framing {
            header: Bytes::new(48),
            ack: Bytes::new(60),
            cnp: Bytes::new(60),
            extensions: false,
            gap: Bytes::ZERO,
            pad_last: false,
        };
        let len = |opcode, payload| framing.wire_len(&packet(opcode, payload), Bytes::new(1000));
        assert_eq!(len(Opcode::WriteFirst, 1000), 1048);
        assert_eq!(len(Opcode::WriteLast, 3), 51);
        assert_eq!(len(Opcode::Acknowledge, 0), 60);
        let padded = Framing { pad_last: true, ..framing };
        assert_eq!(padded.wire_len(&packet(Opcode::WriteLast, 3), MTU), 4144);
        assert_eq!(padded.wire_len(&packet(Opcode::ReadRequest, 0), MTU), 48);
    }

    #[test]
    fn prepared_lengths_are_the_same() {
        let plain = Framing::default();
        let exact = Framing { ack: Bytes::new(60), extensions: false, ..plain };
        for framing in [plain, exact, Framing { pad_last: true, gap: Bytes::ZERO, ..plain }] {
            let prepared = WireTime::of(&framing, MTU);
            for opcode in Opcode::ALL {
                let payload = if opcode.has_payload() { 1 } else { 0 };
                let mut header = packet(opcode, payload);
                if opcode.has_reth() {
                    header.extension = Extension::Reth(Reth { address: 0, rkey: 0, length: 9 });
                } else if opcode.has_aeth() {
                    let syndrome = Syndrome::SequenceError;
                    header.extension = Extension::Aeth(Aeth { syndrome, msn: 0 });
                }
                if !matches!(opcode, Opcode::Acknowledge | Opcode::Cnp) {
                    let expected = framing.wire_len(&header, MTU) + count(framing.gap);
                    assert_eq!(prepared.of_packet(&header), expected, "{opcode:?}");
                }
            }
        }
    }

    #[test]
    fn absurd_sizes_do_not_overflow() {
        let framing = Framing { header: Bytes::MAX, ..Framing::default() };
        assert_eq!(framing.wire_len(&packet(Opcode::WriteFirst, u32::MAX), MTU), u32::MAX);
    }
}
