//! Which switch knows of which dead link, and when: routes follow what switches know.
//!
//! The switches at the two ends of a link know after one time that it went down and send nothing into it
//! any more: they do with what is left of the ways they had. Other ways are found when all switches
//! know, after another time. So no switch sends packets to one that would send them back; packets
//! for which a switch has no way any more are lost there. A link that came up is used by its ends first.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::EventQueue;
use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_fabric::model::{CableId, SwitchId};
use xoff_fabric::route::Forced;

impl<Q: EventQueue> Engine<'_, Q> {
    /// The switches at the ends of cables, or all of them, hear how these cables are now; so do NICs at
    /// their ends.
    pub(crate) fn learn_of(&mut self, cables: &[CableId], everybody: bool) {
        let mut news = Vec::with_capacity(cables.len());
        let mut ends = BTreeSet::new();
        for &cable in cables {
            let ports = self.faults.cable_ports(self.fabric, cable);
            let drained = self.faults.drained_cables.contains(&cable);
            news.push((cable, drained || self.net.links[ports[0]].is_down()));
            for port in ports {
                let node = self.fabric.ports[port.index()].node;
                match self.fabric.node_switch(node) {
                    Some(switch) => {
                        ends.insert(switch.index());
                    }
                    None => self.nic_learns(port, drained || self.net.links[port].is_down()),
                }
            }
        }
        // Ends of a dead link detect it themselves; the others hear of it by the routing protocol, later.
        let who: Vec<usize> = match everybody {
            true => (0..self.fabric.switches.len()).collect(),
            false => ends.into_iter().collect(),
        };
        // A drained switch goes on with the routes it has: what is still on its way to it must not be lost.
        let drained = &self.faults.drained;
        let who: Vec<usize> =
            who.into_iter().filter(|&at| !drained.contains(&SwitchId(at as u32))).collect();
        if self.net.convergence.learn(self.fabric, &who, everybody, &news) {
            self.change_routes();
        }
    }

    /// A next hop is forced on a switch, or no longer.
    pub(crate) fn force(&mut self, number: u32, forced: Forced, begins: bool) {
        if begins {
            self.net.convergence.forced.push((number, forced));
        } else {
            self.net.convergence.forced.retain(|(other, _)| *other != number);
        }
        self.change_routes();
    }

    fn change_routes(&mut self) {
        let views = self.net.convergence.views(self.fabric);
        self.net.routing = Arc::new(self.net.routing.again(self.fabric, views));
        self.begin_trails_anew();
    }
}
