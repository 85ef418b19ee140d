//! Posted receives, of one queue pair or shared by many.

use crate::host::Receive;
use crate::work::{MAX_POSTED, PostError};
use std::collections::VecDeque;
use xoff_units::Bytes;

/// Buffers that wait for messages, used in the order they were posted.
///
/// It belongs to no queue pair: a [`Host`](crate::Host) takes from the queue of the queue pair it
/// serves, or from one that several share.
#[derive(Debug, Clone, Default)]
pub struct ReceiveQueue {
    posted: VecDeque<Receive>,
}

impl ReceiveQueue {
    /// Adds a buffer.
    pub fn post(&mut self, id: u64, length: Bytes) -> Result<(), PostError> {
        if self.posted.len() >= MAX_POSTED {
            return Err(PostError::QueueFull);
        }
        self.posted.push_back(Receive { id, length });
        Ok(())
    }

    /// Takes the next one.
    #[inline]
    pub fn take(&mut self) -> Option<Receive> {
        self.posted.pop_front()
    }

    /// How many buffers wait. Compare with a limit of your own to know when a shared queue runs
    /// low.
    pub fn len(&self) -> usize {
        self.posted.len()
    }

    /// Whether no buffer waits.
    pub fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_and_bounded() {
        let mut queue = ReceiveQueue::default();
        for id in 0..MAX_POSTED as u64 {
            assert_eq!(queue.post(id, Bytes::new(id)), Ok(()));
        }
        assert_eq!(queue.post(0, Bytes::ZERO), Err(PostError::QueueFull));
        assert_eq!(queue.len(), MAX_POSTED);
        assert_eq!(queue.take(), Some(Receive { id: 0, length: Bytes::ZERO }));
        assert_eq!(queue.take().map(|receive| receive.id), Some(1));
    }
}
