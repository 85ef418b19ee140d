//! Cisco NX-OS on Nexus 9000, with the eight-queue policy templates.
//!
//! A port classifies by the `type qos` policy on it; queues, priority groups and qos-groups have one
//! number. `pause pfc-cos` in the network-qos policy says which priority pauses which. The times
//! of the watchdog are not configured: how they are written is not verified. Headroom is left to the
//! box for cables up to 100 m, as Cisco's documents say, unless a fixed pause threshold is wanted.

mod parse;
mod policy;
mod render;

use crate::device::{Device, Port};
use crate::number::Class;
use crate::place::Said;
use crate::qos::{GroupSettings, Maps};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit::{self, Top};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_fabric::rules::buffer;
use xoff_units::{Bytes, Length};

/// Cisco NX-OS.
pub(crate) struct NxOs;

/// MTU of a port that says none, switched or routed.
const DEFAULT_MTU: Bytes = Bytes::new(1500);

/// Up to here the box sizes headroom well enough by itself.
const OWN_HEADROOM: Length = Length::from_m(100);

impl System for NxOs {
    fn id(&self) -> SystemId {
        SystemId::NxOs
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[
            ("RANCID-CONTENT-TYPE: cisco-nx", 40),
            ("\nvrf context ", 15),
            ("\ninterface mgmt0", 12),
            ("\ninterface nve1", 12),
            ("\nvpc domain ", 12),
            ("vdc ", 2),
            ("\n  no switchport", 3),
            ("\n  vrf member ", 10),
            ("NXOS", 10),
            ("type network-qos", 30),
            ("policy-map type qos", 20),
            ("class-map type qos", 10),
            ("type queuing", 15),
            ("set qos-group", 10),
            ("priority-flow-control mode", 10),
            ("\nfeature ", 5),
            ("!Command: show running-config", 20),
            ("boot nxos", 30),
            ("\ninterface Ethernet1/", 2),
            ("hardware profile dlb", 10),
        ]
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9216), limits);
        fit::queues(&mut device, fit::whole_percent);
        strict_at_the_top(&mut device, limits);
        let shared = device.shared_buffer.get();
        let ports = device.ports.len() as u64;
        let timed = fit::untimed_watchdogs(&mut device);
        let (mut own, mut fixed) = (false, false);
        for port in device.ports.values_mut() {
            port.mtu = port.mtu.or_default(DEFAULT_MTU);
            let groups = fit_groups(port, shared, ports);
            for (wanted, fitting) in port.groups.iter().zip(&groups) {
                own |= wanted.headroom.is_said() && !fitting.headroom.is_said();
                fixed |= wanted.threshold.get() != fitting.threshold.get()
                    && fitting.threshold.is_said();
            }
            port.groups = Arc::new(groups);
            port.cable = Said::Absent;
            own_numbers(Arc::make_mut(&mut port.maps));
        }
        if timed {
            limits.push("the watchdog keeps the times and the action of the box".to_owned());
        }
        if own {
            let reach = OWN_HEADROOM;
            limits.push(format!(
                "pause thresholds and headroom of cables up to {reach} are left to the box"
            ));
        }
        if fixed {
            let why =
                "a dynamic threshold (alpha) becomes a fixed one, for all ports paused at once";
            limits.push(why.to_owned());
        }
        if device.headroom_pool.is_said() {
            limits.push("headroom is per port: no pool is configured".to_owned());
        }
        fit::own_buffers(&mut device);
        fit::hash_by_default(&mut device);
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        Rendered::only(device, "cfg", render::render(device))
    }

    fn port_name(&self, cage: Cage) -> String {
        match cage.links {
            1 => format!("Ethernet1/{}", cage.cage + 1),
            _ => format!("Ethernet1/{}/{}", cage.cage + 1, cage.link + 1),
        }
    }
}

/// Strict queues get the highest numbers, as in published configurations (q7, `priority level 1`): their classes change places
/// with those above that are not needed.
fn strict_at_the_top(device: &mut Device, limits: &mut Vec<String>) {
    let (mut moves, mut needed) = (BTreeSet::new(), false);
    for port in device.ports.values_mut() {
        let from = match fit::top_of(port) {
            Top::Fine => continue,
            Top::Idle(from) => from,
            Top::Needed => {
                needed = true;
                continue;
            }
        };
        let is_strict =
            |class: &usize| port.queues[*class].scheduling.get() == Some(Scheduling::Strict);
        let (strict, others): (Vec<usize>, Vec<usize>) = (from..8).rev().partition(is_strict);
        // The class that every number from the top down has now.
        let classes: Vec<usize> = strict.into_iter().chain(others).collect();
        let places: BTreeMap<usize, usize> = classes.into_iter().zip((from..8).rev()).collect();
        let maps = Arc::make_mut(&mut port.maps);
        for class in &mut maps.dscp_to_class {
            *class = class.map(|class| {
                let place = places.get(&class.index()).and_then(|place| Class::new(*place as u8));
                place.unwrap_or(class)
            });
        }
        let (queues, groups) = (port.queues.clone(), port.groups.clone());
        for (class, place) in &places {
            Arc::make_mut(&mut port.queues)[*place] = queues[*class];
            Arc::make_mut(&mut port.groups)[*place] = groups[*class];
        }
        moves.extend(places.into_iter().filter(|(class, place)| class != place));
    }
    for (class, place) in moves {
        limits.push(format!("class {class} has qos-group {place}: strict queues are at the top"));
    }
    if needed {
        let why = "a strict queue below a weighted one: published configurations have strict \
                   queues at the top (q7, priority level 1); that a box takes this is not verified";
        limits.push(why.to_owned());
    }
}

/// Queues, groups and pauses have the number of the qos-group.
fn own_numbers(maps: &mut Maps) {
    maps.class_to_queue = [Said::Absent; 8];
    maps.number_by_class();
}

/// A fixed pause threshold where the box's own headroom does not reach.
fn fit_groups(port: &Port, shared: Option<Bytes>, ports: u64) -> [GroupSettings; 8] {
    let long = port.cable.get().is_some_and(|cable| cable > OWN_HEADROOM);
    port.groups.map(|group| {
        let (Some(threshold), Some(headroom)) = (group.threshold.get(), group.headroom.get())
        else {
            return GroupSettings::default();
        };
        if !long && matches!(threshold, Threshold::Dynamic(_)) {
            return GroupSettings::default();
        }
        let reserved = match threshold {
            Threshold::Dynamic(_) => group.reserved.get().unwrap_or(Bytes::ZERO),
            Threshold::Static(_) => Bytes::ZERO,
        };
        // What is left when every port stands at its threshold.
        let pause = reserved + buffer::xoff(threshold, shared.unwrap_or(Bytes::ZERO), ports);
        GroupSettings {
            reserved: Said::Absent,
            threshold: Said::meant(Threshold::Static(pause)),
            xon_offset: Said::meant(group.xon_offset.get().unwrap_or(Bytes::ZERO).min(pause)),
            headroom: Said::meant(headroom),
        }
    })
}
