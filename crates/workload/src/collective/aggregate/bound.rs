//! The closed form of an [`Aggregate`].
//!
//! The first step is added up inside the server; then all pieces of the share leave the NIC one after the other, or, where
//! slots are few, a window of them in every round trip; the last sum comes down and is handed round. With
//! `d` queue pairs from member to root, latency `L` of each, `t` the time of bytes at a NIC, `s` the share, `p` the last
//! piece:
//!
//! `time = launch + first step + max(t(s) + 2dL + t(p), windows, NVLink, copies) + last step`
//!
//! Hops between switches are counted as latency alone: their ports are faster than any NIC.

use super::super::Network;
use super::super::bound::Bound;
use super::super::shape::ragged;
use super::parts::Cut;
use super::{Aggregate, Near};
use xoff_units::{Bytes, Rate, Span};

/// What a port, a rank and a wire take.
pub(in super::super) struct Speeds<'a> {
    /// What a NIC and an NVLink carry.
    pub(in super::super) nic: Rate,
    pub(in super::super) nvlink: Rate,
    pub(in super::super) network: &'a Network,
}

impl Aggregate {
    /// The closed form of its time.
    pub(in super::super) fn bound(&self, speeds: &Speeds<'_>) -> Bound {
        let Some(cut) = self.cuts.first().filter(|cut| cut.steps > 0) else {
            return Bound { time: self.launch(), ..Bound::default() };
        };
        let (first, last) = (cut.step(0), cut.step(cut.steps - 1));
        let before = self.gathering(speeds, first) + self.reduction(first);
        let after = self.handing_on(speeds, last);
        let wire = self.network_time(speeds, cut).max(self.nvlink_time(speeds));
        let credit = self.credit(speeds, cut);
        let hop = self.hop(speeds, last);
        let flight = Span::from_ps(hop.as_ps() * u64::from(2 * self.depth()));
        let piece = Bytes::new(last_piece(cut));
        let back = if self.edges.is_empty() { Span::ZERO } else { speeds.nic.time_for(piece) };
        // Inside a server first and last step are part of what NVLink moves.
        let passing =
            Span::from_ps(self.passing(speeds, last).as_ps() * u64::from(2 * self.depth()));
        let moving = (self.network_time(speeds, cut) + passing + back).max(credit);
        let inside = self.nvlink_time(speeds).max(self.copying(cut)) + self.idle(before + flight);
        let path = before + flight + back + after;
        let time = (before + moving + after).max(path);
        let time = time.max(inside + speeds.network.nvlink_latency);
        Bound { wire, path, credit, time: self.launch() + time }
    }

    /// How long NVLinks to the GPUs have next to nothing to do: an NVSwitch copies no sum before the first has come from the other
    /// servers. Where ranks add up, the same NVLinks carry both ways from the start.
    fn idle(&self, first_sum: Span) -> Span {
        match self.near {
            Near::Switched { .. } if !self.edges.is_empty() => first_sum,
            _ => Span::ZERO,
        }
    }

    /// Queue pairs from a member to the root.
    fn depth(&self) -> u32 {
        let parent = |&node: &u32| {
            let edge = self.nodes[node as usize].up?;
            Some(self.edges[edge as usize].parent)
        };
        let depth = |node: u32| std::iter::successors(Some(node), parent).count() as u32 - 1;
        self.members.iter().filter_map(|member| member.node.map(depth)).max().unwrap_or(0)
    }

    fn network_time(&self, speeds: &Speeds<'_>, cut: &Cut) -> Span {
        if self.edges.is_empty() {
            return Span::ZERO;
        }
        if !self.is_of_ranks() {
            return speeds.nic.time_for(cut.bytes());
        }
        let loads = self.loads().nics;
        let most = loads.values().map(|moved| moved.sent.max(moved.received)).max();
        most.map_or(Span::ZERO, |bytes| speeds.nic.time_for(bytes))
    }

    fn is_of_ranks(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.own)
    }

    /// From node to node: the wire's latency, and what a rank that is one spends on a piece and its NIC on sending it.
    fn hop(&self, speeds: &Speeds<'_>, step: Bytes) -> Span {
        let sent = if self.is_of_ranks() { speeds.nic.time_for(step) } else { Span::ZERO };
        self.passing(speeds, step) + sent
    }

    /// The same without the NIC's time, where that is counted with all that the NIC sends.
    fn passing(&self, speeds: &Speeds<'_>, step: Bytes) -> Span {
        let spent = if self.is_of_ranks() { self.taking(step) } else { Span::ZERO };
        speeds.network.latency + spent
    }

    /// What the busiest NVLink takes for all that it moves.
    fn nvlink_time(&self, speeds: &Speeds<'_>) -> Span {
        let loads = self.loads().gpus;
        let most = loads.values().map(|moved| moved.sent.max(moved.received)).max();
        most.map_or(Span::ZERO, |bytes| self.nvlink(speeds).time_for(bytes))
    }

    /// What one GPU gets into its server's NVLinks.
    fn nvlink(&self, speeds: &Speeds<'_>) -> Rate {
        match self.near {
            Near::Direct => speeds.nvlink,
            Near::Switched { .. } => crate::layout::nvls_rate(speeds.nvlink),
        }
    }

    /// A step of all shares, from all ranks of a server to those that add them up.
    fn gathering(&self, speeds: &Speeds<'_>, step: Bytes) -> Span {
        let parts = match self.near {
            _ if self.width == 1 => return Span::ZERO,
            Near::Direct => self.columns - 1,
            Near::Switched { .. } => self.columns + self.columns / self.width,
        };
        let bytes = Bytes::new(step.get() * u64::from(parts));
        self.nvlink(speeds).time_for(bytes) + speeds.network.nvlink_latency
    }

    fn reduction(&self, step: Bytes) -> Span {
        if self.width == 1 { Span::ZERO } else { self.cost.work(step) }
    }

    /// A sum from the network's buffer to all ranks of a server.
    fn handing_on(&self, speeds: &Speeds<'_>, step: Bytes) -> Span {
        // Ranks that are nodes have taken it already.
        let taken = match self.edges.is_empty() || self.is_of_ranks() {
            true => Span::ZERO,
            false => self.cost.delay(step) + self.cost.work(step),
        };
        let copied = match self.near {
            Near::Direct => self.reduction(step),
            Near::Switched { .. } => Span::ZERO,
        };
        taken + self.gathering(speeds, step) + copied
    }

    /// What a rank spends on steps, its channels side by side.
    fn copying(&self, cut: &Cut) -> Span {
        let taken = !self.edges.is_empty() && !self.is_of_ranks();
        let own = (u32::from(self.width > 1) + u32::from(taken)) * (self.columns / self.width);
        let others = if self.near == Near::Direct { self.columns - 1 } else { 0 };
        let steps = u64::from(cut.steps.saturating_sub(1)) * u64::from(own + others);
        let all = self.cost.work(cut.step(0)).as_ps().saturating_mul(steps);
        Span::from_ps(all / u64::from(self.channels))
    }

    /// All pieces, a window of them for every round trip.
    fn credit(&self, speeds: &Speeds<'_>, cut: &Cut) -> Span {
        if self.edges.is_empty() {
            return Span::ZERO;
        }
        let hops = u64::from(2 * self.depth());
        let pieces: u64 = (0..cut.steps).map(|step| u64::from(cut.pieces(step))).sum();
        // The last piece of a step may be a short one, so that the mean counts.
        let piece = speeds.nic.time_for(cut.bytes()).as_ps() / pieces;
        let trip = self.hop(speeds, cut.step(0)).as_ps() * hops + 2 * piece;
        let window = u64::from(self.window);
        let (windows, rest) = ((pieces - 1) / window, (pieces - 1) % window);
        Span::from_ps(windows * trip.max(window * piece) + rest * piece + trip - 2 * piece)
    }
}

fn last_piece(cut: &Cut) -> u64 {
    let step = cut.steps - 1;
    ragged(cut.step(step).get(), cut.piece, cut.pieces(step) - 1)
}
