//! [`Engine`]: a device on its thread, and what its users wait for.

use crate::alarms::Alarms;
use crate::clock::until;
use crate::completion::Completions;
use crate::device::Device;
use crate::dialog::Dialogs;
use crate::error::Error;
use crate::memory::Memory;
use crate::pending::Promise;
use crate::slab::Slab;
use crate::work::{Completion, WorkId};
use std::collections::BTreeMap;
use std::time::Duration;
use xoff_transport::ProtectionDomain;

/// Longest sleep. Nothing depends on it: whatever happens wakes the thread.
const NAP: Duration = Duration::from_secs(1);

/// Pieces of work that end in the engine's queue at a time.
const CAPACITY: usize = 1 << 16;

/// The device on its thread, and the promises for work under way.
pub(crate) struct Engine {
    pub(crate) device: Device,
    pub(crate) completions: Completions,
    pub(crate) domain: ProtectionDomain,
    pub(crate) alarms: Alarms,
    pub(crate) dialogs: Dialogs,
    waiters: Slab<Waiter>,
    uses: BTreeMap<Memory, Uses>,
}

/// Who waits for posted work.
struct Waiter {
    promise: Promise<Completion>,
    memory: Memory,
}

/// Posted work and receives that need a region.
#[derive(Default)]
struct Uses {
    count: usize,
    /// Its last handle was dropped: it is given back as soon as nothing needs it.
    dropped: bool,
}

impl Engine {
    pub(crate) fn new(mut device: Device) -> Result<Self, Error> {
        let completions = device.create_completions(CAPACITY)?;
        let domain = device.create_domain();
        let (waiters, uses) = (Slab::new(CAPACITY), BTreeMap::new());
        let (alarms, dialogs) = (Alarms::default(), Dialogs::default());
        Ok(Self { device, completions, domain, alarms, dialogs, waiters, uses })
    }

    /// Posts something that needs `memory` and whose end `promise` waits for.
    pub(crate) fn post(
        &mut self,
        promise: Promise<Completion>,
        memory: Memory,
        post: impl FnOnce(&mut Device, WorkId) -> Result<(), Error>,
    ) {
        if self.uses.get(&memory).is_some_and(|uses| uses.dropped) {
            return promise.keep(Err(Error::NoSuchMemory));
        }
        // A full table drops the promise, which then says so; but it is as large as the queue,
        // which refuses first.
        let Some(place) = self.waiters.insert(Waiter { promise, memory }) else { return };
        match post(&mut self.device, WorkId(place)) {
            Ok(()) => self.uses.entry(memory).or_default().count += 1,
            Err(error) => {
                if let Some(waiter) = self.waiters.remove(place) {
                    waiter.promise.keep(Err(error));
                }
            }
        }
    }

    /// The last handle of a region was dropped. What was posted still reads or writes its bytes, so
    /// it is given back when that has ended.
    pub(crate) fn release(&mut self, memory: Memory) {
        match self.uses.get_mut(&memory) {
            Some(uses) => uses.dropped = true,
            None => self.deregister(memory),
        }
    }

    fn deregister(&mut self, memory: Memory) {
        // It may be gone already: `Endpoint::with` can do that.
        let _ = self.device.deregister(memory);
    }

    /// Work has ended that needed the region.
    fn used(&mut self, memory: Memory) {
        let Some(uses) = self.uses.get_mut(&memory) else { return };
        uses.count -= 1;
        if uses.count == 0 {
            let dropped = uses.dropped;
            self.uses.remove(&memory);
            if dropped {
                self.deregister(memory);
            }
        }
    }

    /// Moves the device, keeps the promises of the work that has ended, and hears what peers say of
    /// their connections: in this order, so that what was received before a disconnect is reported
    /// before it.
    pub(crate) fn turn(&mut self) {
        self.device.progress();
        while let Some(completion) = self.device.poll(self.completions) {
            if let Some(waiter) = self.waiters.remove(completion.id.0) {
                self.used(waiter.memory);
                if !completion.is_ok() && self.device.state(completion.pair).is_ok() {
                    self.note_failure(completion.pair, completion.status);
                }
                waiter.promise.keep(Ok(completion));
            }
        }
        self.converse();
        self.alarms.ring();
    }

    /// How long the thread may sleep if nothing arrives.
    pub(crate) fn idle(&self) -> Duration {
        self.alarms.left(NAP).min(until(self.device.now(), self.next_word()))
    }
}
