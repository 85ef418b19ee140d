//! IPv4 headers (RFC 791, with the ECN bits of RFC 3168).

use crate::bytes::{field, put, u16_at};
use crate::ip::{Protocol, TrafficClass};
use std::net::Ipv4Addr;

/// Bytes of the header without options.
pub const LEN: usize = 20;
/// The most bytes of a header.
pub(crate) const MAX_LEN: usize = 60;

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const OFFSET: u16 = 0x1fff;

/// A byte view of the fixed part of the header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a>(&'a [u8; LEN]);

impl<'a> View<'a> {
    /// The view of the first bytes of `bytes`.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        Some(Self(bytes.first_chunk()?))
    }

    /// 4.
    pub(crate) fn version(self) -> u8 {
        self.0[0] >> 4
    }

    /// Bytes of the header with options; less than [`LEN`] makes no sense.
    pub(crate) fn header_len(self) -> usize {
        usize::from(self.0[0] & 0x0f) * 4
    }

    /// DSCP and ECN.
    pub(crate) fn class(self) -> TrafficClass {
        TrafficClass(self.0[1])
    }

    /// Bytes of header and payload.
    pub(crate) fn total_length(self) -> u16 {
        u16_at::<2, LEN>(self.0)
    }

    /// Identification: the same in all fragments of a datagram.
    pub(crate) fn identification(self) -> u16 {
        u16_at::<4, LEN>(self.0)
    }

    /// Flags (three bits) and fragment offset.
    pub(crate) fn fragment(self) -> Fragment {
        Fragment(u16_at::<6, LEN>(self.0))
    }

    /// Routers it may still pass.
    pub(crate) fn ttl(self) -> u8 {
        self.0[8]
    }

    /// What follows.
    pub(crate) fn protocol(self) -> Protocol {
        Protocol(self.0[9])
    }

    /// The header's checksum.
    pub(crate) fn checksum(self) -> u16 {
        u16_at::<10, LEN>(self.0)
    }

    /// From whom.
    pub(crate) fn source(self) -> Ipv4Addr {
        Ipv4Addr::from(field::<12, 4, LEN>(self.0))
    }

    /// To whom.
    pub(crate) fn destination(self) -> Ipv4Addr {
        Ipv4Addr::from(field::<16, 4, LEN>(self.0))
    }
}

/// Flags and fragment offset, as they stand in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fragment(pub u16);

impl Fragment {
    /// A whole datagram that routers must not cut.
    pub const WHOLE: Self = Self(DONT_FRAGMENT);

    /// Whether routers must not cut it.
    ///
    /// ```
    /// use xoff_wire::ipv4::Fragment;
    ///
    /// assert!(Fragment::WHOLE.dont_fragment());
    /// assert!(!Fragment(0x2000).dont_fragment());
    /// ```
    pub const fn dont_fragment(self) -> bool {
        self.0 & DONT_FRAGMENT != 0
    }

    /// Whether this is a piece of a datagram and not all of it.
    pub(crate) const fn is_piece(self) -> bool {
        self.0 & (MORE_FRAGMENTS | OFFSET) != 0
    }
}

/// Options of a header, up to forty bytes, as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    bytes: [u8; MAX_LEN - LEN],
    len: u8,
}

impl Options {
    /// No options.
    pub const NONE: Self = Self { bytes: [0; MAX_LEN - LEN], len: 0 };

    /// These options; `None` if they are too long or no whole number of words.
    pub fn new(options: &[u8]) -> Option<Self> {
        if !options.len().is_multiple_of(4) {
            return None;
        }
        let mut bytes = [0; MAX_LEN - LEN];
        bytes.get_mut(..options.len())?.copy_from_slice(options);
        Some(Self { bytes, len: options.len() as u8 })
    }

    /// Their bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4 {
    /// DSCP and ECN.
    pub class: TrafficClass,
    /// Bytes of header and payload.
    pub total_length: u16,
    /// Identification: the same in all fragments of a datagram. The ICRC covers it.
    pub identification: u16,
    /// Flags and fragment offset.
    pub fragment: Fragment,
    /// Routers it may still pass.
    pub ttl: u8,
    /// What follows.
    pub protocol: Protocol,
    /// The header's checksum, right or wrong.
    pub checksum: u16,
    /// From whom.
    pub source: Ipv4Addr,
    /// To whom.
    pub destination: Ipv4Addr,
    /// Options, which RoCE does not use.
    pub options: Options,
}

impl Ipv4 {
    /// Reads a header and returns it with its length. `None` if the bytes end inside it or it is no
    /// IPv4 header. The checksum is not verified: [`Ipv4::expected_checksum`].
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let view = View::new(bytes)?;
        let len = view.header_len();
        if view.version() != 4 || len < LEN {
            return None;
        }
        let header = Self {
            class: view.class(),
            total_length: view.total_length(),
            identification: view.identification(),
            fragment: view.fragment(),
            ttl: view.ttl(),
            protocol: view.protocol(),
            checksum: view.checksum(),
            source: view.source(),
            destination: view.destination(),
            options: if len == LEN { Options::NONE } else { Options::new(bytes.get(LEN..len)?)? },
        };
        Some((header, len))
    }

    /// Bytes of the header.
    pub fn header_len(&self) -> usize {
        LEN + usize::from(self.options.len)
    }

    /// Its bytes, and how many of the array they are.
    pub fn emit(&self) -> ([u8; MAX_LEN], usize) {
        let len = self.header_len();
        let mut out = [0; MAX_LEN];
        out[0] = 0x40 | (len / 4) as u8;
        out[1] = self.class.0;
        put::<2, 2, _>(&mut out, self.total_length.to_be_bytes());
        put::<4, 2, _>(&mut out, self.identification.to_be_bytes());
        put::<6, 2, _>(&mut out, self.fragment.0.to_be_bytes());
        out[8] = self.ttl;
        out[9] = self.protocol.0;
        put::<10, 2, _>(&mut out, self.checksum.to_be_bytes());
        put::<12, 4, _>(&mut out, self.source.octets());
        put::<16, 4, _>(&mut out, self.destination.octets());
        out[LEN..].copy_from_slice(&self.options.bytes);
        (out, len)
    }

    /// The checksum that the header should have: the one's complement of the one's complement sum of
    /// its words, its own taken as zero.
    pub fn expected_checksum(&self) -> u16 {
        let (bytes, _) = Self { checksum: 0, ..*self }.emit();
        let (words, _) = bytes.as_chunks::<2>();
        let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        !((folded & 0xffff) + (folded >> 16)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The header of a read request that a kernel sent.
    const REAL: [u8; 20] = [
        0x45, 0x00, 0x00, 0x48, 0x6f, 0x88, 0x40, 0x00, 0x40, 0x11, 0xff, 0x65, 0x0a, 0x2f, 0x5b,
        0x03, 0x0a, 0x2f, 0x5b, 0x02,
    ];

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // A header whose checksum b861 is worked through in many textbooks.
        let bytes = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        let (header, _) = Ipv4::parse(&bytes).unwrap();
        assert_eq!(header.expected_checksum(), 0xb861);
    }

    #[test]
    fn fields_are_where_they_belong() {
        let (header, len) = Ipv4::parse(&REAL).unwrap();
        assert_eq!(len, 20);
        assert_eq!(header.total_length, 72);
        assert_eq!(header.identification, 0x6f88);
        assert!(header.fragment.dont_fragment() && !header.fragment.is_piece());
        assert_eq!(header.protocol, Protocol::UDP);
        assert_eq!(header.source, Ipv4Addr::new(10, 47, 91, 3));
        assert_eq!(header.destination, Ipv4Addr::new(10, 47, 91, 2));
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Ipv4::parse(&REAL[..19]), None);
        let with_first = |first: u8| Ipv4::parse(&[&[first], &REAL[1..]].concat());
        assert_eq!(with_first(0x65), None, "version 6");
        assert_eq!(with_first(0x44), None, "header of 16 bytes");
        assert_eq!(with_first(0x46), None, "options that are not there");
        assert!(Fragment(1).is_piece() && Fragment(MORE_FRAGMENTS).is_piece());
        assert_eq!(Options::new(&[0; 3]), None);
        assert_eq!(Options::new(&[0; 44]), None);
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(
            words in 5u8..16,
            rest in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let bytes = [&[0x40 | words][..], &rest].concat();
            if let Some((header, len)) = Ipv4::parse(&bytes) {
                let (again, size) = header.emit();
                prop_assert_eq!(size, len);
                prop_assert_eq!(&again[..len], &bytes[..len]);
            }
        }
    }
}
