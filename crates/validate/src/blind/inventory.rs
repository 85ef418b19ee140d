//! The cabling plan.

use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NodeId};

/// What is cabled to what, as far as the rules need it.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// Cables of each device.
    cables: BTreeMap<String, usize>,
    /// The server of each NIC.
    servers: BTreeMap<String, String>,
    /// Cables of each server.
    server_cables: BTreeMap<String, usize>,
}

impl Inventory {
    /// The plan of a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let mut plan = Self::default();
        for port in &fabric.ports {
            *plan.cables.entry(fabric.node_name(port.node).to_owned()).or_default() += 1;
        }
        for (nic, node) in fabric.nics.iter().zip(0..) {
            let server = &fabric.servers[nic.server.index()].name;
            plan.servers.insert(fabric.node_name(NodeId(node)).to_owned(), server.clone());
            *plan.server_cables.entry(server.clone()).or_default() += nic.ports.len();
        }
        plan
    }

    /// Cables of a device.
    pub fn cables(&self, device: &str) -> usize {
        self.cables.get(device).copied().unwrap_or_default()
    }

    /// The server of a NIC.
    pub fn server(&self, nic: &str) -> Option<&str> {
        self.servers.get(nic).map(String::as_str)
    }

    /// Cables of a server.
    pub fn server_cables(&self, server: &str) -> usize {
        self.server_cables.get(server).copied().unwrap_or_default()
    }
}
