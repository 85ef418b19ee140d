//! [`Graph`]: work with explicit dependencies, as traces and training steps have it.

use super::{Action, Queue, Token, Traffic};
use crate::layout::GpuId;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Span};

/// A node of a graph, in the order of adding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// What a node does once all that it waits for is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Time on a GPU; none is allowed.
    Compute {
        /// Where.
        gpu: GpuId,
        /// How long.
        span: Span,
    },
    /// Bytes over the network; none is allowed and takes no time.
    Network {
        /// The NIC that sends.
        from: NicId,
        /// The NIC that receives.
        to: NicId,
        /// The queue pair between them.
        queue: Queue,
        /// How much.
        bytes: Bytes,
    },
    /// Bytes inside a server; none is allowed and takes no time.
    Nvlink {
        /// The GPU that sends.
        from: GpuId,
        /// The GPU that receives.
        to: GpuId,
        /// How much.
        bytes: Bytes,
    },
    /// Nothing: a point at which several paths meet or part.
    Join,
}

/// Why a graph cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// More nodes or edges than can be numbered.
    #[error("a graph has at most 4294967295 nodes and as many dependencies")]
    TooLarge,
    /// A dependency on a node that does not exist.
    #[error("node {node} waits for node {missing}, and there are {nodes} nodes")]
    Dangling {
        /// The node that waits.
        node: u32,
        /// The node that is missing.
        missing: u32,
        /// How many there are.
        nodes: u32,
    },
    /// Nodes that wait for each other.
    #[error("nodes wait for each other in a cycle: {}", shown(.0))]
    Cycle(
        /// The nodes of one cycle, each waiting for the next, the last for the first.
        Vec<NodeId>,
    ),
    /// A transfer from a NIC or GPU to itself.
    #[error("node {node} sends to itself")]
    ToItself {
        /// The node.
        node: u32,
    },
}

fn shown(cycle: &[NodeId]) -> String {
    const MOST: usize = 12;
    let mut words: Vec<String> = cycle.iter().take(MOST).map(|node| node.0.to_string()).collect();
    if cycle.len() > MOST {
        words.push(format!("… ({} nodes)", cycle.len()));
    }
    words.join(" → ")
}

/// Collects nodes and dependencies, in any order; [`GraphBuilder::build`] checks them.
#[derive(Debug, Clone, Default)]
pub struct GraphBuilder {
    work: Vec<Work>,
    /// (waits, for)
    edges: Vec<(u32, u32)>,
}

impl GraphBuilder {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node. Numbers beyond what a graph can hold are refused by [`GraphBuilder::build`].
    pub fn node(&mut self, work: Work) -> NodeId {
        self.work.push(work);
        NodeId(u32::try_from(self.work.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a node that waits for others.
    pub fn after(&mut self, work: Work, waits_for: &[NodeId]) -> NodeId {
        let node = self.node(work);
        waits_for.iter().for_each(|&before| self.waits(node, before));
        node
    }

    /// Makes `node` wait for `before`. Both may be added later. Saying so twice is harmless.
    pub fn waits(&mut self, node: NodeId, before: NodeId) {
        self.edges.push((node.0, before.0));
    }

    /// The graph, if every dependency exists and none is circular.
    pub fn build(mut self) -> Result<Graph, GraphError> {
        let count = u32::try_from(self.work.len()).map_err(|_| GraphError::TooLarge)?;
        if count == u32::MAX || u32::try_from(self.edges.len()).is_err() {
            return Err(GraphError::TooLarge);
        }
        for (node, work) in (0..).zip(&self.work) {
            let same = match work {
                Work::Network { from, to, .. } => from == to,
                Work::Nvlink { from, to, .. } => from == to,
                Work::Compute { .. } | Work::Join => false,
            };
            if same {
                return Err(GraphError::ToItself { node });
            }
        }
        for &(node, before) in &self.edges {
            let missing = node.max(before);
            if missing >= count {
                return Err(GraphError::Dangling { node, missing, nodes: count });
            }
        }
        self.edges.sort_unstable_by_key(|&(node, before)| (before, node));
        self.edges.dedup();
        let mut waiting = vec![0u32; count as usize];
        let mut first = vec![0u32; count as usize + 1];
        for &(node, before) in &self.edges {
            waiting[node as usize] += 1;
            first[before as usize + 1] += 1;
        }
        for node in 0..count as usize {
            first[node + 1] += first[node];
        }
        let followers = self.edges.iter().map(|&(node, _)| node).collect();
        let graph = Graph {
            left: self.work.len(),
            work: self.work,
            first,
            followers,
            waiting,
            ready: Vec::new(),
        };
        graph.check_order(&self.edges)?;
        Ok(graph)
    }
}

/// Work with explicit dependencies, checked: it always comes to its end. Some 40 bytes per node
/// and 4 per dependency.
#[derive(Debug, Clone)]
pub struct Graph {
    work: Vec<Work>,
    /// Where a node's followers begin; one more at the end.
    first: Vec<u32>,
    followers: Vec<u32>,
    /// What a node still waits for.
    waiting: Vec<u32>,
    /// Nodes to begin. Kept for its memory.
    ready: Vec<u32>,
    left: usize,
}

impl Graph {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.work.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    fn followers(&self, node: usize) -> std::ops::Range<usize> {
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// Every node can be reached in an order in which it comes after all it waits for, or there is
    /// a cycle, which is found by walking backwards among the nodes that were not reached.
    fn check_order(&self, edges: &[(u32, u32)]) -> Result<(), GraphError> {
        let mut waiting = self.waiting.clone();
        let mut stack: Vec<u32> = (0..).zip(&waiting).filter(|n| *n.1 == 0).map(|n| n.0).collect();
        while let Some(node) = stack.pop() {
            for &follower in &self.followers[self.followers(node as usize)] {
                waiting[follower as usize] -= 1;
                if waiting[follower as usize] == 0 {
                    stack.push(follower);
                }
            }
        }
        let Some(start) = waiting.iter().position(|&count| count > 0) else { return Ok(()) };
        // Each unreached node waits for an unreached one: following those must come back.
        let mut before = vec![u32::MAX; waiting.len()];
        for &(node, earlier) in edges {
            if waiting[node as usize] > 0 && waiting[earlier as usize] > 0 {
                before[node as usize] = earlier;
            }
        }
        let mut seen = vec![false; waiting.len()];
        let mut at = start as u32;
        while !std::mem::replace(&mut seen[at as usize], true) {
            at = before[at as usize];
        }
        let mut cycle = vec![NodeId(at)];
        let mut next = before[at as usize];
        while next != at {
            cycle.push(NodeId(next));
            next = before[next as usize];
        }
        Err(GraphError::Cycle(cycle))
    }

    pub(super) fn start(&mut self, out: &mut Vec<Action>) {
        if self.work.is_empty() {
            return out.push(Action::Finished);
        }
        // Backwards, so that nodes begin in their order.
        let free = (0..).zip(&self.waiting).filter(|node| *node.1 == 0).map(|node| node.0);
        self.ready.extend(free);
        self.ready.reverse();
        self.begin(out);
    }

    pub(super) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        if token.index() >= self.work.len() {
            debug_assert!(false, "a token of another program");
            return;
        }
        self.finish(token.index(), out);
        self.begin(out);
    }

    /// Begins all that is ready, and what follows at once from nodes that take no time.
    fn begin(&mut self, out: &mut Vec<Action>) {
        while let Some(node) = self.ready.pop() {
            match action(self.work[node as usize], Token::new(0, 0, node)) {
                Some(action) => out.push(action),
                None => self.finish(node as usize, out),
            }
        }
    }

    fn finish(&mut self, node: usize, out: &mut Vec<Action>) {
        for edge in self.followers(node).rev() {
            let follower = self.followers[edge];
            let waiting = &mut self.waiting[follower as usize];
            debug_assert!(*waiting > 0, "a node is done twice");
            *waiting = waiting.saturating_sub(1);
            if *waiting == 0 {
                self.ready.push(follower);
            }
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            out.push(Action::Finished);
        }
    }
}

/// What a node asks for; nothing if it takes no time.
fn action(work: Work, token: Token) -> Option<Action> {
    match work {
        Work::Compute { gpu, span } => {
            (!span.is_zero()).then_some(Action::Wait { token, gpu, span })
        }
        Work::Network { from, to, queue, bytes } => {
            let traffic = Traffic::Data;
            (!bytes.is_zero()).then_some(Action::Network { token, from, to, queue, traffic, bytes })
        }
        Work::Nvlink { from, to, bytes } => {
            (!bytes.is_zero()).then_some(Action::Nvlink { token, from, to, bytes })
        }
        Work::Join => None,
    }
}

#[cfg(test)]
mod tests;
