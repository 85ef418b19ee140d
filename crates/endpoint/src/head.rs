//! The bytes around a payload that stays where it is.

use xoff_wire::icrc::{self, Icrc};
use xoff_wire::{Extension, Header, MAX_HEADER_LEN, Psn};

/// The headers of a packet, with zeros behind them: room for padding and ICRC.
pub(crate) struct Head {
    bytes: [u8; HEAD],
    pub(crate) length: usize,
}

/// As many bytes as headers, padding and ICRC take, in whole words.
const HEAD: usize = (MAX_HEADER_LEN + 3 + icrc::LEN).next_multiple_of(16);

impl Head {
    /// Those of `header`.
    #[inline]
    pub(crate) fn of(header: &Header) -> Self {
        let mut bytes = [0; HEAD];
        let length = bytes.first_chunk_mut().map_or(0, |room| header.encode(room));
        Self { bytes, length }
    }

    /// Headers that were put together before, if they are not too long.
    pub(crate) fn copied(head: &[u8]) -> Option<Self> {
        let mut bytes = [0; HEAD];
        bytes[..MAX_HEADER_LEN].get_mut(..head.len())?.copy_from_slice(head);
        Some(Self { bytes, length: head.len() })
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The same with all that is behind it.
    #[inline]
    pub(crate) fn with_room(&self) -> &[u8; HEAD] {
        &self.bytes
    }

    /// Gives the packet another number.
    #[inline]
    pub(crate) fn renumber(&mut self, psn: Psn) {
        if let Some(bytes) = self.bytes.first_chunk_mut() {
            Header::renumber(bytes, psn);
        }
    }

    /// Names another address of the peer's memory, if `header`, which this was made of, names one.
    #[inline]
    pub(crate) fn readdress(&mut self, header: &Header, address: u64) {
        if let (Extension::Reth(_), Some(bytes)) = (&header.extension, self.bytes.first_chunk_mut())
        {
            Header::readdress(bytes, address);
        }
    }

    /// The headers and zeros behind them.
    #[inline]
    pub(crate) fn headers(&self) -> &[u8] {
        &self.bytes[..MAX_HEADER_LEN]
    }

    /// Puts the ICRC behind the headers and `pad` bytes of padding, and returns all of it with some
    /// more zeros.
    #[inline]
    pub(crate) fn finish(&mut self, pad: usize, sum: Icrc) -> &[u8; HEAD] {
        let at = self.length + pad;
        self.bytes[at..at + icrc::LEN].copy_from_slice(&sum.to_bytes());
        &self.bytes
    }
}
