//! Writing PicOS configuration.

use crate::device::{Device, Port};
use crate::number::{Class, Priorities, Priority};
use crate::place::Said;
use crate::qos::{QueueSettings, Trust};
use crate::text::paths::Tree;
use crate::text::profiles::{Names, Pairs, leads_to, number_of, owners, pairs};
use crate::text::{description, fit};
use xoff_fabric::model::Scheduling;
use xoff_units::Span;

const COS: &str = "class-of-service";

/// What is trusted, and the class of each DSCP.
type Classifier = (Option<Trust>, Pairs);

/// What ports refer to, in the order of their numbers.
#[derive(Default)]
struct Profiles {
    names: Names,
    classifiers: Vec<Classifier>,
    /// Queues, and the class that each belongs to.
    schedulers: Vec<([QueueSettings; 8], [usize; 8])>,
    pfc: Vec<Priorities>,
}

pub(super) fn render(device: &Device) -> String {
    let names = Names::of(device.part, "-");
    let mut profiles = Profiles { names, ..Profiles::default() };
    let mut ports = Tree::default();
    for (name, port) in &device.ports {
        interface(&mut ports, name.as_str(), port, &mut profiles);
    }
    let mut tree = Tree::default();
    tree.comment(format!("RoCE configuration of {} for FS PicOS, to be merged", device.name));
    if !device.part.is_partial() {
        tree.comment("not verified on a box: read in an operator's configuration");
        tree.comment("not here, because not verified: ECN marking, load balancing");
    }
    classes(&mut tree, device);
    profiles.write_classifiers(&mut tree);
    profiles.write_schedulers(&mut tree);
    profiles.write_pfc(&mut tree);
    watchdog(&mut tree, device);
    tree.as_commands() + &ports.as_commands()
}

fn class_name(class: usize) -> String {
    format!("TC{class}")
}

fn interface(tree: &mut Tree, name: &str, port: &Port, profiles: &mut Profiles) {
    if let Some(peer) = leads_to(port) {
        tree.comment(format!("{name} to {peer}"));
    }
    if let Some(text) = description::of(port) {
        let step = format!("description \"{text}\"");
        tree.add(&["interface gigabit-ethernet", name, &step]);
    }
    if let Some(mtu) = port.mtu.said() {
        tree.add(&["interface gigabit-ethernet", name, &format!("mtu {}", mtu.get())]);
    }
    let points = pairs(&port.maps.dscp_to_class, |class| class.index());
    let trust = port.trust.said().copied();
    if trust.is_some() || !points.is_empty() {
        let number = number_of(&mut profiles.classifiers, &(trust, points));
        let step = format!("classifier \"{}\"", profiles.name(number));
        tree.add(&[COS, "interface", name, &step]);
    }
    if port.queues.iter().any(|queue| queue.scheduling.is_said()) {
        let key = (*port.queues, owners(&port.maps));
        let number = number_of(&mut profiles.schedulers, &key);
        let step = format!("scheduler-profile \"{}\"", profiles.name(number));
        tree.add(&[COS, "interface", name, &step]);
    }
    if let Some(set) = port.pfc.said().filter(|set| !set.is_empty()) {
        let number = number_of(&mut profiles.pfc, set);
        let step = format!("pfc-profile \"{}\"", profiles.name(number));
        tree.add(&[COS, "interface", name, &step]);
        if port.watchdog.on.said() == Some(&true) {
            for priority in set.iter() {
                let step = format!("pfc-watchdog code-point {priority} enable true");
                tree.add(&[COS, "interface", name, &step]);
            }
        }
    }
}

/// Milliseconds that the watchdog counts in, and how many of them make a queue stuck.
pub(super) fn polls(detect: Span) -> (u64, u64) {
    let ms = fit::millis(detect, 10, 1_500);
    let granularity = if ms <= 150 { 10 } else { 100 };
    (granularity, (ms / granularity).clamp(1, 15))
}

/// The times of the watchdog are the box's: those of the first port that it watches.
fn watchdog(tree: &mut Tree, device: &Device) {
    let watched = |port: &&Port| port.watchdog.on.said() == Some(&true);
    let Some(port) = device.ports.values().find(watched) else { return };
    let Some(detect) = port.watchdog.detect.said() else { return };
    let (granularity, count) = polls(*detect);
    tree.add(&[COS, "pfc-watchdog", &format!("granularity {granularity}")]);
    for priority in port.pfc.get().unwrap_or(Priorities::NONE).iter() {
        let step = format!("code-point {priority} detect-interval {count}");
        tree.add(&[COS, "pfc-watchdog", &step]);
    }
}

/// The classes are the box's: those of the first port that says any.
fn classes(tree: &mut Tree, device: &Device) {
    let says = |port: &&Port| port.maps.class_to_queue.iter().any(Said::is_said);
    let Some(port) = device.ports.values().find(says) else { return };
    for (class, queue) in Class::all().zip(&port.maps.class_to_queue) {
        if let Some(queue) = queue.said() {
            let name = class_name(class.index());
            tree.add(&[COS, "forwarding-class", &name, &format!("local-priority {queue}")]);
        }
    }
}

impl Profiles {
    fn name(&self, number: usize) -> String {
        self.names.name(number)
    }

    fn write_classifiers(&self, tree: &mut Tree) {
        for (number, (trust, points)) in self.classifiers.iter().enumerate() {
            let name = self.name(number);
            if let Some(trust) = trust {
                let word = if trust.reads_dscp() { "dscp" } else { "ieee-802.1" };
                tree.add(&[COS, "classifier", &name, &format!("trust-mode \"{word}\"")]);
            }
            for (dscp, class) in points {
                let class = format!("forwarding-class {}", class_name(*class));
                tree.add(&[COS, "classifier", &name, &class, &format!("code-point {dscp}")]);
            }
        }
    }

    fn write_schedulers(&self, tree: &mut Tree) {
        for (number, (queues, owners)) in self.schedulers.iter().enumerate() {
            let profile = self.name(number);
            for (queue, settings) in queues.iter().enumerate() {
                let Some(turn) = settings.scheduling.said() else { continue };
                let name = format!("{profile}-Q{queue}");
                match turn {
                    Scheduling::Strict => tree.add(&[COS, "scheduler", &name, "mode \"SP\""]),
                    Scheduling::Weighted(weight) => {
                        tree.add(&[COS, "scheduler", &name, "mode \"WFQ\""]);
                        tree.add(&[COS, "scheduler", &name, &format!("weight {weight}")]);
                    }
                }
                let class = format!("forwarding-class {}", class_name(owners[queue]));
                let step = format!("scheduler \"{name}\"");
                tree.add(&[COS, "scheduler-profile", &profile, &class, &step]);
            }
        }
    }

    /// All eight code points: one that is not said keeps what it was.
    fn write_pfc(&self, tree: &mut Tree) {
        for (number, set) in self.pfc.iter().enumerate() {
            let name = self.name(number);
            for priority in Priority::all() {
                let point = format!("code-point {priority}");
                let drop = if set.has(priority) { "drop false" } else { "drop true" };
                tree.add(&[COS, "pfc-profile", &name, &point, drop]);
            }
        }
    }
}
