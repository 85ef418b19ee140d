//! The fabric file as it is written: every key optional, every quantity with its unit.
//!
//! What the keys mean together is decided by the builders; what cannot be is reported by the checks.
//! Public is what advice is made from: the layout, cables, switches, marking and classes as written.
//!
//! ```
//! use xoff_fabric::file::Kind;
//!
//! let text = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n[ecn]\nkmin = '200KB'\n";
//! let setup = xoff_fabric::load_fabric(text).into_result().unwrap();
//! assert_eq!(setup.file.fabric.kind, Kind::Rail);
//! assert!(setup.file.ecn.kmin.is_some() && setup.file.ecn.kmax.is_none());
//! ```

mod adaptive;
mod class;
mod cluster;
mod collectives;
mod convergence;
mod custom;
mod goals;
mod host;
mod links;
mod local;
mod lossless;
mod switch;
mod tenant;
mod transport;

pub use adaptive::AdaptiveSettings;
pub use class::{ClassEntry, SchedulingEntry, Strict};
pub(crate) use class::{ClassRef, Traffic};
pub(crate) use cluster::{Cluster, DEFAULT_NIC, NicDscp, NicSettings, ReceiveSettings};
pub use cluster::{Homing, Kind, Layout};
pub(crate) use collectives::CollectiveSettings;
pub use convergence::ConvergenceProfile;
pub(crate) use convergence::ConvergenceSettings;
pub use custom::CustomLink;
pub(crate) use custom::{CustomNode, NodeKind, RouteEntry, TierName};
pub(crate) use goals::{Bounds, GoalEntry, GoalSettings};
pub(crate) use host::{HostEntry, IommuSetting, PcieSettings, SlotSetting};
pub use links::{LinkSettings, Links};
pub use local::TierSettings;
pub(crate) use local::{DeviceEntry, LocalClass, LocalRules};
pub use lossless::{EcnSettings, MarkName, NotifyName};
pub(crate) use lossless::{HeadroomSetting, Pfc, Quanta, ResponseSetting};
pub use switch::{
    AggregationSettings, BalancingName, BalancingSettings, DisciplineName, Forwarding, HashField,
    HashSeed, HashSettings, PerSwitch, SwitchSection, SwitchSettings, TrimmingSettings, Unit,
    WatchdogActionName, WatchdogSettings,
};
pub(crate) use tenant::TenantEntry;
pub(crate) use transport::{Credits, TransportSection};

use crate::catalogue::UserCatalogue;
use crate::model::Ties;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fabric file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct FabricFile {
    /// Defaults that follow another simulator's rules.
    pub(crate) profile: Option<Profile>,
    /// What happens first of what happens at the same instant.
    pub(crate) ties: Ties,
    /// GPUs, servers and NICs.
    pub(crate) cluster: Cluster,
    /// Switches and how they are wired.
    pub fabric: Layout,
    /// Cables.
    pub links: Links,
    /// The NICs' own behaviour.
    pub(crate) nic: NicSettings,
    /// The switches' own behaviour.
    pub switch: SwitchSection,
    /// Priority flow control.
    pub(crate) pfc: Pfc,
    /// Credits of links, where those are used instead.
    pub(crate) credits: Credits,
    /// ECN marking.
    pub ecn: EcnSettings,
    /// Which traffic uses which class.
    pub(crate) traffic: Traffic,
    /// Traffic classes that differ from the default ones.
    #[serde(rename = "class")]
    pub classes: Vec<ClassEntry>,
    /// Who uses the fabric, and in which class.
    #[serde(rename = "tenant")]
    pub(crate) tenants: Vec<TenantEntry>,
    /// The network that carries the traffic, and its queue pairs.
    pub(crate) transport: TransportSection,
    /// What collectives cost beside the network.
    pub(crate) collectives: CollectiveSettings,
    /// What the fabric is meant to achieve.
    pub(crate) goals: GoalSettings,
    /// How soon switches do without what broke.
    pub(crate) convergence: ConvergenceSettings,
    /// Routes that override the shortest paths.
    #[serde(rename = "route")]
    pub(crate) routes: Vec<RouteEntry>,
    /// Single switches that differ from the others of their tier.
    #[serde(rename = "device")]
    pub(crate) devices: Vec<DeviceEntry>,
    /// Servers and NICs that differ from the others.
    #[serde(rename = "host")]
    pub(crate) hosts: Vec<HostEntry>,
    /// Nodes of a custom fabric.
    #[serde(rename = "node")]
    pub(crate) nodes: Vec<CustomNode>,
    /// Cables of a custom fabric.
    #[serde(rename = "link")]
    pub custom_links: Vec<CustomLink>,
    /// Silicon, NICs and media beside the built-in ones.
    pub(crate) catalogue: UserCatalogue,
}

/// Defaults that follow another simulator's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The ns-3 models of the HPCC line.
    Ns3Hpcc,
    /// htsim's RoCE model.
    Htsim,
}

impl Profile {
    /// The profile's name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Ns3Hpcc => "ns3-hpcc",
            Profile::Htsim => "htsim",
        }
    }

    /// The profile as a fabric file that others are laid over.
    pub const fn text(self) -> &'static str {
        match self {
            Profile::Ns3Hpcc => include_str!("../profiles/ns3-hpcc.toml"),
            Profile::Htsim => include_str!("../profiles/htsim.toml"),
        }
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Profile::Ns3Hpcc, Profile::Htsim].into_iter().find(|profile| profile.name() == name)
    }
}
