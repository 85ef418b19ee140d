//! What collectives are held against: the delay that each pair's way has, and nothing that the network cannot help.

use xoff_fabric::scenario::{AlgorithmSetting, Collective, Workload};
use xoff_units::{Bytes, Span};
use xoff_validate::{Experiment, Measurement, Phase, measure};

/// 64 GPUs under three tiers without oversubscription, with cables of some length between them. Congestion control
/// and hash collisions are not what this is about: packets are spread, and nothing slows down.
const THREE_TIERS: &str = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n\
    [fabric]\nkind = 'three-tier'\nleaf = 'tomahawk-4'\nrails = true\nleaves-per-pod = 8\n\
    hosts-per-leaf = 4\nspines = 4\ncores = 4\n\
    [links.leaf-spine]\nlength = '50m'\n[links.spine-core]\nlength = '500m'\n\
    [switch.balancing]\nkind = 'spray'\n\
    [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n\
    congestion = { kind = 'none' }\n";

fn measured(fabric: &str, kind: fn(Collective) -> Workload, size: u64) -> Measurement {
    let size = Some(Bytes::new(size));
    let collective =
        Collective { size, algorithm: AlgorithmSetting::Auto, ..Collective::default() };
    let experiment = Experiment::new("collective", Phase::Workload, "a collective")
        .with(kind(collective))
        .within(Span::from_ms(500));
    measure(&experiment, fabric, 1, &toml::Table::new(), &mut |_| true).expect("a measurement")
}

/// A fabric on which nothing is congested gets what is ideal for its distances, at any size. Against the delay of the
/// nearest pair it got 23 %.
#[test]
fn an_uncongested_three_tier_fabric_gets_nine_tenths_of_ideal() {
    for size in [64 << 10, 1 << 20, 16 << 20] {
        let measured = measured(THREE_TIERS, Workload::AllGather, size);
        let row = &measured.collectives[0];
        let share = row.ideal_us / row.time_us;
        println!(
            "{size}: {:.1} us, ideal {:.1} us, {:.1} %",
            row.time_us,
            row.ideal_us,
            share * 100.0
        );
        assert!(row.finished && share >= 0.9, "{share} of ideal at {size}: {row:?}");
        assert!(share <= 1.0, "{share} of ideal at {size}: {row:?}");
    }
}

/// What GPUs and hosts take is not the network's loss: it is in both times.
#[test]
fn costs_are_in_the_ideal_too() {
    let row = |cost: &str| {
        let text = format!("kind = 'all-gather'\nsize = '1MiB'\ncost = '{cost}'");
        let workload: Workload = toml::from_str(&text).expect("a workload");
        let experiment = Experiment::new("collective", Phase::Workload, "a collective")
            .with(workload)
            .within(Span::from_ms(500));
        let measured = measure(&experiment, THREE_TIERS, 1, &toml::Table::new(), &mut |_| true);
        measured.expect("a measurement").collectives.remove(0)
    };
    let (free, measured) = (row("none"), row("measured"));
    assert!(measured.ideal_us > free.ideal_us + 8.4, "{measured:?} and {free:?}");
    assert!(measured.time_us > free.time_us + 8.4, "{measured:?} and {free:?}");
}

/// The share of its ideal that a ring AllReduce gets on a rail pod with the shipped NIC.
fn ring_share(gpus: u32, size: u64) -> f64 {
    let fabric = super::example("pod-256").replace("gpus = 256", &format!("gpus = {gpus}"));
    let kind = |entry: Collective| {
        let algorithm = AlgorithmSetting::Ring;
        Workload::AllReduce(Collective { algorithm, ..entry })
    };
    let measured = measured(&fabric, kind, size);
    let row = &measured.collectives[0];
    println!(
        "{gpus} GPUs: {:.1} us, ideal {:.1} us, {:.1} GB/s",
        row.time_us,
        row.ideal_us,
        row.busbw / 1e9
    );
    assert!(row.finished && row.algorithm == "ring", "{row:?}");
    row.ideal_us / row.time_us
}

/// Rings stay on their rail, so no two of them meet on a link: nothing is lost.
#[test]
fn a_ring_on_the_rail_pod_gets_nine_tenths_of_ideal() {
    let share = ring_share(64, 256 << 20);
    assert!((0.9..=1.0).contains(&share), "{share} of ideal");
}

#[test]
#[ignore = "50 million packet-hops: half a minute or more"]
fn a_ring_of_1_gib_on_the_rail_pod_gets_nine_tenths_of_ideal() {
    let share = ring_share(256, 1 << 30);
    assert!((0.9..=1.0).contains(&share), "{share} of ideal");
}
