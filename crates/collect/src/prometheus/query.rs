//! Recordings from a metric store.
//!
//! Every metric is asked for as it is, at the beginnings of all steps: what adds up is turned into increases here, so that
//! counters that start again are recognised, whatever the store.

use super::KIND;
use crate::labels::Labels;
use crate::names::{Entry, Names};
use crate::store::{Limits, StoreError, agent, short};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::mpsc::sync_channel;
use std::thread;
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Reading, Recorder, Steps, Timestamp};

/// Warnings that are kept.
const MOST_WARNINGS: usize = 20;

/// A metric store.
#[derive(Debug)]
pub struct Store {
    agent: ureq::Agent,
    base: String,
    limits: Limits,
}

/// What a store gave.
#[derive(Debug)]
pub struct Answer {
    /// What it said, to which more can be added.
    pub recorder: Recorder,
    /// What the store said about its own answers: parts of it did not answer, or more.
    pub warnings: Vec<String>,
    /// Series that name no place.
    pub placeless: u64,
    /// Series of a place and metric that had one already.
    pub twice: u64,
}

/// An answer of `/api/v1/query_range` or `/api/v1/query`, with series of `S`.
#[derive(Debug, Deserialize)]
struct Envelope<S> {
    status: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
    data: Option<Data<S>>,
}

#[derive(Debug, Deserialize)]
struct Data<S> {
    #[serde(default = "Vec::new")]
    result: Vec<S>,
}

/// A series over a range of time. Values borrow from the text of the answer: there are millions of them.
#[derive(Debug, Deserialize)]
struct Series<'a> {
    metric: Labels,
    #[serde(borrow)]
    values: Vec<(f64, &'a str)>,
}

/// A series at an instant.
#[derive(Debug, Deserialize)]
struct Sample {
    value: (f64, String),
}

impl Store {
    /// The store at an address like `http://localhost:9090`.
    pub fn new(base: &str) -> Self {
        Self::with_limits(base, Limits::default())
    }

    /// The same with other limits.
    pub fn with_limits(base: &str, limits: Limits) -> Self {
        Self { agent: agent(&limits), base: base.trim_end_matches('/').to_owned(), limits }
    }

    /// All metrics of a fabric over these steps, by these names; of all fabrics without the name of one. `go_on` is asked between
    /// two queries, with how many are done of how many; false ends it with what there is.
    pub fn record(
        &self,
        names: &Names,
        fabric: Option<&str>,
        steps: Steps,
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Answer, StoreError> {
        let all = names.entries();
        let mut taker = Taker::new(names, steps, self.limits.series);
        let (send, receive) = sync_channel(0);
        thread::scope(|scope| {
            // The next answer comes while this one is read.
            scope.spawn(move || {
                for entry in all {
                    let body = self.range(&names.query(entry, fabric), steps);
                    let failed = body.is_err();
                    if send.send(body).is_err() || failed {
                        return;
                    }
                }
            });
            // Gone when the reader is, so that nobody sends to it in vain.
            let receive = receive;
            for (done, entry) in all.iter().enumerate() {
                if !go_on(done, all.len()) {
                    break;
                }
                let Ok(body) = receive.recv() else { break };
                taker.take(entry, &body?)?;
            }
            Ok(taker.answer)
        })
    }

    /// When the newest sample of the bytes that ports sent was taken; a store repeats the last one of a series for minutes, so
    /// that a range of values does not tell. Nothing if there is none.
    pub fn newest(
        &self,
        names: &Names,
        fabric: Option<&str>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let url = format!("{}/api/v1/query", self.base);
        let entries = names.entries().iter().filter(|entry| entry.metric == Metric::TxBytes);
        let times: Vec<String> = entries
            .map(|entry| format!("max(timestamp({}))", names.query(entry, fabric)))
            .collect();
        let body = self.get(self.agent.get(&url).query("query", times.join(" or ")), url)?;
        let answer: Envelope<Sample> = body.read()?;
        let samples = answer.data.map(|data| data.result).unwrap_or_default();
        let seconds = samples.iter().filter_map(|sample| sample.value.1.parse().ok());
        let newest = seconds.filter(|seconds: &f64| seconds.is_finite()).reduce(f64::max);
        Ok(newest.map(moment))
    }

    fn range(&self, query: &str, steps: Steps) -> Result<Body, StoreError> {
        let url = format!("{}/api/v1/query_range", self.base);
        let seconds = |at: Timestamp| format!("{:.3}", at.ms() as f64 / 1e3);
        let request = self
            .agent
            .get(&url)
            .query("query", query)
            .query("start", seconds(steps.begin(0)))
            .query("end", seconds(steps.begin(steps.count)))
            .query("step", format!("{:.3}", steps.seconds()));
        self.get(request, url)
    }

    fn get(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithoutBody>,
        url: String,
    ) -> Result<Body, StoreError> {
        let unreachable = |error: ureq::Error| StoreError::Unreachable {
            url: url.clone(),
            reason: error.to_string(),
        };
        let mut response = request.call().map_err(unreachable)?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(self.limits.answer).read_to_vec();
        Ok(Body { text: text.map_err(unreachable)?, url, status })
    }
}

/// Takes in one answer after the other.
struct Taker<'a> {
    names: &'a Names,
    /// The most series.
    most: usize,
    seen: BTreeSet<Key>,
    answer: Answer,
}

impl<'a> Taker<'a> {
    fn new(names: &'a Names, steps: Steps, most: usize) -> Self {
        let recorder = Recorder::new(steps);
        let answer = Answer { recorder, warnings: Vec::new(), placeless: 0, twice: 0 };
        Self { names, most, seen: BTreeSet::new(), answer }
    }

    fn take(&mut self, entry: &Entry, body: &Body) -> Result<(), StoreError> {
        let envelope: Envelope<Series<'_>> = body.read()?;
        let answer = &mut self.answer;
        for warning in envelope.warnings {
            let warning = short(&warning);
            if !answer.warnings.contains(&warning) && answer.warnings.len() < MOST_WARNINGS {
                answer.warnings.push(warning);
            }
        }
        for series in envelope.data.map(|data| data.result).unwrap_or_default() {
            let Some((place, priority)) = self.names.place(entry, &series.metric) else {
                answer.placeless += 1;
                continue;
            };
            let key = Key { place: answer.recorder.place(place), metric: entry.metric, priority };
            // Two collectors of the same thing: the first is as good as the second, and both are not twice as much.
            if !self.seen.insert(key) {
                answer.twice += 1;
                continue;
            }
            if self.seen.len() > self.most {
                return Err(StoreError::TooMany { url: body.url.clone(), most: self.most });
            }
            read(&mut answer.recorder, key, entry, &series.values);
        }
        Ok(())
    }
}

/// What a store answered.
struct Body {
    url: String,
    status: u16,
    text: Vec<u8>,
}

impl Body {
    /// What it says, unless it says that it will not.
    fn read<'a, S: Deserialize<'a>>(&'a self) -> Result<Envelope<S>, StoreError> {
        let (url, status) = (self.url.clone(), self.status);
        let envelope: Envelope<S> = match (serde_json::from_slice(&self.text), status) {
            (Ok(envelope), _) => envelope,
            (Err(error), 200) => {
                return Err(StoreError::Odd { url, kind: KIND, reason: error.to_string() });
            }
            (Err(_), _) => {
                let text = short(&String::from_utf8_lossy(&self.text));
                return Err(StoreError::Refused { url, status, text });
            }
        };
        if envelope.status != "success" {
            return Err(StoreError::Refused { url, status, text: short(&envelope.error) });
        }
        Ok(envelope)
    }
}

/// Takes the values of a series in.
fn read(recorder: &mut Recorder, key: Key, entry: &Entry, values: &[(f64, &str)]) {
    for (seconds, text) in values {
        // What is no number becomes one that the recorder refuses and counts.
        let value: f64 = text.parse().unwrap_or(f64::NAN);
        // What has no value at a time is missing then, as if it had not been scraped.
        if entry.is_blank(value) {
            continue;
        }
        recorder.read(Reading { key, at: moment(*seconds), value: value * entry.scale });
    }
}

/// So many seconds since 1970, at most a century and more on either side: differences of two times are still numbers.
fn moment(seconds: f64) -> Timestamp {
    Timestamp::from_ms((seconds * 1e3).round().clamp(-4e12, 4e12) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_prometheus_writes_them() {
        let text = r#"{"status":"success","warnings":["one store is down"],"data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"xoff_link_down_events_total","device":"leaf0","port":"p"},
             "values":[[1700000000,"3"],[1700000015.5,"NaN"]]}]}}"#;
        let envelope: Envelope<Series<'_>> = serde_json::from_str(text).expect("an answer");
        assert_eq!(envelope.warnings, ["one store is down"]);
        let data = envelope.data.expect("data");
        assert_eq!(data.result[0].values[0], (1_700_000_000.0, "3"));
        assert!(crate::labels::place(&data.result[0].metric).is_some());
        let error =
            r#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution"}"#;
        let envelope: Envelope<Series<'_>> = serde_json::from_str(error).expect("an answer");
        assert_eq!((envelope.status.as_str(), envelope.data.is_none()), ("error", true));
    }

    #[test]
    fn a_blank_of_dcgm_is_a_missing_step() {
        let names = Names::read("sources = ['dcgm']", &mut |_| Ok(String::new())).expect("names");
        let of_percent = |entry: &&Entry| entry.metric == Metric::GpuBusyShare && entry.scale < 1.0;
        let entry = names.entries().iter().find(of_percent).expect("an entry");
        let step = xoff_units::Span::from_ms(60_000);
        let mut recorder = Recorder::new(Steps { start: Timestamp(0), step, count: 3 });
        let place = xoff_telemetry::recording::Place::Gpu { host: "server0".into(), gpu: 0 };
        let key = Key { place: recorder.place(place), metric: entry.metric, priority: None };
        let values = [(60.0, "97"), (120.0, "9223372036854775794"), (180.0, "95")];
        read(&mut recorder, key, entry, &values);
        assert_eq!(recorder.refused(), 0);
        let recording = recorder.finish();
        let (_, values) = recording.series().next().expect("a series");
        assert_eq!((values[0], values[1].is_nan(), values[2]), (0.97, true, 0.95));
    }

    #[test]
    fn an_instant_has_one_value_of_each_series() {
        let text = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{},"value":[1700000020.1,"1700000015.5"]}]}}"#;
        let envelope: Envelope<Sample> = serde_json::from_str(text).expect("an answer");
        assert_eq!(envelope.data.expect("data").result[0].value.1, "1700000015.5");
    }
}
