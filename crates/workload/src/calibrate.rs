//! [`fit`]: the costs with which a collective takes the times that were measured.
//!
//! The network is the fabric at rest ([`crate::ideal`]): benchmarks of collectives run alone. What is left to explain is what GPUs
//! and hosts spend ([`Cost`]) and how many channels there are. Both are searched for, one value after the other, in
//! steps that get finer, so that the distance between measured and simulated times falls; the distance of two times is
//! the logarithm of their ratio, so that 13 us for 20 count as much as 13 ms for 20. A value that the
//! measurements say nothing about stays as it was.
//!
//! What it is not: it changes no fabric. Where a collective is slow because a network is, no cost is the
//! answer, and [`Fit::error`] says so.

mod shipped;

use crate::collective::{
    self, Algorithm, Collective, CollectiveError, Cost, Flags, Settings, tuner,
};
use crate::ideal::{self, IdealError, Paths};
use crate::layout::{GpuId, Layout, LayoutError, Placement};
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, Server};
use xoff_fabric::scenario::{CostName, CostSetting};
use xoff_units::{Bytes, Rate, Span};

pub use shipped::{PROFILE_ERRORS, ProfileError};

/// What is to be explained.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// Where it was measured.
    pub fabric: &'a Fabric,
    /// What ran.
    pub collective: Collective,
    /// On how many GPUs.
    pub ranks: u32,
    /// On how many servers, where that is known; else servers are filled one after the other.
    pub hosts: Option<u32>,
    /// Sizes, each with the microseconds that it took.
    pub times: &'a [(Bytes, f64)],
}

/// Costs, and how well they explain the times.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// What a collective costs beside the network.
    pub cost: Cost,
    /// Channels, where another number than the usual one explains more.
    pub channels: Option<u32>,
    /// Every size.
    pub rows: Vec<Fitted>,
    /// Collectives that were simulated for it.
    pub simulated: u64,
}

/// One size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fitted {
    /// The size.
    pub size: Bytes,
    /// How the tuner would do it.
    pub algorithm: Algorithm,
    /// Microseconds that were measured.
    pub measured: f64,
    /// Microseconds with the usual costs.
    pub usual: f64,
    /// Microseconds with the fitted ones.
    pub fitted: f64,
}

/// Why nothing could be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Ranks that the fabric does not have.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A collective that cannot be done so.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
    /// A program that did not end.
    #[error(transparent)]
    Ideal(#[from] IdealError),
    /// Servers that the fabric does not have.
    #[error(
        "{ranks} GPUs on {hosts} servers were measured, and the fabric has {there} servers of {gpus} GPUs"
    )]
    Servers {
        /// GPUs that took part.
        ranks: u32,
        /// Servers that took part.
        hosts: u32,
        /// Servers of the fabric.
        there: u32,
        /// GPUs of the smallest.
        gpus: u32,
    },
    /// No times.
    #[error("there is no size to fit to")]
    NoTimes,
    /// It was asked to stop.
    #[error("interrupted")]
    Stopped,
}

/// Whether the size at a place among `count`, smallest first, belongs to the half that the other one is predicted from: every other
/// size counted from the largest, which says what bandwidth there is; the last of them is the smallest, which says what latency there
/// is.
pub fn is_of_the_half(at: usize, count: usize) -> bool {
    let last = count.saturating_sub(1);
    let even = last.saturating_sub(at).is_multiple_of(2);
    match count {
        // Of two only one can be fitted to.
        ..3 => at == last,
        _ => at == 0 || even && at != 1,
    }
}

/// Fits costs to times. `go_on` hears the share that is done, and says whether to go on.
pub fn fit(task: &Task<'_>, go_on: &mut dyn FnMut(f64) -> bool) -> Result<Fit, FitError> {
    if task.times.is_empty() {
        return Err(FitError::NoTimes);
    }
    let mut bench = Bench::new(task)?;
    let start = Values::of(&Cost::MEASURED, None);
    let mut best = (bench.distance(&start)?, start);
    // What a GPU takes in from pairs first: the rate of one channel would explain the same, and is known from other collectives.
    for step in STEPS {
        bench.improve(&mut best, &[Values::PAIRS], step)?;
    }
    let rounds = STEPS.len() as f64;
    for (round, step) in STEPS.into_iter().enumerate() {
        // Finer steps once coarse ones gain nothing.
        for turn in 0.. {
            let before = best.0;
            for together in Values::MOVED {
                if !go_on((round as f64 + (1.0 - 0.5f64.powi(turn))) / rounds) {
                    return Err(FitError::Stopped);
                }
                bench.improve(&mut best, together, step)?;
            }
            if best.0 >= before * (1.0 - LEAST_GAIN) || turn > MOST_TURNS {
                break;
            }
        }
    }
    bench.finish(best.1.rounded())
}

/// Factors by which values are changed.
const STEPS: [f64; 5] = [2.0, 1.4, 1.15, 1.06, 1.02];
/// A change is kept if the distance falls by this share at least: what measurements say nothing about stays.
const LEAST_GAIN: f64 = 0.002;
const MOST_TURNS: i32 = 6;
/// What a value that is another than usual counts, beside a time that is off: measurements scatter by some 5 %, and costs of systems
/// differ by a factor of three. Without it a few sizes are met exactly with values that no system has, and sizes between them are
/// not.
const PRIOR: f64 = 0.002;

impl Fit {
    /// The mean of how far simulated times are from measured ones, as a share: with the usual costs, and with these.
    pub fn error(&self) -> (f64, f64) {
        let mean = |of: fn(&Fitted) -> f64| {
            let sum: f64 = self.rows.iter().map(|row| (of(row) / row.measured - 1.0).abs()).sum();
            sum / self.rows.len().max(1) as f64
        };
        (mean(|row| row.usual), mean(|row| row.fitted))
    }
}

/// The time of one size with these costs, and how the tuner would do it.
pub fn time(
    task: &Task<'_>,
    size: Bytes,
    cost: Cost,
    channels: Option<u32>,
) -> Result<(f64, Algorithm), FitError> {
    Bench::new(task)?.time(size, &Values::of(&cost, channels))
}

/// The microseconds that one size takes on the fabric at rest, with the costs that its file says.
pub fn at_rest(task: &Task<'_>, size: Bytes) -> Result<f64, FitError> {
    let cost = crate::job::cost(&CostSetting::Named(CostName::Fabric), task.fabric);
    time(task, size, cost, task.fabric.collectives.channels).map(|(time, _)| time)
}

/// What can be changed: times in picoseconds, rates in bits per second, channels.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Values([f64; Self::NUMBER]);

impl Values {
    const NUMBER: usize = 13;
    /// The number of channels; 0 for the usual one.
    const CHANNELS: usize = 11;
    /// What a GPU takes in of what pairs exchange; 0 for as fast as it comes.
    const PAIRS: usize = 12;
    const MOST_CHANNELS: f64 = 64.0;
    /// Rates are the last of each way to learn that data has arrived.
    const RATES: [usize; 3] = [3, 6, 9];

    /// Values that are changed together. A slice costs the least of three ways, so that one of them alone may change
    /// nothing: slices, proxies and rates of all ways are changed at once, too.
    const MOVED: [&[usize]; Self::NUMBER + 5] = [
        &[0],
        &[1],
        &[2],
        &[3],
        &[4],
        &[5],
        &[6],
        &[7],
        &[8],
        &[9],
        &[10],
        &[Self::CHANNELS],
        &[Self::PAIRS],
        &[1, 4, 7],
        &[2, 5, 8],
        &Self::RATES,
        // More before the first byte and less for each of them, or the other way round.
        &[0, 3, 6, 9],
        &[2, 5, 8, 3, 6, 9],
    ];

    fn of(cost: &Cost, channels: Option<u32>) -> Self {
        // What is not there costs what fences cost, and so is never the cheapest.
        let none = Flags {
            slice: cost.slice,
            proxy: cost.proxy,
            rate: cost.copy_rate.unwrap_or(Rate::from_gbps(1_000)),
        };
        let (flags, lines) = (cost.flags.unwrap_or(none), cost.lines.unwrap_or(none));
        let copy = cost.copy_rate.unwrap_or(Rate::from_gbps(1_000));
        let time = |span: Span| span.as_ps() as f64;
        Self([
            time(cost.launch),
            time(cost.slice),
            time(cost.proxy),
            copy.bps() as f64,
            time(flags.slice),
            time(flags.proxy),
            flags.rate.bps() as f64,
            time(lines.slice),
            time(lines.proxy),
            lines.rate.bps() as f64,
            time(cost.nvls_launch),
            channels.map_or(0.0, f64::from),
            cost.pair_rate.map_or(0.0, |rate| rate.bps() as f64),
        ])
    }

    fn cost(&self) -> Cost {
        let time = |at: usize| Span::from_ps(self.0[at] as u64);
        let rate = |at: usize| Rate::from_bps(self.0[at] as u64);
        let [copy, flag, line] = Self::RATES;
        Cost {
            launch: time(0),
            nvls_launch: time(10),
            slice: time(1),
            copy_rate: Some(rate(copy)),
            proxy: time(2),
            pair_rate: (self.0[Self::PAIRS] >= 1.0).then(|| rate(Self::PAIRS)),
            flags: Some(Flags { slice: time(4), proxy: time(5), rate: rate(flag) }),
            lines: Some(Flags { slice: time(7), proxy: time(8), rate: rate(line) }),
        }
    }

    /// How far they are from the usual ones, as squares of logarithms. Channels and what pairs take in have no usual value.
    fn strangeness(&self) -> f64 {
        let usual = Self::of(&Cost::MEASURED, None);
        let known = self.0.iter().zip(&usual.0).take(Self::CHANNELS);
        known.map(|(own, usual)| (own / usual).ln().powi(2)).sum()
    }

    /// With three digits: more are not known.
    fn rounded(&self) -> Self {
        Self(self.0.map(|value| {
            let digit = 10f64.powf((value.max(1.0).log10().floor() - 2.0).max(0.0));
            (value / digit).round() * digit
        }))
    }

    fn channels(&self) -> Option<u32> {
        (self.0[Self::CHANNELS] >= 1.0).then_some(self.0[Self::CHANNELS] as u32)
    }

    /// With some values changed; none where that leaves what can be.
    fn with(&self, together: &[usize], factor: f64, usual: &Usual) -> Option<Self> {
        together.iter().try_fold(*self, |values, &at| values.with_one(at, factor, usual))
    }

    fn with_one(mut self, at: usize, factor: f64, usual: &Usual) -> Option<Self> {
        let now = match at {
            Self::CHANNELS if self.0[at] < 1.0 => usual.channels,
            Self::PAIRS if self.0[at] < 1.0 => usual.pair_rate?,
            _ => self.0[at],
        };
        let mut value = now * factor;
        if at == Self::CHANNELS {
            // In whole steps.
            value = value.round();
            if value == now {
                return None;
            }
        }
        let possible = match at {
            Self::CHANNELS => 1.0..=Self::MOST_CHANNELS,
            // More than what arrives is no bound.
            Self::PAIRS => 1e8..=usual.pair_rate?,
            _ if Self::RATES.contains(&at) => 1e8..=1e14,
            // 1 ns to 10 ms.
            _ => 1e3..=1e10,
        };
        self.0[at] = value;
        possible.contains(&value).then_some(self)
    }
}

/// What the search starts from where the usual costs say nothing.
struct Usual {
    channels: f64,
    /// The rate of a NIC, where pairs exchange something over the network.
    pair_rate: Option<f64>,
}

/// As many ranks on each of the first servers.
fn placement(task: &Task<'_>) -> Result<Placement, FitError> {
    let hosts = task.hosts.filter(|&hosts| hosts > 0 && task.ranks.is_multiple_of(hosts));
    let Some(hosts) = hosts else { return Ok(Placement::Packed) };
    let each = task.ranks / hosts;
    let size = |server: &Server| match server.gpus {
        0 => server.nics.len() as u32,
        gpus => gpus,
    };
    let servers = &task.fabric.servers;
    let least = servers.iter().map(size).min().unwrap_or(0);
    if servers.len() < hosts as usize || least < each {
        let there = servers.len() as u32;
        return Err(FitError::Servers { ranks: task.ranks, hosts, there, gpus: least });
    }
    let mut first = 0;
    let mut list = Vec::new();
    for server in &servers[..hosts as usize] {
        list.extend((first..first + each).map(GpuId));
        first += size(server);
    }
    Ok(Placement::Listed(list))
}

/// Runs collectives on the fabric at rest.
struct Bench<'a> {
    task: Task<'a>,
    layout: Layout,
    paths: Paths<'a>,
    known: BTreeMap<(Bytes, [u64; Values::NUMBER]), f64>,
    simulated: u64,
}

impl<'a> Bench<'a> {
    fn new(task: &Task<'a>) -> Result<Self, FitError> {
        let layout = Layout::new(task.fabric, Some(task.ranks), &placement(task)?)?;
        let paths = Paths::new(task.fabric);
        Ok(Self { task: *task, layout, paths, known: BTreeMap::new(), simulated: 0 })
    }

    /// The distance between measured and simulated times, and between values and the usual ones: the root of the mean square, which
    /// has no edges on which a search of one value after the other would rest.
    fn distance(&mut self, values: &Values) -> Result<f64, FitError> {
        let mut sum = PRIOR * values.strangeness();
        for &(size, measured) in self.task.times {
            let (simulated, _) = self.time(size, values)?;
            sum += (simulated / measured).ln().powi(2);
        }
        Ok((sum / self.task.times.len() as f64).sqrt())
    }

    /// Moves values up or down while that helps.
    fn improve(
        &mut self,
        best: &mut (f64, Values),
        together: &[usize],
        step: f64,
    ) -> Result<(), FitError> {
        let usual = self.usual();
        for factor in [step, 1.0 / step] {
            let mut moved = false;
            while let Some(with) = best.1.with(together, factor, &usual) {
                let distance = self.distance(&with)?;
                if distance >= best.0 * (1.0 - LEAST_GAIN) {
                    break;
                }
                *best = (distance, with);
                moved = true;
            }
            if moved {
                break;
            }
        }
        Ok(())
    }

    fn usual(&self) -> Usual {
        let pairs = matches!(
            self.task.collective,
            Collective::AllToAll
                | Collective::SendRecv
                | Collective::Gather { .. }
                | Collective::Scatter { .. }
        );
        let crosses = pairs && self.layout.domains().len() > 1;
        Usual {
            channels: f64::from(2 * self.layout.rails().max(1)),
            pair_rate: crosses.then(|| self.layout.nic_rate().bps() as f64),
        }
    }

    fn time(&mut self, size: Bytes, values: &Values) -> Result<(f64, Algorithm), FitError> {
        let algorithm = tuner::choose(self.task.collective, size, &self.layout)
            .map_or(Algorithm::of(self.task.collective)[0], |choice| choice.algorithm);
        let key = (size, values.0.map(f64::to_bits));
        if let Some(&known) = self.known.get(&key) {
            return Ok((known, algorithm));
        }
        let settings = Settings {
            channels: values.channels(),
            cost: values.cost(),
            queues: self.task.fabric.queue_pairs,
            ..Settings::default()
        };
        let mut program =
            collective::program(self.task.collective, algorithm, size, &self.layout, &settings)?;
        let time = ideal::run_on_paths(&mut program, &self.paths)?.end.as_ps() as f64 / 1e6;
        self.known.insert(key, time);
        self.simulated += 1;
        Ok((time, algorithm))
    }

    fn finish(mut self, best: Values) -> Result<Fit, FitError> {
        let usual = Values::of(&Cost::MEASURED, None);
        let mut rows = Vec::new();
        for &(size, measured) in self.task.times {
            let (before, algorithm) = self.time(size, &usual)?;
            let (fitted, _) = self.time(size, &best)?;
            rows.push(Fitted { size, algorithm, measured, usual: before, fitted });
        }
        let (cost, channels) = (best.cost(), best.channels());
        Ok(Fit { cost, channels, rows, simulated: self.simulated })
    }
}

#[cfg(test)]
mod tests;
