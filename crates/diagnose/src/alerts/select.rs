//! Selects series of a fabric.

use xoff_fabric::model::{Fabric, Tier};

/// By port, as alerts have it.
pub(super) const PORT: &str = "by (fabric, device, port, peer)";
/// By port with all that is known of it, as recorded series have it.
pub(super) const WHOLE: &str = "by (fabric, device, port, peer, tier, peer_tier, host, rail)";

/// Selects series of a fabric.
pub(super) struct Select {
    fabric: String,
    class: u8,
    lossless: String,
}

impl Select {
    /// Of a fabric that its series call `name`.
    pub(super) fn new(fabric: &Fabric, name: &str) -> Self {
        let classes = fabric.classes.iter().zip(0u8..).filter(|(class, _)| class.lossless);
        let classes: Vec<String> = classes.map(|(_, number)| number.to_string()).collect();
        Self { fabric: escaped(name), class: fabric.data_class.0, lossless: classes.join("|") }
    }

    /// A metric, with more labels like `tier="nic"`.
    pub(super) fn all(&self, metric: &str, more: &str) -> String {
        let comma = if more.is_empty() { "" } else { "," };
        format!("{metric}{{fabric=\"{}\"{comma}{more}}}", self.fabric)
    }

    /// The same in the class of the data.
    pub(super) fn data(&self, metric: &str) -> String {
        self.all(metric, &format!("priority=\"{}\"", self.class))
    }

    /// The same in every class that PFC protects.
    pub(super) fn lossless(&self, metric: &str) -> String {
        self.all(metric, &format!("priority=~\"{}\"", self.lossless))
    }

    /// What NICs have in classes that PFC does not protect.
    pub(super) fn stray(&self, metric: &str) -> String {
        self.all(metric, &format!("tier=\"nic\",priority!~\"{}\"", self.lossless))
    }
}

/// The pairs of tiers between which a switch has several links up, and the fewest links that one has.
pub(super) fn uplinks(fabric: &Fabric) -> Vec<(Tier, Tier, usize)> {
    let mut found: Vec<(Tier, Tier, usize)> = Vec::new();
    for switch in &fabric.switches {
        let above = |port: u32| {
            let peer = fabric.ports[port as usize].peer;
            let there = fabric.node_switch(fabric.ports[peer.index()].node)?;
            Some(fabric.switches[there.index()].tier).filter(|tier| *tier > switch.tier)
        };
        let tiers: Vec<Tier> = switch.ports.clone().filter_map(above).collect();
        let Some(tier) = tiers.first().copied() else { continue };
        let known = found.iter_mut().find(|(from, to, _)| (*from, *to) == (switch.tier, tier));
        match known {
            Some((.., fewest)) => *fewest = (*fewest).min(tiers.len()),
            None => found.push((switch.tier, tier, tiers.len())),
        }
    }
    found.retain(|(.., fewest)| *fewest > 1);
    found
}

/// A value of a label within quotes of PromQL.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A text in double quotes, as YAML reads it.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}
