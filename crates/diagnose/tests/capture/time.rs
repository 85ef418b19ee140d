//! Rates, notifications and pauses over time.

use crate::harness::{Tape, forward, kinds, only};
use xoff_diagnose::capture::{Kind, Options};
use xoff_units::Rate;
use xoff_wire::ethernet::MacAddr;
use xoff_wire::frame::Builder;
use xoff_wire::pause::{Pause, Quanta};

#[test]
fn a_sender_that_is_notified_is_seen_to_slow_down() {
    let mut tape = Tape::new();
    let mut psn = 0;
    let mut send = |tape: &mut Tape, packets: u32, every_us: u64| {
        for _ in 0..packets {
            tape.write(0, xoff_wire::Opcode::WriteOnly, psn);
            tape.wait(every_us);
            psn += 1;
        }
    };
    // 8.752 Gb/s, a notification, half of that.
    send(&mut tape, 1000, 1);
    tape.cnp(1);
    send(&mut tape, 500, 2);
    tape.cnp(1);
    send(&mut tape, 100, 2);
    tape.ack(1, psn - 1);
    let report = tape.report();
    let direction = forward(&report);
    let rates = direction.rate.unwrap();
    let near = |found: u64, gbps: f64| (found as f64 / 1e9 - gbps).abs() < 0.15 * gbps;
    assert!(near(rates.peak_bps, 8.752), "{rates:?}");
    assert!(near(rates.lowest_bps, 4.376), "{rates:?}");
    assert_eq!(direction.cnps.count, 2);
    assert_eq!(direction.cnp_interval_ns, Some(1_000_000));
    assert!((direction.cnps_per_second - 2.0 / 2.2e-3).abs() < 2.0, "{direction:?}");
    let course = &report.course;
    let sender = course.senders.iter().find(|sender| sender.end == "a").unwrap();
    assert_eq!(sender.connection, 1);
    assert_eq!(sender.bytes.iter().sum::<u64>(), direction.wire_bytes);
    let bins: Vec<_> = (0..).zip(&sender.cnps).filter(|(_, count)| **count > 0).collect();
    let bin = |us: u64| us * 1000 / course.bin_ns;
    assert_eq!(bins, [(bin(1000), &1), (bin(2000), &1)]);
    assert_eq!(only(&report).b_to_a.cnps.count, 0);
    let finding = report.findings.iter().find(|finding| finding.kind == Kind::Cnp).unwrap();
    assert!(finding.text.contains("2 congestion notifications to this sender, 9"), "{finding:?}");
}

#[test]
fn losses_have_their_time() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2, 4]);
    tape.answer(1, xoff_wire::Syndrome::SequenceError, 3);
    tape.wait(50).writes(0, [3, 4, 5]);
    tape.ack(1, 5);
    let report = tape.report();
    let sender = &report.course.senders[0];
    let at = |counts: &[u32]| counts.iter().position(|count| *count > 0);
    assert_eq!((at(&sender.gaps), at(&sender.resent)), (Some(2), Some(53)));
    assert_eq!(sender.resent.iter().sum::<u32>(), 2);
}

fn pause(tape: &mut Tape, station: u8, enabled: u16, quanta: u16) -> u64 {
    let pause = Pause::Priorities { enabled, quanta: [Quanta(quanta); 8] };
    let mut bytes = vec![0; 60];
    Builder::write_pause(MacAddr([2, 0, 0, 0, 0, station]), &pause, &mut bytes).unwrap();
    tape.raw(bytes)
}

#[test]
fn pauses_belong_to_the_port_that_sent_them() {
    let mut tape = Tape::new();
    // One port pauses for 5 us and resumes, another lets it expire: 1000 quanta at 100 Gb/s are 5.12 us.
    pause(&mut tape, 1, 1 << 3, 0xffff);
    pause(&mut tape, 2, 1 << 4, 1000);
    tape.wait(5);
    pause(&mut tape, 1, 1 << 3, 0);
    tape.wait(95);
    pause(&mut tape, 2, 1 << 4, 0);
    let report = tape.report();
    let ports = &report.pauses.ports;
    assert_eq!(ports.len(), 2);
    assert_eq!((ports[0].station.as_str(), ports[0].frames), ("02:00:00:00:00:01", 2));
    let (first, second) = (&ports[0].paused[0], &ports[1].paused[0]);
    assert_eq!((first.priority, first.paused_ns), (Some(3), 5000));
    assert_eq!((second.priority, second.paused_ns), (Some(4), 5120));
    assert_eq!((first.share, second.share), (0.05, 0.0512));
    assert_eq!((first.count.pauses.count, first.count.resumes), (1, 1));
    assert_eq!(report.course.pauses.len(), 2);
    assert_eq!(report.course.pauses[0].paused_ns.iter().sum::<u64>(), 5000);
    assert_eq!(kinds(&report), [Kind::Paused, Kind::Paused]);
    // At 400 Gb/s a quantum is shorter.
    let fast = Options { link_rate: Rate::from_gbps(400), ..Options::default() };
    assert_eq!(tape.report_with(fast).pauses.ports[1].paused[0].paused_ns, 1280);
}

#[test]
fn a_storm_is_told_from_congestion() {
    let storm = |frames: u32, resumed: bool| {
        let mut tape = Tape::new();
        for _ in 0..frames {
            pause(&mut tape, 7, 1 << 3, 0xffff);
            tape.wait(20);
            if resumed {
                pause(&mut tape, 7, 1 << 3, 0);
                tape.wait(180);
            }
        }
        tape.report()
    };
    let congested = storm(100, true);
    assert_eq!(kinds(&congested), [Kind::Paused]);
    assert!((congested.pauses.ports[0].paused[0].share - 0.1).abs() < 0.01);
    let stormy = storm(100, false);
    assert_eq!(kinds(&stormy), [Kind::PauseStorm, Kind::Paused]);
    let text = &stormy.findings[0].text;
    assert!(
        text.starts_with("02:00:00:00:00:07 paused priority 3 for 100.0 % of the time"),
        "{text}"
    );
    assert_eq!(stormy.pauses.ports[0].paused[0].longest_ns, 99 * 20_000);
}
