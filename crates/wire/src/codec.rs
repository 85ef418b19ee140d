//! Header values to bytes and back.
//!
//! Layouts are those of the IBTA specification, volume 1: base header 9.2, DETH 9.3.2, RETH 9.3.3,
//! AtomicETH 9.3.4, AETH 9.3.5, immediate data 9.3.6, IETH 9.3.7, and the congestion notification packet of annex A17. All fields are big-endian.

use crate::bth::LEN as BTH_LEN;
use crate::bytes::{put, put_u24, u24_at};
use crate::extended::{
    AETH_LEN, ATOMIC_ACK_LEN, ATOMIC_LEN, AtomicEth, CNP_LEN, DETH_LEN, IETH_LEN, IMM_LEN, RETH_LEN,
};
use crate::{
    Aeth, Deth, Extension, Header, Immediate, Opcode, Operation, Psn, Qpn, Reth, Rkey, Service,
    Syndrome,
};
use std::fmt;

/// The most bytes a header takes: the base header and that of an atomic operation.
pub const MAX_HEADER_LEN: usize = BTH_LEN + ATOMIC_LEN;

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

impl Opcode {
    /// Bytes that follow the base header before the payload.
    pub const fn extension_len(self, service: Service) -> usize {
        Layout::at(self.raw(service)).len()
    }
}

impl Header {
    /// Writes the header and returns its length.
    ///
    /// What follows the base header is decided by service and opcode: an extension that they do not
    /// have is left out, one that is missing is written as zeros. Numbers wider than their field
    /// lose their high bits.
    pub fn encode(&self, out: &mut [u8; MAX_HEADER_LEN]) -> usize {
        *out = [0; MAX_HEADER_LEN];
        out[0] = self.opcode.raw(self.service);
        out[1] = MIGRATED | padding(self.payload) << 4;
        out[2..4].copy_from_slice(&DEFAULT_PKEY.to_be_bytes());
        out[4..8].copy_from_slice(&self.dest_qp.get().to_be_bytes());
        out[4] = if self.becn { BECN } else { 0 };
        out[8..12].copy_from_slice(&self.psn.get().to_be_bytes());
        out[8] = if self.ack_request { ACK_REQUEST } else { 0 };
        let layout = Layout::at(out[0]);
        // Most packets have no extension.
        if layout != Layout::None
            && let Some(rest) = out.last_chunk_mut()
        {
            self.encode_extension(layout, rest);
        }
        BTH_LEN + layout.len()
    }

    /// Gives a header that was written another number.
    #[inline]
    pub fn renumber(out: &mut [u8; MAX_HEADER_LEN], psn: Psn) {
        put_u24::<9, MAX_HEADER_LEN>(out, psn.get());
    }

    /// Gives a header that was written, and that begins with the address of a write, another address.
    #[inline]
    pub fn readdress(out: &mut [u8; MAX_HEADER_LEN], address: u64) {
        put::<BTH_LEN, 8, MAX_HEADER_LEN>(out, address.to_be_bytes());
    }

    fn encode_extension(&self, layout: Layout, out: &mut [u8; ATOMIC_LEN]) {
        match (self.extension, layout) {
            (Extension::Reth(reth), Layout::Reth) => put::<0, _, _>(out, reth.emit()),
            (Extension::RethImm(reth, imm), Layout::RethImm) => {
                put::<0, _, _>(out, reth.emit());
                put::<RETH_LEN, _, _>(out, imm.0);
            }
            (Extension::Aeth(aeth), Layout::Aeth) => put::<0, _, _>(out, aeth.emit()),
            (Extension::Imm(imm), Layout::Imm) => put::<0, _, _>(out, imm.0),
            (Extension::Ieth(key), Layout::Ieth) => put::<0, _, _>(out, key.0.to_be_bytes()),
            (Extension::Atomic { address, rkey, operand, compare }, Layout::Atomic) => {
                put::<0, _, _>(out, AtomicEth { address, rkey, operand, compare }.emit());
            }
            (Extension::AtomicAck(aeth, before), Layout::AtomicAck) => {
                put::<0, _, _>(out, aeth.emit());
                put::<AETH_LEN, _, _>(out, before.to_be_bytes());
            }
            (Extension::Deth(deth), Layout::Deth) => put::<0, _, _>(out, deth.emit()),
            (Extension::DethImm(deth, imm), Layout::DethImm) => {
                put::<0, _, _>(out, deth.emit());
                put::<DETH_LEN, _, _>(out, imm.0);
            }
            _ => {}
        }
    }

    /// Reads a header and returns it with its length. `payload` is the number of payload bytes that
    /// follow it, without padding.
    #[inline]
    pub fn decode(bytes: &[u8], payload: u32) -> Result<(Self, usize), DecodeError> {
        let base: &[u8; BTH_LEN] = bytes.first_chunk().ok_or(DecodeError::Short)?;
        let (service, opcode) = Opcode::from_raw(base[0]).ok_or(DecodeError::Opcode(base[0]))?;
        let version = base[1] & 0x0f;
        if version != 0 {
            return Err(DecodeError::Version(version));
        }
        let layout = Layout::at(base[0]);
        let len = BTH_LEN + layout.len();
        let rest = bytes.get(BTH_LEN..len).ok_or(DecodeError::Short)?;
        if (base[1] >> 4) & 3 != padding(payload) || (payload > 0 && !opcode.has_payload()) {
            return Err(DecodeError::Payload);
        }
        // Most packets have no extension: those need not wait for one to be written and read again.
        let extension = match layout {
            Layout::None => Extension::None,
            layout => decode_extension(layout, rest)?,
        };
        let header = Self {
            service,
            opcode,
            ack_request: base[8] & ACK_REQUEST != 0,
            becn: base[4] & BECN != 0,
            dest_qp: Qpn::new(u24_at::<5, BTH_LEN>(base)),
            psn: Psn::new(u24_at::<9, BTH_LEN>(base)),
            extension,
            payload,
        };
        Ok((header, len))
    }
}

/// What stands between base header and payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    None,
    Reth,
    RethImm,
    Aeth,
    Imm,
    Ieth,
    Atomic,
    AtomicAck,
    Deth,
    DethImm,
    /// A notification's reserved bytes.
    Cnp,
}

/// What each opcode byte puts behind the base header: looked up for every packet, both ways.
static LAYOUTS: [Layout; 256] = {
    let mut layouts = [Layout::None; 256];
    let mut service = 0;
    while service < Service::ALL.len() {
        let mut opcode = 0;
        while opcode < Opcode::ALL.len() {
            let (of, what) = (Service::ALL[service], Opcode::ALL[opcode]);
            layouts[what.raw(of) as usize] = Layout::of(of, what);
            opcode += 1;
        }
        service += 1;
    }
    layouts
};

impl Layout {
    /// That of an opcode byte; nothing for those we do not speak.
    #[inline]
    const fn at(raw: u8) -> Self {
        LAYOUTS[raw as usize]
    }

    const fn of(service: Service, opcode: Opcode) -> Self {
        let imm = opcode.has_immediate();
        match (service, opcode.operation()) {
            (_, Operation::Cnp) => Self::Cnp,
            (Service::Datagram, _) if imm => Self::DethImm,
            (Service::Datagram, _) => Self::Deth,
            (_, Operation::Atomic) => Self::Atomic,
            (_, Operation::AtomicAcknowledge) => Self::AtomicAck,
            _ if opcode.has_reth() && imm => Self::RethImm,
            _ if opcode.has_reth() => Self::Reth,
            _ if opcode.has_aeth() => Self::Aeth,
            _ if imm => Self::Imm,
            _ if opcode.has_invalidate() => Self::Ieth,
            _ => Self::None,
        }
    }

    const fn len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Reth => RETH_LEN,
            Self::RethImm => RETH_LEN + IMM_LEN,
            Self::Aeth => AETH_LEN,
            Self::Imm => IMM_LEN,
            Self::Ieth => IETH_LEN,
            Self::Atomic => ATOMIC_LEN,
            Self::AtomicAck => AETH_LEN + ATOMIC_ACK_LEN,
            Self::Deth => DETH_LEN,
            Self::DethImm => DETH_LEN + IMM_LEN,
            Self::Cnp => CNP_LEN,
        }
    }
}

/// The first `N` bytes of what follows `at`. The caller has checked the length of the whole.
fn part<const N: usize>(bytes: &[u8], at: usize) -> Result<&[u8; N], DecodeError> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(DecodeError::Short)
}

fn decode_extension(layout: Layout, bytes: &[u8]) -> Result<Extension, DecodeError> {
    let imm = |at| part(bytes, at).map(|imm| Immediate(*imm));
    Ok(match layout {
        Layout::None | Layout::Cnp => Extension::None,
        Layout::Reth => Extension::Reth(Reth::parse(part(bytes, 0)?)),
        Layout::RethImm => Extension::RethImm(Reth::parse(part(bytes, 0)?), imm(RETH_LEN)?),
        Layout::Aeth => Extension::Aeth(decode_aeth(bytes)?),
        Layout::Imm => Extension::Imm(imm(0)?),
        Layout::Ieth => Extension::Ieth(Rkey::from(*part(bytes, 0)?)),
        Layout::Atomic => {
            let AtomicEth { address, rkey, operand, compare } = AtomicEth::parse(part(bytes, 0)?);
            Extension::Atomic { address, rkey, operand, compare }
        }
        Layout::AtomicAck => {
            let before = u64::from_be_bytes(*part(bytes, AETH_LEN)?);
            Extension::AtomicAck(decode_aeth(bytes)?, before)
        }
        Layout::Deth => Extension::Deth(Deth::parse(part(bytes, 0)?)),
        Layout::DethImm => Extension::DethImm(Deth::parse(part(bytes, 0)?), imm(DETH_LEN)?),
    })
}

fn decode_aeth(bytes: &[u8]) -> Result<Aeth, DecodeError> {
    Aeth::parse(part(bytes, 0)?).map_err(DecodeError::Syndrome)
}

impl Syndrome {
    /// The byte on the wire (IBTA 9.7.5.2.1): bits 6 and 5 are the kind, the low five its value.
    ///
    /// Kind 2 is reserved there; [`Syndrome::SelectiveNak`], [`Syndrome::Trimmed`] and [`Syndrome::Missing`] are its values
    /// 0 to 2, encodings of our own that only xoff understands.
    pub const fn raw(self) -> u8 {
        match self {
            Self::Ack { credits } => credits & 0x1f,
            Self::RnrNak { timer } => 0x20 | timer & 0x1f,
            Self::SelectiveNak => 0x40,
            Self::Trimmed => 0x41,
            Self::Missing => 0x42,
            Self::SequenceError => 0x60,
            Self::InvalidRequest => 0x61,
            Self::RemoteAccessError => 0x62,
            Self::RemoteOperationalError => 0x63,
        }
    }

    /// Whether it requests packets, at once, instead of refusing one.
    pub const fn requests_packets(self) -> bool {
        matches!(self, Self::SequenceError | Self::SelectiveNak | Self::Trimmed | Self::Missing)
    }

    /// The syndrome with this byte, if it is not reserved.
    pub const fn from_raw(raw: u8) -> Option<Self> {
        Some(match raw {
            0x00..=0x1f => Self::Ack { credits: raw },
            0x20..=0x3f => Self::RnrNak { timer: raw & 0x1f },
            0x40 => Self::SelectiveNak,
            0x41 => Self::Trimmed,
            0x42 => Self::Missing,
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
            Just(Syndrome::Trimmed),
            Just(Syndrome::Missing),
            Just(Syndrome::SequenceError),
            Just(Syndrome::InvalidRequest),
            Just(Syndrome::RemoteAccessError),
            Just(Syndrome::RemoteOperationalError),
        ]
    }

    fn kinds() -> impl Strategy<Value = (Service, Opcode)> {
        let all: Vec<_> = (0..=255).filter_map(Opcode::from_raw).collect();
        proptest::sample::select(all)
    }

    fn headers() -> impl Strategy<Value = Header> {
        let words = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>(), any::<u32>());
        let aeth = (syndromes(), 0u32..1 << 24).prop_map(|(syndrome, msn)| Aeth { syndrome, msn });
        let base = (any::<bool>(), any::<bool>(), any::<u32>(), any::<u32>(), any::<u32>());
        (kinds(), base, words, aeth).prop_map(
            |((service, opcode), (ack_request, becn, qp, psn, payload), words, aeth)| {
                let (address, operand, compare, key, length) = words;
                let rkey = Rkey(key);
                let reth = Reth { address, rkey, length };
                let deth = Deth { qkey: key, source: Qpn::new(length) };
                let imm = Immediate(length.to_be_bytes());
                Header {
                    service,
                    opcode,
                    ack_request,
                    becn,
                    dest_qp: Qpn::new(qp),
                    psn: Psn::new(psn),
                    extension: match Layout::of(service, opcode) {
                        Layout::None | Layout::Cnp => Extension::None,
                        Layout::Reth => Extension::Reth(reth),
                        Layout::RethImm => Extension::RethImm(reth, imm),
                        Layout::Aeth => Extension::Aeth(aeth),
                        Layout::Imm => Extension::Imm(imm),
                        Layout::Ieth => Extension::Ieth(rkey),
                        Layout::Atomic => Extension::Atomic { address, rkey, operand, compare },
                        Layout::AtomicAck => Extension::AtomicAck(aeth, operand),
                        Layout::Deth => Extension::Deth(deth),
                        Layout::DethImm => Extension::DethImm(deth, imm),
                    },
                    payload: if opcode.has_payload() { payload } else { 0 },
                }
            },
        )
    }

    #[test]
    fn headers_stay_short() {
        assert_eq!(std::mem::size_of::<Header>(), 48);
    }

    #[test]
    fn a_write_looks_as_on_the_wire() {
        let header = Header {
            service: Service::Reliable,
            opcode: Opcode::WriteOnly,
            ack_request: true,
            becn: false,
            dest_qp: Qpn::new(0x0000_11d3),
            psn: Psn::new(0x00ab_cdef),
            extension: Extension::Reth(Reth {
                address: 0x7f00_1122_3344_5566,
                rkey: Rkey(7),
                length: 5,
            }),
            payload: 5,
        };
        let mut bytes = [0; MAX_HEADER_LEN];
        assert_eq!(header.encode(&mut bytes), 28);
        let expected = [
            0x0a, 0x70, 0xff, 0xff, 0, 0, 0x11, 0xd3, 0x80, 0xab, 0xcd, 0xef, 0x7f, 0, 0x11, 0x22,
            0x33, 0x44, 0x55, 0x66, 0, 0, 0, 7, 0, 0, 0, 5,
        ];
        assert_eq!(bytes[..28], expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut bytes = [0; MAX_HEADER_LEN];
        assert_eq!(Header::decode(&bytes[..11], 0), Err(DecodeError::Short));
        bytes[0] = 0x55;
        assert_eq!(Header::decode(&bytes, 0), Err(DecodeError::Opcode(0x55)));
        bytes[0] = Opcode::Acknowledge.raw(Service::Reliable);
        assert_eq!(Header::decode(&bytes[..15], 0), Err(DecodeError::Short));
        assert_eq!(Header::decode(&bytes, 4), Err(DecodeError::Payload));
        bytes[12] = 0x80;
        assert_eq!(Header::decode(&bytes, 0), Err(DecodeError::Syndrome(0x80)));
        bytes[1] = 1;
        assert_eq!(Header::decode(&bytes, 0), Err(DecodeError::Version(1)));
        bytes[..2].copy_from_slice(&[Opcode::SendOnly.raw(Service::Reliable), 0x10]);
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
        fn another_number_is_all_that_changes(header in headers(), psn in any::<u32>()) {
            let (mut changed, mut expected) = ([0; MAX_HEADER_LEN], [0; MAX_HEADER_LEN]);
            header.encode(&mut changed);
            Header::renumber(&mut changed, Psn::new(psn));
            Header { psn: Psn::new(psn), ..header }.encode(&mut expected);
            prop_assert_eq!(changed, expected);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..48),
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
            (service, opcode) in kinds(),
            mut bytes in proptest::collection::vec(any::<u8>(), 0..48),
            payload in 0u32..10_000,
        ) {
            if bytes.len() > 1 {
                bytes[0] = opcode.raw(service);
                bytes[1] = padding(payload) << 4;
            }
            if let Ok((header, len)) = Header::decode(&bytes, payload) {
                prop_assert!(len <= bytes.len());
                prop_assert_eq!(header.opcode, opcode);
            }
        }
    }
}
