//! How long packets are.

use crate::config::Framing;
use xoff_units::Bytes;
use xoff_wire::{Extension, Header, Operation};

/// The shortest Ethernet frame, with its checksum.
const MIN_FRAME: u32 = 64;

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
                given_or(self.ack, around.saturating_add(self.extension(header)))
            }
            Operation::Cnp => given_or(self.cnp, around.saturating_add(extension(header))),
            _ => {
                let payload = if self.pad_last && header.opcode.has_payload() {
                    count(mtu)
                } else {
                    header.payload
                };
                let len = around.saturating_add(payload).saturating_add(self.extension(header));
                if self.ack.is_zero() { len.max(MIN_FRAME) } else { len }
            }
        }
    }

    /// Bytes of the extended headers, where they count.
    fn extension(&self, header: &Header) -> u32 {
        if self.extensions { extension(header) } else { 0 }
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
    /// Extended headers count.
    extensions: bool,
}

impl WireTime {
    pub(crate) fn of(framing: &Framing, mtu: Bytes) -> Self {
        let gap = count(framing.gap);
        Self {
            around: count(framing.header).saturating_add(gap),
            shortest: if framing.pad_last { count(mtu) } else { 0 },
            least: if framing.ack.is_zero() { MIN_FRAME.saturating_add(gap) } else { 0 },
            extensions: framing.extensions,
        }
    }

    /// [`Framing::wire_len`] and the gap, of a request or of data.
    #[inline(always)]
    pub(crate) fn of_packet(&self, header: &Header) -> u32 {
        let extension = match header.extension {
            Extension::None => 0,
            _ if self.extensions => extension(header),
            _ => 0,
        };
        let payload =
            if header.opcode.has_payload() { header.payload.max(self.shortest) } else { 0 };
        self.around.saturating_add(payload).saturating_add(extension).max(self.least)
    }
}

#[inline]
fn given_or(given: Bytes, computed: u32) -> u32 {
    if given.is_zero() { computed.max(MIN_FRAME) } else { count(given) }
}

#[inline]
fn extension(header: &Header) -> u32 {
    header.opcode.extension_len(header.service) as u32
}

/// A size in a file may be any; one that does not fit is as large as can be.
#[inline]
fn count(bytes: Bytes) -> u32 {
    u32::try_from(bytes.get()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_wire::{Aeth, Immediate, Opcode, Psn, Qpn, Reth, Rkey, Service, Syndrome};

    const MTU: Bytes = Bytes::new(4096);

    fn packet(opcode: Opcode, payload: u32) -> Header {
        Header {
            service: Service::Reliable,
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
                if opcode.extension_len(Service::Reliable) > 0 {
                    header.extension = match opcode.operation() {
                        Operation::Write | Operation::ReadRequest => {
                            Extension::Reth(Reth { address: 0, rkey: Rkey(0), length: 9 })
                        }
                        Operation::Send => Extension::Imm(Immediate([0; 4])),
                        _ => Extension::Aeth(Aeth { syndrome: Syndrome::SequenceError, msn: 0 }),
                    };
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
