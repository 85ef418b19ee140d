//! [`loads`]: the bytes that a collective moves over every NIC and NVLink, in closed form.

use super::link::Way;
use super::machine::{Machine, Worker};
use super::part::{MAIN, Part, Place};
use super::shape::{Shape, part};
use super::{Algorithm, Collective, CollectiveError, Settings, program};
use crate::ideal::Moved;
use crate::layout::{GpuId, Layout};
use crate::program::{Demand, Program, Queue};
use crate::stream;
use std::collections::BTreeMap;
use xoff_fabric::model::NicId;
use xoff_units::Bytes;

/// What a collective moves over every NIC and NVLink that it uses, without clear-to-sends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Loads {
    /// By NIC.
    pub nics: BTreeMap<NicId, Moved>,
    /// By GPU.
    pub gpus: BTreeMap<GpuId, Moved>,
}

/// The loads of a collective.
///
/// In a ring of `n` a chunk makes `2(n-1)` hops for AllReduce and `n-1` for AllGather and ReduceScatter, so
/// every rank sends all but two chunks twice over, or all but one once; along a tree edge everything goes
/// once in each direction.
pub fn loads(
    collective: Collective,
    algorithm: Algorithm,
    size: Bytes,
    layout: &Layout,
    settings: &Settings,
) -> Result<Loads, CollectiveError> {
    Ok(program(collective, algorithm, size, layout, settings)?.loads())
}

impl Program {
    /// What it moves over every NIC and NVLink that it uses, as far as that is known before it runs: everything of
    /// collectives but their clear-to-sends, nothing of other programs.
    pub fn loads(&self) -> Loads {
        match self {
            Program::Machine(machine) => of_machine(machine),
            Program::Exchange(exchange) => exchange.rounds().loads(),
            Program::Direct(direct) => direct.rounds().loads(),
            Program::Aggregate(aggregate) => aggregate.loads(),
            Program::Pat(pat) => pat.loads(),
            _ => Loads::default(),
        }
    }
}

pub(super) fn of_machine(machine: &Machine) -> Loads {
    let mut loads = Loads::default();
    for link in &machine.links {
        let receiver = &machine.workers[link.receiver as usize];
        let shape = &machine.shapes[receiver.channel as usize];
        loads.add(link.way, Bytes::new(carried(receiver, shape)));
    }
    loads
}

impl Machine {
    /// What its workers do, in one number.
    pub(crate) fn fingerprint(&self) -> u64 {
        let part = |worker: &Worker| match worker.part {
            Part::AllReduce(_) => 5,
            Part::AllGather(_) => 6,
            Part::ReduceScatter(_) => 7,
            Part::Scatter { .. } => 8,
            Part::Rail { .. } => 9,
            Part::Gather { .. } => 10,
            Part::Same(op) => 11 + u64::from(op.takes) * 16 + u64::from(op.gives),
        };
        let parts = self.workers.iter().map(part);
        let shapes = self.shapes.iter().map(|shape| shape.bytes);
        parts.chain(shapes).fold(0, stream::hash)
    }

    /// What goes over each of its queue pairs.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let queues = self.terms.queues;
        let mut demands = Vec::new();
        for link in &self.links {
            let Way::Network { from, to, queue, .. } = link.way else { continue };
            let receiver = &self.workers[link.receiver as usize];
            let bytes = carried(receiver, &self.shapes[receiver.channel as usize]);
            demands.extend((0..queues).map(|turn| Demand {
                from,
                to,
                queue: Queue(queue + turn),
                bytes: Bytes::new(part(bytes, queues, turn)),
            }));
        }
        demands
    }
}

impl Loads {
    pub(super) fn add(&mut self, way: Way, bytes: Bytes) {
        if bytes.is_zero() {
            return;
        }
        let over_nvlink = match way {
            Way::Local => None,
            Way::Nvlink { from, to } => Some((from, to)),
            Way::Network { from, to, relay, .. } => {
                self.nics.entry(from).or_default().sent += bytes;
                self.nics.entry(to).or_default().received += bytes;
                relay
            }
        };
        if let Some((from, to)) = over_nvlink {
            self.gpus.entry(from).or_default().sent += bytes;
            self.gpus.entry(to).or_default().received += bytes;
        }
    }
}

/// What a worker receives on its links to other ranks, each.
fn carried(worker: &Worker, shape: &Shape) -> u64 {
    let chunk = |index| shape.chunk_in_all(index);
    let before = |place: Place| (place.at + place.of - 1) % place.of;
    let all = shape.bytes;
    match worker.part {
        Part::AllReduce(place) => 2 * all - chunk(place.at) - chunk(before(place)),
        Part::AllGather(place) => all - chunk(place.at),
        Part::ReduceScatter(place) => all - chunk(before(place)),
        Part::Scatter { column, row } => {
            all - (0..row.of).map(|row| chunk(row * column.of + before(column))).sum::<u64>()
        }
        Part::Gather { column, row } => {
            all - (0..row.of).map(|row| chunk(row * column.of + column.at)).sum::<u64>()
        }
        Part::Rail { column, row } => {
            let cell = |row: u32| chunk(row * column.of + column.at);
            2 * (0..row.of).map(cell).sum::<u64>() - cell(row.at) - cell(before(row))
        }
        Part::Same(op) if op.takes & MAIN == 0 => 0,
        Part::Same(_) => all,
    }
}
