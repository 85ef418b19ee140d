//! rdma_cm on the device's thread: which connection of the manager belongs to which queue pair, who
//! waits for what, and what its events mean for them.

use crate::awaited::Awaited;
use crate::cm::{Agent, ConnectionId, Event, Offer, Peer};
use crate::connection::Connection;
use crate::engine::Engine;
use crate::error::{Error, Rejection};
use crate::listener::{Incoming, Listeners};
use crate::pair::{PairId, PairState, Remote};
use crate::pending::Promise;
use crate::terms::{End, Negotiated, Terms};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use xoff_transport::Status;
use xoff_units::Instant;
use xoff_wire::cm::RejectReason;
use xoff_wire::udp::Port;

/// Everything that has to do with connections and their ends.
#[derive(Default)]
pub(crate) struct Dialogs {
    /// From the first call that needs it.
    agent: Option<Agent>,
    pub(crate) listeners: Listeners,
    pairs: BTreeMap<PairId, Dialog>,
    /// Queue pairs by the manager's name for their connection.
    ids: BTreeMap<ConnectionId, PairId>,
    /// Those whose end somebody waits for.
    watched: BTreeSet<PairId>,
}

/// What is known of one queue pair.
#[derive(Default)]
struct Dialog {
    /// The manager's name for its connection.
    id: Option<ConnectionId>,
    /// Until it is connected.
    connecting: Option<Connecting>,
    /// We have told the peer that it ends.
    parted: bool,
    /// Who waits for the peer to agree that it has ended. The handle keeps the queue pair until then.
    parting: Vec<(Promise<()>, Connection)>,
    /// Who waits for its end.
    watching: Vec<Promise<End>>,
    /// Why work of it failed.
    failure: Option<Status>,
    end: Option<End>,
}

/// A connection in the making.
struct Connecting {
    connection: Connection,
    promise: Promise<Connection>,
    what: Awaited,
    offer: Offer,
    /// It was requested by us. Otherwise it is connected already: the peer may send before it
    /// confirms.
    active: bool,
}

impl Engine {
    /// The agent, opened if there is none yet.
    fn agent(&mut self) -> Result<&mut Agent, Error> {
        if self.dialogs.agent.is_none() {
            let seed = RandomState::new().hash_one(self.device.address());
            self.dialogs.agent = Some(Agent::open(&mut self.device, seed)?);
        }
        self.dialogs.agent.as_mut().ok_or(Error::Gone)
    }

    /// Starts to listen.
    pub(crate) fn listen(&mut self, port: u16) -> Result<(), Error> {
        self.agent()?.manager().listen(Port(port));
        Ok(())
    }

    /// Requests a connection.
    pub(crate) fn request(
        &mut self,
        connection: Connection,
        to: IpAddr,
        port: u16,
        terms: &Terms,
        promise: Promise<Connection>,
    ) {
        let offer = match self.offer(&connection, terms) {
            Ok(offer) => offer,
            Err(error) => return promise.keep(Err(error)),
        };
        let now = self.device.now();
        let asked = self.agent().and_then(|agent| {
            agent.manager().connect_with(now, to, Port(port), offer, terms.extras())
        });
        let id = match asked {
            Ok(id) => id,
            Err(error) => return promise.keep(Err(error)),
        };
        let what = Awaited::Answer { from: to, port };
        self.begin(id, Connecting { connection, promise, what, offer, active: true });
    }

    /// What a queue pair offers in a request, if it can make one.
    fn offer(&self, connection: &Connection, terms: &Terms) -> Result<Offer, Error> {
        let pair = connection.pair();
        self.check(pair, terms)?;
        let service = self.device.service(pair)?;
        Ok(terms.request(pair.qpn(), connection.introduction().psn, service))
    }

    /// Whether a queue pair can be connected on these terms.
    fn check(&self, pair: PairId, terms: &Terms) -> Result<(), Error> {
        terms.check()?;
        let busy = self.dialogs.pairs.get(&pair).is_some_and(|dialog| dialog.id.is_some());
        if busy || self.device.state(pair)? != PairState::Init {
            return Err(Error::WrongState);
        }
        Ok(())
    }

    fn begin(&mut self, id: ConnectionId, connecting: Connecting) {
        let pair = connecting.connection.pair();
        self.dialogs.ids.insert(id, pair);
        let dialog = self.dialogs.pairs.entry(pair).or_default();
        dialog.id = Some(id);
        dialog.connecting = Some(connecting);
    }

    /// Accepts a request.
    pub(crate) fn accept(
        &mut self,
        incoming: &Incoming,
        connection: Connection,
        terms: &Terms,
        promise: Promise<Connection>,
    ) {
        let what = Awaited::Confirmation { from: incoming.peer.address };
        match self.try_accept(incoming, &connection, terms) {
            Ok(offer) => {
                let active = false;
                let connecting = Connecting { connection, promise, what, offer, active };
                self.begin(incoming.id, connecting);
            }
            Err(error) => {
                // One of the two, depending on how far it came.
                self.reject(incoming.id, RejectReason::CONSUMER);
                self.part(incoming.id);
                promise.keep(Err(error));
            }
        }
    }

    fn try_accept(
        &mut self,
        incoming: &Incoming,
        connection: &Connection,
        terms: &Terms,
    ) -> Result<Offer, Error> {
        let peer = &incoming.peer;
        let (pair, psn) = (connection.pair(), connection.introduction().psn);
        self.check(pair, terms)?;
        if self.device.service(pair)? != peer.service {
            return Err(Error::WrongService);
        }
        let now = self.device.now();
        let offer = terms.answer(pair.qpn(), psn, peer);
        // Whether the answer can be given is known before the queue pair changes; and it is ready
        // before the answer leaves.
        let agent = self.agent()?;
        agent.manager().accept_with(now, incoming.id, offer, terms.extras())?;
        self.join(connection, &offer, peer, incoming.data.to_vec())?;
        Ok(offer)
    }

    /// Connects a queue pair to the peer that rdma_cm has found.
    fn join(
        &mut self,
        connection: &Connection,
        offer: &Offer,
        peer: &Peer,
        data: Vec<u8>,
    ) -> Result<(), Error> {
        let agreed = Negotiated::new(offer, peer, self.device.address().port(), data);
        let remote = Remote {
            address: agreed.peer,
            qpn: peer.qpn,
            // Each side says with which number the *other* begins (IBTA 12.6.5, 12.6.8).
            send_psn: peer.psn,
            receive_psn: offer.psn,
            mtu: agreed.mtu,
        };
        self.device.connect_with(connection.pair(), remote, |config| agreed.apply(config))?;
        connection.agree(agreed);
        Ok(())
    }

    /// Rejects a request without a word of the application, if it still waits.
    pub(crate) fn reject(&mut self, id: ConnectionId, reason: RejectReason) {
        let _ = self.reject_with(id, reason, &[]);
    }

    /// Rejects a request.
    pub(crate) fn reject_with(
        &mut self,
        id: ConnectionId,
        reason: RejectReason,
        data: &[u8],
    ) -> Result<(), Error> {
        let now = self.device.now();
        self.agent()?.manager().reject_with(now, id, reason, data)
    }

    /// Ends a connection without waiting for the peer.
    fn part(&mut self, id: ConnectionId) {
        let now = self.device.now();
        if let Some(agent) = &mut self.dialogs.agent {
            agent.manager().withdraw(now, id);
            agent.manager().disconnect(now, id);
        }
    }

    /// No more requests for this port.
    pub(crate) fn unlisten(&mut self, port: u16) {
        if let Some(agent) = &mut self.dialogs.agent {
            agent.manager().unlisten(Port(port));
        }
    }

    /// Ends a connection in good order.
    pub(crate) fn disconnect(&mut self, own: Connection, data: &[u8], promise: Promise<()>) {
        let (pair, now) = (own.pair(), self.device.now());
        let Dialogs { pairs, agent, .. } = &mut self.dialogs;
        let (Some(dialog), Some(agent)) = (pairs.get_mut(&pair), agent) else {
            return promise.keep(Err(Error::WrongState));
        };
        match dialog.id {
            // The peer has ended it.
            None if dialog.end.is_some() => return promise.keep(Ok(())),
            None => return promise.keep(Err(Error::WrongState)),
            Some(_) if dialog.parted => {}
            Some(id) => match agent.manager().disconnect_with(now, id, data) {
                Ok(()) => dialog.parted = true,
                Err(error) => return promise.keep(Err(error)),
            },
        }
        dialog.parting.push((promise, own));
        // The peer may take its time; our end is over.
        let _ = self.device.fail(pair);
        self.ended(pair, End::Local);
    }

    /// Says how a connection ends, now or later.
    pub(crate) fn watch(&mut self, pair: PairId, promise: Promise<End>) {
        let dialog = self.dialogs.pairs.entry(pair).or_default();
        match &dialog.end {
            Some(end) => promise.keep(Ok(end.clone())),
            None => {
                dialog.watching.push(promise);
                self.dialogs.watched.insert(pair);
            }
        }
    }

    /// Notes how a connection has ended: the first reason counts.
    fn ended(&mut self, pair: PairId, end: End) {
        let Some(dialog) = self.dialogs.pairs.get_mut(&pair) else { return };
        self.dialogs.watched.remove(&pair);
        let end = dialog.end.get_or_insert(end).clone();
        for promise in std::mem::take(&mut dialog.watching) {
            promise.keep(Ok(end.clone()));
        }
    }

    /// Work of a queue pair has failed.
    pub(crate) fn note_failure(&mut self, pair: PairId, status: Status) {
        let dialog = self.dialogs.pairs.entry(pair).or_default();
        if status != Status::Flushed {
            dialog.failure.get_or_insert(status);
        }
    }

    /// The last handle of a queue pair was dropped.
    pub(crate) fn drop_pair(&mut self, pair: PairId) {
        self.ended(pair, End::Local);
        if let Some(dialog) = self.dialogs.pairs.remove(&pair)
            && let Some(id) = dialog.id
        {
            self.dialogs.ids.remove(&id);
            self.part(id);
        }
        let _ = self.device.destroy(pair);
    }

    /// Takes out whatever nobody waits for any more.
    pub(crate) fn drop_unwanted(&mut self) {
        let mut dropped = Vec::new();
        for (pair, dialog) in &mut self.dialogs.pairs {
            dialog.watching.retain(|promise| !promise.is_unwanted());
            if dialog.watching.is_empty() {
                self.dialogs.watched.remove(pair);
            }
            dialog.parting.retain(|(promise, _)| !promise.is_unwanted());
            let gone = |connecting: &mut Connecting| connecting.promise.is_unwanted();
            dropped.extend(dialog.connecting.take_if(gone));
        }
        // The last handle of a queue pair ends its connection.
        drop(dropped);
        self.dialogs.listeners.drop_unwanted();
    }

    /// Takes and sends messages, and acts on what they say.
    pub(crate) fn converse(&mut self) {
        self.notice_failures();
        let Some(agent) = &mut self.dialogs.agent else { return };
        if let Err(error) = agent.turn(&mut self.device) {
            return self.hang_up(&error);
        }
        while let Some(event) = self.next_event() {
            self.act(event);
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        self.dialogs.agent.as_mut()?.manager().poll_event()
    }

    /// Queue pairs whose end somebody waits for: whether they have failed.
    fn notice_failures(&mut self) {
        let failed = |pair: &&PairId| self.device.state(**pair) == Ok(PairState::Error);
        let failed: Vec<PairId> = self.dialogs.watched.iter().filter(failed).copied().collect();
        for pair in failed {
            let status = self.dialogs.pairs.get(&pair).and_then(|dialog| dialog.failure);
            self.ended(pair, End::Failed(status.unwrap_or(Status::Flushed)));
        }
    }

    /// Queue pair 1 does not work any more. Nothing that is known leads here; but if it does, nobody
    /// must wait for answers that cannot come.
    fn hang_up(&mut self, error: &Error) {
        self.dialogs.agent = None;
        self.dialogs.ids.clear();
        for dialog in self.dialogs.pairs.values_mut() {
            dialog.id = None;
            if let Some(connecting) = dialog.connecting.take() {
                connecting.promise.keep(Err(error.clone()));
            }
            dialog.parting.clear();
        }
    }

    /// When something is to be said even if nothing arrives.
    pub(crate) fn next_word(&self) -> Instant {
        self.dialogs.agent.as_ref().map_or(Instant::MAX, Agent::deadline)
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Requested { id, service, peer, data } => {
                let Some(Port(port)) = service.tcp_port() else {
                    return self.reject(id, RejectReason::INVALID_SERVICE_ID);
                };
                if !self.dialogs.listeners.arrived(Incoming { id, port, peer, data }) {
                    self.reject(id, RejectReason::INVALID_SERVICE_ID);
                }
            }
            Event::Established { id, peer } => self.established(id, &peer),
            Event::Rejected { id, reason } => {
                let private_data = self.private_data(id);
                self.refused(id, Error::Rejected(Rejection { reason, private_data }));
            }
            Event::TimedOut { id } => {
                // A request that the caller did not answer, or one of ours.
                self.dialogs.listeners.forget(id);
                let what = self.connecting(id).map(|connecting| connecting.what);
                self.refused(id, what.map_or(Error::RequestGone, Error::NoAnswer));
            }
            Event::Disconnected { id } => self.parted(id),
            // Lookups of datagram services: none are made here, and none are listened for.
            Event::LookedUp { .. } | Event::Found { .. } | Event::NotFound { .. } => {}
        }
    }

    fn private_data(&mut self, id: ConnectionId) -> Vec<u8> {
        let manager = self.dialogs.agent.as_mut().map(Agent::manager);
        manager.map(|manager| manager.private_data(id).to_vec()).unwrap_or_default()
    }

    fn connecting(&mut self, id: ConnectionId) -> Option<&mut Connecting> {
        let pair = self.dialogs.ids.get(&id)?;
        self.dialogs.pairs.get_mut(pair)?.connecting.as_mut()
    }

    fn take_connecting(&mut self, id: ConnectionId) -> Option<Connecting> {
        let pair = self.dialogs.ids.get(&id)?;
        self.dialogs.pairs.get_mut(pair)?.connecting.take()
    }

    fn established(&mut self, id: ConnectionId, peer: &Peer) {
        let Some(Connecting { connection, promise, offer, active, .. }) = self.take_connecting(id)
        else {
            return;
        };
        if active {
            let data = self.private_data(id);
            if let Err(error) = self.join(&connection, &offer, peer, data) {
                // Dropping the connection ends it at the peer, too.
                return promise.keep(Err(error));
            }
        }
        promise.keep(Ok(connection));
    }

    /// A connection did not come about, or the peer says that it never did.
    fn refused(&mut self, id: ConnectionId, error: Error) {
        let Some(pair) = self.dialogs.ids.remove(&id) else { return };
        let connecting = self.dialogs.pairs.get_mut(&pair).and_then(|dialog| {
            dialog.id = None;
            dialog.connecting.take()
        });
        match connecting {
            Some(connecting) => connecting.promise.keep(Err(error)),
            None => {
                let _ = self.device.fail(pair);
                self.ended(pair, End::Peer { private_data: Vec::new() });
            }
        }
    }

    fn parted(&mut self, id: ConnectionId) {
        let private_data = self.private_data(id);
        let Some(pair) = self.dialogs.ids.remove(&id) else { return };
        let _ = self.device.fail(pair);
        self.ended(pair, End::Peer { private_data });
        let Some(dialog) = self.dialogs.pairs.get_mut(&pair) else { return };
        dialog.id = None;
        let connecting = dialog.connecting.take();
        for (promise, _own) in std::mem::take(&mut dialog.parting) {
            promise.keep(Ok(()));
        }
        // Accepted, and ended before it was confirmed.
        if let Some(connecting) = connecting {
            connecting.promise.keep(Ok(connecting.connection));
        }
    }
}
