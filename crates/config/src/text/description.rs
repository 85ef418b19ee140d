//! What a port's description says of the other end of its cable: written in one form, read in those
//! that people and controllers use.

use crate::device::{Neighbour, Port};

/// A description that is read back with its cable: `spine0 et-0/0/1`. Characters that a system could
/// take for the end of a text become underscores.
pub(crate) fn of(port: &Port) -> Option<String> {
    let neighbour = port.neighbour.said()?;
    let text = match &neighbour.port {
        Some(port) => format!("{} {port}", neighbour.device),
        None => neighbour.device.clone(),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_.:/".contains(c);
    let text: String = text.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// What is at the other end, as a description says it: `spine1 et-0/0/1`, `facing_spine1:et-0/0/0:0`
/// (Apstra), `to spine1 port Ethernet1/1`, `spine1__swp3`. A text in no known form stays whole: it may
/// name a device all the same.
pub(crate) fn neighbour(text: &str) -> Neighbour {
    let text = text.trim().trim_matches(['"', '\'']).trim();
    let bare = without_lead(text);
    match split(bare) {
        Some((device, port)) => {
            Neighbour { device: device.to_owned(), port: Some(port.to_owned()) }
        }
        None => Neighbour { device: bare.to_owned(), port: None },
    }
}

/// Words before the name of the device.
const LEADS: [&str; 14] = [
    "facing_",
    "facing-",
    "facing ",
    "to_",
    "to-",
    "to ",
    "to:",
    "link to ",
    "link_to_",
    "uplink to ",
    "downlink to ",
    "connected to ",
    "connection to ",
    "peer ",
];

fn without_lead(text: &str) -> &str {
    let lead =
        |lead: &&&str| text.get(..lead.len()).is_some_and(|start| start.eq_ignore_ascii_case(lead));
    let longest = LEADS.iter().filter(lead).map(|lead| lead.len()).max();
    let rest = longest.map_or(text, |length| text[length..].trim_start());
    if rest.is_empty() { text } else { rest }
}

/// The device, and behind it the name of a port.
fn split(text: &str) -> Option<(&str, &str)> {
    let breaks = text.char_indices().filter(|(_, c)| " :_-,;@|[(".contains(*c));
    for (at, mark) in breaks {
        let port = text[at + mark.len_utf8()..].trim_start_matches([' ', '_', ':', '-', '[', '(']);
        let port = port.strip_prefix("port ").unwrap_or(port);
        let port = port.trim_end_matches([']', ')', ' ', ',', ';']);
        let device = text[..at].trim_end_matches([' ', '_', ':', '-', ',', ';']);
        let device = device.strip_suffix(" port").unwrap_or(device);
        if is_port(port) && !device.is_empty() && !device.contains(' ') {
            return Some((device, port));
        }
    }
    None
}

/// What names of ports start with, whatever the system.
const STEMS: [&str; 19] = [
    "et-",
    "xe-",
    "ge-",
    "te-",
    "qe-",
    "swp",
    "ethernet",
    "eth",
    "et",
    "mlx5_",
    "mlx4_",
    "bnxt_re",
    "roce",
    "ens",
    "enp",
    "eno",
    "hundredgige",
    "fourhundredgige",
    "etp",
];

/// Whether a word is the name of a port: a stem, a number, and nothing but numbers and what stands
/// between them.
fn is_port(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let numbered = |stem: &&str| {
        let Some(rest) = lower.strip_prefix(*stem) else { return false };
        let inside = |c: char| c.is_ascii_alphanumeric() || "/:._-".contains(c);
        rest.starts_with(|c: char| c.is_ascii_digit()) && rest.chars().all(inside)
    };
    STEMS.iter().any(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Said;
    use proptest::prelude::*;

    fn read(text: &str) -> (String, Option<String>) {
        let found = neighbour(text);
        (found.device, found.port)
    }

    #[test]
    fn forms_of_other_people() {
        for text in [
            "spine1 et-0/0/0:0",
            "facing_spine1:et-0/0/0:0",
            "\"facing_spine1:et-0/0/0:0\"",
            "to spine1 port et-0/0/0:0",
            "TO_spine1_et-0/0/0:0",
            "Connected to spine1 [et-0/0/0:0]",
            "spine1__et-0/0/0:0",
            "spine1-et-0/0/0:0",
        ] {
            let wanted = ("spine1".to_owned(), Some("et-0/0/0:0".to_owned()));
            assert_eq!(read(text), wanted, "{text}");
        }
        for (text, device, port) in [
            ("pod1-leaf-02 Ethernet1/10", "pod1-leaf-02", "Ethernet1/10"),
            ("leaf01:swp5s1", "leaf01", "swp5s1"),
            ("gpu-17 mlx5_3", "gpu-17", "mlx5_3"),
            ("srv01_ens1f0np0", "srv01", "ens1f0np0"),
        ] {
            assert_eq!(read(text), (device.to_owned(), Some(port.to_owned())), "{text}");
        }
        for text in ["Breakout et-0/0/0 of card", "GPU rail 3", "spine1", "", "eth-storage"] {
            assert_eq!(read(text), (text.to_owned(), None), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (device, port) in [("spine0", "et-0/0/1:3"), ("rack1-server 2", "mlx5_0")] {
            let wanted = Neighbour { device: device.to_owned(), port: Some(port.to_owned()) };
            let own = Port { neighbour: Said::meant(wanted.clone()), ..Port::default() };
            let text = of(&own).unwrap();
            if !device.contains(' ') {
                assert_eq!(neighbour(&text), wanted);
            }
        }
        let strange = Neighbour { device: "a\"b\n;{é".to_owned(), port: None };
        let port = Port { neighbour: Said::meant(strange), ..Port::default() };
        assert_eq!(of(&port).as_deref(), Some("a_b____"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,60}") {
            let _ = neighbour(&text);
        }
    }
}
