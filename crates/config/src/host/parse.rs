//! Reading hosts: the script that configures them, or what the check script prints.

use super::readback::{self, Mode};
use super::{Host, own_numbers};
use crate::device::{Device, Port, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Priority, Queue};
use crate::place::{Place, Said};
use crate::qos::{Maps, QueueSettings, Trust};
use crate::system::{Input, System};
use crate::text::notes::{Notes, bytes};
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::Scheduling;
use xoff_units::Length;

pub(super) struct Parser {
    pub(super) device: Device,
    pub(super) notes: Notes,
    /// The NIC that lines are about.
    pub(super) current: Option<String>,
    /// Network interface of each NIC, where said.
    pub(super) interfaces: BTreeMap<String, String>,
    pub(super) mode: Mode,
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let mut parser = Parser {
        device: Device::new(input.name, Host.id()),
        notes: Notes::new(input.file),
        current: None,
        interfaces: BTreeMap::new(),
        mode: Mode::Plain,
    };
    for (line, number) in input.text.lines().zip(1u32..) {
        parser.line(number, line);
    }
    parser.finish()
}

impl Parser {
    fn line(&mut self, number: u32, raw: &str) {
        let line = raw.trim();
        if line.is_empty() {
            return;
        }
        if let Some(comment) = line.strip_prefix('#') {
            if let Some(variable) = comment.trim().strip_prefix("in the environment of jobs: ") {
                self.variable(number, variable);
            }
            return;
        }
        if readback::line(self, number, raw) {
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["set", _] | ["fi" | "done" | "exit", ..] => {}
            ["hostname", name] => self.device.name = name.to_owned(),
            ["nic", device, interface] => self.nic(number, device, Some(interface)),
            ["ip", "link", "set", "dev", interface, "mtu", mtu] => {
                let said = self.notes.said(number, bytes(mtu));
                self.at(number, interface).mtu = said;
            }
            ["mlnx_qos", "-i", interface, ref options @ ..] => {
                for option in options {
                    self.option(number, interface, option);
                }
            }
            ["cma_roce_tos", "-d", device, "-t", tos] => {
                let said = self.tos(number, tos);
                self.at(number, device).nic.cm_dscp = said;
            }
            ["echo", value, ">", path] => self.file(number, path, value),
            ["sysctl", ..] => {}
            _ => self.assignment(number, line),
        }
    }

    fn assignment(&mut self, number: u32, line: &str) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line.split_once('=') {
            Some(("DEV", name)) => self.nic(number, name, None),
            Some(("NET", _)) => {}
            Some((name, _)) if name.starts_with("NCCL_") => self.variable(number, line),
            _ => self.notes.mark(number, RemarkKind::Foreign),
        }
    }

    pub(super) fn nic(&mut self, number: u32, device: &str, interface: Option<&str>) {
        let place = self.notes.line(number);
        self.device.port(device).place = Some(place);
        self.current = Some(device.to_owned());
        self.mode = Mode::Plain;
        if let Some(interface) = interface {
            self.interfaces.insert(interface.to_owned(), device.to_owned());
        }
    }

    /// The NIC that a line names by RDMA device or network interface.
    pub(super) fn at(&mut self, number: u32, name: &str) -> &mut Port {
        let name = match (name, &self.current) {
            ("$NET" | "$DEV" | "\"$NET\"" | "\"$DEV\"", Some(current)) => current.clone(),
            (name, _) => self.interfaces.get(name).cloned().unwrap_or_else(|| name.to_owned()),
        };
        let place = self.notes.line(number);
        let port = self.device.port(&name);
        port.place = Some(port.place.map_or(place, |old| Place { last: number, ..old }));
        port
    }

    fn variable(&mut self, number: u32, line: &str) {
        let Some((name, value)) = line.split_once('=') else { return };
        let value = value.trim_matches(['"', '\'']);
        match name {
            "NCCL_IB_TC" => {
                self.device.nccl.traffic_class = self.notes.said(number, value.parse().ok());
            }
            "NCCL_IB_GID_INDEX" => {
                self.device.nccl.gid_index = self.notes.said(number, value.parse().ok());
            }
            _ => self.notes.mark(number, RemarkKind::Foreign),
        }
    }

    pub(super) fn tos(&mut self, number: u32, text: &str) -> Said<Dscp> {
        self.notes.said(number, text.trim().parse().ok().map(Dscp::of_tos))
    }

    fn option(&mut self, number: u32, interface: &str, option: &str) {
        let Some((name, value)) = option.split_once('=') else {
            return self.notes.mark(number, RemarkKind::Unknown);
        };
        let list: Vec<&str> = value.split(',').collect();
        match name {
            "--trust" => {
                let trust = trust(value);
                let said = self.notes.said(number, trust);
                self.at(number, interface).trust = said;
            }
            "--dscp2prio" => match list[..] {
                ["set", dscp, priority] => {
                    let read = Dscp::read(dscp).zip(Class::read(priority));
                    self.map_dscp(number, interface, read);
                }
                _ => self.notes.mark(number, RemarkKind::Malformed),
            },
            "--pfc" => {
                let said = self.notes.said(number, flags(&list));
                self.at(number, interface).pfc = said;
            }
            "--prio_tc" => {
                let queues: Option<Vec<Queue>> = list.iter().map(|n| Queue::read(n)).collect();
                let said = self.notes.said(number, queues.filter(|queues| queues.len() == 8));
                self.map_queues(number, interface, &said);
            }
            "--tsa" => self.turns(number, interface, &list),
            "--tcbw" => self.shares(number, interface, &list),
            "--cable_len" => {
                let said = self.notes.said(number, value.parse().ok().map(Length::from_m));
                self.at(number, interface).cable = said;
            }
            "--buffer_size" | "--prio2buffer" => {}
            _ => self.notes.mark(number, RemarkKind::Unknown),
        }
    }

    pub(super) fn map_dscp(&mut self, number: u32, nic: &str, entry: Option<(Dscp, Class)>) {
        let said = self.notes.said(number, entry);
        if let Said::At((dscp, class), place) = said {
            let port = self.at(number, nic);
            let maps: &mut Maps = Arc::make_mut(&mut port.maps);
            maps.dscp_to_class[dscp.index()] = Said::At(class, place);
        }
    }

    fn map_queues(&mut self, number: u32, nic: &str, said: &Said<Vec<Queue>>) {
        let Said::At(queues, place) = said else { return };
        let maps = Arc::make_mut(&mut self.at(number, nic).maps);
        for (entry, queue) in maps.class_to_queue.iter_mut().zip(queues) {
            *entry = Said::At(*queue, *place);
        }
    }

    fn turns(&mut self, number: u32, nic: &str, list: &[&str]) {
        let place = self.notes.line(number);
        for (queue, word) in list.iter().enumerate().take(8) {
            let turn = match *word {
                "strict" => Scheduling::Strict,
                "ets" => Scheduling::Weighted(0),
                _ => {
                    self.notes.mark(number, RemarkKind::Malformed);
                    continue;
                }
            };
            self.queue(number, nic, queue).scheduling = Said::At(turn, place);
        }
    }

    fn shares(&mut self, number: u32, nic: &str, list: &[&str]) {
        for (queue, word) in list.iter().enumerate().take(8) {
            let Ok(share) = word.parse::<u32>() else {
                self.notes.mark(number, RemarkKind::Malformed);
                continue;
            };
            let entry = self.queue(number, nic, queue);
            if let Said::At(Scheduling::Weighted(old), _) = &mut entry.scheduling {
                *old = share;
            }
        }
    }

    pub(super) fn queue(&mut self, number: u32, nic: &str, queue: usize) -> &mut QueueSettings {
        let queues = Arc::make_mut(&mut self.at(number, nic).queues);
        &mut queues[queue.min(7)]
    }

    /// A file in /sys and its value, whether written or read.
    pub(super) fn file(&mut self, number: u32, path: &str, value: &str) {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts[..] {
            ["sys", "class", "infiniband", device, "tc", _, "traffic_class"] => {
                let value = value.rsplit('=').next().unwrap_or(value);
                let said = self.tos(number, value);
                self.at(number, device).nic.data_dscp = said;
            }
            ["sys", "class", "net", interface, "ecn", "roce_np", "cnp_dscp"] => {
                let said = self.notes.said(number, Dscp::read(value));
                self.at(number, interface).nic.cnp_dscp = said;
            }
            ["sys", "class", "net", interface, "ecn", point, "enable", priority] => {
                let Some(priority) = Priority::read(priority) else {
                    return self.notes.mark(number, RemarkKind::Malformed);
                };
                let place = self.notes.line(number);
                let nic = &mut self.at(number, interface).nic;
                let slot = if point == "roce_rp" { &mut nic.reacts } else { &mut nic.notifies };
                let old = slot.get().unwrap_or(Priorities::NONE);
                let on = value.trim() == "1";
                let new = if on { old.with(priority) } else { old.without(priority) };
                *slot = Said::At(new, if on { place } else { slot.place().unwrap_or(place) });
            }
            ["sys", "class", "net", interface, "mtu"] => {
                let said = self.notes.said(number, bytes(value));
                self.at(number, interface).mtu = said;
            }
            ["sys", "class", "net" | "infiniband", ..] => {
                self.notes.mark(number, RemarkKind::Unknown);
            }
            _ => self.notes.mark(number, RemarkKind::Foreign),
        }
    }

    fn finish(mut self) -> Device {
        for port in self.device.ports.values_mut() {
            own_numbers(Arc::make_mut(&mut port.maps));
            port.trust = port.trust.or_default(Trust::Pcp);
            port.pfc = port.pfc.or_default(Priorities::NONE);
        }
        self.device.remarks = self.notes.remarks;
        self.device
    }
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
