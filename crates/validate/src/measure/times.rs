//! What happened when: queues, rates and pauses over time.

use super::figures::{PauseSpan, RateSeries, Series};
use super::links::node_name;
use super::{Run, watch};
use crate::measure::collect::us;
use xoff_units::Instant;

/// Queues, NICs and points that are kept.
const SERIES: usize = 4;
const RATES: usize = 8;
const POINTS: usize = 2_000;

impl Run<'_> {
    pub(super) fn series(&self) -> Vec<Series> {
        let fabric = self.fabric();
        let mut queues: Vec<(u32, watch::Queue)> = self
            .seen
            .depths
            .iter()
            .map(|(queue, points)| (points.iter().map(|point| point.1).max().unwrap_or(0), *queue))
            .collect();
        queues.sort_by_key(|&(deepest, queue)| (std::cmp::Reverse(deepest), queue));
        queues.truncate(SERIES);
        let series = |&(_, queue): &(u32, watch::Queue)| {
            let points = &self.seen.depths[&queue];
            let ecn = fabric.ports[queue.0.index()].classes[usize::from(queue.1)].ecn;
            // Of a long series every window keeps its deepest point.
            let window = points.len().div_ceil(POINTS).max(1);
            let deepest = |points: &[(Instant, u32)]| points.iter().max_by_key(|p| p.1).copied();
            let kept = points.chunks(window).filter_map(deepest);
            Series {
                port: fabric.port_name(queue.0),
                class: queue.1,
                kmin: ecn.map(|ecn| ecn.kmin.get()),
                kmax: ecn.map(|ecn| ecn.kmax.get()),
                points: kept.map(|(at, depth)| (us(at), u64::from(depth))).collect(),
            }
        };
        queues.iter().map(series).collect()
    }

    /// The NICs that sent most, in the order of their names.
    pub(super) fn rates(&self) -> Vec<RateSeries> {
        let fabric = self.fabric();
        let most = |points: &Vec<(Instant, u64)>| points.last().map_or(0, |point| point.1);
        let mut all: Vec<_> = self.seen.sent.iter().collect();
        all.sort_by_key(|(queue, points)| (std::cmp::Reverse(most(points)), **queue));
        all.truncate(RATES);
        all.sort_by_key(|(queue, _)| **queue);
        let series = |(queue, points): (&watch::Queue, &Vec<(Instant, u64)>)| {
            let step = points.len().div_ceil(POINTS / 4).max(1);
            let kept: Vec<_> = points.iter().step_by(step).collect();
            let rate = |pair: &[&(Instant, u64)]| {
                let seconds = (pair[1].0 - pair[0].0).as_s_f64();
                (us(pair[1].0), (pair[1].1 - pair[0].1) as f64 * 8.0 / seconds)
            };
            let node = fabric.ports[queue.0.index()].node;
            RateSeries { nic: node_name(fabric, node), points: kept.windows(2).map(rate).collect() }
        };
        all.into_iter().map(series).collect()
    }

    pub(super) fn pauses(&self) -> Vec<PauseSpan> {
        let span = |&((port, class), from, to): &(watch::Queue, Instant, Instant)| PauseSpan {
            port: self.fabric().port_name(port),
            class,
            from_us: us(from),
            to_us: us(to),
        };
        let mut all: Vec<PauseSpan> = self.seen.pauses.iter().map(span).collect();
        all.sort_by(|a, b| a.from_us.total_cmp(&b.from_us).then_with(|| a.port.cmp(&b.port)));
        all
    }
}
