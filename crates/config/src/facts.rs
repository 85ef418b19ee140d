//! What a device is configured to do, as a list of plain facts: for comparing two devices, whatever
//! their systems and wherever things were said.

mod value;

use crate::device::{Device, Port};
use crate::place::{Place, Said};
use crate::qos::Wred;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{Arguments, Display};
use std::rc::Rc;
use std::sync::Arc;
use value::Value;

/// What a device is configured to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Facts(BTreeMap<String, String>);

/// A fact in which two devices differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about, like `Ethernet1/1 pfc`.
    pub about: String,
    /// How it is at the first device.
    pub left: Option<String>,
    /// How it is at the second.
    pub right: Option<String>,
}

impl Facts {
    /// The facts of a device: values in force, said or default, without names and versions.
    pub fn of(device: &Device) -> Self {
        let mut facts = Self::default();
        facts.device(device);
        for (name, port) in &device.ports {
            walk(port, &mut Named { name: name.as_str(), facts: &mut facts });
        }
        facts
    }

    /// The facts of one port, without its name.
    pub(crate) fn of_port(port: &Port) -> Self {
        let mut facts = Self::default();
        walk(port, &mut Named { name: "", facts: &mut facts });
        facts
    }

    /// Whether the facts of two devices are the same.
    pub(crate) fn same(a: &Device, b: &Device) -> bool {
        // A port of which nothing is known is as good as none.
        if !a.ports.keys().eq(b.ports.keys()) {
            return Self::of(a) == Self::of(b);
        }
        let bare = |device: &Device| {
            let mut facts = Self::default();
            facts.device(device);
            facts
        };
        bare(a) == bare(b) && a.ports.values().zip(b.ports.values()).all(|(a, b)| same_ports(a, b))
    }

    /// What is known about something.
    pub(crate) fn get(&self, about: &str) -> Option<&str> {
        self.0.get(about).map(String::as_str)
    }

    /// What all facts are about, in order.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Facts of a device beside those of its ports.
    fn device(&mut self, device: &Device) {
        self.add("", "balancing", &device.balancing);
        self.add("", "shared buffer", &device.shared_buffer);
        self.add("", "headroom pool", &device.headroom_pool);
        self.add("", "nccl traffic class", &device.nccl.traffic_class);
        self.add("", "nccl gid index", &device.nccl.gid_index);
    }

    fn add(&mut self, port: &str, about: impl Display, said: &Said<impl Value>) {
        if let Some(value) = said.value() {
            self.0.insert(format!("{port} {about}").trim().to_owned(), value.show());
        }
    }

    /// What is different, in the order of ports and facts.
    pub fn differences(&self, other: &Self) -> Vec<Difference> {
        if std::ptr::eq(self, other) {
            return Vec::new();
        }
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut found = Vec::new();
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some((a, _)), Some((b, _))) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return found,
            };
            let own = if order == Ordering::Greater { None } else { left.next() };
            let others = if order == Ordering::Less { None } else { right.next() };
            let (a, b) = (own.map(|(_, value)| value), others.map(|(_, value)| value));
            if let Some((about, _)) = own.or(others).filter(|_| a != b) {
                let about = about.clone();
                found.push(Difference { about, left: a.cloned(), right: b.cloned() });
            }
        }
    }
}

/// Whether the facts of two ports are the same. Values that are shown alike may still be other ones.
pub(crate) fn same_ports(a: &Port, b: &Port) -> bool {
    Print::of(a) == Print::of(b) || Facts::of_port(a) == Facts::of_port(b)
}

/// Facts of ports, worked out once for ports that are configured alike.
#[derive(Debug, Default)]
pub(crate) struct Register(RefCell<BTreeMap<Vec<u64>, Rc<Facts>>>);

impl Register {
    /// The facts of one port, without its name.
    pub(crate) fn of_port(&self, port: &Port) -> Rc<Facts> {
        let print = Print::of(port);
        let mut known = self.0.borrow_mut();
        if let Some(facts) = known.get(&print.0) {
            return Rc::clone(facts);
        }
        let facts = Rc::new(Facts::of_port(port));
        known.insert(print.0, Rc::clone(&facts));
        facts
    }
}

/// What takes the settings of a port, one after the other and always in the same order.
trait Taker {
    fn take(&mut self, about: Arguments<'_>, said: &Said<impl Value>);
}

/// Settings as facts of a port of that name.
struct Named<'a> {
    name: &'a str,
    facts: &'a mut Facts,
}

impl Taker for Named<'_> {
    fn take(&mut self, about: Arguments<'_>, said: &Said<impl Value>) {
        self.facts.add(self.name, about, said);
    }
}

/// Settings as numbers: equal for ports whose facts are equal.
#[derive(PartialEq, Eq)]
struct Print(Vec<u64>);

impl Print {
    fn of(port: &Port) -> Self {
        let mut print = Self(Vec::with_capacity(512));
        walk(port, &mut print);
        print
    }
}

impl Taker for Print {
    fn take(&mut self, _: Arguments<'_>, said: &Said<impl Value>) {
        self.0.push(said.value().is_some().into());
        if let Some(value) = said.value() {
            value.print(&mut self.0);
        }
    }
}

/// All settings of a port, without names and versions.
fn walk(port: &Port, taker: &mut impl Taker) {
    taker.take(format_args!("mtu"), &port.mtu);
    taker.take(format_args!("cable"), &port.cable);
    taker.take(format_args!("trust"), &port.trust);
    taker.take(format_args!("pfc"), &port.pfc);
    taker.take(format_args!("balancing"), &port.balancing);
    let maps = &port.maps;
    for (number, class) in maps.dscp_to_class.iter().enumerate() {
        taker.take(format_args!("dscp {number} class"), class);
    }
    for number in 0..8 {
        taker.take(format_args!("class {number} queue"), &maps.class_to_queue[number]);
        taker.take(format_args!("class {number} group"), &maps.class_to_group[number]);
        taker.take(format_args!("pause {number} queue"), &maps.pfc_to_queue[number]);
        taker.take(format_args!("pause {number} group"), &maps.pfc_to_group[number]);
    }
    for (number, queue) in port.queues.iter().enumerate() {
        taker.take(format_args!("queue {number} turn"), &queue.scheduling);
        taker.take(format_args!("queue {number} wred"), &queue.wred);
    }
    for (number, group) in port.groups.iter().enumerate() {
        taker.take(format_args!("group {number} reserved"), &group.reserved);
        taker.take(format_args!("group {number} threshold"), &group.threshold);
        taker.take(format_args!("group {number} xon offset"), &group.xon_offset);
        taker.take(format_args!("group {number} headroom"), &group.headroom);
    }
    let watchdog = &port.watchdog;
    taker.take(format_args!("watchdog"), &watchdog.on);
    if watchdog.on.get() == Some(true) {
        taker.take(format_args!("watchdog detect"), &watchdog.detect);
        taker.take(format_args!("watchdog restore"), &watchdog.restore);
        taker.take(format_args!("watchdog reaction"), &watchdog.reaction);
    }
    let nic = &port.nic;
    taker.take(format_args!("data dscp"), &nic.data_dscp);
    taker.take(format_args!("cm dscp"), &nic.cm_dscp);
    taker.take(format_args!("cnp dscp"), &nic.cnp_dscp);
    taker.take(format_args!("notifies"), &nic.notifies);
    taker.take(format_args!("reacts"), &nic.reacts);
}

/// Copies what a fact of [`Facts::of_port`] is about from one port to another.
///
/// # Panics
/// If no fact of a port has this name.
pub(crate) fn copy(about: &str, from: &Port, to: &mut Port) {
    let words: Vec<&str> = about.split(' ').collect();
    let index = |number: &str| -> usize { number.parse().expect("facts number their subjects") };
    match words[..] {
        ["mtu"] => to.mtu = from.mtu,
        ["cable"] => to.cable = from.cable,
        ["trust"] => to.trust = from.trust,
        ["pfc"] => to.pfc = from.pfc,
        ["balancing"] => to.balancing = from.balancing,
        ["watchdog"] => to.watchdog.on = from.watchdog.on,
        ["watchdog", "detect"] => to.watchdog.detect = from.watchdog.detect,
        ["watchdog", "restore"] => to.watchdog.restore = from.watchdog.restore,
        ["watchdog", "reaction"] => to.watchdog.reaction = from.watchdog.reaction,
        ["data", "dscp"] => to.nic.data_dscp = from.nic.data_dscp,
        ["cm", "dscp"] => to.nic.cm_dscp = from.nic.cm_dscp,
        ["cnp", "dscp"] => to.nic.cnp_dscp = from.nic.cnp_dscp,
        ["notifies"] => to.nic.notifies = from.nic.notifies,
        ["reacts"] => to.nic.reacts = from.nic.reacts,
        ["queue", number, what] => {
            let (from, number) = (&from.queues, index(number));
            let to = &mut Arc::make_mut(&mut to.queues)[number];
            match what {
                "turn" => to.scheduling = from[number].scheduling,
                _ => to.wred = from[number].wred,
            }
        }
        ["group", number, ..] => {
            let (from, number) = (&from.groups[index(number)], index(number));
            let to = &mut Arc::make_mut(&mut to.groups)[number];
            match words[2..] {
                ["reserved"] => to.reserved = from.reserved,
                ["threshold"] => to.threshold = from.threshold,
                ["xon", "offset"] => to.xon_offset = from.xon_offset,
                _ => to.headroom = from.headroom,
            }
        }
        [from_what, number, to_what] => {
            let (from, number) = (&from.maps, index(number));
            let to = Arc::make_mut(&mut to.maps);
            match (from_what, to_what) {
                ("dscp", _) => to.dscp_to_class[number] = from.dscp_to_class[number],
                ("class", "queue") => to.class_to_queue[number] = from.class_to_queue[number],
                ("class", _) => to.class_to_group[number] = from.class_to_group[number],
                (_, "queue") => to.pfc_to_queue[number] = from.pfc_to_queue[number],
                _ => to.pfc_to_group[number] = from.pfc_to_group[number],
            }
        }
        _ => unreachable!("no port has a fact `{about}`"),
    }
}

/// Where a port says what a fact is about.
pub(crate) fn place(about: &str, port: &Port) -> Option<Place> {
    let words: Vec<&str> = about.split(' ').collect();
    let index = |number: &str| number.parse::<usize>().ok();
    match words[..] {
        ["mtu"] => port.mtu.place(),
        ["cable"] => port.cable.place(),
        ["trust"] => port.trust.place(),
        ["pfc"] => port.pfc.place(),
        ["balancing"] => port.balancing.place(),
        ["watchdog"] => port.watchdog.on.place(),
        ["watchdog", "detect"] => port.watchdog.detect.place(),
        ["watchdog", "restore"] => port.watchdog.restore.place(),
        ["watchdog", "reaction"] => port.watchdog.reaction.place(),
        ["data", "dscp"] => port.nic.data_dscp.place(),
        ["cm", "dscp"] => port.nic.cm_dscp.place(),
        ["cnp", "dscp"] => port.nic.cnp_dscp.place(),
        ["notifies"] => port.nic.notifies.place(),
        ["reacts"] => port.nic.reacts.place(),
        ["queue", number, "turn"] => port.queues.get(index(number)?)?.scheduling.place(),
        ["queue", number, _] => port.queues.get(index(number)?)?.wred.place(),
        ["group", number, "reserved"] => port.groups.get(index(number)?)?.reserved.place(),
        ["group", number, "threshold"] => port.groups.get(index(number)?)?.threshold.place(),
        ["group", number, "headroom"] => port.groups.get(index(number)?)?.headroom.place(),
        ["group", number, ..] => port.groups.get(index(number)?)?.xon_offset.place(),
        ["dscp", number, _] => port.maps.dscp_to_class.get(index(number)?)?.place(),
        ["class", number, "queue"] => port.maps.class_to_queue.get(index(number)?)?.place(),
        ["class", number, _] => port.maps.class_to_group.get(index(number)?)?.place(),
        ["pause", number, "queue"] => port.maps.pfc_to_queue.get(index(number)?)?.place(),
        ["pause", number, _] => port.maps.pfc_to_group.get(index(number)?)?.place(),
        _ => None,
    }
}

pub(crate) fn wred(wred: &Wred) -> String {
    wred.show()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::{Choices, Intent};
    use crate::system_id::SystemId;
    use xoff_fabric::load_fabric;

    #[test]
    fn every_fact_can_be_copied() {
        let file = "[cluster]\ngpus = 8\ngpus-per-server = 2\n[fabric]\nkind = 'leaf-spine'\n\
                    leaves = 2\nspines = 2\n[switch.watchdog]\ndetect = '200ms'\nrestore = '400ms'\n";
        let setup = load_fabric(file).into_result().expect("a fabric");
        let intent = Intent::with(&setup, Choices::all(SystemId::Sonic));
        for from in intent.devices.iter().flat_map(|device| device.ports.values()) {
            let facts = Facts::of_port(from);
            let mut to = Port::default();
            for about in facts.subjects() {
                assert_ne!(Facts::of_port(&to).get(about), facts.get(about), "{about} is there");
                copy(about, from, &mut to);
                assert_eq!(Facts::of_port(&to).get(about), facts.get(about), "{about}");
            }
            assert_eq!(Facts::of_port(&to), facts);
        }
    }

    #[test]
    fn ports_of_one_print_have_the_same_facts() {
        let file = "[cluster]\ngpus = 8\ngpus-per-server = 2\n[fabric]\nkind = 'leaf-spine'\n\
                    leaves = 2\nspines = 2\n[switch.watchdog]\ndetect = '200ms'\nrestore = '400ms'\n";
        let setup = load_fabric(file).into_result().expect("a fabric");
        let register = Register::default();
        for system in SystemId::ALL.into_iter().filter(|system| *system != SystemId::Host) {
            let intent = Intent::with(&setup, Choices::all(system));
            let fitted = intent.devices.iter();
            let fitted = fitted.map(|device| device.system.system().fit(device, &mut Vec::new()));
            for port in fitted.flat_map(|device| device.ports.into_values()) {
                assert_eq!(*register.of_port(&port), Facts::of_port(&port));
                // Every fact that is taken away or comes from another port makes another print.
                let facts = Facts::of_port(&port);
                for about in facts.subjects() {
                    let mut less = port.clone();
                    copy(about, &Port::default(), &mut less);
                    assert_eq!(*register.of_port(&less), Facts::of_port(&less), "{about}");
                }
            }
        }
        let count = register.0.borrow().len();
        assert!(count > 1000, "{count} ways");
    }

    #[test]
    fn differences_of_either_side() {
        let facts = |all: &[(&str, &str)]| {
            Facts(all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
        };
        let left = facts(&[("a", "1"), ("c", "3"), ("d", "4")]);
        let right = facts(&[("b", "2"), ("c", "0"), ("d", "4"), ("e", "5")]);
        let found: Vec<String> = left
            .differences(&right)
            .into_iter()
            .map(|one| format!("{} {:?} {:?}", one.about, one.left, one.right))
            .collect();
        let wanted = [
            r#"a Some("1") None"#,
            r#"b None Some("2")"#,
            r#"c Some("3") Some("0")"#,
            r#"e None Some("5")"#,
        ];
        assert_eq!(found, wanted);
        assert!(left.differences(&left).is_empty());
    }
}
