//! Switches in OpenConfig's models, for a gNMI `Set`: a JSON file (RFC 7951) per device.
//!
//! `openconfig-qos` has classifiers, forwarding groups, queues, schedulers, WRED with ECN and buffer
//! profiles; `openconfig-interfaces` has the MTU. PFC, headroom, the watchdog and load balancing are in
//! neither, so a device that gets only this is not lossless: [`unsaid`] names what is missing.

use super::NOT_READ;
use crate::device::{Balancing, Device, Port};
use crate::number::Class;
use crate::place::Said;
use crate::qos::{GroupSettings, Levels, Maps, QueueSettings, Wred};
use crate::system::Rendered;
use crate::text::fit;
use crate::text::profiles::{number_of, said_queues};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_fabric::model::{Scheduling, Threshold};

/// The folder of the files.
pub const FOLDER: &str = "gnmi";

/// The file of a switch.
pub fn file(device: &Device) -> Rendered {
    let text = format!("{:#}\n", document(device));
    Rendered { name: format!("{FOLDER}/{}.json", device.name), text }
}

/// What the models cannot say of a device, as sentences.
pub fn unsaid(device: &Device) -> Vec<String> {
    let mut found = Vec::new();
    let any = |has: &dyn Fn(&Port) -> bool| device.ports.values().any(has);
    if any(&|port| port.pfc.said().is_some_and(|set| !set.is_empty())) {
        found.push("OpenConfig has no PFC: nothing is lossless with these files alone".to_owned());
    }
    if any(&|port| port.groups.iter().any(|group| group.headroom.is_said())) {
        found.push("OpenConfig has no headroom and no resume threshold".to_owned());
    }
    if any(&|port| port.watchdog.on.said() == Some(&true)) {
        found.push("OpenConfig has no PFC watchdog".to_owned());
    }
    if any(&|port| port.maps.class_to_group.iter().any(Said::is_said)) {
        found.push("OpenConfig has no priority groups: buffers are by queue".to_owned());
    }
    if device.balancing.said().is_some_and(|balancing| *balancing != Balancing::Hash) {
        found.push("OpenConfig has no dynamic load balancing".to_owned());
    }
    found
}

/// How the files are used, and what is not in them.
pub fn readme(devices: &[&Device]) -> Rendered {
    let mut text = format!("<!-- {NOT_READ} -->\n# OpenConfig for gNMI\n\n");
    text += "One file per switch, with the paths `/interfaces` and `/qos`, to be sent as an update of the root \
             in JSON_IETF, for\nexample `gnmic -a leaf0 set --update-path / --update-file leaf0.json`. \
             Devices differ in what they take; compare what\n`get` returns afterwards.\n\n\
             What OpenConfig has no words for, and these files leave out:\n\n";
    let all: BTreeSet<String> = devices.iter().flat_map(|device| unsaid(device)).collect();
    for sentence in all {
        text += &format!("- {sentence}.\n");
    }
    text += "\nDeliver these with the files of the systems themselves.\n";
    Rendered { name: format!("{FOLDER}/README.md"), text }
}

/// A device in the models.
pub fn document(device: &Device) -> Value {
    let mut known = Known::default();
    let mut interfaces = Vec::new();
    let mut attached = Vec::new();
    for (name, port) in &device.ports {
        let name = name.as_str();
        let mut config = json!({"name": name, "type": "iana-if-type:ethernetCsmacd"});
        if let Some(mtu) = port.mtu.said() {
            config["mtu"] = mtu.get().into();
        }
        interfaces.push(json!({"name": name, "config": config}));
        attached.push(known.attach(name, port));
    }
    let qos = known.qos(attached);
    json!({
        "openconfig-interfaces:interfaces": {"interface": interfaces},
        "openconfig-qos:qos": qos
    })
}

/// What ports have in common, numbered as it comes.
#[derive(Default)]
struct Known {
    maps: Vec<Arc<Maps>>,
    turns: Vec<[Option<Scheduling>; 8]>,
    marks: Vec<Wred>,
    buffers: Vec<[GroupSettings; 8]>,
}

fn queue_name(number: usize) -> String {
    format!("q{number}")
}

fn group_name(map: usize, class: Class) -> String {
    match map {
        0 => format!("tc{class}"),
        _ => format!("tc{class}-{}", map + 1),
    }
}

fn numbered(stem: &str, number: usize) -> String {
    match number {
        0 => stem.to_owned(),
        _ => format!("{stem}-{}", number + 1),
    }
}

impl Known {
    fn attach(&mut self, name: &str, port: &Port) -> Value {
        let mut interface = json!({
            "interface-id": name,
            "config": {"interface-id": name},
            "interface-ref": {"config": {"interface": name}}
        });
        if port.maps.dscp_to_class.iter().any(Said::is_said) {
            let map = number_of(&mut self.maps, &port.maps);
            let classifier = |kind: &str| {
                let named = numbered(&format!("dscp-{}", kind.to_lowercase()), map);
                json!({"type": kind, "config": {"type": kind, "name": named}})
            };
            interface["input"] =
                json!({"classifiers": {"classifier": [classifier("IPV4"), classifier("IPV6")]}});
        }
        let mut output = Map::new();
        let turns = port.queues.map(|queue| queue.scheduling.said().copied());
        if turns.iter().any(Option::is_some) {
            let policy = numbered("roce", number_of(&mut self.turns, &turns));
            output.insert("scheduler-policy".into(), json!({"config": {"name": policy}}));
        }
        let queues: Vec<Value> = said_queues(&port.queues).map(|(i, q)| self.queue(i, q)).collect();
        if !queues.is_empty() {
            output.insert("queues".into(), json!({"queue": queues}));
        }
        if !output.is_empty() {
            interface["output"] = Value::Object(output);
        }
        if port.groups.iter().any(|group| !group.is_absent()) {
            let profile = numbered("roce", number_of(&mut self.buffers, &*port.groups));
            interface["input"]["config"] = json!({"buffer-allocation-profile": profile});
        }
        interface
    }

    fn queue(&mut self, number: usize, queue: &QueueSettings) -> Value {
        let name = queue_name(number);
        let mut config = json!({"name": name});
        if let Some(wred) = queue.wred.said() {
            let profile = numbered("roce", number_of(&mut self.marks, wred));
            config["queue-management-profile"] = profile.into();
        }
        json!({"name": name, "config": config})
    }

    fn qos(&self, attached: Vec<Value>) -> Value {
        let queues = (0..8usize).map(|number| {
            let name = queue_name(number);
            json!({"name": name, "config": {"name": name, "queue-id": number}})
        });
        let numbered_maps = || self.maps.iter().enumerate();
        let classifiers = numbered_maps().flat_map(|(i, maps)| classifiers(i, maps));
        let groups = numbered_maps().flat_map(|(i, maps)| groups(i, maps));
        let policies = self.turns.iter().enumerate().map(|(i, turns)| policy(i, turns));
        let marks = self.marks.iter().enumerate().map(|(i, wred)| marking(i, wred));
        let buffers = self.buffers.iter().enumerate().map(|(i, groups)| buffers(i, groups));
        let mut qos = json!({"interfaces": {"interface": attached}});
        for (outer, inner, list) in [
            ("queues", "queue", queues.collect::<Vec<_>>()),
            ("forwarding-groups", "forwarding-group", groups.collect()),
            ("classifiers", "classifier", classifiers.collect()),
            ("scheduler-policies", "scheduler-policy", policies.collect()),
            ("queue-management-profiles", "queue-management-profile", marks.collect()),
            ("buffer-allocation-profiles", "buffer-allocation-profile", buffers.collect()),
        ] {
            if !list.is_empty() {
                qos[outer] = json!({inner: list});
            }
        }
        qos
    }
}

/// A classifier per version of IP: terms by class.
fn classifiers(number: usize, maps: &Maps) -> Vec<Value> {
    let of = |kind: &str, field: &str| {
        let name = numbered(&format!("dscp-{field}"), number);
        let terms: Vec<Value> = Class::all()
            .filter(|class| !maps.dscps_of(*class).is_empty())
            .map(|class| {
                let id = class.to_string();
                let mut conditions = Map::new();
                conditions
                    .insert(field.to_owned(), json!({"config": {"dscp-set": maps.dscps_of(class)}}));
                let actions = json!({"config": {"target-group": group_name(number, class)}});
                json!({"id": id, "config": {"id": id}, "conditions": conditions, "actions": actions})
            })
            .collect();
        json!({"name": name, "config": {"name": name, "type": kind}, "terms": {"term": terms}})
    };
    vec![of("IPV4", "ipv4"), of("IPV6", "ipv6")]
}

/// The queue of every class that something is sorted into.
fn groups(number: usize, maps: &Maps) -> Vec<Value> {
    let used = Class::all().filter(|class| !maps.dscps_of(*class).is_empty());
    used.map(|class| {
        let name = group_name(number, class);
        let mut config = json!({"name": name});
        if let Some(queue) = maps.class_to_queue[class.index()].get() {
            config["output-queue"] = queue_name(queue.index()).into();
        }
        json!({"name": name, "config": config})
    })
    .collect()
}

/// Strict queues first, the highest foremost; then one turn for all that have weights.
fn policy(number: usize, turns: &[Option<Scheduling>; 8]) -> Value {
    let input = |queue: usize, weight: Option<u64>| {
        let name = queue_name(queue);
        let mut config = json!({"id": name, "input-type": "QUEUE", "queue": name});
        if let Some(weight) = weight {
            // A uint64 is a string in JSON (RFC 7951).
            config["weight"] = weight.to_string().into();
        }
        json!({"id": name, "config": config})
    };
    let mut schedulers = Vec::new();
    let mut add = |strict: bool, inputs: Vec<Value>| {
        let sequence = schedulers.len();
        let mut config = json!({"sequence": sequence});
        if strict {
            config["priority"] = "STRICT".into();
        }
        schedulers
            .push(json!({"sequence": sequence, "config": config, "inputs": {"input": inputs}}));
    };
    let mut weighted = Vec::new();
    for (queue, turn) in turns.iter().enumerate().rev() {
        match turn {
            Some(Scheduling::Strict) => add(true, vec![input(queue, None)]),
            Some(Scheduling::Weighted(share)) => {
                weighted.push(input(queue, Some(u64::from(*share))))
            }
            None => {}
        }
    }
    if !weighted.is_empty() {
        add(false, weighted);
    }
    let name = numbered("roce", number);
    json!({"name": name, "config": {"name": name}, "schedulers": {"scheduler": schedulers}})
}

fn marking(number: usize, wred: &Wred) -> Value {
    let name = numbered("roce", number);
    let mut config = json!({"enable-ecn": wred.marks, "drop": !wred.marks});
    let (pmax, unit, limits) = match wred.levels {
        Levels::Sizes(ecn) => (ecn.pmax, "", [ecn.kmin.get(), ecn.kmax.get()]),
        // Shares of what a queue may hold.
        Levels::Fill { min, max, pmax } => (pmax, "-percent", [min, max].map(fit::percent)),
        Levels::Counts { min, max, pmax } => (pmax, "", [min, max]),
    };
    for (end, limit) in ["min", "max"].into_iter().zip(limits) {
        config[format!("{end}-threshold{unit}")] = limit.to_string().into();
    }
    config["max-drop-probability-percent"] = fit::percent(pmax).into();
    let uniform = json!({"config": config});
    json!({"name": name, "config": {"name": name}, "wred": {"uniform": uniform}})
}

/// Buffers of the queues that have the number of a lossless group.
fn buffers(number: usize, groups: &[GroupSettings; 8]) -> Value {
    let name = numbered("roce", number);
    let said = groups.iter().enumerate().filter(|(_, group)| !group.is_absent());
    let queues: Vec<Value> = said
        .map(|(queue, group)| {
            let mut config = json!({"name": queue_name(queue), "use-shared-buffer": true});
            if let Some(reserved) = group.reserved.said() {
                config["dedicated-buffer"] = reserved.get().to_string().into();
            }
            match group.threshold.said() {
                Some(Threshold::Dynamic(alpha)) => {
                    config["shared-buffer-limit-type"] =
                        "openconfig-qos:DYNAMIC_BASED_ON_SCALING_FACTOR".into();
                    config["dynamic-limit-scaling-factor"] = fit::exponent(*alpha, -8, 7).into();
                }
                Some(Threshold::Static(size)) => {
                    config["shared-buffer-limit-type"] = "openconfig-qos:STATIC".into();
                    let limit = u32::try_from(size.get()).unwrap_or(u32::MAX);
                    config["static-shared-buffer-limit"] = limit.into();
                }
                None => {}
            }
            json!({"name": queue_name(queue), "config": config})
        })
        .collect();
    json!({"name": name, "config": {"name": name}, "queues": {"queue": queues}})
}
