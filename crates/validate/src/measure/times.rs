//! What happened when: queues, rates and pauses over time.

use super::Run;
use super::figures::{PauseSpan, RateSeries, Series};
use super::links::node_name;
use crate::measure::collect::us;
use xoff_results::watch::{Pause, Queue};
use xoff_units::Instant;

/// Queues, NICs and points that are kept.
const SERIES: usize = 4;
const RATES: usize = 8;
const POINTS: usize = 2_000;

impl Run<'_> {
    pub(super) fn series(&self) -> Vec<Series> {
        let fabric = self.fabric();
        let depths = self.samples.depths();
        let mut queues: Vec<(u32, Queue)> = depths
            .iter()
            .map(|(queue, points)| (points.iter().map(|point| point.1).max().unwrap_or(0), *queue))
            .collect();
        queues.sort_by_key(|&(deepest, queue)| (std::cmp::Reverse(deepest), queue));
        queues.truncate(SERIES);
        let series = |&(_, queue): &(u32, Queue)| {
            let points = &depths[&queue];
            let ecn = fabric.ports[queue.port.index()].classes[usize::from(queue.class)].ecn;
            // Of a long series every window keeps its deepest point.
            let window = points.len().div_ceil(POINTS).max(1);
            let deepest = |points: &[(Instant, u32)]| points.iter().max_by_key(|p| p.1).copied();
            let kept = points.chunks(window).filter_map(deepest);
            Series {
                port: fabric.port_name(queue.port),
                class: queue.class,
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
        let mut all: Vec<_> = self.samples.sent_bytes().iter().collect();
        all.sort_by_key(|(queue, points)| (std::cmp::Reverse(most(points)), **queue));
        all.truncate(RATES);
        all.sort_by_key(|(queue, _)| **queue);
        let series = |(queue, points): (&Queue, &Vec<(Instant, u64)>)| {
            let step = points.len().div_ceil(POINTS / 4).max(1);
            let kept: Vec<_> = points.iter().step_by(step).collect();
            let rate = |pair: &[&(Instant, u64)]| {
                let seconds = (pair[1].0 - pair[0].0).as_s_f64();
                (us(pair[1].0), (pair[1].1 - pair[0].1) as f64 * 8.0 / seconds)
            };
            let node = fabric.ports[queue.port.index()].node;
            RateSeries { nic: node_name(fabric, node), points: kept.windows(2).map(rate).collect() }
        };
        all.into_iter().map(series).collect()
    }

    /// Pauses in order of their beginnings, then of ports, ends and classes.
    pub(super) fn pauses(&self) -> Vec<PauseSpan> {
        let span = |pause: &Pause| PauseSpan {
            port: self.fabric().port_name(pause.queue.port),
            class: pause.queue.class,
            from_us: us(pause.from),
            to_us: us(pause.to.unwrap_or(self.report.end)),
        };
        let mut all: Vec<PauseSpan> = self.pauses.kept().iter().map(span).collect();
        all.sort_by(|a, b| {
            let began = a.from_us.total_cmp(&b.from_us).then_with(|| a.port.cmp(&b.port));
            began.then(a.to_us.total_cmp(&b.to_us)).then(a.class.cmp(&b.class))
        });
        all
    }
}
