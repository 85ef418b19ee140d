//! [`Length`]: how long a cable is.

use crate::Span;
use crate::parse::{self, ParseError, Unit};
use std::fmt;
use std::str::FromStr;

/// A length in millimetres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Length(u64);

impl Length {
    /// A length of `metres`.
    pub const fn from_m(metres: u64) -> Self {
        Self(metres * 1_000)
    }

    /// A length of `mm` millimetres.
    pub const fn from_mm(mm: u64) -> Self {
        Self(mm)
    }

    /// Millimetres.
    pub const fn as_mm(self) -> u64 {
        self.0
    }

    /// The time a signal takes along it: 5 ns per metre, the usual figure for fibre and copper.
    pub const fn propagation(self) -> Span {
        Span::from_ps(self.0.saturating_mul(5))
    }
}

pub(crate) const UNITS: [Unit; 4] = [
    Unit { name: "km", size: 1_000_000 },
    Unit { name: "m", size: 1_000 },
    Unit { name: "cm", size: 10 },
    Unit { name: "mm", size: 1 },
];

impl FromStr for Length {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a length", "30m", &UNITS).map(Length)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display(f, self.0, &UNITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_metres_take_150_ns() {
        let cable: Length = "30m".parse().unwrap();
        assert_eq!(cable.propagation(), Span::from_ns(150));
        assert_eq!(Length::from_mm(1500).to_string(), "1.5m");
    }
}
