//! The engine: all state of a run and the loop that handles its events.
//!
//! The methods live with what they are about: [`crate::forward`] (a packet arrives at a switch),
//! [`crate::transmit`] (a port sends), [`crate::pause`] (PFC), [`crate::nic`] (the ends),
//! [`crate::watchdog`], [`crate::deadlock`], [`crate::fault`] and what follows from faults:
//! [`crate::link`], [`crate::convergence`], [`crate::setting`]. Everything is in vectors by id, so
//! that an event is a few loads and stores and nothing is allocated while the loop runs.

use crate::balance::state::{Balancer, Reports, Use};
use crate::connection::state::{Connection, FlowState};
use crate::convergence::state::Convergence;
use crate::credit::state::Credit;
use crate::deadlock::state::Search;
use crate::event::{Event, EventQueue, Key, Kind, Word};
use crate::fault::change::ActiveSetting;
use crate::fault::change::TimedFault;
use crate::host::guest::GuestState;
use crate::host::recycle::Rule;
use crate::id::{ConnectionId, EndpointId, FlowId, HashSeed, PacketId, PlaneId, Slot, Table};
use crate::job::state::Jobs;
use crate::link::state::{Degradation, Link};
use crate::nic::state::NicState;
use crate::pause::state::PauseState;
use crate::plane::state::Planes;
use crate::report::Cycle;
use crate::report::{Drop, Observer, Outcome, Progress, Trace, TraceKind};
use crate::switch::buffer::{Profile, Shared};
use crate::switch::hashing::Hashing;
use crate::switch::header::Headers;
use crate::switch::packet::{Packets, flag};
use crate::switch::port::{Lane, Port};
use crate::switch::routing::Routing;
use crate::switch::scheduler::Scheduler;
use crate::switch::trail::Trails;
use crate::voq::state::Voqs;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId, PortId, SwitchId, Trimming, WatchdogAction};
use xoff_units::{Instant, Span};
use xoff_workload::stream::Stream;

/// What a switch needs beside its ports.
pub(crate) struct SwitchState {
    /// The common part of its buffer.
    pub(crate) shared: Shared,
    /// Class of each DSCP.
    pub(crate) classes: [u8; 64],
    /// Seed of its hash, ready for use.
    pub(crate) hash_seed: HashSeed,
    /// Unit in which buffer is handed out; zero counts bytes.
    pub(crate) cell: u16,
    /// Packets leave before they have arrived whole.
    pub(crate) cut_through: bool,
    /// Common buffer when nothing is in it.
    pub(crate) shared_total: u64,
    /// What becomes of packets that a queue has no room for, if they are not dropped.
    pub(crate) trimming: Option<Trimming>,
}

impl SwitchState {
    /// Buffer that a packet of this size takes.
    #[inline(always)]
    pub(crate) fn charge(&self, size: u16) -> u16 {
        match self.cell {
            0 => size,
            cell => size.div_ceil(cell) * cell,
        }
    }
}

/// What is counted per port and class outside the hot path.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ClassCount {
    pub(crate) marked: u64,
    pub(crate) dropped_packets: u64,
    pub(crate) dropped_bytes: u64,
    pub(crate) xoff_sent: u64,
    pub(crate) xon_sent: u64,
    pub(crate) pauses_received: u64,
}

/// Totals of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) delivered: u64,
    pub(crate) delivered_bytes: u64,
    /// Packets for a flow that had already ended.
    pub(crate) late: u64,
    /// Packets and bytes dropped, by class and reason.
    pub(crate) dropped: [[u64; Drop::COUNT]; 8],
    pub(crate) dropped_bytes: u64,
    /// Of `delivered`: congestion notifications.
    pub(crate) cnps: u64,
    /// Congestion notifications that switches made.
    pub(crate) switch_cnps: u64,
    /// Packets that lost their payload and went on.
    pub(crate) trimmed: u64,
}

/// All state of a run.
pub(crate) struct Engine<'a, Q> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) now: Instant,
    pub(crate) events: Q,
    pub(crate) headers: Headers,
    pub(crate) packets: Packets,
    pub(crate) ports: Table<PortId, Port>,
    pub(crate) profiles: Vec<Profile>,
    pub(crate) schedulers: Table<PortId, Scheduler>,
    /// The turn of each port's last transmission, where turns count.
    pub(crate) turns: Table<PortId, u64>,
    pub(crate) switches: Table<SwitchId, SwitchState>,
    /// NICs, and behind them the further ports of those that have several.
    pub(crate) nics: Table<PlaneId, NicState>,
    pub(crate) planes: Planes,
    pub(crate) routing: Routing,
    /// What switches hash.
    pub(crate) hashing: Hashing,
    pub(crate) trails: Trails,
    /// By switch, where any balances; then also what each port was used for lately.
    pub(crate) balancers: Table<SwitchId, Option<Balancer>>,
    pub(crate) uses: Table<PortId, Use>,
    /// Transports of single workloads.
    pub(crate) guests: Vec<GuestState>,
    /// What switches know of each other's ports.
    pub(crate) reports: Reports,
    /// The seed of senders that choose entropies, if they do.
    pub(crate) recycling: Option<(Rule, u64)>,
    /// Where each NIC hangs on its leaf, if a switch asks.
    pub(crate) places: Table<NicId, u32>,
    pub(crate) flows: Table<FlowId, FlowState>,
    /// The flows by their start.
    pub(crate) order: Vec<FlowId>,
    /// The first of these that has not started.
    pub(crate) next_flow: usize,
    /// Flows and jobs that have not ended.
    pub(crate) unfinished: usize,
    pub(crate) jobs: Jobs,
    pub(crate) connections: Table<ConnectionId, Connection>,
    pub(crate) free_connections: Vec<ConnectionId>,
    pub(crate) pauses: Table<Slot, PauseState>,
    /// From the end of a pause frame to its effect at the peer, by sending port.
    pub(crate) pause_flight: Table<PortId, Span>,
    /// The queues that are paused, in no order.
    pub(crate) paused: Vec<Slot>,
    /// By sending port and class, where links have credits.
    pub(crate) credits: Table<Slot, Credit>,
    /// By switch, where any has virtual output queues.
    pub(crate) voqs: Table<SwitchId, Option<Box<Voqs>>>,
    pub(crate) deadlock_pending: bool,
    pub(crate) search: Search,
    pub(crate) deadlocks: Vec<Cycle>,
    pub(crate) mark_streams: Table<PortId, Stream>,
    pub(crate) loss_streams: Table<PortId, Stream>,
    /// The flow that a switch last sent a notification about, by switch and receiving endpoint, and when.
    pub(crate) notified: BTreeMap<(SwitchId, EndpointId), (FlowId, Instant)>,
    pub(crate) counts: Table<Slot, ClassCount>,
    pub(crate) totals: Totals,
    /// The link at each port.
    pub(crate) links: Table<PortId, Link>,
    /// The first port of each cable, where anything breaks.
    pub(crate) cable_ends: Vec<PortId>,
    pub(crate) degraded: Vec<Degradation>,
    pub(crate) settings: Vec<ActiveSetting>,
    /// What switches know of links that are down.
    pub(crate) convergence: Convergence,
    /// What breaks and is mended, and when it is heard of.
    pub(crate) faults: Vec<TimedFault>,
    /// Of these, how many have not happened.
    pub(crate) faults_left: usize,
    pub(crate) observer: &'a mut dyn Observer,
    /// Bytes of preamble and gap around every packet.
    pub(crate) gap: u32,
    pub(crate) pause_bytes: u32,
    pub(crate) quanta: Option<u16>,
    pub(crate) sample_period: Span,
    pub(crate) stop: Option<Outcome>,
    /// Events handled before the present stretch.
    pub(crate) handled: u64,
    /// Events in the present stretch,
    pub(crate) stretch: u64,
    /// and those of them that are left.
    pub(crate) countdown: u64,
    /// Looks so far, and the packet-hops counted at one of the last.
    pub(crate) looks: u32,
    pub(crate) seen_hops: u64,
    /// Deliveries at the last look for progress, and the time between two such looks.
    pub(crate) seen_delivered: u64,
    pub(crate) patience: Span,
    pub(crate) horizon: Instant,
    /// A packet that will be delivered soon, and is prefetched.
    pub(crate) soon: PacketId,
    /// A NIC that will send soon, as far as its port's number tells.
    pub(crate) sender: PlaneId,
}

/// Events between two looks at the observer.
pub(crate) const STRETCH: u64 = 1 << 18;

/// Looks between two counts of the packet-hops, for which all ports must be visited.
const COUNT_EVERY: u32 = 4;

/// When nothing has been delivered for so long, nothing will be, unless a timer is still running.
const HOPELESS: Span = Span::from_ms(5_000);

/// How long nothing may be delivered before a run counts as stalled: long enough for a queue pair that hears
/// nothing to use up its retries.
pub(crate) fn patience(fabric: &Fabric) -> Span {
    let qps = fabric.nics.iter().map(|nic| &nic.qp);
    let retries = qps.map(|qp| qp.timeout.as_ps().saturating_mul(u64::from(qp.retry_limit) + 2));
    // Simulated time ends after 213 days; half of that is longer than any run.
    let longest = retries.max().unwrap_or(0).min(u64::MAX / 2);
    HOPELESS.max(Span::from_ps(longest))
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet will arrive where it was sent.
    #[inline(always)]
    pub(crate) fn schedule_arrival(&mut self, at: Instant, key: Key, index: PacketId) {
        debug_assert!(at >= self.now, "a packet would arrive in the past");
        self.events.push(Event { at, key, data: index.0 });
    }

    #[inline(always)]
    pub(crate) fn schedule(&mut self, at: Instant, kind: Kind, id: impl Word, data: impl Word) {
        debug_assert!(at >= self.now, "{kind:?} would lie in the past");
        self.events.push(Event { at, key: Key::new(kind, id.word()), data: data.word() });
    }

    /// Handles events until the traffic is done, time is up, or the observer has had enough.
    pub(crate) fn run(&mut self) -> Outcome {
        if self.unfinished == 0 && (self.horizon.is_never() || self.faults.is_empty()) {
            return Outcome::Completed;
        }
        self.schedule(self.now + self.patience, Kind::Look, 0, 0);
        self.schedule_start();
        self.schedule_jobs();
        self.faults_left = self.faults.len();
        for index in 0..self.faults.len() {
            self.schedule(self.faults[index].at, Kind::Fault, index as u32, 0);
        }
        if !self.sample_period.is_zero() {
            self.schedule(self.now + self.sample_period, Kind::Sample, 0, 0);
        }
        if !self.horizon.is_never() {
            // What happens at the horizon still counts.
            self.schedule(self.horizon + Span::from_ps(1), Kind::End, 0, 0);
        }
        loop {
            let Some(event) = self.next_event() else {
                return if self.unfinished == 0 { Outcome::Completed } else { Outcome::Stalled };
            };
            self.now = event.at;
            self.handle(event);
            self.countdown -= 1;
            if self.countdown == 0
                && let Some(outcome) = self.pause_to_look()
            {
                return outcome;
            }
        }
    }

    /// The next event. Prefetches what the events after it need: a large fabric does not fit the
    /// cache, and the loads of one event wait for each other. Of a delivery the packet is prefetched first; the
    /// next time, when that is in cache, it says which header and which queue pair to prefetch. So does the
    /// state of a NIC that sends: see [`NicState::last`].
    #[inline(always)]
    fn next_event(&mut self) -> Option<Event> {
        self.events.pop_and_show(|ahead| {
            if let Some(packet) = self.packets.peek(self.soon) {
                self.headers.prefetch(self.soon);
                self.nics.prefetch(PlaneId::first_of(packet.dst));
                if let Some(connection) = self.connections.get(packet.to.connection()) {
                    let end = &connection.ends[packet.to.end()];
                    end.prefetch(packet.flags & flag::TO_INITIATOR != 0);
                }
            }
            if let Some(nic) = self.nics.get(self.sender)
                && let Some(connection) = self.connections.get(nic.last.connection())
            {
                connection.ends[nic.last.end()].prefetch(true);
            }
            let (mut soon, mut sender) = (PacketId::NONE, PlaneId::NONE);
            // Ports of NICs come first, and a NIC with one port has its number; for others this is a guess.
            let nics = self.nics.len() as u32;
            for (key, data) in ahead.events() {
                self.packets.prefetch(PacketId(data));
                self.ports.prefetch(PortId(key.id()));
                soon = if key < Key::new(Kind::Arrive, 0) { PacketId(data) } else { soon };
                let transmits = key.0.wrapping_sub(Key::new(Kind::Transmit, 0).0);
                sender = if transmits < nics { PlaneId(transmits) } else { sender };
            }
            (self.soon, self.sender) = (soon, sender);
        })
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let id = event.key.id();
        if event.key.is(Kind::Arrive) {
            self.arrive(PortId(id), PacketId(event.data));
        } else if event.key.is(Kind::Deliver) {
            self.receive(PortId(id), PacketId(event.data));
        } else if event.key.is(Kind::Transmit) {
            self.wake(PortId(id));
        } else {
            self.handle_rare(event);
        }
    }

    #[inline(never)]
    fn handle_rare(&mut self, event: Event) {
        let id = event.key.id();
        match event.key.kind() {
            Some(Kind::End) => self.end(),
            Some(Kind::Pause) => self.obey_pause(PortId(id), event.data),
            Some(Kind::PauseExpiry) => self.expire_pauses(PortId(id)),
            Some(Kind::PauseRefresh) => self.refresh_pauses(PortId(id)),
            Some(Kind::Deadline) => self.endpoint_deadline(EndpointId(id)),
            Some(Kind::Start) => self.start_flows(),
            Some(Kind::Fault) => self.change_fault(id),
            Some(Kind::Drain) => match id.checked_sub(self.nics.len() as u32) {
                None => self.drain_receiver(PlaneId(id)),
                Some(port) => self.leave_fabric(PortId(port), PacketId(event.data)),
            },
            Some(Kind::Watchdog) => self.watch(Slot(id)),
            Some(Kind::Deadlock) => self.look_for_deadlock(),
            Some(Kind::Sample) => self.take_sample(),
            Some(Kind::Look) => self.look_for_progress(),
            Some(Kind::Job) => self.go_on(),
            Some(Kind::Arrive | Kind::Deliver | Kind::Transmit) | None => {
                unreachable!("handled before")
            }
        }
    }

    /// Ends the run after the present event.
    pub(crate) fn stop(&mut self, outcome: Outcome) {
        self.stop = Some(outcome);
        self.handled += self.stretch - self.countdown;
        (self.stretch, self.countdown) = (1, 1);
    }

    /// Time is up.
    fn end(&mut self) {
        self.now = self.horizon;
        let done = self.unfinished == 0;
        self.stop(if done { Outcome::Completed } else { Outcome::TimeUp });
        // This was no event of the fabric, and does not count as one.
        self.stretch = 0;
    }

    /// Between two stretches of events: is it over, does anybody want to know?
    #[cold]
    fn pause_to_look(&mut self) -> Option<Outcome> {
        self.handled += self.stretch;
        (self.stretch, self.countdown) = (STRETCH, STRETCH);
        if self.stop.is_some() {
            return self.stop.take();
        }
        (!self.report_progress()).then_some(Outcome::Interrupted)
    }

    /// Ends the run as stalled if nothing was delivered since the last look, and neither a flow, a fault or
    /// its repair, nor the start or computation of a job is scheduled.
    fn look_for_progress(&mut self) {
        let hopeless = self.totals.delivered == self.seen_delivered;
        let nothing_comes = self.next_flow == self.order.len()
            && self.faults_left == 0
            && !self.jobs.has_scheduled();
        if hopeless && self.unfinished > 0 && nothing_comes {
            return self.stop(Outcome::Stalled);
        }
        self.seen_delivered = self.totals.delivered;
        self.schedule(self.now + self.patience, Kind::Look, 0, 0);
    }

    /// Whether nothing is left to happen but looks at what happens, one of them `sampling`.
    pub(crate) fn only_looks_are_left(&self, sampling: bool) -> bool {
        let ends = !self.horizon.is_never();
        let looks = [true, ends, sampling, self.deadlock_pending];
        self.events.at_most(looks.iter().filter(|&&look| look).count())
    }

    /// Events handled so far.
    pub(crate) fn events_handled(&self) -> u64 {
        self.handled + self.stretch - self.countdown
    }

    /// Packets sent over links so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        let lanes = self.ports.iter().flat_map(|port| &port.lanes);
        lanes.map(|lane| lane.tx_packets).sum()
    }

    /// What the packets of a lane took of its wire, preamble and gap included.
    pub(crate) fn wire_bytes(&self, lane: &Lane) -> u64 {
        lane.tx_bytes + lane.tx_packets * u64::from(self.gap)
    }

    fn report_progress(&mut self) -> bool {
        if self.looks.is_multiple_of(COUNT_EVERY) {
            self.seen_hops = self.packet_hops();
        }
        self.looks += 1;
        let progress = Progress {
            now: self.now,
            events: self.events_handled(),
            packet_hops: self.seen_hops,
            flows_finished: (self.flows.len() + self.jobs.count() - self.unfinished) as u64,
            flows: (self.flows.len() + self.jobs.count()) as u64,
            packets_alive: self.packets_alive(),
        };
        self.observer.progress(&progress)
    }

    /// Tells the observer that something rare happened.
    pub(crate) fn trace(&mut self, kind: TraceKind, slot: Slot) {
        self.trace_packet(kind, slot, None, 0);
    }

    pub(crate) fn trace_packet(
        &mut self,
        kind: TraceKind,
        slot: Slot,
        flow: Option<FlowId>,
        bytes: u32,
    ) {
        let (port, class) = (slot.port(), slot.class());
        let flow = flow.map(|flow| flow.0);
        self.observer.trace(&Trace { at: self.now, kind, port, class, flow, bytes });
    }

    /// Packets somewhere in the fabric.
    fn packets_alive(&self) -> u64 {
        let dropped: u64 = self.totals.dropped.iter().flatten().sum();
        self.headers.written - self.totals.delivered - dropped
    }

    /// Drops a packet that has been taken from wherever it was.
    #[cold]
    pub(crate) fn drop_packet(&mut self, index: PacketId, slot: Slot, reason: Drop) {
        let packet = self.packets.take(index);
        let count = &mut self.counts[slot];
        count.dropped_packets += 1;
        count.dropped_bytes += u64::from(packet.size);
        self.totals.dropped[usize::from(slot.class())][reason as usize] += 1;
        self.totals.dropped_bytes += u64::from(packet.size);
        let flow = self.headers.get(index).flow;
        self.trace_packet(TraceKind::Drop(reason), slot, Some(flow), packet.size.into());
    }

    /// The next flow to start, and when.
    fn next_start(&self) -> Option<(FlowId, Instant)> {
        let flow = *self.order.get(self.next_flow)?;
        Some((flow, self.flows[flow].start))
    }

    fn schedule_start(&mut self) {
        if let Some((_, start)) = self.next_start() {
            self.schedule(start, Kind::Start, 0, 0);
        }
    }

    /// Starts every flow whose time has come.
    fn start_flows(&mut self) {
        while let Some((flow, start)) = self.next_start() {
            if start > self.now {
                break;
            }
            self.next_flow += 1;
            self.open(flow);
        }
        self.schedule_start();
    }

    /// The action of the watchdog at a switch port, if there is one.
    pub(crate) fn watchdog_action(&self, port: PortId) -> Option<WatchdogAction> {
        let node = self.fabric.ports[port.index()].node;
        let switch = self.fabric.node_switch(node)?;
        self.fabric.switches[switch.index()].watchdog.map(|dog| dog.action)
    }
}
