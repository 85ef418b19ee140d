//! Writing NX-OS configuration.

use crate::device::{Balancing, Device, Part, Port};
use crate::number::Class;
use crate::place::Said;
use crate::qos::{GroupSettings, Levels, Maps, QueueSettings};
use crate::text::fit;
use crate::text::notes::sized;
use crate::text::ports::description;
use crate::text::profiles::{joined, leads_to, number_of, said_queues};
use std::fmt::Write;
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::Bytes;

/// What ports refer to, in the order of their numbers.
#[derive(Default)]
struct Policies {
    /// Only some ports of a device: names of their own, and nothing applied to all.
    part: Part,
    /// Whether the watchdog is turned on for all ports.
    watched: bool,
    classify: Vec<Vec<Vec<usize>>>,
    queuing: Vec<[QueueSettings; 8]>,
    input: Vec<[GroupSettings; 8]>,
}

pub(super) fn render(device: &Device) -> String {
    let watches = |port: &Port| port.watchdog.on.said() == Some(&true);
    let watched = device.ports.values().any(watches);
    let mut policies = Policies { part: device.part, watched, ..Policies::default() };
    let mut ports = String::new();
    for (name, port) in &device.ports {
        interface(&mut ports, name.as_str(), port, &mut policies);
    }
    let mut text = format!("! RoCE configuration of {} for NX-OS, to be merged\n", device.name);
    if !device.part.is_partial() {
        text += "! how sure: read in documents of the vendor, not accepted by a box here\n";
    }
    classify(&mut text, &policies);
    let network = network_qos(&mut text, device);
    queuing(&mut text, &policies);
    input(&mut text, &policies);
    let queuing_for_all = !policies.queuing.is_empty() && !device.part.is_partial();
    if network || queuing_for_all {
        text += "system qos\n";
        if network {
            text += "  service-policy type network-qos ROCE-NETWORK\n";
        }
        if queuing_for_all {
            text += "  service-policy type queuing output ROCE-QUEUING\n";
        }
    }
    if watched {
        text += "! frees a queue that stays paused\npriority-flow-control watch-dog-interval on\n";
    }
    balancing(&mut text, device);
    text + &ports
}

impl Policies {
    /// What distinguishes the policies of one kind.
    fn suffix(&self, number: usize) -> String {
        let fix = match self.part {
            Part::Whole => "",
            Part::Change => "-FIX",
            Part::Back => "-BACK",
        };
        if number == 0 { fix.to_owned() } else { format!("{fix}-{}", number + 1) }
    }
}

fn interface(text: &mut String, name: &str, port: &Port, policies: &mut Policies) {
    let mut lines = String::new();
    let partial = policies.part.is_partial();
    if let Some(mtu) = port.mtu.said() {
        let _ = writeln!(lines, "  mtu {}", mtu.get());
    }
    if port.pfc.said().is_some_and(|set| !set.is_empty()) {
        lines += "  priority-flow-control mode on\n";
    }
    match port.watchdog.on.said() {
        Some(true) => lines += "  priority-flow-control watch-dog-interval on\n",
        Some(false) if policies.watched || partial => {
            lines += "  priority-flow-control watch-dog-interval off\n";
        }
        _ => {}
    }
    let classes = dscps(&port.maps);
    if classes.iter().any(|dscps| !dscps.is_empty()) {
        let number = number_of(&mut policies.classify, &classes);
        let number = policies.suffix(number);
        let _ = writeln!(lines, "  service-policy type qos input ROCE-CLASSIFY{number}");
    }
    if port.queues.iter().any(QueueSettings::is_said) {
        let number = number_of(&mut policies.queuing, &port.queues);
        // The first is the box's; a port of another speed has its own.
        if number > 0 || policies.part.is_partial() {
            let number = policies.suffix(number);
            let _ = writeln!(lines, "  service-policy type queuing output ROCE-QUEUING{number}");
        }
    }
    if port.groups.iter().any(|group| !group.is_absent()) {
        let number = number_of(&mut policies.input, &port.groups);
        let number = policies.suffix(number);
        let _ = writeln!(lines, "  service-policy type queuing input ROCE-INPUT{number}");
    }
    if lines.is_empty() {
        return;
    }
    if let Some(peer) = leads_to(port) {
        let _ = writeln!(text, "! to {peer}");
    }
    let _ = writeln!(text, "interface {name}");
    if let Some(said) = description(port).filter(|_| !partial) {
        let _ = writeln!(text, "  description {said}");
    }
    *text += &lines;
}

/// DSCPs of every qos-group but 0, which has what no class matches.
fn dscps(maps: &Maps) -> Vec<Vec<usize>> {
    Class::all().skip(1).map(|class| maps.dscps_of(class)).collect()
}

fn classify(text: &mut String, policies: &Policies) {
    for (number, classes) in policies.classify.iter().enumerate() {
        let end = policies.suffix(number);
        let named = || (1..).zip(classes).filter(|(_, dscps)| !dscps.is_empty());
        for (class, dscps) in named() {
            let _ = writeln!(text, "class-map type qos match-any ROCE-CLASS-{class}{end}");
            let _ = writeln!(text, "  match dscp {}", joined(dscps, ","));
        }
        let _ = writeln!(text, "policy-map type qos ROCE-CLASSIFY{end}");
        for (class, _) in named() {
            let _ = writeln!(text, "  class ROCE-CLASS-{class}{end}\n    set qos-group {class}");
        }
    }
}

/// The lossless classes and the MTU; true if there is anything to say.
fn network_qos(text: &mut String, device: &Device) -> bool {
    let pauses = device.ports.values().find_map(|port| port.pfc.said());
    let mtu = device.ports.values().filter_map(|port| port.mtu.said()).max();
    let lossy = pauses.is_none_or(|set| set.is_empty());
    // The policy is the box's: an MTU of some ports is no reason to replace it.
    if lossy && (mtu.is_none() || device.part.is_partial()) {
        return false;
    }
    *text += "policy-map type network-qos ROCE-NETWORK\n";
    let mtu = mtu.map_or(String::new(), |mtu| format!("    mtu {}\n", mtu.get()));
    for priority in pauses.into_iter().flat_map(|set| set.iter()) {
        let class = match priority.get() {
            0 => "c-8q-nq-default".to_owned(),
            number => format!("c-8q-nq{number}"),
        };
        let _ = writeln!(text, "  class type network-qos {class}\n    pause pfc-cos {priority}");
        *text += &mtu;
    }
    if pauses.is_none_or(|set| set.iter().all(|priority| priority.get() != 0)) && !mtu.is_empty() {
        let _ = write!(text, "  class type network-qos c-8q-nq-default\n{mtu}");
    }
    true
}

fn queue_class(direction: &str, number: usize) -> String {
    match number {
        0 => format!("c-{direction}-8q-q-default"),
        _ => format!("c-{direction}-8q-q{number}"),
    }
}

fn queuing(text: &mut String, policies: &Policies) {
    for (number, queues) in policies.queuing.iter().enumerate() {
        let _ = writeln!(text, "policy-map type queuing ROCE-QUEUING{}", policies.suffix(number));
        // Of strict queues the higher comes first.
        let mut level = 0;
        for (number, queue) in said_queues(queues).rev() {
            let _ = writeln!(text, "  class type queuing {}", queue_class("out", number));
            match queue.scheduling.said() {
                Some(Scheduling::Strict) => {
                    level += 1;
                    let _ = writeln!(text, "    priority level {level}");
                }
                Some(Scheduling::Weighted(share)) => {
                    let _ = writeln!(text, "    bandwidth remaining percent {share}");
                }
                None => {}
            }
            let Some(wred) = queue.wred.said() else { continue };
            let Levels::Sizes(ecn) = wred.levels else { continue };
            let _ = writeln!(
                text,
                "    random-detect minimum-threshold {} maximum-threshold {} drop-probability {} \
                 weight 0{}",
                sized(ecn.kmin),
                sized(ecn.kmax),
                fit::percent(ecn.pmax),
                if wred.marks { " ecn" } else { "" }
            );
        }
    }
}

fn input(text: &mut String, policies: &Policies) {
    for (number, groups) in policies.input.iter().enumerate() {
        *text += "! headroom beyond the pause threshold for long cables\n";
        let _ = writeln!(text, "policy-map type queuing ROCE-INPUT{}", policies.suffix(number));
        for (number, group) in groups.iter().enumerate() {
            let Some(Threshold::Static(pause)) = group.threshold.get() else { continue };
            let headroom = group.headroom.get().unwrap_or(Bytes::ZERO);
            let resume = pause.saturating_sub(group.xon_offset.get().unwrap_or(Bytes::ZERO));
            let class = match number {
                0 => "c-in-q-default".to_owned(),
                _ => format!("c-in-q{number}"),
            };
            let _ = writeln!(text, "  class type queuing {class}");
            let _ = writeln!(
                text,
                "    pause buffer-size {} pause-threshold {} resume-threshold {}",
                (pause + headroom).get(),
                pause.get(),
                resume.get()
            );
        }
    }
}

fn balancing(text: &mut String, device: &Device) {
    let mode = match device.balancing.said() {
        Some(Balancing::Flowlet) => "flowlet",
        Some(Balancing::Packet) => "per-packet",
        Some(Balancing::Hash) | None => return,
    };
    *text += "! takes effect after a reload; NX-OS 10.5(1)F and later\nhardware profile dlb\n";
    for (name, port) in &device.ports {
        if port.balancing == Said::meant(true) {
            let _ = writeln!(text, "  dlb-interface {name}");
        }
    }
    let _ = writeln!(text, "  mode {mode}");
}
