//! Readings into a metric store, by Prometheus' remote write protocol, version 1: protobuf messages, compressed with snappy.

use super::{Limits, StoreError, agent, short};
use crate::labels::Labeller;
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use xoff_telemetry::recording::{Key, Reading, Readings};

/// Samples of one request: below what stores take by default.
const SAMPLES: usize = 10_000;

/// `prometheus.WriteRequest`.
#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

/// `prometheus.TimeSeries`: its labels sorted by name, its samples by time.
#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

/// `prometheus.Label`.
#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// `prometheus.Sample`.
#[derive(Clone, Copy, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Series.
    pub series: usize,
    /// Samples.
    pub samples: usize,
}

/// Writes all readings to the store at `url`, like `http://localhost:9090/api/v1/write`.
pub fn send(
    url: &str,
    labeller: &Labeller<'_>,
    readings: &Readings,
) -> Result<Written, StoreError> {
    let agent = agent(&Limits::default());
    let series: BTreeSet<Key> = readings.list.iter().map(|reading| reading.key).collect();
    let mut written = Written { series: series.len(), samples: 0 };
    for request in requests(labeller, readings) {
        let samples: usize = request.timeseries.iter().map(|series| series.samples.len()).sum();
        post(&agent, url, &request)?;
        written.samples += samples;
    }
    Ok(written)
}

fn post(agent: &ureq::Agent, url: &str, request: &WriteRequest) -> Result<(), StoreError> {
    let odd = |reason: String| StoreError::Odd { url: url.to_owned(), reason };
    let body = snap::raw::Encoder::new()
        .compress_vec(&request.encode_to_vec())
        .map_err(|error| odd(error.to_string()))?;
    let sent = agent
        .post(url)
        .header("Content-Encoding", "snappy")
        .header("Content-Type", "application/x-protobuf")
        .header("X-Prometheus-Remote-Write-Version", "0.1.0")
        .send(&body[..]);
    let mut response = sent.map_err(|error| StoreError::Unreachable {
        url: url.to_owned(),
        reason: error.to_string(),
    })?;
    let status = response.status().as_u16();
    if !(200..300).contains(&status) {
        let text = response.body_mut().with_config().limit(1 << 16).read_to_string();
        let text = short(&text.unwrap_or_default());
        return Err(StoreError::Refused { url: url.to_owned(), status, text });
    }
    Ok(())
}

/// The readings as requests, in the order of time: stores refuse what lies long before what they have. All readings of a
/// millisecond are in one request.
fn requests(labeller: &Labeller<'_>, readings: &Readings) -> Vec<WriteRequest> {
    let mut list: Vec<&Reading> = readings.list.iter().collect();
    list.sort_by_key(|reading| reading.at);
    let mut requests = Vec::new();
    let mut rest = list.as_slice();
    while !rest.is_empty() {
        let full = SAMPLES.min(rest.len());
        let last = rest[full - 1].at.ms();
        let more = rest[full..].iter().take_while(|reading| reading.at.ms() == last).count();
        let (now, later) = rest.split_at(full + more);
        let mut by_series: BTreeMap<Key, Vec<&Reading>> = BTreeMap::new();
        now.iter().for_each(|reading| by_series.entry(reading.key).or_default().push(*reading));
        let of = |(key, list): (Key, Vec<&Reading>)| series(labeller, readings, key, &list);
        requests.push(WriteRequest { timeseries: by_series.into_iter().map(of).collect() });
        rest = later;
    }
    requests
}

fn series(labeller: &Labeller<'_>, readings: &Readings, key: Key, list: &[&Reading]) -> TimeSeries {
    let mut labels = labeller.of(readings.places.get(key.place), key.priority);
    labels.insert("__name__".to_owned(), key.metric.name().to_owned());
    let labels = labels.into_iter().map(|(name, value)| Label { name, value }).collect();
    let mut samples: Vec<Sample> = list
        .iter()
        .map(|reading| Sample { value: reading.value, timestamp: reading.at.ms() })
        .collect();
    // A store takes one sample of a moment: of several within a millisecond the last.
    samples.sort_by_key(|sample| sample.timestamp);
    samples.reverse();
    samples.dedup_by_key(|sample| sample.timestamp);
    samples.reverse();
    TimeSeries { labels, samples }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_telemetry::Metric;
    use xoff_telemetry::recording::{Place, Timestamp};

    fn readings(ports: u32, times: i64) -> Readings {
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

    fn with_labeller(check: impl FnOnce(&Labeller<'_>)) {
        let text = "[cluster]\nhosts = 4\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
        let setup = xoff_fabric::load_fabric(text).into_result().expect("a fabric");
        check(&Labeller::new(&setup.fabric, "pod"));
    }

    #[test]
    fn labels_and_samples_are_in_order_and_nothing_is_lost() {
        with_labeller(|labeller| {
            let requests = requests(labeller, &readings(700, 20));
            let all: Vec<&TimeSeries> = requests.iter().flat_map(|r| &r.timeseries).collect();
            // 15 scrapes of 700 are the first ones that fill a request.
            assert_eq!((requests.len(), all.len()), (2, 1_400));
            let mut samples = 0;
            for series in all {
                assert!(series.labels.is_sorted_by_key(|label| label.name.clone()));
                assert!(series.samples.is_sorted_by_key(|sample| sample.timestamp));
                assert!(series.labels.iter().any(|label| label.name == "__name__"));
                samples += series.samples.len();
            }
            assert_eq!(samples, 14_000);
            let times = |request: &WriteRequest| {
                let all = request.timeseries.iter().flat_map(|series| &series.samples);
                let times: Vec<i64> = all.map(|sample| sample.timestamp).collect();
                (times.iter().min().copied(), times.iter().max().copied())
            };
            assert!(times(&requests[0]).1 < times(&requests[1]).0, "in the order of time");
        });
    }

    #[test]
    fn two_readings_of_a_millisecond_are_one_sample() {
        with_labeller(|labeller| {
            let mut readings = readings(1, 2);
            let mut again = readings.list[1];
            (again.at, again.value) = (Timestamp(again.at.0 + 1), 7.0);
            readings.list.push(again);
            let requests = requests(labeller, &readings);
            let samples = &requests[0].timeseries[0].samples;
            assert_eq!(samples.iter().map(|s| s.value).collect::<Vec<_>>(), [0.0, 7.0]);
        });
    }
}
