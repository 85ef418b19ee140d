//! Header values to bytes and back.
//!
//! Layouts are those of the IBTA specification, volume 1: base header 9.2, RETH 9.3.3, AETH 9.3.5,
//! and the congestion notification packet of annex A17. All fields are big-endian.

use crate::{Aeth, Extension, Header, Opcode, Psn, Qpn, Reth, Syndrome};
use std::fmt;

/// Bytes of the base transport header.
const BTH_LEN: usize = 12;
const RETH_LEN: usize = 16;
const AETH_LEN: usize = 4;
const CNP_RESERVED_LEN: usize = 16;

/// The most bytes a header takes: the base header and a RETH (or a CNP's reserved bytes).
pub const MAX_HEADER_LEN: usize = BTH_LEN + RETH_LEN;

/// The default partition, with full membership.
const DEFAULT_PKEY: u16 = 0xffff;
/// Automatic path migration state "migrated", which is what hardware sends.
const MIGRATED: u8 = 0x40;
const BECN: u8 = 0x40;
const ACK_REQUEST: u8 = 0x80;

/// Why bytes are not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end before the header does.
    Short,
    /// An opcode we do not speak.
    Opcode(u8),
    /// A transport header version other than zero.
    Version(u8),
    /// A syndrome that is reserved.
    Syndrome(u8),
    /// The pad count does not fit the payload, or a packet without payload has some.
    Payload,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("the packet ends inside its headers"),
            Self::Opcode(raw) => write!(f, "unknown opcode 0x{raw:02x}"),
            Self::Version(version) => write!(f, "transport header version {version}, not 0"),
            Self::Syndrome(raw) => write!(f, "reserved syndrome 0x{raw:02x}"),
            Self::Payload => f.write_str("pad count and payload length do not agree"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Bytes that fill the payload up to a multiple of four.
const fn padding(payload: u32) -> u8 {
    (payload.wrapping_neg() & 3) as u8
}

impl Header {
    /// Writes the header and returns its length.
    ///
    /// What follows the base header is decided by the opcode: an extension that the opcode does not
    /// have is left out, one that is missing is written as zeros. Numbers wider than their field
    /// lose their high bits.
    pub fn encode(&self, out: &mut [u8; MAX_HEADER_LEN]) -> usize {
        *out = [0; MAX_HEADER_LEN];
        out[0] = self.opcode.raw();
        out[1] = MIGRATED | padding(self.payload) << 4;
        out[2..4].copy_from_slice(&DEFAULT_PKEY.to_be_bytes());
        out[4..8].copy_from_slice(&self.dest_qp.get().to_be_bytes());
        out[4] = if self.becn { BECN } else { 0 };
        out[8..12].copy_from_slice(&self.psn.get().to_be_bytes());
        out[8] = if self.ack_request { ACK_REQUEST } else { 0 };
        match self.extension {
            Extension::Reth(reth) if self.opcode.has_reth() => {
                out[12..20].copy_from_slice(&reth.address.to_be_bytes());
                out[20..24].copy_from_slice(&reth.rkey.to_be_bytes());
                out[24..28].copy_from_slice(&reth.length.to_be_bytes());
            }
            Extension::Aeth(aeth) if self.opcode.has_aeth() => {
                out[12..16].copy_from_slice(&aeth.msn.to_be_bytes());
                out[12] = aeth.syndrome.raw();
            }
            _ => {}
        }
        header_len(self.opcode)
    }

    /// Reads a header and returns it with its length. `payload` is the number of payload bytes that
    /// follow it, without padding.
    pub fn decode(bytes: &[u8], payload: u32) -> Result<(Self, usize), DecodeError> {
        let base: &[u8; BTH_LEN] = bytes.first_chunk().ok_or(DecodeError::Short)?;
        let opcode = Opcode::from_raw(base[0]).ok_or(DecodeError::Opcode(base[0]))?;
        let version = base[1] & 0x0f;
        if version != 0 {
            return Err(DecodeError::Version(version));
        }
        let len = header_len(opcode);
        let rest = bytes.get(BTH_LEN..len).ok_or(DecodeError::Short)?;
        if (base[1] >> 4) & 3 != padding(payload) || (payload > 0 && !opcode.has_payload()) {
            return Err(DecodeError::Payload);
        }
        let extension = if opcode.has_reth() {
            Extension::Reth(decode_reth(rest))
        } else if opcode.has_aeth() {
            Extension::Aeth(decode_aeth(rest)?)
        } else {
            Extension::None
        };
        let header = Self {
            opcode,
            ack_request: base[8] & ACK_REQUEST != 0,
            becn: base[4] & BECN != 0,
            dest_qp: Qpn::new(read_u32(base, 4)),
            psn: Psn::new(read_u32(base, 8)),
            extension,
            payload,
        };
        Ok((header, len))
    }
}

/// Bytes of the base header and what the opcode puts behind it.
const fn header_len(opcode: Opcode) -> usize {
    if opcode.has_reth() {
        BTH_LEN + RETH_LEN
    } else if opcode.has_aeth() {
        BTH_LEN + AETH_LEN
    } else if matches!(opcode, Opcode::Cnp) {
        BTH_LEN + CNP_RESERVED_LEN
    } else {
        BTH_LEN
    }
}

/// Four bytes at `at`; zero beyond the end, which no caller reaches.
fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_be_bytes(*b))
}

fn decode_reth(bytes: &[u8]) -> Reth {
    Reth {
        address: u64::from(read_u32(bytes, 0)) << 32 | u64::from(read_u32(bytes, 4)),
        rkey: read_u32(bytes, 8),
        length: read_u32(bytes, 12),
    }
}

fn decode_aeth(bytes: &[u8]) -> Result<Aeth, DecodeError> {
    let word = read_u32(bytes, 0);
    let raw = (word >> 24) as u8;
    let syndrome = Syndrome::from_raw(raw).ok_or(DecodeError::Syndrome(raw))?;
    Ok(Aeth { syndrome, msn: word & 0x00ff_ffff })
}

impl Syndrome {
    /// The byte on the wire (IBTA 9.7.5.2.1): bits 6 and 5 are the kind, the low five its value.
    ///
    /// Kind 2 is reserved there; [`Syndrome::SelectiveNak`] is its value 0, an encoding of our own
    /// that only xoff understands.
    pub const fn raw(self) -> u8 {
        match self {
            Self::Ack { credits } => credits & 0x1f,
            Self::RnrNak { timer } => 0x20 | timer & 0x1f,
            Self::SelectiveNak => 0x40,
            Self::SequenceError => 0x60,
            Self::InvalidRequest => 0x61,
            Self::RemoteAccessError => 0x62,
            Self::RemoteOperationalError => 0x63,
        }
    }

    /// The syndrome with this byte, if it is not reserved.
    pub const fn from_raw(raw: u8) -> Option<Self> {
        Some(match raw {
            0x00..=0x1f => Self::Ack { credits: raw },
            0x20..=0x3f => Self::RnrNak { timer: raw & 0x1f },
            0x40 => Self::SelectiveNak,
            0x60 => Self::SequenceError,
            0x61 => Self::InvalidRequest,
            0x62 => Self::RemoteAccessError,
            0x63 => Self::RemoteOperationalError,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn syndromes() -> impl Strategy<Value = Syndrome> {
        prop_oneof![
            (0u8..32).prop_map(|credits| Syndrome::Ack { credits }),
            (0u8..32).prop_map(|timer| Syndrome::RnrNak { timer }),
            Just(Syndrome::SelectiveNak),
            Just(Syndrome::SequenceError),
            Just(Syndrome::InvalidRequest),
            Just(Syndrome::RemoteAccessError),
            Just(Syndrome::RemoteOperationalError),
        ]
    }

    fn headers() -> impl Strategy<Value = Header> {
        let reth = (any::<u64>(), any::<u32>(), any::<u32>())
            .prop_map(|(address, rkey, length)| Reth { address, rkey, length });
        let aeth = (syndromes(), 0u32..1 << 24).prop_map(|(syndrome, msn)| Aeth { syndrome, msn });
        let base = (any::<bool>(), any::<bool>(), any::<u32>(), any::<u32>(), any::<u32>());
        (proptest::sample::select(&Opcode::ALL[..]), base, reth, aeth).prop_map(
            |(opcode, (ack_request, becn, qp, psn, payload), reth, aeth)| Header {
                opcode,
                ack_request,
                becn,
                dest_qp: Qpn::new(qp),
                psn: Psn::new(psn),
                extension: match (opcode.has_reth(), opcode.has_aeth()) {
                    (true, _) => Extension::Reth(reth),
                    (_, true) => Extension::Aeth(aeth),
                    _ => Extension::None,
                },
                payload: if opcode.has_payload() { payload } else { 0 },
            },
        )
    }

    #[test]
    fn a_write_looks_as_on_the_wire() {
        let header = Header {
            opcode: Opcode::WriteOnly,
            ack_request: true,
            becn: false,
            dest_qp: Qpn::new(0x0000_11d3),
            psn: Psn::new(0x00ab_cdef),
            extension: Extension::Reth(Reth { address: 0x7f00_1122_3344_5566, rkey: 7, length: 5 }),
            payload: 5,
        };
        let mut bytes = [0; MAX_HEADER_LEN];
        assert_eq!(header.encode(&mut bytes), 28);
        let expected = [
            0x0a, 0x70, 0xff, 0xff, 0, 0, 0x11, 0xd3, 0x80, 0xab, 0xcd, 0xef, 0x7f, 0, 0x11, 0x22,
            0x33, 0x44, 0x55, 0x66, 0, 0, 0, 7, 0, 0, 0, 5,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut bytes = [0; MAX_HEADER_LEN];
        assert_eq!(Header::decode(&bytes[..11], 0), Err(DecodeError::Short));
        bytes[0] = 0x55;
        assert_eq!(Header::decode(&bytes, 0), Err(DecodeError::Opcode(0x55)));
        bytes[0] = Opcode::Acknowledge.raw();
        assert_eq!(Header::decode(&bytes[..15], 0), Err(DecodeError::Short));
        assert_eq!(Header::decode(&bytes, 4), Err(DecodeError::Payload));
        bytes[12] = 0x80;
        assert_eq!(Header::decode(&bytes, 0), Err(DecodeError::Syndrome(0x80)));
        bytes[1] = 1;
        assert_eq!(Header::decode(&bytes, 0), Err(DecodeError::Version(1)));
        bytes[..2].copy_from_slice(&[Opcode::SendOnly.raw(), 0x10]);
        assert_eq!(Header::decode(&bytes, 4), Err(DecodeError::Payload));
    }

    proptest! {
        #[test]
        fn decode_undoes_encode(header in headers()) {
            let mut bytes = [0xaa; MAX_HEADER_LEN];
            let len = header.encode(&mut bytes);
            prop_assert_eq!(Header::decode(&bytes[..len], header.payload), Ok((header, len)));
            prop_assert_eq!(Header::decode(&bytes[..len - 1], header.payload), Err(DecodeError::Short));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            payload in any::<u32>(),
        ) {
            if let Ok((header, len)) = Header::decode(&bytes, payload) {
                let mut again = [0; MAX_HEADER_LEN];
                prop_assert_eq!(header.encode(&mut again), len);
                prop_assert_eq!(Header::decode(&again[..len], payload), Ok((header, len)));
            }
        }

        #[test]
        fn likely_bytes_are_read_or_refused(
            opcode in proptest::sample::select(&Opcode::ALL[..]),
            mut bytes in proptest::collection::vec(any::<u8>(), 0..40),
            payload in 0u32..10_000,
        ) {
            if bytes.len() > 1 {
                bytes[0] = opcode.raw();
                bytes[1] = padding(payload) << 4;
            }
            if let Ok((header, len)) = Header::decode(&bytes, payload) {
                prop_assert!(len <= bytes.len());
                prop_assert_eq!(header.opcode, opcode);
            }
        }
    }
}
