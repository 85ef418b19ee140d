//! Transfers through a middle box that does what networks do, and worse.

mod common;
#[path = "common/relay.rs"]
mod relay;

use common::*;
use relay::{Apart, Harm};
use std::time::Duration;
use xoff_endpoint::*;
use xoff_transport::{Atomic, Status};
use xoff_wire::Service;

const NET: u8 = 3;

/// Writes, reads, sends and atomics both ways; every byte is checked.
fn everything_arrives(harm: Harm, seed: u64) -> Apart {
    let mut apart = Apart::new(NET, Service::Reliable, harm, seed);
    let (a, b) = (apart.a, apart.b);
    for round in 0..4u64 {
        let two = &mut apart.two;
        two.a.fill(0, 90_000, seed + round);
        two.b.fill(200_000, 90_000, seed * 3 + round);
        two.b.bytes_mut(0, 8).copy_from_slice(&round.to_ne_bytes());
        two.a.bytes_mut(600_000, 8).copy_from_slice(&(round + 100).to_ne_bytes());
        let room = two.b.slice(400_000, 90_000);
        two.b.device.post_receive(b, WorkId(99), room).unwrap();
        let works = [
            Work::write(two.a.slice(0, 90_000), two.b.remote(100_000)),
            Work::read(two.a.slice(300_000, 90_000), two.b.remote(200_000)),
            Work::send(two.a.slice(0, 60_000)),
            Work::atomic(Atomic::FetchAdd { add: 7 }, two.a.slice(8 << 16, 8), two.b.remote(0)),
        ];
        for (n, work) in works.into_iter().enumerate() {
            two.a.device.post(a, work.named(WorkId(n as u64))).unwrap();
        }
        let swap = Atomic::CompareSwap { compare: round + 100, swap: 1 };
        let (local, remote) = (two.b.slice(700_000, 8), two.a.remote(600_000));
        two.b.device.post(b, Work::atomic(swap, local, remote).named(WorkId(50))).unwrap();
        for n in 0..4 {
            let done = apart.run_a();
            assert_eq!((done.id, done.status), (WorkId(n), Status::Ok));
        }
        let mut ended = [apart.run_b(), apart.run_b()].map(|done| (done.id.0, done.status));
        ended.sort_by_key(|end| end.0);
        assert_eq!(ended, [(50, Status::Ok), (99, Status::Ok)]);
        let two = &apart.two;
        assert_eq!(two.b.bytes(100_000, 90_000), two.a.bytes(0, 90_000));
        assert_eq!(two.a.bytes(300_000, 90_000), two.b.bytes(200_000, 90_000));
        assert_eq!(two.b.bytes(400_000, 60_000), two.a.bytes(0, 60_000));
        assert_eq!(two.b.bytes(0, 8), (round + 7).to_ne_bytes());
        assert_eq!(two.a.bytes(8 << 16, 8), round.to_ne_bytes());
        assert_eq!(two.a.bytes(600_000, 8), 1u64.to_ne_bytes());
    }
    apart
}

#[test]
fn a_quiet_network() {
    let apart = everything_arrives(Harm::default(), 1);
    let counters = apart.two.a.device.counters(apart.a).unwrap();
    assert_eq!((counters.cnps_handled, counters.rate_decreases), (0, 0));
}

#[test]
fn loss() {
    for seed in 1..4 {
        let apart = everything_arrives(Harm { lose: 20, ..Harm::default() }, seed);
        assert!(apart.relay.lost > 0);
    }
}

#[test]
fn repetition() {
    everything_arrives(Harm { repeat: 200, ..Harm::default() }, 5);
}

#[test]
fn delay_and_reordering() {
    let delay = Duration::from_micros(300);
    everything_arrives(Harm { hold: 30, delay, ..Harm::default() }, 6);
}

#[test]
fn corruption_is_noticed() {
    // Few, because one in 65,536 passes where the identification is not seen.
    let apart = everything_arrives(Harm { corrupt: 5, ..Harm::default() }, 7);
    let two = &apart.two;
    let noticed = [&two.a, &two.b].map(|side| side.device.discards().get(Reason::BadIcrc));
    assert!(noticed[0] + noticed[1] > 0);
}

#[test]
fn all_of_it_at_once() {
    for seed in 8..10 {
        let delay = Duration::from_micros(100);
        let harm = Harm { lose: 10, repeat: 10, mark: 100, corrupt: 5, hold: 10, delay };
        everything_arrives(harm, seed);
    }
}

#[test]
fn marked_packets_slow_the_sender_down() {
    let mut apart = Apart::new(NET, Service::Reliable, Harm { mark: 1000, ..Harm::default() }, 3);
    let a = apart.a;
    let line = apart.two.a.device.congestion(a).unwrap().unwrap().rate;
    let now = |apart: &Apart| apart.two.a.device.congestion(a).unwrap().unwrap().rate;
    let work = Work::write(apart.two.a.slice(0, 500_000), apart.two.b.remote(0));
    // How soon depends on how the machine schedules us, because rates also grow with time.
    let start = std::time::Instant::now();
    while now(&apart).bps() * 4 > line.bps() {
        assert!(start.elapsed() < Duration::from_secs(10), "{} of {line}", now(&apart));
        apart.two.a.device.post(a, work).unwrap();
        assert!(apart.run_a().is_ok());
    }
    let counters = apart.two.a.device.counters(a).unwrap();
    assert!(counters.cnps_handled > 2 && counters.rate_decreases > 2, "{counters:?}");
    let rate = now(&apart);
    // And it comes back when the marks stop.
    apart.relay.harm.mark = 0;
    let two = &mut apart.two;
    let faster =
        |two: &Two| two.a.device.congestion(a).unwrap().unwrap().rate.bps() > rate.bps() * 2;
    two.until(|two| faster(two).then_some(()));
}

#[test]
fn notifications_are_limited_and_for_unreliable_services_too() {
    let mut apart = Apart::new(NET, Service::Unreliable, Harm { mark: 1000, ..Harm::default() }, 3);
    let (a, b) = (apart.a, apart.b);
    let start = std::time::Instant::now();
    for _ in 0..20 {
        let work = Work::write(apart.two.a.slice(0, 50_000), apart.two.b.remote(0));
        apart.two.a.device.post(a, work).unwrap();
        assert!(apart.run_a().is_ok());
    }
    let end = start + Duration::from_millis(50);
    apart.until(|_| (std::time::Instant::now() > end).then_some(()));
    let elapsed = start.elapsed();
    let receiver = apart.two.b.device.counters(b).unwrap();
    let sender = apart.two.a.device.counters(a).unwrap();
    assert!(sender.cnps_handled > 0 && sender.rate_decreases > 0);
    assert!(receiver.marked_packets > receiver.cnps_sent, "{receiver:?}");
    let most = elapsed.as_micros() as u64 / 50 + 1;
    assert!(receiver.cnps_sent <= most, "{} in {elapsed:?}", receiver.cnps_sent);
}
