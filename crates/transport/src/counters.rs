//! What a queue pair counts.

use crate::discard::{Discard, Discards};

/// Counts since the queue pair was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Acknowledgements sent, without NAKs.
    pub acks_sent: u64,
    /// Acknowledgements received, without NAKs.
    pub acks_received: u64,
    /// Acknowledgements and NAKs received that echoed a mark.
    pub echo_marks: u64,
    /// Data packets that arrived with a mark.
    pub marked_packets: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Sequence errors sent.
    pub naks_sent: u64,
    /// Sequence errors received.
    pub naks_received: u64,
    /// Packets that arrived with others missing before them.
    pub out_of_sequence: u64,
    /// Packets that had arrived before.
    pub duplicates: u64,
    /// "Receiver not ready" sent.
    pub rnr_sent: u64,
    /// "Receiver not ready" received.
    pub rnr_received: u64,
    /// Congestion notification packets sent.
    pub cnps_sent: u64,
    /// Congestion notification packets received.
    pub cnps_handled: u64,
    /// Times congestion control cut the rate or the window.
    pub rate_decreases: u64,
    /// Requests refused as invalid or not allowed.
    pub refused: u64,
    /// Packets for another queue pair, or answers without a request.
    pub ignored: u64,
    /// Packets that were not accepted, by reason: the refused and the ignored ones.
    pub discards: Discards,
}

impl Counters {
    /// A packet is dropped without an answer.
    #[cold]
    pub(crate) fn ignore(&mut self, reason: Discard) {
        self.ignored += 1;
        self.discards.count(reason);
    }

    /// A request is refused with an answer.
    #[cold]
    pub(crate) fn refuse(&mut self, reason: Discard) {
        self.refused += 1;
        self.discards.count(reason);
    }
}
