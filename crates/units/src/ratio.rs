//! [`Ratio`]: an exact fraction, for probabilities, shares and factors.

use crate::parse::{Decimal, ParseError};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A non-negative fraction in lowest terms. `0.2`, `20%`, `1/5` and `1:5` are the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };
    /// All of it.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// `numerator / denominator`; the denominator must not be zero.
    pub const fn new(numerator: u64, denominator: u64) -> Self {
        assert!(denominator > 0, "a ratio needs a denominator");
        let (mut a, mut b) = (numerator, denominator);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        Self { numerator: numerator / a, denominator: denominator / a }
    }

    /// `a / b`; none if that is not a ratio that fits.
    fn quotient(a: Decimal, b: Decimal) -> Option<Self> {
        let scaled = |of: Decimal, other: u32| {
            of.digits.checked_mul(10u64.checked_pow(other.saturating_sub(of.scale))?)
        };
        let (a, b) = (scaled(a, b.scale)?, scaled(b, a.scale)?);
        (b > 0).then(|| Self::new(a, b))
    }

    /// The numerator in lowest terms.
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator in lowest terms.
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// Whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.numerator == 0
    }

    /// `value x self`, rounded down, saturating.
    pub const fn of(self, value: u64) -> u64 {
        let product = value as u128 * self.numerator as u128 / self.denominator as u128;
        if product > u64::MAX as u128 { u64::MAX } else { product as u64 }
    }

    /// The ratio in units of 1/2^32, rounded to nearest: the fixed point of the control loops.
    pub const fn as_q32(self) -> u64 {
        let scaled = ((self.numerator as u128) << 32) + self.denominator as u128 / 2;
        let q = scaled / self.denominator as u128;
        if q > u64::MAX as u128 { u64::MAX } else { q as u64 }
    }

    /// As a threshold `t` such that a uniform `u64` is below it with this probability (at most 1).
    pub const fn as_threshold(self) -> u64 {
        if self.numerator >= self.denominator {
            return u64::MAX;
        }
        (((self.numerator as u128) << 64) / self.denominator as u128) as u64
    }

    /// As a float, for people and tables.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self::ZERO
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        let right = u128::from(other.numerator) * u128::from(self.denominator);
        left.cmp(&right)
    }
}

impl FromStr for Ratio {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let wrong = || {
            ParseError::new(format!(
                "`{text}` is not a ratio; write `0.2`, `20%`, `1/5` or `1.5:1`"
            ))
        };
        if let Some((a, b)) = text.split_once(['/', ':']) {
            let [a, b] = [Decimal::parse(a.trim()), Decimal::parse(b.trim())];
            let (a, b) = a.zip(b).ok_or_else(wrong)?;
            return Self::quotient(a, b).ok_or_else(wrong);
        }
        let (number, divisor) = match text.strip_suffix('%') {
            Some(number) => (number.trim(), 100),
            None => (text, 1),
        };
        let decimal = Decimal::parse(number).ok_or_else(wrong)?;
        let denominator = 10u64
            .checked_pow(decimal.scale)
            .and_then(|d| d.checked_mul(divisor))
            .ok_or_else(wrong)?;
        Ok(Self::new(decimal.digits, denominator))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A power-of-ten denominator reads best as a decimal; the rest as a fraction.
        let mut scale = 0usize;
        let mut power = 1u64;
        while scale < 12 {
            if power.is_multiple_of(self.denominator) {
                let digits = u128::from(self.numerator) * u128::from(power / self.denominator);
                if scale == 0 {
                    return f.pad(&digits.to_string());
                }
                let text = format!("{digits:0width$}", width = scale + 1);
                let (whole, fraction) = text.split_at(text.len() - scale);
                if scale <= 6 {
                    return f.pad(&format!("{whole}.{fraction}"));
                }
                return f.pad(&format!("{digits}e-{scale}"));
            }
            scale += 1;
            power *= 10;
        }
        f.pad(&format!("{}/{}", self.numerator, self.denominator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_same_value_in_four_spellings() {
        for text in ["0.2", "20%", "1/5", "1:5", "2e-1"] {
            assert_eq!(text.parse(), Ok(Ratio::new(1, 5)), "{text}");
        }
        assert_eq!("1e-12".parse(), Ok(Ratio::new(1, 1_000_000_000_000)));
        for text in ["1.5:1", "3:2", "1.5", "150%", "0.75/0.5", "1.50 : 1.0"] {
            assert_eq!(text.parse(), Ok(Ratio::new(3, 2)), "{text}");
        }
        assert!("1/0".parse::<Ratio>().is_err() && "1/0.0".parse::<Ratio>().is_err());
        assert!("1:".parse::<Ratio>().is_err() && "1:2:3".parse::<Ratio>().is_err());
        assert!("-1".parse::<Ratio>().is_err());
    }

    #[test]
    fn displays_plainly() {
        assert_eq!(Ratio::new(1, 8).to_string(), "0.125");
        assert_eq!(Ratio::new(1, 3).to_string(), "1/3");
        assert_eq!(Ratio::new(7, 1).to_string(), "7");
        assert_eq!("1e-9".parse::<Ratio>().unwrap().to_string(), "1e-9");
    }

    proptest! {
        #[test]
        fn display_parses_back(a in 0u64..1_000_000_000, b in 1u64..1_000_000_000) {
            let ratio = Ratio::new(a, b);
            prop_assert_eq!(ratio.to_string().parse(), Ok(ratio));
        }

        #[test]
        fn order_is_that_of_the_fractions(a in 0u64..1000, b in 1u64..1000, c in 0u64..1000, d in 1u64..1000) {
            prop_assert_eq!(Ratio::new(a, b).cmp(&Ratio::new(c, d)), (a * d).cmp(&(c * b)));
        }
    }
}
