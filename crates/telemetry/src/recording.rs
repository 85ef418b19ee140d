//! [`Recording`]: what counters did over a window of time, step by step.
//!
//! Whatever the source (scrapes of a simulated fabric, range queries of a metric store, a file), a [`Recorder`] turns
//! [readings](Reading) into equal steps: of what adds up the increase in each step, of gauges the mean, of watermarks the greatest. A
//! step without a reading is missing, which is different from zero. Counters that wrap or start again are recognised.
//!
//! What it is not: it knows no fabric. What a [`Place`] is in a fabric is for [its reader](crate) to find out.

use crate::metric::{Kind, Metric};
use std::collections::BTreeMap;
use xoff_units::Span;

/// A moment of wall time, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// So many milliseconds since 1970.
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// Milliseconds since 1970.
    pub const fn ms(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Later by so much.
    #[must_use]
    pub fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add((span.as_ps() / 1_000) as i64))
    }
}

/// Equal steps of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Where the first one begins.
    pub start: Timestamp,
    /// How long each is.
    pub step: Span,
    /// How many.
    pub count: usize,
}

impl Steps {
    /// The step that a reading is about: it tells what was until then.
    fn until(&self, at: Timestamp) -> Option<usize> {
        self.at(Timestamp(at.0.saturating_sub(1)))
    }

    /// The step of a moment.
    pub fn at(&self, at: Timestamp) -> Option<usize> {
        let step = usize::try_from((at.0 - self.start.0).div_euclid(self.step_ns())).ok()?;
        (step < self.count).then_some(step)
    }

    /// Where a step begins; where all end for one beyond the last.
    pub fn begin(&self, step: usize) -> Timestamp {
        Timestamp(self.start.0 + step.min(self.count) as i64 * self.step_ns())
    }

    /// How long each is, in seconds.
    pub fn seconds(&self) -> f64 {
        self.step_ns() as f64 / 1e9
    }

    fn step_ns(&self) -> i64 {
        ((self.step.as_ps() / 1_000) as i64).max(1)
    }
}

/// What a series belongs to, as its source names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A port of a switch or a NIC.
    Port {
        /// The switch or NIC.
        device: String,
        /// The port; empty where the device has one only.
        port: String,
    },
    /// A rank of a job.
    Rank {
        /// The job.
        job: String,
        /// The rank.
        rank: u32,
    },
    /// A job.
    Job {
        /// The job.
        job: String,
    },
    /// A GPU.
    Gpu {
        /// The server it is in.
        host: String,
        /// Its number there.
        gpu: u32,
    },
}

/// The number of a place in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlaceId(pub u32);

/// Which series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Of what.
    pub place: PlaceId,
    /// What.
    pub metric: Metric,
    /// Of which priority, where the source tells.
    pub priority: Option<u8>,
}

/// Places and their numbers.
#[derive(Debug, Clone, Default)]
pub struct Places {
    list: Vec<Place>,
    numbers: BTreeMap<Place, PlaceId>,
}

impl Places {
    /// The number of a place, which is new or known.
    pub fn number(&mut self, place: Place) -> PlaceId {
        let list = &mut self.list;
        *self.numbers.entry(place).or_insert_with_key(|place| {
            list.push(place.clone());
            PlaceId((list.len() - 1) as u32)
        })
    }

    /// All of them, by number.
    pub fn all(&self) -> &[Place] {
        &self.list
    }

    /// The place of this number.
    ///
    /// # Panics
    ///
    /// If the number is not one of these places.
    pub fn get(&self, id: PlaceId) -> &Place {
        &self.list[id.0 as usize]
    }
}

/// One value of a series, as its source had it at an instant: of what adds up, the sum so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Of which series.
    pub key: Key,
    /// When.
    pub at: Timestamp,
    /// The value, in the unit of the metric.
    pub value: f64,
}

/// Readings of many series, those of one series in the order of time.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    /// The places that they refer to.
    pub places: Places,
    /// The readings.
    pub list: Vec<Reading>,
}

impl Readings {
    /// What they say of these steps.
    pub fn record(&self, steps: Steps) -> Recording {
        let mut recorder = Recorder::with(steps, self.places.clone());
        for reading in &self.list {
            recorder.read(*reading);
        }
        recorder.finish()
    }
}

/// Values by step. A step without a value is `NaN`.
pub type Values = Vec<f32>;

/// What counters did over a window of time.
#[derive(Debug, Clone)]
pub struct Recording {
    steps: Steps,
    places: Places,
    series: BTreeMap<Key, Values>,
}

impl Recording {
    /// Its steps.
    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// All places.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// All series, ordered by place and metric.
    pub fn series(&self) -> impl Iterator<Item = (Key, &[f32])> {
        self.series.iter().map(|(key, values)| (*key, values.as_slice()))
    }

    /// How many series there are.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The same without the series that `keep` refuses.
    pub fn filtered(mut self, mut keep: impl FnMut(Key, &Place) -> bool) -> Self {
        let places = &self.places;
        self.series.retain(|key, _| keep(*key, places.get(key.place)));
        self
    }
}

/// Makes a [`Recording`] of readings. Those of one series come in the order of time.
#[derive(Debug)]
pub struct Recorder {
    recording: Recording,
    last: BTreeMap<Key, Reading>,
    /// Gauges: how many readings a step has.
    readings: BTreeMap<Key, Vec<u32>>,
    restarts: u64,
    refused: u64,
}

impl Recorder {
    /// For these steps.
    pub fn new(steps: Steps) -> Self {
        Self::with(steps, Places::default())
    }

    /// For these steps and readings of these places.
    pub fn with(steps: Steps, places: Places) -> Self {
        Self {
            recording: Recording { steps, places, series: BTreeMap::new() },
            last: BTreeMap::new(),
            readings: BTreeMap::new(),
            restarts: 0,
            refused: 0,
        }
    }

    /// The number of a place, which is new or known.
    pub fn place(&mut self, place: Place) -> PlaceId {
        self.recording.places.number(place)
    }

    /// Takes a reading. What is not finite, comes out of order or counts below zero is refused and counted.
    pub fn read(&mut self, reading: Reading) {
        let Reading { key, at, value } = reading;
        let kind = key.metric.facts().kind;
        let last = self.last.get(&key).copied();
        let late = last.is_some_and(|last| at <= last.at);
        if !value.is_finite() || late || (kind.is_cumulative() && value < 0.0) {
            self.refused += 1;
            return;
        }
        self.last.insert(key, reading);
        match kind {
            Kind::Counter | Kind::Events => {
                // The first reading says where the count stands, not what happened.
                if let Some(last) = last {
                    let (increase, restarted) = increase(last.value, value);
                    self.restarts += u64::from(restarted);
                    self.spread(key, last.at, at, increase);
                }
            }
            Kind::Gauge => self.average(key, at, value),
            Kind::Watermark => {
                let Some(step) = self.recording.steps.until(at) else { return };
                let cell = &mut self.values(key)[step];
                *cell = cell.max(value as f32);
            }
        }
    }

    /// Adds what is known of one step as a whole: what a metric store has already computed.
    pub fn put(&mut self, key: Key, step: usize, value: f64) {
        if !value.is_finite() || step >= self.recording.steps.count {
            self.refused += 1;
            return;
        }
        self.values(key)[step] = value as f32;
    }

    /// Whether nothing is recorded yet.
    pub fn is_empty(&self) -> bool {
        self.recording.is_empty()
    }

    /// Counters that started again or wrapped.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Readings that were refused.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The recording.
    pub fn finish(self) -> Recording {
        self.recording
    }

    fn values(&mut self, key: Key) -> &mut Values {
        let count = self.recording.steps.count;
        self.recording.series.entry(key).or_insert_with(|| vec![f32::NAN; count])
    }

    /// Spreads an increase evenly over the time between two readings.
    fn spread(&mut self, key: Key, from: Timestamp, to: Timestamp, increase: f64) {
        let steps = self.recording.steps;
        let (first, end) = (from.max(steps.start), to.min(steps.begin(steps.count)));
        if first >= end {
            return;
        }
        let per_ns = increase / (to.0 - from.0) as f64;
        let range = steps.at(first).zip(steps.at(Timestamp(end.0 - 1)));
        let values = self.values(key);
        let Some((from, to)) = range else { return };
        for (step, value) in values.iter_mut().enumerate().take(to + 1).skip(from) {
            let begin = steps.begin(step).max(first);
            let length = steps.begin(step + 1).min(end).0 - begin.0;
            let before = if value.is_nan() { 0.0 } else { *value };
            *value = before + (per_ns * length as f64) as f32;
        }
    }

    /// The mean of the readings of each step.
    fn average(&mut self, key: Key, at: Timestamp, value: f64) {
        let steps = self.recording.steps;
        let Some(step) = steps.until(at) else { return };
        let counts = self.readings.entry(key).or_insert_with(|| vec![0; steps.count]);
        counts[step] += 1;
        let count = counts[step] as f32;
        let cell = &mut self.values(key)[step];
        *cell = if count > 1.0 { *cell + (value as f32 - *cell) / count } else { value as f32 };
    }
}

/// Counters of 32 bits wrap here: mlx5 keeps those of queue pairs in as many.
const WRAP: f64 = (1u64 << 32) as f64;

/// From one reading of a counter to the next, and whether it had started again or wrapped. A count that falls has wrapped if it
/// stood in the last quarter of 32 bits and is now in the first; else its device has started again from zero.
fn increase(last: f64, now: f64) -> (f64, bool) {
    if now >= last {
        (now - last, false)
    } else if (WRAP * 0.75..WRAP).contains(&last) && now < WRAP * 0.25 {
        (now + WRAP - last, true)
    } else {
        (now, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEPS: Steps =
        Steps { start: Timestamp::from_ms(1_000_000), step: Span::from_ms(1_000), count: 10 };

    fn one(metric: Metric, readings: &[(i64, f64)]) -> (Values, u64) {
        let mut recorder = Recorder::new(STEPS);
        let place = recorder.place(Place::Port { device: "leaf0".into(), port: "p1".into() });
        let key = Key { place, metric, priority: Some(3) };
        for &(at, value) in readings {
            recorder.read(Reading { key, at: Timestamp::from_ms(at), value });
        }
        let restarts = recorder.restarts();
        let recording = recorder.finish();
        let values = recording.series().next().map(|(_, values)| values.to_vec());
        (values.unwrap_or_default(), restarts)
    }

    #[test]
    fn a_counter_becomes_increases_and_gaps_stay_gaps() {
        let (values, _) =
            one(Metric::TxPackets, &[(1_000_000, 50.0), (1_001_000, 60.0), (1_004_000, 90.0)]);
        assert_eq!(values[..4], [10.0, 10.0, 10.0, 10.0]);
        assert!(values[4..].iter().all(|value| value.is_nan()), "{values:?}");
    }

    #[test]
    fn a_reading_before_the_window_counts_from_its_start() {
        let (values, _) = one(Metric::TxPackets, &[(998_000, 0.0), (1_001_000, 30.0)]);
        assert_eq!(values[0], 10.0);
    }

    #[test]
    fn a_restart_counts_from_zero_and_a_wrap_goes_on() {
        let readings = [(1_000_000, 1e6), (1_001_000, 40.0)];
        assert_eq!(one(Metric::Timeouts, &readings).0[0], 40.0);
        let wraps = [(1_000_000, WRAP - 100.0), (1_001_000, 40.0)];
        let (values, restarts) = one(Metric::Timeouts, &wraps);
        assert_eq!((values[0], restarts), (140.0, 1));
    }

    #[test]
    fn gauges_are_averaged_and_watermarks_are_not() {
        // A reading at the end of a step is about that step.
        let readings = [(1_000_100, 2.0), (1_000_200, 4.0), (1_001_000, 9.0)];
        assert_eq!(one(Metric::PcieStalled, &readings).0[0], 5.0);
        assert_eq!(one(Metric::QueueWatermark, &readings).0[0], 9.0);
    }

    #[test]
    fn what_no_counter_says_is_refused() {
        let mut recorder = Recorder::new(STEPS);
        let place = recorder.place(Place::Job { job: "a".into() });
        let key = Key { place, metric: Metric::Timeouts, priority: None };
        for (at, value) in
            [(1_000_000, f64::NAN), (1_000_000, 1.0), (1_000_000, 2.0), (1_000_500, -1.0)]
        {
            recorder.read(Reading { key, at: Timestamp::from_ms(at), value });
        }
        assert_eq!(recorder.refused(), 3);
        assert!(recorder.finish().is_empty());
    }

    proptest! {
        /// Whatever the times of the readings, what a counter counted within the window is in its steps.
        #[test]
        fn nothing_of_a_counter_is_lost(
            gaps in prop::collection::vec((1i64..3_000, 0u32..1_000), 2..20),
        ) {
            let (mut at, mut value) = (STEPS.start.ms(), 0.0);
            let mut readings = vec![(at, value)];
            for (gap, more) in gaps {
                at += gap;
                value += f64::from(more);
                readings.push((at, value));
            }
            let end = STEPS.begin(STEPS.count).ms();
            readings.retain(|(at, _)| *at <= end);
            let counted = readings.last().map_or(0.0, |last| last.1);
            let (values, _) = one(Metric::TxPackets, &readings);
            let sum: f64 = values.iter().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).sum();
            prop_assert!((sum - counted).abs() <= 1e-3 * counted.max(1.0), "{sum} of {counted}");
        }
    }
}
