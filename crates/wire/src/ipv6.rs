//! IPv6 headers (RFC 8200, section 3). Extension headers are not looked through: RoCE has none.

use crate::bytes::{field, put, u16_at, u32_at};
use crate::ip::{Protocol, TrafficClass};
use std::net::Ipv6Addr;

/// Bytes of the header.
pub const LEN: usize = 40;

/// A byte view of the header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a>(&'a [u8; LEN]);

impl<'a> View<'a> {
    /// The view of the first bytes of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        Some(Self(bytes.first_chunk()?))
    }

    /// 6.
    pub(crate) fn version(self) -> u8 {
        self.0[0] >> 4
    }

    /// DSCP and ECN.
    pub(crate) fn class(self) -> TrafficClass {
        TrafficClass((u16_at::<0, LEN>(self.0) >> 4) as u8)
    }

    /// The flow label, twenty bits.
    pub(crate) fn flow_label(self) -> u32 {
        u32_at::<0, LEN>(self.0) & 0x000f_ffff
    }

    /// Bytes after the header.
    pub(crate) fn payload_length(self) -> u16 {
        u16_at::<4, LEN>(self.0)
    }

    /// What follows.
    pub(crate) fn next_header(self) -> Protocol {
        Protocol(self.0[6])
    }

    /// Routers it may still pass.
    pub(crate) fn hop_limit(self) -> u8 {
        self.0[7]
    }

    /// From whom.
    pub(crate) fn source(self) -> Ipv6Addr {
        Ipv6Addr::from(field::<8, 16, LEN>(self.0))
    }

    /// To whom.
    pub(crate) fn destination(self) -> Ipv6Addr {
        Ipv6Addr::from(field::<24, 16, LEN>(self.0))
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6 {
    /// DSCP and ECN.
    pub class: TrafficClass,
    /// The flow label, twenty bits.
    pub flow_label: u32,
    /// Bytes after the header.
    pub payload_length: u16,
    /// What follows.
    pub next_header: Protocol,
    /// Routers it may still pass.
    pub hop_limit: u8,
    /// From whom.
    pub source: Ipv6Addr,
    /// To whom.
    pub destination: Ipv6Addr,
}

impl Ipv6 {
    /// Reads a header. `None` if the bytes end inside it or it is no IPv6 header.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let view = View::new(bytes)?;
        (view.version() == 6).then(|| Self {
            class: view.class(),
            flow_label: view.flow_label(),
            payload_length: view.payload_length(),
            next_header: view.next_header(),
            hop_limit: view.hop_limit(),
            source: view.source(),
            destination: view.destination(),
        })
    }

    /// Its bytes. Of the flow label only the low twenty bits count.
    pub fn emit(&self) -> [u8; LEN] {
        let mut out = [0; LEN];
        let word = 6 << 28 | u32::from(self.class.0) << 20 | self.flow_label & 0x000f_ffff;
        put::<0, 4, _>(&mut out, word.to_be_bytes());
        put::<4, 2, _>(&mut out, self.payload_length.to_be_bytes());
        out[6] = self.next_header.0;
        out[7] = self.hop_limit;
        put::<8, 16, _>(&mut out, self.source.octets());
        put::<24, 16, _>(&mut out, self.destination.octets());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_where_they_belong() {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&[0x66, 0xab, 0xcd, 0xef, 0x00, 0x28, 17, 63]);
        bytes[23] = 1;
        bytes[39] = 2;
        let header = Ipv6::parse(&bytes).unwrap();
        assert_eq!(header.class, TrafficClass(0x6a));
        assert_eq!(header.flow_label, 0xbcdef);
        assert_eq!(header.payload_length, 40);
        assert_eq!((header.next_header, header.hop_limit), (Protocol::UDP, 63));
        assert_eq!(header.source, "::1".parse::<Ipv6Addr>().unwrap());
        assert_eq!(header.destination, "::2".parse::<Ipv6Addr>().unwrap());
        assert_eq!(Ipv6::parse(&bytes[..39]), None);
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(
            first in 0x60u8..0x70,
            rest in proptest::collection::vec(any::<u8>(), 0..50),
        ) {
            let bytes = [&[first][..], &rest].concat();
            if let Some(header) = Ipv6::parse(&bytes) {
                prop_assert_eq!(&header.emit()[..], &bytes[..LEN]);
            }
        }
    }
}
