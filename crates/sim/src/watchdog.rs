//! The PFC watchdog: a lossless queue that stays paused too long is taken out of its misery.
//!
//! When a class has been paused without a break for the detection time while packets wait, the
//! switch declares it stuck. It then drops what is queued and what arrives for it, or sends it in
//! spite of the pause, until no pause frame has come for the restoration time.

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::Slot;
use crate::report::{Drop, TraceKind};
use xoff_fabric::model::{PortId, Watchdog, WatchdogAction};
use xoff_units::{Instant, Span};

impl<Q: EventQueue> Engine<'_, Q> {
    fn watchdog_of(&self, port: PortId) -> Option<Watchdog> {
        let node = self.fabric.ports[port.index()].node;
        let switch = self.fabric.node_switch(node)?;
        self.fabric.switches[switch.index()].watchdog
    }

    /// Whether a stuck queue of this port drops (and does not send) what arrives.
    #[cold]
    pub(crate) fn discards(&self, port: PortId) -> bool {
        self.watchdog_of(port).is_some_and(|dog| dog.action == WatchdogAction::Drop)
    }

    /// A pause begins: look again when it has lasted too long.
    pub(crate) fn watch_later(&mut self, slot: Slot) {
        if self.net.pauses.last(slot).watched {
            return;
        }
        let Some(dog) = self.watchdog_of(slot.port()) else { return };
        self.watch_at(slot, self.now + dog.detect);
    }

    fn watch_at(&mut self, slot: Slot, at: Instant) {
        self.net.pauses.set_watched(slot, true);
        self.schedule(at, Kind::Watchdog, slot.0, 0);
    }

    /// Looks at a queue: stuck, freed, or to be looked at again.
    pub(crate) fn watch(&mut self, slot: Slot) {
        let Some(dog) = self.watchdog_of(slot.port()) else { return };
        let state = *self.net.pauses.last(slot);
        self.net.pauses.set_watched(slot, false);
        let here = &mut self.net.ports[slot.port()];
        if here.stuck & slot.bit() != 0 {
            let due = state.last_heard + dog.restore;
            if due > self.now {
                return self.watch_at(slot, due);
            }
            here.stuck &= !slot.bit();
            return self.trace(TraceKind::WatchdogRestore, slot);
        }
        if here.paused & slot.bit() == 0 {
            return;
        }
        let due = state.began + dog.detect;
        if due > self.now {
            self.watch_at(slot, due);
        } else if here.waiting & slot.bit() == 0 {
            // Paused for long, but nothing is queued: no victim, no storm. Check again soon, because a
            // packet may join at any time.
            self.watch_at(slot, self.now + Span::from_ps(dog.detect.as_ps() / 4 + 1));
        } else {
            self.declare_stuck(slot, dog.action);
            self.watch_at(slot, self.now + dog.restore);
        }
    }

    fn declare_stuck(&mut self, slot: Slot, action: WatchdogAction) {
        self.trace(TraceKind::WatchdogDetect, slot);
        self.accounts.health[slot.port()].watchdog += 1;
        self.net.ports[slot.port()].stuck |= slot.bit();
        self.resume_class(slot);
        match action {
            WatchdogAction::Forward => self.kick(slot.port()),
            WatchdogAction::Drop => self.flush(slot, Drop::Watchdog),
        }
    }

    /// The action of the watchdog at a switch port, if there is one.
    pub(crate) fn watchdog_action(&self, port: PortId) -> Option<WatchdogAction> {
        let node = self.fabric.ports[port.index()].node;
        let switch = self.fabric.node_switch(node)?;
        self.fabric.switches[switch.index()].watchdog.map(|dog| dog.action)
    }
}
