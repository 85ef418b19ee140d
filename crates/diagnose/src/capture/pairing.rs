//! Which two streams are one connection, as the connection manager's messages say.

use super::stream::Key;
use std::collections::BTreeMap;
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
    /// Who asked whom by which name, and the asker's queue pair.
    asked: BTreeMap<(IpAddr, IpAddr, CommId), Qpn>,
    partners: BTreeMap<Key, Key>,
}

impl Pairing {
    /// A message went from one host to another. Returns a connection if it completes one.
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
                if self.partners.len() + 2 > 2 * REMEMBERED {
                    self.partners.pop_first();
                    self.partners.pop_first();
                }
                self.partners.insert(there, back);
                self.partners.insert(back, there);
                Some((there, back))
            }
            _ => None,
        }
    }

    /// The other direction of a stream.
    pub(super) fn partner(&self, key: &Key) -> Option<Key> {
        self.partners.get(key).copied()
    }
}
