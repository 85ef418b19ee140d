//! [`Endpoint`]: a device that moves by itself, for any thread and any executor.

use crate::awaited::Awaited;
use crate::device::Device;
use crate::driver::Driver;
use crate::engine::Engine;
use crate::error::{Error, OpenError};
use crate::memory::Memory;
use crate::pair::{PairId, Remote};
use crate::pending::{Pending, pending};
use crate::settings::{DeviceSettings, PairSettings};
use crate::work::{Completion, RemoteSlice, Slice, Work};
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::Arc;
use xoff_transport::{Access, Atomic};
use xoff_units::Bytes;
use xoff_wire::{Immediate, Psn, Qpn, Service};

/// A device on a thread of its own. Peers reach its memory whatever its users do.
///
/// Every call gives a [`Pending`]: wait for it or await it. Clones are the same endpoint; it ends
/// with the last of them, of its [`Region`]s and of its [`Connection`]s.
///
/// ```
/// use std::time::Duration;
/// use xoff_endpoint::{Access, Bytes, DeviceSettings, Endpoint, Error, Service};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let near = Endpoint::open(DeviceSettings::new([127, 93, 3, 1]))?;
/// let far = Endpoint::open(DeviceSettings::new([127, 93, 3, 2]))?;
/// let (source, target) = (vec![0; 100], vec![0; 100]);
/// let source = near.register(source, Access::ALL).wait()?;
/// let target = far.register(target, Access::ALL).wait()?;
///
/// // A connection with settings of its own: both ends of an unreliable one.
/// let ours = near.connection_with(Service::Unreliable, |settings| settings.qkey.0 = 7).wait()?;
/// let theirs = far.connection_with(Service::Unreliable, |_| {}).wait()?;
/// ours.connect(theirs.introduction(), 1024).wait()?;
/// theirs.connect(ours.introduction(), 1024).wait()?;
///
/// // Only a part of the region is sent. A message may be lost, so the wait for it has a limit.
/// source.fill(Bytes::new(10), b"part".to_vec()).wait()?;
/// let mut received = theirs.receive(target.all());
/// assert!(ours.send(source.slice(Bytes::new(10), Bytes::new(4))).wait()?.is_ok());
/// match received.wait_for(Duration::from_secs(5)) {
///     Ok(completion) => {
///         assert_eq!(completion.arrival().map(|arrival| arrival.length), Some(Bytes::new(4)));
///         assert_eq!(target.bytes().wait()?[..4], *b"part");
///     }
///     Err(Error::TimedOut { what, .. }) => eprintln!("no sign of {what}"),
///     Err(other) => return Err(other.into()),
/// }
///
/// // Anything else that the device can do, on its thread.
/// let pair = ours.pair();
/// assert!(near.with(move |device| device.state(pair)).wait()?.is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Endpoint {
    driver: Arc<Driver>,
    address: SocketAddr,
}

impl Endpoint {
    /// Opens a device and starts its thread.
    pub fn open(settings: DeviceSettings) -> Result<Self, OpenError> {
        Self::start(Device::open(settings)?)
    }

    /// Starts a thread for a device that is there already, with whatever it has.
    pub fn start(device: Device) -> Result<Self, OpenError> {
        let address = device.address();
        let failed = |error| OpenError::Socket { what: "cannot start a thread", error };
        Ok(Self { driver: Arc::new(Driver::start(device).map_err(failed)?), address })
    }

    /// Its address and UDP port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Has the thread call something with the device.
    pub fn with<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Device) -> T + Send + 'static,
    ) -> Pending<T> {
        self.driver.call("run a function", move |engine| Ok(call(&mut engine.device)))
    }

    /// Registers memory. It is given back with the last clone of the region, or when the last work
    /// that was posted with it has ended, whichever is later; peers that know its key reach it until
    /// then.
    pub fn register(&self, bytes: Vec<u8>, access: Access) -> Pending<Region> {
        let endpoint = self.clone();
        self.driver.call("register memory", move |engine| {
            let length = Bytes::new(bytes.len() as u64);
            let memory = engine.device.register(engine.domain, bytes, access, None)?;
            let base = engine.device.base(memory)?;
            let owner = Arc::new(Owner { endpoint, memory });
            Ok(Region { owner, base, length })
        })
    }

    /// Makes one end of a reliable connection.
    pub fn connection(&self) -> Pending<Connection> {
        self.connection_with(Service::Reliable, |_| {})
    }

    /// Makes one end of a connection, with settings of the caller's.
    pub fn connection_with(
        &self,
        service: Service,
        settings: impl FnOnce(&mut PairSettings) + Send + 'static,
    ) -> Pending<Connection> {
        let endpoint = self.clone();
        self.driver.call("make a queue pair", move |engine| {
            let mut chosen = PairSettings::new(service, engine.domain, engine.completions);
            settings(&mut chosen);
            let pair = engine.device.create_pair(chosen)?;
            // Any number will do; another each time keeps packets of older connections out.
            let psn = Psn::new(RandomState::new().hash_one(pair) as u32);
            Ok(Connection { pair: Arc::new(Pair { endpoint, pair }), psn })
        })
    }
}

/// Memory of an [`Endpoint`].
#[derive(Clone)]
pub struct Region {
    owner: Arc<Owner>,
    base: u64,
    length: Bytes,
}

/// Deregisters memory when its last handle is dropped.
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

impl Region {
    /// The device's name for it.
    pub fn memory(&self) -> Memory {
        self.owner.memory
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

    /// Puts bytes into it.
    pub fn fill(&self, offset: Bytes, bytes: Vec<u8>) -> Pending<()> {
        let memory = self.memory();
        self.owner.endpoint.driver.call("fill memory", move |engine| {
            let start = usize::try_from(offset.get()).map_err(|_| Error::OutOfRange)?;
            let end = start.checked_add(bytes.len()).ok_or(Error::OutOfRange)?;
            let room = engine.device.bytes_mut(memory)?.get_mut(start..end);
            room.ok_or(Error::OutOfRange)?.copy_from_slice(&bytes);
            Ok(())
        })
    }
}

/// What the two ends of a connection have to exchange, by any means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Introduction {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its queue pair.
    pub qpn: Qpn,
    /// The number of the first packet it sends.
    pub psn: Psn,
}

/// One end of a connection of an [`Endpoint`]. The queue pair is destroyed with its last clone.
#[derive(Clone)]
pub struct Connection {
    pair: Arc<Pair>,
    psn: Psn,
}

/// Destroys a queue pair when its last handle is dropped.
struct Pair {
    endpoint: Endpoint,
    pair: PairId,
}

impl Drop for Pair {
    fn drop(&mut self) {
        let pair = self.pair;
        self.endpoint.driver.submit(move |engine| {
            let _ = engine.device.destroy(pair);
        });
    }
}

impl Connection {
    /// The device's name for its queue pair.
    pub fn pair(&self) -> PairId {
        self.pair.pair
    }

    /// What the other end has to know.
    pub fn introduction(&self) -> Introduction {
        let (address, qpn) = (self.pair.endpoint.address, self.pair().qpn());
        Introduction { address, qpn, psn: self.psn }
    }

    /// Connects it to the other end, with packets of at most `mtu` bytes of payload.
    pub fn connect(&self, peer: Introduction, mtu: u16) -> Pending<()> {
        let Introduction { address, qpn, psn: receive_psn } = peer;
        let remote = Remote { address, qpn, send_psn: self.psn, receive_psn, mtu };
        let pair = self.pair();
        let connect = move |engine: &mut Engine| engine.device.connect(pair, remote);
        self.pair.endpoint.driver.call("connect a queue pair", connect)
    }

    /// Posts any work. The name in it is not used; the completion says how it ended.
    pub fn post(&self, work: Work) -> Pending<Completion> {
        let pair = self.pair();
        let work = Work { signaled: true, ..work };
        let (promise, pending) = pending(Awaited::Work { pair, verb: work.verb });
        let driver = &self.pair.endpoint.driver;
        driver.submit(move |engine| {
            let post = |device: &mut Device, id| device.post(pair, work.named(id));
            engine.post(promise, work.local.memory, post);
        });
        pending.alarmed(driver.alarm())
    }

    /// Writes to the peer's memory.
    pub fn write(&self, local: Slice, remote: RemoteSlice) -> Pending<Completion> {
        self.post(Work::write(local, remote))
    }

    /// Reads the peer's memory.
    pub fn read(&self, local: Slice, remote: RemoteSlice) -> Pending<Completion> {
        self.post(Work::read(local, remote))
    }

    /// Sends a message.
    pub fn send(&self, local: Slice) -> Pending<Completion> {
        self.post(Work::send(local))
    }

    /// Sends a message, with four bytes beside.
    pub fn send_immediate(&self, local: Slice, immediate: Immediate) -> Pending<Completion> {
        self.post(Work::send_immediate(local, immediate))
    }

    /// Changes eight bytes at the peer, and fetches what was there.
    pub fn atomic(
        &self,
        operation: Atomic,
        local: Slice,
        remote: RemoteSlice,
    ) -> Pending<Completion> {
        self.post(Work::atomic(operation, local, remote))
    }

    /// Ends the queue pair: whatever is posted ends as [flushed](crate::Status::Flushed), and when
    /// this is there, no packet reads or writes the memory of it any more. The only way to take posted
    /// work back. The peer is not told; its work ends with "retry exceeded".
    pub fn abort(&self) -> Pending<()> {
        let pair = self.pair();
        let abort = move |engine: &mut Engine| engine.device.fail(pair);
        self.pair.endpoint.driver.call("end a queue pair", abort)
    }

    /// Takes the next message that no receive posted before takes.
    pub fn receive(&self, local: Slice) -> Pending<Completion> {
        let pair = self.pair();
        let (promise, pending) = pending(Awaited::Message { pair });
        let driver = &self.pair.endpoint.driver;
        driver.submit(move |engine| {
            let post = |device: &mut Device, id| device.post_receive(pair, id, local);
            engine.post(promise, local.memory, post);
        });
        pending.alarmed(driver.alarm())
    }
}
