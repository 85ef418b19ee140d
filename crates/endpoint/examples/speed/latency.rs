//! How fast a few bytes get there, in microseconds: half of a round trip.

use crate::net::Net;
use crate::stream::perf;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use xoff_endpoint::bare::Bare;
use xoff_endpoint::perftest::{Extent, Figures, Measure, Settings, Verb};
use xoff_endpoint::{Bytes, Waiting};

const ROUNDS: u32 = 10_000;

/// As `xoff perf` waits unless it is told otherwise.
pub(crate) fn by_default() -> Waiting {
    Settings::new(Verb::Write, Measure::Latency).waiting
}

/// A datagram as long as a write of 2 bytes, there and back between two UDP sockets.
pub(crate) fn udp(net: &Net, waiting: Waiting) -> f64 {
    let (ready, wait) = mpsc::channel();
    let (near, far) = (net.near.socket(), net.far.socket());
    let pong = net.far.spawn(move |end| {
        let mut bare = Bare::open(end.socket(), waiting).expect("a UDP socket");
        let _ = ready.send(());
        for _ in 0..ROUNDS {
            while bare.receive(Duration::from_secs(1)) == Bytes::ZERO {}
            bare.send(near, &[1; 34]);
        }
    });
    let ping = net.near.spawn(move |end| {
        let mut bare = Bare::open(end.socket(), waiting).expect("a UDP socket");
        let _ = wait.recv();
        let start = Instant::now();
        for _ in 0..ROUNDS {
            bare.send(far, &[1; 34]);
            while bare.receive(Duration::from_secs(1)) == Bytes::ZERO {}
        }
        start.elapsed()
    });
    let time = ping.join().expect("the sender ends");
    pong.join().expect("the receiver ends");
    time.as_secs_f64() * 1e6 / f64::from(2 * ROUNDS)
}

/// `xoff perf write-lat` of 2 bytes.
pub(crate) fn write(net: &Net, waiting: Waiting) -> f64 {
    let settings = Settings {
        extent: Extent::Iterations(ROUNDS.into()),
        waiting,
        ..Settings::new(Verb::Write, Measure::Latency)
    };
    match perf(net, settings).0.rows.first().map(|row| row.figures) {
        Some(Figures::Latency(latency)) => latency.average.as_secs_f64() * 1e6,
        _ => f64::INFINITY,
    }
}
