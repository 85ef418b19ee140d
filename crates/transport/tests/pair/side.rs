//! The memory of one end: real bytes, and guards around them.

use std::collections::BTreeMap;
use xoff_transport::{
    Access, AccessError, Atomic, Host, Placement, ProtectionDomain, Receive, ReceiveQueue, Region,
    Regions, Source, Target,
};
use xoff_units::Bytes;
use xoff_wire::Rkey;

/// Bytes before and after every buffer, which nobody may touch.
const GUARD: usize = 64;
const GUARDED: u8 = 0xa5;

pub const DOMAIN: ProtectionDomain = ProtectionDomain(1);

/// Bytes that tell where they belong.
pub fn pattern(id: u64, length: usize) -> Vec<u8> {
    let mut draws = super::Draws(id.wrapping_mul(0x1234_5678_9abc_def1));
    (0..length).map(|_| draws.next() as u8).collect()
}

/// Bytes with guards around them.
#[derive(Debug, Clone)]
pub struct Guarded(Vec<u8>);

impl Guarded {
    pub fn new(bytes: &[u8]) -> Self {
        let mut all = vec![GUARDED; GUARD];
        all.extend(bytes);
        all.resize(bytes.len() + 2 * GUARD, GUARDED);
        Self(all)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0[GUARD..self.0.len() - GUARD]
    }

    /// The bytes, and whatever is beyond them: a test must see what a real host would suffer.
    fn at(&mut self, offset: u64, length: usize) -> &mut [u8] {
        &mut self.0[GUARD + offset as usize..][..length]
    }

    pub fn is_intact(&self) -> bool {
        let end = self.0.len() - GUARD;
        self.0[..GUARD].iter().chain(&self.0[end..]).all(|&byte| byte == GUARDED)
    }
}

/// One end's memory.
#[derive(Debug, Clone)]
pub struct Side {
    pub regions: Regions,
    pub domain: ProtectionDomain,
    /// The bytes of regions, by their id.
    pub memory: Vec<Guarded>,
    /// The key and first address of the region that everything happens in.
    pub key: Rkey,
    pub base: u64,
    pub receives: ReceiveQueue,
    /// Buffers of receives and of work, by name.
    pub buffers: BTreeMap<u64, Guarded>,
    pub work: BTreeMap<u64, Vec<u8>>,
    pub atomics: u64,
    pub invalidated: Vec<Rkey>,
}

impl Side {
    pub fn new(length: u64, salt: u64) -> Self {
        let mut side = Self {
            regions: Regions::default(),
            domain: DOMAIN,
            memory: Vec::new(),
            key: Rkey(0),
            base: salt << 32,
            receives: ReceiveQueue::default(),
            buffers: BTreeMap::new(),
            work: BTreeMap::new(),
            atomics: 0,
            invalidated: Vec::new(),
        };
        side.key = side.register(side.base, &pattern(salt, length as usize), Access::ALL);
        side
    }

    pub fn register(&mut self, base: u64, bytes: &[u8], access: Access) -> Rkey {
        let length = Bytes::new(bytes.len() as u64);
        let region = Region { domain: DOMAIN, base, length, access };
        let (id, key) = self.regions.register(region).unwrap();
        self.memory.resize(id.index() + 1, Guarded::new(&[]));
        self.memory[id.index()] = Guarded::new(bytes);
        key
    }

    /// The bytes of the region that everything happens in.
    pub fn region(&self) -> &[u8] {
        self.memory[0].bytes()
    }

    pub fn word(&self, offset: usize) -> u64 {
        u64::from_be_bytes(self.region()[offset..offset + 8].try_into().unwrap())
    }

    pub fn set_word(&mut self, offset: u64, value: u64) {
        self.memory[0].at(offset, 8).copy_from_slice(&value.to_be_bytes());
    }

    pub fn post_receive(&mut self, id: u64, length: u64) {
        self.buffers.insert(id, Guarded::new(&vec![0; length as usize]));
        self.receives.post(id, Bytes::new(length)).unwrap();
    }

    /// Puts payload where the queue pair says.
    pub fn put(&mut self, target: Target, payload: &[u8]) {
        let length = payload.len();
        match target {
            Target::Nowhere => {}
            Target::Region(at) => {
                self.memory[at.region.index()].at(at.offset, length).copy_from_slice(payload);
            }
            Target::Receive { id, offset } => {
                let buffer = self.buffers.get_mut(&id).expect("a receive that was posted");
                buffer.at(offset, length).copy_from_slice(payload);
            }
            Target::Read { id, offset } => {
                let buffer = self.work.get_mut(&id).expect("work that was posted");
                buffer[offset as usize..][..length].copy_from_slice(payload);
            }
        }
    }

    /// Fetches payload from where the queue pair says; nothing if that is no longer allowed.
    pub fn get(&mut self, source: Source, length: usize) -> Option<Vec<u8>> {
        Some(match source {
            Source::Nothing => {
                assert_eq!(length, 0, "a payload from nowhere");
                Vec::new()
            }
            Source::Work { id, offset } => self.work[&id][offset as usize..][..length].to_vec(),
            Source::Region { key, address } => {
                let size = Bytes::new(length as u64);
                let access = Access::REMOTE_READ;
                let at = self.regions.check(self.domain, key, address, size, access).ok()?;
                self.memory[at.region.index()].at(at.offset, length).to_vec()
            }
        })
    }

    pub fn is_intact(&self) -> bool {
        self.memory.iter().chain(self.buffers.values()).all(Guarded::is_intact)
    }
}

impl Host for Side {
    fn check(
        &mut self,
        key: Rkey,
        address: u64,
        length: Bytes,
        access: Access,
    ) -> Result<Placement, AccessError> {
        assert!(!length.is_zero(), "nothing needs no key");
        self.regions.check(self.domain, key, address, length, access)
    }

    fn atomic(&mut self, at: Placement, operation: Atomic) -> u64 {
        self.atomics += 1;
        let bytes = self.memory[at.region.index()].at(at.offset, 8);
        let before = u64::from_be_bytes((&*bytes).try_into().unwrap());
        bytes.copy_from_slice(&operation.apply(before).to_be_bytes());
        before
    }

    fn take_receive(&mut self) -> Option<Receive> {
        self.receives.take()
    }

    fn invalidate(&mut self, key: Rkey) -> bool {
        self.invalidated.push(key);
        self.regions.deregister(key).is_some()
    }
}
