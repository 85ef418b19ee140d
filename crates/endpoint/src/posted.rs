//! Work and receives between posting and completion.

use crate::completion::{Completions, Queue};
use crate::error::Error;
use crate::memory::Store;
use crate::pair::PairId;
use crate::slab::Slab;
use crate::work::{Arrival, Completion, Outcome, Slice, WorkId};
use std::net::SocketAddr;
use xoff_transport::{Received, ReceivedKind, Status};
use xoff_units::Bytes;

/// Work on its way. The transport knows it by its place in the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostedWork {
    pub(crate) id: WorkId,
    pub(crate) local: Slice,
    pub(crate) signaled: bool,
    /// What comes back goes to `local` when all is done.
    pub(crate) atomic: bool,
    /// Where a datagram goes.
    pub(crate) to: Option<SocketAddr>,
}

/// A receive that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostedReceive {
    pub(crate) id: WorkId,
    pub(crate) local: Slice,
    /// It has reserved a place in its completion queue. A shared receive cannot: which queue pair,
    /// and so which completion queue, will use it is not known yet.
    pub(crate) reserved: bool,
}

/// Everything posted, and the queues it ends in.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) works: Slab<PostedWork>,
    pub(crate) receives: Slab<PostedReceive>,
    pub(crate) queues: Vec<Queue>,
}

impl Posted {
    pub(crate) fn new(limit: usize) -> Self {
        Self { works: Slab::new(limit), receives: Slab::new(limit), queues: Vec::new() }
    }

    pub(crate) fn queue(&mut self, queue: Completions) -> Option<&mut Queue> {
        self.queues.get_mut(queue.0 as usize)
    }

    /// Adds work that will end in `queue`.
    pub(crate) fn add_work(&mut self, work: PostedWork, queue: Completions) -> Result<u64, Error> {
        if !self.queue(queue).is_some_and(Queue::reserve) {
            return Err(Error::Limit("completions"));
        }
        let id = self.works.insert(work);
        if id.is_none() {
            self.queue(queue).map(Queue::release);
        }
        id.ok_or(Error::Limit("posted work"))
    }

    /// Work was not taken after all.
    pub(crate) fn take_back(&mut self, id: u64, queue: Completions) {
        self.works.remove(id);
        self.queue(queue).map(Queue::release);
    }

    /// A receive ends unused.
    pub(crate) fn receive_flushed(&mut self, id: u64, pair: PairId, queue: Completions) {
        let unused = Received {
            id,
            status: Status::Flushed,
            length: Bytes::ZERO,
            kind: ReceivedKind::Send,
            immediate: None,
            invalidated: None,
            source: None,
        };
        self.receive_ended(unused, pair, queue, None);
    }

    /// Work has ended.
    pub(crate) fn work_ended(
        &mut self,
        done: xoff_transport::Completion,
        pair: PairId,
        queue: Completions,
        store: &mut Store,
    ) {
        let Some(work) = self.works.remove(done.id) else { return };
        let mut status = done.status;
        if work.atomic && status == Status::Ok {
            match store.part_mut(&work.local, 0, 8) {
                Some(bytes) => bytes.copy_from_slice(&done.before.to_ne_bytes()),
                None => status = Status::LocalProtection,
            }
        }
        let Some(queue) = self.queue(queue) else { return };
        if !work.signaled && status == Status::Ok {
            queue.release();
            return;
        }
        let outcome = Outcome::Done { before: done.before };
        queue.push(Completion { id: work.id, pair, status, outcome }, true);
    }

    /// A receive has ended; a datagram came `from` there.
    pub(crate) fn receive_ended(
        &mut self,
        received: Received,
        pair: PairId,
        queue: Completions,
        from: Option<SocketAddr>,
    ) {
        let Some(receive) = self.receives.remove(received.id) else { return };
        let Some(queue) = self.queue(queue) else { return };
        let arrival = Arrival {
            length: received.length,
            kind: received.kind,
            immediate: received.immediate,
            from: from.zip(received.source),
        };
        let outcome = Outcome::Received(arrival);
        let completion = Completion { id: receive.id, pair, status: received.status, outcome };
        queue.push(completion, receive.reserved);
    }
}
