//! Pause frames: 802.3x for the whole link, 802.1Qbb for each of eight priorities.
//!
//! Both are MAC control frames (IEEE 802.3 annex 31A): after the Ethernet header an opcode, then
//! the time in quanta of 512 bits, then zeros up to the smallest frame.

use crate::bytes::{put, u16_at};
use crate::ethernet::MacAddr;

/// The address that pause frames are sent to and no bridge forwards.
pub(crate) const DESTINATION: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
/// Bytes of the longer form.
pub(crate) const MAX_LEN: usize = 20;

const LINK_OPCODE: u16 = 0x0001;
const PRIORITY_OPCODE: u16 = 0x0101;
const LINK_LEN: usize = 4;

/// A time of pause in units of 512 bits; zero means resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Quanta(pub u16);

/// A byte view of a priority pause, from its opcode on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a>(&'a [u8; MAX_LEN]);

impl<'a> View<'a> {
    /// The view, if these are the bytes of a priority pause.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let view = Self(bytes.first_chunk()?);
        (view.opcode() == PRIORITY_OPCODE).then_some(view)
    }

    /// 0x0101.
    pub(crate) fn opcode(self) -> u16 {
        u16_at::<0, MAX_LEN>(self.0)
    }

    /// A bit per priority that the frame sets. The high byte is reserved.
    pub(crate) fn enabled(self) -> u16 {
        u16_at::<2, MAX_LEN>(self.0)
    }

    /// The times of all eight, whether the frame sets them or not.
    pub(crate) fn quanta(self) -> [Quanta; 8] {
        let (_, times) = self.0.split_at(4);
        let (pairs, _) = times.as_chunks::<2>();
        let mut quanta = [Quanta(0); 8];
        for (time, pair) in quanta.iter_mut().zip(pairs) {
            *time = Quanta(u16::from_be_bytes(*pair));
        }
        quanta
    }
}

/// What a MAC control frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Everything stops (802.3x).
    Link(Quanta),
    /// Some priorities stop or resume (802.1Qbb).
    Priorities {
        /// A bit per priority that is meant. The high byte is reserved and kept as it is.
        enabled: u16,
        /// How long, per priority.
        quanta: [Quanta; 8],
    },
}

impl Pause {
    /// Reads what follows the Ethernet header and returns it with its length. `None` for other MAC
    /// control frames and for bytes that end too early.
    pub fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let (&[a, b, c, d], _) = bytes.split_first_chunk::<LINK_LEN>()?;
        match u16::from_be_bytes([a, b]) {
            LINK_OPCODE => Some((Self::Link(Quanta(u16::from_be_bytes([c, d]))), LINK_LEN)),
            PRIORITY_OPCODE => {
                let view = View::new(bytes)?;
                let (enabled, quanta) = (view.enabled(), view.quanta());
                Some((Self::Priorities { enabled, quanta }, MAX_LEN))
            }
            _ => None,
        }
    }

    /// Its bytes, and how many of the array they are.
    pub fn emit(&self) -> ([u8; MAX_LEN], usize) {
        let mut out = [0; MAX_LEN];
        match self {
            Self::Link(quanta) => {
                put::<0, 2, _>(&mut out, LINK_OPCODE.to_be_bytes());
                put::<2, 2, _>(&mut out, quanta.0.to_be_bytes());
                (out, LINK_LEN)
            }
            Self::Priorities { enabled, quanta } => {
                put::<0, 2, _>(&mut out, PRIORITY_OPCODE.to_be_bytes());
                put::<2, 2, _>(&mut out, enabled.to_be_bytes());
                let (pairs, _) = out[4..].as_chunks_mut::<2>();
                for (pair, time) in pairs.iter_mut().zip(quanta) {
                    *pair = time.0.to_be_bytes();
                }
                (out, MAX_LEN)
            }
        }
    }

    /// The time for `priority` (0 to 7), if the frame sets it. A pause of the whole link sets
    /// that of all.
    pub fn quanta(&self, priority: u8) -> Option<Quanta> {
        match self {
            Self::Link(quanta) => (priority < 8).then_some(*quanta),
            Self::Priorities { enabled, quanta } => {
                let quanta = quanta.get(usize::from(priority))?;
                (enabled >> priority & 1 == 1).then_some(*quanta)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_priority_pause_looks_as_on_the_wire() {
        let mut quanta = [Quanta(0); 8];
        quanta[3] = Quanta(0xffff);
        let pause = Pause::Priorities { enabled: 1 << 3 | 1 << 4, quanta };
        let (bytes, len) = pause.emit();
        let expected = [1, 1, 0, 0x18, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes[..len], expected);
        assert_eq!(pause.quanta(3), Some(Quanta(0xffff)));
        assert_eq!(pause.quanta(4), Some(Quanta(0)), "resume");
        assert_eq!(pause.quanta(5), None);
        assert_eq!(pause.quanta(8), None);
    }

    #[test]
    fn a_link_pause_is_the_short_form() {
        assert_eq!(Pause::parse(&[0, 1, 0x12, 0x34, 9]), Some((Pause::Link(Quanta(0x1234)), 4)));
        assert_eq!(Pause::parse(&[0, 2, 0, 0]), None, "EPON gate");
        assert_eq!(Pause::parse(&[1, 1, 0, 1]), None, "cut off");
    }

    proptest! {
        #[test]
        fn what_parses_is_emitted_again(
            kind in 0u8..3,
            rest in proptest::collection::vec(any::<u8>(), 0..24),
        ) {
            let bytes = [&[kind & 1, 1][..], &rest].concat();
            if let Some((pause, len)) = Pause::parse(&bytes) {
                let (again, size) = pause.emit();
                prop_assert_eq!(size, len);
                prop_assert_eq!(&again[..len], &bytes[..len]);
            }
        }
    }
}
