//! What nccl-tests measured, as what jobs report: the time and the bus bandwidth of collectives.
//!
//! Output of nccl-tests has no times of day. Files of one test (a collective on so many GPUs) are what was measured before and after: the
//! last is about the time that is diagnosed, those before it about the time that is usual, unless the times at which the files were
//! written say the same by themselves. Of each file the largest size counts that all files of its test have: there the network
//! decides.
//!
//! What it is not: files are read in [`xoff_workload::measured`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use xoff_fabric::model::Fabric;
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Place, Reading, Recorder, Steps, Timestamp};
use xoff_units::{Bytes, Span};
use xoff_workload::calibrate::{self, Task};
use xoff_workload::collective::Figures;
use xoff_workload::measured::{Kind, Measured, Series};

/// Bytes of all ranks together up to which it is worked out what the fabric gives at rest: seconds.
const LARGEST: u64 = 32 << 30;
/// Below this size the model of collectives is good for a factor only.
const SMALLEST: u64 = 1 << 20;

/// A file.
#[derive(Debug, Clone)]
pub struct File {
    /// Its name.
    pub name: String,
    /// When it was written, where that is known.
    pub written: Option<Timestamp>,
    /// What is in it.
    pub measured: Measured,
}

/// One test, and the files that have it.
#[derive(Debug, Clone)]
pub struct Test {
    /// What job it is taken for.
    pub job: String,
    kind: Option<Kind>,
    ranks: Option<u32>,
    hosts: Option<u32>,
    /// The size that is compared, the largest that all files have; nothing where they have none in common.
    size: Option<Bytes>,
    calls: Vec<Call>,
}

/// What one file says of a test.
#[derive(Debug, Clone)]
struct Call {
    file: String,
    written: Option<Timestamp>,
    /// Microseconds by size.
    times: BTreeMap<Bytes, f64>,
}

/// The tests of files, those of one test in the order of the files.
pub fn tests(files: &[File]) -> Vec<Test> {
    let mut tests: BTreeMap<String, Test> = BTreeMap::new();
    for file in files {
        let mut own: BTreeMap<String, Series> = BTreeMap::new();
        for series in &file.measured.series {
            let known = own.entry(job(series));
            known.and_modify(|all| all.rows.extend(&series.rows)).or_insert_with(|| series.clone());
        }
        for (job, series) in own {
            let test = tests.entry(job.clone()).or_insert_with(|| Test {
                job,
                kind: series.collective,
                ranks: series.ranks,
                hosts: series.hosts,
                size: None,
                calls: Vec::new(),
            });
            let times = series.medians().into_iter().map(|(size, time, _)| (size, time));
            let (file, written, times) = (file.name.clone(), file.written, times.collect());
            test.calls.push(Call { file, written, times });
        }
    }
    let mut tests: Vec<Test> = tests.into_values().collect();
    tests.iter_mut().for_each(Test::choose);
    tests
}

/// What a test is called.
fn job(series: &Series) -> String {
    let kind = series.collective.map_or("a collective", Kind::name);
    match series.ranks {
        Some(ranks) => format!("nccl-tests {kind}, {ranks} GPUs"),
        None => format!("nccl-tests {kind}"),
    }
}

impl Test {
    fn choose(&mut self) {
        let of = |call: &Call| call.times.keys().copied().collect::<BTreeSet<Bytes>>();
        let common = self.calls.iter().map(of).reduce(|all, own| &all & &own).unwrap_or_default();
        let small = |size: &&Bytes| size.get().saturating_mul(self.bulk()) <= LARGEST;
        self.size = common.iter().rfind(small).or(common.first()).copied();
    }

    fn bulk(&self) -> u64 {
        u64::from(self.ranks.unwrap_or(1))
    }

    /// The bus bandwidth of a time in microseconds, in bytes per second.
    fn bandwidth(&self, size: Bytes, time: f64) -> Option<f64> {
        let time = Span::from_ps((time * 1e6) as u64);
        Some(Figures::new(self.kind?.collective(), size, self.ranks?, time).bus_bandwidth)
    }

    /// The bus bandwidth that the fabric gives at rest, in bytes per second; or why that is not known.
    pub fn at_rest(&self, fabric: &Fabric) -> Result<f64, String> {
        let because = |why: &str| format!("what the fabric gives `{}` at rest: {why}", self.job);
        let (Some(kind), Some(ranks), Some(size)) = (self.kind, self.ranks, self.size) else {
            return Err(because("the file does not say which collective ran on how many GPUs"));
        };
        if size.get() < SMALLEST || size.get().saturating_mul(self.bulk()) > LARGEST {
            return Err(because("no size in it is between 1 MiB and 32 GiB of all ranks together"));
        }
        let collective = kind.collective();
        let task = Task { fabric, collective, ranks, hosts: self.hosts, times: &[] };
        let time = calibrate::at_rest(&task, size).map_err(|error| because(&error.to_string()))?;
        self.bandwidth(size, time).ok_or_else(|| because("it takes no time"))
    }

    /// Adds what was measured to a recording whose first `usual` steps are usual. Gives what is not known of it, in words.
    pub fn add_to(&self, recorder: &mut Recorder, steps: Steps, usual: usize) -> Vec<String> {
        let Some(size) = self.size else {
            return vec![format!("how `{}` changed: its files have no size in common", self.job)];
        };
        let place = recorder.place(Place::Job { job: self.job.clone() });
        let values = |time: f64| {
            let bandwidth = self.bandwidth(size, time);
            let all =
                [(Metric::CollectiveTime, Some(time / 1e6)), (Metric::BusBandwidth, bandwidth)];
            let key = move |metric| Key { place, metric, priority: None };
            all.into_iter().filter_map(move |(metric, value)| Some((key(metric), value?)))
        };
        let mut unknown = Vec::new();
        let mut whole: BTreeMap<usize, (Range<usize>, Vec<f64>)> = BTreeMap::new();
        for (when, call) in self.times(steps, usual) {
            let Some(&time) = call.times.get(&size) else { continue };
            let steps = match when {
                When::At(at) => {
                    values(time).for_each(|(key, value)| recorder.read(Reading { key, at, value }));
                    continue;
                }
                When::During(steps) => steps,
            };
            let counts = match (steps.is_empty(), steps.start < usual) {
                (true, _) => "is not used, since no time before is looked at",
                (false, true) => "counts as what is usual",
                (false, false) => "counts for all of the time that is diagnosed",
            };
            unknown.push(format!("when `{}` was measured; it {counts}", call.file));
            whole.entry(steps.end).or_insert((steps, Vec::new())).1.push(time);
        }
        for (steps, times) in whole.into_values() {
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            for (key, value) in values(mean) {
                steps.clone().for_each(|step| recorder.put(key, step, value));
            }
        }
        unknown
    }

    /// When each file was measured: by the times at which they were written, where one of them (of several, one of each part) lies in
    /// the time that is looked at, else by their order.
    fn times(&self, steps: Steps, usual: usize) -> Vec<(When, &Call)> {
        let step = |call: &Call| steps.at(call.written?);
        let known: Vec<Option<usize>> = self.calls.iter().map(step).collect();
        let diagnosed = known.iter().flatten().any(|step| *step >= usual);
        let before = known.iter().flatten().any(|step| *step < usual);
        let by_time =
            diagnosed && (before || known.len() == 1) && known.iter().all(Option::is_some);
        let last = self.calls.len().saturating_sub(1);
        let when = |(number, call): (usize, &'_ Call)| match (call.written, by_time) {
            (Some(at), true) => When::At(at),
            _ if number == last => When::During(usual..steps.count),
            _ => When::During(0..usual),
        };
        let calls = self.calls.iter().enumerate();
        let mut all: Vec<(When, &Call)> = calls.map(|call| (when(call), call.1)).collect();
        // Readings of a series come in the order of time.
        all.sort_by_key(|(_, call)| by_time.then_some(call.written));
        all
    }
}

/// What a measurement is about.
#[derive(Debug, Clone, PartialEq)]
enum When {
    /// This moment.
    At(Timestamp),
    /// All of these steps.
    During(Range<usize>),
}

#[cfg(test)]
mod tests;
