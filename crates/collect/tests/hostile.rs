//! Stores that lie, send too much, or do not end: what is asked of them is bounded, and what is wrong is named.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use xoff_collect::names::Names;
use xoff_collect::prometheus::query::{Answer, Store};
use xoff_collect::store::{Limits, StoreError};
use xoff_telemetry::recording::{Steps, Timestamp};
use xoff_units::Span;

const LIMITS: Limits =
    Limits { patience: Duration::from_millis(1_500), answer: 1 << 20, series: 100 };
const STEPS: Steps = Steps { start: Timestamp(0), step: Span::from_ms(60_000), count: 4 };

/// Answers every request by `answer`, until `Store` has enough.
fn ask(answer: impl Fn(&mut TcpStream) + Send + 'static) -> Result<Answer, StoreError> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request);
            answer(&mut stream);
        }
    });
    let mut left = 3;
    let mut go_on = |_: usize, _: usize| {
        left -= 1;
        left >= 0
    };
    Store::with_limits(&address, LIMITS).record(&Names::own(), None, STEPS, &mut go_on)
}

fn ok(stream: &mut TcpStream, body: &str) {
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length";
    let _ = write!(stream, "{head}: {}\r\n\r\n{body}", body.len());
}

fn matrix(series: &str) -> String {
    format!(
        "{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{series}]}}}}"
    )
}

#[test]
fn values_that_are_none_are_counted_and_left_out() {
    let series = "{\"metric\":{\"device\":\"a\",\"port\":\"p\"},\"values\":[[0,\"1\"],[60,\"NaN\"],[60,\"+Inf\"],[30,\"2\"],\
                  [20,\"3\"],[90,\"lots\"],[1e300,\"4\"],[-1e300,\"4\"]]}";
    let answer = ask(|stream| ok(stream, &matrix(series))).expect("an answer");
    let refused = answer.recorder.refused();
    assert!(refused >= 4, "{refused}");
    for (_, values) in answer.recorder.finish().series() {
        assert!(values.iter().all(|value| value.is_nan() || value.is_finite()));
    }
}

#[test]
fn labels_may_be_anything() {
    let long = "x".repeat(200_000);
    let odd = format!(
        "{{\"metric\":{{\"device\":\"{long}\",\"port\":\"\\u0000\\n\\\"\"}},\"values\":[[0,\"1\"],[60,\"2\"]]}},\
         {{\"metric\":{{}},\"values\":[]}},{{\"metric\":{{\"device\":\"a\",\"priority\":\"99\"}},\"values\":[]}}"
    );
    let answer = ask(move |stream| ok(stream, &matrix(&odd))).expect("an answer");
    assert!(answer.placeless > 0 && !answer.recorder.finish().is_empty());
}

#[test]
fn too_many_series_are_refused() {
    let one = |at: usize| {
        format!("{{\"metric\":{{\"device\":\"d{at}\"}},\"values\":[[0,\"1\"],[60,\"2\"]]}}")
    };
    let many: Vec<String> = (0..500).map(one).collect();
    let error = ask(move |stream| ok(stream, &matrix(&many.join(",")))).expect_err("too many");
    assert!(matches!(error, StoreError::TooMany { most: 100, .. }), "{error}");
    assert!(error.to_string().contains("--fabric-name"), "{error}");
}

#[test]
fn answers_without_end_end() {
    let endless = |stream: &mut TcpStream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{{\"status\":\"");
        while stream.write_all(&[b'a'; 8_192]).is_ok() {}
    };
    let error = ask(endless).expect_err("too long");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    let slow = |stream: &mut TcpStream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(100));
            if stream.write_all(b" ").is_err() {
                return;
            }
        }
    };
    let error = ask(slow).expect_err("too slow");
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}

#[test]
fn what_is_not_prometheus_is_named() {
    for (body, odd) in [
        ("<html>login</html>", true),
        (
            "{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{},\"values\":[[\"a\",1]]}]}}",
            true,
        ),
        ("", true),
        ("{\"status\":\"error\",\"error\":\"\\u001b[31mno\"}", false),
    ] {
        let error = ask(move |stream| ok(stream, body)).expect_err("no Prometheus");
        assert_eq!(matches!(error, StoreError::Odd { .. }), odd, "{body}: {error}");
        assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
    }
    let cut = |stream: &mut TcpStream| {
        let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{{\"status\"");
    };
    assert!(ask(cut).is_err());
    let refused = |stream: &mut TcpStream| {
        let _ = write!(
            stream,
            "HTTP/1.1 503 Down\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndown"
        );
    };
    let error = ask(refused).expect_err("refused");
    assert!(matches!(error, StoreError::Refused { status: 503, .. }), "{error}");
}
