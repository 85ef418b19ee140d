//! How many of what, and what is plugged into what.

use serde::Serialize;
use std::ops::Range;
use xoff_fabric::model::Tier;
use xoff_units::{Rate, Ratio};

/// Cables between two kinds of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Between NICs and leaves.
    Host,
    /// Between leaves and spines.
    LeafSpine,
    /// Between spines and cores.
    SpineCore,
}

impl Level {
    /// All levels from the hosts up.
    pub const ALL: [Level; 3] = [Level::Host, Level::LeafSpine, Level::SpineCore];

    /// The name of its table in a fabric file.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Host => "host",
            Level::LeafSpine => "leaf-spine",
            Level::SpineCore => "spine-core",
        }
    }

    /// The tier of its lower end; NICs have none.
    pub const fn lower(self) -> Option<Tier> {
        match self {
            Level::Host => None,
            Level::LeafSpine => Some(Tier::Leaf),
            Level::SpineCore => Some(Tier::Spine),
        }
    }

    /// The tier of its upper end.
    pub const fn upper(self) -> Tier {
        match self {
            Level::Host => Tier::Leaf,
            Level::LeafSpine => Tier::Spine,
            Level::SpineCore => Tier::Core,
        }
    }
}

/// The counts that make a fabric. NICs, leaves, spines and cores are numbered as the resolved
/// fabric numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Servers.
    pub servers: u64,
    /// GPUs in each.
    pub gpus_per_server: u64,
    /// NICs in each.
    pub nics_per_server: u64,
    /// NICs of one server that are on leaves of their own; 1 puts all on the same.
    pub rails: u64,
    /// Leaves that one NIC is plugged into.
    pub homing: u64,
    /// Sets of spines that share no leaf: with 2, the two ports of a NIC are in a plane each.
    pub planes: u64,
    /// Tiers of switches.
    pub tiers: u64,
    /// NICs on a full leaf.
    pub hosts_per_leaf: u64,
    /// Leaves.
    pub leaves: u64,
    /// Leaves under the same spines: all of them in two tiers.
    pub leaves_per_pod: u64,
    /// Spines over the same leaves: all of them in two tiers, or all of a plane.
    pub spines_per_pod: u64,
    /// Cores over the same spine of every pod.
    pub cores_per_plane: u64,
    /// Cables between the same leaf and spine.
    pub leaf_parallel: u64,
    /// Cables between the same spine and core.
    pub spine_parallel: u64,
    /// Rate of the NICs' cables.
    pub host_rate: Rate,
    /// Rate of the cables to spines.
    pub leaf_spine_rate: Rate,
    /// Rate of the cables to cores.
    pub spine_core_rate: Rate,
}

/// Cables between the same two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) level: Level,
    /// The NIC, leaf or spine below.
    pub(super) lower: u64,
    /// The leaf, spine or core above.
    pub(super) upper: u64,
    pub(super) cables: u64,
}

impl Shape {
    /// GPUs.
    pub const fn gpus(&self) -> u64 {
        self.servers * self.gpus_per_server
    }

    /// NICs.
    pub const fn nics(&self) -> u64 {
        self.servers * self.nics_per_server
    }

    /// Groups of leaves that are plugged into the same spines.
    pub const fn pods(&self) -> u64 {
        self.leaves.div_ceil(self.leaves_per_pod)
    }

    /// Switches of a tier.
    pub const fn switches(&self, tier: Tier) -> u64 {
        match tier {
            Tier::Leaf => self.leaves,
            Tier::Spine => self.pods() * self.planes * self.spines_per_pod,
            Tier::Core => self.spines_per_pod * self.cores_per_plane,
        }
    }

    /// Cables from a leaf up.
    pub const fn leaf_uplinks(&self) -> u64 {
        self.spines_per_pod * self.leaf_parallel
    }

    /// Cables from a spine up.
    pub const fn spine_uplinks(&self) -> u64 {
        self.cores_per_plane * self.spine_parallel
    }

    /// Cables of a level.
    pub const fn cables(&self, level: Level) -> u64 {
        match level {
            Level::Host => self.nics() * self.homing,
            Level::LeafSpine => self.leaves * self.leaf_uplinks(),
            Level::SpineCore => self.switches(Tier::Spine) * self.spine_uplinks(),
        }
    }

    /// Rate of the cables of a level.
    pub const fn rate(&self, level: Level) -> Rate {
        match level {
            Level::Host => self.host_rate,
            Level::LeafSpine => self.leaf_spine_rate,
            Level::SpineCore => self.spine_core_rate,
        }
    }

    /// Levels that have cables.
    pub fn levels(&self) -> impl Iterator<Item = Level> + use<> {
        let shape = *self;
        Level::ALL.into_iter().filter(move |level| shape.cables(*level) > 0)
    }

    /// Servers that are plugged into the same leaves.
    pub const fn servers_per_group(&self) -> u64 {
        if self.rails > 1 {
            return self.hosts_per_leaf;
        }
        let servers = self.hosts_per_leaf / self.nics_per_server;
        if servers == 0 { 1 } else { servers }
    }

    /// Servers of the `group`-th group of leaves.
    pub(super) fn group(&self, group: u64) -> Range<u64> {
        let each = self.servers_per_group();
        (group * each).min(self.servers)..((group + 1) * each).min(self.servers)
    }

    /// Leaves that the same servers are plugged into.
    pub const fn leaves_per_group(&self) -> u64 {
        self.rails * self.homing
    }

    /// The first leaf of a NIC; one on two leaves is on the next, too.
    pub const fn leaf_of(&self, nic: u64) -> u64 {
        if self.rails > 1 {
            let (server, rail) = (nic / self.rails, nic % self.rails);
            return (server / self.hosts_per_leaf * self.rails + rail) * self.homing;
        }
        nic / self.hosts_per_leaf * self.homing
    }

    /// The spines above a leaf: those of its pod, or of its plane. The first leaf of a pair is in
    /// the first plane.
    pub const fn spines_of(&self, leaf: u64) -> Range<u64> {
        let set = leaf / self.leaves_per_pod * self.planes + leaf % self.planes;
        set * self.spines_per_pod..(set + 1) * self.spines_per_pod
    }

    /// Host bandwidth of a full leaf over its uplinks; `None` without spines.
    pub fn oversubscription(&self) -> Option<Ratio> {
        let up = self.leaf_uplinks().saturating_mul(self.leaf_spine_rate.bps());
        let down = self.hosts_per_leaf.saturating_mul(self.host_rate.bps());
        (up > 0).then(|| Ratio::new(down, up))
    }

    /// Downlink bandwidth of a full spine over its uplinks; `None` without cores.
    pub fn spine_oversubscription(&self) -> Option<Ratio> {
        let up = self.spine_uplinks().saturating_mul(self.spine_core_rate.bps());
        let down = self.leaves_per_pod * self.leaf_parallel;
        let down = down.saturating_mul(self.leaf_spine_rate.bps());
        (up > 0).then(|| Ratio::new(down, up))
    }

    /// Every pair of devices with cables between them, in the order in which ports are numbered.
    pub(super) fn for_each_run(&self, mut visit: impl FnMut(Run)) {
        for nic in 0..self.nics() {
            for side in 0..self.homing {
                let upper = self.leaf_of(nic) + side;
                visit(Run { level: Level::Host, lower: nic, upper, cables: 1 });
            }
        }
        if self.leaf_parallel > 0 {
            for leaf in 0..self.leaves {
                for upper in self.spines_of(leaf) {
                    let cables = self.leaf_parallel;
                    visit(Run { level: Level::LeafSpine, lower: leaf, upper, cables });
                }
            }
        }
        if self.spine_parallel > 0 {
            for spine in 0..self.switches(Tier::Spine) {
                let first = spine % self.spines_per_pod * self.cores_per_plane;
                for upper in first..first + self.cores_per_plane {
                    let cables = self.spine_parallel;
                    visit(Run { level: Level::SpineCore, lower: spine, upper, cables });
                }
            }
        }
    }
}
