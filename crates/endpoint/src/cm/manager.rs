//! [`Manager`]: all connections of one address, and what the caller can do.

use super::connection::{
    Connection, ConnectionId, DECISION, MAX_RETRIES, Phase, RESPONSE_TIMEOUT, TIME_WAIT, coded,
};
use super::counters::Counters;
use super::event::{ACCEPT_DATA, DISCONNECT_DATA, Event, Extras, Offer, REJECT_DATA, REQUEST_DATA};
use super::lookup::Lookups;
use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use xoff_units::{Bytes, Instant};
use xoff_wire::Service;
use xoff_wire::bth::Pkey;
use xoff_wire::cm::{
    Addressing, CommId, Disconnect, Message, Path, PathMtu, PrivateData, Reject, RejectReason,
    Rejected, Reply, Request, ServiceId,
};
use xoff_wire::grh::Gid;
use xoff_wire::ip::TrafficClass;
use xoff_wire::mad::{self, TransactionId};
use xoff_wire::udp::Port;

/// Connections at a time, ended ones that are still remembered among them.
pub(super) const MAX_CONNECTIONS: usize = 4096;
/// Connections that peers requested and that are not established yet.
pub(super) const MAX_PENDING: usize = 256;
/// Datagrams that wait to be sent.
const MAX_QUEUED: usize = 1024;
/// The code for 100 Gb/s, the rate of a path whose rate is not known.
const PACKET_RATE: u8 = 16;

/// A datagram to queue pair 1 of a peer.
pub(super) type Outgoing = (IpAddr, [u8; mad::LEN]);

/// The connections of one address. The module's page says which calls to make, and when.
#[derive(Debug)]
pub struct Manager {
    local: IpAddr,
    /// The adapter's GUID: by it and the queue pair, peers distinguish old connections from new
    /// ones.
    guid: u64,
    next_id: u32,
    pub(super) services: BTreeSet<ServiceId>,
    pub(super) connections: BTreeMap<u32, Connection>,
    /// Connections by the peer's address and its name for them.
    pub(super) by_peer: BTreeMap<(IpAddr, CommId), u32>,
    pub(super) pending: usize,
    pub(super) lookups: Lookups,
    /// Nothing is due before this.
    next_due: Instant,
    outgoing: VecDeque<Outgoing>,
    pub(super) events: VecDeque<Event>,
    pub(super) counters: Counters,
}

impl Manager {
    /// The manager of the address `local`. The seed makes names that differ from those of an
    /// earlier one at the same address: without that, peers would take new connections for old
    /// ones.
    pub fn new(local: IpAddr, seed: u64) -> Self {
        Self {
            local,
            guid: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            next_id: (seed ^ seed >> 32) as u32,
            services: BTreeSet::new(),
            connections: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            pending: 0,
            lookups: Lookups::default(),
            next_due: Instant::MAX,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Requests for this port of the TCP port space become events.
    pub fn listen(&mut self, port: Port) {
        self.services.insert(ServiceId::tcp(port));
    }

    /// No more: later requests and lookups are refused.
    pub fn unlisten(&mut self, port: Port) {
        self.services.remove(&ServiceId::tcp(port));
        self.services.remove(&ServiceId::udp(port));
    }

    /// Requests a connection to a port of `to`. `None` if there are too many, or if the address is
    /// of another family than ours.
    pub fn connect(
        &mut self,
        now: Instant,
        to: IpAddr,
        port: Port,
        offer: Offer,
    ) -> Option<ConnectionId> {
        self.connect_with(now, to, port, offer, Extras::default()).ok()
    }

    /// The same with all that can be said in a request.
    pub fn connect_with(
        &mut self,
        now: Instant,
        to: IpAddr,
        port: Port,
        offer: Offer,
        extras: Extras<'_>,
    ) -> Result<ConnectionId, Error> {
        let mut data = [0; 92];
        let added = fit::<REQUEST_DATA>(extras.data)?;
        data[Addressing::LEN..].copy_from_slice(&added.0);
        let addresses = self.addressing(to).ok_or(Error::BadAddress)?;
        data[..Addressing::LEN].copy_from_slice(&addresses);
        if self.connections.len() >= MAX_CONNECTIONS {
            self.counters.overflow += 1;
            return Err(Error::Limit("connections"));
        }
        let id = self.fresh_id();
        let transaction = self.transaction(id);
        let mut request = self.request(CommId(id), to, port, offer, PrivateData(data));
        request.retry_count = extras.retry_count & 7;
        request.rnr_retry_count = extras.rnr_retry_count & 7;
        let last = (transaction, Message::Request(request));
        let connection = Connection {
            phase: Phase::Asked,
            address: to,
            peer: None,
            remote_id: CommId(0),
            offer: Some(offer),
            retry_count: request.retry_count,
            data: Vec::new(),
            transaction,
            last: Some(last),
            retries: 0,
            due: now + coded(RESPONSE_TIMEOUT),
        };
        self.arm(connection.due);
        self.connections.insert(id, connection);
        self.send(to, last.0, &last.1);
        Ok(ConnectionId(id))
    }

    /// Withdraws a request that was not answered yet: an answer that comes later is rejected. Whether
    /// there was such a request.
    pub fn withdraw(&mut self, now: Instant, id: ConnectionId) -> bool {
        let Some(connection) = self.connections.get_mut(&id.0) else { return false };
        if connection.phase != Phase::Asked {
            return false;
        }
        connection.phase = Phase::Ended;
        connection.last = None;
        // As long as the peer may take to decide.
        connection.due = now + DECISION;
        let due = connection.due;
        self.arm(due);
        true
    }

    /// What the peer's application added to its last message, with the zeros behind it: to its
    /// acceptance, its rejection or its disconnect. Nothing if the connection is not known (any more).
    pub fn private_data(&self, id: ConnectionId) -> &[u8] {
        self.connections.get(&id.0).map_or(&[], |connection| &connection.data)
    }

    /// The addresses of both ends. `None` if the families differ.
    pub(super) fn addressing(&self, to: IpAddr) -> Option<[u8; Addressing::LEN]> {
        let source_port = Port(0xc000 | self.next_id as u16);
        Addressing { source: self.local, destination: to, source_port }.emit()
    }

    fn request(
        &self,
        local_id: CommId,
        to: IpAddr,
        port: Port,
        offer: Offer,
        private_data: PrivateData<92>,
    ) -> Request {
        let primary = Path {
            local_lid: 0xffff,
            remote_lid: 0xffff,
            local_gid: gid(self.local),
            remote_gid: gid(to),
            packet_rate: PACKET_RATE,
            class: TrafficClass(0),
            hop_limit: 64,
            ack_timeout: RESPONSE_TIMEOUT,
            ..Path::NONE
        };
        Request {
            local_id,
            service: ServiceId::tcp(port),
            ca_guid: self.guid,
            qkey: 0,
            qpn: offer.qpn,
            responder_resources: offer.responder_resources,
            initiator_depth: offer.initiator_depth,
            local_eecn: 0,
            remote_eecn: 0,
            remote_response_timeout: RESPONSE_TIMEOUT,
            transport: u8::from(offer.service == Service::Unreliable),
            flow_control: false,
            starting_psn: offer.psn,
            local_response_timeout: RESPONSE_TIMEOUT,
            retry_count: 7,
            pkey: Pkey::DEFAULT,
            path_mtu: path_mtu(offer.mtu),
            rdc_exists: false,
            rnr_retry_count: 7,
            max_cm_retries: MAX_RETRIES,
            srq: false,
            extended_transport: 0,
            primary,
            alternate: Path::NONE,
            private_data,
        }
    }

    /// Takes a connection that was requested. Whether it was there to be taken.
    pub fn accept(&mut self, now: Instant, id: ConnectionId, offer: Offer) -> bool {
        self.accept_with(now, id, offer, Extras::default()).is_ok()
    }

    /// The same with all that can be said in the answer.
    pub fn accept_with(
        &mut self,
        now: Instant,
        id: ConnectionId,
        offer: Offer,
        extras: Extras<'_>,
    ) -> Result<(), Error> {
        let guid = self.guid;
        let private_data = fit::<ACCEPT_DATA>(extras.data)?;
        let connection = self.considered(id).ok_or(Error::RequestGone)?;
        let reply = Reply {
            local_id: CommId(id.0),
            remote_id: connection.remote_id,
            qkey: 0,
            qpn: offer.qpn,
            local_eecn: 0,
            starting_psn: offer.psn,
            responder_resources: offer.responder_resources,
            initiator_depth: offer.initiator_depth,
            target_ack_delay: RESPONSE_TIMEOUT,
            failover: 0,
            flow_control: false,
            rnr_retry_count: extras.rnr_retry_count & 7,
            srq: false,
            ca_guid: guid,
            private_data,
        };
        let last = (connection.transaction, Message::Reply(reply));
        connection.phase = Phase::Accepted;
        connection.offer = Some(offer);
        connection.last = Some(last);
        connection.retries = 0;
        connection.due = now + coded(RESPONSE_TIMEOUT);
        let (address, due) = (connection.address, connection.due);
        self.arm(due);
        self.send(address, last.0, &last.1);
        Ok(())
    }

    /// Refuses a connection that was requested. Whether it was there to be refused.
    pub fn reject(&mut self, now: Instant, id: ConnectionId, reason: RejectReason) -> bool {
        self.reject_with(now, id, reason, &[]).is_ok()
    }

    /// The same with at most [`REJECT_DATA`](super::REJECT_DATA) bytes of the application.
    pub fn reject_with(
        &mut self,
        now: Instant,
        id: ConnectionId,
        reason: RejectReason,
        data: &[u8],
    ) -> Result<(), Error> {
        let data = fit::<REJECT_DATA>(data)?;
        let connection = self.considered(id).ok_or(Error::RequestGone)?;
        let (address, transaction) = (connection.address, connection.transaction);
        let mut message = refusal(CommId(id.0), connection.remote_id, Rejected::Request, reason);
        if let Message::Reject(reject) = &mut message {
            reject.private_data = data;
        }
        connection.last = Some((transaction, message));
        self.send(address, transaction, &message);
        self.end(now, id.0);
        Ok(())
    }

    /// Ends a connection. Whether it stood; its end is an event.
    pub fn disconnect(&mut self, now: Instant, id: ConnectionId) -> bool {
        self.disconnect_with(now, id, &[]).is_ok()
    }

    /// The same with at most [`DISCONNECT_DATA`](super::DISCONNECT_DATA) bytes of the application.
    pub fn disconnect_with(
        &mut self,
        now: Instant,
        id: ConnectionId,
        data: &[u8],
    ) -> Result<(), Error> {
        let private_data = fit::<DISCONNECT_DATA>(data)?;
        let transaction = self.transaction(id.0 ^ 0x8000_0000);
        let connection = self.connections.get_mut(&id.0).ok_or(Error::WrongState)?;
        let stands = matches!(connection.phase, Phase::Established | Phase::Accepted);
        let (true, Some(peer)) = (stands, connection.peer) else { return Err(Error::WrongState) };
        let message = Message::Disconnect(Disconnect {
            local_id: CommId(id.0),
            remote_id: connection.remote_id,
            remote_qpn: peer.qpn,
            private_data,
        });
        self.pending -= usize::from(connection.is_pending());
        connection.phase = Phase::Parting;
        connection.last = Some((transaction, message));
        connection.retries = 0;
        connection.due = now + coded(RESPONSE_TIMEOUT);
        let (address, due) = (connection.address, connection.due);
        self.arm(due);
        self.send(address, transaction, &message);
        Ok(())
    }

    /// The next datagram to send to queue pair 1 of a peer.
    pub fn poll_transmit(&mut self) -> Option<(IpAddr, [u8; mad::LEN])> {
        self.outgoing.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Manager::handle_deadline`] has something to do; [`Instant::MAX`] if nothing.
    pub fn deadline(&self) -> Instant {
        self.next_due
    }

    /// Does what is due by `now`: repeats questions, and forgets what is over.
    pub fn handle_deadline(&mut self, now: Instant) {
        if now < self.next_due {
            return;
        }
        let due: Vec<u32> = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.due <= now)
            .map(|(&id, _)| id)
            .collect();
        for id in due {
            self.is_due(now, id);
        }
        self.lookups_due(now);
        let next = self.connections.values().map(|connection| connection.due).min();
        self.next_due = next.unwrap_or(Instant::MAX).min(self.lookups.due());
    }

    /// How many connections stand, are made or are being ended; not those that are only remembered.
    #[cfg(test)]
    pub(super) fn open_connections(&self) -> usize {
        self.connections.values().filter(|connection| connection.phase != Phase::Ended).count()
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    fn is_due(&mut self, now: Instant, id: u32) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match connection.phase {
            Phase::Asked | Phase::Accepted | Phase::Parting if connection.retries < MAX_RETRIES => {
                connection.retries += 1;
                connection.due = now + coded(RESPONSE_TIMEOUT);
                self.counters.repeated += 1;
                self.repeat(id);
            }
            Phase::Asked | Phase::Accepted => {
                self.events.push_back(Event::TimedOut { id: ConnectionId(id) });
                self.forget(id);
            }
            Phase::Parting => {
                self.events.push_back(Event::Disconnected { id: ConnectionId(id) });
                self.forget(id);
            }
            // The caller did not decide in time: an answer that comes now finds no request.
            Phase::Considered => {
                self.events.push_back(Event::TimedOut { id: ConnectionId(id) });
                self.forget(id);
            }
            Phase::Ended => self.forget(id),
            Phase::Established => connection.due = Instant::MAX,
        }
    }

    /// Sends again what was said last.
    pub(super) fn repeat(&mut self, id: u32) {
        let Some(connection) = self.connections.get(&id) else { return };
        if let Some((transaction, message)) = connection.last {
            let address = connection.address;
            self.send(address, transaction, &message);
        }
    }

    /// From now on it is only remembered.
    pub(super) fn end(&mut self, now: Instant, id: u32) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        self.pending -= usize::from(connection.is_pending());
        connection.phase = Phase::Ended;
        connection.due = now + TIME_WAIT;
        let due = connection.due;
        self.arm(due);
    }

    fn forget(&mut self, id: u32) {
        if let Some(connection) = self.connections.remove(&id) {
            self.pending -= usize::from(connection.is_pending());
            self.by_peer.remove(&(connection.address, connection.remote_id));
        }
    }

    /// A connection that a peer requests: kept until the caller has decided.
    pub(super) fn consider(&mut self, now: Instant, mut connection: Connection) -> u32 {
        let id = self.fresh_id();
        connection.due = now + DECISION;
        self.arm(connection.due);
        self.by_peer.insert((connection.address, connection.remote_id), id);
        self.connections.insert(id, connection);
        self.pending += 1;
        id
    }

    fn considered(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(&id.0).filter(|connection| connection.phase == Phase::Considered)
    }

    /// Keeps the earliest deadline. Deadlines that moved later are found out when they come.
    pub(super) fn arm(&mut self, due: Instant) {
        self.next_due = self.next_due.min(due);
    }

    pub(super) fn send(&mut self, to: IpAddr, transaction: TransactionId, message: &Message) {
        if self.outgoing.len() >= MAX_QUEUED {
            self.counters.overflow += 1;
            return;
        }
        self.counters.sent += 1;
        self.outgoing.push_back((to, message.emit(transaction)));
    }

    /// A name that no connection and no lookup has. Zero means none.
    pub(super) fn fresh_id(&mut self) -> u32 {
        loop {
            self.next_id = self.next_id.wrapping_add(0x9e37_79b1);
            let id = self.next_id;
            let taken =
                self.connections.contains_key(&id) || self.lookups.questions.contains_key(&id);
            if id != 0 && !taken {
                return id;
            }
        }
    }

    pub(super) fn transaction(&self, low: u32) -> TransactionId {
        TransactionId(self.guid << 32 | u64::from(low))
    }
}

/// What an application adds, if there is room for it: none of it is ever cut off.
fn fit<const N: usize>(data: &[u8]) -> Result<PrivateData<N>, Error> {
    PrivateData::new(data).ok_or(Error::PrivateData { given: data.len(), most: N })
}

/// A REJ.
pub(super) fn refusal(
    local_id: CommId,
    remote_id: CommId,
    about: Rejected,
    reason: RejectReason,
) -> Message {
    Message::Reject(Reject {
        local_id,
        remote_id,
        about,
        reason,
        info_len: 0,
        info: [0; 72],
        private_data: PrivateData::NONE,
    })
}

/// What the application added to a request, behind the addresses.
pub(super) fn application_data(request: &Request) -> [u8; REQUEST_DATA] {
    let mut data = [0; REQUEST_DATA];
    data.copy_from_slice(&request.private_data.0[Addressing::LEN..]);
    data
}

fn gid(address: IpAddr) -> Gid {
    Gid(match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    })
}

/// The address behind a GID.
pub(super) fn address(gid: Gid) -> IpAddr {
    let v6: Ipv6Addr = gid.0;
    v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
}

/// The largest path MTU that is not larger.
fn path_mtu(mtu: Bytes) -> PathMtu {
    let codes = (1..=5).rev().map(PathMtu);
    let fits = |code: &PathMtu| code.bytes().is_some_and(|bytes| u64::from(bytes) <= mtu.get());
    codes.into_iter().find(fits).unwrap_or(PathMtu(1))
}
