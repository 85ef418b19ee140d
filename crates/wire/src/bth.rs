//! The base transport header with all its fields (IBTA 9.2, annex A17 for the congestion bits).
//!
//! [`crate::Header`] has what the transport decides by; this has what is on the wire, reserved bits
//! included, so that what was read is written again bit for bit.

use crate::bytes::{put, put_u24, u16_at, u24_at};
use crate::{Opcode, Psn, Qpn, Service};

/// Bytes of the header.
pub const LEN: usize = 12;

const SOLICITED: u8 = 0x80;
const MIGRATED: u8 = 0x40;
const FECN: u8 = 0x80;
const BECN: u8 = 0x40;
const RESERVED_A: u8 = 0x3f;
const ACK_REQUEST: u8 = 0x80;
const RESERVED_B: u8 = 0x7f;

/// A partition key: the partition in the low fifteen bits, full membership in the high one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pkey(pub u16);

impl Pkey {
    /// The default partition, full member: the only one RoCE has.
    pub const DEFAULT: Self = Self(0xffff);
}

/// The opcode byte, known to us or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RawOpcode(pub u8);

impl RawOpcode {
    /// What it means, if we speak it.
    pub fn known(self) -> Option<(Service, Opcode)> {
        Opcode::from_raw(self.0)
    }
}

/// A byte view of the header.
#[derive(Debug, Clone, Copy)]
pub struct View<'a>(&'a [u8; LEN]);

impl<'a> View<'a> {
    /// The view of the first bytes of `bytes`, and what follows them.
    #[inline]
    pub fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_first_chunk()?;
        Some((Self(head), rest))
    }

    /// What the packet is.
    #[inline]
    pub fn opcode(self) -> RawOpcode {
        RawOpcode(self.0[0])
    }

    /// The receiver should raise an event.
    pub fn solicited(self) -> bool {
        self.0[1] & SOLICITED != 0
    }

    /// The path migration state is "migrated".
    pub fn migrated(self) -> bool {
        self.0[1] & MIGRATED != 0
    }

    /// Bytes that fill the payload up to a whole word, 0 to 3.
    #[inline]
    pub fn pad(self) -> u8 {
        self.0[1] >> 4 & 3
    }

    /// The version of the transport header; only 0 is defined.
    #[inline]
    pub fn version(self) -> u8 {
        self.0[1] & 0x0f
    }

    /// The partition.
    pub fn pkey(self) -> Pkey {
        Pkey(u16_at::<2, LEN>(self.0))
    }

    /// Forward congestion notification.
    pub(crate) fn fecn(self) -> bool {
        self.0[4] & FECN != 0
    }

    /// Backward congestion notification.
    pub fn becn(self) -> bool {
        self.0[4] & BECN != 0
    }

    /// Six reserved bits beside the congestion bits. With those they are the byte that the ICRC
    /// takes as ones.
    pub(crate) fn reserved_a(self) -> u8 {
        self.0[4] & RESERVED_A
    }

    /// The queue pair at the receiver.
    #[inline]
    pub fn dest_qp(self) -> Qpn {
        Qpn::new(u24_at::<5, LEN>(self.0))
    }

    /// The receiver should acknowledge.
    #[inline]
    pub fn ack_request(self) -> bool {
        self.0[8] & ACK_REQUEST != 0
    }

    /// Seven reserved bits.
    pub(crate) fn reserved_b(self) -> u8 {
        self.0[8] & RESERVED_B
    }

    /// The sequence number.
    #[inline]
    pub fn psn(self) -> Psn {
        Psn::new(u24_at::<9, LEN>(self.0))
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bth {
    /// What the packet is.
    pub opcode: RawOpcode,
    /// The receiver should raise an event.
    pub solicited: bool,
    /// The path migration state is "migrated".
    pub migrated: bool,
    /// Bytes that fill the payload up to a whole word, 0 to 3.
    pub pad: u8,
    /// The version of the transport header; only 0 is defined.
    pub version: u8,
    /// The partition.
    pub pkey: Pkey,
    /// Forward congestion notification.
    pub fecn: bool,
    /// Backward congestion notification.
    pub becn: bool,
    /// Six reserved bits.
    pub reserved_a: u8,
    /// The queue pair at the receiver.
    pub dest_qp: Qpn,
    /// The receiver should acknowledge.
    pub ack_request: bool,
    /// Seven reserved bits.
    pub reserved_b: u8,
    /// The sequence number.
    pub psn: Psn,
}

impl Bth {
    /// Reads a header. `None` if the bytes end inside it.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (view, _) = View::split(bytes)?;
        Some(Self {
            opcode: view.opcode(),
            solicited: view.solicited(),
            migrated: view.migrated(),
            pad: view.pad(),
            version: view.version(),
            pkey: view.pkey(),
            fecn: view.fecn(),
            becn: view.becn(),
            reserved_a: view.reserved_a(),
            dest_qp: view.dest_qp(),
            ack_request: view.ack_request(),
            reserved_b: view.reserved_b(),
            psn: view.psn(),
        })
    }

    /// Its bytes. Numbers wider than their field lose their high bits.
    pub fn emit(&self) -> [u8; LEN] {
        let bit = |set: bool, mask: u8| if set { mask } else { 0 };
        let mut out = [0; LEN];
        out[0] = self.opcode.0;
        out[1] = bit(self.solicited, SOLICITED)
            | bit(self.migrated, MIGRATED)
            | (self.pad & 3) << 4
            | self.version & 0x0f;
        put::<2, 2, _>(&mut out, self.pkey.0.to_be_bytes());
        out[4] = bit(self.fecn, FECN) | bit(self.becn, BECN) | self.reserved_a & RESERVED_A;
        put_u24::<5, _>(&mut out, self.dest_qp.get());
        out[8] = bit(self.ack_request, ACK_REQUEST) | self.reserved_b & RESERVED_B;
        put_u24::<9, _>(&mut out, self.psn.get());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_where_they_belong() {
        let bytes = [0x0a, 0xe1, 0x80, 0x01, 0xd5, 1, 2, 3, 0xff, 4, 5, 6];
        let bth = Bth::parse(&bytes).unwrap();
        let expected = Bth {
            opcode: RawOpcode(0x0a),
            solicited: true,
            migrated: true,
            pad: 2,
            version: 1,
            pkey: Pkey(0x8001),
            fecn: true,
            becn: true,
            reserved_a: 0x15,
            dest_qp: Qpn::new(0x01_0203),
            ack_request: true,
            reserved_b: 0x7f,
            psn: Psn::new(0x04_0506),
        };
        assert_eq!(bth, expected);
        assert_eq!(Bth::parse(&bytes[..11]), None);
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(bytes in any::<[u8; LEN]>()) {
            prop_assert_eq!(Bth::parse(&bytes).unwrap().emit(), bytes);
        }
    }
}
