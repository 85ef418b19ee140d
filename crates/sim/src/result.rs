//! From the engine's final state to the report.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{ConnectionId, Slot};
use crate::pause::state::classes;
use crate::report::{
    ClassResult, FlowCounters, FlowResult, JobResult, Outcome, PortHealth, Report,
};
use xoff_fabric::model::ClassId;
use xoff_fabric::scenario::Fidelity;
use xoff_transport::QueuePair;
use xoff_units::{Bytes, Span};

impl FlowCounters {
    /// Adds what one end counted.
    pub(crate) fn add(&mut self, qp: &QueuePair) {
        let end = qp.counters();
        self.delivered += qp.delivered();
        self.retransmitted += end.retransmitted;
        self.timeouts += end.timeouts;
        self.naks += end.naks_sent;
        self.out_of_sequence += end.out_of_sequence;
        self.cnps += end.cnps_handled;
        self.rate_decreases += end.rate_decreases;
        self.marked += end.marked_packets;
    }

    /// Adds what others counted.
    pub(crate) fn add_all(&mut self, other: &Self) {
        let Self { delivered, retransmitted, timeouts, naks, out_of_sequence, .. } = *other;
        self.delivered += delivered;
        self.retransmitted += retransmitted;
        self.timeouts += timeouts;
        self.naks += naks;
        self.out_of_sequence += out_of_sequence;
        self.cnps += other.cnps;
        self.rate_decreases += other.rate_decreases;
        self.marked += other.marked;
    }
}

impl ClassResult {
    /// Adds what was counted at another time; of greatest lengths the greater counts.
    pub(crate) fn add(&mut self, other: &Self) {
        self.tx_packets += other.tx_packets;
        self.tx_bytes += other.tx_bytes;
        self.wire_bytes += other.wire_bytes;
        self.marked += other.marked;
        self.dropped_packets += other.dropped_packets;
        self.dropped_bytes += other.dropped_bytes;
        self.buffer_drops += other.buffer_drops;
        self.xoff_sent += other.xoff_sent;
        self.xon_sent += other.xon_sent;
        self.pauses_received += other.pauses_received;
        self.paused += other.paused;
        self.deepest_queue = self.deepest_queue.max(other.deepest_queue);
        self.deepest_headroom = self.deepest_headroom.max(other.deepest_headroom);
    }
}

impl PortHealth {
    /// Adds what was counted at another time.
    pub(crate) fn add_all(&mut self, other: &Self) {
        self.link_downs += other.link_downs;
        self.watchdog += other.watchdog;
        self.dropped.iter_mut().zip(other.dropped).for_each(|(own, one)| *own += one);
        self.lost += other.lost;
        self.timeouts += other.timeouts;
        self.failures += other.failures;
        self.retransmitted += other.retransmitted;
        self.out_of_sequence += other.out_of_sequence;
        self.cnps += other.cnps;
        self.cnps_ignored += other.cnps_ignored;
        self.cnps_sent += other.cnps_sent;
        self.marked_received += other.marked_received;
        self.duplicates += other.duplicates;
        self.not_ready += other.not_ready;
    }

    /// Adds what a queue pair of this NIC counted.
    pub(crate) fn add(&mut self, qp: &QueuePair) {
        let end = qp.counters();
        self.timeouts += end.timeouts;
        self.retransmitted += end.retransmitted;
        self.out_of_sequence += end.out_of_sequence;
        self.duplicates += end.duplicates;
        self.not_ready += end.rnr_received;
        self.marked_received += end.marked_packets;
        self.cnps_sent += end.cnps_sent;
        let obeys = qp.obeys_marks();
        *(if obeys { &mut self.cnps } else { &mut self.cnps_ignored }) += end.cnps_handled;
    }
}

/// A small order-dependent hash: equal inputs in equal order, equal hash.
struct Digest(u64);

impl Digest {
    fn add(&mut self, value: u64) {
        let mut x = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^= x >> 32;
        self.0 = x.wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(23);
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    pub(crate) fn into_report(mut self, outcome: Outcome) -> Report {
        self.collect_open_flows();
        let flows: Vec<FlowResult> = self
            .hosts
            .flows
            .iter()
            .map(|flow| FlowResult {
                start: flow.start,
                end: (!flow.end.is_never()).then_some(flow.end),
                bytes: flow.bytes,
                ideal: flow.bound,
                failure: flow.failure,
                counters: flow.counters,
            })
            .collect();
        let mut ports = self.class_results();
        let mut health = self.healths();
        let fast = self.fluid.as_mut().and_then(|fluid| fluid.fast.take());
        let counted = fast.as_ref().map(|fast| &fast.counted);
        if let Some(counted) = counted {
            counted.add_to(&mut ports, &mut health);
        }
        let jobs = self.job_results();
        let hash = self.digest(&flows, &jobs, &ports);
        let (made, delivered, late) = counted.map_or((0, 0, 0), |counted| counted.packets);
        let (cnps, switch_cnps) = counted.map_or((0, 0), |counted| counted.notifications);
        let mut dropped = self.accounts.totals.dropped;
        let more = counted.iter().flat_map(|counted| counted.dropped.iter().flatten());
        dropped.iter_mut().flatten().zip(more).for_each(|(own, one)| *own += one);
        Report {
            outcome,
            fidelity: match (&self.fluid, &fast) {
                (None, _) => Fidelity::Packet,
                (Some(_), None) => Fidelity::Flow,
                (Some(_), Some(_)) => Fidelity::Fast,
            },
            instead_of_fast: fast.as_ref().and_then(|fast| fast.gave_up),
            shortcuts: fast.as_ref().map(|fast| fast.tally),
            end: self.now,
            events: self.observation.events(),
            packet_hops: self.packet_hops() + counted.map_or(0, |counted| counted.hops),
            packets: (
                self.net.headers.written + made,
                self.accounts.totals.delivered + delivered,
                self.accounts.totals.late + late,
            ),
            most_packets: self.net.headers.most(),
            sections: self.sections,
            cnps: self.accounts.totals.cnps + cnps,
            switch_cnps: self.accounts.totals.switch_cnps + switch_cnps,
            trimmed: self.accounts.totals.trimmed,
            flows,
            jobs,
            ports,
            health,
            dropped,
            adaptation: self.adaptation(),
            deadlocks: self.net.deadlocks.found(),
            hash,
        }
    }

    /// What flows that are still open have counted so far.
    fn collect_open_flows(&mut self) {
        for flow in self.hosts.flows.iter_mut() {
            if flow.connection != ConnectionId::NONE {
                for end in &self.hosts.connections[flow.connection].ends {
                    flow.counters.add(&end.qp);
                }
            }
        }
    }

    /// What all classes did at all ports.
    pub(crate) fn class_results(&self) -> Vec<[ClassResult; 8]> {
        let of = |port| {
            std::array::from_fn(|class| self.class_result(Slot::new(port, ClassId(class as u8))))
        };
        let mut results: Vec<[ClassResult; 8]> = self.net.ports.ids().map(of).collect();
        for port in self.net.ports.ids() {
            let Some(skipped) = self.skipped_frames(port) else { continue };
            let peer = self.net.ports[port].peer();
            for class in classes(skipped.classes) {
                results[port.index()][class.index()].xoff_sent += skipped.frames;
                if skipped.obeyed & class.bit() != 0 {
                    results[peer.index()][class.index()].pauses_received += skipped.frames;
                }
            }
        }
        results
    }

    /// What all ports counted beside their queues, connections that are still open included.
    pub(crate) fn healths(&self) -> Vec<PortHealth> {
        let counted = self.net.ports.ids().map(|port| self.accounts.health[port]);
        let mut healths: Vec<PortHealth> = counted.collect();
        let flows = self.hosts.flows.iter().map(|flow| flow.connection);
        let open = flows.filter(|slot| *slot != ConnectionId::NONE);
        for slot in open.chain(self.hosts.jobs.connections()) {
            for end in &self.hosts.connections[slot].ends {
                healths[self.hosts.nics[end.member.plane].port.index()].add(&end.qp);
            }
        }
        healths
    }

    fn class_result(&self, slot: Slot) -> ClassResult {
        let port = &self.net.ports[slot.port()];
        let lane = &port.lanes[slot.class().index()];
        let (count, pause) = (&self.accounts.classes[slot], self.net.pauses.last(slot));
        let still_paused = port.paused & slot.bit() != 0;
        let open = if still_paused { self.now - pause.began } else { Span::ZERO };
        let before = self.observation.watermarks.before(slot);
        ClassResult {
            tx_packets: lane.tx_packets,
            tx_bytes: lane.tx_bytes,
            wire_bytes: lane.wire_bytes(self.net.gap),
            marked: count.marked,
            dropped_packets: count.dropped_packets,
            dropped_bytes: count.dropped_bytes,
            buffer_drops: count.buffer_drops,
            xoff_sent: count.xoff_sent,
            xon_sent: count.xon_sent,
            pauses_received: count.pauses_received,
            paused: pause.total + open,
            deepest_queue: Bytes::new(self.deepest_for(slot, lane.queue.deepest).max(before.queue)),
            deepest_headroom: Bytes::new(
                u64::from(lane.ingress.deepest_headroom).max(before.headroom),
            ),
        }
    }

    /// The most that ever waited for a port and class, also at the ingresses of a switch with virtual
    /// output queues.
    fn deepest_for(&self, slot: Slot, own: u32) -> u64 {
        let port = &self.net.ports[slot.port()];
        let voqs = if port.is_nic() { None } else { self.net.voqs.get(port.switch()) };
        let voqs = voqs.and_then(Option::as_deref);
        voqs.map_or(0, |voqs| voqs.deepest(slot)).max(own.into())
    }

    fn digest(&self, flows: &[FlowResult], jobs: &[JobResult], ports: &[[ClassResult; 8]]) -> u64 {
        let mut digest = Digest(self.packet_hops());
        digest.add(self.now.as_ps());
        for flow in flows {
            digest.add(flow.end.map_or(u64::MAX, |end| end.as_ps()));
            digest.add(flow.counters.retransmitted);
            digest.add(flow.counters.cnps);
        }
        for run in jobs.iter().flat_map(|job| &job.runs) {
            digest.add(run.end.map_or(u64::MAX, |end| end.as_ps()));
        }
        for class in ports.iter().flatten().filter(|class| !class.is_idle()) {
            for value in [
                class.tx_packets,
                class.tx_bytes,
                class.marked,
                class.dropped_packets,
                class.xoff_sent,
                class.xon_sent,
                class.paused.as_ps(),
                class.deepest_queue.get(),
            ] {
                digest.add(value);
            }
        }
        digest.0
    }
}
