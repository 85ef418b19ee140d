//! Faults whose cost can be worked out by hand.

use crate::common::{fabric, flow, last_completion};
use std::fmt::Write;
use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::scenario::{
    Fault, LinkChoice, LinkDegraded, LinkDown, NodeRef, Reaction, RouteChange, Setting, SwitchDown,
};
use xoff_sim::{Drop, Observer, Outcome, Report, Settings, Trace, TraceKind};
use xoff_units::{Bytes, Instant, Rate, Ratio, Span};
use xoff_workload::Flow;

/// 4096 B + 62 B + 20 B at 100G.
const PACKET: Span = Span::from_ps(4178 * 80);

/// `a` and `c` on `s`, `b` on `t`, so many cables of 1 us between, everything at 100G.
fn line(cables: u32, first_rate: &str, more: &str) -> Fabric {
    let mut text = format!(
        "[cluster]\nnic = \"generic-100g\"\n[fabric]\nkind = \"custom\"\nleaf = \"ideal\"\n\
         [transport]\ncongestion = {{ kind = \"none\" }}\ntimeout = \"4ms\"\nadaptive-retransmission = false\nnak-interval = \"1ms\"\n\
         [nic]\nlatency = 0\n[links]\ndelay = \"1us\"\nrate = \"100Gbps\"\n{more}\n"
    );
    for (name, kind) in [("a", "nic"), ("c", "nic"), ("b", "nic"), ("s", "switch"), ("t", "switch")]
    {
        write!(text, "[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n").unwrap();
    }
    write!(
        text,
        "[[link]]\nends = \"a s\"\nrate = \"{first_rate}\"\n[[link]]\nends = \"c s\"\n\
         [[link]]\nends = \"b t\"\n[[link]]\nends = \"s t\"\nparallel = {cables}\n"
    )
    .unwrap();
    fabric(&text)
}

/// What was told.
#[derive(Default)]
struct Told(Vec<Trace>);

impl Observer for Told {
    fn trace(&mut self, trace: &Trace) {
        self.0.push(*trace);
    }
}

fn run(fabric: &Fabric, flows: &[Flow], faults: &[Fault]) -> (Report, Vec<Trace>) {
    run_until(fabric, flows, faults, None)
}

fn run_until(
    fabric: &Fabric,
    flows: &[Flow],
    faults: &[Fault],
    until: Option<Span>,
) -> (Report, Vec<Trace>) {
    let until = until.map(|span| Instant::ZERO + span);
    let settings = Settings { check_wire: true, until, ..Settings::default() };
    let mut told = Told::default();
    let report = xoff_sim::run(fabric, flows, faults, &settings, &mut told).expect("a run");
    (report, told.0)
}

fn at(span: Span) -> Instant {
    Instant::ZERO + span
}

fn named(link: &str, index: u32) -> LinkChoice {
    LinkChoice { link: Some(link.to_owned()), index: Some(index), ..LinkChoice::default() }
}

const AT_ONCE: Reaction = Reaction::after(Span::ZERO, Span::ZERO);

fn link_down(link: &str, index: u32, from: Span, restore_after: Option<Span>) -> Fault {
    Fault::LinkDown(LinkDown {
        links: named(link, index),
        at: from,
        restore_after,
        silent: false,
        reaction: AT_ONCE,
    })
}

fn dropped(report: &Report, reason: Drop) -> u64 {
    report.dropped.iter().map(|reasons| reasons[reason as usize]).sum()
}

/// Which of the parallel cables a flow takes.
fn cable_in_use(fabric: &Fabric, flows: &[Flow]) -> u32 {
    let (report, _) = run(fabric, flows, &[]);
    let ports: Vec<u32> = ports_to(fabric, 0, "t");
    let used = |port: &u32| report.ports[*port as usize].iter().any(|c| c.tx_bytes > 1_000_000);
    ports.iter().position(used).expect("a cable is used") as u32
}

fn ports_to(fabric: &Fabric, switch: usize, peer: &str) -> Vec<u32> {
    let leads = |port: &u32| {
        let peer_port = fabric.ports[*port as usize].peer;
        fabric.node_name(fabric.ports[peer_port.index()].node) == peer
    };
    fabric.switches[switch].ports.clone().filter(leads).collect()
}

/// A link that runs at a quarter of its rate is a link of a quarter of the rate.
#[test]
fn a_degraded_link_is_a_slower_link() {
    let (fast, slow) = (line(1, "100Gbps", ""), line(1, "25Gbps", ""));
    let start = Instant::ZERO + Span::from_us(1);
    let flows = |fabric: &Fabric| [Flow { start, ..flow(fabric, 0, 2, 3_000_000) }];
    let fault = Fault::LinkDegraded(LinkDegraded {
        links: named("a s", 0),
        at: Span::ZERO,
        duration: None,
        degraded: xoff_fabric::scenario::Degraded {
            rate: Some(Rate::from_gbps(25)),
            ..Default::default()
        },
    });
    let (degraded, _) = run(&fast, &flows(&fast), std::slice::from_ref(&fault));
    let (built, _) = run(&slow, &flows(&slow), &[]);
    let (whole, _) = run(&fast, &flows(&fast), &[]);
    assert_eq!(last_completion(&degraded), last_completion(&built));
    assert!(last_completion(&degraded).as_ps() > 39 * last_completion(&whole).as_ps() / 10);
    assert_eq!(degraded.flows[0].ideal, whole.flows[0].ideal, "the bound stays");
}

/// Half of the bytes at full rate, half at a quarter: 2.5 times as long.
#[test]
fn a_degraded_link_recovers() {
    let fabric = line(1, "100Gbps", "");
    let flows = [flow(&fabric, 0, 2, 4096 * 1000)];
    let degraded = |at, duration| {
        Fault::LinkDegraded(LinkDegraded {
            links: named("s a", 0),
            at,
            duration: Some(duration),
            degraded: xoff_fabric::scenario::Degraded {
                rate: Some(Rate::from_gbps(25)),
                ..Default::default()
            },
        })
    };
    let clean = last_completion(&run(&fabric, &flows, &[]).0);
    // From the 201st packet on, for as long as 100 packets take at a quarter of the rate: 300 packet
    // times more, however the packets under way at both ends are cut.
    let fault = degraded(PACKET * 200, PACKET * 400);
    let slower = last_completion(&run(&fabric, &flows, &[fault]).0) - clean;
    assert_eq!(slower, PACKET * 300);
}

/// With a second cable and switches that know at once, all that is lost is what was on the cable, and
/// all it costs is what had to be sent again.
#[test]
fn a_second_cable_takes_over() {
    let fabric = line(2, "100Gbps", "");
    let flows = [flow(&fabric, 0, 2, 4096 * 2000)];
    let (clean, _) = run(&fabric, &flows, &[]);
    let index = cable_in_use(&fabric, &flows);
    let (report, told) = run(&fabric, &flows, &[link_down("s t", index, Span::from_us(100), None)]);
    assert_eq!(report.outcome, Outcome::Completed);
    let lost = dropped(&report, Drop::LinkDown);
    // A microsecond of cable, the silicon's pipeline and the packet being sent.
    let latency = fabric.switches[0].latency + Span::from_us(1);
    let most = latency.as_ps() / PACKET.as_ps() + 2;
    assert!(lost >= most - 2 && lost <= most, "{lost} packets, and about {most} fit");
    let again = report.flows[0].counters.retransmitted;
    assert!(again > lost, "{again} sent again, {lost} lost");
    assert_eq!(last_completion(&report) - last_completion(&clean), PACKET * again);
    assert_eq!(report.lossless_drops(&[true; 8]), 0, "a fault was asked for");
    let told = told.iter().filter(|t| matches!(t.kind, TraceKind::Fault(0)));
    assert_eq!(told.map(|t| t.at).collect::<Vec<_>>(), [at(Span::from_us(100))]);
    // The other cable carried the rest, in both directions.
    let other = ports_to(&fabric, 0, "t")[1 - index as usize] as usize;
    assert!(report.ports[other][3].tx_packets > 1000);
}

/// Without one the flow stands for as long as the link is down, and a round trip.
#[test]
fn without_a_second_cable_a_flow_waits() {
    let fabric = line(1, "100Gbps", "");
    let flows = [flow(&fabric, 0, 2, 4096 * 4000)];
    let clean = last_completion(&run(&fabric, &flows, &[]).0);
    for outage in [Span::from_us(10), Span::from_us(123), Span::from_us(700)] {
        let fault = link_down("s t", 0, Span::from_us(100), Some(outage));
        let (report, told) = run(&fabric, &flows, &[fault]);
        let again = report.flows[0].counters.retransmitted;
        let late = last_completion(&report) - clean;
        assert_eq!(late, PACKET * again, "all that is lost is time on the wire");
        // Three cables each way, what was on the one that died, pipelines, the packets stored on the
        // way and those being sent.
        let round_trip = Span::from_us(7) + fabric.switches[0].latency * 5 + PACKET * 6;
        assert!(late >= outage && late <= outage + round_trip, "{late} for an outage of {outage}");
        assert_eq!(report.flows[0].counters.timeouts, 0);
        assert!(told.iter().any(|t| t.kind == TraceKind::FaultEnd(0)));
        assert_eq!(report.lossless_drops(&[true; 8]), 0);
    }
}

/// Until the switch knows, it sends into the dead link; from then on it does not.
#[test]
fn losses_end_when_the_switch_knows() {
    let fabric = line(2, "100Gbps", "");
    let flows = [flow(&fabric, 0, 2, 4096 * 4000)];
    let index = cable_in_use(&fabric, &flows);
    let mut before = 0;
    for converge in [Span::ZERO, Span::from_us(20), Span::from_us(200)] {
        let mut fault = LinkDown {
            links: named("t s", index),
            at: Span::from_us(100),
            restore_after: None,
            silent: false,
            reaction: Reaction::after(converge, Span::from_ms(10)),
        };
        let lost = |fault: &LinkDown| {
            let (report, _) = run(&fabric, &flows, &[Fault::LinkDown(fault.clone())]);
            assert_eq!(report.outcome, Outcome::Completed);
            dropped(&report, Drop::LinkDown)
        };
        let now = lost(&fault);
        let expected = converge.as_ps() / PACKET.as_ps();
        assert!(now >= before && now.abs_diff(expected + before.min(6)) <= 8, "{now} {expected}");
        // Both ends know at the same time: the others, which there are none of, do not matter.
        fault.reaction.late = Some(converge);
        assert_eq!(lost(&fault), now);
        before = now;
    }
}

/// A pause ends with the link: the storm that is over when the link is back pauses nobody any more,
/// the one that goes on pauses again.
#[test]
fn pauses_end_with_the_link_and_begin_again_if_they_must() {
    for quanta in ["\"until-resume\"", "65535"] {
        let fabric = line(1, "100Gbps", &format!("[pfc]\nquanta = {quanta}"));
        let flows = [flow(&fabric, 0, 2, 4096 * 1000)];
        let storm = |duration| Fault::PauseStorm {
            nic: NodeRef::Name("b".to_owned()),
            at: Span::from_us(50),
            duration,
        };
        let cut = || link_down("t b", 0, Span::from_us(150), Some(Span::from_us(100)));
        let last = ports_to(&fabric, 1, "b")[0];

        let faults = [storm(Some(Span::from_us(150))), cut()];
        let (report, told) = run_until(&fabric, &flows, &faults, Some(Span::from_ms(50)));
        assert_eq!(report.outcome, Outcome::Completed, "{quanta}");
        let pauses = |told: &[Trace], kind| -> Vec<Instant> {
            let mine = told.iter().filter(|t| t.kind == kind && t.port.0 == last);
            mine.map(|t| t.at).collect()
        };
        let (began, ended) =
            (pauses(&told, TraceKind::PauseStart), pauses(&told, TraceKind::PauseEnd));
        assert_eq!((began.len(), &ended[..]), (1, &[at(Span::from_us(150))][..]), "{quanta}");
        assert_eq!(report.ports[last as usize][3].paused, ended[0] - began[0]);

        let (report, told) =
            run_until(&fabric, &flows, &[storm(None), cut()], Some(Span::from_ms(5)));
        assert_eq!(report.outcome, Outcome::TimeUp, "the storm goes on");
        let began = pauses(&told, TraceKind::PauseStart);
        assert_eq!(began.len(), 2, "{quanta}: {began:?}");
        assert!(began[1] > at(Span::from_us(250)) && began[1] < at(Span::from_us(255)));
    }
}

/// What a switch holds when it goes down is lost, and nothing else of it stays.
#[test]
fn a_reset_switch_is_empty() {
    let fabric = line(1, "100Gbps", "");
    // Two senders for one link: the buffer of `s` fills.
    let flows = [flow(&fabric, 0, 2, 4096 * 2000), flow(&fabric, 1, 2, 4096 * 2000)];
    let fault = Fault::SwitchDown(SwitchDown {
        switch: Some("s".to_owned()),
        count: None,
        tier: None,
        at: Span::from_us(200),
        restore_after: Some(Span::from_us(300)),
        drain: None,
        reaction: AT_ONCE,
    });
    let (report, _) = run(&fabric, &flows, &[fault]);
    assert_eq!(report.outcome, Outcome::Completed);
    let buffered = dropped(&report, Drop::NodeDown);
    // 200 us at twice the rate of the way out: as many packets as the way out has sent.
    let sent = Span::from_us(198).as_ps() / PACKET.as_ps();
    assert!(buffered.abs_diff(sent) <= 10, "{buffered} packets in the buffer, {sent} expected");
    assert_eq!(report.lossless_drops(&[true; 8]), 0);
}

/// A port without PFC drops what it should have paused for; with it, nothing is lost.
#[test]
fn a_port_without_pfc_drops() {
    let fabric = line(1, "100Gbps", "[switch]\nbuffer = \"4MB\"");
    let flows = [flow(&fabric, 0, 2, 4096 * 1000), flow(&fabric, 1, 2, 4096 * 1000)];
    let pfc_off = |port: &str| {
        Fault::Setting(Setting {
            port: Some(port.to_owned()),
            pfc: Some(false),
            ..Setting::default()
        })
    };
    let (healthy, _) = run(&fabric, &flows, &[]);
    assert!(healthy.xoff_frames() > 0 && healthy.lossless_drops(&[true; 8]) == 0);
    let (report, told) = run(&fabric, &flows, &[pfc_off("s a")]);
    let lost = dropped(&report, Drop::IngressLimit);
    assert!(lost > 0);
    assert_eq!(report.lossless_drops(&[true; 8]), lost, "a wrong setting is no excuse");
    let drops = told.iter().filter(|t| matches!(t.kind, TraceKind::Drop(_)));
    assert!(drops.clone().count() > 0);
    let names = drops.map(|trace| fabric.port_name(trace.port));
    assert!(names.clone().all(|name| name == "s→a"), "{:?}", names.collect::<Vec<_>>());
}

/// Marks begin when the thresholds change, and end when they change back.
#[test]
fn thresholds_change_while_running() {
    let fabric = line(1, "100Gbps", "[ecn]\nenabled = false");
    let flows = [flow(&fabric, 0, 2, 4096 * 2000), flow(&fabric, 1, 2, 4096 * 2000)];
    assert_eq!(run(&fabric, &flows, &[]).0.marks(), 0);
    let lower = Fault::Setting(Setting {
        switch: Some("s".to_owned()),
        kmin: Some(Bytes::new(10_000)),
        kmax: Some(Bytes::new(10_000)),
        pmax: Some(Ratio::ONE),
        at: Span::from_us(100),
        duration: Some(Span::from_us(50)),
        ..Setting::default()
    });
    let (report, _) = run(&fabric, &flows, &[lower]);
    // Every packet that leaves in 50 us.
    let leave = Span::from_us(50).as_ps() / PACKET.as_ps();
    assert!(report.marks().abs_diff(leave) <= 2, "{} marks, {leave} expected", report.marks());
}

/// A forced next hop carries the flow for as long as it is forced.
#[test]
fn a_forced_next_hop_is_used() {
    let mut text =
        "[cluster]\nnic = \"generic-100g\"\n[fabric]\nkind = \"custom\"\nleaf = \"ideal\"\n\
                    [transport]\ncongestion = { kind = \"none\" }\n[links]\ndelay = \"1us\"\n"
            .to_owned();
    for (name, kind) in [
        ("a", "nic"),
        ("b", "nic"),
        ("c", "nic"),
        ("s", "switch"),
        ("t", "switch"),
        ("u", "switch"),
    ] {
        write!(text, "[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n").unwrap();
    }
    for ends in ["a s", "b t", "c t", "s t", "s u", "u t"] {
        write!(text, "[[link]]\nends = \"{ends}\"\n").unwrap();
    }
    let fabric = fabric(&text);
    let flows = [flow(&fabric, 0, 1, 4096 * 500), flow(&fabric, 0, 2, 4096 * 500)];
    let forced = |to: Option<&str>, duration| {
        Fault::RouteChange(RouteChange {
            switch: "s".to_owned(),
            to: to.map(|name| NodeRef::Name(name.to_owned())),
            via: "u".to_owned(),
            at: Span::ZERO,
            duration,
        })
    };
    let over_u = |faults: &[Fault]| {
        let (report, _) = run(&fabric, &flows, faults);
        assert_eq!(report.outcome, Outcome::Completed);
        report.ports[ports_to(&fabric, 0, "u")[0] as usize][3].tx_packets
    };
    assert_eq!(over_u(&[]), 0);
    assert!(over_u(&[forced(Some("b"), None)]).abs_diff(500) <= 1, "one of the two flows");
    assert!(over_u(&[forced(None, None)]).abs_diff(1000) <= 1, "both flows");
    let some = over_u(&[forced(None, Some(Span::from_us(100)))]);
    let expected = Span::from_us(97).as_ps() / PACKET.as_ps();
    assert!(some.abs_diff(expected) < 20, "{some} packets, {expected} expected");
}

/// The same seed breaks the same links, another seed others; and as many as were asked for.
#[test]
fn random_links_are_drawn_from_the_seed() {
    let fabric = fabric(
        "[cluster]\nhosts = 16\n[fabric]\nkind = \"leaf-spine\"\nleaf = \"ideal\"\nleaves = 4\n\
         hosts-per-leaf = 4\nspines = 4",
    );
    let flows: Vec<Flow> = (0..16).map(|n| flow(&fabric, n, (n + 5) % 16, 200_000)).collect();
    let fault = Fault::LinkDown(LinkDown {
        links: LinkChoice { count: Some(3), ..LinkChoice::default() },
        at: Span::from_us(3),
        restore_after: None,
        silent: false,
        reaction: Reaction::after(Span::from_us(50), Span::from_ms(10)),
    });
    let drawn = |seed| {
        let settings = Settings { seed, ..Settings::default() };
        let mut told = Told::default();
        let faults = std::slice::from_ref(&fault);
        xoff_sim::run(&fabric, &flows, faults, &settings, &mut told).expect("a run");
        let places = told.0.iter().filter(|t| t.kind == TraceKind::Fault(0)).map(|t| t.port);
        places.collect::<Vec<_>>()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
    let nics = fabric.nics.len() as u32;
    for seed in 0..8 {
        let places = drawn(seed);
        assert_eq!(places.len(), 3);
        let switch = |port: &xoff_fabric::model::PortId| fabric.ports[port.index()].node.0 >= nics;
        assert!(places.iter().all(switch), "links of NICs are not drawn");
    }
}

/// A fabric and its faults from the text of a scenario.
fn scene(fabric: &str, faults: &str) -> (Fabric, Vec<Fault>) {
    let loaded = xoff_fabric::load_scenario(&format!("fabric = 'a.toml'\n{faults}"), fabric);
    let Some(setup) = loaded.value else { panic!("{:#?}", loaded.diagnostics) };
    (setup.setup.fabric, setup.scenario.faults)
}

const POD: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\nleaf = 'ideal'\nspines = 2\n\
                   [transport]\ncongestion = { kind = 'none' }\n";

/// A server that is down stops its own flows on all rails until it is back, and no others.
#[test]
fn a_server_that_is_down_stops_its_flows() {
    let (fabric, faults) = scene(
        &POD.replace("gpus = 16", "gpus = 32"),
        "[[fault]]\nkind = 'server-down'\nserver = 'server1'\nat = '5us'\nrestore-after = '300us'",
    );
    // Servers 0 and 1, and servers 2 and 3, on every rail.
    let pairs = (0..8).flat_map(|rail| [(rail, rail + 8), (rail + 16, rail + 24)]);
    let flows: Vec<Flow> = pairs.map(|(a, b)| flow(&fabric, a, b, 1_000_000)).collect();
    let (clean, _) = run(&fabric, &flows, &[]);
    let (report, told) = run(&fabric, &flows, &faults);
    assert_eq!(report.outcome, Outcome::Completed);
    for (flow, (now, before)) in flows.iter().zip(report.flows.iter().zip(&clean.flows)) {
        let (now, before) = (now.completion().unwrap(), before.completion().unwrap());
        if flow.source.0 < 8 {
            assert!(now > Span::from_us(305), "{now}");
        } else {
            assert_eq!(now, before);
        }
    }
    let places: Vec<String> = told
        .iter()
        .filter(|trace| trace.kind == TraceKind::Fault(0))
        .map(|trace| fabric.port_name(trace.port))
        .collect();
    assert_eq!(places.len(), 8, "{places:?}");
    assert!(places.iter().all(|name| name.starts_with("server1-nic")), "{places:?}");
}

/// Two rails swapped at one server: what stayed on a leaf goes over the spines, and arrives.
#[test]
fn swapped_rails_send_their_traffic_over_the_spines() {
    let swap =
        "[[fault]]\nkind = 'miscabling'\nlinks = ['server0-nic2 leaf2', 'server0-nic3 leaf3']";
    let up = |faults: &str| {
        let (fabric, faults) = scene(POD, faults);
        let flows: Vec<Flow> = (0..8).map(|rail| flow(&fabric, rail, rail + 8, 500_000)).collect();
        let (report, _) = run(&fabric, &flows, &faults);
        assert_eq!(report.outcome, Outcome::Completed);
        let data = |leaf: usize| -> u64 {
            let ports = (0..2).flat_map(|spine| ports_to(&fabric, leaf, &format!("spine{spine}")));
            ports.map(|port| report.ports[port as usize][3].tx_bytes).sum()
        };
        [0, 1, 2, 3].map(data)
    };
    assert_eq!(up(""), [0; 4]);
    let [a, b, c, d] = up(swap);
    assert_eq!((a, b), (0, 0));
    assert!(c > 500_000 && d > 500_000, "{c} and {d} bytes to the spines");
}

/// A leaf that lost its link to a NIC on two leaves drops what comes for it until all switches know,
/// and then sends it over the spines to the other leaf. Nothing ever goes round in circles.
#[test]
fn other_ways_are_found_when_everybody_knows() {
    let dual = "[cluster]\nhosts = 8\nnic-rate = '200Gbps'\n[fabric]\nleaf = 'ideal'\nleaves = 4\n\
                spines = 2\nhoming = 'dual'\n[transport]\ncongestion = { kind = 'none' }\n\
                timeout = '100us'\n";
    let fault = "[[fault]]\nkind = 'link-down'\nlink = 'server0-nic0 leaf0'\nat = '10us'\n\
                 converge = '5us'\nlate = '400us'\n";
    let (fabric, faults) = scene(dual, fault);
    let port = |n: u32| Flow { source_port: 0xc000 + n as u16, ..flow(&fabric, 1, 0, 2_000_000) };
    let flows: Vec<Flow> = (0..16).map(port).collect();
    let (report, told) = run(&fabric, &flows, &faults);
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(dropped(&report, Drop::Loop), 0);
    let first = fabric.switches[0].ports.clone();
    let lost = told.iter().filter(|trace| {
        matches!(trace.kind, TraceKind::Drop(Drop::LinkDown)) && first.contains(&trace.port.0)
    });
    let last = lost.map(|trace| trace.at).max().expect("losses at the leaf");
    assert!(last > at(Span::from_us(15)) && last <= at(Span::from_us(411)), "{last:?}");
    let up = ports_to(&fabric, 0, "spine0").into_iter().chain(ports_to(&fabric, 0, "spine1"));
    let sent: u64 = up.map(|port| report.ports[port as usize][3].tx_bytes).sum();
    assert!(sent > 2_000_000, "{sent} bytes over the spines");
}

/// The only link between two hosts goes down for good.
fn cut_off(timeout: Span, retry_limit: u8) -> Report {
    let mut overlay = line(1, "100Gbps", "").into_overlay();
    for id in (0..overlay.nics.len() as u32).map(NicId) {
        overlay.nic(id, |nic| (nic.qp.timeout, nic.qp.retry_limit) = (timeout, retry_limit));
    }
    let fabric = overlay.finish();
    let links = LinkChoice { link: Some("s t".to_owned()), ..LinkChoice::default() };
    let (at, reaction) = (Span::from_us(10), Reaction::after(Span::from_us(50), Span::from_ms(10)));
    let fault =
        Fault::LinkDown(LinkDown { links, at, restore_after: None, silent: false, reaction });
    run(&fabric, &[flow(&fabric, 0, 2, 10_000_000)], &[fault]).0
}

/// A run waits for a queue pair that still retries, and not for one that waits for ever.
#[test]
fn a_run_is_stalled_only_when_no_retry_is_left() {
    let report = cut_off(Span::ZERO, 3);
    assert_eq!(report.outcome, Outcome::Stalled, "a queue pair that waits for ever");
    assert!(report.end < Instant::ZERO + Span::from_ms(15_000), "found only at {}", report.end);
    let report = cut_off(Span::from_ms(8_000), 2);
    assert!(report.flows[0].failure.is_some(), "{:?} at {}", report.outcome, report.end);
    let end = report.end.since(Instant::ZERO).as_s_f64();
    assert!((24.0..24.1).contains(&end), "8 s, three times, and not {end}");
}
