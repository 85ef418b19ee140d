//! Interfaces of NVUE, one by one or in lists.

use super::Parser;
use crate::device::RemarkKind;
use crate::place::{Place, Said};
use crate::text::description;
use crate::text::notes::{bytes, speed};

impl Parser {
    pub(super) fn interface(&mut self, line: u32, list: &str, rest: &[&str]) {
        let place = self.notes.line(line);
        let before = self.notes.remarks.len();
        for name in ports_of_list(list) {
            let port = name.starts_with("swp");
            match rest {
                _ if !port => {
                    self.notes.mark(line, RemarkKind::Foreign);
                    break;
                }
                ["link", "mtu", mtu] => {
                    self.device.port(&name).mtu = self.notes.said(line, bytes(mtu));
                }
                ["link", "speed", word] => {
                    if let Some(rate) = speed(word) {
                        self.device.port(&name).rate = Said::At(rate, place);
                    }
                }
                ["link", "state", word] => {
                    self.device.port(&name).enabled = Said::At(*word == "up", place);
                }
                ["description", words @ ..] => {
                    let neighbour = description::neighbour(&words.join(" "));
                    self.device.port(&name).neighbour = Said::At(neighbour, place);
                }
                // A shaper has a name of its own before that of its profile.
                ["qos", "remark" | "egress-shaper" | "link-pause", ..] => {
                    self.notes.mark(line, RemarkKind::Foreign);
                }
                ["qos", kind, "profile", profile] => {
                    let bound = self.bound.entry(name.clone()).or_default();
                    let slot = match *kind {
                        "mapping" => Some(&mut bound.mapping),
                        "egress-scheduler" => Some(&mut bound.scheduler),
                        "congestion-control" => Some(&mut bound.congestion),
                        "pfc" => Some(&mut bound.pfc),
                        // Among them `egress-queue-mapping`, which a box has once.
                        _ => {
                            self.notes.mark(line, RemarkKind::Unknown);
                            None
                        }
                    };
                    if let Some(slot) = slot {
                        *slot = Some(((*profile).to_owned(), line));
                    }
                }
                ["qos", "pfc-watchdog"] => {
                    self.device.port(&name).watchdog.on = Said::At(true, place);
                }
                ["qos", "pfc-watchdog", "state", word] => {
                    let on = matches!(*word, "enable" | "enabled" | "on");
                    self.device.port(&name).watchdog.on = Said::At(on, place);
                }
                ["router", "adaptive-routing", "state" | "enable", word] => {
                    let on = matches!(*word, "enabled" | "on");
                    self.device.port(&name).balancing = Said::At(on, place);
                }
                ["qos", "headroom" | "shared-headroom-pool", ..] => {
                    self.notes.mark(line, RemarkKind::Foreign);
                }
                ["qos", ..] => self.notes.mark(line, RemarkKind::Unknown),
                _ => {
                    self.vxlan.member(&name, rest);
                    self.notes.mark(line, RemarkKind::Foreign);
                }
            }
            let port = self.device.port(&name);
            port.place = Some(port.place.map_or(place, |old| Place { last: line, ..old }));
        }
        self.once(before);
    }
}

/// Interfaces of a list like `swp1,swp3-5`, `swp1s0-3` or `swp1-2,51`; at most as many as a box can have.
pub(crate) fn ports_of_list(list: &str) -> Vec<String> {
    const MOST: usize = 1024;
    let mut names = Vec::new();
    let mut before = "";
    for part in list.split(',').map(str::trim).take(MOST) {
        let (from, to) = match part.split_once('-') {
            Some((from, to)) => (from, Some(to)),
            None => (part, None),
        };
        let cut = from.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, first) = from.split_at(cut);
        // A number alone goes on with the kind of port that came before.
        let stem = if stem.is_empty() { before } else { stem };
        before = stem;
        let last = to.map(|to| to.strip_prefix(stem).unwrap_or(to));
        let range = first.parse::<u32>().ok().zip(last.unwrap_or(first).parse::<u32>().ok());
        match range.filter(|(first, last)| first <= last && last - first < MOST as u32) {
            Some((first, last)) => {
                names.extend((first..=last).map(|number| format!("{stem}{number}")));
            }
            None => names.push(part.to_owned()),
        }
        if names.len() > MOST {
            break;
        }
    }
    names.truncate(MOST);
    names
}
