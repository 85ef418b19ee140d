//! The figures of each phase.

use super::{Figures, headline};
use crate::measure::{Measurement, PairLoad};
use crate::phase::Phase;
use crate::suite::{ALL_TO_ALL, ALONG_RAILS, INCASTS, PERMUTATION, UNDISTURBED};
use std::collections::{BTreeMap, BTreeSet};
use xoff_report::{
    Axis, BarSeries, Bars, Cdf, Chart, Figure, Heat, Lane, Mark, Number, Plot, Reference, Samples,
    Series, Stretch, Timeline, Unit,
};

type Measured = BTreeMap<String, Measurement>;

/// Lanes of a timeline; more would be unreadable.
const LANES: usize = 24;

pub(super) fn of(phase: Phase, measured: &Measured) -> Figures {
    match phase {
        Phase::Laboratory | Phase::Operations => Vec::new(),
        Phase::Baseline => baseline(measured).into_iter().collect(),
        Phase::Synthetic => {
            let all = [
                queues(measured),
                rates(measured),
                incasts(measured),
                received(measured),
                heat(measured),
                pauses(measured),
            ];
            all.into_iter().flatten().collect()
        }
        Phase::Workload => bandwidths(measured).into_iter().chain(step(measured)).collect(),
        Phase::Failures => failures(measured).into_iter().collect(),
    }
}

fn seconds(us: f64) -> f64 {
    us / 1e6
}

/// What each pair took, beside the idle fabric's bound.
fn baseline(measured: &Measured) -> Option<Figure> {
    let all = measured.get("baseline-pairs")?;
    let short = || all.flows.iter().filter(|flow| flow.bytes < 1_000);
    let groups: Vec<String> = short().map(|flow| format!("{} to {}", flow.from, flow.to)).collect();
    let values = short().map(|flow| flow.completion_us.map(seconds)).collect();
    let ideal = short().map(|flow| Some(seconds(flow.ideal_us))).collect();
    let bars = Bars {
        y: Axis::new("64 bytes and their acknowledgement", Unit::Seconds),
        groups,
        series: vec![BarSeries { name: "measured".into(), values }],
        reference: Some(Reference { name: "cables, switches and NICs".into(), values: ideal }),
    };
    let caption = "One short write at a time, for every class of pairs.";
    Some(Figure::new("latency", "Idle latency", Plot::Bars(bars)).caption(caption))
}

/// The deepest queue of the widest incast, with the thresholds that it meets.
fn queues(measured: &Measured) -> Option<Figure> {
    let widest = INCASTS.iter().rev().find_map(|n| measured.get(&format!("incast-{n}")))?;
    let deepest = widest.series.first()?;
    let x = Axis::new("time", Unit::Seconds);
    let mut chart = Chart::new(x, Axis::new("queue", Unit::Bytes));
    chart.series = widest
        .series
        .iter()
        .map(|series| {
            let points = series.points.iter().map(|&(at, depth)| (seconds(at), depth as f64));
            Series::new(format!("{} class {}", series.port, series.class), points.collect())
        })
        .collect();
    let thresholds = [("Kmin", deepest.kmin), ("Kmax", deepest.kmax)];
    let known = thresholds.iter().filter_map(|(name, bytes)| Some((*name, (*bytes)?)));
    chart.marks =
        known.map(|(name, bytes)| Mark { label: name.into(), value: bytes as f64 }).collect();
    let caption = format!(
        "The deepest queues of `{}`: {} marks, {} pauses. Kmin and Kmax are those of the deepest.",
        widest.experiment, widest.totals.marks, widest.totals.xoff
    );
    Some(Figure::new("queues", "Queues under incast", Plot::Steps(chart)).caption(caption))
}

/// What senders of an incast get over time.
fn rates(measured: &Measured) -> Option<Figure> {
    let one = |senders: &u32| measured.get(&format!("incast-{senders}"));
    let all = [8, 16, 4, 64, 32, 2].iter().find_map(one).filter(|all| !all.rates.is_empty())?;
    let mut chart =
        Chart::new(Axis::new("time", Unit::Seconds), Axis::new("rate", Unit::BitsPerSecond));
    let points =
        |points: &[(f64, f64)]| points.iter().map(|&(at, rate)| (seconds(at), rate)).collect();
    let series = all.rates.iter().map(|rate| Series::new(rate.nic.clone(), points(&rate.points)));
    chart.series = series.collect();
    let caption = format!(
        "What each sender of `{}` sent: congestion control shares the receiver's link.",
        all.experiment
    );
    Some(Figure::new("rates", "Rate per flow under incast", Plot::Lines(chart)).caption(caption))
}

/// What the receivers of the incasts get.
fn incasts(measured: &Measured) -> Option<Figure> {
    let share = |senders: &u32| {
        let group = measured.get(&format!("incast-{senders}"))?.group("incast")?;
        Some((format!("{senders}:1"), group.received.of.mean))
    };
    let (groups, values): (Vec<String>, Vec<f64>) = INCASTS.iter().filter_map(share).unzip();
    if groups.is_empty() {
        return None;
    }
    let bars = Bars {
        y: Axis::new("share of line rate", Unit::Share).from_to(0.0, 1.0),
        groups,
        series: vec![BarSeries {
            name: "receiver".into(),
            values: values.into_iter().map(Some).collect(),
        }],
        reference: None,
    };
    let caption = "What one NIC receives, by how many send to it without end.";
    Some(Figure::new("incast", "Receiver of an incast", Plot::Bars(bars)).caption(caption))
}

/// What each NIC receives while all send.
fn received(measured: &Measured) -> Option<Figure> {
    let loads = [
        (ALONG_RAILS, PERMUTATION, "permutation along rails"),
        (PERMUTATION, PERMUTATION, "permutation"),
        (ALL_TO_ALL, ALL_TO_ALL, "all-to-all"),
    ];
    let series = loads.iter().filter_map(|(experiment, group, name)| {
        let values = measured.get(*experiment)?.group(group)?.received.points.clone();
        (!values.is_empty()).then(|| Samples { name: (*name).into(), values })
    });
    let series: Vec<Samples> = series.collect();
    if series.is_empty() {
        return None;
    }
    let plot = Plot::Cdf(Cdf {
        x: Axis::new("received, share of line rate", Unit::Share).from_to(0.0, 1.0),
        series,
        marks: Vec::new(),
    });
    let caption = "How many NICs receive at most so much while every NIC sends without end; an \
                   upright line at the right means that all are served alike.";
    Some(Figure::new("received", "What each NIC receives", plot).caption(caption))
}

/// How busy links between switches were under the permutation.
fn heat(measured: &Measured) -> Option<Figure> {
    let all = measured.get("permutation")?;
    let between =
        |pair: &&PairLoad| !pair.from.starts_with("server") && !pair.from.starts_with("host");
    let pairs: Vec<&PairLoad> = all.loads.iter().filter(between).collect();
    let names = |of: fn(&PairLoad) -> &String| {
        let mut seen = BTreeSet::new();
        pairs.iter().map(|pair| of(pair)).filter(|name| seen.insert(*name)).cloned().collect()
    };
    let (rows, columns): (Vec<String>, Vec<String>) =
        (names(|pair| &pair.from), names(|pair| &pair.to));
    if rows.is_empty() {
        return None;
    }
    let known: BTreeMap<(&str, &str), f64> =
        pairs.iter().map(|pair| ((pair.from.as_str(), pair.to.as_str()), pair.load)).collect();
    let row = |from: &String| {
        let load = |to: &String| known.get(&(from.as_str(), to.as_str())).copied();
        columns.iter().map(load).collect()
    };
    let values = rows.iter().map(row).collect();
    let plot = Plot::Heat(Heat {
        row_label: "from".into(),
        column_label: "to".into(),
        rows,
        columns,
        values,
        value_label: "busiest cable".into(),
        unit: Unit::Share,
        range: Some((0.0, 1.0)),
    });
    let caption = "Share of the time that the busiest cable between two switches sent, in either \
                   direction, while every NIC sent to one other.";
    Some(Figure::new("utilisation", "Links under a permutation", plot).caption(caption))
}

/// How pauses spread without congestion control.
fn pauses(measured: &Measured) -> Option<Figure> {
    let all = measured.get("flood").filter(|flood| !flood.pauses.is_empty())?;
    let mut lanes: Vec<Lane> = Vec::new();
    for pause in &all.pauses {
        let lane = match lanes.iter().position(|lane| lane.name == pause.port) {
            Some(at) => at,
            None if lanes.len() < LANES => {
                let group = if pause.port.starts_with("server") || pause.port.starts_with("host") {
                    "NICs"
                } else {
                    "switches"
                };
                let (name, group) = (pause.port.clone(), group.to_owned());
                lanes.push(Lane { name, group, stretches: Vec::new() });
                lanes.len() - 1
            }
            None => continue,
        };
        let (from, to) = (seconds(pause.from_us), Some(seconds(pause.to_us)));
        lanes[lane].stretches.push(Stretch { from, to });
    }
    let x = Axis::new("time", Unit::Seconds);
    let plot = Plot::Timeline(Timeline { x, lanes, shades: Vec::new() });
    let caption = "Ports that could not send because their peer had paused them, in the order in which \
                   they were first paused: senders without congestion control, the first pauses only.";
    Some(Figure::new("pauses", "How pauses spread", plot).caption(caption))
}

/// Bus bandwidth over size, beside an ideal network.
fn bandwidths(measured: &Measured) -> Figures {
    let mut all = Vec::new();
    for (id, own) in measured.iter().filter(|(id, _)| Phase::Workload.owns(id)) {
        let Some(name) = own.collectives.first().map(|row| row.name.clone()) else { continue };
        let x = Axis::new("size", Unit::Bytes).log();
        let mut chart = Chart::new(x, Axis::new("bus bandwidth", Unit::BytesPerSecond));
        let done = || own.collectives.iter().filter(|row| row.finished);
        let series = |name: &str, of: fn(&crate::measure::CollectiveFigures) -> f64| {
            Series::new(name, done().map(|row| (row.bytes as f64, of(row))).collect())
        };
        chart.series = vec![
            series("this fabric", |row| row.busbw),
            series("ideal network", |row| row.ideal_busbw),
        ];
        let caption = "As nccl-tests counts it. The ideal network has the same NICs, no queues and no \
                       congestion control.";
        let title = format!("{name} over size");
        all.push(Figure::new(id.clone(), title, Plot::Lines(chart)).caption(caption));
    }
    all
}

/// Where the time of a training step goes.
fn step(measured: &Measured) -> Option<Figure> {
    let (_, step) = headline::step(measured)?;
    let times = [step.compute_us, step.ideal_us, step.time_us];
    let bars = Bars {
        y: Axis::new("time of a step", Unit::Seconds),
        groups: ["computing alone", "ideal network", "this fabric"].map(str::to_owned).into(),
        series: vec![BarSeries {
            name: step.name.clone(),
            values: times.iter().map(|&us| Some(seconds(us))).collect(),
        }],
        reference: None,
    };
    let share = |share: f64| Number::share(share).to_string();
    let caption = format!(
        "{} GPUs: what they compute, what the step takes on an ideal network with the same NICs, and what it \
         takes here. They are idle {} of the step; {} would be left on the ideal network, and this fabric \
         makes the step {} longer. MFU {}.",
        step.ranks,
        share(step.idle),
        share(step.ideal_idle),
        share(step.time_us / step.ideal_us.max(f64::MIN_POSITIVE) - 1.0),
        share(step.mfu)
    );
    Some(Figure::new("training-step", "A training step", Plot::Bars(bars)).caption(caption))
}

/// How long the collectives of a job take with each failure.
fn failures(measured: &Measured) -> Option<Figure> {
    let longest = |all: &Measurement| {
        let runs = all.jobs.iter().flat_map(|job| &job.runs);
        seconds(runs.filter_map(|(start, end)| Some((*end)? - start)).fold(0.0, f64::max))
    };
    let survived = |all: &Measurement| all.jobs.iter().all(|job| job.failure.is_none());
    let base = longest(measured.get(UNDISTURBED)?);
    let own: Vec<(&str, Option<f64>)> = measured
        .iter()
        .filter_map(|(id, all)| {
            Some((id.strip_prefix("failure-")?, survived(all).then(|| longest(all))))
        })
        .filter(|(id, _)| *id != "none")
        .collect();
    let bars = Bars {
        y: Axis::new("longest collective", Unit::Seconds),
        groups: own.iter().map(|(id, _)| (*id).to_owned()).collect(),
        series: vec![BarSeries {
            name: "with the failure".into(),
            values: own.iter().map(|(_, time)| *time).collect(),
        }],
        reference: Some(Reference {
            name: "undisturbed".into(),
            values: own.iter().map(|_| Some(base)).collect(),
        }),
    };
    let caption =
        "A ring AllReduce in and out of the leaf where things break. Jobs that died have no bar.";
    Some(Figure::new("failures", "What each failure costs", Plot::Bars(bars)).caption(caption))
}
