//! UDP headers (RFC 768).

use crate::bytes::{put, u16_at};
use std::fmt;

/// Bytes of the header.
pub const LEN: usize = 8;

/// A UDP port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Port(pub u16);

impl Port {
    /// RoCEv2's destination (IBTA annex A17).
    pub const ROCE_V2: Self = Self(4791);
    /// VXLAN's destination (RFC 7348).
    pub const VXLAN: Self = Self(4789);
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A byte view of the header.
#[derive(Debug, Clone, Copy)]
pub struct View<'a>(&'a [u8; LEN]);

impl<'a> View<'a> {
    /// The view of the first bytes of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        Some(Self(bytes.first_chunk()?))
    }

    /// The sender's port: in RoCEv2 only entropy for load balancing.
    pub fn source(self) -> Port {
        Port(u16_at::<0, LEN>(self.0))
    }

    /// The receiver's port.
    pub fn destination(self) -> Port {
        Port(u16_at::<2, LEN>(self.0))
    }

    /// Bytes of header and payload.
    pub fn length(self) -> u16 {
        u16_at::<4, LEN>(self.0)
    }

    /// The checksum; zero where there is none.
    pub fn checksum(self) -> u16 {
        u16_at::<6, LEN>(self.0)
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp {
    /// The sender's port: in RoCEv2 only entropy for load balancing.
    pub source: Port,
    /// The receiver's port.
    pub destination: Port,
    /// Bytes of header and payload.
    pub length: u16,
    /// The checksum; zero where there is none, as RoCEv2 senders like it.
    pub checksum: u16,
}

impl Udp {
    /// Reads a header. `None` if the bytes end inside it.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let view = View::new(bytes)?;
        Some(Self {
            source: view.source(),
            destination: view.destination(),
            length: view.length(),
            checksum: view.checksum(),
        })
    }

    /// Its bytes.
    pub fn emit(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        put::<0, 2, _>(&mut out, self.source.0.to_be_bytes());
        put::<2, 2, _>(&mut out, self.destination.0.to_be_bytes());
        put::<4, 2, _>(&mut out, self.length.to_be_bytes());
        put::<6, 2, _>(&mut out, self.checksum.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_where_they_belong() {
        let header = Udp::parse(&[0xc0, 0x01, 0x12, 0xb7, 0, 28, 0xab, 0xcd, 9]).unwrap();
        let expected =
            Udp { source: Port(49153), destination: Port::ROCE_V2, length: 28, checksum: 0xabcd };
        assert_eq!(header, expected);
        assert_eq!(Udp::parse(&[0; 7]), None);
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(bytes in any::<[u8; LEN]>()) {
            prop_assert_eq!(Udp::parse(&bytes).unwrap().emit(), bytes);
        }
    }
}
