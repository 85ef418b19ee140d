//! [`Requests`]: key-value caches that go to the servers that answer, whenever a prompt has been read.

use crate::layout::GpuId;
use crate::program::{Action, Queue, RequestId, Token, Traffic};
use crate::storage::parts;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Span};

/// What a token says is done.
mod kind {
    pub(super) const COME: u8 = 0;
    pub(super) const SENT: u8 = 1;
}

/// A request that comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// So long after the one before.
    pub after: Span,
    /// From which server, by its place among those that send.
    pub from: u32,
    /// To which, by its place among those that receive.
    pub to: u32,
    /// How much; not zero.
    pub bytes: Bytes,
}

/// Requests that come when they come. Each is cut into as many parts as the NICs of both its servers
/// make pairs, the first of the one with the first of the other and so on: by the rails, where
/// there are rails.
#[derive(Debug, Clone)]
pub struct Requests {
    arrivals: Vec<Arrival>,
    senders: Vec<Vec<NicId>>,
    receivers: Vec<Vec<NicId>>,
    /// Queue pairs between two NICs, used in turn.
    queues: u32,
    /// Parts of each request that are under way.
    left: Vec<u32>,
    /// Requests that have come.
    come: usize,
    /// Requests that have come and are not over.
    open: usize,
}

impl Requests {
    /// A program of these arrivals between the NICs of servers. Servers have a NIC or more, and arrivals
    /// name servers that there are.
    pub fn new(
        arrivals: Vec<Arrival>,
        senders: Vec<Vec<NicId>>,
        receivers: Vec<Vec<NicId>>,
        queues: u32,
    ) -> Self {
        let left = vec![0; arrivals.len()];
        Self { arrivals, senders, receivers, queues: queues.max(1), left, come: 0, open: 0 }
    }

    /// What each request moves, in the order of coming.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> {
        self.arrivals.iter().map(|arrival| arrival.bytes)
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        self.wait(out);
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        if token.kind() == kind::COME {
            self.send(out);
            return self.wait(out);
        }
        let Some(left) = self.left.get_mut(token.index()) else {
            debug_assert!(false, "a token of another program");
            return;
        };
        *left = left.saturating_sub(1);
        if *left == 0 {
            out.push(Action::Ends { request: RequestId(token.index() as u32) });
            self.open -= 1;
            self.finish_if_over(out);
        }
    }

    /// Waits for the next request, or takes those that come at once.
    fn wait(&mut self, out: &mut Vec<Action>) {
        while let Some(next) = self.arrivals.get(self.come) {
            if !next.after.is_zero() {
                let (token, span) = (Token::new(kind::COME, 0, 0), next.after);
                return out.push(Action::Wait { token, gpu: GpuId(0), span });
            }
            self.send(out);
        }
        self.finish_if_over(out);
    }

    fn finish_if_over(&mut self, out: &mut Vec<Action>) {
        if self.open == 0 && self.come == self.arrivals.len() {
            out.push(Action::Finished);
        }
    }

    /// The next request has come.
    fn send(&mut self, out: &mut Vec<Action>) {
        let number = self.come as u32;
        let Some(&Arrival { from, to, bytes, .. }) = self.arrivals.get(self.come) else { return };
        let (from, to) = (&self.senders[from as usize], &self.receivers[to as usize]);
        self.come += 1;
        self.open += 1;
        out.push(Action::Begins { request: RequestId(number) });
        let pairs = from.len().min(to.len());
        let token = Token::new(kind::SENT, 0, number);
        let (queue, traffic) = (Queue(number % self.queues), Traffic::Data);
        for ((&from, &to), bytes) in from.iter().zip(to).zip(parts(bytes, pairs)) {
            if !bytes.is_zero() {
                self.left[number as usize] += 1;
                out.push(Action::Network { token, from, to, queue, traffic, bytes });
            }
        }
    }
}
