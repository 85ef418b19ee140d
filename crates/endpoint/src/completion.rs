//! Completion queues: where the ends of work wait to be polled.

use crate::work::Completion;
use std::collections::VecDeque;

/// A name for a completion queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Completions(pub(crate) u32);

/// A name for a receive queue that several queue pairs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedReceives(pub(crate) u32);

/// A completion queue. It never overflows: posting work reserves a place, and polling its
/// completion gives the place back. (Shared receives reserve none; their own queue bounds them.)
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// With whether a place was taken for it.
    done: VecDeque<(Completion, bool)>,
    /// Posted or done and not yet polled.
    taken: usize,
    capacity: usize,
}

impl Queue {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { done: VecDeque::new(), taken: 0, capacity }
    }

    /// Takes a place, if there is one.
    pub(crate) fn reserve(&mut self) -> bool {
        let room = self.taken < self.capacity;
        self.taken += usize::from(room);
        room
    }

    /// Gives a place back without a completion.
    pub(crate) fn release(&mut self) {
        assert!(self.taken > 0, "a place in a completion queue was given back twice");
        self.taken -= 1;
    }

    pub(crate) fn push(&mut self, completion: Completion, reserved: bool) {
        self.done.push_back((completion, reserved));
    }

    pub(crate) fn pop(&mut self) -> Option<Completion> {
        let (completion, reserved) = self.done.pop_front()?;
        if reserved {
            self.release();
        }
        Some(completion)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.done.is_empty()
    }
}
