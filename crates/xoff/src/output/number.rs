//! Numbers as people read them: three or four digits and a unit.
//!
//! The exact values are in the JSON and the Parquet tables; these are for the screen only.

use xoff_units::{Bytes, Rate, Span};

/// `12.3 us` of picoseconds.
pub(crate) fn time(span: Span) -> String {
    scaled(span.as_ps() as f64, &[(1.0, "ps"), (1e3, "ns"), (1e6, "us"), (1e9, "ms"), (1e12, "s")])
}

/// `12.3 us` of microseconds.
pub(crate) fn microseconds(us: f64) -> String {
    scaled(us, &[(1e-6, "ps"), (1e-3, "ns"), (1.0, "us"), (1e3, "ms"), (1e6, "s")])
}

/// `1.50 MB`.
pub(crate) fn bytes(size: Bytes) -> String {
    scaled(size.get() as f64, &[(1.0, "B"), (1e3, "KB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")])
}

/// `400 Gb/s`.
pub(crate) fn rate(rate: Rate) -> String {
    let units = [(1.0, "b/s"), (1e3, "Kb/s"), (1e6, "Mb/s"), (1e9, "Gb/s"), (1e12, "Tb/s")];
    scaled(rate.bps() as f64, &units)
}

/// `5.89 M`: a large count or a rate of counts.
pub(crate) fn large(count: f64) -> String {
    scaled(count, &[(1.0, ""), (1e3, "K"), (1e6, "M"), (1e9, "G"), (1e12, "T")])
}

/// `12.3 kW` of milliwatts.
pub(crate) fn watts(milliwatts: u64) -> String {
    scaled(milliwatts as f64 / 1e3, &[(1.0, "W"), (1e3, "kW"), (1e6, "MW"), (1e9, "GW")])
}

/// `1,234,567`.
pub(crate) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.3 %` of a share.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// `2.71`.
pub(crate) fn plain(value: f64) -> String {
    digits(value)
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let fits = |&&(size, _): &&(f64, &str)| value >= size * 0.9995;
    let (size, unit) = *units.iter().rev().find(fits).unwrap_or(&units[0]);
    let number = if size == units[0].0 && value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        digits(value / size)
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// Three digits, or all before the point. Whole numbers lose their empty fraction.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.places$}");
    match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|b| b == b'0') => whole.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(time(Span::from_ps(176_433_920)), "176 us");
        assert_eq!(time(Span::ZERO), "0");
        assert_eq!(time(Span::from_ps(999_999)), "1 us");
        assert_eq!(microseconds(1234.5), "1.23 ms");
        assert_eq!(microseconds(0.5), "500 ns");
        assert_eq!(bytes(Bytes::new(283_648)), "284 KB");
        assert_eq!(bytes(Bytes::new(64)), "64 B");
        assert_eq!(rate(Rate::from_gbps(400)), "400 Gb/s");
        assert_eq!(rate(Rate::from_gbps(51_200)), "51.2 Tb/s");
        assert_eq!(large(5_890_000.0), "5.89 M");
        assert_eq!(percent(0.1234), "12.3 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn counts_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
    }
}
