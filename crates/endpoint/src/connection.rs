//! [`Connection`]: one end of a connection of an endpoint, and what is done with it.

use crate::awaited::Awaited;
use crate::device::Device;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::Error;
use crate::memory::Memory;
use crate::pair::{PairId, Remote};
use crate::pending::{Pending, failed, pending};
use crate::settings::PairSettings;
use crate::terms::{End, Negotiated, Terms};
use crate::work::{Completion, RemoteSlice, Slice, Work};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use xoff_transport::{Atomic, Verb};
use xoff_wire::{Immediate, Psn, Qpn, Service};

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

/// One end of a connection of an [`Endpoint`]. With its last clone it is disconnected, if rdma_cm
/// made it, and its queue pair is destroyed.
#[derive(Clone)]
pub struct Connection {
    pair: Arc<Pair>,
    psn: Psn,
}

/// Destroys a queue pair when its last handle is dropped.
struct Pair {
    endpoint: Endpoint,
    pair: PairId,
    /// Once rdma_cm has connected it.
    negotiated: OnceLock<Negotiated>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        let pair = self.pair;
        self.endpoint.driver.submit(move |engine| engine.drop_pair(pair));
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let peer = self.negotiated().map(|agreed| agreed.peer);
        let mut shown = f.debug_struct("Connection");
        shown.field("pair", &self.pair()).field("peer", &peer).finish_non_exhaustive()
    }
}

impl Connection {
    /// Makes one end.
    pub(crate) fn new(
        engine: &mut Engine,
        endpoint: Endpoint,
        service: Service,
        settings: impl FnOnce(&mut PairSettings),
    ) -> Result<Self, Error> {
        let mut chosen = PairSettings::new(service, engine.domain, engine.completions);
        settings(&mut chosen);
        let pair = engine.device.create_pair(chosen)?;
        // Any number will do; another each time keeps packets of older connections out.
        let psn = Psn::new(RandomState::new().hash_one(pair) as u32);
        let pair = Pair { endpoint, pair, negotiated: OnceLock::new() };
        Ok(Self { pair: Arc::new(pair), psn })
    }

    /// The device's name for its queue pair.
    pub fn pair(&self) -> PairId {
        self.pair.pair
    }

    /// The endpoint it is one of.
    pub fn endpoint(&self) -> &Endpoint {
        &self.pair.endpoint
    }

    /// What the other end has to know.
    pub fn introduction(&self) -> Introduction {
        let (address, qpn) = (self.pair.endpoint.address(), self.pair().qpn());
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

    /// Connects it by rdma_cm to what listens at a port of `to`: as
    /// [`Endpoint::connect_with`], for a queue pair that was made with settings of its own or that has
    /// receives posted already. Its own service counts, not that of the terms.
    pub fn request(&self, to: impl Into<IpAddr>, port: u16, terms: Terms) -> Pending<Self> {
        let (own, to) = (self.clone(), to.into());
        let (promise, pending) = pending(Awaited::Answer { from: to, port });
        let driver = &self.pair.endpoint.driver;
        driver.submit(move |engine| engine.request(own, to, port, &terms, promise));
        driver.withdrawing(pending)
    }

    /// What was agreed on when rdma_cm connected it.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        self.pair.negotiated.get()
    }

    /// Notes what was agreed on.
    pub(crate) fn agree(&self, negotiated: Negotiated) {
        // It is connected once: the device refuses a second time.
        let _ = self.pair.negotiated.set(negotiated);
    }

    /// Ends a connection that rdma_cm made: posted work ends as flushed, the peer is told, with at
    /// most [`DISCONNECT_DATA`](crate::cm::DISCONNECT_DATA) bytes of private data. There when the peer
    /// has agreed or has not answered for 9 seconds; this end is closed at once in any case.
    pub fn disconnect(&self, private_data: &[u8]) -> Pending<()> {
        let (own, data) = (self.clone(), private_data.to_vec());
        let (promise, pending) = pending(Awaited::Disconnect { pair: self.pair() });
        let driver = &self.pair.endpoint.driver;
        driver.submit(move |engine| engine.disconnect(own, &data, promise));
        driver.withdrawing(pending)
    }

    /// The end of the connection: the peer has disconnected, we have, or the queue pair has failed. A
    /// dead peer is noticed only by work that it does not acknowledge ([`Connection::probe`]).
    pub fn ended(&self) -> Pending<End> {
        let pair = self.pair();
        let (promise, pending) = pending(Awaited::End { pair });
        let driver = &self.pair.endpoint.driver;
        driver.submit(move |engine| engine.watch(pair, promise));
        driver.withdrawing(pending)
    }

    /// Ends the queue pair: whatever is posted ends as [flushed](crate::Status::Flushed), and when
    /// this is there, no packet reads or writes the memory of it any more. The only way to take posted
    /// work back. The peer is not told; its work ends with "retry exceeded".
    pub fn abort(&self) -> Pending<()> {
        let pair = self.pair();
        let abort = move |engine: &mut Engine| engine.device.fail(pair);
        self.pair.endpoint.driver.call("end a queue pair", abort)
    }

    /// Posts any work. The name in it is not used; the completion says how it ended.
    pub fn post(&self, work: Work) -> Pending<Completion> {
        let pair = self.pair();
        let work = Work { signaled: true, ..work };
        let what = Awaited::Work { pair, verb: work.verb };
        let reads = matches!(work.verb, Verb::Read | Verb::Atomic(_));
        if reads && self.negotiated().is_some_and(|agreed| agreed.initiator_depth == 0) {
            return failed(what, Error::NoReads);
        }
        let (promise, pending) = pending(what);
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

    /// Writes nothing, to hear whether the peer is there: the completion says that its queue pair
    /// answers, or why not.
    pub fn probe(&self) -> Pending<Completion> {
        let nothing = Slice::new(Memory::NONE, 0, 0);
        self.write(nothing, RemoteSlice::default())
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
