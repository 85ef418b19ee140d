//! Names of ports as people write them: ranges, abbreviations, and what a description says of the other
//! end of a cable.

use crate::device::{Neighbour, Port};

/// What stands behind `interface`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Physical ports, by their full names.
    Ports(Vec<String>),
    /// A bundle of ports.
    Channel(u32),
    /// Something that is no physical port: a VLAN, a loopback, a part of a port.
    Other,
    /// Ports, and not to be made out.
    Malformed,
}

/// Most ports that one statement can name: as many as a box can have.
const MOST: usize = 1024;

/// The ports of `Ethernet1/1`, `ethernet 1/1`, `Eth1/1-8, Eth1/10`, `range ethernet1/1/1-1/1/8` or
/// `Ethernet1/1-8/1,10/1`, each as `stem` and number.
pub(crate) fn named(words: &[&str], stem: &str) -> Named {
    let words = words.strip_prefix(&["range"]).unwrap_or(words);
    let text = words.concat();
    let (kind, number) = split_kind(&text);
    if let Some(number) = channel(kind, number) {
        return Named::Channel(number);
    }
    if !is_ethernet(kind) || number.is_empty() || text.contains('.') {
        return Named::Other;
    }
    let mut found = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let Some(numbers) = range(part) else { return Named::Malformed };
        if found.len() + numbers.len() > MOST {
            return Named::Malformed;
        }
        found.extend(numbers.into_iter().map(|number| format!("{stem}{number}")));
    }
    Named::Ports(found)
}

/// `port-channel10` and how else it is written.
fn channel(kind: &str, number: &str) -> Option<u32> {
    let kind = kind.to_ascii_lowercase();
    matches!(kind.as_str(), "port-channel" | "po").then(|| number.parse().ok()).flatten()
}

fn is_ethernet(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    !kind.is_empty() && "ethernet".starts_with(&kind)
}

fn split_kind(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len()))
}

/// The numbers of one port or of one range; `to` may repeat the kind, and as much of the number as it
/// likes.
fn range(part: &str) -> Option<Vec<String>> {
    let Some((from, to)) = part.split_once('-') else {
        return Some(vec![Number::of_port(part)?.text()]);
    };
    let (low, high) = (Number::of_port(from)?, Number::of_port(to)?);
    let kept = low.parts.len().checked_sub(high.parts.len())?;
    let high: Vec<u32> = low.parts[..kept].iter().chain(&high.parts).copied().collect();
    // Every part runs through its own range: 1:1-2:4 are the four lanes of two ports.
    let mut all = vec![Vec::new()];
    for (low, high) in low.parts.iter().zip(&high) {
        let count = high.checked_sub(*low)? as usize + 1;
        if all.len() * count > MOST {
            return None;
        }
        let longer = |old: &Vec<u32>| {
            let old = old.clone();
            (*low..=*high).map(move |next| [&old[..], &[next]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    Some(all.into_iter().map(|parts| low.with(parts).text()).collect())
}

/// `1/1/4:2`, taken apart.
struct Number<'a> {
    parts: Vec<u32>,
    text: &'a str,
}

impl<'a> Number<'a> {
    /// The number of a port, with or without the kind before it.
    fn of_port(text: &'a str) -> Option<Self> {
        let (kind, number) = split_kind(text.trim());
        let known = kind.is_empty() || is_ethernet(kind);
        known.then(|| Self::read(number)).flatten()
    }

    fn read(text: &'a str) -> Option<Self> {
        let parts: Option<Vec<u32>> =
            text.split(['/', ':']).map(|part| part.parse().ok()).collect();
        parts.filter(|parts| parts.len() <= 4).map(|parts| Self { parts, text })
    }

    fn with(&self, parts: Vec<u32>) -> Self {
        Self { parts, text: self.text }
    }

    fn text(&self) -> String {
        let mut marks = self.text.chars().filter(|c| !c.is_ascii_digit());
        let mut text = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                text.extend(marks.next());
            }
            text += &part.to_string();
        }
        text
    }
}

/// What a description says of the other end: `leaf0 Ethernet1/1`, `leaf0:Ethernet1/1`,
/// `P2P_leaf0_Ethernet1`. A port that is not to be made out stays in the text.
pub(crate) fn neighbour(description: &str) -> Neighbour {
    let text = description.trim().trim_matches('"').trim();
    if let Some((device, port)) = text.rsplit_once(char::is_whitespace) {
        if is_port(port) {
            return Neighbour { device: device.trim().to_owned(), port: Some(port.to_owned()) };
        }
        return Neighbour { device: text.to_owned(), port: None };
    }
    for (at, mark) in text.match_indices([':', '_']) {
        let (device, port) = (&text[..at], &text[at + 1..]);
        if is_port(port) {
            // What comes before the name of the device, as in `P2P_leaf0`, or the name itself.
            let device = match device.rsplit_once('_').filter(|_| mark == "_") {
                Some((_, last)) => format!("{device} {last}"),
                None => device.to_owned(),
            };
            return Neighbour { device, port: Some(port.to_owned()) };
        }
    }
    Neighbour { device: text.to_owned(), port: None }
}

/// Whether a word is the name of a port, of any system.
fn is_port(word: &str) -> bool {
    const KINDS: [&str; 16] = [
        "ethernet",
        "eth",
        "et",
        "e",
        "swp",
        "mlx",
        "xe",
        "ge",
        "te",
        "hu",
        "fo",
        "enp",
        "ens",
        "hundredgige",
        "fourhundredgige",
        "twentyfivegige",
    ];
    let (kind, number) = split_kind(word);
    let kind = kind.trim_end_matches('-').to_ascii_lowercase();
    let inside = |c: char| c.is_ascii_digit() || "/:._-snpf".contains(c);
    KINDS.contains(&kind.as_str()) && !number.is_empty() && number.chars().all(inside)
}

/// The description that says where a port leads, for a file that is read back with its cables.
pub(crate) fn description(port: &Port) -> Option<String> {
    let peer = port.neighbour.value()?;
    let text = match &peer.port {
        Some(port) => format!("{} {port}", peer.device),
        None => peer.device.clone(),
    };
    let text: String = text.chars().filter(|c| !c.is_control() && *c != '"').collect();
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(text: &str) -> Vec<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match named(&words, "Ethernet") {
            Named::Ports(found) => found,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn ranges_of_ports() {
        assert_eq!(ports("Ethernet1/1"), ["Ethernet1/1"]);
        assert_eq!(ports("ethernet 1/1"), ["Ethernet1/1"]);
        assert_eq!(ports("e1/1-3"), ["Ethernet1/1", "Ethernet1/2", "Ethernet1/3"]);
        assert_eq!(ports("Eth1/1 - 2, Eth1/9"), ["Ethernet1/1", "Ethernet1/2", "Ethernet1/9"]);
        assert_eq!(ports("Ethernet1/1-2/1,10/1"), ["Ethernet1/1", "Ethernet2/1", "Ethernet10/1"]);
        assert_eq!(ports("range ethernet1/1/7-1/1/8"), ["Ethernet1/1/7", "Ethernet1/1/8"]);
        assert_eq!(
            ports("range ethernet1/1/1:1-1/1/2:2"),
            ["Ethernet1/1/1:1", "Ethernet1/1/1:2", "Ethernet1/1/2:1", "Ethernet1/1/2:2"]
        );
        assert_eq!(ports("Ethernet1-Ethernet3").len(), 3);
        assert_eq!(ports("Ethernet1/1/1-4").len(), 4);
    }

    #[test]
    fn what_is_no_port() {
        let read = |text: &str| named(&text.split_whitespace().collect::<Vec<_>>(), "Ethernet");
        assert_eq!(read("Port-Channel 7"), Named::Channel(7));
        assert_eq!(read("port-channel10"), Named::Channel(10));
        for other in
            ["Vlan10", "mgmt0", "Ethernet1/1.100", "breakout 1/1/1 map 100g-1x", "Ethernet", ""]
        {
            assert_eq!(read(other), Named::Other, "{other}");
        }
        let strange = [
            "Ethernet8-1",
            "Ethernet1-99999999",
            "Ethernet1/1-2-3",
            "Ethernet1,Vlan3",
            "Ethernet1/1/1/1/1",
            "Ethernet1-1/1",
            "Ethernet99999999999999",
            "Ethernet1/1-32/64/64",
        ];
        for strange in strange {
            assert_eq!(read(strange), Named::Malformed, "{strange}");
        }
    }

    #[test]
    fn descriptions_name_the_other_end() {
        let read = |text: &str| {
            let found = neighbour(text);
            (found.device, found.port.unwrap_or_default())
        };
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(read("spine0 Ethernet1/1"), pair("spine0", "Ethernet1/1"));
        assert_eq!(read("\"spine0 ethernet1/1/1:2\""), pair("spine0", "ethernet1/1/1:2"));
        assert_eq!(read("server0 mlx5_0"), pair("server0", "mlx5_0"));
        assert_eq!(read("to spine0 Eth1/1"), pair("to spine0", "Eth1/1"));
        assert_eq!(read("spine0:Ethernet1/1"), pair("spine0", "Ethernet1/1"));
        assert_eq!(
            read("P2P_dc1-spine1_Ethernet1"),
            pair("P2P_dc1-spine1 dc1-spine1", "Ethernet1")
        );
        assert_eq!(read("link to spine0, rack 3"), pair("link to spine0, rack 3", ""));
        assert_eq!(read("gpu01-nic0"), pair("gpu01-nic0", ""));
        assert_eq!(read(""), pair("", ""));
    }
}
