//! What faults do, and when.

use crate::link::state::Degradation;
use std::sync::Arc;
use xoff_fabric::model::{CableId, ClassId, NicId, PortId, SwitchId};
use xoff_fabric::route::Forced;
use xoff_fabric::scenario::Setting;
use xoff_units::{Instant, Rate, Span};

/// A change at a point in time.
#[derive(Debug, Clone)]
pub(crate) struct TimedFault {
    pub(crate) at: Instant,
    pub(crate) change: Change,
}

#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// A fault begins or ends.
    Fault { number: u32, begins: bool, what: Arc<What> },
    /// Switches hear of cables that went down or came up.
    Heard { cables: Arc<[CableId]>, everybody: bool },
}

/// What a fault is, with its numbers.
#[derive(Debug, Clone)]
pub(crate) struct What {
    /// A port at each place that breaks, for the observer.
    pub(crate) places: Vec<PortId>,
    pub(crate) effect: Effect,
}

#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Storm {
        nic: NicId,
    },
    SlowReceiver {
        nic: NicId,
        rate: Rate,
    },
    /// Cables are dead, and what is in these switches is lost. Where it is silent, ports do not see it.
    Outage {
        cables: Vec<CableId>,
        switches: Vec<SwitchId>,
        silent: bool,
        known: Known,
    },
    /// Others stop to use these switches, which go on forwarding what still comes.
    Drain {
        cables: Vec<CableId>,
        switches: Vec<SwitchId>,
        known: Known,
    },
    Degraded(Degradation),
    Setting(ActiveSetting),
    Route(Forced),
}

/// How long the word of an outage takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// To the two ends of a link.
    pub(crate) ends: Span,
    /// To all switches.
    pub(crate) all: Span,
}

/// A setting in force.
#[derive(Debug, Clone)]
pub(crate) struct ActiveSetting {
    /// The fault.
    pub(crate) number: u32,
    pub(crate) ports: Arc<[PortId]>,
    pub(crate) class: ClassId,
    pub(crate) setting: Arc<Setting>,
}
