//! Results that can be worked out by hand.

mod common;

use common::{fabric, flow, last_completion, run};
use xoff_sim::Outcome;
use xoff_units::Span;

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
