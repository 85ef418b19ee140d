//! The global route header of RoCEv1 (IBTA 8.3): an IPv6 header whose addresses are GIDs and whose
//! next header is the base transport header.

use crate::ip::Protocol;
use crate::ipv6::{self, Ipv6};
use std::net::Ipv6Addr;

/// Bytes of the header.
pub const LEN: usize = ipv6::LEN;

/// A port's global identifier. For RoCE it is an IPv6 address, or an IPv4 one mapped into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub Ipv6Addr);

/// The header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grh(pub Ipv6);

impl Grh {
    /// Reads a header. `None` if the bytes end inside it or it has another version. (Its next header
    /// is not checked; only [`Protocol::IBA`] makes sense.)
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Ipv6::parse(bytes).map(Self)
    }

    /// Its bytes.
    pub fn emit(&self) -> [u8; LEN] {
        self.0.emit()
    }

    /// From whom.
    pub const fn source(&self) -> Gid {
        Gid(self.0.source)
    }

    /// To whom.
    pub const fn destination(&self) -> Gid {
        Gid(self.0.destination)
    }

    /// Whether a base transport header follows.
    pub const fn carries_transport(&self) -> bool {
        self.0.next_header.0 == Protocol::IBA.0
    }
}
