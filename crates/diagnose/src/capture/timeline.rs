//! What happened when: bytes, notifications, losses and pauses in bins of equal width.
//!
//! The width is not known before the capture ends, so bins begin narrow; when the time outgrows them,
//! neighbours are joined and all are twice as wide. Memory is bounded by the number of bins and of
//! streams.

use serde::Serialize;
use xoff_wire::capture::Timestamp;

/// The most bins; when the capture ends there are at least half as many, if it is long enough.
pub(super) const BINS: usize = 256;
/// The width that bins begin with, in nanoseconds.
const NARROWEST: u64 = 1000;
/// Streams that are followed over time. The rest is in the totals only.
pub(super) const STREAMS: usize = 1024;

/// What a packet adds to its bin, or a bin to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sample {
    /// Bytes on the wire.
    pub(super) bytes: u64,
    /// Congestion notifications.
    pub(super) cnps: u32,
    /// Packets with a congestion mark.
    pub(super) marked: u32,
    /// Packets sent again.
    pub(super) resent: u32,
    /// Packets before which others are missing.
    pub(super) gaps: u32,
}

/// Something that bins hold.
trait Merge: Copy + Default {
    fn merge(&mut self, other: Self);
}

impl Merge for Sample {
    fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.cnps = self.cnps.saturating_add(other.cnps);
        self.marked = self.marked.saturating_add(other.marked);
        self.resent = self.resent.saturating_add(other.resent);
        self.gaps = self.gaps.saturating_add(other.gaps);
    }
}

impl Merge for u64 {
    fn merge(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

/// Bins over the time of a capture.
#[derive(Debug)]
pub(super) struct Timeline {
    start: Option<Timestamp>,
    width: u64,
    streams: Vec<Vec<Sample>>,
    /// Nanoseconds paused, by port and priority.
    pauses: Vec<Vec<u64>>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { start: None, width: NARROWEST, streams: Vec::new(), pauses: Vec::new() }
    }
}

impl Timeline {
    /// The capture begins.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.start.get_or_insert(now);
    }

    /// A packet of a stream.
    pub(super) fn add(&mut self, stream: usize, now: Timestamp, sample: Sample) {
        if stream >= STREAMS {
            return;
        }
        let at = self.bin(now);
        if self.streams.len() <= stream {
            self.streams.resize_with(stream + 1, Vec::new);
        }
        if let Some(bins) = self.streams.get_mut(stream) {
            put(bins, at, sample);
        }
    }

    /// Something was paused from one moment to another.
    pub(super) fn pause(&mut self, what: usize, from: Timestamp, to: Timestamp) {
        if what >= STREAMS || to <= from {
            return;
        }
        let (first, last) = (self.bin(from), self.bin(to));
        // Wider now than when the first was found, perhaps.
        let first = first.min(self.bin(from)).min(last);
        let start = self.start.unwrap_or_default().as_ns();
        if self.pauses.len() <= what {
            self.pauses.resize_with(what + 1, Vec::new);
        }
        for at in first..=last {
            let begin = start.saturating_add(self.width.saturating_mul(at as u64));
            let end = begin.saturating_add(self.width);
            let paused = to.as_ns().min(end).saturating_sub(from.as_ns().max(begin));
            if let Some(bins) = self.pauses.get_mut(what) {
                put(bins, at, paused);
            }
        }
    }

    /// The bin of a moment; earlier ones than the first belong to the first.
    fn bin(&mut self, now: Timestamp) -> usize {
        let start = *self.start.get_or_insert(now);
        let since = now.as_ns().saturating_sub(start.as_ns());
        while since / self.width >= BINS as u64 {
            self.width = self.width.saturating_mul(2);
            self.streams.iter_mut().for_each(join);
            self.pauses.iter_mut().for_each(join);
        }
        (since / self.width) as usize
    }

    /// Nanoseconds of a bin.
    pub(super) const fn width(&self) -> u64 {
        self.width
    }

    pub(super) const fn start(&self) -> Option<Timestamp> {
        self.start
    }

    /// The bins of a stream.
    pub(super) fn stream(&self, id: usize) -> &[Sample] {
        self.streams.get(id).map_or(&[], Vec::as_slice)
    }

    /// The bins of a port's priority.
    pub(super) fn paused(&self, what: usize) -> &[u64] {
        self.pauses.get(what).map_or(&[], Vec::as_slice)
    }
}

fn put<T: Merge>(bins: &mut Vec<T>, at: usize, sample: T) {
    if bins.len() <= at {
        bins.resize(at + 1, T::default());
    }
    if let Some(bin) = bins.get_mut(at) {
        bin.merge(sample);
    }
}

/// Joins neighbours.
fn join<T: Merge>(bins: &mut Vec<T>) {
    for at in 0..bins.len().div_ceil(2) {
        let mut joined = bins.get(2 * at).copied().unwrap_or_default();
        joined.merge(bins.get(2 * at + 1).copied().unwrap_or_default());
        if let Some(bin) = bins.get_mut(at) {
            *bin = joined;
        }
    }
    bins.truncate(bins.len().div_ceil(2));
}

/// What happened when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Course {
    /// When the first bin begins, in nanoseconds since 1970.
    pub start_ns: u64,
    /// Nanoseconds of a bin.
    pub bin_ns: u64,
    /// The senders that sent most, of connections in their order.
    pub senders: Vec<Sender>,
    /// Senders that are not among them.
    pub senders_left_out: u64,
    /// Ports that were paused.
    pub pauses: Vec<PausedPort>,
}

/// What one end of a connection sent when, and what it was told. Bins that are missing at the end are
/// empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sender {
    /// The connection, from one.
    pub connection: usize,
    /// Which end: `a` or `b`.
    pub end: &'static str,
    /// Bytes on the wire.
    pub bytes: Vec<u64>,
    /// Congestion notifications that it got.
    pub cnps: Vec<u32>,
    /// Its packets that arrived here with a congestion mark.
    pub marked: Vec<u32>,
    /// Its packets that were sent again.
    pub resent: Vec<u32>,
    /// Its packets before which others are missing.
    pub gaps: Vec<u32>,
}

/// When a port's priority was paused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PausedPort {
    /// The station whose frames paused it.
    pub station: String,
    /// The priority; none for the whole link.
    pub priority: Option<u8>,
    /// Nanoseconds paused in each bin.
    pub paused_ns: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(bytes: u64) -> Sample {
        Sample { bytes, ..Sample::default() }
    }

    #[test]
    fn bins_become_wider_and_lose_nothing() {
        let mut timeline = Timeline::default();
        for us in 0..1000 {
            timeline.add(0, Timestamp::from_ns(77_000 + us * 1000), bytes(us));
        }
        assert_eq!(timeline.width(), 4000);
        let bins = timeline.stream(0);
        assert_eq!((bins.len(), bins[0].bytes, bins[1].bytes), (250, 1 + 2 + 3, 4 + 5 + 6 + 7));
        assert_eq!(bins.iter().map(|bin| bin.bytes).sum::<u64>(), 999 * 500);
    }

    #[test]
    fn pauses_are_spread_over_their_bins() {
        let mut timeline = Timeline::default();
        timeline.begin(Timestamp::from_ns(0));
        timeline.pause(3, Timestamp::from_ns(500), Timestamp::from_ns(2250));
        assert_eq!(timeline.paused(3), [500, 1000, 250]);
        assert!(timeline.paused(0).is_empty());
    }

    proptest! {
        #[test]
        fn any_times_do_no_harm(times in prop::collection::vec((any::<u64>(), 0usize..2000), 0..50)) {
            let mut timeline = Timeline::default();
            let mut expected = 0;
            for (ns, stream) in times {
                timeline.add(stream, Timestamp::from_ns(ns), bytes(1));
                timeline.pause(stream, Timestamp::from_ns(ns / 2), Timestamp::from_ns(ns));
                expected += u64::from(stream < STREAMS);
            }
            let streams = timeline.streams.iter();
            prop_assert!(timeline.streams.iter().all(|bins| bins.len() <= BINS));
            prop_assert!(timeline.pauses.iter().all(|bins| bins.len() <= BINS));
            let sum: u64 = streams.flatten().map(|bin| bin.bytes).sum();
            prop_assert_eq!(sum, expected);
        }
    }
}
