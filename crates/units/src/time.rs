//! [`Instant`] and [`Span`]: points on the simulated (or wall) time line and the distance between
//! two of them, in picoseconds.

use crate::parse::{self, ParseError, Unit};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// Picoseconds in one second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A point in time: picoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A length of time in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens: "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The time since `earlier`, or zero if that is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, for instants that are known not to be "never": one addition.
    #[inline(always)]
    #[must_use]
    pub const fn plus(self, span: Span) -> Self {
        Self(self.0.wrapping_add(span.0))
    }

    /// Whether this is [`Instant::MAX`], which stands for "never".
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// The span in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The span in microseconds, for people and tables.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The span in seconds, for people and tables.
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Whether the span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero where that would be negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    /// Saturates, so that "never" stays never.
    fn add(self, span: Span) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Span;
    fn sub(self, earlier: Instant) -> Span {
        debug_assert!(self >= earlier, "time ran backwards: {self} - {earlier}");
        Span(self.0.wrapping_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        debug_assert!(self >= other, "negative span: {self} - {other}");
        Span(self.0.wrapping_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

pub(crate) const UNITS: [Unit; 6] = [
    Unit { name: "s", size: PS_PER_S },
    Unit { name: "ms", size: 1_000_000_000 },
    Unit { name: "us", size: 1_000_000 },
    Unit { name: "µs", size: 1_000_000 },
    Unit { name: "ns", size: 1_000 },
    Unit { name: "ps", size: 1 },
];

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "a time", "2us", &UNITS).map(Span)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::display(f, self.0, &UNITS)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() { f.pad("never") } else { Span(self.0).fmt(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("2us".parse(), Ok(Span::from_us(2)));
        assert_eq!("1.5 ms".parse(), Ok(Span::from_us(1500)));
        assert_eq!("332.8ns".parse(), Ok(Span::from_ps(332_800)));
        assert_eq!("1e3ns".parse(), Ok(Span::from_us(1)));
        assert_eq!("0".parse(), Ok(Span::ZERO));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let text = |s: &str| s.parse::<Span>().unwrap_err().to_string();
        assert!(text("2").contains("has no unit"));
        assert!(text("2 lightyears").contains("units: s, ms, us"));
        assert!(text("fast").contains("like `2us`"));
        assert!(text("0.3ps").contains("too fine"));
        assert!(text("99999999999s").contains("too large"));
    }

    #[test]
    fn never_stays_never() {
        assert!((Instant::MAX + Span::from_us(1)).is_never());
        assert_eq!(Instant::MAX.to_string(), "never");
    }
}
