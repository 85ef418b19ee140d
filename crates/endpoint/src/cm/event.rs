//! What the caller gives to the manager, and the events that come back.

use super::ConnectionId;
use std::net::IpAddr;
use xoff_transport::Qkey;
use xoff_units::Bytes;
use xoff_wire::cm::{LookupStatus, RejectReason, ServiceId};
use xoff_wire::{Psn, Qpn, Service};

/// Bytes an application may add to a request: 92, less the IP addresses.
pub const REQUEST_DATA: usize = 56;
/// Bytes an application may add when it accepts.
pub const ACCEPT_DATA: usize = 196;
/// Bytes an application may add when it rejects.
pub const REJECT_DATA: usize = 148;
/// Bytes an application may add when it disconnects.
pub const DISCONNECT_DATA: usize = 220;

/// Bytes an application may add to a lookup: 216, less the IP addresses.
pub(crate) const LOOKUP_DATA: usize = 180;

/// Where datagrams of a service go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramService {
    /// The queue pair that takes them.
    pub qpn: Qpn,
    /// The key that they must carry.
    pub qkey: Qkey,
}

/// What one side brings to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Its queue pair.
    pub qpn: Qpn,
    /// The number that the other side's first packet is to have.
    pub psn: Psn,
    /// Reliable or unreliable connection. (That of the requester counts.)
    pub service: Service,
    /// Most payload of a packet. (That of the requester counts; a size that is no path MTU is rounded
    /// down to one.)
    pub mtu: Bytes,
    /// Most outstanding reads and atomics that it answers.
    pub responder_resources: u8,
    /// Most outstanding reads and atomics that it requests.
    pub initiator_depth: u8,
}

/// What goes along with a request or with an answer to it, beside the [`Offer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extras<'a> {
    /// What the application adds: at most [`REQUEST_DATA`] or [`ACCEPT_DATA`] bytes.
    pub data: &'a [u8],
    /// How often both sides send again what is not acknowledged, three bits. (That of the requester
    /// counts.)
    pub retry_count: u8,
    /// How often the other side tries again if this one has no receive, three bits; seven is without
    /// end.
    pub rnr_retry_count: u8,
}

impl Default for Extras<'_> {
    fn default() -> Self {
        Self { data: &[], retry_count: 7, rnr_retry_count: 7 }
    }
}

/// The other side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Where it is.
    pub address: IpAddr,
    /// Its queue pair.
    pub qpn: Qpn,
    /// The number that our first packet is to have.
    pub psn: Psn,
    /// What kind of connection.
    pub service: Service,
    /// Most payload of a packet.
    pub mtu: Bytes,
    /// Most outstanding reads and atomics that it answers.
    pub responder_resources: u8,
    /// Most outstanding reads and atomics that it requests.
    pub initiator_depth: u8,
    /// How often both sides are to send again what is not acknowledged.
    pub retry_count: u8,
    /// How often we are to try again if it has no receive; seven is without end.
    pub rnr_retry_count: u8,
}

/// What happened to a connection or lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A peer requests a connection: accept or reject it.
    Requested {
        /// Its name from now on.
        id: ConnectionId,
        /// The service that was requested.
        service: ServiceId,
        /// The peer that requests it.
        peer: Peer,
        /// What the application added.
        data: [u8; REQUEST_DATA],
    },
    /// The connection is established at both ends.
    Established {
        /// Which.
        id: ConnectionId,
        /// The peer.
        peer: Peer,
    },
    /// The peer rejected it.
    Rejected {
        /// Which.
        id: ConnectionId,
        /// Why.
        reason: RejectReason,
    },
    /// A peer looks up where datagrams of a service go: serve or decline.
    LookedUp {
        /// The id of the lookup.
        id: ConnectionId,
        /// The service that was requested.
        service: ServiceId,
        /// The address of the peer.
        from: IpAddr,
        /// What the application added.
        data: [u8; LOOKUP_DATA],
    },
    /// The peer says where datagrams go.
    Found {
        /// Which lookup.
        id: ConnectionId,
        /// The address that we sent the lookup to.
        address: IpAddr,
        /// Where they go.
        service: DatagramService,
    },
    /// The peer does not serve them.
    NotFound {
        /// Which lookup.
        id: ConnectionId,
        /// Why.
        status: LookupStatus,
    },
    /// The peer did not answer in time, or the caller did not answer the peer.
    TimedOut {
        /// Which.
        id: ConnectionId,
    },
    /// The connection was ended, by us or by the peer.
    Disconnected {
        /// Which.
        id: ConnectionId,
    },
}
