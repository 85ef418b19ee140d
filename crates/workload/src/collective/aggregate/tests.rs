use super::super::{Bound, Collective, Cost, Loads, Network, bound, loads, program, tuner};
use super::*;
use crate::ideal::{self, Outcome};
use crate::layout::Placement;
use proptest::prelude::*;
use xoff_fabric::model::{Fabric, NicId, SwitchId};

/// Servers of so many GPUs with a 400G NIC each, on leaves of 16 ports, with spines above.
fn fabric(servers: u32, gpus: u32, aggregation: &str) -> Fabric {
    let text = format!(
        "[cluster]\ngpus = {}\ngpus-per-server = {gpus}\n\
         [fabric]\nkind = 'leaf-spine'\nhosts-per-leaf = {}\nspines = 4\n\
         [switch]\naggregation = {aggregation}\n",
        servers * gpus,
        4 * gpus
    );
    Fabric::from_toml(&text).unwrap().with_aggregators().unwrap()
}

fn layout(fabric: &Fabric) -> Layout {
    let layout = Layout::new(fabric, None, &Placement::Packed).unwrap();
    let groups = Ledger::default().allot(fabric, &layout).unwrap();
    layout.aggregated(groups)
}

fn run(size: u64, fabric: &Fabric, settings: &Settings, network: &Network) -> (Outcome, Layout) {
    let layout = layout(fabric);
    let (kind, size) = ((Collective::AllReduce, Algorithm::InNetwork), Bytes::new(size));
    let mut program = program(kind.0, kind.1, size, &layout, settings).unwrap();
    (ideal::run(&mut program, fabric, network).unwrap(), layout)
}

#[test]
fn every_nic_sends_and_receives_its_share_once_and_a_ring_nearly_twice() {
    let (servers, size) = (8, 64 << 20);
    let fabric = fabric(servers, 1, "{}");
    let settings = Settings::without_cost();
    let (outcome, layout) = run(size, &fabric, &settings, &Network::default());
    for moved in &outcome.nics[..servers as usize] {
        assert_eq!((moved.sent.get(), moved.received.get()), (size, size));
    }
    let ring = loads(Collective::AllReduce, Algorithm::Ring, Bytes::new(size), &layout, &settings);
    let ring = ring.unwrap();
    for moved in ring.nics.values() {
        assert_eq!(moved.sent.get(), 2 * size * 7 / 8);
    }
}

#[test]
fn with_eight_gpus_each_nic_has_an_eighth() {
    let fabric = fabric(4, 8, "{}");
    let (outcome, _) = run(64 << 20, &fabric, &Settings::without_cost(), &Network::default());
    for moved in &outcome.nics[..32] {
        assert_eq!((moved.sent.get(), moved.received.get()), (8 << 20, 8 << 20));
    }
    // Inside the server everybody sends the others their shares and then its own sum to each.
    for moved in &outcome.gpus {
        assert_eq!((moved.sent.get(), moved.received.get()), (112 << 20, 112 << 20));
    }
}

/// Where one term stands out the closed form holds within 2 %: the NIC, few slots, latency.
#[test]
fn times_are_those_of_the_closed_form() {
    let settings = Settings::without_cost();
    for (servers, gpus, aggregation, size, latency) in [
        (8, 1, "{}", 1u64 << 30, 2u64),
        (16, 1, "{}", 256 << 20, 3),
        (4, 1, "{}", 64 << 20, 1),
        (4, 2, "{}", 512 << 20, 2),
        (8, 1, "{ slots = 4 }", 64 << 20, 20),
        (8, 1, "{ slots = 2, piece = '4KiB' }", 8 << 20, 5),
        (8, 1, "{}", 1 << 10, 5),
        (2, 8, "{}", 64, 9),
    ] {
        let fabric = fabric(servers, gpus, aggregation);
        let latency = Span::from_us(latency);
        let network = Network { latency, nvlink_latency: Span::from_ns(400), ..Default::default() };
        let (outcome, layout) = run(size, &fabric, &settings, &network);
        let (kind, size) = ((Collective::AllReduce, Algorithm::InNetwork), Bytes::new(size));
        let bound = bound(kind.0, kind.1, size, &layout, &settings, &network).unwrap();
        let ratio = outcome.end.as_ps() as f64 / bound.time.as_ps() as f64;
        let case = (servers, gpus, aggregation, size);
        assert!((0.98..1.02).contains(&ratio), "{case:?}: {:?} of {bound:?}", outcome.end);
    }
}

#[test]
fn fewer_slots_are_never_faster() {
    let network = Network { latency: Span::from_us(4), ..Default::default() };
    let time = |slots: u32| {
        let fabric = fabric(8, 1, &format!("{{ slots = {slots} }}"));
        run(16 << 20, &fabric, &Settings::without_cost(), &network).0.end
    };
    let times = [2, 4, 8, 16, 32, 64, 128].map(time);
    assert!(times.is_sorted_by(|fewer, more| fewer >= more), "{times:?}");
    assert!(times[0] > times[6]);
}

#[test]
fn a_tree_has_its_root_where_the_leaves_meet() {
    let fabric = fabric(8, 2, "{}");
    let groups = layout(&fabric).aggregation().cloned().unwrap();
    // Two leaves, and a spine above them, another one for each group.
    let roots: Vec<SwitchId> = groups.groups.iter().map(root).collect();
    assert_eq!(groups.depth(), 2);
    assert!(roots[0] != roots[1], "{roots:?}");
    for group in &groups.groups {
        assert_eq!((group.nodes.len(), group.members.len()), (3, 8));
    }
    let few = Layout::new(&fabric, Some(8), &Placement::Packed).unwrap();
    let few = Ledger::default().allot(&fabric, &few).unwrap();
    assert_eq!((few.depth(), few.groups[0].nodes.len()), (1, 1), "one leaf adds up alone");
}

fn root(group: &groups::Group) -> SwitchId {
    let tops: Vec<_> = group.nodes.iter().filter(|place| place.parent.is_none()).collect();
    assert_eq!(tops.len(), 1);
    tops[0].switch
}

#[test]
fn a_leaf_with_one_member_forwards_only() {
    let fabric = fabric(8, 1, "{}");
    let gpus = [0, 1, 2, 4].map(GpuId).to_vec();
    let layout = Layout::new(&fabric, None, &Placement::Listed(gpus)).unwrap();
    let groups = Ledger::default().allot(&fabric, &layout).unwrap();
    // The first leaf has three of them; the fourth sends to the root straight away.
    let group = &groups.groups[0];
    assert_eq!(group.nodes.len(), 2);
    assert_eq!(group.nodes[group.members[3] as usize].parent, None);
}

#[test]
fn groups_run_out() {
    let fabric = fabric(8, 2, "{ groups = 2 }");
    let layout = Layout::new(&fabric, None, &Placement::Packed).unwrap();
    let mut ledger = Ledger::default();
    assert!(ledger.allot(&fabric, &layout).is_ok());
    let refusal = ledger.allot(&fabric, &layout).unwrap_err();
    let switch = "leaf0".to_owned();
    assert_eq!(refusal, Refusal::NoGroup { switch, groups: 2 });
    let none = Fabric::from_toml("[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n").unwrap();
    let layout = Layout::new(&none, None, &Placement::Packed).unwrap();
    assert_eq!(Ledger::default().allot(&none, &layout).unwrap_err(), Refusal::NoSwitch);
    let kind = (Collective::AllReduce, Algorithm::InNetwork);
    let made = program(kind.0, kind.1, Bytes::new(1), &layout, &Settings::default());
    assert_eq!(made.err(), Some(CollectiveError::NoSwitches));
}

/// One server of 8 GPUs whose NVSwitches add up.
fn server(nvls: bool) -> Fabric {
    let text = format!(
        "[cluster]\ngpus = 8\ngpus-per-server = 8\nnvls = {nvls}\n[fabric]\nkind = 'single'\n"
    );
    Fabric::from_toml(&text).unwrap()
}

#[test]
fn nvlink_moves_everything_and_a_share_more() {
    let (fabric, size) = (server(true), 4u64 << 30);
    let layout = Layout::new(&fabric, None, &Placement::Packed).unwrap();
    let settings = Settings::without_cost();
    let network = Network { nvlink_latency: Span::from_ns(400), ..Network::default() };
    let run = |algorithm| {
        let kind = (Collective::AllReduce, Bytes::new(size));
        let mut program = program(kind.0, algorithm, kind.1, &layout, &settings).unwrap();
        let bound = bound(kind.0, algorithm, kind.1, &layout, &settings, &network).unwrap();
        (ideal::run(&mut program, &fabric, &network).unwrap(), bound)
    };
    let (outcome, bound) = run(Algorithm::Nvls);
    for moved in &outcome.gpus {
        assert_eq!((moved.sent.get(), moved.received.get()), (size * 9 / 8, size * 9 / 8));
    }
    assert!(outcome.nics.iter().all(|moved| moved.sent.is_zero()));
    // Sums and copies share the ports, and wait for each other at times.
    let ratio = outcome.end.as_ps() as f64 / bound.time.as_ps() as f64;
    assert!((1.0..1.03).contains(&ratio), "{:?} of {bound:?}", outcome.end);
    // 1.125 S at 0.67 of 450 GB/s, where a ring moves 1.75 S at all of it.
    let by_hand = size as f64 * 1.125 / (0.67 * 450e9) * 1e12;
    assert!((1.0..1.03).contains(&(outcome.end.as_ps() as f64 / by_hand)), "{:?}", outcome.end);
    assert!(run(Algorithm::Ring).0.end > outcome.end);
}

#[test]
fn nvls_needs_nvswitches_that_add_up_and_one_server() {
    let made = |fabric: &Fabric| {
        let layout = Layout::new(fabric, None, &Placement::Packed).unwrap();
        let settings = Settings::default();
        let kind = (Collective::AllReduce, Algorithm::Nvls);
        program(kind.0, kind.1, Bytes::new(1 << 20), &layout, &settings).map(|_| ())
    };
    assert_eq!(made(&server(true)), Ok(()));
    assert_eq!(made(&server(false)), Err(CollectiveError::NoNvls));
    let two = "[cluster]\ngpus = 16\nnvls = true\n[fabric]\nkind = 'rail'\n";
    assert_eq!(made(&Fabric::from_toml(two).unwrap()), Err(CollectiveError::NoNvls));
}

/// Servers of so many GPUs whose NVSwitches add up.
fn servers(count: u32, gpus: u32) -> Fabric {
    let text = format!(
        "[cluster]\ngpus = {}\ngpus-per-server = {gpus}\nnvls = true\n[fabric]\nkind = 'rail'\n",
        count * gpus
    );
    Fabric::from_toml(&text).unwrap()
}

fn by_nvls_trees(fabric: &Fabric, size: u64, settings: &Settings) -> (Outcome, Bound, Loads) {
    let layout = Layout::new(fabric, None, &Placement::Packed).unwrap();
    let (kind, size) = ((Collective::AllReduce, Algorithm::NvlsTree), Bytes::new(size));
    let network = Network { latency: Span::from_us(2), ..Network::default() };
    let mut made = program(kind.0, kind.1, size, &layout, settings).unwrap();
    let bound = bound(kind.0, kind.1, size, &layout, settings, &network).unwrap();
    let loads = loads(kind.0, kind.1, size, &layout, settings).unwrap();
    (ideal::run(&mut made, fabric, &network).unwrap(), bound, loads)
}

/// On two servers a NIC carries its share once in each direction, on more of them twice; no NIC carries more than another one of
/// its server, because there are two trees.
#[test]
fn trees_of_nvls_carry_everything_once_or_twice() {
    for (count, times) in [(2, 1), (4, 2), (7, 2), (8, 2)] {
        let (fabric, size) = (servers(count, 8), 256u64 << 20);
        for settings in [Settings::without_cost(), Settings::default()] {
            let (outcome, bound, loads) = by_nvls_trees(&fabric, size, &settings);
            for (nic, moved) in (0..).map(NicId).zip(&outcome.nics) {
                assert_eq!(Some(moved), loads.nics.get(&nic), "{count} servers, NIC {nic}");
            }
            for (gpu, moved) in (0..).map(GpuId).zip(&outcome.gpus).take(8) {
                assert_eq!(Some(moved), loads.gpus.get(&gpu), "{count} servers, GPU {gpu:?}");
            }
            let most = outcome.nics.iter().map(|moved| moved.received.get()).max().unwrap();
            assert!(most <= times * size / 8 + 1, "{count} servers: {most}");
            let times = |span: Span| outcome.end.as_ps() as f64 / span.as_ps() as f64;
            // No port is faster than its wire. The form beside it is rough: pieces wait for each other at NVLinks and NICs.
            let (wire, form) = (times(bound.wire), times(bound.time));
            println!(
                "{count} servers, {}: {form:.3} of the form, {wire:.3} of the wire",
                settings.cost.name()
            );
            assert!(wire >= 1.0, "{count} servers: {wire} of {bound:?}");
            assert!((0.95..1.2).contains(&form), "{count} servers: {form} of {bound:?}");
        }
    }
}

#[test]
fn trees_of_nvls_end_whatever_the_size() {
    for count in [2, 3, 5] {
        for gpus in [2, 3] {
            let fabric = servers(count, gpus);
            for size in [1, 7, 100, 65_537, 3_000_001, 50_000_003] {
                let (_, _, loads) = by_nvls_trees(&fabric, size, &Settings::default());
                let received: u64 = loads.nics.values().map(|moved| moved.received.get()).sum();
                // Every edge of a tree carries everything up and down.
                assert_eq!(received, 2 * size * u64::from(count - 1));
            }
        }
    }
}

/// As users see it on 8 H100: flags up to about a megabyte, NVLS above.
#[test]
fn the_tuner_takes_nvls_for_large_sizes() {
    let choice = |nvls: bool, size: u64| {
        let layout = Layout::new(&server(nvls), None, &Placement::Packed).unwrap();
        let choice = tuner::choose(Collective::AllReduce, Bytes::new(size), &layout);
        choice.unwrap().algorithm
    };
    assert_eq!(choice(true, 256 << 10), Algorithm::Ring);
    assert_eq!(choice(true, 8 << 20), Algorithm::Nvls);
    assert_eq!(choice(false, 8 << 20), Algorithm::Ring);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever the size, the tree and the slots: it ends, and moves what it should. (That slots are never given out twice,
    /// and that all are free at the end, the program asserts itself.)
    #[test]
    fn it_ends_and_moves_what_it_should(
        servers in 2u32..13, gpus in 1u32..4, size in 1u64..40 << 20, slots in 2u32..20,
        piece in 1u64 << 10..1 << 17, overhead in 0u64..5, channels in 1u32..4,
    ) {
        let fabric = fabric(servers, gpus, &format!("{{ slots = {slots}, piece = '{piece}B' }}"));
        let slice = Span::from_us(overhead);
        let cost = Cost { launch: slice, slice, proxy: slice, ..Cost::NONE };
        let settings = Settings { cost, channels: Some(channels), ..Settings::default() };
        let network = Network { latency: Span::from_us(2), ..Network::default() };
        let (outcome, layout) = run(size, &fabric, &settings, &network);
        let (kind, size) = ((Collective::AllReduce, Algorithm::InNetwork), Bytes::new(size));
        let expected = loads(kind.0, kind.1, size, &layout, &settings).unwrap();
        for (nic, moved) in (0..).map(NicId).zip(&outcome.nics) {
            let load = expected.nics.get(&nic).copied().unwrap_or_default();
            prop_assert_eq!(*moved, load, "NIC {}", nic);
        }
        for (gpu, moved) in (0..).map(GpuId).zip(&outcome.gpus) {
            prop_assert_eq!(*moved, expected.gpus.get(&gpu).copied().unwrap_or_default());
        }
        let bound = bound(kind.0, kind.1, size, &layout, &settings, &network).unwrap();
        let least = bound.time.as_ps() as f64 * 0.995 - 1e5;
        prop_assert!(outcome.end.as_ps() as f64 >= least, "{:?} below {:?}", outcome.end, bound);
    }
}
