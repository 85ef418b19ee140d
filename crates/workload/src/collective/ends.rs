//! [`Ends`]: when each rank of a collective was done.
//!
//! A rank is done when it has taken in all that it gets and handed over all that it gives. A collective does not end for all at once:
//! the last rank of a chain has its data when the first has long gone on.

use crate::layout::{GpuId, Layout, RankId};
use crate::replay::RankEnds;
use xoff_units::Instant;

/// When each rank did the last that it has done so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    now: Instant,
    /// By rank.
    at: Vec<Instant>,
    /// Sorted, with their ranks.
    gpus: Vec<(GpuId, u32)>,
    /// By rank: how much of it runs, where that is counted.
    running: Vec<u32>,
    /// Ranks that are done and were not asked for.
    gone: Vec<u32>,
}

impl Ends {
    /// Of the ranks of a layout.
    pub(crate) fn new(layout: &Layout) -> Self {
        let gpu = |rank: u32| (layout.seat(RankId(rank)).gpu, rank);
        let mut gpus: Vec<_> = (0..layout.ranks()).map(gpu).collect();
        gpus.sort_unstable();
        let (at, running) = (vec![Instant::ZERO; gpus.len()], vec![0; gpus.len()]);
        Self { now: Instant::ZERO, at, running, gone: Vec::with_capacity(gpus.len()), gpus }
    }

    /// What time it is.
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// A rank has done something now.
    pub(crate) fn mark(&mut self, rank: u32) {
        if let Some(at) = self.at.get_mut(rank as usize) {
            *at = self.now;
        }
    }

    /// One more part of the rank on a GPU runs.
    pub(crate) fn begin(&mut self, gpu: GpuId) {
        if let Some(rank) = self.rank(gpu) {
            self.running[rank as usize] += 1;
        }
    }

    /// A part of the rank on a GPU is done; with the last one the rank is.
    pub(crate) fn end(&mut self, gpu: GpuId) {
        let Some(rank) = self.rank(gpu) else { return };
        self.mark(rank);
        let running = &mut self.running[rank as usize];
        debug_assert!(*running > 0, "a part ended twice");
        *running = running.saturating_sub(1);
        if *running == 0 {
            self.gone.push(rank);
        }
    }

    fn rank(&self, gpu: GpuId) -> Option<u32> {
        let place = self.gpus.binary_search_by_key(&gpu, |(gpu, _)| *gpu).ok()?;
        Some(self.gpus[place].1)
    }

    /// A rank that is done, each once. Where parts are not counted there are none.
    pub(crate) fn next_gone(&mut self) -> Option<u32> {
        self.gone.pop()
    }

    /// The ends of all ranks; of use once all are done.
    pub(crate) fn all(&self) -> Option<RankEnds> {
        let ends = (0..).zip(&self.at).map(|(rank, end)| (rank, *end - Instant::ZERO));
        RankEnds::new(ends.collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::collective::tests::{COLLECTIVES, cluster, packed};
    use crate::collective::{Algorithm, Collective, Network, Settings, program};
    use crate::ideal;
    use crate::layout::RankId;
    use xoff_units::{Bytes, Instant};

    /// The last rank is done when the collective is, whatever it is and however it is done.
    #[test]
    fn the_last_rank_ends_with_the_collective() {
        let fabric = cluster(3, 4);
        let layout = packed(&fabric);
        for settings in [Settings::default(), Settings::without_cost()] {
            for collective in COLLECTIVES {
                for &algorithm in Algorithm::of(collective) {
                    let size = Bytes::new(3_000_000);
                    let mut one = program(collective, algorithm, size, &layout, &settings).unwrap();
                    let outcome = ideal::run(&mut one, &fabric, &Network::default()).unwrap();
                    let ends = one.ends().expect("ranks");
                    let what = (collective, algorithm);
                    assert_eq!(ends.last.1, outcome.end - Instant::ZERO, "{what:?}");
                    assert!(ends.first.1 <= ends.median && ends.median <= ends.last.1, "{what:?}");
                }
            }
        }
    }

    /// Down a chain the root is done first, and each rank later than the one before it.
    #[test]
    fn the_root_of_a_chain_goes_on_first() {
        let fabric = cluster(4, 8);
        let (layout, settings) = (packed(&fabric), Settings::default());
        let chain = Collective::Broadcast { root: RankId(5) };
        let size = Bytes::new(1 << 20);
        let mut one = program(chain, Algorithm::Ring, size, &layout, &settings).unwrap();
        ideal::run(&mut one, &fabric, &Network::default()).unwrap();
        let ends = one.ends().expect("ranks");
        assert_eq!(ends.first.0, 5);
        assert!(ends.apart() * 4 > ends.median, "{ends:?}");
    }
}
