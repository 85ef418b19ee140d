//! [`Frontier`]: how far a replay has come: which nodes are ready, and what the others still wait for.
//!
//! The walk that checks a plan before it runs and the program that runs it share this, so that what is said
//! to be reachable is reached by the same rules.

use super::plan::{AT_START, NODE, Replay};
use std::collections::VecDeque;

/// What is ready, and what the rest waits for.
#[derive(Debug, Clone)]
pub(super) struct Frontier {
    /// Nodes that each node still waits for.
    waiting: Vec<u32>,
    /// Members that have come to each call.
    come: Vec<u32>,
    /// Whether one half of a message is there: its data, or the receive that wants it.
    half: Vec<bool>,
    ready: VecDeque<u32>,
}

impl Frontier {
    /// Before anything has begun: nodes that wait for nothing are ready.
    pub(super) fn new(plan: &Replay) -> Self {
        let free = (0..).zip(&plan.waits).filter(|(_, waits)| **waits == 0);
        Self {
            ready: free.map(|(node, _)| node).collect(),
            waiting: plan.waits.clone(),
            come: vec![0; plan.calls.len()],
            half: vec![false; plan.messages.len()],
        }
    }

    /// The next node that can begin.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.ready.pop_front()
    }

    /// Whether a node waits for others.
    pub(super) fn waits(&self, node: u32) -> bool {
        self.waiting[node as usize] > 0
    }

    /// A node has begun: those that wait for no more than that are let go.
    pub(super) fn begun(&mut self, plan: &Replay, node: u32) {
        self.release(plan, node, true);
    }

    /// A node is done: those that wait for its end are let go.
    pub(super) fn done(&mut self, plan: &Replay, node: u32) {
        self.release(plan, node, false);
    }

    fn release(&mut self, plan: &Replay, node: u32, start: bool) {
        for &follower in plan.followers(node) {
            if (follower & AT_START != 0) == start {
                let follower = follower & NODE;
                self.waiting[follower as usize] -= 1;
                if self.waiting[follower as usize] == 0 {
                    self.ready.push_back(follower);
                }
            }
        }
    }

    /// The data of a message has arrived, or its receive is ready; whether that was the second of the two.
    pub(super) fn meet(&mut self, message: u32) -> bool {
        std::mem::replace(&mut self.half[message as usize], true)
    }

    /// A member has come to a call; whether it was the last.
    pub(super) fn come(&mut self, plan: &Replay, call: u32) -> bool {
        let come = &mut self.come[call as usize];
        *come += 1;
        *come as usize == plan.call_nodes(call).len()
    }
}
