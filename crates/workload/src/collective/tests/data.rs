//! Who ends with whose data: the steps of every worker on symbols instead of bytes.
//!
//! The value of a chunk is the set of ranks whose data is in it. Links are queues of bounded length, and
//! a worker goes on when its inputs have something: the outcome does not depend on the order, and what
//! cannot go on in any order is stuck.

use super::*;
use crate::collective::machine::Machine;
use crate::collective::part::Effect;
use std::collections::{BTreeMap, VecDeque};

/// The ranks in a piece, of up to 128: those added once, and those added again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Ranks {
    once: u128,
    again: u128,
}

impl Ranks {
    fn of(rank: u32) -> Self {
        Self { once: 1 << rank, again: 0 }
    }

    fn everybody(ranks: u32) -> Self {
        (0..ranks).fold(Self::default(), |all, rank| all.with(Self::of(rank)))
    }

    fn with(self, other: Self) -> Self {
        let again = self.again | other.again | self.once & other.once;
        Self { once: self.once | other.once, again }
    }
}

/// A piece: lap, chunk and the ranks in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    lap: u32,
    chunk: u32,
    ranks: Ranks,
}

/// What every rank has kept: by rank, channel, lap and chunk.
type Kept = BTreeMap<(u32, u32, u32, u32), Ranks>;

fn interpret(machine: &Machine) -> Kept {
    let mut queues: Vec<VecDeque<Piece>> = vec![VecDeque::new(); machine.links.len()];
    let mut at = vec![(0, 0); machine.workers.len()];
    let mut kept = Kept::new();
    // Chunks, not slices, so a buffer holds half as many.
    let room = machine.terms.window as usize / 2;
    loop {
        let mut moved = false;
        for (number, worker) in machine.workers.iter().enumerate() {
            let shape = &machine.shapes[worker.channel as usize];
            let (lap, step) = at[number];
            if lap == shape.laps {
                continue;
            }
            let op = worker.part.op(step);
            let bits = |mask: u8| (0..3usize).filter(move |bit| mask >> bit & 1 == 1);
            let inputs: Vec<usize> = bits(op.takes).map(|b| worker.inputs[b] as usize).collect();
            let outputs: Vec<usize> = bits(op.gives).map(|b| worker.outputs[b] as usize).collect();
            if inputs.iter().any(|&link| queues[link].is_empty())
                || outputs.iter().any(|&link| queues[link].len() >= room.max(1))
            {
                continue;
            }
            moved = true;
            at[number] =
                if step + 1 == worker.part.steps() { (lap + 1, 0) } else { (lap, step + 1) };
            let mut ranks = match op.effect {
                Effect::Own | Effect::Combine => Ranks::of(worker.gpu.0),
                Effect::Merge | Effect::Forward => Ranks::default(),
            };
            for input in inputs.iter().copied() {
                let piece = queues[input].pop_front().unwrap();
                assert_eq!((piece.lap, piece.chunk), (lap, op.chunk), "{worker:?}");
                ranks = ranks.with(piece.ranks);
            }
            assert!(op.effect != Effect::Forward || inputs.len() == 1);
            assert!(op.effect != Effect::Own || inputs.is_empty());
            let piece = Piece { lap, chunk: op.chunk, ranks };
            if op.keeps {
                let place = (worker.gpu.0, worker.channel, lap, op.chunk);
                assert_eq!(kept.insert(place, piece.ranks), None, "kept twice");
            }
            outputs.iter().for_each(|&link| queues[link].push_back(piece));
        }
        if !moved {
            break;
        }
    }
    for (number, worker) in machine.workers.iter().enumerate() {
        let laps = machine.shapes[worker.channel as usize].laps;
        assert_eq!(at[number], (laps, 0), "stuck: {worker:?}");
    }
    assert!(queues.iter().all(VecDeque::is_empty), "something is left over");
    kept
}

/// Whether every rank has what it should.
fn check(collective: Collective, machine: &Machine, ranks: u32) {
    let kept = interpret(machine);
    let everybody = Ranks::everybody(ranks);
    let mut expected = 0;
    for (channel, shape) in machine.shapes.iter().enumerate() {
        let channel = channel as u32;
        for lap in 0..shape.laps {
            let mut owners = BTreeMap::new();
            for chunk in 0..shape.chunks {
                let holders: Vec<u32> = (0..ranks)
                    .filter(|&rank| kept.contains_key(&(rank, channel, lap, chunk)))
                    .collect();
                expected += holders.len();
                let values = holders.iter().map(|&rank| kept[&(rank, channel, lap, chunk)]);
                match collective {
                    Collective::AllReduce => {
                        assert_eq!(holders.len() as u32, ranks);
                        values.for_each(|value| assert_eq!(value, everybody));
                    }
                    Collective::ReduceScatter => {
                        assert_eq!(holders.len(), 1);
                        values.for_each(|value| assert_eq!(value, everybody));
                        owners.insert(holders[0], chunk);
                    }
                    Collective::AllGather => {
                        assert_eq!(holders.len() as u32, ranks);
                        let first = kept[&(0, channel, lap, chunk)];
                        assert!(first.once.is_power_of_two() && first.again == 0);
                        values.for_each(|value| assert_eq!(value, first));
                        owners.insert(first.once.trailing_zeros(), chunk);
                    }
                    Collective::Broadcast { root } => {
                        assert_eq!(holders.len() as u32, ranks);
                        values.for_each(|value| assert_eq!(value, Ranks::of(root.0)));
                    }
                    Collective::Reduce { root } => {
                        assert_eq!(holders, [root.0]);
                        values.for_each(|value| assert_eq!(value, everybody));
                    }
                    Collective::AllToAll
                    | Collective::SendRecv
                    | Collective::Gather { .. }
                    | Collective::Scatter { .. } => unreachable!(),
                }
            }
            if matches!(collective, Collective::ReduceScatter | Collective::AllGather) {
                assert_eq!(owners.len() as u32, ranks, "a rank without a chunk of its own");
            }
        }
    }
    assert_eq!(kept.len(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everybody_ends_with_what_it_should(
        servers in 1u32..14, gpus in 1u32..9, which in 0usize..5, algorithm in any::<prop::sample::Index>(),
        root in any::<prop::sample::Index>(), channels in 1u32..5, laps in 1u64..4, uneven in 0u32..5,
    ) {
        let fabric = cluster(servers, gpus);
        let ranks = (servers * gpus).saturating_sub(uneven).max(2).min(servers * gpus);
        prop_assume!(ranks >= 2);
        let layout = Layout::new(&fabric, Some(ranks), &Placement::Packed).unwrap();
        let collective = match which {
            0 => Collective::AllReduce,
            1 => Collective::AllGather,
            2 => Collective::ReduceScatter,
            3 => Collective::Broadcast { root: RankId(root.index(ranks as usize) as u32) },
            _ => Collective::Reduce { root: RankId(root.index(ranks as usize) as u32) },
        };
        let algorithm = *algorithm.get(Algorithm::of(collective));
        // Small steps, so that a few bytes make laps.
        let step = Bytes::new(4 << 10);
        let settings = Settings { channels: Some(channels), step, ..Settings::default() };
        let size = Bytes::new(laps * u64::from(ranks) * u64::from(channels) * (13 << 10));
        match program(collective, algorithm, size, &layout, &settings) {
            Ok(Program::Machine(machine)) => check(collective, &machine, ranks),
            Ok(_) => prop_assert!(false, "not a machine"),
            Err(error) => {
                prop_assert_eq!(error, CollectiveError::Uneven);
                prop_assert_eq!(algorithm, Algorithm::Rail);
            }
        }
    }
}

#[test]
fn a_wrong_schedule_is_caught() {
    // Two workers that swap their places forward what is not theirs.
    let fabric = cluster(4, 1);
    let layout = packed(&fabric);
    let size = Bytes::new(1 << 20);
    let made = program(Collective::AllGather, Algorithm::Ring, size, &layout, &Settings::default());
    let Ok(Program::Machine(mut machine)) = made else { panic!() };
    let part = machine.workers[1].part;
    machine.workers[1].part = machine.workers[2].part;
    machine.workers[2].part = part;
    assert!(std::panic::catch_unwind(|| check(Collective::AllGather, &machine, 4)).is_err());
}
