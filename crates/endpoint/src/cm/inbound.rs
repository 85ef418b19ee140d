//! What peers say.

use super::connection::{Connection, ConnectionId, Phase, coded};
use super::event::{Event, Peer};
use super::manager::{MAX_CONNECTIONS, MAX_PENDING, Manager, address, application_data, refusal};
use std::net::IpAddr;
use xoff_units::{Bytes, Instant};
use xoff_wire::Service;
use xoff_wire::cm::{
    Addressing, CommId, Delay, Disconnect, Disconnected, Message, PrivateData, Ready, Reject,
    RejectReason, Rejected, Reply, Request,
};
use xoff_wire::mad::TransactionId;

impl Manager {
    /// A datagram arrived at queue pair 1.
    pub fn handle(&mut self, now: Instant, from: IpAddr, datagram: &[u8]) {
        self.counters.received += 1;
        let Ok((transaction, message)) = Message::parse(datagram) else {
            self.counters.malformed += 1;
            return;
        };
        match message {
            Message::Request(request) => self.requested(now, from, transaction, &request),
            Message::Reply(reply) => self.replied(from, &reply),
            Message::Ready(ready) => self.ready(from, ready.remote_id, ready.local_id),
            Message::Delay(delay) => self.delayed(now, from, &delay),
            Message::Reject(reject) => self.rejected(now, from, &reject),
            Message::Disconnect(message) => self.disconnecting(now, from, transaction, &message),
            Message::Disconnected(message) => {
                self.disconnected(now, from, message.remote_id, message.local_id);
            }
            Message::Lookup(lookup) => self.asked(now, from, transaction, &lookup),
            Message::LookedUp(found) => self.answered(from, &found),
        }
    }

    /// The connection that `ours` names, if `from` is its peer and calls it `theirs`. As long as we
    /// do not know the peer's name, any will do.
    fn known(&mut self, from: IpAddr, ours: CommId, theirs: CommId) -> Option<u32> {
        let fits = self.connections.get(&ours.0).is_some_and(|connection| {
            let named = connection.remote_id == theirs || connection.remote_id == CommId(0);
            connection.address == from && named
        });
        if !fits {
            self.counters.stray += 1;
        }
        fits.then_some(ours.0)
    }

    fn requested(&mut self, now: Instant, from: IpAddr, tid: TransactionId, request: &Request) {
        if let Some(&id) = self.by_peer.get(&(from, request.local_id)) {
            return self.requested_again(from, tid, id, request);
        }
        let refuse = |manager: &mut Self, reason| {
            let message = refusal(CommId(0), request.local_id, Rejected::Request, reason);
            manager.send(from, tid, &message);
        };
        let peer = match sensible(from, request) {
            Ok(peer) => peer,
            Err(reason) => {
                self.counters.nonsense += 1;
                return if let Some(reason) = reason {
                    refuse(self, reason)
                };
            }
        };
        if !self.services.contains(&request.service) {
            self.counters.unserved += 1;
            return refuse(self, RejectReason::INVALID_SERVICE_ID);
        }
        if self.pending >= MAX_PENDING || self.connections.len() >= MAX_CONNECTIONS {
            self.counters.overflow += 1;
            return refuse(self, RejectReason::NO_RESOURCES);
        }
        if self.holds(&peer) {
            self.counters.stale += 1;
            return refuse(self, RejectReason::STALE_CONNECTION);
        }
        let id = self.consider(
            now,
            Connection {
                phase: Phase::Considered,
                address: from,
                peer: Some(peer),
                remote_id: request.local_id,
                offer: None,
                retry_count: request.retry_count,
                data: Vec::new(),
                transaction: tid,
                last: None,
                retries: 0,
                due: Instant::MAX,
            },
        );
        self.events.push_back(Event::Requested {
            id: ConnectionId(id),
            service: request.service,
            peer,
            data: application_data(request),
        });
    }

    /// A request under a name that the peer has used: the same again, or one that forgot.
    fn requested_again(&mut self, from: IpAddr, tid: TransactionId, id: u32, request: &Request) {
        let Some(connection) = self.connections.get(&id) else { return };
        match connection.phase {
            Phase::Accepted | Phase::Ended if connection.transaction == tid => {
                self.counters.duplicates += 1;
                self.repeat(id);
            }
            Phase::Ended => {
                self.counters.stale += 1;
                let reason = RejectReason::STALE_CONNECTION;
                let message = refusal(CommId(0), request.local_id, Rejected::Request, reason);
                self.send(from, tid, &message);
            }
            _ => self.counters.duplicates += 1,
        }
    }

    /// Whether a connection stands whose other end is this very queue pair.
    fn holds(&self, peer: &Peer) -> bool {
        self.connections.values().any(|connection| {
            connection.phase != Phase::Ended
                && connection.address == peer.address
                && connection.peer.is_some_and(|other| other.qpn == peer.qpn)
        })
    }

    fn replied(&mut self, from: IpAddr, reply: &Reply) {
        let Some(id) = self.known(from, reply.remote_id, reply.local_id) else { return };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match (connection.phase, connection.offer) {
            (Phase::Asked, Some(offer)) => {
                let peer = Peer {
                    address: from,
                    qpn: reply.qpn,
                    psn: reply.starting_psn,
                    service: offer.service,
                    mtu: offer.mtu,
                    responder_resources: reply.responder_resources,
                    initiator_depth: reply.initiator_depth,
                    retry_count: connection.retry_count,
                    rnr_retry_count: reply.rnr_retry_count,
                };
                connection.data = reply.private_data.0.to_vec();
                let ready = Message::Ready(Ready {
                    local_id: CommId(id),
                    remote_id: reply.local_id,
                    private_data: PrivateData::NONE,
                });
                connection.phase = Phase::Established;
                connection.peer = Some(peer);
                connection.remote_id = reply.local_id;
                connection.last = Some((connection.transaction, ready));
                connection.due = Instant::MAX;
                self.by_peer.insert((from, reply.local_id), id);
                self.repeat(id);
                self.events.push_back(Event::Established { id: ConnectionId(id), peer });
            }
            // It was withdrawn before this answer came. The peer's name for it is not kept.
            (Phase::Ended, Some(_)) if connection.remote_id == CommId(0) => {
                let tid = connection.transaction;
                let reason = RejectReason::TIMEOUT;
                let message = refusal(CommId(id), reply.local_id, Rejected::Reply, reason);
                self.send(from, tid, &message);
            }
            // The peer has not seen that we know.
            (Phase::Established, Some(_)) => {
                self.counters.duplicates += 1;
                self.repeat(id);
            }
            _ => self.counters.unexpected += 1,
        }
    }

    fn ready(&mut self, from: IpAddr, ours: CommId, theirs: CommId) {
        let Some(id) = self.known(from, ours, theirs) else { return };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match (connection.phase, connection.peer) {
            (Phase::Accepted, Some(peer)) => {
                connection.phase = Phase::Established;
                connection.due = Instant::MAX;
                self.pending -= 1;
                self.events.push_back(Event::Established { id: ConnectionId(id), peer });
            }
            (Phase::Established | Phase::Parting | Phase::Ended, _) => {
                self.counters.duplicates += 1;
            }
            _ => self.counters.unexpected += 1,
        }
    }

    /// The peer needs more time: nothing is repeated before it is over.
    fn delayed(&mut self, now: Instant, from: IpAddr, delay: &Delay) {
        let Some(id) = self.known(from, delay.remote_id, delay.local_id) else { return };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match (connection.phase, delay.about) {
            (Phase::Asked, Rejected::Request) | (Phase::Accepted, Rejected::Reply) => {
                connection.retries = 0;
                connection.due = connection.due.max(now + coded(delay.service_timeout));
            }
            _ => self.counters.unexpected += 1,
        }
    }

    fn rejected(&mut self, now: Instant, from: IpAddr, reject: &Reject) {
        let Some(id) = self.known(from, reject.remote_id, reject.local_id).or_else(|| {
            // A peer that rejects a request may not have given it an id.
            let id = reject.remote_id.0;
            let fits = |connection: &&Connection| {
                connection.address == from && reject.local_id == CommId(0)
            };
            self.connections.get(&id).filter(fits).map(|_| id)
        }) else {
            return;
        };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match connection.phase {
            Phase::Asked | Phase::Accepted | Phase::Established => {
                connection.last = None;
                connection.data = reject.private_data.0.to_vec();
                let (id, reason) = (ConnectionId(id), reject.reason);
                self.events.push_back(Event::Rejected { id, reason });
                self.end(now, id.0);
            }
            _ => self.counters.unexpected += 1,
        }
    }

    fn disconnecting(
        &mut self,
        now: Instant,
        from: IpAddr,
        tid: TransactionId,
        message: &Disconnect,
    ) {
        let parted = Message::Disconnected(Disconnected {
            local_id: message.remote_id,
            remote_id: message.local_id,
            private_data: PrivateData::NONE,
        });
        // A disconnect of a connection that we do not know (any more) is answered as well:
        // otherwise the peer would repeat it.
        let Some(id) = self.known(from, message.remote_id, message.local_id) else {
            return self.send(from, tid, &parted);
        };
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match (connection.phase, connection.offer) {
            (_, Some(offer)) if offer.qpn != message.remote_qpn => self.counters.unexpected += 1,
            (Phase::Accepted | Phase::Established | Phase::Parting, _) => {
                connection.last = Some((tid, parted));
                connection.data = message.private_data.0.to_vec();
                self.events.push_back(Event::Disconnected { id: ConnectionId(id) });
                self.end(now, id);
                self.repeat(id);
            }
            (Phase::Ended, _) => {
                self.counters.duplicates += 1;
                self.send(from, tid, &parted);
            }
            _ => self.counters.unexpected += 1,
        }
    }

    fn disconnected(&mut self, now: Instant, from: IpAddr, ours: CommId, theirs: CommId) {
        let Some(id) = self.known(from, ours, theirs) else { return };
        match self.connections.get_mut(&id) {
            Some(connection) if connection.phase == Phase::Parting => {
                connection.last = None;
                self.events.push_back(Event::Disconnected { id: ConnectionId(id) });
                self.end(now, id);
            }
            Some(connection) if connection.phase == Phase::Ended => self.counters.duplicates += 1,
            _ => self.counters.unexpected += 1,
        }
    }
}

/// The peer that a request describes, or why the request is invalid. A request that claims another
/// address than it came from gets no answer at all.
fn sensible(from: IpAddr, request: &Request) -> Result<Peer, Option<RejectReason>> {
    let claims = Addressing::parse(&request.private_data.0).ok_or(None)?;
    if claims.source != from || address(request.primary.local_gid) != from {
        return Err(None);
    }
    let service = match request.transport {
        0 => Service::Reliable,
        1 => Service::Unreliable,
        _ => return Err(Some(RejectReason::INVALID_TRANSPORT)),
    };
    let mtu = request.path_mtu.bytes().ok_or(Some(RejectReason::INVALID_PATH_MTU))?;
    Ok(Peer {
        address: from,
        qpn: request.qpn,
        psn: request.starting_psn,
        service,
        mtu: Bytes::new(mtu.into()),
        responder_resources: request.responder_resources,
        initiator_depth: request.initiator_depth,
        retry_count: request.retry_count,
        rnr_retry_count: request.rnr_retry_count,
    })
}
