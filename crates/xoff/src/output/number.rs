//! Short names for the numbers on the terminal; `xoff_report::Unit` formats them all.

use xoff_report::{Number, Unit};
use xoff_units::{Bytes, Rate, Span};

/// `12.3 us`.
pub(crate) fn time(span: Span) -> String {
    Number::from(span).to_string()
}

/// `12.3 us` of microseconds.
pub(crate) fn microseconds(us: f64) -> String {
    Unit::Seconds.show(us * 1e-6)
}

/// `1.50 MB`.
pub(crate) fn bytes(size: Bytes) -> String {
    Number::from(size).to_string()
}

/// `400 Gb/s`.
pub(crate) fn rate(rate: Rate) -> String {
    Number::from(rate).to_string()
}

/// `5.89 M`: a large count or a rate of counts.
pub(crate) fn large(count: f64) -> String {
    Unit::Large.show(count)
}

/// `12.3 kW` of milliwatts.
pub(crate) fn watts(milliwatts: u64) -> String {
    Unit::Watts.show(milliwatts as f64 / 1e3)
}

/// `1,234,567`.
pub(crate) fn count(count: u64) -> String {
    Number::count(count).to_string()
}

/// `1 leaf`, `1,024 leaves`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    xoff_report::counted(count, one, many)
}

/// `12.3 %` of a share.
pub(crate) fn percent(share: f64) -> String {
    Number::share(share).to_string()
}

/// `2.71`.
pub(crate) fn plain(value: f64) -> String {
    Number::plain(value).to_string()
}
