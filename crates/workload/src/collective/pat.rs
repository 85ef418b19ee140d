//! [`Pat`]: AllGather and ReduceScatter along the trees of all chunks at once, several chunks in a message (NCCL's parallel
//! aggregated trees).
//!
//! Every rank sends the messages of [`schedule`] one after the other, and receives those of others in the same order. A message may be
//! sent when what it passes on has been received and copied. Over each distance a rank has a connection with a buffer of 8 steps. A buffer
//! limits how many chunks a message has: small amounts go in as many messages as the logarithm of the ranks, large ones in laps of one step per
//! rank with 8 chunks in a message. Messages travel in pieces of one step; the receiver copies one piece after the other.
//!
//! What it is not: NCCL passes on the first chunk of a message before the last has come; here a message is complete first. Only one rank per server,
//! as NCCL has it.

mod alone;
mod schedule;

use super::ends::Ends;
use super::machine::Terms;
use super::shape::{Shape, largest, part, ragged};
use super::traffic::Loads;
use super::{Bound, CollectiveError, Cut, STEPS, Settings, link::Way};
use crate::layout::{Layout, RankId, Seat};
use crate::program::{Action, Demand, Queue, Token, Traffic};
pub(super) use alone::Idle;
use schedule::{Message, aggregation, schedule};
use xoff_units::{Bytes, Rate, Span};

mod kind {
    pub(super) const LANDED: u8 = 0;
    pub(super) const CLEARED: u8 = 1;
    /// The receiver's proxy has passed a piece on.
    pub(super) const PASSED: u8 = 2;
    /// The receiver has copied a piece.
    pub(super) const COPIED: u8 = 3;
    pub(super) const LAUNCHED: u8 = 4;
}

/// A channel: its bytes, and the messages of a full lap and of the last one.
#[derive(Debug, Clone)]
struct Channel {
    shape: Shape,
    messages: [Vec<Message>; 2],
}

impl Channel {
    fn of_lap(&self, lap: u32) -> &[Message] {
        &self.messages[usize::from(lap + 1 == self.shape.laps)]
    }
}

/// Where a rank is in its messages; past the last lap it is done.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    lap: u32,
    message: u32,
    piece: u32,
    /// Of the message.
    bytes: u64,
}

/// A channel of a rank.
#[derive(Debug, Clone, Copy, Default)]
struct Worker {
    sends: Cursor,
    receives: Cursor,
    launched: bool,
    copying: bool,
}

/// One direction of a connection, by its sender. Counters are of pieces.
#[derive(Debug, Clone, Copy, Default)]
struct Link {
    expected: u32,
    posted: u32,
    granted: u32,
    cleared: u32,
    landed: u32,
    consumed: u32,
    /// Pieces that have come, by number modulo the window, and the bytes of those under way.
    ahead: u8,
    sizes: [u32; STEPS as usize],
}

/// AllGather or ReduceScatter by parallel aggregated trees. Made by [`super::program`].
#[derive(Debug, Clone)]
pub struct Pat {
    gather: bool,
    seats: Vec<Seat>,
    terms: Terms,
    step: u64,
    channels: Vec<Channel>,
    /// Distances.
    dims: u32,
    /// By channel and rank.
    workers: Vec<Worker>,
    /// By channel, rank that sends, and distance.
    links: Vec<Link>,
    /// Workers that have something to receive.
    left: usize,
    pub(crate) ends: Ends,
}

/// Whether NCCL would run it over these ranks: several servers with one rank each.
pub(super) fn fits(layout: &Layout) -> bool {
    layout.domains().len() > 1 && layout.ranks_per_domain() == Some(1)
}

/// The program over the ranks of a layout, of which there are two or more.
pub(super) fn program(
    gather: bool,
    size: Bytes,
    layout: &Layout,
    settings: &Settings,
    cut: Cut,
) -> Result<Pat, CollectiveError> {
    let (ranks, step) = (layout.ranks(), settings.step.get());
    let channel = |shape: Shape| {
        let messages = [0, shape.laps - 1].map(|lap| {
            let chunk = largest(shape.lap(lap), ranks);
            schedule(ranks, aggregation(ranks, chunk, step * u64::from(STEPS)), gather)
        });
        Channel { shape, messages }
    };
    let channels: Vec<_> = cut.shapes.into_iter().map(channel).collect();
    let dims = ranks.next_power_of_two().ilog2();
    let workers = vec![Worker::default(); channels.len() * ranks as usize];
    let links = vec![Link::default(); workers.len() * dims as usize];
    let mut pat = Pat {
        gather,
        seats: (0..ranks).map(|rank| layout.seat(RankId(rank))).collect(),
        terms: Terms::new(settings, cut.window),
        step,
        channels,
        dims,
        workers,
        links,
        left: 0,
        ends: Ends::new(layout),
    };
    pat.expect().ok_or(CollectiveError::TooLarge(size))?;
    Ok(pat)
}

impl Pat {
    fn ranks(&self) -> u32 {
        self.seats.len() as u32
    }

    fn rank(&self, worker: usize) -> u32 {
        worker as u32 % self.ranks()
    }

    fn channel(&self, worker: usize) -> &Channel {
        &self.channels[worker / self.seats.len()]
    }

    fn link(&self, worker: usize, dim: u32) -> usize {
        worker * self.dims as usize + dim as usize
    }

    /// The worker so far up or down its channel.
    fn shifted(&self, worker: usize, dim: u32, up: bool) -> usize {
        let (rank, ranks, far) = (self.rank(worker), self.ranks(), 1 << dim);
        let other = if up { rank + far } else { rank + ranks - far };
        worker - rank as usize + (other % ranks) as usize
    }

    fn target(&self, worker: usize, dim: u32) -> usize {
        self.shifted(worker, dim, self.gather)
    }

    fn source(&self, worker: usize, dim: u32) -> usize {
        self.shifted(worker, dim, !self.gather)
    }

    /// The ranks whose chunks are in a worker's message.
    fn chunks(&self, worker: usize, message: Message) -> impl Iterator<Item = u32> + use<> {
        let (rank, ranks) = (self.rank(worker), self.ranks());
        let near = message.first + if self.gather { 0 } else { 1 << message.dim };
        (0..message.count).map(move |at| (rank + ranks - near - at * message.stride) % ranks)
    }

    fn bytes(&self, worker: usize, lap: u32, message: Message) -> u64 {
        let shape = &self.channel(worker).shape;
        self.chunks(worker, message).map(|chunk| shape.chunk(lap, chunk)).sum()
    }

    /// Counts the pieces of all links; `None` if there are too many.
    fn expect(&mut self) -> Option<()> {
        for worker in 0..self.workers.len() {
            for (count, lap) in self.channel(worker).shape.kinds() {
                let messages = if count > 0 { self.channel(worker).of_lap(lap).len() } else { 0 };
                for at in 0..messages {
                    let message = self.channel(worker).of_lap(lap)[at];
                    let pieces = self.bytes(worker, lap, message).div_ceil(self.step);
                    let pieces = u32::try_from(pieces.checked_mul(count.into())?).ok()?;
                    let link = self.link(worker, message.dim);
                    self.links[link].expected = self.links[link].expected.checked_add(pieces)?;
                }
            }
        }
        for worker in 0..self.workers.len() {
            self.workers[worker].sends = self.settle(worker, Cursor::default(), true);
            self.workers[worker].receives = self.settle(worker, Cursor::default(), false);
        }
        self.left = (0..self.workers.len()).filter(|&at| self.receiving(at).is_some()).count();
        Some(())
    }

    /// The next message at or after a cursor that has bytes.
    fn settle(&self, worker: usize, mut at: Cursor, sends: bool) -> Cursor {
        let channel = self.channel(worker);
        while at.lap < channel.shape.laps {
            let Some(&message) = channel.of_lap(at.lap).get(at.message as usize) else {
                at = Cursor { lap: at.lap + 1, ..Cursor::default() };
                continue;
            };
            let from = if sends { worker } else { self.source(worker, message.dim) };
            at.bytes = self.bytes(from, at.lap, message);
            if at.bytes > 0 {
                break;
            }
            at.message += 1;
        }
        at
    }

    /// The cursor a piece further on.
    fn next(&self, worker: usize, at: Cursor, sends: bool) -> Cursor {
        let piece = at.piece + 1;
        if u64::from(piece) * self.step < at.bytes {
            return Cursor { piece, ..at };
        }
        let message = at.message + 1;
        self.settle(worker, Cursor { lap: at.lap, message, ..Cursor::default() }, sends)
    }

    fn message(&self, worker: usize, at: Cursor) -> Option<Message> {
        let channel = self.channel(worker);
        let inside = at.lap < channel.shape.laps;
        inside.then(|| channel.of_lap(at.lap).get(at.message as usize).copied()).flatten()
    }

    fn sending(&self, worker: usize) -> Option<Message> {
        self.message(worker, self.workers[worker].sends)
    }

    fn receiving(&self, worker: usize) -> Option<Message> {
        self.message(worker, self.workers[worker].receives)
    }

    fn piece(&self, at: Cursor) -> Bytes {
        Bytes::new(ragged(at.bytes, self.step, at.piece))
    }

    /// The NICs of a link and its first queue.
    fn way(&self, link: usize) -> Way {
        let (worker, dim) = (link / self.dims as usize, link as u32 % self.dims);
        let seat = |worker| self.seats[self.rank(worker) as usize];
        let (from, to) = (seat(worker).nic, seat(self.target(worker, dim)).nic);
        let channel = (worker / self.seats.len()) as u32;
        let queue = (channel * self.dims + dim) * self.terms.queues;
        Way::Network { from, to, queue, relay: None }
    }

    /// What goes over every link.
    fn carried(&self) -> impl Iterator<Item = (Way, u64)> + '_ {
        let worker = move |worker: usize| {
            let mut carried = vec![0; self.dims as usize];
            let channel = self.channel(worker);
            for (count, lap) in channel.shape.kinds().into_iter().filter(|kind| kind.0 > 0) {
                for &message in channel.of_lap(lap) {
                    let bytes = self.bytes(worker, lap, message) * u64::from(count);
                    carried[message.dim as usize] += bytes;
                }
            }
            let first = self.link(worker, 0);
            carried.into_iter().zip(first..).map(|(bytes, link)| (self.way(link), bytes))
        };
        (0..self.workers.len()).flat_map(worker)
    }

    pub(super) fn loads(&self) -> Loads {
        let mut loads = Loads::default();
        self.carried().for_each(|(way, bytes)| loads.add(way, Bytes::new(bytes)));
        loads
    }

    /// What goes over each of its queue pairs.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let queues = self.terms.queues;
        let mut demands = Vec::new();
        for (way, bytes) in self.carried() {
            let Way::Network { from, to, queue, .. } = way else { continue };
            demands.extend((0..queues).map(|turn| Demand {
                from,
                to,
                queue: Queue(queue + turn),
                bytes: Bytes::new(part(bytes, queues, turn)),
            }));
        }
        demands
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        if self.left == 0 {
            return out.push(Action::Finished);
        }
        for worker in 0..self.workers.len() {
            if self.sending(worker).is_none() && self.receiving(worker).is_none() {
                continue;
            }
            let gpu = self.seats[self.rank(worker) as usize].gpu;
            let span = self.terms.launch(gpu);
            if span.is_zero() {
                self.launch(worker, out);
            } else {
                let token = Token::new(kind::LAUNCHED, 0, worker as u32);
                out.push(Action::Wait { token, gpu, span });
            }
        }
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let (index, slot) = (token.index(), token.slot());
        let of_worker = token.kind() >= kind::COPIED;
        let most = if of_worker { self.workers.len() } else { self.links.len() };
        if index >= most || token.kind() > kind::LAUNCHED {
            debug_assert!(false, "a token of another program");
            return;
        }
        match token.kind() {
            kind::LANDED => self.arrive(index, slot, out),
            kind::PASSED => self.take(index, slot, out),
            kind::CLEARED => {
                self.links[index].cleared += 1;
                self.send(index / self.dims as usize, out);
            }
            kind::COPIED => {
                self.workers[index].copying = false;
                self.copied(index, out);
                self.copy(index, out);
            }
            _ => self.launch(index, out),
        }
    }

    /// A worker begins: its buffers are free.
    fn launch(&mut self, worker: usize, out: &mut Vec<Action>) {
        self.workers[worker].launched = true;
        for dim in 0..self.dims {
            self.grant(self.link(self.source(worker, dim), dim), out);
        }
        self.send(worker, out);
    }

    /// Returns every free buffer to its sender.
    fn grant(&mut self, number: usize, out: &mut Vec<Action>) {
        let Way::Network { from, to, queue, .. } = self.way(number) else { return };
        let (window, bytes) = (self.terms.window, self.terms.clear_to_send);
        let link = &mut self.links[number];
        while link.granted < link.expected.min(link.consumed + window) {
            link.granted += 1;
            let token = Token::new(kind::CLEARED, 0, number as u32);
            let (from, to, queue, traffic) = (to, from, Queue(queue), Traffic::ClearToSend);
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// Whether a worker has what its message passes on.
    fn is_ready(&self, worker: usize, message: Message) -> bool {
        let Worker { sends, receives, launched, .. } = self.workers[worker];
        // What needs nothing of its lap does not wait for the lap before, either.
        let has = (receives.lap, receives.message) >= (sends.lap, message.need);
        launched && (message.need == 0 || has)
    }

    /// Hands pieces to the NIC, as far as they are there and the receivers ready for them.
    fn send(&mut self, worker: usize, out: &mut Vec<Action>) {
        while let Some(message) = self.sending(worker) {
            let number = self.link(worker, message.dim);
            let link = &self.links[number];
            if !self.is_ready(worker, message) || link.posted == link.cleared {
                return;
            }
            let Way::Network { from, to, queue, .. } = self.way(number) else { return };
            let sends = self.workers[worker].sends;
            let bytes = self.piece(sends);
            let link = &mut self.links[number];
            let slot = link.posted % STEPS;
            link.sizes[slot as usize] = bytes.get() as u32;
            let queue = Queue(queue + link.posted % self.terms.queues);
            link.posted += 1;
            self.workers[worker].sends = self.next(worker, sends, true);
            self.ends.mark(self.rank(worker));
            let (token, traffic) =
                (Token::new(kind::LANDED, slot as u8, number as u32), Traffic::Data);
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// A piece has arrived at the receiver's proxy, which passes it on.
    fn arrive(&mut self, number: usize, slot: u8, out: &mut Vec<Action>) {
        let bytes = self.links[number].sizes[usize::from(slot) % STEPS as usize];
        let span = self.terms.cost.delay(Bytes::new(bytes.into()));
        if span.is_zero() {
            return self.take(number, slot, out);
        }
        let gpu = self.seats[self.rank(self.receiver(number)) as usize].gpu;
        out.push(Action::Wait { token: Token::new(kind::PASSED, slot, number as u32), gpu, span });
    }

    fn receiver(&self, link: usize) -> usize {
        self.target(link / self.dims as usize, link as u32 % self.dims)
    }

    /// A piece is in the receiver's hands.
    fn take(&mut self, number: usize, slot: u8, out: &mut Vec<Action>) {
        let link = &mut self.links[number];
        link.ahead |= 1 << (u32::from(slot) % STEPS);
        while link.ahead >> (link.landed % STEPS) & 1 == 1 {
            link.ahead &= !(1 << (link.landed % STEPS));
            link.landed += 1;
        }
        self.copy(self.receiver(number), out);
    }

    /// The receiver copies, or adds up, one piece after the other in the order of its messages.
    fn copy(&mut self, worker: usize, out: &mut Vec<Action>) {
        while let Some(message) = self.receiving(worker) {
            let link = self.links[self.link(self.source(worker, message.dim), message.dim)];
            if self.workers[worker].copying || link.landed == link.consumed {
                return;
            }
            let span = self.terms.cost.work(self.piece(self.workers[worker].receives));
            if !span.is_zero() {
                self.workers[worker].copying = true;
                let gpu = self.seats[self.rank(worker) as usize].gpu;
                let token = Token::new(kind::COPIED, 0, worker as u32);
                return out.push(Action::Wait { token, gpu, span });
            }
            self.copied(worker, out);
        }
    }

    fn copied(&mut self, worker: usize, out: &mut Vec<Action>) {
        let Some(message) = self.receiving(worker) else {
            debug_assert!(false, "a piece was copied after the last");
            return;
        };
        let number = self.link(self.source(worker, message.dim), message.dim);
        self.links[number].consumed += 1;
        self.ends.mark(self.rank(worker));
        self.workers[worker].receives = self.next(worker, self.workers[worker].receives, false);
        self.grant(number, out);
        self.send(worker, out);
        if self.receiving(worker).is_none() {
            self.left -= 1;
            if self.left == 0 {
                out.push(Action::Finished);
            }
        }
    }
}

#[cfg(test)]
mod tests;
