//! From the names that files use to the numbers that a [`Model`] uses.

mod servers;

use crate::model::{CableId, Model, NicId, NodeId, PortId, ServerId, SwitchId};
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

/// A link as it is named: its nodes, and its name without number and the number, if it has one.
struct Ends {
    from: NodeId,
    to: NodeId,
    numbered: Option<(String, u32)>,
}

/// The names of a fabric.
#[derive(Debug)]
pub struct Names<'a> {
    fabric: &'a Model,
    nodes: BTreeMap<&'a str, NodeId>,
    servers: BTreeMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    /// The names of `fabric`.
    pub fn of(fabric: &'a Model) -> Self {
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

    /// The cables between two nodes, like `"leaf1 spine2"`: several if they run in parallel, unless one of
    /// them is named, like `"leaf1 spine2#2"`.
    pub fn cables(&self, ends: &str) -> Result<Vec<CableId>, NameError> {
        let ports = self.ports(ends)?;
        Ok(ports.into_iter().map(|port| self.fabric.ports[port.index()].cable).collect())
    }

    /// One cable between two nodes: the one that is named, that of an `index` counted from 0, or the first.
    pub fn cable(&self, ends: &str, index: Option<u32>) -> Result<CableId, NameError> {
        let port = self.port(ends, index)?;
        Ok(self.fabric.ports[port.index()].cable)
    }

    /// The two ports of one cable between two nodes, the named one or the first, in the order of the names.
    pub fn cable_ends(&self, ends: &str) -> Result<(PortId, PortId), NameError> {
        let port = self.port(ends, None)?;
        Ok((port, self.fabric.ports[port.index()].peer))
    }

    /// The port of the first node that leads to the second: the one that is named, like
    /// `"leaf1 spine2#2"`, that of an `index` counted from 0, or the first.
    pub fn port(&self, ends: &str, index: Option<u32>) -> Result<PortId, NameError> {
        let ports = self.ports(ends)?;
        if let (Some(index), Some((plain, number))) = (index, self.parse_ends(ends)?.numbered) {
            return Err(NameError {
                message: format!("`#{number}` and `index = {index}` both say which cable"),
                help: format!("leave `index` out, or write `{plain}`"),
            });
        }
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

    /// The two nodes of a link, and which of its cables if that is said. Names that tables print, like
    /// `leaf1→spine2#2`, are understood as well.
    fn parse_ends(&self, ends: &str) -> Result<Ends, NameError> {
        let spaced = ends.replace('→', " ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let [a, b] = words[..] else {
            return Err(NameError {
                message: format!("`{ends}` does not name two nodes"),
                help: "write a link like `leaf1 spine2`, the second of parallel cables like \
                       `leaf1 spine2#2`"
                    .to_owned(),
            });
        };
        let from = self.node(a)?;
        // A node may have such a sign in its name.
        let number = b.rsplit_once('#').filter(|_| !self.nodes.contains_key(b));
        let Some((plain, number)) = number else {
            return Ok(Ends { from, to: self.node(b)?, numbered: None });
        };
        let to = self.node(plain)?;
        let wrong = || NameError {
            message: format!("`#{number}` is no number of a cable"),
            help: "parallel cables count from 1, like `leaf1 spine2#2`".to_owned(),
        };
        let number: u32 = number.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
        Ok(Ends { from, to, numbered: Some((format!("{a} {plain}"), number)) })
    }

    /// The ports of the first node that lead to the second, in the order of their cables; the one that is
    /// named, if one is.
    fn ports(&self, ends: &str) -> Result<Vec<PortId>, NameError> {
        let Ends { from, to, numbered } = self.parse_ends(ends)?;
        let leads = |port: &PortId| {
            let peer = self.fabric.ports[port.index()].peer;
            self.fabric.ports[peer.index()].node == to
        };
        let mut ports: Vec<PortId> = self.fabric.node_ports(from).filter(leads).collect();
        ports.sort_by_key(|port| self.fabric.ports[port.index()].cable);
        if ports.is_empty() {
            let [a, b] = [from, to].map(|node| self.fabric.node_name(node));
            return Err(NameError {
                message: format!("there is no cable between `{a}` and `{b}`"),
                help: format!("`{a}` has cables to {}", self.neighbours(from)),
            });
        }
        let Some((plain, number)) = numbered else { return Ok(ports) };
        match ports.get(number as usize - 1) {
            Some(&port) => Ok(vec![port]),
            None => Err(NameError {
                message: format!("there is no cable {number} between `{plain}`"),
                help: format!("they are joined by {}, counted from 1", ports.len()),
            }),
        }
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
    use crate::model::Fabric;

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
    fn parallel_cables_have_names_of_their_own_at_both_ends() {
        let fabric = fabric();
        let names = Names::of(&fabric);
        let ports = (0..fabric.ports.len() as u32).map(PortId);
        let all: std::collections::BTreeSet<String> = ports.map(|p| fabric.port_name(p)).collect();
        assert_eq!(all.len(), fabric.ports.len(), "two ports share a name");
        assert!(all.contains("leaf0→spine1") && all.contains("spine1→leaf0#2"), "{all:?}");
        for port in (0..fabric.ports.len() as u32).map(PortId) {
            let name = fabric.port_name(port);
            assert_eq!(names.port(&name, None), Ok(port), "{name} means another port");
            let back = fabric.port_name(fabric.ports[port.index()].peer);
            let number = |name: &str| name.split_once('#').map(|(_, number)| number.to_owned());
            assert_eq!(number(&name), number(&back), "{name} and {back}");
        }
        // The plain name is that of the first, and of all where all can be meant.
        assert_eq!(names.cable("leaf0 spine1", None), names.cable("leaf0 spine1#1", None));
        assert_eq!(names.cable("leaf0 spine1", Some(1)), names.cable("leaf0 spine1#2", None));
        assert_eq!(names.cables("leaf0 spine1#2").unwrap().len(), 1);
        let text = |error: NameError| error.to_string();
        assert!(text(names.cable("leaf0 spine1#3", None).unwrap_err()).contains("joined by 2"));
        assert!(text(names.cable("leaf0 spine1#0", None).unwrap_err()).contains("count from 1"));
        assert!(
            text(names.cable("leaf0 spine1#2", Some(1)).unwrap_err()).contains("leave `index`")
        );
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
