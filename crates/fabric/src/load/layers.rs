//! The layers that a fabric file lies on.
//!
//! From the bottom: the transport defaults of the NIC, the profile, the settings of the network, the file,
//! and in a scenario the network and the settings of its overrides. A profile stands for another simulator,
//! whose NICs are not those of the catalogue; other networks than RoCE have transports of their own. Below
//! those the NIC has nothing to say.

use crate::catalogue::{Catalogue, DcqcnSet, Fact, NicModel, fact};
use crate::document::{Document, Node, Path, Step, Value, keys};
use crate::file::{DEFAULT_NIC, Profile, TransportSection};
use crate::network::Network;
use crate::setup::NicDefault;
use std::collections::BTreeMap;

/// Everything above the NIC, merged.
pub(super) struct Layers {
    document: Document,
}

impl Layers {
    pub(super) fn of(mut file: Document, mut overrides: Option<Node>) -> Self {
        expand_presets(&mut file.root);
        overrides.iter_mut().for_each(expand_presets);
        let asked = overrides.as_ref().and_then(network);
        let own = network(&file.root).filter(|_| asked.is_none());
        let mut document = with_profile(with_network(file, own), overrides.as_ref());
        if let Some(asked) = asked {
            let (settings, _) = Document::parse(asked.text(), None);
            document.overlay(settings.root);
        }
        if let Some(overrides) = overrides {
            document.overlay(overrides);
        }
        Self { document }
    }

    /// All layers, with the defaults of the cluster's NIC at the bottom.
    pub(super) fn over_nic(&self) -> Document {
        let name = self.text(keys!["cluster", "nic"]).unwrap_or(DEFAULT_NIC);
        self.over(self.model(name).as_ref())
    }

    /// The transports of the NICs that nodes of a custom fabric name, by model.
    pub(super) fn transports(&self) -> BTreeMap<String, TransportSection> {
        let nodes = match self.document.get(keys!["node"]).map(|nodes| &nodes.value) {
            Some(Value::Array(nodes)) => nodes.as_slice(),
            _ => &[],
        };
        let named = nodes.iter().filter_map(|node| node.table()?.get("nic")?.value.as_text());
        let transport = |name: &str| {
            let document = self.over(self.model(name).as_ref());
            let section = document.get(keys!["transport"])?.plain().try_into().ok()?;
            Some((name.to_owned(), section))
        };
        named.collect::<std::collections::BTreeSet<_>>().into_iter().filter_map(transport).collect()
    }

    /// The defaults of the cluster's NIC, and what the file has changed of them.
    pub(super) fn nic_defaults(&self) -> Vec<NicDefault> {
        let name = self.text(keys!["cluster", "nic"]).unwrap_or(DEFAULT_NIC);
        let Some(model) = self.model(name) else { return Vec::new() };
        let document = self.over(Some(&model));
        let preset = document.get(keys!["transport", "congestion", "preset"]);
        let set = preset.and_then(|node| DcqcnSet::named(node.value.as_text()?));
        let constants = set.into_iter().flat_map(|set| set.facts().copied());
        let own = model.transport.iter().copied().chain(constants);
        own.map(|fact| NicDefault { fact, instead: changed(&document, &fact) }).collect()
    }

    fn over(&self, nic: Option<&NicModel>) -> Document {
        let Some(nic) = nic else { return self.document.clone() };
        // Settings of one network mean nothing in another, so the layer says whose they are.
        let kind = network(&self.document.root).unwrap_or_default().name();
        let text = format!("transport.kind = '{kind}'\n{}", nic.text());
        let (mut document, _) = Document::parse(&text, None);
        expand_presets(&mut document.root);
        document.overlay(self.document.root.clone());
        document
    }

    /// The NIC whose defaults count, if any do.
    fn model(&self, name: &str) -> Option<NicModel> {
        let foreign = self.text(keys!["profile"]).is_some();
        let network = network(&self.document.root).unwrap_or_default();
        if foreign || !matches!(network, Network::Roce | Network::RoceV1) {
            return None;
        }
        let built_in = Catalogue::built_in();
        let entry = self.document.get(keys!["catalogue", "nic", name]);
        let like = entry.map(|entry| {
            let like = entry.table().and_then(|entry| entry.get("like"));
            like.and_then(|like| like.value.as_text()).unwrap_or(DEFAULT_NIC)
        });
        built_in.nics.get(like.unwrap_or(name)).cloned()
    }

    fn text(&self, path: &Path<'_>) -> Option<&str> {
        self.document.get(path)?.value.as_text()
    }
}

/// What a file says instead of a default.
fn changed(document: &Document, fact: &Fact) -> Option<String> {
    let path: Vec<Step<'_>> = fact.path().into_iter().map(Step::from).collect();
    match document.get(&path) {
        // The file chose another kind of congestion control.
        None => Some("not used".to_owned()),
        Some(node) if node.place.origin.is_none() => None,
        Some(node) => match &node.value {
            // A table that was opened again: its keys speak for themselves, its kind for the whole.
            Value::Table(table) => {
                let kind = table.get("kind").filter(|kind| kind.place.origin.is_some())?;
                Some(kind.value.as_text()?.to_owned())
            }
            _ => Some(node.plain().to_string()),
        },
    }
}

/// Puts the constants of a named set below the table that names it.
fn expand_presets(layer: &mut Node) {
    let Value::Table(root) = &mut layer.value else { return };
    let Some(Value::Table(transport)) = root.get_mut("transport").map(|node| &mut node.value)
    else {
        return;
    };
    let Some(congestion) = transport.get_mut("congestion") else { return };
    let named = congestion.table().and_then(|table| table.get("preset"));
    let Some(set) = named.and_then(|node| DcqcnSet::named(node.value.as_text()?)) else { return };
    let (mut constants, _) = Document::parse(&fact::text(set.facts()), None);
    let Some(Value::Table(mut transport)) = constants.take("transport").map(|node| node.value)
    else {
        return;
    };
    if let Some(below) = transport.remove("congestion") {
        let above = std::mem::replace(congestion, below);
        let mut merged = Document { root: congestion.clone() };
        merged.overlay(above);
        *congestion = merged.root;
    }
}

/// The network that a layer names.
fn network(layer: &Node) -> Option<Network> {
    let transport = layer.table()?.get("transport")?;
    transport.table()?.get("kind")?.value.as_text().and_then(Network::named)
}

/// The settings of a file's network go directly below it.
fn with_network(file: Document, network: Option<Network>) -> Document {
    let Some(network) = network else { return file };
    let (mut document, _) = Document::parse(network.text(), None);
    document.overlay(file.root);
    document
}

/// The profile that the file or the overrides name goes below the file.
fn with_profile(file: Document, overrides: Option<&Node>) -> Document {
    let named =
        |node: &Node| node.table()?.get("profile")?.value.as_text().and_then(Profile::named);
    let profile = overrides.and_then(named).or_else(|| named(&file.root));
    let Some(profile) = profile else { return file };
    let (mut document, _) = Document::parse(profile.text(), None);
    document.overlay(file.root);
    document
}

#[cfg(test)]
mod tests {
    use crate::catalogue::Catalogue;
    use crate::load::{load_fabric, load_scenario};
    use crate::model::Fabric;
    use xoff_transport::config::{CnpScope, Congestion, Dcqcn, Recovery};
    use xoff_units::{Bytes, Span};

    const SINGLE: &str = "[cluster]\nhosts = 8\n[fabric]\nkind = 'single'\n";

    fn fabric(text: &str) -> Fabric {
        let loaded = load_fabric(text);
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        loaded.value.unwrap().fabric
    }

    fn dcqcn(fabric: &Fabric) -> Dcqcn {
        match &fabric.nics[0].qp.congestion {
            Congestion::Dcqcn(dcqcn) => dcqcn.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_nic_of_the_catalogue_is_built_without_complaint() {
        for name in Catalogue::built_in().nics.keys() {
            let text = SINGLE.replace("hosts = 8", &format!("hosts = 8\nnic = '{name}'"));
            let nic = &fabric(&text).nics[0];
            assert_eq!(nic.qp.timeout, Span::from_ps(4_096_000u64 << 20), "{name}");
            assert_eq!(nic.qp.retry_limit, 7, "{name}");
            assert!(!nic.qp.cnp_delay.is_zero() && !nic.qp.reaction_delay.is_zero(), "{name}");
        }
    }

    #[test]
    fn nics_differ_in_what_their_makers_chose() {
        let of = |nic: &str| {
            let text = SINGLE.replace("hosts = 8", &format!("hosts = 8\nnic = '{nic}'"));
            fabric(&text)
        };
        let (connectx, intel, amd) = (of("connectx-7"), of("e810"), of("pollara-400"));
        assert_eq!(connectx.nics[0].qp.cnp_scope, CnpScope::Port);
        assert_eq!(dcqcn(&connectx).byte_counter, Bytes::new(32_767 * 64));
        assert_eq!(intel.nics[0].qp.cnp_scope, CnpScope::QueuePair);
        assert_eq!(intel.nics[0].qp.cnp_interval, Span::from_us(50));
        assert_eq!(amd.nics[0].qp.recovery, Recovery::SelectiveRepeat);
    }

    #[test]
    fn a_file_overrides_its_nic_key_by_key() {
        let own = "[transport]\ntimeout = '67ms'\n[transport.congestion]\ng = '1/256'";
        let loaded = load_fabric(&format!("{SINGLE}{own}")).value.unwrap();
        let qp = &loaded.fabric.nics[0].qp;
        assert_eq!((qp.timeout, qp.cnp_scope), (Span::from_ms(67), CnpScope::Port));
        let dcqcn = dcqcn(&loaded.fabric);
        assert_eq!(dcqcn.g, xoff_units::Ratio::new(1, 256));
        assert_eq!(dcqcn.byte_counter, Bytes::new(32_767 * 64));
        let changed: Vec<_> = loaded
            .nic_defaults
            .iter()
            .filter_map(|default| Some((default.fact.key, default.instead.as_deref()?)))
            .collect();
        assert_eq!(changed, [("timeout", "\"67ms\""), ("congestion.g", "\"1/256\"")]);
    }

    #[test]
    fn a_named_set_replaces_all_constants_and_the_file_changes_single_ones() {
        let own = "[transport.congestion]\npreset = 'paper'\nfast-recovery = 3";
        let paper = dcqcn(&fabric(&format!("{SINGLE}{own}")));
        assert_eq!(paper.byte_counter, Bytes::new(10_000_000));
        assert_eq!((paper.fast_recovery, paper.increase_timer), (3, Span::from_us(55)));
        let scenario = "fabric = 'f.toml'\n[override.transport.congestion]\npreset = 'hpcc'";
        let hpcc = load_scenario(scenario, &format!("{SINGLE}{own}")).value.unwrap();
        let hpcc = dcqcn(&hpcc.setup.fabric);
        assert_eq!((hpcc.fast_recovery, hpcc.byte_counter), (1, Bytes::ZERO));
        let wrong = load_fabric(&format!("{SINGLE}[transport.congestion]\npreset = 'papre'"));
        assert!(wrong.value.is_none());
        assert!(wrong.diagnostics[0].to_string().contains("paper"), "{:?}", wrong.diagnostics);
    }

    #[test]
    fn other_networks_and_simulators_have_no_nic_defaults() {
        for own in ["[transport]\nkind = 'tcp'", "profile = 'ns3-hpcc'\n"] {
            let text = if own.starts_with('[') {
                format!("{SINGLE}{own}")
            } else {
                format!("{own}{SINGLE}")
            };
            let loaded = load_fabric(&text).value.unwrap();
            assert!(loaded.nic_defaults.is_empty(), "{own}");
            assert_eq!(loaded.fabric.nics[0].qp.cnp_scope, CnpScope::QueuePair, "{own}");
        }
    }

    #[test]
    fn nodes_of_a_custom_fabric_have_the_defaults_of_their_own_nic() {
        let text = "[fabric]\nkind = 'custom'\n\
            [[node]]\nname = 'a'\nkind = 'nic'\nnic = 'e810'\n\
            [[node]]\nname = 'b'\nkind = 'nic'\nnic = 'mine'\n\
            [[node]]\nname = 's'\nkind = 'switch'\n\
            [[link]]\nends = 'a s'\n[[link]]\nends = 'b s'\n\
            [catalogue.nic.mine]\nlike = 'pollara-400'\n";
        let fabric = fabric(text);
        assert_eq!(fabric.nics[0].qp.cnp_interval, Span::from_us(50));
        assert_eq!(fabric.nics[1].qp.recovery, Recovery::SelectiveRepeat);
    }
}
