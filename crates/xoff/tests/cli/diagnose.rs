//! `xoff diagnose`: from a run's counters to the cause.

use super::{code, example, json, output, run_with_counters, stderr, stdout};

#[test]
fn what_is_broken_is_found_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (name, period, cause, place) in [
        ("storm.toml", "20us", "pause-storm", "b0"),
        ("dead-spine.toml", "50us", "switch-down", "spine0"),
        ("flapping-link.toml", "50us", "link-flaps", "leaf0→spine0"),
        ("dirty-optic.toml", "200us", "bad-optic", "sender→switch"),
    ] {
        run_with_counters(folder.path(), name, period);
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
    run_with_counters(folder.path(), "all-reduce.toml", "50us");
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
    run_with_counters(folder.path(), "incast.toml", "20us");
    for (arguments, message) in [
        (vec!["diagnose", "plain"], "has no counters; make the run with"),
        (vec!["diagnose", "nowhere"], "has no counters"),
        (vec!["diagnose", "incast.toml", "--window", "soon"], "write it like 1ms..2ms"),
        (vec!["diagnose", "incast.toml", "--window", "2ms..1ms"], "ends before it begins"),
        (vec!["diagnose", "incast.toml", "--window", "5s.."], "no reading of the counters"),
        (vec!["diagnose", "incast.toml", "--usual", "0us.."], "no counters are left"),
        (vec!["diagnose", "incast.toml", "--fabric", "none.toml"], "none.toml"),
        (vec!["diagnose", "incast.toml", "--steps", "a.csv"], "are for metric stores"),
        (vec!["diagnose", "incast.toml", "--nccl-tests", "a.log"], "are for metric stores"),
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
    run_with_counters(folder.path(), "deadlock.toml", "50us");
    let answer = json(&output(folder.path(), &["diagnose", "deadlock.toml", "--json"]));
    assert_eq!(answer["findings"][0]["cause"], "deadlock", "{answer}");
    // All NICs of a server are one place.
    run_with_counters(folder.path(), "pcie-gen4.toml", "50us");
    let answer = json(&output(folder.path(), &["diagnose", "pcie-gen4.toml", "--json"]));
    assert_eq!(answer["findings"][0]["place"], "server3", "{answer}");
    assert_eq!(answer["findings"].as_array().unwrap().len(), 1, "{answer}");
    // The scenario turns congestion control off: that is no fault of the NICs.
    run_with_counters(folder.path(), "tenants-one-class.toml", "50us");
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

/// An AllReduce of four servers with a GPU each, whose 16 MiB took so many microseconds.
fn nccl_tests(time: f64) -> String {
    let mut text = "# nThread 1 nGpus 1\n".to_owned();
    for rank in 0..4 {
        text += &format!("#  Rank  {rank} Group  0 Pid 1 on gpu-{rank} device 0 [0x0a] GPU\n");
    }
    text += "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
    for (size, time) in [(1 << 20, time / 10.0), (16 << 20, time)] {
        let bandwidth = f64::from(size) / time / 1e3;
        let figures = format!("{time} {bandwidth:.2} {:.2} 0", bandwidth * 1.5);
        text += &format!("{size} {} float sum -1 {figures} {figures}\n", size / 4);
    }
    text
}

/// What nccl-tests measured before and after says what the flaps cost.
fn measurements_are_evidence(folder: &std::path::Path, diagnose: &[&str]) {
    let file = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    file("before.log", &nccl_tests(2_500.0));
    file("after.log", &nccl_tests(10_000.0));
    let files = ["--nccl-tests", "before.log", "--nccl-tests", "after.log"];
    let answer = json(&output(folder, &[diagnose, &files].concat()));
    let evidence = answer["findings"][0]["evidence"].to_string();
    let slower = "the collectives of `nccl-tests all-reduce, 4 GPUs` take 4.00 times as long";
    assert!(evidence.contains(slower), "{evidence}");
    assert!(evidence.contains("have 2.5 GB/s of bus bandwidth, "), "{evidence}");
    // Both were written just now, so that their order says which was before.
    let missing = answer["missing"].to_string();
    assert!(missing.contains("when `before.log` was measured; it counts as what is usual"));
    let alone = json(&output(folder, &[diagnose, &files[..2]].concat()));
    let measured = alone["measured"][0].as_str().unwrap();
    assert!(measured.contains("have 10.1 GB/s of bus bandwidth, "), "{measured}");
    assert!(!alone["findings"][0]["evidence"].to_string().contains("nccl-tests"), "{alone}");
    let one = nccl_tests(2_500.0);
    let torn = one.lines().take(6).collect::<Vec<_>>().join("\n")
        + "\n1048576 262144 float sum\n1 1 float sum -1 1 9 9 0 1 9 9 0\n";
    file("torn.log", &torn);
    let refused = output(folder, &[diagnose, &["--nccl-tests", "torn.log"]].concat());
    assert_eq!(code(&refused), Some(2));
    let said = stderr(&refused);
    assert!(said.contains("cannot use the measurements of `torn.log`: no measurements"), "{said}");
    assert!(said.contains("line 7"), "{said}");
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
    measurements_are_evidence(folder.path(), &with("names.toml"));
    let stop = std::net::TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    write!(&stop, "GET /stop HTTP/1.1\r\n\r\n").unwrap();
    server.join().unwrap();
}

/// Counters and configurations: each says what the other cannot.
#[test]
fn configurations_are_held_against_the_counters() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "plan.toml",
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-5'\n\
         hosts-per-leaf = 16\n",
    );
    write(
        "slow.toml",
        "fabric = 'plan.toml'\nduration = '1ms'\n[[workload]]\nkind = 'incast'\ntarget = 0\nsenders = 24\n\
         size = '4MB'\n[[fault]]\nkind = 'setting'\nswitch = 'leaf0'\nkmin = '1GB'\nkmax = '2GB'\n\
         [allow]\nunfinished = true\n",
    );
    let run = ["run", "slow.toml", "--counters", "50us", "--out", "slow", "--quiet", "--no-report"];
    output(folder.path(), &run);
    output(folder.path(), &["config", "plan.toml", "--out", "devices"]);
    let first = || {
        let out = output(folder.path(), &["diagnose", "slow", "--devices", "devices", "--json"]);
        assert_eq!(code(&out), Some(1), "{}", stderr(&out));
        let first = json(&out)["findings"][0].clone();
        assert_eq!(first["cause"], "ecn-off", "{first}");
        let evidence = first["evidence"].as_array().unwrap().last().unwrap().to_string();
        (first["confidence"].as_str().unwrap().to_owned(), evidence)
    };
    let (confidence, evidence) = first();
    assert_eq!(confidence, "likely");
    assert!(evidence.contains("the configuration of leaf0 says otherwise"), "{evidence}");
    // The queues of leaf0 lose their marking.
    let path = folder.path().join("devices/leaf0.json");
    let mut leaf: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for queue in leaf["QUEUE"].as_object_mut().unwrap().values_mut() {
        queue.as_object_mut().unwrap().remove("wred_profile");
    }
    std::fs::write(&path, serde_json::to_string_pretty(&leaf).unwrap()).unwrap();
    let (confidence, evidence) = first();
    assert_eq!(confidence, "certain");
    assert!(evidence.contains("does not mark (devices/leaf0.json:"), "{evidence}");
    let out = output(folder.path(), &["diagnose", "slow", "--devices", "nowhere"]);
    assert_eq!(code(&out), Some(2));
    assert!(stderr(&out).contains("cannot read `nowhere`"), "{}", stderr(&out));
}

#[test]
fn a_fabric_that_is_too_narrow_is_named_by_its_tier() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "f.toml",
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-5'\n\
         hosts-per-leaf = 16\noversubscription = '4:1'\n[switch.balancing]\nkind = 'dlb'\nper = 'packet'\n\
         [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n",
    );
    write(
        "narrow.toml",
        "fabric = 'f.toml'\nduration = '1ms'\n[[workload]]\nkind = 'permutation'\nsize = '100MB'\n\
         [allow]\nunfinished = true\n",
    );
    let run = ["run", "narrow.toml", "--counters", "50us", "--out", "n", "--quiet", "--no-report"];
    let ran = output(folder.path(), &run);
    let out = output(folder.path(), &["diagnose", "n", "--window", "500us..", "--json"]);
    assert_eq!(code(&out), Some(1), "{}{}", stderr(&ran), stderr(&out));
    let first = &json(&out)["findings"][0];
    assert_eq!(first["cause"], "oversubscribed", "{first}");
    assert_eq!(first["place"], "all 4 leaves", "{first}");
}
