//! What two ends of a connection agree on, and how it ends.

use crate::cm::{Extras, Offer, Peer};
use crate::error::Error;
use std::net::SocketAddr;
use xoff_transport::Status;
use xoff_transport::config::QpConfig;
use xoff_units::Bytes;
use xoff_wire::{Psn, Qpn, Service};

/// Retries of which a message has room for no more: as many as the queue pair's settings say.
const MOST_RETRIES: u8 = 7;

/// What one side brings to a connection that rdma_cm makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// What the application adds: at most [`REQUEST_DATA`](crate::cm::REQUEST_DATA) bytes to a
    /// request, [`ACCEPT_DATA`](crate::cm::ACCEPT_DATA) to an acceptance. More is an error.
    pub private_data: Vec<u8>,
    /// Reliable or unreliable connection. That of the requester counts.
    pub service: Service,
    /// Most payload of a packet: 256, 512, 1024, 2048 or 4096. That of the requester counts. 1024
    /// fits every Ethernet, 4096 those with jumbo frames, and loopback.
    pub mtu: u16,
    /// Most reads and atomics of ours that are under way at a time. What the peer answers at a time
    /// may be less.
    pub initiator_depth: u8,
    /// Most reads and atomics of the peer that we answer at a time.
    pub responder_resources: u8,
    /// How often what is not acknowledged is sent again before the queue pair fails. At 7, the most
    /// that can be said, as often as its settings say, which is 10 seconds by
    /// [`host_config`](crate::host_config). That of the requester counts.
    pub retry_count: u8,
    /// How often the peer tries again if we have no receive for a message; 7 is without end.
    pub rnr_retry_count: u8,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            private_data: Vec::new(),
            service: Service::Reliable,
            mtu: 1024,
            initiator_depth: 16,
            responder_resources: 16,
            retry_count: MOST_RETRIES,
            rnr_retry_count: MOST_RETRIES,
        }
    }
}

impl Terms {
    /// The usual terms with private data.
    pub fn with_data(private_data: &[u8]) -> Self {
        Self { private_data: private_data.to_vec(), ..Self::default() }
    }

    /// Whether all of it can be said.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !matches!(self.mtu, 256 | 512 | 1024 | 2048 | 4096) {
            return Err(Error::BadMtu);
        }
        let counts = [self.retry_count, self.rnr_retry_count];
        let fit = counts.iter().all(|&count| count <= MOST_RETRIES);
        fit.then_some(()).ok_or(Error::Limit("retries: a message has room for 7"))
    }

    pub(crate) fn extras(&self) -> Extras<'_> {
        let (retry_count, rnr_retry_count) = (self.retry_count, self.rnr_retry_count);
        Extras { data: &self.private_data, retry_count, rnr_retry_count }
    }

    /// What a request offers.
    pub(crate) fn request(&self, qpn: Qpn, psn: Psn, service: Service) -> Offer {
        Offer {
            qpn,
            psn,
            service,
            mtu: Bytes::new(self.mtu.into()),
            responder_resources: self.responder_resources,
            initiator_depth: self.initiator_depth,
        }
    }

    /// What an acceptance offers: no more than the requester asks for.
    pub(crate) fn answer(&self, qpn: Qpn, psn: Psn, peer: &Peer) -> Offer {
        Offer {
            qpn,
            psn,
            service: peer.service,
            mtu: peer.mtu,
            responder_resources: self.responder_resources.min(peer.initiator_depth),
            initiator_depth: self.initiator_depth.min(peer.responder_resources),
        }
    }
}

/// What both ends of a connection agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiated {
    /// The peer's address.
    pub peer: SocketAddr,
    /// The peer's queue pair.
    pub qpn: Qpn,
    /// What kind of connection.
    pub service: Service,
    /// Most payload of a packet.
    pub mtu: u16,
    /// Most reads and atomics of ours that are under way at a time; with 0 there can be none.
    pub initiator_depth: u8,
    /// Most reads and atomics of the peer that are under way at a time.
    pub responder_resources: u8,
    /// How often what is not acknowledged is sent again; 7 is as often as the queue pair's settings
    /// say.
    pub retry_count: u8,
    /// How often we try again if the peer has no receive; 7 is without end.
    pub rnr_retry_count: u8,
    /// What the peer's application added to its request or its acceptance. It has no length on the
    /// wire: behind it are zeros, up to [`REQUEST_DATA`](crate::cm::REQUEST_DATA) or
    /// [`ACCEPT_DATA`](crate::cm::ACCEPT_DATA).
    pub private_data: Vec<u8>,
}

impl Negotiated {
    /// What follows from what we offered and what the peer said.
    pub(crate) fn new(offer: &Offer, peer: &Peer, udp_port: u16, private_data: Vec<u8>) -> Self {
        Self {
            peer: SocketAddr::new(peer.address, udp_port),
            qpn: peer.qpn,
            service: peer.service,
            mtu: u16::try_from(peer.mtu.get()).unwrap_or(u16::MAX),
            initiator_depth: offer.initiator_depth.min(peer.responder_resources),
            responder_resources: offer.responder_resources.min(peer.initiator_depth),
            retry_count: peer.retry_count,
            rnr_retry_count: peer.rnr_retry_count,
            private_data,
        }
    }

    /// Puts it into the settings of the queue pair.
    pub(crate) fn apply(&self, config: &mut QpConfig) {
        config.max_reads = self.initiator_depth.max(1);
        config.rnr_retry_limit = self.rnr_retry_count;
        if self.retry_count < MOST_RETRIES {
            config.retry_limit = self.retry_count;
        }
    }
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The peer disconnected.
    Peer {
        /// What its application added, and the zeros behind it.
        private_data: Vec<u8>,
    },
    /// We disconnected.
    Local,
    /// The queue pair failed. [`Status::Flushed`] if no work of ours has the reason: we refused a
    /// request of the peer's, or it was [aborted](crate::Connection::abort).
    Failed(Status),
}
