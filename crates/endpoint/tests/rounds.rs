//! Protocols of rounds: those of `rping` and of the `ibv_*_pingpong` family, between two of us.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use xoff_endpoint::perftest::{self, Extent, PerfError, Settings};
use xoff_wire::Service;
use xoff_wire::udp::Port;

/// Ports that no other test uses, here or in another process.
fn ports() -> (Port, Port) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let own = 2_000 + (std::process::id() % 90) as u16 * 100;
    let next = own + NEXT.fetch_add(2, Ordering::Relaxed) % 100;
    (Port(next), Port(next + 1))
}

/// What comes of a protocol of rounds, and what runs it.
type Played = Result<perftest::Rounds, PerfError>;
type Play = fn(&Settings, &Arc<AtomicBool>, fn(IpAddr)) -> Played;

/// Both sides of it.
fn rounds(run: Play, settings: Settings) -> [Played; 2] {
    both(run, settings.clone(), settings)
}

/// The server's side of it and the client's.
fn both(run: Play, server: Settings, client: Settings) -> [Played; 2] {
    let (port, device_port) = ports();
    let at = |settings: Settings, last: u8, server: Option<String>| {
        let bind = Some(IpAddr::from([127, 0, 0, last]));
        let patience = Duration::from_secs(5);
        let settings = Settings { port, device_port, bind, server, patience, ..settings };
        thread::spawn(move || {
            for _ in 0..100 {
                let result = run(&settings, &Arc::default(), |_| ());
                if !matches!(result, Err(PerfError::Connect { .. })) {
                    return result;
                }
                thread::sleep(Duration::from_millis(30));
            }
            panic!("there is no server");
        })
    };
    let server = at(server, 11, None);
    thread::sleep(Duration::from_millis(200));
    let client = at(client, 12, Some("127.0.0.11".into()));
    [server, client].map(|side| side.join().expect("no panic"))
}

#[test]
fn pings_come_back() {
    for size in [32, 64, 10_000] {
        let run = |settings: &Settings, stop: &Arc<AtomicBool>, met: fn(IpAddr)| {
            perftest::ping(settings, stop, met)
        };
        let settings = Settings { size, extent: Extent::Iterations(30), ..Settings::ping() };
        for side in rounds(run, settings) {
            let side = side.unwrap();
            assert_eq!((side.count, side.wrong), (30, 0), "{size}");
        }
    }
}

fn there_and_back(settings: &Settings, stop: &Arc<AtomicBool>, met: fn(IpAddr)) -> Played {
    perftest::pingpong(settings, stop, met)
}

#[test]
fn messages_go_back_and_forth() {
    for (service, size) in [
        (Service::Reliable, 4096),
        (Service::Reliable, 10_007),
        (Service::Unreliable, 4096),
        (Service::Datagram, 2048),
    ] {
        let settings = Settings { size, ..Settings::pingpong(service) };
        let settings = Settings { extent: Extent::Iterations(100), ..settings };
        for side in rounds(there_and_back, settings) {
            let side = side.unwrap();
            assert_eq!((side.count, side.size, side.wrong), (100, size, 0), "{service:?}");
        }
    }
}

#[test]
fn sides_with_other_mtus_both_say_so() {
    for (ours, theirs) in [(1024, 4096), (4096, 1024)] {
        let of = |mtu| Settings { mtu: Some(mtu), ..Settings::pingpong(Service::Reliable) };
        let start = Instant::now();
        let [server, client] = both(there_and_back, of(ours), of(theirs));
        assert!(start.elapsed() < Duration::from_secs(4), "both know at once");
        let said = |side: Played| side.expect_err("they differ").to_string();
        let (server, client) = (said(server), said(client));
        assert!(
            server.starts_with("we refused a request of the peer on queue pair 0x"),
            "{server}"
        );
        assert!(server.ends_with("both sides need the same -m"), "{server}");
        assert!(client.contains("failed: remote invalid request"), "{client}");
        assert!(client.ends_with("do both sides have the same -s and -m?"), "{client}");
    }
}
