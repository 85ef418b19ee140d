//! Everything an audit looks at: devices, what they are meant to be, and the cables between them.

use super::known::Known;
use super::leads::Leads;
use super::wiring::{Wire, Wiring};
use crate::cabling::Cables;
use crate::device::{Device, Port, PortName};
use crate::intent::{Agreement, Intent};
use crate::number::{Class, Dscp, Priorities, Queue};
use crate::qos::QueueSettings;
use crate::system::{SystemId, Topic};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::rules::packet;
use xoff_units::Rate;

/// Everything an audit looks at.
pub(super) struct Scene<'a> {
    pub(super) devices: &'a [Device],
    pub(super) agreement: Agreement,
    pub(super) intent: Option<&'a Intent>,
    /// Each device as meant, with what its system cannot say.
    intended: Vec<Option<&'a Device>>,
    /// Each device as meant and as its system can say it, where the intent has it.
    meant: Vec<Option<Device>>,
    /// Devices of the intent that were not collected.
    pub(super) missing: Vec<&'a str>,
    /// What most ports of a system and speed have, where there is no intent.
    usual: Vec<(Kind, [QueueSettings; 8])>,
    /// Systems whose ports usually say how much headroom they have.
    pub(super) sized: Vec<SystemId>,
    pub(super) wiring: Wiring<'a>,
    /// The wire at each port.
    at: BTreeMap<(usize, PortName), (usize, usize)>,
}

/// Ports that are comparable: of one system and one speed.
type Kind = (SystemId, Option<Rate>);

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

    /// The queues as meant, or as most ports of this system and speed have them.
    pub(super) fn usual_queues(&self) -> Option<&'s [QueueSettings; 8]> {
        if let Some(meant) = self.meant {
            return Some(&meant.queues);
        }
        if self.scene.intent.is_some() {
            return None;
        }
        let key = (self.device.system, self.rate());
        let found = self.scene.usual.iter().find(|(known, _)| *known == key)?;
        Some(&found.1)
    }

    /// Rate of the port, from the intent or its own configuration.
    pub(super) fn rate(&self) -> Option<Rate> {
        let wired = self.wire.and_then(|(wire, _)| wire.rate);
        wired.or(self.port.rate.get())
    }
}

impl<'a> Scene<'a> {
    pub(super) fn new(devices: &'a [Device], cables: &Cables, intent: Option<&'a Intent>) -> Self {
        let by_name: BTreeMap<&str, &'a Device> = intent
            .into_iter()
            .flat_map(|intent| &intent.devices)
            .map(|device| (device.name.as_str(), device))
            .collect();
        let intended: Vec<_> =
            devices.iter().map(|device| by_name.get(device.name.as_str()).copied()).collect();
        let fitted = |meant: &Device| meant.system.system().fit(meant, &mut Vec::new());
        let meant: Vec<_> = intended.iter().map(|meant| meant.map(fitted)).collect();
        let known = Known::new(devices, cables, intent);
        let leads = Leads::new(&known, devices, cables);
        let wiring = Wiring::new(&known, leads, devices, intent);
        let mut at = BTreeMap::new();
        for (number, wire) in wiring.wires.iter().enumerate() {
            for (side, end) in wire.ends.iter().enumerate() {
                at.insert(end.clone(), (number, side));
            }
        }
        let agreement = match intent {
            Some(intent) => intent.agreement.clone(),
            None => agreement_of(devices),
        };
        let there: BTreeSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let missing = by_name.keys().copied().filter(|name| !there.contains(name)).collect();
        let sized = sized_systems(devices);
        let usual = Vec::new();
        let mut scene =
            Self { devices, agreement, intent, intended, meant, missing, usual, sized, wiring, at };
        if intent.is_none() {
            scene.usual = scene.common_queues();
        }
        scene
    }

    /// The queues that most ports of a system and speed have, if more than half agree.
    fn common_queues(&self) -> Vec<(Kind, [QueueSettings; 8])> {
        type Counts = Vec<([QueueSettings; 8], usize)>;
        let mut all: BTreeMap<Kind, Counts> = BTreeMap::new();
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

    /// The device as meant, as far as its system can say it.
    pub(super) fn fitted(&self, index: usize) -> Option<&Device> {
        self.meant.get(index)?.as_ref()
    }

    /// Ports that carry RoCE, of all devices.
    pub(super) fn sites(&self) -> impl Iterator<Item = Site<'_>> {
        let all = self.devices.iter().enumerate();
        all.flat_map(move |(index, device)| {
            device.ports.keys().filter_map(move |name| self.site(index, name))
        })
        .filter(|site| site.carries_roce())
    }

    /// One port.
    pub(super) fn site<'s>(&'s self, index: usize, name: &'s PortName) -> Option<Site<'s>> {
        let device = self.devices.get(index)?;
        let (name, port) = device.ports.get_key_value(name)?;
        let alias = self.wiring.aliases[index].get(name).unwrap_or(name);
        Some(Site {
            scene: self,
            index,
            device,
            name,
            port,
            meant: self.meant[index].as_ref().and_then(|meant| meant.ports.get(alias)),
            intended: self.intended(index).and_then(|meant| meant.ports.get(alias)),
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
        others.filter(|(other, d)| *other != index && d.system == system).map(|(_, d)| d).next()
    }

    /// A port as it should be: the intent's, or one of another device of the same system that
    /// leads to the same kind of device.
    pub(super) fn good_port(&self, index: usize, name: &PortName) -> Option<&Port> {
        let alias = self.wiring.aliases.get(index)?.get(name).unwrap_or(name);
        if let Some(meant) = self.fitted(index).and_then(|meant| meant.ports.get(alias)) {
            return Some(meant);
        }
        let own = self.devices.get(index)?.ports.get(name)?;
        let model = self.model(index)?;
        let same = model.ports.get(name).filter(|port| port.rate == own.rate);
        same.or_else(|| model.ports.values().find(|port| port.rate.get() == own.rate.get()))
            .or_else(|| model.ports.values().next())
    }
}

impl Site<'_> {
    /// Whether RoCE is expected here: by intent, by a cable, or because it is configured.
    fn carries_roce(&self) -> bool {
        if self.port.enabled.get() == Some(false) {
            return false;
        }
        let configured = self.port.pfc.get().is_some_and(|set| !set.is_empty());
        match self.scene.intent {
            Some(_) => self.intended.is_some(),
            None => self.wire.is_some() || configured || self.device.is_host(),
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

/// What most devices do, where there is no intent.
fn agreement_of(devices: &[Device]) -> Agreement {
    let ports = || devices.iter().flat_map(|device| device.ports.values());
    let switch_ports = || {
        devices.iter().filter(|device| !device.is_host()).flat_map(|device| device.ports.values())
    };
    let paused = ports().filter_map(|port| port.pfc.get()).filter(|set| !set.is_empty());
    let lossless = usual(paused);
    let written = ports().filter_map(|port| port.nic.data_dscp.get());
    let told = devices.iter().filter_map(|device| device.nccl.traffic_class.get());
    let data_dscp = usual(written).or_else(|| usual(told.map(Dscp::of_tos)));
    let data_dscp = data_dscp.or_else(|| protected_dscp(switch_ports(), lossless));
    let cnp_dscp =
        usual(ports().filter_map(|port| port.nic.cnp_dscp.get())).or_else(|| Dscp::new(48));
    let class = |port: &Port| port.maps.dscp_to_class[data_dscp?.index()].get();
    let balancing = usual(
        devices
            .iter()
            .filter(|device| !device.is_host())
            .filter_map(|device| device.balancing.get().map(|b| b.name())),
    );
    let named = |name: &str| {
        use crate::device::Balancing::{Flowlet, Packet};
        [Flowlet, Packet].into_iter().find(|balancing| balancing.name() == name)
    };
    Agreement {
        data_class: usual(switch_ports().filter_map(class)),
        data_dscp,
        cnp_dscp,
        cnp_apart: true,
        lossless,
        marking: true,
        watchdog: true,
        packet: packet::default_largest_ip(),
        balancing: balancing.and_then(named),
        tenants: Vec::new(),
    }
}

/// The DSCP that most ports put into a lossless class, 26 first: it is the usual one.
fn protected_dscp<'p>(
    ports: impl Iterator<Item = &'p Port>,
    lossless: Option<Priorities>,
) -> Option<Dscp> {
    let lossless = lossless?;
    let of_port = |port: &Port| {
        let protected = |dscp: &Dscp| {
            let Some(group) = port.maps.group_of(*dscp) else { return false };
            lossless.iter().any(|p| port.maps.pfc_to_group[p.index()].get() == Some(group))
        };
        let first = Dscp::new(26).into_iter();
        first.chain(Dscp::all()).find(protected)
    };
    usual(ports.filter_map(of_port))
}
