//! What the manager counts.

/// Messages by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Datagrams that arrived.
    pub received: u64,
    /// Datagrams that were given out to be sent, repetitions among them.
    pub sent: u64,
    /// Messages sent again because no answer came.
    pub repeated: u64,
    /// Messages that had been seen before; they got the same answer again, or none.
    pub duplicates: u64,
    /// Not a message of communication management, or one of a kind not spoken here.
    pub malformed: u64,
    /// Invalid requests: no such MTU or transport, or an address that is not the sender's.
    pub nonsense: u64,
    /// About a connection that is not known here, or of which the sender is not the peer.
    pub stray: u64,
    /// Known, but not what can come in this state.
    pub unexpected: u64,
    /// Requests for a service that is not served here.
    pub unserved: u64,
    /// Requests from a queue pair that an older connection still holds.
    pub stale: u64,
    /// Requests or answers not taken because too much is waiting already.
    pub overflow: u64,
}
