//! Routes as each switch knows them: while some have heard of a dead link and others have not, they
//! do not agree.

use super::Routes;
use crate::model::{NicId, PortId, SwitchId};
use std::sync::Arc;

/// What every switch believes.
#[derive(Debug, Clone)]
pub struct Views {
    known: Vec<Arc<Routes>>,
    forced: Vec<Forced>,
}

/// A next hop that a switch uses whatever its routes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forced {
    /// The switch.
    pub at: SwitchId,
    /// For this NIC, or for all that are not attached to the switch itself.
    pub to: Option<NicId>,
    /// The port.
    pub via: PortId,
}

impl Views {
    /// `switches` switches that all know the same routes.
    pub fn common(routes: Routes, switches: usize) -> Self {
        let routes = Arc::new(routes);
        Self { known: vec![routes; switches], forced: Vec::new() }
    }

    /// Every switch with what it knows, and next hops that override it; of several for one
    /// destination the last counts.
    pub fn new(known: Vec<Arc<Routes>>, forced: Vec<Forced>) -> Self {
        Self { known, forced }
    }

    /// Egress ports at `switch` for packets to `destination`, equal to each other; empty if it knows
    /// no way.
    #[inline]
    pub fn candidates(&self, switch: SwitchId, destination: NicId) -> &[PortId] {
        let routes = &self.known[switch.index()];
        if !self.forced.is_empty()
            && let Some(forced) = self.forced(routes, switch, destination)
        {
            return std::slice::from_ref(&forced.via);
        }
        routes.candidates(switch, destination)
    }

    /// Whether a next hop is forced for one NIC alone.
    pub fn tells_nics_apart(&self) -> bool {
        self.forced.iter().any(|forced| forced.to.is_some())
    }

    #[cold]
    fn forced(&self, routes: &Routes, switch: SwitchId, to: NicId) -> Option<&Forced> {
        let fits = |forced: &&Forced| match forced.to {
            Some(nic) => nic == to,
            None => !routes.ends_at(switch, to),
        };
        self.forced.iter().rev().filter(|forced| forced.at == switch).find(fits)
    }
}

impl Routes {
    /// Whether a NIC is attached to this switch.
    fn ends_at(&self, switch: SwitchId, nic: NicId) -> bool {
        let attachment = self.attachment[nic.index()] as usize;
        self.table[switch.index() * self.attachments + attachment] == super::HERE
    }
}
