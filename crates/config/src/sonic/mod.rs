//! SONiC: the QoS tables of `config_db.json`.
//!
//! Table and field names are those of SONiC's YANG models. What SONiC says by binding a map is
//! modelled so: a port trusts DSCPs exactly when a `dscp_to_tc_map` is bound to it. `size` of a
//! lossless profile includes the headroom on NVIDIA silicon and excludes it on others; a `size`
//! below `xoff` cannot include it.

mod parse;
mod render;
mod tables;

use crate::device::{Device, Port};
use crate::place::Said;
use crate::qos::{Reaction, Trust};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit;
use xoff_fabric::model::Threshold;
use xoff_units::{Bytes, Span};

/// SONiC.
pub(crate) struct Sonic;

/// Exponents that `dynamic_th` can have.
const ALPHA: (i32, i32) = (-8, 7);

impl System for Sonic {
    fn id(&self) -> SystemId {
        SystemId::Sonic
    }

    fn likeness(&self, text: &str) -> u32 {
        let main = ["\"DSCP_TO_TC_MAP\"", "\"PORT_QOS_MAP\"", "\"PORT\"", "\"DEVICE_METADATA\""];
        let shape = text.contains('{') && text.contains('"');
        let known = main.iter().filter(|table| text.contains(**table)).count() as u32;
        let names = tables::KNOWN.iter().chain(&tables::OTHERS);
        let more = names.filter(|name| text.contains(&format!("\"{name}\":"))).count() as u32;
        if shape { 10 * known + 5 * more } else { 0 }
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9216), limits);
        fit::queues(&mut device, fit::whole_percent);
        let included = headroom_included(&device);
        let wanted = steps(&device);
        fit::groups(&mut device, |group| {
            fit::power_of_two(group, ALPHA.0, ALPHA.1);
            if let (false, Some(headroom)) = (included, group.headroom.get()) {
                let most = headroom.saturating_sub(Bytes::new(1));
                group.reserved = group.reserved.map(|reserved| reserved.min(most));
            }
        });
        // The pool is written with the profiles of lossless groups, and a switch without PFC has none.
        let lossless = |port: &Port| port.groups.iter().any(|group| !group.is_absent());
        if !device.ports.values().any(lossless) {
            (device.shared_buffer, device.headroom_pool) = (Said::Absent, Said::Absent);
        }
        let unstable = "dynamic load balancing has no stable configuration in SONiC";
        fit::hash_only(&mut device, unstable, limits);
        for port in device.ports.values_mut() {
            port.balancing = Said::Absent;
            let classified = port.maps.dscp_to_class.iter().any(Said::is_said);
            port.trust = if classified { Said::meant(Trust::Dscp) } else { Said::Absent };
            let watchdog = &mut port.watchdog;
            let ms = |span, low, high| Span::from_ms(fit::millis(span, low, high));
            watchdog.detect = watchdog.detect.map(|span| ms(span, 100, 5_000));
            watchdog.restore = watchdog.restore.map(|span| ms(span, 100, 60_000));
        }
        let said = [
            "pause thresholds are powers of two from 1/256 to 128",
            "the reserved buffer of a lossless group is below its headroom",
            "the watchdog detects within 100 ms to 5 s and restores within 100 ms to 60 s",
        ];
        for ((sentence, before), after) in said.into_iter().zip(wanted).zip(steps(&device)) {
            if before != after {
                limits.push(sentence.to_owned());
            }
        }
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        Rendered::only(device, "json", render::render(device))
    }

    fn port_name(&self, cage: Cage) -> String {
        format!("Ethernet{}", cage.cage * 8 + cage.link * (8 / cage.links.clamp(1, 8)))
    }
}

/// What has steps or ranges here: thresholds, reserved buffers, times of the watchdog.
fn steps(device: &Device) -> [Vec<String>; 3] {
    let groups = || device.ports.values().flat_map(|port| port.groups.iter());
    let watchdogs = device.ports.values().map(|port| port.watchdog);
    let times = watchdogs.map(|watchdog| (watchdog.detect.get(), watchdog.restore.get()));
    [
        groups().filter_map(|group| group.threshold.get()).map(|t| format!("{t:?}")).collect(),
        groups().filter_map(|group| group.reserved.get()).map(|size| size.to_string()).collect(),
        times.map(|times| format!("{times:?}")).collect(),
    ]
}

/// Whether `size` of a lossless profile includes its headroom.
fn headroom_included(device: &Device) -> bool {
    let hardware = device.hardware.value().map(|text| text.to_ascii_lowercase());
    hardware.is_some_and(|text| {
        ["spectrum", "mlnx", "mellanox", "nvidia", "msn", "sn5"].iter().any(|w| text.contains(w))
    })
}

/// The words of `PFC_WD` actions.
const fn action(reaction: Reaction) -> &'static str {
    reaction.name()
}

/// The pool's mode that a threshold needs.
const fn mode(threshold: Threshold) -> &'static str {
    match threshold {
        Threshold::Dynamic(_) => "dynamic",
        Threshold::Static(_) => "static",
    }
}

#[cfg(test)]
mod tests;
