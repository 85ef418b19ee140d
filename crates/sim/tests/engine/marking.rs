//! When switches mark, and who tells senders.

use crate::common::{fabric, flow};
use std::fmt::Write;
use xoff_fabric::model::{Fabric, PortId};
use xoff_sim::{Outcome, Report, Settings, Silent};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

/// So many senders and one receiver on a switch, 10 us of cable each, 100G; marking is certain above
/// 100 KB.
fn star(senders: u32, ecn: &str) -> Fabric {
    let mut text = format!(
        "[cluster]\nnic = 'generic-100g'\n[fabric]\nkind = 'custom'\nleaf = 'ideal'\n\
         [transport]\ncnp-delay = 0\ncongestion = {{ kind = 'dcqcn' }}\n[nic]\nlatency = 0\n\
         [links]\ndelay = '10us'\nrate = '100Gbps'\n\
         [ecn]\nkmin = '100KB'\nkmax = '100KB'\nscale = false\n{ecn}\n\
         [[node]]\nname = 's'\nkind = 'switch'\n"
    );
    for nic in 0..=senders {
        write!(text, "[[node]]\nname = 'h{nic}'\nkind = 'nic'\n[[link]]\nends = 'h{nic} s'\n")
            .unwrap();
    }
    fabric(&text)
}

fn flows(fabric: &Fabric, bytes: u64) -> Vec<Flow> {
    let receiver = fabric.nics.len() as u32 - 1;
    (0..receiver).map(|sender| flow(fabric, sender, receiver, bytes)).collect()
}

fn run(fabric: &Fabric, flows: &[Flow], until: Option<Instant>) -> Report {
    let settings = Settings { until, check_wire: true, ..Settings::default() };
    xoff_sim::run(fabric, flows, &[], &settings, &mut Silent).expect("a run")
}

/// When the first notification reaches a sender, to 10 ns.
fn first_notification(ecn: &str) -> Span {
    let fabric = star(2, ecn);
    let flows = flows(&fabric, 4_000_000);
    let heard = |at: Span| run(&fabric, &flows, Some(Instant::ZERO + at)).cnps > 0;
    let (mut before, mut after) = (Span::ZERO, Span::from_us(200));
    assert!(heard(after), "nobody is notified");
    while after - before > Span::from_ns(10) {
        let middle = Span::from_ps((before.as_ps() + after.as_ps()) / 2);
        *(if heard(middle) { &mut after } else { &mut before }) = middle;
    }
    after
}

fn near(what: &str, early: Span, late: Span, expected_us: f64) {
    let apart = late.as_us_f64() - early.as_us_f64();
    assert!((apart - expected_us).abs() < 0.1, "{what}: {apart} us and not {expected_us}");
}

/// The rest of the path, 10 us and a packet of 4178 B, and the way back to the switch, 10 us and a
/// notification.
#[test]
fn a_switch_notifies_earlier_by_the_way_to_the_receiver_and_back() {
    let (by_switch, by_receiver) =
        (first_notification("notify = 'switch'"), first_notification(""));
    near("switch before receiver", by_switch, by_receiver, 20.34);
}

/// A packet marked when it joins a queue of more than 100 KB, which is 25 packets, waits for these first; one
/// marked when it leaves does not.
#[test]
fn a_mark_at_enqueue_waits_in_the_queue() {
    let (dequeue, enqueue) = (first_notification(""), first_notification("mark = 'enqueue'"));
    near("dequeue before enqueue", dequeue, enqueue, 25.0 * 4178.0 * 80e-6);
}

/// Nobody waits for it where the switch notifies: then marking at enqueue differs by the packets that joined
/// while the first was on the wire.
#[test]
fn a_switch_notifies_at_once_whenever_it_marks() {
    let [dequeue, enqueue] = ["dequeue", "enqueue"]
        .map(|mark| first_notification(&format!("notify = 'switch'\nmark = '{mark}'")));
    let apart = (dequeue.as_us_f64() - enqueue.as_us_f64()).abs();
    assert!(apart < 1.0, "{dequeue} and {enqueue}");
}

#[test]
fn an_incast_queues_less_where_switches_notify() {
    let peak = |ecn: &str| {
        let fabric = star(8, ecn);
        let report = run(&fabric, &flows(&fabric, 8_000_000), None);
        assert_eq!(report.outcome, Outcome::Completed);
        assert_eq!(report.lossless_drops(&[true; 8]), 0);
        let last = fabric.nics[8].ports.start as usize;
        let queue = fabric.ports[PortId(last as u32).index()].peer;
        (report.ports[queue.index()][3].deepest_queue.get(), report)
    };
    let (marked, by_receiver) = peak("");
    let (notified, by_switch) = peak("notify = 'switch'");
    assert!(notified * 4 < marked * 3, "{notified} B and {marked} B");
    assert!(by_receiver.marks() > 0 && by_receiver.switch_cnps == 0);
    assert_eq!(by_switch.marks(), 0, "a packet is marked though its sender was notified");
    assert!(by_switch.cnps > 0 && by_switch.cnps <= by_switch.switch_cnps);
    // At most one per flow in 4 us.
    let most = 8 * (by_switch.end.since(Instant::ZERO).as_ps() / Span::from_us(4).as_ps() + 1);
    assert!(by_switch.switch_cnps <= most, "{} of {most}", by_switch.switch_cnps);
}
