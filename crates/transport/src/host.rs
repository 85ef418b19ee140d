//! What a queue pair finds around it: memory, receives, and where the bytes of packets belong.

use crate::memory::{Access, AccessError, Placement};
use xoff_units::Bytes;
use xoff_wire::Rkey;

/// The memory and the receives that a queue pair works with.
///
/// The owner of the bytes implements it, usually with a [`Regions`](crate::Regions) table and a
/// [`ReceiveQueue`](crate::ReceiveQueue), for one protection domain at a time. Calls come from
/// within [`QueuePair::handle_at`](crate::QueuePair::handle_at), which is compiled for each host of
/// its own.
///
/// ```
/// use xoff_transport::{
///     Access, AccessError, Atomic, Host, Placement, ProtectionDomain, Receive, ReceiveQueue, Regions,
/// };
/// use xoff_units::Bytes;
/// use xoff_wire::Rkey;
///
/// /// What one queue pair may use, for the time of a call.
/// struct Mine<'a> {
///     domain: ProtectionDomain,
///     regions: &'a Regions,
///     /// The bytes of each region, by `RegionId::index`.
///     bytes: &'a mut [Vec<u8>],
///     /// The queue pair's own, or one that several share.
///     receives: &'a mut ReceiveQueue,
/// }
///
/// impl Host for Mine<'_> {
///     fn check(
///         &mut self,
///         key: Rkey,
///         address: u64,
///         length: Bytes,
///         access: Access,
///     ) -> Result<Placement, AccessError> {
///         self.regions.check(self.domain, key, address, length, access)
///     }
///
///     fn atomic(&mut self, at: Placement, operation: Atomic) -> u64 {
///         let bytes = &mut self.bytes[at.region.index()][at.offset as usize..][..8];
///         let before = u64::from_ne_bytes((&*bytes).try_into().expect("eight bytes"));
///         bytes.copy_from_slice(&operation.apply(before).to_ne_bytes());
///         before
///     }
///
///     fn take_receive(&mut self) -> Option<Receive> {
///         self.receives.take()
///     }
/// }
/// ```
pub trait Host {
    /// False for a host without memory, where every access is fine and nothing is kept of it.
    const REAL: bool = true;

    /// Where these bytes are, if a peer that knows `key` may use all of them so. `length` is not
    /// zero: what moves no bytes needs no key.
    fn check(
        &mut self,
        key: Rkey,
        address: u64,
        length: Bytes,
        access: Access,
    ) -> Result<Placement, AccessError>;

    /// Carries out an atomic operation on eight bytes that were checked, and returns what was there
    /// before.
    fn atomic(&mut self, at: Placement, operation: Atomic) -> u64;

    /// Takes the receive that comes next, if one is posted.
    fn take_receive(&mut self) -> Option<Receive>;

    /// The peer requests that this key be invalidated. Returns whether it may.
    fn invalidate(&mut self, key: Rkey) -> bool {
        let _ = key;
        false
    }
}

/// A host that has no memory and takes whatever comes: all that the simulator needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bare;

impl Host for Bare {
    const REAL: bool = false;

    fn check(&mut self, _: Rkey, _: u64, _: Bytes, _: Access) -> Result<Placement, AccessError> {
        Err(AccessError::UnknownKey)
    }

    fn atomic(&mut self, _: Placement, _: Atomic) -> u64 {
        0
    }

    fn take_receive(&mut self) -> Option<Receive> {
        None
    }
}

/// An operation on eight bytes that nothing comes between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    /// Writes `swap` if `compare` is there.
    CompareSwap {
        /// What has to be there.
        compare: u64,
        /// What is put in its place.
        swap: u64,
    },
    /// Adds, and wraps around.
    FetchAdd {
        /// What is added.
        add: u64,
    },
}

impl Atomic {
    /// What is there afterwards, if `before` was there.
    pub const fn apply(self, before: u64) -> u64 {
        match self {
            Self::CompareSwap { compare, swap } if before == compare => swap,
            Self::CompareSwap { .. } => before,
            Self::FetchAdd { add } => before.wrapping_add(add),
        }
    }
}

/// A buffer posted for a message of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// The caller's name for it, which comes back in the [`Received`](crate::Received).
    pub id: u64,
    /// How much fits.
    pub length: Bytes,
}

/// Where the payload of a packet that arrived belongs. It is to be put there before the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// There is none, or it is not wanted.
    Nowhere,
    /// Registered memory: a write of the peer. The whole payload is inside the region.
    Region(Placement),
    /// A receive that was posted.
    Receive {
        /// The name of the receive.
        id: u64,
        /// Bytes from its beginning.
        offset: u64,
    },
    /// The buffer of a read of ours.
    Read {
        /// The name of the work.
        id: u64,
        /// Bytes from its beginning.
        offset: u64,
    },
}

/// Where the payload of a packet to be sent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It has none.
    Nothing,
    /// The buffer of posted work.
    Work {
        /// The name of the work.
        id: u64,
        /// Bytes from its beginning.
        offset: u64,
    },
    /// Registered memory that the peer reads. It was checked when the request came; check again,
    /// because the region may be gone by now.
    Region {
        /// The key the peer gave.
        key: Rkey,
        /// The address of the first byte.
        address: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_do_what_they_say() {
        assert_eq!(Atomic::FetchAdd { add: 3 }.apply(u64::MAX), 2);
        let swap = Atomic::CompareSwap { compare: 5, swap: 9 };
        assert_eq!((swap.apply(5), swap.apply(6)), (9, 6));
    }
}
