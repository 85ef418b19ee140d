//! Collectives as a whole: what one puts on every link, and how long it takes while nothing is in its way.
//!
//! All ranks of a collective depend on each other, so all of its queue pairs slow down together: it is one load, which uses its links
//! in proportion to what it sends over them, from its beginning to its end. While nothing competes with it, it takes as long as its
//! program does on a network without queues ([`xoff_workload::ideal`]), launch, proxies and copies included. A link
//! that has to carry more in that time than it can, be it for others or for the collective's own queue pairs, makes it longer.
//!
//! The time is worked out once for all collectives that are [alike](key): that send the same between NICs that are as far
//! apart.

use super::shares::{LinkId, Manner, Usage};
use super::state::{Fluid, Owner, wire_bytes};
use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::JobId;
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::ideal;
use xoff_workload::program::{CallId, Demand, Program, Queue, Token};

/// How a kind of collective behaves.
#[derive(Debug)]
pub(super) struct Shape {
    /// What it takes while nothing is in its way.
    time: Span,
    /// Its demands in the order in which their queue pairs are first used, which decides their source ports.
    order: Vec<u32>,
}

/// A collective of one group.
#[derive(Debug)]
pub(super) struct Whole {
    /// The bytes of every link that it takes.
    pub(super) usage: Usage,
    /// What it takes while nothing is in its way.
    pub(super) time: Span,
    /// One over the bytes of its largest queue pair: so that queue pairs compete as equals.
    pub(super) weight: f64,
    /// What it sends over the network, without headers.
    pub(super) bytes: Bytes,
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
        self.enter(job, Owner::Call { program, token: Some(token) }, &whole);
    }

    /// A job's program is one collective: all of it begins.
    pub(crate) fn begin_whole(&mut self, job: JobId, program: Program) {
        let Some(whole) = self.whole(job, 0, program) else { return };
        let program = self.hosts.jobs.program(job);
        self.enter(job, Owner::Call { program, token: None }, &whole);
    }

    fn enter(&mut self, job: JobId, owner: Owner, whole: &Whole) {
        self.hosts.jobs.count_sent(job, whole.bytes);
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
        let mut links: BTreeMap<LinkId, f64> = BTreeMap::new();
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
            for &(link, share) in self.fluid().streams[stream.0 as usize].usage.iter() {
                *links.entry(link).or_default() += wire * share;
            }
        }
        for (gpu, moved) in program.loads().gpus {
            let [out, into] = self.fluid().nvlink(gpu.0);
            for (link, bytes) in [(out, moved.sent), (into, moved.received)] {
                if !bytes.is_zero() {
                    *links.entry(link).or_default() += bytes.get() as f64;
                    largest = largest.max(bytes.get() as f64);
                }
            }
        }
        Some(Whole {
            usage: links.into_iter().collect(),
            time: shape.time,
            weight: if largest > 0.0 { 1.0 / largest } else { 1.0 },
            bytes: demands.iter().map(|demand| demand.bytes).sum(),
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
