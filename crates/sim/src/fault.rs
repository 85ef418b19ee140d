//! What breaks during a run, and when.

pub(crate) mod change;
mod plan;
pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PlaneId, Slot};
use crate::receiver::state::Receiver;
use crate::report::TraceKind;
use change::{Change, Effect, Known, TimedFault};
pub(crate) use plan::plan;
use std::sync::Arc;
use xoff_fabric::model::{CableId, ReceiveLimit};

impl<Q: EventQueue> Engine<'_, Q> {
    /// Schedules what the scenario says.
    pub(crate) fn schedule_faults(&mut self) {
        for index in 0..self.faults.changes.len() {
            self.schedule(self.faults.changes[index].at, Kind::Fault, index as u32, 0);
        }
    }

    /// A fault begins, ends, or is heard of.
    pub(crate) fn change_fault(&mut self, index: u32) {
        self.faults.left -= 1;
        match self.faults.changes[index as usize].change.clone() {
            Change::Fault { number, begins, what } => {
                let kind = if begins { TraceKind::Fault } else { TraceKind::FaultEnd };
                for place in &what.places {
                    let class = self.fabric.data_class;
                    self.trace(kind(number), Slot::new(*place, class));
                }
                self.change(number, begins, &what.effect);
            }
            Change::Heard { cables, everybody } => self.learn_of(&cables, everybody),
        }
    }

    fn change(&mut self, number: u32, begins: bool, effect: &Effect) {
        match effect {
            &Effect::Storm { nic } => {
                for plane in self.hosts.planes.of_nic(nic) {
                    if begins { self.begin_storm(plane) } else { self.end_storm(plane) }
                }
            }
            &Effect::SlowReceiver { nic, rate } => {
                let own = self.fabric.nics[nic.index()].receive;
                let slow = || {
                    let limit = own.unwrap_or(Receiver::default_limit(rate));
                    // A fault does not make a slow host faster.
                    Some(ReceiveLimit { rate: rate.min(limit.rate), ..limit })
                };
                for plane in self.hosts.planes.of_nic(nic) {
                    self.limit_receiver(plane, if begins { slow() } else { own });
                }
            }
            Effect::Outage { cables, switches, silent, known } => {
                let changed = if begins { self.cut(cables, *silent) } else { self.restore(cables) };
                if begins {
                    switches.iter().for_each(|&switch| self.empty_switch(switch));
                }
                self.lose_switches(switches, begins);
                self.spread(changed.into(), *known);
            }
            Effect::Drain { cables, switches, known } => {
                if begins {
                    self.faults.drained.extend(switches);
                    self.faults.drained_cables.extend(cables);
                } else {
                    self.faults.drained.retain(|switch| !switches.contains(switch));
                    self.faults.drained_cables.retain(|cable| !cables.contains(cable));
                }
                self.spread(cables.as_slice().into(), *known);
            }
            Effect::Degraded(degradation) => self.degrade(degradation.clone(), begins),
            Effect::Setting(setting) => self.change_setting(setting.clone(), begins),
            &Effect::Route(forced) => self.force(number, forced, begins),
        }
    }

    fn begin_storm(&mut self, nic: PlaneId) {
        let class = self.fabric.data_class;
        let state = &mut self.hosts.nics[nic];
        state.storms[class.index()] += 1;
        let port = state.port;
        if self.net.ports[port].xoff & class.bit() == 0 {
            self.ask_pause(Slot::new(port, class));
        }
    }

    fn end_storm(&mut self, nic: PlaneId) {
        let class = self.fabric.data_class;
        let state = &mut self.hosts.nics[nic];
        state.storms[class.index()] -= 1;
        let still = state.storms[class.index()] > 0
            || state.receiver.as_ref().is_some_and(|receiver| receiver.pauses(class));
        let port = state.port;
        if !still {
            self.ask_resume(Slot::new(port, class));
        }
    }

    /// The word of cables that went down or came up goes round: first to their ends, then to all.
    fn spread(&mut self, cables: Arc<[CableId]>, known: Known) {
        if cables.is_empty() {
            return;
        }
        for (after, everybody) in [(known.ends, false), (known.all, true)] {
            let index = self.faults.changes.len() as u32;
            let (at, cables) = (self.now + after, cables.clone());
            self.faults
                .changes
                .push(TimedFault { at, change: Change::Heard { cables, everybody } });
            self.faults.left += 1;
            self.schedule(at, Kind::Fault, index, 0);
        }
    }
}
