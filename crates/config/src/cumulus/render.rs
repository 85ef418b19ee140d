//! Writing NVUE commands.

use super::{USUAL_POLL_MS, USUAL_ROBUSTNESS, buffers};
use crate::device::{Balancing, Device, Port};
use crate::number::Priorities;
use crate::place::Said;
use crate::qos::{GroupSettings, Levels, QueueSettings, Trust};
use crate::text::profiles::{Names, Pairs, leads_to, lists, number_of, pairs};
use crate::text::{description, fit};
use std::fmt::Write;
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::{Length, Span};

/// What ports refer to, in the order of their numbers.
#[derive(Default)]
struct Profiles {
    names: Names,
    mapping: Vec<(Option<Trust>, Pairs)>,
    scheduler: Vec<Vec<(usize, Scheduling)>>,
    congestion: Vec<[QueueSettings; 8]>,
    pfc: Vec<(Priorities, Option<Length>)>,
}

pub(super) fn render(device: &Device) -> String {
    let names = Names::of(device.part, "");
    let mut profiles = Profiles { names, ..Profiles::default() };
    let mut ports = String::new();
    for (name, port) in &device.ports {
        interface(&mut ports, name.as_str(), port, &mut profiles);
    }
    let mut text = format!("# RoCE configuration of {} for Cumulus Linux (NVUE)\n", device.name);
    mappings(&mut text, &profiles);
    queue_mapping(&mut text, device);
    schedulers(&mut text, &profiles);
    congestion(&mut text, &profiles);
    pools(&mut text, device, &profiles);
    pauses(&mut text, &profiles);
    let watching = device.ports.values().find(|port| port.watchdog.on.said() == Some(&true));
    if let Some(detect) = watching.and_then(|port| port.watchdog.detect.get()) {
        let (poll, robustness) = polls(detect);
        let _ = writeln!(text, "nv set qos pfc-watchdog polling-interval {poll}");
        let _ = writeln!(text, "nv set qos pfc-watchdog robustness {robustness}");
    }
    if device.balancing.said().is_some_and(|balancing| *balancing != Balancing::Hash) {
        text += "nv set router adaptive-routing state enabled\n";
    }
    text + &ports
}

/// Polling interval in milliseconds and polls for a time.
pub(super) fn polls(detect: Span) -> (u64, u64) {
    let ms = fit::millis(detect, USUAL_POLL_MS * USUAL_ROBUSTNESS, 15_000);
    (ms / USUAL_ROBUSTNESS, USUAL_ROBUSTNESS)
}

impl Profiles {
    fn name(&self, number: usize) -> String {
        self.names.name(number)
    }
}

fn interface(text: &mut String, name: &str, port: &Port, profiles: &mut Profiles) {
    if let Some(peer) = leads_to(port) {
        let _ = writeln!(text, "# {name} to {peer}");
    }
    let set = format!("nv set interface {name}");
    if let Some(words) = description::of(port) {
        let _ = writeln!(text, "{set} description '{words}'");
    }
    if let Some(mtu) = port.mtu.said() {
        let _ = writeln!(text, "{set} link mtu {}", mtu.get());
    }
    let trust = port.trust.said().copied();
    let dscps = pairs(&port.maps.dscp_to_class, |class| class.index());
    if trust.is_some() || !dscps.is_empty() {
        let number = number_of(&mut profiles.mapping, &(trust, dscps));
        let _ = writeln!(text, "{set} qos mapping profile {}", profiles.name(number));
    }
    let turns: Vec<(usize, Scheduling)> = turns(&port.queues);
    if !turns.is_empty() {
        let number = number_of(&mut profiles.scheduler, &turns);
        let _ = writeln!(text, "{set} qos egress-scheduler profile {}", profiles.name(number));
    }
    if port.queues.iter().any(|queue| queue.wred.is_said()) {
        let marking = port.queues.map(|queue| QueueSettings { scheduling: Said::Absent, ..queue });
        let number = number_of(&mut profiles.congestion, &marking);
        let _ = writeln!(text, "{set} qos congestion-control profile {}", profiles.name(number));
    }
    if let Some(priorities) = port.pfc.said().filter(|set| !set.is_empty()) {
        let number = number_of(&mut profiles.pfc, &(*priorities, port.cable.said().copied()));
        let _ = writeln!(text, "{set} qos pfc profile {}", profiles.name(number));
    }
    if port.watchdog.on.said() == Some(&true) {
        let _ = writeln!(text, "{set} qos pfc-watchdog");
    }
    if port.balancing.said() == Some(&true) {
        let _ = writeln!(text, "{set} router adaptive-routing state enabled");
    }
}

fn turns(queues: &[QueueSettings; 8]) -> Vec<(usize, Scheduling)> {
    let numbered = queues.iter().enumerate();
    numbered.filter_map(|(number, queue)| Some((number, *queue.scheduling.said()?))).collect()
}

fn mappings(text: &mut String, profiles: &Profiles) {
    for (number, (trust, dscps)) in profiles.mapping.iter().enumerate() {
        let set = format!("nv set qos mapping {}", profiles.name(number));
        if let Some(trust) = trust {
            let word = match trust {
                Trust::Dscp => "l3",
                Trust::Pcp => "l2",
                Trust::Both => "both",
                Trust::Nothing => "port",
            };
            let _ = writeln!(text, "{set} trust {word}");
        }
        for (class, dscps) in lists(dscps) {
            let _ = writeln!(text, "{set} dscp {dscps} switch-priority {class}");
        }
    }
}

/// The map is the box's: that of the first port that says one.
fn queue_mapping(text: &mut String, device: &Device) {
    let queues = |port: &Port| pairs(&port.maps.class_to_queue, |queue| queue.index());
    let said = device.ports.values().map(queues).find(|queues| !queues.is_empty());
    for (class, queue) in said.unwrap_or_default() {
        let set = "nv set qos egress-queue-mapping default-global";
        let _ = writeln!(text, "{set} switch-priority {class} traffic-class {queue}");
    }
}

/// Percent of the memory for what is lossless: half, as NVIDIA's guide has it.
const LOSSLESS_PERCENT: u32 = 50;

/// Memory for what is lossless, without which PFC protects nothing, and when it pauses.
fn pools(text: &mut String, device: &Device, profiles: &Profiles) {
    if profiles.pfc.is_empty() {
        return;
    }
    if device.part.is_partial() {
        *text += "# unless there is a lossless pool with memory already\n";
    }
    for pool in ["default-lossless", "default-lossy"] {
        let _ = writeln!(text, "nv set qos traffic-pool {pool} memory-percent {LOSSLESS_PERCENT}");
    }
    let mut groups = device.ports.values().flat_map(|port| port.groups.iter());
    let said = |group: &GroupSettings| group.threshold.said().copied();
    if let Some(Threshold::Dynamic(alpha)) = groups.find_map(said) {
        let set = "nv set qos advance-buffer-config default-global ingress-lossless-buffer";
        let _ = writeln!(text, "{set} shared-alpha {}", buffers::name(alpha));
    }
}

fn schedulers(text: &mut String, profiles: &Profiles) {
    for (number, turns) in profiles.scheduler.iter().enumerate() {
        let set = format!("nv set qos egress-scheduler {}", profiles.name(number));
        for (queue, turn) in turns {
            match turn {
                Scheduling::Strict => {
                    let _ = writeln!(text, "{set} traffic-class {queue} mode strict");
                }
                Scheduling::Weighted(share) => {
                    let _ = writeln!(text, "{set} traffic-class {queue} mode dwrr");
                    let _ = writeln!(text, "{set} traffic-class {queue} bw-percent {share}");
                }
            }
        }
    }
}

fn congestion(text: &mut String, profiles: &Profiles) {
    for (number, queues) in profiles.congestion.iter().enumerate() {
        let set = format!("nv set qos congestion-control {}", profiles.name(number));
        for (queue, settings) in queues.iter().enumerate() {
            let Some(wred) = settings.wred.said() else { continue };
            let Levels::Sizes(ecn) = wred.levels else { continue };
            let set = format!("{set} traffic-class {queue}");
            let word = if wred.marks { "enable" } else { "disable" };
            let _ = writeln!(text, "{set} ecn {word}");
            if !wred.marks {
                let _ = writeln!(text, "{set} red enable");
            }
            let _ = writeln!(text, "{set} min-threshold {}", ecn.kmin.get());
            let _ = writeln!(text, "{set} max-threshold {}", ecn.kmax.get());
            let _ = writeln!(text, "{set} probability {}", fit::percent(ecn.pmax));
        }
    }
}

fn pauses(text: &mut String, profiles: &Profiles) {
    for (number, (priorities, cable)) in profiles.pfc.iter().enumerate() {
        let set = format!("nv set qos pfc {}", profiles.name(number));
        for priority in priorities.iter() {
            let _ = writeln!(text, "{set} switch-priority {priority}");
        }
        let _ = writeln!(text, "{set} tx enable\n{set} rx enable");
        if let Some(cable) = cable {
            let _ = writeln!(text, "{set} cable-length {}", cable.as_mm().div_ceil(1000));
        }
    }
}
