//! [`Listener`]s and the [`Request`]s that arrive at them.

use crate::awaited::Awaited;
use crate::cm::{ConnectionId, Peer, REQUEST_DATA};
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::Error;
use crate::pending::{Pending, Promise, pending};
use crate::terms::Terms;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use xoff_units::Bytes;
use xoff_wire::Service;
use xoff_wire::cm::RejectReason;

/// A port of an [`Endpoint`] at which peers request connections. With its last clone, requests that
/// nobody took are rejected.
#[derive(Clone)]
pub struct Listener {
    owner: Arc<Owner>,
}

struct Owner {
    endpoint: Endpoint,
    port: u16,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let port = self.port;
        self.endpoint.driver.submit(move |engine| {
            engine.unlisten(port);
            for incoming in engine.dialogs.listeners.close(port) {
                engine.reject(incoming.id, RejectReason::INVALID_SERVICE_ID);
            }
        });
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("port", &self.port()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("peer", &self.peer()).finish_non_exhaustive()
    }
}

impl Listener {
    /// Listens at a port.
    pub(crate) fn new(engine: &mut Engine, endpoint: Endpoint, port: u16) -> Result<Self, Error> {
        if engine.dialogs.listeners.ports.contains_key(&port) {
            return Err(Error::PortInUse(port));
        }
        engine.listen(port)?;
        engine.dialogs.listeners.ports.insert(port, Line::default());
        Ok(Self { owner: Arc::new(Owner { endpoint, port }) })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.owner.port
    }

    /// The endpoint it is one of.
    pub fn endpoint(&self) -> &Endpoint {
        &self.owner.endpoint
    }

    /// The next request. Several may wait; each request goes to one of them, in turn.
    ///
    /// A request waits 30 seconds to be answered; a peer gives up after 9.
    pub fn next(&self) -> Pending<Request> {
        let (own, port) = (self.clone(), self.port());
        let (promise, pending) = pending(Awaited::Request { port });
        let driver = &self.owner.endpoint.driver;
        let mailbox = driver.mailbox();
        driver.submit(move |engine| engine.dialogs.listeners.wait(own, promise));
        let undo = move |request: Option<Result<Request, Error>>| {
            mailbox.submit(Box::new(move |engine: &mut Engine| {
                // One that arrived and was not taken goes to the next who waits.
                if let Some(Ok(mut request)) = request
                    && let Some(incoming) = request.incoming.take()
                {
                    engine.dialogs.listeners.put_back(incoming);
                }
                engine.drop_unwanted();
            }));
        };
        pending.alarmed(driver.alarm()).or_else(Box::new(undo))
    }
}

/// A request as the manager knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Incoming {
    pub(crate) id: ConnectionId,
    pub(crate) port: u16,
    pub(crate) peer: Peer,
    pub(crate) data: [u8; REQUEST_DATA],
}

/// A peer that wants to connect: accept or reject it. Dropped, it is rejected.
pub struct Request {
    listener: Listener,
    /// Until it is answered.
    incoming: Option<Incoming>,
    peer: Peer,
    data: [u8; REQUEST_DATA],
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take() {
            let reject =
                move |engine: &mut Engine| engine.reject(incoming.id, RejectReason::CONSUMER);
            self.listener.owner.endpoint.driver.submit(reject);
        }
    }
}

impl Request {
    /// The peer's address.
    pub fn peer(&self) -> IpAddr {
        self.peer.address
    }

    /// What the peer's application added. It has no length on the wire: behind it are zeros.
    pub fn private_data(&self) -> &[u8] {
        &self.data
    }

    /// What kind of connection is requested.
    pub fn service(&self) -> Service {
        self.peer.service
    }

    /// Most payload of a packet.
    pub fn mtu(&self) -> Bytes {
        self.peer.mtu
    }

    /// Most reads and atomics that the peer wants to have under way at a time.
    pub fn initiator_depth(&self) -> u8 {
        self.peer.initiator_depth
    }

    /// Most reads and atomics that the peer answers at a time.
    pub fn responder_resources(&self) -> u8 {
        self.peer.responder_resources
    }

    /// Accepts it on the usual terms, with at most [`ACCEPT_DATA`](crate::cm::ACCEPT_DATA) bytes of
    /// private data.
    pub fn accept(self, private_data: &[u8]) -> Pending<Connection> {
        self.accept_with(Terms::with_data(private_data))
    }

    /// Accepts it. If the terms cannot be said, it is an error, and the request is rejected.
    pub fn accept_with(self, terms: Terms) -> Pending<Connection> {
        self.answer(None, terms)
    }

    /// Accepts it with a queue pair of the same endpoint that was made before, for instance because
    /// receives are to be posted before the peer can send.
    pub fn accept_on(self, connection: &Connection, terms: Terms) -> Pending<Connection> {
        self.answer(Some(connection.clone()), terms)
    }

    fn answer(mut self, ready: Option<Connection>, terms: Terms) -> Pending<Connection> {
        let (promise, pending) = pending(Awaited::Confirmation { from: self.peer() });
        let endpoint = self.listener.owner.endpoint.clone();
        let own = endpoint.clone();
        let incoming = self.incoming.take();
        endpoint.driver.submit(move |engine| {
            let Some(incoming) = incoming else { return promise.keep(Err(Error::RequestGone)) };
            let service = incoming.peer.service;
            let made = match ready {
                Some(connection) if connection.endpoint().is(&own) => Ok(connection),
                Some(_) => Err(Error::NoSuchPair),
                None => Connection::new(engine, own, service, |_| {}),
            };
            match made {
                Ok(connection) => engine.accept(&incoming, connection, &terms, promise),
                Err(error) => {
                    engine.reject(incoming.id, RejectReason::NO_QP);
                    promise.keep(Err(error));
                }
            }
        });
        endpoint.driver.withdrawing(pending)
    }

    /// Rejects it, with at most [`REJECT_DATA`](crate::cm::REJECT_DATA) bytes of private data.
    /// [`RejectReason::CONSUMER`] is the reason of applications.
    pub fn reject(mut self, reason: RejectReason, private_data: &[u8]) -> Pending<()> {
        let (incoming, data) = (self.incoming.take(), private_data.to_vec());
        self.listener.owner.endpoint.driver.call("reject a request", move |engine| {
            let id = incoming.ok_or(Error::RequestGone)?.id;
            let told = engine.reject_with(id, reason, &data);
            if told.is_err() {
                // Too long, for instance: rejected it is all the same.
                engine.reject(id, reason);
            }
            told
        })
    }
}

/// The listeners of an endpoint.
#[derive(Default)]
pub(crate) struct Listeners {
    ports: BTreeMap<u16, Line>,
}

/// One of `requests` and `waiters` is empty.
#[derive(Default)]
struct Line {
    requests: VecDeque<Incoming>,
    waiters: VecDeque<(Promise<Request>, Listener)>,
}

impl Line {
    /// Brings those who wait and what has arrived together.
    fn meet(&mut self) {
        while let Some(incoming) = self.requests.pop_front() {
            let Some((promise, listener)) = self.waiters.pop_front() else {
                return self.requests.push_front(incoming);
            };
            let Incoming { peer, data, .. } = incoming;
            let request = Request { listener, incoming: Some(incoming), peer, data };
            if let Err(mut request) = promise.offer(request) {
                self.requests.extend(request.incoming.take());
                self.requests.rotate_right(1);
            }
        }
    }
}

impl Listeners {
    /// A request has arrived. Whether anybody listens.
    fn take(&mut self, incoming: Incoming, first: bool) -> bool {
        let Some(line) = self.ports.get_mut(&incoming.port) else { return false };
        if first {
            line.requests.push_front(incoming);
        } else {
            line.requests.push_back(incoming);
        }
        line.meet();
        true
    }

    /// A request has arrived. Whether anybody listens.
    pub(crate) fn arrived(&mut self, incoming: Incoming) -> bool {
        self.take(incoming, false)
    }

    /// A request was not taken after all.
    fn put_back(&mut self, incoming: Incoming) {
        // The listener is there: the one who did not take it had a handle until now.
        self.take(incoming, true);
    }

    /// Somebody waits for the next request.
    fn wait(&mut self, listener: Listener, promise: Promise<Request>) {
        let Some(line) = self.ports.get_mut(&listener.port()) else { return };
        line.waiters.push_back((promise, listener));
        line.meet();
    }

    /// A request does not wait any more.
    pub(crate) fn forget(&mut self, id: ConnectionId) {
        for line in self.ports.values_mut() {
            line.requests.retain(|incoming| incoming.id != id);
        }
    }

    /// Takes those out who do not wait any more.
    pub(crate) fn drop_unwanted(&mut self) {
        for line in self.ports.values_mut() {
            line.waiters.retain(|(promise, _)| !promise.is_unwanted());
        }
    }

    /// Ends a listener; what nobody took is returned.
    fn close(&mut self, port: u16) -> VecDeque<Incoming> {
        self.ports.remove(&port).map(|line| line.requests).unwrap_or_default()
    }
}
