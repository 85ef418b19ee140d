//! Fidelity `flow`: traffic as flows with rates, not as packets.
//!
//! Everything above the wire is the same code as at the fidelity of packets: workloads, programs, costs of collectives,
//! hashes and routes. What differs is how bytes cross the network. A message of a queue pair is a flow along the path that its
//! hash leads to (or over all equal paths, where switches spread packets), with a [max-min fair share](shares) of every link;
//! a queue pair that stays busy is one flow whose pieces end as its bytes pass; and a collective is
//! [one load as a whole](call), because its ranks depend on each other. A message takes the latency of its path
//! and the time that its rate gives.
//!
//! There are no queues, and with them no pauses, marks, losses and timeouts: congestion control is taken to find the fair share
//! at once, and what competing senders lose to it is a factor that was measured with packets. What cannot be said without packets is
//! refused ([`refusal`]): faults, samples, networks that depend on loss.
//!
//! What happens is scheduled with the jobs' agenda, and what changes at one instant is settled once, after all of it.

pub(crate) mod call;
pub(crate) mod refusal;
pub(crate) mod shares;
pub(crate) mod state;

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{Entropy, FlowId, JobId};
use crate::job::state::Next;
use crate::plane::state::Pick;
use crate::report::FlowCounters;
use crate::switch::hashing::Hashes;
use crate::switch::packet::MAX_HOPS;
use shares::{LinkId, LoadId, Manner, Usage};
use state::{Carried, Fluid, Owner, Pair, PairKey, Piece, Stream, StreamId};
use std::collections::{BTreeMap, VecDeque};
use xoff_fabric::model::{ClassId, NicId, NodeId, PortId, SwitchId};
use xoff_fabric::rules::hash;
use xoff_fabric::scenario::Operation;
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::program::{Demand, Queue, Token, Traffic};

/// The groups that a program's own messages share queue pairs with: none.
const OWN_MESSAGES: u32 = u32::MAX;

/// What switches hash of a packet.
#[derive(Clone, Copy)]
enum Hashed<'a> {
    /// These.
    By(&'a Hashes),
    /// What stands under this number.
    To(Entropy),
}

/// How messages of a queue pair behave: all queue pairs are equals.
fn manner(most: f64) -> Manner {
    Manner { most, weight: 1.0, in_step: false }
}

impl<'a, Q: EventQueue> Engine<'a, Q> {
    /// Whether traffic is flows.
    pub(crate) fn is_fluid(&self) -> bool {
        self.fluid.is_some()
    }

    /// The state of flows, which there is.
    pub(crate) fn fluid(&mut self) -> &mut Fluid<'a> {
        self.fluid.as_deref_mut().expect("only called at the fidelity of flows")
    }

    /// Starts a flow of the scenario.
    pub(crate) fn open_fluid(&mut self, flow: FlowId) {
        let now = self.now;
        let state = self.hosts.flows.get_mut(flow);
        let back = state.operation == Operation::Read;
        let (source, destination) = (state.source, state.destination);
        let (from, to) = if back { (destination, source) } else { (source, destination) };
        let (entropy, bytes, class) = (state.entropy[usize::from(back)], state.bytes, state.class);
        let Some(usage) = self.flow_usage(flow, (from, to), entropy, back) else { return };
        let wire = state::wire_bytes(self.fabric, from, bytes);
        let most = self.greatest_rate(from, &usage);
        let load = self.fluid().shares.add(now, usage.clone(), manner(most), wire);
        self.carry(load, Owner::Flow(flow), class, usage, wire);
    }

    /// Sends bytes of a program's own.
    pub(crate) fn send_fluid(
        &mut self,
        job: JobId,
        (from, to, queue): (NicId, NicId, Queue),
        traffic: Traffic,
        bytes: Bytes,
        token: Token,
    ) {
        let program = self.hosts.jobs.program(job);
        if traffic == Traffic::ClearToSend {
            // Small, and NICs take turns packet by packet: it passes what waits.
            let paths = &self.fluid().paths;
            let time = paths.latency(from, to, bytes) + paths.rate(from).time_for(bytes);
            return self.schedule_job(self.now.plus(time), Next::Done { program, token });
        }
        if self.is_fast() {
            // Without a way it never arrives, as at the other fidelities.
            let _ = self.begin_message(job, Demand { from, to, queue, bytes }, token);
            return;
        }
        let key = (job, OWN_MESSAGES, from.min(to), from.max(to), queue.0);
        let Some(stream) = self.stream(key, from) else { return };
        let piece = Piece { bytes, program, token };
        let state = &mut self.fluid().streams[stream.0 as usize];
        state.pieces.push_back(piece);
        if state.load.is_none() {
            self.begin_stream(stream);
        }
    }

    /// An idle queue pair has something to send.
    fn begin_stream(&mut self, id: StreamId) {
        let (now, fabric) = (self.now, self.fabric);
        let stream = &self.fluid().streams[id.0 as usize];
        let Some(piece) = stream.pieces.front() else { return };
        let (from, class, usage) = (stream.ends.0, stream.class, stream.usage.clone());
        let wire = state::wire_bytes(fabric, from, piece.bytes);
        let most = self.greatest_rate(from, &usage);
        let load = self.fluid().shares.add(now, usage.clone(), manner(most), wire);
        self.fluid().streams[id.0 as usize].load = Some(load);
        self.carry(load, Owner::Stream(id), class, usage, wire);
    }

    /// The last byte of a queue pair's piece has left: it arrives after the latency, and the next one follows.
    fn pass_piece(&mut self, id: StreamId, load: LoadId) {
        let (now, fabric) = (self.now, self.fabric);
        let fluid = self.fluid();
        let stream = &mut fluid.streams[id.0 as usize];
        let Some(piece) = stream.pieces.pop_front() else { return };
        let (from, to) = stream.ends;
        let latency = fluid.paths.latency(from, to, piece.bytes);
        let next = stream.pieces.front().map(|next| state::wire_bytes(fabric, from, next.bytes));
        let Piece { program, token, .. } = piece;
        self.schedule_job(now.plus(latency), Next::Done { program, token });
        let fluid = self.fluid();
        match next {
            Some(wire) => {
                fluid.shares.go_on(now, load, wire);
                let carried = fluid.carried[load.0 as usize].clone();
                if let Some(Carried { class, usage, amount, .. }) = carried {
                    fluid.count(class, &usage, amount);
                }
                if let Some(carried) = &mut fluid.carried[load.0 as usize] {
                    carried.amount = wire;
                }
                self.schedule_passing(load);
            }
            None => {
                fluid.streams[id.0 as usize].load = None;
                self.let_go(load);
            }
        }
    }

    /// One direction of a queue pair. Nothing if there is no way.
    fn stream(&mut self, key: PairKey, from: NicId) -> Option<StreamId> {
        let (job, _, low, high, _) = key;
        let end = usize::from(from != low);
        let pair = self.open_pair(key);
        if pair.streams[end].is_some() {
            return pair.streams[end];
        }
        let to = if end == 0 { high } else { low };
        let plane = self.hosts.planes.choose(from, Pick::Turn(pair.turn));
        let first = self.hosts.nics[plane].port;
        let hashes = pair.hashes[end];
        let usage = self.links_to(first, to, Hashed::By(&hashes))?;
        let class = self.hosts.jobs.class(job);
        let fluid = self.fluid();
        let (pieces, load) = (VecDeque::new(), None);
        let state = Stream { ends: (from, to), class, usage, pieces, load };
        let stream = Some(fluid.open(state));
        if let Some(pair) = fluid.pairs.get_mut(&key) {
            pair.streams[end] = stream;
        }
        stream
    }

    /// A queue pair of a job, which gets its source port now if it is new.
    fn open_pair(&mut self, key: PairKey) -> Pair {
        let (job, _, low, high, queue) = key;
        if let Some(pair) = self.fluid().pairs.get(&key) {
            return *pair;
        }
        let hashes = self.pair_hashes(job, (low, high, queue));
        let pair = Pair { hashes, turn: self.turn(job, low, high), streams: [None; 2] };
        self.fluid().pairs.insert(key, pair);
        pair
    }

    /// Which port of its NICs a new queue pair takes, as at the fidelity of packets.
    fn turn(&mut self, job: JobId, low: NicId, high: NicId) -> u32 {
        let before = self.fluid().between.entry((job, low, high)).or_default();
        *before += 1;
        let start = hash::mixed(low.0.rotate_left(16) ^ high.0) >> 24;
        start + *before - 1
    }

    /// A job closes its queue pairs.
    pub(crate) fn close_fluid(&mut self, job: JobId) {
        let fluid = self.fluid();
        let (streams, closed) = (&fluid.streams, &mut fluid.closed);
        fluid.pairs.retain(|key, pair| {
            if key.0 == job {
                let directions = pair.streams.into_iter().flatten();
                closed.extend(directions.filter(|id| streams[id.0 as usize].load.is_none()));
            }
            key.0 != job
        });
        fluid.between.retain(|key, _| key.0 != job);
        fluid.calls.retain(|key, _| key.0 != job);
        fluid.messages.retain(|((of, ..), ..), _| *of != job);
    }

    fn flow_usage(
        &mut self,
        flow: FlowId,
        (from, to): (NicId, NicId),
        entropy: Entropy,
        back: bool,
    ) -> Option<Usage> {
        let state = self.hosts.flows.get(flow)?;
        if let Some(pins) = &state.pins {
            let onward = if back { &pins.back } else { &pins.forth };
            let ports =
                std::iter::once(pins.first[usize::from(back)]).chain(onward.iter().copied());
            return Some(ports.map(|port| (LinkId(port.0), 1.0)).collect());
        }
        let plane = self.hosts.planes.choose(from, Pick::Hash(self.net.hashing.at_nic(entropy)));
        let first = self.hosts.nics[plane].port;
        self.links_to(first, to, Hashed::To(entropy))
    }

    /// The links from a NIC's port to another NIC and the share of the bytes that each carries: all of them along one path
    /// where switches hash, equal parts where they spread. Nothing if there is no way.
    fn links_to(&mut self, first: PortId, to: NicId, hashed: Hashed<'_>) -> Option<Usage> {
        let fabric = self.fabric;
        let peer = |port: PortId| fabric.ports[port.index()].peer;
        let node = |port: PortId| fabric.ports[port.index()].node;
        let own = LinkId(first.0);
        let start = fabric.node_switch(node(peer(first)));
        // Where all switches spread, ways depend on nothing but the switches at both ends.
        let ends = match &fabric.nics[to.index()].ports {
            ports if ports.len() == 1 && self.fluid().spreads => {
                let last = peer(PortId(ports.start));
                start.zip(fabric.node_switch(node(last))).zip(Some(LinkId(last.0)))
            }
            _ => None,
        };
        let Some((ends, last)) = ends else {
            let onward = self.links_from(node(peer(first)), to, hashed)?;
            return Some(std::iter::once((own, 1.0)).chain(onward).collect());
        };
        let between = match self.fluid().between_switches.get(&ends) {
            Some(between) => between.clone(),
            None => {
                let onward = self.links_from(node(peer(first)), to, hashed)?;
                let between = onward.into_iter().filter(|(link, _)| *link != last).collect();
                self.fluid().between_switches.entry(ends).or_insert(between).clone()
            }
        };
        let whole = |link| std::iter::once((link, 1.0));
        Some(whole(own).chain(between.iter().copied()).chain(whole(last)).collect())
    }

    /// The same from a switch on. Equal ports of a switch that spreads are one link, and so are those of several switches that
    /// get equal parts: everything that spreads there uses all of them alike.
    fn links_from(
        &mut self,
        start: NodeId,
        to: NicId,
        hashed: Hashed<'_>,
    ) -> Option<BTreeMap<LinkId, f64>> {
        let fabric = self.fabric;
        let mut links: BTreeMap<LinkId, f64> = BTreeMap::new();
        let peer = |port: PortId| fabric.ports[fabric.ports[port.index()].peer.index()].node;
        let mut reached: BTreeMap<NodeId, f64> = BTreeMap::from([(start, 1.0)]);
        for _ in 0..=MAX_HOPS {
            reached.remove(&NodeId(to.0));
            if reached.is_empty() {
                return Some(links);
            }
            let mut groups: Vec<(Vec<PortId>, f64)> = Vec::with_capacity(reached.len());
            for (node, share) in std::mem::take(&mut reached) {
                let switch = fabric.node_switch(node)?;
                let ports = self.onward(switch, to, hashed);
                let part = share / ports.len() as f64;
                ports.iter().for_each(|&port| *reached.entry(peer(port)).or_default() += part);
                groups.push((ports, share));
            }
            let part = |(ports, share): &(Vec<PortId>, f64)| share / ports.len() as f64;
            let alike =
                groups.iter().all(|group| (part(group) / part(&groups[0]) - 1.0).abs() < 1e-9);
            if alike && groups.iter().all(|(ports, _)| ports.len() > 1) {
                let share = groups.iter().map(|(_, share)| share).sum();
                let ports = groups.drain(..).flat_map(|(ports, _)| ports).collect();
                groups.push((ports, share));
            }
            for (ports, share) in &groups {
                if ports.is_empty() {
                    return None;
                }
                *links.entry(self.fluid().bundle(ports)).or_default() += share;
            }
        }
        None
    }

    /// The ports by which a switch sends what goes to a NIC: one where it hashes, all equal ones where it spreads.
    fn onward(&self, switch: SwitchId, to: NicId, hashed: Hashed<'_>) -> Vec<PortId> {
        if !self.fabric.switches[switch.index()].balancing.keeps_paths() {
            return self.net.routing.choices(switch, to).to_vec();
        }
        let seed = self.net.switches[switch].hash_seed;
        let hash = match hashed {
            Hashed::By(hashes) => self.net.hashing.at_switch(switch, hashes),
            Hashed::To(entropy) => self.net.hashing.at(switch, entropy),
        };
        self.net.routing.next(switch, to, hash, seed).into_iter().collect()
    }

    /// How fast a flow can be in wire bytes per picosecond, whatever else is under way.
    fn greatest_rate(&self, from: NicId, usage: &Usage) -> f64 {
        let (first, _) = usage[0];
        let own = state::bytes_per_ps(self.fabric.cable(PortId(first.0)).rate);
        let nic = &self.hosts.nics[crate::id::PlaneId::first_of(from)];
        own.min(state::bytes_per_ps(nic.flow_rate))
    }

    /// A load is under way.
    fn carry(&mut self, load: LoadId, owner: Owner, class: ClassId, usage: Usage, amount: f64) {
        let fluid = self.fluid();
        let place = load.0 as usize;
        if fluid.carried.len() <= place {
            fluid.carried.resize(place + 1, None);
        }
        fluid.carried[place] = Some(Carried { owner, class, usage, amount });
        if fluid.shares.is_settled() || !fluid.shares.due(load).0.is_never() {
            self.schedule_passing(load);
        }
        self.settle_later();
    }

    /// A load is over.
    fn let_go(&mut self, load: LoadId) {
        let now = self.now;
        let fluid = self.fluid();
        fluid.shares.remove(now, load);
        if let Some(Carried { class, usage, amount, .. }) = fluid.carried[load.0 as usize].take() {
            fluid.count(class, &usage, amount);
        }
        self.settle_later();
    }

    /// Sees to it that shares are worked out again after everything that happens now.
    fn settle_later(&mut self) {
        let fluid = self.fluid();
        if !fluid.shares.is_settled() && !std::mem::replace(&mut fluid.settles, true) {
            self.schedule_job(self.now, Next::Settle);
        }
    }

    pub(crate) fn settle(&mut self) {
        let now = self.now;
        let fluid = self.fluid();
        fluid.settles = false;
        let mut changed = std::mem::take(&mut fluid.changed);
        fluid.shares.settle(now, &mut changed);
        for &load in &changed {
            self.schedule_passing(load);
        }
        changed.clear();
        self.fluid().changed = changed;
    }

    fn schedule_passing(&mut self, load: LoadId) {
        let (at, turn) = self.fluid().shares.due(load);
        if !at.is_never() {
            self.schedule_job(at, Next::Passed { load, turn });
        }
    }

    /// All of a load has passed, if it is still the one that was meant.
    pub(crate) fn pass(&mut self, load: LoadId, turn: u32) {
        let fluid = self.fluid();
        if !fluid.shares.is_turn(load, turn) {
            return;
        }
        let Some(&Carried { owner, amount, .. }) = fluid.carried[load.0 as usize].as_ref() else {
            return;
        };
        match owner {
            Owner::Stream(stream) => self.pass_piece(stream, load),
            Owner::Flow(flow) => {
                let alone = fluid.shares.time_alone(load, amount);
                self.let_go(load);
                self.schedule_flow_end(flow, alone);
            }
            Owner::Call { .. } => {
                self.let_go(load);
                self.tell_owner(owner, self.now);
            }
        }
    }

    /// A collective is over at an instant.
    pub(crate) fn tell_owner(&mut self, owner: Owner, at: Instant) {
        let Owner::Call { program, token } = owner else { return };
        match token {
            Some(token) => self.schedule_job(at, Next::Done { program, token }),
            None => self.schedule_job(at, Next::Ended { program }),
        }
    }

    /// The bytes of a flow have passed its slowest link, for which they take a time on an idle fabric. Its initiator knows after what
    /// remains of the least time that the flow takes there.
    fn schedule_flow_end(&mut self, flow: FlowId, alone: Span) {
        let now = self.now;
        let Some(state) = self.hosts.flows.get(flow) else { return };
        let (start, bound) = (state.start, state.bound);
        let at = now.plus(bound.saturating_sub(alone)).max(start.plus(bound));
        self.schedule_job(at, Next::FlowEnds { flow });
    }

    pub(crate) fn end_fluid_flow(&mut self, flow: FlowId) {
        let now = self.now;
        let state = self.hosts.flows.get_mut(flow);
        let delivered = state.bytes.get();
        state.counters = FlowCounters { delivered, ..FlowCounters::default() };
        state.end = now;
        assert!(now - state.start >= state.floor, "flow {} is faster than physics", flow.0);
        self.finish_one();
    }

    /// Writes what links carried into their ports' counters.
    pub(crate) fn count_fluid(&mut self) {
        let now = self.now;
        let gap = u64::from(self.net.gap);
        let Some(fluid) = self.fluid.as_deref_mut() else { return };
        for load in 0..fluid.carried.len() {
            if let Some(Carried { class, usage, amount, .. }) = fluid.carried[load].take() {
                let left = fluid.shares.left(LoadId(load as u32), now);
                fluid.count(class, &usage, (amount - left).max(0.0));
            }
        }
        fluid.unbundle();
        let packet =
            self.fabric.nics.first().map_or(4096, |nic| {
                (nic.qp.mtu + nic.qp.framing.header + nic.qp.framing.gap).get()
            });
        for class in 0..8 {
            for (port, &wire) in fluid.wire[class].iter().take(fluid.ports).enumerate() {
                let lane = &mut self.net.ports[PortId(port as u32)].lanes[class];
                let wire = wire.round() as u64;
                let packets = wire.div_ceil(packet);
                lane.tx_packets += packets;
                lane.tx_bytes += wire.saturating_sub(packets * gap);
            }
        }
    }
}
