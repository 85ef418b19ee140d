//! Reading hosts: scripts that configure them, output of tools, files of sysfs, environments and logs of sessions.
//!
//! Each line is offered to one small reader after the other. What is learned is kept under the name that a line
//! uses, RDMA device, interface or other; [`super::join`] makes one port of them.

use super::label::{self, Label};
use super::{Host, command, dcb, environment, join, links, lldp, mlnx, mlxconfig, nicctl, sysfs};
use crate::device::{Device, Maker, Port, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Priority, Queue};
use crate::place::{FileId, Place, Said};
use crate::qos::{Maps, QueueSettings, Trust};
use crate::system::{Input, System};
use crate::text::notes::Notes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xoff_fabric::model::Scheduling;
use xoff_units::Bytes;

/// A file of a host.
#[derive(Debug)]
pub(crate) struct HostFile<'a> {
    /// The file, for places.
    pub(crate) file: FileId,
    /// What is in it.
    pub(crate) text: &'a str,
    /// What its path says.
    pub(crate) label: Label,
}

/// Everything learned of a host so far.
pub(super) struct Parser {
    /// Its ports have the names that lines use.
    pub(super) device: Device,
    pub(super) notes: Notes,
    /// The NIC that lines are about.
    pub(super) current: Option<String>,
    /// Names of one NIC.
    pub(super) same: Vec<(String, String)>,
    /// Names that are RDMA devices.
    pub(super) rdma: BTreeSet<String>,
    /// Names that are network interfaces.
    pub(super) nets: BTreeSet<String>,
    /// Interfaces that carry no RoCE.
    pub(super) excluded: BTreeSet<String>,
    /// Shares of queues in percent, by NIC, as they were last printed.
    bandwidths: BTreeMap<(String, usize), u32>,
    /// Entries of address tables that are addresses of the link.
    pub(super) gids_of_link: BTreeSet<(String, u8)>,
    /// NICs whose QoS was shown whole: what is absent is at its default.
    pub(super) whole: BTreeSet<String>,
    /// NICs whose map from DSCP to priority was shown whole.
    pub(super) mapped: BTreeSet<String>,
    /// What is known of interfaces that may not carry RoCE.
    pub(super) plain: BTreeMap<String, Port>,
    /// Firmware of NICs.
    pub(super) firmware: BTreeMap<String, Said<String>>,
    /// What `nicctl` sets on all NICs.
    pub(super) everywhere: Option<Port>,
    pub(super) mode: Mode,
    /// The path whose value stands on the next line.
    pub(super) path: Option<String>,
    /// A variable whose value stands on the next line.
    pub(super) variable: Option<String>,
    /// The tool whose output lines are.
    pub(super) tool: Option<&'static str>,
}

/// Which part of a tool's output a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// None.
    Plain,
    /// `mlnx_qos`: `dscp2prio mapping:`.
    DscpMap,
    /// `mlnx_qos`: `PFC configuration:`.
    Pfc,
    /// `mlnx_qos`: `tc: 3 …`: priorities of a queue.
    Queue(usize),
    /// A TLV that is configured, of `lldptool` and tools like it.
    Tlv,
    /// A TLV that only recommends.
    Recommended,
    /// An application of a TLV: its priority, and whether it is selected by DSCP.
    App(Option<Class>, bool),
    /// `nicctl show qos`: the table of turns.
    Turns,
}

/// The device that one text describes.
pub(super) fn parse(input: &Input<'_>) -> Device {
    let file = HostFile { file: input.file, text: input.text, label: Label::default() };
    let name = match label::in_text(input.text) {
        Some(label::Named::Surely(name)) => name,
        _ => input.name.to_owned(),
    };
    read(&name, &[file])
}

/// The device that files of one host describe.
pub(crate) fn read(name: &str, files: &[HostFile<'_>]) -> Device {
    let first = files.first().map_or(FileId::INTENT, |file| file.file);
    let mut parser = Parser {
        device: Device::new(name, Host.id()),
        notes: Notes::new(first),
        current: None,
        same: Vec::new(),
        rdma: BTreeSet::new(),
        nets: BTreeSet::new(),
        excluded: BTreeSet::new(),
        gids_of_link: BTreeSet::new(),
        bandwidths: BTreeMap::new(),
        whole: BTreeSet::new(),
        mapped: BTreeSet::new(),
        plain: BTreeMap::new(),
        firmware: BTreeMap::new(),
        everywhere: None,
        mode: Mode::Plain,
        path: None,
        variable: None,
        tool: None,
    };
    for file in files {
        parser.file(file);
    }
    join::finish(parser)
}

impl Parser {
    fn file(&mut self, file: &HostFile<'_>) {
        self.notes.file = file.file;
        self.current = file.label.port.clone();
        self.mode = Mode::Plain;
        (self.path, self.variable) = (None, None);
        self.tool = file.label.tool;
        if environment::is_dump(file) {
            let place = self.notes.line(1);
            self.device.nccl.shown.get_or_insert(place);
        }
        if let Some(path) = file.label.copy_of.as_deref().filter(|path| path.starts_with("/sys/")) {
            let value = file.text.lines().next().unwrap_or("");
            return sysfs::value(self, 1, path, value);
        }
        if dcb::json(self, file.text, 0) {
            return;
        }
        let lines: Vec<&str> = file.text.lines().collect();
        let (mut at, mut number) = (0, 1);
        while let Some(line) = lines.get(at) {
            let count = match spread(&lines[at..]) {
                Some(count) if dcb::json(self, &lines[at..at + count].join("\n"), number - 1) => {
                    count
                }
                _ => {
                    self.line(number, line);
                    1
                }
            };
            at += count;
            number += count as u32;
        }
    }

    fn line(&mut self, number: u32, raw: &str) {
        let line = raw.trim();
        // A rule between parts of an output.
        let drawn = line.len() > 3 && line.chars().all(|c| "-=*_ ".contains(c));
        if line.is_empty() || drawn || self.expected(number, line) || self.comment(number, line) {
            return;
        }
        if let Some(prompt) = label::prompt(line) {
            // A prompt ends what was before.
            (self.current, self.mode, self.tool) = (None, Mode::Plain, None);
            if !prompt.command.is_empty() && !command::line(self, number, prompt.command) {
                self.notes.mark(number, RemarkKind::Foreign);
            }
            return;
        }
        let readers = [
            mlnx::line,
            sysfs::line,
            nicctl::line,
            lldp::line,
            dcb::line,
            links::line,
            mlxconfig::line,
            environment::line,
            command::line,
        ];
        if !readers.iter().any(|reader| reader(self, number, line)) {
            self.notes.mark(number, RemarkKind::Foreign);
        }
    }

    /// A value whose name stood on the line before.
    fn expected(&mut self, number: u32, line: &str) -> bool {
        // A file that was empty has no value: what follows is the next head or prompt.
        let next =
            line.starts_with("==> ") || label::prompt(line).is_some_and(|p| p.host.is_some());
        if let Some(path) = self.path.take().filter(|_| !next) {
            sysfs::value(self, number, &path, line);
            return true;
        }
        if let Some(name) = self.variable.take()
            && let Some(value) = line.strip_prefix("value:")
        {
            environment::variable(self, number, &name, value.trim());
            return true;
        }
        false
    }

    /// A line that begins with `#`: a comment, or what root entered.
    fn comment(&mut self, number: u32, line: &str) -> bool {
        let Some(comment) = line.strip_prefix('#') else { return false };
        if let Some(variable) = comment.trim().strip_prefix("in the environment of jobs: ") {
            environment::line(self, number, variable);
        } else if let Some(options) = comment.strip_prefix("SBATCH") {
            environment::line(self, number, options);
        } else if let Some(command) = line.strip_prefix("# ").filter(|text| command::asks(text)) {
            (self.current, self.mode, self.tool) = (None, Mode::Plain, None);
            command::line(self, number, command);
        }
        true
    }

    /// A NIC of our own scripts and of what they print: all of it is shown there.
    pub(super) fn nic(&mut self, number: u32, device: &str, interface: Option<&str>) {
        self.rdma.insert(device.to_owned());
        self.at(number, device).nic.shown = tells_all(device);
        self.whole.insert(device.to_owned());
        self.current = Some(device.to_owned());
        self.mode = Mode::Plain;
        if let Some(interface) = interface {
            self.join(device, interface);
        }
    }

    /// Says that an RDMA device and an interface are one NIC.
    pub(super) fn join(&mut self, device: &str, interface: &str) {
        self.rdma.insert(device.to_owned());
        if interface.starts_with("ib") {
            self.excluded.insert(device.to_owned());
        }
        // A VLAN is not the NIC.
        if !interface.contains('.') {
            self.nets.insert(interface.to_owned());
            self.same.push((device.to_owned(), interface.to_owned()));
        }
    }

    /// The NIC that a line names by any of its names.
    pub(super) fn at(&mut self, number: u32, name: &str) -> &mut Port {
        let name = self.named(name);
        let place = self.notes.line(number);
        let port = self.device.port(&name);
        widen(port, place);
        port
    }

    /// The interface that a line names, which may carry no RoCE.
    pub(super) fn link(&mut self, number: u32, name: &str) -> &mut Port {
        self.nets.insert(name.to_owned());
        let place = self.notes.line(number);
        let port = self.plain.entry(name.to_owned()).or_default();
        widen(port, place);
        port
    }

    /// An MTU that a command showed. Where commands contradict each other, the smaller one is what packets may meet.
    pub(super) fn shows_mtu(&mut self, number: u32, name: &str, said: Said<Bytes>) {
        let port = self.link(number, name);
        let smaller = port.mtu.get().zip(said.get()).is_some_and(|(known, new)| known < new);
        if !smaller {
            port.mtu = said;
        }
    }

    /// The name in a line, with variables of our scripts replaced.
    pub(super) fn named(&self, name: &str) -> String {
        match (name.trim_matches('"'), &self.current) {
            // What was shown of the interface before is what a command changes.
            ("$NET", Some(current)) => {
                let joined = self.same.iter().rev().find(|(device, _)| device == current);
                joined.map_or(current, |(_, interface)| interface).clone()
            }
            ("$DEV", Some(current)) => current.clone(),
            (name, _) => name.to_owned(),
        }
    }

    /// Notes that the QoS of a NIC is shown whole.
    pub(super) fn shows_qos(&mut self, name: &str) {
        let name = self.named(name);
        self.whole.insert(name);
    }

    pub(super) fn tos(&mut self, number: u32, text: &str) -> Said<Dscp> {
        self.notes
            .said(number, integer(text).and_then(|tos| u8::try_from(tos).ok()).map(Dscp::of_tos))
    }

    pub(super) fn map_dscp(&mut self, number: u32, nic: &str, entry: Option<(Dscp, Class)>) {
        let said = self.notes.said(number, entry);
        if let Said::At((dscp, class), place) = said {
            let port = self.at(number, nic);
            let maps: &mut Maps = Arc::make_mut(&mut port.maps);
            maps.dscp_to_class[dscp.index()] = Said::At(class, place);
        }
    }

    pub(super) fn map_queues(&mut self, number: u32, nic: &str, said: &Said<Vec<Queue>>) {
        let Said::At(queues, place) = said else { return };
        let maps = Arc::make_mut(&mut self.at(number, nic).maps);
        for (entry, queue) in maps.class_to_queue.iter_mut().zip(queues) {
            *entry = Said::At(*queue, *place);
        }
    }

    /// The queue of one class.
    pub(super) fn map_queue(&mut self, number: u32, nic: &str, entry: Option<(Class, Queue)>) {
        let said = self.notes.said(number, entry);
        if let Said::At((class, queue), place) = said {
            let maps = Arc::make_mut(&mut self.at(number, nic).maps);
            maps.class_to_queue[class.index()] = Said::At(queue, place);
        }
    }

    pub(super) fn turns(&mut self, number: u32, nic: &str, list: &[&str]) {
        for (queue, word) in list.iter().enumerate().take(8) {
            self.turn(number, nic, queue, word);
        }
    }

    /// `strict` or `ets`; the share of the latter comes apart.
    pub(super) fn turn(&mut self, number: u32, nic: &str, queue: usize, word: &str) {
        let place = self.notes.line(number);
        let turn = match word {
            "strict" => Scheduling::Strict,
            "ets" => {
                // Where shares are printed first, this queue has its own already.
                let share = self.bandwidths.get(&(self.named(nic), queue));
                Scheduling::Weighted(share.copied().unwrap_or(0))
            }
            // The NIC's own way, which is not configured; a shaper is none.
            "vendor" | "cbs" => return,
            _ => return self.notes.mark(number, RemarkKind::Malformed),
        };
        self.queue(number, nic, queue).scheduling = Said::At(turn, place);
    }

    pub(super) fn shares(&mut self, number: u32, nic: &str, list: &[&str]) {
        for (queue, word) in list.iter().enumerate().take(8) {
            self.share(number, nic, queue, word);
        }
    }

    /// The share of a queue in percent, if it has one.
    pub(super) fn share(&mut self, number: u32, nic: &str, queue: usize, word: &str) {
        let Ok(share) = word.trim_end_matches('%').parse::<u32>() else {
            return self.notes.mark(number, RemarkKind::Malformed);
        };
        let name = self.named(nic);
        self.bandwidths.insert((name, queue), share);
        let entry = self.queue(number, nic, queue);
        if let Said::At(Scheduling::Weighted(old), _) = &mut entry.scheduling {
            *old = share;
        }
    }

    pub(super) fn queue(&mut self, number: u32, nic: &str, queue: usize) -> &mut QueueSettings {
        let queues = Arc::make_mut(&mut self.at(number, nic).queues);
        &mut queues[queue.min(7)]
    }

    /// Turns one priority of a list on or off.
    pub(super) fn switch(&mut self, number: u32, slot: Slot, nic: &str, which: Priority, on: bool) {
        let place = self.notes.line(number);
        let port = self.at(number, nic);
        let said = match slot {
            Slot::Pfc => &mut port.pfc,
            Slot::Notifies => &mut port.nic.notifies,
            Slot::Reacts => &mut port.nic.reacts,
        };
        let old = said.get().unwrap_or(Priorities::NONE);
        let new = if on { old.with(which) } else { old.without(which) };
        *said = Said::At(new, if on { place } else { said.place().unwrap_or(place) });
    }

    /// A NIC that reads DSCPs: one of them is in a class.
    pub(super) fn reads_dscp(&mut self, number: u32, nic: &str) {
        let place = self.notes.line(number);
        self.at(number, nic).trust = Said::At(Trust::Dscp, place);
        let name = self.named(nic);
        self.mapped.insert(name);
    }
}

/// The lines of a JSON text that begins on the first one and ends on a later one.
fn spread(lines: &[&str]) -> Option<usize> {
    /// More lines than a tool prints of one NIC.
    const MOST: usize = 500;
    if !lines.first()?.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let mut open = 0i64;
    for (count, line) in (1..).zip(lines.iter().take(MOST)) {
        for c in line.chars() {
            open += i64::from(matches!(c, '{' | '[')) - i64::from(matches!(c, '}' | ']'));
        }
        if open <= 0 {
            return (count > 1).then_some(count);
        }
    }
    None
}

/// A list of priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Pfc,
    Notifies,
    Reacts,
}

/// Whether all that a NIC writes and answers to can be shown: others leave data to applications.
fn tells_all(device: &str) -> bool {
    matches!(Maker::of_device(device), None | Some(Maker::Nvidia | Maker::Broadcom))
}

/// The lines of a port, as far as they are in one file.
fn widen(port: &mut Port, place: Place) {
    port.place = Some(match port.place {
        Some(old) if old.file == place.file => {
            Place { first: old.first.min(place.first), last: old.last.max(place.last), ..old }
        }
        Some(old) => old,
        None => place,
    });
}

/// A number, decimal or with `0x`.
pub(super) fn integer(text: &str) -> Option<u32> {
    let text = text.trim().trim_matches(['"', '\'']);
    let hex = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    hex.map_or_else(|| text.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok())
}

pub(super) fn trust(word: &str) -> Option<Trust> {
    match word.trim() {
        "dscp" => Some(Trust::Dscp),
        "pcp" => Some(Trust::Pcp),
        _ => None,
    }
}

pub(super) fn flags(list: &[&str]) -> Option<Priorities> {
    if list.len() != 8 {
        return None;
    }
    let pairs = Priority::all().zip(list);
    pairs.into_iter().try_fold(Priorities::NONE, |set, (priority, flag)| match *flag {
        "1" => Some(set.with(priority)),
        "0" => Some(set),
        _ => None,
    })
}

/// The priorities whose bits are set.
pub(super) fn mask(bits: u32) -> Priorities {
    Priority::all().filter(|priority| bits >> priority.get() & 1 == 1).collect()
}
