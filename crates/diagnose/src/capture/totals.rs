//! The capture as a whole.

use super::evidence::Evidence;
use super::opcodes::OpcodeCount;
use serde::Serialize;
use xoff_wire::capture::{Packet, Timestamp};
use xoff_wire::tunnel::Tunnel;

/// Counts over all packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Packets in the capture, as its file counts them.
    pub packets: u64,
    /// Bytes they had on the wire.
    pub wire_bytes: u64,
    /// From the first to the last packet.
    pub duration_ns: u64,
    /// RoCEv2 packets: each one that was glued to others counts, and none that was recorded before.
    pub roce_v2: u64,
    /// RoCEv1 packets.
    pub roce_v1: u64,
    /// Pause frames.
    pub pause_frames: u64,
    /// Everything else that could be read.
    pub other: u64,
    /// Packets whose ICRC is right.
    pub icrc_right: u64,
    /// Packets whose ICRC is wrong. They are not analysed further.
    pub icrc_wrong: Evidence,
    /// Packets whose ICRC the capture did not keep.
    pub icrc_unknown: u64,
    /// Packets of which the capture kept only the beginning.
    pub truncated: Evidence,
    /// Packets whose headers contradict themselves or end too early.
    pub malformed: Evidence,
    /// Pieces of IP packets.
    pub fragments: Evidence,
    /// Packets that a host's segmentation offload glued together, which were taken apart.
    pub glued: Evidence,
    /// RoCE packets found in those.
    pub glued_packets: u64,
    /// RoCE packets larger than any MTU that could not be taken apart.
    pub oversized: Evidence,
    /// RoCE packets that the capture has already, from another interface or direction. They are not
    /// counted again.
    pub recorded_twice: Evidence,
    /// RoCEv2 packets that the capture cut off before the end of their base header.
    pub headers_cut: Evidence,
    /// Packets inside others, by what carries them.
    pub tunnels: Vec<TunnelCount>,
    /// Packets inside more tunnels than are looked through.
    pub too_deep: Evidence,
    /// RoCE packets by opcode, without those whose ICRC is wrong.
    pub opcodes: Vec<OpcodeCount>,
    /// RoCE packets with an opcode we do not know.
    pub unknown_opcode: Evidence,
    /// Packets of links we cannot read.
    pub unsupported_link: Evidence,
    /// Packets of queue pairs beyond the limit, which were only counted.
    pub not_followed: u64,
    #[serde(skip)]
    first: Option<Timestamp>,
    #[serde(skip)]
    last: Option<Timestamp>,
}

/// Packets inside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TunnelCount {
    /// What carries them.
    pub tunnel: &'static str,
    /// How many.
    pub packets: u64,
}

impl Totals {
    /// Counts a packet and gives it its number, from one.
    pub(super) fn count(&mut self, packet: &Packet<'_>) -> u64 {
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_len);
        let first = *self.first.get_or_insert(packet.timestamp);
        let ns = packet.timestamp.since(first).as_ps() / 1000;
        self.duration_ns = self.duration_ns.max(ns);
        self.last = self.last.max(Some(packet.timestamp));
        self.packets
    }

    /// When the last packet came.
    pub(super) fn end(&self) -> Timestamp {
        self.last.unwrap_or_default()
    }

    /// A packet inside another.
    pub(super) fn tunnel(&mut self, tunnel: Tunnel) {
        let name = tunnel.name();
        match self.tunnels.iter_mut().find(|known| known.tunnel == name) {
            Some(known) => known.packets += 1,
            None => self.tunnels.push(TunnelCount { tunnel: name, packets: 1 }),
        }
    }
}
