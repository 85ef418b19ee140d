//! Stories about marks, notifications and rates.

mod pair;

use pair::{Fate, LINE, ONE_WAY, Pair, Seen, plain};
use xoff_transport::Verb;
use xoff_transport::config::{
    Congestion, Dcqcn, Dctcp, Hpcc, Notification, QpConfig, Swift, Timely,
};
use xoff_units::{Bytes, Instant, Rate, Ratio, Span};
use xoff_wire::Operation;

/// Constants that are easy to count with: a first cut to one half, and time alone.
fn round() -> Dcqcn {
    Dcqcn {
        g: Ratio::new(1, 256),
        initial_alpha: Ratio::ONE,
        byte_counter: Bytes::ZERO,
        ..Dcqcn::default()
    }
}

fn dcqcn() -> QpConfig {
    QpConfig { congestion: Congestion::Dcqcn(round()), ..plain() }
}

/// Marks data packets sent in the first `us` microseconds.
fn mark_until(us: u64) -> impl FnMut(&Seen) -> Fate {
    move |seen| {
        let early = seen.at < Instant::ZERO + Span::from_us(us);
        if seen.header.opcode.has_payload() && early { Fate::Mark } else { Fate::Pass }
    }
}

#[test]
fn marks_become_notifications_at_most_once_per_interval() {
    let mut pair = Pair::new(dcqcn()).scripted(mark_until(20));
    pair.post(0, 1, Verb::Write, 1_000_000);
    pair.run();
    let cnps = pair.sent(1, Operation::Cnp);
    assert!(cnps.windows(2).all(|two| two[1].at - two[0].at >= Span::from_us(4)));
    assert!((4..=6).contains(&cnps.len()), "{}", cnps.len());
    assert!(cnps.iter().all(|cnp| cnp.header.becn && cnp.header.dest_qp.get() == 1));
    assert!(pair.sent(1, Operation::Acknowledge).iter().all(|ack| !ack.header.becn));
    let counters = pair.ends[0].counters();
    assert_eq!(counters.cnps_handled, cnps.len() as u64);
    assert_eq!(counters.cnps_handled, pair.ends[1].counters().cnps_sent);
    assert_eq!(counters.rate_decreases, cnps.len() as u64);
    assert!(pair.ends[0].rate() < LINE);
}

#[test]
fn a_cut_spaces_the_very_next_packet() {
    let mut pair = Pair::new(dcqcn()).scripted(mark_until(1));
    pair.post(0, 1, Verb::Write, 100_000);
    pair.run();
    let cnp = pair.sent(1, Operation::Cnp)[0].at + ONE_WAY;
    let packets = pair.sent(0, Operation::Write);
    let (before, after): (Vec<Instant>, Vec<Instant>) =
        packets.iter().map(|p| p.at).partition(|&at| at <= cnp);
    // From the last packet before the cut on, packets follow each other at half the line rate.
    assert_eq!(after[0] - *before.last().unwrap(), Span::from_ps(1082 * 160));
    assert_eq!(after[1] - after[0], Span::from_ps(1082 * 160));
}

#[test]
fn in_the_ns3_line_the_next_packet_keeps_its_time() {
    let congestion = Congestion::Dcqcn(Dcqcn { cut_at_once: false, ..round() });
    let config = QpConfig { congestion, ..dcqcn() };
    let mut pair = Pair::new(config).scripted(mark_until(1));
    pair.post(0, 1, Verb::Write, 100_000);
    pair.run();
    let packets: Vec<Instant> = pair.sent(0, Operation::Write).iter().map(|p| p.at).collect();
    let gaps: Vec<Span> = packets.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Line rate up to and including the packet after the cut, then about half of it: alpha has
    // decayed for four ticks. (The first packet has a longer header.)
    let first_slow = gaps.iter().position(|&gap| gap > Span::from_ps(1100 * 80)).unwrap();
    assert!(gaps[first_slow] > Span::from_ps(1082 * 150), "{}", gaps[first_slow]);
    let cut = pair.sent(1, Operation::Cnp)[0].at + ONE_WAY + Span::from_us(4) + Span::from_ns(1);
    assert!(packets[first_slow] >= cut, "slowed down before the packet that was on its way");
}

#[test]
fn notifications_and_reactions_take_their_time() {
    let config =
        QpConfig { cnp_delay: Span::from_us(10), reaction_delay: Span::from_us(5), ..dcqcn() };
    let mut pair = Pair::new(config).scripted(mark_until(1));
    pair.post(0, 1, Verb::Write, 1_000_000);
    let cut = Instant::ZERO + ONE_WAY * 2 + Span::from_us(15);
    pair.run_until(cut + Span::from_ns(1));
    assert_eq!(pair.sent(1, Operation::Cnp)[0].at, Instant::ZERO + ONE_WAY + Span::from_us(10));
    assert_eq!(pair.ends[0].counters().rate_decreases, 1);
    assert_eq!(pair.ends[0].congestion_state(pair.now).rate, Rate::from_gbps(50));
    pair.run();
}

#[test]
fn echoes_ride_on_acknowledgements() {
    let config = QpConfig { notification: Notification::EchoInAck, ack_every: 4, ..dcqcn() };
    // One marked packet in the second group of four.
    let mut pair = Pair::new(config).scripted(|seen| {
        let marked = seen.from == 0 && seen.header.psn.get() == 5;
        if marked { Fate::Mark } else { Fate::Pass }
    });
    pair.post(0, 1, Verb::Write, 16_000);
    pair.run();
    let echoes: Vec<bool> =
        pair.sent(1, Operation::Acknowledge).iter().map(|ack| ack.header.becn).collect();
    assert_eq!(echoes, [false, true, false, false]);
    assert_eq!(pair.ends[0].counters().echo_marks, 1);
    assert_eq!(pair.ends[0].counters().rate_decreases, 1);
    assert!(pair.sent(1, Operation::Cnp).is_empty());
}

#[test]
fn data_of_a_read_slows_the_one_who_sends_it() {
    for notification in [Notification::Cnp, Notification::EchoInAck] {
        let config = QpConfig { notification, ..dcqcn() };
        let mut pair = Pair::new(config).scripted(mark_until(10));
        pair.post(0, 1, Verb::Read, 500_000);
        pair.run();
        assert!(pair.ends[1].counters().rate_decreases > 0);
        assert_eq!(pair.ends[0].counters().rate_decreases, 0);
    }
}

#[test]
fn every_scheme_moves_data_and_keeps_to_line_rate() {
    let schemes = [
        Congestion::None,
        Congestion::Dcqcn(round()),
        Congestion::Dcqcn(Dcqcn {
            cut_at_once: false,
            byte_counter: Bytes::new(10_000),
            ..round()
        }),
        Congestion::Hpcc(Hpcc::default()),
        Congestion::Timely(Timely::default()),
        Congestion::Swift(Swift::default()),
        Congestion::Dctcp(Dctcp::default()),
    ];
    for congestion in schemes {
        for ack_every in [1, 64] {
            let config = QpConfig {
                congestion: congestion.clone(),
                notification: Notification::EchoInAck,
                ack_every,
                ..plain()
            };
            let mut pair = Pair::new(config).scripted(mark_until(30));
            pair.post(0, 1, Verb::Write, 2_000_000);
            pair.run();
            assert_eq!(pair.ends[1].delivered(), 2_000_000);
            assert_eq!(pair.ends[0].counters().timeouts, 0, "{congestion:?} {ack_every}");
            let packets = pair.sent(0, Operation::Write);
            let least = Span::from_ps(1082 * 80);
            assert!(packets.windows(2).all(|two| two[1].at - two[0].at >= least));
            assert!(pair.ends[0].rate() <= LINE);
        }
    }
}

#[test]
fn a_window_of_hpcc_holds_a_round_trip() {
    let config = QpConfig { congestion: Congestion::Hpcc(Hpcc::default()), ..plain() };
    let mut pair = Pair::new(config);
    pair.post(0, 1, Verb::Write, 1_000_000);
    // 4 us at 100 Gb/s are 50,000 bytes; nothing is acknowledged in the first round trip.
    pair.run_until(Instant::ZERO + Span::from_ps(3_999_000));
    let sent = pair.sent(0, Operation::Write).len();
    assert!((46..=50).contains(&sent), "{sent}");
    assert_eq!(pair.ends[0].congestion_state(pair.now).window, Bytes::new(50_000));
    pair.run();
}

#[test]
fn a_shrunken_window_does_not_wait_for_the_timer() {
    // Marked to the ground with rare acknowledgements: more is in flight than the window allows,
    // and nothing in flight has asked for an acknowledgement.
    let config = QpConfig {
        congestion: Congestion::Dctcp(Dctcp::default()),
        notification: Notification::EchoInAck,
        ack_every: 20,
        ..plain()
    };
    let mut pair = Pair::new(config).scripted(mark_until(100_000));
    pair.post(0, 1, Verb::Write, 3_000_000);
    pair.run();
    assert_eq!(pair.ends[0].congestion_state(pair.now).window, Bytes::new(1000));
    assert_eq!(pair.ends[0].counters().timeouts, 0);
    assert_eq!(pair.ends[1].delivered(), 3_000_000);
}
