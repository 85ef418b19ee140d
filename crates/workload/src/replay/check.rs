//! Whether every operation of a replay can be reached.

use super::plan::{AT_START, NODE, Replay, Task};
use std::collections::VecDeque;

/// Nodes that wait for each other, in order: each for the next, the last for the first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stuck(pub(super) Vec<u32>);

/// What a walk through the plan has reached, as if everything took no time.
struct Walk<'a> {
    plan: &'a Replay,
    waiting: Vec<u32>,
    come: Vec<u32>,
    /// Whether the other half of a message is ready.
    half: Vec<bool>,
    done: Vec<bool>,
    ready: VecDeque<u32>,
}

/// Walks through all nodes; what is not reached waits for itself.
pub(super) fn order(plan: &Replay) -> Result<(), Stuck> {
    let mut walk = Walk {
        plan,
        waiting: plan.waits.clone(),
        come: vec![0; plan.calls.len()],
        half: vec![false; plan.messages.len()],
        done: vec![false; plan.tasks.len()],
        ready: VecDeque::new(),
    };
    walk.ready.extend((0..).zip(&plan.waits).filter(|(_, waits)| **waits == 0).map(|(at, _)| at));
    while let Some(node) = walk.ready.pop_front() {
        walk.begin(node);
    }
    match walk.done.iter().position(|done| !done) {
        None => Ok(()),
        Some(node) => Err(walk.stuck(node as u32)),
    }
}

impl Walk<'_> {
    fn begin(&mut self, node: u32) {
        self.follow(node, true);
        match self.plan.tasks[node as usize] {
            Task::Nothing | Task::Compute { .. } => self.finish(node),
            Task::Send(message) => {
                self.finish(node);
                self.meet(message);
            }
            Task::Receive(message) => self.meet(message),
            Task::Call(call) => {
                self.come[call as usize] += 1;
                let nodes = self.plan.call_nodes(call);
                if self.come[call as usize] as usize == nodes.len() {
                    nodes.iter().for_each(|&node| self.finish(node));
                }
            }
        }
    }

    /// A receive is done when it and its send are ready, whichever comes last.
    fn meet(&mut self, message: u32) {
        if std::mem::replace(&mut self.half[message as usize], true) {
            self.finish(self.plan.messages[message as usize].receive);
        }
    }

    fn finish(&mut self, node: u32) {
        self.done[node as usize] = true;
        self.follow(node, false);
    }

    fn follow(&mut self, node: u32, start: bool) {
        for &follower in self.plan.followers(node) {
            if (follower & AT_START != 0) == start {
                let follower = follower & NODE;
                self.waiting[follower as usize] -= 1;
                if self.waiting[follower as usize] == 0 {
                    self.ready.push_back(follower);
                }
            }
        }
    }

    /// Follows what is waited for from a node that was not reached, until that comes back.
    fn stuck(&self, from: u32) -> Stuck {
        let count = self.done.len();
        let mut before = vec![u32::MAX; count];
        for node in (0..count as u32).filter(|&node| !self.done[node as usize]) {
            for &follower in self.plan.followers(node) {
                let begun = self.waiting[node as usize] == 0;
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
        if self.waiting[node as usize] > 0 {
            return before[node as usize];
        }
        match self.plan.tasks[node as usize] {
            Task::Receive(message) => self.plan.messages[message as usize].send,
            Task::Call(call) => {
                let missing =
                    |&&other: &&u32| self.waiting[other as usize] > 0 && !self.done[other as usize];
                self.plan.call_nodes(call).iter().find(missing).copied().unwrap_or(node)
            }
            _ => node,
        }
    }
}
