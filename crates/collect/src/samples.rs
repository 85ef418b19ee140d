//! Readings as the requests that write them: in the order of time, and no more in one than stores take by default.

use crate::store::StoreError;
use std::collections::{BTreeMap, BTreeSet};
use xoff_telemetry::recording::{Key, Reading, Readings};

/// Samples of one request at most.
const MOST: usize = 10_000;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Series.
    pub series: usize,
    /// Samples.
    pub samples: usize,
}

/// A value at a millisecond since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    pub(crate) ms: i64,
    pub(crate) value: f64,
}

/// What one request holds: series, each with its samples in the order of time.
pub(crate) type Batch = Vec<(Key, Vec<Sample>)>;

/// Writes all readings, one request after the other.
pub(crate) fn write(
    readings: &Readings,
    mut send: impl FnMut(&Batch) -> Result<(), StoreError>,
) -> Result<Written, StoreError> {
    let series: BTreeSet<Key> = readings.list.iter().map(|reading| reading.key).collect();
    let mut written = Written { series: series.len(), samples: 0 };
    for batch in batches(readings) {
        send(&batch)?;
        written.samples += count(&batch);
    }
    Ok(written)
}

/// How many samples a request holds.
pub(crate) fn count(batch: &Batch) -> usize {
    batch.iter().map(|(_, samples)| samples.len()).sum()
}

/// The readings as requests, in the order of time: stores refuse what lies long before what they have. As many whole
/// milliseconds as fit are one request; one that does not fit by itself is cut between its series.
pub(crate) fn batches(readings: &Readings) -> Vec<Batch> {
    let mut list: Vec<&Reading> = readings.list.iter().collect();
    list.sort_by_key(|reading| reading.at);
    let mut batches = Vec::new();
    let mut rest = list.as_slice();
    while let Some(first) = rest.first() {
        let (now, later) = rest.split_at(whole(rest, first.at.ms()));
        let mut series: BTreeMap<Key, Vec<Sample>> = BTreeMap::new();
        for reading in now {
            let sample = Sample { ms: reading.at.ms(), value: reading.value };
            let samples = series.entry(reading.key).or_default();
            // A store takes one sample of a moment: of several within a millisecond the last.
            match samples.last_mut() {
                Some(last) if last.ms == sample.ms => *last = sample,
                _ => samples.push(sample),
            }
        }
        let (mut batch, mut held) = (Batch::new(), 0);
        for (key, samples) in series {
            if held + samples.len() > MOST && held > 0 {
                batches.push(std::mem::take(&mut batch));
                held = 0;
            }
            held += samples.len();
            batch.push((key, samples));
        }
        batches.push(batch);
        rest = later;
    }
    batches
}

/// How many readings are those of the whole milliseconds that fit; those of the first in any case.
fn whole(list: &[&Reading], first: i64) -> usize {
    if list.len() <= MOST {
        return list.len();
    }
    let last = list[MOST].at.ms();
    match last == first {
        true => list.partition_point(|reading| reading.at.ms() == first),
        false => list.partition_point(|reading| reading.at.ms() < last),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::labels::Labeller;
    use xoff_telemetry::Metric;
    use xoff_telemetry::recording::{Place, Timestamp};

    /// So many ports, read so many times, a second apart.
    pub(crate) fn readings(ports: u32, times: i64) -> Readings {
        let mut readings = Readings::default();
        for time in 0..times {
            for port in 0..ports {
                let place = Place::Port { device: format!("leaf{port}"), port: "p".into() };
                let place = readings.places.number(place);
                let key = Key { place, metric: Metric::TxBytes, priority: Some(3) };
                let (at, value) = (Timestamp::from_ms(1_000 * time), time as f64);
                readings.list.push(Reading { key, at, value });
            }
        }
        readings
    }

    pub(crate) fn with_labeller(check: impl FnOnce(&Labeller<'_>)) {
        let text = "[cluster]\nhosts = 4\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
        let setup = xoff_fabric::load_fabric(text).into_result().expect("a fabric");
        check(&Labeller::new(&setup.fabric, "pod"));
    }

    #[test]
    fn samples_are_in_order_and_nothing_is_lost() {
        // 14 scrapes of 700 are the most that fit.
        let all = batches(&readings(700, 20));
        assert_eq!(all.iter().map(count).collect::<Vec<_>>(), [9_800, 4_200]);
        let times = |batch: &Batch| -> Vec<i64> {
            batch.iter().flat_map(|(_, samples)| samples.iter().map(|sample| sample.ms)).collect()
        };
        for batch in &all {
            assert!(batch.iter().all(|(_, s)| s.is_sorted_by_key(|sample| sample.ms)));
        }
        assert!(times(&all[0]).iter().max() < times(&all[1]).iter().min(), "in the order of time");
    }

    #[test]
    fn a_scrape_that_is_too_large_is_cut() {
        let all = batches(&readings(24_000, 2));
        let counts: Vec<usize> = all.iter().map(count).collect();
        assert_eq!(counts, [10_000, 10_000, 4_000, 10_000, 10_000, 4_000]);
        let keys: BTreeSet<Key> = all[..3].iter().flatten().map(|(key, _)| *key).collect();
        assert_eq!(keys.len(), 24_000);
    }

    #[test]
    fn two_readings_of_a_millisecond_are_one_sample() {
        let mut readings = readings(1, 2);
        let mut again = readings.list[1];
        (again.at, again.value) = (Timestamp(again.at.0 + 1), 7.0);
        readings.list.push(again);
        let samples = &batches(&readings)[0][0].1;
        assert_eq!(samples.iter().map(|sample| sample.value).collect::<Vec<_>>(), [0.0, 7.0]);
        assert!(batches(&Readings::default()).is_empty());
    }
}
