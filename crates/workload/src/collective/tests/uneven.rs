//! AllToAlls that are uneven, and ranks that come late.

use super::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Any matrix: some pairs have nothing to say to each other.
fn any_matrix(ranks: u32, stream: &mut Stream) -> Arc<Matrix> {
    let mut number = || match stream.below(3) {
        0 => 0,
        1 => stream.below(2_000),
        _ => stream.below(1 << 20),
    };
    let row = |_| (0..ranks).map(|_| format!("{} ", number())).collect::<String>() + "\n";
    let text: String = (0..ranks).map(row).collect();
    Arc::new(Matrix::parse(&text).unwrap_or_else(|_| Matrix::parse("0 1\n1 0\n").unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn everybody_gets_exactly_its_own(
        (servers, gpus) in (1u32..9, 1u32..9), missing in 0u32..3, seed in any::<u64>(), how in 0usize..3,
        late in 0u64..40, queues in 1u32..3,
    ) {
        let fabric = cluster(servers, gpus);
        let ranks = (servers * gpus).saturating_sub(missing).max(2).min(servers * gpus);
        prop_assume!(ranks >= 2);
        let layout = Layout::new(&fabric, Some(ranks), &Placement::Packed).unwrap();
        let mut stream = Stream::new(seed, 0, "a matrix");
        let matrix = any_matrix(ranks, &mut stream);
        prop_assume!(matrix.ranks() == ranks);
        let algorithm = Algorithm::of(Collective::AllToAll)[how];
        let lateness = Lateness { most: Span::from_us(late), seed };
        let settings = Settings { lateness, queues, ..Settings::without_cost() };
        let mut program = uneven(&matrix, algorithm, &layout, &settings).unwrap();
        let demands = program.demands();
        let outcome = ideal::run(&mut program, &fabric, &any_network(&mut stream));
        prop_assert!(outcome.is_ok(), "{outcome:?}");
        let outcome = outcome.unwrap();
        // What NICs receive is what ranks of other servers have for those behind them.
        let mut expected: BTreeMap<u32, u64> = BTreeMap::new();
        for (from, to) in (0..ranks).flat_map(|from| (0..ranks).map(move |to| (from, to))) {
            let seats = [from, to].map(|rank| layout.seat(RankId(rank)));
            if seats[0].domain != seats[1].domain {
                *expected.entry(seats[1].nic.0).or_default() += matrix.between(from, to).get();
            }
        }
        for (nic, moved) in (0..).zip(&outcome.nics) {
            let own = expected.get(&nic).copied().unwrap_or(0);
            prop_assert_eq!(moved.received.get(), own);
        }
        let demanded: u64 = demands.iter().map(|demand| demand.bytes.get()).sum();
        prop_assert_eq!(demanded, expected.values().sum::<u64>());
    }
}

/// A rank that nobody has anything for, and that has nothing for others, is not waited for.
#[test]
fn who_has_no_part_in_it_may_come_late() {
    let fabric = cluster(2, 2);
    let layout = Layout::new(&fabric, Some(3), &Placement::Packed).unwrap();
    let matrix = Arc::new(Matrix::parse("0 8 0\n8 0 0\n0 0 0\n").unwrap());
    for seed in 0..20 {
        let lateness = Lateness { most: Span::from_us(40), seed };
        let settings = Settings { lateness, ..Settings::without_cost() };
        for &algorithm in Algorithm::of(Collective::AllToAll) {
            let mut program = uneven(&matrix, algorithm, &layout, &settings).unwrap();
            let outcome = ideal::run(&mut program, &fabric, &Network::default());
            assert!(outcome.is_ok(), "{algorithm:?}: {outcome:?}");
        }
    }
}

/// Where everybody has as much for everybody, it is the AllToAll that it is.
#[test]
fn an_even_matrix_is_an_all_to_all() {
    let fabric = cluster(4, 4);
    let layout = packed(&fabric);
    let (size, settings) = (Bytes::new(16 << 20), Settings::default());
    let network = Network { latency: Span::from_us(3), ..Network::default() };
    let even = Uneven::Skewed { ratio: 1.0, seed: 3 }.matrix(size, 16);
    for algorithm in [Algorithm::Pxn, Algorithm::Pairwise] {
        let mut own = uneven(&even, algorithm, &layout, &settings).unwrap();
        let plain = (Collective::AllToAll, algorithm);
        let plain = run(plain, size.get(), &fabric, &layout, &settings, &network);
        assert_eq!(ideal::run(&mut own, &fabric, &network).unwrap().end, plain.end);
    }
}

/// The port of the busiest rank is the time of it: a larger skew is never faster.
#[test]
fn the_busiest_rank_is_the_time() {
    let fabric = cluster(16, 1);
    let layout = packed(&fabric);
    let size = Bytes::new(64 << 20);
    let settings = Settings::without_cost();
    let mut before = Span::ZERO;
    for ratio in [1.0, 1.5, 2.0, 4.0, 8.0] {
        let matrix = Uneven::Skewed { ratio, seed: 1 }.matrix(size, 16);
        let mut program = uneven(&matrix, Algorithm::Pairwise, &layout, &settings).unwrap();
        let took = ideal::run(&mut program, &fabric, &Network::default()).unwrap().end;
        let took = took - xoff_units::Instant::ZERO;
        // 15 of 16 ranks send to the busiest one over its 400G port.
        let port = size.get() as f64 / 16.0 * 15.0 * ratio * 8.0 / 400e9;
        let over = took.as_s_f64() / port;
        assert!((0.999..1.4).contains(&over), "{ratio}: {over} times its port");
        assert!(took >= before, "{ratio}");
        before = took;
    }
}

/// Nothing ends before the last rank has come, and nothing takes longer than if all had come with the last.
#[test]
fn who_comes_late_is_waited_for() {
    let fabric = cluster(4, 4);
    let layout = packed(&fabric);
    let network = Network { latency: Span::from_us(3), ..Network::default() };
    for collective in ALL {
        for &algorithm in Algorithm::of(collective) {
            let time = |most: u64| {
                let lateness = Lateness { most: Span::from_us(most), seed: 5 };
                let settings = Settings { lateness, ..Settings::default() };
                let last = (0..16).map(|gpu| lateness.of(crate::layout::GpuId(gpu))).max();
                let kind = (collective, algorithm);
                let end = run(kind, 1 << 20, &fabric, &layout, &settings, &network).end;
                (end - xoff_units::Instant::ZERO, last.unwrap())
            };
            let (prompt, _) = time(0);
            let (late, last) = time(10_000);
            let name = collective.name();
            assert!(last > Span::from_us(8_000));
            assert!(
                late <= last + prompt + Span::from_us(100),
                "{name}: {late} after {last}, {prompt}"
            );
            assert!(late > last, "{name}: {late}, the last rank comes at {last}");
        }
    }
}

#[test]
fn a_matrix_is_for_its_ranks() {
    let layout = packed(&cluster(4, 1));
    let matrix = Arc::new(Matrix::parse("0 1\n1 0\n").unwrap());
    let error = uneven(&matrix, Algorithm::Pxn, &layout, &Settings::default()).unwrap_err();
    assert_eq!(error.to_string(), "the matrix has 2 rows, and there are 4 ranks");
}

/// Everything at once takes what the busiest port takes, and the latency once: no rounds, no clear-to-sends. Messages
/// that meet at a port make the rest.
#[test]
fn direct_writes_take_the_port_and_one_latency() {
    let network = Network { latency: Span::from_us(5), ..Network::default() };
    for (servers, gpus, size) in
        [(16, 1, 16 << 20), (32, 8, 7_569_408), (2, 8, 1 << 20), (64, 1, 64)]
    {
        let fabric = cluster(servers, gpus);
        let layout = packed(&fabric);
        let settings = Settings {
            cost: Cost { launch: Span::from_us(43), ..Cost::NONE },
            ..Settings::default()
        };
        let kind = (Collective::AllToAll, Algorithm::Direct);
        let end =
            run(kind, size, &fabric, &layout, &settings, &network).end - xoff_units::Instant::ZERO;
        let bound = bound(kind.0, kind.1, Bytes::new(size), &layout, &settings, &network).unwrap();
        let ranks = u64::from(servers * gpus);
        let far = size * (ranks - u64::from(gpus)) / ranks;
        let port = Span::from_us(48).as_s_f64() + far as f64 * 8.0 / 400e9;
        assert!((end.as_s_f64() / port - 1.0).abs() < 0.03, "{servers}x{gpus}: {end}, {port} s");
        assert!(
            bound.time <= end && end.as_ps() * 100 < bound.time.as_ps() * 103,
            "{end} {bound:?}"
        );
    }
}

/// DeepEP's low-latency dispatch (FP8 with scales) and combine (BF16) of 128 tokens to 8 experts, in us, by ranks (its README):
/// one time for the kernels, fitted once, and the port of a NIC give all rows that use the network.
#[test]
fn tokens_go_to_experts_as_fast_as_published() {
    const ROWS: [(u32, f64, f64); 5] = [
        (16, 118.0, 195.0),
        (32, 155.0, 273.0),
        (64, 173.0, 314.0),
        (128, 192.0, 369.0),
        (256, 194.0, 360.0),
    ];
    let network = Network { latency: Span::from_us(2), ..Network::default() };
    let cost = Cost { launch: Span::from_us(43), ..Cost::NONE };
    let settings = Settings { cost, ..Settings::default() };
    for (ranks, dispatch, combine) in ROWS {
        let fabric = cluster(ranks / 8, 8);
        let layout = packed(&fabric);
        for (size, published) in [(128 * 8 * (7168 + 224), dispatch), (128 * 8 * 7168 * 2, combine)]
        {
            let kind = (Collective::AllToAll, Algorithm::Direct);
            let end = run(kind, size, &fabric, &layout, &settings, &network).end;
            let error = end.as_ps() as f64 / 1e6 / published - 1.0;
            assert!(error.abs() < 0.15, "EP{ranks}, {size} bytes: {end}, {published} us published");
        }
    }
}
