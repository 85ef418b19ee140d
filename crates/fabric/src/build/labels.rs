//! What devices call their ports, where a file says so.

use super::wiring::{End, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::CustomLink;
use std::collections::BTreeMap;

/// Stands for a port whose name is generated.
const GENERATED: &str = "-";
/// Longer than any system's names of ports.
const LONGEST: usize = 63;

/// The names that were given so far.
#[derive(Default)]
pub(super) struct Labels {
    /// The link that has a name, by device and the name in lower case: no system tells two ports apart by that.
    links: BTreeMap<(Device, String), usize>,
}

/// What has ports of its own: a switch or a server, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Device {
    Server(u32),
    Switch(u32),
}

impl Labels {
    /// Gives the cables of a listed link, which are those of the wiring from `first` on, their names.
    pub(super) fn give(
        &mut self,
        wiring: &mut Wiring,
        first: usize,
        (index, link): (usize, &CustomLink),
        report: &mut Report<'_>,
    ) {
        // A link that could not be plugged in has been reported.
        let cables = wiring.links.len() - first;
        let Some(ports) = link.ports.as_ref().filter(|_| cables > 0) else { return };
        if ports.len() != cables {
            let plural = |count: usize| if count == 1 { "" } else { "s" };
            report.error(
                code::WRONG_VALUE,
                keys!["link", index, "ports"],
                format!(
                    "{} pair{} of ports for {cables} cable{}",
                    ports.len(),
                    plural(ports.len()),
                    plural(cables)
                ),
                "give a pair for each cable, like `\"Ethernet1/1 Ethernet5/1\"`, or `parallel` as many \
                 cables as there are pairs; `\"- -\"` leaves a cable its generated names",
            );
            return;
        }
        for (number, pair) in ports.iter().enumerate() {
            let Some(names) = pair_of(pair, (index, number), report) else { continue };
            for (end, name) in names.into_iter().enumerate() {
                if name == GENERATED {
                    continue;
                }
                let device = device(wiring, wiring.links[first + number].ends[end]);
                let known = self.links.insert((device, name.to_ascii_lowercase()), index);
                match known {
                    None => wiring.links[first + number].labels[end] = Some(name.into()),
                    Some(other) => {
                        let device = device_name(wiring, device);
                        twice(device, name, (index, number), other, report);
                    }
                }
            }
        }
    }
}

fn device(wiring: &Wiring, end: End) -> Device {
    match end {
        End::Nic(nic) => Device::Server(wiring.nics[nic as usize].server),
        End::Switch(switch) => Device::Switch(switch),
    }
}

fn device_name(wiring: &Wiring, device: Device) -> &str {
    match device {
        Device::Server(server) => &wiring.servers[server as usize].name,
        Device::Switch(switch) => &wiring.switches[switch as usize].name,
    }
}

/// The two names of a pair; none if they cannot be that.
fn pair_of<'a>(
    pair: &'a str,
    (index, number): (usize, usize),
    report: &mut Report<'_>,
) -> Option<[&'a str; 2]> {
    let path = keys!["link", index, "ports", number];
    let words: Vec<&str> = pair.split_whitespace().take(3).collect();
    let [a, b] = words[..] else {
        report.error(
            code::WRONG_VALUE,
            path,
            format!("`{}` does not name two ports", shown(pair)),
            "write the ports in the order of `ends` with a space between them, like \
             `\"Ethernet1/1 Ethernet5/1\"`; `-` is a port whose name is generated",
        );
        return None;
    };
    let wrong = [a, b].into_iter().find(|name| *name != GENERATED && !is_name(name));
    if let Some(name) = wrong {
        report.error(
            code::WRONG_VALUE,
            path,
            format!("`{}` is no name of a port", shown(name)),
            format!(
                "a name begins with a letter, ends with a letter or digit, and has at most {LONGEST} letters, \
                 digits and `/`, `:`, `.`, `_`, `-`"
            ),
        );
        return None;
    }
    Some([a, b])
}

/// Whether a text can be the name of a port in a configuration, and nothing else.
fn is_name(name: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || "/:._-".contains(c);
    name.len() <= LONGEST
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(inside)
}

/// The beginning of a text, as a message shows it.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

fn twice(
    device: &str,
    name: &str,
    (index, number): (usize, usize),
    other: usize,
    report: &mut Report<'_>,
) {
    let place = match other == index {
        true => "of this link".to_owned(),
        false => format!("of [[link]] number {}", other + 1),
    };
    report.error(
        code::DUPLICATE,
        keys!["link", index, "ports", number],
        format!("port `{name}` of `{device}` has two cables: this one, and one {place}"),
        "a port takes one cable: give each its own name",
    );
}

#[cfg(test)]
mod tests {
    use crate::load_fabric;
    use crate::model::{Fabric, PortId};

    /// Two NICs of one server on a leaf, which has two cables to a spine. The first link begins on line 18.
    fn file(ports: [&str; 3]) -> String {
        let ports = ports.map(|ports| match ports {
            "" => String::new(),
            ports => format!("ports = {ports}\n"),
        });
        format!(
            "[fabric]\nkind = 'custom'\n\
             [[node]]\nname = 'n0'\nkind = 'nic'\nserver = 'box'\n\
             [[node]]\nname = 'n1'\nkind = 'nic'\nserver = 'box'\n\
             [[node]]\nname = 'leaf'\nkind = 'switch'\n[[node]]\nname = 'spine'\nkind = 'switch'\ntier = 'spine'\n\
             [[link]]\nends = 'n0 leaf'\n{}[[link]]\nends = 'leaf n1'\n{}\
             [[link]]\nends = 'leaf spine'\nparallel = 2\n{}",
            ports[0], ports[1], ports[2]
        )
    }

    fn labels(fabric: &Fabric) -> Vec<(String, Option<&str>)> {
        let named = |(number, port): (u32, &crate::model::Port)| {
            let label = fabric.ports[number as usize].label.as_deref();
            assert_eq!(port.label.as_deref(), label);
            (fabric.port_name(PortId(number)), label)
        };
        (0..).zip(&fabric.ports).map(named).collect()
    }

    #[test]
    fn each_port_has_the_name_that_its_link_gives() {
        let text = file(["['eth0 Ethernet1']", "", "['Ethernet31/1 -', 'Ethernet32/1 Et4']"]);
        let fabric = Fabric::from_toml(&text).unwrap();
        let name = |port: &str| {
            let all = labels(&fabric);
            all.iter().find(|(name, _)| name == port).expect(port).1.map(str::to_owned)
        };
        assert_eq!(name("n0→leaf").as_deref(), Some("eth0"));
        assert_eq!(name("leaf→n0").as_deref(), Some("Ethernet1"));
        assert_eq!((name("leaf→n1"), name("n1→leaf")), (None, None));
        assert_eq!(name("leaf→spine").as_deref(), Some("Ethernet31/1"));
        assert_eq!(name("spine→leaf"), None);
        assert_eq!(name("leaf→spine#2").as_deref(), Some("Ethernet32/1"));
        assert_eq!(name("spine→leaf#2").as_deref(), Some("Et4"));
        let without = Fabric::from_toml(&file([""; 3])).unwrap();
        assert!(without.ports.iter().all(|port| port.label.is_none()));
    }

    /// Names stay with their ports where other ports get other numbers.
    #[test]
    fn aggregation_nodes_leave_names_where_they_are() {
        let text = file(["['eth0 Ethernet1']", "", "['Ethernet31/1 Et3', 'Ethernet32/1 Et4']"]);
        let plain = Fabric::from_toml(&format!("{text}[switch]\naggregation = {{}}\n")).unwrap();
        let with = plain.with_aggregators().unwrap();
        assert!(with.ports.len() > plain.ports.len());
        let after = labels(&with);
        assert!(labels(&plain).iter().all(|label| after.contains(label)));
        assert_eq!(after.iter().filter(|(_, label)| label.is_some()).count(), 6);
    }

    #[test]
    fn what_cannot_be_named_so_is_reported_on_its_line() {
        let long = format!("['- {}']", "e".repeat(64));
        for (ports, line, why) in [
            (["['a b', 'c d']", "", ""], 20, "2 pairs of ports for 1 cable"),
            (["[]", "", ""], 20, "0 pairs of ports for 1 cable"),
            (["", "", "['a1 b1']"], 25, "1 pair of ports for 2 cables"),
            (["", "", "[\n'a1 b1',\n'a2'\n]"], 27, "`a2` does not name two ports"),
            (["['a b c']", "", ""], 20, "does not name two ports"),
            (["['']", "", ""], 20, "does not name two ports"),
            (["['eth0 1/1']", "", ""], 20, "`1/1` is no name of a port"),
            (["['eth0 a;reload']", "", ""], 20, "`a;reload` is no name of a port"),
            (["['eth0 swp1:']", "", ""], 20, "`swp1:` is no name of a port"),
            (["['eth0 süd1']", "", ""], 20, "`süd1` is no name of a port"),
            ([&long, "", ""], 20, "is no name of a port"),
            (
                ["", "", "['e1 e1',\n'e1 e2']"],
                26,
                "port `e1` of `leaf` has two cables: this one, and one of this link",
            ),
            (
                ["['eth0 e1']", "['E1 eth1']", ""],
                23,
                "port `E1` of `leaf` has two cables: this one, and one of [[link]] number 1",
            ),
            (["['eth0 e1']", "['e2 eth0']", ""], 23, "port `eth0` of `box` has two cables"),
        ] {
            let text = file(ports);
            let found = load_fabric(&text).into_result().expect_err(why);
            let said: Vec<_> = found.iter().map(|d| (d.line(&text), d.to_string())).collect();
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].0 == line && said[0].1.contains(why), "{why} on {line}: {said:?}");
            assert!(found[0].help.is_some());
        }
        // One name at two devices is fine.
        assert!(load_fabric(&file(["['e1 e1']", "", ""])).value.is_some());
    }

    #[test]
    fn lists_of_something_else_are_reported() {
        for ports in ["'a b'", "[['a', 'b']]", "[3]", "{ a = 'b' }"] {
            let text = file([ports, "", ""]);
            let found = load_fabric(&text).into_result().expect_err(ports);
            assert_eq!(found[0].line(&text), 20, "{ports}: {found:?}");
        }
    }
}
