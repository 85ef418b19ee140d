//! What is posted to a device, and what comes back.

use crate::memory::Memory;
use crate::pair::PairId;
use std::net::SocketAddr;
use xoff_transport::{Atomic, Qkey, ReceivedKind, Status, Verb};
use xoff_units::Bytes;
use xoff_wire::{Immediate, Qpn, Rkey};

/// The caller's name for posted work, which comes back when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WorkId(pub u64);

/// Bytes of our own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The region they are in.
    pub memory: Memory,
    /// Bytes from its beginning.
    pub offset: Bytes,
    /// How many.
    pub length: Bytes,
}

impl Slice {
    /// `length` bytes from `offset` on.
    pub const fn new(memory: Memory, offset: u64, length: u64) -> Self {
        Self { memory, offset: Bytes::new(offset), length: Bytes::new(length) }
    }
}

/// Bytes of a peer's memory, as many as those of the [`Slice`] beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemoteSlice {
    /// The virtual address of the first byte, as given by the peer.
    pub address: u64,
    /// The key given by the peer.
    pub key: Rkey,
}

/// A message to be moved over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The caller's name for it.
    pub id: WorkId,
    /// What to do.
    pub verb: Verb,
    /// The bytes to send, or the place for what is read. For an atomic operation: eight bytes that
    /// get the old value, in the machine's byte order.
    pub local: Slice,
    /// The peer's bytes (not for sends).
    pub remote: RemoteSlice,
    /// Whether success gets a completion, too. If not, the next completion of the same queue pair
    /// says that this is done as well.
    pub signaled: bool,
}

impl Work {
    const fn new(verb: Verb, local: Slice, remote: RemoteSlice) -> Self {
        Self { id: WorkId(0), verb, local, remote, signaled: true }
    }

    /// Writes `local` to the peer's memory.
    pub const fn write(local: Slice, remote: RemoteSlice) -> Self {
        Self::new(Verb::Write, local, remote)
    }

    /// Writes, and completes one of the peer's receives with four bytes of immediate data.
    pub const fn write_immediate(local: Slice, remote: RemoteSlice, immediate: Immediate) -> Self {
        Self::new(Verb::WriteImmediate(immediate), local, remote)
    }

    /// Fetches the peer's memory into `local`.
    pub const fn read(local: Slice, remote: RemoteSlice) -> Self {
        Self::new(Verb::Read, local, remote)
    }

    /// Sends `local` to one of the peer's receives.
    pub const fn send(local: Slice) -> Self {
        Self::new(Verb::Send, local, RemoteSlice { address: 0, key: Rkey(0) })
    }

    /// Sends, with four bytes of immediate data.
    pub const fn send_immediate(local: Slice, immediate: Immediate) -> Self {
        Self { verb: Verb::SendImmediate(immediate), ..Self::send(local) }
    }

    /// Changes eight bytes at the peer. The old value goes to the eight bytes of `local` and into
    /// the completion.
    pub const fn atomic(operation: Atomic, local: Slice, remote: RemoteSlice) -> Self {
        Self::new(Verb::Atomic(operation), local, remote)
    }

    /// The same under a name.
    #[must_use]
    pub const fn named(mut self, id: WorkId) -> Self {
        self.id = id;
        self
    }

    /// The same without a completion, unless it fails.
    #[must_use]
    pub const fn quiet(mut self) -> Self {
        self.signaled = false;
        self
    }
}

/// A datagram to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramWork {
    /// The caller's name for it.
    pub id: WorkId,
    /// What is sent: at most the MTU.
    pub local: Slice,
    /// The peer's address.
    pub to: SocketAddr,
    /// The peer's queue pair.
    pub qpn: Qpn,
    /// The peer's key.
    pub qkey: Qkey,
    /// Immediate data.
    pub immediate: Option<Immediate>,
    /// Whether success gets a completion, too.
    pub signaled: bool,
}

/// The end of posted work or of a posted receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The name given when it was posted.
    pub id: WorkId,
    /// The queue pair it was posted to, or that used the shared receive.
    pub pair: PairId,
    /// How it ended.
    pub status: Status,
    /// What ended. After an error only the variant counts: work or receive.
    pub outcome: Outcome,
}

/// What a [`Completion`] reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Posted work is done.
    Done {
        /// What the peer had before an atomic operation; zero for everything else.
        before: u64,
    },
    /// A receive was used.
    Received(Arrival),
}

/// A message that used a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// How long it was.
    pub length: Bytes,
    /// Whether it was a send or a write with immediate data.
    pub kind: ReceivedKind,
    /// Its immediate data.
    pub immediate: Option<Immediate>,
    /// The address and queue pair of the sender, if it was a datagram.
    pub from: Option<(SocketAddr, Qpn)>,
}

impl Completion {
    /// Whether it ended well.
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }

    /// The message that used a receive, if one did.
    pub fn arrival(&self) -> Option<&Arrival> {
        match &self.outcome {
            Outcome::Received(arrival) if self.is_ok() => Some(arrival),
            _ => None,
        }
    }
}
