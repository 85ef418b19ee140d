//! What happened in an episode that was simulated, and what all of them counted together.

use super::state::Key;
use crate::report::{ClassResult, Drop, FlowCounters, PortHealth, Report};
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::PortId;
use xoff_units::Span;

/// The ports of an episode, by the numbers that they have in it.
pub(super) type Names = Arc<[PortId]>;

/// What happened in an episode.
#[derive(Debug)]
pub(super) struct Record {
    /// When its members ended, after the start of the first.
    pub(super) ends: Vec<Option<Span>>,
    /// What the queue pairs of its members counted.
    pub(super) counters: Vec<FlowCounters>,
    /// What its ports counted: by their numbers in the episode, or in the fabric.
    ports: Vec<(u32, [ClassResult; 8], PortHealth)>,
    packets: (u64, u64, u64),
    hops: u64,
    notifications: (u64, u64),
    dropped: [[u64; Drop::COUNT]; 8],
}

/// A record, and the ports that it speaks of.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) record: Arc<Record>,
    /// Nothing where ports have their numbers in the fabric.
    pub(super) names: Option<Names>,
}

impl Known {
    /// What a report says. Its ports get the numbers that they have in the episode, if all that counted anything have one.
    pub(super) fn new(report: Report, names: Option<Names>) -> Self {
        let active = |port: &usize| {
            let classes = &report.ports[*port];
            !classes.iter().all(ClassResult::is_idle)
                || report.health[*port] != PortHealth::default()
        };
        let active: Vec<usize> = (0..report.ports.len()).filter(active).collect();
        let numbers: Option<BTreeMap<u32, u32>> =
            names.as_ref().map(|names| names.iter().map(|port| port.0).zip(0..).collect());
        let named = |numbers: &BTreeMap<u32, u32>| -> Option<Vec<u32>> {
            active.iter().map(|port| numbers.get(&(*port as u32)).copied()).collect()
        };
        let named = numbers.as_ref().and_then(named);
        let names = names.filter(|_| named.is_some());
        let numbers = named.unwrap_or_else(|| active.iter().map(|&port| port as u32).collect());
        let ports = active.iter().zip(numbers);
        let ports = ports
            .map(|(&port, number)| (number, report.ports[port], report.health[port]))
            .collect();
        let end = |job: &crate::JobResult| {
            job.runs.last().and_then(|run| run.end).map(|end| end - xoff_units::Instant::ZERO)
        };
        let record = Record {
            ends: report.jobs.iter().map(end).collect(),
            counters: report.jobs.iter().map(|job| job.counters).collect(),
            ports,
            packets: report.packets,
            hops: report.packet_hops,
            notifications: (report.cnps, report.switch_cnps),
            dropped: report.dropped,
        };
        Self { record: Arc::new(record), names }
    }
}

/// Episodes that have been simulated.
#[derive(Debug, Default)]
pub(super) struct Memory {
    known: BTreeMap<Key, Known>,
    alike: BTreeMap<Vec<u64>, Arc<Record>>,
}

impl Memory {
    pub(super) fn get(&self, key: &Key) -> Option<&Known> {
        self.known.get(key)
    }

    pub(super) fn keep(&mut self, key: Key, known: Known) {
        self.known.insert(key, known);
    }

    /// The record of an episode that is alike, its ports by their numbers in it.
    pub(super) fn alike(&self, key: &[u64]) -> Option<Arc<Record>> {
        self.alike.get(key).cloned()
    }

    pub(super) fn keep_alike(&mut self, key: Vec<u64>, record: Arc<Record>) {
        self.alike.insert(key, record);
    }
}

/// What episodes counted together.
#[derive(Debug)]
pub(crate) struct Counted {
    ports: Vec<([ClassResult; 8], PortHealth)>,
    pub(crate) packets: (u64, u64, u64),
    pub(crate) hops: u64,
    pub(crate) notifications: (u64, u64),
    pub(crate) dropped: [[u64; Drop::COUNT]; 8],
}

impl Counted {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            ports: vec![Default::default(); ports],
            packets: (0, 0, 0),
            hops: 0,
            notifications: (0, 0),
            dropped: Default::default(),
        }
    }

    pub(super) fn add(&mut self, known: &Known) {
        let record = &*known.record;
        for (number, classes, health) in &record.ports {
            let port = known.names.as_ref().map_or(*number, |names| names[*number as usize].0);
            let (own, own_health) = &mut self.ports[port as usize];
            own.iter_mut().zip(classes).for_each(|(own, class)| own.add(class));
            own_health.add_all(health);
        }
        let (made, delivered, late) = record.packets;
        self.packets.0 += made;
        self.packets.1 += delivered;
        self.packets.2 += late;
        self.hops += record.hops;
        self.notifications.0 += record.notifications.0;
        self.notifications.1 += record.notifications.1;
        let reasons = self.dropped.iter_mut().flatten();
        reasons.zip(record.dropped.iter().flatten()).for_each(|(own, one)| *own += one);
    }

    /// Adds it to what ports counted beside episodes.
    pub(crate) fn add_to(&self, ports: &mut [[ClassResult; 8]], health: &mut [PortHealth]) {
        let own = ports.iter_mut().zip(health);
        for ((classes, health), (counted, counted_health)) in own.zip(&self.ports) {
            classes.iter_mut().zip(counted).for_each(|(class, one)| class.add(one));
            health.add_all(counted_health);
        }
    }
}
