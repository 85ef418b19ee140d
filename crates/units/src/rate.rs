//! [`Rate`] and [`ByteTime`]: how fast a link is, and how long one byte takes on it.

use crate::parse::{self, ParseError, Unit};
use crate::time::PS_PER_S;
use crate::{Bytes, Span};
use std::fmt;
use std::str::FromStr;

/// A data rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// `gbps` gigabits per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Gigabits per second, for people and tables.
    pub fn as_gbps_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time `bytes` take on the wire, rounded up to a picosecond; [`Span::MAX`] at rate zero.
    pub const fn time_for(self, bytes: Bytes) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // What a message or a piece has: 64 bits are divided in a third of the time.
        if let Some(work) = bytes.get().checked_mul(8 * PS_PER_S) {
            return Span::from_ps(work.div_ceil(self.0));
        }
        let bits = bytes.get() as u128 * 8;
        let ps = (bits * PS_PER_S as u128).div_ceil(self.0 as u128);
        if ps > u64::MAX as u128 { Span::MAX } else { Span::from_ps(ps as u64) }
    }

    /// The whole bytes that pass in `span`.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        let bits = self.0 as u128 * span.as_ps() as u128 / PS_PER_S as u128;
        let bytes = bits / 8;
        if bytes > u64::MAX as u128 { Bytes::MAX } else { Bytes::new(bytes as u64) }
    }

    /// The rate at which `bytes` in `span` moved, for reports.
    pub const fn of(bytes: Bytes, span: Span) -> Rate {
        if span.as_ps() == 0 {
            return Rate::ZERO;
        }
        let bps = bytes.get() as u128 * 8 * PS_PER_S as u128 / span.as_ps() as u128;
        if bps > u64::MAX as u128 { Rate(u64::MAX) } else { Rate(bps as u64) }
    }
}

/// The time one byte takes on a link, prepared so that the time of a packet is one multiplication.
///
/// Held in 1/2^20 picoseconds: exact for every rate at which a byte takes a whole number of
/// picoseconds (all Ethernet rates from 10G to 1.6T), and within 1 ps per megabyte otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteTime(u64);

const FRACTION_BITS: u32 = 20;

impl ByteTime {
    /// The time of one byte at `rate`, which must not be zero.
    pub const fn of(rate: Rate) -> Self {
        assert!(rate.0 > 0, "a link needs a rate");
        let scaled = (8 * PS_PER_S as u128) << FRACTION_BITS;
        Self(scaled.div_ceil(rate.0 as u128) as u64)
    }

    /// The time `bytes` take.
    #[inline(always)]
    pub const fn times(self, bytes: u32) -> Span {
        // 4 GiB at 1 Mb/s would overflow; at that rate no packet comes near it.
        Span::from_ps(self.0.wrapping_mul(bytes as u64) >> FRACTION_BITS)
    }
}

pub(crate) const UNITS: [Unit; 10] = [
    Unit { name: "Tbps", size: 1_000_000_000_000 },
    Unit { name: "Gbps", size: 1_000_000_000 },
    Unit { name: "Mbps", size: 1_000_000 },
    Unit { name: "Kbps", size: 1_000 },
    Unit { name: "bps", size: 1 },
    Unit { name: "Tb/s", size: 1_000_000_000_000 },
    Unit { name: "Gb/s", size: 1_000_000_000 },
    Unit { name: "Mb/s", size: 1_000_000 },
    Unit { name: "G", size: 1_000_000_000 },
    Unit { name: "T", size: 1_000_000_000_000 },
];

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a rate", "400Gbps", &UNITS).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display(f, self.0, &UNITS[..5])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ethernet_rates_are_exact() {
        for (gbps, ps) in
            [(10, 800), (25, 320), (40, 200), (100, 80), (400, 20), (800, 10), (1600, 5)]
        {
            let rate = Rate::from_gbps(gbps);
            assert_eq!(rate.time_for(Bytes::new(1)), Span::from_ps(ps));
            assert_eq!(ByteTime::of(rate).times(4160), Span::from_ps(4160 * ps));
        }
    }

    #[test]
    fn reads_and_writes() {
        assert_eq!("400Gbps".parse(), Ok(Rate::from_gbps(400)));
        assert_eq!("1.6Tbps".parse(), Ok(Rate::from_gbps(1600)));
        assert_eq!("40 Mb/s".parse(), Ok(Rate::from_bps(40_000_000)));
        assert_eq!(Rate::from_gbps(1600).to_string(), "1.6Tbps");
        assert_eq!(Rate::from_gbps(100).to_string(), "100Gbps");
    }

    proptest! {
        #[test]
        fn display_parses_back(n in any::<u64>()) {
            prop_assert_eq!(Rate::from_bps(n).to_string().parse(), Ok(Rate::from_bps(n)));
        }

        #[test]
        fn a_byte_time_is_never_too_short(bps in 1_000_000u64..4_000_000_000_000, n in 1u32..10_000) {
            let exact = Rate::from_bps(bps).time_for(Bytes::new(n.into()));
            let quick = ByteTime::of(Rate::from_bps(bps)).times(n);
            prop_assert!(exact.as_ps().abs_diff(quick.as_ps()) <= 1);
        }
    }
}
