//! Moments as people read them: of the clock on the wall, or since a run began.

use std::time::Duration;
use xoff_report::Unit;
use xoff_telemetry::recording::Timestamp;

/// What moments are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// UTC.
    Wall,
    /// Since a run began.
    Run(Timestamp),
}

impl Clock {
    /// A moment: `14:03:20 UTC`, or `340 us`.
    pub fn show(self, at: Timestamp) -> String {
        match self {
            Clock::Wall => format!("{} UTC", time_of_day(at)),
            Clock::Run(start) => span(at.0.saturating_sub(start.0)),
        }
    }

    /// A moment for machines: RFC 3339, or seconds since the run began.
    pub fn exact(self, at: Timestamp) -> String {
        match self {
            Clock::Wall => format!("{}T{}Z", date(at), time_of_day(at)),
            Clock::Run(start) => format!("{:.9}s", at.0.saturating_sub(start.0) as f64 / 1e9),
        }
    }
}

/// Nanoseconds as a time of three digits.
pub(crate) fn span(ns: i64) -> String {
    match ns {
        0 => "0 s".to_owned(),
        ns => Unit::Seconds.show(ns as f64 / 1e9),
    }
}

/// How long ago: `12 s`, `3 min`, `2 h`.
pub fn age(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

/// From one moment to a later one; nothing if it is not later.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::from_nanos(u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0))
}

fn time_of_day(at: Timestamp) -> String {
    let second = at.0.div_euclid(1_000_000_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// Year, month and day of the Gregorian calendar. Years begin in March here, so that the day that some of them have more is
/// their last one; 400 years have 146,097 days.
fn date(at: Timestamp) -> String {
    let day = at.0.div_euclid(86_400_000_000_000) + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Months from March on have 153 days in every five.
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{of_month:02}", year + era * 400 + later)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_as_calendars_have_them() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_735_689_600, "2025-01-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(Clock::Wall.exact(Timestamp::from_ms(seconds * 1_000)), text);
        }
    }

    #[test]
    fn runs_begin_at_zero() {
        let clock = Clock::Run(Timestamp(5_000));
        assert_eq!(clock.show(Timestamp(5_000)), "0 s");
        assert_eq!(clock.show(Timestamp(345_000)), "340 us");
        assert_eq!(clock.exact(Timestamp(345_000)), "0.000340000s");
    }

    #[test]
    fn ages_are_short() {
        let of = |seconds| age(Duration::from_secs(seconds));
        assert_eq!((of(0), of(119), of(120)), ("0 s".into(), "119 s".into(), "2 min".into()));
        assert_eq!((of(7_199), of(90_000)), ("119 min".into(), "25 h".into()));
    }
}
