//! Wall time in options: seconds, minutes or hours, as people write them.

use std::time::Duration;

/// A time like `90s`, `10min` or `1.5h`; not zero.
pub(crate) fn some(text: &str) -> Result<Duration, String> {
    parse(text).and_then(|time| match time.is_zero() {
        true => Err("give a time like 90s, 10min or 1.5h, longer than nothing".to_owned()),
        false => Ok(time),
    })
}

/// A time like `90s`, `10min` or `1.5h`, or `0s`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "give a time like 90s, 10min or 1.5h".to_owned();
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = match unit.trim() {
        "s" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err(wrong()),
    };
    let seconds = number * unit;
    if (0.0..=LONGEST).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(wrong())
    }
}

/// A month: more is a mistake.
const LONGEST: f64 = 31.0 * 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("10min"), Ok(Duration::from_secs(600)));
        assert_eq!(parse(" 10 min "), Ok(Duration::from_secs(600)));
        assert_eq!(parse("1.5h"), Ok(Duration::from_secs(5_400)));
        for wrong in ["", "10", "min", "-1min", "1e9h", "10 days", "1.2.3s", "99999h"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
        assert!(some("0s").is_err() && some("1s").is_ok());
    }
}
