//! Who knows which links are down, and when: routes follow what switches know.
//!
//! The switches at the two ends of a link know that it went down or came up after one time, all others
//! after another. In between they disagree, as they do in real fabrics, and packets that are sent to a
//! switch which has no way any more are lost there.

use crate::engine::Engine;
use crate::event::EventQueue;
use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_fabric::model::{CableId, Fabric};
use xoff_fabric::route::{Forced, Routes, Views};

/// What switches know.
#[derive(Debug, Default)]
pub(crate) struct Convergence {
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
    dead: BTreeSet<CableId>,
    routes: Arc<Routes>,
}

impl Knowledge {
    fn new(fabric: &Fabric, dead: BTreeSet<CableId>) -> Arc<Self> {
        let routes = Arc::new(Routes::around(fabric, &dead));
        Arc::new(Self { dead, routes })
    }
}

/// So many states are remembered beside those in use.
const REMEMBERED: usize = 8;

impl Convergence {
    /// Whether some switch does not use the routes of the whole fabric.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.disturbed
    }

    /// Routes with these cables dead.
    fn knowledge(&mut self, fabric: &Fabric, dead: BTreeSet<CableId>) -> Arc<Knowledge> {
        if let Some(known) = self.recent.iter().find(|known| known.dead == dead) {
            return known.clone();
        }
        let new = Knowledge::new(fabric, dead);
        if self.recent.len() == REMEMBERED {
            self.recent.remove(0);
        }
        self.recent.push(new.clone());
        new
    }

    /// Switches learn about cables whether they are dead. Whether that was news to any.
    fn learn(&mut self, fabric: &Fabric, who: &[usize], news: &[(CableId, bool)]) -> bool {
        if self.known.is_empty() {
            let whole = self.knowledge(fabric, BTreeSet::new());
            self.known = vec![whole; fabric.switches.len()];
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
                    for &(cable, is_dead) in news {
                        if is_dead {
                            dead.insert(cable);
                        } else {
                            dead.remove(&cable);
                        }
                    }
                    let after = self.knowledge(fabric, dead);
                    last = Some((before.clone(), after.clone()));
                    after
                }
            };
            changed |= before.dead != after.dead;
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

impl<Q: EventQueue> Engine<'_, Q> {
    /// The switches at the ends of cables, or all of them, hear how these cables are now; so do NICs at
    /// their ends.
    pub(crate) fn hear_of(&mut self, cables: &[CableId], everybody: bool) {
        let mut news = Vec::with_capacity(cables.len());
        let mut ends = BTreeSet::new();
        for &cable in cables {
            let ports = self.cable_ports(cable);
            news.push((cable, self.links[ports[0] as usize].is_down()));
            for port in ports {
                let node = self.fabric.ports[port as usize].node;
                match self.fabric.node_switch(node) {
                    Some(switch) => {
                        ends.insert(switch.index());
                    }
                    None => self.nic_hears(port, self.links[port as usize].is_down()),
                }
            }
        }
        let who: Vec<usize> = match everybody {
            true => (0..self.fabric.switches.len()).collect(),
            false => ends.into_iter().collect(),
        };
        if self.convergence.learn(self.fabric, &who, &news) {
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
