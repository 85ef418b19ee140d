//! Counters of a run in a real Prometheus, and back. Needs Debian's `prometheus`, which `./test` installs.

use super::store::Prometheus;
use super::{code, example, json, output, stderr, stdout};
use std::io::{Read, Write};
use std::net::TcpListener;

#[test]
fn a_run_in_prometheus_is_diagnosed_as_the_run_is() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::start(folder.path()) else { return };
    for (name, period, fabric, cause, place) in [
        ("storm.toml", "20us", "three-leaves-100g", "pause-storm", "b0"),
        ("dead-spine.toml", "50us", "leaf-spine-64", "switch-down", "spine0"),
    ] {
        let write = prometheus.url("/api/v1/write");
        let scenario = example(name);
        let arguments = ["run", &scenario, "--counters", period, "--remote-write", &write];
        let rest = ["--no-report", "--out", name];
        let run = output(folder.path(), &[&arguments[..], &rest[..]].concat());
        assert!(stderr(&run).contains("samples of"), "{}", stderr(&run));
        let plan = example(&format!("{fabric}.toml"));
        let base = prometheus.url("");
        let found = output(
            folder.path(),
            &[
                "diagnose",
                &base,
                "--fabric",
                &plan,
                "--fabric-name",
                fabric,
                "--last",
                "20min",
                "--before",
                "0s",
                "--step",
                "15s",
                "--json",
            ],
        );
        assert_eq!(code(&found), Some(1), "{name}: {}", stderr(&found));
        let answer = json(&found);
        let first = &answer["findings"][0];
        assert_eq!((first["cause"].as_str(), first["place"].as_str()), (Some(cause), Some(place)));
    }
    // A name that no series has is not a sound fabric.
    let plan = example("leaf-spine-64.toml");
    let base = prometheus.url("");
    let none =
        output(folder.path(), &["diagnose", &base, "--fabric", &plan, "--fabric-name", "other"]);
    assert_eq!(code(&none), Some(2));
    assert!(stderr(&none).contains("has no series of docs/metrics.md"), "{}", stderr(&none));
}

#[test]
fn a_store_that_does_not_answer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plan = example("leaf-spine-64.toml");
    // Nothing listens on a port that was free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let out = output(folder.path(), &["diagnose", &url, "--fabric", &plan]);
    assert_eq!(code(&out), Some(2));
    assert!(stderr(&out).contains("cannot reach"), "{}", stderr(&out));
    let out = output(folder.path(), &["diagnose", &url]);
    assert!(stderr(&out).contains("name its file with --fabric"), "{}", stderr(&out));
    for (arguments, message) in [
        (["--last", "10s", "--step", "1min"], "shorter than --step"),
        (["--last", "300h", "--step", "1s"], "make --step longer"),
        (["--last", "1min", "--usual", "0us.."], "say --last and --before"),
    ] {
        let all = [&["diagnose", &url, "--fabric", &plan][..], &arguments[..]].concat();
        let out = output(folder.path(), &all);
        assert_eq!(code(&out), Some(2), "{arguments:?}");
        assert!(stderr(&out).contains(message), "{arguments:?}: {}", stderr(&out));
        assert!(stdout(&out).is_empty());
    }
}

/// Answers that no Prometheus gives: each is refused with a reason, and none takes long.
#[test]
fn a_store_that_lies_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = example("leaf-spine-64.toml");
    for (body, message) in [
        ("hello".to_owned(), "does not answer as Prometheus does"),
        ("{\"status\":\"success\"}".to_owned(), "has no series"),
        ("{\"status\":\"error\",\"error\":\"no\"}".to_owned(), "refused"),
        (
            "{\"status\":\"success\",\"data\":{\"result\":[{\"metric\":{},\"values\":[[0,\"1\"]]}]}}"
                .to_owned(),
            "neither `device` nor `job_name`",
        ),
        ("[".repeat(100_000), "does not answer as Prometheus does"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let length = body.len();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        // It ends with the test: a thread that waits for one more connection holds nothing up.
        std::thread::spawn(move || {
            for stream in listener.incoming().take(200) {
                let Ok(mut stream) = stream else { return };
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let out = output(folder.path(), &["diagnose", &url, "--fabric", &plan]);
        assert_eq!(code(&out), Some(2), "{}", stdout(&out));
        assert!(stderr(&out).contains(message), "{}", stderr(&out));
    }
}
