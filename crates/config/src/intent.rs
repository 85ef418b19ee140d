//! What a fabric file wants of every device.
//!
//! The values are those of [`xoff_fabric::model`]: the thresholds that the simulator obeys are the
//! ones that are rendered and audited. Only the form differs: weights become shares in percent,
//! because that is what devices take.

mod cabling;
mod files;
mod hosts;
mod switches;

pub use cabling::{End, Link};

use crate::device::{Balancing, Device};
use crate::number::{Class, Dscp, Priorities, Priority};
use crate::system::SystemId;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Fabric, Switch, Tier};
use xoff_fabric::rules::packet;
use xoff_units::Bytes;

/// The device and port name of every port of a fabric, by its number, where all switches run one system: what counters of
/// devices call them. A port of a host is the RDMA device behind it.
pub fn port_names(setup: &FabricSetup, system: SystemId) -> Vec<End> {
    cabling::name_ports(setup, &|_: &Switch| system)
}

/// The same with a system for each switch.
pub(crate) fn names(setup: &FabricSetup, choose: &impl Fn(&Switch) -> SystemId) -> Vec<End> {
    cabling::name_ports(setup, choose)
}

/// What a fabric file does not say about devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choices {
    /// System of the leaves.
    pub leaf: SystemId,
    /// System of the spines.
    pub spine: SystemId,
    /// System of the cores.
    pub core: SystemId,
    /// How flows are to be spread over equal paths.
    pub balancing: Balancing,
}

impl Choices {
    /// The same system on all switches.
    pub const fn all(system: SystemId) -> Self {
        Self { leaf: system, spine: system, core: system, balancing: Balancing::Hash }
    }

    /// The system of a switch.
    pub const fn system(&self, tier: Tier) -> SystemId {
        match tier {
            Tier::Leaf => self.leaf,
            Tier::Spine => self.spine,
            Tier::Core => self.core,
        }
    }
}

/// What the whole fabric wants.
#[derive(Debug, Clone)]
pub struct Intent {
    /// What all devices have to agree on.
    pub agreement: Agreement,
    /// Every device as it is meant to be: switches, then hosts. What a device's system cannot say
    /// is still in there; [`System::fit`](crate::system::System::fit) takes it out.
    pub devices: Vec<Device>,
    /// The cables between them.
    pub links: Vec<Link>,
    /// Devices of which the fabric file names ports.
    named: BTreeSet<String>,
}

/// What all devices of a fabric have to agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreement {
    /// Class of RDMA data.
    pub data_class: Option<Class>,
    /// DSCP of RDMA data.
    pub data_dscp: Option<Dscp>,
    /// DSCP of congestion notification packets.
    pub cnp_dscp: Option<Dscp>,
    /// Whether notifications are meant to have a queue of their own.
    pub cnp_apart: bool,
    /// Priorities that PFC protects.
    pub lossless: Option<Priorities>,
    /// Whether the lossless class is meant to be marked.
    pub marking: bool,
    /// Whether a watchdog is meant to watch.
    pub watchdog: bool,
    /// Largest packet that RDMA sends, as IP sees it.
    pub packet: Bytes,
    /// Dynamic load balancing, if it is meant.
    pub balancing: Option<Balancing>,
    /// Who uses the fabric. Those of different classes are meant to be apart.
    pub tenants: Vec<Tenant>,
}

/// One of several users of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Class of its RDMA data.
    pub class: Class,
    /// DSCP of its RDMA data.
    pub dscp: Dscp,
}

impl Intent {
    /// The intent of a fabric file. `choose` says what system a switch runs.
    pub fn of(
        setup: &FabricSetup,
        balancing: Balancing,
        choose: impl Fn(&Switch) -> SystemId,
    ) -> Self {
        let fabric = &setup.fabric;
        let agreement = agreement(fabric, balancing);
        let ports = cabling::name_ports(setup, &choose);
        let mut devices = switches::devices(setup, &ports, &agreement, &choose);
        devices.extend(hosts::devices(setup, &ports, &agreement));
        let links = cabling::links(fabric, &ports);
        let named = cabling::named_devices(fabric, &ports);
        let intent = Self { agreement, devices, links, named };
        files::assert_whole(&intent, fabric);
        intent
    }

    /// The intent of a fabric file for devices that run what they run. `usual` says it of switches
    /// that are not among them.
    pub fn running(
        setup: &FabricSetup,
        balancing: Balancing,
        devices: &[Device],
        usual: impl Fn(&Switch) -> SystemId,
    ) -> Self {
        // The first of a name counts.
        let switches = devices.iter().rev().filter(|device| !device.is_host());
        let systems: BTreeMap<&str, SystemId> =
            switches.map(|device| (device.name.as_str(), device.system)).collect();
        let system = |switch: &Switch| systems.get(switch.name.as_str()).copied();
        Self::of(setup, balancing, |switch| system(switch).unwrap_or_else(|| usual(switch)))
    }

    /// The intent of a fabric file with a system per tier.
    pub fn with(setup: &FabricSetup, choices: Choices) -> Self {
        Self::of(setup, choices.balancing, |switch| choices.system(switch.tier))
    }

    /// The device of that name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }
}

fn agreement(fabric: &Fabric, balancing: Balancing) -> Agreement {
    let data = fabric.data_class;
    let cnp = fabric.cnp_class.unwrap_or(data);
    let dscp = |class: xoff_fabric::model::ClassId| {
        Dscp::new(fabric.classes.get(usize::from(class.0))?.dscp)
    };
    let marks = |port: &xoff_fabric::model::Port| {
        port.classes.get(usize::from(data.0)).is_some_and(|class| class.ecn.is_some())
    };
    let tenant = |tenant: &xoff_fabric::model::Tenant| {
        let (class, dscp) = (Class::of(tenant.class)?, dscp(tenant.class)?);
        Some(Tenant { name: tenant.name.clone(), class, dscp })
    };
    let protected = |class: &xoff_fabric::model::Class| class.lossless;
    Agreement {
        data_class: Class::of(data),
        data_dscp: dscp(data),
        cnp_dscp: dscp(cnp),
        cnp_apart: cnp != data,
        lossless: Some(lossless(fabric, fabric.classes.iter().map(protected))),
        marking: fabric.ports.iter().any(marks),
        watchdog: fabric.switches.iter().any(|switch| switch.watchdog.is_some()),
        packet: largest_packet(fabric),
        balancing: (balancing != Balancing::Hash).then_some(balancing),
        tenants: fabric.tenants.iter().filter_map(tenant).collect(),
    }
}

/// Priorities that PFC protects, from what protects each class: links with credits have no pauses.
fn lossless(fabric: &Fabric, classes: impl Iterator<Item = bool>) -> Priorities {
    let numbered = Priority::all().zip(classes).filter(|_| !fabric.credits);
    numbered.filter(|(_, protected)| *protected).map(|(priority, _)| priority).collect()
}

fn largest_packet(fabric: &Fabric) -> Bytes {
    fabric.nics.iter().map(|nic| packet::largest_ip(&nic.qp)).max().unwrap_or(Bytes::ZERO)
}

#[cfg(test)]
mod tests;
