//! Everything an audit looks at: devices, what they are meant to be, and the cables between them.

use super::habit;
use super::known::Known;
use super::leads::Leads;
use super::reference::Reference;
use super::silence::{self, Cut};
use super::wiring::{Wire, Wiring};
use super::{consensus, kind};
use crate::cabling::Cables;
use crate::device::{Device, Port, PortName};
use crate::facts::Register;
use crate::intent::{Agreement, Intent};
use crate::number::{Class, Dscp, Priorities, Queue};
use crate::place::Said;
use crate::qos::{QueueSettings, Trust};
use crate::system::{SystemId, Topic};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use xoff_units::Rate;

/// Everything an audit looks at: devices in their frame.
#[derive(Clone)]
pub(super) struct Scene<'a> {
    pub(super) devices: Vec<&'a Device>,
    frame: Rc<Frame<'a>>,
}

/// What does not change when a device is replaced by a better one: what is meant, and the cables.
pub(super) struct Frame<'a> {
    pub(super) agreement: Agreement,
    pub(super) intent: Option<&'a Intent>,
    /// What most devices have, where there is no intent.
    pub(super) reference: Option<Reference>,
    /// Each device as meant, with what its system cannot say.
    intended: Vec<Option<&'a Device>>,
    /// What devices agree on, though the intent has it otherwise.
    pub(super) notes: Vec<String>,
    /// Each device as meant and as its system can say it, where the intent has it.
    meant: Vec<Option<Device>>,
    /// Devices of the intent that were not collected.
    pub(super) missing: Vec<&'a str>,
    /// What most ports of a system and speed have, where there is no intent.
    usual: Vec<(Speed, [QueueSettings; 8])>,
    /// Devices whose text is cut off.
    pub(super) cut: Cut,
    /// Systems whose ports usually say how much headroom they have.
    pub(super) sized: Vec<SystemId>,
    /// Whether the switches sort packets by their VLAN priority, which is another way to run RoCE.
    pub(super) by_vlan: bool,
    /// Whether all NICs send RDMA data with a DSCP that no switch protects, and nothing shows what jobs are told.
    pub(super) nics_unmarked: bool,
    /// Whether no switch pauses, where no fabric file says whether any ought to.
    pub(super) only_nics_pause: bool,
    pub(super) wiring: Wiring<'a>,
    /// Facts of ports.
    pub(super) facts: Register,
    /// The wire at each port.
    at: BTreeMap<(usize, PortName), (usize, usize)>,
}

/// Ports of one system and one speed.
type Speed = (SystemId, Option<Rate>);

impl<'a> Deref for Scene<'a> {
    type Target = Frame<'a>;
    fn deref(&self) -> &Frame<'a> {
        &self.frame
    }
}

/// One port and what is known about it.
pub(super) struct Site<'s> {
    pub(super) scene: &'s Scene<'s>,
    pub(super) index: usize,
    pub(super) device: &'s Device,
    pub(super) name: &'s PortName,
    pub(super) port: &'s Port,
    /// The port as meant, as far as its system can say it.
    pub(super) meant: Option<&'s Port>,
    /// The port as meant, with what its system cannot say.
    pub(super) intended: Option<&'s Port>,
    /// Its cable, and which end it is.
    pub(super) wire: Option<(&'s Wire, usize)>,
}

impl<'s> Site<'s> {
    pub(super) fn agreement(&self) -> &'s Agreement {
        &self.scene.agreement
    }

    /// Priorities that PFC is meant to protect here: those of the fabric, unless the file has rules of its own for the
    /// device.
    pub(super) fn lossless(&self) -> Option<Priorities> {
        self.intended.and_then(|port| port.pfc.get()).or(self.agreement().lossless)
    }

    /// Whether RDMA data is meant to be marked here.
    pub(super) fn marking(&self) -> bool {
        let own = self.intended.and_then(|port| {
            let queue = port.maps.queue_of(self.agreement().data_dscp?)?;
            Some(port.queues[queue.index()].wred.is_said())
        });
        own.unwrap_or(self.agreement().marking)
    }

    /// Whether a watchdog is meant to watch here.
    pub(super) fn watchdog(&self) -> bool {
        self.intended.and_then(|port| port.watchdog.on.get()).unwrap_or(self.agreement().watchdog)
    }

    /// The class that RDMA data is meant to be in here.
    pub(super) fn data_class(&self) -> Option<Class> {
        let own = self
            .intended
            .and_then(|port| port.maps.dscp_to_class[self.agreement().data_dscp?.index()].get());
        own.or(self.agreement().data_class)
    }

    /// Whether xoff knows the statement for it on this system.
    pub(super) fn can_say(&self, topic: Topic) -> bool {
        !self.device.system.system().unsaid().contains(&topic)
    }

    /// Class of a DSCP on this port.
    pub(super) fn class(&self, dscp: Dscp) -> Option<Class> {
        self.port.maps.dscp_to_class[dscp.index()].get()
    }

    /// Queue of RDMA data on this port.
    pub(super) fn data_queue(&self) -> Option<Queue> {
        self.port.maps.queue_of(self.agreement().data_dscp?)
    }

    /// What is meant instead, for a message: by the fabric file, or as most others have it.
    pub(super) fn instead(&self, about: &str, value: impl fmt::Display) -> String {
        let reference = self.scene.reference.as_ref();
        match reference.and_then(|r| r.support(self.index, self.name, about)) {
            Some(support) => format!("{support} have {value}"),
            None => format!("{value} is meant"),
        }
    }

    /// Whether what is absent here is unknown, not off: of a host, only what was shown is known.
    pub(super) fn unknown(&self, absent: bool) -> bool {
        absent && self.device.is_host()
    }

    /// Rate of the port, from the intent or its own configuration.
    pub(super) fn rate(&self) -> Option<Rate> {
        let wired = self.wire.and_then(|(wire, _)| wire.rate);
        wired.or(self.port.rate.get())
    }
}

impl<'a> Frame<'a> {
    fn of_intent(devices: &'a [Device], wiring: Wiring<'a>, intent: &'a Intent) -> Self {
        let by_name: BTreeMap<&str, &'a Device> =
            intent.devices.iter().map(|device| (device.name.as_str(), device)).collect();
        let intended: Vec<_> =
            devices.iter().map(|device| by_name.get(device.name.as_str()).copied()).collect();
        let fitted = |meant: &Device| meant.system.system().fit(meant, &mut Vec::new());
        let mut meant: Vec<_> = intended.iter().map(|meant| meant.map(fitted)).collect();
        let all: Vec<&Device> = devices.iter().collect();
        let facts = Register::default();
        let notes = habit::adopt(&mut meant, &all, &wiring, &intent.agreement, &facts);
        let there: BTreeSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        Self {
            agreement: intent.agreement.clone(),
            intent: Some(intent),
            reference: None,
            notes,
            intended,
            meant,
            missing: by_name.keys().copied().filter(|name| !there.contains(name)).collect(),
            usual: Vec::new(),
            cut: silence::cut(devices),
            sized: sized_systems(devices),
            by_vlan: false,
            nics_unmarked: false,
            only_nics_pause: false,
            facts,
            at: ends(&wiring.wires),
            wiring,
        }
    }

    fn of_fleet(devices: &'a [Device], wiring: Wiring<'a>) -> Self {
        let all: Vec<&Device> = devices.iter().collect();
        let mut kinds = kind::of_members(&all, &wiring);
        let facts = Register::default();
        let mut reference = Reference::of(&all, kinds.clone(), &facts);
        let mut agreement = consensus::agreement(&all, &reference);
        // Where nothing pauses, marks or sends RDMA data, switches are of some other network.
        if agreement.data_dscp.is_none() && agreement.lossless.is_none() {
            kinds.retain(|(index, _), _| all[*index].is_host());
            reference = Reference::of(&all, kinds, &facts);
            agreement = consensus::agreement(&all, &reference);
        }
        let by_vlan = by_vlan(devices, &reference);
        let nics_unmarked = consensus::correct(&mut reference, devices, &agreement);
        Self {
            agreement,
            intent: None,
            reference: Some(reference),
            notes: Vec::new(),
            intended: vec![None; devices.len()],
            meant: vec![None; devices.len()],
            missing: Vec::new(),
            usual: Vec::new(),
            cut: silence::cut(devices),
            sized: sized_systems(devices),
            by_vlan,
            nics_unmarked,
            only_nics_pause: !switches_pause(devices),
            facts,
            at: ends(&wiring.wires),
            wiring,
        }
    }
}

/// Whether ports of switches that carry RoCE are told to trust VLAN priorities, and none trusts DSCPs, by itself or because it is told to.
fn by_vlan(devices: &[Device], reference: &Reference) -> bool {
    let all = devices.iter().enumerate().filter(|(_, device)| !device.is_host());
    let ports = |(index, device): (usize, &'_ Device)| {
        let own = device.ports.iter().filter(move |(name, _)| reference.is_member(index, name));
        own.map(|(_, port)| port.trust).collect::<Vec<_>>()
    };
    let trusts: Vec<Said<Trust>> = all.flat_map(ports).collect();
    let told = |trust: &Said<Trust>| trust.said() == Some(&Trust::Pcp);
    let reads = |trust: &Said<Trust>| trust.get().is_some_and(|trust| trust.reads_dscp());
    // Hosts that go by DSCP do not mean what those switches do.
    let hosts = devices.iter().filter(|device| device.is_host());
    let mut nics = hosts.flat_map(|device| device.ports.values());
    trusts.iter().any(told)
        && !trusts.iter().any(reads)
        && !nics.any(|port| port.trust.said() == Some(&Trust::Dscp))
}

fn switches_pause(devices: &[Device]) -> bool {
    let switches = devices.iter().filter(|device| !device.is_host());
    let mut ports = switches.flat_map(|device| device.ports.values());
    ports.any(|port| port.pfc.get().is_some_and(|set| !set.is_empty()))
}

/// The wire at each port.
fn ends(wires: &[Wire]) -> BTreeMap<(usize, PortName), (usize, usize)> {
    let mut at = BTreeMap::new();
    for (number, wire) in wires.iter().enumerate() {
        for (side, end) in wire.ends.iter().enumerate() {
            at.insert(end.clone(), (number, side));
        }
    }
    at
}

impl<'a> Scene<'a> {
    pub(super) fn new(devices: &'a [Device], cables: &Cables, intent: Option<&'a Intent>) -> Self {
        let known = Known::new(devices, cables, intent);
        let leads = Leads::new(&known, devices, cables);
        let wiring = Wiring::new(&known, leads, devices, intent);
        let frame = match intent {
            Some(intent) => Frame::of_intent(devices, wiring, intent),
            None => Frame::of_fleet(devices, wiring),
        };
        let mut scene = Self { devices: devices.iter().collect(), frame: Rc::new(frame) };
        if intent.is_none() {
            let usual = scene.common_queues();
            if let Some(frame) = Rc::get_mut(&mut scene.frame) {
                frame.usual = usual;
            }
        }
        scene
    }

    /// The same scene with another device in the place of one: what is meant stays.
    pub(super) fn with<'b>(&'b self, index: usize, device: &'b Device) -> Scene<'b>
    where
        'a: 'b,
    {
        let mut devices: Vec<&'b Device> = self.devices.clone();
        devices[index] = device;
        let frame: Rc<Frame<'b>> = Rc::clone(&self.frame);
        Scene { devices, frame }
    }

    /// The queues that most ports of a system and speed have, if more than half agree.
    fn common_queues(&self) -> Vec<(Speed, [QueueSettings; 8])> {
        type Counts = Vec<([QueueSettings; 8], usize)>;
        let mut all: BTreeMap<Speed, Counts> = BTreeMap::new();
        for site in self.sites() {
            let counts = all.entry((site.device.system, site.rate())).or_default();
            match counts.iter_mut().find(|(known, _)| same_queues(known, &site.port.queues)) {
                Some((_, count)) => *count += 1,
                None => counts.push((*site.port.queues, 1)),
            }
        }
        let most = |(key, counts): (_, Counts)| {
            let total: usize = counts.iter().map(|(_, count)| count).sum();
            let (queues, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
            (2 * count > total).then_some((key, queues))
        };
        all.into_iter().filter_map(most).collect()
    }

    /// The usual queues of a system, by speed.
    pub(super) fn usual_speeds(
        &self,
        system: SystemId,
    ) -> impl Iterator<Item = (Option<Rate>, &[QueueSettings; 8])> {
        let alike = self.usual.iter().filter(move |((known, _), _)| *known == system);
        alike.map(|((_, rate), queues)| (*rate, queues))
    }

    /// The name of a device; those that are missing are counted after those that are there.
    pub(super) fn name(&self, index: usize) -> &str {
        match self.devices.get(index) {
            Some(device) => &device.name,
            None => self.missing.get(index - self.devices.len()).copied().unwrap_or_default(),
        }
    }

    /// The device as meant, with what its system cannot say.
    pub(super) fn intended(&self, index: usize) -> Option<&'a Device> {
        *self.intended.get(index)?
    }

    /// Ports that are meant to be there and are not.
    pub(super) fn lacking_ports(&self, index: usize) -> Vec<&PortName> {
        let (Some(device), Some(meant)) = (self.devices.get(index), self.fitted(index)) else {
            return Vec::new();
        };
        // Descriptions of others may name a port that the device does not have.
        let own = |(name, _): &(&PortName, &PortName)| device.ports.contains_key(*name);
        let aliases = self.wiring.aliases[index].iter().filter(own);
        let taken: BTreeSet<&PortName> = aliases.map(|(_, meant)| meant).collect();
        let there = |name: &&PortName| device.ports.contains_key(*name) || taken.contains(name);
        meant.ports.keys().filter(|name| !there(name)).collect()
    }

    /// The device as meant, as far as its system can say it.
    pub(super) fn fitted(&self, index: usize) -> Option<&Device> {
        self.meant.get(index)?.as_ref()
    }

    /// Ports that carry RoCE, of all devices.
    pub(super) fn sites(&self) -> impl Iterator<Item = Site<'_>> {
        let all = self.devices.iter().enumerate();
        all.flat_map(move |(index, device)| self.sites_of(index, device))
    }

    /// Ports of a device that carry RoCE.
    pub(super) fn sites_of<'s>(
        &'s self,
        index: usize,
        device: &'s Device,
    ) -> impl Iterator<Item = Site<'s>> {
        let all = device.ports.keys().filter_map(move |name| self.site(index, name));
        all.filter(|site| site.carries_roce())
    }

    /// One port.
    pub(super) fn site<'s>(&'s self, index: usize, name: &'s PortName) -> Option<Site<'s>> {
        let device = self.devices.get(index)?;
        let (name, port) = device.ports.get_key_value(name)?;
        let alias = self.wiring.aliases[index].get(name).unwrap_or(name);
        let usual = self.reference.as_ref().and_then(|r| r.devices[index].ports.get(name));
        let meant = self.fitted(index).and_then(|meant| meant.ports.get(alias));
        let intended = self.intended(index).and_then(|meant| meant.ports.get(alias));
        Some(Site {
            scene: self,
            index,
            device,
            name,
            port,
            meant: meant.or(usual),
            intended: intended.or(usual),
            wire: self
                .at
                .get(&(index, name.clone()))
                .and_then(|(number, side)| Some((self.wiring.wires.get(*number)?, *side))),
        })
    }

    /// Another device of the same system: what a fix may be modelled on without an intent.
    pub(super) fn model(&self, index: usize) -> Option<&'a Device> {
        let system = self.devices.get(index)?.system;
        let others = self.devices.iter().enumerate();
        others.filter(|(other, d)| *other != index && d.system == system).map(|(_, d)| *d).next()
    }

    /// A port as it should be: the intent's, or one of another device of the same system that
    /// leads to the same kind of device.
    pub(super) fn good_port(&self, index: usize, name: &PortName) -> Option<&Port> {
        let alias = self.wiring.aliases.get(index)?.get(name).unwrap_or(name);
        if let Some(meant) = self.fitted(index).and_then(|meant| meant.ports.get(alias)) {
            return Some(meant);
        }
        if let Some(reference) = &self.reference {
            return reference.devices.get(index)?.ports.get(name);
        }
        let own = self.devices.get(index)?.ports.get(name)?;
        let model = self.model(index)?;
        let same = model.ports.get(name).filter(|port| port.rate == own.rate);
        same.or_else(|| model.ports.values().find(|port| port.rate.get() == own.rate.get()))
            .or_else(|| model.ports.values().next())
    }
}

impl Site<'_> {
    /// Whether RoCE is expected here: by intent, or as far as the devices tell.
    fn carries_roce(&self) -> bool {
        if self.port.enabled.get() == Some(false) {
            return false;
        }
        match &self.scene.reference {
            Some(reference) => reference.is_member(self.index, self.name),
            None => self.intended.is_some(),
        }
    }
}

/// The same settings, wherever they were said.
fn same_queues(a: &[QueueSettings; 8], b: &[QueueSettings; 8]) -> bool {
    let same = |(a, b): (&QueueSettings, &QueueSettings)| {
        a.scheduling.get() == b.scheduling.get() && a.wred.get() == b.wred.get()
    };
    a.iter().zip(b).all(same)
}

/// The most common value.
pub(super) fn usual<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(value, _)| value)
}

/// Systems whose ports usually say how much headroom they have, of those that pause.
fn sized_systems(devices: &[Device]) -> Vec<SystemId> {
    let says = |port: &Port| port.groups.iter().any(|group| group.headroom.get().is_some());
    let pauses = |port: &&Port| port.pfc.get().is_some_and(|set| !set.is_empty());
    let usually = |system: &SystemId| {
        let alike = devices.iter().filter(|device| device.system == *system);
        usual(alike.flat_map(|device| device.ports.values()).filter(pauses).map(says)) == Some(true)
    };
    SystemId::ALL.into_iter().filter(usually).collect()
}
