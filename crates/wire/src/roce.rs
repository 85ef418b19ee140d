//! What RoCE puts into a datagram: base header, extended headers, payload, padding, ICRC.

pub use crate::extended::{AtomicEth, Extended};

use crate::bth::{self, Bth};
use crate::extended::{AETH_LEN, ATOMIC_LEN, DETH_LEN, RETH_LEN};
use crate::icrc::{self, Flow, Icrc};
use crate::{Aeth, DecodeError, Deth, Header, Immediate, Opcode, Operation, Reth, Rkey, Service};

/// The most bytes of payload in one packet: the largest path MTU.
pub const MAX_PAYLOAD: usize = 4096;
/// The most bytes of a datagram: headers, payload, ICRC.
pub const MAX_DATAGRAM: usize = bth::LEN + ATOMIC_LEN + MAX_PAYLOAD + icrc::LEN;

/// The headers of a packet, known opcode or not, reserved bits included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roce {
    /// The base header.
    pub bth: Bth,
    /// The extended headers, as they are. None where the opcode is not known.
    pub extended: Extended,
    /// Bytes of payload that the lengths promise, without padding.
    pub payload: u32,
    /// The ICRC, if the bytes reach that far.
    pub icrc: Option<Icrc>,
}

impl Roce {
    /// Reads the headers of a datagram of `len` bytes, of which `bytes` are there; the payload
    /// begins behind [`Roce::header_len`]. `None` if the base header is not whole or the headers do
    /// not fit `len`. Of extended headers that a capture cut through, only what is there is kept:
    /// [`Roce::is_whole`] says so, and those that are whole are handed out.
    pub fn parse(bytes: &[u8], len: usize) -> Option<Self> {
        let bth = Bth::parse(bytes)?;
        let size = bth.opcode.known().map_or(0, |(service, opcode)| opcode.extension_len(service));
        let there = bytes.get(bth::LEN..)?;
        if there.len() < size && bytes.len() >= len {
            return None;
        }
        let extended = Extended::new(there.get(..size).unwrap_or(there))?;
        let around = bth::LEN + size + usize::from(bth.pad) + icrc::LEN;
        let payload = len.checked_sub(around)? as u32;
        let icrc = bytes.get(len - icrc::LEN..len).and_then(<[u8]>::first_chunk);
        let icrc = icrc.map(|bytes| Icrc::from_bytes(*bytes));
        Some(Self { bth, extended, payload, icrc })
    }

    /// Whether the extended headers that the opcode calls for are all there.
    #[inline]
    pub fn is_whole(&self) -> bool {
        let size = self.kind().map_or(0, |(service, opcode)| opcode.extension_len(service));
        self.extended.as_slice().len() >= size
    }

    /// Bytes before the payload, as far as they are there.
    pub fn header_len(&self) -> usize {
        bth::LEN + self.extended.as_slice().len()
    }

    /// What the packet is, if we speak it.
    #[inline]
    pub fn kind(&self) -> Option<(Service, Opcode)> {
        self.bth.opcode.known()
    }

    /// Whether the opcode is one of these, and so many bytes of extended headers are there.
    fn has(&self, len: usize, test: impl Fn(Service, Opcode) -> bool) -> bool {
        self.extended.as_slice().len() >= len
            && self.kind().is_some_and(|(service, opcode)| test(service, opcode))
    }

    fn is_datagram(&self) -> bool {
        self.has(DETH_LEN, |service, _| service == Service::Datagram)
    }

    /// The RETH, if there is one.
    pub fn reth(&self) -> Option<Reth> {
        self.has(RETH_LEN, |_, opcode| opcode.has_reth())
            .then(|| Reth::parse(&self.extended.part::<0, RETH_LEN>()))
    }

    /// The AETH, if there is one and its syndrome is not reserved.
    pub fn aeth(&self) -> Option<Aeth> {
        self.has(AETH_LEN, |_, opcode| opcode.has_aeth())
            .then(|| Aeth::parse(&self.extended.part::<0, AETH_LEN>()).ok())?
    }

    /// The DETH, if there is one.
    pub fn deth(&self) -> Option<Deth> {
        self.is_datagram().then(|| Deth::parse(&self.extended.part::<0, DETH_LEN>()))
    }

    /// The AtomicETH, if there is one.
    pub fn atomic(&self) -> Option<AtomicEth> {
        self.has(ATOMIC_LEN, |_, opcode| opcode.operation() == Operation::Atomic)
            .then(|| AtomicEth::parse(&self.extended.part::<0, ATOMIC_LEN>()))
    }

    /// The value before an atomic operation, if this is its answer.
    pub fn atomic_ack(&self) -> Option<u64> {
        self.has(AETH_LEN + 8, |_, opcode| opcode == Opcode::AtomicAcknowledge)
            .then(|| u64::from_be_bytes(self.extended.part::<AETH_LEN, 8>()))
    }

    /// Immediate data, if there is some.
    pub fn immediate(&self) -> Option<Immediate> {
        if !self.is_whole() || !self.has(4, |_, opcode| opcode.has_immediate()) {
            return None;
        }
        Some(Immediate(if self.is_datagram() {
            self.extended.part::<DETH_LEN, 4>()
        } else if self.reth().is_some() {
            self.extended.part::<RETH_LEN, 4>()
        } else {
            self.extended.part::<0, 4>()
        }))
    }

    /// The key to invalidate, if there is one.
    pub fn invalidated(&self) -> Option<Rkey> {
        self.has(4, |_, opcode| opcode.has_invalidate())
            .then(|| Rkey::from(self.extended.part::<0, 4>()))
    }

    /// The header that the transport understands, or why there is none.
    pub fn header(&self) -> Result<Header, DecodeError> {
        if !self.is_whole() {
            return Err(DecodeError::Short);
        }
        let mut bytes = [0; bth::LEN + ATOMIC_LEN];
        bytes[..bth::LEN].copy_from_slice(&self.bth.emit());
        bytes[bth::LEN..].copy_from_slice(&self.extended.part::<0, ATOMIC_LEN>());
        Header::decode(&bytes, self.payload).map(|(header, _)| header)
    }
}

/// A received datagram taken apart: what an endpoint gets from a UDP socket.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    /// The header values.
    pub header: Header,
    /// The payload, without padding.
    pub payload: &'a [u8],
    /// The ICRC that came with it.
    pub icrc: Icrc,
    /// Everything the ICRC covers from the base header on.
    covered: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Takes apart what UDP carried. The ICRC is not checked: [`Datagram::expected_icrc`].
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (covered, icrc) = bytes.split_last_chunk().ok_or(DecodeError::Short)?;
        let (bth, rest) = bth::View::split(covered).ok_or(DecodeError::Short)?;
        let raw = bth.opcode();
        let (service, opcode) = raw.known().ok_or(DecodeError::Opcode(raw.0))?;
        let (_, body) =
            rest.split_at_checked(opcode.extension_len(service)).ok_or(DecodeError::Short)?;
        let len = body.len().checked_sub(usize::from(bth.pad())).ok_or(DecodeError::Payload)?;
        let (payload, _) = body.split_at(len);
        let (header, _) = Header::decode(covered, len as u32)?;
        Ok(Self { header, payload, icrc: Icrc::from_bytes(*icrc), covered })
    }

    /// The base header with the fields that [`Header`] does not have.
    pub fn bth(&self) -> Option<bth::View<'a>> {
        bth::View::split(self.covered).map(|(view, _)| view)
    }

    /// The ICRC it should have as a packet of `flow`; the flow is the sender's, so its source is the
    /// sender.
    pub fn expected_icrc(&self, flow: &Flow, identification: u16) -> Icrc {
        flow.icrc(identification, self.covered, &[])
    }

    /// The identification with which its ICRC is right, if there is one ([`Flow::identification`]).
    pub fn identification(&self, flow: &Flow) -> Option<u16> {
        flow.identification(self.covered, self.icrc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grh::Gid;
    use crate::{Extension, MAX_HEADER_LEN, Psn, Qpn};
    use proptest::prelude::*;

    fn write(payload: &[u8]) -> Vec<u8> {
        let reth = Reth { address: 0x1000, rkey: Rkey(5), length: payload.len() as u32 };
        let header = Header {
            service: Service::Reliable,
            opcode: Opcode::WriteOnlyImm,
            ack_request: true,
            becn: false,
            dest_qp: Qpn::new(17),
            psn: Psn::new(3),
            extension: Extension::RethImm(reth, Immediate(*b"imm!")),
            payload: payload.len() as u32,
        };
        let mut out = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut out);
        let pad = &[0; 3][..payload.len().wrapping_neg() & 3];
        let gid = Gid(std::net::Ipv6Addr::LOCALHOST);
        let icrc = Flow::v1(gid, gid).icrc(0, &out[..len], &[payload, pad]);
        [&out[..len], payload, pad, &icrc.to_bytes()].concat()
    }

    #[test]
    fn a_datagram_comes_apart() {
        let bytes = write(b"seven b");
        let datagram = Datagram::parse(&bytes).unwrap();
        assert_eq!(datagram.payload, b"seven b");
        let gid = Gid(std::net::Ipv6Addr::LOCALHOST);
        assert_eq!(datagram.expected_icrc(&Flow::v1(gid, gid), 0), datagram.icrc);
        let roce = Roce::parse(&bytes, bytes.len()).unwrap();
        assert_eq!(roce.header(), Ok(datagram.header));
        assert_eq!(roce.payload, 7);
        assert_eq!(roce.reth().unwrap().rkey, Rkey(5));
        assert_eq!(roce.immediate(), Some(Immediate(*b"imm!")));
        assert_eq!(roce.icrc, Some(datagram.icrc));
        assert_eq!((roce.aeth(), roce.deth(), roce.atomic()), (None, None, None));
    }

    #[test]
    fn a_packet_cut_short_still_says_how_long_it_was() {
        let bytes = write(&[7; 100]);
        let roce = Roce::parse(&bytes[..40], bytes.len()).unwrap();
        assert_eq!((roce.payload, roce.icrc), (100, None));
        let cut = Roce::parse(&bytes[..31], bytes.len()).unwrap();
        assert_eq!((cut.payload, cut.is_whole()), (100, false), "inside the immediate data");
        assert_eq!(cut.reth(), roce.reth(), "what is whole of the headers is handed out");
        assert_eq!((cut.header(), cut.immediate()), (Err(DecodeError::Short), None));
        let shorter = Roce::parse(&bytes[..27], bytes.len()).unwrap();
        assert_eq!((shorter.payload, shorter.reth()), (100, None), "inside the RETH");
        assert_eq!(Roce::parse(&bytes[..31], 31), None, "a datagram shorter than its headers");
        assert_eq!(Roce::parse(&bytes[..11], bytes.len()), None, "inside the base header");
        assert_eq!(Roce::parse(&bytes, 30), None, "shorter than its headers");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..80),
            len in 0usize..100,
        ) {
            let _ = Roce::parse(&bytes, len);
            if let Ok(datagram) = Datagram::parse(&bytes) {
                let roce = Roce::parse(&bytes, bytes.len()).unwrap();
                prop_assert_eq!(roce.header(), Ok(datagram.header));
            }
        }
    }
}
