//! Time on the ideal network against the closed form.

use super::*;

/// A collective somewhere, with its time and closed form.
#[derive(Debug)]
#[expect(dead_code, reason = "printed when an assertion fails")]
struct Case {
    servers: u32,
    gpus: u32,
    collective: Collective,
    algorithm: Algorithm,
    size: u64,
    channels: Option<u32>,
    network: Network,
    bound: Bound,
    /// Time over closed form.
    ratio: f64,
    /// The second largest term over the largest.
    second: f64,
}

fn case(
    (servers, gpus): (u32, u32),
    (collective, algorithm): (Collective, Algorithm),
    size: u64,
    channels: Option<u32>,
    network: Network,
) -> Case {
    let fabric = cluster(servers, gpus);
    let layout = packed(&fabric);
    let settings = Settings { channels, ..Settings::without_cost() };
    let outcome = run((collective, algorithm), size, &fabric, &layout, &settings, &network);
    let bound =
        bound(collective, algorithm, Bytes::new(size), &layout, &settings, &network).unwrap();
    let ratio = outcome.end.as_ps() as f64 / bound.time.as_ps() as f64;
    let mut terms = [bound.wire, bound.path, bound.credit].map(|term| term.as_ps() as f64);
    terms.sort_by(f64::total_cmp);
    let second = terms[1] / terms[2];
    Case { servers, gpus, collective, algorithm, size, channels, network, bound, ratio, second }
}

/// Rings, chains and neighbours, of any size on any number of ranks: within 2 % unless two terms are
/// about equal, and never more than 12 % off.
#[test]
fn rings_take_what_the_closed_form_says() {
    let mut stream = Stream::new(1, 0, "rings");
    let kinds = [
        (Collective::AllReduce, Algorithm::Ring),
        (Collective::AllGather, Algorithm::Ring),
        (Collective::ReduceScatter, Algorithm::Ring),
        (Collective::Broadcast { root: RankId(0) }, Algorithm::Ring),
        (Collective::SendRecv, Algorithm::Pairwise),
    ];
    let mut clear = 0;
    for number in 0..250 {
        let gpus = [1, 1, 2, 4, 8][stream.below(5) as usize];
        let servers =
            2 + stream.below(if number % 8 == 0 { 60 / u64::from(gpus) + 4 } else { 10 }) as u32;
        let size = 1u64 << (12 + stream.below(16));
        let size = size + stream.below(size);
        let kind = kinds[number % kinds.len()];
        let channels = any_channels(&mut stream);
        let case = case((servers, gpus), kind, size, channels, any_network(&mut stream));
        assert!((0.98..1.12).contains(&case.ratio), "{case:?}");
        // A chain passes NVLink and network one after the other, and they may be about as fast.
        let chain = matches!(case.collective, Collective::Broadcast { .. }) && gpus > 1;
        if case.second < 0.6 && !chain {
            clear += 1;
            assert!(case.ratio < 1.02, "{case:?}");
        }
    }
    assert!(clear > 100, "{clear} cases with one term that stands out");
}

/// Trees, rails and pairs, large enough that the wire stands out: within 2 %.
#[test]
fn large_ones_take_what_the_closed_form_says() {
    let mut stream = Stream::new(1, 0, "large");
    let kinds = [
        (Collective::AllReduce, Algorithm::Tree),
        (Collective::AllReduce, Algorithm::Rail),
        (Collective::Broadcast { root: RankId(1) }, Algorithm::Tree),
        (Collective::AllToAll, Algorithm::Pxn),
        (Collective::AllToAll, Algorithm::Pairwise),
    ];
    for number in 0..60 {
        let kind = kinds[number % kinds.len()];
        let gpus = [1, 2, 4][stream.below(3) as usize];
        let servers = 2 + stream.below(8) as u32;
        let channels = Some(u32::max(gpus, 1 + stream.below(2) as u32));
        let size = (600 << 20) + stream.below(500 << 20);
        let case = case((servers, gpus), kind, size, channels, any_network(&mut stream));
        assert!((0.98..1.02).contains(&case.ratio), "{case:?}");
    }
}

/// The same, so small that latency is all there is: within 2 %.
#[test]
fn small_ones_take_what_the_closed_form_says() {
    let mut stream = Stream::new(1, 0, "small");
    for number in 0..300 {
        let collective = COLLECTIVES[number % COLLECTIVES.len()];
        let algorithms = Algorithm::of(collective);
        let algorithm = algorithms[stream.below(algorithms.len() as u64) as usize];
        let gpus = [1, 2, 4, 8][stream.below(4) as usize];
        let servers = 2 + stream.below(14) as u32;
        let network = Network {
            latency: Span::from_us(4 + stream.below(20)),
            nvlink_latency: Span::from_us(1 + stream.below(2)),
            ..Network::default()
        };
        let size = 1 + stream.below(4_000);
        let case = case((servers, gpus), (collective, algorithm), size, None, network);
        // Pairs that hand over by NVLink do that before their clear-to-send can count.
        let most = match algorithm {
            Algorithm::Pxn => 1.5,
            // Ranks without a byte of their own are passed over, and the others wait in another order.
            _ if size < u64::from(servers * gpus) => 1.2,
            _ => 1.05,
        };
        assert!((0.95..most).contains(&case.ratio), "{case:?}");
    }
}

/// Gathers and scatters of any size, on any number of ranks: what the root's port does.
#[test]
fn gathers_and_scatters_take_what_the_closed_form_says() {
    let mut stream = Stream::new(1, 0, "gathers");
    for number in 0..60 {
        let servers = 2 + stream.below(if number % 8 == 0 { 200 } else { 20 }) as u32;
        let root = RankId(stream.below(u64::from(servers)) as u32);
        let size = (u64::from(servers) * 8) << stream.below(20);
        let channels = Some(1 + stream.below(4) as u32);
        let network = any_network(&mut stream);
        for collective in [Collective::Gather { root }, Collective::Scatter { root }] {
            let kind = (collective, Algorithm::Pairwise);
            let case = case((servers, 1), kind, size, channels, network);
            assert!((0.98..1.02).contains(&case.ratio), "{case:?}");
        }
    }
}

/// A thousand ranks, once each.
#[test]
fn a_thousand_ranks() {
    let network = Network { latency: Span::from_us(2), ..Network::default() };
    for (collective, algorithm, servers, gpus, size) in [
        (Collective::AllReduce, Algorithm::Ring, 1024, 1, 64 << 20),
        (Collective::AllGather, Algorithm::Ring, 128, 8, 1 << 20),
        (Collective::ReduceScatter, Algorithm::Ring, 512, 2, 1 << 20),
        (Collective::AllReduce, Algorithm::Tree, 1024, 1, 8 << 10),
        (Collective::AllReduce, Algorithm::Rail, 128, 8, 16 << 20),
        (Collective::Broadcast { root: RankId(700) }, Algorithm::Ring, 128, 8, 16 << 20),
        (Collective::Reduce { root: RankId(700) }, Algorithm::Ring, 128, 8, 16 << 20),
        (Collective::SendRecv, Algorithm::Pxn, 128, 8, 4 << 20),
    ] {
        let case = case((servers, gpus), (collective, algorithm), size, Some(1), network);
        assert!((0.98..1.02).contains(&case.ratio), "{case:?}");
    }
}

/// All to all on a thousand ranks is a million messages.
#[test]
#[ignore = "takes ten seconds"]
fn a_thousand_ranks_all_to_all() {
    let network = Network { latency: Span::from_us(2), ..Network::default() };
    let kind = (Collective::AllToAll, Algorithm::Pxn);
    let case = case((128, 8), kind, 128 << 20, Some(4), network);
    assert!((0.999..1.02).contains(&case.ratio), "{case:?}");
}

/// Work on the GPU adds to every hop of a small ring.
#[test]
fn overhead_counts_on_every_hop() {
    let fabric = cluster(8, 1);
    let layout = packed(&fabric);
    let network = Network { latency: Span::from_us(5), ..Network::default() };
    let time = |settings: &Settings| {
        let kind = (Collective::AllReduce, Algorithm::Ring);
        run(kind, 8_000, &fabric, &layout, settings, &network).end.as_ps()
    };
    let costing = |cost: Cost| time(&Settings { cost, ..Settings::default() });
    let plain = costing(Cost::NONE);
    let (slice, launch, proxy) = (Span::from_us(3), Span::from_us(7), Span::from_us(2));
    let slow = costing(Cost { slice, launch, ..Cost::NONE });
    assert_eq!(slow - plain, 14 * slice.as_ps() + launch.as_ps());
    assert_eq!(costing(Cost { proxy, ..Cost::NONE }) - plain, 14 * proxy.as_ps());
    // A kilobyte at 8 Gb/s is a microsecond.
    let copy_rate = Some(Rate::from_gbps(8));
    assert_eq!(costing(Cost { copy_rate, ..Cost::NONE }) - plain, 14 * 1_000_000);
    // Flags cost less than fences, until there is so much that their rate costs more.
    let rate = Rate::from_gbps(4);
    let flags = |slice, proxy| Some(Flags { slice, proxy, rate });
    let both = Cost { slice, proxy, flags: flags(Span::ZERO, Span::ZERO), ..Cost::NONE };
    assert_eq!(costing(both) - plain, 14 * (2_000_000 + 2_000_000));
}

/// Two runs of the same program are the same run.
#[test]
fn runs_repeat() {
    let fabric = cluster(3, 4);
    let layout = packed(&fabric);
    let network = Network { latency: Span::from_us(5), ..Network::default() };
    for collective in ALL {
        for &algorithm in Algorithm::of(collective) {
            let once = || {
                let kind = (collective, algorithm);
                run(kind, 5_000_001, &fabric, &layout, &Settings::default(), &network)
            };
            assert_eq!(once(), once());
        }
    }
}

/// All to all on even servers, of any size: what one rank does, all do, and no faster. Where messages differ by a
/// byte, ranks get out of step, and several may send to the same one at once.
#[test]
fn all_to_all_takes_what_one_rank_does() {
    let mut stream = Stream::new(1, 0, "pairs");
    let (mut even, mut within) = (0, 0);
    for number in 0..80 {
        let gpus = [1, 2, 4, 8][stream.below(4) as usize];
        let servers = 2 + stream.below(if number % 8 == 0 { 14 } else { 6 }) as u32;
        let ranks = u64::from(servers * gpus);
        let size = ranks << stream.below(20);
        let size = if number % 4 < 3 { size } else { size + stream.below(ranks) };
        let algorithm = [Algorithm::Pxn, Algorithm::Pairwise][number % 2];
        let kind = (Collective::AllToAll, algorithm);
        let channels = any_channels(&mut stream);
        let case = case((servers, gpus), kind, size, channels, any_network(&mut stream));
        assert!((0.999..1.25).contains(&case.ratio), "{case:?}");
        if size.is_multiple_of(ranks) {
            even += 1;
            within += u32::from(case.ratio < 1.02);
        }
    }
    assert_eq!(within, even, "within 2 %, of those with even messages");
}
