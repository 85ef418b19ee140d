//! Writing OS10 configuration.

use crate::device::{Device, Port};
use crate::number::Priorities;
use crate::qos::{Levels, QueueSettings, Wred};
use crate::text::fit;
use crate::text::ports::description;
use crate::text::profiles::{Names, Pairs, leads_to, lists, number_of, pairs, said_queues};
use std::fmt::Write;
use xoff_fabric::model::Scheduling;

/// What ports refer to, in the order of their numbers.
#[derive(Default)]
struct Profiles {
    names: Names,
    /// Only some ports of a device.
    partial: bool,
    trust: Vec<Pairs>,
    traffic_class: Vec<Pairs>,
    /// Priorities with the group that each pauses.
    network: Vec<Pairs>,
    queuing: Vec<[QueueSettings; 8]>,
    wred: Vec<Wred>,
}

pub(super) fn render(device: &Device) -> String {
    let names = Names::of(device.part, "-");
    let partial = device.part.is_partial();
    let mut profiles = Profiles { names, partial, ..Profiles::default() };
    let mut ports = String::new();
    for (name, port) in &device.ports {
        interface(&mut ports, name.as_str(), port, &mut profiles);
    }
    let mut text = format!("! RoCE configuration of {} for Dell OS10, to be merged\n", device.name);
    trust(&mut text, &profiles);
    network(&mut text, &profiles);
    wreds(&mut text, &profiles);
    queuing(&mut text, &profiles);
    text + &ports
}

impl Profiles {
    fn name(&self, number: usize) -> String {
        self.names.name(number)
    }
}

fn interface(text: &mut String, name: &str, port: &Port, profiles: &mut Profiles) {
    let mut lines = String::new();
    if let Some(mtu) = port.mtu.said() {
        let _ = writeln!(lines, " mtu {}", mtu.get());
    }
    if let Some(set) = port.pfc.said().filter(|set| !set.is_empty()) {
        let number = number_of(&mut profiles.network, &paused(port, *set));
        lines += " flowcontrol receive off\n flowcontrol transmit off\n";
        lines += " priority-flow-control mode on\n";
        let name = profiles.name(number);
        let _ = writeln!(lines, " service-policy input type network-qos {name}");
    }
    if port.queues.iter().any(QueueSettings::is_said) {
        for wred in port.queues.iter().filter_map(|queue| queue.wred.said()) {
            number_of(&mut profiles.wred, wred);
        }
        let number = number_of(&mut profiles.queuing, &port.queues);
        let name = profiles.name(number);
        let _ = writeln!(lines, " service-policy output type queuing {name}\n ets mode on");
    }
    let queues = pairs(&port.maps.class_to_queue, |queue| queue.index());
    if !queues.is_empty() {
        let number = number_of(&mut profiles.traffic_class, &queues);
        let _ = writeln!(lines, " qos-map traffic-class {}", profiles.name(number));
    }
    let dscps = pairs(&port.maps.dscp_to_class, |class| class.index());
    if !dscps.is_empty() {
        let number = number_of(&mut profiles.trust, &dscps);
        let _ = writeln!(lines, " trust-map dscp {}", profiles.name(number));
    }
    if lines.is_empty() {
        return;
    }
    if let Some(peer) = leads_to(port) {
        let _ = writeln!(text, "! to {peer}");
    }
    let _ = writeln!(text, "interface {name}");
    if let Some(said) = description(port).filter(|_| !profiles.partial) {
        // With a space in it, it needs quotation marks.
        let _ = writeln!(text, " description \"{said}\"");
    }
    let _ = writeln!(text, "{lines}!");
}

fn paused(port: &Port, set: Priorities) -> Pairs {
    let group = |index: usize| port.maps.pfc_to_group[index].get().map_or(index, |g| g.index());
    set.iter().map(|priority| (priority.index(), group(priority.index()))).collect()
}

fn trust(text: &mut String, profiles: &Profiles) {
    for (number, dscps) in profiles.trust.iter().enumerate() {
        *text += "! not verified: the DSCP form of a trust map\n";
        let _ = writeln!(text, "trust dscp-map {}", profiles.name(number));
        for (class, dscps) in lists(dscps) {
            let _ = writeln!(text, " qos-group {class} dscp {dscps}");
        }
        *text += "!\n";
    }
    for (number, queues) in profiles.traffic_class.iter().enumerate() {
        let _ = writeln!(text, "qos-map traffic-class {}", profiles.name(number));
        for (queue, classes) in lists(queues) {
            let _ = writeln!(text, " queue {queue} qos-group {classes}");
        }
        *text += "!\n";
    }
}

fn network(text: &mut String, profiles: &Profiles) {
    for (number, pauses) in profiles.network.iter().enumerate() {
        let name = profiles.name(number);
        for (_, group) in pauses {
            let _ = writeln!(
                text,
                "class-map type network-qos {name}-PFC-{group}\n match qos-group {group}\n!"
            );
        }
        let _ = writeln!(text, "policy-map type network-qos {name}");
        for (priority, group) in pauses {
            let _ = writeln!(text, " class {name}-PFC-{group}\n  pause\n  pfc-cos {priority}");
        }
        *text += "!\n";
    }
}

fn wreds(text: &mut String, profiles: &Profiles) {
    for (number, wred) in profiles.wred.iter().enumerate() {
        let Levels::Sizes(ecn) = wred.levels else { continue };
        *text += "! not verified; thresholds in kilobytes\n";
        let _ = writeln!(text, "wred {}", profiles.name(number));
        let _ = writeln!(
            text,
            " random-detect color green minimum-threshold {} maximum-threshold {} drop-probability {}",
            ecn.kmin.get() / 1000,
            ecn.kmax.get() / 1000,
            fit::percent(ecn.pmax)
        );
        if wred.marks {
            *text += " random-detect ecn\n";
        }
        *text += "!\n";
    }
}

fn queuing(text: &mut String, profiles: &Profiles) {
    for (number, queues) in profiles.queuing.iter().enumerate() {
        let name = profiles.name(number);
        for (queue, _) in said_queues(queues) {
            let _ =
                writeln!(text, "class-map type queuing {name}-Q{queue}\n match queue {queue}\n!");
        }
        let _ = writeln!(text, "policy-map type queuing {name}");
        for (queue, settings) in said_queues(queues) {
            let _ = writeln!(text, " class {name}-Q{queue}");
            match settings.scheduling.said() {
                Some(Scheduling::Strict) => *text += "  priority\n",
                Some(Scheduling::Weighted(share)) => {
                    let _ = writeln!(text, "  bandwidth percent {share}");
                }
                None => {}
            }
            if let Some(wred) = settings.wred.said() {
                let number = profiles.wred.iter().position(|known| known == wred).unwrap_or(0);
                let _ = writeln!(text, "  random-detect {}", profiles.name(number));
            }
        }
        *text += "!\n";
    }
}
