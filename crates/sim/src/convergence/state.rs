//! What each switch knows of links that are down, and the routes that follow from it.

use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_fabric::model::{CableId, Fabric};
use xoff_fabric::route::{Forced, Routes, Views};

/// What switches know.
#[derive(Debug, Default)]
pub(crate) struct Convergence {
    /// Cables that everybody takes to be dead.
    pub(super) common: BTreeSet<CableId>,
    /// By switch; empty until one has heard of anything.
    pub(super) known: Vec<Arc<Knowledge>>,
    /// What was known of late: links that flap need the same again and again.
    pub(super) recent: Vec<Arc<Knowledge>>,
    /// Next hops that are forced on switches, by fault.
    pub(super) forced: Vec<(u32, Forced)>,
    pub(crate) disturbed: bool,
}

/// What a switch knows.
#[derive(Debug)]
pub(super) struct Knowledge {
    /// Cables that it takes to be dead.
    pub(super) dead: BTreeSet<CableId>,
    /// Those among them that the others know of, too: only around these are there other ways.
    pub(super) shared: BTreeSet<CableId>,
    pub(super) routes: Arc<Routes>,
}

impl Knowledge {
    pub(super) fn new(
        fabric: &Fabric,
        dead: BTreeSet<CableId>,
        shared: BTreeSet<CableId>,
    ) -> Arc<Self> {
        let mut routes = Routes::around(fabric, &shared);
        if dead != shared {
            routes = routes.without(fabric, &dead);
        }
        Arc::new(Self { dead, shared, routes: Arc::new(routes) })
    }
}

/// So many states are remembered beside those in use.
pub(super) const REMEMBERED: usize = 8;

impl Convergence {
    /// Whether some switch does not use the routes of the whole fabric.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.disturbed
    }

    /// Routes of a switch that takes these cables to be dead.
    pub(super) fn knowledge(&mut self, fabric: &Fabric, dead: BTreeSet<CableId>) -> Arc<Knowledge> {
        let shared: BTreeSet<CableId> = dead.intersection(&self.common).copied().collect();
        let same = |known: &&Arc<Knowledge>| known.dead == dead && known.shared == shared;
        if let Some(known) = self.recent.iter().find(same) {
            return known.clone();
        }
        let new = Knowledge::new(fabric, dead, shared);
        if self.recent.len() == REMEMBERED {
            self.recent.remove(0);
        }
        self.recent.push(new.clone());
        new
    }

    /// Switches learn about cables whether they are dead: some, or all. Whether that was news to any.
    pub(super) fn learn(
        &mut self,
        fabric: &Fabric,
        who: &[usize],
        everybody: bool,
        news: &[(CableId, bool)],
    ) -> bool {
        if self.known.is_empty() {
            let whole = self.knowledge(fabric, BTreeSet::new());
            self.known = vec![whole; fabric.switches.len()];
        }
        if everybody {
            set(&mut self.common, news);
        }
        let mut changed = false;
        // Most switches know the same: work out once what becomes of it.
        let mut last: Option<(Arc<Knowledge>, Arc<Knowledge>)> = None;
        for &switch in who {
            let before = self.known[switch].clone();
            let after = match &last {
                Some((from, to)) if Arc::ptr_eq(from, &before) => to.clone(),
                _ => {
                    let mut dead = before.dead.clone();
                    set(&mut dead, news);
                    let after = self.knowledge(fabric, dead);
                    last = Some((before.clone(), after.clone()));
                    after
                }
            };
            changed |= before.dead != after.dead || before.shared != after.shared;
            self.known[switch] = after;
        }
        changed
    }

    /// The routes that follow.
    pub(super) fn views(&mut self, fabric: &Fabric) -> Views {
        if self.known.is_empty() {
            let whole = self.knowledge(fabric, BTreeSet::new());
            self.known = vec![whole; fabric.switches.len()];
        }
        let whole = self.known.iter().all(|known| known.dead.is_empty());
        self.disturbed = !whole || !self.forced.is_empty();
        let known = self.known.iter().map(|known| known.routes.clone()).collect();
        Views::new(known, self.forced.iter().map(|(_, forced)| *forced).collect())
    }
}

/// Puts cables into a set that are dead, and takes out those that are not.
pub(super) fn set(dead: &mut BTreeSet<CableId>, news: &[(CableId, bool)]) {
    for &(cable, is_dead) in news {
        if is_dead {
            dead.insert(cable);
        } else {
            dead.remove(&cable);
        }
    }
}
