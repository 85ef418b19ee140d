//! Results that can be worked out by hand.

use crate::common::{fabric, flow, last_completion, run};
use xoff_fabric::model::{Fabric, PortId};
use xoff_fabric::scenario::Operation;
use xoff_sim::{Outcome, Report, Settings, Silent};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

fn fat_tree(k: u32, rate: &str) -> String {
    format!(
        "profile = \"htsim\"\n[cluster]\nnic-rate = \"{rate}\"\n[fabric]\nkind = \"fat-tree\"\nk = {k}\n\
         [links]\nrate = \"{rate}\"\ndelay = \"1us\"\n"
    )
}

/// 489 packets of 4160 B and five more hops of one, six microseconds each way, and an ACK of 64 B
/// over six hops: 489 x 0.3328 + 5 x 0.3328 + 6 + 6 + 6 x 0.00512 us.
#[test]
fn one_flow_across_pods_takes_exactly_176_434_us() {
    let fabric = fabric(&fat_tree(8, "100Gbps"));
    assert_eq!(fabric.nics.len(), 128);
    let report = run(&fabric, &[flow(&fabric, 0, 127, 2_000_000)]);
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(last_completion(&report), Span::from_ps(176_433_920));
    // 489 data packets and as many ACKs over six links each.
    assert_eq!(report.packet_hops, 2 * 489 * 6);
    assert_eq!(report.flows[0].ideal, Span::from_ps(176_433_920));
}

fn incast(k: u32, rate: &str, senders: u32, bound: Span) {
    let fabric = fabric(&fat_tree(k, rate));
    let hosts = fabric.nics.len() as u32;
    let flows: Vec<_> =
        (1..=senders).map(|i| flow(&fabric, i * (hosts - 1) / senders, 0, 2_000_000)).collect();
    let report = run(&fabric, &flows);
    assert_eq!(report.outcome, Outcome::Completed);
    let last = last_completion(&report);
    assert!(last >= bound, "{senders}:1 ended at {last}, before {bound}");
    assert!(
        last.as_ps() <= bound.as_ps() / 100 * 101,
        "{senders}:1 ended at {last}, more than 1 % after {bound}"
    );
    assert!(report.xoff_frames() > 0, "an incast without a pause");
    assert_eq!(report.dropped.iter().flatten().sum::<u64>(), 0);
}

#[test]
fn incast_of_32_at_100g_is_bound_by_the_last_link() {
    incast(8, "100Gbps", 32, Span::from_ps(32 * 489 * 332_800));
}

#[test]
fn incast_of_128_at_400g_is_bound_by_the_last_link() {
    incast(16, "400Gbps", 128, Span::from_ps(128 * 489 * 83_200));
}

/// Two hosts on one switch at 100G, packets of 256 B: 318 B from Ethernet header to FCS, 338 B on the wire.
fn small_packets() -> Fabric {
    fabric(
        "[cluster]\nhosts = 2\nnic = 'generic-100g'\n[fabric]\nkind = 'single'\n\
         [transport]\nmtu = '256B'\ncongestion = { kind = 'none' }\n",
    )
}

fn cut_short(fabric: &Fabric, flows: &[Flow], at: Span) -> Report {
    let until = Some(Instant::ZERO + at);
    let settings = Settings { until, ..Settings::default() };
    xoff_sim::run(fabric, flows, &[], &settings, &mut Silent).expect("a run")
}

#[test]
fn a_wire_without_a_pause_is_used_to_the_full() {
    let fabric = small_packets();
    let report = cut_short(&fabric, &[flow(&fabric, 0, 1, 10_000_000)], Span::from_us(200));
    let nic = PortId(fabric.nics[0].ports.start);
    let used = xoff_sim::spread::used(&fabric, &report, nic);
    assert!((0.999..1.001).contains(&used), "{used} of the wire");
    let class = report.ports[nic.index()][usize::from(fabric.data_class.0)];
    assert_eq!(class.wire_bytes, class.tx_bytes + 20 * class.tx_packets);
    // The first packet of a write also has an RETH.
    assert_eq!(class.tx_bytes, 318 * class.tx_packets + 16);
}

/// What a flow has moved counts though it is not done: 256 B for each 338 B on the wire.
#[test]
fn an_unfinished_flow_has_delivered_what_arrived() {
    let fabric = small_packets();
    for operation in [Operation::Write, Operation::Send, Operation::Read] {
        let flow = Flow { operation, ..flow(&fabric, 0, 1, 10_000_000) };
        let report = cut_short(&fabric, &[flow], Span::from_us(200));
        assert_eq!(report.flows[0].end, None);
        let delivered = report.flows[0].counters.delivered as f64;
        // 200 us at 100 Gb/s, but for the way of the first packet, and of the request of a read.
        let expected = 2_500_000.0 * 256.0 / 338.0;
        let share = delivered / expected;
        assert!((0.97..1.0).contains(&share), "{operation:?}: {delivered} of {expected}");
    }
    let whole = run(&fabric, &[flow(&fabric, 0, 1, 1_000_001)]);
    assert_eq!(whole.flows[0].counters.delivered, 1_000_001, "each byte once");
}

/// Flows between two NICs that differ in their source ports alone spread over the four spines of a pod. Spines
/// that do not hash the source port send all of them to one core each.
#[test]
fn each_tier_hashes_its_own_fields() {
    let used = |more: &str| {
        let fabric = fabric(&(fat_tree(8, "100Gbps") + more));
        let flow =
            |n: u32| Flow { source_port: 0xc000 + n as u16, ..flow(&fabric, 0, 100, 10_000) };
        let report = run(&fabric, &(0..256).map(flow).collect::<Vec<_>>());
        let groups = xoff_sim::spread::spread(&fabric, &report);
        let count = |name: &str| {
            let group = groups.iter().find(|group| group.name() == name);
            let links = group.map_or(&[][..], |group| &group.links);
            // Acknowledgements of 64 B come the other way.
            let data = |port: PortId| report.ports[port.index()][3].tx_bytes > 50_000;
            links.iter().filter(|(port, _)| data(*port)).count()
        };
        (count("leaf→spine"), count("spine→core"))
    };
    assert_eq!(used(""), (4, 16));
    assert_eq!(used("[switch.spine.hash]\nfields = ['addresses']\n"), (4, 4));
    assert_eq!(used("[switch.leaf.hash]\nfields = ['addresses']\n"), (1, 4));
}
