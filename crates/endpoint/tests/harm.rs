//! Transfers through a middle box that does what networks do, and worse.

mod common;
#[path = "common/relay.rs"]
mod relay;

use common::*;
use relay::{Apart, Harm};
use xoff_endpoint::*;
use xoff_units::Span;
use xoff_wire::Service;

const NET: u8 = 3;

fn everything_arrives(harm: Harm, seed: u64) -> Apart {
    let mut apart = Apart::new(NET, Service::Reliable, harm, seed);
    apart.move_everything(seed);
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
    let delay = Span::from_us(300);
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
        let delay = Span::from_us(100);
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
    let start = apart.now();
    while now(&apart).bps() * 4 > line.bps() {
        let elapsed = apart.now().since(start);
        assert!(elapsed < Span::from_ms(100), "{} of {line}", now(&apart));
        apart.two.a.device.post(a, work).unwrap();
        assert!(apart.run_a().is_ok());
    }
    let counters = apart.two.a.device.counters(a).unwrap();
    assert!(counters.cnps_handled > 2 && counters.rate_decreases > 2, "{counters:?}");
    let rate = now(&apart);
    // And it comes back when the marks stop.
    apart.relay.harm.mark = 0;
    let faster =
        |two: &Two| two.a.device.congestion(a).unwrap().unwrap().rate.bps() > rate.bps() * 2;
    apart.until(|two| faster(two).then_some(()));
}

#[test]
fn notifications_are_limited_and_for_unreliable_services_too() {
    let mut apart = Apart::new(NET, Service::Unreliable, Harm { mark: 1000, ..Harm::default() }, 3);
    let (a, b) = (apart.a, apart.b);
    let start = apart.now();
    for _ in 0..20 {
        let work = Work::write(apart.two.a.slice(0, 50_000), apart.two.b.remote(0));
        apart.two.a.device.post(a, work).unwrap();
        assert!(apart.run_a().is_ok());
    }
    let end = start + Span::from_ms(50);
    apart.until(|two| (two.a.device.now() > end).then_some(()));
    let elapsed = apart.now().since(start);
    let receiver = apart.two.b.device.counters(b).unwrap();
    let sender = apart.two.a.device.counters(a).unwrap();
    assert!(sender.cnps_handled > 0 && sender.rate_decreases > 0);
    assert!(receiver.marked_packets > receiver.cnps_sent, "{receiver:?}");
    let most = elapsed.as_ps() / Span::from_us(50).as_ps() + 1;
    assert!(receiver.cnps_sent <= most, "{} in {elapsed:?}", receiver.cnps_sent);
}
