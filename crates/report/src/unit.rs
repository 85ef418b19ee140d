//! [`Number`]s with a [`Unit`], as people read them: three digits and a prefix. Every figure on a
//! page, on the terminal and in a sentence is formatted here; exact values are in the JSON and
//! Parquet files.

use std::fmt;
use xoff_units::{Bytes, Instant, Rate, Ratio, Span};

/// What a number counts. Values are always in the base unit that is named here; prefixes are chosen
/// when they are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unit {
    /// A bare number.
    #[default]
    Plain,
    /// A number of things, shown in full.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes per second, as collectives are measured.
    BytesPerSecond,
    /// A share of a whole: 1 is shown as 100 %.
    Share,
    /// A large number of things, shown with a prefix: `5.89 M`.
    Large,
    /// Watts.
    Watts,
    /// Another unit, shown without a prefix.
    Other(&'static str),
}

impl Unit {
    /// Sizes of this unit's prefixes, smallest first.
    fn steps(self) -> &'static [(f64, &'static str)] {
        match self {
            Unit::Plain => &[(1.0, "")],
            Unit::Count => &[(1.0, "")],
            Unit::Seconds => &[(1e-12, "ps"), (1e-9, "ns"), (1e-6, "us"), (1e-3, "ms"), (1.0, "s")],
            Unit::Bytes => {
                &[(1.0, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"), (1e15, "PB")]
            }
            Unit::BitsPerSecond => {
                &[(1.0, "b/s"), (1e3, "Kb/s"), (1e6, "Mb/s"), (1e9, "Gb/s"), (1e12, "Tb/s")]
            }
            Unit::BytesPerSecond => {
                &[(1.0, "B/s"), (1e3, "KB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")]
            }
            Unit::Share => &[(0.01, "%")],
            Unit::Large => &[(1.0, ""), (1e3, "K"), (1e6, "M"), (1e9, "G"), (1e12, "T")],
            Unit::Watts => &[(1.0, "W"), (1e3, "kW"), (1e6, "MW"), (1e9, "GW")],
            Unit::Other(_) => &[(1.0, "")],
        }
    }

    /// Units that have prefixes or a format of their own, by the name that pages give them.
    pub(crate) const NAMED: [(Unit, &'static str); 9] = [
        (Unit::Plain, "plain"),
        (Unit::Count, "count"),
        (Unit::Seconds, "seconds"),
        (Unit::Bytes, "bytes"),
        (Unit::BitsPerSecond, "bits-per-second"),
        (Unit::BytesPerSecond, "bytes-per-second"),
        (Unit::Share, "share"),
        (Unit::Large, "large"),
        (Unit::Watts, "watts"),
    ];

    /// The name that pages give it; a unit without prefixes is its own name behind a colon.
    pub(crate) fn name(self) -> String {
        match Self::NAMED.iter().find(|(unit, _)| *unit == self) {
            Some((_, name)) => (*name).to_owned(),
            None => format!(":{}", self.base()),
        }
    }

    /// Prefixes of all named units as JSON, for the page's script: sizes and names.
    pub(crate) fn prefixes() -> String {
        let unit = |(unit, name): &(Unit, &str)| {
            let step = |(size, prefix): &(f64, &str)| format!("[{size:e},\"{prefix}\"]");
            let steps: Vec<String> = unit.steps().iter().map(step).collect();
            format!("\"{name}\":[{}]", steps.join(","))
        };
        format!("{{{}}}", Self::NAMED.iter().map(unit).collect::<Vec<_>>().join(","))
    }

    /// The prefix under which a value of this size is read best: its size in base units and the
    /// unit's name.
    pub(crate) fn scale(self, value: f64) -> (f64, &'static str) {
        if let Unit::Other(name) = self {
            return (1.0, name);
        }
        let steps = self.steps();
        let size = value.abs();
        let fits = |(step, _): &&(f64, _)| size >= step * 0.9995;
        *steps.iter().rev().find(fits).unwrap_or(&steps[0])
    }

    /// The base unit's name, for the heading of a CSV column.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Unit::Plain | Unit::Count | Unit::Large => "",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::BitsPerSecond => "bit/s",
            Unit::BytesPerSecond => "B/s",
            Unit::Share => "share",
            Unit::Watts => "W",
            Unit::Other(name) => name,
        }
    }

    /// A value for people: `12.3 us`.
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return "-".to_owned();
        }
        if value == 0.0 && self != Unit::Share {
            return "0".to_owned();
        }
        if self == Unit::Count {
            return grouped(value);
        }
        let (size, name) = self.scale(value);
        let number = if size == 1.0 && value.fract() == 0.0 && value.abs() < 1e15 {
            format!("{value:.0}")
        } else {
            digits(value / size)
        };
        if name.is_empty() { number } else { format!("{number} {name}") }
    }
}

/// A number of things with its noun: `1 leaf`, `1,024 leaves`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", Number::count(count), if count == 1 { one } else { many })
}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    /// How many, in base units.
    pub value: f64,
    /// Of what.
    pub unit: Unit,
}

impl Number {
    /// A number of a unit.
    pub const fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }

    /// A number of things.
    pub fn count(count: u64) -> Self {
        Self::new(count as f64, Unit::Count)
    }

    /// A bare number.
    pub const fn plain(value: f64) -> Self {
        Self::new(value, Unit::Plain)
    }

    /// A share of a whole.
    pub const fn share(share: f64) -> Self {
        Self::new(share, Unit::Share)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.unit.show(self.value))
    }
}

impl From<Span> for Number {
    fn from(span: Span) -> Self {
        Self::new(span.as_s_f64(), Unit::Seconds)
    }
}

impl From<Instant> for Number {
    fn from(at: Instant) -> Self {
        at.since(Instant::ZERO).into()
    }
}

impl From<Bytes> for Number {
    fn from(bytes: Bytes) -> Self {
        Self::new(bytes.get() as f64, Unit::Bytes)
    }
}

impl From<Rate> for Number {
    fn from(rate: Rate) -> Self {
        Self::new(rate.bps() as f64, Unit::BitsPerSecond)
    }
}

impl From<Ratio> for Number {
    fn from(ratio: Ratio) -> Self {
        Self::share(ratio.as_f64())
    }
}

/// `1,234,567`.
fn grouped(value: f64) -> String {
    let text = if value.fract() == 0.0 { format!("{value:.0}") } else { digits(value) };
    let whole = text.split('.').next().unwrap_or_default().trim_start_matches('-').len();
    let mut out = String::with_capacity(text.len() * 4 / 3 + 1);
    let mut at = 0;
    for c in text.chars() {
        if c.is_ascii_digit() && at < whole {
            if at > 0 && (whole - at).is_multiple_of(3) {
                out.push(',');
            }
            at += 1;
        }
        out.push(c);
    }
    out
}

/// Three digits, or all before the point; two below a tenth. Whole numbers lose their empty
/// fraction; others keep their zeros, so that columns line up. What is very large or very small is
/// written with an exponent.
pub(crate) fn digits(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-3) {
        return format!("{value:.2e}");
    }
    let places = match size {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.0995 || v == 0.0 => 2,
        v if v >= 0.00995 => 3,
        _ => 4,
    };
    let text = format!("{value:.places$}");
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        let show = |number: Number| number.to_string();
        assert_eq!(show(Span::from_ps(176_433_920).into()), "176 us");
        assert_eq!(show(Span::from_ps(999_999).into()), "1 us");
        assert_eq!(show(Span::ZERO.into()), "0");
        assert_eq!(show(Bytes::new(283_648).into()), "284 KB");
        assert_eq!(show(Bytes::new(64).into()), "64 B");
        assert_eq!(show(Rate::from_gbps(400).into()), "400 Gb/s");
        assert_eq!(show(Rate::from_gbps(51_200).into()), "51.2 Tb/s");
        assert_eq!(show(Number::share(0.1234)), "12.3 %");
        assert_eq!(show(Number::share(0.0)), "0 %");
        assert_eq!(show(Number::count(1_234_567)), "1,234,567");
        assert_eq!(show(Number::count(999)), "999");
        assert_eq!(show(Number::new(46.5e9, Unit::BytesPerSecond)), "46.5 GB/s");
        assert_eq!(show(Number::new(3.0, Unit::Other("hops"))), "3 hops");
        assert_eq!(show(Number::new(1.2045e-3, Unit::Seconds)), "1.20 ms");
        assert_eq!(show(Number::new(5_890_000.0, Unit::Large)), "5.89 M");
        assert_eq!(show(Number::new(12_345.0, Unit::Watts)), "12.3 kW");
    }

    #[test]
    fn odd_values_are_shown_all_the_same() {
        assert_eq!(Unit::Seconds.show(f64::NAN), "-");
        assert_eq!(Unit::Count.show(f64::INFINITY), "-");
        assert_eq!(Unit::Plain.show(1e300), "1.00e300");
        assert_eq!(Unit::Seconds.show(-0.002), "-2 ms");
        assert_eq!(Unit::Count.show(-1234.0), "-1,234");
        assert_eq!(Unit::Share.show(1e-7), "1.00e-5 %");
    }
}
