//! Hosts: NICs, the queue pairs on them, and the flows and jobs that these carry.

use crate::connection::state::{Connections, Flows};
use crate::host::guest::GuestState;
use crate::host::recycle::Rule;
use crate::id::{PlaneId, Table};
use crate::job::state::Jobs;
use crate::nic::state::NicState;
use crate::plane::state::Planes;

/// The state of all hosts.
pub(crate) struct Hosts {
    /// NICs, and behind them the further ports of those that have several.
    pub(crate) nics: Table<PlaneId, NicState>,
    pub(crate) planes: Planes,
    pub(crate) connections: Connections,
    pub(crate) flows: Flows,
    pub(crate) jobs: Jobs,
    /// Flows and jobs that have not ended.
    pub(crate) unfinished: usize,
    /// Transports of single workloads.
    pub(crate) guests: Vec<GuestState>,
    /// How senders choose entropies, and from which seed, if they do.
    pub(crate) recycling: Option<(Rule, u64)>,
}

impl Hosts {
    /// No hosts, and of flows only what switches need to know: where those go whose path is given.
    pub(crate) fn none(flows: &Flows) -> Self {
        Self {
            nics: Table::new(),
            planes: Planes::default(),
            connections: Connections::default(),
            flows: flows.pinned(),
            jobs: Jobs::none(),
            unfinished: usize::MAX,
            guests: Vec::new(),
            recycling: None,
        }
    }
}
