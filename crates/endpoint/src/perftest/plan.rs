//! How often the two sides of each tool exchange keys, and when.
//!
//! perftest has no end of message and no sequence number: a side that exchanges once too often or
//! too seldom waits forever. These are the counts of version 6.06, as recorded between two stock
//! tools. Every tool exchanges once per queue pair to learn the peer's keys; everything else is a
//! barrier.

use super::settings::{Measure, Settings, Verb};

/// Exchanges of keys around the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// A barrier before the keys of all queue pairs.
    pub(super) first: usize,
    /// Barriers after the keys, with the queue pairs connected.
    pub(super) connected: usize,
    /// Barriers before the data of every size.
    pub(super) before: usize,
    /// Barriers after the data of every size, before figures are exchanged.
    pub(super) after: usize,
    /// Figures are exchanged after the data of every size.
    pub(super) report_each: bool,
    /// Barriers when all sizes are done.
    pub(super) finish: usize,
    /// Figures are exchanged then.
    pub(super) report: bool,
    /// A last exchange of keys, and a goodbye over TCP.
    pub(super) close: bool,
}

impl Plan {
    /// The plan for a test.
    pub(super) fn of(settings: &Settings) -> Self {
        let pairs = settings.pairs;
        let send = settings.verb == Verb::Send;
        if settings.measure == Measure::Latency {
            return Self {
                first: usize::from(!send),
                connected: 2,
                before: usize::from(send),
                after: 0,
                report_each: false,
                finish: 0,
                report: false,
                close: settings.verb != Verb::Write,
            };
        }
        if send {
            return Self {
                first: 0,
                connected: 1 + pairs,
                before: 1,
                after: 0,
                report_each: settings.duplex,
                finish: 0,
                report: false,
                close: true,
            };
        }
        Self {
            first: 0,
            connected: pairs + 1,
            before: usize::from(settings.duplex),
            after: usize::from(settings.duplex && settings.all_sizes),
            report_each: settings.duplex,
            finish: usize::from(!settings.duplex),
            report: !settings.duplex,
            close: true,
        }
    }

    /// Barriers between the sizes of a test that runs them all, after the figures.
    pub(super) fn between(settings: &Settings) -> usize {
        let send = settings.verb == Verb::Send && settings.measure == Measure::Bandwidth;
        usize::from(send && settings.all_sizes)
    }

    /// All exchanges of keys of a test with this many sizes.
    #[cfg(test)]
    fn exchanges(&self, settings: &Settings, sizes: usize) -> usize {
        let each = self.before + self.after + Self::between(settings);
        let around = self.first + settings.pairs + self.connected + self.finish;
        around + sizes * each + usize::from(self.close)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perftest::settings::AtomicKind;

    fn count(verb: Verb, measure: Measure, change: impl Fn(&mut Settings)) -> usize {
        let mut settings = Settings::new(verb, measure);
        change(&mut settings);
        let sizes = if settings.all_sizes { 23 } else { 1 };
        Plan::of(&settings).exchanges(&settings, sizes)
    }

    /// As counted in captures of two stock tools.
    #[test]
    fn counts_as_recorded() {
        let atomic = Verb::Atomic(AtomicKind::FetchAdd);
        let one = |_: &mut Settings| ();
        for verb in [Verb::Write, Verb::Read, atomic] {
            assert_eq!(count(verb, Measure::Bandwidth, one), 3 + 2);
            assert_eq!(count(verb, Measure::Bandwidth, |s| s.pairs = 4), 9 + 2);
            assert_eq!(count(verb, Measure::Bandwidth, |s| s.duplex = true), 4 + 1);
        }
        assert_eq!(count(Verb::Send, Measure::Bandwidth, one), 4 + 1);
        assert_eq!(count(Verb::Send, Measure::Bandwidth, |s| s.pairs = 4), 10 + 1);
        assert_eq!(count(Verb::Send, Measure::Bandwidth, |s| s.duplex = true), 4 + 1);
        assert_eq!(count(Verb::Send, Measure::Bandwidth, |s| s.all_sizes = true), 3 + 2 * 23 + 1);
        assert_eq!(count(Verb::Write, Measure::Latency, one), 4);
        assert_eq!(count(Verb::Send, Measure::Latency, one), 4 + 1);
        assert_eq!(count(Verb::Read, Measure::Latency, one), 4 + 1);
        assert_eq!(count(atomic, Measure::Latency, one), 4 + 1);
    }
}
