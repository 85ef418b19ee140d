//! Loss recovery by time, as TCP does it on Linux: probes, reordering windows, timeouts.

mod pair;

use pair::{Draws, Fate, Faults, ONE_WAY, Pair, Seen, plain};
use xoff_transport::config::{Congestion, Cubic, QpConfig, Recovery};
use xoff_transport::{Status, Verb};
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::Operation;

const RTT: Span = Span::from_us(4);

fn tcp() -> QpConfig {
    QpConfig {
        recovery: Recovery::Rack,
        timeout: Span::from_ms(200),
        ack_every: 2,
        congestion: Congestion::Cubic(Cubic::default()),
        window: Bytes::new(6_000_000),
        ..plain()
    }
}

/// Loses the first transmission of the packets with these numbers.
fn lose_first(numbers: &'static [u32]) -> impl FnMut(&Seen) -> Fate {
    let mut lost: Vec<u32> = Vec::new();
    move |seen| {
        let number = seen.header.psn.get();
        let data = seen.from == 0 && seen.header.opcode.operation() == Operation::Write;
        if data && numbers.contains(&number) && !lost.contains(&number) {
            lost.push(number);
            return Fate::Lose;
        }
        Fate::Pass
    }
}

/// Runs a write of 40 packets; when it is done, and the sender's repeats, timeouts and cuts.
fn write(config: QpConfig, script: impl FnMut(&Seen) -> Fate + 'static) -> (Instant, [u64; 3]) {
    let mut pair = Pair::new(config).scripted(script);
    pair.post(0, 1, Verb::Write, 40_000);
    pair.run();
    let done = pair.completions(0);
    assert!(done.len() == 1 && done[0].status == Status::Ok, "{done:?}");
    assert_eq!(pair.ends[1].delivered(), 40_000);
    let counters = pair.ends[0].counters();
    (pair.now, [counters.retransmitted, counters.timeouts, counters.rate_decreases])
}

#[test]
fn a_lost_tail_is_repaired_after_about_two_round_trips() {
    assert_eq!(RTT, ONE_WAY * 2);
    let (undisturbed, counts) = write(tcp(), |_| Fate::Pass);
    assert_eq!(counts, [0, 0, 0]);
    let (done, counts) = write(tcp(), lose_first(&[39]));
    // The probe leaves two round trips after the last news of the others, and is answered after
    // one.
    let late = done.since(undisturbed);
    assert!((RTT * 2..RTT * 4).contains(&late), "{late}");
    assert_eq!(counts, [1, 0, 1], "sent again, timeouts, cuts");
    // Where timers tick it takes a tick longer, and not the 200 ms of a timeout.
    let ticks = QpConfig { probe_floor: Span::from_ms(2), ..tcp() };
    let (done, counts) = write(ticks, lose_first(&[39]));
    let late = done.since(undisturbed);
    assert!((Span::from_ms(2)..Span::from_us(2_020)).contains(&late), "{late}");
    assert_eq!(counts[1], 0);
}

#[test]
fn a_long_lost_tail_is_found_by_the_answer_to_its_probe() {
    let (undisturbed, _) = write(tcp(), |_| Fate::Pass);
    let (done, [again, timeouts, cuts]) = write(tcp(), lose_first(&[35, 36, 37, 38, 39]));
    let late = done.since(undisturbed);
    assert!(late < RTT * 8, "{late}");
    assert_eq!((again, timeouts, cuts), (5, 0, 1));
}

#[test]
fn a_packet_that_is_lost_again_costs_a_round_trip_and_no_timeout() {
    let mut times = 0;
    let twice = move |seen: &Seen| {
        let hit = seen.from == 0 && seen.header.psn.get() == 12;
        times += u32::from(hit);
        if hit && times <= 2 { Fate::Lose } else { Fate::Pass }
    };
    let (done, [again, timeouts, _]) = write(tcp(), twice);
    assert!(done < Instant::ZERO + RTT * 16, "{done}");
    assert_eq!((again, timeouts), (2, 0));
}

#[test]
fn reordering_within_a_quarter_of_a_round_trip_repeats_nothing() {
    let mut draws = Draws(7);
    let sprayed = move |seen: &Seen| match seen.header.opcode.operation() {
        Operation::Write => Fate::Delay(Span::from_ns(draws.next() % 990)),
        _ => Fate::Pass,
    };
    let mut pair = Pair::new(tcp()).scripted(sprayed);
    pair.post(0, 1, Verb::Write, 2_000_000);
    pair.run();
    let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
    assert!(receiver.out_of_sequence > 200, "{}", receiver.out_of_sequence);
    assert_eq!((sender.retransmitted, sender.rate_decreases), (0, 0));
    // Three later packets told of a loss before.
    let by_count = QpConfig { recovery: Recovery::SelectiveRepeat, reorder_window: 2, ..tcp() };
    let mut draws = Draws(7);
    let mut pair =
        Pair::new(by_count).scripted(move |seen: &Seen| match seen.header.opcode.operation() {
            Operation::Write => Fate::Delay(Span::from_ns(draws.next() % 990)),
            _ => Fate::Pass,
        });
    pair.post(0, 1, Verb::Write, 2_000_000);
    pair.run();
    let counters = pair.ends[0].counters();
    assert!(counters.retransmitted > 0 && counters.rate_decreases > 0, "{counters:?}");
}

#[test]
fn more_reordering_is_learned() {
    // One packet in eight is late by half a round trip: the window grows to hold it.
    let mut count = 0;
    let late = move |seen: &Seen| {
        count += 1;
        let hit = seen.from == 0 && count % 8 == 0;
        if hit { Fate::Delay(Span::from_us(2)) } else { Fate::Pass }
    };
    let mut pair = Pair::new(tcp()).scripted(late);
    pair.post(0, 1, Verb::Write, 4_000_000);
    pair.run();
    let counters = pair.ends[0].counters();
    assert_eq!(counters.timeouts, 0);
    assert!(counters.retransmitted < 30, "{} of 500 late packets", counters.retransmitted);
}

#[test]
fn silence_from_the_start_is_waited_out_in_doubling_timeouts() {
    let mut times = 0;
    let dead = move |seen: &Seen| {
        // The first window, and what the first timeout sends.
        times += u32::from(seen.from == 0);
        if seen.from == 0 && times <= 11 { Fate::Lose } else { Fate::Pass }
    };
    let (done, [_, timeouts, _]) = write(tcp(), dead);
    assert_eq!(timeouts, 2);
    // Nothing was measured: one second, then two.
    assert!((3_000_000..3_000_200).contains(&(done.as_ps() / 1_000_000)), "{done}");
}

#[test]
fn a_lost_request_for_a_read_is_sent_again_whole() {
    let mut times = 0;
    let mut pair = Pair::new(tcp()).scripted(move |seen: &Seen| {
        times += u32::from(seen.header.opcode.operation() == Operation::ReadRequest);
        if times == 1 && seen.from == 0 { Fate::Lose } else { Fate::Pass }
    });
    pair.post(0, 1, Verb::Read, 2_500);
    pair.run();
    assert_eq!(pair.completions(0).len(), 1);
    assert_eq!(pair.sent(0, Operation::ReadRequest).len(), 2);
}

#[test]
fn whatever_is_lost_late_or_doubled_arrives() {
    for seed in 0..60 {
        let faults = Faults {
            loss: (seed % 5) as u32 * 30,
            duplication: (seed % 3) as u32 * 40,
            reordering: (seed % 4) as u32 * 150,
            marks: 0,
            lateness: Span::from_ns((seed % 2) * 1_500),
        };
        let mut pair = Pair::new(QpConfig { retry_limit: 255, ..tcp() }).seeded(seed, faults);
        for id in 0..3 {
            pair.post(0, id, Verb::Write, 70_000);
            pair.post(1, id, Verb::Send, 9_000);
        }
        pair.run();
        assert_eq!(pair.completions(0).len(), 3, "seed {seed}");
        assert_eq!(pair.ends[1].delivered(), 210_000, "seed {seed}");
        assert_eq!(pair.ends[0].delivered(), 27_000, "seed {seed}");
    }
}
