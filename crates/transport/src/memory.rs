//! Memory regions: which bytes a key gives access to, in which domain, and for what.
//!
//! [`Regions`] is a table of pure values. The caller keeps the bytes themselves, by
//! [`RegionId`], and finds them with a [`Placement`].

use std::collections::VecDeque;
use std::fmt;
use std::ops::BitOr;
use xoff_units::Bytes;
use xoff_wire::Rkey;

/// Queue pairs and regions that belong together: a key works only within its own domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProtectionDomain(pub u32);

/// What may be done with a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access(u8);

impl Access {
    /// Its owner may read it, which is always allowed.
    pub const LOCAL_READ: Self = Self(0);
    /// Its owner's receives, reads and atomics may fill it.
    pub const LOCAL_WRITE: Self = Self(1);
    /// Peers may write it.
    pub const REMOTE_WRITE: Self = Self(2);
    /// Peers may read it.
    pub const REMOTE_READ: Self = Self(4);
    /// Peers may change it atomically.
    pub const REMOTE_ATOMIC: Self = Self(8);
    /// Everything.
    pub const ALL: Self = Self(15);

    /// Whether all rights of `other` are among these.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The place of a region in its table. It is used again when the region is gone: keep it only as
/// long as the region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionId(u32);

impl RegionId {
    /// The first place.
    pub const FIRST: Self = Self(0);

    /// A small number, dense enough to index a vector with.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A stretch of registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The domain it belongs to.
    pub domain: ProtectionDomain,
    /// The virtual address of its first byte, as peers name it.
    pub base: u64,
    /// How long it is.
    pub length: Bytes,
    /// What may be done with it.
    pub access: Access,
}

impl Region {
    /// The offset, if there is one at which `length` bytes may be used so.
    #[inline]
    fn check(
        &self,
        domain: ProtectionDomain,
        offset: Option<u64>,
        length: Bytes,
        access: Access,
    ) -> Result<u64, AccessError> {
        if self.domain != domain {
            return Err(AccessError::WrongDomain);
        }
        if !self.access.contains(access) {
            return Err(AccessError::Forbidden);
        }
        let offset = offset.ok_or(AccessError::OutOfRange)?;
        match self.length.get().checked_sub(offset) {
            Some(room) if length.get() <= room => Ok(offset),
            _ => Err(AccessError::OutOfRange),
        }
    }
}

/// Where bytes are: in which region, and how far from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placement {
    /// The region.
    pub region: RegionId,
    /// Bytes from its beginning.
    pub offset: u64,
}

/// Why memory may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessError {
    /// No region has this key (now).
    UnknownKey,
    /// The region is in another protection domain.
    WrongDomain,
    /// The region does not allow it.
    Forbidden,
    /// Not all of it is inside the region.
    OutOfRange,
}

/// Why a region was not registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegisterError {
    /// It has no bytes, or ends beyond the address space.
    BadRange,
    /// Remote write and atomic access need local write access (IBTA 10.6.3).
    NeedsLocalWrite,
    /// All keys are used up.
    OutOfKeys,
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadRange => {
                "a region must have at least one byte and end within the address space"
            }
            Self::NeedsLocalWrite => "remote write and atomic access need local write access",
            Self::OutOfKeys => "all memory keys are used up",
        })
    }
}

impl std::error::Error for RegisterError {}

/// Regions at a time: the upper bits of a key.
const MAX_SLOTS: usize = 1 << 24;

/// The lower bits of a key: they distinguish the regions that had the same place one after the
/// other.
const TAG_BITS: u32 = 8;

#[derive(Debug, Clone)]
struct Slot {
    /// The tag of the region that is here, or of the next.
    tag: u8,
    /// The key of the region that is here.
    key: Rkey,
    region: Option<Region>,
}

/// All regions of a device.
///
/// A key is a place and a tag. The tag is another one each time a place is used, and a place whose
/// tags are used up stays empty for good: a key that was given back never works again. With a
/// secret, keys are scattered over all numbers, so that one key does not give away the next.
#[derive(Debug, Clone, Default)]
pub struct Regions {
    /// What scatters the keys; zero leaves them as they are.
    secret: u64,
    slots: Vec<Slot>,
    /// Empty places, longest empty first.
    free: VecDeque<u32>,
}

impl Regions {
    /// An empty table whose keys are scattered by `secret`. This is enough against guessing, and
    /// not against a peer that collects keys to find the secret: give keys only to peers you trust.
    pub fn keyed(secret: u64) -> Self {
        Self { secret, ..Self::default() }
    }

    /// Adds a region. Its key serves as the local and as the remote one.
    pub fn register(&mut self, region: Region) -> Result<(RegionId, Rkey), RegisterError> {
        let last = region.length.get().checked_sub(1).ok_or(RegisterError::BadRange)?;
        region.base.checked_add(last).ok_or(RegisterError::BadRange)?;
        let changes = Access(Access::REMOTE_WRITE.0 | Access::REMOTE_ATOMIC.0);
        if region.access.0 & changes.0 != 0 && !region.access.contains(Access::LOCAL_WRITE) {
            return Err(RegisterError::NeedsLocalWrite);
        }
        let index = match self.free.pop_front() {
            Some(index) => index,
            None if self.slots.len() < MAX_SLOTS => {
                self.slots.push(Slot { tag: 1, key: Rkey(0), region: None });
                self.slots.len() as u32 - 1
            }
            None => return Err(RegisterError::OutOfKeys),
        };
        let slot = &mut self.slots[index as usize];
        slot.region = Some(region);
        let key = index << TAG_BITS | u32::from(slot.tag);
        slot.key = Rkey(scatter(key, self.secret));
        Ok((RegionId(index), slot.key))
    }

    /// Takes a region away; whatever still has its key is refused from now on.
    pub fn deregister(&mut self, key: Rkey) -> Option<Region> {
        let (index, _) = self.find(key)?;
        let slot = &mut self.slots[index.index()];
        let region = slot.region.take();
        if let Some(tag) = slot.tag.checked_add(1) {
            slot.tag = tag;
            self.free.push_back(index.0);
        }
        region
    }

    /// The region with this key.
    #[inline]
    pub fn find(&self, key: Rkey) -> Option<(RegionId, &Region)> {
        let key = gather(key.0, self.secret);
        let index = key >> TAG_BITS;
        let slot = self.slots.get(index as usize)?;
        if u32::from(slot.tag) != key & ((1 << TAG_BITS) - 1) {
            return None;
        }
        slot.region.as_ref().map(|region| (RegionId(index), region))
    }

    /// The region with this key, for its owner, who knows its place: a key from a peer takes longer to find.
    #[inline]
    pub fn find_at(&self, id: RegionId, key: Rkey) -> Option<&Region> {
        self.slots.get(id.index()).filter(|slot| slot.key == key)?.region.as_ref()
    }

    /// Where `length` bytes at `address` are, if a queue pair of `domain` that knows `key` may use
    /// all of them so.
    #[inline]
    pub fn check(
        &self,
        domain: ProtectionDomain,
        key: Rkey,
        address: u64,
        length: Bytes,
        access: Access,
    ) -> Result<Placement, AccessError> {
        let (id, region) = self.find(key).ok_or(AccessError::UnknownKey)?;
        let offset = address.checked_sub(region.base);
        Ok(Placement { region: id, offset: region.check(domain, offset, length, access)? })
    }

    /// The same for the owner's bytes, named by their place in the region.
    #[inline]
    pub fn check_offset(
        &self,
        domain: ProtectionDomain,
        (id, key): (RegionId, Rkey),
        offset: u64,
        length: Bytes,
        access: Access,
    ) -> Result<Placement, AccessError> {
        let region = self.find_at(id, key).ok_or(AccessError::UnknownKey)?;
        Ok(Placement { region: id, offset: region.check(domain, Some(offset), length, access)? })
    }

    /// How many regions there are.
    pub fn len(&self) -> usize {
        self.slots.iter().filter(|slot| slot.region.is_some()).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Rounds of the scattering: each mixes one half of the key into the other, and can be undone.
const ROUNDS: [u32; 4] = [0, 16, 32, 48];

/// The half that is mixed in: any function would do.
#[inline]
fn mix(half: u32, secret: u64, round: u32) -> u32 {
    let salted = u64::from(half) ^ (secret.rotate_right(round) & 0xffff_ffff);
    (salted.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32 & 0xffff
}

/// One key for another, and a different one for each.
#[inline]
fn scatter(key: u32, secret: u64) -> u32 {
    if secret == 0 {
        return key;
    }
    let (mut left, mut right) = (key >> 16, key & 0xffff);
    for round in ROUNDS {
        (left, right) = (right, left ^ mix(right, secret, round));
    }
    left << 16 | right
}

/// The key that became this one.
#[inline]
fn gather(key: u32, secret: u64) -> u32 {
    if secret == 0 {
        return key;
    }
    let (mut left, mut right) = (key >> 16, key & 0xffff);
    for round in ROUNDS.into_iter().rev() {
        (left, right) = (right ^ mix(left, secret, round), left);
    }
    left << 16 | right
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DOMAIN: ProtectionDomain = ProtectionDomain(3);

    fn region(base: u64, length: u64) -> Region {
        Region { domain: DOMAIN, base, length: Bytes::new(length), access: Access::ALL }
    }

    #[test]
    fn its_owner_finds_a_region_by_place_and_key() {
        let (mut regions, mut others) = (Regions::keyed(5), Regions::keyed(6));
        let (id, key) = regions.register(region(1000, 100)).unwrap();
        let (same, foreign) = others.register(region(1000, 100)).unwrap();
        assert_eq!((regions.find_at(id, key), id), (Some(&region(1000, 100)), same));
        assert_eq!(regions.find_at(id, foreign), None, "a key of another table");
        regions.deregister(key).unwrap();
        assert_eq!(regions.find_at(id, key), None);
        let (again, new) = regions.register(region(7, 7)).unwrap();
        assert_eq!((again, regions.find_at(id, key)), (id, None));
        assert_eq!(regions.find_at(id, new), Some(&region(7, 7)));
    }

    #[test]
    fn a_key_opens_its_own_bytes_and_no_others() {
        let mut regions = Regions::default();
        let (id, key) = regions.register(region(1000, 100)).unwrap();
        let (_, other) = regions.register(region(1100, 100)).unwrap();
        let check = |key, address, length| {
            regions.check(DOMAIN, key, address, Bytes::new(length), Access::REMOTE_WRITE)
        };
        assert_eq!(check(key, 1000, 100), Ok(Placement { region: id, offset: 0 }));
        assert_eq!(check(key, 1099, 1), Ok(Placement { region: id, offset: 99 }));
        for (address, length) in [(999, 1), (1000, 101), (1100, 1), (1099, 2), (1050, u64::MAX)] {
            assert_eq!(check(key, address, length), Err(AccessError::OutOfRange));
        }
        assert_eq!(check(other, 1000, 1), Err(AccessError::OutOfRange));
        assert_eq!(check(Rkey(0), 1000, 1), Err(AccessError::UnknownKey));
        let stranger = ProtectionDomain(4);
        let length = Bytes::new(1);
        let checked = regions.check(stranger, key, 1000, length, Access::LOCAL_READ);
        assert_eq!(checked, Err(AccessError::WrongDomain));
    }

    #[test]
    fn rights_are_needed() {
        let mut regions = Regions::default();
        let readable = Region { access: Access::REMOTE_READ, ..region(0, 10) };
        let (_, key) = regions.register(readable).unwrap();
        let check = |access| regions.check(DOMAIN, key, 0, Bytes::new(1), access);
        assert!(check(Access::REMOTE_READ).is_ok());
        assert!(check(Access::LOCAL_READ).is_ok());
        assert_eq!(check(Access::REMOTE_WRITE), Err(AccessError::Forbidden));
        let both = Access::REMOTE_READ | Access::REMOTE_ATOMIC;
        assert_eq!(check(both), Err(AccessError::Forbidden));
        let bad = Region { access: Access::REMOTE_WRITE, ..region(0, 10) };
        assert_eq!(regions.register(bad), Err(RegisterError::NeedsLocalWrite));
    }

    #[test]
    fn the_ends_of_the_address_space() {
        let mut regions = Regions::default();
        assert_eq!(regions.register(region(0, 0)), Err(RegisterError::BadRange));
        assert_eq!(regions.register(region(u64::MAX, 2)), Err(RegisterError::BadRange));
        let (_, key) = regions.register(region(u64::MAX - 1, 2)).unwrap();
        let check = |address, length| {
            regions.check(DOMAIN, key, address, Bytes::new(length), Access::REMOTE_READ).is_ok()
        };
        assert!(check(u64::MAX, 1) && check(u64::MAX - 1, 2));
        assert!(!check(u64::MAX, 2) && !check(0, 1));
    }

    #[test]
    fn a_key_that_was_given_back_never_works_again() {
        let mut regions = Regions::default();
        let mut old = Vec::new();
        for _ in 0..2000 {
            let (_, key) = regions.register(region(0, 10)).unwrap();
            assert!(!old.contains(&key), "{key} twice");
            assert!(regions.deregister(key).is_some());
            assert!(regions.deregister(key).is_none());
            old.push(key);
        }
        let (_, key) = regions.register(region(0, 10)).unwrap();
        assert!(old.iter().all(|&stale| stale != key && regions.find(stale).is_none()));
        assert_eq!(regions.len(), 1);
    }

    #[test]
    fn scattered_keys_work_and_lie_far_apart() {
        let mut regions = Regions::keyed(0x0123_4567_89ab_cdef);
        let keys: Vec<Rkey> =
            (0..1000u64).map(|n| regions.register(region(n * 10, 10)).unwrap().1).collect();
        for (n, &key) in keys.iter().enumerate() {
            assert_eq!(regions.find(key).unwrap().1.base, n as u64 * 10);
        }
        let neighbours =
            keys.windows(2).filter(|two| two[0].0.abs_diff(two[1].0) < 1 << 16).count();
        assert!(neighbours < 10, "{neighbours}");
        // A guess near a key hits about as often as any other: hardly ever.
        let near =
            |key: &Rkey| (1..50).filter(|step| regions.find(Rkey(key.0 ^ step)).is_some()).count();
        let hits: usize = keys.iter().map(near).sum();
        assert!(hits < 10, "{hits}");
    }

    proptest! {
        #[test]
        fn scattering_can_be_undone(key in any::<u32>(), secret in any::<u64>()) {
            prop_assert_eq!(gather(scatter(key, secret), secret), key);
        }

        #[test]
        fn what_is_allowed_is_inside(
            base in any::<u64>(),
            length in 1u64..10_000,
            address in any::<u64>(),
            near in 0u64..20_000,
            asked in prop_oneof![0u64..20_000, any::<u64>()],
        ) {
            let base = base.min(u64::MAX - length);
            let mut regions = Regions::default();
            let (_, key) = regions.register(region(base, length)).unwrap();
            for address in [address, base.wrapping_sub(5_000).wrapping_add(near)] {
                let access = Access::REMOTE_READ;
                let checked = regions.check(DOMAIN, key, address, Bytes::new(asked), access);
                let (end, from) = (u128::from(base) + u128::from(length), u128::from(address));
                let inside = address >= base && from + u128::from(asked) <= end;
                prop_assert_eq!(checked.is_ok(), inside);
                if let Ok(placement) = checked {
                    prop_assert_eq!(base + placement.offset, address);
                }
            }
        }
    }
}
