//! Registered memory: the transport's table of regions, and the bytes behind it.

use crate::error::Error;
use crate::work::Slice;
use std::ops::Range;
use xoff_transport::{
    Access, AccessError, Atomic, Host, Placement, ProtectionDomain, Receive, ReceiveQueue, Region,
    RegionId, Regions,
};
use xoff_units::Bytes;
use xoff_wire::Rkey;

/// A name for registered memory. It stops working when the memory is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Memory {
    key: Rkey,
    id: RegionId,
}

impl Memory {
    /// That of work that moves no bytes.
    pub(crate) const NONE: Self = Self { key: Rkey(0), id: RegionId::FIRST };

    /// The key that a peer must know to reach it.
    pub const fn key(self) -> Rkey {
        self.key
    }
}

/// All registered memory of a device.
#[derive(Debug)]
pub(crate) struct Store {
    regions: Regions,
    /// By [`RegionId::index`].
    bytes: Vec<Box<[u8]>>,
    count: usize,
    limit: usize,
}

impl Store {
    /// An empty store for at most `limit` regions, with keys scattered by `secret`.
    pub(crate) fn new(secret: u64, limit: usize) -> Self {
        Self { regions: Regions::keyed(secret), bytes: Vec::new(), count: 0, limit }
    }

    /// Registers `bytes`. Without a base they are at their real address.
    pub(crate) fn register(
        &mut self,
        domain: ProtectionDomain,
        bytes: Box<[u8]>,
        access: Access,
        base: Option<u64>,
    ) -> Result<Memory, Error> {
        if self.count >= self.limit {
            return Err(Error::Limit("memory regions"));
        }
        let base = base.unwrap_or(bytes.as_ptr().addr() as u64);
        let length = Bytes::new(bytes.len() as u64);
        let (id, key) = self.regions.register(Region { domain, base, length, access })?;
        while self.bytes.len() <= id.index() {
            self.bytes.push(Box::default());
        }
        self.bytes[id.index()] = bytes;
        self.count += 1;
        Ok(Memory { key, id })
    }

    /// Gives memory back.
    pub(crate) fn deregister(&mut self, memory: Memory) -> Result<Box<[u8]>, Error> {
        let id = self.id(memory)?;
        self.regions.deregister(memory.key);
        self.count -= 1;
        Ok(std::mem::take(&mut self.bytes[id.index()]))
    }

    #[inline]
    fn region(&self, memory: Memory) -> Result<&Region, Error> {
        self.regions.find_at(memory.id, memory.key).ok_or(Error::NoSuchMemory)
    }

    fn id(&self, memory: Memory) -> Result<RegionId, Error> {
        self.region(memory).map(|_| memory.id)
    }

    /// The virtual address of its first byte.
    pub(crate) fn base(&self, memory: Memory) -> Result<u64, Error> {
        self.region(memory).map(|region| region.base)
    }

    /// The domain it belongs to.
    pub(crate) fn domain(&self, memory: Memory) -> Result<ProtectionDomain, Error> {
        self.region(memory).map(|region| region.domain)
    }

    pub(crate) fn bytes(&self, memory: Memory) -> Result<&[u8], Error> {
        Ok(&self.bytes[self.id(memory)?.index()])
    }

    pub(crate) fn bytes_mut(&mut self, memory: Memory) -> Result<&mut [u8], Error> {
        let id = self.id(memory)?;
        Ok(&mut self.bytes[id.index()])
    }

    /// Whether a queue pair of `domain` may use the slice so.
    pub(crate) fn check_local(
        &self,
        domain: ProtectionDomain,
        slice: Slice,
        access: Access,
    ) -> Result<(), Error> {
        let Slice { memory, offset, length } = slice;
        match self.regions.check_offset(
            domain,
            (memory.id, memory.key),
            offset.get(),
            length,
            access,
        ) {
            Ok(_) => Ok(()),
            Err(AccessError::UnknownKey) => Err(Error::NoSuchMemory),
            Err(AccessError::OutOfRange) => Err(Error::OutOfRange),
            Err(AccessError::WrongDomain | AccessError::Forbidden) => Err(Error::Forbidden),
        }
    }

    /// Where `length` bytes of a posted slice are; nothing if the memory is gone.
    #[inline]
    pub(crate) fn locate(&self, slice: &Slice, offset: u64, length: usize) -> Option<Place> {
        let id = self.id(slice.memory).ok()?;
        self.place(id, range(slice, offset, length)?)
    }

    /// Where the bytes of a posted slice are from `offset` on; nothing if the memory is gone.
    #[inline]
    pub(crate) fn locate_rest(&self, slice: &Slice, offset: u64) -> Option<Place> {
        let length = usize::try_from(slice.length.get().checked_sub(offset)?).ok()?;
        self.locate(slice, offset, length)
    }

    /// The same as bytes to be changed.
    #[inline]
    pub(crate) fn part_mut(
        &mut self,
        slice: &Slice,
        offset: u64,
        length: usize,
    ) -> Option<&mut [u8]> {
        let id = self.id(slice.memory).ok()?;
        self.bytes.get_mut(id.index())?.get_mut(range(slice, offset, length)?)
    }

    /// The same, of memory that has to be in this domain: a shared receive may be in another.
    #[inline]
    pub(crate) fn allowed_part_mut(
        &mut self,
        domain: ProtectionDomain,
        slice: &Slice,
        offset: u64,
        length: usize,
    ) -> Option<&mut [u8]> {
        let same = self.domain(slice.memory) == Ok(domain);
        if same { self.part_mut(slice, offset, length) } else { None }
    }

    /// Bytes that a peer may change, and whose place the transport has checked.
    #[inline]
    pub(crate) fn placed_mut(&mut self, at: Placement, length: usize) -> Option<&mut [u8]> {
        let start = usize::try_from(at.offset).ok()?;
        self.bytes.get_mut(at.region.index())?.get_mut(start..start.checked_add(length)?)
    }

    /// Where the bytes are that a peer of `domain` reads.
    #[inline]
    pub(crate) fn locate_remote(
        &self,
        domain: ProtectionDomain,
        key: Rkey,
        address: u64,
        length: usize,
    ) -> Option<Place> {
        let (wanted, access) = (Bytes::new(length as u64), Access::REMOTE_READ);
        let at = self.regions.check(domain, key, address, wanted, access).ok()?;
        let start = usize::try_from(at.offset).ok()?;
        self.place(at.region, start..start.checked_add(length)?)
    }

    #[inline]
    fn place(&self, id: RegionId, range: Range<usize>) -> Option<Place> {
        let region = id.index();
        self.bytes.get(region)?.get(range.clone())?;
        Some(Place { region, start: range.start, end: range.end })
    }

    /// The bytes at a place; `None` if its memory was deregistered since it was located.
    #[inline]
    pub(crate) fn at(&self, place: Place) -> &[u8] {
        let bytes = self.bytes.get(place.region).and_then(|all| all.get(place.start..place.end));
        let nothing = place.length() == 0;
        debug_assert!(bytes.is_some() || nothing, "no place outlives the memory it is in");
        bytes.unwrap_or_default()
    }
}

/// Bytes that were found to be in a region: valid until the region is deregistered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    region: usize,
    start: usize,
    end: usize,
}

impl Place {
    /// No bytes.
    pub(crate) const NOTHING: Self = Self { region: 0, start: 0, end: 0 };

    /// The `n`-th piece of `length` bytes, if it is whole.
    #[inline]
    pub(crate) fn piece(self, n: usize, length: usize) -> Option<Self> {
        let start = self.start.checked_add(n.checked_mul(length)?)?;
        let end = start.checked_add(length)?;
        (end <= self.end).then_some(Self { start, end, ..self })
    }

    /// How many bytes.
    #[inline]
    pub(crate) const fn length(self) -> usize {
        self.end - self.start
    }
}

/// Where `length` bytes of a slice are in its region, if they are in the slice.
#[inline]
fn range(slice: &Slice, offset: u64, length: usize) -> Option<Range<usize>> {
    let end = offset.checked_add(length as u64)?;
    if end > slice.length.get() {
        return None;
    }
    let start = usize::try_from(slice.offset.get().checked_add(offset)?).ok()?;
    Some(start..start.checked_add(length)?)
}

/// The [`Host`] of one queue pair for the duration of a call.
pub(crate) struct Around<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) receives: &'a mut ReceiveQueue,
    pub(crate) domain: ProtectionDomain,
}

impl Host for Around<'_> {
    fn check(
        &mut self,
        key: Rkey,
        address: u64,
        length: Bytes,
        access: Access,
    ) -> Result<Placement, AccessError> {
        self.store.regions.check(self.domain, key, address, length, access)
    }

    fn atomic(&mut self, at: Placement, operation: Atomic) -> u64 {
        // Programs keep such words in the byte order of their machine.
        let Some(bytes) = self.store.placed_mut(at, 8) else { return 0 };
        let Ok(word) = <[u8; 8]>::try_from(&*bytes) else { return 0 };
        let before = u64::from_ne_bytes(word);
        bytes.copy_from_slice(&operation.apply(before).to_ne_bytes());
        before
    }

    fn take_receive(&mut self) -> Option<Receive> {
        self.receives.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: ProtectionDomain = ProtectionDomain(1);

    #[test]
    fn a_slice_stays_inside_its_region() {
        let mut store = Store::new(7, 2);
        let bytes = vec![1; 100].into_boxed_slice();
        let memory = store.register(DOMAIN, bytes, Access::ALL, Some(u64::MAX - 99)).unwrap();
        let check = |offset, length| {
            store.check_local(DOMAIN, Slice::new(memory, offset, length), Access::LOCAL_WRITE)
        };
        assert_eq!(check(0, 100), Ok(()));
        assert_eq!(check(99, 1), Ok(()));
        for (offset, length) in [(0, 101), (100, 1), (99, 2), (u64::MAX, 1), (1, u64::MAX)] {
            assert_eq!(check(offset, length), Err(Error::OutOfRange), "{offset} {length}");
        }
        let slice = Slice::new(memory, 10, 20);
        assert_eq!(store.locate(&slice, 0, 20).map(|place| store.at(place).len()), Some(20));
        assert!(store.locate(&slice, 1, 20).is_none());
        assert!(store.locate(&slice, u64::MAX, 2).is_none());
    }

    #[test]
    fn memory_given_back_is_gone() {
        let mut store = Store::new(7, 1);
        let memory = store.register(DOMAIN, Box::new([5; 8]), Access::ALL, None).unwrap();
        let again = store.register(DOMAIN, Box::new([5; 8]), Access::ALL, None);
        assert_eq!(again, Err(Error::Limit("memory regions")));
        assert_eq!(store.deregister(memory), Ok(Box::from([5; 8])));
        assert_eq!(store.bytes(memory), Err(Error::NoSuchMemory));
        assert!(store.locate(&Slice::new(memory, 0, 1), 0, 1).is_none());
        assert!(store.register(DOMAIN, Box::new([5; 8]), Access::ALL, None).is_ok());
    }
}
