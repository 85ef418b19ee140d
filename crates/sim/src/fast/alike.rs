//! Episodes that are alike: the same collectives at the same times on switches and links that are the same but for their names.
//!
//! Eight rails do the same next to each other, and so do the groups of a training step on other servers. Two episodes are alike if
//! numbering all NICs, switches, ports and GPUs in the order in which they come up gives the same
//! description: what goes over which queue pair, over which links there and back, and what each of those is like. Nothing is
//! taken to be alike that is not; episodes that are alike may be missed where the order differs.

use super::record::Names;
use super::trial::Part;
use crate::fluid::shares::{LinkId, Usage};
use std::collections::BTreeMap;
use xoff_fabric::model::{EcmpHash, Fabric, Nic, NodeId, PortId, ServerId, Switch};

/// Kinds of switches, NICs and ports, as far as they have come up.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    known: BTreeMap<String, u64>,
    nodes: BTreeMap<NodeId, u64>,
    ports: BTreeMap<PortId, u64>,
}

impl Kinds {
    /// What tells an episode from those that are not alike, and its ports in their order. Nothing where
    /// switches spread packets over ports, which are one link here, and where they add up.
    pub(super) fn key(&mut self, fabric: &Fabric, parts: &[Part]) -> Option<(Vec<u64>, Names)> {
        let mut naming = Naming {
            fabric,
            kinds: self,
            key: Vec::new(),
            nodes: BTreeMap::new(),
            ports: BTreeMap::new(),
            gpus: BTreeMap::new(),
        };
        for part in parts {
            naming.part(part)?;
        }
        let Naming { key, ports, .. } = naming;
        let mut order: Vec<(u64, PortId)> = ports.into_iter().map(|(port, n)| (n, port)).collect();
        order.sort_unstable();
        Some((key, order.into_iter().map(|(_, port)| port).collect()))
    }

    fn intern(&mut self, text: String) -> u64 {
        let next = self.known.len() as u64;
        *self.known.entry(text).or_insert(next)
    }

    fn node(&mut self, fabric: &Fabric, node: NodeId) -> u64 {
        if let Some(&kind) = self.nodes.get(&node) {
            return kind;
        }
        let text = match fabric.node_switch(node) {
            Some(switch) => {
                let switch = &fabric.switches[switch.index()];
                let hash = EcmpHash { seed: 0, ..switch.hash };
                let ports = 0..switch.ports.len() as u32;
                format!("{:?}", Switch { name: String::new(), ports, hash, ..switch.clone() })
            }
            None => {
                let (name, server) = (String::new(), ServerId(0));
                let nic = fabric.nics[node.index()].clone();
                let ports = 0..nic.ports.len() as u32;
                format!("{:?}", Nic { name, server, ports, rail: None, ..nic })
            }
        };
        let kind = self.intern(text);
        self.nodes.insert(node, kind);
        kind
    }

    fn port(&mut self, fabric: &Fabric, port: PortId) -> u64 {
        if let Some(&kind) = self.ports.get(&port) {
            return kind;
        }
        let own = &fabric.ports[port.index()];
        let cable = fabric.cable(port);
        let text = format!(
            "{:?} {:?} {:?} {:?}",
            own.classes, own.pause_response, cable.rate, cable.delay
        );
        let kind = self.intern(text);
        self.ports.insert(port, kind);
        kind
    }
}

/// Numbers of one episode.
struct Naming<'a> {
    fabric: &'a Fabric,
    kinds: &'a mut Kinds,
    key: Vec<u64>,
    nodes: BTreeMap<NodeId, u64>,
    ports: BTreeMap<PortId, u64>,
    gpus: BTreeMap<u32, u64>,
}

impl Naming<'_> {
    fn part(&mut self, part: &Part) -> Option<()> {
        let trial = part.whole.trial();
        self.key.extend([
            part.offset.as_ps(),
            u64::from(part.class.0) << 8 | u64::from(part.clear_to_send.0),
            part.whole.time.as_ps(),
            trial.program.fingerprint(),
            trial.ways.len() as u64,
        ]);
        for way in &trial.ways {
            if self.fabric.nics[way.from.index()].aggregates.is_some()
                || self.fabric.nics[way.to.index()].aggregates.is_some()
            {
                return None;
            }
            self.node(NodeId(way.from.0));
            self.node(NodeId(way.to.0));
            self.key.extend([way.queue.0.into(), way.bytes.get()]);
            self.path(&way.forth)?;
            self.path(&way.back)?;
        }
        for &(gpu, sent, received) in &trial.gpus {
            let next = self.gpus.len() as u64;
            let number = *self.gpus.entry(gpu).or_insert(next);
            self.key.extend([number, sent, received]);
        }
        Some(())
    }

    fn path(&mut self, path: &Usage) -> Option<()> {
        self.key.push(path.len() as u64);
        for &(LinkId(link), _) in path.iter() {
            let port = PortId(link);
            let end = self.fabric.ports.get(port.index())?;
            let (node, peer) = (end.node, end.peer);
            self.node(node);
            self.port(port);
            self.port(peer);
        }
        Some(())
    }

    fn node(&mut self, node: NodeId) {
        let next = self.nodes.len() as u64;
        let number = *self.nodes.entry(node).or_insert(next);
        self.key.push(number);
        if number == next {
            self.key.push(self.kinds.node(self.fabric, node));
        }
    }

    fn port(&mut self, port: PortId) {
        let next = self.ports.len() as u64;
        let number = *self.ports.entry(port).or_insert(next);
        self.key.push(number);
        if number == next {
            self.key.push(self.kinds.port(self.fabric, port));
        }
    }
}
