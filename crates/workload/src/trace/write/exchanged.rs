//! [`Exchanged`]: an AllToAll, Gather or Scatter as messages, piece by piece as the collective itself sends them.
//!
//! What is written are the messages of [`Exchange`], channel by channel in its rounds: a clear-to-send before every piece that
//! crosses the network, a message to the GPU that owns the NIC where another rail is meant (PXN), no more pieces under way than a buffer
//! holds, and the next round when all of one has arrived. A GPU that handed its pieces to another learns of their arrival by
//! a message of no bytes, which takes no time when such a schedule is replayed.
//!
//! What it is not: inside a server a sender does not wait for its receiver to come to the same round.

use super::ring::Hop;
use super::unrolled::CHANNELS;
use crate::collective::exchange::{Exchange, Message};
use crate::layout::{GpuId, Layout, RankId};
use std::collections::BTreeMap;

/// The messages of a collective over a group, in which members have numbers from 0 on.
#[derive(Debug)]
pub(super) struct Exchanged {
    exchange: Exchange,
    /// In the order of channels and rounds.
    messages: Vec<Message>,
    /// Members by their GPUs.
    members: BTreeMap<GpuId, u32>,
    /// By member: the messages that it sends or passes on, and those that it receives.
    sends: Vec<Vec<u32>>,
    receives: Vec<Vec<u32>>,
}

impl Exchanged {
    /// None where the GPU of a NIC is no member.
    pub(super) fn new(exchange: Exchange, layout: &Layout) -> Option<Self> {
        let ranks = layout.ranks();
        let gpu = |rank: u32| layout.seat(RankId(rank)).gpu;
        let members: BTreeMap<GpuId, u32> = (0..ranks).map(|rank| (gpu(rank), rank)).collect();
        let mut messages = exchange.messages();
        messages.sort_unstable_by_key(|message| (message.channel, message.round, message.from));
        let mut sends = vec![Vec::new(); ranks as usize];
        let mut receives = sends.clone();
        for (message, number) in messages.iter().zip(0..) {
            sends[message.from as usize].push(number);
            receives[message.to as usize].push(number);
            if let Some(exit) = message.exit {
                let exit = *members.get(&exit)?;
                if exit != message.from {
                    sends[exit as usize].push(number);
                }
            }
        }
        Some(Self { exchange, messages, members, sends, receives })
    }

    /// What a member sends and receives. Peers are members.
    pub(super) fn hops(&self, member: u32) -> Vec<Hop> {
        let mut hops = Vec::new();
        // The end of the last round of each channel.
        let mut last: BTreeMap<u32, u32> = BTreeMap::new();
        for message in self.listed(&self.sends, member) {
            if message.from != member {
                self.pass_on(message, member, &mut hops);
                continue;
            }
            let before = last.get(&message.channel).copied();
            let end = match self.exit(message) {
                None => self.send_inside(message, before, &mut hops),
                Some(exit) if exit == member => self.send(message, before, &mut hops),
                Some(exit) => self.hand_over(message, exit, before, &mut hops),
            };
            last.insert(message.channel, end);
        }
        last.clear();
        for message in self.listed(&self.receives, member) {
            let before = last.get(&message.channel).copied();
            let end = self.receive(message, before, &mut hops);
            last.insert(message.channel, end);
        }
        hops
    }

    fn listed<'a>(&'a self, of: &'a [Vec<u32>], member: u32) -> impl Iterator<Item = &'a Message> {
        of[member as usize].iter().map(|&number| &self.messages[number as usize])
    }

    /// The member whose NIC sends a message.
    fn exit(&self, message: &Message) -> Option<u32> {
        message.exit.map(|gpu| self.members.get(&gpu).copied().unwrap_or(message.from))
    }

    fn bytes(&self, message: &Message, piece: u32) -> u64 {
        self.exchange.piece(message, piece).get()
    }

    /// Pieces over NVLink to `peer`, a buffer of them at a time; the number of the last.
    fn near(
        &self,
        message: &Message,
        (peer, lane): (u32, u32),
        before: Option<u32>,
        hops: &mut Vec<Hop>,
    ) -> u32 {
        let first = hops.len() as u32;
        for piece in 0..message.pieces {
            let room = piece.checked_sub(self.exchange.window()).map(|piece| first + piece);
            let (bytes, after) = (self.bytes(message, piece), [before, room]);
            hops.push(Hop { is_send: true, peer, bytes, lane, after });
        }
        hops.len() as u32 - 1
    }

    fn send_inside(&self, message: &Message, before: Option<u32>, hops: &mut Vec<Hop>) -> u32 {
        self.near(message, (message.to, lane(message)), before, hops)
    }

    /// A member sends by its own NIC.
    fn send(&self, message: &Message, before: Option<u32>, hops: &mut Vec<Hop>) -> u32 {
        for piece in 0..message.pieces {
            let after = [before, Some(self.cleared(message, hops))];
            let (peer, bytes, lane) = (message.to, self.bytes(message, piece), lane(message));
            hops.push(Hop { is_send: true, peer, bytes, lane, after });
        }
        hops.len() as u32 - 1
    }

    /// A member hands its pieces to the one that owns the NIC, and learns from it when all have arrived.
    fn hand_over(
        &self,
        message: &Message,
        exit: u32,
        before: Option<u32>,
        hops: &mut Vec<Hop>,
    ) -> u32 {
        let own = lane(message);
        self.near(message, (exit, 2 * CHANNELS + own), before, hops);
        let (peer, lane, after) = (exit, 3 * CHANNELS + own, [None; 2]);
        hops.push(Hop { is_send: false, peer, bytes: 0, lane, after });
        hops.len() as u32 - 1
    }

    /// A member's NIC sends the pieces of another.
    fn pass_on(&self, message: &Message, member: u32, hops: &mut Vec<Hop>) {
        debug_assert_eq!(self.exit(message), Some(member), "a message that goes another way");
        let (peer, own) = (message.from, lane(message));
        for piece in 0..message.pieces {
            let (bytes, got) = (self.bytes(message, piece), hops.len() as u32);
            let (lane, after) = (2 * CHANNELS + own, [None; 2]);
            hops.push(Hop { is_send: false, peer, bytes, lane, after });
            let after = [Some(got), Some(self.cleared(message, hops))];
            hops.push(Hop { is_send: true, peer: message.to, bytes, lane: own, after });
        }
        let (lane, after) = (3 * CHANNELS + own, [Some(hops.len() as u32 - 1), None]);
        hops.push(Hop { is_send: true, peer, bytes: 0, lane, after });
    }

    /// Takes a clear-to-send of the receiver; its number.
    fn cleared(&self, message: &Message, hops: &mut Vec<Hop>) -> u32 {
        let (bytes, lane) = (self.exchange.clear_to_send().get(), CHANNELS + lane(message));
        hops.push(Hop { is_send: false, peer: message.to, bytes, lane, after: [None; 2] });
        hops.len() as u32 - 1
    }

    fn receive(&self, message: &Message, before: Option<u32>, hops: &mut Vec<Hop>) -> u32 {
        let (peer, own) = (self.exit(message).unwrap_or(message.from), lane(message));
        let far = message.exit.is_some();
        let clear = |after: Option<u32>, hops: &mut Vec<Hop>| {
            let (bytes, lane) = (self.exchange.clear_to_send().get(), CHANNELS + own);
            hops.push(Hop { is_send: true, peer, bytes, lane, after: [after, None] });
        };
        let window = self.exchange.window();
        (0..window.min(message.pieces)).filter(|_| far).for_each(|_| clear(before, hops));
        let mut got = 0;
        for piece in 0..message.pieces {
            got = hops.len() as u32;
            let bytes = self.bytes(message, piece);
            hops.push(Hop { is_send: false, peer, bytes, lane: own, after: [None; 2] });
            if far && piece + window < message.pieces {
                clear(Some(got), hops);
            }
        }
        got
    }
}

/// Which lane its pieces take. A pair inside a server has one message, whatever its channel.
const fn lane(message: &Message) -> u32 {
    message.channel % CHANNELS
}
