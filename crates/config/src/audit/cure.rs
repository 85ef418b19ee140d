//! The fix of a finding: the part of a port that is wrong, as it should be, rendered.

use super::scene::Scene;
use crate::device::{Device, Part, Port, PortName};
use crate::place::{Place, Said};
use crate::qos::QueueSettings;
use crate::system::SystemId;
use std::sync::Arc;

/// What part of a device a fix configures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aspect {
    /// Classification, maps, queues, pauses: a whole port.
    All,
    /// Trust and the maps.
    Maps,
    /// Which priorities pause, and how that is mapped.
    Pfc,
    /// Marking of queues.
    Marking,
    /// Turns of queues.
    Turns,
    /// Buffers and cable.
    Buffers,
    /// Watchdog.
    Watchdog,
    /// MTU.
    Mtu,
    /// Load balancing.
    Balancing,
    /// What a NIC writes and answers to.
    Nic,
    /// The environment of NCCL.
    Nccl,
}

impl Aspect {
    /// The part that a fact of a port belongs to.
    pub(super) fn of(about: &str) -> Self {
        match about.split(' ').next().unwrap_or_default() {
            "mtu" => Self::Mtu,
            "cable" | "group" => Self::Buffers,
            "trust" | "dscp" | "class" => Self::Maps,
            "pfc" | "pause" => Self::Pfc,
            "balancing" => Self::Balancing,
            "watchdog" => Self::Watchdog,
            "queue" if about.ends_with("wred") => Self::Marking,
            "queue" => Self::Turns,
            _ => Self::Nic,
        }
    }

    /// Both parts.
    pub(super) fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::All }
    }

    /// Whether a mistake in this part explains a difference in what a fact is about.
    pub(super) fn explains(self, about: &str, system: SystemId) -> bool {
        // Where pauses and turns belong to classes, a wrong class takes them along.
        let by_class = matches!(system.family(), SystemId::Junos | SystemId::PicOs);
        let part = Self::of(about);
        match self {
            Self::All => true,
            Self::Maps if by_class => !matches!(part, Self::Mtu | Self::Balancing | Self::Nic),
            Self::Maps => matches!(part, Self::Maps | Self::Pfc),
            Self::Pfc => matches!(part, Self::Pfc | Self::Buffers | Self::Maps | Self::Watchdog),
            own => own == part,
        }
    }
}

/// The fix for some ports of a device. With an intent it is the intent's; without, what other ports
/// of the same system have.
pub(super) fn fix(scene: &Scene<'_>, index: usize, ports: &[PortName], aspect: Aspect) -> String {
    let Some(device) = scene.devices.get(index) else { return String::new() };
    let mut wanted = Device::new(&device.name, device.system);
    wanted.hardware = device.hardware.clone();
    wanted.part = Part::Change;
    // As the system says it: what follows from all ports of a device must not be worked out again
    // from some of them.
    let meant = scene.fitted(index);
    let model = meant.or_else(|| scene.model(index));
    if aspect == Aspect::Balancing {
        wanted.balancing = model.map_or(Said::Absent, |model| meant_again(&model.balancing));
    }
    if aspect == Aspect::Nccl {
        wanted.nccl = model.map(|model| model.nccl.clone()).unwrap_or_default();
    }
    if aspect == Aspect::Buffers {
        let model = model.filter(|_| meant.is_some());
        wanted.headroom_pool = model.map_or(Said::Absent, |model| model.headroom_pool);
        wanted.shared_buffer = model.map_or(Said::Absent, |model| model.shared_buffer);
    }
    for name in ports {
        let Some(good) = scene.good_port(index, name) else { continue };
        let mut part = part(good, aspect, device.system);
        // A fix is written with the tools of the NIC that is there.
        let own = device.ports.get(name).and_then(|port| port.nic.maker);
        part.nic.maker = own.or(good.nic.maker);
        wanted.ports.insert(name.clone(), part);
    }
    let system = device.system.system();
    let rendered = system.render(&system.fit(&wanted, &mut Vec::new()));
    let text = rendered.into_iter().next().map(|file| file.text).unwrap_or_default();
    without_title(&text)
}

/// The first comment names the whole file; a fix is a piece of one.
pub(super) fn without_title(text: &str) -> String {
    let comment =
        |line: &&str| !["! RoCE", "# RoCE", "/* RoCE"].iter().any(|start| line.starts_with(start));
    let lines: Vec<&str> = text.lines().filter(comment).collect();
    lines.join("\n")
}

/// A setting that the renderer writes, wherever it came from.
fn meant_again<T: Clone>(said: &Said<T>) -> Said<T> {
    said.value().map_or(Said::Absent, |value| Said::At(value.clone(), Place::INTENT))
}

fn part(good: &Port, aspect: Aspect, system: SystemId) -> Port {
    // Where the port leads is no part of a fix: the fabric file has other names for ports than the device may.
    let mut port = Port { rate: good.rate, ..Port::default() };
    // Classes, queues and pauses of a port stand in policies that are applied as a whole: a policy
    // with only the wrong part in it would take away the rest.
    let whole = matches!(
        aspect,
        Aspect::All
            | Aspect::Maps
            | Aspect::Pfc
            | Aspect::Marking
            | Aspect::Turns
            | Aspect::Watchdog
    );
    // On Junos, pauses name the code points of their classes.
    let whole = whole || (aspect == Aspect::Buffers && system.family() == SystemId::Junos);
    if whole {
        port.trust = meant_again(&good.trust);
        port.maps = Arc::clone(&good.maps);
        port.pfc = meant_again(&good.pfc);
        port.queues = Arc::new(good.queues.map(|queue| QueueSettings {
            scheduling: meant_again(&queue.scheduling),
            wred: meant_again(&queue.wred),
        }));
        port.watchdog = good.watchdog;
        port.watchdog.on = meant_again(&good.watchdog.on);
    }
    if whole || aspect == Aspect::Buffers {
        port.pfc = meant_again(&good.pfc);
        port.groups = Arc::clone(&good.groups);
        port.cable = good.cable;
    }
    if whole || aspect == Aspect::Mtu {
        port.mtu = meant_again(&good.mtu);
    }
    if aspect == Aspect::Balancing {
        port.balancing = good.balancing;
    }
    if aspect == Aspect::Nic {
        port.nic = good.nic;
    }
    port
}
