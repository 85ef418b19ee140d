//! Arista EOS on XGS silicon (Trident, Tomahawk).
//!
//! A port gets its settings from a `qos profile` and from statements of its own. The maps are the
//! box's; `qos map traffic-class N to dscp M` rewrites packets and classifies none. Priority groups
//! have the number of the traffic class. Buffers are the box's, too: reservations and thresholds
//! hold for all ports, and headroom is one pool.

mod parse;
mod render;

use crate::device::{Balancing, Device};
use crate::place::Said;
use crate::qos::{GroupSettings, Reaction};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit;
use std::sync::Arc;
use xoff_fabric::model::{Threshold, WatchdogAction};
use xoff_units::{Bytes, Span};

/// Arista EOS.
pub(crate) struct Eos;

/// Exponents of buffer thresholds: 1/64 to 8.
const ALPHA: (i32, i32) = (-6, 3);
/// Shortest and longest times of the watchdog, in milliseconds.
pub(crate) const WATCHDOG_MS: (u64, u64) = (10, 60_000);

impl System for Eos {
    fn id(&self) -> SystemId {
        SystemId::Eos
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[
            ("EOS-", 20),
            ("uc-tx-queue ", 20),
            ("qos profile ", 20),
            ("service-profile ", 10),
            ("to traffic-class ", 20),
            ("platform trident mmu", 20),
            ("daemon TerminAttr", 20),
            ("\ntransceiver qsfp", 5),
            ("no switchport", 1),
            ("\ninterface Ethernet", 2),
            ("priority-flow-control on", 8),
            ("priority-flow-control pause watchdog", 10),
            ("ip hardware fib load-balance", 10),
        ]
    }

    fn parse(&self, input: &Input<'_>) -> Device {
        parse::parse(input)
    }

    fn fit(&self, device: &Device, limits: &mut Vec<String>) -> Device {
        let mut device = device.clone();
        fit::mtu_at_most(&mut device, Bytes::new(9214), limits);
        fit::queues(&mut device, fit::whole_percent);
        self.fit_buffers(&mut device, limits);
        device.balancing = match device.balancing.get() {
            None | Some(Balancing::Hash) => Said::Default(Balancing::Hash),
            Some(Balancing::Flowlet) => Said::meant(Balancing::Flowlet),
            Some(Balancing::Packet) => {
                limits.push("dynamic load balancing moves flowlets, not packets".to_owned());
                Said::meant(Balancing::Flowlet)
            }
        };
        let mut forwards = false;
        for port in device.ports.values_mut() {
            port.cable = Said::Absent;
            port.balancing = Said::Absent;
            let watchdog = &mut port.watchdog;
            // EOS takes hundredths of a second.
            let ms =
                |span| Span::from_ms(fit::millis(span, WATCHDOG_MS.0, WATCHDOG_MS.1) / 10 * 10);
            watchdog.detect = watchdog.detect.map(ms);
            watchdog.restore = watchdog.restore.map(ms);
            watchdog.reaction = watchdog.reaction.map(|reaction| match reaction {
                Reaction::Act(WatchdogAction::Forward) => {
                    forwards = true;
                    Reaction::Act(WatchdogAction::Drop)
                }
                other => other,
            });
            Arc::make_mut(&mut port.maps).number_by_class();
        }
        if forwards {
            limits.push("the watchdog drops a stuck queue; it cannot forward it".to_owned());
        }
        device
    }

    fn render(&self, device: &Device) -> Vec<Rendered> {
        Rendered::only(device, "cfg", render::render(device))
    }

    fn port_name(&self, cage: Cage) -> String {
        format!("Ethernet{}/{}", cage.cage + 1, 1 + cage.link * (8 / cage.links.clamp(1, 8)))
    }
}

impl Eos {
    /// The same buffers for all ports, and one pool of headroom.
    fn fit_buffers(&self, device: &mut Device, limits: &mut Vec<String>) {
        let headroom: Bytes = device
            .ports
            .values()
            .flat_map(|port| port.groups.iter().filter_map(|group| group.headroom.get()))
            .sum();
        if !device.headroom_pool.is_said() && !headroom.is_zero() {
            device.headroom_pool = Said::meant(headroom);
        }
        device.shared_buffer = Said::Absent;
        let Some(first) = device.ports.values().next() else { return };
        let mut common = first.groups.map(|group| {
            let dynamic = matches!(group.threshold.get(), Some(Threshold::Dynamic(_)));
            GroupSettings {
                reserved: group.reserved,
                threshold: if dynamic { group.threshold } else { Said::Absent },
                ..GroupSettings::default()
            }
        });
        common.iter_mut().for_each(|group| fit::power_of_two(group, ALPHA.0, ALPHA.1));
        let fixed =
            |group: &GroupSettings| matches!(group.threshold.get(), Some(Threshold::Static(_)));
        if first.groups.iter().any(fixed) {
            limits.push("a fixed pause threshold cannot be set: the box keeps its own".to_owned());
        }
        let common = Arc::new(common);
        for port in device.ports.values_mut() {
            port.groups = Arc::clone(&common);
        }
    }
}
