//! Collectives as a whole: what one puts on every link, and how long it takes while nothing is in its way.
//!
//! All ranks of a collective depend on each other, so all of its queue pairs slow down together: it is one load, which uses its links
//! in proportion to what it sends over them, from its beginning to its end. While nothing competes with it, it takes as long as its
//! program does on a network without queues ([`xoff_workload::ideal`]), launch, proxies and copies included. A link
//! that has to carry more in that time than it can, be it for others or for the collective's own queue pairs, makes it longer.
//!
//! The time is worked out once for all collectives that are [alike](key): that send the same between NICs that are as far
//! apart.

use super::OWN_MESSAGES;
use super::shares::{LinkId, Manner, Usage};
use super::state::{Fluid, Owner, bytes_per_ps, wire_bytes};
use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::JobId;
use crate::switch::hashing::Hashes;
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::ideal;
use xoff_workload::program::{CallId, Demand, GraphBuilder, Program, Queue, Token, Work};

/// How a kind of collective behaves.
#[derive(Debug)]
pub(super) struct Shape {
    /// What it takes while nothing is in its way.
    time: Span,
    /// Its demands in the order in which their queue pairs are first used, which decides their source ports.
    order: Vec<u32>,
}

/// A collective of one group, or one message.
#[derive(Debug)]
pub(crate) struct Whole {
    /// The bytes of every link that it takes.
    pub(crate) usage: Usage,
    /// The bytes per picosecond that arrive at each of those links while all of its NICs send.
    bursts: Vec<f64>,
    /// What it takes while nothing is in its way.
    pub(crate) time: Span,
    /// One over the bytes of its largest queue pair: so that queue pairs compete as equals.
    weight: f64,
    /// What it sends over the network, without headers.
    bytes: Bytes,
    /// All of its queue pairs slow down together, or there is only one.
    pub(crate) in_step: bool,
    /// While nothing is in its way, packets take this time, too ([`is_certain`]).
    pub(crate) is_certain: bool,
    /// What it takes to run it packet by packet, where that may be wanted.
    trial: Option<Trial>,
}

impl Whole {
    /// What it takes to run it packet by packet.
    pub(crate) fn trial(&self) -> &Trial {
        self.trial.as_ref().expect("made at the fidelity `fast`")
    }

    /// What it does to every link while nothing is in its way.
    pub(crate) fn pulls(&self) -> impl Iterator<Item = (LinkId, Pull)> + '_ {
        let time = self.time.as_ps().max(1) as f64;
        let pull = move |bytes, burst| Pull { rate: bytes / time, burst };
        let pulls = self.usage.iter().zip(&self.bursts);
        pulls.map(move |(&(link, bytes), &burst)| (link, pull(bytes, burst)))
    }
}

/// What something does to a link, in bytes per picosecond.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Pull {
    /// In the mean, from beginning to end.
    pub(crate) rate: f64,
    /// While all that send over the link do so at once.
    pub(crate) burst: f64,
}

impl Pull {
    /// Whether packets wait for each other on a link of this capacity, often enough to matter: several send over it that could fill it
    /// together, and do so some of the time.
    pub(crate) fn crowds(self, capacity: f64) -> bool {
        self.burst > 1.01 * capacity && self.rate > 0.1 * capacity
    }
}

/// From this share of its rate on, a port sends all the time.
const BUSY: f64 = 0.95;

/// What a collective does to a link.
#[derive(Debug, Default)]
struct OnLink {
    bytes: f64,
    /// What its NICs send over it at once.
    burst: f64,
    /// The last of them.
    last: Option<NicId>,
}

impl OnLink {
    /// A NIC sends over it. Queue pairs come NIC by NIC.
    fn add(&mut self, from: NicId, bytes: f64, rate: f64) {
        self.bytes += bytes;
        if self.last.replace(from) != Some(from) {
            self.burst += rate;
        }
    }
}

/// A collective or message, ready to run packet by packet.
#[derive(Debug)]
pub(crate) struct Trial {
    /// Two with the same number are the same on the same paths.
    pub(crate) number: u32,
    pub(crate) program: Program,
    pub(crate) ways: Vec<Way>,
    /// What GPUs send and receive inside servers.
    pub(crate) gpus: Vec<(u32, u64, u64)>,
}

/// A queue pair of it.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) from: NicId,
    pub(crate) to: NicId,
    pub(crate) queue: Queue,
    pub(crate) bytes: Bytes,
    /// What switches hash of its packets, there and back.
    pub(crate) hashes: [Hashes; 2],
    /// Which of their ports its NICs send by.
    pub(crate) turn: u32,
    /// Its links, there and back.
    pub(crate) forth: Usage,
    pub(crate) back: Usage,
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// A program hands out a collective.
    pub(crate) fn begin_call(&mut self, job: JobId, token: Token, call: CallId) {
        let whole = match self.fluid().calls.get(&(job, call)) {
            Some(whole) => whole.clone(),
            None => {
                let Some(program) = self.hosts.jobs.callee(job, token) else {
                    debug_assert!(false, "a call that its program does not know");
                    return;
                };
                let Some(whole) = self.whole(job, call.space, program) else { return };
                let whole = Arc::new(whole);
                self.fluid().calls.insert((job, call), whole.clone());
                whole
            }
        };
        let program = self.hosts.jobs.program(job);
        self.enter(job, Owner::Call { program, token: Some(token) }, whole);
    }

    /// A job's program is one collective: all of it begins.
    pub(crate) fn begin_whole(&mut self, job: JobId, program: Program) {
        let Some(whole) = self.whole(job, 0, program) else { return };
        let program = self.hosts.jobs.program(job);
        self.enter(job, Owner::Call { program, token: None }, Arc::new(whole));
    }

    fn enter(&mut self, job: JobId, owner: Owner, whole: Arc<Whole>) {
        self.hosts.jobs.count_sent(job, whole.bytes);
        if self.is_fast() {
            return self.enter_fast(job, owner, whole);
        }
        let class = self.hosts.jobs.class(job);
        let now = self.now;
        let fluid = self.fluid();
        if whole.usage.is_empty() || whole.time.is_zero() {
            return self.tell_owner(owner, now.plus(whole.time));
        }
        let most = 1.0 / whole.time.as_ps() as f64;
        let manner = Manner { most, weight: whole.weight, in_step: true };
        let load = fluid.shares.add(now, whole.usage.clone(), manner, 1.0);
        self.carry(load, owner, class, whole.usage.clone(), 1.0);
    }

    /// What a collective does to the network. Nothing if it never ends: one of its ranks cannot reach another.
    fn whole(&mut self, job: JobId, space: u32, program: Program) -> Option<Whole> {
        let demands = program.demands();
        let shape = self.shape(job, &program, &demands)?;
        let mut links: BTreeMap<LinkId, OnLink> = BTreeMap::new();
        let mut largest: f64 = 0.0;
        for &at in &shape.order {
            let Demand { from, to, queue, .. } = demands[at as usize];
            self.open_pair((job, space, from.min(to), from.max(to), queue.0));
        }
        for demand in &demands {
            let Demand { from, to, queue, bytes } = *demand;
            let key = (job, space, from.min(to), from.max(to), queue.0);
            let stream = self.stream(key, from)?;
            let wire = wire_bytes(self.fabric, from, bytes);
            largest = largest.max(wire);
            let usage = self.fluid().streams[stream.0 as usize].usage.clone();
            let rate = self.greatest_rate(from, &usage);
            for &(link, share) in usage.iter() {
                links.entry(link).or_default().add(from, wire * share, rate * share);
            }
        }
        for (gpu, moved) in program.loads().gpus {
            let [out, into] = self.fluid().nvlink(gpu.0);
            for (link, bytes) in [(out, moved.sent), (into, moved.received)] {
                if !bytes.is_zero() {
                    let bytes = bytes.get() as f64;
                    let mean = bytes / shape.time.as_ps().max(1) as f64;
                    links.insert(link, OnLink { bytes, burst: mean, last: None });
                    largest = largest.max(bytes);
                }
            }
        }
        let trial = match self.is_fast() {
            true => Some(self.trial((job, space), &demands, program.clone())?),
            false => None,
        };
        Some(Whole {
            usage: links.iter().map(|(&link, on)| (link, on.bytes)).collect(),
            bursts: links.values().map(|on| on.burst).collect(),
            time: shape.time,
            weight: if largest > 0.0 { 1.0 / largest } else { 1.0 },
            bytes: demands.iter().map(|demand| demand.bytes).sum(),
            in_step: program.is_in_step(),
            is_certain: self.is_certain(&demands, shape.time),
            trial,
        })
    }

    /// Whether packets take the time that the network without queues takes. There, a port sends one piece after the other, where a NIC takes
    /// turns among its queue pairs: each piece arrives a little earlier. That makes no difference to a port that sends all the time, or
    /// that one queue pair has for itself; where collectives wait for clear-to-sends, it has been 10 %.
    fn is_certain(&self, demands: &[Demand], time: Span) -> bool {
        let mut ports: BTreeMap<NicId, (u32, f64)> = BTreeMap::new();
        for demand in demands {
            let (pairs, bytes) = ports.entry(demand.from).or_default();
            *pairs += 1;
            *bytes += wire_bytes(self.fabric, demand.from, demand.bytes);
        }
        let fluid = self.fluid.as_ref().expect("only called for flows");
        ports.into_iter().all(|(nic, (pairs, bytes))| {
            let most = bytes_per_ps(fluid.paths.rate(nic)) * time.as_ps() as f64;
            pairs <= 1 || bytes >= BUSY * most
        })
    }

    /// What it takes to run something packet by packet. Nothing if one of its NICs cannot reach another.
    fn trial(
        &mut self,
        (job, space): (JobId, u32),
        demands: &[Demand],
        program: Program,
    ) -> Option<Trial> {
        let mut ways = Vec::with_capacity(demands.len());
        let mut identity = vec![job.0.into(), program.fingerprint()];
        for demand in demands {
            let Demand { from, to, queue, bytes } = *demand;
            let key = (job, space, from.min(to), from.max(to), queue.0);
            let streams = [self.stream(key, from)?, self.stream(key, to)?];
            let fluid = self.fluid();
            let pair = fluid.pairs.get(&key)?;
            let end = usize::from(from > to);
            let hashes = [pair.hashes[end], pair.hashes[1 - end]];
            let [forth, back] = streams.map(|id| fluid.streams[id.0 as usize].usage.clone());
            identity.extend([from.0.into(), to.0.into(), queue.0.into(), bytes.get()]);
            identity.extend(hashes.iter().flat_map(Hashes::words));
            ways.push(Way { from, to, queue, bytes, hashes, turn: pair.turn, forth, back });
        }
        let moved = program.loads().gpus.into_iter();
        let gpus: Vec<_> = moved.map(|(gpu, m)| (gpu.0, m.sent.get(), m.received.get())).collect();
        identity.extend(gpus.iter().flat_map(|&(gpu, sent, got)| [gpu.into(), sent, got]));
        let wholes = &mut self.fluid().wholes;
        let next = wholes.len() as u32;
        let number = *wholes.entry(identity).or_insert(next);
        Some(Trial { number, program, ways, gpus })
    }

    /// A program sends a message of its own.
    pub(super) fn begin_message(&mut self, job: JobId, demand: Demand, token: Token) -> Option<()> {
        let Demand { from, to, queue, bytes } = demand;
        let key = (job, OWN_MESSAGES, from.min(to), from.max(to), queue.0);
        let whole = match self.fluid().messages.get(&(key, from, bytes)) {
            Some(whole) => whole.clone(),
            None => {
                let whole = Arc::new(self.message(job, demand)?);
                self.fluid().messages.insert((key, from, bytes), whole.clone());
                whole
            }
        };
        let program = self.hosts.jobs.program(job);
        self.enter_fast(job, Owner::Call { program, token: Some(token) }, whole);
        Some(())
    }

    fn message(&mut self, job: JobId, demand: Demand) -> Option<Whole> {
        let Demand { from, to, queue, bytes } = demand;
        let mut graph = GraphBuilder::new();
        graph.node(Work::Network { from, to, queue, bytes });
        let program = Program::Graph(graph.build().ok()?);
        let trial = self.trial((job, OWN_MESSAGES), &[demand], program)?;
        let path = trial.ways[0].forth.clone();
        let wire = wire_bytes(self.fabric, from, bytes);
        let rate = self.greatest_rate(from, &path);
        let time = wire / rate;
        let latency = self.fluid().paths.latency(from, to, bytes);
        Some(Whole {
            usage: path.iter().map(|&(link, share)| (link, share * wire)).collect(),
            bursts: path.iter().map(|&(_, share)| share * rate).collect(),
            time: Span::from_ps(time as u64) + latency,
            weight: 1.0 / wire,
            bytes,
            in_step: true,
            is_certain: true,
            trial: Some(trial),
        })
    }

    /// How a collective behaves, worked out if none like it has been seen. Nothing if it never ends.
    fn shape(&mut self, job: JobId, program: &Program, demands: &[Demand]) -> Option<Arc<Shape>> {
        let fluid = self.fluid();
        let mut key = key(fluid, program, demands);
        // Jobs have costs of their own.
        key.push(job.0.into());
        if let Some(shape) = fluid.shapes.get(&key) {
            return Some(shape.clone());
        }
        let outcome = ideal::run_on_paths(&mut program.clone(), &fluid.paths).ok()?;
        let time = outcome.end - Instant::ZERO;
        let used = ideal::openings(&mut program.clone(), &fluid.paths).ok()?;
        let pair = |d: &Demand| (d.from.min(d.to), d.from.max(d.to), d.queue);
        let places: BTreeMap<(NicId, NicId, Queue), u32> =
            demands.iter().map(pair).zip(0..).collect();
        let order = used.iter().filter_map(|pair| places.get(pair)).copied().collect();
        let shape = Arc::new(Shape { time, order });
        fluid.shapes.insert(key, shape.clone());
        Some(shape)
    }
}

/// What tells collectives apart that take different times: what goes from which NIC to which, and over what distance; NICs
/// are counted in the order in which they come up.
fn key(fluid: &Fluid<'_>, program: &Program, demands: &[Demand]) -> Vec<u64> {
    let mut nics: BTreeMap<NicId, u64> = BTreeMap::new();
    let mut key = Vec::with_capacity(6 * demands.len() + 8);
    for demand in demands {
        for nic in [demand.from, demand.to] {
            let next = nics.len() as u64;
            let number = *nics.entry(nic).or_insert(next);
            key.extend([number, fluid.paths.rate(nic).bps()]);
        }
        let near = fluid.paths.latency(demand.from, demand.to, Bytes::ZERO);
        key.extend([near.as_ps(), demand.bytes.get()]);
    }
    // Inside servers: what moves, GPU by GPU in their order.
    for moved in program.loads().gpus.values() {
        key.extend([moved.sent.get(), moved.received.get()]);
    }
    // Programs that move the same may be cut differently.
    key.push(program.fingerprint());
    key
}
