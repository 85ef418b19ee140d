//! What most devices of a fabric have: the reference where no fabric file says what is meant.
//!
//! Every fact about a port is put to the vote among ports of its [`Kind`]. A device has one vote: what most of
//! its own ports have, so that a switch with many ports that is wrong as a whole does not outvote the others.
//! Where the devices of a kind are one or tie, wider kinds decide what does not depend on the place in the
//! fabric; where nothing decides, the value that makes RoCE lossless wins, and else both sides are reported.

use super::kind::{self, Kind};
use super::sizes;
use crate::device::{Device, Port, PortName};
use crate::facts::{self, Facts, Register};
use crate::system::SystemId;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What most devices have, for every port that carries RoCE.
pub(super) struct Reference {
    /// Each device with the ports that carry RoCE, as most have them.
    pub(super) devices: Vec<Device>,
    kinds: BTreeMap<(usize, PortName), Kind>,
    choices: BTreeMap<Kind, BTreeMap<String, Choice>>,
    /// The ways in which ports are configured, and which of them each device has.
    ways: Vec<Rc<Facts>>,
    ways_of: BTreeMap<usize, BTreeSet<usize>>,
}

/// What was chosen for a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Choice {
    /// The signature it was taken from; `None` where nothing decides.
    from: Option<usize>,
    /// Whether it ought to be decided, and two sides are of equal weight.
    split: bool,
    /// How many devices, or ports of a lone device, have it.
    count: usize,
    /// Of how many.
    of: usize,
    /// What was counted.
    what: String,
}

/// Ports that are configured in exactly the same way.
struct Signature<'a> {
    facts: Rc<Facts>,
    example: &'a Port,
}

/// Ports by device and signature.
type Ballot = BTreeMap<usize, BTreeMap<usize, usize>>;

/// How far a fact may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All devices of a system have to agree: classes, pauses, what NICs write.
    Fabric,
    /// Ports of one speed have to agree.
    Speed,
    /// It depends on the cable: all others of the kind have to agree.
    Cable,
}

impl Reach {
    fn of(about: &str) -> Self {
        match about.split(' ').next().unwrap_or_default() {
            "group" if about.ends_with("threshold") || about.ends_with("reserved") => Self::Speed,
            "cable" | "group" => Self::Cable,
            "mtu" | "watchdog" | "queue" | "balancing" => Self::Speed,
            _ => Self::Fabric,
        }
    }
}

impl Reference {
    pub(super) fn of(
        devices: &[&Device],
        kinds: BTreeMap<(usize, PortName), Kind>,
        facts: &Register,
    ) -> Self {
        let (signatures, of_port) = signatures(devices, &kinds, facts);
        let mut ballots: BTreeMap<Kind, Ballot> = BTreeMap::new();
        for (end, own) in &kinds {
            for kind in [own.clone(), own.at_speed(), own.at_system(), own.anywhere()] {
                let votes = ballots.entry(kind).or_default().entry(end.0).or_default();
                *votes.entry(of_port[end]).or_default() += 1;
            }
        }
        let own: BTreeSet<&Kind> = kinds.values().collect();
        let poll = Poll { signatures: &signatures, ballots: &ballots };
        let choices: BTreeMap<Kind, _> =
            own.into_iter().map(|kind| (kind.clone(), poll.choices(kind))).collect();
        let mut all: Vec<Device> =
            devices.iter().map(|device| Device::new(&device.name, device.system)).collect();
        sizes::whole_devices(devices, &mut all);
        let mut made: BTreeMap<&Kind, Port> = BTreeMap::new();
        for ((index, name), kind) in &kinds {
            let model = made.entry(kind).or_insert_with(|| model(&choices[kind], &signatures));
            let real = &devices[*index].ports[name];
            let port = Port {
                rate: real.rate,
                neighbour: real.neighbour.clone(),
                ..port_with_undecided(model, real, &choices[kind])
            };
            all[*index].ports.insert(name.clone(), port);
        }
        let mut ways_of: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for ((index, _), number) in of_port {
            ways_of.entry(index).or_default().insert(number);
        }
        let ways = signatures.into_iter().map(|signature| signature.facts).collect();
        Self { devices: all, kinds, choices, ways, ways_of }
    }

    /// Whether what was chosen for a fact is no accident: at least two devices of the system have it.
    pub(super) fn is_firm(
        &self,
        index: usize,
        name: &PortName,
        about: &str,
        value: Option<&str>,
    ) -> bool {
        let kind = self.kinds.get(&(index, name.clone()));
        let choice = kind.and_then(|kind| self.choices.get(kind)).and_then(|all| all.get(about));
        if choice.is_some_and(|choice| choice.from.is_none()) {
            return false;
        }
        let system = self.devices[index].system;
        let alike = self.ways_of.iter().filter(|(other, _)| self.devices[**other].system == system);
        let has =
            |ways: &BTreeSet<usize>| ways.iter().any(|way| self.ways[*way].get(about) == value);
        alike.filter(|(_, ways)| has(ways)).take(2).count() == 2
    }

    /// Whether a port carries RoCE.
    pub(super) fn is_member(&self, index: usize, name: &PortName) -> bool {
        self.kinds.contains_key(&(index, name.clone()))
    }

    /// `5 of 6 leaf switches`: who has what is chosen for a fact.
    pub(super) fn support(&self, index: usize, name: &PortName, about: &str) -> Option<String> {
        let kind = self.kinds.get(&(index, name.clone()))?;
        let choice = self.choices.get(kind)?.get(about)?;
        choice.from?;
        Some(format!("{} of {} {}", choice.count, choice.of, choice.what))
    }

    /// Ports of the same kind as a port.
    pub(super) fn alike(
        &self,
        index: usize,
        name: &PortName,
    ) -> impl Iterator<Item = (usize, &PortName)> {
        let own = self.kinds.get(&(index, name.clone()));
        let all = self.kinds.iter().filter(move |(_, kind)| Some(*kind) == own);
        all.map(|((index, name), _)| (*index, name))
    }

    /// Facts of a port's kind on which two sides of equal weight differ.
    pub(super) fn split(&self, index: usize, name: &PortName) -> impl Iterator<Item = &str> {
        let choices = self.kinds.get(&(index, name.clone())).and_then(|k| self.choices.get(k));
        let open = choices.into_iter().flatten().filter(|(_, choice)| choice.split);
        open.map(|(about, _)| about.as_str())
    }
}

impl Kind {
    /// All ports of the system with this speed.
    fn at_speed(&self) -> Self {
        Self { role: String::new(), peer: "*".to_owned(), ..self.clone() }
    }

    /// All ports of the system.
    fn at_system(&self) -> Self {
        Self { role: String::new(), peer: "**".to_owned(), rate: None, system: self.system }
    }

    /// Ports of this speed of all systems, hosts apart.
    fn anywhere(&self) -> Self {
        let system = if self.system == SystemId::Host { SystemId::Host } else { SystemId::Sonic };
        Self { role: "*".to_owned(), peer: "*".to_owned(), system, rate: self.rate }
    }
}

/// The distinct ways in which ports are configured, and which one each port has.
fn signatures<'a>(
    devices: &[&'a Device],
    kinds: &BTreeMap<(usize, PortName), Kind>,
    register: &Register,
) -> (Vec<Signature<'a>>, BTreeMap<(usize, PortName), usize>) {
    let mut all: Vec<Signature<'a>> = Vec::new();
    // The register has the same facts for ports that are configured alike.
    let mut known: BTreeMap<*const Facts, usize> = BTreeMap::new();
    let mut of_port = BTreeMap::new();
    for end in kinds.keys() {
        let example = &devices[end.0].ports[&end.1];
        let facts = register.of_port(example);
        let number = *known.entry(Rc::as_ptr(&facts)).or_insert(all.len());
        if number == all.len() {
            all.push(Signature { facts, example });
        }
        of_port.insert(end.clone(), number);
    }
    (all, of_port)
}

/// The votes.
struct Poll<'a> {
    signatures: &'a [Signature<'a>],
    ballots: &'a BTreeMap<Kind, Ballot>,
}

impl Poll<'_> {
    fn choices(&self, kind: &Kind) -> BTreeMap<String, Choice> {
        let ballot = &self.ballots[kind];
        let numbers: BTreeSet<usize> =
            ballot.values().flat_map(|own| own.keys().copied()).collect();
        let wide: BTreeSet<usize> =
            self.ballots[&kind.at_system()].values().flat_map(|own| own.keys().copied()).collect();
        let about: BTreeSet<&str> =
            wide.iter().flat_map(|number| self.signatures[*number].facts.subjects()).collect();
        about
            .into_iter()
            .map(|about| (about.to_owned(), self.choice(kind, about, &numbers)))
            .collect()
    }

    fn value(&self, number: usize, about: &str) -> Option<&str> {
        self.signatures[number].facts.get(about)
    }

    fn choice(&self, kind: &Kind, about: &str, numbers: &BTreeSet<usize>) -> Choice {
        let reach = Reach::of(about);
        let own = self.count(kind, about);
        // Thresholds follow speeds: where neither these nor peers are known, ports may well differ.
        let mixed = about.ends_with("wred") && kind.rate.is_none() && kind.peer.is_empty();
        if reach == Reach::Cable || mixed {
            let choice = own.unanimous();
            // Two devices that differ do not tell which of them is wrong. Ports of their speed elsewhere are the other ends of their cables.
            let open = choice.from.is_none() && reach == Reach::Cable && own.devices == 2;
            let wider = Some(kind.at_speed()).filter(|_| open && kind.rate.is_some());
            let decided = wider.map(|wide| self.count(&wide, about).unanimous()).filter(|choice| {
                let from = choice.from.and_then(|number| self.value(number, about));
                from.is_some() && numbers.iter().any(|number| self.value(*number, about) == from)
            });
            return decided.unwrap_or(choice);
        }
        let enough = own.devices > 1 || (own.ports > 2 && reach != Reach::Fabric);
        if let Some(choice) = own.majority().filter(|_| enough) {
            return choice;
        }
        let wider = [kind.at_speed(), kind.at_system(), kind.anywhere()];
        let decided = wider
            .iter()
            .filter(|wide| wide.rate == kind.rate || !about.ends_with("wred"))
            .filter(|wide| portable(about) || !wide.role.starts_with('*'))
            .map(|wide| self.count(wide, about))
            .filter(|votes| votes.devices > 1)
            .find_map(|votes| votes.majority())
            // What nobody of the kind has is not taken from others.
            .filter(|choice| {
                let from = choice.from.and_then(|number| self.value(number, about));
                reach == Reach::Fabric
                    || numbers.iter().any(|number| self.value(*number, about) == from)
            });
        let leading = || own.leading(about).or_else(|| own.preferred(about));
        decided.or_else(|| own.majority()).or_else(leading).unwrap_or(Choice {
            from: None,
            split: own.values.len() > 1,
            count: 0,
            of: own.devices,
            what: own.what,
        })
    }

    fn count(&self, kind: &Kind, about: &str) -> Votes<'_> {
        let mut votes = Votes { what: kind::words(kind.system, &kind.role), ..Votes::default() };
        if kind.role == "*" {
            votes.what = "switches".to_owned();
        }
        let Some(ballot) = self.ballots.get(kind) else { return votes };
        for own in ballot.values() {
            let mut values: BTreeMap<Option<&str>, (usize, usize)> = BTreeMap::new();
            for (number, ports) in own {
                let value = self.value(*number, about);
                // What a host was not asked for is not known.
                if value.is_none() && kind.system == SystemId::Host {
                    continue;
                }
                values.entry(value).or_insert((*number, 0)).1 += ports;
                votes.ports += ports;
            }
            for (value, (_, ports)) in &values {
                *votes.by_port.entry(*value).or_default() += ports;
            }
            votes.mixed += usize::from(values.len() > 1);
            let most = values.values().map(|(_, ports)| *ports).max().unwrap_or(0);
            let mut leading = values.iter().filter(|(_, (_, ports))| *ports == most);
            let (Some((value, (number, _))), None) = (leading.next(), leading.next()) else {
                continue;
            };
            votes.devices += 1;
            votes.values.entry(*value).or_insert((*number, 0)).1 += 1;
        }
        votes
    }
}

/// Facts that mean the same on every system.
fn portable(about: &str) -> bool {
    about == "pfc" || about == "trust" || about.ends_with("wred") || about.starts_with("dscp ")
}

/// Votes for the values of one fact.
#[derive(Default)]
struct Votes<'a> {
    /// The signature that each value was taken from, and how many devices have it.
    values: BTreeMap<Option<&'a str>, (usize, usize)>,
    by_port: BTreeMap<Option<&'a str>, usize>,
    devices: usize,
    /// Devices whose own ports differ.
    mixed: usize,
    ports: usize,
    what: String,
}

impl Votes<'_> {
    fn majority(&self) -> Option<Choice> {
        let (value, (from, count)) = self.values.iter().max_by_key(|(_, (_, count))| *count)?;
        if 2 * count <= self.devices {
            return None;
        }
        if self.devices > 1 {
            let (count, of) = (*count, self.devices);
            let what = self.what.clone();
            return Some(Choice { from: Some(*from), split: false, count, of, what });
        }
        let count = self.by_port.get(value).copied().unwrap_or(0);
        let what = "ports of this kind".to_owned();
        Some(Choice { from: Some(*from), split: false, count, of: self.ports, what })
    }

    /// What all but the odd one have.
    fn unanimous(&self) -> Choice {
        let most = self.by_port.iter().max_by_key(|(_, ports)| **ports);
        let found = most.filter(|(_, ports)| self.ports > 2 && **ports + 1 >= self.ports.max(3));
        // A device as a whole, if the ports of each device are alike.
        let alike = self.devices > 2 && self.mixed == 0;
        let device = most.filter(|_| alike).and_then(|(value, _)| {
            let (number, count) = self.values.get(value)?;
            (*count + 1 >= self.devices).then_some((value, number))
        });
        let value = found.map(|(value, _)| value).or(device.map(|(value, _)| value));
        let from = value.and_then(|value| self.values.get(value)).map(|(number, _)| *number);
        Choice {
            from,
            split: false,
            count: value.map_or(0, |value| self.by_port[value]),
            of: self.ports,
            what: "ports of this kind".to_owned(),
        }
    }

    /// What several devices have where each of the others has something else, if RoCE is no less lossless and marked under it.
    fn leading(&self, about: &str) -> Option<Choice> {
        let most = self.values.values().map(|(_, count)| *count).max().filter(|most| *most > 1)?;
        let mut all = self.values.iter().filter(|(_, (_, count))| *count == most);
        let (Some((value, (from, count))), None) = (all.next(), all.next()) else { return None };
        let rank = |value: &Option<&str>| Self::rank(about, *value);
        let best = self.values.keys().map(rank).max()?;
        let others = self.values.len() > 2 && rank(value) == best;
        others.then(|| Choice {
            from: Some(*from),
            split: false,
            count: *count,
            of: self.devices,
            what: self.what.clone(),
        })
    }

    /// How far RoCE is lossless and marked under a value.
    fn rank(about: &str, value: Option<&str>) -> usize {
        match (about, value) {
            (_, None) => 0,
            ("pfc", Some("none")) => 0,
            ("pfc", Some(_)) => 1,
            ("trust", Some(trust)) => usize::from(trust.contains("dscp")),
            ("watchdog", Some(on)) => usize::from(on == "true"),
            ("balancing", Some(on)) => usize::from(on == "true"),
            (about, Some(wred)) if about.ends_with("wred") => {
                usize::from(wred.starts_with("marks"))
            }
            ("mtu", Some(mtu)) => mtu.len(),
            _ => 0,
        }
    }

    /// Of two sides of equal weight the one under which RoCE is lossless and marked.
    fn preferred(&self, about: &str) -> Option<Choice> {
        let rank = |value: Option<&str>| Self::rank(about, value);
        let best = self.values.iter().max_by_key(|(value, _)| rank(**value))?;
        let alike = self.values.keys().filter(|value| rank(**value) == rank(*best.0)).count();
        let (from, count) = *best.1;
        (alike == 1).then(|| Choice {
            from: Some(from),
            split: false,
            count,
            of: self.devices,
            what: self.what.clone(),
        })
    }
}

/// A port with everything as chosen.
fn model(choices: &BTreeMap<String, Choice>, signatures: &[Signature<'_>]) -> Port {
    let mut port = Port::default();
    for (about, choice) in choices {
        if let Some(from) = choice.from {
            facts::copy(about, signatures[from].example, &mut port);
        }
    }
    port
}

/// What nothing decides is as the port has it.
fn port_with_undecided(model: &Port, real: &Port, choices: &BTreeMap<String, Choice>) -> Port {
    let mut port = model.clone();
    for (about, _) in choices.iter().filter(|(_, choice)| choice.from.is_none()) {
        facts::copy(about, real, &mut port);
    }
    port
}

#[cfg(test)]
mod tests;
