//! [`Exchange`]: every rank sends to others, round after round: all-to-all and point-to-point.
//!
//! Which rank sends to which in which round is in [`super::rounds`].
//!
//! Only the round in hand has state, so memory grows with ranks and lanes, not with pairs: a receiver
//! that is in a round can be written to by one rank only, and a sender that comes first waits for the
//! receiver to get there.

#[cfg(test)]
use super::cost::Cost;
use super::ends::Ends;
use super::link::SLOTS;
use super::machine::Terms;
use super::rounds::Rounds;
use super::shape::part;
use crate::layout::GpuId;
use crate::program::{Action, Demand, Queue, Token, Traffic};
use xoff_units::Bytes;

mod kind {
    pub(super) const LANDED: u8 = 0;
    pub(super) const STAGED: u8 = 1;
    pub(super) const CLEARED: u8 = 2;
    pub(super) const LAUNCHED: u8 = 3;
    /// The receiver's proxy has passed a piece on.
    pub(super) const PASSED: u8 = 4;
    /// The receiver has copied a piece.
    pub(super) const COPIED: u8 = 5;
}

/// What a rank sends on a channel.
#[derive(Debug, Clone, Copy, Default)]
struct Sender {
    /// Which of the channel's rounds; past the last one it is done.
    round: u32,
    /// Pieces of the round in all.
    pieces: u32,
    filled: u32,
    staged: u32,
    posted: u32,
    landed: u32,
}

/// What a rank receives on a channel.
#[derive(Debug, Clone, Copy, Default)]
struct Receiver {
    round: u32,
    pieces: u32,
    granted: u32,
    cleared: u32,
    /// Pieces that have come, without gaps, and those of them that are copied.
    arrived: u32,
    /// Those that have come, by number modulo the slots: the proxy hands them over in their order.
    ahead: u16,
    landed: u32,
    copying: bool,
}

/// What a rank sends to another. Both work on one message of a channel after the other, in the order of rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    /// Channels inside servers may come behind those between them.
    pub(crate) channel: u32,
    pub(crate) round: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The GPU whose NIC sends it; none inside a server.
    pub(crate) exit: Option<GpuId>,
    pub(crate) pieces: u32,
    /// Lanes of the sender and of the receiver.
    ends: (usize, usize),
}

/// Every rank sends to others. Made by [`super::program`].
#[derive(Debug, Clone)]
pub struct Exchange {
    rounds: Rounds,
    terms: Terms,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    launched: Vec<bool>,
    /// Senders and receivers that are not done.
    active: usize,
    pub(crate) ends: Ends,
}

impl Exchange {
    pub(super) fn new(rounds: Rounds, terms: Terms, ends: Ends) -> Self {
        let lanes = rounds.lanes_in_all();
        Self {
            terms,
            senders: (0..lanes)
                .map(|lane| Sender {
                    round: rounds.first(lane).unwrap_or(u32::MAX),
                    ..Sender::default()
                })
                .collect(),
            receivers: (0..lanes)
                .map(|lane| Receiver {
                    round: rounds.first_heard(lane).unwrap_or(u32::MAX),
                    ..Receiver::default()
                })
                .collect(),
            launched: vec![false; lanes],
            rounds,
            active: 0,
            ends,
        }
    }

    /// The rounds it goes through.
    pub(super) fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// What goes over each of its queue pairs.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let queues = self.terms.queues;
        let mut demands = Vec::new();
        for lane in self.rounds.by_rank() {
            let Some(first) = self.rounds.first(lane) else { continue };
            for target in (first..).map_while(|round| self.rounds.target(lane, round)) {
                let Some(exit) = self.rounds.exit(lane, target) else { continue };
                let (from, to) = (exit.nic, self.rounds.seat(target).nic);
                let first = self.rounds.queue(lane, target) * queues;
                let bytes = self.rounds.in_all(lane, target);
                demands.extend((0..queues).map(|turn| Demand {
                    from,
                    to,
                    queue: Queue(first + turn),
                    bytes: Bytes::new(part(bytes, queues, turn)),
                }));
            }
        }
        demands
    }

    /// Every message between two ranks that have something for each other, in no order.
    pub(crate) fn messages(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        for lane in self.rounds.by_rank() {
            let Some(first) = self.rounds.first(lane) else { continue };
            let targets = (first..).map_while(|at| Some((at, self.rounds.target(lane, at)?)));
            for (round, target) in targets {
                let pieces = self.rounds.pieces(lane, target);
                if pieces > 0 {
                    let exit = self.rounds.exit(lane, target);
                    let (channel, from, to) = self.rounds.ends(lane, target);
                    let exit = exit.map(|seat| seat.gpu);
                    let ends = (lane, target);
                    messages.push(Message { channel, round, from, to, exit, pieces, ends });
                }
            }
        }
        messages
    }

    /// The bytes of a piece of a message.
    pub(crate) fn piece(&self, message: &Message, number: u32) -> Bytes {
        let (lane, target) = message.ends;
        self.rounds.size(lane, target, number)
    }

    /// Bytes of a clear-to-send.
    pub(crate) fn clear_to_send(&self) -> Bytes {
        self.terms.clear_to_send
    }

    /// The lane that a sender's round leads to.
    fn target(&self, lane: usize) -> Option<usize> {
        self.rounds.target(lane, self.senders[lane].round)
    }

    /// The lane that a receiver's round comes from.
    fn source(&self, lane: usize) -> Option<usize> {
        self.rounds.source(lane, self.receivers[lane].round)
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        let lanes = self.senders.len();
        for lane in 0..lanes {
            self.open_sender(lane);
            self.open_receiver(lane);
        }
        for lane in 0..lanes {
            let done = [self.sender_is_done(lane), self.receiver_is_done(lane)];
            for _ in done.into_iter().filter(|done| !done) {
                self.ends.begin(self.rounds.seat(lane).gpu);
                self.active += 1;
            }
        }
        if self.active == 0 {
            return out.push(Action::Finished);
        }
        for lane in 0..lanes {
            // All may be done before one that has no part in it would come.
            if self.sender_is_done(lane) && self.receiver_is_done(lane) {
                continue;
            }
            let gpu = self.rounds.seat(lane).gpu;
            let span = self.terms.launch(gpu);
            if span.is_zero() {
                self.begin(lane, out);
            } else {
                let token = Token::new(kind::LAUNCHED, 0, lane as u32);
                out.push(Action::Wait { token, gpu, span });
            }
        }
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let lane = token.index();
        if lane >= self.senders.len() {
            debug_assert!(false, "a token of another program");
            return;
        }
        match token.kind() {
            kind::LANDED => self.arrive(lane, token.slot(), out),
            kind::PASSED => self.take(lane, token.slot(), out),
            kind::COPIED => self.copied(lane, out),
            kind::STAGED => {
                self.senders[lane].staged += 1;
                self.pump(lane, out);
            }
            kind::CLEARED => {
                self.receivers[lane].cleared += 1;
                self.serve(lane, out);
            }
            _ => self.begin(lane, out),
        }
    }

    /// What ranks and proxies take.
    #[cfg(test)]
    pub(super) fn cost(&self) -> Cost {
        self.terms.cost
    }

    /// Pieces in a buffer.
    pub(crate) fn window(&self) -> u32 {
        self.terms.window
    }

    fn begin(&mut self, lane: usize, out: &mut Vec<Action>) {
        self.launched[lane] = true;
        self.grant(lane, out);
        self.fill(lane, out);
        self.serve(lane, out);
    }

    fn sender_is_done(&self, lane: usize) -> bool {
        self.target(lane).is_none()
    }

    fn receiver_is_done(&self, lane: usize) -> bool {
        self.source(lane).is_none()
    }

    /// Goes to the next round that has something to send, the one in hand included.
    fn open_sender(&mut self, lane: usize) {
        while let Some(target) = self.target(lane) {
            let pieces = self.rounds.pieces(lane, target);
            let round = self.senders[lane].round;
            self.senders[lane] = Sender { round, pieces, ..Sender::default() };
            if pieces > 0 {
                return;
            }
            self.senders[lane].round += 1;
        }
    }

    fn open_receiver(&mut self, lane: usize) {
        while let Some(source) = self.source(lane) {
            let pieces = self.rounds.pieces(source, lane);
            let round = self.receivers[lane].round;
            self.receivers[lane] = Receiver { round, pieces, ..Receiver::default() };
            if pieces > 0 {
                return;
            }
            self.receivers[lane].round += 1;
        }
    }

    /// Returns the free buffers of a receiver's round to the sender.
    fn grant(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(source) = self.source(lane) else { return };
        let Some(exit) = self.rounds.exit(source, lane) else { return };
        let (from, to) = (self.rounds.seat(lane).nic, exit.nic);
        let queue = Queue(self.rounds.queue(source, lane) * self.terms.queues);
        let bytes = self.terms.clear_to_send;
        let window = self.terms.window;
        let receiver = &mut self.receivers[lane];
        while receiver.granted < receiver.pieces.min(receiver.landed + window) {
            receiver.granted += 1;
            let (token, traffic) =
                (Token::new(kind::CLEARED, 0, lane as u32), Traffic::ClearToSend);
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// Lets the sender of a receiver's round go on, if it has got there.
    fn serve(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(source) = self.source(lane) else { return };
        if self.target(source) == Some(lane) && self.launched[source] {
            self.fill(source, out);
            self.pump(source, out);
        }
    }

    /// Puts pieces into the sender's buffer: of the GPU that owns the NIC, or of the receiver.
    fn fill(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else { return };
        let exit = self.rounds.exit(lane, target);
        let met = self.met(lane, target);
        let (own, peer) = (self.rounds.seat(lane), self.rounds.seat(target));
        loop {
            let sender = &mut self.senders[lane];
            let full = sender.filled - sender.landed >= self.terms.window;
            if sender.filled == sender.pieces || full || exit.is_none() && !met {
                break;
            }
            let piece = sender.filled;
            sender.filled += 1;
            let (to, step) = match exit {
                None => (peer.gpu, kind::LANDED),
                Some(exit) if exit.nic != own.nic => (exit.gpu, kind::STAGED),
                Some(_) => {
                    sender.staged += 1;
                    continue;
                }
            };
            let slot = (piece % SLOTS) as u8;
            let bytes = self.rounds.size(lane, target, piece);
            let token = Token::new(step, slot, lane as u32);
            out.push(Action::Nvlink { token, from: own.gpu, to, bytes });
        }
        self.pump(lane, out);
    }

    /// Whether a receiver is in the round that a sender is in.
    fn met(&self, lane: usize, target: usize) -> bool {
        self.receivers[target].round == self.senders[lane].round && self.launched[target]
    }

    /// Hands pieces to the NIC as far as the receiver is ready for them.
    fn pump(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else { return };
        let Some(exit) = self.rounds.exit(lane, target) else { return };
        let cleared = match self.met(lane, target) {
            true => self.receivers[target].cleared,
            false => 0,
        };
        let (from, to) = (exit.nic, self.rounds.seat(target).nic);
        let first = self.rounds.queue(lane, target) * self.terms.queues;
        while self.senders[lane].posted < self.senders[lane].staged.min(cleared) {
            let piece = self.senders[lane].posted;
            self.senders[lane].posted += 1;
            let bytes = self.rounds.size(lane, target, piece);
            let token = Token::new(kind::LANDED, (piece % SLOTS) as u8, lane as u32);
            let (queue, traffic) = (Queue(first + piece % self.terms.queues), Traffic::Data);
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// A piece has arrived at its server: over the network at the receiver's proxy, which passes it on.
    fn arrive(&mut self, lane: usize, slot: u8, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else {
            debug_assert!(false, "a piece arrived after the last");
            return;
        };
        if self.rounds.exit(lane, target).is_none() {
            return self.take(lane, slot, out);
        }
        // Less than a buffer of pieces is under way, so the slot says which one it is.
        let landed = self.senders[lane].landed;
        let piece = landed + (u32::from(slot) + SLOTS - landed % SLOTS) % SLOTS;
        let span = self.terms.cost.delay(self.rounds.size(lane, target, piece));
        if span.is_zero() {
            return self.take(lane, slot, out);
        }
        let token = Token::new(kind::PASSED, slot, lane as u32);
        out.push(Action::Wait { token, gpu: self.rounds.seat(target).gpu, span });
    }

    /// A piece is in the receiver's hands, which copies one after the other.
    fn take(&mut self, lane: usize, slot: u8, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else { return };
        let receiver = &mut self.receivers[target];
        receiver.ahead |= 1 << slot;
        while receiver.ahead >> (receiver.arrived % SLOTS) & 1 == 1 {
            receiver.ahead &= !(1 << (receiver.arrived % SLOTS));
            receiver.arrived += 1;
        }
        self.copy(lane, target, out);
    }

    fn copy(&mut self, lane: usize, target: usize, out: &mut Vec<Action>) {
        let Receiver { arrived, landed, copying, .. } = self.receivers[target];
        if copying || landed == arrived {
            return;
        }
        let bytes = self.rounds.size(lane, target, landed);
        let span = match self.rounds.exit(lane, target) {
            Some(_) => self.terms.cost.pair_work(bytes, self.rounds.channels()),
            None => self.terms.cost.work(bytes),
        };
        if span.is_zero() {
            return self.copied(lane, out);
        }
        self.receivers[target].copying = true;
        let token = Token::new(kind::COPIED, 0, lane as u32);
        out.push(Action::Wait { token, gpu: self.rounds.seat(target).gpu, span });
    }

    fn copied(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else { return };
        let receiver = &mut self.receivers[target];
        receiver.copying = false;
        // The round is not over while pieces of it wait.
        let more = receiver.arrived > receiver.landed + 1;
        self.land(lane, out);
        if more {
            self.copy(lane, target, out);
        }
    }

    /// A sender or a receiver of a lane has got to the end of a round, and maybe of its rounds.
    fn ended(&mut self, lane: usize, all: bool) {
        if all {
            self.ends.end(self.rounds.seat(lane).gpu);
            self.active -= 1;
        }
    }

    /// A piece is where it belongs: both ends go on, to the next round if it was the last.
    fn land(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else {
            debug_assert!(false, "a piece arrived after the last");
            return;
        };
        self.senders[lane].landed += 1;
        self.receivers[target].landed += 1;
        if self.receivers[target].landed == self.receivers[target].pieces {
            self.receivers[target].round += 1;
            self.open_receiver(target);
            self.ended(target, self.receiver_is_done(target));
        }
        if self.senders[lane].landed == self.senders[lane].pieces {
            self.senders[lane].round += 1;
            self.open_sender(lane);
            self.ended(lane, self.sender_is_done(lane));
        }
        if self.active == 0 {
            return out.push(Action::Finished);
        }
        self.grant(target, out);
        self.fill(lane, out);
        self.serve(target, out);
    }
}
