//! The send queue of the services without acknowledgements: UC and UD.

use crate::config::QpConfig;
use crate::counters::Counters;
use crate::pacing::Slack;
use crate::regulator::Regulator;
use crate::sequence;
use crate::signals::PathInfo;
use crate::work::{Completion, MAX_POSTED, PostError, Status};
use std::collections::VecDeque;
use std::sync::Arc;
use xoff_units::Instant;
use xoff_wire::{Header, Psn};

/// What can be posted to it.
pub(crate) trait Posted {
    /// The caller's name for the work, which comes back in its completion.
    fn id(&self) -> u64;
}

/// Posted work, paced, and complete once its last packet was given to the wire.
#[derive(Debug, Clone)]
pub(crate) struct SendQueue<T> {
    pub(crate) regulator: Regulator,
    posted: VecDeque<T>,
    completions: VecDeque<Completion>,
    /// The number of the next packet.
    next: u64,
    failed: bool,
}

impl<T: Posted> SendQueue<T> {
    pub(crate) fn new(config: Arc<QpConfig>, path: PathInfo) -> Self {
        Self {
            regulator: Regulator::new(config, path),
            posted: VecDeque::new(),
            completions: VecDeque::new(),
            next: sequence::start(Psn::new(0)),
            failed: false,
        }
    }

    /// Numbers start at `psn`; only while nothing is posted.
    pub(crate) fn start_at(&mut self, psn: Psn) {
        if self.posted.is_empty() {
            self.next = sequence::start(psn);
        }
    }

    /// The number of the next packet.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// An error once the queue has failed. Comes before every other reason to refuse work.
    pub(crate) fn check_open(&self) -> Result<(), PostError> {
        if self.failed { Err(PostError::Failed) } else { Ok(()) }
    }

    /// Adds work that the service has found no fault with.
    pub(crate) fn push(&mut self, work: T) -> Result<(), PostError> {
        assert!(!self.failed, "work for a queue that has failed was not refused");
        if self.posted.len() >= MAX_POSTED {
            return Err(PostError::QueueFull);
        }
        self.posted.push_back(work);
        Ok(())
    }

    /// The work posted last.
    pub(crate) fn back(&self) -> Option<&T> {
        self.posted.back()
    }

    /// When the next packet may leave; never without work.
    pub(crate) fn next_send(&self) -> Instant {
        if self.posted.is_empty() { Instant::MAX } else { self.regulator.next() }
    }

    /// The work whose packet may leave at `now`, and when that packet counts as sent.
    pub(crate) fn ready(&self, now: Instant, slack: Slack) -> Option<(&T, Instant)> {
        let work = self.posted.front()?;
        Some((work, self.regulator.start(now, slack)?))
    }

    /// The next packet of the oldest work was given to the wire at `now`, and counts as sent at
    /// `start`. If it was the last one, the work is complete.
    pub(crate) fn sent(
        &mut self,
        now: Instant,
        start: Instant,
        header: &Header,
        last: bool,
        counters: &mut Counters,
    ) {
        debug_assert_eq!(header.psn, sequence::psn(self.next), "packets leave in order");
        self.next += 1;
        if last {
            self.complete(Status::Ok);
        }
        self.regulator.sent(now, start, header, counters);
    }

    /// Ends the oldest work.
    fn complete(&mut self, status: Status) {
        if let Some(work) = self.posted.pop_front() {
            self.completions.push_back(Completion { id: work.id(), status, before: 0 });
        }
    }

    /// Ends all work: the oldest with `status`, the rest unattempted.
    pub(crate) fn fail(&mut self, status: Status) {
        self.failed = true;
        self.complete(status);
        while !self.posted.is_empty() {
            self.complete(Status::Flushed);
        }
    }

    pub(crate) fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::{Rate, Span};
    use xoff_wire::{Extension, Opcode, Qpn, Service};

    impl Posted for u64 {
        fn id(&self) -> u64 {
            *self
        }
    }

    fn queue() -> SendQueue<u64> {
        let path = PathInfo { line_rate: Rate::from_gbps(100), base_rtt: Span::from_us(4) };
        SendQueue::new(Arc::default(), path)
    }

    fn ends(queue: &mut SendQueue<u64>) -> Vec<(u64, Status)> {
        std::iter::from_fn(|| queue.poll_completion()).map(|done| (done.id, done.status)).collect()
    }

    #[test]
    fn work_is_complete_with_its_last_packet() {
        let mut queue = queue();
        queue.start_at(Psn::new(7));
        queue.push(1).unwrap();
        queue.push(2).unwrap();
        let mut header = Header {
            service: Service::Unreliable,
            opcode: Opcode::SendFirst,
            ack_request: false,
            becn: false,
            dest_qp: Qpn::new(1),
            psn: Psn::new(7),
            extension: Extension::None,
            payload: 4096,
        };
        let mut counters = Counters::default();
        let (&work, start) = queue.ready(Instant::ZERO, Slack::default()).unwrap();
        assert_eq!(work, 1);
        queue.sent(start, start, &header, false, &mut counters);
        assert!(ends(&mut queue).is_empty());
        assert!(queue.ready(Instant::ZERO, Slack::default()).is_none(), "pacing holds it back");
        header.psn = Psn::new(8);
        let now = queue.next_send();
        queue.sent(now, now, &header, true, &mut counters);
        assert_eq!(ends(&mut queue), [(1, Status::Ok)]);
        assert_eq!(queue.ready(queue.next_send(), Slack::default()).unwrap().0, &2);
    }

    #[test]
    fn is_bounded_and_flushed() {
        let mut queue = queue();
        for id in 0..MAX_POSTED as u64 {
            queue.push(id).unwrap();
        }
        assert_eq!(queue.push(0), Err(PostError::QueueFull));
        assert_eq!(queue.check_open(), Ok(()));
        queue.fail(Status::RemoteAccess);
        assert_eq!(queue.check_open(), Err(PostError::Failed));
        assert!(queue.is_empty() && queue.next_send().is_never());
        let ends = ends(&mut queue);
        assert_eq!((ends.len(), ends[0]), (MAX_POSTED, (0, Status::RemoteAccess)));
        assert!(ends[1..].iter().all(|end| end.1 == Status::Flushed));
    }
}
