//! What a run at the fidelity of flows remembers.

use super::call::{Shape, Whole};
use super::shares::{LinkId, LoadId, Shares, Usage};
use crate::fast::state::Fast;
use crate::hosts::Hosts;
use crate::id::{FlowId, JobId};
use crate::net::Net;
use crate::switch::hashing::Hashes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use xoff_fabric::model::{ClassId, Fabric, NicId, PortId, SwitchId};
use xoff_transport::config::Congestion;
use xoff_units::{Bytes, Rate};
use xoff_workload::ideal::Paths;
use xoff_workload::layout;
use xoff_workload::program::{CallId, Calls, Token};

/// A queue pair of a job: the groups that may share it, its NICs, the lower first, and its number.
pub(super) type PairKey = (JobId, u32, NicId, NicId, u32);

/// One direction of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamId(pub(super) u32);

/// A queue pair.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// What switches hash of its packets, from its lower NIC and from its higher one.
    pub(super) hashes: [Hashes; 2],
    /// Which of their ports its NICs send by.
    pub(super) turn: u32,
    /// Its directions, as far as they are used.
    pub(super) streams: [Option<StreamId>; 2],
}

/// What a queue pair sends in one direction, piece by piece.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) ends: (NicId, NicId),
    pub(super) class: ClassId,
    pub(super) usage: Usage,
    pub(super) pieces: VecDeque<Piece>,
    /// Nothing while it has no pieces.
    pub(super) load: Option<LoadId>,
}

/// A transfer of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) bytes: Bytes,
    pub(super) program: u32,
    pub(super) token: Token,
}

/// Whose progress a load is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A flow of the scenario.
    Flow(FlowId),
    /// A queue pair of a job.
    Stream(StreamId),
    /// A collective of a program; without a token it is all of the program.
    Call { program: u32, token: Option<Token> },
}

/// A load and what is counted of it.
#[derive(Debug, Clone)]
pub(super) struct Carried {
    pub(super) owner: Owner,
    pub(super) class: ClassId,
    pub(super) usage: Usage,
    /// Its amount of progress.
    pub(super) amount: f64,
}

/// All of it.
pub(crate) struct Fluid<'a> {
    pub(crate) shares: Shares,
    /// By load.
    pub(super) carried: Vec<Option<Carried>>,
    pub(super) streams: Vec<Stream>,
    /// Places of streams whose queue pairs are closed.
    pub(super) closed: Vec<StreamId>,
    pub(super) pairs: BTreeMap<PairKey, Pair>,
    /// Equal ports over which switches spread what they send, as one link.
    pub(super) bundles: BTreeMap<Vec<PortId>, LinkId>,
    /// Whether all switches spread; and then what lies between two of them.
    pub(super) spreads: bool,
    pub(super) between_switches: BTreeMap<(SwitchId, SwitchId), Usage>,
    /// Queue pairs that a job has between two NICs: they take the NICs' ports in turn.
    pub(super) between: BTreeMap<(JobId, NicId, NicId), u32>,
    pub(super) paths: Paths<'a>,
    /// Collectives that have run before, and with how much of everything.
    pub(super) calls: BTreeMap<(JobId, CallId), Arc<Whole>>,
    /// Messages that have been sent before.
    pub(super) messages: BTreeMap<(PairKey, NicId, Bytes), Arc<Whole>>,
    /// How long collectives take that are alike.
    pub(super) shapes: BTreeMap<Vec<u64>, Arc<Shape>>,
    /// A settlement is scheduled.
    pub(crate) settles: bool,
    /// Bytes on the wire by class, then link.
    pub(super) wire: [Vec<f64>; 8],
    pub(super) ports: usize,
    pub(super) changed: Vec<LoadId>,
    /// Collectives and messages that differ, so far.
    pub(super) wholes: BTreeMap<Vec<u64>, u32>,
    /// Packets where links are crowded, where the fidelity is `fast`.
    pub(crate) fast: Option<Box<Fast>>,
}

impl<'a> Fluid<'a> {
    pub(crate) fn new(fabric: &'a Fabric, net: &Net, hosts: &Hosts) -> Self {
        let ports = fabric.ports.len();
        let nvlinks = layout::nvlinks(fabric).into_iter();
        let nvlinks = nvlinks.map(bytes_per_ps).flat_map(|rate| [(rate, rate); 2]);
        let of_port = |port: PortId| capacities(fabric, net, hosts, port);
        let links = (0..ports as u32).map(PortId).map(of_port).chain(nvlinks);
        Self {
            shares: Shares::new(links),
            carried: Vec::new(),
            streams: Vec::new(),
            closed: Vec::new(),
            pairs: BTreeMap::new(),
            bundles: BTreeMap::new(),
            spreads: fabric.switches.iter().all(|switch| !switch.balancing.keeps_paths()),
            between_switches: BTreeMap::new(),
            between: BTreeMap::new(),
            paths: Paths::new(fabric),
            calls: BTreeMap::new(),
            messages: BTreeMap::new(),
            shapes: BTreeMap::new(),
            settles: false,
            wire: Default::default(),
            ports,
            changed: Vec::new(),
            wholes: BTreeMap::new(),
            fast: None,
        }
    }

    /// Which collectives programs hand out whole.
    pub(crate) fn whole_calls(&self) -> Calls {
        if self.fast.is_some() { Calls::All } else { Calls::InStep }
    }

    /// Queue pairs of jobs that are open.
    pub(crate) fn pairs_open(&self) -> u32 {
        self.pairs.len() as u32
    }

    /// A queue pair sends in a direction for the first time.
    pub(super) fn open(&mut self, stream: Stream) -> StreamId {
        if let Some(id) = self.closed.pop() {
            self.streams[id.0 as usize] = stream;
            return id;
        }
        self.streams.push(stream);
        StreamId(self.streams.len() as u32 - 1)
    }

    /// The links of a GPU into its server: out of it, and into it.
    pub(super) fn nvlink(&self, gpu: u32) -> [LinkId; 2] {
        let first = (self.ports + 2 * gpu as usize) as u32;
        [LinkId(first), LinkId(first + 1)]
    }

    /// Counts what a load put on its links: so much of a unit of progress.
    pub(crate) fn count(&mut self, class: ClassId, usage: &Usage, progress: f64) {
        let ports = self.ports;
        let wire = &mut self.wire[class.index()];
        for &(link, bytes) in usage.iter() {
            if wire.len() <= link.0 as usize {
                wire.resize(ports.max(link.0 as usize + 1), 0.0);
            }
            wire[link.0 as usize] += bytes * progress;
        }
    }

    /// Gives every port its part of what bundles carried.
    pub(super) fn unbundle(&mut self) {
        for (ports, bundle) in &self.bundles {
            for wire in &mut self.wire {
                let Some(bytes) = wire.get_mut(bundle.0 as usize).map(std::mem::take) else {
                    continue;
                };
                for port in ports {
                    wire[port.index()] += bytes / ports.len() as f64;
                }
            }
        }
    }

    /// The link that equal ports are together.
    pub(super) fn bundle(&mut self, ports: &[PortId]) -> LinkId {
        if let [port] = ports {
            return LinkId(port.0);
        }
        if let Some(&bundle) = self.bundles.get(ports) {
            return bundle;
        }
        let bundle = self.shares.bundle(ports.iter().map(|port| LinkId(port.0)));
        self.bundles.insert(ports.to_vec(), bundle);
        bundle
    }
}

pub(super) fn bytes_per_ps(rate: Rate) -> f64 {
    rate.bps() as f64 / 8e12
}

/// What a port carries, and what of it collectives that compete for it reach. Hosts may be slower than their ports; what
/// leads to them is then as slow as they are.
fn capacities(fabric: &Fabric, net: &Net, hosts: &Hosts, port: PortId) -> (f64, f64) {
    let mut rate = bytes_per_ps(fabric.cable(port).rate);
    let own = &net.ports[port];
    if own.is_nic() {
        let nic = &hosts.nics[own.plane()];
        if let Some(fetch) = nic.fetch {
            let byte = fetch.times(1 << 20).as_ps() as f64 / f64::from(1 << 20);
            rate = rate.min(1.0 / byte.max(f64::MIN_POSITIVE));
        }
        return (rate, rate * efficiency(fabric));
    }
    let peer = fabric.ports[port.index()].peer;
    if net.ports[peer].is_nic() {
        let limit = fabric.nics[fabric.ports[peer.index()].node.index()].receive;
        rate = limit.map_or(rate, |limit| rate.min(bytes_per_ps(limit.rate)));
    }
    (rate, rate * efficiency(fabric))
}

/// What two collectives that compete for a link reach of it together: each waits for its own slowest queue pair, and leaves gaps. How
/// much that is depends on the congestion control; measured with the packet engine, see `docs/fidelity.md`.
fn efficiency(fabric: &Fabric) -> f64 {
    match fabric.nics.first().map(|nic| &nic.qp.congestion) {
        Some(Congestion::None) => 0.90,
        Some(Congestion::Dcqcn(_)) => 0.80,
        _ => 0.87,
    }
}

/// From a NIC to another: the bytes of a message on the wire, all its packets together.
pub(super) fn wire_bytes(fabric: &Fabric, from: NicId, bytes: Bytes) -> f64 {
    let qp = &fabric.nics[from.index()].qp;
    let packets = bytes.get().div_ceil(qp.mtu.get().max(1)).max(1);
    bytes.get() as f64 + (packets * (qp.framing.header + qp.framing.gap).get()) as f64
}
