//! [`PacketRate`]: how many packets a device handles in a second.

use crate::Span;
use crate::parse::{self, ParseError, Unit};
use crate::time::PS_PER_S;
use std::fmt;
use std::str::FromStr;

/// Packets per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PacketRate(u64);

impl PacketRate {
    /// `pps` packets per second.
    pub const fn from_pps(pps: u64) -> Self {
        Self(pps)
    }

    /// Packets per second.
    pub const fn pps(self) -> u64 {
        self.0
    }

    /// The time of one packet, rounded up to a picosecond; [`Span::MAX`] at rate zero.
    pub const fn packet_time(self) -> Span {
        match self.0 {
            0 => Span::MAX,
            pps => Span::from_ps(PS_PER_S.div_ceil(pps)),
        }
    }
}

pub(crate) const UNITS: [Unit; 4] = [
    Unit { name: "Gpps", size: 1_000_000_000 },
    Unit { name: "Mpps", size: 1_000_000 },
    Unit { name: "Kpps", size: 1_000 },
    Unit { name: "pps", size: 1 },
];

impl FromStr for PacketRate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a packet rate", "200Mpps", &UNITS).map(PacketRate)
    }
}

impl fmt::Display for PacketRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display(f, self.0, &UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_million_a_second_take_5_ns_each() {
        let rate: PacketRate = "200Mpps".parse().unwrap();
        assert_eq!(rate.packet_time(), Span::from_ns(5));
        assert_eq!(rate.to_string(), "200Mpps");
        assert_eq!("1.5Kpps".parse(), Ok(PacketRate::from_pps(1_500)));
        assert!("200".parse::<PacketRate>().is_err() && "200Mbps".parse::<PacketRate>().is_err());
        assert_eq!(PacketRate::from_pps(3).packet_time(), Span::from_ps(333_333_333_334));
    }
}
