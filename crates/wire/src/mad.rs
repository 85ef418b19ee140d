//! Management datagrams (IBTA 13.4): 256 bytes, sent to queue pair 1.

use crate::bytes::{put, u16_at, u32_at, u64_at};
use crate::{Deth, Qpn};

/// Bytes of a datagram, whatever is in it.
pub const LEN: usize = 256;
/// Bytes of the common header.
pub(crate) const HEADER_LEN: usize = 24;
/// Bytes behind it.
pub(crate) const DATA_LEN: usize = LEN - HEADER_LEN;
/// The queue pair that general management talks to.
pub const QPN: Qpn = Qpn::new(1);
/// The queue key of queue pair 1.
pub const QKEY: u32 = 0x8001_0000;
/// The datagram header of management datagrams: from queue pair 1, with its key.
pub const DETH: Deth = Deth { qkey: QKEY, source: QPN };

/// What joins a request to its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransactionId(pub u64);

/// The common header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mad {
    /// 1.
    pub base_version: u8,
    /// Which kind of management.
    pub class: u8,
    /// The version of that class.
    pub class_version: u8,
    /// What is to be done.
    pub method: u8,
    /// What came of it.
    pub status: u16,
    /// Two bytes for the class.
    pub class_specific: u16,
    /// The transaction.
    pub transaction: TransactionId,
    /// What it is about.
    pub attribute: u16,
    /// Two reserved bytes.
    pub reserved: u16,
    /// More on what it is about.
    pub modifier: u32,
}

impl Mad {
    /// Reads the header. `None` if the bytes end inside it.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_LEN] = bytes.first_chunk()?;
        let [base_version, class, class_version, method, ..] = *bytes;
        Some(Self {
            base_version,
            class,
            class_version,
            method,
            status: u16_at::<4, HEADER_LEN>(bytes),
            class_specific: u16_at::<6, HEADER_LEN>(bytes),
            transaction: TransactionId(u64_at::<8, HEADER_LEN>(bytes)),
            attribute: u16_at::<16, HEADER_LEN>(bytes),
            reserved: u16_at::<18, HEADER_LEN>(bytes),
            modifier: u32_at::<20, HEADER_LEN>(bytes),
        })
    }

    /// Its bytes.
    pub(crate) fn emit(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        let first = [self.base_version, self.class, self.class_version, self.method];
        put::<0, 4, _>(&mut out, first);
        put::<4, 2, _>(&mut out, self.status.to_be_bytes());
        put::<6, 2, _>(&mut out, self.class_specific.to_be_bytes());
        put::<8, 8, _>(&mut out, self.transaction.0.to_be_bytes());
        put::<16, 2, _>(&mut out, self.attribute.to_be_bytes());
        put::<18, 2, _>(&mut out, self.reserved.to_be_bytes());
        put::<20, 4, _>(&mut out, self.modifier.to_be_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(bytes in any::<[u8; HEADER_LEN]>()) {
            prop_assert_eq!(Mad::parse(&bytes).unwrap().emit(), bytes);
        }
    }
}
