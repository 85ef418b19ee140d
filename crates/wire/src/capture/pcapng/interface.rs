//! An interface of a capture: what its packets begin with and how its clock ticks.

use super::super::{LinkType, Timestamp};

const END: u16 = 0;
const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;
const NS_PER_SECOND: u128 = 1_000_000_000;

/// What an interface's block says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interface {
    pub(super) link_type: LinkType,
    /// The most bytes kept of a packet; zero for no limit.
    pub(super) snap_len: u32,
    /// The resolution's byte: powers of ten, or of two with the high bit.
    resolution: u8,
    /// Seconds to add to every timestamp.
    offset: i64,
}

impl Interface {
    /// Reads the body of its block. Options that make no sense are passed over.
    pub(super) fn parse(body: &[u8], big_endian: bool) -> Option<Self> {
        let short = |bytes: [u8; 2]| {
            if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
        };
        let (&[a, b, _, _, e, f, g, h], mut options) = body.split_first_chunk::<8>()?;
        let snap_len = [e, f, g, h];
        let mut interface = Self {
            link_type: LinkType(u32::from(short([a, b]))),
            snap_len: if big_endian {
                u32::from_be_bytes(snap_len)
            } else {
                u32::from_le_bytes(snap_len)
            },
            resolution: 6,
            offset: 0,
        };
        while let Some((&[a, b, c, d], rest)) = options.split_first_chunk::<4>() {
            let (code, len) = (short([a, b]), usize::from(short([c, d])));
            let Some(value) = rest.get(..len) else { break };
            match (code, value) {
                (END, _) => break,
                (RESOLUTION, [resolution]) => interface.resolution = *resolution,
                (OFFSET, bytes) => {
                    if let Ok(bytes) = <[u8; 8]>::try_from(bytes) {
                        interface.offset = if big_endian {
                            i64::from_be_bytes(bytes)
                        } else {
                            i64::from_le_bytes(bytes)
                        };
                    }
                }
                _ => {}
            }
            options = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        Some(interface)
    }

    /// The moment of a count of the clock's ticks; the nearest that can be said if it cannot be.
    pub(super) fn timestamp(&self, ticks: u64) -> Timestamp {
        let power = u32::from(self.resolution & 0x7f);
        let scaled = u128::from(ticks) * NS_PER_SECOND;
        let ns = if self.resolution & 0x80 != 0 {
            scaled >> power
        } else {
            10u128.checked_pow(power).map_or(0, |per_second| scaled / per_second)
        };
        let offset = i128::from(self.offset) * NS_PER_SECOND as i128;
        let total = (ns as i128).saturating_add(offset);
        Timestamp::from_ns(u64::try_from(total.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(options: &[u8]) -> Interface {
        let body = [&[1, 0, 0, 0, 0, 0, 4, 0], options].concat();
        Interface::parse(&body, false).unwrap()
    }

    #[test]
    fn clocks_tick_as_they_say() {
        let plain = interface(&[]);
        assert_eq!((plain.link_type, plain.snap_len), (LinkType::ETHERNET, 0x4_0000));
        assert_eq!(plain.timestamp(1_500_000).as_ns(), 1_500_000_000, "microseconds");
        let nanoseconds = interface(&[9, 0, 1, 0, 9, 0, 0, 0]);
        assert_eq!(nanoseconds.timestamp(1_500_000).as_ns(), 1_500_000);
        let picoseconds = interface(&[2, 0, 2, 0, b'h', b'i', 0, 0, 9, 0, 1, 0, 12, 0, 0, 0]);
        assert_eq!(picoseconds.timestamp(1_500_000).as_ns(), 1500);
        let halves = interface(&[9, 0, 1, 0, 0x81, 0, 0, 0]);
        assert_eq!(halves.timestamp(3).as_ns(), 1_500_000_000);
        let later = interface(&[14, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(later.timestamp(1).as_ns(), 2_000_001_000);
    }

    #[test]
    fn absurd_clocks_do_no_harm() {
        for resolution in 0..=255 {
            let mut clock = interface(&[9, 0, 1, 0, resolution, 0, 0, 0]);
            clock.timestamp(u64::MAX);
            clock.offset = i64::MIN;
            assert_eq!(clock.timestamp(0).as_ns(), 0);
            clock.offset = i64::MAX;
            clock.timestamp(u64::MAX);
        }
        assert_eq!(interface(&[9, 0, 200, 0, 1]).resolution, 6, "an option that runs out");
        assert_eq!(Interface::parse(&[0; 7], true), None);
    }
}
