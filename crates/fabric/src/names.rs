//! From the names that files use to the numbers that a [`Fabric`] uses.

mod servers;

use crate::model::{CableId, Fabric, NicId, NodeId, PortId, ServerId, SwitchId};
use crate::scenario::{NodeRef, Setting};
use crate::suggest;
use std::collections::BTreeMap;

pub use servers::{Role, RoleError};

/// A name that stands for nothing, or for the wrong thing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct NameError {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// The names of a fabric.
#[derive(Debug)]
pub struct Names<'a> {
    fabric: &'a Fabric,
    nodes: BTreeMap<&'a str, NodeId>,
    servers: BTreeMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    /// The names of `fabric`.
    pub fn of(fabric: &'a Fabric) -> Self {
        let nics = fabric.nics.iter().map(|nic| nic.name.as_str());
        let switches = fabric.switches.iter().map(|switch| switch.name.as_str());
        let nodes = nics.chain(switches).enumerate().map(|(i, name)| (name, NodeId(i as u32)));
        let servers = fabric.servers.iter().enumerate().map(|(i, s)| (s.name.as_str(), i));
        Self { fabric, nodes: nodes.collect(), servers: servers.collect() }
    }

    /// A NIC or switch. A server with a single NIC may stand for it.
    pub fn node(&self, name: &str) -> Result<NodeId, NameError> {
        let name = name.trim();
        if let Some(node) = self.nodes.get(name) {
            return Ok(*node);
        }
        if let Some(&server) = self.servers.get(name) {
            let nics = &self.fabric.servers[server].nics;
            if nics.len() == 1 {
                return Ok(NodeId(nics.start));
            }
            return Err(NameError {
                message: format!("`{name}` has {} NICs", nics.len()),
                help: format!("name one of them, like `{name}-nic0`"),
            });
        }
        Err(NameError {
            message: format!("there is no node `{name}`"),
            help: suggest::help(name, self.examples()),
        })
    }

    /// Names to choose from; those of a large fabric are too many to list or to compare with all.
    fn examples(&self) -> impl Iterator<Item = &'a str> + '_ {
        let switches = self.fabric.switches.iter().map(|s| s.name.as_str());
        switches.take(2_000).chain(self.fabric.nics.iter().map(|n| n.name.as_str()).take(2_000))
    }

    /// A NIC by name.
    pub fn nic(&self, name: &str) -> Result<NicId, NameError> {
        let node = self.node(name)?;
        match self.fabric.node_switch(node) {
            None => Ok(NicId(node.0)),
            Some(_) => Err(NameError {
                message: format!("`{name}` is a switch"),
                help: "a NIC is needed here, like `server0-nic0`".to_owned(),
            }),
        }
    }

    /// A NIC by name or number.
    pub fn nic_ref(&self, reference: &NodeRef) -> Result<NicId, NameError> {
        match reference {
            NodeRef::Name(name) => self.nic(name),
            NodeRef::Number(number) => {
                let count = self.fabric.nics.len();
                if (*number as usize) < count {
                    return Ok(NicId(*number));
                }
                Err(NameError {
                    message: format!("there is no NIC {number}"),
                    help: format!("the fabric has {count} NICs, counted from 0"),
                })
            }
        }
    }

    /// A switch by name.
    pub fn switch(&self, name: &str) -> Result<SwitchId, NameError> {
        let node = self.node(name)?;
        self.fabric.node_switch(node).ok_or_else(|| NameError {
            message: format!("`{name}` is a NIC"),
            help: "a switch is needed here, like `leaf0`".to_owned(),
        })
    }

    /// A server by name.
    pub fn server(&self, name: &str) -> Result<ServerId, NameError> {
        match self.servers.get(name.trim()) {
            Some(&server) => Ok(ServerId(server as u32)),
            None => Err(NameError {
                message: format!("there is no server `{}`", name.trim()),
                help: suggest::help(name, self.servers.keys().copied().take(2_000)),
            }),
        }
    }

    /// The cables between two nodes, like `"leaf1 spine2"`: several if they run in parallel.
    pub fn cables(&self, ends: &str) -> Result<Vec<CableId>, NameError> {
        let ports = self.ports(ends)?;
        Ok(ports.into_iter().map(|port| self.fabric.ports[port.index()].cable).collect())
    }

    /// One cable between two nodes: the first, or that of an `index` counted from 0.
    pub fn cable(&self, ends: &str, index: Option<u32>) -> Result<CableId, NameError> {
        let port = self.port(ends, index)?;
        Ok(self.fabric.ports[port.index()].cable)
    }

    /// The two ports of the first cable between two nodes, in the order of the names.
    pub fn cable_ends(&self, ends: &str) -> Result<(PortId, PortId), NameError> {
        let port = self.port(ends, None)?;
        Ok((port, self.fabric.ports[port.index()].peer))
    }

    /// The port of the first node that leads to the second, like `"leaf1 spine2"`: the first, or that
    /// of an `index` counted from 0.
    pub fn port(&self, ends: &str, index: Option<u32>) -> Result<PortId, NameError> {
        let ports = self.ports(ends)?;
        let index = index.unwrap_or(0);
        ports.get(index as usize).copied().ok_or_else(|| NameError {
            message: format!("there is no cable {index} between `{}`", ends.trim()),
            help: format!("they are joined by {}, counted from 0", ports.len()),
        })
    }

    /// The ports that a [`Setting`] is about: those of a switch, or one of them.
    pub fn setting_ports(&self, setting: &Setting) -> Result<Vec<PortId>, NameError> {
        if let Some(switch) = &setting.switch {
            let switch = self.switch(switch)?;
            return Ok(self.fabric.switches[switch.index()].ports.clone().map(PortId).collect());
        }
        let ends = setting.port.as_deref().unwrap_or("");
        let port = self.port(ends, setting.index)?;
        match self.fabric.node_switch(self.fabric.ports[port.index()].node) {
            Some(_) => Ok(vec![port]),
            None => Err(NameError {
                message: format!("`{ends}` is the port of a NIC"),
                help: "name the switch first, like `leaf1 server0-nic0`".to_owned(),
            }),
        }
    }

    /// The ports of the first node that lead to the second.
    fn ports(&self, ends: &str) -> Result<Vec<PortId>, NameError> {
        let words: Vec<&str> = ends.split_whitespace().collect();
        let [a, b] = words[..] else {
            return Err(NameError {
                message: format!("`{ends}` does not name two nodes"),
                help: "write a link like `leaf1 spine2`".to_owned(),
            });
        };
        let (from, to) = (self.node(a)?, self.node(b)?);
        let leads = |port: &PortId| {
            let peer = self.fabric.ports[port.index()].peer;
            self.fabric.ports[peer.index()].node == to
        };
        let ports: Vec<PortId> = self.fabric.node_ports(from).filter(leads).collect();
        if ports.is_empty() {
            return Err(NameError {
                message: format!("there is no cable between `{a}` and `{b}`"),
                help: format!("`{a}` has cables to {}", self.neighbours(from)),
            });
        }
        Ok(ports)
    }

    fn neighbours(&self, node: NodeId) -> String {
        let mut names: Vec<String> = Vec::new();
        // Cables to other switches come last and are the ones people name.
        for port in self.fabric.node_ports(node).rev() {
            let peer = self.fabric.ports[port.index()].peer;
            let name = format!("`{}`", self.fabric.node_name(self.fabric.ports[peer.index()].node));
            if names.last() != Some(&name) {
                names.push(name);
            }
            if names.len() == 8 {
                names.push("…".to_owned());
                break;
            }
        }
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric() -> Fabric {
        let text = "[cluster]\ngpus = 16\n[fabric]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\n\
                    [links.leaf-spine]\nparallel = 2";
        Fabric::from_toml(text).unwrap()
    }

    #[test]
    fn names_lead_to_numbers() {
        let fabric = fabric();
        let names = Names::of(&fabric);
        assert_eq!(names.nic("server1-nic3"), Ok(NicId(11)));
        assert_eq!(names.nic_ref(&NodeRef::Number(5)), Ok(NicId(5)));
        assert_eq!(names.switch("spine1"), Ok(SwitchId(3)));
        assert_eq!(names.cables("leaf0 spine1").unwrap().len(), 2);
        assert_eq!(names.cables("spine1 leaf0"), names.cables("leaf0 spine1"));
    }

    #[test]
    fn wrong_names_are_explained() {
        let fabric = fabric();
        let names = Names::of(&fabric);
        let text = |e: NameError| e.to_string();
        assert!(text(names.node("leav0").unwrap_err()).contains("did you mean `leaf0`?"));
        assert!(text(names.node("server1").unwrap_err()).contains("8 NICs"));
        assert!(text(names.nic("leaf0").unwrap_err()).contains("is a switch"));
        assert!(text(names.switch("server0-nic0").unwrap_err()).contains("is a NIC"));
        assert!(text(names.cables("leaf0 leaf1").unwrap_err()).contains("`spine0`"));
        assert!(text(names.nic_ref(&NodeRef::Number(16)).unwrap_err()).contains("16 NICs"));
    }
}
