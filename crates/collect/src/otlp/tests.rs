use super::*;
use crate::samples::tests::{readings, with_labeller};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use xoff_telemetry::metric::METRICS;
use xoff_telemetry::recording::{Place, Reading, Timestamp};

/// What Prometheus 3 makes of a name, a unit and a kind by default (`UnderscoreEscapingWithSuffixes`), for the units that are used
/// here.
fn translated(name: &str, unit: &str, sum: bool) -> String {
    let mut words: Vec<String> = name.split('_').map(str::to_owned).collect();
    let (main, per) = unit.split_once('/').unwrap_or((unit, ""));
    let main = match main {
        "By" => "bytes",
        "s" => "seconds",
        "Cel" => "celsius",
        "1" | "" => "",
        braces if braces.starts_with('{') => "",
        other => other,
    };
    let per = match per {
        "s" => "per_second",
        other => other,
    };
    for word in [main, per] {
        if !word.is_empty() && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    for (added, when) in [("total", sum), ("ratio", unit == "1" && !sum)] {
        if when {
            words.retain(|word| word != added);
            words.push(added.to_owned());
        }
    }
    words.join("_")
}

#[test]
fn prometheus_gives_the_names_of_the_schema_back() {
    for facts in METRICS {
        let (name, unit) = identity(facts);
        assert_eq!(translated(name, unit, facts.kind.is_cumulative()), facts.name, "{unit}");
    }
}

/// The headers and the body of a request.
type Got = (BTreeMap<String, String>, Vec<u8>);

/// A receiver on loopback that answers each request as it is told, and gives what it got.
fn receiver(answers: Vec<(u16, Vec<u8>)>) -> (String, JoinHandle<Vec<Got>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1/metrics", listener.local_addr().expect("an address"));
    let serve = move || {
        let mut got = Vec::new();
        for (status, answer) in answers {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let mut headers = BTreeMap::new();
            let mut line = String::new();
            reader.read_line(&mut line).expect("a request");
            headers.insert("request".to_owned(), line.trim().to_owned());
            loop {
                line.clear();
                reader.read_line(&mut line).expect("a header");
                let Some((name, value)) = line.trim().split_once(": ") else { break };
                headers.insert(name.to_ascii_lowercase(), value.to_owned());
            }
            let length = headers["content-length"].parse().expect("a length");
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            got.push((headers, body));
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                answer.len()
            );
            stream.write_all(head.as_bytes()).expect("an answer");
            stream.write_all(&answer).expect("an answer");
        }
        got
    };
    (url, std::thread::spawn(serve))
}

/// A counter of two ports and a gauge of a job.
fn three_series() -> Readings {
    let mut readings = readings(2, 3);
    let place = readings.places.number(Place::Job { job: "train".into() });
    let key = Key { place, metric: xoff_telemetry::Metric::StepTime, priority: None };
    readings.list.push(Reading { key, at: Timestamp::from_ms(1_500), value: 0.25 });
    readings.list.iter_mut().for_each(|reading| reading.at.0 += 1_700_000_000_000_000_000);
    readings
}

#[test]
fn a_receiver_gets_sums_and_gauges_with_their_labels() {
    with_labeller(|labeller| {
        let (url, server) = receiver(vec![(200, Vec::new())]);
        let written = send(&url, labeller, &three_series()).expect("written");
        assert_eq!(written, Written { series: 3, samples: 7 });
        let got = server.join().expect("a receiver");
        let (headers, body) = &got[0];
        assert_eq!(headers["request"], "POST /v1/metrics HTTP/1.1");
        assert_eq!(headers["content-type"], "application/x-protobuf");
        // For a look at it with another implementation.
        if let Some(path) = std::env::var_os("XOFF_WRITE_OTLP") {
            std::fs::write(path, body).expect("a file");
        }
        let request = Request::decode(&body[..]).expect("a request");
        let all = &request.resource_metrics[0];
        let service = KeyValue::new("service.name", "xoff");
        assert_eq!(all.resource.as_ref().expect("a resource").attributes, [service]);
        let metrics = &all.scope_metrics[0].metrics;
        let of = |metric: &Metric| (metric.name.clone(), metric.unit.clone());
        assert_eq!(
            metrics.iter().map(of).collect::<Vec<_>>(),
            [("xoff_transmit_bytes".into(), "By".into()), ("xoff_step_seconds".into(), "s".into())]
        );
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert_eq!(sum.aggregation_temporality(), Temporality::Cumulative);
        assert!(sum.is_monotonic);
        assert_eq!(sum.data_points.len(), 6);
        let point = &sum.data_points[1];
        let start = 1_700_000_000_000_000_000;
        assert_eq!(point.start_time_unix_nano, start - 1_000_000);
        assert_eq!(point.time_unix_nano, start + 1_000_000_000);
        assert_eq!(point.as_double, Some(1.0));
        assert_eq!(sum.data_points[0].as_double, Some(0.0), "a zero is a value");
        let names: Vec<&str> = point.attributes.iter().map(|label| label.key.as_str()).collect();
        assert_eq!(names, ["device", "fabric", "port", "priority"]);
        let Some(Data::Gauge(gauge)) = &metrics[1].data else { panic!("{metrics:?}") };
        assert_eq!(gauge.data_points[0].start_time_unix_nano, 0);
        let job = KeyValue::new("job_name", "train");
        assert!(gauge.data_points[0].attributes.contains(&job));
    });
}

#[test]
fn requests_are_bounded() {
    with_labeller(|labeller| {
        let (url, server) = receiver(vec![(200, Vec::new()); 3]);
        let written = send(&url, labeller, &readings(12_000, 1)).expect("written");
        assert_eq!(written.samples, 12_000);
        let more = send(&url, labeller, &readings(1, 1)).expect("written");
        assert_eq!(more.samples, 1);
        let got = server.join().expect("a receiver");
        assert!(got.iter().all(|(_, body)| body.len() < 4 << 20), "below what gRPC takes, too");
    });
}

#[test]
fn what_is_rejected_or_refused_is_an_error() {
    let partly = |points: i64, text: &str| {
        let error_message = text.to_owned();
        let part = message::PartialSuccess { rejected_data_points: points, error_message };
        Response { partial_success: Some(part) }.encode_to_vec()
    };
    // As `opentelemetry-proto` for Python writes it.
    assert_eq!(partly(4, "out of order"), b"\x0a\x10\x08\x04\x12\x0cout of order");
    with_labeller(|labeller| {
        let of = |status: u16, answer: Vec<u8>| {
            let (url, server) = receiver(vec![(status, answer)]);
            let sent = send(&url, labeller, &three_series());
            server.join().expect("a receiver");
            sent.map_err(|error| error.to_string())
        };
        let error = of(200, partly(4, "out of\norder")).expect_err("rejected");
        assert!(error.ends_with("rejected 4 of 7 samples of a request: out oforder"), "{error}");
        // A warning of something that was taken.
        assert!(of(200, partly(0, "deprecated")).is_ok());
        let error = of(503, b"later".to_vec()).expect_err("refused");
        assert!(error.ends_with("refused with status 503: later"), "{error}");
        let error = of(200, b"<html>".to_vec()).expect_err("odd");
        assert!(error.contains("does not answer as a receiver of OTLP does"), "{error}");
    });
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    with_labeller(|labeller| {
        let url = format!("http://127.0.0.1:{port}/v1/metrics");
        let error = send(&url, labeller, &three_series()).expect_err("nothing listens");
        assert!(error.to_string().contains("cannot reach"), "{error}");
    });
}
