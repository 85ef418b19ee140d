//! Where datagrams of a service go: lookups of ours and of peers (IBTA 12.11, SIDR).
//!
//! A lookup makes no connection. Its sender repeats it until it is answered; the responder keeps
//! its answer for a while, so that a repeated lookup gets the same one.

use super::connection::{ConnectionId, DECISION, MAX_RETRIES, RESPONSE_TIMEOUT, TIME_WAIT, coded};
use super::event::{DatagramService, Event, LOOKUP_DATA};
use super::manager::Manager;
use std::collections::BTreeMap;
use std::net::IpAddr;
use xoff_transport::Qkey;
use xoff_units::Instant;
use xoff_wire::Qpn;
use xoff_wire::bth::Pkey;
use xoff_wire::cm::{
    Addressing, CommId, LookedUp, Lookup, LookupStatus, Message, PrivateData, ServiceId,
};
use xoff_wire::mad::TransactionId;
use xoff_wire::udp::Port;

/// Questions at a time, answered ones that are still remembered among them.
pub(super) const MAX_LOOKUPS: usize = 1024;

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// We have sent it.
    Asked,
    /// A peer has sent it, and the caller has not answered.
    Considered,
    /// The caller has answered.
    Answered,
}

/// One question.
#[derive(Debug, Clone)]
pub(super) struct Question {
    phase: Phase,
    /// The other side.
    address: IpAddr,
    /// The asker's name for it.
    name: CommId,
    service: ServiceId,
    transaction: TransactionId,
    /// What is sent again.
    last: Option<Message>,
    retries: u8,
    /// When our question is repeated, or the peer's is forgotten.
    due: Instant,
}

/// The questions of one manager.
#[derive(Debug, Default)]
pub(super) struct Lookups {
    pub(super) questions: BTreeMap<u32, Question>,
    /// Those of peers, by their address and name for it.
    by_peer: BTreeMap<(IpAddr, CommId), u32>,
}

impl Lookups {
    /// When something is due; [`Instant::MAX`] if nothing.
    pub(super) fn due(&self) -> Instant {
        self.questions.values().map(|question| question.due).min().unwrap_or(Instant::MAX)
    }

    fn forget(&mut self, id: u32) {
        if let Some(question) = self.questions.remove(&id)
            && question.phase != Phase::Asked
        {
            self.by_peer.remove(&(question.address, question.name));
        }
    }
}

impl Manager {
    /// Lookups of this port of the UDP port space become events.
    pub fn listen_for_lookups(&mut self, port: Port) {
        self.services.insert(ServiceId::udp(port));
    }

    /// Looks up which queue pair of `to` takes the datagrams of a port. `None` if too many lookups
    /// are under way, or if the address is of another family than ours.
    pub fn look_up(&mut self, now: Instant, to: IpAddr, port: Port) -> Option<ConnectionId> {
        let addresses = self.addressing(to)?;
        let private_data = PrivateData::new(&addresses)?;
        if self.lookups.questions.len() >= MAX_LOOKUPS {
            self.counters.overflow += 1;
            return None;
        }
        let id = self.fresh_id();
        let (name, transaction) = (CommId(id), self.transaction(id));
        let service = ServiceId::udp(port);
        let lookup = Lookup { local_id: name, pkey: Pkey::DEFAULT, service, private_data };
        let message = Message::Lookup(lookup);
        let question = Question {
            phase: Phase::Asked,
            address: to,
            name,
            service,
            transaction,
            last: Some(message),
            retries: 0,
            due: now + coded(RESPONSE_TIMEOUT),
        };
        self.arm(question.due);
        self.lookups.questions.insert(id, question);
        self.send(to, transaction, &message);
        Some(ConnectionId(id))
    }

    /// Answers a peer's lookup with a queue pair of ours. Whether it was there to be answered.
    pub fn serve(&mut self, now: Instant, id: ConnectionId, service: DatagramService) -> bool {
        self.answer(now, id, LookupStatus::FOUND, service)
    }

    /// Answers a peer's lookup with why not. Whether it was there to be answered.
    pub fn decline(&mut self, now: Instant, id: ConnectionId, status: LookupStatus) -> bool {
        self.answer(now, id, status, DatagramService { qpn: Qpn::new(0), qkey: Qkey(0) })
    }

    fn answer(
        &mut self,
        now: Instant,
        id: ConnectionId,
        status: LookupStatus,
        DatagramService { qpn, qkey }: DatagramService,
    ) -> bool {
        let Some(question) = self.lookups.questions.get_mut(&id.0) else { return false };
        if question.phase != Phase::Considered {
            return false;
        }
        let message = answer(question.name, question.service, status, qpn, qkey);
        question.phase = Phase::Answered;
        question.last = Some(message);
        question.due = now + TIME_WAIT;
        let (address, transaction, due) = (question.address, question.transaction, question.due);
        self.arm(due);
        self.send(address, transaction, &message);
        true
    }

    /// A lookup of a peer arrived.
    pub(super) fn asked(
        &mut self,
        now: Instant,
        from: IpAddr,
        transaction: TransactionId,
        lookup: &Lookup,
    ) {
        let (name, service) = (lookup.local_id, lookup.service);
        if let Some(&id) = self.lookups.by_peer.get(&(from, name)) {
            self.counters.duplicates += 1;
            let question = self.lookups.questions.get(&id);
            if let Some(message) = question.and_then(|question| question.last) {
                self.send(from, transaction, &message);
            }
            return;
        }
        // A lookup that claims another address than it came from gets no answer at all.
        let claims = Addressing::parse(&lookup.private_data.0);
        if claims.is_none_or(|claims| claims.source != from) {
            self.counters.nonsense += 1;
            return;
        }
        let refuse = |manager: &mut Self, status| {
            let message = answer(name, service, status, Qpn::new(0), Qkey(0));
            manager.send(from, transaction, &message);
        };
        if !self.services.contains(&service) {
            self.counters.unserved += 1;
            return refuse(self, LookupStatus::INVALID_SERVICE_ID);
        }
        if self.lookups.questions.len() >= MAX_LOOKUPS {
            self.counters.overflow += 1;
            return refuse(self, LookupStatus::NO_QP);
        }
        let id = self.fresh_id();
        let due = now + DECISION;
        let (phase, address) = (Phase::Considered, from);
        let question =
            Question { phase, address, name, service, transaction, last: None, retries: 0, due };
        self.arm(due);
        self.lookups.questions.insert(id, question);
        self.lookups.by_peer.insert((from, name), id);
        let mut data = [0; LOOKUP_DATA];
        data.copy_from_slice(&lookup.private_data.0[Addressing::LEN..]);
        self.events.push_back(Event::LookedUp { id: ConnectionId(id), service, from, data });
    }

    /// A peer answers.
    pub(super) fn answered(&mut self, from: IpAddr, found: &LookedUp) {
        let id = found.remote_id.0;
        let ours = self.lookups.questions.get(&id).filter(|question| {
            question.phase == Phase::Asked
                && question.address == from
                && question.service == found.service
        });
        if ours.is_none() {
            // The answer to another's lookup, or a second answer.
            self.counters.stray += 1;
            return;
        }
        self.lookups.forget(id);
        let id = ConnectionId(id);
        self.events.push_back(if found.status == LookupStatus::FOUND {
            let service = DatagramService { qpn: found.qpn, qkey: Qkey(found.qkey) };
            Event::Found { id, address: from, service }
        } else {
            Event::NotFound { id, status: found.status }
        });
    }

    /// Repeats our questions, and forgets those that are over.
    pub(super) fn lookups_due(&mut self, now: Instant) {
        let is_due = |(_, question): &(&u32, &Question)| question.due <= now;
        let due: Vec<u32> =
            self.lookups.questions.iter().filter(is_due).map(|(&id, _)| id).collect();
        for id in due {
            let Some(question) = self.lookups.questions.get_mut(&id) else { continue };
            match (question.phase, question.last) {
                (Phase::Asked, Some(message)) if question.retries < MAX_RETRIES => {
                    question.retries += 1;
                    question.due = now + coded(RESPONSE_TIMEOUT);
                    let (address, transaction) = (question.address, question.transaction);
                    self.counters.repeated += 1;
                    self.send(address, transaction, &message);
                }
                (Phase::Answered, _) => self.lookups.forget(id),
                // There was no answer: of the peer, or of the caller.
                _ => {
                    self.lookups.forget(id);
                    self.events.push_back(Event::TimedOut { id: ConnectionId(id) });
                }
            }
        }
    }
}

/// A SIDR_REP.
fn answer(
    remote_id: CommId,
    service: ServiceId,
    status: LookupStatus,
    qpn: Qpn,
    Qkey(qkey): Qkey,
) -> Message {
    Message::LookedUp(LookedUp {
        remote_id,
        status,
        info_len: 0,
        qpn,
        service,
        qkey,
        info: [0; 72],
        private_data: PrivateData::NONE,
    })
}
