//! How many bytes go where, and that it ends.

use super::*;
use crate::ideal::Moved;
use std::collections::BTreeMap;

fn by_nic(outcome: &Outcome) -> BTreeMap<u32, Moved> {
    let used = |moved: &(u32, &Moved)| *moved.1 != Moved::default();
    (0..).zip(&outcome.nics).filter(used).map(|(nic, moved)| (nic, *moved)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Long, because it draws a whole case (fabric, placement, collective, settings) before it runs it.
    #[test]
    fn every_port_moves_exactly_what_it_should(
        (servers, gpus) in (1u32..30, 1u32..9), nics in 1u32..9, uneven in 0u32..6,
        pick in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        size in prop_oneof![1u64..2_000, 1u64..1 << 20, 1u64..40 << 20], channels in prop::option::of(1u32..20),
        queues in 1u32..4, fragmented in any::<bool>(), launch in 0u64..2, overhead in 0u64..2,
    ) {
        let fabric = shared_nics(servers, gpus, nics.min(gpus));
        let ranks = (servers * gpus).saturating_sub(uneven).max(1);
        let placement = match fragmented {
            true => Placement::Fragmented { seed: size },
            false => Placement::Packed,
        };
        let layout = Layout::new(&fabric, Some(ranks), &placement).unwrap();
        let root = RankId(pick.2.index(ranks as usize) as u32);
        let collective = rooted(*pick.0.get(&ALL), root);
        let algorithm = *pick.1.get(Algorithm::of(collective));
        let size = match collective {
            Collective::Gather { .. } | Collective::Scatter { .. } => size.max(ranks.into()),
            _ => size,
        };
        let settings = Settings {
            channels,
            queues,
            cost: Cost {
                launch: Span::from_us(launch),
                slice: Span::from_us(overhead),
                proxy: Span::from_us(2 * overhead),
                ..Cost::NONE
            },
            ..Settings::default()
        };
        let network = Network { latency: Span::from_us(3), ..Network::default() };
        let program = program(collective, algorithm, Bytes::new(size), &layout, &settings);
        let Ok(mut program) = program else {
            prop_assert_eq!(algorithm, Algorithm::Rail);
            prop_assert!(layout.ranks_per_domain().is_none());
            return Ok(());
        };
        let demands = program.demands();
        let outcome = ideal::run(&mut program, &fabric, &network);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
        let outcome = outcome.unwrap();
        let expected = loads(collective, algorithm, Bytes::new(size), &layout, &settings).unwrap();
        let expected_nics: BTreeMap<u32, Moved> =
            expected.nics.iter().map(|(nic, moved)| (nic.0, *moved)).collect();
        prop_assert_eq!(by_nic(&outcome), expected_nics.clone());
        let mut demanded: BTreeMap<u32, Moved> = BTreeMap::new();
        for demand in demands.iter().filter(|demand| !demand.bytes.is_zero()) {
            demanded.entry(demand.from.0).or_default().sent += demand.bytes;
            demanded.entry(demand.to.0).or_default().received += demand.bytes;
        }
        prop_assert_eq!(demanded, expected_nics);
        for (gpu, moved) in outcome.gpus.iter().enumerate() {
            let gpu = crate::layout::GpuId(gpu as u32);
            prop_assert_eq!(*moved, expected.gpus.get(&gpu).copied().unwrap_or_default());
        }
    }
}

/// The sums that textbooks give.
#[test]
fn sums_are_those_of_the_textbook() {
    for (servers, gpus) in [(4, 8), (7, 1), (3, 4), (16, 2)] {
        let fabric = cluster(servers, gpus);
        let layout = packed(&fabric);
        let (n, g, s) = (u64::from(servers * gpus), u64::from(gpus), u64::from(servers));
        let size = n * gpus as u64 * (64 << 10);
        let sent = |collective, algorithm| -> (u64, u64, u64) {
            let settings = Settings::default();
            let loads = loads(collective, algorithm, Bytes::new(size), &layout, &settings).unwrap();
            let nics = loads.nics.values().map(|moved| moved.sent.get());
            (
                nics.clone().sum(),
                nics.max().unwrap_or(0),
                loads.gpus.values().map(|m| m.sent.get()).sum(),
            )
        };
        // Rings: each of the s hops between servers carries 2(n-1)/n of everything, on all rails alike.
        let ring = 2 * (n - 1) * size / n;
        let (all, most, nvlink) = sent(Collective::AllReduce, Algorithm::Ring);
        assert_eq!((all, nvlink), (s * ring, if g > 1 { n * ring } else { 0 }), "{servers}x{gpus}");
        assert!(most <= ring.div_ceil(g) + 64, "{most} {ring}");
        let (all, ..) = sent(Collective::AllGather, Algorithm::Ring);
        assert_eq!(all, s * ring / 2);
        // Trees: s-1 edges, up and down.
        let (all, ..) = sent(Collective::AllReduce, Algorithm::Tree);
        assert_eq!(all, 2 * (s - 1) * size);
        // Rails: every rail carries 2(s-1)/s of its share; NVLink (g-1)/g of everything, twice.
        let (all, most, nvlink) = sent(Collective::AllReduce, Algorithm::Rail);
        assert_eq!(all, s * 2 * (s - 1) * size / s);
        assert!(most <= 2 * (s - 1) * size / s / g + 64);
        assert_eq!(nvlink, n * 2 * (g - 1) * size / g);
        // All to all: what is not for the own server.
        for algorithm in [Algorithm::Pxn, Algorithm::Pairwise] {
            let (all, most, _) = sent(Collective::AllToAll, algorithm);
            assert_eq!(all, n * (n - g) * (size / n));
            assert_eq!(most, (n - g) * (size / n));
        }
        let root = Collective::Broadcast { root: RankId(1) };
        assert_eq!(sent(root, Algorithm::Ring).0, (s - 1) * size);
        assert_eq!(sent(root, Algorithm::Tree).0, (s - 1) * size);
        // The ring is cut after the root: where that is inside a server, its other ranks send first.
        let (all, ..) = sent(Collective::Reduce { root: RankId(1) }, Algorithm::Ring);
        assert!(((s - 1) * size..=s * size).contains(&all), "{all}");
        let (all, most, _) = sent(Collective::Scatter { root: RankId(1) }, Algorithm::Pairwise);
        assert_eq!((all, most), ((n - g) * (size / n), (n - g) * (size / n)));
    }
}

/// What is on the network at once stays within the buffers, however large the collective.
#[test]
fn buffers_bound_what_is_under_way() {
    let fabric = cluster(4, 4);
    let layout = packed(&fabric);
    let network = Network { latency: Span::from_us(5), ..Network::default() };
    for collective in ALL {
        for &algorithm in Algorithm::of(collective) {
            let settings = Settings { channels: Some(4), ..Settings::default() };
            let most = |size| {
                run((collective, algorithm), size, &fabric, &layout, &settings, &network)
                    .most_under_way
            };
            let (small, large) = (most(64 << 20), most(512 << 20));
            // Eight steps per connection, up and down, four channels, sixteen ranks.
            assert!(large <= 2 * 8 * 4 * 16 * 3, "{collective:?} {algorithm:?}: {large}");
            assert!(
                large <= small + small / 4 + 8,
                "{collective:?} {algorithm:?}: {small} {large}"
            );
        }
    }
}
