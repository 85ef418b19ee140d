//! Linux "cooked" capture headers, which stand for the link layer in captures of all interfaces at
//! once.

use crate::bytes::u16_at;
use crate::ethernet::EtherType;

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

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Self::V1(bytes) => bytes,
            Self::V2(bytes) => bytes,
        }
    }
}
