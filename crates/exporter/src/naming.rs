//! Which device and port of a fabric a series belongs to.
//!
//! A kernel says `mlx5_0` and SONiC `Ethernet8`; a fabric file says `server0-nic0` and `leaf0→spine1`. Labels are right when
//! they are those of the fabric ([`xoff_collect::labels`]), for that is what alerts and `xoff diagnose` compare. There are three
//! ways to them: the fabric file, whose ports come in the order in which `xoff config` names them; an [`Assignment`] for single
//! ports; and without either, names that are at least unique: `gpu7-mlx5_0`.

use crate::exposition::Target;
use std::collections::BTreeMap;
use xoff_collect::labels::Labeller;
use xoff_config::SystemId;
use xoff_config::device::PortName;
use xoff_config::intent::port_names;
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Fabric, PortId};
use xoff_telemetry::recording::Place;

/// Names of local ports.
#[derive(Debug, Clone)]
pub struct Naming {
    fabric: String,
    fallback: Fallback,
    known: BTreeMap<String, Target>,
}

/// What a port is called that nobody has named.
#[derive(Debug, Clone)]
enum Fallback {
    /// A NIC of this host.
    Nic { host: String },
    /// A port of this switch.
    Switch { device: String },
}

/// `mlx5_0=server0-nic0` or `mlx5_0=server0-nic0:leaf0`: what a local port is in the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// What the device calls it: an RDMA device, a network interface, a port of a switch.
    pub local: String,
    /// Its device in the fabric.
    pub device: String,
    /// Its port there: the name of the port or of what it leads to. A NIC with one port needs none.
    pub port: Option<String>,
}

impl std::str::FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is not of the form mlx5_0=server0-nic0[:PORT]");
        let (local, rest) = text.split_once('=').ok_or_else(form)?;
        let (device, port) = match rest.split_once(':') {
            Some((device, port)) => (device, Some(port.to_owned())),
            None => (rest, None),
        };
        if local.is_empty() || device.is_empty() || port.as_deref() == Some("") {
            return Err(form());
        }
        Ok(Self { local: local.to_owned(), device: device.to_owned(), port })
    }
}

/// Names that do not fit the fabric file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// The host is not in the file.
    #[error(
        "the fabric has no server `{0}`; name it as the file does with --host, e.g. --host {1}"
    )]
    Host(String, String),
    /// The switch is not in the file.
    #[error(
        "the fabric has no switch `{0}`; name it as the file does with --device, e.g. --device {1}"
    )]
    Switch(String, String),
    /// The host has other NICs than the file says.
    #[error(
        "`{host}` has {there} RDMA ports ({list}) and the fabric file gives it {planned}; say which is which with --device, \
         e.g. --device {example}"
    )]
    Count {
        /// The host.
        host: String,
        /// Its RDMA ports.
        there: usize,
        /// Their names.
        list: String,
        /// Ports in the file.
        planned: usize,
        /// An assignment.
        example: String,
    },
    /// An assignment to what is not there.
    #[error("--device {0}: the fabric has no such port; devices are named like `{1}`")]
    Assignment(String, String),
}

impl Naming {
    /// Of a host's NICs, without a fabric file.
    pub fn host(fabric: &str, host: &str) -> Self {
        let fallback = Fallback::Nic { host: host.to_owned() };
        Self { fabric: fabric.to_owned(), fallback, known: BTreeMap::new() }
    }

    /// Of a switch's ports, without a fabric file.
    pub fn switch(fabric: &str, device: &str) -> Self {
        let fallback = Fallback::Switch { device: device.to_owned() };
        Self { fabric: fabric.to_owned(), fallback, known: BTreeMap::new() }
    }

    /// Names ports as assigned; with a fabric file, to ports that it has.
    pub fn assign(
        &mut self,
        setup: Option<&FabricSetup>,
        list: &[Assignment],
    ) -> Result<(), NamingError> {
        for one in list {
            let target = match setup {
                Some(setup) => {
                    let fabric = &setup.fabric;
                    let port = find(fabric, &one.device, one.port.as_deref());
                    let port = port.ok_or_else(|| {
                        let text = format!("{}={}", one.local, one.device);
                        let text = one.port.iter().fold(text, |text, port| text + ":" + port);
                        let example = fabric.nics.first().map_or("", |nic| nic.name.as_str());
                        NamingError::Assignment(text, example.to_owned())
                    })?;
                    self.labelled(&Labeller::new(fabric, &self.fabric), fabric, port)
                }
                None => self.target(&one.device, one.port.as_deref().unwrap_or_default()),
            };
            self.known.insert(one.local.clone(), target);
        }
        Ok(())
    }

    /// Names a host's RDMA ports in order, as many as the file gives to it.
    pub fn match_nics(
        &mut self,
        setup: &FabricSetup,
        locals: &[String],
    ) -> Result<(), NamingError> {
        let Fallback::Nic { host } = &self.fallback else { return Ok(()) };
        let (host, fabric) = (host.clone(), &setup.fabric);
        let server = fabric.servers.iter().find(|server| server.name == host);
        let server = server.ok_or_else(|| {
            let example = fabric.servers.first().map_or("", |server| server.name.as_str());
            NamingError::Host(host.clone(), example.to_owned())
        })?;
        let nics = server.nics.clone().map(|nic| &fabric.nics[nic as usize]);
        let ports: Vec<PortId> = nics.flat_map(|nic| nic.ports.clone()).map(PortId).collect();
        let mut locals: Vec<PortName> = locals.iter().map(PortName::new).collect();
        locals.sort();
        if locals.len() != ports.len() {
            let list: Vec<&str> = locals.iter().map(PortName::as_str).collect();
            let nic = fabric.nics.get(server.nics.start as usize);
            let nic = nic.map_or("", |nic| nic.name.as_str());
            let example = format!("{}={nic}", list.first().unwrap_or(&"mlx5_0"));
            let (there, planned, list) = (locals.len(), ports.len(), list.join(", "));
            return Err(NamingError::Count { host, there, list, planned, example });
        }
        let labeller = Labeller::new(fabric, &self.fabric);
        for (local, port) in locals.iter().zip(ports) {
            let target = self.labelled(&labeller, fabric, port);
            self.known.insert(local.as_str().to_owned(), target);
        }
        Ok(())
    }

    /// Names a switch's ports as `xoff config` names them for its system.
    pub fn match_ports(
        &mut self,
        setup: &FabricSetup,
        system: SystemId,
    ) -> Result<(), NamingError> {
        let Fallback::Switch { device } = &self.fallback else { return Ok(()) };
        let (device, fabric) = (device.clone(), &setup.fabric);
        if !fabric.switches.iter().any(|switch| switch.name == device) {
            let example = fabric.switches.first().map_or("", |switch| switch.name.as_str());
            return Err(NamingError::Switch(device, example.to_owned()));
        }
        let labeller = Labeller::new(fabric, &self.fabric);
        for (port, end) in port_names(setup, system).iter().enumerate() {
            if end.device == device {
                let target = self.labelled(&labeller, fabric, PortId(port as u32));
                self.known.insert(end.port.as_str().to_owned(), target);
            }
        }
        Ok(())
    }

    /// The labels of a local port: of the first of its names that is known.
    pub fn port(&self, locals: &[&str]) -> Target {
        if let Some(known) = locals.iter().find_map(|local| self.known.get(*local)) {
            return known.clone();
        }
        let local = locals.first().copied().unwrap_or_default();
        match &self.fallback {
            Fallback::Nic { host } => self.target(&format!("{host}-{local}"), ""),
            Fallback::Switch { device } => self.target(device, local),
        }
    }

    /// The labels of the host or switch itself.
    pub fn device(&self) -> Target {
        match &self.fallback {
            Fallback::Nic { host } => Target::new([("fabric", &*self.fabric), ("host", host)]),
            Fallback::Switch { device } => {
                Target::new([("fabric", &*self.fabric), ("device", device)])
            }
        }
    }

    fn target(&self, device: &str, port: &str) -> Target {
        let host = match &self.fallback {
            Fallback::Nic { host } => host,
            Fallback::Switch { .. } => "",
        };
        Target::new([("device", device), ("fabric", &self.fabric), ("host", host), ("port", port)])
    }

    fn labelled(&self, labeller: &Labeller<'_>, fabric: &Fabric, port: PortId) -> Target {
        let device = fabric.node_name(fabric.ports[port.index()].node).to_owned();
        let labels = labeller.of(&Place::Port { device, port: fabric.port_name(port) }, None);
        Target::new(labels.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }
}

/// A port by its device and its name, or what it leads to; the first of a device where none is named.
fn find(fabric: &Fabric, device: &str, name: Option<&str>) -> Option<PortId> {
    let mut ports = (0..fabric.ports.len() as u32)
        .map(PortId)
        .filter(|port| fabric.node_name(fabric.ports[port.index()].node) == device);
    let Some(name) = name else { return ports.next() };
    ports.find(|port| {
        let peer = fabric.ports[fabric.ports[port.index()].peer.index()].node;
        fabric.port_name(*port) == name || fabric.node_name(peer) == name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> FabricSetup {
        let text = "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
        xoff_fabric::load_fabric(text).into_result().expect("a fabric")
    }

    fn text(target: &Target) -> String {
        format!("{target:?}").replace("\\\"", "'")
    }

    #[test]
    fn without_a_file_names_are_unique() {
        let mut naming = Naming::host("pod", "gpu7");
        assert!(text(&naming.port(&["mlx5_0"])).contains("device='gpu7-mlx5_0',fabric='pod'"));
        naming.assign(None, &["ens1=nic-a:leaf3".parse().unwrap()]).unwrap();
        let named = text(&naming.port(&["mlx5_0", "ens1"]));
        assert!(named.contains("device='nic-a',fabric='pod',host='gpu7',port='leaf3'"), "{named}");
        let switch = Naming::switch("pod", "leaf0");
        assert!(text(&switch.port(&["Ethernet8"])).contains("port='Ethernet8'"));
    }

    #[test]
    fn nics_are_matched_in_the_order_of_their_numbers() {
        let setup = setup();
        let mut naming = Naming::host("pod", "server1");
        let locals: Vec<String> = (0..8).rev().map(|i| format!("mlx5_{}", i + 4)).collect();
        naming.match_nics(&setup, &locals).unwrap();
        // mlx5_10 comes after mlx5_9, and is the seventh.
        let label = text(&naming.port(&["mlx5_10"]));
        assert!(label.contains("device='server1-nic6'") && label.contains("rail='6'"), "{label}");
        assert!(label.contains("host='server1'") && label.contains("peer='leaf6'"), "{label}");
        let few = naming.match_nics(&setup, &locals[..3]).unwrap_err().to_string();
        assert!(few.contains("has 3 RDMA ports (mlx5_9, mlx5_10, mlx5_11)"), "{few}");
        assert!(few.contains("--device mlx5_9=server1-nic0"), "{few}");
        let mut other = Naming::host("pod", "gpu7");
        let error = other.match_nics(&setup, &locals).unwrap_err().to_string();
        assert!(error.contains("no server `gpu7`") && error.contains("--host server0"), "{error}");
    }

    #[test]
    fn ports_of_a_switch_are_those_of_its_configuration() {
        let setup = setup();
        let mut naming = Naming::switch("pod", "leaf0");
        naming.match_ports(&setup, SystemId::Sonic).unwrap();
        let first = text(&naming.port(&["Ethernet0"]));
        assert!(first.contains("device='leaf0'") && first.contains("port='leaf0→"), "{first}");
        let mut other = Naming::switch("pod", "tor1");
        let error = other.match_ports(&setup, SystemId::Sonic).unwrap_err().to_string();
        assert!(error.contains("no switch `tor1`") && error.contains("--device leaf0"), "{error}");
    }

    #[test]
    fn assignments_name_what_the_file_has() {
        let setup = setup();
        let mut naming = Naming::host("pod", "gpu7");
        let parse = |text: &str| text.parse::<Assignment>();
        naming.assign(Some(&setup), &[parse("mlx5_2=server0-nic1").unwrap()]).unwrap();
        assert!(text(&naming.port(&["mlx5_2"])).contains("host='server0'"));
        let wrong = [parse("mlx5_2=server0-nic1:leaf7").unwrap()];
        let error = naming.assign(Some(&setup), &wrong).unwrap_err().to_string();
        assert!(error.contains("mlx5_2=server0-nic1:leaf7") && error.contains("server0-nic0"));
        for bad in ["", "mlx5_0", "=a", "mlx5_0=", "mlx5_0=a:"] {
            assert!(parse(bad).unwrap_err().contains("form mlx5_0=server0-nic0[:PORT]"), "{bad}");
        }
    }
}
