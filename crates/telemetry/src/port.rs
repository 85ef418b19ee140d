//! Ports: the rows of `ports.parquet` and what the summary says about them.

use crate::column::{Cells, Column, Kind, Row};
use crate::ranking::Ranking;
use crate::{ClassNumber, Name};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use xoff_units::{Bytes, Rate, Span};

/// What happened to one class at one port during a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, from Ethernet header to FCS.
    pub tx: Bytes,
    /// The same with preamble and gap: what they took of the wire.
    pub wire: Bytes,
    /// Pause frames sent that stop the class, refreshes included.
    pub pauses_sent: u64,
    /// Pause frames sent that let it go on.
    pub resumes_sent: u64,
    /// Pause frames received that stop the class.
    pub pauses_received: u64,
    /// Time during which the peer kept the class paused.
    pub paused: Span,
    /// Packets marked with congestion experienced.
    pub ecn_marked: u64,
    /// Packets dropped, at ingress or egress of this port.
    pub dropped_packets: u64,
    /// Bytes of those packets.
    pub dropped: Bytes,
    /// The longest the egress queue has been.
    pub deepest_queue: Bytes,
}

/// One port with the counters of its classes, as handed over at the end of a run.
#[derive(Debug, Clone)]
pub struct PortReport {
    /// The port, as node and peer.
    pub port: Name,
    /// The node it belongs to.
    pub node: Name,
    /// The node at the other end.
    pub peer: Name,
    /// Where its node stands: `nic`, `leaf`, `spine`, `core`.
    pub tier: Name,
    /// Rate of its cable.
    pub rate: Rate,
    /// The classes at which something happened.
    pub classes: Vec<(ClassNumber, PortCounters)>,
}

/// One class at one port.
#[derive(Debug, Clone)]
pub struct PortRow<'a> {
    /// The port.
    pub report: &'a PortReport,
    /// The class; `None` in the only row of a port where nothing happened.
    pub class: Option<ClassNumber>,
    /// What happened.
    pub counters: PortCounters,
    /// Share of the time for which the wire carried packets of this class.
    pub utilisation: f64,
}

impl PortReport {
    /// The rows of this port after a run of `elapsed`: one per class, or one that is all zero, so
    /// that an idle port is in the table and sums over the table count nothing twice.
    pub fn rows(&self, elapsed: Span) -> impl Iterator<Item = PortRow<'_>> {
        let idle = self.classes.is_empty().then_some((None, PortCounters::default()));
        let classes = self.classes.iter().map(|&(class, counters)| (Some(class), counters));
        classes.chain(idle).map(move |(class, counters)| PortRow {
            report: self,
            class,
            counters,
            utilisation: utilisation(counters.wire, self.rate, elapsed),
        })
    }
}

fn utilisation(wire: Bytes, rate: Rate, elapsed: Span) -> f64 {
    let capacity = rate.bytes_in(elapsed);
    if capacity.is_zero() { 0.0 } else { wire.get() as f64 / capacity.get() as f64 }
}

impl Row for PortRow<'_> {
    const TABLE: &'static str = "ports";
    const COLUMNS: &'static [Column] = &[
        Column::new("port", Kind::Text),
        Column::new("node", Kind::Text),
        Column::new("peer", Kind::Text),
        Column::new("tier", Kind::Text),
        Column::new("rate_bps", Kind::Integer),
        Column::nullable("class", Kind::Small),
        Column::new("tx_packets", Kind::Integer),
        Column::new("tx_bytes", Kind::Integer),
        Column::new("wire_bytes", Kind::Integer),
        Column::new("pause_frames_sent", Kind::Integer),
        Column::new("resume_frames_sent", Kind::Integer),
        Column::new("pause_frames_received", Kind::Integer),
        Column::new("paused_ps", Kind::Integer),
        Column::new("ecn_marked", Kind::Integer),
        Column::new("dropped_packets", Kind::Integer),
        Column::new("dropped_bytes", Kind::Integer),
        Column::new("max_queue_bytes", Kind::Integer),
        Column::new("utilisation", Kind::Real),
    ];

    fn fill(&self, cells: &mut Cells) {
        cells.text(&self.report.port);
        cells.text(&self.report.node);
        cells.text(&self.report.peer);
        cells.text(&self.report.tier);
        cells.integer(self.report.rate.bps());
        cells.small(self.class.map(|class| u32::from(class.0)));
        cells.integer(self.counters.tx_packets);
        cells.integer(self.counters.tx.get());
        cells.integer(self.counters.wire.get());
        cells.integer(self.counters.pauses_sent);
        cells.integer(self.counters.resumes_sent);
        cells.integer(self.counters.pauses_received);
        cells.integer(self.counters.paused.as_ps());
        cells.integer(self.counters.ecn_marked);
        cells.integer(self.counters.dropped_packets);
        cells.integer(self.counters.dropped.get());
        cells.integer(self.counters.deepest_queue.get());
        cells.real(self.utilisation);
    }
}

/// All ports of one tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierSummary {
    /// `nic`, `leaf`, `spine`, `core`.
    pub tier: String,
    /// Pause frames sent that stop a class.
    pub pause_frames_sent: u64,
    /// Time during which classes were paused, summed over ports and classes.
    pub paused_ps: u64,
    /// Packets marked with congestion experienced.
    pub ecn_marked: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
}

/// How deep a queue has been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueDepth {
    /// The port it leaves by.
    pub port: String,
    /// Its class.
    pub class: u8,
    /// Its greatest length.
    pub max_bytes: u64,
}

/// How much of a link, in one direction, was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// The port that sends.
    pub port: String,
    /// Bytes sent, from Ethernet header to FCS.
    pub tx_bytes: u64,
    /// Share of the time for which its wire carried packets, preamble and gap included.
    pub utilisation: f64,
}

/// Queues and links that the summary names.
const DEEPEST: usize = 10;
const EXTREMES: usize = 5;

/// Gathers what the summary says about ports, port by port.
#[derive(Debug, Clone)]
pub struct PortTally {
    elapsed: Span,
    tiers: Vec<TierSummary>,
    deepest: Ranking<Reverse<u64>, QueueDepth>,
    busiest: Ranking<Reverse<u64>, LinkUse>,
    idlest: Ranking<u64, LinkUse>,
}

impl PortTally {
    /// For a run of `elapsed`.
    pub fn new(elapsed: Span) -> Self {
        Self {
            elapsed,
            tiers: Vec::new(),
            deepest: Ranking::new(DEEPEST),
            busiest: Ranking::new(EXTREMES),
            idlest: Ranking::new(EXTREMES),
        }
    }

    /// Takes in one port.
    pub fn add(&mut self, report: &PortReport) {
        let at = self.tier(report.tier.as_str());
        let (mut sent, mut wire) = (Bytes::ZERO, Bytes::ZERO);
        for &(class, counters) in &report.classes {
            let tier = &mut self.tiers[at];
            tier.pause_frames_sent += counters.pauses_sent;
            tier.paused_ps = tier.paused_ps.saturating_add(counters.paused.as_ps());
            tier.ecn_marked += counters.ecn_marked;
            tier.dropped_packets += counters.dropped_packets;
            sent += counters.tx;
            wire += counters.wire;
            let max_bytes = counters.deepest_queue.get();
            if max_bytes > 0 {
                let port = report.port.to_string();
                self.deepest.offer(Reverse(max_bytes), || QueueDepth {
                    port,
                    class: class.0,
                    max_bytes,
                });
            }
        }
        let utilisation = utilisation(wire, report.rate, self.elapsed);
        let link = || LinkUse { port: report.port.to_string(), tx_bytes: sent.get(), utilisation };
        let key = (utilisation * RANKING_STEPS) as u64;
        self.busiest.offer(Reverse(key), link);
        self.idlest.offer(key, link);
    }

    fn tier(&mut self, name: &str) -> usize {
        self.tiers.iter().position(|tier| tier.tier == name).unwrap_or_else(|| {
            self.tiers.push(TierSummary {
                tier: name.to_owned(),
                pause_frames_sent: 0,
                paused_ps: 0,
                ecn_marked: 0,
                dropped_packets: 0,
            });
            self.tiers.len() - 1
        })
    }

    /// Puts what was gathered into a summary.
    pub fn finish(self, summary: &mut crate::Summary) {
        summary.tiers = self.tiers;
        summary.deepest_queues = self.deepest.into_items();
        summary.busiest_links = self.busiest.into_items();
        summary.idlest_links = self.idlest.into_items();
    }
}

/// Utilisations closer than this count as equal when links are ranked.
const RANKING_STEPS: f64 = 1e9;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Summary;

    pub(crate) fn port(number: u64, tier: &str, classes: &[(u8, u64)]) -> PortReport {
        let counters = |tx: u64| PortCounters {
            tx_packets: tx / 1000,
            tx: Bytes::new(tx),
            wire: Bytes::new(2 * tx),
            pauses_sent: 1,
            paused: Span::from_us(2),
            ecn_marked: 3,
            deepest_queue: Bytes::new(tx / 10),
            ..PortCounters::default()
        };
        PortReport {
            port: format!("leaf0→n{number}").into(),
            node: "leaf0".into(),
            peer: format!("n{number}").into(),
            tier: tier.into(),
            rate: Rate::from_gbps(8),
            classes: classes.iter().map(|&(c, tx)| (ClassNumber(c), counters(tx))).collect(),
        }
    }

    #[test]
    fn an_idle_port_has_one_row_of_zeros() {
        let idle = port(0, "leaf", &[]);
        let rows: Vec<_> = idle.rows(Span::from_us(1)).collect();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].class, rows[0].utilisation), (None, 0.0));
        let busy = port(0, "leaf", &[(3, 250), (6, 500)]);
        let shares: Vec<_> = busy.rows(Span::from_us(1)).map(|row| row.utilisation).collect();
        assert_eq!(shares, [0.5, 1.0], "twice the bytes are on the wire");
        assert_eq!(busy.rows(Span::ZERO).map(|row| row.utilisation).sum::<f64>(), 0.0);
    }

    #[test]
    fn ranks_links_and_queues() {
        let mut tally = PortTally::new(Span::from_us(1));
        for number in 0..20 {
            tally.add(&port(number, "leaf", &[(3, 10 * number), (6, 20 * number)]));
        }
        tally.add(&port(20, "nic", &[]));
        let mut summary = Summary::default();
        tally.finish(&mut summary);
        assert_eq!(summary.tiers.len(), 2);
        assert_eq!((summary.tiers[0].pause_frames_sent, summary.tiers[0].ecn_marked), (40, 120));
        assert_eq!(summary.tiers[0].paused_ps, Span::from_us(80).as_ps());
        assert_eq!(summary.deepest_queues.len(), 10);
        assert_eq!((summary.deepest_queues[0].max_bytes, summary.deepest_queues[0].class), (38, 6));
        assert_eq!(summary.busiest_links[0].port, "leaf0→n19");
        assert_eq!(summary.busiest_links[0].utilisation, 1.14);
        let idle: Vec<_> = summary.idlest_links.iter().map(|link| link.tx_bytes).collect();
        assert_eq!(idle, [0, 0, 30, 60, 90]);
    }
}
