//! Flows: the rows of `flows.parquet` and what the summary says about them.

use crate::column::{Cells, Column, Kind, Row};
use crate::{ClassNumber, Distribution, FlowNumber, Name, WorkloadNumber};
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Instant, Rate, Span};

/// One flow, from the first byte offered to the last acknowledgement.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowRow {
    /// Its number.
    pub id: FlowNumber,
    /// The workload it belongs to.
    pub workload: WorkloadNumber,
    /// That workload's name.
    pub name: Name,
    /// The NIC that requested it.
    pub source: Name,
    /// The NIC at the other end.
    pub destination: Name,
    /// How much was to be moved.
    pub size: Bytes,
    /// How much of it has arrived.
    pub delivered: Bytes,
    /// Its traffic class.
    pub class: ClassNumber,
    /// When it was offered.
    pub start: Instant,
    /// When it was complete, if it was.
    pub end: Option<Instant>,
    /// When the run ended.
    pub until: Instant,
    /// The least time it could have taken on an empty fabric.
    pub ideal: Span,
    /// Packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion notifications its sender handled.
    pub cnps: u64,
    /// Packets that came out of sequence.
    pub out_of_sequence: u64,
}

impl FlowRow {
    /// The completion time, if it is complete.
    pub fn completion(&self) -> Option<Span> {
        self.end.map(|end| end.since(self.start))
    }

    /// Completion time over the ideal one, in millionths.
    fn slowdown_millionths(&self) -> Option<u64> {
        let (took, ideal) = (self.completion()?.as_ps(), self.ideal.as_ps());
        if ideal == 0 {
            return None;
        }
        let millionths = u128::from(took) * u128::from(MILLION) / u128::from(ideal);
        Some(u64::try_from(millionths).unwrap_or(u64::MAX))
    }

    /// Completion time over the ideal one: 1 is perfect. `None` while incomplete.
    pub fn slowdown(&self) -> Option<f64> {
        self.slowdown_millionths().map(|m| m as f64 / MILLION as f64)
    }

    /// What arrived over its completion time, or if it is incomplete over the time from its start
    /// to the end of the run. `None` if it did not start.
    pub fn goodput(&self) -> Option<Rate> {
        let took = self.end.unwrap_or(self.until).since(self.start);
        (!took.is_zero()).then(|| Rate::of(self.delivered, took))
    }
}

const MILLION: u64 = 1_000_000;

impl Row for FlowRow {
    const TABLE: &'static str = "flows";
    const COLUMNS: &'static [Column] = &[
        Column::new("id", Kind::Growing),
        Column::new("workload", Kind::Small),
        Column::new("name", Kind::Text),
        Column::new("source", Kind::Text),
        Column::new("destination", Kind::Text),
        Column::new("bytes", Kind::Integer),
        Column::new("delivered_bytes", Kind::Integer),
        Column::new("class", Kind::Small),
        Column::new("start_ps", Kind::Growing),
        Column::nullable("end_ps", Kind::Integer),
        Column::nullable("fct_ps", Kind::Integer),
        Column::new("ideal_ps", Kind::Integer),
        Column::nullable("slowdown", Kind::Real),
        Column::nullable("goodput_bps", Kind::Integer),
        Column::new("retransmitted_packets", Kind::Integer),
        Column::new("timeouts", Kind::Integer),
        Column::new("cnps", Kind::Integer),
        Column::new("out_of_sequence", Kind::Integer),
    ];

    fn fill(&self, cells: &mut Cells) {
        cells.integer(self.id.0);
        cells.small(self.workload.0);
        cells.text(&self.name);
        cells.text(&self.source);
        cells.text(&self.destination);
        cells.integer(self.size.get());
        cells.integer(self.delivered.get());
        cells.small(u32::from(self.class.0));
        cells.integer(self.start.as_ps());
        cells.integer(self.end.map(Instant::as_ps));
        cells.integer(self.completion().map(Span::as_ps));
        cells.integer(self.ideal.as_ps());
        cells.real(self.slowdown());
        cells.integer(self.goodput().map(Rate::bps));
        cells.integer(self.retransmitted_packets);
        cells.integer(self.timeouts);
        cells.integer(self.cnps);
        cells.integer(self.out_of_sequence);
    }
}

/// All flows of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowSummary {
    /// Flows offered.
    pub count: u64,
    /// Flows that completed.
    pub finished: u64,
    /// Completion times in microseconds, of those that completed.
    pub fct_us: Option<Distribution>,
    /// Completion times over ideal ones.
    pub slowdown: Option<Distribution>,
    /// Bytes that have arrived, those of unfinished flows included.
    pub delivered_bytes: u64,
    /// Those bytes over the time from the first start to the last end.
    pub goodput_bps: u64,
    /// Packets sent again.
    pub retransmitted_packets: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Congestion notifications handled by senders.
    pub cnps: u64,
    /// Packets that came out of sequence.
    pub out_of_sequence: u64,
}

/// Gathers a [`FlowSummary`], flow by flow.
#[derive(Debug, Clone, Default)]
pub struct FlowTally {
    summary: FlowSummary,
    completions: Vec<u64>,
    slowdowns: Vec<u64>,
    first_start: Option<Instant>,
    last_end: Instant,
}

impl FlowTally {
    /// Takes in one flow.
    pub fn add(&mut self, flow: &FlowRow) {
        let sum = &mut self.summary;
        sum.count += 1;
        sum.delivered_bytes = sum.delivered_bytes.saturating_add(flow.delivered.get());
        sum.retransmitted_packets += flow.retransmitted_packets;
        sum.timeouts += flow.timeouts;
        sum.cnps += flow.cnps;
        sum.out_of_sequence += flow.out_of_sequence;
        self.first_start = Some(self.first_start.map_or(flow.start, |s| s.min(flow.start)));
        if let (Some(end), Some(took)) = (flow.end, flow.completion()) {
            sum.finished += 1;
            self.completions.push(took.as_ps());
            self.last_end = self.last_end.max(end);
        }
        self.slowdowns.extend(flow.slowdown_millionths());
    }

    /// The summary of a run that ended at `end`.
    pub fn finish(mut self, end: Instant) -> FlowSummary {
        let mut summary = self.summary;
        // Unfinished flows were still moving bytes when the run ended.
        let last = if summary.finished == summary.count { self.last_end } else { end };
        let moving = last.since(self.first_start.unwrap_or(last));
        summary.goodput_bps = Rate::of(Bytes::new(summary.delivered_bytes), moving).bps();
        summary.fct_us = Distribution::of(&mut self.completions, Span::from_us(1).as_ps());
        summary.slowdown = Distribution::of(&mut self.slowdowns, MILLION);
        summary
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn flow(id: u64, start_us: u64, took_us: Option<u64>) -> FlowRow {
        let start = Instant::ZERO + Span::from_us(start_us);
        let size = Bytes::new(2_000_000);
        FlowRow {
            id: FlowNumber(id),
            workload: WorkloadNumber(0),
            name: "permutation".into(),
            source: "server0-nic0".into(),
            destination: "server1-nic0".into(),
            size,
            delivered: if took_us.is_some() { size } else { Bytes::new(500) },
            class: ClassNumber(3),
            start,
            end: took_us.map(|us| start + Span::from_us(us)),
            until: Instant::ZERO + Span::from_us(1000),
            ideal: Span::from_us(100),
            retransmitted_packets: 1,
            timeouts: 2,
            cnps: 3,
            out_of_sequence: 4,
        }
    }

    #[test]
    fn derives_what_follows() {
        let done = flow(0, 10, Some(250));
        assert_eq!(done.slowdown(), Some(2.5));
        assert_eq!(done.goodput(), Some(Rate::from_gbps(64)));
        let undone = flow(1, 10, None);
        // 500 bytes from 10 us to the end of the run at 1000.
        assert_eq!((undone.slowdown(), undone.goodput().map(Rate::bps)), (None, Some(4_040_404)));
        let to_come = FlowRow { until: Instant::ZERO, delivered: Bytes::ZERO, ..undone };
        assert_eq!(to_come.goodput(), None);
        let without_ideal = FlowRow { ideal: Span::ZERO, ..done };
        assert_eq!(without_ideal.slowdown(), None);
    }

    #[test]
    fn sums_up_a_run() {
        let mut tally = FlowTally::default();
        tally.add(&flow(0, 10, Some(100)));
        tally.add(&flow(1, 0, Some(300)));
        let whole = tally.clone().finish(Instant::MAX);
        assert_eq!((whole.count, whole.finished, whole.timeouts), (2, 2, 4));
        let fct = whole.fct_us.unwrap();
        assert_eq!((fct.mean, fct.p50, fct.p99, fct.max), (200.0, 100.0, 300.0, 300.0));
        assert_eq!(whole.slowdown.unwrap().max, 3.0);
        // 4 MB from 0 to 300 us.
        assert_eq!(whole.goodput_bps, 106_666_666_666);
        tally.add(&flow(2, 0, None));
        let cut = tally.finish(Instant::ZERO + Span::from_us(1000));
        assert_eq!((cut.count, cut.finished), (3, 2));
        assert_eq!(cut.goodput_bps, 4_000_500 * 8 * 1000);
    }

    #[test]
    fn a_run_without_flows() {
        let none = FlowTally::default().finish(Instant::ZERO);
        assert_eq!(none, FlowSummary::default());
    }
}
