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
//! **NVLSTree** is the same with NVSwitches inside the servers and trees whose nodes are the ranks themselves: a rank adds what its
//! children send to its own share, and passes the sum on to them ([`Node::own`]). Each share is two, one for each of two trees in
//! which no server has children twice, so that all NICs carry as much.
//!
//! What it is not: AllReduce only, and NVSwitches do not add up below switches of the network. Switches take no time to add. Sums do not leave a switch before the whole piece is there.

mod bound;
mod groups;
mod loads;
mod parts;
mod trees;

#[cfg(test)]
mod tests;

use super::cost::Cost;
use super::ends::Ends;
use super::late::Lateness;
use super::shape::{Shape, part};
use super::{Algorithm, CollectiveError, LEAST_PIECE, STEPS, Settings, channels_by_rule};
use crate::layout::{GpuId, Layout};
use crate::program::{Action, Token};
use parts::{Cut, Edge, Lane, Member, Node, Work, recover};
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
    /// A rank that is a node has a piece from below, or from above, in its hands: indices as of a piece.
    pub(super) const TAKEN: u8 = 8;
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
    /// Ranks in a row.
    width: u32,
    /// Shares of a row: one for each rank, or two.
    columns: u32,
    channels: u32,
    /// Pieces that a member has under way.
    window: u32,
    /// By row, then place in the row.
    gpus: Vec<GpuId>,
    /// By row, then column.
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
    /// The numbers of the ranks, in the order of the GPUs.
    ranks: Vec<u32>,
    pub(crate) ends: Ends,
}

/// The program of an AllReduce.
pub(super) fn program(
    algorithm: Algorithm,
    size: Bytes,
    layout: &Layout,
    settings: &Settings,
) -> Result<Aggregate, CollectiveError> {
    let width = layout.ranks_per_domain().ok_or(CollectiveError::Uneven)?;
    let rows = layout.domains().len() as u32;
    let by_ranks = algorithm == Algorithm::NvlsTree;
    let columns = if by_ranks { 2 * width } else { width };
    let groups = layout.aggregation().filter(|_| rows > 1 && !by_ranks);
    if rows > 1 && groups.is_none() && !by_ranks {
        return Err(CollectiveError::NoSwitches);
    }
    let slots = groups.map_or(2 * STEPS, |groups| groups.slots);
    let piece = groups.map_or(u64::MAX, |groups| groups.piece.get());
    let depth = match by_ranks {
        true => rows.next_power_of_two().ilog2(),
        false => groups.map_or(0, Groups::depth),
    };
    let hops = 2 * depth + 2;
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
    let inside = layout.nvls().filter(|_| algorithm != Algorithm::InNetwork);
    let near = inside.map_or(Near::Direct, |first| Near::Switched { first });
    let mut made = Aggregate {
        cost: settings.cost,
        lateness: settings.lateness,
        near,
        rows,
        width,
        columns,
        channels,
        window: (slots / 2).max(1),
        gpus: ranks.map(|&rank| layout.seat(rank).gpu).collect(),
        members: vec![Member::default(); (rows * columns) as usize],
        cuts,
        nodes: Vec::new(),
        edges: Vec::new(),
        sent: vec![0; (rows * width * columns) as usize],
        landed: vec![0; (rows * width * columns) as usize],
        lanes: vec![Lane::default(); (rows * width * channels) as usize],
        left: 0,
        ranks: layout.domains().iter().flatten().map(|rank| rank.0).collect(),
        ends: Ends::new(layout),
    };
    if let Some(groups) = groups {
        made.grow(groups, layout);
    } else if by_ranks {
        made.grow_of_ranks(layout, slots);
    }
    made.left = if layout.ranks() == 1 { 0 } else { made.receipts() };
    Ok(made)
}

impl Aggregate {
    /// The rank that has a share, by the member's number.
    fn rank_of(&self, number: usize) -> usize {
        let (columns, width) = (self.columns as usize, self.width as usize);
        number / columns * width + number % columns % width
    }

    /// The member that has a column in the row of a rank.
    fn member_of(&self, rank: usize, column: usize) -> usize {
        rank / self.width as usize * self.columns as usize + column
    }

    /// The ranks of a member's row.
    fn row_of(&self, number: usize) -> std::ops::Range<usize> {
        let width = self.width as usize;
        let first = number / self.columns as usize * width;
        first..first + width
    }

    /// Steps that all ranks have to get, before anything is done.
    fn receipts(&self) -> u64 {
        let steps: u64 = self.cuts.iter().map(|cut| u64::from(cut.steps)).sum();
        steps * u64::from(self.rows) * u64::from(self.receipts_of_a_step())
    }

    /// How often a step of a share is received in a server: by its rank, and by all others from it.
    fn receipts_of_a_step(&self) -> u32 {
        match self.near {
            _ if self.width == 1 => 1,
            Near::Direct => self.width,
            Near::Switched { .. } => self.width + 1,
        }
    }

    /// From the call to the first step. With NVLS and what ranks spend on pieces, that is what NCCL's tuner counts: 25 us in one
    /// server, 67 in two, 109 in four.
    fn launch(&self) -> Span {
        let levels = u64::from(self.rows.next_power_of_two().ilog2());
        let more = match self.near {
            Near::Direct => 0,
            Near::Switched { .. } => self.cost.nvls_launch.as_ps() * (1 + levels),
        };
        self.cost.launch + Span::from_ps(more)
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        if self.left == 0 {
            return out.push(Action::Finished);
        }
        for rank in 0..self.gpus.len() {
            let span = self.launch() + self.lateness.of(self.gpus[rank]);
            if span.is_zero() {
                self.begin(rank, out);
            } else {
                let token = Token::new(kind::LAUNCHED, 0, rank as u32);
                out.push(Action::Wait { token, gpu: self.gpus[rank], span });
            }
        }
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let (index, slot) = (token.index().checked_sub(self.first(token.kind())), token.slot());
        let most = match token.kind() {
            kind::PIECE | kind::TAKEN => 2 * self.edges.len(),
            kind::SCATTERED | kind::GATHERED => self.landed.len(),
            kind::WORKED => self.lanes.len(),
            kind::LAUNCHED => self.gpus.len(),
            _ => self.members.len(),
        };
        let index = index.filter(|index| *index < most && token.kind() <= kind::TAKEN);
        let Some(index) = index else {
            debug_assert!(false, "a token of another program");
            return;
        };
        match token.kind() {
            kind::PIECE => self.landed_at_node(index, out),
            kind::TAKEN => self.taken(index, slot, out),
            kind::SCATTERED => {
                self.landed[index] += 1;
                let columns = self.columns as usize;
                self.reduce(self.member_of(index / columns, index % columns), out);
            }
            kind::REDUCED => self.enqueue(index, Work::Reduce, slot, out),
            kind::SPREAD => self.copy(index, slot, out),
            kind::GATHERED => self.gathered(index, slot, out),
            kind::PASSED => self.enqueue(index, Work::Take, slot, out),
            kind::WORKED => self.worked(index, out),
            _ => self.begin(index, out),
        }
    }

    /// A token of what goes over NVLink. Ports serve connections in turn and tell them apart by the index, so that each way of a
    /// share has indices of its own: a sum on its way back does not wait for all that its rank has still to send.
    fn token(&self, kind: u8, slot: u8, index: usize) -> Token {
        Token::new(kind, slot, (self.first(kind) + index) as u32)
    }

    /// The first index of tokens of a kind.
    fn first(&self, kind: u8) -> usize {
        let (parts, members) = (self.landed.len(), self.members.len());
        match kind {
            kind::GATHERED => parts,
            kind::REDUCED => 2 * parts,
            kind::SPREAD => 2 * parts + members,
            _ => 0,
        }
    }

    /// A rank begins: it has its own data and sends the others theirs.
    fn begin(&mut self, rank: usize, out: &mut Vec<Action>) {
        let (columns, width) = (self.columns as usize, self.width as usize);
        let own = || (rank % width..columns).step_by(width);
        for column in own() {
            let number = self.member_of(rank, column);
            self.members[number].launched = true;
        }
        for column in 0..columns {
            self.scatter(rank, column, out);
        }
        for column in own() {
            self.reduce(self.member_of(rank, column), out);
        }
    }

    /// Sends a rank's part of a share, as far as the rank that adds it up has room for it.
    fn scatter(&mut self, rank: usize, column: usize, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let member = self.member_of(rank, column);
        let port = match self.near {
            Near::Direct if rank == self.rank_of(member) => return,
            Near::Direct => self.gpus[self.rank_of(member)],
            Near::Switched { .. } if self.width == 1 => return,
            Near::Switched { first } => GpuId(first + self.gpus[rank].0),
        };
        if !self.members[self.member_of(rank, rank % self.width as usize)].launched {
            return;
        }
        let index = rank * columns + column;
        let most = self.cuts[column].steps.min(self.members[member].done.next + STEPS);
        while self.sent[index] < most {
            let bytes = self.cuts[column].step(self.sent[index]);
            self.sent[index] += 1;
            let token = self.token(kind::SCATTERED, 0, index);
            out.push(Action::Nvlink { token, from: self.gpus[rank], to: port, bytes });
        }
    }

    /// Adds up the steps of a member whose parts are all there.
    fn reduce(&mut self, number: usize, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let (rank_of, column) = (self.rank_of(number), number % columns);
        let steps = self.cuts[column].steps;
        loop {
            let member = &self.members[number];
            let step = member.reduced;
            let open = member.launched && step < steps.min(member.done.next + STEPS);
            let is_there = |rank: usize| {
                let own = rank == rank_of && self.near == Near::Direct;
                own || self.width == 1 || self.landed[rank * columns + column] > step
            };
            if !open || !self.row_of(number).all(is_there) {
                return;
            }
            self.members[number].reduced += 1;
            match self.near {
                // Nothing was received.
                _ if self.width == 1 => self.stage(number, step, out),
                Near::Direct => self.enqueue(number, Work::Reduce, (step % 64) as u8, out),
                Near::Switched { first } => {
                    let gpu = self.gpus[rank_of];
                    let token = self.token(kind::REDUCED, (step % 64) as u8, number);
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
        self.work(self.rank_of(number), (work, number as u32), step, out);
    }

    /// Gives a channel of a rank something to do with a member's step, one thing after the other.
    fn work(&mut self, rank: usize, (work, member): (Work, u32), step: u32, out: &mut Vec<Action>) {
        let bytes = self.cuts[(member % self.columns) as usize].step(step);
        let span = self.cost.work(bytes);
        if span.is_zero() {
            return self.after(member as usize, work, step, out);
        }
        let index = rank * self.channels as usize + (step % self.channels) as usize;
        let lane = &mut self.lanes[index];
        lane.push_back((work, member, step, span));
        if lane.len() == 1 {
            self.spend(index, span, out);
        }
    }

    fn spend(&self, lane: usize, span: Span, out: &mut Vec<Action>) {
        let token = Token::new(kind::WORKED, 0, lane as u32);
        out.push(Action::Wait { token, gpu: self.gpus[lane / self.channels as usize], span });
    }

    fn worked(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some((work, member, step, _)) = self.lanes[lane].pop_front() else { return };
        if let Some(&(_, _, _, span)) = self.lanes[lane].front() {
            self.spend(lane, span, out);
        }
        self.ends.mark(self.ranks[lane / self.channels as usize]);
        self.after(member as usize, work, step, out);
    }

    fn after(&mut self, number: usize, work: Work, step: u32, out: &mut Vec<Action>) {
        match work {
            Work::Reduce => self.stage(number, step, out),
            Work::Take => self.finish(number, step, out),
            Work::Gather => self.receive(number, step, out),
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

    /// A rank has a step of its share from all servers, and hands it to the others of its server.
    fn finish(&mut self, number: usize, step: u32, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let (own, column) = (self.rank_of(number), number % columns);
        let (gpu, bytes) = (self.gpus[own], self.cuts[column].step(step));
        let slot = (step % 64) as u8;
        self.ends.mark(self.ranks[own]);
        match self.near {
            _ if self.width == 1 => {}
            Near::Direct => {
                for rank in self.row_of(number).filter(|&rank| rank != own) {
                    let token = self.token(kind::GATHERED, slot, rank * columns + column);
                    out.push(Action::Nvlink { token, from: gpu, to: self.gpus[rank], bytes });
                }
            }
            Near::Switched { first } => {
                let token = self.token(kind::SPREAD, slot, number);
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
        let column = number % columns;
        let bytes = self.cuts[column].step(recover(slot, self.members[number].done.next));
        for rank in self.row_of(number) {
            let gpu = self.gpus[rank];
            let token = self.token(kind::GATHERED, slot, rank * columns + column);
            out.push(Action::Nvlink { token, from: GpuId(first + gpu.0), to: gpu, bytes });
        }
    }

    /// A sum has landed at another rank of the server, which copies it, unless the NVSwitch has put it in its place.
    fn gathered(&mut self, index: usize, slot: u8, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let (rank, column) = (index / columns, index % columns);
        self.ends.mark(self.ranks[rank]);
        let member = self.member_of(rank, column);
        let step = recover(slot, self.members[member].done.next);
        match self.near {
            Near::Direct => self.work(rank, (Work::Gather, member as u32), step, out),
            Near::Switched { .. } => self.receive(member, step, out),
        }
    }

    /// A rank of the server has a step of a share. When all have it, there is room for another.
    fn receive(&mut self, number: usize, step: u32, out: &mut Vec<Action>) {
        let columns = self.columns as usize;
        let all = self.receipts_of_a_step();
        if self.members[number].receive(step, all) {
            for rank in self.row_of(number) {
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
