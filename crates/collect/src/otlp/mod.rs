//! Readings into a collector of OpenTelemetry, or whatever takes OTLP over HTTP as protobuf.
//!
//! What adds up is a cumulative monotonic sum, all else a gauge; labels are attributes of the points. OTLP keeps the unit apart from
//! the name, and Prometheus puts it back: names are chosen so that what it makes of name, unit and kind is the name of the
//! schema ([`identity`]).

mod message;

use crate::labels::Labeller;
use crate::samples::{self, Batch, Written};
use crate::store::{Limits, StoreError, agent, post, short};
use message::{
    Data, Gauge, KeyValue, Metric, Point, Request, Resource, ResourceMetrics, Response, Scope,
    ScopeMetrics, Sum, Temporality,
};
use prost::Message;
use std::collections::BTreeMap;
use xoff_telemetry::metric::{Facts, Unit};
use xoff_telemetry::recording::{Key, Readings};

/// What the other end is taken for, in errors.
const KIND: &str = "a receiver of OTLP";

/// Writes all readings to the receiver at `url`, like `http://localhost:4318/v1/metrics`, or Prometheus'
/// `/api/v1/otlp/v1/metrics`.
pub fn send(
    url: &str,
    labeller: &Labeller<'_>,
    readings: &Readings,
) -> Result<Written, StoreError> {
    let agent = agent(&Limits::default());
    let start = start(readings);
    samples::write(readings, |batch| {
        let body = request(labeller, readings, batch, start).encode_to_vec();
        let answer = post(&agent, url, &[], &body)?;
        accepted(url, answer.as_deref(), samples::count(batch))
    })
}

/// Whether all points were taken: a receiver that takes some answers with status 200, and how many it rejected.
fn accepted(url: &str, answer: Option<&[u8]>, of: usize) -> Result<(), StoreError> {
    let odd = |reason: String| StoreError::Odd { url: url.to_owned(), kind: KIND, reason };
    let answer = answer.ok_or_else(|| odd("its answer cannot be read".to_owned()))?;
    let response = Response::decode(answer).map_err(|error| odd(error.to_string()))?;
    match response.partial_success {
        // A message without rejected points is a warning of something that was taken.
        Some(part) if part.rejected_data_points != 0 => Err(StoreError::Rejected {
            url: url.to_owned(),
            points: part.rejected_data_points,
            of,
            text: short(&part.error_message),
        }),
        _ => Ok(()),
    }
}

/// When sums began, in nanoseconds: a millisecond before the first reading, since a point is about the time from its start on.
fn start(readings: &Readings) -> u64 {
    let first = readings.list.iter().map(|reading| reading.at.ms()).min().unwrap_or_default();
    nanoseconds(first.saturating_sub(1))
}

fn nanoseconds(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default().saturating_mul(1_000_000)
}

fn request(labeller: &Labeller<'_>, readings: &Readings, batch: &Batch, start: u64) -> Request {
    let mut points: BTreeMap<xoff_telemetry::Metric, Vec<Point>> = BTreeMap::new();
    for (key, samples) in batch {
        let attributes = attributes(labeller, readings, *key);
        let adds_up = key.metric.facts().kind.is_cumulative();
        points.entry(key.metric).or_default().extend(samples.iter().map(|sample| Point {
            start_time_unix_nano: if adds_up { start } else { 0 },
            time_unix_nano: nanoseconds(sample.ms),
            as_double: Some(sample.value),
            attributes: attributes.clone(),
        }));
    }
    let metrics = points.into_iter().map(|(metric, points)| series(metric.facts(), points));
    let scope = Scope { name: "xoff".into(), version: env!("CARGO_PKG_VERSION").into() };
    let resource = Resource { attributes: vec![KeyValue::new("service.name", "xoff")] };
    Request {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource),
            scope_metrics: vec![ScopeMetrics { scope: Some(scope), metrics: metrics.collect() }],
        }],
    }
}

fn attributes(labeller: &Labeller<'_>, readings: &Readings, key: Key) -> Vec<KeyValue> {
    let labels = labeller.of(readings.places.get(key.place), key.priority);
    labels.into_iter().map(|(name, value)| KeyValue::new(name, value)).collect()
}

fn series(facts: &Facts, data_points: Vec<Point>) -> Metric {
    let (name, unit) = identity(facts);
    let data = match facts.kind.is_cumulative() {
        true => Data::Sum(Sum {
            data_points,
            aggregation_temporality: Temporality::Cumulative.into(),
            is_monotonic: true,
        }),
        false => Data::Gauge(Gauge { data_points }),
    };
    let description = facts.help.to_owned();
    Metric { name: name.to_owned(), description, unit: unit.to_owned(), data: Some(data) }
}

/// The name and the unit (by UCUM) of a metric in OTLP. Prometheus adds `_total` to monotonic sums, `_ratio` to gauges of unit 1, the
/// words of a unit that the name has not, and those of a rate in any case; what stands in braces it leaves out. So names are
/// without what would come twice, and units that it has other words for are in braces.
fn identity(facts: &Facts) -> (&'static str, &'static str) {
    let without = |end: &str| facts.name.strip_suffix(end).unwrap_or(facts.name);
    match facts.unit {
        Unit::BytesPerSecond => (without("_bytes_per_second"), "By/s"),
        Unit::BitsPerSecond => (without("_per_second"), "{bit}/s"),
        Unit::Packets => (without("_total"), "{packet}"),
        Unit::Frames => (without("_total"), "{frame}"),
        Unit::Bytes => (without("_total"), "By"),
        Unit::Seconds => (without("_total"), "s"),
        Unit::Celsius => (without("_total"), "Cel"),
        Unit::Dbm => (facts.name, "{dBm}"),
        Unit::Count => (without("_total"), "1"),
        Unit::Ratio if facts.name.ends_with("_ratio") => (facts.name, "1"),
        // What is one or nothing is no ratio by name.
        Unit::Ratio => (facts.name, ""),
    }
}

#[cfg(test)]
mod tests;
