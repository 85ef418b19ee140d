//! Linux "cooked" capture headers, which stand for the link layer in captures of all interfaces at
//! once.

use crate::bytes::{field, u16_at, u32_at};
use crate::ethernet::{EtherType, MacAddr};

/// Bytes of the first version.
pub(crate) const V1_LEN: usize = 16;
/// Bytes of the second version.
pub(crate) const V2_LEN: usize = 20;

/// A cooked header, as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cooked {
    /// LINUX_SLL.
    V1([u8; V1_LEN]),
    /// LINUX_SLL2.
    V2([u8; V2_LEN]),
}

impl Cooked {
    /// What follows.
    pub(crate) fn ethertype(&self) -> EtherType {
        EtherType(match self {
            Self::V1(bytes) => u16_at::<14, V1_LEN>(bytes),
            Self::V2(bytes) => u16_at::<0, V2_LEN>(bytes),
        })
    }

    /// Where the kernel saw the packet: the interface's number, of which the first version has none, and
    /// whether it came in (0 to 3) or went out (4).
    pub fn place(&self) -> (u32, u8) {
        match self {
            Self::V1(bytes) => (0, bytes[1]),
            Self::V2(bytes) => (u32_at::<4, V2_LEN>(bytes), bytes[10]),
        }
    }

    /// The station that sent it: the first six bytes of its link-layer address.
    pub(crate) fn source(&self) -> MacAddr {
        MacAddr(match self {
            Self::V1(bytes) => field::<6, 6, V1_LEN>(bytes),
            Self::V2(bytes) => field::<12, 6, V2_LEN>(bytes),
        })
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::V1(bytes) => bytes,
            Self::V2(bytes) => bytes,
        }
    }
}
