//! Arista EOS on XGS silicon (Trident, Tomahawk).
//!
//! A port gets its settings from a `qos profile` and from statements of its own. The maps are the
//! box's; `qos map traffic-class N to dscp M` rewrites packets and classifies none. Priority groups
//! have the number of the traffic class. Buffers are the box's, too: reservations and thresholds
//! hold for all ports, and headroom is one pool.

mod maps;
mod parse;
mod policy;
mod render;
mod section;
mod vxlan;

pub(crate) use render::Profile;

use crate::device::{Balancing, Device};
use crate::place::Said;
use crate::qos::{GroupSettings, Reaction};
use crate::system::{Cage, Input, Rendered, System, SystemId};
use crate::text::fit::{self, Top};
use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_fabric::model::{Scheduling, Threshold, WatchdogAction};
use xoff_units::{Bytes, Span};

/// Arista EOS.
pub(crate) struct Eos;

/// Exponents of buffer thresholds: 1/64 to 8.
const ALPHA: (i32, i32) = (-6, 3);
/// MTU of a port that says none. What is routed may have 1500 bytes; what is switched passes at 9214
/// (`show interfaces` prints `IP MTU 1500` and `Ethernet MTU 9214`). A port that says neither is taken for
/// a routed one, as those of RoCE fabrics are: too small is the safe error.
fn default_mtu(routed: Option<bool>) -> Bytes {
    Bytes::new(if routed == Some(false) { 9214 } else { 1500 })
}

/// Shortest and longest times of the watchdog, in milliseconds.
pub(crate) const WATCHDOG_MS: (u64, u64) = (10, 60_000);

impl System for Eos {
    fn id(&self) -> SystemId {
        SystemId::Eos
    }

    fn marks(&self) -> &'static [(&'static str, u32)] {
        &[
            ("EOS-", 20),
            ("RANCID-CONTENT-TYPE: arista", 40),
            ("service routing protocols model", 20),
            ("management api http-commands", 20),
            ("management api gnmi", 15),
            ("\nvrf instance ", 10),
            ("peer group ", 6),
            ("\nmlag configuration", 10),
            ("\nqueue-monitor ", 10),
            ("spanning-tree mode mstp", 3),
            ("\ninterface Management", 12),
            ("\ninterface Vxlan1", 10),
            ("\n   vrf ", 3),
            ("\n   no switchport", 3),
            ("type quality-of-service", 20),
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
        strict_at_the_top(&mut device, limits);
        for port in device.ports.values_mut() {
            port.mtu = port.mtu.or_default(default_mtu(None));
        }
        self.fit_buffers(&mut device, limits);
        device.balancing = match device.balancing.get() {
            None | Some(Balancing::Hash) => Said::Default(Balancing::Hash),
            Some(Balancing::Flowlet) => Said::meant(Balancing::Flowlet),
            Some(Balancing::Packet) => {
                limits.push("dynamic load balancing moves flowlets, not packets".to_owned());
                Said::meant(Balancing::Flowlet)
            }
        };
        let (mut forwards, mut clamped) = (false, false);
        for port in device.ports.values_mut() {
            port.cable = Said::Absent;
            port.balancing = Said::Absent;
            let watchdog = &mut port.watchdog;
            // EOS takes hundredths of a second.
            let mut ms = |span| {
                let ms = fit::millis(span, WATCHDOG_MS.0, WATCHDOG_MS.1) / 10 * 10;
                let fitting = Span::from_ms(ms);
                clamped |= fitting != span;
                fitting
            };
            watchdog.detect = watchdog.detect.map(&mut ms);
            watchdog.restore = watchdog.restore.map(&mut ms);
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
        if clamped {
            let (low, high) = WATCHDOG_MS;
            limits.push(format!("times of the watchdog are tens of milliseconds, {low} to {high}"));
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

/// A queue that takes turns makes those below it take turns, too, whatever is said of them: what stands above a strict queue
/// and is not needed becomes strict.
fn strict_at_the_top(device: &mut Device, limits: &mut Vec<String>) {
    let (mut changed, mut needed) = (BTreeSet::new(), false);
    for port in device.ports.values_mut() {
        let from = match fit::top_of(port) {
            Top::Fine => continue,
            Top::Idle(from) => from,
            Top::Needed => {
                needed = true;
                continue;
            }
        };
        let queues = Arc::make_mut(&mut port.queues);
        for (number, queue) in queues.iter_mut().enumerate().skip(from) {
            if queue.scheduling.get() != Some(Scheduling::Strict) {
                changed.insert(number);
                queue.scheduling = Said::meant(Scheduling::Strict);
            }
        }
        let mut turns = queues.map(|queue| queue.scheduling.get());
        fit::shares(&mut turns);
        for (queue, turn) in queues.iter_mut().zip(turns) {
            queue.scheduling = turn.map_or(Said::Absent, Said::meant);
        }
    }
    for number in changed {
        limits.push(format!(
            "queue {number} is strict, too: one that takes turns makes all below it take turns"
        ));
    }
    if needed {
        let why = "a strict queue below one that takes turns is not strict";
        limits.push(why.to_owned());
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
        let resumes = |group: &GroupSettings| group.xon_offset.is_said();
        if device.ports.values().any(|port| port.groups.iter().any(resumes)) {
            limits.push("when a paused group resumes is left to the box".to_owned());
        }
        let Some(first) = device.ports.values().next() else { return };
        let mut common = first.groups.map(|group| {
            let dynamic = matches!(group.threshold.get(), Some(Threshold::Dynamic(_)));
            GroupSettings {
                reserved: group.reserved,
                threshold: if dynamic { group.threshold } else { Said::Absent },
                ..GroupSettings::default()
            }
        });
        let wanted = common.map(|group| group.threshold.get());
        common.iter_mut().for_each(|group| fit::power_of_two(group, ALPHA.0, ALPHA.1));
        if wanted != common.map(|group| group.threshold.get()) {
            limits.push("a dynamic threshold (alpha) is a power of two, 1/64 to 8".to_owned());
        }
        let fixed =
            |group: &GroupSettings| matches!(group.threshold.get(), Some(Threshold::Static(_)));
        if first.groups.iter().any(fixed) {
            limits.push("a fixed pause threshold cannot be set: the box keeps its own".to_owned());
        }
        let differs = |group: (&GroupSettings, &GroupSettings)| {
            (group.0.reserved.get(), group.0.threshold.get())
                != (group.1.reserved.get(), group.1.threshold.get())
        };
        let other = |groups: &[GroupSettings; 8]| groups.iter().zip(&*first.groups).any(differs);
        if device.ports.values().any(|port| other(&port.groups)) {
            limits.push("buffers are the box's: all ports have those of the first".to_owned());
        }
        let common = Arc::new(common);
        for port in device.ports.values_mut() {
            port.groups = Arc::clone(&common);
        }
    }
}
