//! Which queue pair sends next, and when one is due without a packet.

use crate::pair::Entry;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use xoff_units::{Instant, Span};

/// Queue pairs that may send now, in turn, and alarms for the others.
///
/// An alarm is never cancelled: it goes off, the queue pair is checked, and if it was too early
/// another is set. So each queue pair has about one.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    ring: VecDeque<u32>,
    alarms: BinaryHeap<Reverse<(Instant, u32)>>,
}

impl Schedule {
    /// Schedules the queue pair at `index` anew after anything happened to it. Packets may leave
    /// `ahead` of their time.
    #[inline]
    pub(crate) fn update(&mut self, index: u32, entry: &mut Entry, now: Instant, ahead: Span) {
        let Some(core) = &entry.core else { return };
        let send = core.next_send();
        let mut due = core.deadline();
        if send <= now + ahead {
            if !entry.ringed {
                entry.ringed = true;
                self.ring.push_back(index);
            }
        } else if !send.is_never() {
            due = due.min(Instant::from_ps(send.as_ps() - ahead.as_ps().min(send.as_ps())));
        }
        if due < entry.alarm {
            entry.alarm = due;
            self.alarms.push(Reverse((due, index)));
        }
    }

    /// Schedules the queue pair at `index` anew after work was posted to it: that changes when it sends, and none of its
    /// deadlines. If it is to send already, that stays.
    #[inline]
    pub(crate) fn posted(&mut self, index: u32, entry: &mut Entry, now: Instant, ahead: Span) {
        if !entry.ringed {
            self.update(index, entry, now, ahead);
        }
    }

    /// Adds one that has waited until there was room for it.
    #[inline]
    pub(crate) fn push_sender(&mut self, index: u32) {
        self.ring.push_back(index);
    }

    /// The next queue pair that may send. It leaves the ring.
    #[inline]
    pub(crate) fn next_sender(&mut self) -> Option<u32> {
        self.ring.pop_front()
    }

    /// How many wait to send.
    pub(crate) fn senders(&self) -> usize {
        self.ring.len()
    }

    /// The next alarm that is due, if one is.
    #[inline]
    pub(crate) fn next_alarm(&mut self, now: Instant) -> Option<(Instant, u32)> {
        let &Reverse((due, _)) = self.alarms.peek()?;
        if due > now {
            return None;
        }
        self.alarms.pop().map(|Reverse(alarm)| alarm)
    }

    /// The queue pair whose alarm goes off next.
    pub(crate) fn next_due(&self) -> Option<u32> {
        self.alarms.peek().map(|Reverse((_, index))| *index)
    }

    /// When something has to be done without anything arriving.
    pub(crate) fn due(&self) -> Instant {
        if !self.ring.is_empty() {
            return Instant::ZERO;
        }
        self.alarms.peek().map_or(Instant::MAX, |Reverse((due, _))| *due)
    }
}
