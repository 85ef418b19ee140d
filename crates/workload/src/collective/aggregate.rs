//! [`Aggregate`]: AllReduce whose sums are made by switches, in the network or inside the server.
//!
//! In three stages that run at once, step by step:
//!
//! 1. **Inside the server** the ranks add up: rank `j` gets the sum of share `j` ([`Near`]).
//! 2. **Between servers** share `j` of every server goes up a tree of switches, is added up on the way, and the sum comes
//!    down again to all ([`Groups`]). A NIC sends and receives its share once, where a ring sends it nearly twice.
//! 3. **Inside the server** rank `j` hands the sum to the others.
//!
//! A node of a tree is an endpoint inside a switch with a reliable queue pair to each of its children and to its parent,
//! as SHARP has it. The other way, packets that a switch consumes and creates, would need a second account of packets, a second
//! way to repair losses and a second flow control; endpoints have those of every other queue pair.
//!
//! Data goes up in pieces that fit a slot. A slot is taken by the first contribution to its piece and free when all
//! children have the sum. A member sends piece `p + w` when it has the sum of piece `p`, `w` being half of the slots. Then
//! no more than `2w` pieces are held anywhere: whoever lacks sum `q` has not sent `q + w`, so nobody has sum
//! `q + w`, so nobody has sent `q + 2w`. So slots never run out inside a group, and where there are few of them senders wait. The
//! program asserts it piece by piece.
//!
//! What it is not: AllReduce only, and NVSwitches add up only where there is one server. Switches take no time to add. Sums do not leave a switch before the whole piece is there.

mod bound;
mod groups;
mod parts;

#[cfg(test)]
mod tests;

use super::cost::Cost;
use super::late::Lateness;
use super::shape::{Shape, part};
use super::traffic::Loads;
use super::{Algorithm, CollectiveError, LEAST_PIECE, STEPS, Settings, channels_by_rule};
use crate::layout::{GpuId, Layout, RankId};
use crate::program::{Action, Demand, Queue, Token, Traffic};
use parts::{Cut, Edge, Lane, Member, Node, Work, recover};
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Span};

pub(super) use bound::Speeds;
pub use groups::{Groups, Ledger, Refusal};

/// What the tokens say is done.
mod kind {
    /// A piece has landed at the other end of an edge: index `2 * edge`, up, or one more, down.
    pub(super) const PIECE: u8 = 0;
    /// A step of a share has landed at the rank that adds it up, or at its NVSwitch.
    pub(super) const SCATTERED: u8 = 1;
    /// The NVSwitch has sent a rank the sum.
    pub(super) const REDUCED: u8 = 2;
    /// A rank has sent the NVSwitch the sum of all servers.
    pub(super) const SPREAD: u8 = 3;
    /// A sum has landed at a rank of the server.
    pub(super) const GATHERED: u8 = 4;
    /// The proxy has passed a step on.
    pub(super) const PASSED: u8 = 5;
    pub(super) const WORKED: u8 = 6;
    pub(super) const LAUNCHED: u8 = 7;
}

/// How the ranks of a server add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Near {
    /// Each sends its part to the rank that adds it up, and that one sends the sum to each.
    Direct,
    /// The NVSwitch adds up and copies (NVLS). Its port to GPU `g` is port `first + g`.
    Switched { first: u32 },
}

/// AllReduce whose sums are made by switches. Made by [`super::program`].
#[derive(Debug, Clone)]
pub struct Aggregate {
    cost: Cost,
    lateness: Lateness,
    near: Near,
    rows: u32,
    columns: u32,
    channels: u32,
    /// Pieces that a member has under way.
    window: u32,
    /// By row, then column.
    gpus: Vec<GpuId>,
    members: Vec<Member>,
    /// By column: how its share is cut.
    cuts: Vec<Cut>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Steps sent and landed, by row, sender and column.
    sent: Vec<u32>,
    landed: Vec<u32>,
    /// By rank, then channel.
    lanes: Vec<Lane>,
    /// Steps that ranks have still to get.
    left: u64,
}

/// The program of an AllReduce.
pub(super) fn program(
    algorithm: Algorithm,
    size: Bytes,
    layout: &Layout,
    settings: &Settings,
) -> Result<Aggregate, CollectiveError> {
    let columns = layout.ranks_per_domain().ok_or(CollectiveError::Uneven)?;
    let rows = layout.domains().len() as u32;
    let groups = layout.aggregation().filter(|_| rows > 1);
    if rows > 1 && groups.is_none() {
        return Err(CollectiveError::NoSwitches);
    }
    let slots = groups.map_or(2, |groups| groups.slots);
    let piece = groups.map_or(u64::MAX, |groups| groups.piece.get());
    let hops = groups.map_or(0, |groups| 2 * groups.depth()) + 2;
    let cut = |column| {
        let bytes = part(size.get(), columns, column);
        let shape = Shape::pipeline(bytes, hops, LEAST_PIECE, settings.step.get());
        let shape = shape.ok_or(CollectiveError::TooLarge(size))?;
        Ok(Cut { shape, piece, steps: if bytes == 0 { 0 } else { shape.laps } })
    };
    let cuts = (0..columns).map(cut).collect::<Result<Vec<_>, _>>()?;
    u32::try_from(size.get() / piece.max(1)).map_err(|_| CollectiveError::TooLarge(size))?;
    let ranks = layout.domains().iter().flatten();
    let channels = settings.channels.unwrap_or(channels_by_rule(algorithm, layout));
    let inside = layout.nvls().filter(|_| algorithm == Algorithm::Nvls);
    let near = inside.map_or(Near::Direct, |first| Near::Switched { first });
    let mut made = Aggregate {
        cost: settings.cost,
        lateness: settings.lateness,
        near,
        rows,
        columns,
        channels,
        window: (slots / 2).max(1),
        gpus: ranks.map(|&rank| layout.seat(rank).gpu).collect(),
        members: vec![Member::default(); (rows * columns) as usize],
        cuts,
        nodes: Vec::new(),
        edges: Vec::new(),
        sent: vec![0; (rows * columns * columns) as usize],
        landed: vec![0; (rows * columns * columns) as usize],
        lanes: vec![Lane::default(); (rows * columns * channels) as usize],
        left: 0,
    };
    if let Some(groups) = groups {
        made.grow(groups, layout);
    }
    made.left = if layout.ranks() == 1 { 0 } else { made.receipts() };
    Ok(made)
}

impl Aggregate {
    /// Makes the nodes and edges of the trees: switches first, then members.
    fn grow(&mut self, groups: &Groups, layout: &Layout) {
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

    fn join(&mut self, child: u32, parent: u32) {
        let number = self.edges.len() as u32;
        self.edges.push(Edge { child, parent, up: 0, down: 0 });
        self.nodes[child as usize].up = Some(number);
        self.nodes[parent as usize].children.push(number);
    }

    /// Steps that all ranks have to get, before anything is done.
    fn receipts(&self) -> u64 {
        let steps: u64 = self.cuts.iter().map(|cut| u64::from(cut.steps)).sum();
        steps * u64::from(self.rows) * u64::from(self.receipts_of_a_step())
    }

    /// How often a step of a share is received in a server: by its rank, and by all others from it.
    fn receipts_of_a_step(&self) -> u32 {
        match self.near {
            _ if self.columns == 1 => 1,
            Near::Direct => self.columns,
            Near::Switched { .. } => self.columns + 1,
        }
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        if self.left == 0 {
            return out.push(Action::Finished);
        }
        for rank in 0..self.members.len() {
            let span = self.cost.launch + self.lateness.of(self.gpus[rank]);
            if span.is_zero() {
                self.begin(rank, out);
            } else {
                let token = Token::new(kind::LAUNCHED, 0, rank as u32);
                out.push(Action::Wait { token, gpu: self.gpus[rank], span });
            }
        }
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let (index, slot) = (token.index(), token.slot());
        let most = match token.kind() {
            kind::PIECE => 2 * self.edges.len(),
            kind::SCATTERED | kind::GATHERED => self.landed.len(),
            kind::WORKED => self.lanes.len(),
            _ => self.members.len(),
        };
        if index >= most || token.kind() > kind::LAUNCHED {
            debug_assert!(false, "a token of another program");
            return;
        }
        match token.kind() {
            kind::PIECE if index % 2 == 0 => {
                let Edge { parent, up, .. } = self.edges[index / 2];
                self.edges[index / 2].up += 1;
                if self.nodes[parent as usize].add(up) {
                    self.go_on(parent as usize, out);
                }
            }
            kind::PIECE => {
                let Edge { child, parent, down, .. } = self.edges[index / 2];
                self.edges[index / 2].down += 1;
                self.nodes[parent as usize].delivered(down);
                self.deliver(child as usize, out);
            }
            kind::SCATTERED => {
                self.landed[index] += 1;
                let columns = self.columns as usize;
                self.reduce(index / columns / columns * columns + index % columns, out);
            }
            kind::REDUCED => self.enqueue(index, Work::Reduce, slot, out),
            kind::SPREAD => self.copy(index, slot, out),
            kind::GATHERED => self.gathered(index, slot, out),
            kind::PASSED => self.enqueue(index, Work::Take, slot, out),
            kind::WORKED => self.worked(index, out),
            _ => self.begin(index, out),
        }
    }

    /// A rank begins: it has its own data and sends the others theirs.
    fn begin(&mut self, rank: usize, out: &mut Vec<Action>) {
        self.members[rank].launched = true;
        let columns = self.columns as usize;
        for column in 0..columns {
            self.scatter(rank, column, out);
        }
        self.reduce(rank, out);
    }

    /// Sends a rank's part of a share, as far as the rank that adds it up has room for it.
    fn scatter(&mut self, rank: usize, column: usize, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let member = rank / columns * columns + column;
        let port = match self.near {
            Near::Direct if rank == member => return,
            Near::Direct => self.gpus[member],
            Near::Switched { .. } if columns == 1 => return,
            Near::Switched { first } => GpuId(first + self.gpus[rank].0),
        };
        if !self.members[rank].launched {
            return;
        }
        let index = rank * columns + column;
        let most = self.cuts[column].steps.min(self.members[member].done.next + STEPS);
        while self.sent[index] < most {
            let bytes = self.cuts[column].step(self.sent[index]);
            self.sent[index] += 1;
            let token = Token::new(kind::SCATTERED, 0, index as u32);
            out.push(Action::Nvlink { token, from: self.gpus[rank], to: port, bytes });
        }
    }

    /// Adds up the steps of a member whose parts are all there.
    fn reduce(&mut self, number: usize, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let (first, column) = (number / columns * columns, number % columns);
        let steps = self.cuts[column].steps;
        loop {
            let member = &self.members[number];
            let step = member.reduced;
            let open = member.launched && step < steps.min(member.done.next + STEPS);
            let is_there = |rank: usize| {
                let own = rank == number && self.near == Near::Direct;
                own || columns == 1 || self.landed[rank * columns + column] > step
            };
            if !open || !(first..first + columns).all(is_there) {
                return;
            }
            self.members[number].reduced += 1;
            match self.near {
                // Nothing was received.
                _ if columns == 1 => self.stage(number, step, out),
                Near::Direct => self.enqueue(number, Work::Reduce, (step % 64) as u8, out),
                Near::Switched { first } => {
                    let gpu = self.gpus[number];
                    let token = Token::new(kind::REDUCED, (step % 64) as u8, number as u32);
                    let from = GpuId(first + gpu.0);
                    let bytes = self.cuts[column].step(step);
                    out.push(Action::Nvlink { token, from, to: gpu, bytes });
                }
            }
        }
    }

    /// Gives a rank something to do with a step of its share, whose number is known by its low bits.
    fn enqueue(&mut self, number: usize, work: Work, slot: u8, out: &mut Vec<Action>) {
        let step = recover(slot, self.members[number].done.next);
        self.work(number, work, (number % self.columns as usize) as u32, step, out);
    }

    /// Gives a channel of a rank something to do, one thing after the other.
    fn work(&mut self, rank: usize, work: Work, column: u32, step: u32, out: &mut Vec<Action>) {
        let bytes = self.cuts[column as usize].step(step);
        let span = self.cost.work(bytes);
        if span.is_zero() {
            return self.after(rank, work, step, out);
        }
        let index = rank * self.channels as usize + (step % self.channels) as usize;
        let lane = &mut self.lanes[index];
        lane.push_back((work, step, span));
        if lane.len() == 1 {
            self.spend(index, span, out);
        }
    }

    fn spend(&self, lane: usize, span: Span, out: &mut Vec<Action>) {
        let token = Token::new(kind::WORKED, 0, lane as u32);
        out.push(Action::Wait { token, gpu: self.gpus[lane / self.channels as usize], span });
    }

    fn worked(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some((work, step, _)) = self.lanes[lane].pop_front() else { return };
        if let Some(&(_, _, span)) = self.lanes[lane].front() {
            self.spend(lane, span, out);
        }
        self.after(lane / self.channels as usize, work, step, out);
    }

    fn after(&mut self, rank: usize, work: Work, step: u32, out: &mut Vec<Action>) {
        match work {
            Work::Reduce => self.stage(rank, step, out),
            Work::Take => self.finish(rank, step, out),
            Work::Gather(column) => {
                let columns = self.columns as usize;
                self.receive(rank / columns * columns + column as usize, step, out);
            }
        }
    }

    /// The server's sum of a step is there: it goes to the network, or where there is one server, to all.
    fn stage(&mut self, number: usize, step: u32, out: &mut Vec<Action>) {
        if self.members[number].node.is_none() {
            return self.finish(number, step, out);
        }
        self.members[number].staged.mark(step);
        self.pump(number, out);
    }

    /// Sends pieces up, as far as they are there and slots are free.
    fn pump(&mut self, number: usize, out: &mut Vec<Action>) {
        let Some(node) = self.members[number].node else { return };
        loop {
            let member = &self.members[number];
            let (sends, results) = (&member.sends, &member.results);
            let is_there = sends.step < member.staged.next;
            if !is_there || sends.number >= results.number + self.window {
                return;
            }
            self.members[number].sends.take(&self.cuts[number % self.columns as usize]);
            self.go_on(node as usize, out);
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
        let cut = self.cuts[self.nodes[number].column as usize];
        if let Some(member) = self.nodes[number].member {
            return self.result(member as usize, out);
        }
        let bytes = self.nodes[number].lowered.take(&cut);
        for at in 0..self.nodes[number].children.len() {
            let edge = self.nodes[number].children[at];
            let child = self.edges[edge as usize].child as usize;
            self.send(Token::new(kind::PIECE, 0, 2 * edge + 1), (number, child), bytes, out);
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
        out.push(Action::Wait { token, gpu: self.gpus[number], span });
    }

    /// A rank has a step of its share from all servers, and hands it to the others of its server.
    fn finish(&mut self, number: usize, step: u32, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let (row, column) = (number / columns, number % columns);
        let (gpu, bytes) = (self.gpus[number], self.cuts[column].step(step));
        let slot = (step % 64) as u8;
        match self.near {
            _ if columns == 1 => {}
            Near::Direct => {
                for rank in (row * columns..(row + 1) * columns).filter(|&rank| rank != number) {
                    let token = Token::new(kind::GATHERED, slot, (rank * columns + column) as u32);
                    out.push(Action::Nvlink { token, from: gpu, to: self.gpus[rank], bytes });
                }
            }
            Near::Switched { first } => {
                let token = Token::new(kind::SPREAD, slot, number as u32);
                let to = GpuId(first + gpu.0);
                out.push(Action::Nvlink { token, from: gpu, to, bytes });
            }
        }
        self.receive(number, step, out);
    }

    /// The NVSwitch has a sum: it copies it to all ranks of the server.
    fn copy(&mut self, number: usize, slot: u8, out: &mut Vec<Action>) {
        let Near::Switched { first } = self.near else { return };
        let columns = self.columns as usize;
        let (row, column) = (number / columns, number % columns);
        let bytes = self.cuts[column].step(recover(slot, self.members[number].done.next));
        for rank in row * columns..(row + 1) * columns {
            let gpu = self.gpus[rank];
            let token = Token::new(kind::GATHERED, slot, (rank * columns + column) as u32);
            out.push(Action::Nvlink { token, from: GpuId(first + gpu.0), to: gpu, bytes });
        }
    }

    /// A sum has landed at another rank of the server, which copies it, unless the NVSwitch has put it in its place.
    fn gathered(&mut self, index: usize, slot: u8, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let (rank, column) = (index / columns, index % columns);
        let member = rank / columns * columns + column;
        let step = recover(slot, self.members[member].done.next);
        match self.near {
            Near::Direct => self.work(rank, Work::Gather(column as u32), column as u32, step, out),
            Near::Switched { .. } => self.receive(member, step, out),
        }
    }

    /// A rank of the server has a step of a share. When all have it, there is room for another.
    fn receive(&mut self, number: usize, step: u32, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let all = self.receipts_of_a_step();
        if self.members[number].receive(step, all) {
            for rank in number / columns * columns..(number / columns + 1) * columns {
                self.scatter(rank, number % columns, out);
            }
            self.reduce(number, out);
        }
        self.left -= 1;
        if self.left == 0 {
            let free = self.nodes.iter().all(Node::is_free);
            assert!(free, "a switch holds a piece that all have got");
            out.push(Action::Finished);
        }
    }
}

impl Aggregate {
    /// What goes over each of its queue pairs.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let both = self.edges.iter().flat_map(|edge| {
            let column = self.nodes[edge.child as usize].column;
            let nic = |node: u32| self.nodes[node as usize].nic;
            let bytes = self.cuts[column as usize].bytes();
            let (child, parent, queue) = (nic(edge.child), nic(edge.parent), Queue(column));
            [(child, parent), (parent, child)].map(|(from, to)| Demand { from, to, queue, bytes })
        });
        both.collect()
    }

    /// What goes over every NIC and NVLink.
    pub(super) fn loads(&self) -> Loads {
        let mut loads = Loads::default();
        for demand in self.demands() {
            loads.nics.entry(demand.from).or_default().sent += demand.bytes;
            loads.nics.entry(demand.to).or_default().received += demand.bytes;
        }
        if self.columns > 1 {
            for (rank, &gpu) in self.gpus.iter().enumerate() {
                let own = self.cuts[rank % self.columns as usize].bytes();
                let all: Bytes = self.cuts.iter().map(Cut::bytes).sum();
                let others = Bytes::new(own.get() * u64::from(self.columns - 1));
                let moved = match self.near {
                    Near::Direct => all.saturating_sub(own) + others,
                    Near::Switched { .. } => all + own,
                };
                let load = loads.gpus.entry(gpu).or_default();
                (load.sent, load.received) = (moved, moved);
            }
        }
        loads
    }
}
