//! Who approved a fabric file: a file of records beside it.

use crate::exit::{Exit, Failure};
use crate::output::{self, printable};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use xoff_config::Approval;
use xoff_config::device::Balancing;
use xoff_fabric::load_fabric;

/// Where the records of a fabric file are: `pod.toml` has `pod.toml.approved.json`.
pub(crate) fn file(fabric: &Path) -> PathBuf {
    let mut name = fabric.as_os_str().to_owned();
    name.push(".approved.json");
    PathBuf::from(name)
}

/// All records of a fabric file, oldest first.
fn records(fabric: &Path) -> Result<Vec<Approval>, Failure> {
    let path = file(fabric);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(Failure::input(format!("cannot read `{}`: {error}", path.display())));
        }
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::input(format!("`{}` holds no approvals: {error}", path.display()))
    })
}

/// The last approval of a fabric file.
pub(crate) fn last(fabric: &Path) -> Result<Option<Approval>, Failure> {
    Ok(records(fabric)?.pop())
}

/// Adds a record.
pub(super) fn record(fabric: &Path, who: &str, balancing: Balancing) -> Result<Exit, Failure> {
    if who.trim().is_empty() {
        return Err(Failure::input("say who approves: --approve NAME"));
    }
    let text = fs::read_to_string(fabric)
        .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", fabric.display())))?;
    if load_fabric(&text).into_result().is_err() {
        return Err(Failure::input(format!(
            "`{}` is no fabric file: approve the fabric, not the scenario",
            fabric.display()
        )));
    }
    let mut all = records(fabric)?;
    let approval = Approval::new(who.trim().to_owned(), now(), text, balancing);
    let said = format!(
        "{} approved intent {} at {}; recorded in {}\n",
        printable(&approval.who),
        approval.intent.get(..12).unwrap_or(&approval.intent),
        approval.when,
        printable(&file(fabric).display().to_string())
    );
    all.push(approval);
    let path = file(fabric);
    let failed =
        |error: String| Failure::write(format!("cannot write `{}`: {error}", path.display()));
    let mut json = serde_json::to_string_pretty(&all).map_err(|error| failed(error.to_string()))?;
    json.push('\n');
    fs::write(&path, json).map_err(|error| failed(error.to_string()))?;
    output::stdout(&said)?;
    Ok(Exit::Fine)
}

/// The time of day in UTC.
#[allow(clippy::disallowed_methods, reason = "an approval has a date; no result depends on it")]
fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    utc(seconds)
}

/// Seconds since 1970 as `2026-11-15T12:00:00Z`.
fn utc(seconds: u64) -> String {
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while month < 11 && days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(utc(1_763_208_000), "2025-11-15T12:00:00Z");
    }
}
