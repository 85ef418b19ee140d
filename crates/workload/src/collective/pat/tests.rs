use super::*;
use crate::collective::tests::{any_channels, any_network, cluster, packed, run};
use crate::collective::{
    Algorithm, Collective, Cost, Lateness, Network, bound, loads, program as made, tuner,
};
use crate::ideal;
use crate::layout::Placement;
use crate::program::Program;
use crate::stream::Stream;
use std::collections::BTreeMap;

const BOTH: [Collective; 2] = [Collective::AllGather, Collective::ReduceScatter];

fn pat_of(collective: Collective, ranks: u32, size: u64, settings: &Settings) -> Pat {
    let layout = packed(&cluster(ranks, 1));
    match made(collective, Algorithm::Pat, Bytes::new(size), &layout, settings) {
        Ok(Program::Pat(pat)) => pat,
        other => panic!("not PAT: {other:?}"),
    }
}

/// What a rank holds of each chunk, as ranks whose data is in it, and after how many messages it had all of it.
type Held = Vec<BTreeMap<u32, (u128, u32)>>;

/// A lap on sets of ranks: every message takes what its sender held when it had received what the message needs.
fn interpret(pat: &Pat, messages: &[Message]) -> Held {
    let ranks = pat.ranks();
    let own = |rank: u32| {
        let chunks = if pat.gather { rank..rank + 1 } else { 0..ranks };
        chunks.map(|chunk| (chunk, (1 << rank, 0))).collect()
    };
    let mut held: Held = (0..ranks).map(own).collect();
    for (&message, at) in messages.iter().zip(1..) {
        let before = held.clone();
        for (rank, before) in before.iter().enumerate() {
            let target = pat.target(rank, message.dim);
            assert_eq!(pat.source(target, message.dim), rank);
            for chunk in pat.chunks(rank, message) {
                let (set, since) = before[&chunk];
                assert!(since <= message.need, "{message:?} sends what came in message {since}");
                assert!(message.need < at);
                let place = held[target].entry(chunk).or_insert((0, 0));
                assert_eq!(place.0 & set, 0, "{message:?}: twice");
                *place = (place.0 | set, at);
            }
        }
    }
    held
}

/// Every rank ends with everybody's data, each once, for any number of ranks and any aggregation; and all chunks are sent once by a rank.
#[test]
fn everybody_ends_with_what_it_should() {
    for ranks in 2..=70u32 {
        let everybody: u128 = (1 << ranks) - 1;
        for collective in BOTH {
            let pat = pat_of(collective, ranks, 1 << 20, &Settings::default());
            for power in 0..ranks.next_power_of_two().ilog2() {
                let messages = schedule(ranks, 1 << power, pat.gather);
                let sent: u32 = messages.iter().map(|message| message.count).sum();
                assert_eq!(sent, ranks - 1, "{ranks} ranks, {power}");
                let held = interpret(&pat, &messages);
                for (rank, held) in (0..ranks).zip(&held) {
                    match pat.gather {
                        true => assert!((0..ranks).all(|chunk| held[&chunk].0 == 1 << chunk)),
                        false => assert_eq!(held[&rank].0, everybody),
                    }
                }
            }
        }
    }
}

/// A wrong order is caught: what a message passes on has not come yet.
#[test]
fn a_wrong_schedule_is_caught() {
    let pat = pat_of(Collective::AllGather, 8, 1 << 20, &Settings::default());
    let mut messages = schedule(8, 4, true);
    messages.swap(0, 1);
    assert!(std::panic::catch_unwind(|| interpret(&pat, &messages)).is_err());
}

/// What every NIC sends and receives, to the byte, whatever the size, the channels, the queue pairs, the costs and the lateness.
#[test]
fn every_port_moves_exactly_what_it_should() {
    let mut stream = Stream::new(1, 0, "pat moves");
    for number in 0..160 {
        let ranks = 2 + stream.below(32) as u32;
        let fabric = cluster(ranks, 1);
        let layout = Layout::new(&fabric, None, &Placement::Fragmented { seed: number }).unwrap();
        let power = 1 + stream.below(26);
        let size = 1 + stream.below(1 << power);
        let settings = Settings {
            channels: any_channels(&mut stream),
            queues: 1 + stream.below(3) as u32,
            step: Bytes::new(1 << (12 + stream.below(8))),
            cost: [Cost::MEASURED, Cost::NONE][number as usize % 2],
            lateness: Lateness { most: Span::from_us(stream.below(2) * 30), seed: number },
            ..Settings::default()
        };
        let collective = BOTH[stream.below(2) as usize];
        let all = Bytes::new(size);
        let mut program = made(collective, Algorithm::Pat, all, &layout, &settings).unwrap();
        let demands = program.demands();
        let shapes: Vec<Shape> = match &program {
            Program::Pat(pat) => pat.channels.iter().map(|channel| channel.shape).collect(),
            _ => panic!("not PAT"),
        };
        let outcome = ideal::run(&mut program, &fabric, &any_network(&mut stream)).unwrap();
        let expected = loads(collective, Algorithm::Pat, all, &layout, &settings).unwrap();
        for rank in 0..ranks {
            let nic = layout.seat(RankId(rank)).nic;
            let moved = outcome.nics[nic.index()];
            assert_eq!(moved, expected.nics.get(&nic).copied().unwrap_or_default());
            // All but the own chunk is received, or sent.
            let own: u64 = shapes.iter().map(|shape| shape.chunk_in_all(rank)).sum();
            let counted = if collective == BOTH[0] { moved.received } else { moved.sent };
            assert_eq!(counted.get(), size - own, "{ranks} ranks, {size} bytes");
            let demanded = demands.iter().filter(|demand| demand.from == nic);
            assert_eq!(demanded.map(|d| d.bytes.get()).sum::<u64>(), moved.sent.get());
            if size.is_multiple_of(u64::from(ranks)) && shapes.len() == 1 && shapes[0].laps == 1 {
                let share = size / u64::from(ranks) * u64::from(ranks - 1);
                assert_eq!((moved.sent.get(), moved.received.get()), (share, share));
            }
        }
    }
}

fn ratio(
    collective: Collective,
    ranks: u32,
    size: u64,
    settings: &Settings,
    network: &Network,
) -> f64 {
    let fabric = cluster(ranks, 1);
    let layout = packed(&fabric);
    let kind = (collective, Algorithm::Pat);
    let end = run(kind, size, &fabric, &layout, settings, network).end;
    let bound = bound(kind.0, kind.1, Bytes::new(size), &layout, settings, network).unwrap();
    assert!(bound.time >= bound.wire && bound.time >= bound.path);
    end.as_ps() as f64 / bound.time.as_ps() as f64
}

/// Two to 33 ranks, 128 bytes to 128 MiB, with costs and without: within 3 % of what one rank takes. Chunks that differ by a byte may put ranks out of
/// step, so that several send to the same one at once: in one case of a hundred up to 6 %.
#[test]
fn it_takes_what_one_rank_does() {
    let mut stream = Stream::new(1, 0, "pat times");
    let (mut off, mut all) = (Vec::new(), Vec::new());
    for ranks in 2..=33 {
        for power in [7, 12, 16, 18, 20, 22, 24, 26] {
            let size = (1u64 << power) + stream.below(1 << power);
            for (collective, cost) in BOTH.into_iter().zip([Cost::MEASURED, Cost::NONE]) {
                let settings =
                    Settings { channels: any_channels(&mut stream), cost, ..Settings::default() };
                let network = any_network(&mut stream);
                let ratio = ratio(collective, ranks, size, &settings, &network);
                all.push(ratio);
                if !(0.97..1.03).contains(&ratio) {
                    let channels = settings.channels;
                    off.push(format!(
                        "{ranks} ranks, {size} bytes, {channels:?}, {collective:?}: {ratio:.4}"
                    ));
                }
            }
        }
    }
    all.sort_by(f64::total_cmp);
    println!("{} cases from {:.4} to {:.4}", all.len(), all[0], all[all.len() - 1]);
    assert!(all[0] > 0.99 && all[all.len() - 1] < 1.06);
    assert!(off.len() * 100 <= all.len(), "{} of {}\n{}", off.len(), all.len(), off.join("\n"));
}

/// Small ones by the formula: a clear-to-send, a latency and what proxies and GPUs take for every level, and all bytes but the own ones once.
#[test]
fn small_ones_take_the_logarithm_of_the_ranks() {
    let latency = Span::from_us(5);
    let network = Network { latency, ..Network::default() };
    let (launch, slice, proxy) = (Span::from_us(7), Span::from_us(3), Span::from_us(2));
    let cost = Cost { launch, slice, proxy, ..Cost::NONE };
    let settings = Settings { channels: Some(1), cost, ..Settings::default() };
    for ranks in 2..=70u32 {
        let fabric = cluster(ranks, 1);
        let layout = packed(&fabric);
        // 400G: 20 ps a byte.
        let chunk = 1_000;
        for collective in BOTH {
            let kind = (collective, Algorithm::Pat);
            let size = chunk * u64::from(ranks);
            let end = run(kind, size, &fabric, &layout, &settings, &network).end.as_ps();
            let levels = u64::from(ranks.next_power_of_two().ilog2());
            let level = (latency + slice + proxy).as_ps();
            let wire = 20 * (64 + chunk * u64::from(ranks - 1));
            let expected = (launch + latency).as_ps() + levels * level + wire;
            assert_eq!(end, expected, "{ranks} ranks, {collective:?}");
        }
    }
}

fn time(kind: (Collective, Algorithm), ranks: u32, size: u64, cost: Cost) -> u64 {
    let fabric = cluster(ranks, 1);
    let network = Network { latency: Span::from_us(2), ..Network::default() };
    let settings = Settings { cost, ..Settings::default() };
    run(kind, size, &fabric, &packed(&fabric), &settings, &network).end.as_ps()
}

#[test]
fn more_bytes_never_take_less_time() {
    let mut falls = Vec::new();
    for ranks in [2, 3, 5, 8, 13, 32] {
        for (collective, cost) in
            BOTH.into_iter().flat_map(|all| [Cost::MEASURED, Cost::NONE].map(|cost| (all, cost)))
        {
            let mut last = (0, 0);
            for size in (6..27).flat_map(|power| [1u64 << power, 3 << (power - 1)]) {
                let took = time((collective, Algorithm::Pat), ranks, size, cost);
                if took < last.1 {
                    falls.push(format!(
                        "{ranks} {collective:?} {}: {last:?}, {size} in {took}",
                        cost.name()
                    ));
                }
                last = (size, took);
            }
        }
    }
    assert!(falls.is_empty(), "{} falls\n{}", falls.len(), falls.join("\n"));
}

#[test]
fn more_ranks_with_as_many_bytes_each_never_take_less_time() {
    for (collective, each) in
        BOTH.into_iter().flat_map(|all| [8, 4 << 10, 1 << 20].map(|e| (all, e)))
    {
        for cost in [Cost::MEASURED, Cost::NONE] {
            let times = [2, 3, 4, 5, 8, 9, 16, 17, 32, 33].map(|ranks| {
                time((collective, Algorithm::Pat), ranks, each * u64::from(ranks), cost)
            });
            assert!(times.is_sorted(), "{collective:?}, {each} each, {}: {times:?}", cost.name());
        }
    }
}

/// Trees win where latency counts and servers are many; rings where bandwidth does.
#[test]
fn small_ones_are_faster_than_rings_and_large_ones_slower() {
    for collective in BOTH {
        for cost in [Cost::MEASURED, Cost::NONE] {
            let both = |ranks, size| {
                [Algorithm::Pat, Algorithm::Ring]
                    .map(|way| time((collective, way), ranks, size, cost))
            };
            for ranks in [16, 32, 64] {
                let [pat, ring] = both(ranks, 64 << 10);
                assert!(pat * 2 < ring, "{ranks}: {pat} {ring}");
            }
            for ranks in [4, 16] {
                let [pat, ring] = both(ranks, 512 << 20);
                // Without costs both are as fast as the port.
                let most = if cost == Cost::NONE { pat + pat / 50 } else { pat - pat / 50 };
                assert!(ring < most, "{ranks}: {pat} {ring}");
            }
        }
    }
}

#[test]
fn it_is_refused_where_nccl_would_not_use_it() {
    let settings = Settings::default();
    let refused = |collective, servers, gpus| {
        let layout = packed(&cluster(servers, gpus));
        made(collective, Algorithm::Pat, Bytes::new(1 << 20), &layout, &settings).unwrap_err()
    };
    for (servers, gpus) in [(4, 2), (1, 8), (1, 1)] {
        assert_eq!(refused(Collective::AllGather, servers, gpus), CollectiveError::NoPat);
    }
    let error = refused(Collective::AllReduce, 4, 1).to_string();
    assert_eq!(error, "all-reduce has no algorithm `pat`");
    let error = refused(Collective::AllToAll, 4, 1).to_string();
    assert_eq!(error, "all-to-all has no algorithm `pat`");
    let layout = packed(&cluster(4, 1));
    let tiny = Settings { step: Bytes::new(1), ..settings };
    let huge = made(Collective::AllGather, Algorithm::Pat, Bytes::new(u64::MAX), &layout, &tiny);
    assert!(matches!(huge, Err(CollectiveError::TooLarge(_))));
}

/// The tuner's estimate is the table's, and it takes PAT between LL and LL128, with one rank per server only.
#[test]
fn the_tuner_takes_it_in_between() {
    let layout = packed(&cluster(64, 1));
    for collective in BOTH {
        let simple = tuner::Protocol::Simple;
        let estimate = tuner::estimate(collective, Algorithm::Pat, simple, Bytes::ZERO, &layout);
        assert_eq!(estimate, Span::from_ns(8_000 + 6 * 4_000 + 64 * 2_800));
        let of = |size| tuner::choose(collective, Bytes::new(size), &layout).unwrap();
        assert_eq!(of(8).algorithm, Algorithm::Ring);
        let between = of(4 << 20);
        assert_eq!((between.algorithm, between.protocol), (Algorithm::Pat, simple));
        // 4 MiB at three quarters of 400G.
        let wire = Rate::from_gbps(300).time_for(Bytes::new(4 << 20));
        assert_eq!(between.time, estimate + wire);
        assert_eq!(of(1 << 30).algorithm, Algorithm::Ring);
        let several = packed(&cluster(64, 2));
        let choice = tuner::choose(collective, Bytes::new(4 << 20), &several).unwrap();
        assert_eq!(choice.algorithm, Algorithm::Ring);
    }
}
