//! A large cluster in a real Prometheus: 1,000 hosts with 8 NICs, 60 series of each, an hour of it. Asked for by name, because to fill the
//! store takes minutes:
//!
//! ```sh
//! cargo build --release
//! XOFF=$PWD/target/release/xoff cargo test -p xoff --test cli -- --ignored --nocapture thousand_hosts
//! ```
//!
//! `XOFF_KEEP_STORE=1` leaves it running once it is full.

use super::store::Prometheus;
use super::{is_release_build, json, output, peak, stderr, xoff};
use std::process::Stdio;
use std::time::Duration;
use xoff_collect::labels::Labeller;
use xoff_collect::prometheus::write;
use xoff_fabric::model::{Fabric, PortId};
use xoff_telemetry::Metric;
use xoff_telemetry::metric::{Kind, Scope};
use xoff_telemetry::recording::{Key, Place, Reading, Readings, Timestamp};

/// A value for every 15 seconds of an hour, and the one before.
const STEP: i64 = 15;
const VALUES: i64 = 3_600 / STEP + 1;
/// When the link begins to flap.
const BROKEN: i64 = VALUES * 5 / 6;
/// Series of each NIC.
const SERIES: usize = 60;
/// NICs of one request.
const TOGETHER: usize = 3;

/// Which series a NIC has: all that a NIC can have, of as many priorities as it takes.
fn keys() -> Vec<(Metric, Option<u8>)> {
    let metrics = Metric::all().filter(|metric| {
        !matches!(metric.facts().scope, Scope::Rank | Scope::Job | Scope::Priority | Scope::Gpu)
    });
    let plain: Vec<(Metric, Option<u8>)> = metrics.map(|metric| (metric, None)).collect();
    let of_priorities = Metric::all().filter(|metric| metric.facts().scope == Scope::Priority);
    let more = of_priorities.flat_map(|metric| [3, 0, 4, 6].map(|class| (metric, Some(class))));
    plain.into_iter().chain(more).take(SERIES).collect()
}

/// The value of a series at one time after the other: all is well, but for one NIC whose link flaps.
fn value(metric: Metric, flaps: bool, at: i64) -> f64 {
    match (metric, metric.facts().kind) {
        (Metric::LinkDowns, _) if flaps => ((at - BROKEN) / 4).clamp(0, 6) as f64,
        (Metric::Up, _) => 1.0,
        (Metric::Speed, _) => 400e9,
        (Metric::TxBytes | Metric::RxBytes, _) => 2.5e11 * at as f64,
        (Metric::TxPackets | Metric::RxPackets, _) => 6e7 * at as f64,
        (_, Kind::Counter | Kind::Events) => 0.0,
        (_, Kind::Gauge | Kind::Watermark) => 0.0,
    }
}

fn readings(fabric: &Fabric, ports: &[PortId], start: Timestamp) -> Readings {
    let mut readings = Readings::default();
    for port in ports {
        let device = fabric.node_name(fabric.ports[port.index()].node).to_owned();
        let flaps = device == "server500-nic3";
        let place = readings.places.number(Place::Port { device, port: fabric.port_name(*port) });
        for (metric, priority) in keys() {
            let key = Key { place, metric, priority };
            for number in 0..VALUES {
                let at = Timestamp(start.0 + number * STEP * 1_000_000_000);
                readings.list.push(Reading { key, at, value: value(metric, flaps, number) });
            }
        }
    }
    readings
}

#[test]
#[ignore = "fills a Prometheus for minutes"]
#[allow(
    clippy::disallowed_methods,
    reason = "a store is ordered by wall time, and this takes time"
)]
fn thousand_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let planned = output(folder.path(), &["plan", "8000", "--out", "p"]);
    let text = std::fs::read_to_string(folder.path().join("p/fabric.toml"));
    let text = text.unwrap_or_else(|_| panic!("{}", stderr(&planned)));
    let Some(store) = Prometheus::start(folder.path()) else { return };
    let fabric = xoff_fabric::load_fabric(&text).into_result().expect("a fabric").fabric;
    let labeller = Labeller::new(&fabric, "large");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let start = Timestamp::from_ms(now.as_millis() as i64 - (VALUES - 1) * STEP * 1_000);
    let ports: Vec<PortId> =
        fabric.nics.iter().flat_map(|nic| nic.ports.clone()).map(PortId).collect();
    let (mut series, mut samples) = (0, 0);
    for some in ports.chunks(TOGETHER) {
        let written =
            write::send(&store.url("/api/v1/write"), &labeller, &readings(&fabric, some, start));
        let written = written.expect("written");
        series += written.series;
        samples += written.samples;
    }
    println!("{series} series, {samples} samples in {:.0} s", now_since(now));
    let url = store.url("");
    if std::env::var_os("XOFF_KEEP_STORE").is_some() {
        println!("left running at {url}, in {}", folder.keep().display());
        std::mem::forget(store);
        return;
    }
    assert_eq!(series, 8_000 * SERIES);
    let begun = std::time::Instant::now();
    let past = now_since(now).ceil() as u64 + 60;
    let (last, before) = (format!("{}s", past + 900), "2700s");
    let arguments = [
        "diagnose",
        &url,
        "--fabric",
        "p/fabric.toml",
        "--last",
        &last,
        "--before",
        before,
        "--json",
    ];
    let mut command = xoff(folder.path());
    let child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().expect("the binary runs");
    let process = child.id();
    let watched = std::thread::spawn(move || {
        let mut most = 0;
        while let Some(bytes) = peak(process) {
            most = bytes;
            std::thread::sleep(Duration::from_millis(20));
        }
        most
    });
    let out = child.wait_with_output().expect("its output");
    let seconds = begun.elapsed().as_secs_f64();
    let megabytes = watched.join().expect("its memory") / 1_000_000;
    let answer = json(&out);
    assert_eq!(answer["findings"][0]["cause"], "link-flaps", "{}", stderr(&out));
    let place = answer["findings"][0]["place"].as_str().unwrap();
    assert!(place.contains("server500-nic3"), "{place}");
    println!("diagnosed in {seconds:.1} s with {megabytes} MB");
    assert!(megabytes < 1_000, "{megabytes} MB");
    assert!(seconds < 30.0 || !is_release_build(), "{seconds} s");
}

#[allow(clippy::disallowed_methods, reason = "how long it took")]
fn now_since(start: Duration) -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.saturating_sub(start).as_secs_f64()
}
