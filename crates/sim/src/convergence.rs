//! Who knows which links are down, and when: routes follow what switches know.
//!
//! The switches at the two ends of a link know after one time that it went down and send nothing into it
//! any more: they do with what is left of the ways they had. Other ways are found when all switches
//! know, after another time. So nobody sends packets to a switch that would send them back; packets
//! for which a switch has no way any more are lost there. A link that came up is used by its ends first.

use crate::engine::Engine;
use crate::event::EventQueue;
use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_fabric::model::{CableId, Fabric};
use xoff_fabric::route::{Forced, Routes, Views};

/// What switches know.
#[derive(Debug, Default)]
pub(crate) struct Convergence {
    /// Cables that everybody takes to be dead.
    common: BTreeSet<CableId>,
    /// By switch; empty until one has heard of anything.
    known: Vec<Arc<Knowledge>>,
    /// What was known of late: links that flap need the same again and again.
    recent: Vec<Arc<Knowledge>>,
    /// Next hops that are forced on switches, by fault.
    forced: Vec<(u32, Forced)>,
    disturbed: bool,
}

/// What a switch knows.
#[derive(Debug)]
struct Knowledge {
    /// Cables that it takes to be dead.
    dead: BTreeSet<CableId>,
    /// Those among them that the others know of, too: only around these are there other ways.
    shared: BTreeSet<CableId>,
    routes: Arc<Routes>,
}

impl Knowledge {
    fn new(fabric: &Fabric, dead: BTreeSet<CableId>, shared: BTreeSet<CableId>) -> Arc<Self> {
        let mut routes = Routes::around(fabric, &shared);
        if dead != shared {
            routes = routes.without(fabric, &dead);
        }
        Arc::new(Self { dead, shared, routes: Arc::new(routes) })
    }
}

/// So many states are remembered beside those in use.
const REMEMBERED: usize = 8;

impl Convergence {
    /// Whether some switch does not use the routes of the whole fabric.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.disturbed
    }

    /// Routes of a switch that takes these cables to be dead.
    fn knowledge(&mut self, fabric: &Fabric, dead: BTreeSet<CableId>) -> Arc<Knowledge> {
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
    fn learn(
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
    fn views(&mut self, fabric: &Fabric) -> Views {
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
fn set(dead: &mut BTreeSet<CableId>, news: &[(CableId, bool)]) {
    for &(cable, is_dead) in news {
        if is_dead {
            dead.insert(cable);
        } else {
            dead.remove(&cable);
        }
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// The switches at the ends of cables, or all of them, hear how these cables are now; so do NICs at
    /// their ends.
    pub(crate) fn hear_of(&mut self, cables: &[CableId], everybody: bool) {
        let mut news = Vec::with_capacity(cables.len());
        let mut ends = BTreeSet::new();
        for &cable in cables {
            let ports = self.cable_ports(cable);
            news.push((cable, self.links[ports[0]].is_down()));
            for port in ports {
                let node = self.fabric.ports[port.index()].node;
                match self.fabric.node_switch(node) {
                    Some(switch) => {
                        ends.insert(switch.index());
                    }
                    None => self.nic_hears(port, self.links[port].is_down()),
                }
            }
        }
        let who: Vec<usize> = match everybody {
            true => (0..self.fabric.switches.len()).collect(),
            false => ends.into_iter().collect(),
        };
        if self.convergence.learn(self.fabric, &who, everybody, &news) {
            self.change_routes();
        }
    }

    /// A next hop is forced on a switch, or no longer.
    pub(crate) fn force(&mut self, number: u32, forced: Forced, begins: bool) {
        if begins {
            self.convergence.forced.push((number, forced));
        } else {
            self.convergence.forced.retain(|(other, _)| *other != number);
        }
        self.change_routes();
    }

    fn change_routes(&mut self) {
        let views = self.convergence.views(self.fabric);
        self.routing = self.routing.again(self.fabric, views);
    }
}
