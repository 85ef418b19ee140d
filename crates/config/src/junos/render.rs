//! Writing Junos configuration: one tree of statements for both forms.

use crate::device::{Balancing, Device, Port};
use crate::number::{Class, Priorities, Priority, Queue};
use crate::place::Said;
use crate::qos::{GroupSettings, WatchdogSettings};
use crate::qos::{Levels, Maps, QueueSettings, Wred};
use crate::text::paths::Tree;
use crate::text::profiles::{Names, number_of, owners, said_queues};
use crate::text::{description, fit};
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::Length;

const COS: &str = "class-of-service";
const CNP: &str = "congestion-notification-profile";

/// Code points of every class.
type Classifier = Vec<Vec<usize>>;

/// What a congestion notification profile says.
#[derive(Clone, PartialEq)]
struct Pausing {
    priorities: Priorities,
    /// Code points of the paused classes, by priority.
    dscps: Vec<(Priority, Vec<usize>)>,
    queues: Vec<(Priority, Queue)>,
    cable: Option<Length>,
    watchdog: Option<Watchdog>,
}

/// Milliseconds between polls and their number, milliseconds until a queue is back, the action.
#[derive(Clone, Copy, PartialEq)]
struct Watchdog {
    polls: Option<(u64, u64)>,
    recovery: Option<u64>,
    action: Option<&'static str>,
}

/// Queues, and the class that each belongs to.
type Turns = ([QueueSettings; 8], [usize; 8]);

/// What ports refer to, in the order of their numbers.
#[derive(Default)]
struct Profiles {
    names: Names,
    classifiers: Vec<Classifier>,
    queues: Vec<Turns>,
    drops: Vec<Wred>,
    pausing: Vec<Pausing>,
}

/// What a port refers to, and its MTU.
struct Bindings<'d> {
    name: &'d str,
    port: &'d Port,
    classifier: Option<usize>,
    queues: Option<usize>,
    pausing: Option<usize>,
}

pub(super) fn tree(device: &Device) -> Tree {
    let names = Names::of(device.part, "-");
    let mut profiles = Profiles { names, ..Profiles::default() };
    let ports: Vec<Bindings<'_>> =
        device.ports.iter().map(|(name, port)| profiles.bind(name.as_str(), port)).collect();
    let mut tree = Tree::default();
    tree.comment(format!("RoCE configuration of {} for Junos on QFX, to be merged", device.name));
    interfaces(&mut tree, &ports);
    balancing(&mut tree, device);
    profiles.write_classifiers(&mut tree);
    profiles.write_drops(&mut tree);
    shared_buffer(&mut tree, device);
    classes(&mut tree, device);
    profiles.write_pausing(&mut tree);
    bindings(&mut tree, &profiles, &ports);
    profiles.write_schedulers(&mut tree);
    tree
}

/// The name of a forwarding class.
fn class_name(class: usize) -> String {
    if class == 0 { "best-effort".to_owned() } else { format!("TC{class}") }
}

impl Profiles {
    fn name(&self, number: usize) -> String {
        self.names.name(number)
    }

    fn bind<'d>(&mut self, name: &'d str, port: &'d Port) -> Bindings<'d> {
        let classifier = classifier(&port.maps);
        let classifier = (classifier.iter().any(|list| !list.is_empty()))
            .then(|| number_of(&mut self.classifiers, &classifier));
        let queues = (port.queues.iter().any(QueueSettings::is_said)).then(|| {
            for wred in port.queues.iter().filter_map(|queue| queue.wred.said()) {
                number_of(&mut self.drops, wred);
            }
            number_of(&mut self.queues, &(*port.queues, owners(&port.maps)))
        });
        let pausing = pausing(port).map(|pausing| number_of(&mut self.pausing, &pausing));
        Bindings { name, port, classifier, queues, pausing }
    }

    fn write_classifiers(&self, tree: &mut Tree) {
        for (number, lists) in self.classifiers.iter().enumerate() {
            let name = format!("dscp {}", self.name(number));
            for (class, list) in lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
                let class = format!("forwarding-class {}", class_name(class));
                let points: Vec<String> = list.iter().map(|dscp| format!("{dscp:06b}")).collect();
                let points = format!("code-points [ {} ]", points.join(" "));
                tree.add(&[COS, "classifiers", &name, &class, "loss-priority low", &points]);
            }
        }
    }

    fn write_drops(&self, tree: &mut Tree) {
        for (number, wred) in self.drops.iter().enumerate() {
            let Levels::Fill { min, max, pmax } = wred.levels else { continue };
            let name = self.name(number);
            let fill = format!("fill-level [ {} {} ]", fit::percent(min), fit::percent(max));
            let probability = format!("drop-probability [ 0 {} ]", fit::percent(pmax));
            tree.add(&[COS, "drop-profiles", &name, "interpolate", &fill]);
            tree.add(&[COS, "drop-profiles", &name, "interpolate", &probability]);
        }
    }

    fn write_pausing(&self, tree: &mut Tree) {
        for (number, pausing) in self.pausing.iter().enumerate() {
            let name = self.name(number);
            if let Some(watchdog) = &pausing.watchdog {
                write_watchdog(tree, &name, watchdog);
            }
            if let Some(cable) = pausing.cable {
                let length = format!("cable-length {}", cable.as_mm().div_ceil(1000));
                tree.add(&[COS, CNP, &name, "input", &length]);
            }
            for (priority, dscps) in &pausing.dscps {
                for dscp in dscps {
                    let point = format!("code-point {dscp:06b}");
                    tree.add(&[COS, CNP, &name, "input", "dscp", &point, "pfc"]);
                }
                // Without code points of its own a class can be paused by its VLAN priority only.
                if dscps.is_empty() {
                    let point = format!("code-point {:03b}", priority.get());
                    tree.add(&[COS, CNP, &name, "input", "ieee-802.1", &point, "pfc"]);
                }
            }
            for (priority, queue) in &pausing.queues {
                let point = format!("code-point {:03b}", priority.get());
                let queue = format!("flow-control-queue {queue}");
                tree.add(&[COS, CNP, &name, "output", "ieee-802.1", &point, &queue]);
            }
        }
    }

    fn write_schedulers(&self, tree: &mut Tree) {
        for (number, (queues, owners)) in self.queues.iter().enumerate() {
            let map = self.name(number);
            for (queue, _) in said_queues(queues) {
                let class = class_name(owners[queue]);
                let step = format!("forwarding-class {class} scheduler {map}-Q{queue}");
                tree.add(&[COS, "scheduler-maps", &map, &step]);
            }
        }
        for (number, (queues, _)) in self.queues.iter().enumerate() {
            for (queue, settings) in said_queues(queues) {
                let name = format!("{}-Q{queue}", self.name(number));
                self.write_scheduler(tree, &name, settings);
            }
        }
    }

    fn write_scheduler(&self, tree: &mut Tree, name: &str, settings: &QueueSettings) {
        match settings.scheduling.said() {
            Some(Scheduling::Strict) => {
                tree.add(&[COS, "schedulers", name, "priority strict-high"]);
            }
            Some(Scheduling::Weighted(share)) => {
                let rate = format!("transmit-rate percent {share}");
                tree.add(&[COS, "schedulers", name, &rate]);
            }
            None => {}
        }
        let Some(wred) = settings.wred.said() else { return };
        let number = self.drops.iter().position(|known| known == wred).unwrap_or(0);
        let map = format!(
            "drop-profile-map loss-priority any protocol any drop-profile {}",
            self.name(number)
        );
        tree.add(&[COS, "schedulers", name, &map]);
        if wred.marks {
            tree.add(&[COS, "schedulers", name, "explicit-congestion-notification"]);
        }
    }
}

/// Code points of every class.
fn classifier(maps: &Maps) -> Classifier {
    Class::all().map(|class| maps.dscps_of(class)).collect()
}

fn pausing(port: &Port) -> Option<Pausing> {
    let priorities = *port.pfc.said().filter(|set| !set.is_empty())?;
    let class_of = |priority: Priority| {
        let group = port.maps.pfc_to_group[priority.index()].get();
        group.map_or(priority.index(), |group| group.index())
    };
    let dscps = |priority: Priority| {
        let class = Class::all().nth(class_of(priority));
        (priority, class.map_or(Vec::new(), |class| port.maps.dscps_of(class)))
    };
    let queue =
        |priority: Priority| Some((priority, port.maps.pfc_to_queue[priority.index()].get()?));
    Some(Pausing {
        priorities,
        dscps: priorities.iter().map(dscps).collect(),
        queues: priorities.iter().filter_map(queue).collect(),
        cable: port.cable.said().copied(),
        watchdog: watchdog(&port.watchdog),
    })
}

fn watchdog(watchdog: &WatchdogSettings) -> Option<Watchdog> {
    watchdog.on.said().filter(|on| **on)?;
    Some(Watchdog {
        polls: watchdog.detect.said().map(|detect| super::polls(*detect)),
        recovery: watchdog.restore.said().map(|span| fit::millis(*span, 200, 10_000)),
        action: watchdog.reaction.said().map(|reaction| reaction.name()),
    })
}

fn write_watchdog(tree: &mut Tree, name: &str, watchdog: &Watchdog) {
    const WATCHDOG: &str = "pfc-watchdog";
    let mut steps = Vec::new();
    if let Some((poll, count)) = watchdog.polls {
        steps.push(format!("poll-interval {poll}"));
        steps.push(format!("detection {count}"));
    }
    steps.extend(watchdog.recovery.map(|ms| format!("recovery {ms}")));
    steps.extend(watchdog.action.map(|action| format!("watchdog-action {action}")));
    if steps.is_empty() {
        tree.add(&[COS, CNP, name, WATCHDOG]);
    }
    for step in &steps {
        tree.add(&[COS, CNP, name, WATCHDOG, step]);
    }
}

/// The share of the free buffer at which the box pauses what is lossless.
fn shared_buffer(tree: &mut Tree, device: &Device) {
    let mut groups = device.ports.values().flat_map(|port| port.groups.iter());
    let said = |group: &GroupSettings| group.threshold.said().copied();
    let Some(Threshold::Dynamic(alpha)) = groups.find_map(said) else { return };
    let (low, high) = super::ALPHA;
    let step = format!("dynamic-threshold {}", fit::exponent(alpha, low, high) - low);
    tree.add(&[COS, "shared-buffer", "ingress", "buffer-partition lossless", &step]);
}

/// The classes are the box's: those of the first port that says any.
fn classes(tree: &mut Tree, device: &Device) {
    let says = |port: &&Port| port.maps.class_to_queue.iter().any(Said::is_said);
    let Some(port) = device.ports.values().find(says) else { return };
    let pausing = device.ports.values().find_map(|port| port.pfc.said()).copied();
    for (class, queue) in Class::all().zip(&port.maps.class_to_queue) {
        let Some(queue) = queue.said() else { continue };
        let of_class = |priority: &Priority| {
            let group = port.maps.pfc_to_group[priority.index()].get();
            group.map_or(priority.index(), |group| group.index()) == class.index()
        };
        let pause = pausing.unwrap_or(Priorities::NONE).iter().find(of_class);
        let lossless =
            pause.map_or(String::new(), |priority| format!(" no-loss pfc-priority {priority}"));
        let name = class_name(class.index());
        let step = format!("class {name} queue-num {queue}{lossless}");
        tree.add(&[COS, "forwarding-classes", &step]);
    }
}

fn bindings(tree: &mut Tree, profiles: &Profiles, ports: &[Bindings<'_>]) {
    for bound in ports {
        if let Some(number) = bound.pausing {
            let step = format!("{CNP} {}", profiles.name(number));
            tree.add(&[COS, "interfaces", bound.name, &step]);
        }
        if let Some(number) = bound.queues {
            let step = format!("scheduler-map {}", profiles.name(number));
            tree.add(&[COS, "interfaces", bound.name, &step]);
        }
        if let Some(number) = bound.classifier {
            let step = format!("dscp {}", profiles.name(number));
            tree.add(&[COS, "interfaces", bound.name, "unit *", "classifiers", &step]);
        }
    }
}

fn interfaces(tree: &mut Tree, ports: &[Bindings<'_>]) {
    for bound in ports {
        if let Some(text) = description::of(bound.port) {
            tree.add(&["interfaces", bound.name, &format!("description \"{text}\"")]);
        }
        if let Some(mtu) = bound.port.mtu.said() {
            tree.add(&["interfaces", bound.name, &format!("mtu {}", mtu.get())]);
        }
    }
}

fn balancing(tree: &mut Tree, device: &Device) {
    const DLB: [&str; 3] = ["forwarding-options", "enhanced-hash-key", "ecmp-dlb"];
    let [top, key, dlb] = DLB;
    match device.balancing.said() {
        Some(Balancing::Flowlet) => {
            tree.add(&[top, key, dlb, "flowlet", "inactivity-interval 256"]);
        }
        Some(Balancing::Packet) => tree.add(&[top, key, dlb, "per-packet"]),
        Some(Balancing::Hash) | None => return,
    }
    tree.add(&[top, key, dlb, "ether-type", "ipv4"]);
    tree.add(&[top, key, dlb, "ether-type", "ipv6"]);
}
