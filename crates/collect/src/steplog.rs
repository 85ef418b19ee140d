//! Step times that a training job logged: when, and how long each step took.
//!
//! Two forms are read: a table (`time,seconds` in its first line, more columns as one likes; `ms` for milliseconds), and the lines that
//! Megatron-LM writes (`[2026-11-17 12:00:00] iteration … | elapsed time per iteration (ms): 812.5 | …`). Times are RFC 3339, seconds since
//! 1970, or a date and a time of day in UTC.

use chrono::{DateTime, NaiveDateTime};
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Place, Reading, Recorder, Timestamp};

/// The steps of a log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepLog {
    /// When each ended, and how long it took, in seconds; in the order of time.
    pub steps: Vec<(Timestamp, f64)>,
    /// Lines that say nothing of a step.
    pub others: usize,
}

/// Why a log cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepLogError {
    /// A line of a table is not as its first line says.
    #[error("line {line}: `{text}` is {wrong}")]
    Line {
        /// Which, from 1 on.
        line: usize,
        /// What is wrong about it.
        wrong: &'static str,
        /// What stands there.
        text: String,
    },
    /// There is no step in it.
    #[error(
        "no step is in it: neither a table with `time` and `seconds` (or `ms`) in its first line, nor lines of Megatron-LM \
         (`elapsed time per iteration (ms): …`)"
    )]
    Empty,
}

const MEGATRON: &str = "elapsed time per iteration (ms):";

impl StepLog {
    /// Reads a log.
    pub fn read(text: &str) -> Result<Self, StepLogError> {
        let mut log = match Table::of(text.lines().next().unwrap_or_default()) {
            Some(table) => table.read(text)?,
            None => Self::of_lines(text),
        };
        if log.steps.is_empty() {
            return Err(StepLogError::Empty);
        }
        log.steps.sort_by_key(|(at, _)| *at);
        log.steps.dedup_by_key(|(at, _)| *at);
        Ok(log)
    }

    fn of_lines(text: &str) -> Self {
        let mut log = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match megatron(line) {
                Some(step) => log.steps.push(step),
                None => log.others += 1,
            }
        }
        log
    }

    /// Adds it to what is recorded, as what this job reports.
    pub fn add_to(&self, recorder: &mut Recorder, job: &str) {
        let place = recorder.place(Place::Job { job: job.to_owned() });
        let key = Key { place, metric: Metric::StepTime, priority: None };
        for (at, value) in &self.steps {
            recorder.read(Reading { key, at: *at, value: *value });
        }
    }
}

/// The columns of a table.
struct Table {
    separator: char,
    time: usize,
    step: usize,
    /// Seconds of one.
    unit: f64,
}

impl Table {
    fn of(head: &str) -> Option<Self> {
        let separator = if head.contains('\t') { '\t' } else { ',' };
        let names: Vec<String> =
            head.split(separator).map(|name| name.trim().to_ascii_lowercase()).collect();
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        let time = at(&["time", "timestamp"])?;
        let seconds = at(&["seconds", "step_seconds"]).map(|step| (step, 1.0));
        let (step, unit) = seconds.or_else(|| Some((at(&["ms", "step_ms"])?, 1e-3)))?;
        Some(Self { separator, time, step, unit })
    }

    fn read(&self, text: &str) -> Result<StepLog, StepLogError> {
        let mut log = StepLog::default();
        for (number, line) in text.lines().enumerate().skip(1) {
            if line.trim().is_empty() || line.starts_with('#') {
                log.others += 1;
                continue;
            }
            let cells: Vec<&str> = line.split(self.separator).map(str::trim).collect();
            let cell = |column: usize| cells.get(column).copied().unwrap_or_default();
            let wrong = |column: usize, wrong: &'static str| StepLogError::Line {
                line: number + 1,
                wrong,
                text: cell(column).chars().filter(|c| !c.is_control()).take(60).collect(),
            };
            let at = moment(cell(self.time)).ok_or(wrong(
                self.time,
                "no time: write it like 2026-11-17T12:00:00Z, or in seconds since 1970",
            ))?;
            let took = seconds(cell(self.step)).ok_or(wrong(self.step, "no time of a step"))?;
            log.steps.push((at, took * self.unit));
        }
        Ok(log)
    }
}

/// A time of a step: a number, not below zero.
fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

fn moment(text: &str) -> Option<Timestamp> {
    if let Some(since) = seconds(text) {
        // Later than the year 5000 in seconds is milliseconds.
        let ms = if since > 1e11 { since } else { since * 1e3 };
        return (ms < 4e12).then(|| Timestamp::from_ms(ms.round() as i64));
    }
    let ms = match DateTime::parse_from_rfc3339(text) {
        Ok(moment) => moment.timestamp_millis(),
        Err(_) => NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f")
            .ok()?
            .and_utc()
            .timestamp_millis(),
    };
    (ms.unsigned_abs() < 4_000_000_000_000).then(|| Timestamp::from_ms(ms))
}

/// A line of Megatron-LM.
fn megatron(line: &str) -> Option<(Timestamp, f64)> {
    let (before, after) = line.split_once(MEGATRON)?;
    let took = seconds(after.split('|').next()?.trim())? / 1e3;
    let stamp = before.split_once('[')?.1.split_once(']')?.0;
    Some((moment(stamp)?, took))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(i64, f64)> {
        let log = StepLog::read(text).expect("a log");
        log.steps.iter().map(|(at, took)| (at.ms(), *took)).collect()
    }

    #[test]
    fn tables_and_logs_are_read() {
        let wanted = [(1_700_000_000_000, 0.5), (1_700_000_001_000, 0.75)];
        assert_eq!(read("time,seconds\n1700000000,0.5\n1700000001,0.75\n"), wanted);
        assert_eq!(
            read("step\ttimestamp\tms\n7\t1700000001000\t750\n6\t1700000000000\t500"),
            wanted
        );
        assert_eq!(
            read("Time, Seconds\n2023-11-14T22:13:20Z, 0.5\n\n2023-11-14T23:13:21+01:00, 0.75"),
            wanted
        );
        let log = "loading\n [2023-11-14 22:13:20] iteration 6/ 500 | consumed samples: 1 | \
                   elapsed time per iteration (ms): 500.0 | learning rate: 1E-4 |\n\
                   [2023-11-14 22:13:21] iteration 7/ 500 | elapsed time per iteration (ms): 750.0 |\n";
        assert_eq!(read(log), wanted);
        assert_eq!(StepLog::read(log).unwrap().others, 1);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let of = |text: &str| StepLog::read(text).unwrap_err().to_string();
        assert!(of("").contains("no step is in it"));
        assert!(of("time,seconds\n").contains("no step is in it"));
        assert!(
            of("time,seconds\n1700000000,0.5\nsoon,1").starts_with("line 3: `soon` is no time")
        );
        assert!(of("time,seconds\n1700000000,-1").contains("`-1` is no time of a step"));
        assert!(of("time,seconds\n1700000000").contains("no time of a step"));
        assert!(of("time,seconds\n1e300,1").contains("no time"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(time,(seconds|ms)\n)?(.{0,40}\n){0,5}") {
            let _ = StepLog::read(&text);
        }
    }
}
