//! The fabric file of a plan: the smallest that says it.

use super::cabling::End;
use super::shape::Level;
use super::size::oversubscribed;
use super::{Network, Plan};
use std::fmt::Write;
use xoff_fabric::catalogue::OutOfOrder;
use xoff_fabric::model::Tier;
use xoff_units::{Length, Rate};

/// Lengths that a fabric file need not mention, level by level.
const DEFAULT_LENGTHS: [Length; 3] = [Length::from_m(5), Length::from_m(30), Length::from_m(100)];

impl Plan {
    /// The fabric file of the chosen design. Of its wiring, every key differs from its default.
    pub fn fabric_toml(&self) -> String {
        let mut text = format!("# {}: {} GPUs\n", self.design.name(), self.design.shape.gpus());
        if self.design.shape.planes > 1 {
            self.write_planes(&mut text);
            self.write_settings(&mut text);
            return text;
        }
        self.write_cluster(&mut text);
        self.write_layout(&mut text);
        for level in self.design.shape.levels() {
            self.write_links(level, &mut text);
        }
        self.write_settings(&mut text);
        text
    }

    /// What the planned parts can do, and defaults leave off: storms end, and flows spread over all uplinks. NICs
    /// that place packets in any order let switches choose for each packet; others have several queue pairs for each
    /// connection, which hash to several links. A design that means to be oversubscribed says so.
    fn write_settings(&self, text: &mut String) {
        if self.design.network != Network::Roce {
            return;
        }
        text.push_str("\n[switch.watchdog]\nenabled = true\n");
        let shape = &self.design.shape;
        if shape.tiers > 1 {
            let nic = self.catalogue.nics.get(&self.design.nic);
            text.push_str(match nic.map(|nic| nic.placement) {
                None | Some(OutOfOrder::Unable) => {
                    // Switches that balance flowlets take a pause for the end of one, and these NICs take what is
                    // overtaken for lost. With 16 a permutation gets 63 % of line rate on 64 GPUs, with 32 82 %.
                    "\n# These NICs keep packets in order: each connection has several queue pairs, which hash to \
                     several links\n[transport]\nqueue-pairs = 32\n"
                },
                Some(OutOfOrder::Switchable | OutOfOrder::Able) => {
                    "\n[switch.balancing]\nkind = \"dlb\"\nper = \"packet\"\n\n\
                     [transport]\nrecovery = \"selective-repeat\"\nreorder-window = 256\n"
                }
            });
        }
        let ratios = [shape.oversubscription(), shape.spine_oversubscription()];
        let widest = ratios.into_iter().flatten().filter(|&ratio| oversubscribed(ratio)).max();
        if let Some(ratio) = widest {
            let (down, up) = (ratio.numerator(), ratio.denominator());
            let _ = writeln!(text, "\n[goals]\noversubscription = \"{down}:{up}\"");
        }
    }

    /// Planes are no kind of their own: every node and link is listed.
    fn write_planes(&self, text: &mut String) {
        let shape = &self.design.shape;
        text.push_str("\nnode = [\n");
        for nic in 0..shape.nics() {
            let (server, nic) = (nic / shape.nics_per_server, nic % shape.nics_per_server);
            let name = End::Nic { server, nic };
            let _ = writeln!(
                text,
                "  {{ name = \"{name}\", kind = \"nic\", server = \"server{server}\" }},"
            );
        }
        for tier in [Tier::Leaf, Tier::Spine] {
            for number in 0..shape.switches(tier) {
                let name = End::Switch { tier, number };
                let _ = writeln!(
                    text,
                    "  {{ name = \"{name}\", kind = \"switch\", tier = \"{}\" }},",
                    tier.name()
                );
            }
        }
        text.push_str("]\n\nlink = [\n");
        let level = |level| self.design.cables.iter().find(|cables| cables.level == level);
        shape.for_each_run(|run| {
            let Some(cables) = level(run.level) else { return };
            let upper = End::Switch { tier: run.level.upper(), number: run.upper };
            let lower = match run.level.lower() {
                Some(tier) => End::Switch { tier, number: run.lower },
                None => End::Nic {
                    server: run.lower / shape.nics_per_server,
                    nic: run.lower % shape.nics_per_server,
                },
            };
            let media = self.wiring.farthest(run.level).map_or("", |medium| &medium.name);
            let _ = writeln!(
                text,
                "  {{ ends = \"{lower} {upper}\", rate = \"{}\", length = \"{}\", media = \"{media}\", \
                 parallel = {} }},",
                cables.rate, cables.longest, run.cables
            );
        });
        let _ = writeln!(text, "]\n\n[cluster]\nnic = \"{}\"", self.design.nic);
        text.push_str("\n[fabric]\nkind = \"custom\"\n");
        for (tier, silicon) in ["leaf", "spine"].iter().zip(&self.design.silicon) {
            let _ = writeln!(text, "{tier} = \"{silicon}\"");
        }
    }

    fn write_cluster(&self, text: &mut String) {
        let shape = &self.design.shape;
        let _ = writeln!(text, "\n[cluster]\ngpus = {}", shape.gpus());
        if shape.gpus_per_server != shape.gpus().min(8) {
            let _ = writeln!(text, "gpus-per-server = {}", shape.gpus_per_server);
        }
        if shape.nics_per_server != shape.gpus_per_server {
            let _ = writeln!(text, "nics-per-server = {}", shape.nics_per_server);
        }
        let _ = writeln!(text, "nic = \"{}\"", self.design.nic);
    }

    fn write_layout(&self, text: &mut String) {
        let shape = &self.design.shape;
        let kind = match (shape.tiers, shape.rails) {
            (1, _) => "single",
            (2, 1) => "leaf-spine",
            (2, _) => "rail",
            _ => "three-tier",
        };
        let _ = writeln!(text, "\n[fabric]\nkind = \"{kind}\"");
        if shape.homing > 1 {
            text.push_str("homing = \"dual\"\n");
        }
        if shape.tiers == 3 && shape.rails > 1 {
            text.push_str("rails = true\n");
        }
        let names = ["leaf", "spine", "core"];
        let mut above = "";
        for (tier, silicon) in names.iter().zip(&self.design.silicon) {
            if silicon != above {
                let _ = writeln!(text, "{tier} = \"{silicon}\"");
            }
            above = silicon;
        }
        if shape.tiers == 1 {
            return;
        }
        let _ = writeln!(text, "leaves = {}", shape.leaves);
        let even = match shape.rails {
            1 => shape.nics().div_ceil(shape.leaves / shape.homing),
            _ => shape.servers.div_ceil(shape.leaves / shape.leaves_per_group()),
        };
        if even != shape.hosts_per_leaf {
            let _ = writeln!(text, "hosts-per-leaf = {}", shape.hosts_per_leaf);
        }
        if shape.tiers == 3 {
            let _ = writeln!(text, "leaves-per-pod = {}", shape.leaves_per_pod);
        }
        let _ = writeln!(text, "spines = {}", shape.spines_per_pod);
        if shape.tiers == 3 {
            let _ = writeln!(text, "cores = {}", shape.switches(Tier::Core));
        }
        // What the counts leave is meant: without the ratio `xoff check` would warn of it.
        let ratios = [
            ("oversubscription", shape.oversubscription()),
            ("spine-oversubscription", shape.spine_oversubscription()),
        ];
        for (key, ratio) in ratios {
            if let Some(ratio) = ratio.filter(|&ratio| oversubscribed(ratio)) {
                let (down, up) = (ratio.numerator(), ratio.denominator());
                let _ = writeln!(text, "{key} = \"{down}:{up}\"");
            }
        }
    }

    fn write_links(&self, level: Level, text: &mut String) {
        let Some(cables) = self.design.cables.iter().find(|cables| cables.level == level) else {
            return;
        };
        let mut keys = String::new();
        if cables.rate != self.default_rate(level) {
            let _ = writeln!(keys, "rate = \"{}\"", cables.rate);
        }
        if cables.longest != DEFAULT_LENGTHS[level as usize] {
            let _ = writeln!(keys, "length = \"{}\"", cables.longest);
        }
        let usual = self.media_for(cables.rate, cables.longest);
        let medium = self.wiring.farthest(level).map(|medium| medium.name.as_str());
        if let Some(name) = medium.filter(|name| usual != Some(name)) {
            let _ = writeln!(keys, "media = \"{name}\"");
        }
        let shape = &self.design.shape;
        match level {
            Level::LeafSpine if shape.leaf_parallel != 1 => {
                let _ = writeln!(keys, "parallel = {}", shape.leaf_parallel);
            }
            // Left out, it would follow from the oversubscription, which the file does not give.
            Level::SpineCore => {
                let _ = writeln!(keys, "parallel = {}", shape.spine_parallel);
            }
            _ => {}
        }
        if !keys.is_empty() {
            let _ = write!(text, "\n[links.{}]\n{keys}", level.name());
        }
    }

    /// The rate of a level's links in a file that does not say it.
    fn default_rate(&self, level: Level) -> Rate {
        let [leaf, spine, core] = self.silicon.each_ref().map(|silicon| silicon.port_rate);
        match level {
            Level::Host => self.design.shape.host_rate,
            Level::LeafSpine => leaf.min(spine),
            Level::SpineCore => spine.min(core),
        }
    }
}
