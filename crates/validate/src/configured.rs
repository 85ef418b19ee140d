//! [`as_configured`]: the fabric as its devices are really configured, to be run beside the fabric
//! as it is meant.
//!
//! Only differences from the intent are carried over, and only those that the model has: classes of
//! DSCPs, PFC per port, marking, pause thresholds, headroom, strict priority, MTU, watchdogs, NICs
//! that do not slow down. What it has not is listed, never dropped silently.

use std::collections::BTreeMap;
use xoff_config::device::{Device, Port, PortName};
use xoff_config::number::{Dscp, Priority};
use xoff_config::qos::Trust;
use xoff_config::{Intent, SystemId};
use xoff_fabric::model::{
    ClassId, Ecn, Fabric, Flaw, NicId, Overlay, PortClass, PortId, Scheduling,
};
use xoff_fabric::scenario::{Fault, Setting};
use xoff_transport::config::Congestion;
use xoff_units::Ratio;

/// A fabric as its devices are configured.
#[derive(Debug, Clone)]
pub struct AsConfigured {
    /// The fabric.
    pub fabric: Fabric,
    /// What holds only at single ports.
    pub faults: Vec<Fault>,
    /// A NIC beside the first difference: traffic to it meets it.
    pub beside: Option<NicId>,
    /// Differences that are in it, in words.
    pub applied: Vec<String>,
    /// Differences that the model does not have, in words.
    pub left_out: Vec<String>,
}

/// The fabric as `devices` are configured, where `intent` is what `fabric` means.
pub fn as_configured(fabric: &Fabric, intent: &Intent, devices: &[Device]) -> AsConfigured {
    let ports = port_numbers(fabric, intent);
    let mut made = Maker {
        overlay: fabric.overlay(),
        faults: Vec::new(),
        applied: Vec::new(),
        left_out: Vec::new(),
        intent,
    };
    let mut beside = None;
    for device in devices {
        let Some(meant) = intent.device(&device.name) else {
            made.left_out.push(format!("{} is not in the fabric file", device.name));
            continue;
        };
        // What the system cannot say is no difference.
        let meant = device.system.system().fit(meant, &mut Vec::new());
        for (name, port) in &meant.ports {
            let number = ports.get(&(device.name.as_str(), name));
            let (Some(&number), Some(real)) = (number, device.ports.get(name)) else { continue };
            let known = made.applied.len();
            if device.system == SystemId::Host {
                made.nic(device, name, number, port, real);
            } else {
                made.port(device, name, number, port, real);
            }
            if beside.is_none() && made.applied.len() > known {
                beside = nic_beside(fabric, number);
            }
        }
    }
    let Maker { overlay, faults, applied, left_out, .. } = made;
    AsConfigured { fabric: overlay.finish(), faults, beside, applied, left_out }
}

/// Numbers of all ports by device and name. Links are listed in the order of their lower ports.
fn port_numbers<'a>(
    fabric: &Fabric,
    intent: &'a Intent,
) -> BTreeMap<(&'a str, &'a PortName), PortId> {
    let lower = fabric.ports.iter().enumerate().filter(|(index, port)| *index < port.peer.index());
    let mut numbers = BTreeMap::new();
    for ((index, port), link) in lower.zip(&intent.links) {
        for (end, number) in link.ends.iter().zip([PortId(index as u32), port.peer]) {
            numbers.insert((end.device.as_str(), &end.port), number);
        }
    }
    numbers
}

struct Maker<'a> {
    overlay: Overlay,
    faults: Vec<Fault>,
    applied: Vec<String>,
    left_out: Vec<String>,
    intent: &'a Intent,
}

impl Maker<'_> {
    fn say(&mut self, device: &Device, port: &PortName, what: &str) {
        self.applied.push(format!("{} {port}: {what}", device.name));
    }

    /// A difference that the overlay took, or refused.
    fn edited(&mut self, device: &Device, port: &PortName, what: &str, edit: Result<(), Flaw>) {
        match edit {
            Ok(()) => self.say(device, port, what),
            Err(flaw) => self.leave_out(device, port, &format!("{what}: {flaw}")),
        }
    }

    fn leave_out(&mut self, device: &Device, port: &PortName, what: &str) {
        self.left_out.push(format!("{} {port}: {what}", device.name));
    }

    /// A port of a switch.
    fn port(
        &mut self,
        device: &Device,
        name: &PortName,
        number: PortId,
        meant: &Port,
        real: &Port,
    ) {
        self.classes(device, name, number, meant, real);
        self.pfc(device, name, number, meant, real);
        self.class_settings(device, name, number, meant, real);
        self.mtu(device, name, number, real);
        if meant.watchdog.on.value() == Some(&true) && real.watchdog.on.value() != Some(&true) {
            let node = self.overlay.ports[number.index()].node;
            if let Some(switch) = self.overlay.node_switch(node) {
                let edit = self.overlay.switch(switch, |switch| switch.watchdog = None);
                self.edited(device, name, "no watchdog", edit);
            }
        }
    }

    /// Data and notifications that land in another queue than meant. The model has one map per
    /// switch: one port that is wrong makes the switch wrong.
    fn classes(
        &mut self,
        device: &Device,
        name: &PortName,
        number: PortId,
        meant: &Port,
        real: &Port,
    ) {
        let agreement = &self.intent.agreement;
        for dscp in [agreement.data_dscp, agreement.cnp_dscp].into_iter().flatten() {
            let (wanted, found) = (queue(meant, dscp), queue(real, dscp));
            if wanted == found {
                continue;
            }
            let node = self.overlay.ports[number.index()].node;
            let Some(switch) = self.overlay.node_switch(node) else { continue };
            let known = self.overlay.switches[switch.index()].dscp_to_class[dscp.index()];
            if known != ClassId(found) {
                let edit = self.overlay.switch(switch, |switch| {
                    switch.dscp_to_class[dscp.index()] = ClassId(found);
                });
                let what = format!("DSCP {dscp} goes to queue {found}, not {wanted}");
                self.edited(device, name, &what, edit);
            }
        }
    }

    fn pfc(&mut self, device: &Device, name: &PortName, number: PortId, meant: &Port, real: &Port) {
        let Some(priority) = self.priority() else { return };
        let has = |port: &Port| port.pfc.value().is_some_and(|all| all.has(priority));
        if has(meant) && !has(real) {
            let (port, index) = self.place(number);
            let setting = Setting {
                port: Some(port),
                index: Some(index),
                pfc: Some(false),
                ..Setting::default()
            };
            self.faults.push(Fault::Setting(setting));
            self.say(device, name, "no PFC for RDMA data");
        }
        let more = real.pfc.value().map(|all| all.iter().count()).unwrap_or(0);
        if more > meant.pfc.value().map(|all| all.iter().count()).unwrap_or(0) {
            self.leave_out(device, name, "PFC on more priorities than meant");
        }
    }

    /// Marking, pause threshold, headroom and turn of the class of data.
    fn class_settings(
        &mut self,
        device: &Device,
        name: &PortName,
        number: PortId,
        meant: &Port,
        real: &Port,
    ) {
        let Some(data) = self.intent.agreement.data_class else { return };
        let index = data.index();
        let mut edit = |what: String, edit: &dyn Fn(&mut PortClass)| {
            let edit = self.overlay.class(number, ClassId(data.get()), edit);
            self.edited(device, name, &what, edit);
        };
        if let Some((ecn, what)) = marking(index, meant, real) {
            edit(what, &|class| class.ecn = ecn);
        }
        let (wanted, found) = (&meant.groups[index], &real.groups[index]);
        if let Some(headroom) = found.headroom.value().filter(|_| found.headroom != wanted.headroom)
            && Some(headroom) != wanted.headroom.value()
        {
            edit(format!("headroom {headroom}"), &|class| class.headroom = *headroom);
        }
        if let Some(threshold) = found.threshold.value()
            && wanted.threshold.value().is_some_and(|wanted| wanted != threshold)
        {
            edit(format!("pauses at {threshold:?}"), &|class| class.threshold = *threshold);
        }
        let turn = |port: &Port| port.queues[index].scheduling.value().copied();
        if let (Some(wanted), Some(found)) = (turn(meant), turn(real))
            && (wanted == Scheduling::Strict) != (found == Scheduling::Strict)
        {
            // A device that gives a class the weight 0 serves it last and not never.
            let found = match found {
                Scheduling::Weighted(weight) => Scheduling::Weighted(weight.max(1)),
                Scheduling::Strict => Scheduling::Strict,
            };
            edit("its turn at the wire differs".to_owned(), &|class| class.scheduling = found);
        }
    }

    /// A port that does not pass RDMA's packets loses all of them.
    fn mtu(&mut self, device: &Device, name: &PortName, number: PortId, real: &Port) {
        let needed = self.intent.agreement.packet;
        let Some(mtu) = real.mtu.value().filter(|mtu| **mtu < needed) else { return };
        let cable = self.overlay.ports[number.index()].cable;
        let edit = self.overlay.cable(cable, |cable| cable.loss = Ratio::ONE);
        self.edited(device, name, &format!("an MTU of {mtu} stops packets of {needed}"), edit);
    }

    /// A NIC of a host.
    fn nic(&mut self, device: &Device, name: &PortName, number: PortId, meant: &Port, real: &Port) {
        let Some(priority) = self.priority() else { return };
        let node = self.overlay.ports[number.index()].node;
        let real_reacts = real.nic.reacts.value();
        let meant_reacts = meant.nic.reacts.value().is_some_and(|all| all.has(priority));
        if meant_reacts && real_reacts.is_some_and(|all| !all.has(priority)) {
            self.overlay.nic(NicId(node.0), |nic| nic.qp.congestion = Congestion::None);
            self.say(device, name, "does not slow down when it is notified");
        }
        self.mtu(device, name, number, real);
        let marks = [
            (real.nic.data_dscp, meant.nic.data_dscp, "DSCP of data"),
            (real.nic.cnp_dscp, meant.nic.cnp_dscp, "DSCP of notifications"),
        ];
        for (real, meant, what) in marks {
            if real.value().is_some() && real.value() != meant.value() {
                self.leave_out(device, name, &format!("{what} of a single NIC"));
            }
        }
    }

    fn priority(&self) -> Option<Priority> {
        let class = self.intent.agreement.data_class?;
        Priority::all().nth(class.index())
    }

    /// A port as faults name it: its node and its neighbour, and which of the cables between them.
    fn place(&self, number: PortId) -> (String, u32) {
        let fabric = &self.overlay;
        let peer = |port: PortId| fabric.ports[fabric.ports[port.index()].peer.index()].node;
        let node = fabric.ports[number.index()].node;
        let before = fabric.node_ports(node).take_while(|port| *port != number);
        let index = before.filter(|port| peer(*port) == peer(number)).count() as u32;
        (format!("{} {}", fabric.node_name(node), fabric.node_name(peer(number))), index)
    }
}

/// The last NIC on the leaf that a port belongs to, or leads to.
fn nic_beside(fabric: &Fabric, port: PortId) -> Option<NicId> {
    let ends = [port, fabric.ports[port.index()].peer];
    let nodes = ends.map(|port| fabric.ports[port.index()].node);
    let nics = |node| {
        let peers = fabric.node_ports(node).map(|port| fabric.ports[port.index()].peer);
        let nodes = peers.map(|peer| fabric.ports[peer.index()].node);
        nodes.rev().find(|node| fabric.node_switch(*node).is_none())
    };
    let switches = nodes.into_iter().filter(|node| fabric.node_switch(*node).is_some());
    switches.filter_map(nics).next().map(|node| NicId(node.0))
}

/// The queue that packets of a DSCP wait in.
fn queue(port: &Port, dscp: Dscp) -> u8 {
    let trusted = port.trust.value().copied().unwrap_or(Trust::Nothing).reads_dscp();
    let queue = port.maps.queue_of(dscp).filter(|_| trusted);
    queue.map_or(0, |queue| queue.index() as u8)
}

/// How the queue of data marks, where it does not as meant.
fn marking(index: usize, meant: &Port, real: &Port) -> Option<(Option<Ecn>, String)> {
    let wanted = meant.queues[index].wred.value();
    let found = real.queues[index].wred.value().filter(|wred| wred.marks);
    match (wanted, found) {
        (Some(_), None) => Some((None, "no marking".to_owned())),
        (Some(wanted), Some(found)) if wanted.levels != found.levels => {
            let ecn = found.levels.sizes(None)?;
            let what = format!("marks from {} to {}", ecn.kmin, ecn.kmax);
            // With kmax below kmin a switch marks nothing up to kmin and everything above it.
            Some((Some(Ecn { kmax: ecn.kmax.max(ecn.kmin), ..ecn }), what))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use xoff_config::Said;
    use xoff_config::intent::Choices;
    use xoff_config::number::Priorities;
    use xoff_fabric::{FabricSetup, load_fabric};
    use xoff_units::Bytes;

    fn setup() -> FabricSetup {
        let text = "[cluster]\ngpus = 16\nnic = \"connectx-7\"\n[fabric]\nkind = \"rail\"\n\
                    leaf = \"tomahawk-5\"\n[switch.watchdog]\nenabled = true";
        load_fabric(text).into_result().unwrap()
    }

    #[test]
    fn devices_as_meant_differ_in_nothing() {
        let setup = setup();
        for system in SystemId::ALL.into_iter().filter(|system| *system != SystemId::Host) {
            let intent = Intent::with(&setup, Choices::all(system));
            let fit = |device: &Device| device.system.system().fit(device, &mut Vec::new());
            let devices: Vec<Device> = intent.devices.iter().map(fit).collect();
            let made = as_configured(&setup.fabric, &intent, &devices);
            assert_eq!(made.applied, [""; 0], "{system}");
            assert_eq!(made.left_out, [""; 0], "{system}");
            assert!(made.faults.is_empty());
        }
    }

    #[test]
    fn differences_reach_the_model() {
        let setup = setup();
        let intent = Intent::with(&setup, Choices::all(SystemId::Sonic));
        let mut leaf = intent.device("leaf0").unwrap().clone();
        let names: Vec<PortName> = leaf.ports.keys().cloned().collect();
        let data = intent.agreement.data_class.unwrap().index();
        leaf.ports.get_mut(&names[0]).unwrap().pfc = Said::meant(Priorities::NONE);
        let port = leaf.ports.get_mut(&names[1]).unwrap();
        Arc::make_mut(&mut port.queues)[data].wred = Said::Absent;
        Arc::make_mut(&mut port.groups)[data].headroom = Said::meant(Bytes::new(1000));
        let made = as_configured(&setup.fabric, &intent, &[leaf]);
        assert_eq!(made.applied.len(), 3, "{:?}", made.applied);
        assert_eq!(made.faults.len(), 1);
        let changed = made.fabric.ports.iter().zip(&setup.fabric.ports);
        let changed: Vec<_> = changed
            .filter(|(made, meant)| made.classes[data] != meant.classes[data])
            .map(|(made, _)| made.classes[data])
            .collect();
        assert_eq!(changed.len(), 1);
        assert_eq!((changed[0].ecn, changed[0].headroom), (None, Bytes::new(1000)));
    }
}
