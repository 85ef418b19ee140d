//! Ethernet II with any 802.1Q tags in front of the type.

use crate::bytes::{field, put, u16_at};
use std::fmt;

/// Bytes of the header without tags.
pub const LEN: usize = 14;
/// Bytes of one tag.
pub(crate) const TAG_LEN: usize = 4;
/// The most tags that are looked through; what has more is left alone as an unknown type.
pub(crate) const MAX_TAGS: usize = 4;

/// A station's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4.
    pub const IPV4: Self = Self(0x0800);
    /// IPv6.
    pub const IPV6: Self = Self(0x86dd);
    /// MAC control: pause frames (IEEE 802.3 annex 31A).
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// RoCEv1: a GRH follows (IBTA annex A16).
    pub const ROCE_V1: Self = Self(0x8915);
    /// A customer tag (802.1Q).
    pub const CUSTOMER_TAG: Self = Self(0x8100);
    /// A service tag (802.1ad).
    pub const SERVICE_TAG: Self = Self(0x88a8);
    /// The outer tag of older equipment.
    pub const OLD_SERVICE_TAG: Self = Self(0x9100);

    /// Whether a tag follows and not yet what the frame carries.
    pub(crate) const fn is_tag(self) -> bool {
        matches!(self, Self::CUSTOMER_TAG | Self::SERVICE_TAG | Self::OLD_SERVICE_TAG)
    }
}

impl fmt::Display for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:04x}", self.0)
    }
}

/// A VLAN tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag {
    /// Which kind of tag: customer or service.
    pub protocol: EtherType,
    /// The priority (PCP), three bits: the one that priority flow control pauses.
    pub priority: u8,
    /// May be dropped first.
    pub drop_eligible: bool,
    /// The VLAN, twelve bits; zero when the tag is there for the priority alone.
    pub vlan: u16,
}

impl Tag {
    /// The tag of these four bytes, as they stand in front of the type proper.
    pub const fn parse(bytes: [u8; TAG_LEN]) -> Self {
        let [a, b, c, d] = bytes;
        Self {
            protocol: EtherType(u16::from_be_bytes([a, b])),
            priority: c >> 5,
            drop_eligible: c & 0x10 != 0,
            vlan: u16::from_be_bytes([c & 0x0f, d]),
        }
    }

    /// Its bytes. Numbers wider than their field lose their high bits.
    pub const fn emit(self) -> [u8; TAG_LEN] {
        let [a, b] = self.protocol.0.to_be_bytes();
        let [c, d] = self.vlan.to_be_bytes();
        [a, b, self.priority << 5 | (self.drop_eligible as u8) << 4 | c & 0x0f, d]
    }
}

/// A byte view of the header without tags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a>(&'a [u8; LEN]);

impl<'a> View<'a> {
    /// The view of the first bytes of `bytes`, and what follows them.
    pub(crate) fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_first_chunk()?;
        Some((Self(head), rest))
    }

    /// To whom.
    pub(crate) fn destination(self) -> MacAddr {
        MacAddr(field::<0, 6, LEN>(self.0))
    }

    /// From whom.
    pub(crate) fn source(self) -> MacAddr {
        MacAddr(field::<6, 6, LEN>(self.0))
    }

    /// The type, or the protocol of the first tag.
    pub(crate) fn ethertype(self) -> EtherType {
        EtherType(u16_at::<12, LEN>(self.0))
    }
}

/// The header: addresses, tags, type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ethernet {
    /// To whom.
    pub destination: MacAddr,
    /// From whom.
    pub source: MacAddr,
    /// The tags, outermost first.
    pub tags: [Option<Tag>; MAX_TAGS],
    /// What follows.
    pub ethertype: EtherType,
}

impl Ethernet {
    /// Reads the header and returns it with its length. `None` if the bytes end inside it.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let (view, mut rest) = View::split(bytes)?;
        let mut tags = [None; MAX_TAGS];
        let mut ethertype = view.ethertype();
        let mut len = LEN;
        for tag in &mut tags {
            if !ethertype.is_tag() {
                break;
            }
            let [a, b] = ethertype.0.to_be_bytes();
            let ([c, d, e, f], after) = rest.split_first_chunk()?;
            *tag = Some(Tag::parse([a, b, *c, *d]));
            ethertype = EtherType(u16::from_be_bytes([*e, *f]));
            rest = after;
            len += TAG_LEN;
        }
        let (destination, source) = (view.destination(), view.source());
        Some((Self { destination, source, tags, ethertype }, len))
    }

    /// The header's bytes, and how many of the array they are. Tags behind a gap in
    /// [`Ethernet::tags`] follow the others without it.
    pub fn emit(&self) -> ([u8; LEN + MAX_TAGS * TAG_LEN], usize) {
        let mut out = [0; LEN + MAX_TAGS * TAG_LEN];
        put::<0, 6, _>(&mut out, self.destination.0);
        put::<6, 6, _>(&mut out, self.source.0);
        let mut at = 12;
        for tag in self.tags.iter().flatten() {
            out[at..at + TAG_LEN].copy_from_slice(&tag.emit());
            at += TAG_LEN;
        }
        out[at..at + 2].copy_from_slice(&self.ethertype.0.to_be_bytes());
        (out, at + 2)
    }

    /// The priority of the innermost tag, if there is one.
    ///
    /// ```
    /// use xoff_wire::ethernet::Ethernet;
    ///
    /// let tagged = [&[0; 12][..], &[0x81, 0x00, 0x60, 0x64, 0x08, 0x00]].concat();
    /// let (header, _) = Ethernet::parse(&tagged).unwrap();
    /// assert_eq!(header.priority(), Some(3));
    /// ```
    pub fn priority(&self) -> Option<u8> {
        self.tags.iter().flatten().next_back().map(|tag| tag.priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stacked_tags_are_read_outermost_first() {
        let bytes = [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x88, 0xa8, 0x60, 0x64, 0x81, 0x00, 0xb0, 0x01,
            0x89, 0x15, 0xee,
        ];
        let (header, len) = Ethernet::parse(&bytes).unwrap();
        assert_eq!(len, 22);
        assert_eq!(header.ethertype, EtherType::ROCE_V1);
        let outer = header.tags[0].unwrap();
        assert_eq!((outer.protocol, outer.priority, outer.vlan), (EtherType::SERVICE_TAG, 3, 100));
        let inner = header.tags[1].unwrap();
        assert_eq!((inner.priority, inner.drop_eligible, inner.vlan), (5, true, 1));
        assert_eq!(header.priority(), Some(5));
        assert_eq!(header.tags[2], None);
        assert_eq!(&header.emit().0[..22], &bytes[..22]);
        assert_eq!(Ethernet::parse(&bytes[..20]), None, "the second tag is cut off");
    }

    #[test]
    fn more_tags_than_we_look_through_stay_an_unknown_type() {
        let mut bytes = vec![0; 12];
        for _ in 0..6 {
            bytes.extend([0x81, 0x00, 0x00, 0x07]);
        }
        let (header, len) = Ethernet::parse(&bytes).unwrap();
        assert_eq!(len, LEN + MAX_TAGS * TAG_LEN);
        assert_eq!(header.ethertype, EtherType::CUSTOMER_TAG);
        assert_eq!(header.emit().0[..], bytes[..len]);
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..40),
            tags in 0usize..6,
        ) {
            for tag in 0..tags {
                if let Some(at) = bytes.get_mut(12 + tag * 4..14 + tag * 4) {
                    at.copy_from_slice(&[0x81, 0x00]);
                }
            }
            if let Some((header, len)) = Ethernet::parse(&bytes) {
                let (again, size) = header.emit();
                prop_assert_eq!(size, len);
                prop_assert_eq!(&again[..len], &bytes[..len]);
            }
        }
    }
}
