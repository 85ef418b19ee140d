//! `nicctl` of AMD's NICs: what it prints and what it sets. The forms are those of AMD's guides for Pollara and of
//! public logs; its JSON, and the scale of its DCQCN parameters, are not verified and not read.

use super::parse::{Mode, Parser, integer, mask};
use crate::device::{Maker, Port, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Priority};
use crate::place::Said;
use crate::qos::{Maps, Trust};
use std::sync::Arc;
use xoff_fabric::model::Scheduling;

/// The name under which settings of all NICs are kept until it is known which NICs there are.
pub(super) const ALL: &str = "nicctl";

/// A call; whether it was understood.
pub(super) fn call(parser: &mut Parser, number: u32, options: &[&str]) -> bool {
    match options {
        ["show", ..] => true,
        ["update", "qos", rest @ ..] => update_qos(parser, number, rest),
        ["update", "dcqcn", rest @ ..] => update_dcqcn(parser, number, rest),
        // Pauses in both directions and the MTU of the port, which is not that of packets.
        ["update", "port", ..] => {
            parser.everywhere.get_or_insert_with(amd);
            true
        }
        _ => false,
    }
}

fn amd() -> Port {
    let mut port = Port::default();
    port.nic.maker = Some(Maker::Amd);
    port
}

/// What `-p` names, or all NICs.
fn target<'p>(parser: &'p mut Parser, number: u32, options: &[&str]) -> &'p mut Port {
    match option(options, &["-p", "--port"]) {
        Some(port) if port != "all" => {
            let port = parser.at(number, port);
            port.nic.maker = Some(Maker::Amd);
            port
        }
        _ => parser.everywhere.get_or_insert_with(amd),
    }
}

fn option<'a>(options: &[&'a str], names: &[&str]) -> Option<&'a str> {
    let at = options.iter().position(|word| names.contains(word))?;
    options.get(at + 1).copied()
}

fn update_qos(parser: &mut Parser, number: u32, options: &[&str]) -> bool {
    let place = parser.notes.line(number);
    if let Some(kind) = option(options, &["--classification-type"]) {
        let trust = match kind.to_ascii_lowercase().as_str() {
            "dscp" => Some(Trust::Dscp),
            "pcp" => Some(Trust::Pcp),
            _ => None,
        };
        let said = parser.notes.said(number, trust);
        target(parser, number, options).trust = said;
        return true;
    }
    let priority = option(options, &["--priority"]);
    if options.contains(&"dscp-to-priority") {
        let list = option(options, &["--dscp"]).and_then(dscps);
        let class = priority.and_then(Class::read);
        let said = parser.notes.said(number, list.zip(class));
        if let Said::At((list, class), _) = said {
            map(target(parser, number, options), &list, class, place);
        }
    } else if options.contains(&"pfc") {
        let set = priority.and_then(Priorities::read);
        let on = option(options, &["--no-drop"]).map(|word| word == "enable");
        let said = parser.notes.said(number, set.zip(on));
        if let Said::At((set, on), _) = said {
            let port = target(parser, number, options);
            let old = port.pfc.get().unwrap_or(Priorities::NONE);
            let new = set.iter().fold(old, |old, p| if on { old.with(p) } else { old.without(p) });
            port.pfc = Said::At(new, place);
        }
    } else if options.contains(&"scheduling") {
        let list =
            |name: &str| option(options, &[name]).map(|list| list.split(',').collect::<Vec<_>>());
        let (Some(priorities), Some(shares)) = (list("--priority"), list("--dwrr")) else {
            parser.notes.mark(number, RemarkKind::Malformed);
            return true;
        };
        for (priority, share) in priorities.iter().zip(shares) {
            let read = Priority::read(priority).zip(share.parse::<u32>().ok());
            let said = parser.notes.said(number, read);
            if let Said::At((priority, share), _) = said {
                // No share: strict, within its rate limit.
                let turn =
                    if share == 0 { Scheduling::Strict } else { Scheduling::Weighted(share) };
                turn_of(target(parser, number, options), priority, turn, place);
            }
        }
    } else if !options.contains(&"dscp-to-purpose") {
        return false;
    }
    true
}

fn map(port: &mut Port, dscps: &[Dscp], class: Class, place: crate::place::Place) {
    let maps: &mut Maps = Arc::make_mut(&mut port.maps);
    for dscp in dscps {
        maps.dscp_to_class[dscp.index()] = Said::At(class, place);
    }
}

fn turn_of(port: &mut Port, priority: Priority, turn: Scheduling, place: crate::place::Place) {
    let queues = Arc::make_mut(&mut port.queues);
    queues[priority.index()].scheduling = Said::At(turn, place);
}

/// `0-23,25-45,47`.
fn dscps(list: &str) -> Option<Vec<Dscp>> {
    let mut all = Vec::new();
    for part in list.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (Dscp::read(first)?, Dscp::read(last)?);
        all.extend((first.get()..=last.get()).filter_map(Dscp::new));
    }
    Some(all)
}

/// `nicctl update dcqcn -r ionic_0 -i 1 --cnp-dscp 48`.
fn update_dcqcn(parser: &mut Parser, number: u32, options: &[&str]) -> bool {
    let Some(device) = option(options, &["-r", "--roce-device"]).map(|name| parser.named(name))
    else {
        return false;
    };
    parser.rdma.insert(device.clone());
    parser.at(number, &device).nic.maker = Some(Maker::Amd);
    if let Some(dscp) = option(options, &["--cnp-dscp"]) {
        let said = parser.notes.said(number, Dscp::read(dscp));
        parser.at(number, &device).nic.cnp_dscp = said;
    }
    true
}

/// Reads a line of output; whether it was one.
pub(super) fn line(parser: &mut Parser, number: u32, line: &str) -> bool {
    let pair = line.split_once(':').map(|(key, value)| (key.trim(), value.trim()));
    match pair {
        Some(("NIC" | "Lif id", _)) => return true,
        Some(("Port", value)) if value.matches('-').count() == 4 => {
            let name = value.split_whitespace().next().unwrap_or(value).to_owned();
            parser.at(number, &name).nic.maker = Some(Maker::Amd);
            parser.current = Some(name);
            parser.mode = Mode::Plain;
            return true;
        }
        Some(("ROCE device", device)) => {
            parser.rdma.insert(device.to_owned());
            parser.at(number, device).nic.maker = Some(Maker::Amd);
            parser.current = Some(device.to_owned());
            return true;
        }
        _ => {}
    }
    let Some(nic) = parser.current.clone().filter(|nic| is_amd(parser, nic)) else { return false };
    match pair {
        Some((key, value)) => keyed(parser, number, &nic, key, value),
        None => row(parser, number, &nic, line),
    }
}

fn is_amd(parser: &Parser, nic: &str) -> bool {
    let name = crate::device::PortName::new(nic);
    parser.device.ports.get(&name).is_some_and(|port| port.nic.maker == Some(Maker::Amd))
}

fn keyed(parser: &mut Parser, number: u32, nic: &str, key: &str, value: &str) -> bool {
    match key {
        "Classification type" => {
            parser.shows_qos(nic);
            let trust = match value {
                "DSCP" => Some(Trust::Dscp),
                "PCP" => Some(Trust::Pcp),
                _ => None,
            };
            let said = parser.notes.said(number, trust);
            parser.at(number, nic).trust = said;
        }
        // `24 ==> priority : 3`.
        "DSCP" => {
            let entry = value.split_once("==>").and_then(|(list, rest)| {
                let class = Class::read(rest.rsplit(':').next()?.trim())?;
                dscps(list.trim()).map(|list| (list, class))
            });
            let said = parser.notes.said(number, entry);
            if let Said::At((list, class), place) = said {
                map(parser.at(number, nic), &list, class, place);
            }
        }
        "PFC priority bitmap" => {
            let said = parser.notes.said(number, integer(value).map(mask));
            parser.at(number, nic).pfc = said;
        }
        "Scheduling" => parser.mode = Mode::Turns,
        "Status" => {
            let set = match value {
                "Enabled" => Some(Priorities::ALL),
                "Disabled" => Some(Priorities::NONE),
                _ => None,
            };
            let said = parser.notes.said(number, set);
            let nic = &mut parser.at(number, nic).nic;
            (nic.notifies, nic.reacts) = (said, said);
        }
        "DSCP value used for CNP" => {
            let said = parser.notes.said(number, Dscp::read(value));
            parser.at(number, nic).nic.cnp_dscp = said;
        }
        "PFC no-drop priorities" | "DSCP bitmap" | "DSCP-to-priority" | "PFC" => {}
        "DCQCN profile id" | "Token bucket size" => {}
        _ if key.starts_with("Rate ")
            || key.starts_with("Alpha ")
            || key.starts_with("Initial ") => {}
        _ => return false,
    }
    true
}

/// `3         DWRR        99        N/A`.
fn row(parser: &mut Parser, number: u32, nic: &str, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    if parser.mode != Mode::Turns {
        return line.starts_with("****") || line.starts_with("----");
    }
    match words[..] {
        [priority, kind, share, _] if Priority::read(priority).is_some() => {
            let turn = match kind.to_ascii_lowercase().as_str() {
                "strict" => Some(Scheduling::Strict),
                "dwrr" => share.parse().ok().map(Scheduling::Weighted),
                _ => None,
            };
            let said = parser.notes.said(number, Priority::read(priority).zip(turn));
            if let Said::At((priority, turn), place) = said {
                turn_of(parser.at(number, nic), priority, turn, place);
            }
        }
        ["Priority", ..] | ["Type", ..] => {}
        [first, ..] if first.starts_with("---") => {}
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::device::PortName;
    use crate::host::tests::{class, read};
    use crate::qos::Trust;
    use xoff_fabric::model::Scheduling;

    const SHOW: &str = "NIC  : 42424650-4c32-3533-3330-323934000000  (0000:06:00.0)\n\n\
        Port : 0490814a-6c40-4242-4242-000011010000\n\n  Classification type         : DSCP\n\n\
        \x20 DSCP-to-priority :\n    DSCP bitmap               : 0xffff7ffffeffffff ==> priority : 0\n\
        \x20   DSCP bitmap               : 0x1000000 ==> priority : 3\n\
        \x20   DSCP                      : 0-23, 25-45, 47-63 ==> priority : 0\n\
        \x20   DSCP                      : 24 ==> priority : 3\n\
        \x20   DSCP                      : 46 ==> priority : 6\n\n  PFC :\n\
        \x20   PFC priority bitmap       : 0x8\n    PFC no-drop priorities    : 3\n\n  Scheduling :\n\
        \x20   --------------------------------------------\n    Priority  Scheduling  Bandwidth Rate-limit\n\
        \x20             Type        (in %age) (in Gbps)\n    --------------------------------------------\n\
        \x20   0         DWRR        1         N/A\n    3         DWRR        99        N/A\n\
        \x20   6         strict      N/A       10\n";
    const DCQCN: &str = "NIC : 42424650 (0000:06:00.0)\n------\n\nLif id                 : 43000070\n\
        ROCE device                                : ionic_0\n  DCQCN profile id                         : 1\n\
        \x20 Status                                   : Enabled\n  Rate increase in AI phase : 160\n\
        \x20 DSCP value used for CNP                  : 46\n*********\n";

    #[test]
    fn what_nicctl_shows() {
        let device =
            read(&[("amd1.nicctl_show_qos.txt", SHOW), ("amd1.nicctl_show_dcqcn.txt", DCQCN)]);
        assert_eq!(device.name, "amd1");
        let names: Vec<&str> = device.ports.keys().map(PortName::as_str).collect();
        assert_eq!(names, ["ionic_0"]);
        let port = &device.ports[&PortName::new("ionic_0")];
        assert_eq!(port.trust.get(), Some(Trust::Dscp));
        assert_eq!(
            (class(port, 24), class(port, 46), class(port, 26)),
            (Some(3), Some(6), Some(0))
        );
        assert_eq!(port.pfc.get().unwrap().to_string(), "3");
        assert_eq!(port.queues[3].scheduling.get(), Some(Scheduling::Weighted(99)));
        assert_eq!(port.nic.cnp_dscp.get().unwrap().get(), 46);
        assert_eq!(port.nic.reacts.get().unwrap().count(), 8);
        assert_eq!(device.remarks, []);
    }

    #[test]
    fn a_script_for_all_nics() {
        let text = "#!/bin/bash\nsudo nicctl update port --all --pause-type pfc --rx-pause enable --tx-pause enable\n\
            sudo nicctl update qos --classification-type dscp\n\
            sudo nicctl update qos dscp-to-priority --dscp 0-63 --priority 0\n\
            sudo nicctl update qos dscp-to-priority --dscp 24 --priority 3\n\
            sudo nicctl update qos pfc --priority 3 --no-drop enable\n\
            sudo nicctl update qos scheduling --priority 3,0,6 --dwrr 99,1,0 --rate-limit 0,0,10\n\
            sudo nicctl update dcqcn -r ionic_0 -i 1 --cnp-dscp 46\nsudo nicctl update dcqcn -r ionic_1 -i 1 --cnp-dscp 46\n";
        let device = read(&[("amd1.sh", text)]);
        assert_eq!(device.ports.len(), 2);
        for port in device.ports.values() {
            assert_eq!((class(port, 24), class(port, 1)), (Some(3), Some(0)));
            assert_eq!(port.pfc.get().unwrap().to_string(), "3");
            assert_eq!(port.queues[6].scheduling.get(), Some(Scheduling::Strict));
        }
        assert_eq!(device.remarks, []);
    }
}
