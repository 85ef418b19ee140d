//! What a device is configured to do, as a list of plain facts: for comparing two devices, whatever
//! their systems and wherever things were said.

use crate::device::{Device, Port};
use crate::place::{Place, Said};
use crate::qos::{Levels, Reaction, Trust, Wred};
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::{Scheduling, Threshold};

/// What a device is configured to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Facts(BTreeMap<String, String>);

/// A fact in which two devices differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about, like `Ethernet1/1 pfc`.
    pub about: String,
    /// How it is at the first device.
    pub left: Option<String>,
    /// How it is at the second.
    pub right: Option<String>,
}

impl Facts {
    /// The facts of a device: values in force, said or default, without names and versions.
    pub fn of(device: &Device) -> Self {
        let mut facts = Self::default();
        facts.add("", "balancing", &device.balancing, |b| b.name().to_owned());
        facts.add("", "shared buffer", &device.shared_buffer, ToString::to_string);
        facts.add("", "headroom pool", &device.headroom_pool, ToString::to_string);
        facts.add("", "nccl traffic class", &device.nccl.traffic_class, ToString::to_string);
        facts.add("", "nccl gid index", &device.nccl.gid_index, ToString::to_string);
        for (name, port) in &device.ports {
            facts.port(name.as_str(), port);
        }
        facts
    }

    /// The facts of one port, without its name.
    pub(crate) fn of_port(port: &Port) -> Self {
        let mut facts = Self::default();
        facts.port("", port);
        facts
    }

    /// What is known about something.
    pub(crate) fn get(&self, about: &str) -> Option<&str> {
        self.0.get(about).map(String::as_str)
    }

    /// What all facts are about, in order.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn add<T>(&mut self, port: &str, about: &str, said: &Said<T>, show: impl Fn(&T) -> String) {
        if let Some(value) = said.value() {
            self.0.insert(format!("{port} {about}").trim().to_owned(), show(value));
        }
    }

    fn port(&mut self, name: &str, port: &Port) {
        self.add(name, "mtu", &port.mtu, ToString::to_string);
        self.add(name, "cable", &port.cable, ToString::to_string);
        self.add(name, "trust", &port.trust, |t: &Trust| t.name().to_owned());
        self.add(name, "pfc", &port.pfc, ToString::to_string);
        self.add(name, "balancing", &port.balancing, ToString::to_string);
        self.maps(name, port);
        self.buffers(name, port);
        let watchdog = &port.watchdog;
        self.add(name, "watchdog", &watchdog.on, ToString::to_string);
        if watchdog.on.get() == Some(true) {
            self.add(name, "watchdog detect", &watchdog.detect, ToString::to_string);
            self.add(name, "watchdog restore", &watchdog.restore, ToString::to_string);
            let reaction = |r: &Reaction| r.name().to_owned();
            self.add(name, "watchdog reaction", &watchdog.reaction, reaction);
        }
        let nic = &port.nic;
        self.add(name, "data dscp", &nic.data_dscp, ToString::to_string);
        self.add(name, "cm dscp", &nic.cm_dscp, ToString::to_string);
        self.add(name, "cnp dscp", &nic.cnp_dscp, ToString::to_string);
        self.add(name, "notifies", &nic.notifies, ToString::to_string);
        self.add(name, "reacts", &nic.reacts, ToString::to_string);
    }

    fn maps(&mut self, name: &str, port: &Port) {
        let maps = &port.maps;
        for (number, class) in maps.dscp_to_class.iter().enumerate() {
            self.add(name, &format!("dscp {number} class"), class, ToString::to_string);
        }
        for number in 0..8 {
            let queue = &maps.class_to_queue[number];
            self.add(name, &format!("class {number} queue"), queue, ToString::to_string);
            let group = &maps.class_to_group[number];
            self.add(name, &format!("class {number} group"), group, ToString::to_string);
            let queue = &maps.pfc_to_queue[number];
            self.add(name, &format!("pause {number} queue"), queue, ToString::to_string);
            let group = &maps.pfc_to_group[number];
            self.add(name, &format!("pause {number} group"), group, ToString::to_string);
        }
    }

    fn buffers(&mut self, name: &str, port: &Port) {
        for (number, queue) in port.queues.iter().enumerate() {
            self.add(name, &format!("queue {number} turn"), &queue.scheduling, scheduling);
            self.add(name, &format!("queue {number} wred"), &queue.wred, wred);
        }
        for (number, group) in port.groups.iter().enumerate() {
            let about = |what: &str| format!("group {number} {what}");
            self.add(name, &about("reserved"), &group.reserved, ToString::to_string);
            self.add(name, &about("threshold"), &group.threshold, threshold);
            self.add(name, &about("xon offset"), &group.xon_offset, ToString::to_string);
            self.add(name, &about("headroom"), &group.headroom, ToString::to_string);
        }
    }

    /// What is different, in the order of ports and facts.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        let missing = other.0.keys().filter(|key| !self.0.contains_key(*key));
        let mut keys: Vec<&String> = self.0.keys().chain(missing).collect();
        keys.sort();
        let pairs = keys.into_iter().map(|key| (key, self.0.get(key), other.0.get(key)));
        pairs
            .filter(|(_, left, right)| left != right)
            .map(|(key, left, right)| Difference {
                about: key.clone(),
                left: left.cloned(),
                right: right.cloned(),
            })
            .collect()
    }
}

/// Copies what a fact of [`Facts::of_port`] is about from one port to another.
///
/// # Panics
/// If no fact of a port has this name.
pub(crate) fn copy(about: &str, from: &Port, to: &mut Port) {
    let words: Vec<&str> = about.split(' ').collect();
    let index = |number: &str| -> usize { number.parse().expect("facts number their subjects") };
    match words[..] {
        ["mtu"] => to.mtu = from.mtu,
        ["cable"] => to.cable = from.cable,
        ["trust"] => to.trust = from.trust,
        ["pfc"] => to.pfc = from.pfc,
        ["balancing"] => to.balancing = from.balancing,
        ["watchdog"] => to.watchdog.on = from.watchdog.on,
        ["watchdog", "detect"] => to.watchdog.detect = from.watchdog.detect,
        ["watchdog", "restore"] => to.watchdog.restore = from.watchdog.restore,
        ["watchdog", "reaction"] => to.watchdog.reaction = from.watchdog.reaction,
        ["data", "dscp"] => to.nic.data_dscp = from.nic.data_dscp,
        ["cm", "dscp"] => to.nic.cm_dscp = from.nic.cm_dscp,
        ["cnp", "dscp"] => to.nic.cnp_dscp = from.nic.cnp_dscp,
        ["notifies"] => to.nic.notifies = from.nic.notifies,
        ["reacts"] => to.nic.reacts = from.nic.reacts,
        ["queue", number, what] => {
            let (from, number) = (&from.queues, index(number));
            let to = &mut Arc::make_mut(&mut to.queues)[number];
            match what {
                "turn" => to.scheduling = from[number].scheduling,
                _ => to.wred = from[number].wred,
            }
        }
        ["group", number, ..] => {
            let (from, number) = (&from.groups[index(number)], index(number));
            let to = &mut Arc::make_mut(&mut to.groups)[number];
            match words[2..] {
                ["reserved"] => to.reserved = from.reserved,
                ["threshold"] => to.threshold = from.threshold,
                ["xon", "offset"] => to.xon_offset = from.xon_offset,
                _ => to.headroom = from.headroom,
            }
        }
        [from_what, number, to_what] => {
            let (from, number) = (&from.maps, index(number));
            let to = Arc::make_mut(&mut to.maps);
            match (from_what, to_what) {
                ("dscp", _) => to.dscp_to_class[number] = from.dscp_to_class[number],
                ("class", "queue") => to.class_to_queue[number] = from.class_to_queue[number],
                ("class", _) => to.class_to_group[number] = from.class_to_group[number],
                (_, "queue") => to.pfc_to_queue[number] = from.pfc_to_queue[number],
                _ => to.pfc_to_group[number] = from.pfc_to_group[number],
            }
        }
        _ => unreachable!("no port has a fact `{about}`"),
    }
}

/// Where a port says what a fact is about.
pub(crate) fn place(about: &str, port: &Port) -> Option<Place> {
    let words: Vec<&str> = about.split(' ').collect();
    let index = |number: &str| number.parse::<usize>().ok();
    match words[..] {
        ["mtu"] => port.mtu.place(),
        ["cable"] => port.cable.place(),
        ["trust"] => port.trust.place(),
        ["pfc"] => port.pfc.place(),
        ["balancing"] => port.balancing.place(),
        ["watchdog"] => port.watchdog.on.place(),
        ["watchdog", "detect"] => port.watchdog.detect.place(),
        ["watchdog", "restore"] => port.watchdog.restore.place(),
        ["watchdog", "reaction"] => port.watchdog.reaction.place(),
        ["data", "dscp"] => port.nic.data_dscp.place(),
        ["cm", "dscp"] => port.nic.cm_dscp.place(),
        ["cnp", "dscp"] => port.nic.cnp_dscp.place(),
        ["notifies"] => port.nic.notifies.place(),
        ["reacts"] => port.nic.reacts.place(),
        ["queue", number, "turn"] => port.queues.get(index(number)?)?.scheduling.place(),
        ["queue", number, _] => port.queues.get(index(number)?)?.wred.place(),
        ["group", number, "reserved"] => port.groups.get(index(number)?)?.reserved.place(),
        ["group", number, "threshold"] => port.groups.get(index(number)?)?.threshold.place(),
        ["group", number, "headroom"] => port.groups.get(index(number)?)?.headroom.place(),
        ["group", number, ..] => port.groups.get(index(number)?)?.xon_offset.place(),
        ["dscp", number, _] => port.maps.dscp_to_class.get(index(number)?)?.place(),
        ["class", number, "queue"] => port.maps.class_to_queue.get(index(number)?)?.place(),
        ["class", number, _] => port.maps.class_to_group.get(index(number)?)?.place(),
        ["pause", number, "queue"] => port.maps.pfc_to_queue.get(index(number)?)?.place(),
        ["pause", number, _] => port.maps.pfc_to_group.get(index(number)?)?.place(),
        _ => None,
    }
}

fn scheduling(turn: &Scheduling) -> String {
    match turn {
        Scheduling::Strict => "strict".to_owned(),
        Scheduling::Weighted(weight) => format!("{weight}%"),
    }
}

fn threshold(threshold: &Threshold) -> String {
    match threshold {
        Threshold::Dynamic(alpha) => format!("alpha {alpha}"),
        Threshold::Static(size) => size.to_string(),
    }
}

pub(crate) fn wred(wred: &Wred) -> String {
    let verb = if wred.marks { "marks" } else { "drops" };
    match wred.levels {
        Levels::Sizes(ecn) => format!("{verb} {} to {}, {}", ecn.kmin, ecn.kmax, ecn.pmax),
        Levels::Fill { min, max, pmax } => format!("{verb} fill {min} to {max}, {pmax}"),
        Levels::Counts { min, max, pmax } => format!("acts from {min} to {max}, {pmax}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{Choices, Intent};
    use crate::system_id::SystemId;
    use xoff_fabric::load_fabric;

    #[test]
    fn every_fact_can_be_copied() {
        let file = "[cluster]\ngpus = 8\ngpus-per-server = 2\n[fabric]\nkind = 'leaf-spine'\n\
                    leaves = 2\nspines = 2\n[switch.watchdog]\ndetect = '200ms'\nrestore = '400ms'\n";
        let setup = load_fabric(file).into_result().expect("a fabric");
        let intent = Intent::with(&setup, Choices::all(SystemId::Sonic));
        for from in intent.devices.iter().flat_map(|device| device.ports.values()) {
            let facts = Facts::of_port(from);
            let mut to = Port::default();
            for about in facts.subjects() {
                assert_ne!(Facts::of_port(&to).get(about), facts.get(about), "{about} is there");
                copy(about, from, &mut to);
                assert_eq!(Facts::of_port(&to).get(about), facts.get(about), "{about}");
            }
            assert_eq!(Facts::of_port(&to), facts);
        }
    }
}
