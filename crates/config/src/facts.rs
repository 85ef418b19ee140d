//! What a device is configured to do, as a list of plain facts: for comparing two devices, whatever
//! their systems and wherever things were said.

use crate::device::{Device, Port};
use crate::place::Said;
use crate::qos::{Levels, Reaction, Trust, Wred};
use std::collections::BTreeMap;
use xoff_fabric::model::{Scheduling, Threshold};

/// What a device is configured to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    }
}
