//! Runs a drill.

use super::stage::Stage;
use super::{AFTER, BEFORE, Drill, END, JOB, PERIOD};
use std::collections::{BTreeMap, BTreeSet};
use xoff_diagnose::alerts::INTERVAL;
use xoff_fabric::model::Fabric;
use xoff_results::watch::Timescale;
use xoff_results::{Case, Watcher};
use xoff_sim::{Progress, Settings};
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Place, Reading, Readings, Timestamp};
use xoff_units::{Instant, Span};

/// A drill that was run.
#[derive(Debug)]
pub struct Drilled {
    /// Which.
    pub drill: Drill,
    /// What was scraped: scrape `n` is at `n` times [`INTERVAL`] seconds.
    pub readings: Readings,
    /// The places whose series a test of the alert needs; all that were kept where nothing is wrong.
    pub site: BTreeSet<Place>,
    /// The labels with which the alert fires, without that of the fabric, for each place where it does.
    pub fires: Vec<BTreeMap<String, String>>,
}

/// Why a drill was not run.
#[derive(Debug, thiserror::Error)]
pub enum DrillError {
    /// There is no place for it.
    #[error("the fabric has no place for the drill `{drill}`: {needs}", drill = .0.name(), needs = needs(*.0))]
    NoPlace(Drill),
    /// Its traffic could not be made.
    #[error("the traffic of the drill `{drill}` cannot be made: {reason}", drill = .0.name(), reason = .1)]
    Traffic(Drill, String),
    /// It could not be simulated.
    #[error("the drill `{drill}` cannot be simulated: {reason}", drill = .0.name(), reason = .1)]
    Run(Drill, String),
    /// It was stopped.
    #[error("interrupted")]
    Interrupted,
}

/// What a drill needs of a fabric.
fn needs(drill: Drill) -> &'static str {
    match drill {
        Drill::Routes => {
            "a leaf with so many NICs that they fill one of its links up, and another such leaf"
        }
        Drill::WrongClass => "a class that is not lossless",
        Drill::Straggler => "servers with GPUs",
        _ => "three NICs that reach each other",
    }
}

/// Runs a drill on a fabric. `go_on` is asked now and then; false stops it.
pub fn drill(
    plan: &Fabric,
    drill: Drill,
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
) -> Result<Drilled, DrillError> {
    let stage = Stage::new(plan, drill).ok_or(DrillError::NoPlace(drill))?;
    let seed = 1;
    let jobs =
        xoff_workload::programs(&stage.workloads, &stage.fabric, seed).map_err(|errors| {
            let reasons: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
            DrillError::Traffic(drill, reasons.join("; "))
        })?;
    let case = Case {
        fabric: &stage.fabric,
        workloads: &stage.workloads,
        flows: &stage.flows,
        jobs: &jobs,
        faults: &stage.faults,
    };
    let settings = Settings {
        seed,
        until: Some(Instant::ZERO + END),
        scrape_period: PERIOD,
        ..Settings::default()
    };
    let interval = Span::from_ms(1_000 * u64::from(INTERVAL));
    let timescale = Timescale::new(Timestamp(0), PERIOD, interval);
    let keep = |port| stage.cast.keeps(plan, port);
    let mut watcher = Watcher::new(&stage.fabric, go_on).keep_counters_of(timescale, keep);
    let report = case.run(&settings, &mut watcher);
    let report = report.map_err(|error| DrillError::Run(drill, error.to_string()))?;
    if report.outcome == xoff_sim::Outcome::Interrupted {
        return Err(DrillError::Interrupted);
    }
    let counters = watcher.finish().counters;
    let Some(mut counters) = counters else { return Err(DrillError::Interrupted) };
    counters.add_jobs(&case, &report);
    let readings = scraped(plan, &stage, counters.readings());
    let place = |port: &xoff_fabric::model::PortId| Place::Port {
        device: plan.node_name(plan.ports[port.index()].node).to_owned(),
        port: plan.port_name(*port),
    };
    let mut site: BTreeSet<Place> = stage.site.iter().map(place).collect();
    if matches!(drill, Drill::Straggler | Drill::Healthy) {
        site.insert(Place::Job { job: JOB.to_owned() });
    }
    Ok(Drilled { drill, readings, site, fires: stage.fires })
}

/// The readings at the times of scrapes. What jobs report is scraped until they report anew; devices that have fallen silent
/// have no readings.
fn scraped(plan: &Fabric, stage: &Stage, readings: &Readings) -> Readings {
    let ns = i64::from(INTERVAL) * 1_000_000_000;
    let silent: BTreeSet<&str> = stage.silent.iter().map(|node| plan.node_name(*node)).collect();
    let mut list = Vec::new();
    let mut steps: BTreeMap<Key, Vec<Reading>> = BTreeMap::new();
    for reading in &readings.list {
        match readings.places.get(reading.key.place) {
            Place::Port { device, .. } => {
                let scrape = (reading.at.0 + ns / 2).div_euclid(ns);
                if scrape > i64::from(BEFORE) && silent.contains(device.as_str()) {
                    continue;
                }
                list.push(Reading { at: Timestamp(scrape * ns), ..*reading });
            }
            _ if reading.key.metric == Metric::StepTime => {
                steps.entry(reading.key).or_default().push(*reading);
            }
            _ => {}
        }
    }
    for (key, mut all) in steps {
        all.sort_by_key(|reading| reading.at);
        for scrape in 0..=i64::from(BEFORE + AFTER) {
            let at = Timestamp(scrape * ns);
            let last = all.iter().take_while(|reading| reading.at <= at).last();
            list.extend(last.map(|last| Reading { key, at, value: last.value }));
        }
    }
    list.sort_by_key(|reading| (reading.at, reading.key));
    Readings { places: readings.places.clone(), list }
}
