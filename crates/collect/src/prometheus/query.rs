//! Recordings from a metric store.
//!
//! Every metric is asked for as it is, at the beginnings of all steps: what adds up is turned into increases here, so that
//! counters that start again are recognised, whatever the store.

use super::{StoreError, agent, short};
use crate::labels::{Labels, place};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Key, Reading, Recorder, Recording, Steps, Timestamp};

/// The largest answer that is read, in bytes.
const MOST: u64 = 512 << 20;

/// A metric store.
#[derive(Debug)]
pub struct Store {
    agent: ureq::Agent,
    base: String,
}

/// What a store gave.
#[derive(Debug)]
pub struct Answer {
    /// The recording.
    pub recording: Recording,
    /// What the store said about its own answers: parts of it did not answer, or more.
    pub warnings: Vec<String>,
    /// Series that name no place.
    pub placeless: u64,
    /// Values that are no numbers, or not in order.
    pub refused: u64,
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

/// A series over a range of time.
#[derive(Debug, Deserialize)]
struct Series {
    metric: Labels,
    values: Vec<(f64, String)>,
}

/// A series at an instant.
#[derive(Debug, Deserialize)]
struct Sample {
    value: (f64, String),
}

impl Store {
    /// The store at an address like `http://localhost:9090`.
    pub fn new(base: &str) -> Self {
        Self { agent: agent(), base: base.trim_end_matches('/').to_owned() }
    }

    /// All metrics of a fabric over these steps; of all fabrics without a name. `go_on` is asked between two metrics, with how many are
    /// done of how many; false ends it with what there is.
    pub fn record(
        &self,
        fabric: Option<&str>,
        steps: Steps,
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Answer, StoreError> {
        let mut recorder = Recorder::new(steps);
        let (mut warnings, mut placeless) = (Vec::new(), 0);
        let all: Vec<Metric> = Metric::all().collect();
        for (done, &metric) in all.iter().enumerate() {
            if !go_on(done, all.len()) {
                break;
            }
            let envelope = self.range(metric, fabric, steps)?;
            for warning in envelope.warnings {
                let warning = short(&warning);
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
            for series in envelope.data.map(|data| data.result).unwrap_or_default() {
                match place(&series.metric) {
                    Some((place, priority)) => {
                        let key = Key { place: recorder.place(place), metric, priority };
                        read(&mut recorder, key, &series.values);
                    }
                    None => placeless += 1,
                }
            }
        }
        let refused = recorder.refused();
        Ok(Answer { recording: recorder.finish(), warnings, placeless, refused })
    }

    /// When the newest sample of the bytes that ports sent was taken; a store repeats the last one of a series for minutes, so
    /// that a range of values does not tell. Nothing if there is none.
    pub fn newest(&self, fabric: Option<&str>) -> Result<Option<Timestamp>, StoreError> {
        let url = format!("{}/api/v1/query", self.base);
        let query = format!("max(timestamp({}))", selector(Metric::TxBytes, fabric));
        let answer: Envelope<Sample> =
            self.get(self.agent.get(&url).query("query", &query), &url)?;
        let samples = answer.data.map(|data| data.result).unwrap_or_default();
        let seconds = samples.first().and_then(|sample| sample.value.1.parse().ok());
        let seconds = seconds.filter(|seconds: &f64| seconds.is_finite());
        Ok(seconds.map(|seconds| Timestamp::from_ms((seconds * 1e3) as i64)))
    }

    fn range(
        &self,
        metric: Metric,
        fabric: Option<&str>,
        steps: Steps,
    ) -> Result<Envelope<Series>, StoreError> {
        let url = format!("{}/api/v1/query_range", self.base);
        let query = selector(metric, fabric);
        let seconds = |at: Timestamp| format!("{:.3}", at.ms() as f64 / 1e3);
        let request = self
            .agent
            .get(&url)
            .query("query", &query)
            .query("start", seconds(steps.begin(0)))
            .query("end", seconds(steps.begin(steps.count)))
            .query("step", format!("{:.3}", steps.seconds()));
        self.get(request, &url)
    }

    fn get<S: DeserializeOwned>(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithoutBody>,
        url: &str,
    ) -> Result<Envelope<S>, StoreError> {
        let url = url.to_owned();
        let unreachable = |error: ureq::Error| StoreError::Unreachable {
            url: url.clone(),
            reason: error.to_string(),
        };
        let mut response = request.call().map_err(unreachable)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(MOST).read_to_vec();
        let body = body.map_err(unreachable)?;
        let envelope: Envelope<S> =
            serde_json::from_slice(&body).map_err(|error| match status {
                200 => StoreError::Odd { url: url.clone(), reason: error.to_string() },
                _ => {
                    let text = short(&String::from_utf8_lossy(&body));
                    StoreError::Refused { url: url.clone(), status, text }
                }
            })?;
        if envelope.status != "success" {
            return Err(StoreError::Refused { url, status, text: short(&envelope.error) });
        }
        Ok(envelope)
    }
}

/// Takes the values of a series in.
fn read(recorder: &mut Recorder, key: Key, values: &[(f64, String)]) {
    for (seconds, text) in values {
        // What is no number becomes one that the recorder refuses and counts.
        let value = text.parse().unwrap_or(f64::NAN);
        let at = Timestamp((seconds * 1e3).round() as i64 * 1_000_000);
        recorder.read(Reading { key, at, value });
    }
}

/// All series of a metric, of one fabric or of all.
fn selector(metric: Metric, fabric: Option<&str>) -> String {
    match fabric {
        Some(fabric) => format!("{}{{fabric=\"{}\"}}", metric.name(), escaped(fabric)),
        None => metric.name().to_owned(),
    }
}

/// A value of a label within quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_prometheus_writes_them() {
        let text = r#"{"status":"success","warnings":["one store is down"],"data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"xoff_link_down_events_total","device":"leaf0","port":"p"},
             "values":[[1700000000,"3"],[1700000015.5,"NaN"]]}]}}"#;
        let envelope: Envelope<Series> = serde_json::from_str(text).expect("an answer");
        assert_eq!(envelope.warnings, ["one store is down"]);
        let data = envelope.data.expect("data");
        assert_eq!(data.result[0].values[0], (1_700_000_000.0, "3".to_owned()));
        assert!(place(&data.result[0].metric).is_some());
        let error =
            r#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution"}"#;
        let envelope: Envelope<Series> = serde_json::from_str(error).expect("an answer");
        assert_eq!((envelope.status.as_str(), envelope.data.is_none()), ("error", true));
    }

    #[test]
    fn an_instant_has_one_value_of_each_series() {
        let text = r#"{"status":"success","data":{"resultType":"vector","result":[
            {"metric":{},"value":[1700000020.1,"1700000015.5"]}]}}"#;
        let envelope: Envelope<Sample> = serde_json::from_str(text).expect("an answer");
        assert_eq!(envelope.data.expect("data").result[0].value.1, "1700000015.5");
        assert_eq!(
            selector(Metric::TxBytes, Some("pod")),
            "xoff_transmit_bytes_total{fabric=\"pod\"}"
        );
    }

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        assert_eq!(escaped("a\"} or up{x=\"\\"), "a\\\"} or up{x=\\\"\\\\");
    }
}
