//! The fabric with everything decided: what the simulator runs, the renderer prints and the auditor
//! checks. Files are read into [`crate::file`] types; builders turn those into a [`Fabric`].
//!
//! Nodes are NICs and switches. NIC `i` is node `i`; switch `j` is node `nics + j`. Every node's
//! ports are consecutive, and every port has a peer: an unplugged port is not in the model.
//!
//! A [`Fabric`] is a value: it can be read (it dereferences to its [`Model`]) and replaced, not
//! changed. An [`Overlay`] makes another one of it, and checks every edit.

mod adaptive;
mod balancing;
mod check;
mod class;
mod host;
mod id;
mod link;
mod overlay;
mod switch;

pub use adaptive::{Adaptive, Policy};
pub use balancing::{Balancing, Choice, EcmpHash, HashFields};
pub use check::Flaw;
pub use class::{Class, Ecn, Marking, PauseRules, PortClass, Scheduling, Threshold};
pub use host::{Cpu, Guest, HostPath, Nic, ReceiveLimit, Server};
pub use id::{CLASSES, CableId, ClassId, NicId, NodeId, PortId, ServerId, SwitchId};
pub use link::{Cable, Port};
pub use overlay::Overlay;
pub use switch::{
    Aggregation, Discipline, PacketMemory, SiliconPart, StaticRoute, Switch, Tier, Trimming, Voq,
    Watchdog, WatchdogAction,
};

use crate::scenario::CostSetting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Deref;
use xoff_units::{Bytes, Rate, Span};

/// A fabric, complete and checked, for reading.
///
/// ```
/// use xoff_fabric::model::{Fabric, SwitchId};
///
/// let text = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n[switch.watchdog]\nenabled = true\n";
/// let meant = Fabric::from_toml(text).unwrap();
/// let mut overlay = meant.overlay();
/// overlay.switch(SwitchId(0), |switch| switch.watchdog = None).unwrap();
/// let unwatched = overlay.finish();
/// assert!(unwatched.switches[0].watchdog.is_none());
/// assert!(meant.switches[0].watchdog.is_some(), "the fabric itself stays as it is");
/// ```
#[derive(Debug, Clone)]
pub struct Fabric(Model);

impl Deref for Fabric {
    type Target = Model;

    #[inline]
    fn deref(&self) -> &Model {
        &self.0
    }
}

impl Fabric {
    /// The fabric of a model that a builder wired.
    pub(crate) fn new(model: Model) -> Self {
        model.assert_wired();
        Self(model)
    }

    /// A fabric that nothing was checked of. For tests that need an impossible one.
    #[doc(hidden)]
    pub fn unchecked_for_tests(model: Model) -> Self {
        Self(model)
    }
}

/// What a fabric consists of, as plain data.
#[derive(Debug, Clone)]
pub struct Model {
    /// Servers in rank order.
    pub servers: Vec<Server>,
    /// NICs in rank order.
    pub nics: Vec<Nic>,
    /// Switches, tier by tier from the hosts up.
    pub switches: Vec<Switch>,
    /// Ports, node by node.
    pub ports: Vec<Port>,
    /// Cables.
    pub cables: Vec<Cable>,
    /// The traffic classes.
    pub classes: [Class; CLASSES],
    /// How pause frames behave.
    pub pause: PauseRules,
    /// When switches mark, and who notifies senders.
    pub marking: Marking,
    /// What moves thresholds while traffic runs.
    pub adaptive: Option<Adaptive>,
    /// Class of RDMA data unless a flow says otherwise.
    pub data_class: ClassId,
    /// Class of acknowledgements: `None` keeps them in the class of the data they answer.
    pub ack_class: Option<ClassId>,
    /// Class of congestion notification packets: `None` keeps them in the class of the data.
    pub cnp_class: Option<ClassId>,
    /// Who uses the fabric, as far as a file names them.
    pub tenants: Vec<Tenant>,
    /// Routes that override the shortest paths, for experiments and mistakes.
    pub static_routes: Vec<StaticRoute>,
    /// What happens first of what happens at once.
    pub ties: Ties,
    /// Links have credits: a packet is only sent into a switch that has room for it among what is reserved
    /// for its port and class. There are no pauses then.
    pub credits: bool,
    /// Transports that single workloads of a scenario use beside the fabric's own.
    pub guests: Vec<Guest>,
    /// Queue pairs of a connection between two ranks, used in turn, where a workload gives no number. At least 1.
    pub queue_pairs: u32,
    /// How soon switches do without what broke.
    pub convergence: Convergence,
    /// What collectives cost beside the network, where a workload says nothing of it.
    pub collectives: CollectiveCosts,
}

/// What collectives cost on the GPUs and hosts of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveCosts {
    /// Times and rates; never `fabric`.
    pub cost: CostSetting,
    /// Channels of rings and trees, if not by rule.
    pub channels: Option<u32>,
}

/// How soon switches do without what broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convergence {
    /// From the loss of carrier to the ends of a link doing without it.
    pub carrier: Span,
    /// From a failure that leaves the carrier up to the ends noticing it.
    pub silent: Span,
    /// From there until all other switches use other ways.
    pub withdraw: Span,
}

/// One of several users of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its name; no other tenant has it.
    pub name: String,
    /// Class of its RDMA data.
    pub class: ClassId,
}

/// What happens first of what happens at the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// By kind and by number of what it happens to: the same on any number of threads.
    #[default]
    ById,
    /// In the order in which it came up, as in ns-3: slower, for comparisons.
    Insertion,
}

impl Model {
    /// The place of the guest that a workload's traffic uses, if it does not use the fabric's transport.
    pub fn guest_of(&self, workload: u32) -> Option<usize> {
        self.guests.iter().position(|guest| guest.workloads.contains(&workload))
    }

    /// The node of a NIC.
    pub fn nic_node(&self, nic: NicId) -> NodeId {
        NodeId(nic.0)
    }

    /// The node of a switch.
    pub fn switch_node(&self, switch: SwitchId) -> NodeId {
        NodeId(self.nics.len() as u32 + switch.0)
    }

    /// The switch at a node, unless it is a NIC.
    pub fn node_switch(&self, node: NodeId) -> Option<SwitchId> {
        node.0.checked_sub(self.nics.len() as u32).map(SwitchId)
    }

    /// A node's ports.
    pub fn node_ports(&self, node: NodeId) -> impl DoubleEndedIterator<Item = PortId> + use<> {
        let range = match self.node_switch(node) {
            Some(switch) => &self.switches[switch.index()].ports,
            None => &self.nics[node.index()].ports,
        };
        range.clone().map(PortId)
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        match self.node_switch(node) {
            Some(switch) => &self.switches[switch.index()].name,
            None => &self.nics[node.index()].name,
        }
    }

    /// Where a node stands, as tables and labels name it: `leaf`, `spine`, `core`, or `nic`.
    pub fn tier_name(&self, node: NodeId) -> &'static str {
        let switch = self.node_switch(node);
        switch.map_or("nic", |switch| self.switches[switch.index()].tier.name())
    }

    /// A port as people name it: its node, and the node it leads to, like `leaf0→spine1`; by the second of
    /// parallel cables `leaf0→spine1#2`, and so on. Both ends of a cable have the same number.
    pub fn port_name(&self, port: PortId) -> String {
        let this = &self.ports[port.index()];
        let peer = &self.ports[this.peer.index()];
        let name = format!("{}→{}", self.node_name(this.node), self.node_name(peer.node));
        let same_ends = |other: &PortId| {
            let other = &self.ports[other.index()];
            self.ports[other.peer.index()].node == peer.node && other.cable < this.cable
        };
        match self.node_ports(this.node).filter(same_ends).count() {
            0 => name,
            before => format!("{name}#{}", before + 1),
        }
    }

    /// What a NIC sends at most, all its ports together.
    pub fn nic_rate(&self, nic: &Nic) -> Rate {
        let rates = nic.ports.clone().map(|port| self.cable(PortId(port)).rate.bps());
        Rate::from_bps(rates.fold(0, u64::saturating_add))
    }

    /// NICs on a leaf where most others with a rail are meant to be on another one: plugged in at the wrong place.
    pub fn off_rail(&self) -> Vec<NicId> {
        let peer = |port: u32| self.ports[self.ports[port as usize].peer.index()].node;
        let mut leaves: BTreeMap<NodeId, BTreeMap<u32, u32>> = BTreeMap::new();
        for nic in &self.nics {
            let Some(rail) = nic.rail else { continue };
            for leaf in nic.ports.clone().map(peer) {
                *leaves.entry(leaf).or_default().entry(rail).or_default() += 1;
            }
        }
        let strange = |nic: &Nic| {
            let Some(rail) = nic.rail else { return false };
            nic.ports.clone().map(peer).any(|leaf| {
                let rails = &leaves[&leaf];
                rails.values().any(|&count| count > rails[&rail])
            })
        };
        let numbered = self.nics.iter().zip(0..);
        numbered.filter(|(nic, _)| strange(nic)).map(|(_, number)| NicId(number)).collect()
    }

    /// The cable at a port.
    pub fn cable(&self, port: PortId) -> &Cable {
        &self.cables[self.ports[port.index()].cable.index()]
    }

    /// The time from the first bit sent at the start of `path` to the last bit received at its end
    /// for a packet of `bytes` on the wire, in an idle fabric.
    pub fn one_way(&self, path: &[PortId], bytes: Bytes) -> Span {
        let mut total = Span::ZERO;
        let mut slowest = Span::ZERO;
        for (hop, port) in path.iter().enumerate() {
            let cable = self.cable(*port);
            let wire = cable.rate.time_for(bytes);
            total += cable.delay;
            slowest = slowest.max(wire);
            let Some(switch) = self.node_switch(self.ports[port.index()].node) else { continue };
            let switch = &self.switches[switch.index()];
            total += switch.latency + switch.transit();
            // Stored whole before it goes on: the previous link's time is spent once more.
            if hop > 0 && !switch.cut_through {
                total += self.cable(path[hop - 1]).rate.time_for(bytes);
                slowest = wire;
            }
        }
        total + slowest
    }
}

#[cfg(test)]
mod tests;
