//! Counters of a run in a real Prometheus, and back. Needs Debian's `prometheus`, which `./test` installs.

use super::{code, example, json, output, stderr, stdout};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A Prometheus on loopback that takes remote writes, and ends with this value.
pub(super) struct Prometheus {
    process: Child,
    port: u16,
}

impl Prometheus {
    /// Starts one; `None`, said on standard error, where there is none.
    pub(super) fn start(folder: &Path) -> Option<Self> {
        let program = std::env::var("XOFF_PROMETHEUS").unwrap_or_else(|_| "prometheus".into());
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        let config = folder.join("prometheus.yml");
        std::fs::write(&config, "global:\n  scrape_interval: 15s\n").ok()?;
        let process = Command::new(&program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--web.enable-remote-write-receiver")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = process else {
            eprintln!("SKIPPED: `{program}` is not installed");
            return None;
        };
        let started = Self { process, port };
        for _ in 0..200 {
            if started.get("/-/ready").is_some_and(|answer| answer.contains(" 200 ")) {
                return Some(started);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("Prometheus was not ready after ten seconds");
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// The values of an expression over the last hours, series by series.
    #[allow(clippy::disallowed_methods, reason = "a store is ordered by wall time")]
    fn range(&self, expression: &str) -> serde_json::Value {
        let end = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let end = end.as_secs() + 60;
        let query: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!(
            "/api/v1/query_range?query={query}&start={}&end={end}&step=15",
            end - 4 * 3_600
        );
        let answer = self.get(&path).expect("an answer");
        let body = answer.split_once("\r\n\r\n").expect("a body").1;
        let answer: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        answer["data"]["result"].clone()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

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

/// The rules of a fabric, as Prometheus reads them: name and expression.
fn rules(folder: &Path, fabric: &str) -> Vec<(String, String)> {
    let plan = example(&format!("{fabric}.toml"));
    let out = output(folder, &["alerts", &plan]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let mut rules = Vec::new();
    let mut name = String::new();
    for line in stdout(&out).lines() {
        if let Some(text) = line.strip_prefix("  - alert: ") {
            name = text.to_owned();
        } else if let Some(text) = line.strip_prefix("    expr: ") {
            let expression: String = serde_json::from_str(text).expect("a quoted expression");
            rules.push((std::mem::take(&mut name), expression));
        }
    }
    assert!(rules.len() >= 15, "{}", stdout(&out));
    rules
}

/// What is broken fires its alert, and a sound run none.
#[test]
fn alerts_fire_for_what_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let Some(prometheus) = Prometheus::start(folder.path()) else { return };
    for (name, period, fabric, expected) in [
        ("storm.toml", "50us", "three-leaves-100g", "XoffPauseStorm"),
        ("dead-spine.toml", "50us", "leaf-spine-64", "XoffSwitchDown"),
        ("dirty-optic.toml", "500us", "lossy-link", "XoffDamagedPackets"),
        ("all-reduce.toml", "100us", "pod-256", ""),
    ] {
        let write = prometheus.url("/api/v1/write");
        let scenario = example(name);
        let arguments = ["run", &scenario, "--counters", period, "--remote-write", &write];
        let run =
            output(folder.path(), &[&arguments[..], &["--no-report", "--out", name]].concat());
        assert!(stderr(&run).contains(&format!("fabric `{fabric}`")), "{}", stderr(&run));
        let fires = |(alert, expression): (String, String)| {
            let series = prometheus.range(&expression);
            (!series.as_array().unwrap().is_empty()).then_some(alert)
        };
        let fired: Vec<String> =
            rules(folder.path(), fabric).into_iter().filter_map(fires).collect();
        println!("{name}: {fired:?}");
        match expected {
            "" => assert!(fired.is_empty(), "{name}: {fired:?}"),
            _ => assert!(fired.iter().any(|alert| alert == expected), "{name}: {fired:?}"),
        }
    }
}

#[test]
fn rules_are_what_promtool_takes() {
    let folder = tempfile::tempdir().unwrap();
    let plan = example("pod-256.toml");
    let out = output(folder.path(), &["alerts", &plan, "--out", "a", "--runbooks", "https://w/x"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let pages = std::fs::read_dir(folder.path().join("a/runbooks")).unwrap().count();
    let text = std::fs::read_to_string(folder.path().join("a/rules.yml")).unwrap();
    assert_eq!(text.matches("- alert: ").count(), pages);
    assert!(text.contains("https://w/x/XoffPauseStorm.md"));
    // The same again changes nothing; other rules are not overwritten.
    let again =
        output(folder.path(), &["alerts", &plan, "--out", "a", "--runbooks", "https://w/x"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    let other = output(folder.path(), &["alerts", &plan, "--out", "a"]);
    assert_eq!(code(&other), Some(3), "{}", stderr(&other));
    let beside = |path: String| Path::new(&path).with_file_name("promtool").display().to_string();
    let promtool = std::env::var("XOFF_PROMETHEUS").map_or("promtool".to_owned(), beside);
    let checked = Command::new(&promtool)
        .args(["check", "rules", "--lint=all", "--lint-fatal"])
        .arg(folder.path().join("a/rules.yml"))
        .output();
    match checked {
        Ok(checked) => assert!(checked.status.success(), "{checked:?}"),
        Err(_) => eprintln!("SKIPPED: `{promtool}` is not installed"),
    }
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
