//! [`Bytes`]: an amount of data.

use crate::parse::{self, ParseError, Unit};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// An amount of data in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than anything: "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether there are none.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero where that would be negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Rounded up to a whole multiple of `step` (`step` zero leaves it as it is).
    pub const fn round_up_to(self, step: Self) -> Self {
        if step.0 == 0 { self } else { Self(self.0.div_ceil(step.0).saturating_mul(step.0)) }
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        debug_assert!(self >= other, "negative amount: {self} - {other}");
        Bytes(self.0.wrapping_sub(other.0))
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, factor: u64) -> Bytes {
        Bytes(self.0.saturating_mul(factor))
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

pub(crate) const UNITS: [Unit; 9] = [
    Unit { name: "B", size: 1 },
    Unit { name: "KB", size: 1_000 },
    Unit { name: "MB", size: 1_000_000 },
    Unit { name: "GB", size: 1_000_000_000 },
    Unit { name: "TB", size: 1_000_000_000_000 },
    Unit { name: "KiB", size: 1 << 10 },
    Unit { name: "MiB", size: 1 << 20 },
    Unit { name: "GiB", size: 1 << 30 },
    Unit { name: "TiB", size: 1 << 40 },
];

/// Binary sizes read better in binary units, when they are whole; the rest in decimal ones.
const WHOLE_BINARY: [Unit; 4] = [
    Unit { name: "TiB", size: 1 << 40 },
    Unit { name: "GiB", size: 1 << 30 },
    Unit { name: "MiB", size: 1 << 20 },
    Unit { name: "KiB", size: 1 << 10 },
];

const DECIMAL: [Unit; 5] = [
    Unit { name: "TB", size: 1_000_000_000_000 },
    Unit { name: "GB", size: 1_000_000_000 },
    Unit { name: "MB", size: 1_000_000 },
    Unit { name: "KB", size: 1_000 },
    Unit { name: "B", size: 1 },
];

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a size", "150KB", &UNITS).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let odd = self.0 != 0 && !self.0.is_multiple_of(1000);
        if odd && let Some(unit) = WHOLE_BINARY.iter().find(|u| self.0.is_multiple_of(u.size)) {
            return f.pad(&format!("{}{}", self.0 / unit.size, unit.name));
        }
        parse::display(f, self.0, &DECIMAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_writes() {
        assert_eq!("150KB".parse(), Ok(Bytes::new(150_000)));
        assert_eq!("1MiB".parse(), Ok(Bytes::new(1 << 20)));
        assert_eq!(Bytes::new(4096).to_string(), "4KiB");
        assert_eq!(Bytes::new(1_500_000).to_string(), "1.5MB");
        assert_eq!(Bytes::new(283_648).to_string(), "277KiB");
        assert_eq!(Bytes::new(37_501).to_string(), "37.501KB");
        assert_eq!(Bytes::ZERO.to_string(), "0B");
    }

    proptest! {
        #[test]
        fn display_parses_back(n in any::<u64>()) {
            prop_assert_eq!(Bytes::new(n).to_string().parse(), Ok(Bytes::new(n)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,20}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<crate::Rate>();
            let _ = text.parse::<crate::Ratio>();
            let _ = text.parse::<crate::Length>();
            let _ = text.parse::<crate::Span>();
        }
    }
}
