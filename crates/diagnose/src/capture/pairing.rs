//! Which two streams are one connection, as messages in the capture say.

use super::report::Matched;
use super::stream::Key;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use xoff_wire::Qpn;
use xoff_wire::cm::{CommId, Message};

/// Requests without answer, and connections, that are remembered. Beyond, the first in order of
/// address is forgotten; its streams can still be matched by their sequence numbers.
const REMEMBERED: usize = 1 << 14;

/// Two streams that are one connection.
pub(super) type Pair = (Key, Key);

/// What the messages have said so far.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    /// The queue pair of each requester, by its address, the other address and its communication
    /// id.
    asked: BTreeMap<(IpAddr, IpAddr, CommId), Qpn>,
    partners: BTreeMap<Key, (Key, Matched)>,
    /// The queue pairs of those.
    ends: BTreeSet<(IpAddr, Qpn)>,
}

impl Pairing {
    /// The connection manager's message went from one host to another. Returns a connection if it
    /// completes one.
    pub(super) fn learn(
        &mut self,
        message: &Message,
        (from, to): (IpAddr, IpAddr),
    ) -> Option<Pair> {
        match message {
            Message::Request(request) => {
                if self.asked.len() >= REMEMBERED {
                    self.asked.pop_first();
                }
                self.asked.insert((from, to, request.local_id), request.qpn);
                None
            }
            Message::Reply(reply) => {
                let asker = self.asked.remove(&(to, from, reply.remote_id))?;
                let there = Key { source: to, destination: from, to: reply.qpn, from: None };
                let back = Key { source: from, destination: to, to: asker, from: None };
                self.remember(there, back, Matched::ConnectionManager);
                Some((there, back))
            }
            _ => None,
        }
    }

    /// Two streams are one connection.
    pub(super) fn remember(&mut self, there: Key, back: Key, matched: Matched) {
        if self.partners.len() + 2 > 2 * REMEMBERED {
            let first = self.partners.pop_first();
            let second = first.and_then(|(_, (key, _))| self.partners.remove_entry(&key));
            for (key, _) in first.into_iter().chain(second) {
                self.ends.remove(&(key.destination, key.to));
            }
        }
        for (key, other) in [(there, back), (back, there)] {
            self.partners.insert(key, (other, matched));
            self.ends.insert((key.destination, key.to));
        }
    }

    /// The other direction of a stream, and how that is known.
    pub(super) fn partner(&self, key: &Key) -> Option<(Key, Matched)> {
        self.partners.get(key).copied()
    }

    /// Whether a host's queue pair is known to be part of a connection.
    pub(super) fn has(&self, address: IpAddr, qpn: Qpn) -> bool {
        self.ends.contains(&(address, qpn))
    }
}
