//! The capture as a whole.

use super::evidence::Evidence;
use serde::Serialize;
use xoff_wire::capture::{Packet, Timestamp};

/// Counts over all packets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Packets in the capture.
    pub packets: u64,
    /// Bytes they had on the wire.
    pub wire_bytes: u64,
    /// From the first to the last packet.
    pub duration_ns: u64,
    /// RoCEv2 packets.
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
    /// RoCE packets larger than any MTU: a host's segmentation offload glued them together.
    pub oversized: Evidence,
    /// RoCE packets with an opcode we do not know.
    pub unknown_opcode: Evidence,
    /// Packets of links we cannot read.
    pub unsupported_link: Evidence,
    /// Packets of queue pairs beyond the limit, which were only counted.
    pub not_followed: u64,
    #[serde(skip)]
    first: Option<Timestamp>,
}

impl Totals {
    /// Counts a packet and gives it its number, from one.
    pub(super) fn count(&mut self, packet: &Packet<'_>) -> u64 {
        self.packets += 1;
        self.wire_bytes += u64::from(packet.wire_len);
        let first = *self.first.get_or_insert(packet.timestamp);
        let ns = packet.timestamp.since(first).as_ps() / 1000;
        self.duration_ns = self.duration_ns.max(ns);
        self.packets
    }
}
