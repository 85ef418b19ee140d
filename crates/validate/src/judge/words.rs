//! Numbers as people read them.

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent.abs() >= 99.95 => format!("{percent:.0} %"),
        _ if percent.abs() >= 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.2} %"),
    }
}

/// Microseconds.
pub(super) fn time(us: f64) -> String {
    match us {
        _ if us >= 1000.0 => format!("{:.2} ms", us / 1000.0),
        _ if us >= 100.0 => format!("{us:.0} us"),
        _ => format!("{us:.2} us"),
    }
}

/// Bits per second.
pub(super) fn rate(bps: f64) -> String {
    match bps {
        _ if bps >= 1e12 => format!("{:.1} Tb/s", bps / 1e12),
        _ => format!("{:.0} Gb/s", bps / 1e9),
    }
}

/// A number of things.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{number} {many}"),
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
