//! Whether every operation of a replay can be reached.

use super::frontier::Frontier;
use super::plan::{AT_START, NODE, Replay, Task};

/// Nodes that wait for each other, in order: each for the next, the last for the first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stuck(pub(super) Vec<u32>);

/// What a walk through the plan has reached, as if everything took no time.
struct Walk<'a> {
    plan: &'a Replay,
    frontier: Frontier,
    done: Vec<bool>,
}

/// Walks through all nodes; what is not reached waits for itself.
pub(super) fn order(plan: &Replay) -> Result<(), Stuck> {
    let done = vec![false; plan.tasks.len()];
    let mut walk = Walk { plan, frontier: Frontier::new(plan), done };
    while let Some(node) = walk.frontier.pop() {
        walk.begin(node);
    }
    match walk.done.iter().position(|done| !done) {
        None => Ok(()),
        Some(node) => Err(walk.stuck(node as u32)),
    }
}

impl Walk<'_> {
    fn begin(&mut self, node: u32) {
        self.frontier.begun(self.plan, node);
        match self.plan.tasks[node as usize] {
            Task::Nothing | Task::Compute { .. } => self.finish(node),
            Task::Send(message) => {
                self.finish(node);
                self.meet(message);
            }
            Task::Receive(message) => self.meet(message),
            Task::Call(call) => {
                if self.frontier.come(self.plan, call) {
                    self.plan.call_nodes(call).iter().for_each(|&node| self.finish(node));
                }
            }
        }
    }

    /// A receive is done when it and its send are ready, whichever comes last.
    fn meet(&mut self, message: u32) {
        if self.frontier.meet(message) {
            self.finish(self.plan.messages[message as usize].receive);
        }
    }

    fn finish(&mut self, node: u32) {
        self.done[node as usize] = true;
        self.frontier.done(self.plan, node);
    }

    /// Follows what is waited for from a node that was not reached, until that comes back.
    fn stuck(&self, from: u32) -> Stuck {
        let count = self.done.len();
        let mut before = vec![u32::MAX; count];
        for node in (0..count as u32).filter(|&node| !self.done[node as usize]) {
            for &follower in self.plan.followers(node) {
                let begun = !self.frontier.waits(node);
                if follower & AT_START == 0 || !begun {
                    before[(follower & NODE) as usize] = node;
                }
            }
        }
        let mut seen = vec![false; count];
        let mut way = Vec::new();
        let mut at = from;
        while !std::mem::replace(&mut seen[at as usize], true) {
            way.push(at);
            at = self.waits_for(at, &before);
        }
        let first = way.iter().position(|&node| node == at).unwrap_or(0);
        Stuck(way.split_off(first))
    }

    fn waits_for(&self, node: u32, before: &[u32]) -> u32 {
        if self.frontier.waits(node) {
            return before[node as usize];
        }
        match self.plan.tasks[node as usize] {
            Task::Receive(message) => self.plan.messages[message as usize].send,
            Task::Call(call) => {
                let missing =
                    |&&other: &&u32| self.frontier.waits(other) && !self.done[other as usize];
                self.plan.call_nodes(call).iter().find(missing).copied().unwrap_or(node)
            }
            _ => node,
        }
    }
}
