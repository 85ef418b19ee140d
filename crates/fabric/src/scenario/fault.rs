//! `[[fault]]`: what breaks during a run, when, and for how long.
//!
//! Every fault begins `at` a time and lasts `for` some time or until it is restored; without either it
//! lasts to the end of the run. What breaks is named, or drawn at random: then `count` says how many,
//! and the draws come from a stream of the fault's own.

use super::NodeRef;
use crate::model::{Convergence, Ecn, Fabric, PortClass, Threshold, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Rate, Ratio, Span};

/// Something that breaks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fault {
    /// A NIC sends pause frames without end.
    PauseStorm {
        /// The NIC.
        nic: NodeRef,
        /// When it starts.
        #[serde(default)]
        at: Span,
        /// How long; without it, to the end of the run.
        #[serde(rename = "for")]
        duration: Option<Span>,
    },
    /// A NIC's receive side becomes slow.
    SlowReceiver {
        /// The NIC.
        nic: NodeRef,
        /// When it starts.
        #[serde(default)]
        at: Span,
        /// The rate at which it still takes data.
        rate: Rate,
        /// How long; without it, to the end of the run.
        #[serde(rename = "for")]
        duration: Option<Span>,
    },
    /// A link goes down.
    LinkDown(LinkDown),
    /// A link goes down and comes up again and again.
    LinkFlap(LinkFlap),
    /// A link works, but badly: slower, or with losses.
    LinkDegraded(LinkDegraded),
    /// A switch goes down with all that is in its buffer; restored, it has been reset.
    SwitchDown(SwitchDown),
    /// All NICs of a server lose their links.
    ServerDown(ServerDown),
    /// A switch uses another next hop for some time.
    RouteChange(RouteChange),
    /// A PFC or ECN setting is wrong at one port or switch, or changes while the run goes on.
    Setting(Setting),
    /// Two cables were swapped when the fabric was built.
    Miscabling(Miscabling),
}

impl Fault {
    /// The word in files and tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Fault::PauseStorm { .. } => "pause-storm",
            Fault::SlowReceiver { .. } => "slow-receiver",
            Fault::LinkDown(_) => "link-down",
            Fault::LinkFlap(_) => "link-flap",
            Fault::LinkDegraded(_) => "link-degraded",
            Fault::SwitchDown(_) => "switch-down",
            Fault::ServerDown(_) => "server-down",
            Fault::RouteChange(_) => "route-change",
            Fault::Setting(_) => "setting",
            Fault::Miscabling(_) => "miscabling",
        }
    }

    /// When it begins and, if it does, ends. What was built wrong is so from the start.
    pub fn window(&self) -> (Span, Option<Span>) {
        let lasting =
            |at: Span, duration: Option<Span>| (at, duration.map(|duration| at + duration));
        match self {
            Fault::PauseStorm { at, duration, .. } | Fault::SlowReceiver { at, duration, .. } => {
                lasting(*at, *duration)
            }
            Fault::LinkDown(fault) => lasting(fault.at, fault.restore_after),
            Fault::LinkFlap(fault) => {
                let length = fault.period.as_ps().saturating_mul(u64::from(fault.times));
                lasting(fault.at, Some(Span::from_ps(length)))
            }
            Fault::LinkDegraded(fault) => lasting(fault.at, fault.duration),
            Fault::SwitchDown(fault) => lasting(fault.at, fault.restore_after),
            Fault::ServerDown(fault) => lasting(fault.at, fault.restore_after),
            Fault::RouteChange(fault) => lasting(fault.at, fault.duration),
            Fault::Setting(fault) => lasting(fault.at, fault.duration),
            Fault::Miscabling(_) => (Span::ZERO, None),
        }
    }

    /// Whether packets may take other ways because of it.
    pub const fn changes_routes(&self) -> bool {
        matches!(
            self,
            Fault::LinkDown(_)
                | Fault::LinkFlap(_)
                | Fault::SwitchDown(_)
                | Fault::ServerDown(_)
                | Fault::RouteChange(_)
        )
    }
}

/// Which links: one by name, or some at random.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LinkChoice {
    /// The two ends, like `leaf1 spine2`. Where several cables join them this is the first; the second is
    /// `leaf1 spine2#2`, as tables name it.
    pub link: Option<String>,
    /// Which of the cables where several join them, counted from 0: 1 is the same as `#2`.
    pub index: Option<u32>,
    /// So many links at random instead.
    pub count: Option<u32>,
    /// Which links the random ones are drawn from.
    pub among: Among,
}

/// Which links random ones are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Among {
    /// Links between switches.
    #[default]
    Switches,
    /// Links of NICs.
    Hosts,
    /// All links.
    All,
}

/// How soon switches know that a link went down or came up; what is not given here is as
/// `[convergence]` of the fabric file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Reaction {
    /// The switches at the two ends do without it after this time; until then what they send into a
    /// dead link is lost. Without it, the fabric's `convergence.carrier`, or `convergence.silent`
    /// where the carrier stays up.
    pub converge: Option<Span>,
    /// All switches know of it after this time, and use other ways. Without it, the fabric's
    /// `convergence.withdraw` after its ends know.
    pub late: Option<Span>,
}

impl Reaction {
    /// These times, whatever the fabric says.
    pub const fn after(converge: Span, late: Span) -> Self {
        Self { converge: Some(converge), late: Some(late) }
    }

    /// The times on a fabric: when the two ends know, and when all switches do.
    pub fn times(self, fabric: Convergence, silent: bool) -> (Span, Span) {
        let usual = if silent { fabric.silent } else { fabric.carrier };
        let ends = self.converge.unwrap_or(usual);
        (ends, self.late.unwrap_or(ends + fabric.withdraw).max(ends))
    }
}

/// A link goes down.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LinkDown {
    /// Which.
    #[serde(flatten)]
    pub links: LinkChoice,
    /// When.
    #[serde(default)]
    pub at: Span,
    /// It comes up again after this time; never without it.
    pub restore_after: Option<Span>,
    /// Whether the carrier stays up: a link that swallows packets and counts no link-down event. What
    /// is not seen at the port is found out by keepalives.
    #[serde(default)]
    pub silent: bool,
    /// How soon switches know.
    #[serde(flatten)]
    pub reaction: Reaction,
}

/// A link goes down and comes up again and again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LinkFlap {
    /// Which.
    #[serde(flatten)]
    pub links: LinkChoice,
    /// When it goes down first.
    #[serde(default)]
    pub at: Span,
    /// From one time that it goes down to the next.
    pub period: Span,
    /// The share of a period during which it is down.
    #[serde(default = "half")]
    pub duty: Ratio,
    /// How many times it goes down.
    pub times: u32,
    /// How soon switches know.
    #[serde(flatten)]
    pub reaction: Reaction,
}

fn half() -> Ratio {
    Ratio::new(1, 2)
}

/// A link works, but badly.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LinkDegraded {
    /// Which.
    #[serde(flatten)]
    pub links: LinkChoice,
    /// When it starts.
    #[serde(default)]
    pub at: Span,
    /// How long; without it, to the end of the run.
    #[serde(rename = "for")]
    pub duration: Option<Span>,
    /// What is left of it.
    #[serde(flatten)]
    pub degraded: Degraded,
}

/// What is wrong with a link that works badly. The worse of this and the cable's own counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Degraded {
    /// The rate at which it still runs, in both directions.
    pub rate: Option<Rate>,
    /// Bits in error after FEC; each costs a packet.
    pub bit_error_rate: Ratio,
    /// Share of packets lost besides.
    pub loss: Ratio,
}

/// A switch goes down.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SwitchDown {
    /// Which.
    pub switch: Option<String>,
    /// So many switches at random instead.
    pub count: Option<u32>,
    /// Draws them from this tier only.
    pub tier: Option<TierWord>,
    /// When.
    #[serde(default)]
    pub at: Span,
    /// It is back, empty, after this time; never without it.
    pub restore_after: Option<Span>,
    /// Planned work: others stop to use it this long before it goes down, while it still forwards. Without
    /// it nobody is warned.
    pub drain: Option<Span>,
    /// How soon other switches know.
    #[serde(flatten)]
    pub reaction: Reaction,
}

/// A tier of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TierWord {
    /// Switches at the hosts.
    Leaf,
    /// Above the leaves.
    Spine,
    /// Above the spines.
    Core,
}

impl TierWord {
    /// The tier it stands for.
    pub const fn tier(self) -> Tier {
        match self {
            TierWord::Leaf => Tier::Leaf,
            TierWord::Spine => Tier::Spine,
            TierWord::Core => Tier::Core,
        }
    }
}

/// All NICs of a server lose their links.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ServerDown {
    /// Which.
    pub server: Option<String>,
    /// So many servers at random instead.
    pub count: Option<u32>,
    /// When.
    #[serde(default)]
    pub at: Span,
    /// It is back after this time; never without it.
    pub restore_after: Option<Span>,
    /// How soon switches know.
    #[serde(flatten)]
    pub reaction: Reaction,
}

/// A switch uses another next hop for some time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RouteChange {
    /// The switch.
    pub switch: String,
    /// The NIC that packets are for; without it, all that are not attached to the switch itself.
    pub to: Option<NodeRef>,
    /// The neighbour that the switch sends them to.
    pub via: String,
    /// When it starts.
    #[serde(default)]
    pub at: Span,
    /// How long; without it, to the end of the run.
    #[serde(rename = "for")]
    pub duration: Option<Span>,
}

/// A PFC or ECN setting that is wrong or changes. What is not given stays as it is.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Setting {
    /// The switch, for all its ports.
    pub switch: Option<String>,
    /// One port instead: its switch and the node it leads to, like `leaf1 spine2`. Where several cables lead
    /// there this is the first; the second is `leaf1 spine2#2`.
    pub port: Option<String>,
    /// Which of the ports where several cables lead there, counted from 0: 1 is the same as `#2`.
    pub index: Option<u32>,
    /// For which class; the fabric's data class without it.
    pub class: Option<u8>,
    /// Whether PFC protects the class here: off, the port neither sends pauses nor obeys them.
    pub pfc: Option<bool>,
    /// The share of the free buffer that an ingress may take before it pauses.
    pub alpha: Option<Ratio>,
    /// Queue length at which marking starts.
    pub kmin: Option<Bytes>,
    /// Queue length above which every packet is marked.
    pub kmax: Option<Bytes>,
    /// Probability of a mark just below `kmax`.
    pub pmax: Option<Ratio>,
    /// When it starts.
    pub at: Span,
    /// How long; without it, to the end of the run.
    #[serde(rename = "for")]
    pub duration: Option<Span>,
}

impl Setting {
    /// Whether it sets anything about marking.
    pub const fn marks(&self) -> bool {
        self.kmin.is_some() || self.kmax.is_some() || self.pmax.is_some()
    }

    /// The rules of a port and class after this change. A class that is not marked starts from
    /// marking never.
    pub fn applied(&self, class: &PortClass) -> PortClass {
        let mut class = *class;
        if let Some(alpha) = self.alpha {
            class.threshold = Threshold::Dynamic(alpha);
        }
        if self.marks() {
            let never = Bytes::new(u64::MAX);
            let before = class.ecn.unwrap_or(Ecn { kmin: never, kmax: never, pmax: Ratio::ONE });
            class.ecn = Some(Ecn {
                kmin: self.kmin.unwrap_or(before.kmin),
                kmax: self.kmax.unwrap_or(before.kmax),
                pmax: self.pmax.unwrap_or(before.pmax),
            });
        }
        class
    }
}

/// Two cables were swapped when the fabric was built: the second end of each is where the other's
/// should be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Miscabling {
    /// The two links, like `["server0-nic0 leaf0", "server0-nic1 leaf1"]`; of parallel cables the first, or
    /// the one that is named, like `leaf1 spine2#2`.
    pub links: [String; 2],
}

impl LinkChoice {
    /// The links that random ones are drawn from, in order.
    pub fn candidates(&self, fabric: &Fabric) -> Vec<crate::model::CableId> {
        let mut hosts = vec![false; fabric.cables.len()];
        for port in &fabric.ports {
            hosts[port.cable.index()] |= fabric.node_switch(port.node).is_none();
        }
        let wanted = |host: bool| match self.among {
            Among::Switches => !host,
            Among::Hosts => host,
            Among::All => true,
        };
        let all = hosts.into_iter().enumerate().filter(|(_, host)| wanted(*host));
        all.map(|(cable, _)| crate::model::CableId(cable as u32)).collect()
    }
}
