//! [`Region`]: memory of an endpoint, and its handles.

use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::Error;
use crate::memory::Memory;
use crate::pending::Pending;
use crate::work::{RemoteSlice, Slice};
use std::fmt;
use std::sync::Arc;
use xoff_transport::Access;
use xoff_units::Bytes;

/// Memory of an [`Endpoint`].
#[derive(Clone)]
pub struct Region {
    owner: Arc<Owner>,
    base: u64,
    length: Bytes,
}

/// Gives memory back when its last handle is dropped.
struct Owner {
    endpoint: Endpoint,
    memory: Memory,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let memory = self.memory;
        self.endpoint.driver.submit(move |engine| engine.release(memory));
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Region");
        shown.field("memory", &self.memory()).field("length", &self.length).finish_non_exhaustive()
    }
}

impl Region {
    /// Registers memory.
    pub(crate) fn new(
        engine: &mut Engine,
        endpoint: Endpoint,
        bytes: Vec<u8>,
        access: Access,
    ) -> Result<Self, Error> {
        let length = Bytes::new(bytes.len() as u64);
        let memory = engine.device.register(engine.domain, bytes, access, None)?;
        let base = engine.device.base(memory)?;
        Ok(Self { owner: Arc::new(Owner { endpoint, memory }), base, length })
    }

    /// The device's name for it.
    pub fn memory(&self) -> Memory {
        self.owner.memory
    }

    /// How long it is.
    pub fn length(&self) -> Bytes {
        self.length
    }

    /// All of it.
    pub fn all(&self) -> Slice {
        Slice { memory: self.memory(), offset: Bytes::ZERO, length: self.length }
    }

    /// A part of it.
    pub fn slice(&self, offset: Bytes, length: Bytes) -> Slice {
        Slice { memory: self.memory(), offset, length }
    }

    /// What a peer needs to reach the bytes from `offset` on.
    pub fn remote(&self, offset: Bytes) -> RemoteSlice {
        let address = self.base.wrapping_add(offset.get());
        RemoteSlice { address, key: self.memory().key() }
    }

    /// A copy of its bytes.
    pub fn bytes(&self) -> Pending<Vec<u8>> {
        let memory = self.memory();
        let copy = move |engine: &mut Engine| Ok(engine.device.bytes(memory)?.to_vec());
        self.owner.endpoint.driver.call("copy memory", copy)
    }

    /// A copy of some of its bytes.
    pub fn copy(&self, offset: Bytes, length: Bytes) -> Pending<Vec<u8>> {
        let memory = self.memory();
        self.owner.endpoint.driver.call("copy memory", move |engine| {
            let all = engine.device.bytes(memory)?;
            let part = part(offset, length).and_then(|range| all.get(range));
            Ok(part.ok_or(Error::OutOfRange)?.to_vec())
        })
    }

    /// Puts bytes into it.
    pub fn fill(&self, offset: Bytes, bytes: Vec<u8>) -> Pending<()> {
        let memory = self.memory();
        self.owner.endpoint.driver.call("fill memory", move |engine| {
            let all = engine.device.bytes_mut(memory)?;
            let range = part(offset, Bytes::new(bytes.len() as u64));
            let room = range.and_then(|range| all.get_mut(range));
            room.ok_or(Error::OutOfRange)?.copy_from_slice(&bytes);
            Ok(())
        })
    }
}

fn part(offset: Bytes, length: Bytes) -> Option<std::ops::Range<usize>> {
    let start = usize::try_from(offset.get()).ok()?;
    let end = start.checked_add(usize::try_from(length.get()).ok()?)?;
    Some(start..end)
}
