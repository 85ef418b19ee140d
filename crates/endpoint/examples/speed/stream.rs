//! How much goes through, in Gbit/s of payload, and what it costs.

use crate::net::Net;
use rustix::time::{ClockId, clock_gettime};
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

/// What went through.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    /// Gbit/s of payload.
    pub(crate) rate: f64,
    /// CPU seconds of both sides for a Gbit.
    pub(crate) cost: f64,
    /// CPU microseconds of the sender for a message.
    pub(crate) each: f64,
}

/// CPU seconds that this thread has taken, in the kernel too.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Runs of datagrams from one UDP socket to another, with the same offloads and nothing else.
pub(crate) fn udp(net: &Net, time: Duration) -> Stream {
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
        (bytes as f64 * 8e-9, start.elapsed().as_secs_f64(), cpu())
    });
    let to = net.far.socket();
    let sender = net.near.spawn(move |end| {
        let bare = Bare::open(end.socket(), Waiting::Sleep).expect("a UDP socket");
        let _ = wait.recv();
        let start = Instant::now();
        while start.elapsed() < time {
            bare.send_runs(to, Bytes::new(DATAGRAM));
        }
        cpu()
    });
    let sent = sender.join().expect("the sender ends");
    stop.store(true, Ordering::Relaxed);
    let (gbit, seconds, received) = receiver.join().expect("the receiver ends");
    Stream { rate: gbit / seconds, cost: (sent + received) / gbit, each: 0.0 }
}

/// A test of `xoff perf` between the two ends: what the client found, and the CPU seconds of the client and of the
/// server.
pub(crate) fn perf(net: &Net, settings: Settings) -> (Outcome, f64, f64) {
    let run = |settings| (perftest::run(settings, &Arc::default(), |_| {}, |_| {}), cpu());
    let server = Settings { bind: Some(net.far.address), ..settings.clone() };
    let server = net.far.spawn(move |_| run(server));
    let to = Some(net.far.address.to_string());
    let client = Settings { server: to, bind: Some(net.near.address), ..settings };
    let client = net.near.spawn(move |_| {
        thread::sleep(Duration::from_millis(50));
        run(client)
    });
    let (outcome, client) = client.join().expect("no panic");
    let (there, server) = server.join().expect("no panic");
    let (outcome, seen) = (outcome.expect("the test runs"), there.expect("the test runs").verified);
    assert!(seen.is_none_or(|seen| seen.is_ok()), "what arrived is what was sent");
    (outcome, client, server)
}

/// A bandwidth test of `xoff perf` with one queue pair and messages of `size` bytes, MTU 4096. Contents are compared.
pub(crate) fn roce(net: &Net, time: Duration, verb: Verb, size: u64) -> Stream {
    let settings = Settings {
        extent: Extent::For(time),
        mtu: Some(4096),
        size,
        ..Settings::new(verb, Measure::Bandwidth)
    };
    let (outcome, client, server) = perf(net, settings);
    let Some((average, messages, count)) = outcome.rows.first().and_then(|row| match row.figures {
        Figures::Bandwidth { average, messages, .. } => Some((average, messages, row.iterations)),
        _ => None,
    }) else {
        return Stream { rate: 0.0, cost: f64::INFINITY, each: f64::INFINITY };
    };
    let gbit = count as f64 * average / messages * 8e-9;
    Stream {
        rate: average * 8e-9,
        cost: (client + server) / gbit,
        each: client * 1e6 / count as f64,
    }
}

/// `iperf3`, one TCP connection; nothing if it is not installed or does not work.
pub(crate) fn tcp(net: &Net, time: Duration) -> Option<Stream> {
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
    report(&String::from_utf8_lossy(&output?.stdout))
}

/// What its report says that arrived, and that both sides took of the processor.
fn report(text: &str) -> Option<Stream> {
    let sum = text.split_once("\"sum_received\"")?.1;
    let (gbit, seconds) = (number(sum, "bytes")? * 8e-9, number(sum, "seconds")?);
    // In per cent of the time.
    let both = number(text, "host_total")? + number(text, "remote_total")?;
    Some(Stream { rate: gbit / seconds, cost: both / 100.0 * seconds / gbit, each: 0.0 })
}

/// The first number of this name.
fn number(text: &str, name: &str) -> Option<f64> {
    let (_, rest) = text.split_once(&format!("\"{name}\":"))?;
    let end = rest.find([',', '}', '\n'])?;
    rest[..end].trim().parse().ok()
}
