//! The same scenario under different rules: [`variants`] of it as keys laid over its fabric, to be measured and
//! put side by side.

use crate::check::overlay;
use xoff_fabric::Network;

/// Rules to run a scenario under.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name in tables.
    pub name: String,
    /// Keys of the fabric file that make it.
    pub change: toml::Table,
}

/// One thing that can be varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// How switches choose among equal ports.
    LoadBalancing,
    /// How senders react to congestion.
    CongestionControl,
    /// The network that carries the traffic.
    Transport,
}

impl Subject {
    /// The names that it can have.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Subject::LoadBalancing => {
                &["ecmp", "ecmp-qp", "flowlet", "dlb", "dlb-packet", "glb", "spray"]
            }
            Subject::CongestionControl => {
                &["none", "dcqcn", "hpcc", "timely", "swift", "dctcp", "cubic", "nscc"]
            }
            Subject::Transport => &["roce", "infiniband", "uet", "tcp", "iwarp", "roce-v1"],
        }
    }

    /// The keys of a name.
    fn keys(self, name: &str) -> Option<String> {
        // Packets of a flow that take several ways need receivers that keep what comes early.
        const REORDERING: &str =
            "\n[transport]\nrecovery = \"selective-repeat\"\nreorder-window = 256";
        let known = self.names().contains(&name);
        let keys = match (self, name) {
            (Subject::CongestionControl, kind) => {
                let more = match kind {
                    "dctcp" => "\n[transport]\nnotification = \"echo-in-ack\"",
                    "nscc" => {
                        "\n[transport]\nnotification = \"echo-in-ack\"\n\
                         recovery = \"selective-repeat\""
                    }
                    "cubic" => "\n[transport]\nrecovery = \"selective-repeat\"",
                    _ => "",
                };
                format!("[transport.congestion]\nkind = \"{kind}\"{more}")
            }
            (Subject::Transport, kind) => network(kind),
            (_, "ecmp") => "[switch.balancing]\nkind = \"ecmp\"".to_owned(),
            (_, "ecmp-qp") => "[switch.balancing]\nkind = \"ecmp\"\n[switch.hash]\n\
                               fields = [\"addresses\", \"source-port\", \"dest-qp\"]"
                .to_owned(),
            (_, "dlb-packet") => {
                format!("[switch.balancing]\nkind = \"dlb\"\nper = \"packet\"{REORDERING}")
            }
            (_, "spray") => format!("[switch.balancing]\nkind = \"spray\"{REORDERING}"),
            (_, kind) => format!("[switch.balancing]\nkind = \"{kind}\""),
        };
        known.then_some(keys)
    }
}

/// The keys of a network. All of its settings, and not only its name: a scenario's own overrides are meant
/// for the network they were written for.
fn network(name: &str) -> String {
    Network::named(name).map_or(String::new(), |network| network.text().to_owned())
}

/// A name that nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not known; there are {}", .known.join(", "))]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// Those that are.
    pub known: Vec<&'static str>,
}

/// Every combination of the names of every subject, in their order.
pub fn variants(subjects: &[(Subject, Vec<String>)]) -> Result<Vec<Variant>, UnknownName> {
    let mut all = vec![Variant { name: String::new(), change: toml::Table::new() }];
    for (subject, names) in subjects.iter().filter(|(_, names)| !names.is_empty()) {
        let mut next = Vec::new();
        for base in &all {
            for name in names {
                let unknown =
                    || UnknownName { name: name.clone(), known: subject.names().to_vec() };
                let keys = subject.keys(name).ok_or_else(unknown)?;
                let mut change = base.change.clone();
                overlay(&mut change, &keys.parse().unwrap_or_default());
                let joined = if base.name.is_empty() { "" } else { " + " };
                next.push(Variant { name: format!("{}{joined}{name}", base.name), change });
            }
        }
        all = next;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_fabric::load_scenario;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn combinations_are_made_in_order() {
        let all = variants(&[
            (Subject::LoadBalancing, names(&["ecmp", "spray"])),
            (Subject::CongestionControl, names(&["none", "dcqcn"])),
        ])
        .unwrap();
        let named: Vec<&str> = all.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(named, ["ecmp + none", "ecmp + dcqcn", "spray + none", "spray + dcqcn"]);
        // Both subjects write to [transport], and neither loses its keys.
        let transport = all[3].change["transport"].as_table().unwrap();
        assert!(transport.contains_key("congestion") && transport.contains_key("recovery"));
    }

    #[test]
    fn every_name_is_understood_by_the_fabric_file() {
        let fabric =
            "[cluster]\nhosts = 8\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2";
        for subject in [Subject::LoadBalancing, Subject::CongestionControl, Subject::Transport] {
            for variant in variants(&[(subject, names(subject.names()))]).unwrap() {
                let mut scenario = toml::Table::new();
                scenario.insert("fabric".into(), "f.toml".into());
                scenario.insert("override".into(), toml::Value::Table(variant.change.clone()));
                let text = toml::to_string(&scenario).unwrap();
                let loaded = load_scenario(&text, fabric);
                if variant.name == "roce-v1" {
                    assert!(loaded.value.is_none(), "it would have to be routed");
                    continue;
                }
                assert!(loaded.value.is_some(), "{}: {:?}", variant.name, loaded.diagnostics);
            }
        }
    }

    #[test]
    fn a_network_comes_with_its_own_settings_and_others_go_on_top() {
        let all = variants(&[
            (Subject::Transport, names(&["roce", "tcp"])),
            (Subject::CongestionControl, names(&["dctcp"])),
        ])
        .unwrap();
        assert_eq!(all[1].name, "tcp + dctcp");
        let tcp = all[1].change["transport"].as_table().unwrap();
        assert_eq!(tcp["kind"].as_str(), Some("tcp"));
        assert_eq!(tcp["congestion"]["kind"].as_str(), Some("dctcp"));
        assert_eq!(all[1].change["pfc"]["enabled"].as_bool(), Some(false));
        assert!(!all[0].change.contains_key("pfc"));
    }

    #[test]
    fn unknown_names_are_told() {
        let error = variants(&[(Subject::LoadBalancing, names(&["magic"]))]).unwrap_err();
        assert!(error.to_string().starts_with("`magic` is not known; there are ecmp, "));
    }
}
