//! Collectives as messages: what one member sends and receives, step by step.

use super::super::model::CollectiveKind;
use crate::collective::shape::LEAST_SLICE;

/// A message of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    pub(super) is_send: bool,
    pub(super) peer: u32,
    pub(super) bytes: u64,
    /// Messages with different lanes never meet.
    pub(super) lane: u32,
    /// Which hops of this list it waits for, beside what the collective waits for.
    pub(super) after: [Option<u32>; 2],
}

/// A collective of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group<'a> {
    pub(super) kind: CollectiveKind,
    pub(super) members: &'a [u32],
    /// The server of every rank.
    pub(super) servers: &'a [u32],
    pub(super) bytes: u64,
    pub(super) root: u32,
}

/// Lanes that the rings of a collective may use.
const LANES: u32 = 64;
/// A chunk of a ring is cut into four slices unless they were smaller than those of a collective, and into more where
/// they were larger than NCCL's slice.
const SLICE: u64 = LEAST_SLICE;
const LEAST_SLICES: u64 = 4;
const MOST_SLICE: u64 = 1 << 20;
/// Slices that a rank has under way in a ring, as the buffer of a connection allows: what others send need not wait for a
/// whole collective.
const WINDOW: usize = 4;
/// Pieces of a chain.
const PIECE: u64 = 512 << 10;
const MOST_PIECES: u64 = 64;

/// The share of part `at` when `bytes` are cut into `parts`.
fn part(bytes: u64, parts: u64, at: u64) -> u64 {
    bytes / parts + u64::from(at < bytes % parts)
}

impl Group<'_> {
    /// What a member does.
    pub(super) fn hops(&self, rank: u32) -> Vec<Hop> {
        match self.kind {
            CollectiveKind::AllReduce | CollectiveKind::Barrier => self.rings(rank, 2),
            CollectiveKind::AllGather | CollectiveKind::ReduceScatter => self.rings(rank, 1),
            CollectiveKind::Broadcast => self.chain(rank, false),
            CollectiveKind::Reduce => self.chain(rank, true),
            CollectiveKind::AllToAll => self.direct(rank, |_, _| true),
            CollectiveKind::Gather => self.direct(rank, |_, to| to == self.root),
            CollectiveKind::Scatter => self.direct(rank, |from, _| from == self.root),
        }
    }

    /// Members server by server; with `turn` every server begins with another of its ranks, so that each ring leaves by
    /// another NIC. Every second server is passed backwards: a ring then enters a server at the rank that has the place of
    /// the one it left the server before by, so that both NICs are of one rail and no spine is between them.
    fn order(&self, turn: usize) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.members.len());
        for (mut ranks, number) in self.by_server().into_iter().zip(0..) {
            let turn = turn % ranks.len();
            ranks.rotate_left(turn);
            if number % 2 == 1 {
                ranks.reverse();
            }
            order.extend(ranks);
        }
        order
    }

    fn by_server(&self) -> Vec<Vec<u32>> {
        let mut servers: Vec<(u32, Vec<u32>)> = Vec::new();
        for &rank in self.members {
            let server = self.servers.get(rank as usize).copied().unwrap_or(rank);
            match servers.iter_mut().find(|(known, _)| *known == server) {
                Some((_, ranks)) => ranks.push(rank),
                None => servers.push((server, vec![rank])),
            }
        }
        servers.into_iter().map(|(_, ranks)| ranks).collect()
    }

    /// Rings in parallel, one for every rank of a server: `laps` times around, less one step each.
    fn rings(&self, rank: u32, laps: u64) -> Vec<Hop> {
        let servers = self.by_server();
        let rings = match servers.len() {
            1 => 1,
            _ => servers.iter().map(Vec::len).min().unwrap_or(1).min(LANES as usize),
        };
        let count = self.members.len() as u64;
        // Slices of a chunk follow each other around the ring, so that the delay of a hop is not waited for every time, and
        // are small enough that messages of others need not wait for a whole chunk.
        let chunk = self.bytes / rings as u64 / count;
        let slices = (chunk / SLICE).min(LEAST_SLICES).max(chunk.div_ceil(MOST_SLICE));
        let slices = slices.clamp(1, u64::from(LANES) / rings as u64);
        let mut hops = Vec::new();
        for ring in 0..rings as u64 {
            let order = self.order(ring as usize);
            let Some(place) = order.iter().position(|&other| other == rank) else { continue };
            let next = order[(place + 1) % order.len()];
            let before = order[(place + order.len() - 1) % order.len()];
            let mut got: Vec<Option<u32>> = vec![None; slices as usize];
            let mut sent: Vec<u32> = Vec::new();
            for step in 0..laps * (count - 1) {
                for slice in 0..slices {
                    let lane = ring * slices + slice;
                    let share = part(self.bytes, rings as u64 * slices, lane);
                    // A rank passes on the chunk that it has got in the step before.
                    let chunk =
                        |place: u64| part(share, count, (place + 2 * count * laps - step) % count);
                    let (out, own) = (chunk(place as u64), chunk(place as u64 + count - 1));
                    let window = sent.len().checked_sub(WINDOW).map(|at| sent[at]);
                    let (after, lane) = ([got[slice as usize], window], lane as u32);
                    sent.push(hops.len() as u32);
                    hops.push(Hop { is_send: true, peer: next, bytes: out, lane, after });
                    got[slice as usize] = Some(hops.len() as u32);
                    let after = [None; 2];
                    hops.push(Hop { is_send: false, peer: before, bytes: own, lane, after });
                }
            }
        }
        hops
    }

    /// A chain from the root, or to it, piece by piece.
    fn chain(&self, rank: u32, inward: bool) -> Vec<Hop> {
        let mut order: Vec<u32> = self.order(0);
        let root = order.iter().position(|&other| other == self.root).unwrap_or(0);
        order.rotate_left(root);
        if inward {
            order.reverse();
        }
        let Some(place) = order.iter().position(|&other| other == rank) else { return Vec::new() };
        let pieces = self.bytes.div_ceil(PIECE).clamp(1, MOST_PIECES);
        let mut hops = Vec::new();
        for piece in 0..pieces {
            let (bytes, lane) = (part(self.bytes, pieces, piece), 0);
            let mut after = None;
            if let Some(before) = place.checked_sub(1) {
                after = Some(hops.len() as u32);
                let none = [None; 2];
                hops.push(Hop { is_send: false, peer: order[before], bytes, lane, after: none });
            }
            if let Some(&peer) = order.get(place + 1) {
                hops.push(Hop { is_send: true, peer, bytes, lane, after: [after, None] });
            }
        }
        hops
    }

    /// A message from each to each, as far as they talk.
    fn direct(&self, rank: u32, talks: impl Fn(u32, u32) -> bool) -> Vec<Hop> {
        let count = self.members.len() as u64;
        let Some(place) = self.members.iter().position(|&other| other == rank) else {
            return Vec::new();
        };
        let mut hops = Vec::new();
        for distance in 1..self.members.len() {
            let to = self.members[(place + distance) % self.members.len()];
            let from = self.members[(place + self.members.len() - distance) % self.members.len()];
            let at = |rank: u32| self.members.iter().position(|&m| m == rank).unwrap_or(0) as u64;
            // A piece is that of the rank which is not the root, or of the receiver.
            let bytes = |from: u32, to: u32| {
                let own = if self.kind == CollectiveKind::Gather { at(from) } else { at(to) };
                part(self.bytes, count, own)
            };
            if talks(rank, to) {
                let bytes = bytes(rank, to);
                hops.push(Hop { is_send: true, peer: to, bytes, lane: 0, after: [None; 2] });
            }
            if talks(from, rank) {
                let bytes = bytes(from, rank);
                hops.push(Hop { is_send: false, peer: from, bytes, lane: 0, after: [None; 2] });
            }
        }
        hops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Four servers of four: whatever crosses between servers stays on its rail, and every NIC sends one ring.
    #[test]
    fn rings_stay_on_their_rails() {
        let members: Vec<u32> = (0..16).collect();
        let servers: Vec<u32> = members.iter().map(|rank| rank / 4).collect();
        let kind = CollectiveKind::AllReduce;
        let group = Group { kind, members: &members, servers: &servers, bytes: 1 << 20, root: 0 };
        for rank in 0..16u32 {
            let away = group.hops(rank);
            let away = away.iter().filter(|hop| hop.is_send && hop.peer / 4 != rank / 4);
            let bytes: u64 = away.clone().map(|hop| hop.bytes).sum();
            assert!(away.clone().all(|hop| hop.peer % 4 == rank % 4), "rank {rank}");
            // 30 steps of a chunk of a quarter of the data.
            assert_eq!(bytes, 30 * (1 << 20) / 4 / 16, "rank {rank}");
        }
    }

    /// Every send has its receive, in the same order and of the same size; the bytes are those of the collective.
    #[test]
    fn both_sides_agree() {
        use CollectiveKind as K;
        let members: Vec<u32> = (0..6).collect();
        let servers = [0, 0, 0, 1, 1, 1];
        for (kind, expected) in [
            (K::AllReduce, 10 * 1_000_003),
            (K::AllGather, 5 * 1_000_003),
            (K::ReduceScatter, 5 * 1_000_003),
            (K::Broadcast, 5 * 1_000_003),
            (K::Reduce, 5 * 1_000_003),
            (K::AllToAll, 5 * 1_000_003),
        ] {
            let group =
                Group { kind, members: &members, servers: &servers, bytes: 1_000_003, root: 2 };
            let (mut sent, mut got) =
                (BTreeMap::<_, Vec<u64>>::new(), BTreeMap::<_, Vec<u64>>::new());
            for rank in 0..6 {
                for hop in group.hops(rank) {
                    let (from, to) = if hop.is_send { (rank, hop.peer) } else { (hop.peer, rank) };
                    let side = if hop.is_send { &mut sent } else { &mut got };
                    side.entry((from, to, hop.lane)).or_default().push(hop.bytes);
                }
            }
            assert_eq!(sent, got, "{kind}");
            assert_eq!(sent.values().flatten().sum::<u64>(), expected, "{kind}");
        }
    }
}
