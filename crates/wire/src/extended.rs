//! The extended transport headers, each as a byte view and a value: DETH (IBTA 9.3.2), RETH (9.3.3),
//! AtomicETH (9.3.4), AETH (9.3.5.1), AtomicAckETH (9.3.5.3), immediate data (9.3.6), IETH (9.3.7).

use crate::bytes::{field, put, put_u24, u24_at, u32_at, u64_at};
use crate::{Aeth, Deth, Immediate, Qpn, Reth, Rkey, Syndrome};

/// Bytes of a DETH.
pub(crate) const DETH_LEN: usize = 8;
/// Bytes of a RETH.
pub(crate) const RETH_LEN: usize = 16;
/// Bytes of an AtomicETH.
pub(crate) const ATOMIC_LEN: usize = 28;
/// Bytes of an AETH.
pub(crate) const AETH_LEN: usize = 4;
/// Bytes of an AtomicAckETH.
pub(crate) const ATOMIC_ACK_LEN: usize = 8;
/// Bytes of immediate data.
pub(crate) const IMM_LEN: usize = 4;
/// Bytes of an IETH.
pub(crate) const IETH_LEN: usize = 4;
/// Bytes of a congestion notification packet behind its base header, all reserved (annex A17).
pub(crate) const CNP_LEN: usize = 16;

/// A byte view of a DETH.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DethView<'a>(pub &'a [u8; DETH_LEN]);

impl DethView<'_> {
    /// The queue key.
    pub(crate) fn qkey(self) -> u32 {
        u32_at::<0, DETH_LEN>(self.0)
    }

    /// The sender's queue pair.
    pub(crate) fn source(self) -> Qpn {
        Qpn::new(u24_at::<5, DETH_LEN>(self.0))
    }
}

impl Deth {
    /// The value of these bytes.
    pub fn parse(bytes: &[u8; DETH_LEN]) -> Self {
        let view = DethView(bytes);
        Self { qkey: view.qkey(), source: view.source() }
    }

    /// Its bytes; the reserved one is zero.
    pub fn emit(&self) -> [u8; DETH_LEN] {
        let mut out = [0; DETH_LEN];
        put::<0, 4, _>(&mut out, self.qkey.to_be_bytes());
        put_u24::<5, _>(&mut out, self.source.get());
        out
    }
}

/// A byte view of a RETH.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RethView<'a>(pub &'a [u8; RETH_LEN]);

impl RethView<'_> {
    /// Virtual address at the target.
    pub(crate) fn address(self) -> u64 {
        u64_at::<0, RETH_LEN>(self.0)
    }

    /// Key of the memory region.
    pub(crate) fn rkey(self) -> Rkey {
        Rkey(u32_at::<8, RETH_LEN>(self.0))
    }

    /// Bytes of the whole operation.
    pub(crate) fn length(self) -> u32 {
        u32_at::<12, RETH_LEN>(self.0)
    }
}

impl Reth {
    /// The value of these bytes.
    pub fn parse(bytes: &[u8; RETH_LEN]) -> Self {
        let view = RethView(bytes);
        Self { address: view.address(), rkey: view.rkey(), length: view.length() }
    }

    /// Its bytes.
    pub fn emit(&self) -> [u8; RETH_LEN] {
        let mut out = [0; RETH_LEN];
        put::<0, 8, _>(&mut out, self.address.to_be_bytes());
        put::<8, 4, _>(&mut out, self.rkey.0.to_be_bytes());
        put::<12, 4, _>(&mut out, self.length.to_be_bytes());
        out
    }
}

/// A byte view of an AtomicETH.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtomicView<'a>(pub &'a [u8; ATOMIC_LEN]);

impl AtomicView<'_> {
    /// Virtual address at the target.
    pub(crate) fn address(self) -> u64 {
        u64_at::<0, ATOMIC_LEN>(self.0)
    }

    /// Key of the memory region.
    pub(crate) fn rkey(self) -> Rkey {
        Rkey(u32_at::<8, ATOMIC_LEN>(self.0))
    }

    /// The value to write, or to add.
    pub(crate) fn operand(self) -> u64 {
        u64_at::<12, ATOMIC_LEN>(self.0)
    }

    /// The value expected there.
    pub(crate) fn compare(self) -> u64 {
        u64_at::<20, ATOMIC_LEN>(self.0)
    }
}

/// What an atomic operation wants, as a value of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicEth {
    /// Virtual address at the target, a multiple of eight.
    pub address: u64,
    /// Key of the memory region.
    pub rkey: Rkey,
    /// The value to write, or to add.
    pub operand: u64,
    /// The value expected there; zero where nothing is compared.
    pub compare: u64,
}

impl AtomicEth {
    /// The value of these bytes.
    pub fn parse(bytes: &[u8; ATOMIC_LEN]) -> Self {
        let view = AtomicView(bytes);
        Self {
            address: view.address(),
            rkey: view.rkey(),
            operand: view.operand(),
            compare: view.compare(),
        }
    }

    /// Its bytes.
    pub fn emit(&self) -> [u8; ATOMIC_LEN] {
        let mut out = [0; ATOMIC_LEN];
        put::<0, 8, _>(&mut out, self.address.to_be_bytes());
        put::<8, 4, _>(&mut out, self.rkey.0.to_be_bytes());
        put::<12, 8, _>(&mut out, self.operand.to_be_bytes());
        put::<20, 8, _>(&mut out, self.compare.to_be_bytes());
        out
    }
}

/// A byte view of an AETH.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AethView<'a>(pub &'a [u8; AETH_LEN]);

impl AethView<'_> {
    /// The syndrome's byte.
    pub(crate) fn raw_syndrome(self) -> u8 {
        self.0[0]
    }

    /// What it means, if it is not reserved.
    pub(crate) fn syndrome(self) -> Option<Syndrome> {
        Syndrome::from_raw(self.raw_syndrome())
    }

    /// Message sequence number, 24 bits.
    pub(crate) fn msn(self) -> u32 {
        u24_at::<1, AETH_LEN>(self.0)
    }
}

impl Aeth {
    /// The value of these bytes, or the syndrome if that is reserved.
    pub fn parse(bytes: &[u8; AETH_LEN]) -> Result<Self, u8> {
        let view = AethView(bytes);
        let syndrome = view.syndrome().ok_or(view.raw_syndrome())?;
        Ok(Self { syndrome, msn: view.msn() })
    }

    /// Its bytes.
    pub fn emit(&self) -> [u8; AETH_LEN] {
        let mut out = [self.syndrome.raw(), 0, 0, 0];
        put_u24::<1, _>(&mut out, self.msn);
        out
    }
}

/// The extended headers of one packet as they are on the wire, at most 28 bytes (an AtomicETH).
///
/// Service and opcode say which they are; [`crate::roce::Roce`] hands them out by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended {
    bytes: [u8; ATOMIC_LEN],
    len: u8,
}

impl Extended {
    /// No extended header.
    pub const NONE: Self = Self { bytes: [0; ATOMIC_LEN], len: 0 };

    /// These bytes; `None` if they are more than any packet has.
    pub fn new(extended: &[u8]) -> Option<Self> {
        let mut bytes = [0; ATOMIC_LEN];
        bytes.get_mut(..extended.len())?.copy_from_slice(extended);
        Some(Self { bytes, len: extended.len() as u8 })
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// The `M` bytes at `AT`, which the opcode must say are there: zeros beyond the end.
    pub(crate) fn part<const AT: usize, const M: usize>(&self) -> [u8; M] {
        field::<AT, M, ATOMIC_LEN>(&self.bytes)
    }
}

/// Immediate data is its own bytes; nothing to view.
impl From<[u8; IMM_LEN]> for Immediate {
    fn from(bytes: [u8; IMM_LEN]) -> Self {
        Self(bytes)
    }
}

/// An IETH is a key and nothing else.
impl From<[u8; IETH_LEN]> for Rkey {
    fn from(bytes: [u8; IETH_LEN]) -> Self {
        Self(u32::from_be_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_where_they_belong() {
        let deth = DethView(&[0x80, 1, 0, 0, 0xee, 0, 0x12, 0x34]);
        assert_eq!((deth.qkey(), deth.0[4]), (0x8001_0000, 0xee));
        assert_eq!(deth.source(), Qpn::new(0x1234));
        let aeth = AethView(&[0x62, 1, 2, 3]);
        assert_eq!(aeth.syndrome(), Some(Syndrome::RemoteAccessError));
        assert_eq!(aeth.msn(), 0x01_0203);
        assert_eq!(Aeth::parse(&[0x80, 0, 0, 0]), Err(0x80));
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(
            deth in any::<[u8; DETH_LEN]>(),
            reth in any::<[u8; RETH_LEN]>(),
            atomic in any::<[u8; 14]>(),
            aeth in any::<[u8; AETH_LEN]>(),
        ) {
            let mut expected = deth;
            expected[4] = 0;
            prop_assert_eq!(Deth::parse(&deth).emit(), expected);
            prop_assert_eq!(Reth::parse(&reth).emit(), reth);
            let mut twice = [0; ATOMIC_LEN];
            twice[..14].copy_from_slice(&atomic);
            twice[14..].copy_from_slice(&atomic);
            prop_assert_eq!(AtomicEth::parse(&twice).emit(), twice);
            if let Ok(value) = Aeth::parse(&aeth) {
                prop_assert_eq!(value.emit(), aeth);
            }
        }
    }
}
