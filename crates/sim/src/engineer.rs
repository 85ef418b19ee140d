//! Centralised traffic engineering: a controller that knows all flows gives each its path.
//!
//! Switches go on hashing. What the controller sets is the UDP source port of every queue pair, so that its
//! hash leads where it is wanted. [`place`] takes the largest flow first and tries a number of source
//! ports: the best is the one on whose path the fullest link stays emptiest, then the one with the least
//! on all links. After that every flow is taken up once more and placed where it is best now, round after
//! round, until none moves.
//!
//! The controller takes all flows to be there at once, for as long as their bytes need. Links to NICs are
//! not looked at: no path avoids them. What it is not: it does not learn of faults. Routes that change are
//! hashed as they come.

use crate::id::JobId;
use crate::ideal::{Ways, hashed_path};
use crate::job::state::{Job, JobWay};
use crate::switch::hashing::{Hashes, Hashing};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use xoff_fabric::model::{Balancing, Fabric, NicId, PortId};
use xoff_fabric::route::Routes;
use xoff_fabric::rules::hash;
use xoff_fabric::scenario::Operation;
use xoff_units::Bytes;
use xoff_workload::Flow;

/// What a controller knows of a flow, or of one direction of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The NIC that sends.
    pub(crate) from: NicId,
    /// The NIC that receives.
    pub(crate) to: NicId,
    pub(crate) bytes: Bytes,
}

/// The hashes that a controller chose; empty if there is none.
#[derive(Default)]
pub(crate) struct Engineered {
    /// Of the packets with a flow's data, flow by flow.
    pub(crate) flows: Vec<Hashes>,
    /// Of what a job's queue pair sends in one direction.
    pub(crate) jobs: BTreeMap<JobWay, Hashes>,
}

/// Has a controller place all flows and all that jobs send, if the fabric has one.
pub(crate) fn engineered(
    fabric: &Fabric,
    routes: &Routes,
    hashing: &Hashing,
    flows: &[Flow],
    jobs: &[Job],
) -> Engineered {
    if fabric.switches.iter().all(|switch| switch.balancing != Balancing::Engineered) {
        return Engineered::default();
    }
    let of_flow = |flow: &Flow| {
        let (from, to) = match flow.operation {
            Operation::Read => (flow.destination, flow.source),
            Operation::Write | Operation::Send => (flow.source, flow.destination),
        };
        Demand { from, to, bytes: flow.bytes }
    };
    let mut demands: Vec<Demand> = flows.iter().map(of_flow).collect();
    // The programs of a job share its queue pairs.
    let mut ways: BTreeMap<JobWay, Bytes> = BTreeMap::new();
    for (job, number) in jobs.iter().zip((0..).map(JobId)) {
        for demand in job.programs.iter().flat_map(|turn| turn.program.demands()) {
            let (from, to, queue) = (demand.from, demand.to, demand.queue);
            *ways.entry(JobWay { job: number, from, to, queue }).or_default() += demand.bytes;
        }
    }
    let of_way = |(way, &bytes): (&JobWay, &Bytes)| Demand { from: way.from, to: way.to, bytes };
    demands.extend(ways.iter().map(of_way));
    let mut hashes = place(fabric, (routes, hashing), &demands);
    let of_jobs = hashes.split_off(flows.len());
    let jobs = ways.into_keys().zip(of_jobs).collect();
    Engineered { flows: hashes, jobs }
}

/// Source ports that are tried for a flow, where flows are few; and tries in all, at most.
const TRIES: usize = 64;
const ALL_TRIES: usize = 4 << 20;
/// A flow is tried on so many ports however many there are.
const LEAST_TRIES: usize = 4;

/// Rounds of improvement.
const ROUNDS: usize = 8;

/// The state of the solver.
struct Solver<'a> {
    fabric: &'a Fabric,
    ways: Ways<'a>,
    tries: usize,
    /// How long each port is busy with what it was given, in picoseconds.
    loads: Vec<u64>,
}

/// A path that was tried: how good it is (smaller is better), its hash, and its ports between switches.
struct Tried {
    cost: (u64, u64),
    hashes: Hashes,
    ports: Vec<PortId>,
}

/// The hashes of each flow's packets, with which it takes the path that the controller wants.
pub(crate) fn place(fabric: &Fabric, ways: Ways<'_>, demands: &[Demand]) -> Vec<Hashes> {
    let tries = (ALL_TRIES / demands.len().max(1)).clamp(LEAST_TRIES, TRIES);
    let loads = vec![0; fabric.ports.len()];
    let mut solver = Solver { fabric, ways, tries, loads };
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|&flow| (Reverse(demands[flow].bytes), flow));
    let mut placed: Vec<Option<Tried>> = demands.iter().map(|_| None).collect();
    for &flow in &order {
        let best = solver.best(flow, &demands[flow]);
        solver.add(&best.ports, demands[flow].bytes);
        placed[flow] = Some(best);
    }
    for _ in 0..ROUNDS {
        let mut moved = false;
        for &flow in &order {
            let Some(before) = placed[flow].take() else { continue };
            solver.take_away(&before.ports, demands[flow].bytes);
            let cost = solver.cost(&before.ports, demands[flow].bytes);
            let best = solver.best(flow, &demands[flow]);
            let better = best.cost < cost;
            let after = if better { best } else { before };
            moved |= better;
            solver.add(&after.ports, demands[flow].bytes);
            placed[flow] = Some(after);
        }
        if !moved {
            break;
        }
    }
    placed.into_iter().map(|tried| tried.map_or(Hashes::default(), |tried| tried.hashes)).collect()
}

impl Solver<'_> {
    /// The best path for a flow, as things are; of equal ones the first that was tried.
    fn best(&self, flow: usize, demand: &Demand) -> Tried {
        let mut best: Option<Tried> = None;
        for number in 0..self.tries as u32 {
            let tried = self.attempt(flow as u32, demand, number);
            // A path between two NICs of one leaf has no other.
            let only = tried.ports.is_empty();
            if best.as_ref().is_none_or(|best| tried.cost < best.cost) {
                best = Some(tried);
            }
            if only {
                break;
            }
        }
        best.unwrap_or(Tried { cost: (0, 0), hashes: Hashes::default(), ports: Vec::new() })
    }

    /// What comes of one source port.
    fn attempt(&self, flow: u32, demand: &Demand, number: u32) -> Tried {
        let start = hash::mixed(flow);
        let port = 0xc000 | (start.wrapping_add(number) & 0x3fff) as u16;
        let hashes = self.ways.1.hashes(demand.from, demand.to, port, flow);
        let mut ports = hashed_path(self.fabric, self.ways, (demand.from, demand.to), &hashes);
        // The first and the last are the NICs' own.
        ports.pop();
        if !ports.is_empty() {
            ports.remove(0);
        }
        Tried { cost: self.cost(&ports, demand.bytes), hashes, ports }
    }

    /// How full the fullest port of a path would be, and all of them together.
    fn cost(&self, ports: &[PortId], bytes: Bytes) -> (u64, u64) {
        let load = |&port: &PortId| self.loads[port.index()].saturating_add(self.time(port, bytes));
        let loads = ports.iter().map(load);
        (loads.clone().max().unwrap_or(0), loads.fold(0, u64::saturating_add))
    }

    fn time(&self, port: PortId, bytes: Bytes) -> u64 {
        self.fabric.cable(port).rate.time_for(bytes).as_ps()
    }

    fn add(&mut self, ports: &[PortId], bytes: Bytes) {
        for &port in ports {
            let time = self.time(port, bytes);
            let load = &mut self.loads[port.index()];
            *load = load.saturating_add(time);
        }
    }

    fn take_away(&mut self, ports: &[PortId], bytes: Bytes) {
        for &port in ports {
            let time = self.time(port, bytes);
            let load = &mut self.loads[port.index()];
            *load = load.saturating_sub(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two leaves with eight hosts each, eight spines, links as fast as the NICs.
    fn fabric() -> Fabric {
        let text = "[cluster]\nhosts = 16\nnic = 'generic-100g'\n\
                    [fabric]\nkind = 'leaf-spine'\nleaf = 'trident-3'\nhosts-per-leaf = 8\nspines = 8\n";
        Fabric::from_toml(text).expect("a sound fabric")
    }

    /// Bytes over each port between switches.
    fn loads(fabric: &Fabric, demands: &[Demand], hashes: &[Hashes]) -> BTreeMap<PortId, u64> {
        let (routes, hashing) = (Routes::new(fabric), Hashing::of(fabric));
        let mut loads = BTreeMap::new();
        for (demand, hashes) in demands.iter().zip(hashes) {
            let ends = (demand.from, demand.to);
            let path = hashed_path(fabric, (&routes, &hashing), ends, hashes);
            assert!(path.len() >= 2, "a path that does not arrive");
            for &port in &path[1..path.len() - 1] {
                *loads.entry(port).or_default() += demand.bytes.get();
            }
        }
        loads
    }

    fn placed(fabric: &Fabric, demands: &[Demand]) -> Vec<Hashes> {
        place(fabric, (&Routes::new(fabric), &Hashing::of(fabric)), demands)
    }

    fn demand(from: u32, to: u32, bytes: u64) -> Demand {
        Demand { from: NicId(from), to: NicId(to), bytes: Bytes::new(bytes) }
    }

    #[test]
    fn as_many_flows_as_paths_have_one_each() {
        let fabric = fabric();
        let demands: Vec<Demand> = (0..8).map(|nic| demand(nic, 8 + nic, 1_000_000)).collect();
        let entropies = placed(&fabric, &demands);
        let loads = loads(&fabric, &demands, &entropies);
        assert_eq!(loads.len(), 16, "{loads:?}");
        assert!(loads.values().all(|&bytes| bytes == 1_000_000), "{loads:?}");
        assert_eq!(entropies, placed(&fabric, &demands));
    }

    #[test]
    fn large_ones_go_first_and_small_ones_fill_up() {
        let fabric = fabric();
        // Seven of 8 MB and eight of 1 MB have room on eight paths.
        let large = (0..7).map(|nic| demand(nic, 8 + nic, 8_000_000));
        let small = (0..8).map(|nic| demand(nic, 15 - nic, 1_000_000));
        let demands: Vec<Demand> = small.chain(large).collect();
        let entropies = placed(&fabric, &demands);
        let loads = loads(&fabric, &demands, &entropies);
        assert!(loads.values().all(|&bytes| bytes <= 8_000_000), "{loads:?}");
    }

    #[test]
    fn a_controller_knows_what_each_tier_hashes() {
        // Leaves ignore the source port, so that only destinations tell flows apart.
        let text = "[cluster]\nhosts = 16\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\n\
                    leaf = 'trident-3'\nhosts-per-leaf = 8\nspines = 8\n\
                    [switch.leaf.hash]\nfields = ['addresses']\n";
        let fabric = Fabric::from_toml(text).expect("a sound fabric");
        let demands = [demand(0, 8, 1_000_000), demand(0, 8, 1_000_000)];
        let loads = loads(&fabric, &demands, &placed(&fabric, &demands));
        assert!(loads.values().all(|&bytes| bytes == 2_000_000), "one path: {loads:?}");
    }

    #[test]
    fn nothing_and_neighbours_do_no_harm() {
        let fabric = fabric();
        assert!(placed(&fabric, &[]).is_empty());
        let demands = [demand(0, 1, u64::MAX), demand(0, 9, u64::MAX), demand(1, 9, u64::MAX)];
        assert_eq!(placed(&fabric, &demands).len(), 3);
    }
}
