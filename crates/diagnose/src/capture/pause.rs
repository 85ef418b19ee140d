//! Pause frames by priority.

use super::evidence::Evidence;
use serde::Serialize;
use xoff_wire::pause::{Pause, Quanta};

/// Pauses of one priority, or of the whole link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PauseCount {
    /// Frames that stop it.
    pub pauses: Evidence,
    /// Frames that let it go on.
    pub resumes: u64,
    /// The pause time of all frames together, in quanta of 512 bit times.
    pub quanta: u64,
    /// The longest pause time of one frame, in quanta.
    pub longest: u16,
}

impl PauseCount {
    fn count(&mut self, quanta: Quanta, number: u64) {
        if quanta.0 == 0 {
            self.resumes += 1;
            return;
        }
        self.pauses.add(number);
        self.quanta += u64::from(quanta.0);
        self.longest = self.longest.max(quanta.0);
    }

    /// Whether there was nothing.
    pub const fn is_empty(&self) -> bool {
        self.pauses.is_empty() && self.resumes == 0
    }
}

/// All pause frames.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pauses {
    /// Of the whole link (802.3x).
    pub link: PauseCount,
    /// By priority (802.1Qbb).
    pub priorities: [PauseCount; 8],
}

impl Pauses {
    pub(super) fn count(&mut self, pause: &Pause, number: u64) {
        if let Pause::Link(quanta) = pause {
            self.link.count(*quanta, number);
            return;
        }
        for (priority, count) in self.priorities.iter_mut().enumerate() {
            if let Some(quanta) = pause.quanta(priority as u8) {
                count.count(quanta, number);
            }
        }
    }
}
