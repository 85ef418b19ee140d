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
use crate::place::Said;
use crate::qos::{GroupSettings, Maps};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit;
use std::sync::Arc;
use xoff_fabric::model::Threshold;
use xoff_fabric::rules::buffer;
use xoff_units::{Bytes, Length};

/// Cisco NX-OS.
pub(crate) struct NxOs;

/// Up to here the box sizes headroom well enough by itself.
const OWN_HEADROOM: Length = Length::from_m(100);

impl System for NxOs {
    fn id(&self) -> SystemId {
        SystemId::NxOs
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[
            ("type network-qos", 30),
            ("policy-map type qos", 20),
            ("class-map type qos", 20),
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
        let shared = device.shared_buffer.get();
        let ports = device.ports.len() as u64;
        let timed = fit::untimed_watchdogs(&mut device);
        for port in device.ports.values_mut() {
            let groups = fit_groups(port, shared, ports);
            port.groups = Arc::new(groups);
            port.cable = Said::Absent;
            own_numbers(Arc::make_mut(&mut port.maps));
        }
        if timed {
            limits.push("the watchdog keeps the times of the box".to_owned());
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
