//! [`Unrolled`]: the rings of a collective between servers as messages, piece by piece as the collective itself sends them.
//!
//! What is written are the pieces of [`Machine`], on the same channels and by the same NICs: a message to the GPU that owns
//! the NIC where a ring leaves its server by another one (PXN), the receiver's clear-to-send before every piece, and no more
//! pieces under way than a buffer holds. So the schedule takes as long as the collective, also where delays decide. Clear-to-sends are
//! known by their tags when such a schedule is replayed ([`is_clear_to_send`]): as data they would wait for that of their NIC.
//!
//! What it is not: a buffer of NVLink is taken to be free as soon as its piece has arrived.

use super::ring::Hop;
use crate::collective::Settings;
use crate::collective::link::{Link, Way};
use crate::collective::machine::{Machine, Worker};
use crate::collective::part::MAIN;
use crate::layout::{GpuId, Layout, RankId};
use std::collections::BTreeMap;

/// Most channels: lanes of clear-to-sends, of PXN and of what has arrived by it come behind those of the pieces.
pub(super) const CHANNELS: u32 = crate::collective::MOST_CHANNELS;
/// Lanes that it uses.
pub(super) const LANES: u32 = 4 * CHANNELS;

/// Whether a message in a lane is a clear-to-send.
pub(super) fn is_clear_to_send(lane: u32, bytes: u64) -> bool {
    (CHANNELS..2 * CHANNELS).contains(&lane) && bytes == Settings::default().clear_to_send.get()
}

/// The pieces of a collective over a group, in which members have numbers from 0 on.
#[derive(Debug)]
pub(super) struct Unrolled {
    machine: Machine,
    /// Members by their GPUs.
    members: BTreeMap<GpuId, u32>,
    /// By member: its workers, and the links whose pieces it hands to its NIC.
    workers: Vec<Vec<u32>>,
    relayed: Vec<Vec<u32>>,
}

impl Unrolled {
    /// None where a message could not go the way of a piece.
    pub(super) fn new(machine: Machine, layout: &Layout) -> Option<Self> {
        let ranks = layout.ranks();
        let gpu = |rank: u32| layout.seat(RankId(rank)).gpu;
        let members: BTreeMap<GpuId, u32> = (0..ranks).map(|rank| (gpu(rank), rank)).collect();
        let mut workers = vec![Vec::new(); ranks as usize];
        for (worker, number) in machine.workers.iter().zip(0..) {
            workers[*members.get(&worker.gpu)? as usize].push(number);
        }
        let mut relayed = vec![Vec::new(); ranks as usize];
        for (link, number) in machine.links.iter().zip(0..) {
            let Way::Network { from, to, relay, .. } = link.way else { continue };
            let [sender, receiver] =
                [link.sender, link.receiver].map(|worker| machine.workers[worker as usize].gpu);
            let exit = relay.map_or(sender, |(_, exit)| exit);
            let nic = |gpu| Some(layout.seat(RankId(*members.get(&gpu)?)).nic);
            if nic(exit)? != from || nic(receiver)? != to {
                return None;
            }
            if relay.is_some() {
                relayed[*members.get(&exit)? as usize].push(number);
            }
        }
        Some(Self { machine, members, workers, relayed })
    }

    /// What a member sends and receives. Peers are members.
    pub(super) fn hops(&self, member: u32) -> Vec<Hop> {
        let mut hops = Vec::new();
        for &worker in &self.workers[member as usize] {
            self.work(&self.machine.workers[worker as usize], &mut hops);
        }
        for &link in &self.relayed[member as usize] {
            self.relay(link, &mut hops);
        }
        hops
    }

    fn member(&self, gpu: GpuId) -> u32 {
        self.members.get(&gpu).copied().unwrap_or(0)
    }

    fn gpu(&self, worker: u32) -> GpuId {
        self.machine.workers[worker as usize].gpu
    }

    /// The bytes of every step of a worker that has some, with what it takes and gives.
    fn steps<'a>(&'a self, worker: &'a Worker) -> impl Iterator<Item = (u64, bool, bool)> + 'a {
        let shape = &self.machine.shapes[worker.channel as usize];
        let laps = (0..shape.laps).flat_map(|lap| (0..worker.part.steps()).map(move |s| (lap, s)));
        laps.flat_map(move |(lap, step)| {
            let op = worker.part.op(step);
            let bytes = move |slice| shape.slice(lap, op.chunk, slice);
            let takes = op.takes & MAIN != 0;
            (0..shape.slices).map(move |slice| (bytes(slice), takes, op.gives & MAIN != 0))
        })
        .filter(|(bytes, ..)| *bytes > 0)
    }

    fn work(&self, worker: &Worker, hops: &mut Vec<Hop>) {
        let window = self.machine.terms.window as usize;
        let link = |number: u32| self.machine.links.get(number as usize);
        let (input, output) = (link(worker.inputs[0]), link(worker.outputs[0]));
        let source = input.map(|link| match link.way {
            Way::Network { relay: Some((_, exit)), .. } => (self.member(exit), true),
            Way::Network { relay: None, .. } => (self.member(self.gpu(link.sender)), true),
            Way::Local | Way::Nvlink { .. } => (self.member(self.gpu(link.sender)), false),
        });
        let (channel, expected) = (worker.channel, input.map_or(0, |link| link.expected as usize));
        let clear = |after: [Option<u32>; 2], hops: &mut Vec<Hop>| {
            if let Some((peer, true)) = source {
                let bytes = self.machine.terms.clear_to_send.get();
                hops.push(Hop { is_send: true, peer, bytes, lane: CHANNELS + channel, after });
            }
        };
        (0..window.min(expected)).for_each(|_| clear([None; 2], hops));
        let (mut taken, mut sent) = (0, Vec::new());
        for (bytes, takes, gives) in self.steps(worker) {
            let room = sent.len().checked_sub(window).map(|at: usize| sent[at]).filter(|_| gives);
            let mut got = None;
            if let Some((peer, _)) = source.filter(|_| takes) {
                got = Some(hops.len() as u32);
                let after = [None; 2];
                hops.push(Hop { is_send: false, peer, bytes, lane: channel, after });
                taken += 1;
            }
            if let Some(link) = output.filter(|_| gives) {
                self.send(link, (bytes, channel), [got, room], hops);
                sent.push(hops.len() as u32 - 1);
            }
            if got.is_some() && taken + window <= expected {
                clear([got, room], hops);
            }
        }
    }

    /// A piece goes to the next worker, or to the GPU that owns the NIC. Straight to the network it waits for its clear-to-send, which
    /// says that there is room.
    fn send(
        &self,
        link: &Link,
        (bytes, channel): (u64, u32),
        [got, room]: [Option<u32>; 2],
        hops: &mut Vec<Hop>,
    ) {
        let receiver = self.member(self.gpu(link.receiver));
        let (peer, lane, second) = match link.way {
            Way::Network { relay: Some((_, exit)), .. } => {
                (self.member(exit), 2 * CHANNELS + channel, room)
            }
            Way::Network { relay: None, .. } => {
                (receiver, channel, Some(self.cleared(receiver, channel, hops)))
            }
            Way::Local | Way::Nvlink { .. } => (receiver, channel, room),
        };
        hops.push(Hop { is_send: true, peer, bytes, lane, after: [got, second] });
    }

    /// Takes a clear-to-send; its number.
    fn cleared(&self, peer: u32, channel: u32, hops: &mut Vec<Hop>) -> u32 {
        let bytes = self.machine.terms.clear_to_send.get();
        let (lane, after) = (CHANNELS + channel, [None; 2]);
        hops.push(Hop { is_send: false, peer, bytes, lane, after });
        hops.len() as u32 - 1
    }

    /// Pieces from another GPU of the server to the network.
    fn relay(&self, number: u32, hops: &mut Vec<Hop>) {
        let link = &self.machine.links[number as usize];
        let sender = &self.machine.workers[link.sender as usize];
        let (from, to) = (self.member(sender.gpu), self.member(self.gpu(link.receiver)));
        let channel = sender.channel;
        for (bytes, ..) in self.steps(sender).filter(|(_, _, gives)| *gives) {
            let (lane, after) = (2 * CHANNELS + channel, [None; 2]);
            let got = hops.len() as u32;
            hops.push(Hop { is_send: false, peer: from, bytes, lane, after });
            let after = [Some(got), Some(self.cleared(to, channel, hops))];
            hops.push(Hop { is_send: true, peer: to, bytes, lane: channel, after });
        }
    }
}
