//! Whole tests between two of us, over loopback: every tool, every service, both ways to meet.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread;
use std::time::Duration;
use xoff_endpoint::perftest::{
    AtomicKind, Contents, Extent, Figures, Measure, Outcome, PerfError, Rendezvous, Settings, Verb,
    run,
};
use xoff_wire::Service;
use xoff_wire::udp::Port;

/// Ports that no other test uses, here or in another process, below those that systems give to
/// connections by themselves.
fn ports() -> (Port, Port) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = 12_000 + (std::process::id() % 500) as u16 * 40;
    let next = own + NEXT.fetch_add(2, Ordering::Relaxed) % 40;
    (Port(next), Port(next + 1))
}

/// Runs both sides.
fn both_at(settings: Settings, addresses: [IpAddr; 2]) -> [Result<Outcome, PerfError>; 2] {
    let (port, device_port) = ports();
    let stop = Arc::new(AtomicBool::new(false));
    let [server, client] = addresses;
    let common = Settings { port, device_port, patience: Duration::from_secs(5), ..settings };
    let theirs = Settings { bind: Some(server), server: None, ..common.clone() };
    let ours = Settings { bind: Some(client), server: Some(server.to_string()), ..common };
    let flag = stop.clone();
    let waiting = thread::spawn(move || run(theirs, &flag, |_| (), |_| ()));
    // The server needs a moment to listen. A client that is too early tries again.
    let mut result = Err(PerfError::Interrupted);
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(50));
        result = run(ours.clone(), &stop, |_| (), |_| ());
        if !matches!(result, Err(PerfError::Connect { .. })) {
            break;
        }
    }
    let server = waiting.join().expect("the server panicked");
    [server, result]
}

fn both(settings: Settings) -> [Outcome; 2] {
    let addresses = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2])];
    both_at(settings, addresses).map(|side| side.expect("both sides end well"))
}

/// A short test.
fn short(verb: Verb, measure: Measure) -> Settings {
    Settings { extent: Extent::Iterations(50), ..Settings::new(verb, measure) }
}

#[track_caller]
fn is_verified(outcome: &Outcome, messages: u64, how: Contents) {
    let verified = outcome.verified.expect("something to verify");
    assert!(verified.is_ok(), "{verified:?}");
    assert_eq!((verified.messages, verified.lost, verified.how), (messages, Some(0), how));
}

#[test]
fn write_bandwidth() {
    let [server, client] = both(short(Verb::Write, Measure::Bandwidth));
    is_verified(&server, 50, Contents::Stamped);
    assert_eq!(server.verified.unwrap().compared, 65536);
    assert_eq!(client.verified, None);
    // The server believes the client.
    assert_eq!(server.rows.len(), 1);
    assert_eq!((server.rows[0].size, server.rows[0].iterations), (65536, 50));
    let (Figures::Bandwidth { average: a, .. }, Figures::Bandwidth { average: b, .. }) =
        (server.rows[0].figures, client.rows[0].figures)
    else {
        panic!("no bandwidth");
    };
    assert!(a > 0.0 && (a / b - 1.0).abs() < 1e-6, "{a} {b}");
}

#[test]
fn small_writes_on_many_queue_pairs() {
    let settings = Settings { size: 100, pairs: 4, ..short(Verb::Write, Measure::Bandwidth) };
    let [server, client] = both(settings);
    is_verified(&server, 200, Contents::Stamped);
    assert_eq!(server.verified.unwrap().compared, 4 * 32 * 100, "all that are there at the end");
    assert_eq!(client.rows[0].iterations, 200);
}

#[test]
fn writes_both_ways() {
    let settings = Settings { duplex: true, ..short(Verb::Write, Measure::Bandwidth) };
    for side in both(settings) {
        is_verified(&side, 50, Contents::Stamped);
    }
}

#[test]
fn reads() {
    let [server, client] = both(short(Verb::Read, Measure::Bandwidth));
    is_verified(&client, 50, Contents::Stamped);
    assert_eq!(client.verified.unwrap().compared, 50 * 65536);
    assert_eq!(server.verified, None);
}

#[test]
fn sends_of_every_service() {
    for service in [Service::Reliable, Service::Unreliable, Service::Datagram] {
        let settings = Settings { service, size: 2048, ..short(Verb::Send, Measure::Bandwidth) };
        let [server, _] = both(settings);
        is_verified(&server, 50, Contents::Stamped);
        assert_eq!(server.verified.unwrap().compared, 50 * 2048, "{service:?}");
    }
}

#[test]
fn sends_both_ways_on_many_queue_pairs() {
    let settings = Settings { duplex: true, pairs: 3, ..short(Verb::Send, Measure::Bandwidth) };
    for side in both(settings) {
        is_verified(&side, 150, Contents::Stamped);
    }
}

#[test]
fn atomics() {
    for kind in [AtomicKind::FetchAdd, AtomicKind::CompareSwap] {
        for measure in [Measure::Bandwidth, Measure::Latency] {
            let settings = Settings {
                extent: Extent::Iterations(200),
                ..Settings::new(Verb::Atomic(kind), measure)
            };
            let [_, client] = both(settings);
            is_verified(&client, 200, Contents::Values);
            // Every place is used again, but for the first time nobody knows what was there.
            let places = if measure == Measure::Bandwidth { 64 } else { 1 };
            assert_eq!(client.verified.unwrap().compared, 8 * (200 - places));
        }
    }
}

#[test]
fn added_up_at_the_target() {
    let [server, _] = both(Settings {
        pairs: 2,
        ..short(Verb::Atomic(AtomicKind::FetchAdd), Measure::Bandwidth)
    });
    is_verified(&server, 100, Contents::Values);
}

#[test]
fn latencies() {
    for verb in [Verb::Write, Verb::Send, Verb::Read] {
        let [server, client] = both(short(verb, Measure::Latency));
        let Figures::Latency(latency) = client.rows[0].figures else { panic!("no latency") };
        assert!(latency.shortest > Duration::ZERO && latency.shortest <= latency.typical);
        assert!(latency.typical <= latency.percentile_99 && latency.average < latency.longest);
        assert_eq!(client.rows[0].iterations, 50);
        assert_eq!(server.rows.is_empty(), verb == Verb::Read);
    }
}

#[test]
fn all_sizes() {
    let extent = Extent::Iterations(3);
    for (verb, measure) in [
        (Verb::Write, Measure::Bandwidth),
        (Verb::Send, Measure::Bandwidth),
        (Verb::Read, Measure::Latency),
        (Verb::Write, Measure::Latency),
    ] {
        let settings = Settings { extent, all_sizes: true, ..Settings::new(verb, measure) };
        let [_, client] = both(settings);
        let sizes: Vec<u64> = client.rows.iter().map(|row| row.size).collect();
        assert_eq!(sizes, (1..=23).map(|power| 1 << power).collect::<Vec<u64>>());
    }
}

#[test]
fn by_time() {
    let extent = Extent::For(Duration::from_millis(300));
    for verb in [Verb::Write, Verb::Send] {
        let [server, client] = both(Settings { extent, ..Settings::new(verb, Measure::Bandwidth) });
        assert!(server.verified.unwrap().is_ok());
        assert!(client.rows[0].iterations > 0);
    }
}

#[test]
fn met_by_rdma_cm() {
    for (verb, measure, pairs) in [
        (Verb::Write, Measure::Bandwidth, 1),
        (Verb::Write, Measure::Bandwidth, 3),
        (Verb::Send, Measure::Bandwidth, 1),
        (Verb::Read, Measure::Latency, 1),
    ] {
        let rendezvous = Rendezvous::Cm;
        let [server, client] = both(Settings { rendezvous, pairs, ..short(verb, measure) });
        assert_eq!(client.rows[0].iterations, 50 * pairs as u64);
        assert!(server.verified.is_none_or(|verified| verified.is_ok()));
    }
}

#[test]
fn datagrams_met_by_rdma_cm() {
    let (service, rendezvous, size) = (Service::Datagram, Rendezvous::Cm, 2048);
    for (pairs, duplex) in [(1, false), (3, false), (1, true)] {
        let settings = short(Verb::Send, Measure::Bandwidth);
        let settings = Settings { service, rendezvous, size, pairs, duplex, ..settings };
        let [server, client] = both(settings);
        is_verified(&server, 50 * pairs as u64, Contents::Stamped);
        if duplex {
            is_verified(&client, 50, Contents::Stamped);
        }
    }
    let settings = short(Verb::Send, Measure::Latency);
    let [_, client] = both(Settings { service, rendezvous, ..settings });
    assert_eq!(client.rows[0].iterations, 50);
}

#[test]
fn two_devices_cannot_share_an_address() {
    let one = IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]);
    let [server, client] = both_at(short(Verb::Write, Measure::Bandwidth), [one, one]);
    assert!(server.is_err() || client.is_err());
}

#[test]
fn different_versions_of_ip_are_refused() {
    let addresses = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
    let sides = both_at(short(Verb::Write, Measure::Bandwidth), addresses);
    assert!(sides.iter().any(|side| matches!(side, Err(PerfError::Mismatch { .. }))), "{sides:?}");
}

#[test]
fn what_makes_no_sense_is_said_at_once() {
    let stop = Arc::new(AtomicBool::new(false));
    let wrong = [
        Settings { service: Service::Datagram, ..short(Verb::Write, Measure::Bandwidth) },
        Settings { service: Service::Unreliable, ..short(Verb::Read, Measure::Bandwidth) },
        Settings { pairs: 0, ..short(Verb::Write, Measure::Bandwidth) },
        Settings { pairs: 2, ..short(Verb::Write, Measure::Latency) },
        Settings { size: 0, ..short(Verb::Write, Measure::Bandwidth) },
    ];
    for settings in wrong {
        let result = run(settings, &stop, |_| (), |_| ());
        assert!(matches!(result, Err(PerfError::Settings(_))), "{result:?}");
    }
}
