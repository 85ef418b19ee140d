//! [`Counters`]: the scrapes of a run as readings, as if a collector had asked every device.
//!
//! A run takes milliseconds, a collector asks every few seconds. A [`Timescale`] stretches the run's time: what adds up with
//! traffic or time is stretched with it, so that rates and shares of time are those of the run. Events (a link that
//! went down) stay as many as they were.

use crate::Case;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, PortId};
use xoff_sim::{ClassResult, Drop, JobRun, LinkState, PortHealth, Report, Scrape};
use xoff_telemetry::Metric;
use xoff_telemetry::metric::Kind;
use xoff_telemetry::recording::{
    Key, Place, PlaceId, Reading, Readings, Recording, Steps, Timestamp,
};
use xoff_units::{Instant, Span};

/// From the time of a run to the time of its readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timescale {
    /// When the run begins.
    pub start: Timestamp,
    /// Seconds of the readings' time for each second of the run.
    pub stretch: f64,
}

impl Timescale {
    /// The run's own time, from zero on.
    pub const OF_THE_RUN: Self = Self { start: Timestamp(0), stretch: 1.0 };

    /// A scrape of every `period` of a run appears every `interval` from `start` on.
    pub fn new(start: Timestamp, period: Span, interval: Span) -> Self {
        Self { start, stretch: interval.as_ps() as f64 / period.as_ps().max(1) as f64 }
    }

    /// The moment of an instant of the run.
    pub fn at(&self, at: Instant) -> Timestamp {
        Timestamp(self.start.0 + (at.as_ps() as f64 / 1e3 * self.stretch).round() as i64)
    }
}

/// Reads the counters of a run.
#[derive(Debug)]
pub struct Counters {
    timescale: Timescale,
    readings: Readings,
    /// By port.
    places: Vec<PlaceId>,
    /// By port: whether it is a NIC's.
    nics: Vec<bool>,
    /// By port: the port at the other end.
    peers: Vec<usize>,
    /// By port: priorities that PFC protects there. A port that has no PFC has no counters of it.
    lossless: Vec<u8>,
    /// By port of a NIC whose DSCPs stand for other classes than its own: the classes they stand for.
    written: BTreeMap<usize, [u8; 8]>,
    /// By port: whether it is read.
    kept: Vec<bool>,
    /// By port: packets received.
    received: Vec<u64>,
    /// By port: priorities whose counters have been read.
    seen: Vec<u8>,
    /// How many scrapes there were, and the times of the last one and the one before.
    scrapes: usize,
    last: Timestamp,
    before: Timestamp,
}

impl Counters {
    /// Of the ports that `keep` chooses.
    pub(super) fn new(
        fabric: &Fabric,
        timescale: Timescale,
        keep: impl Fn(PortId) -> bool,
    ) -> Self {
        let mut readings = Readings::default();
        let ids = || (0..fabric.ports.len() as u32).map(PortId);
        let place = |port: PortId| Place::Port {
            device: fabric.node_name(fabric.ports[port.index()].node).to_owned(),
            port: fabric.port_name(port),
        };
        let places = ids().map(|port| readings.places.number(place(port))).collect();
        let mut counters = Self {
            timescale,
            readings,
            places,
            nics: ids().map(|port| is_nic(fabric, port)).collect(),
            peers: fabric.ports.iter().map(|port| port.peer.index()).collect(),
            lossless: fabric.ports.iter().map(|port| port.protected()).collect(),
            written: ids()
                .filter_map(|port| Some((port.index(), written(fabric, port)?)))
                .collect(),
            kept: ids().map(keep).collect(),
            received: vec![0; fabric.ports.len()],
            seen: vec![0; fabric.ports.len()],
            scrapes: 0,
            last: timescale.start,
            before: timescale.start,
        };
        counters.begin(fabric);
        counters
    }

    /// All that adds up is zero when the run begins.
    fn begin(&mut self, fabric: &Fabric) {
        let ports = vec![[ClassResult::default(); 8]; fabric.ports.len()];
        let health = vec![PortHealth::default(); fabric.ports.len()];
        let link = |port: u32| LinkState { up: true, rate: fabric.cable(PortId(port)).rate };
        let links: Vec<LinkState> = (0..fabric.ports.len() as u32).map(link).collect();
        self.scrape(&Scrape { at: Instant::ZERO, ports: &ports, health: &health, links: &links });
    }

    pub(super) fn scrape(&mut self, scrape: &Scrape<'_>) {
        self.before = std::mem::replace(&mut self.last, self.timescale.at(scrape.at));
        self.scrapes += 1;
        for port in 0..scrape.ports.len() {
            if !self.kept[port] {
                continue;
            }
            self.port(scrape, port);
            let counts = self.as_counted(scrape, port);
            for class in 0..8 {
                self.class(scrape, &counts, port, class);
            }
        }
    }

    /// What a port counts by priority. A NIC counts what it sends under the priority of the DSCP that it writes.
    fn as_counted(&self, scrape: &Scrape<'_>, port: usize) -> [ClassResult; 8] {
        let mut counts = scrape.ports[port];
        let Some(written) = self.written.get(&port) else { return counts };
        counts.iter_mut().for_each(|class| (class.tx_packets, class.tx_bytes) = (0, 0));
        for (own, as_class) in scrape.ports[port].iter().zip(written) {
            let class = &mut counts[usize::from(*as_class)];
            class.tx_packets += own.tx_packets;
            class.tx_bytes += own.tx_bytes;
        }
        counts
    }

    /// Adds how long the collectives and training steps of a run's jobs took and what their GPUs did in that time, as the jobs
    /// themselves would report it.
    pub fn add_jobs(&mut self, case: &Case<'_>, report: &Report) {
        for (job, result) in case.jobs.iter().zip(&report.jobs) {
            let name = case.workload_name(job.workload).to_owned();
            // Building a step's script can fail, but not for a step that has already run.
            if let Some(Ok(busy)) = job.training.map(|run| run.step.compute_by_rank()) {
                self.add_ranks(&name, &busy, &result.runs);
            }
            let place = self.readings.places.number(Place::Job { job: name });
            let metric = match job.training {
                Some(_) => Metric::StepTime,
                None => Metric::CollectiveTime,
            };
            let key = Key { place, metric, priority: None };
            for run in &result.runs {
                let (Some(end), Some(time)) = (run.end, run.time()) else { continue };
                let value = time.as_ps() as f64 / 1e12;
                self.readings.list.push(Reading { key, at: self.timescale.at(end), value });
            }
        }
    }

    /// Adds for how long the GPUs of a job computed and waited, at the end of each of its steps.
    fn add_ranks(&mut self, job: &str, busy: &[Span], runs: &[JobRun]) {
        for (rank, busy) in (0..).zip(busy) {
            let place = Place::Rank { job: job.to_owned(), rank };
            let place = self.readings.places.number(place);
            let (mut computed, mut waited) = (Span::ZERO, Span::ZERO);
            for run in runs {
                let (Some(end), Some(time)) = (run.end, run.time()) else { continue };
                computed += *busy;
                waited += time.saturating_sub(*busy);
                for (metric, span) in [(Metric::GpuBusy, computed), (Metric::GpuWait, waited)] {
                    let key = Key { place, metric, priority: None };
                    let (at, value) = (self.timescale.at(end), span.as_s_f64());
                    self.readings.list.push(Reading { key, at, value });
                }
            }
        }
    }

    /// What the readings say, a step for each scrape.
    pub fn record(&self) -> Recording {
        let (count, start) = (self.scrapes.saturating_sub(1), self.timescale.start);
        let ns = (self.last.0 - start.0) / (count.max(1) as i64);
        self.readings.record(Steps { start, step: Span::from_ns(ns as u64), count })
    }

    /// The readings on another timescale, if they are on the run's own.
    pub fn stretched(&self, timescale: Timescale) -> Readings {
        debug_assert_eq!(self.timescale, Timescale::OF_THE_RUN, "stretched twice");
        let mut readings = self.readings.clone();
        for reading in &mut readings.list {
            let passed = (reading.at.0 as f64 * timescale.stretch).round() as i64;
            reading.at = Timestamp(timescale.start.0 + passed);
            if matches!(reading.key.metric.facts().kind, Kind::Counter) {
                reading.value *= timescale.stretch;
            }
        }
        readings
    }

    /// How long the readings go on, in the run's time.
    pub fn length(&self) -> Span {
        Span::from_ns((self.last.0 - self.timescale.start.0).unsigned_abs())
    }

    /// The readings.
    pub fn readings(&self) -> &Readings {
        &self.readings
    }

    fn port(&mut self, scrape: &Scrape<'_>, port: usize) {
        let (health, link) = (&scrape.health[port], scrape.links[port]);
        let peer = &scrape.health[self.peers[port]];
        let sent: u64 = scrape.ports[self.peers[port]].iter().map(|class| class.tx_packets).sum();
        // What is damaged on the way counts where it arrives.
        let damaged = peer.drops(Drop::Wire);
        // What is on the way when a link dies was counted before it was lost: counters do not fall.
        let arrived = sent - (peer.lost - damaged).min(sent);
        self.received[port] = self.received[port].max(arrived);
        let common = [
            (Metric::Up, f64::from(u8::from(link.up))),
            (Metric::Speed, link.rate.bps() as f64),
            (Metric::LinkDowns, health.link_downs as f64),
            (Metric::RxPackets, self.received[port] as f64),
            (Metric::CrcErrors, damaged as f64),
        ];
        common.into_iter().for_each(|(metric, value)| self.read(port, metric, None, value));
        if !self.nics[port] {
            let switch = [
                (Metric::RouteDrops, health.drops(Drop::NoRoute)),
                (Metric::WatchdogEvents, health.watchdog),
                (Metric::WatchdogDrops, health.drops(Drop::Watchdog)),
            ];
            return switch
                .into_iter()
                .for_each(|(metric, value)| self.read(port, metric, None, value as f64));
        }
        let nic = [
            (Metric::Timeouts, health.timeouts),
            (Metric::Retransmitted, health.retransmitted),
            (Metric::OutOfSequence, health.out_of_sequence),
            (Metric::Duplicates, health.duplicates),
            (Metric::ReceiverNotReady, health.not_ready),
            (Metric::QueuePairErrors, health.failures),
            (Metric::OutOfBuffer, health.drops(Drop::HostBuffer)),
            (Metric::EcnReceived, health.marked_received),
            (Metric::CnpSent, health.cnps_sent),
            (Metric::CnpHandled, health.cnps),
            (Metric::CnpIgnored, health.cnps_ignored),
        ];
        nic.into_iter().for_each(|(metric, value)| self.read(port, metric, None, value as f64));
    }

    fn class(&mut self, scrape: &Scrape<'_>, counts: &[ClassResult; 8], port: usize, class: u8) {
        let counts = &counts[usize::from(class)];
        let other = &scrape.ports[self.peers[port]][usize::from(class)];
        let bit = 1 << class;
        // Devices keep counters of all priorities; those of priorities that never carried anything say nothing.
        if counts.is_idle() && (self.lossless[port] | self.seen[port]) & bit == 0 {
            return;
        }
        if self.seen[port] & bit == 0 && self.scrapes > 1 {
            // What it counts it counts from zero on.
            let zero = ClassResult::default();
            self.class_at(self.before, (&zero, &zero), port, class);
        }
        self.seen[port] |= bit;
        self.class_at(self.last, (counts, other), port, class);
    }

    /// What a class counted at a port, and at the other end.
    fn class_at(
        &mut self,
        at: Timestamp,
        (counts, other): (&ClassResult, &ClassResult),
        port: usize,
        class: u8,
    ) {
        let protected = self.lossless[port] & 1 << class != 0;
        let switch = !self.nics[port];
        let seconds = |span: Span| span.as_ps() as f64 / 1e12;
        let values = [
            (Metric::TxPackets, counts.tx_packets as f64, true),
            (Metric::TxBytes, counts.tx_bytes as f64, true),
            (Metric::BufferDrops, counts.buffer_drops as f64, true),
            (Metric::PfcReceived, counts.pauses_received as f64, protected),
            (Metric::PfcSent, counts.xoff_sent as f64, protected),
            (Metric::PausedTime, seconds(counts.paused), protected),
            (Metric::PausingTime, seconds(other.paused), protected),
            (Metric::PauseTransitions, other.xon_sent as f64, protected),
            (Metric::EcnMarked, counts.marked as f64, switch),
            (Metric::QueueWatermark, counts.deepest_queue.get() as f64, switch),
            (Metric::HeadroomWatermark, counts.deepest_headroom.get() as f64, switch && protected),
        ];
        for (metric, value, _) in values.into_iter().filter(|(.., is_kept)| *is_kept) {
            self.read_at(at, port, metric, Some(class), value);
        }
    }

    fn read(&mut self, port: usize, metric: Metric, priority: Option<u8>, value: f64) {
        self.read_at(self.last, port, metric, priority, value);
    }

    fn read_at(
        &mut self,
        at: Timestamp,
        port: usize,
        metric: Metric,
        priority: Option<u8>,
        value: f64,
    ) {
        let stretched = matches!(metric.facts().kind, Kind::Counter);
        let value = if stretched { value * self.timescale.stretch } else { value };
        let key = Key { place: self.places[port], metric, priority };
        self.readings.list.push(Reading { key, at, value });
    }
}

/// The classes that the DSCPs of a NIC stand for, unless they are its own classes.
fn written(fabric: &Fabric, port: PortId) -> Option<[u8; 8]> {
    let nic = fabric.nics.get(fabric.ports[port.index()].node.index())?;
    let own: [u8; 8] = std::array::from_fn(|class| class as u8);
    let of = own.map(|class| {
        let dscp = nic.dscp[usize::from(class)];
        let right = fabric.classes.get(usize::from(class)).is_none_or(|own| own.dscp == dscp);
        let meant = || fabric.classes.iter().zip(0..).find(|(other, _)| other.dscp == dscp);
        // What a DSCP stands for that no class has is best effort.
        if right { class } else { meant().map_or(0, |(_, class)| class) }
    });
    (of != own).then_some(of)
}

fn is_nic(fabric: &Fabric, port: PortId) -> bool {
    fabric.node_switch(fabric.ports[port.index()].node).is_none()
}
