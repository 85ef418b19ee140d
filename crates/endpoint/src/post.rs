//! Queue pairs as the caller makes, connects, feeds and ends them.

use crate::completion::{Completions, SharedReceives};
use crate::device::{Device, SLACK};
use crate::error::Error;
use crate::outbox::Route;
use crate::pair::{PairId, PairState, Remote};
use crate::posted::{PostedReceive, PostedWork};
use crate::settings::PairSettings;
use crate::verify::flow;
use crate::work::{DatagramWork, Slice, Work, WorkId};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use xoff_transport::config::QpConfig;
use xoff_transport::{
    Access, AddressHandle, AnyPair, CongestionState, Counters, Datagram, DatagramPair, PostError,
    Qkey, QueuePair, Status, UnreliablePair, Verb, WorkRequest,
};
use xoff_units::Bytes;
use xoff_wire::{Qpn, Service};

/// The key of the management queue pair (IBTA 13.5.1).
const MANAGEMENT_QKEY: Qkey = Qkey(0x8001_0000);

impl Device {
    /// Makes a queue pair. One for datagrams is ready at once, others need a peer.
    pub fn create_pair(&mut self, settings: PairSettings) -> Result<PairId, Error> {
        self.make_pair(settings, false)
    }

    /// Makes the queue pair for management datagrams, whose number is 1. There is one at most.
    pub fn open_management_pair(&mut self, settings: PairSettings) -> Result<PairId, Error> {
        let qkey = MANAGEMENT_QKEY;
        self.make_pair(PairSettings { service: Service::Datagram, qkey, ..settings }, true)
    }

    fn make_pair(&mut self, settings: PairSettings, management: bool) -> Result<PairId, Error> {
        let queues = self.posted.queues.len();
        let known = |queue: Completions| (queue.0 as usize) < queues;
        let shared = settings.shared.is_none_or(|shared| (shared.0 as usize) < self.shared.len());
        if !known(settings.send_completions) || !known(settings.receive_completions) || !shared {
            return Err(Error::NoSuchQueue);
        }
        let mtu = mtu_of(&settings.config)?;
        let (config, qkey, path) = (settings.config.clone(), settings.qkey, self.path());
        let datagram = settings.service == Service::Datagram;
        let id = self.pairs.insert(settings, management).ok_or(Error::Limit("queue pairs"))?;
        if datagram && let Some((_, entry)) = self.pairs.get_mut(id) {
            debug_assert!(mtu > 0);
            let pair = DatagramPair::new(config, id.0, qkey, path);
            entry.core = Some(AnyPair::Datagram(Box::new(pair)));
        }
        Ok(id)
    }

    /// Connects a queue pair to its peer.
    pub fn connect(&mut self, pair: PairId, remote: Remote) -> Result<(), Error> {
        self.connect_with(pair, remote, |_| {})
    }

    /// The kind of a queue pair.
    pub(crate) fn service(&self, pair: PairId) -> Result<Service, Error> {
        Ok(self.pairs.get(pair).ok_or(Error::NoSuchPair)?.settings.service)
    }

    /// Connects a queue pair to its peer, with changes to its transport settings.
    pub(crate) fn connect_with(
        &mut self,
        pair: PairId,
        remote: Remote,
        change: impl FnOnce(&mut QpConfig),
    ) -> Result<(), Error> {
        let (path, local) = (self.path(), self.address);
        let mut route = route(local, remote.address)?;
        if self.settings.entropy {
            let port = entropy(pair.0, remote.qpn);
            let from = SocketAddr::new(local.ip(), port);
            // If the port is taken, or there are too many, our own will do.
            if let (Some(flow), Some(door)) =
                (flow(from, remote.address), self.socket.open_door(from))
            {
                route = route.through(door, flow);
            }
        }
        let (_, entry) = self.pairs.get_mut(pair).ok_or(Error::NoSuchPair)?;
        if entry.core.is_some() {
            return Err(Error::WrongState);
        }
        let mut config = QpConfig::clone(&entry.settings.config);
        config.mtu = Bytes::new(remote.mtu.into());
        change(&mut config);
        mtu_of(&config)?;
        let (config, peer) = (Arc::new(config), remote.qpn);
        let (send, receive) = (remote.send_psn, remote.receive_psn);
        entry.core = Some(match entry.settings.service {
            Service::Reliable => {
                let pair = QueuePair::new(config, pair.0, peer, path).starting_at(send, receive);
                AnyPair::Reliable(Box::new(pair))
            }
            Service::Unreliable => {
                let pair =
                    UnreliablePair::new(config, pair.0, peer, path).starting_at(send, receive);
                AnyPair::Unreliable(Box::new(pair))
            }
            Service::Datagram => return Err(Error::WrongService),
        });
        if entry.settings.service == Service::Reliable {
            entry.peer = Some(self.flights.join(remote.address));
        }
        entry.route = Some(route);
        Ok(())
    }

    /// How far a queue pair is.
    pub fn state(&self, pair: PairId) -> Result<PairState, Error> {
        Ok(self.pairs.get(pair).ok_or(Error::NoSuchPair)?.state())
    }

    /// What a queue pair has counted; nothing before it is ready.
    pub fn counters(&self, pair: PairId) -> Result<Counters, Error> {
        let entry = self.pairs.get(pair).ok_or(Error::NoSuchPair)?;
        Ok(entry.core.as_ref().map(|core| core.counters().clone()).unwrap_or_default())
    }

    /// Bytes of payload that a queue pair has accepted: of the peer's writes and sends, and of its
    /// own reads.
    pub fn delivered(&self, pair: PairId) -> Result<Bytes, Error> {
        let entry = self.pairs.get(pair).ok_or(Error::NoSuchPair)?;
        Ok(Bytes::new(entry.core.as_ref().map_or(0, AnyPair::delivered)))
    }

    /// Bytes of payload that a reliable connection has sent and that are not acknowledged: see
    /// [`DeviceSettings::in_flight`](crate::DeviceSettings::in_flight).
    pub fn in_flight(&self, pair: PairId) -> Result<Bytes, Error> {
        let entry = self.pairs.get(pair).ok_or(Error::NoSuchPair)?;
        Ok(entry.core.as_ref().map_or(Bytes::ZERO, |core| core.in_flight().0))
    }

    /// Messages of the peer that arrived whole at an unreliable connection; other services do not
    /// count them.
    pub fn messages(&self, pair: PairId) -> Result<Option<u64>, Error> {
        let entry = self.pairs.get(pair).ok_or(Error::NoSuchPair)?;
        Ok(entry.core.as_ref().and_then(AnyPair::messages))
    }

    /// What congestion control says of a queue pair; nothing before it is ready.
    pub fn congestion(&self, pair: PairId) -> Result<Option<CongestionState>, Error> {
        let entry = self.pairs.get(pair).ok_or(Error::NoSuchPair)?;
        Ok(entry.core.as_ref().map(|core| core.congestion_state(self.clock.now())))
    }

    /// Ends a queue pair: posted work and receives end as flushed. It keeps its number until it is
    /// destroyed. One that has no peer yet only loses its receives.
    pub fn fail(&mut self, pair: PairId) -> Result<(), Error> {
        let (index, entry) = self.pairs.get_mut(pair).ok_or(Error::NoSuchPair)?;
        if let Some(core) = &mut entry.core {
            core.fail(Status::Flushed);
            self.reap(index, None);
            return Ok(());
        }
        // One that never got ready has no core to flush its receives.
        let queue = entry.settings.receive_completions;
        while let Some(receive) = entry.receives.take() {
            self.posted.receive_flushed(receive.id, pair, queue);
        }
        Ok(())
    }

    /// Takes a queue pair away. What was posted ends as flushed first.
    pub fn destroy(&mut self, pair: PairId) -> Result<(), Error> {
        self.fail(pair)?;
        let index = self.pairs.find(pair.0).ok_or(Error::NoSuchPair)?;
        let entry = self.pairs.remove(pair).ok_or(Error::NoSuchPair)?;
        if let Some(first) = self.flights.leave(index, &entry) {
            self.schedule.push_sender(first);
        }
        Ok(())
    }

    /// Gives a message to move over a connection.
    pub fn post(&mut self, pair: PairId, work: Work) -> Result<(), Error> {
        let now = self.last_progress;
        let (index, entry) = self.pairs.get_mut(pair).ok_or(Error::NoSuchPair)?;
        let core = entry.core.as_mut().ok_or(Error::WrongState)?;
        let atomic = matches!(work.verb, Verb::Atomic(_));
        let fills = atomic || work.verb == Verb::Read;
        let access = if fills { Access::LOCAL_WRITE } else { Access::LOCAL_READ };
        let local = if atomic { Slice { length: Bytes::new(8), ..work.local } } else { work.local };
        if local.length > Bytes::ZERO {
            self.store.check_local(entry.settings.domain, local, access)?;
        }
        let posted = PostedWork { id: work.id, local, signaled: work.signaled, atomic, to: None };
        let queue = entry.settings.send_completions;
        let id = self.posted.add_work(posted, queue)?;
        let request = WorkRequest {
            id,
            operation: work.verb,
            length: local.length,
            address: work.remote.address,
            rkey: work.remote.key,
        };
        if let Err(error) = core.post(now, request) {
            self.posted.take_back(id, queue);
            return Err(error.into());
        }
        self.schedule.posted(index, entry, now, SLACK.ahead);
        Ok(())
    }

    /// Gives a datagram to send.
    pub fn post_datagram(&mut self, pair: PairId, work: DatagramWork) -> Result<(), Error> {
        let now = self.last_progress;
        check_peer(self.address, work.to)?;
        let (index, entry) = self.pairs.get_mut(pair).ok_or(Error::NoSuchPair)?;
        let core = entry.core.as_mut().ok_or(Error::WrongState)?;
        if work.local.length > Bytes::ZERO {
            let domain = entry.settings.domain;
            self.store.check_local(domain, work.local, Access::LOCAL_READ)?;
        }
        let (local, signaled, to) = (work.local, work.signaled, Some(work.to));
        let posted = PostedWork { id: work.id, local, signaled, atomic: false, to };
        let queue = entry.settings.send_completions;
        let id = self.posted.add_work(posted, queue)?;
        let datagram = Datagram {
            id,
            length: work.local.length,
            immediate: work.immediate,
            address: AddressHandle(id),
            to: work.qpn,
            qkey: work.qkey,
        };
        if let Err(error) = core.post_datagram(now, datagram) {
            self.posted.take_back(id, queue);
            return Err(error.into());
        }
        self.schedule.posted(index, entry, now, SLACK.ahead);
        Ok(())
    }

    /// Gives a buffer for a message of the peer. One for a write with immediate data may be empty.
    pub fn post_receive(&mut self, pair: PairId, id: WorkId, local: Slice) -> Result<(), Error> {
        let (_, entry) = self.pairs.get_mut(pair).ok_or(Error::NoSuchPair)?;
        if entry.settings.shared.is_some() {
            return Err(Error::WrongService);
        }
        if entry.state() == PairState::Error {
            return Err(Error::Post(PostError::Failed));
        }
        if local.length > Bytes::ZERO {
            self.store.check_local(entry.settings.domain, local, Access::LOCAL_WRITE)?;
        }
        let queue = entry.settings.receive_completions;
        if !self.posted.queue(queue).is_some_and(|queue| queue.reserve()) {
            return Err(Error::Limit("completions"));
        }
        let receive = PostedReceive { id, local, reserved: true };
        let place = self.posted.receives.insert(receive);
        let result = match place {
            Some(place) => entry.receives.post(place, local.length).map_err(Error::Post),
            None => Err(Error::Limit("posted receives")),
        };
        if result.is_err() {
            place.and_then(|place| self.posted.receives.remove(place));
            if let Some(queue) = self.posted.queue(queue) {
                queue.release();
            }
        }
        result
    }

    /// Gives a buffer to all queue pairs that share the queue. Its memory has to be in their
    /// protection domain: a message that meets one which is not ends its queue pair.
    pub fn post_shared_receive(
        &mut self,
        shared: SharedReceives,
        id: WorkId,
        local: Slice,
    ) -> Result<(), Error> {
        let queue = self.shared.get_mut(shared.0 as usize).ok_or(Error::NoSuchQueue)?;
        if local.length > Bytes::ZERO {
            let domain = self.store.domain(local.memory)?;
            self.store.check_local(domain, local, Access::LOCAL_WRITE)?;
        }
        let receive = PostedReceive { id, local, reserved: false };
        let place = self.posted.receives.insert(receive);
        let place = place.ok_or(Error::Limit("posted receives"))?;
        if let Err(error) = queue.post(place, local.length) {
            self.posted.receives.remove(place);
            return Err(error.into());
        }
        Ok(())
    }

    /// Receives that wait in a shared queue.
    pub fn shared_receives(&self, shared: SharedReceives) -> Result<usize, Error> {
        Ok(self.shared.get(shared.0 as usize).ok_or(Error::NoSuchQueue)?.len())
    }
}

/// The MTU, if it is one of RoCE's.
fn mtu_of(config: &QpConfig) -> Result<u16, Error> {
    match config.mtu.get() {
        mtu @ (256 | 512 | 1024 | 2048 | 4096) => Ok(mtu as u16),
        _ => Err(Error::BadMtu),
    }
}

/// Whether packets can go from `local` to `peer`.
fn check_peer(local: SocketAddr, peer: SocketAddr) -> Result<(), Error> {
    let everybody = match peer.ip() {
        IpAddr::V4(ip) => ip.is_broadcast() || ip.is_multicast() || ip.is_unspecified(),
        IpAddr::V6(ip) => ip.is_multicast() || ip.is_unspecified(),
    };
    let wrong = local.is_ipv4() != peer.is_ipv4() || everybody || peer.port() == 0;
    if wrong { Err(Error::BadAddress) } else { Ok(()) }
}

/// A port above 49,152 that depends on both queue pairs: the same for all packets of a connection,
/// and most often another for another.
fn entropy(local: Qpn, peer: Qpn) -> u16 {
    let mixed = local.get() ^ peer.get().rotate_left(7);
    0xc000 | ((mixed ^ mixed >> 14 ^ mixed >> 28) & 0x3fff) as u16
}

/// The way from `local` to `peer`.
pub(crate) fn route(local: SocketAddr, peer: SocketAddr) -> Result<Route, Error> {
    check_peer(local, peer)?;
    Ok(Route::new(peer, flow(local, peer).ok_or(Error::BadAddress)?))
}
