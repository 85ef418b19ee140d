//! [`Figures`]: what is said of a candidate of a comparison, and which candidates are best by each.

use crate::measure::Measurement;
use xoff_report::{Number, Unit};

/// What is said of a candidate. Nothing is said of what its traffic does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Mean completion time of flows, in microseconds.
    pub mean_us: Option<f64>,
    /// The 99th percentile of the slowest group of flows.
    pub p99_us: Option<f64>,
    /// When the last flow, collective or step was done.
    pub last_us: Option<f64>,
    /// Bus bandwidth of the largest collective, in bytes per second.
    pub busbw: Option<f64>,
    /// Cores that the transport keeps busy at the server with most to do; zero where NICs do the work.
    pub cores: Option<f64>,
    /// Pause frames.
    pub pauses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped for any reason.
    pub drops: u64,
    /// Packets that lost their payload and went on.
    pub trimmed: u64,
    /// Packets sent again.
    pub sent_again: u64,
    /// Whether all traffic was done.
    pub complete: bool,
}

/// A kind of figure: how it is called, and whether more of it is better.
#[derive(Debug)]
pub struct FigureKind {
    /// Its short name.
    pub name: &'static str,
    /// Its name on a page.
    pub words: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Whether more is better.
    pub more: bool,
    of: fn(&Figures) -> Option<f64>,
}

impl FigureKind {
    const fn less(
        name: &'static str,
        words: &'static str,
        unit: Unit,
        of: fn(&Figures) -> Option<f64>,
    ) -> Self {
        Self { name, words, unit, more: false, of }
    }

    /// The figure of a candidate, if it has one.
    pub fn value(&self, figures: &Figures) -> Option<Number> {
        (self.of)(figures).map(|value| Number::new(value, self.unit))
    }
}

impl Figures {
    /// Every kind of figure, times first.
    pub const KINDS: [FigureKind; 10] = [
        FigureKind::less("last", "last done after", Unit::Seconds, |own| own.last_us.map(seconds)),
        FigureKind::less("p99", "p99 of flows", Unit::Seconds, |own| own.p99_us.map(seconds)),
        FigureKind::less("mean", "mean of flows", Unit::Seconds, |own| own.mean_us.map(seconds)),
        FigureKind {
            more: true,
            ..FigureKind::less("bus bandwidth", "bus bandwidth", Unit::BytesPerSecond, |own| {
                own.busbw
            })
        },
        FigureKind::less("cores", "host cores", Unit::Plain, |own| own.cores),
        FigureKind::less("pauses", "pause frames", Unit::Count, |own| Some(own.pauses as f64)),
        FigureKind::less("marks", "ECN marks", Unit::Count, |own| Some(own.marks as f64)),
        FigureKind::less("drops", "drops", Unit::Count, |own| Some(own.drops as f64)),
        FigureKind::less("trimmed", "trimmed packets", Unit::Count, |own| Some(own.trimmed as f64)),
        FigureKind::less("sent again", "packets sent again", Unit::Count, |own| {
            Some(own.sent_again as f64)
        }),
    ];

    /// The figures of what was measured.
    pub fn of(measured: &Measurement) -> Self {
        let flows: u64 = measured.groups.iter().map(|group| group.finished).sum();
        let sum: f64 = measured
            .groups
            .iter()
            .map(|group| group.completion.of.mean * group.finished as f64)
            .sum();
        let p99 = measured.groups.iter().map(|group| group.completion.of.p99).fold(0.0, f64::max);
        let totals = measured.totals;
        let some = |value: f64| (value > 0.0).then_some(value);
        Self {
            mean_us: some(sum / flows.max(1) as f64),
            p99_us: some(p99),
            last_us: some(measured.last_us()),
            busbw: measured.collectives.last().map(|row| row.busbw),
            cores: Some(measured.cores),
            pauses: totals.xoff,
            marks: totals.marks,
            drops: totals.lossless_drops
                + totals.lossy_drops
                + totals.wire_drops
                + totals.fault_drops,
            trimmed: totals.trimmed,
            sent_again: totals.retransmitted,
            complete: measured.is_complete(),
        }
    }
}

fn seconds(us: f64) -> f64 {
    us / 1e6
}

/// Who is best by a figure.
#[derive(Debug)]
pub struct Win {
    /// The figure.
    pub figure: &'static FigureKind,
    /// Candidates that share the best value, by their place.
    pub of: Vec<usize>,
}

impl Win {
    /// The first of them.
    pub fn first(&self) -> usize {
        self.of.first().copied().unwrap_or_default()
    }
}

/// The best by each figure that a candidate has and that is not zero for all. A candidate that did not
/// finish wins nothing: its counters are low because it did less.
pub fn winners(all: &[&Figures]) -> Vec<Win> {
    static KINDS: [FigureKind; 10] = Figures::KINDS;
    let win = |kind: &'static FigureKind| {
        let value = |own: &Figures| (kind.of)(own);
        if !all.iter().filter_map(|own| value(own)).any(|value| value != 0.0) {
            return None;
        }
        let done = || all.iter().enumerate().filter(|(_, own)| own.complete);
        let values = done().filter_map(|(_, own)| value(own));
        let best = values.reduce(|a, b| if (b > a) == kind.more && a != b { b } else { a })?;
        let of = done().filter(|(_, own)| value(own) == Some(best)).map(|(at, _)| at).collect();
        Some(Win { figure: kind, of })
    };
    KINDS.iter().filter_map(win).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(last_us: f64, busbw: f64, pauses: u64, complete: bool) -> Figures {
        Figures {
            last_us: Some(last_us),
            busbw: Some(busbw),
            pauses,
            complete,
            ..Figures::default()
        }
    }

    #[test]
    fn less_time_and_more_bandwidth_win_and_the_unfinished_never() {
        let all = [own(3.0, 1.0, 5, true), own(2.0, 4.0, 5, true), own(1.0, 9.0, 0, false)];
        let wins = winners(&all.iter().collect::<Vec<_>>());
        let said: Vec<(&str, &[usize])> =
            wins.iter().map(|win| (win.figure.name, win.of.as_slice())).collect();
        assert_eq!(said, [("last", &[1][..]), ("bus bandwidth", &[1]), ("pauses", &[0, 1])]);
        assert!(winners(&[]).is_empty());
        assert!(winners(&[&own(1.0, 1.0, 1, false)]).is_empty());
    }
}
