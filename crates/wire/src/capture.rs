//! Capture files: pcap and pcapng, read as a stream and written.
//!
//! [`Reader`] takes either kind from anything that reads, keeps one buffer and hands out one packet
//! at a time. Lengths in the file are believed only up to a limit, so no file makes it allocate more
//! than that.

mod error;
mod pcap;
mod pcapng;
mod reader;
mod window;

pub use error::CaptureError;
pub use pcap::PcapWriter;
pub use pcapng::PcapngWriter;
pub use reader::{Format, Reader};

use std::fmt;
use xoff_units::Span;

/// The most bytes of a packet that a file may hold; more is refused as damage. (The largest that
/// capture tools take by default is 262,144.)
pub(crate) const MAX_PACKET: usize = 1 << 20;

/// What a capture's packets begin with: the registry's LINKTYPE numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkType(pub u32);

impl LinkType {
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// An IP header, of either version.
    pub const RAW_IP: Self = Self(101);
    /// An IPv4 header.
    pub const IPV4: Self = Self(228);
    /// An IPv6 header.
    pub const IPV6: Self = Self(229);
    /// Linux cooked, version 1.
    pub const COOKED_V1: Self = Self(113);
    /// Linux cooked, version 2.
    pub const COOKED_V2: Self = Self(276);
    /// Nothing we know.
    pub const UNKNOWN: Self = Self(u32::MAX);

    /// Whether packets begin with an IP header. (12 and 14 are what some systems write for 101.)
    pub(crate) const fn is_raw_ip(self) -> bool {
        matches!(self, Self::RAW_IP | Self::IPV4 | Self::IPV6 | Self(12 | 14))
    }

    /// Whether [`crate::frame::Frame`] can take such packets apart.
    pub const fn is_supported(self) -> bool {
        self.is_raw_ip() || matches!(self, Self::ETHERNET | Self::COOKED_V1 | Self::COOKED_V2)
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// When a packet was captured: nanoseconds since 1970. (Picoseconds since then do not fit the
/// instants that everything else uses.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// So many nanoseconds after 1970 began.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// The nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to here; zero if that is later, and no more than a span can hold.
    pub fn since(self, earlier: Self) -> Span {
        Span::from_ps(self.0.saturating_sub(earlier.0).saturating_mul(1000))
    }

    /// The moment `span` later, without what is less than a nanosecond.
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.as_ps() / 1000))
    }
}

/// A captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// When.
    pub timestamp: Timestamp,
    /// What its bytes begin with.
    pub link_type: LinkType,
    /// The number of the interface it was captured on, in a file with several; otherwise zero.
    pub interface: u32,
    /// Bytes it had on the wire.
    pub wire_len: u32,
    /// The bytes that were kept.
    pub bytes: &'a [u8],
}

#[cfg(test)]
mod tests;
