//! Drills of a fabric: simulated, written as tests for promtool, or sent to a metric store.

use super::Subject;
use crate::clock;
use crate::exit::{Failure, Level, say};
use crate::interrupt::Interrupt;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use xoff_collect::labels::Labeller;
use xoff_collect::prometheus::write;
use xoff_diagnose::alerts::unit::{self, Check, Series, Test};
use xoff_diagnose::alerts::{Alert, INTERVAL};
use xoff_sim::Progress;
use xoff_telemetry::metric::Metric;
use xoff_telemetry::recording::{Key, Readings, Timestamp};
use xoff_validate::drill::{AFTER, BEFORE, Drill, DrillError, Drilled, drill};

/// Runs the drills that are chosen, or all whose alert the fabric has, and gives the file of tests; nothing if interrupted.
pub(super) fn run(
    subject: &Subject,
    chosen: &[Drill],
    store: Option<&str>,
    tests: bool,
) -> Result<Option<String>, Failure> {
    let interrupt = Interrupt::listen();
    let mut go_on = |_: &Progress| !interrupt.requested();
    let is_there = |name: &str| subject.alerts.iter().any(|alert| alert.name == name);
    let all = Drill::ALL.into_iter().filter(|drill| drill.alert().is_none_or(is_there));
    let list: Vec<Drill> = if chosen.is_empty() { all.collect() } else { chosen.to_vec() };
    let mut text = unit::head();
    let mut ran = Vec::new();
    for (at, kind) in list.iter().enumerate() {
        if std::io::stderr().is_terminal() {
            let (at, of) = (at + 1, list.len());
            say(Level::Note, &format!("drill {at} of {of}: {}", kind.words()));
        }
        let drilled = match drill(&subject.fabric, *kind, &mut go_on) {
            Ok(drilled) => drilled,
            Err(DrillError::Interrupted) => return Ok(None),
            // One that the user asked for is an error, one of all is left out.
            Err(error) if !chosen.is_empty() => return Err(Failure::input(error.to_string())),
            Err(error) => {
                say(Level::Warning, &format!("{error}; its alert is not tested"));
                continue;
            }
        };
        ran.push(*kind);
        if tests {
            text.push_str(&unit::test(&test(subject, &drilled), &subject.alerts, &subject.links));
        }
        if let Some(url) = store {
            let name = match list.len() {
                1 => subject.name.clone(),
                _ => format!("{}-{}", subject.name, kind.name()),
            };
            send(subject, &drilled, &name, url)?;
        }
    }
    let names: Vec<&str> = ran.iter().map(|drill| drill.name()).collect();
    say(Level::Note, &format!("simulated {} drills: {}", names.len(), names.join(", ")));
    Ok(Some(text))
}

/// Writes the counters to a store such that the alert's expression holds from now on.
fn send(subject: &Subject, drilled: &Drilled, name: &str, url: &str) -> Result<(), Failure> {
    let alert = alert_of(subject, drilled.drill);
    // Where nothing is wrong, all is past but as much as the others have ahead.
    let held = alert.map_or(5 * 60, |alert| alert.stated() - alert.hold);
    let passed = i64::from(BEFORE * INTERVAL + held) * 1_000_000_000;
    let start = clock::now().0 - passed;
    let mut readings = drilled.readings.clone();
    readings.list.iter_mut().for_each(|reading| reading.at = Timestamp(reading.at.0 + start));
    let labeller = Labeller::new(&subject.fabric, name);
    let written = write::send(url, &labeller, &readings)
        .map_err(|error| Failure::write(error.to_string()))?;
    let (samples, series) = (written.samples, written.series);
    say(
        Level::Note,
        &format!("wrote {samples} samples of {series} series of fabric `{name}` to {url}"),
    );
    Ok(())
}

fn alert_of(subject: &Subject, drill: Drill) -> Option<&Alert> {
    subject.alerts.iter().find(|alert| Some(alert.name) == drill.alert())
}

/// The test of a drill: before its fault its alert does not fire, and no later than stated it does, where it is to. Where
/// nothing is wrong, no alert fires.
fn test(subject: &Subject, drilled: &Drilled) -> Test {
    let drill = drilled.drill;
    let begin = BEFORE * INTERVAL;
    let fabric = |labels: &BTreeMap<String, String>| {
        let mut labels = labels.clone();
        labels.insert("fabric".to_owned(), subject.name.clone());
        labels
    };
    let (alerts, checks): (Vec<&Alert>, Vec<Check>) = match alert_of(subject, drill) {
        Some(alert) => {
            let fires = drilled.fires.iter().map(fabric).collect();
            let (name, at) = (alert.name, begin + alert.stated());
            let before = Check { at: begin, alert: name, fires: Vec::new() };
            (vec![alert], vec![before, Check { at, alert: name, fires }])
        }
        None => {
            let none = |alert: &Alert| Check {
                at: (BEFORE + AFTER) * INTERVAL,
                alert: alert.name,
                fires: Vec::new(),
            };
            (subject.alerts.iter().collect(), subject.alerts.iter().map(none).collect())
        }
    };
    let metrics = metrics(subject, &alerts);
    let series = series(subject, drilled, |key| metrics.contains(&key.metric));
    let name = format!("{}: {}", drill.name(), drill.words());
    Test { name, series, checks }
}

/// The metrics that alerts are over, those by way of recorded series included.
fn metrics(subject: &Subject, alerts: &[&Alert]) -> Vec<Metric> {
    let mut text: String = alerts.iter().map(|alert| alert.expression.as_str()).collect();
    // What is recorded uses what was recorded before it.
    for record in subject.records.iter().rev() {
        if text.contains(record.name) {
            text.push_str(&record.expression);
        }
    }
    Metric::all().filter(|metric| text.contains(&format!("{}{{", metric.name()))).collect()
}

/// The series of a drill's site.
fn series(subject: &Subject, drilled: &Drilled, keep: impl Fn(&Key) -> bool) -> Vec<Series> {
    let Readings { places, list } = &drilled.readings;
    let labeller = Labeller::new(&subject.fabric, &subject.name);
    let scrapes = (BEFORE + AFTER + 1) as usize;
    let mut by_key: BTreeMap<Key, Vec<Option<f64>>> = BTreeMap::new();
    let is_of_site = |key: &Key| drilled.site.contains(places.get(key.place));
    for reading in list.iter().filter(|reading| keep(&reading.key) && is_of_site(&reading.key)) {
        let scrape = reading.at.0 / (i64::from(INTERVAL) * 1_000_000_000);
        let values = by_key.entry(reading.key).or_insert_with(|| vec![None; scrapes]);
        if let Some(value) = usize::try_from(scrape).ok().and_then(|at| values.get_mut(at)) {
            *value = Some(reading.value);
        }
    }
    let of = |(key, values): (Key, Vec<Option<f64>>)| Series {
        metric: key.metric.name(),
        labels: labeller.of(places.get(key.place), key.priority),
        values,
    };
    by_key.into_iter().map(of).collect()
}
