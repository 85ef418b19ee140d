//! The same scenario under different settings: [`variants`] of it as keys laid over its fabric, to
//! be measured and compared by their [`Figures`].

mod figures;

pub use figures::{FigureKind, Figures, Win, winners};

use crate::check::overlay;
use xoff_fabric::catalogue::{OutOfOrder, Silicon};
use xoff_fabric::model::Nic;
use xoff_fabric::{FabricSetup, Network, infiniband_silicon};

/// RoCEv2 as a careful operator sets it up.
const TUNED: &str = "roce-tuned";

/// What tuned means: switches choose a port for every packet, NICs place data out of order, and PFC
/// alone protects the last hop. DCQCN is off, as Meta reports for 400G: packets that are spread
/// over all links leave no congestion inside a fabric without oversubscription that a slower sender
/// would cure.
const TUNED_SETTINGS: &str = r#"recovery = "selective-repeat"
reorder-window = 256
[transport.congestion]
kind = "none"
[switch.balancing]
kind = "dlb"
per = "packet"
"#;

/// The same for NICs that need their packets in order: flowlets on the better port, and the queue
/// pair in the hash, so that several queue pairs of a connection spread.
const TUNED_IN_ORDER: &str = r#"[transport]
recovery = "go-back-n"
reorder-window = 0
[switch.balancing]
kind = "dlb"
per = "flowlet"
[switch.hash]
fields = ["addresses", "source-port", "dest-qp"]
"#;

/// Rules to run a scenario under.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name in tables.
    pub name: String,
    /// Keys of the fabric file that make it.
    pub change: toml::Table,
    /// What it changes of the fabric itself, shown below the table.
    pub note: Option<String>,
}

impl Variant {
    /// The network that it names, if it names one.
    fn network(&self) -> Option<Network> {
        Network::named(self.change.get("transport")?.get("kind")?.as_str()?)
    }
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
            Subject::LoadBalancing => &[
                "ecmp",
                "ecmp-qp",
                "flowlet",
                "dlb",
                "dlb-packet",
                "glb",
                "glb-packet",
                "spray",
                "recycle",
                "paths",
                "pinned",
                "engineered",
            ],
            Subject::CongestionControl => {
                &["none", "dcqcn", "hpcc", "timely", "swift", "dctcp", "cubic", "nscc"]
            }
            Subject::Transport => {
                &["roce", "roce-tuned", "infiniband", "uet", "tcp", "iwarp", "roce-v1"]
            }
        }
    }

    /// The keys of a name.
    fn keys(self, name: &str) -> Option<String> {
        // A flow whose packets take several paths needs receivers that keep packets out of order.
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
            (_, kind @ ("dlb-packet" | "glb-packet")) => {
                let kind = &kind[..3];
                format!("[switch.balancing]\nkind = \"{kind}\"\nper = \"packet\"{REORDERING}")
            }
            (_, "spray") => format!("[switch.balancing]\nkind = \"spray\"{REORDERING}"),
            // An acknowledgement brings back the entropy of one packet.
            (_, kind @ ("recycle" | "paths")) => {
                format!("[switch.balancing]\nkind = \"{kind}\"{REORDERING}\nack-every = 1")
            }
            (_, kind) => format!("[switch.balancing]\nkind = \"{kind}\""),
        };
        known.then_some(keys)
    }
}

/// The keys of a network. All of its settings, and not only its name: a scenario's own overrides
/// are meant for the network they were written for.
fn network(name: &str) -> String {
    if name == TUNED {
        return format!("{}\n{TUNED_SETTINGS}", Network::Roce.text());
    }
    Network::named(name).map_or(String::new(), |network| network.text().to_owned())
}

/// An unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not known; there are {}", .known.join(", "))]
pub struct UnknownName {
    /// The name.
    pub name: String,
    /// Known names.
    pub known: Vec<&'static str>,
}

/// Every combination of the names of every subject, in their order.
pub fn variants(subjects: &[(Subject, Vec<String>)]) -> Result<Vec<Variant>, UnknownName> {
    let mut all = vec![Variant { name: String::new(), change: toml::Table::new(), note: None }];
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
                let name = format!("{}{joined}{name}", base.name);
                next.push(Variant { name, change, note: None });
            }
        }
        all = next;
    }
    Ok(all)
}

/// Fits variants to the fabric that they run on, and notes what that means.
pub fn fit(variants: &mut [Variant], setup: &FabricSetup) {
    fit_silicon(variants, setup);
    let placement = |nic: &Nic| setup.catalogue.nics.get(&nic.model).map(|model| model.placement);
    let mut nics = setup.fabric.nics.iter();
    let unable = nics.find(|nic| placement(nic) == Some(OutOfOrder::Unable));
    for variant in variants.iter_mut().filter(|v| v.name.split(" + ").any(|name| name == TUNED)) {
        variant.note = Some(match unable {
            None => {
                "means: dlb per packet, selective repeat with a reorder window of 256, no DCQCN \
                     (PFC alone)"
                    .to_owned()
            }
            Some(nic) => {
                overlay(&mut variant.change, &TUNED_IN_ORDER.parse().unwrap_or_default());
                format!(
                    "means: dlb per flowlet, queue pairs in the hash, no DCQCN (PFC alone); `{}` is not \
                     known to place packets out of order",
                    nic.model
                )
            }
        });
    }
}

/// Puts the variants that run InfiniBand on InfiniBand silicon with the same wiring: the smallest
/// that has the ports. Where a fabric runs on such silicon already nothing changes.
fn fit_silicon(variants: &mut [Variant], setup: &FabricSetup) {
    let fabric = &setup.fabric;
    let known = |name: &String| setup.catalogue.silicon.get(name);
    let mut used: Vec<&String> = fabric.switches.iter().map(|switch| &switch.silicon).collect();
    used.sort_unstable();
    used.dedup();
    if used.iter().all(|name| known(name).is_some_and(|silicon| silicon.infiniband)) {
        return;
    }
    let names = used.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let found = infiniband_silicon(fabric, &setup.catalogue);
    for variant in variants.iter_mut().filter(|v| v.network() == Some(Network::Infiniband)) {
        let Some(silicon) = found else {
            variant.note = Some(format!(
                "runs on {names}: no InfiniBand silicon has ports of these rates and this number"
            ));
            continue;
        };
        overlay(&mut variant.change, &on_silicon(silicon, setup));
        let (ports, rate) = (silicon.ports, silicon.port_rate);
        variant.note = Some(format!(
            "runs on {} ({ports} x {rate}, buffer estimated) in place of {names}",
            silicon.name
        ));
    }
}

/// The keys that put every switch on other silicon, whatever a file says of the one it was written
/// for.
fn on_silicon(silicon: &Silicon, setup: &FabricSetup) -> toml::Table {
    let mut keys = toml::Table::new();
    keys.insert("silicon".into(), silicon.name.clone().into());
    keys.insert("buffer".into(), format!("{}B", silicon.buffer.get()).into());
    keys.insert("cell".into(), format!("{}B", silicon.cell.get()).into());
    keys.insert("latency".into(), format!("{}ns", silicon.latency.as_ps() / 1_000).into());
    let section = &setup.file.switch;
    let mut switch = keys.clone();
    for (tier, own) in [("leaf", &section.leaf), ("spine", &section.spine), ("core", &section.core)]
    {
        if own.buffer.is_some() || own.cell.is_some() || own.latency.is_some() {
            switch.insert(tier.into(), keys.clone().into());
        }
    }
    // What the silicon has behind each port, as the slowest links split it.
    let slowest = setup.fabric.cables.iter().map(|cable| cable.rate).min();
    let links = slowest.map_or(silicon.ports, |rate| silicon.links_at(rate)).max(1);
    let share = silicon.buffer.get() / u64::from(links);
    let mut credits = toml::Table::new();
    credits.insert("share".into(), format!("{share}B").into());
    let mut change = toml::Table::new();
    change.insert("switch".into(), switch.into());
    change.insert("credits".into(), credits.into());
    change
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
    fn every_kind_of_balancing_can_be_compared_and_none_reorders_by_mistake() {
        let kinds =
            ["ecmp", "flowlet", "dlb", "glb", "spray", "recycle", "paths", "pinned", "engineered"];
        let all =
            variants(&[(Subject::LoadBalancing, names(Subject::LoadBalancing.names()))]).unwrap();
        let balancing = |variant: &Variant| variant.change["switch"]["balancing"].clone();
        for kind in kinds {
            let has = |variant: &Variant| balancing(variant)["kind"].as_str() == Some(kind);
            assert!(all.iter().any(has), "{kind} cannot be compared");
        }
        let per_packet = |kind: &str| {
            let name = format!("{kind}-packet");
            let variant = all.iter().find(|variant| variant.name == name);
            variant.is_some_and(|variant| balancing(variant)["per"].as_str() == Some("packet"))
        };
        assert!(per_packet("dlb") && per_packet("glb"));
        for variant in all {
            let text = toml::to_string(&variant.change).unwrap();
            let fabric = format!(
                "[cluster]\nhosts = 8\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n{text}"
            );
            let found = xoff_fabric::load_fabric(&fabric).diagnostics;
            assert!(found.is_empty(), "{}: {found:?}", variant.name);
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
    fn tuned_roce_reorders_only_where_the_nic_can() {
        let tuned = |nic: &str| {
            let fabric = format!(
                "[cluster]\nhosts = 8\nnic = \"{nic}\"\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n"
            );
            let setup = xoff_fabric::load_fabric(&fabric).value.unwrap();
            let mut all =
                variants(&[(Subject::Transport, names(&["roce", "roce-tuned"]))]).unwrap();
            fit(&mut all, &setup);
            let mut scenario = toml::Table::new();
            scenario.insert("fabric".into(), "f.toml".into());
            scenario.insert("override".into(), toml::Value::Table(all[1].change.clone()));
            let loaded = load_scenario(&toml::to_string(&scenario).unwrap(), &fabric);
            assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
            let fabric = loaded.value.unwrap().setup.fabric;
            assert!(all[0].note.is_none() && fabric.pause.enabled);
            (fabric.switches[0].balancing.reorders(), all[1].note.clone().unwrap())
        };
        let (reorders, note) = tuned("connectx-7");
        assert!(reorders && note.contains("no DCQCN"), "{note}");
        let (reorders, note) = tuned("e810");
        assert!(!reorders && note.contains("`e810`"), "{note}");
    }

    #[test]
    fn infiniband_runs_on_its_own_silicon() {
        let on = |leaf: &str, rate: &str| {
            let fabric = format!(
                "[cluster]\nhosts = 8\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
                 leaf = \"{leaf}\"\n[links.leaf-spine]\nrate = \"{rate}\"\n[switch]\nbuffer = \"32MB\"\n\
                 [switch.leaf]\nlatency = \"2us\"\n"
            );
            let setup = xoff_fabric::load_fabric(&fabric).value.unwrap();
            let mut all =
                variants(&[(Subject::Transport, names(&["roce", "infiniband"]))]).unwrap();
            fit(&mut all, &setup);
            assert_eq!(all[0].note, None);
            let mut scenario = toml::Table::new();
            scenario.insert("fabric".into(), "f.toml".into());
            scenario.insert("override".into(), toml::Value::Table(all[1].change.clone()));
            let loaded = load_scenario(&toml::to_string(&scenario).unwrap(), &fabric);
            let fabric = loaded.value.unwrap().setup.fabric;
            let leaf = &fabric.switches[0];
            (leaf.silicon.clone(), leaf.buffer.get(), leaf.latency, all[1].note.clone().unwrap())
        };
        let quantum = on("tomahawk-4", "400Gbps");
        assert_eq!((quantum.0.as_str(), quantum.1), ("quantum-2", 32_000_000));
        assert_eq!(quantum.2, xoff_units::Span::from_ns(150));
        assert!(quantum.3.contains("in place of tomahawk-4"), "{}", quantum.3);
        assert_eq!(on("tomahawk-5", "800Gbps").0, "quantum-x800");
        let none = on("tomahawk-6", "1600Gbps");
        assert!(none.0 == "tomahawk-6" && none.3.contains("no InfiniBand silicon"), "{none:?}");
    }

    #[test]
    fn unknown_names_are_reported() {
        let error = variants(&[(Subject::LoadBalancing, names(&["magic"]))]).unwrap_err();
        assert!(error.to_string().starts_with("`magic` is not known; there are ecmp, "));
    }
}
