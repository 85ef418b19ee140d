//! A large cluster in a real Prometheus: 1,000 hosts with 8 NICs, 60 series of each, an hour of it. Asked for by name, because to fill the
//! store takes minutes:
//!
//! ```sh
//! cargo test --release -p xoff --test cli -- --ignored --nocapture thousand_hosts
//! ```

use super::store::Prometheus;
use super::{json, output, stderr};
use xoff_collect::labels::Labeller;
use xoff_collect::prometheus::write;
use xoff_fabric::model::{Fabric, PortId};
use xoff_telemetry::Metric;
use xoff_telemetry::metric::{Kind, Scope};
use xoff_telemetry::recording::{Key, Place, Reading, Readings, Timestamp};

const FABRIC: &str =
    "[cluster]\ngpus = 8000\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
/// A value for every minute of an hour, and the one before.
const MINUTES: i64 = 61;
/// Series of each NIC.
const SERIES: usize = 60;
/// NICs of one request.
const TOGETHER: usize = 3;

/// Which series a NIC has: all that a NIC can have, of as many priorities as it takes.
fn keys() -> Vec<(Metric, Option<u8>)> {
    let metrics = Metric::all().filter(|metric| {
        !matches!(metric.facts().scope, Scope::Rank | Scope::Job | Scope::Priority)
    });
    let plain: Vec<(Metric, Option<u8>)> = metrics.map(|metric| (metric, None)).collect();
    let of_priorities = Metric::all().filter(|metric| metric.facts().scope == Scope::Priority);
    let more = of_priorities.flat_map(|metric| [3, 0, 4, 6].map(|class| (metric, Some(class))));
    plain.into_iter().chain(more).take(SERIES).collect()
}

/// The value of a series at a minute: all is well, but for one NIC whose link flaps.
fn value(metric: Metric, flaps: bool, minute: i64) -> f64 {
    match (metric, metric.facts().kind) {
        (Metric::LinkDowns, _) if flaps => (minute - 50).clamp(0, 6) as f64,
        (Metric::Up, _) => 1.0,
        (Metric::Speed, _) => 400e9,
        (Metric::TxBytes | Metric::RxBytes, _) => 1e12 * minute as f64,
        (Metric::TxPackets | Metric::RxPackets, _) => 2.5e8 * minute as f64,
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
            for minute in 0..MINUTES {
                let at = Timestamp(start.0 + minute * 60_000_000_000);
                readings.list.push(Reading { key, at, value: value(metric, flaps, minute) });
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
    std::fs::write(folder.path().join("f.toml"), FABRIC).unwrap();
    let Some(store) = Prometheus::start(folder.path()) else { return };
    let fabric = xoff_fabric::load_fabric(FABRIC).into_result().expect("a fabric").fabric;
    let labeller = Labeller::new(&fabric, "large");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let start = Timestamp::from_ms(now.as_millis() as i64 - (MINUTES - 1) * 60_000);
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
    assert_eq!(series, 8_000 * SERIES);
    let begun = std::time::Instant::now();
    let past = now_since(now).ceil() as u64 + 60;
    let (last, before) = (format!("{}s", past + 900), "2700s");
    let url = store.url("");
    let arguments =
        ["diagnose", &url, "--fabric", "f.toml", "--last", &last, "--before", before, "--json"];
    let out = output(folder.path(), &arguments);
    let seconds = begun.elapsed().as_secs_f64();
    let answer = json(&out);
    assert_eq!(answer["findings"][0]["cause"], "link-flaps", "{}", stderr(&out));
    assert_eq!(answer["findings"][0]["place"], "leaf3→server500-nic3", "{answer}");
    println!("diagnosed in {seconds:.1} s");
    assert!(seconds < 30.0 || cfg!(debug_assertions), "{seconds} s");
}

#[allow(clippy::disallowed_methods, reason = "how long it took")]
fn now_since(start: std::time::Duration) -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.saturating_sub(start).as_secs_f64()
}
