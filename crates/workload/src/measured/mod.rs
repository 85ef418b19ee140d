//! What benchmarks of collectives printed on real clusters: [`read`] makes [`Series`] of it.
//!
//! Three tools are read, recognised by content: nccl-tests (its table and the JSON of `-J`), rccl-tests (the same
//! table with other lines around it), and PARAM. Tables come as people have them: with the prefixes that `mpirun`
//! and `srun` put before every line, broken by the logs of NCCL, several in one file.
//!
//! What it is not: nothing is simulated here. [`Series::rows`] are what the file says; a row whose figures
//! contradict each other is left out and noted.

mod json;
mod param;
mod table;

use crate::collective::Collective;
use crate::layout::RankId;
use std::collections::BTreeMap;
use std::fmt;
use xoff_units::Bytes;

/// The measurements of one call of a benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What ran, as far as the file says it or its figures give it away.
    pub collective: Option<Kind>,
    /// How many GPUs took part.
    pub ranks: Option<u32>,
    /// On how many hosts.
    pub hosts: Option<u32>,
    /// In the order of the file.
    pub rows: Vec<Row>,
}

/// A collective of nccl-tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "their names say it")]
pub enum Kind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
    Broadcast,
    Reduce,
    Gather,
    Scatter,
    SendRecv,
}

/// One size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// What nccl-tests calls the size: of an AllGather or ReduceScatter, what all ranks have together.
    pub size: Bytes,
    /// With send and receive buffers apart.
    pub out_of_place: Option<Sample>,
    /// With one buffer.
    pub in_place: Option<Sample>,
}

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Microseconds, mean over ranks and repetitions.
    pub time_us: f64,
    /// The tool's bus bandwidth in GB/s.
    pub bus_gbps: f64,
    /// Wrong values, where the tool looked.
    pub wrong: Option<u64>,
}

/// What was not understood, left out or assumed, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// In words.
    pub text: String,
    /// The line, counted from 1; none for a file without lines.
    pub line: Option<u64>,
    /// How often.
    pub times: u64,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// A series for every call of a benchmark.
    pub series: Vec<Series>,
    /// What to know about them.
    pub notes: Vec<Note>,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct MeasuredError(String);

/// Reads what a benchmark printed.
pub fn read(text: &str) -> Result<Measured, MeasuredError> {
    let measured = if text.trim_start().starts_with('{') {
        json::read(text)?
    } else if text.contains("COMMS-RES") {
        param::read(text)
    } else {
        table::read(text)
    };
    if measured.series.iter().all(|series| series.rows.is_empty()) {
        let first = measured.notes.first().map_or(String::new(), |note| format!(" ({note})"));
        return Err(MeasuredError(format!(
            "no measurements in it{first}: expected the output of nccl-tests or rccl-tests with its rows of `size count \
             type redop root time algbw busbw`, the JSON of `-J`, or PARAM's rows of `COMMS-RES`"
        )));
    }
    Ok(measured)
}

impl Series {
    fn new() -> Self {
        Self { collective: None, ranks: None, hosts: None, rows: Vec::new() }
    }

    /// The median time of every size in microseconds, with the number of rows that it comes from. Out of place where
    /// that was measured: it is what training does.
    pub fn medians(&self) -> Vec<(Bytes, f64, usize)> {
        let mut times: BTreeMap<Bytes, Vec<f64>> = BTreeMap::new();
        for row in &self.rows {
            let sample = row.out_of_place.or(row.in_place);
            times.entry(row.size).or_default().extend(sample.map(|sample| sample.time_us));
        }
        times
            .into_iter()
            .filter(|(_, times)| !times.is_empty())
            .map(|(size, mut times)| {
                times.sort_by(f64::total_cmp);
                (size, times[times.len() / 2], times.len())
            })
            .collect()
    }

    /// Fills in the collective where the figures give it away: bus bandwidth over `size / time` is a function of
    /// collective and ranks, another one for AllReduce than for the collectives that move every byte once.
    fn recognise(&mut self, reduces: bool, rooted: bool) {
        let (None, Some(ranks)) = (self.collective, self.ranks.filter(|&ranks| ranks > 2)) else {
            return;
        };
        let samples = self.rows.iter().flat_map(|row| {
            [row.out_of_place, row.in_place].into_iter().flatten().map(|sample| (row.size, sample))
        });
        // Two decimals say nothing of slow rows.
        let factors = samples
            .filter(|(_, sample)| sample.bus_gbps >= 1.0)
            .map(|(size, sample)| sample.bus_gbps / (size.get() as f64 / sample.time_us / 1e3));
        let mut factors: Vec<f64> = factors.collect();
        factors.sort_by(f64::total_cmp);
        let Some(&factor) = factors.get(factors.len() / 2) else { return };
        let share = f64::from(ranks - 1) / f64::from(ranks);
        let near = |expected: f64| (factor / expected - 1.0).abs() < 0.02;
        self.collective = match (reduces, rooted) {
            (true, false) if near(2.0 * share) => Some(Kind::AllReduce),
            (true, false) if near(share) => Some(Kind::ReduceScatter),
            (true, true) if near(1.0) => Some(Kind::Reduce),
            (false, true) if near(1.0) => Some(Kind::Broadcast),
            // AllGather and AllToAll look alike.
            _ => None,
        };
    }
}

impl Kind {
    const NAMES: [(Kind, &'static str); 9] = [
        (Kind::AllReduce, "all-reduce"),
        (Kind::AllGather, "all-gather"),
        (Kind::ReduceScatter, "reduce-scatter"),
        (Kind::AllToAll, "all-to-all"),
        (Kind::Broadcast, "broadcast"),
        (Kind::Reduce, "reduce"),
        (Kind::Gather, "gather"),
        (Kind::Scatter, "scatter"),
        (Kind::SendRecv, "send-recv"),
    ];

    /// As in a scenario, but for `all-to-all`.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// As it is simulated; what has a root has it at the first rank.
    pub fn collective(self) -> Collective {
        let root = RankId(0);
        match self {
            Kind::AllReduce => Collective::AllReduce,
            Kind::AllGather => Collective::AllGather,
            Kind::ReduceScatter => Collective::ReduceScatter,
            Kind::AllToAll => Collective::AllToAll,
            Kind::Broadcast => Collective::Broadcast { root },
            Kind::Gather => Collective::Gather { root },
            Kind::SendRecv => Collective::SendRecv,
            Kind::Reduce => Collective::Reduce { root },
            Kind::Scatter => Collective::Scatter { root },
        }
    }

    /// By the name of a benchmark or of a collective, however it is written: `all_reduce_perf`, `AllReduce`, `alltoall`.
    pub fn named(text: &str) -> Option<Self> {
        let plain = |text: &str| -> String {
            text.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_lowercase())
                .collect()
        };
        let text = plain(text);
        let text = text.strip_suffix("perfmpi").or(text.strip_suffix("perf")).unwrap_or(&text);
        Self::NAMES.iter().find(|(_, name)| plain(name) == *text).map(|(kind, _)| *kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match (self.line, self.times) {
            (Some(line), 1) => write!(f, ", line {line}"),
            (Some(line), times) => write!(f, ", {times} times, first on line {line}"),
            (None, 1) => Ok(()),
            (None, times) => write!(f, ", {times} times"),
        }
    }
}

/// Notes, each kind once.
#[derive(Debug, Default)]
struct Notes(Vec<Note>);

impl Notes {
    fn add(&mut self, text: &str, line: Option<u64>) {
        match self.0.iter_mut().find(|note| note.text == text) {
            Some(known) => known.times += 1,
            None => self.0.push(Note { text: text.to_owned(), line, times: 1 }),
        }
    }
}

/// A sample whose figures agree with each other. The tools print bus bandwidth with two decimals, so small ones say
/// little.
fn sample(
    size: Bytes,
    time_us: f64,
    algorithm_gbps: Option<f64>,
    bus_gbps: f64,
    wrong: Option<u64>,
) -> Option<Sample> {
    let plausible = |figure: f64| figure.is_finite() && figure >= 0.0;
    if !(time_us.is_finite() && time_us > 0.0 && plausible(bus_gbps)) {
        return None;
    }
    let moved = size.get() as f64 / time_us / 1e3;
    // Old versions divide by what ranks receive, (n - 1) / n of the size.
    let agrees = algorithm_gbps.is_none_or(|stated| {
        (stated - moved).abs() <= 0.011 + 0.02 * moved || stated < moved && stated * 2.1 > moved
    });
    // No collective moves each byte more than twice.
    (agrees && bus_gbps <= 2.1 * moved + 0.011).then_some(Sample { time_us, bus_gbps, wrong })
}

#[cfg(test)]
mod tests;
