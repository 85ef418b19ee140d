//! NICs with two ports on two switches: both are used, and one is enough.

use crate::common::{fabric, flow, last_completion};
use std::fmt::Write;
use xoff_fabric::model::{Fabric, PortId};
use xoff_fabric::scenario::{Fault, LinkChoice, LinkDown, Reaction, SwitchDown};
use xoff_sim::{Drop, Outcome, Report, Settings, Silent};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

/// Two pairs of leaves under two spines, so many NICs on each pair, with so many ports each.
fn fabric_of(nics: u32, ports: usize) -> Fabric {
    let mut text =
        "[cluster]\nnic = \"generic-200g\"\n[fabric]\nkind = \"custom\"\nleaf = \"ideal\"\n\
                    [links]\ndelay = \"500ns\"\nrate = \"200Gbps\"\n[transport]\n\
                    congestion = { kind = \"none\" }\n"
            .to_owned();
    for leaf in ["a0", "b0", "a1", "b1"] {
        write!(text, "[[node]]\nname = \"{leaf}\"\nkind = \"switch\"\n").unwrap();
    }
    for spine in ["x", "y"] {
        write!(text, "[[node]]\nname = \"{spine}\"\nkind = \"switch\"\ntier = \"spine\"\n")
            .unwrap();
        for leaf in ["a0", "b0", "a1", "b1"] {
            let rate = nics * 100;
            write!(text, "[[link]]\nends = \"{leaf} {spine}\"\nrate = \"{rate}Gbps\"\n").unwrap();
        }
    }
    for nic in 0..2 * nics {
        let pair = nic / nics;
        write!(text, "[[node]]\nname = \"n{nic}\"\nkind = \"nic\"\n").unwrap();
        for leaf in ["a", "b"].into_iter().take(ports) {
            write!(text, "[[link]]\nends = \"n{nic} {leaf}{pair}\"\n").unwrap();
        }
    }
    fabric(&text)
}

/// So many flows from each NIC of the first pair to its counterpart on the second.
fn across(fabric: &Fabric, flows: u32, bytes: u64) -> Vec<Flow> {
    let nics = fabric.nics.len() as u32 / 2;
    let pair = |n: u32| {
        let (source, port) = (n % nics, 0xc000 | (n * 977) as u16 & 0x3fff);
        Flow { source_port: port, ..flow(fabric, source, source + nics, bytes) }
    };
    (0..nics * flows).map(pair).collect()
}

fn run(fabric: &Fabric, flows: &[Flow], faults: &[Fault], until: Option<Span>) -> Report {
    let until = until.map(|span| Instant::ZERO + span);
    let settings = Settings { until, check_wire: true, ..Settings::default() };
    xoff_sim::run(fabric, flows, faults, &settings, &mut Silent).expect("a run")
}

const SOON: Reaction = Reaction::after(Span::from_us(20), Span::from_us(20));

fn link_down(link: &str, at: Span, restore_after: Option<Span>) -> Fault {
    let links = LinkChoice { link: Some(link.to_owned()), ..LinkChoice::default() };
    Fault::LinkDown(LinkDown { links, at, restore_after, silent: false, reaction: SOON })
}

fn sent(report: &Report, port: u32) -> u64 {
    report.ports[port as usize].iter().map(|class| class.tx_bytes).sum()
}

/// Many flows use both ports of their NIC about equally, there and back, and take half the time.
#[test]
fn both_ports_are_used() {
    let (two, one) = (fabric_of(2, 2), fabric_of(2, 1));
    let double = run(&two, &across(&two, 64, 1_000_000), &[], None);
    let single = run(&one, &across(&one, 64, 1_000_000), &[], None);
    let times = [&double, &single].map(|report| last_completion(report).as_us_f64());
    assert!(times[1] / times[0] > 1.4, "{times:?}");
    assert_eq!(double.dropped, [[0; Drop::COUNT]; 8]);
    for nic in &two.nics[..2] {
        let shares: Vec<u64> = nic.ports.clone().map(|port| sent(&double, port)).collect();
        assert!(shares.iter().all(|share| *share > 20_000_000), "{shares:?}");
    }
    for nic in &two.nics[2..] {
        let peers = nic.ports.clone().map(|port| two.ports[PortId(port).index()].peer);
        let shares: Vec<u64> = peers.map(|port| sent(&double, port.0)).collect();
        assert!(shares.iter().all(|share| *share > 15_000_000), "{shares:?}");
    }
}

/// A NIC that loses one of its links goes on with the other; with one link it stands still.
#[test]
fn one_port_is_enough() {
    let cut = || [link_down("n0 a0", Span::from_us(50), None)];
    let two = fabric_of(2, 2);
    let report = run(&two, &across(&two, 16, 1_000_000), &cut(), Some(Span::from_ms(200)));
    assert_eq!(report.outcome, Outcome::Completed);
    assert!(report.dropped.iter().any(|reasons| reasons[Drop::LinkDown as usize] > 0));
    assert_eq!(report.lossless_drops(&[true; 8]), 0, "{:?}", report.dropped);
    let ports = two.nics[0].ports.clone();
    let shares: Vec<u64> = ports.map(|port| sent(&report, port)).collect();
    // 70 us at 200 Gb/s, and packets of 4 KB that are being sent.
    assert!(shares[0] < 1_760_000 && shares[1] > 14_000_000, "{shares:?}");

    let one = fabric_of(2, 1);
    let report = run(&one, &across(&one, 16, 1_000_000), &cut(), Some(Span::from_ms(20)));
    assert_eq!(report.outcome, Outcome::TimeUp);
    for (flow, result) in across(&one, 16, 1_000_000).iter().zip(&report.flows) {
        assert_eq!(result.end.is_some(), flow.source.0 == 1, "{flow:?}");
    }
}

/// Also a whole leaf can go, and come back.
#[test]
fn servers_survive_a_leaf() {
    let fabric = fabric_of(3, 2);
    let flows = across(&fabric, 12, 2_000_000);
    let fault = |restore_after| {
        [Fault::SwitchDown(SwitchDown {
            switch: Some("b1".to_owned()),
            count: None,
            tier: None,
            at: Span::from_us(40),
            restore_after,
            drain: None,
            reaction: SOON,
        })]
    };
    let whole = last_completion(&run(&fabric, &flows, &[], None));
    let gone = run(&fabric, &flows, &fault(None), Some(Span::from_ms(200)));
    assert_eq!(gone.outcome, Outcome::Completed);
    assert_eq!(gone.lossless_drops(&[true; 8]), 0, "{:?}", gone.dropped);
    let back = run(&fabric, &flows, &fault(Some(Span::from_us(100))), Some(Span::from_ms(200)));
    assert_eq!(back.outcome, Outcome::Completed);
    let times = [whole, last_completion(&back), last_completion(&gone)];
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    // Once back, the leaf carries flows again.
    let port = |report: &Report| {
        let peer = fabric.ports[fabric.nics[3].ports.start as usize + 1].peer;
        sent(report, peer.0)
    };
    assert!(port(&back) > port(&gone) + 1_000_000, "{} {}", port(&back), port(&gone));
}

/// One of sixteen links of a server is a sixteenth of its bandwidth: 6.25 %.
#[test]
fn one_link_of_sixteen_is_a_sixteenth() {
    let fabric = fabric_of(8, 2);
    // More flows than hash unevenly, longer than the time that is looked at.
    let flows = across(&fabric, 48, 20_000_000);
    let out = |faults: &[Fault]| {
        let bytes = [300, 600].map(|us| {
            let report = run(&fabric, &flows, faults, Some(Span::from_us(us)));
            let ports = fabric.nics[..8].iter().flat_map(|nic| nic.ports.clone());
            ports.map(|port| sent(&report, port)).sum::<u64>()
        });
        (bytes[1] - bytes[0]) as f64
    };
    let share = out(&[link_down("n0 a0", Span::from_us(10), None)]) / out(&[]);
    assert!((0.92..0.955).contains(&share), "{share}, and 0.9375 was expected");
}
