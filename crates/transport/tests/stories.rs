//! What happens between two queue pairs, one story per test.

mod pair;

use pair::{Fate, LINE, ONE_WAY, Pair, Seen, plain};
use xoff_transport::config::{Framing, QpConfig, Recovery};
use xoff_transport::{Completion, MAX_MESSAGE, PostError, Slack, Status, Verb, WorkRequest};
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{Aeth, Extension, Opcode, Operation, Position, Psn, Rkey, Syndrome};

fn ok(id: u64) -> Completion {
    done(id, Status::Ok)
}

fn done(id: u64, status: Status) -> Completion {
    Completion { id, status, before: 0 }
}

/// Loses the `nth` packet (from zero) of an operation from an end, once.
fn lose(from: usize, operation: Operation, nth: u32) -> impl FnMut(&Seen) -> Fate {
    let mut count = 0;
    move |seen| {
        if seen.from == from && seen.header.opcode.operation() == operation {
            count += 1;
            if count == nth + 1 {
                return Fate::Lose;
            }
        }
        Fate::Pass
    }
}

#[test]
fn a_write_is_cut_paced_acknowledged_and_complete() {
    let mut pair = Pair::new(plain());
    pair.post(0, 5, Verb::Write, 2500);
    pair.run();
    assert_eq!(pair.completions(0), [ok(5)]);
    assert_eq!(pair.ends[1].delivered(), 2500);
    let packets = pair.sent(0, Operation::Write);
    let shape: Vec<_> =
        packets.iter().map(|p| (p.header.opcode.position(), p.header.payload)).collect();
    assert_eq!(shape, [(Position::First, 1000), (Position::Middle, 1000), (Position::Last, 500)]);
    // 1000 payload, 62 around it, 16 RETH and 20 gap at 80 ps per byte; the second has no RETH.
    assert_eq!(packets[1].at.as_ps(), 1098 * 80);
    assert_eq!(packets[2].at.as_ps(), (1098 + 1082) * 80);
    // The harness has no wire time, so the last acknowledgement is there one round trip later.
    assert_eq!(pair.now, packets[2].at + ONE_WAY * 2);
    assert_eq!(pair.sent(1, Operation::Acknowledge).len(), 3);
}

#[test]
fn line_rate_is_kept_exactly_with_exact_frames() {
    let framing = Framing {
        header: Bytes::new(64),
        ack: Bytes::new(64),
        extensions: false,
        gap: Bytes::ZERO,
        ..Framing::default()
    };
    let mut pair = Pair::new(QpConfig { mtu: Bytes::new(4096), framing, ..plain() });
    pair.post(0, 1, Verb::Write, 2_000_000);
    pair.run();
    let packets = pair.sent(0, Operation::Write);
    assert_eq!(packets.len(), 489);
    assert_eq!(packets[488].at.as_ps(), 488 * 332_800);
}

#[test]
fn acknowledgements_are_coalesced() {
    let mut pair = Pair::new(QpConfig { ack_every: 4, ..plain() });
    pair.post(0, 1, Verb::Send, 10_000);
    pair.post(0, 2, Verb::Send, 1);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1), ok(2)]);
    let psns: Vec<u32> =
        pair.sent(1, Operation::Acknowledge).iter().map(|a| a.header.psn.get()).collect();
    assert_eq!(psns, [3, 7, 9, 10]);
}

#[test]
fn the_window_is_kept_and_its_last_packet_asks_for_an_acknowledgement() {
    let config = QpConfig { window: Bytes::new(3000), ack_every: 100, ..plain() };
    let mut pair = Pair::new(config);
    pair.post(0, 1, Verb::Write, 30_000);
    pair.run();
    assert_eq!(pair.sent(1, Operation::Acknowledge).len(), 10);
    let packets = pair.sent(0, Operation::Write);
    for (n, packet) in packets.iter().enumerate().skip(3) {
        assert!(packet.at >= packets[n - 3].at + ONE_WAY * 2);
    }
}

#[test]
fn a_lost_packet_goes_back_once() {
    let mut pair = Pair::new(plain()).scripted(lose(0, Operation::Write, 10));
    pair.post(0, 1, Verb::Write, 100_000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1)]);
    assert_eq!(pair.ends[1].delivered(), 100_000);
    let (sender, receiver) = (pair.ends[0].counters().clone(), pair.ends[1].counters().clone());
    assert_eq!(receiver.naks_sent, 1);
    assert_eq!(sender.naks_received, 1);
    assert_eq!(sender.timeouts, 0);
    // Everything sent in the round trip after it is sent again: 4 us and one packet time, by 86.56
    // ns.
    assert!((46..=49).contains(&sender.retransmitted), "{}", sender.retransmitted);
    assert_eq!(receiver.out_of_sequence + 1, sender.retransmitted);
}

#[test]
fn a_lost_packet_alone_is_repeated_selectively() {
    let config = QpConfig { recovery: Recovery::SelectiveRepeat, ..plain() };
    let mut pair = Pair::new(config).scripted(lose(0, Operation::Write, 10));
    pair.post(0, 1, Verb::Write, 100_000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1)]);
    assert_eq!(pair.ends[1].delivered(), 100_000);
    assert_eq!(pair.ends[0].counters().retransmitted, 1);
    assert_eq!(pair.ends[0].counters().timeouts, 0);
}

/// A write of 400 packets, every other of which takes 3 us longer, so that it is overtaken by 20 to 40; `lost` says what is
/// lost beside that.
fn overtaken(config: QpConfig, mut lost: impl FnMut(&Seen) -> Fate + 'static) -> Pair {
    let late = |seen: &Seen| seen.from == 0 && seen.header.psn.get() % 2 == 1;
    let mut pair = Pair::new(config).scripted(move |seen| match lost(seen) {
        Fate::Pass if late(seen) => Fate::Delay(Span::from_us(3)),
        fate => fate,
    });
    pair.post(0, 1, Verb::Write, 400_000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1)]);
    assert_eq!(pair.ends[1].delivered(), 400_000);
    pair
}

fn overtaking(ack_every: u32) -> QpConfig {
    let recovery = Recovery::SelectiveRepeat;
    QpConfig { recovery, reorder_window: 64, ack_every, ..plain() }
}

#[test]
fn packets_that_overtake_each_other_need_no_answers() {
    let pair = overtaken(overtaking(16), |_| Fate::Pass);
    let receiver = pair.ends[1].counters();
    assert!(receiver.out_of_sequence > 150, "{receiver:?}");
    assert_eq!((receiver.naks_sent, receiver.acks_sent), (0, 25));
    assert_eq!(pair.ends[0].counters().retransmitted, 0);
    // Whoever wants an answer to every packet gets it.
    let reported = overtaken(overtaking(1), |_| Fate::Pass);
    let receiver = reported.ends[1].counters();
    assert_eq!(receiver.naks_sent, receiver.out_of_sequence);
    assert_eq!(pair.now, reported.now);
}

#[test]
fn a_packet_lost_among_overtaken_ones_is_asked_for_once() {
    let ends = [16, 1].map(|ack_every| {
        let pair = overtaken(overtaking(ack_every), lose(0, Operation::Write, 100));
        assert_eq!(pair.ends[0].counters().retransmitted, 1);
        assert_eq!(pair.ends[0].counters().timeouts, 0);
        assert_eq!(pair.ends[1].counters().naks_sent == 1, ack_every == 16);
        pair.now
    });
    assert_eq!(ends[0], ends[1], "found out as soon as where every packet is reported");
}

#[test]
fn a_lost_packet_is_asked_for_again_without_a_timeout() {
    let config = QpConfig { nak_interval: Span::from_us(10), ..overtaking(16) };
    let (mut data, mut request) =
        (lose(0, Operation::Write, 100), lose(1, Operation::Acknowledge, 6));
    let pair = overtaken(config, move |seen| match data(seen) {
        Fate::Pass => request(seen),
        fate => fate,
    });
    let lost = pair.sent(1, Operation::Acknowledge)[6].header;
    assert!(matches!(lost.extension, Extension::Aeth(Aeth { syndrome: Syndrome::Missing, .. })));
    assert_eq!(pair.ends[1].counters().naks_sent, 2);
    assert_eq!((pair.ends[0].counters().retransmitted, pair.ends[0].counters().timeouts), (1, 0));
}

#[test]
fn what_gets_lost_last_is_recovered_by_the_timer() {
    let config = plain();
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        for (from, operation, nth) in [(0, Operation::Write, 9), (1, Operation::Acknowledge, 9)] {
            let config = QpConfig { recovery, ..config.clone() };
            let mut pair = Pair::new(config.clone()).scripted(lose(from, operation, nth));
            pair.post(0, 1, Verb::Write, 10_000);
            pair.run();
            assert_eq!(pair.completions(0), [ok(1)]);
            assert_eq!(pair.ends[1].delivered(), 10_000);
            assert_eq!(pair.ends[0].counters().timeouts, 1, "{operation:?}");
            assert_eq!(pair.ends[0].counters().retransmitted, 1);
            assert!(pair.now > Instant::ZERO + config.timeout);
            assert!(pair.now < Instant::ZERO + config.timeout + Span::from_us(20));
        }
    }
}

#[test]
fn a_lost_nak_is_recovered() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let mut lost_data = lose(0, Operation::Write, 0);
        let mut lost_nak = lose(1, Operation::Acknowledge, 0);
        let config = QpConfig { recovery, ..plain() };
        let mut pair = Pair::new(config).scripted(move |seen| {
            let (a, b) = (lost_data(seen), lost_nak(seen));
            if a == Fate::Lose { a } else { b }
        });
        pair.post(0, 1, Verb::Write, 2_000);
        pair.run();
        assert_eq!(pair.completions(0), [ok(1)]);
        assert_eq!(pair.ends[1].delivered(), 2_000);
        assert_eq!(pair.ends[0].counters().timeouts, 1);
    }
}

#[test]
fn a_nak_is_not_repeated_within_its_interval_but_after_it() {
    // Everything from the eleventh packet on is lost once, except some stragglers.
    let config = QpConfig { nak_interval: Span::from_us(5), timeout: Span::ZERO, ..plain() };
    let mut first = true;
    let mut pair = Pair::new(config).scripted(move |seen| {
        let nth = seen.header.psn.get();
        let lost = seen.from == 0 && nth == 10 && (first || seen.at < Instant::from_ps(8_000_000));
        first &= !lost;
        if lost { Fate::Lose } else { Fate::Pass }
    });
    pair.post(0, 1, Verb::Write, 300_000);
    pair.run();
    // The repetition was lost too; without a timer only the second NAK could help.
    assert!(pair.ends[1].counters().naks_sent >= 2);
    assert_eq!(pair.completions(0), [ok(1)]);
}

#[test]
fn a_dead_peer_is_given_up() {
    let config = QpConfig { retry_limit: 3, ..plain() };
    let timeout = config.timeout;
    let mut pair = Pair::new(config).scripted(|_| Fate::Lose);
    pair.post(0, 1, Verb::Write, 10_000);
    pair.post(0, 2, Verb::Read, 10_000);
    pair.run();
    assert_eq!(pair.completions(0), [done(1, Status::RetryExceeded), done(2, Status::Flushed)]);
    assert_eq!(pair.ends[0].counters().timeouts, 4);
    assert!(pair.now >= Instant::ZERO + timeout * 4);
    let work = WorkRequest {
        id: 3,
        operation: Verb::Write,
        length: Bytes::new(1),
        address: 0,
        rkey: Rkey(0),
    };
    assert_eq!(pair.ends[0].post(pair.now, work), Err(PostError::Failed));
    assert!(pair.ends[0].next_send().is_never() && pair.ends[0].deadline().is_never());
}

#[test]
fn seven_retries_are_a_count_and_not_for_ever() {
    let timeout = plain().timeout;
    let mut pair = Pair::new(plain()).scripted(|_| Fate::Lose);
    pair.post(0, 1, Verb::Send, 3000);
    pair.run();
    assert_eq!(pair.completions(0), [done(1, Status::RetryExceeded)]);
    assert_eq!(pair.ends[0].counters().timeouts, 8);
    // The timer starts with the first packet of the message, at zero.
    assert_eq!(pair.now, Instant::ZERO + timeout * 8);
}

#[test]
fn progress_starts_the_count_anew() {
    // A link that works once in six timeouts: slow, and never dead for long enough.
    let timeout = plain().timeout;
    let mut pair = Pair::new(plain()).scripted(move |seen| {
        let round = seen.at.since(Instant::ZERO).as_ps() / timeout.as_ps();
        if round % 6 == 5 { Fate::Pass } else { Fate::Lose }
    });
    for id in 0..4 {
        pair.post(0, id, Verb::Send, 3000);
    }
    pair.run();
    assert_eq!(pair.completions(0), [ok(0), ok(1), ok(2), ok(3)]);
    assert!(pair.ends[0].counters().timeouts >= 5);
}

#[test]
fn adaptive_retransmission_tries_early_and_gives_up_at_the_same_time() {
    let timeout = plain().timeout;
    let config = QpConfig { adaptive_retransmission: true, ..plain() };
    let dead = |config: QpConfig| {
        let mut pair = Pair::new(config).scripted(|_| Fate::Lose);
        pair.post(0, 1, Verb::Send, 3000);
        pair.run();
        assert_eq!(pair.completions(0), [done(1, Status::RetryExceeded)]);
        (pair.now, pair.ends[0].counters().timeouts)
    };
    let (fixed, adaptive) = (dead(plain()), dead(config.clone()));
    assert_eq!(fixed.0, adaptive.0);
    // 1/16, 1/8, 1/4 and 1/2 of the timeout come first.
    assert!(adaptive.1 > fixed.1, "{adaptive:?} after {fixed:?}");
    // A lost last packet is repaired after the first of them.
    let mut pair = Pair::new(config).scripted(lose(0, Operation::Send, 2));
    pair.post(0, 1, Verb::Send, 3000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1)]);
    assert!(pair.now < Instant::ZERO + timeout, "{:?}", pair.now);
}

#[test]
fn too_long_a_message_is_refused() {
    let mut pair = Pair::new(plain());
    let work =
        |length| WorkRequest { id: 1, operation: Verb::Write, length, address: 0, rkey: Rkey(0) };
    let longer = MAX_MESSAGE + Bytes::new(1);
    assert_eq!(pair.ends[0].post(Instant::ZERO, work(longer)), Err(PostError::TooLong));
    assert_eq!(pair.ends[0].post(Instant::ZERO, work(Bytes::MAX)), Err(PostError::TooLong));
    assert_eq!(pair.ends[0].post(Instant::ZERO, work(MAX_MESSAGE)), Ok(()));
}

#[test]
fn a_receiver_that_is_not_ready_is_waited_for() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let config = QpConfig { recovery, rnr_delay: Span::from_us(20), ..plain() };
        let mut pair = Pair::new(config).with_memory(1);
        pair.side(1).post_receive(70, 2500);
        pair.post(0, 1, Verb::Send, 2500);
        pair.post(0, 2, Verb::Send, 1500);
        pair.run_until(Instant::ZERO + Span::from_us(50));
        assert_eq!(pair.completions(0), [ok(1)]);
        assert_eq!(pair.ends[1].poll_receive().map(|r| (r.id, r.length.get())), Some((70, 2500)));
        let waits = pair.ends[1].counters().rnr_sent;
        assert!((2..=3).contains(&waits), "{waits}");
        pair.side(1).post_receive(71, 2000);
        pair.run();
        assert_eq!(pair.completions(0), [ok(2)]);
        assert_eq!(pair.ends[1].poll_receive().map(|r| (r.id, r.length.get())), Some((71, 1500)));
        assert_eq!(pair.ends[1].delivered(), 4000);
        assert_eq!(pair.ends[0].counters().timeouts, 0);
    }
}

#[test]
fn a_send_longer_than_its_receive_fails() {
    let mut pair = Pair::new(plain()).with_memory(1);
    pair.side(1).post_receive(70, 2000);
    pair.side(1).post_receive(71, 2000);
    pair.post(0, 1, Verb::Send, 2001);
    pair.post(0, 2, Verb::Send, 1);
    pair.post(1, 3, Verb::Send, 1);
    pair.run();
    let failed = [done(1, Status::RemoteInvalidRequest), done(2, Status::Flushed)];
    assert_eq!(pair.completions(0), failed);
    assert_eq!(pair.completions(1), [done(3, Status::Flushed)]);
    let [_, end] = &mut pair.ends;
    let [_, side] = pair.sides.as_mut().unwrap();
    end.flush_receives(&mut side.receives);
    let ended: Vec<_> = pair.receives(1).iter().map(|r| (r.id, r.status)).collect();
    assert_eq!(ended, [(70, Status::LocalLength), (71, Status::Flushed)]);
    assert!(pair.ends.iter().all(|end| end.has_failed()));
}

#[test]
fn a_read_fetches_and_takes_numbers_for_its_data() {
    let mut pair = Pair::new(plain());
    pair.post(0, 1, Verb::Write, 1000);
    pair.post(0, 2, Verb::Read, 3500);
    pair.post(0, 3, Verb::Write, 1000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1), ok(2), ok(3)]);
    assert_eq!((pair.ends[0].delivered(), pair.ends[1].delivered()), (3500, 2000));
    assert_eq!(pair.sent(0, Operation::ReadRequest)[0].header.psn, Psn::new(1));
    let data = pair.sent(1, Operation::ReadResponse);
    let psns: Vec<u32> = data.iter().map(|d| d.header.psn.get()).collect();
    assert_eq!(psns, [1, 2, 3, 4]);
    assert_eq!(data[3].header.payload, 500);
    assert_eq!(pair.sent(0, Operation::Write)[1].header.psn, Psn::new(5));
    // Data of a read is paced like any other.
    assert_eq!(data[2].at - data[1].at, Span::from_ps(1082 * 80));
}

#[test]
fn lost_data_of_a_read_is_asked_for_again() {
    let mut pair = Pair::new(plain()).scripted(lose(1, Operation::ReadResponse, 3));
    pair.post(0, 1, Verb::Read, 100_000);
    pair.post(0, 2, Verb::Read, 100_000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1), ok(2)]);
    assert_eq!(pair.ends[0].delivered(), 200_000);
    assert_eq!(pair.ends[0].counters().timeouts, 0);
    let requests = pair.sent(0, Operation::ReadRequest);
    assert_eq!(requests[2].header.psn, Psn::new(3));
}

#[test]
fn answers_on_their_way_do_not_make_a_read_be_asked_for_again() {
    // As with a peer that answers everything in turn, and takes long to come to what is repeated.
    let config = QpConfig { nak_interval: Span::from_ns(100), ..plain() };
    let mut pair = Pair::new(config).scripted(lose(1, Operation::ReadResponse, 3));
    pair.post(0, 1, Verb::Read, 100_000);
    pair.post(0, 2, Verb::Read, 100_000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1), ok(2)]);
    assert_eq!(pair.ends[0].counters().timeouts, 0);
    assert_eq!(pair.sent(0, Operation::ReadRequest).len(), 4, "each twice");
}

#[test]
fn a_repeated_answer_whose_beginning_is_lost_is_asked_for_at_once() {
    let mut lost = 0;
    let script = move |seen: &pair::Seen| {
        // The fourth packet of the data, the first two times.
        let data = seen.header.opcode.operation() == Operation::ReadResponse;
        if data && seen.header.psn == Psn::new(3) && lost < 2 {
            lost += 1;
            return Fate::Lose;
        }
        Fate::Pass
    };
    let config = QpConfig { nak_interval: Span::from_ns(100), ..plain() };
    let mut pair = Pair::new(config).scripted(script);
    pair.post(0, 1, Verb::Read, 100_000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1)]);
    assert_eq!(pair.ends[0].counters().timeouts, 0);
    assert_eq!(pair.sent(0, Operation::ReadRequest).len(), 3);
}

#[test]
fn a_lost_read_request_or_its_last_data_is_recovered() {
    for (from, operation, nth) in [(0, Operation::ReadRequest, 0), (1, Operation::ReadResponse, 9)]
    {
        let mut pair = Pair::new(plain()).scripted(lose(from, operation, nth));
        pair.post(0, 1, Verb::Read, 10_000);
        pair.run();
        assert_eq!(pair.completions(0), [ok(1)]);
        assert_eq!(pair.ends[0].delivered(), 10_000);
        assert_eq!(pair.ends[0].counters().timeouts, 1);
    }
}

#[test]
fn both_directions_share_a_queue_pair() {
    let mut pair = Pair::new(plain());
    pair.post(0, 1, Verb::Write, 50_000);
    pair.post(1, 2, Verb::Read, 50_000);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1)]);
    assert_eq!(pair.completions(1), [ok(2)]);
    assert_eq!(pair.ends[1].delivered(), 100_000);
    // Neither waits for the other to end.
    let data = pair.sent(0, Operation::ReadResponse);
    let writes = pair.sent(0, Operation::Write);
    assert!(data[5].at < writes[49].at && writes[49].at < data[49].at + Span::from_us(1));
}

#[test]
fn numbers_wrap() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let config = QpConfig { recovery, ..plain() };
        let mut pair = Pair::new(config).scripted(lose(0, Operation::Write, 40));
        let (near, nearer) = (Psn::new(0xff_ffe0), Psn::new(0xff_fff0));
        let [a, b] = pair.ends;
        pair.ends = [a.starting_at(near, nearer), b.starting_at(nearer, near)];
        pair.post(0, 1, Verb::Write, 100_000);
        pair.post(0, 2, Verb::Read, 100_000);
        pair.post(1, 3, Verb::Read, 100_000);
        pair.run();
        assert_eq!(pair.completions(0), [ok(1), ok(2)]);
        assert_eq!(pair.completions(1), [ok(3)]);
        assert_eq!(pair.sent(0, Operation::Write)[0].header.psn, near);
        let wrapped = pair.sent(0, Operation::Write).iter().any(|p| p.header.psn == Psn::new(3));
        assert!(wrapped);
    }
}

#[test]
fn a_read_of_two_gibibytes_asks_in_parts() {
    let mut pair = Pair::new(QpConfig { mtu: Bytes::new(1024), ..plain() });
    pair.keep_log = false;
    pair.post(0, 1, Verb::Read, 1 << 31);
    pair.run();
    assert_eq!(pair.completions(0), [ok(1)]);
    assert_eq!(pair.ends[0].delivered(), 1 << 31);
    assert_eq!(pair.ends[0].counters().retransmitted, 0);
}

#[test]
fn an_early_deadline_does_nothing() {
    let mut pair = Pair::new(plain());
    pair.post(0, 1, Verb::Write, 10_000);
    pair.run_until(Instant::ZERO + Span::from_us(1));
    let before = format!("{:?}", pair.ends[0]);
    pair.ends[0].handle_deadline(pair.now);
    assert_eq!(before, format!("{:?}", pair.ends[0]));
    // Progress moved the timer: it now runs from the last acknowledgement on.
    let deadline = pair.ends[0].deadline();
    pair.run_until(Instant::ZERO + Span::from_us(6));
    assert!(pair.ends[0].deadline().is_never() || pair.ends[0].deadline() > deadline);
}

#[test]
fn an_empty_message_is_one_packet() {
    for verb in [Verb::Write, Verb::Send, Verb::Read] {
        let mut pair = Pair::new(plain());
        pair.post(0, 1, verb, 0);
        pair.run();
        assert_eq!(pair.completions(0), [ok(1)]);
        assert!(pair.log.len() <= 2);
    }
}

#[test]
fn packets_for_somebody_else_are_ignored() {
    let mut pair = Pair::new(plain());
    pair.post(0, 1, Verb::Write, 1000);
    let mut header = pair.ends[0].poll_transmit(Instant::ZERO).unwrap();
    header.dest_qp = xoff_wire::Qpn::new(99);
    pair.ends[1].handle(Instant::ZERO, &header, xoff_transport::Signals::default());
    assert_eq!(pair.ends[1].delivered(), 0);
    assert_eq!(pair.ends[1].counters().ignored, 1);
    assert_eq!(pair.ends[1].poll_control(Instant::ZERO), None);
    assert_eq!(header.opcode, Opcode::WriteOnly);
    assert_eq!(pair.ends[0].rate(), LINE);
}

#[test]
fn a_row_of_messages_ends_where_numbers_in_flight_do() {
    let config = QpConfig { recovery: Recovery::SelectiveRepeat, ..plain() };
    let mut pair = Pair::new(config);
    pair.post(0, 0, Verb::Write, 10_000);
    (1..1 << 16).for_each(|id| pair.post(0, id, Verb::Send, 0));
    let (sender, mut sent) = (&mut pair.ends[0], 0);
    // As if there was time for all of it.
    let slack = Slack { ahead: Span::from_us(1_000_000), behind: Span::ZERO };
    while let Some(header) = sender.poll_transmit_within(Instant::ZERO, slack) {
        sent += 1 + sender.poll_alike_within(Instant::ZERO, slack, &header, u32::MAX);
        sent += sender.poll_row_within(Instant::ZERO, slack, &header, u32::MAX);
    }
    assert_eq!(sent, 1 << 16, "a scoreboard keeps no more packets than its span");
}
