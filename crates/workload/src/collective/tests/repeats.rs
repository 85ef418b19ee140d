//! What is skipped because it repeats is what would have happened.

use super::*;

/// The machines among the programs: those that repeat themselves.
fn machines() -> impl Iterator<Item = (Collective, Algorithm)> {
    let of = |collective| Algorithm::of(collective).iter().map(move |&way| (collective, way));
    ALL.into_iter().flat_map(of)
}

/// To the picosecond, with all counters: any collective, layout, size, number of channels and queue pairs, and latencies.
#[test]
fn nothing_changes_when_repetitions_are_skipped() {
    let mut stream = Stream::new(11, 0, "repeats");
    for (servers, gpus) in [(1, 8), (2, 8), (6, 1), (3, 4), (16, 2)] {
        let fabric = cluster(servers, gpus);
        let layout = packed(&fabric);
        for (collective, algorithm) in machines() {
            for _ in 0..4 {
                let even = u64::from(servers * gpus) << 15;
                let size = match stream.below(3) {
                    0 => even * (1 + stream.below(64)),
                    1 => even << stream.below(10),
                    _ => 1 + stream.below(64 << 20),
                };
                let settings = Settings {
                    channels: any_channels(&mut stream),
                    queues: 1 + stream.below(4) as u32,
                    cost: if stream.below(2) == 0 { Cost::NONE } else { Cost::MEASURED },
                    ..Settings::default()
                };
                let network = any_network(&mut stream);
                let size = size.max(even);
                let program =
                    program(collective, algorithm, Bytes::new(size), &layout, &settings).unwrap();
                let all = ideal::run_every_action(&mut program.clone(), &fabric, &network);
                let skipped = ideal::run(&mut program.clone(), &fabric, &network);
                assert_eq!(skipped, all, "{servers} x {gpus} {collective:?} {algorithm:?} {size}");
            }
        }
    }
}

/// Long rings carry out a small part of their actions: steps repeat within a lap, and laps where there are many short ones.
#[test]
fn most_of_long_rings_is_skipped() {
    for (servers, gpus, size) in [(16, 8, 4 << 30), (8, 1, 8 << 30)] {
        let fabric = cluster(servers, gpus);
        let layout = packed(&fabric);
        let kind = (Collective::AllReduce, Algorithm::Ring);
        let settings = Settings::default();
        let mut program = program(kind.0, kind.1, Bytes::new(size), &layout, &settings).unwrap();
        let (outcome, carried_out) =
            ideal::run_counted(&mut program, &fabric, &Network::default()).unwrap();
        assert!(carried_out * 4 < outcome.actions, "{carried_out} of {}", outcome.actions);
    }
}
