//! [`Date`]: a second in UTC, written like `2026-11-15T12:00:00Z`.

use std::fmt;
use std::str::FromStr;

/// A second in UTC, from 1970 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(u64);

const DAY: u64 = 86_400;
/// The last second of the year 9999.
const LAST: u64 = 253_402_300_799;
/// The days of 400 years, after which the calendar repeats.
const ERA: u64 = 146_097;

impl Date {
    /// So many seconds after the start of 1970; what is beyond the year 9999 is its last second.
    pub const fn from_unix(seconds: u64) -> Self {
        Self(if seconds > LAST { LAST } else { seconds })
    }

    /// Seconds since the start of 1970.
    pub const fn unix(self) -> u64 {
        self.0
    }

    /// A later second.
    pub const fn plus(self, seconds: u64) -> Self {
        Self::from_unix(self.0.saturating_add(seconds))
    }

    /// The last second of a day like `2026-11-15`.
    pub fn end_of_day(day: &str) -> Option<Self> {
        format!("{day}T23:59:59Z").parse().ok()
    }
}

/// Days before a month, counted from the first of March: lengths repeat every five months.
const fn days_before(month_from_march: u64) -> u64 {
    (153 * month_from_march + 2) / 5
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Years start in March here, so that the day a leap year adds is the last of its year.
        let days = self.0 / DAY + 719_468;
        let (era, of_era) = (days / ERA, days % ERA);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - days_before(from_march) + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year + era * 400 + u64::from(month <= 2);
        let (hour, minute, second) = (self.0 / 3600 % 24, self.0 / 60 % 60, self.0 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

/// A text that is no date as [`Date`] writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDate;

impl FromStr for Date {
    type Err = NoDate;

    fn from_str(text: &str) -> Result<Self, NoDate> {
        let number = |from: usize, to: usize| {
            let digits = text.get(from..to).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
            digits.and_then(|digits| digits.parse::<u64>().ok()).ok_or(NoDate)
        };
        if text.len() != 20 {
            return Err(NoDate);
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 {
            return Err(NoDate);
        }
        let from_march = (month + 9) % 12;
        let year = year - u64::from(month <= 2);
        let of_era = year % 400 * 365 + year % 400 / 4 - year % 400 / 100;
        let days = year / 400 * ERA + of_era + days_before(from_march) + day - 1;
        let date = Date((days - 719_468) * DAY + hour * 3600 + minute * 60 + second);
        // Thirty-first days of short months, minutes of 60, other signs between the numbers: whatever
        // would be written in another way is refused.
        if date.to_string() == text { Ok(date) } else { Err(NoDate) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates() {
        let written = |seconds| Date::from_unix(seconds).to_string();
        assert_eq!(written(0), "1970-01-01T00:00:00Z");
        assert_eq!(written(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(written(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(written(1_763_208_000), "2025-11-15T12:00:00Z");
        assert_eq!(written(u64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(Date::end_of_day("1970-01-01"), Some(Date(86_399)));
        for wrong in [
            "",
            "2025-02-29T00:00:00Z",
            "2025-11-31T00:00:00Z",
            "2025-00-10T00:00:00Z",
            "2025-01-01T24:00:00Z",
            "2025-01-01T00:60:00Z",
            "2025-01-01T00:00:60Z",
            "2025-01-01 00:00:00Z",
            "2025-01-01T00:00:00z",
            "1969-12-31T23:59:59Z",
            "2025-01-01T00:00:00+0",
            "2025-01-01T00:00:é0",
        ] {
            assert_eq!(wrong.parse::<Date>(), Err(NoDate), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_date_is_read_as_written(seconds in 0..=LAST) {
            prop_assert_eq!(Date(seconds).to_string().parse(), Ok(Date(seconds)));
        }

        #[test]
        fn texts_sort_like_dates(left in 0..=LAST, right in 0..=LAST) {
            let (a, b) = (Date(left), Date(right));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn no_text_panics(text in "[0-9TZ:é-]{0,24}") {
            let _ = text.parse::<Date>();
        }
    }
}
