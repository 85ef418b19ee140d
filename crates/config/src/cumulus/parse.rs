//! Reading NVUE, command by command.

mod ports;
mod profiles;
mod settle;
mod tunnels;

use super::Cumulus;
use super::buffers::Buffers;
use super::roce::Mode;
use crate::device::{Balancing, Device, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Queue, ranges};
use crate::place::{Place, Said};
use crate::qos::Trust;
use crate::system::{Input, System, SystemId};
use crate::text::notes::Notes;
pub(crate) use ports::ports_of_list;
use std::collections::BTreeMap;
use tunnels::Vxlan;
use xoff_units::{Bytes, Length};

/// Profiles of one kind, and the name that holds where none is bound.
type Profiles<T> = BTreeMap<String, T>;
const GLOBAL: &str = "default-global";

#[derive(Debug, Clone)]
struct Mapping {
    trust: Said<Trust>,
    classes: [Said<Class>; Dscp::COUNT],
}

impl Default for Mapping {
    fn default() -> Self {
        Self { trust: Said::Absent, classes: [Said::Absent; Dscp::COUNT] }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Marking {
    on: Said<bool>,
    red: Said<bool>,
    kmin: Said<Bytes>,
    kmax: Said<Bytes>,
    /// Whether thresholds are shares of what the queue may hold, and which.
    relative: Said<bool>,
    fill_min: Said<u64>,
    fill_max: Said<u64>,
    percent: Said<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pausing {
    priorities: Said<Priorities>,
    cable: Said<Length>,
    off: bool,
}

/// Profiles of a port, each with the line that binds it.
#[derive(Debug, Clone, Default)]
struct Bound {
    mapping: Option<(String, u32)>,
    scheduler: Option<(String, u32)>,
    congestion: Option<(String, u32)>,
    pfc: Option<(String, u32)>,
}

struct Parser {
    device: Device,
    notes: Notes,
    mapping: Profiles<Mapping>,
    queue_mapping: [Said<Queue>; 8],
    scheduler: Profiles<[(Said<bool>, Said<u32>); 8]>,
    congestion: Profiles<[Marking; 8]>,
    pfc: Profiles<Pausing>,
    bound: BTreeMap<String, Bound>,
    poll: Said<u64>,
    robustness: Said<u64>,
    roce: Option<(Mode, Place)>,
    roce_off: bool,
    roce_cable: Said<Length>,
    buffers: Buffers,
    vxlan: Vxlan,
}

/// Reads commands, as `nv config show -o commands` prints them.
pub(super) fn commands(input: &Input<'_>) -> Device {
    let mut parser = Parser::new(input, Cumulus::Commands.id());
    // What was set and is taken away again was never set: entries of QoS go as a whole, whatever they say.
    let mut set: Vec<(u32, Vec<&str>)> = Vec::new();
    for (line, number) in input.text.lines().zip(1u32..) {
        let line = line.trim();
        // `cumulus@leaf0:mgmt:~$ nv set …`
        let command = match line.find("nv set ").or_else(|| line.find("nv unset ")) {
            Some(at) => &line[at..],
            None => line,
        };
        if command.is_empty() || command.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["nv", "set", ref path @ ..] => set.push((number, path.to_vec())),
            ["nv", "unset", "qos", _, ..] if covers(&words[2..], &set) => {
                set.retain(|(_, path)| !path.starts_with(&words[2..]));
            }
            ["nv", "unset", ref path @ ..] => {
                parser.commands(&mut set);
                parser.unset(number, path);
            }
            _ => parser.strange(number, line),
        }
    }
    parser.commands(&mut set);
    parser.finish()
}

/// Whether something that was set is below a path.
fn covers(path: &[&str], set: &[(u32, Vec<&str>)]) -> bool {
    path != ["qos", "roce"] && set.iter().any(|(_, words)| words.starts_with(path))
}

/// Reads YAML, as `nv config show` prints it.
pub(super) fn yaml(input: &Input<'_>) -> Device {
    let mut parser = Parser::new(input, Cumulus::Yaml.id());
    let found = super::yaml::read(input.text);
    for (line, text) in found.strange {
        parser.strange(line, text);
    }
    if let Some(line) = found.cut {
        parser.notes.mark(line, RemarkKind::Truncated);
    }
    if let Some((line, version)) = found.version {
        parser.device.version = Said::At(version.to_owned(), parser.notes.line(line));
    }
    for (line, path) in &found.paths {
        let words: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
        parser.command(*line, &words);
    }
    parser.finish()
}

impl Parser {
    fn new(input: &Input<'_>, system: SystemId) -> Self {
        Self {
            device: Device::new(input.name, system),
            notes: Notes::new(input.file),
            mapping: BTreeMap::new(),
            queue_mapping: [Said::Absent; 8],
            scheduler: BTreeMap::new(),
            congestion: BTreeMap::new(),
            pfc: BTreeMap::new(),
            bound: BTreeMap::new(),
            poll: Said::Absent,
            robustness: Said::Absent,
            roce: None,
            roce_off: false,
            roce_cable: Said::Absent,
            buffers: Buffers::default(),
            vxlan: Vxlan::default(),
        }
    }

    /// Commands in their order.
    fn commands(&mut self, set: &mut Vec<(u32, Vec<&str>)>) {
        for (line, path) in set.drain(..) {
            self.command(line, &path);
        }
    }

    /// A line that says nothing; a prompt names the device.
    fn strange(&mut self, number: u32, line: &str) {
        if let Some((_, rest)) = line.split_once('@') {
            let host = rest.split([':', '$', '#', ' ']).next().unwrap_or_default();
            if !host.is_empty() {
                self.device.name = host.to_owned();
            }
        }
        self.notes.mark(number, RemarkKind::Foreign);
    }
}

impl Parser {
    fn command(&mut self, line: u32, path: &[&str]) {
        let place = self.notes.line(line);
        match path {
            ["system", "hostname", name] => self.device.name = (*name).to_owned(),
            ["qos", "roce", rest @ ..] => self.roce_mode(line, rest),
            ["qos", "mapping", profile, rest @ ..] => self.map(line, profile, rest),
            [
                "qos",
                "egress-queue-mapping",
                GLOBAL,
                "switch-priority",
                from,
                "traffic-class",
                to,
            ] => match (ranges(from, 8), Queue::read(to)) {
                (Some(classes), Some(queue)) => {
                    for class in classes {
                        self.queue_mapping[usize::from(class)] = Said::At(queue, place);
                    }
                }
                _ => self.notes.mark(line, RemarkKind::Malformed),
            },
            ["qos", "traffic-pool", rest @ ..] => self.buffers.pool(line, rest, &mut self.notes),
            ["qos", "advance-buffer-config", _, rest @ ..] => {
                self.buffers.advanced(line, rest, &mut self.notes);
            }
            ["qos", "remark" | "egress-shaper" | "link-pause", ..] => {
                self.notes.mark(line, RemarkKind::Foreign);
            }
            ["qos", "egress-scheduler", profile, "traffic-class", list, rest @ ..] => {
                self.turn(line, profile, list, rest);
            }
            ["qos", "congestion-control", profile, "traffic-class", list, rest @ ..] => {
                self.marking(line, profile, list, rest);
            }
            ["qos", "pfc", profile, rest @ ..] => self.pausing(line, profile, rest),
            ["qos", "pfc-watchdog", "polling-interval", ms] => {
                self.poll = self.notes.said(line, ms.parse().ok().filter(|ms| *ms < 1_000_000));
            }
            ["qos", "pfc-watchdog", "robustness", count] => {
                self.robustness = self.notes.said(line, count.parse().ok().filter(|n| *n < 10_000));
            }
            ["router", "adaptive-routing", "state" | "enable", word] => {
                let on = matches!(*word, "enabled" | "on");
                let value = if on { Balancing::Packet } else { Balancing::Hash };
                self.device.balancing = Said::At(value, place);
            }
            ["router", "adaptive-routing", ..] => {}
            ["interface", list, rest @ ..] => self.interface(line, list, rest),
            ["qos", ..] => self.notes.mark(line, RemarkKind::Unknown),
            _ if self.vxlan.read(path, line, &mut self.notes) => {}
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    /// Takes away what was said of a port so far.
    fn unset(&mut self, line: u32, path: &[&str]) {
        match path {
            ["interface", list, "qos"] => {
                for name in ports_of_list(list) {
                    self.bound.remove(&name);
                    self.device.port(&name).watchdog.on = Said::Absent;
                }
            }
            ["interface", list, "qos", kind] | ["interface", list, "qos", kind, "profile", ..] => {
                for name in ports_of_list(list) {
                    self.unbind(line, &name, kind);
                }
            }
            ["interface", list, "link", "mtu", ..] => {
                for name in ports_of_list(list) {
                    self.device.port(&name).mtu = Said::Absent;
                }
            }
            ["interface", list, "router", "adaptive-routing"] => {
                for name in ports_of_list(list) {
                    self.device.port(&name).balancing = Said::Absent;
                }
            }
            ["router", "adaptive-routing"] => self.device.balancing = Said::Absent,
            ["qos", "roce"] => (self.roce, self.roce_cable) = (None, Said::Absent),
            ["qos", ..] | ["interface", _, "qos", ..] => {
                self.notes.mark(line, RemarkKind::Unknown);
            }
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    /// Takes one profile away from a port.
    fn unbind(&mut self, line: u32, name: &str, kind: &str) {
        let bound = self.bound.entry(name.to_owned()).or_default();
        match kind {
            "mapping" => bound.mapping = None,
            "egress-scheduler" => bound.scheduler = None,
            "congestion-control" => bound.congestion = None,
            "pfc" => bound.pfc = None,
            "pfc-watchdog" => self.device.port(name).watchdog.on = Said::Absent,
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn roce_mode(&mut self, line: u32, rest: &[&str]) {
        let place = self.notes.line(line);
        match rest {
            // A mode that was chosen before stays.
            [] | ["enable", "on"] | ["state", "enabled"] => {
                self.roce_off = false;
                self.roce = self.roce.or(Some((Mode::Lossless, place)));
            }
            ["enable", "off"] | ["state", "disabled"] => self.roce_off = true,
            ["mode", word] => match Mode::read(word) {
                Some(mode) => self.roce = Some((mode, place)),
                None => self.notes.mark(line, RemarkKind::Malformed),
            },
            ["cable-length", metres] => {
                let cable = metres.parse().ok().map(Length::from_m);
                self.roce_cable = self.notes.said(line, cable);
            }
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    /// A statement about many ports or queues is remarked once.
    fn once(&mut self, before: usize) {
        self.notes.remarks.truncate(before + 1);
    }
}

#[cfg(test)]
mod tests;
