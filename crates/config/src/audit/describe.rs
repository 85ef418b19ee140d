//! The device and port that a description of a port names, as people write it: `to leaf1 Et1/1`,
//! `P2P_LINK_TO_SPINE1_Ethernet1/1`, `[leaf01:swp1]`, `facing_spine1:et-0/0/0:0`.
//!
//! Only names of devices that are there count, and only as whole words: `leaf1` is not in `leaf10`, and not in `pod2-leaf1`. The longest name
//! wins.

use super::known::Known;
use crate::device::PortName;

/// How much of a description is searched, and how many words a name may have.
const MOST_BYTES: usize = 512;
const MOST_WORDS: usize = 64;
const LONGEST_NAME: usize = 10;

/// Words that join names with a hyphen and are no part of them.
const JOINING: [&str; 14] = [
    "to",
    "from",
    "link",
    "p2p",
    "facing",
    "uplink",
    "downlink",
    "via",
    "port",
    "conn",
    "connected",
    "peer",
    "rail",
    "towards",
];

/// What a description of a port of `own` names: a device, and one of its ports if it says which.
pub(super) fn named(
    known: &Known<'_>,
    own: usize,
    text: &str,
) -> Option<(usize, Option<PortName>)> {
    let end = (0..=MOST_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..end.unwrap_or(0)];
    let words = words(text);
    let mut best: Option<(usize, usize, usize)> = None;
    for first in 0..words.len() {
        for last in first..words.len().min(first + LONGEST_NAME) {
            let (start, end) = (words[first].0, words[last].1);
            let longer = best.is_none_or(|(_, from, to)| end - start > to - from);
            if !longer {
                continue;
            }
            let Some(index) = known.find(&text[start..end]).filter(|index| *index != own) else {
                continue;
            };
            if starts_well(&text[..start]) && ends_well(known, index, &text[end..]) {
                best = Some((index, start, end));
            }
        }
    }
    let (index, start, end) = best?;
    let port = port(known, index, &text[end..]).or_else(|| port(known, index, &text[..start]));
    Some((index, port))
}

/// Runs of letters and digits: where each starts and ends.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push((from, at));
                start = None;
            }
            _ => {}
        }
        if words.len() == MOST_WORDS {
            break;
        }
    }
    words
}

/// A hyphen or dot before a name makes it part of a longer one, unless a word that only joins comes before it.
fn starts_well(before: &str) -> bool {
    let Some(rest) = before.strip_suffix(['-', '.']) else { return true };
    let from = rest.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |at| at + 1);
    let word = rest.get(from..).unwrap_or_default().to_ascii_lowercase();
    word.is_empty() || JOINING.contains(&word.as_str())
}

/// A hyphen behind a name makes it part of a longer one, unless a port of that device follows; a dot does, unless a domain follows.
fn ends_well(known: &Known<'_>, index: usize, after: &str) -> bool {
    if let Some(rest) = after.strip_prefix('.') {
        return !rest.starts_with(|c: char| c.is_ascii_digit());
    }
    match after.strip_prefix('-') {
        Some(rest) => {
            let spaced = rest.starts_with(|c: char| !c.is_alphanumeric());
            spaced || port_at(known, index, rest).is_some()
        }
        None => true,
    }
}

/// The first port of a device that a text names.
fn port(known: &Known<'_>, index: usize, text: &str) -> Option<PortName> {
    words(text).into_iter().find_map(|(start, _)| {
        let inside = text[..start].ends_with(['/', ':']) && text[..start].len() > 1 && {
            let before = text[..start - 1].chars().next_back();
            before.is_some_and(|c| c.is_ascii_digit())
        };
        if inside { None } else { port_at(known, index, &text[start..]) }
    })
}

/// The longest port of a device that a text starts with.
fn port_at(known: &Known<'_>, index: usize, text: &str) -> Option<PortName> {
    let words = words(text);
    let ends = words.iter().take(6).rev().map(|(_, end)| *end);
    ends.filter(|end| !continues(&text[*end..]))
        .find_map(|end| known.port(index, &text[..end]).cloned())
}

/// Whether a number goes on: `Ethernet1/1` is not in `Ethernet1/1/3`.
fn continues(after: &str) -> bool {
    let mut chars = after.chars();
    matches!(chars.next(), Some('/' | ':')) && chars.next().is_some_and(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cabling::Cables;
    use crate::device::Device;
    use crate::system::SystemId;

    fn devices() -> Vec<Device> {
        let device = |name: &str, system, ports: &[&str]| {
            let mut device = Device::new(name, system);
            for port in ports {
                device.port(port);
            }
            device
        };
        vec![
            device("me", SystemId::Eos, &["Ethernet1/1"]),
            device("leaf1", SystemId::Eos, &["Ethernet1/1", "Ethernet1/2", "Ethernet11/1"]),
            device("spine1", SystemId::Junos, &["et-0/0/0:0", "et-0/0/0:1", "et-0/0/1"]),
            device("leaf01", SystemId::Cumulus, &["swp1", "swp1s0", "swp11"]),
            device("gpu-pod1-leaf1", SystemId::NxOs, &["Ethernet1/1", "Ethernet1/1/3"]),
            device("hgx1", SystemId::Host, &["mlx5_0", "mlx5_1"]),
            device("fqdn1.example.net", SystemId::Sonic, &["Ethernet0", "Ethernet8"]),
        ]
    }

    #[track_caller]
    fn check(text: &str, wanted: Option<(&str, Option<&str>)>) {
        let devices = devices();
        let known = Known::new(&devices, &Cables::default(), None);
        let found = named(&known, 0, text);
        let found = found.as_ref().map(|(index, port)| {
            (devices[*index].name.as_str(), port.as_ref().map(PortName::as_str))
        });
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn descriptions_as_people_write_them() {
        for text in [
            "leaf1 Ethernet1/1",
            "to leaf1 Et1/1",
            "P2P_LINK_TO_LEAF1_Ethernet1/1",
            "leaf1_Eth1/1",
            "leaf1-Eth1/1",
            "LEAF1:ETHERNET1/1",
            "to-leaf1-et1/1",
            "Et1/1 of leaf1.example.net",
            "me to leaf1 Ethernet 1/1",
            "\"leaf1 Ethernet1/1\"",
            "[leaf1:Et1/1]",
            "uplink (leaf1, Ethernet1/1)",
        ] {
            check(text, Some(("leaf1", Some("Ethernet1/1"))));
        }
        check("facing_spine1:et-0/0/0:0", Some(("spine1", Some("et-0/0/0:0"))));
        check("facing_spine1:et-0/0/1", Some(("spine1", Some("et-0/0/1"))));
        check("[leaf01:swp1]", Some(("leaf01", Some("swp1"))));
        check("-> leaf01 / swp1", Some(("leaf01", Some("swp1"))));
        check("leaf01 swp1s0", Some(("leaf01", Some("swp1s0"))));
        check("hgx1 mlx5_0", Some(("hgx1", Some("mlx5_0"))));
        check("hgx1-mlx5_1", Some(("hgx1", Some("mlx5_1"))));
        check("to fqdn1 Ethernet8", Some(("fqdn1.example.net", Some("Ethernet8"))));
        check("gpu-pod1-leaf1 Eth1/1/3", Some(("gpu-pod1-leaf1", Some("Ethernet1/1/3"))));
        check("leaf1", Some(("leaf1", None)));
    }

    #[test]
    fn what_names_no_device_or_no_port_is_none() {
        for text in [
            "",
            "leaf10 Ethernet1/1",
            "pod2-leaf1",
            "leaf1-b",
            "leaf1.2",
            "storage",
            "xleaf1",
            "me",
        ] {
            check(text, None);
        }
        check("leaf1 Ethernet1/1/3", Some(("leaf1", None)));
        check("leaf1 Ethernet1", Some(("leaf1", None)));
        check("leaf1 Ethernet9/1", Some(("leaf1", None)));
        check("leaf01 swp", Some(("leaf01", None)));
        check("spine1 et-0/0/0", Some(("spine1", None)));
        check("fqdn1 eth0", Some(("fqdn1.example.net", None)));
        check(&"é-leaf ".repeat(1000), None);
    }
}
