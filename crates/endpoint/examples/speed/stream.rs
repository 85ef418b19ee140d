//! How much goes through, in Gbit/s of payload.

use crate::net::Net;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::bare::Bare;
use xoff_endpoint::perftest::{self, Extent, Figures, Measure, Outcome, Settings, Verb};
use xoff_endpoint::{Bytes, Waiting};

/// Bytes of a datagram that carries 4096.
const DATAGRAM: u64 = 4124;
const PAYLOAD: u64 = 4096;

fn gbps(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8e-9 / time.as_secs_f64()
}

/// Runs of datagrams from one UDP socket to another, with the same offloads and nothing else.
pub(crate) fn udp(net: &Net, time: Duration) -> f64 {
    let stop = Arc::new(AtomicBool::new(false));
    let (ready, wait) = mpsc::channel();
    let stopped = stop.clone();
    let receiver = net.far.spawn(move |end| {
        let mut bare = Bare::open(end.socket(), Waiting::Sleep).expect("a UDP socket");
        let _ = ready.send(());
        let (mut bytes, start) = (0, Instant::now());
        while !stopped.load(Ordering::Relaxed) {
            bytes += bare.receive(Duration::from_millis(10)).get() / DATAGRAM * PAYLOAD;
        }
        gbps(bytes, start.elapsed())
    });
    let to = net.far.socket();
    let sender = net.near.spawn(move |end| {
        let bare = Bare::open(end.socket(), Waiting::Sleep).expect("a UDP socket");
        let _ = wait.recv();
        let start = Instant::now();
        while start.elapsed() < time {
            bare.send_runs(to, Bytes::new(DATAGRAM));
        }
    });
    sender.join().expect("the sender ends");
    stop.store(true, Ordering::Relaxed);
    receiver.join().expect("the receiver ends")
}

/// A test of `xoff perf` between the two ends: what the client found.
pub(crate) fn perf(net: &Net, settings: Settings) -> Outcome {
    let run = |settings| perftest::run(settings, &Arc::default(), |_| {}, |_| {});
    let server = Settings { bind: Some(net.far.address), ..settings.clone() };
    let server = net.far.spawn(move |_| run(server));
    let to = Some(net.far.address.to_string());
    let client = Settings { server: to, bind: Some(net.near.address), ..settings };
    let client = net.near.spawn(move |_| {
        thread::sleep(Duration::from_millis(50));
        run(client)
    });
    let outcome = client.join().expect("no panic").expect("the test runs");
    let seen = server.join().expect("no panic").expect("the test runs").verified;
    assert!(seen.is_none_or(|seen| seen.is_ok()), "what arrived is what was sent");
    outcome
}

/// `xoff perf write-bw`: 64 KiB, MTU 4096, one queue pair. Contents are compared.
pub(crate) fn write(net: &Net, time: Duration) -> f64 {
    let settings = Settings {
        extent: Extent::For(time),
        mtu: Some(4096),
        ..Settings::new(Verb::Write, Measure::Bandwidth)
    };
    match perf(net, settings).rows.first().map(|row| row.figures) {
        Some(Figures::Bandwidth { average, .. }) => average * 8e-9,
        _ => 0.0,
    }
}

/// `iperf3`, one TCP connection; nothing if it is not installed or does not work.
pub(crate) fn tcp(net: &Net, time: Duration) -> Option<f64> {
    let iperf3 = || {
        let mut command = Command::new("iperf3");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let server = net
        .far
        .spawn(move |end| iperf3().args(["-s", "-1", "-B", &end.address.to_string()]).spawn().ok());
    let mut server = server.join().ok()??;
    thread::sleep(Duration::from_millis(300));
    let (to, seconds) = (net.far.address.to_string(), time.as_secs_f64().ceil().to_string());
    let client = net.near.spawn(move |end| {
        let from = end.address.to_string();
        iperf3().args(["-J", "-c", &to, "-B", &from, "-t", &seconds]).output().ok()
    });
    let output = client.join().ok()?;
    let _ = server.kill();
    let _ = server.wait();
    received(&String::from_utf8_lossy(&output?.stdout))
}

/// What its report says that arrived.
fn received(report: &str) -> Option<f64> {
    let (_, sum) = report.split_once("\"sum_received\"")?;
    let (_, rate) = sum.split_once("\"bits_per_second\":")?;
    let number: String =
        rate.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    number.parse::<f64>().ok().map(|bits| bits * 1e-9)
}
