//! From a device as it runs to the device as it is meant, and back.
//!
//! A [`Change`] is worked out on the model: which parts of which ports differ. Each direction is a
//! [`Patch`], which can be applied to a device of the model and written as statements of its system.
//! Classes, queues and pauses of a port change as one, because they stand in policies that are
//! applied as one. Ports that the intent does not know are left alone.

mod undo;

use crate::device::{Balancing, Device, Maker, Nccl, Nic, Part, Port, PortName};
use crate::facts::{self, Difference, Facts};
use crate::number::Priorities;
use crate::place::{Place, Said};
use crate::qos::{GroupSettings, Maps, QueueSettings, Trust, WatchdogSettings};
use crate::system::{Rendered, SystemId, Topic};
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_units::{Bytes, Length};

/// What has to change on a device.
#[derive(Debug, Clone)]
pub struct Change {
    /// The device.
    pub device: String,
    /// Its system.
    pub system: SystemId,
    /// What is different, from running (left) to meant (right).
    pub differences: Vec<Difference>,
    /// From what runs to what is meant.
    pub forward: Patch,
    /// From what is meant to what runs now.
    pub back: Patch,
}

impl Change {
    /// The patch that brings a device back to what it was, without fitting; `None` if nothing differs.
    pub(crate) fn back(after: &Device, before: &Device) -> Option<Patch> {
        if Facts::same(after, before) {
            return None;
        }
        let mut back = Patch::between(after, before, Part::Back);
        back.undone = Some(Box::new(Patch::between(before, after, Part::Change)));
        Some(back)
    }

    /// The change from a running device to the intent's device of that name; `None` if there is
    /// nothing to change. The intent's device is fitted to the system that runs.
    pub fn between(running: &Device, meant: &Device) -> Option<Self> {
        let system = running.system.system();
        let meant = system.fit(meant, &mut Vec::new());
        let known = restricted(running, &meant);
        let differences = Facts::of(&known).differences(&Facts::of(&meant));
        if differences.is_empty() {
            return None;
        }
        let forward = Patch::between(&known, &meant, Part::Change);
        let mut back = Patch::between(&meant, &known, Part::Back);
        back.undone = Some(Box::new(forward.clone()));
        Some(Self {
            device: running.name.clone(),
            system: running.system,
            differences,
            forward,
            back,
        })
    }
}

/// The running device with the ports of the intent only; ports it lacks are there and empty. What nobody showed of a
/// host is not known to differ.
fn restricted(running: &Device, meant: &Device) -> Device {
    let mut known = running.clone();
    known.ports = meant
        .ports
        .keys()
        .map(|name| (name.clone(), running.ports.get(name).cloned().unwrap_or_default()))
        .collect();
    // What no statement is known for cannot be changed.
    if running.system.system().unsaid().contains(&Topic::Marking) {
        for (name, port) in &mut known.ports {
            let meant = &meant.ports[name].queues;
            let own = Arc::make_mut(&mut port.queues);
            own.iter_mut().zip(meant.iter()).for_each(|(own, meant)| own.wred = meant.wred);
        }
    }
    if running.is_host() {
        if running.nccl.shown.is_none() {
            known.nccl = meant.nccl.clone();
        }
        for (name, port) in
            known.ports.iter_mut().filter(|(name, _)| running.ports.contains_key(name))
        {
            if let Some(meant) = meant.ports.get(name) {
                presume(port, meant);
            }
        }
    }
    known
}

/// Takes what was not shown of a NIC to be as it is meant.
fn presume(port: &mut Port, meant: &Port) {
    fn fill<T: Copy>(said: &mut Said<T>, meant: Said<T>) {
        if said.value().is_none() {
            *said = meant;
        }
    }
    fill(&mut port.mtu, meant.mtu);
    fill(&mut port.cable, meant.cable);
    if port.trust.value().is_none() {
        port.trust = meant.trust;
        let maps = Arc::make_mut(&mut port.maps);
        for (own, meant) in maps.dscp_to_class.iter_mut().zip(&meant.maps.dscp_to_class) {
            fill(own, *meant);
        }
    }
    if port.maps.class_to_queue.iter().all(|queue| queue.value().is_none()) {
        let dscp_to_class = port.maps.dscp_to_class;
        port.maps = Arc::new(Maps { dscp_to_class, ..Maps::clone(&meant.maps) });
    }
    if port.queues.iter().all(|queue| queue.scheduling.value().is_none()) {
        port.queues = Arc::clone(&meant.queues);
    }
    fill(&mut port.pfc, meant.pfc);
    if !port.nic.shown {
        fill(&mut port.nic.data_dscp, meant.nic.data_dscp);
        fill(&mut port.nic.cm_dscp, meant.nic.cm_dscp);
        fill(&mut port.nic.cnp_dscp, meant.nic.cnp_dscp);
        fill(&mut port.nic.notifies, meant.nic.notifies);
        fill(&mut port.nic.reacts, meant.nic.reacts);
    }
}

/// What is set on a device: only what differs.
#[derive(Debug, Clone)]
pub struct Patch {
    name: String,
    system: SystemId,
    part: Part,
    ports: BTreeMap<PortName, PortPatch>,
    balancing: Option<Said<Balancing>>,
    shared_buffer: Option<Said<Bytes>>,
    headroom_pool: Option<Said<Bytes>>,
    nccl: Option<Nccl>,
    /// The patch that this one takes back, for what it has to take away.
    undone: Option<Box<Patch>>,
}

/// What is set on a port.
#[derive(Debug, Clone, Default)]
struct PortPatch {
    mtu: Option<Said<Bytes>>,
    qos: Option<PortQos>,
    balancing: Option<Said<bool>>,
    nic: Option<Nic>,
    /// Who made the NIC: its tools are needed whatever changes.
    maker: Option<Maker>,
}

/// Everything that stands in policies.
#[derive(Debug, Clone)]
struct PortQos {
    trust: Said<Trust>,
    maps: Arc<Maps>,
    pfc: Said<Priorities>,
    queues: Arc<[QueueSettings; 8]>,
    groups: Arc<[GroupSettings; 8]>,
    cable: Said<Length>,
    watchdog: WatchdogSettings,
}

impl PortQos {
    fn of(port: &Port) -> Self {
        Self {
            trust: port.trust,
            maps: Arc::clone(&port.maps),
            pfc: port.pfc,
            queues: Arc::clone(&port.queues),
            groups: Arc::clone(&port.groups),
            cable: port.cable,
            watchdog: port.watchdog,
        }
    }

    fn put(&self, port: &mut Port) {
        port.trust = self.trust;
        port.maps = Arc::clone(&self.maps);
        port.pfc = self.pfc;
        port.queues = Arc::clone(&self.queues);
        port.groups = Arc::clone(&self.groups);
        port.cable = self.cable;
        port.watchdog = self.watchdog;
    }

    /// Whether none of it is configured.
    fn is_bare(&self) -> bool {
        let paused = self.pfc.said().is_some_and(|set| !set.is_empty());
        !paused && !self.trust.is_said() && !self.queues.iter().any(QueueSettings::is_said)
    }
}

impl Patch {
    fn between(from: &Device, to: &Device, part: Part) -> Self {
        let mut patch = Self {
            name: from.name.clone(),
            system: from.system,
            part,
            ports: BTreeMap::new(),
            balancing: changed(&from.balancing, &to.balancing),
            shared_buffer: changed(&from.shared_buffer, &to.shared_buffer),
            headroom_pool: changed(&from.headroom_pool, &to.headroom_pool),
            nccl: (from.nccl != to.nccl).then(|| to.nccl.clone()),
            undone: None,
        };
        for (name, old) in &from.ports {
            let Some(new) = to.ports.get(name) else { continue };
            let own = PortPatch {
                mtu: changed(&old.mtu, &new.mtu),
                qos: (!same_qos(old, new)).then(|| PortQos::of(new)),
                balancing: changed(&old.balancing, &new.balancing),
                nic: (!same_nic(&old.nic, &new.nic)).then_some(new.nic),
                maker: new.nic.maker,
            };
            if own.mtu.is_some()
                || own.qos.is_some()
                || own.balancing.is_some()
                || own.nic.is_some()
            {
                patch.ports.insert(name.clone(), own);
            }
        }
        patch
    }

    /// Ports that it touches.
    pub fn ports(&self) -> impl Iterator<Item = &PortName> {
        self.ports.keys()
    }

    /// The device with the patch applied.
    pub fn apply(&self, device: &Device) -> Device {
        let mut device = device.clone();
        put(&mut device.balancing, self.balancing);
        put(&mut device.shared_buffer, self.shared_buffer);
        put(&mut device.headroom_pool, self.headroom_pool);
        put(&mut device.nccl, self.nccl.clone());
        for (name, own) in &self.ports {
            let port = device.ports.entry(name.clone()).or_default();
            put(&mut port.mtu, own.mtu);
            put(&mut port.balancing, own.balancing);
            put(&mut port.nic, own.nic);
            if let Some(qos) = &own.qos {
                qos.put(port);
            }
        }
        device
    }

    /// The statements that do it. A patch that takes another back first takes away what was not
    /// configured before.
    pub fn render(&self) -> Vec<Rendered> {
        let mut part = Device::new(&self.name, self.system);
        part.part = self.part;
        part.balancing = said_again(self.balancing.unwrap_or_default());
        part.shared_buffer = said_again(self.shared_buffer.unwrap_or_default());
        part.headroom_pool = said_again(self.headroom_pool.unwrap_or_default());
        part.nccl = self.nccl.clone().unwrap_or_default();
        let bare = |own: &PortPatch| own.qos.as_ref().is_some_and(PortQos::is_bare);
        for (name, own) in &self.ports {
            let mut port = Port {
                mtu: said_again(own.mtu.unwrap_or_default()),
                balancing: said_again(own.balancing.unwrap_or_default()),
                nic: own.nic.unwrap_or_default(),
                ..Port::default()
            };
            port.nic.maker = own.maker;
            match &own.qos {
                Some(qos) if !bare(own) => {
                    qos.put(&mut port);
                    in_force(&mut port);
                }
                // The maps are the box's there: without a profile they hold still.
                Some(qos) if self.system == SystemId::Eos => {
                    port.maps = Arc::clone(&qos.maps);
                    maps_in_force(&mut port);
                }
                _ => {}
            }
            part.ports.insert(name.clone(), port);
        }
        let mut files = self.system.system().render(&part);
        files.truncate(1);
        let taken: Vec<&PortName> =
            self.ports.iter().filter(|(_, own)| bare(own)).map(|(name, _)| name).collect();
        if let (Some(undone), Some(file)) = (&self.undone, files.first_mut()) {
            let mut away = String::new();
            if !taken.is_empty() {
                let entered = undone.render().into_iter().next().map(|file| file.text);
                let entered = entered.unwrap_or_default();
                away = undo::statements(self.system, &entered, &taken);
                let watched = |own: &PortPatch| {
                    own.qos.as_ref().is_some_and(|qos| qos.watchdog.on.get() == Some(true))
                };
                if !self.ports.values().any(watched) {
                    away += undo::watchdog(self.system, &entered);
                }
            }
            if undone.balances() && !self.balances() {
                away += undo::balancing(self.system);
            }
            file.text = format!("{away}{}", file.text);
        }
        files
    }

    /// Whether it turns dynamic load balancing on.
    fn balances(&self) -> bool {
        let new = self.balancing.and_then(|said| said.get());
        new.is_some_and(|balancing| balancing != Balancing::Hash)
    }
}

fn put<T>(slot: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *slot = new;
    }
}

fn changed<T: Copy + PartialEq>(from: &Said<T>, to: &Said<T>) -> Option<Said<T>> {
    (from.get() != to.get()).then_some(*to)
}

/// A setting as if it were configured: what is in force by default is entered again.
fn said_again<T>(said: Said<T>) -> Said<T> {
    match said {
        Said::Default(value) | Said::At(value, _) => Said::At(value, Place::INTENT),
        Said::Absent => Said::Absent,
    }
}

/// The maps that are in force on a port, said.
fn maps_in_force(port: &mut Port) {
    let maps = Arc::make_mut(&mut port.maps);
    maps.dscp_to_class = maps.dscp_to_class.map(said_again);
    maps.class_to_queue = maps.class_to_queue.map(said_again);
}

/// All that is in force on a port, said.
fn in_force(port: &mut Port) {
    port.trust = said_again(port.trust);
    port.pfc = said_again(port.pfc);
    port.cable = said_again(port.cable);
    maps_in_force(port);
    for queue in Arc::make_mut(&mut port.queues) {
        queue.scheduling = said_again(queue.scheduling);
        queue.wred = said_again(queue.wred);
    }
    for group in Arc::make_mut(&mut port.groups) {
        group.reserved = said_again(group.reserved);
        group.threshold = said_again(group.threshold);
        group.xon_offset = said_again(group.xon_offset);
        group.headroom = said_again(group.headroom);
    }
    let watchdog = &mut port.watchdog;
    watchdog.on = said_again(watchdog.on);
    watchdog.detect = said_again(watchdog.detect);
    watchdog.restore = said_again(watchdog.restore);
    watchdog.reaction = said_again(watchdog.reaction);
}

/// Whether classes, queues and pauses of two ports are the same, wherever they were said.
fn same_qos(a: &Port, b: &Port) -> bool {
    let only = |port: &Port| {
        let mut bare = Port::default();
        PortQos::of(port).put(&mut bare);
        bare
    };
    facts::same_ports(&only(a), &only(b))
}

fn same_nic(a: &Nic, b: &Nic) -> bool {
    a.data_dscp.get() == b.data_dscp.get()
        && a.cm_dscp.get() == b.cm_dscp.get()
        && a.cnp_dscp.get() == b.cnp_dscp.get()
        && a.notifies.get() == b.notifies.get()
        && a.reacts.get() == b.reacts.get()
}
