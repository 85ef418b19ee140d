//! [`Resolver`]: NICs, classes and paths as people write them.

use crate::flow::Pinned;
use std::collections::BTreeMap;
use xoff_fabric::model::{CLASSES, ClassId, Fabric, NicId, NodeId, ServerId, SwitchId};
use xoff_fabric::names::{Names, Role};
use xoff_fabric::scenario::NodeRef;

/// Finds what names and numbers stand for in a fabric.
pub(crate) struct Resolver<'a> {
    fabric: &'a Fabric,
    names: Names<'a>,
    /// NICs whose name is a number, and so comes before the NIC of that number.
    numerals: BTreeMap<&'a str, NicId>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(fabric: &'a Fabric) -> Self {
        let nics = fabric.nics.iter().zip(0..).map(|(nic, id)| (nic.name.as_str(), NicId(id)));
        let numerals = nics.filter(|(name, _)| name.parse::<u32>().is_ok()).collect();
        Self { fabric, names: Names::of(fabric), numerals }
    }

    /// A NIC as a scenario file writes it.
    pub(crate) fn nic(&self, node: &NodeRef) -> Result<NicId, String> {
        match node {
            NodeRef::Name(name) => self.nic_by_name(name),
            number => self.names.nic_ref(number).map_err(|error| error.to_string()),
        }
    }

    /// A NIC by its name, or by its number if none has that name.
    pub(crate) fn nic_by_name(&self, name: &str) -> Result<NicId, String> {
        if let Some(&nic) = self.numerals.get(name) {
            return Ok(nic);
        }
        let found = match name.parse() {
            Ok(number) => self.names.nic_ref(&NodeRef::Number(number)),
            Err(_) => self.names.nic(name),
        };
        found.map_err(|error| error.to_string())
    }

    /// The NICs of the servers of a role, in their order.
    pub(crate) fn servers(&self, role: Role<'_>) -> Result<Vec<NicId>, String> {
        let servers = self.names.servers(role).map_err(|error| error.to_string())?;
        Ok(servers.into_iter().flat_map(|server| self.server_nics(server)).collect())
    }

    /// The servers of two roles.
    pub(crate) fn roles(
        &self,
        front: Role<'_>,
        back: Role<'_>,
    ) -> Result<(Vec<ServerId>, Vec<ServerId>), String> {
        self.names.roles(front, back).map_err(|error| error.to_string())
    }

    /// The NICs of a server.
    pub(crate) fn server_nics(&self, server: ServerId) -> impl Iterator<Item = NicId> + use<> {
        self.fabric.servers[server.index()].nics.clone().map(NicId)
    }

    /// A traffic class.
    pub(crate) fn class(&self, class: Option<u8>) -> Result<ClassId, String> {
        match class {
            None => Ok(self.fabric.data_class),
            Some(class) if usize::from(class) < CLASSES => Ok(ClassId(class)),
            Some(class) => Err(format!("there is no class {class}; classes are 0 to 7")),
        }
    }

    /// A pinned path between two NICs, if one is asked for.
    pub(crate) fn path<'n>(
        &self,
        (source, destination): (NicId, NicId),
        data: impl IntoIterator<Item = &'n str>,
        ack: impl IntoIterator<Item = &'n str>,
    ) -> Result<Option<Box<Pinned>>, String> {
        let data = self.walk(source, data, destination)?;
        let ack = self.walk(destination, ack, source)?;
        if data.is_empty() && !ack.is_empty() {
            return Err("a path for acknowledgements needs one for data, too".into());
        }
        Ok((!data.is_empty()).then(|| Box::new(Pinned { data, ack })))
    }

    fn walk<'n>(
        &self,
        from: NicId,
        names: impl IntoIterator<Item = &'n str>,
        to: NicId,
    ) -> Result<Vec<SwitchId>, String> {
        let switch = |name| self.names.switch(name).map_err(|error| error.to_string());
        let switches: Vec<SwitchId> = names.into_iter().map(switch).collect::<Result<_, _>>()?;
        if switches.is_empty() {
            return Ok(switches);
        }
        let mut at = self.fabric.nic_node(from);
        let stops = switches.iter().map(|&switch| self.fabric.switch_node(switch));
        for next in stops.chain([self.fabric.nic_node(to)]) {
            if !self.joined(at, next) {
                let (at, next) = (self.fabric.node_name(at), self.fabric.node_name(next));
                return Err(format!("the path goes from `{at}` to `{next}`, and no cable does"));
            }
            at = next;
        }
        Ok(switches)
    }

    fn joined(&self, one: NodeId, other: NodeId) -> bool {
        let ports = &self.fabric.ports;
        let neighbour = |port: usize| ports[ports[port].peer.index()].node;
        self.fabric.node_ports(one).any(|port| neighbour(port.index()) == other)
    }
}
