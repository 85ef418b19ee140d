//! Many queue pairs to one peer: together they have no more in flight than it keeps, and all get the same.

mod common;

use common::*;
use xoff_endpoint::*;
use xoff_wire::Service;

const NET: u8 = 23;
/// What Linux keeps for a socket without rights, which it doubles.
const USUAL: Bytes = Bytes::new(212_992);
const SIZE: u64 = 16 << 10;
const PAIRS: usize = 64;

/// Two devices of which the second keeps little of what arrives, with connections from the first.
fn connected(in_flight: Bytes) -> (Two, Vec<PairId>) {
    connected_by(&Clock::Wall, in_flight)
}

fn connected_by(clock: &Clock, in_flight: Bytes) -> (Two, Vec<PairId>) {
    let clock = || clock.clone();
    let near = DeviceSettings { in_flight, clock: clock(), ..DeviceSettings::new(loopback(NET)) };
    let far = DeviceSettings { socket_buffer: USUAL, ..DeviceSettings::new(loopback(NET)) };
    let far = DeviceSettings { clock: clock(), ..far };
    let mut two = Two { a: Side::open(near), b: Side::open(far) };
    let pairs = (0..PAIRS).map(|_| two.connect(Service::Reliable, 4096).0).collect();
    (two, pairs)
}

/// Each connection writes so often; the far side looks only when the near one has nothing more to send. Returns the
/// fewest and the most messages of a connection when half of all are done.
fn write(two: &mut Two, pairs: &[PairId], messages: u64, step: impl Fn()) -> (u64, u64) {
    for _ in 0..messages {
        for &pair in pairs {
            let work = Work::write(two.a.slice(0, SIZE), two.b.remote(0));
            two.a.device.post(pair, work).unwrap();
        }
    }
    let (mut done, mut half) = (vec![0; pairs.len()], None);
    let all = messages * pairs.len() as u64;
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while done.iter().sum::<u64>() < all {
        assert!(std::time::Instant::now() < end, "it takes too long: {done:?}");
        while two.a.device.progress().sent > 0 {}
        two.b.device.progress();
        step();
        while let Some(completion) = two.a.poll() {
            assert!(completion.is_ok(), "{}", completion.status);
            done[pairs.iter().position(|&pair| pair == completion.pair).unwrap()] += 1;
        }
        if half.is_none() && done.iter().sum::<u64>() >= all / 2 {
            half = Some((*done.iter().min().unwrap(), *done.iter().max().unwrap()));
        }
    }
    half.unwrap()
}

fn repeated(two: &Two, pairs: &[PairId]) -> u64 {
    pairs.iter().map(|&pair| two.a.device.counters(pair).unwrap().retransmitted).sum()
}

#[test]
fn all_together_fit_the_receiver() {
    // By a clock of its own: a thread that is stopped for longer than a timeout sends again what was never lost.
    let steps = Steps::default();
    let clock = Clock::Steps(steps.clone());
    let (mut two, pairs) = connected_by(&clock, DeviceSettings::default().in_flight);
    let step = || steps.advance(Span::from_us(20));
    let (fewest, most) = write(&mut two, &pairs, 100, step);
    assert_eq!((two.b.device.overflows(), repeated(&two, &pairs)), (0, 0));
    // The first turns are longer, because nobody waits yet.
    assert!(most - fewest <= 4, "at half time one has had {fewest} messages and one {most}");
}

#[test]
fn without_a_bound_they_do_not() {
    let (mut two, pairs) = connected(Bytes::MAX);
    write(&mut two, &pairs, 4, || ());
    assert!(two.b.device.overflows() > 0 && repeated(&two, &pairs) > 0);
}

#[test]
fn a_connection_alone_has_its_window() {
    let (mut two, pairs) = connected(Bytes::new(4096));
    for &pair in &pairs[1..] {
        two.a.device.destroy(pair).unwrap();
    }
    let local = two.a.slice(0, 128 << 10);
    two.a.device.post(pairs[0], Work::write(local, two.b.remote(0))).unwrap();
    while two.a.device.progress().sent > 0 {}
    assert_eq!(two.a.device.in_flight(pairs[0]), Ok(local.length));
}

#[test]
fn one_that_goes_leaves_its_place() {
    let (mut two, pairs) = connected(Bytes::new(8192));
    for &pair in &pairs {
        let work = Work::write(two.a.slice(0, SIZE), two.b.remote(0));
        two.a.device.post(pair, work).unwrap();
    }
    while two.a.device.progress().sent > 0 {}
    let all = |two: &Two| -> u64 {
        pairs.iter().filter_map(|&pair| two.a.device.in_flight(pair).ok()).map(Bytes::get).sum()
    };
    assert_eq!(all(&two), 8192, "that is all there may be");
    // Those that have it, those that wait, and the one whose turn is next: any of them may go.
    for &pair in pairs.iter().step_by(2) {
        two.a.device.destroy(pair).unwrap();
        while two.a.device.progress().sent > 0 {}
        assert!(all(&two) <= 8192);
    }
    let mut left = pairs.len() / 2;
    for _ in 0..10_000 {
        two.progress();
        while let Some(completion) = two.a.poll() {
            left -= usize::from(completion.is_ok());
        }
    }
    assert_eq!(left, 0, "so many never had their turn");
}
