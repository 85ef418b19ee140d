//! `xoff diagnose`: from a run's counters to the cause.

use super::{code, example, json, output, stderr, stdout};
use std::path::Path;

/// Runs an example with counters.
fn run(folder: &Path, name: &str, period: &str) {
    let scenario = example(name);
    let out = output(
        folder,
        &["run", &scenario, "--counters", period, "--quiet", "--no-report", "--out", name],
    );
    assert!(folder.join(name).join("counters.parquet").exists(), "{}", stderr(&out));
}

#[test]
fn what_is_broken_is_found_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (name, period, cause, place) in [
        ("storm.toml", "20us", "pause-storm", "b0"),
        ("dead-spine.toml", "50us", "switch-down", "spine0"),
        ("flapping-link.toml", "50us", "link-flaps", "leaf0→spine0"),
        ("dirty-optic.toml", "200us", "bad-optic", "sender→switch"),
    ] {
        run(folder.path(), name, period);
        let out = output(folder.path(), &["diagnose", name, "--json"]);
        assert_eq!(code(&out), Some(1), "{name}: {}", stderr(&out));
        let answer = json(&out);
        let first = &answer["findings"][0];
        assert_eq!((first["cause"].as_str(), first["place"].as_str()), (Some(cause), Some(place)));
        assert!(!first["evidence"].as_array().unwrap().is_empty());
        let text = output(folder.path(), &["diagnose", name]);
        assert!(stdout(&text).starts_with(&format!("1. {place}: ")), "{}", stdout(&text));
        assert!(!stdout(&text).contains('\u{1b}'), "colour in a pipe");
    }
}

#[test]
fn a_sound_run_has_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "all-reduce.toml", "50us");
    let out = output(folder.path(), &["diagnose", "all-reduce.toml"]);
    assert_eq!(code(&out), Some(0), "{}", stdout(&out));
    assert!(stdout(&out).starts_with("Nothing wrong"), "{}", stdout(&out));
    assert!(stdout(&out).contains("Ruled out: "), "{}", stdout(&out));
    assert!(stdout(&out).contains("Not known: it is not known what is usual"), "{}", stdout(&out));
    // The same run is its own usual one.
    let usual =
        output(folder.path(), &["diagnose", "all-reduce.toml", "--usual", "all-reduce.toml"]);
    assert_eq!(code(&usual), Some(0));
    assert!(!stdout(&usual).contains("what is usual"), "{}", stdout(&usual));
}

#[test]
fn mistakes_say_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = example("incast.toml");
    let plain = ["run", &scenario, "--quiet", "--no-report", "--out", "plain"];
    output(folder.path(), &plain);
    run(folder.path(), "incast.toml", "20us");
    for (arguments, message) in [
        (vec!["diagnose", "plain"], "has no counters; make the run with"),
        (vec!["diagnose", "nowhere"], "has no counters"),
        (vec!["diagnose", "incast.toml", "--window", "soon"], "write it like 1ms..2ms"),
        (vec!["diagnose", "incast.toml", "--window", "2ms..1ms"], "ends before it begins"),
        (vec!["diagnose", "incast.toml", "--window", "5s.."], "no reading of the counters"),
        (vec!["diagnose", "incast.toml", "--usual", "0us.."], "no counters are left"),
        (vec!["diagnose", "incast.toml", "--fabric", "none.toml"], "none.toml"),
        (vec!["diagnose", "incast.toml", "--steps", "a.csv"], "are for metric stores"),
    ] {
        let out = output(folder.path(), &arguments);
        assert_eq!(code(&out), Some(2), "{arguments:?}: {}", stdout(&out));
        assert!(stderr(&out).contains(message), "{arguments:?}: {}", stderr(&out));
    }
}

#[test]
fn the_planned_fabric_is_that_of_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    // The run ends with the deadlock, before a second period is over: counters stand still from then on.
    run(folder.path(), "deadlock.toml", "50us");
    let answer = json(&output(folder.path(), &["diagnose", "deadlock.toml", "--json"]));
    assert_eq!(answer["findings"][0]["cause"], "deadlock", "{answer}");
    // All NICs of a server are one place.
    run(folder.path(), "pcie-gen4.toml", "50us");
    let answer = json(&output(folder.path(), &["diagnose", "pcie-gen4.toml", "--json"]));
    assert_eq!(answer["findings"][0]["place"], "server3", "{answer}");
    assert_eq!(answer["findings"].as_array().unwrap().len(), 1, "{answer}");
    // The scenario turns congestion control off: that is no fault of the NICs.
    run(folder.path(), "tenants-one-class.toml", "50us");
    let answer = json(&output(folder.path(), &["diagnose", "tenants-one-class.toml", "--json"]));
    let findings = answer["findings"].as_array().unwrap();
    assert!(findings.iter().all(|found| found["cause"] != "congestion-control-off"), "{answer}");
}

#[test]
fn a_run_that_is_too_short_rules_nothing_out() {
    let folder = tempfile::tempdir().unwrap();
    let scenario =
        "fabric = 'f.toml'\nduration = '10us'\n[[workload]]\nkind = 'permutation'\nsize = '1MB'\n";
    let fabric = "[cluster]\nhosts = 4\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
    std::fs::write(folder.path().join("s.toml"), scenario).unwrap();
    std::fs::write(folder.path().join("f.toml"), fabric).unwrap();
    let run = ["run", "s.toml", "--counters", "50us", "--quiet", "--no-report", "--out", "short"];
    output(folder.path(), &run);
    let out = output(folder.path(), &["diagnose", "short"]);
    assert_eq!(code(&out), Some(2), "{}", stdout(&out));
    assert!(
        stderr(&out).contains("before its counters were read a second time"),
        "{}",
        stderr(&out)
    );
}

/// A store that has what node_exporter gives of one NIC whose link went down twice.
fn store() -> (String, std::thread::JoinHandle<()>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let serve = move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = vec![0; 65_536];
            let length = stream.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            if text.starts_with("GET /stop") {
                return;
            }
            let start = text.split("start=").nth(1).and_then(|rest| rest.split(['&', ' ']).next());
            let start: f64 = start.and_then(|start| start.parse().ok()).unwrap_or(0.0);
            let series = |name: &str, value: fn(f64) -> f64| {
                let values = (0..=60).map(|step| {
                    let at = start + 60.0 * f64::from(step);
                    format!("[{at},\"{}\"]", value(f64::from(step)))
                });
                let values: Vec<String> = values.collect();
                format!(
                    "{{\"metric\":{{\"__name__\":\"{name}\",\"instance\":\"gpu-02:9100\",\"device\":\"mlx5_0\"}},\"values\":[{}]}}",
                    values.join(",")
                )
            };
            let result = match text {
                _ if text.contains("node_infiniband_link_downed_total") => {
                    series("node_infiniband_link_downed_total", |step| {
                        (step - 48.0).clamp(0.0, 2.0)
                    })
                }
                _ if text.contains("node_ethtool_transmitted_prio%5B0-7%5D_bytes") => {
                    series("node_ethtool_transmitted_prio3_bytes", |step| step * 1e9)
                }
                _ => String::new(),
            };
            let body = format!("{{\"status\":\"success\",\"data\":{{\"result\":[{result}]}}}}");
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length";
            let _ = write!(stream, "{head}: {}\r\n\r\n{body}", body.len());
        }
    };
    (address, std::thread::spawn(serve))
}

/// A step of one second every half minute, and of two seconds for the last quarter of an hour.
#[allow(clippy::disallowed_methods, reason = "a store is ordered by wall time")]
fn step_times() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let lines = (0..120).map(|step| {
        let ago = 3_600 - 30 * step;
        let took = if ago <= 900 { 2 } else { 1 };
        format!("{},{took}\n", now.as_secs() - ago)
    });
    format!("time,seconds\n{}", lines.collect::<String>())
}

#[test]
fn series_of_other_exporters_are_read_by_their_names() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let fabric = "[cluster]\nhosts = 4\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n";
    std::fs::write(folder.path().join("f.toml"), fabric).unwrap();
    let names = "sources = ['node-exporter']\n[devices]\n'gpu-*/mlx5_*' = 'server{1-1}-nic{2}'\n";
    std::fs::write(folder.path().join("names.toml"), names).unwrap();
    std::fs::write(folder.path().join("wrong.toml"), "sources = ['node']\n").unwrap();
    let (address, server) = store();
    let plain = ["diagnose", &address, "--fabric", "f.toml", "--json"];
    let with = |names: &'static str| [&plain[..], &["--names", names]].concat();
    let none = output(folder.path(), &plain);
    assert_eq!(code(&none), Some(2), "{}", stdout(&none));
    assert!(stderr(&none).contains("need --names"), "{}", stderr(&none));
    let wrong = output(folder.path(), &with("wrong.toml"));
    assert_eq!(code(&wrong), Some(2));
    assert!(stderr(&wrong).contains("there is no exporter `node`"), "{}", stderr(&wrong));
    let found = output(folder.path(), &with("names.toml"));
    assert_eq!(code(&found), Some(1), "{}", stderr(&found));
    let answer = json(&found);
    let first = &answer["findings"][0];
    assert_eq!(
        (&first["cause"], first["place"].as_str()),
        (&"link-flaps".into(), Some("leaf0→server1-nic0"))
    );
    // Step times that the job logged say what the flaps cost.
    std::fs::write(folder.path().join("train.csv"), step_times()).unwrap();
    let logged =
        output(folder.path(), &[&with("names.toml")[..], &["--steps", "train.csv"]].concat());
    let evidence = json(&logged)["findings"][0]["evidence"].to_string();
    // A step more or less belongs to either part, depending on the second.
    let twice = ["1.9", "2.0"]
        .iter()
        .any(|ratio| evidence.contains(&format!("the steps of `train` take {ratio}")));
    assert!(twice, "{evidence}");
    std::fs::write(folder.path().join("odd.csv"), "time,seconds\nnoon,1\n").unwrap();
    let odd = output(folder.path(), &[&with("names.toml")[..], &["--steps", "odd.csv"]].concat());
    assert_eq!(code(&odd), Some(2));
    assert!(stderr(&odd).contains("line 2: `noon` is no time"), "{}", stderr(&odd));
    let stop = std::net::TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    write!(&stop, "GET /stop HTTP/1.1\r\n\r\n").unwrap();
    server.join().unwrap();
}
