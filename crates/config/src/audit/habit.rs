//! What a fabric file leaves open, and the devices agree on.
//!
//! A fabric file says what must hold: which classes are lossless and marked, and from which lengths on, how long cables
//! are. `xoff config` needs more than that to write a device: in which queue a class without RDMA waits, what alpha its
//! buffers have, how NICs share their links. Where devices agree to have that otherwise, no device is wrong. What they
//! have is meant then, and a note says so once.

use super::kind::{self, Kind};
use super::reference::Reference;
use super::wiring::Wiring;
use crate::device::{Device, Port, PortName};
use crate::facts::{self, Difference, Facts, Register};
use crate::intent::Agreement;
use crate::number::{Class, Dscp};
use crate::qos::{Levels, QueueSettings, Trust};
use crate::system::SystemId;
use crate::text::fit;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use xoff_fabric::model::Scheduling;
use xoff_units::Bytes;

/// Settings that a note names.
const MOST: usize = 4;

/// Enters what devices agree on into what is meant, as far as the intent leaves it open; notes about that.
pub(super) fn adopt(
    meant: &mut [Option<Device>],
    devices: &[&Device],
    wiring: &Wiring<'_>,
    agreement: &Agreement,
    register: &Register,
) -> Vec<String> {
    let alias = |index: usize, name: &PortName| -> PortName {
        wiring.aliases[index].get(name).unwrap_or(name).clone()
    };
    let kinds = kind::of_ports(devices, wiring, |index, name, port| {
        let known = meant[index].as_ref().map(|device| &device.ports);
        port.enabled.get() != Some(false)
            && known.is_some_and(|ports| ports.contains_key(&alias(index, name)))
    });
    let ends: Vec<(usize, PortName)> = kinds.keys().cloned().collect();
    let told = Told::of(&kinds, register, |(index, name)| {
        meant[*index].as_ref()?.ports.get(&alias(*index, name))
    });
    let reference = Reference::of(devices, kinds.clone(), register);
    let mut habits = Habits::default();
    for (index, name) in ends {
        let Some(device) = &mut meant[index] else { continue };
        let Some(port) = device.ports.get_mut(&alias(index, &name)) else { continue };
        let usual = &reference.devices[index].ports[&name];
        let host = device.system == SystemId::Host;
        let mut habit = Habit { agreement, host, usual, port, register };
        habit.scale_turns();
        let firm = |about: &str, value: Option<&str>| reference.is_firm(index, &name, about, value);
        for difference in habit.differences() {
            let value = difference.left.as_deref();
            let own = told.is_told(&kinds[&(index, name.clone())], &difference.about);
            if !own && habit.is_number(&difference.about) && firm(&difference.about, value) {
                habit.renumber(&difference.about);
                habits.add(device.system.name(), difference);
            }
        }
        for difference in habit.differences() {
            let value = difference.left.as_deref();
            let own = told.is_told(&kinds[&(index, name.clone())], &difference.about);
            if !own && habit.is_open(&difference) && firm(&difference.about, value) {
                facts::copy(&difference.about, usual, habit.port);
                habits.add(device.system.name(), difference);
            }
        }
        // What queues had that devices do not use is the others'.
        habit.scale_turns();
    }
    for (meant, usual) in meant.iter_mut().zip(&reference.devices) {
        if let Some(meant) = meant {
            whole_device(meant, usual, devices, &mut habits);
        }
    }
    habits.notes()
}

/// What the intent tells of single devices: facts that it does not have alike for all of a system, or of a kind where they
/// depend on speed. These are not left open.
struct Told(BTreeMap<Kind, BTreeSet<String>>);

impl Told {
    fn of<'p>(
        kinds: &BTreeMap<(usize, PortName), Kind>,
        register: &Register,
        port: impl Fn(&(usize, PortName)) -> Option<&'p Port>,
    ) -> Self {
        let mut first: BTreeMap<Kind, Rc<Facts>> = BTreeMap::new();
        let mut told: BTreeMap<Kind, BTreeSet<String>> = BTreeMap::new();
        for (end, kind) in kinds {
            let Some(facts) = port(end).map(|port| register.of_port(port)) else { continue };
            for kind in [kind.clone(), Self::system(kind)] {
                let Some(known) = first.get(&kind) else {
                    first.insert(kind, facts.clone());
                    continue;
                };
                let differing = known.differences(&facts).into_iter().map(|one| one.about);
                told.entry(kind).or_default().extend(differing);
            }
        }
        Self(told)
    }

    fn system(kind: &Kind) -> Kind {
        Kind { system: kind.system, role: String::new(), peer: String::new(), rate: None }
    }

    fn is_told(&self, kind: &Kind, about: &str) -> bool {
        let cable = about == "cable" || about.ends_with("headroom");
        let by_speed = about.starts_with("group") || about.ends_with("wred");
        let kind = if by_speed { kind.clone() } else { Self::system(kind) };
        !cable && self.0.get(&kind).is_some_and(|told| told.contains(about))
    }
}

/// Buffers of a device as a whole. A headroom pool that devices do not set is the box's own; a smaller one is a mistake.
fn whole_device(meant: &mut Device, usual: &Device, devices: &[&Device], habits: &mut Habits) {
    let system = meant.system;
    let shared = |value: fn(&Device) -> Option<Bytes>| {
        let alike = devices.iter().filter(|device| device.system == system);
        alike.filter(|device| value(device) == value(usual)).take(2).count() == 2
    };
    let (pool, wanted) = (usual.headroom_pool.get(), meant.headroom_pool.get());
    let enough = pool.is_none() || pool >= wanted;
    if pool != wanted && enough && shared(|device| device.headroom_pool.get()) {
        habits.add(system.name(), sizes("headroom pool", pool, wanted));
        meant.headroom_pool = usual.headroom_pool;
    }
    // No fabric file speaks of these.
    meant.own = usual.own.clone();
    let (buffer, wanted) = (usual.shared_buffer.get(), meant.shared_buffer.get());
    if buffer != wanted && shared(|device| device.shared_buffer.get()) {
        habits.add(system.name(), sizes("shared buffer", buffer, wanted));
        meant.shared_buffer = usual.shared_buffer;
    }
}

fn sizes(about: &str, left: Option<Bytes>, right: Option<Bytes>) -> Difference {
    let word = |size: Option<Bytes>| size.map(|size| size.to_string());
    Difference { about: about.to_owned(), left: word(left), right: word(right) }
}

/// A port as meant beside what most have.
struct Habit<'a> {
    agreement: &'a Agreement,
    host: bool,
    usual: &'a Port,
    port: &'a mut Port,
    register: &'a Register,
}

impl Habit<'_> {
    /// How most have it, and how the intent does.
    fn differences(&self) -> Vec<Difference> {
        self.register.of_port(self.usual).differences(&self.register.of_port(self.port))
    }

    /// Gives the meant weights the sum that devices give theirs: only shares count, and those stay.
    fn scale_turns(&mut self) {
        let (usual, meant) = (total(&self.usual.queues), total(&self.port.queues));
        if usual == meant || usual == 0 || meant == 0 {
            return;
        }
        let Ok(usual) = u32::try_from(usual) else { return };
        let queues = Arc::make_mut(&mut self.port.queues);
        // What a queue that is not used has, nothing, is no share that grows.
        let some = |turn: &Scheduling| *turn != Scheduling::Weighted(0);
        let mut turns = queues.each_ref().map(|queue| queue.scheduling.get().filter(some));
        fit::shares_of(&mut turns, usual);
        for (queue, turn) in queues.iter_mut().zip(turns) {
            queue.scheduling = queue.scheduling.map(|said| turn.unwrap_or(said));
        }
    }

    /// The class that devices put CNPs into and the one that is meant, if they differ, and neither is that of RDMA data or of best effort.
    fn classes_of_cnps(&self) -> Option<(Class, Class)> {
        let of = |port: &Port, dscp: Option<Dscp>| port.maps.dscp_to_class[dscp?.index()].get();
        let (cnp, data, rest) = (self.agreement.cnp_dscp, self.agreement.data_dscp, Dscp::new(0));
        let (from, to) = (of(self.port, cnp)?, of(self.usual, cnp)?);
        let taken = |class| {
            let ports = [self.usual, &*self.port];
            ports.iter().any(|port| [data, rest].iter().any(|dscp| of(port, *dscp) == Some(class)))
        };
        (from != to && !taken(from) && !taken(to)).then_some((from, to))
    }

    /// Whether a fact is the number of the queue or of the group that RDMA has.
    fn is_number(&self, about: &str) -> bool {
        let cnp = self.agreement.cnp_dscp.filter(|_| self.classes_of_cnps().is_some());
        if cnp.is_some_and(|cnp| about == format!("dscp {cnp} class")) {
            return true;
        }
        let classes =
            self.of_rdma().filter_map(|dscp| self.port.maps.dscp_to_class[dscp.index()].get());
        let mut names = classes
            .flat_map(|class| [format!("class {class} queue"), format!("class {class} group")]);
        names.any(|name| name == about)
    }

    /// Moves what is meant for a queue or a group of RDMA to where devices have it.
    fn renumber(&mut self, about: &str) {
        if about.starts_with("dscp") {
            return self.renumber_cnps();
        }
        let class = about.split(' ').nth(1).and_then(|class| class.parse::<usize>().ok());
        let Some(class) = class else { return };
        let (usual, maps) = (&self.usual.maps, &self.port.maps);
        let queues = maps.class_to_queue[class].get().zip(usual.class_to_queue[class].get());
        let groups = maps.class_to_group[class].get().zip(usual.class_to_group[class].get());
        match (about.ends_with("queue"), queues, groups) {
            (true, Some((from, to)), _) => {
                Arc::make_mut(&mut self.port.queues).swap(from.index(), to.index())
            }
            (false, _, Some((from, to))) => {
                Arc::make_mut(&mut self.port.groups).swap(from.index(), to.index())
            }
            _ => {}
        }
        facts::copy(about, self.usual, self.port);
    }

    /// The class of CNPs changes places with the one that devices have them in.
    fn renumber_cnps(&mut self) {
        let Some((from, to)) = self.classes_of_cnps() else { return };
        let maps = Arc::make_mut(&mut self.port.maps);
        for class in &mut maps.dscp_to_class {
            *class = class.map(|class| match class {
                _ if class == from => to,
                _ if class == to => from,
                _ => class,
            });
        }
        let queues = [from, to].map(|class| self.port.maps.class_to_queue[class.index()].get());
        if let [Some(from), Some(to)] = queues {
            Arc::make_mut(&mut self.port.queues).swap(from.index(), to.index());
        }
    }

    /// Whether a difference is one that the intent leaves open. What RDMA needs never is.
    fn is_open(&self, difference: &Difference) -> bool {
        let words: Vec<&str> = difference.about.split(' ').collect();
        let number = || words.get(1).and_then(|number| number.parse::<usize>().ok());
        let index = number().unwrap_or_default();
        let (usual, port) = (self.usual, &*self.port);
        match words[..] {
            ["class" | "pause", ..] | ["balancing"] => true,
            ["dscp", ..] => !self.of_rdma().any(|dscp| dscp.index() == index),
            ["queue", _, "turn"] => {
                let strict = usual.queues[index].scheduling.get() == Some(Scheduling::Strict);
                self.host || (!strict && !self.has_a_meant_turn(index))
            }
            ["queue", _, _] => {
                // In a unit that is not known, a fabric file says nothing of it.
                let counts = |queue: &QueueSettings| {
                    queue.wred.get().is_some_and(|w| matches!(w.levels, Levels::Counts { .. }))
                };
                counts(&usual.queues[index])
                    || !self.queues(self.agreement.data_dscp).contains(&index)
            }
            ["mtu"] => self.host && usual.mtu.get() >= Some(self.agreement.packet),
            // Routed packets carry a DSCP.
            ["trust"] => {
                usual.trust.get() == Some(Trust::Both) && port.trust.get() == Some(Trust::Dscp)
            }
            // A cable believed longer than it is costs buffer and loses nothing.
            ["cable"] => usual.cable.get().is_none_or(|cable| Some(cable) >= port.cable.get()),
            ["group", _, "headroom"] => {
                let both =
                    usual.groups[index].headroom.get().zip(port.groups[index].headroom.get());
                both.is_some_and(|(usual, meant)| usual >= meant)
            }
            ["group", ..] => true,
            _ => false,
        }
    }

    fn of_rdma(&self) -> impl Iterator<Item = Dscp> {
        [self.agreement.data_dscp, self.agreement.cnp_dscp].into_iter().flatten()
    }

    fn queues(&self, dscp: Option<Dscp>) -> Vec<usize> {
        dscp.and_then(|dscp| self.port.maps.queue_of(dscp)).map(|q| q.index()).into_iter().collect()
    }

    /// Queues of RDMA and of best effort, whose turns fabric files speak of.
    fn has_a_meant_turn(&self, queue: usize) -> bool {
        let all = [self.agreement.data_dscp, self.agreement.cnp_dscp, Dscp::new(0)];
        all.into_iter().any(|dscp| self.queues(dscp).contains(&queue))
    }
}

/// The sum of the weights.
fn total(queues: &[QueueSettings; 8]) -> u64 {
    let weight = |queue: &QueueSettings| match queue.scheduling.get() {
        Some(Scheduling::Weighted(weight)) => u64::from(weight),
        _ => 0,
    };
    queues.iter().map(weight).sum()
}

/// What was entered, by system.
#[derive(Default)]
struct Habits(BTreeMap<&'static str, BTreeSet<String>>);

impl Habits {
    fn add(&mut self, system: &'static str, difference: Difference) {
        let word = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
        let (usual, meant) = (word(difference.left), word(difference.right));
        let line = format!("{} is {usual}, in the file {meant}", difference.about);
        self.0.entry(system).or_default().insert(line);
    }

    fn notes(self) -> Vec<String> {
        let note = |(system, lines): (&str, BTreeSet<String>)| {
            let shown: Vec<&str> = lines.iter().take(MOST).map(String::as_str).collect();
            let more = match lines.len() - shown.len() {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            format!(
                "{system} devices agree on settings that the fabric file, or its defaults, have otherwise, and that \
                 RDMA does not depend on: {}{more}. They were taken as meant; `xoff config --diff` lists them",
                shown.join("; ")
            )
        };
        self.0.into_iter().map(note).collect()
    }
}
