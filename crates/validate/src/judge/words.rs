//! Figures and counts inside sentences.

use xoff_report::{Number, Unit};
use xoff_units::Bytes;

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    Number::share(share).to_string()
}

/// A time given in microseconds.
pub(super) fn time(us: f64) -> String {
    Unit::Seconds.show(us * 1e-6)
}

/// A size, with three digits.
pub(super) fn size(bytes: Bytes) -> String {
    Unit::Bytes.show(bytes.get() as f64)
}

/// A number of things.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {many}"),
        _ => xoff_report::counted(number, one, many),
    }
}

/// The first few of many names.
pub(super) fn some(names: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{shown} and {more} more"),
        _ => shown,
    }
}
