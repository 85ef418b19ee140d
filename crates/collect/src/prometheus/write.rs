//! Readings into a metric store, by Prometheus' remote write protocol, version 1: protobuf messages, compressed with snappy.

use super::KIND;
use crate::labels::Labeller;
use crate::samples::{self, Batch, Written};
use crate::store::{Limits, StoreError, agent, post};
use prost::Message;
use xoff_telemetry::recording::{Key, Readings};

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

/// Writes all readings to the store at `url`, like `http://localhost:9090/api/v1/write`.
pub fn send(
    url: &str,
    labeller: &Labeller<'_>,
    readings: &Readings,
) -> Result<Written, StoreError> {
    let agent = agent(&Limits::default());
    let headers = [("Content-Encoding", "snappy"), ("X-Prometheus-Remote-Write-Version", "0.1.0")];
    samples::write(readings, |batch| {
        let body = request(labeller, readings, batch).encode_to_vec();
        let body = snap::raw::Encoder::new().compress_vec(&body).map_err(|error| {
            StoreError::Odd { url: url.to_owned(), kind: KIND, reason: error.to_string() }
        })?;
        post(&agent, url, &headers, &body).map(drop)
    })
}

fn request(labeller: &Labeller<'_>, readings: &Readings, batch: &Batch) -> WriteRequest {
    let of = |(key, samples): &(Key, Vec<samples::Sample>)| {
        let mut labels = labeller.of(readings.places.get(key.place), key.priority);
        labels.insert("__name__".to_owned(), key.metric.name().to_owned());
        let labels = labels.into_iter().map(|(name, value)| Label { name, value }).collect();
        let samples = samples.iter().map(|s| Sample { value: s.value, timestamp: s.ms }).collect();
        TimeSeries { labels, samples }
    };
    WriteRequest { timeseries: batch.iter().map(of).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::tests::{readings, with_labeller};

    #[test]
    fn labels_and_samples_are_in_order() {
        with_labeller(|labeller| {
            let readings = readings(7, 20);
            let batches = samples::batches(&readings);
            let request = request(labeller, &readings, &batches[0]);
            assert_eq!((batches.len(), request.timeseries.len()), (1, 7));
            for series in &request.timeseries {
                assert!(series.labels.is_sorted_by_key(|label| label.name.clone()));
                assert!(series.samples.is_sorted_by_key(|sample| sample.timestamp));
                assert!(series.labels.iter().any(|label| label.name == "__name__"));
                assert_eq!(series.samples.len(), 20);
            }
        });
    }
}
