//! `xoff exporter gnmi` against a gNMI server on loopback.

#[path = "../../../exporter/tests/gnmi/server.rs"]
#[allow(dead_code, reason = "the exporter's own tests need more of it")]
mod server;

use super::exporter::{Serving, promtool};
use super::{code, example, output, stderr, stdout};
use server::{Device, Script, sample};
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;
use xoff_exporter::gnmi::proto::{Notification, typed_value::Value};

fn json(target: &str, path: &str, value: &str) -> Notification {
    sample(target, path, Value::JsonIetf(value.into()))
}

/// A SONiC switch with so many ports.
fn sonic(ports: u32) -> Script {
    let (mut names, mut counters, mut queues) = (String::new(), String::new(), String::new());
    for port in 0..ports {
        let comma = if port == 0 { "" } else { "," };
        let (name, alias) = (port * 8, port + 1);
        let _ = write!(
            names,
            r#"{comma}"Ethernet{name}":{{"alias":"etp{alias}","oper_status":"up","speed":"400000"}}"#
        );
        let mut fields = r#""SAI_PORT_STAT_IF_IN_OCTETS":"123""#.to_owned();
        for p in 0..8 {
            let _ = write!(fields, r#","SAI_PORT_STAT_PFC_{p}_RX_PKTS":"{}""#, port * 10 + p);
            let _ = write!(fields, r#","SAI_PORT_STAT_PFC_{p}_TX_PKTS":"2""#);
            let comma = if port + p == 0 { "" } else { "," };
            let of_queue = r#""SAI_QUEUE_STAT_BYTES":"1000","SAI_QUEUE_STAT_PACKETS":"10","SAI_QUEUE_STAT_DROPPED_PACKETS":"1""#;
            let _ = write!(queues, r#"{comma}"etp{alias}:{p}":{{{of_queue}}}"#);
        }
        let _ = write!(counters, r#"{comma}"etp{alias}":{{{fields}}}"#);
    }
    Script {
        models: vec![("sonic-db", "SONiC")],
        login: Some(("admin", "pass word")),
        get: vec![json("APPL_DB", "PORT_TABLE", &format!("{{{names}}}"))],
        samples: vec![
            json("COUNTERS_DB", "COUNTERS/Ethernet*", &format!("{{{counters}}}")),
            json("COUNTERS_DB", "COUNTERS/Ethernet*/Queues", &format!("{{{queues}}}")),
        ],
        syncs: true,
        ..Script::default()
    }
}

#[test]
fn a_switch_is_exported_by_gnmi() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("password"), "pass word\n").unwrap();
    fs::write(folder.path().join("wrong"), "guess\n").unwrap();
    let device = Device::start(sonic(4));
    let address = device.address.to_string();
    let run = |password: &str, more: &[&str]| {
        let start = ["exporter", "gnmi", &address, "--insecure", "--once", "--username", "admin"];
        output(folder.path(), &[&start[..], &["--password-file", password], more].concat())
    };
    let out = run("password", &["--device", "leaf0"]);
    assert_eq!(code(&out), Some(0), "{}", stderr(&out));
    let page = stdout(&out);
    for port in 0..4 {
        let labels = format!("device=\"leaf0\",fabric=\"fabric\",port=\"Ethernet{}\"", port * 8);
        assert!(page.contains(&format!("xoff_port_up{{{labels}}} 1\n")), "{page}");
        for p in 0..8 {
            for (family, value) in [
                ("xoff_pfc_received_frames_total", port * 10 + p),
                ("xoff_transmit_bytes_total", 1000),
                ("xoff_buffer_dropped_packets_total", 1),
            ] {
                let line = format!("{family}{{{labels},priority=\"{p}\"}} {value}\n");
                assert!(page.contains(&line), "no {line} in\n{page}");
            }
        }
    }
    assert!(page.contains("xoff_exporter_read_errors_total 0\n"), "{page}");
    promtool(page);
    // Names of the fabric file, by the configuration that xoff writes for SONiC.
    let plan = example("pod-256.toml");
    let named = run("password", &["--fabric", &plan, "--device", "leaf0"]);
    assert!(stdout(&named).contains("port=\"leaf0→"), "{}", stderr(&named));
    let unknown = run("password", &["--fabric", &plan]);
    assert!(stderr(&unknown).contains("--device leaf0"), "{}", stderr(&unknown));
    let wrong = run("wrong", &[]);
    assert_eq!(code(&wrong), Some(2));
    let said = stderr(&wrong).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [&*address, "Invalid Username or Password", "check --username and its password"] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_gnmi_switch_of_many_ports_is_served_until_a_signal_comes() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::start(Script { login: None, ..sonic(256) });
    let address = device.address.to_string();
    let arguments = ["gnmi", &address, "--insecure", "--sample", "1s"];
    let mut serving = Serving::start(folder.path(), &arguments);
    let page = serving.get();
    let series = page.lines().filter(|line| !line.starts_with('#')).count();
    assert!(series > 256 * 40, "{series}");
    assert!(page.contains("xoff_exporter_source_up 1\n"));
    std::thread::sleep(Duration::from_secs(3));
    assert!(serving.get().contains("xoff_exporter_source_up 1\n"));
    let peak = serving.peak();
    eprintln!("{series} series, {} MB resident", peak / 1_000_000);
    assert!(peak < 100_000_000, "{peak} bytes");
    drop(device);
    let mut gone = String::new();
    for _ in 0..100 {
        gone = serving.get();
        if gone.contains("xoff_exporter_source_up 0\n") {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(gone.contains("xoff_exporter_source_up 0\n") && !gone.contains("device="), "{gone}");
    serving.interrupt();
}
