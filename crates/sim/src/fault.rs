//! What breaks during a run, and when.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::port::Slot;
use crate::receiver::Receiver;
use xoff_fabric::model::{Fabric, ReceiveLimit};
use xoff_fabric::names::{NameError, Names};
use xoff_fabric::scenario::Fault;
use xoff_units::{Instant, Rate, Span};

/// A change at a point in time.
#[derive(Debug, Clone)]
pub(crate) struct TimedFault {
    pub(crate) at: Instant,
    change: Change,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    StormBegins { nic: u32 },
    StormEnds { nic: u32 },
    ReceiverSlows { nic: u32, rate: Rate },
    ReceiverRecovers { nic: u32 },
}

/// The changes a scenario's faults make, in the order of the file.
pub(crate) fn plan(fabric: &Fabric, faults: &[Fault]) -> Result<Vec<TimedFault>, NameError> {
    let names = Names::of(fabric);
    let mut changes = Vec::new();
    let mut add = |at: Span, duration: Option<Span>, begin: Change, end: Change| {
        let at = Instant::ZERO + at;
        changes.push(TimedFault { at, change: begin });
        if let Some(duration) = duration {
            changes.push(TimedFault { at: at + duration, change: end });
        }
    };
    for fault in faults {
        match fault {
            Fault::PauseStorm { nic, at, duration } => {
                let nic = names.nic_ref(nic)?.0;
                add(*at, *duration, Change::StormBegins { nic }, Change::StormEnds { nic });
            }
            Fault::SlowReceiver { nic, at, rate, duration } => {
                let nic = names.nic_ref(nic)?.0;
                let begin = Change::ReceiverSlows { nic, rate: *rate };
                add(*at, *duration, begin, Change::ReceiverRecovers { nic });
            }
        }
    }
    Ok(changes)
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// A fault begins or ends.
    pub(crate) fn change_fault(&mut self, index: u32) {
        let class = self.fabric.data_class.0;
        match self.faults[index as usize].change {
            Change::StormBegins { nic } => {
                let state = &mut self.nics[nic as usize];
                state.storms[usize::from(class)] += 1;
                let port = state.port;
                if self.ports[port as usize].xoff & 1 << class == 0 {
                    self.ask_pause(Slot::new(port, class));
                }
            }
            Change::StormEnds { nic } => {
                let state = &mut self.nics[nic as usize];
                state.storms[usize::from(class)] -= 1;
                let still = state.storms[usize::from(class)] > 0
                    || state.receiver.as_ref().is_some_and(|receiver| receiver.pauses(class));
                let port = state.port;
                if !still {
                    self.ask_resume(Slot::new(port, class));
                }
            }
            Change::ReceiverSlows { nic, rate } => {
                let own = self.fabric.nics[nic as usize].receive;
                let limit = own.unwrap_or(Receiver::default_limit(rate));
                self.limit_receiver(nic, Some(ReceiveLimit { rate, ..limit }));
            }
            Change::ReceiverRecovers { nic } => {
                let own = self.fabric.nics[nic as usize].receive;
                self.limit_receiver(nic, own);
            }
        }
    }
}
