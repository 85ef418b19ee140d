//! The trees between the servers of an [`Aggregate`]: how they are made, and how pieces go up and sums come down.

use super::parts::{Edge, Node, Work, recover};
use super::{Aggregate, Groups, kind};
use crate::collective::tree;
use crate::layout::{Layout, RankId};
use crate::program::{Action, Queue, Token, Traffic};
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Span};

impl Aggregate {
    /// Makes the nodes and edges of the trees: switches first, then members.
    pub(super) fn grow(&mut self, groups: &Groups, layout: &Layout) {
        for (group, column) in groups.groups.iter().zip(0..self.columns) {
            let first = self.nodes.len() as u32;
            for place in &group.nodes {
                self.nodes.push(Node::new(place.nic, column, None));
            }
            for (place, number) in group.nodes.iter().zip(first..) {
                if let Some(parent) = place.parent {
                    self.join(number, first + parent);
                }
            }
            for (&parent, row) in group.members.iter().zip(0..) {
                let rank: RankId = layout.domains()[row as usize][column as usize];
                let member = row * self.columns + column;
                let number = self.nodes.len() as u32;
                self.nodes.push(Node::new(layout.seat(rank).nic, column, Some(member)));
                self.members[member as usize].node = Some(number);
                self.join(number, first + parent);
            }
        }
        for node in &mut self.nodes {
            node.open(groups.slots);
        }
    }

    /// Makes trees whose nodes are the ranks: the first half of the columns has one tree over the servers, the second the other.
    pub(super) fn grow_of_ranks(&mut self, layout: &Layout, slots: u32) {
        for column in 0..self.columns {
            let first = self.nodes.len() as u32;
            for row in 0..self.rows {
                let member = row * self.columns + column;
                let rank: RankId = layout.domains()[row as usize][(column % self.width) as usize];
                self.members[member as usize].node = Some(first + row);
                let mut node = Node::new(layout.seat(rank).nic, column, Some(member));
                node.own = true;
                self.nodes.push(node);
            }
            let branches = tree::branches(self.rows, column >= self.width, false);
            for (branch, row) in branches.iter().zip(0..) {
                if let Some(parent) = branch.parent {
                    self.join(first + row, first + parent);
                }
            }
        }
        for node in &mut self.nodes {
            node.open(slots);
        }
    }

    fn join(&mut self, child: u32, parent: u32) {
        let number = self.edges.len() as u32;
        self.edges.push(Edge { child, parent, ..Edge::default() });
        self.nodes[child as usize].up = Some(number);
        self.nodes[parent as usize].children.push(number);
    }

    /// A piece has landed at the other end of an edge. A rank that is the node there spends its proxy's and its channel's time on it.
    pub(super) fn landed_at_node(&mut self, index: usize, out: &mut Vec<Action>) {
        let edge = &mut self.edges[index / 2];
        let (counter, node) = match index % 2 {
            0 => (&mut edge.up, edge.parent),
            _ => (&mut edge.down, edge.child),
        };
        let piece = *counter;
        *counter += 1;
        let parent = edge.parent as usize;
        if index % 2 == 1 {
            self.nodes[parent].delivered(piece);
        }
        let Node { own, column, member, .. } = self.nodes[node as usize];
        let Some(member) = member.filter(|_| own) else {
            return self.pass_on(index, piece, out);
        };
        let bytes = self.cuts[column as usize].step(piece);
        let span = self.taking(bytes);
        if span.is_zero() {
            return self.taken(index, (piece % 64) as u8, out);
        }
        let token = Token::new(kind::TAKEN, (piece % 64) as u8, index as u32);
        out.push(Action::Wait { token, gpu: self.gpus[self.rank_of(member as usize)], span });
    }

    /// What a rank that is a node spends on a piece: NVLS knows no flags.
    pub(super) fn taking(&self, bytes: Bytes) -> Span {
        self.cost.proxy + self.cost.fenced(bytes)
    }

    /// A rank that is a node has a piece in its hands; a short last one may come before others.
    pub(super) fn taken(&mut self, index: usize, slot: u8, out: &mut Vec<Action>) {
        let taken = &mut self.edges[index / 2].taken[index % 2];
        let before = taken.next;
        taken.mark(recover(slot, before));
        for piece in before..self.edges[index / 2].taken[index % 2].next {
            self.pass_on(index, piece, out);
        }
    }

    /// A node has a piece from a child, or the sum from its parent.
    fn pass_on(&mut self, index: usize, piece: u32, out: &mut Vec<Action>) {
        let Edge { child, parent, .. } = self.edges[index / 2];
        if index % 2 == 1 {
            self.deliver(child as usize, out);
        } else if self.nodes[parent as usize].add(piece) {
            self.go_on(parent as usize, out);
        }
    }

    /// Sends pieces up, as far as they are there and slots are free.
    pub(super) fn pump(&mut self, number: usize, out: &mut Vec<Action>) {
        let Some(node) = self.members[number].node else { return };
        loop {
            let member = &self.members[number];
            let (sends, results) = (&member.sends, &member.results);
            let is_there = sends.step < member.staged.next;
            if !is_there || sends.number >= results.number + self.window {
                return;
            }
            let piece = sends.number;
            self.members[number].sends.take(&self.cuts[number % self.columns as usize]);
            let node = node as usize;
            if !self.nodes[node].own || self.nodes[node].add(piece) {
                self.go_on(node, out);
            }
        }
    }

    /// All that a node adds up to a piece is there: the sum goes up, or from the root down.
    fn go_on(&mut self, number: usize, out: &mut Vec<Action>) {
        match self.nodes[number].up {
            Some(edge) => {
                let parent = self.edges[edge as usize].parent as usize;
                let column = self.nodes[number].column;
                let bytes = self.nodes[number].raised.take(&self.cuts[column as usize]);
                let token = Token::new(kind::PIECE, 0, 2 * edge);
                self.send(token, (number, parent), bytes, out);
            }
            None => self.deliver(number, out),
        }
    }

    /// The sum of a piece has come to a node: all its children get it.
    fn deliver(&mut self, number: usize, out: &mut Vec<Action>) {
        let Node { own, column, member, .. } = self.nodes[number];
        let cut = self.cuts[column as usize];
        if let Some(member) = member.filter(|_| !own) {
            return self.result(member as usize, out);
        }
        let piece = self.nodes[number].lowered.number;
        let bytes = self.nodes[number].lowered.take(&cut);
        for at in 0..self.nodes[number].children.len() {
            let edge = self.nodes[number].children[at];
            let child = self.edges[edge as usize].child as usize;
            self.send(Token::new(kind::PIECE, 0, 2 * edge + 1), (number, child), bytes, out);
        }
        if let Some(member) = member {
            self.nodes[number].delivered(piece);
            let member = member as usize;
            self.members[member].results.take(&cut);
            self.pump(member, out);
            self.finish(member, piece, out);
        }
    }

    fn send(&self, token: Token, (from, to): (usize, usize), bytes: Bytes, out: &mut Vec<Action>) {
        let nic = |node: usize| -> NicId { self.nodes[node].nic };
        let (from, to, queue) = (nic(from), nic(to), Queue(self.nodes[from].column));
        out.push(Action::Network { token, from, to, queue, traffic: Traffic::Data, bytes });
    }

    /// The sum of a piece has come to a member; with the last of a step the proxy passes that on.
    fn result(&mut self, number: usize, out: &mut Vec<Action>) {
        let cut = self.cuts[number % self.columns as usize];
        let step = self.members[number].results.step;
        self.members[number].results.take(&cut);
        self.pump(number, out);
        if self.members[number].results.step == step {
            return;
        }
        let slot = (step % 64) as u8;
        let span = self.cost.delay(cut.step(step));
        if span.is_zero() {
            return self.enqueue(number, Work::Take, slot, out);
        }
        let token = Token::new(kind::PASSED, slot, number as u32);
        out.push(Action::Wait { token, gpu: self.gpus[self.rank_of(number)], span });
    }
}
