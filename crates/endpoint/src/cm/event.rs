//! What the caller says to the manager, and hears from it.

use super::ConnectionId;
use std::net::IpAddr;
use xoff_units::Bytes;
use xoff_wire::cm::{RejectReason, ServiceId};
use xoff_wire::{Psn, Qpn, Service};

/// Bytes an application may add to a request: 92, less the IP addresses.
pub(crate) const REQUEST_DATA: usize = 56;

/// What one side brings to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Its queue pair.
    pub qpn: Qpn,
    /// The number that the other side's first packet is to have.
    pub psn: Psn,
    /// Reliable or unreliable connection. (The asker's word counts.)
    pub service: Service,
    /// Most payload of a packet. (The asker's word counts; anything not a path MTU is taken for the
    /// next smaller one.)
    pub mtu: Bytes,
    /// Reads and atomics at once that it answers.
    pub responder_resources: u8,
    /// Reads and atomics at once that it will ask for.
    pub initiator_depth: u8,
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
    /// Reads and atomics at once that it answers.
    pub responder_resources: u8,
    /// Reads and atomics at once that it will ask for.
    pub initiator_depth: u8,
}

/// What happened to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Somebody asks for one: accept or reject it.
    Requested {
        /// Its name from now on.
        id: ConnectionId,
        /// The service that was asked for.
        service: ServiceId,
        /// Who asks.
        peer: Peer,
        /// What the application added.
        data: [u8; REQUEST_DATA],
    },
    /// Both sides know that it stands.
    Established {
        /// Which.
        id: ConnectionId,
        /// With whom.
        peer: Peer,
    },
    /// The peer does not want it.
    Rejected {
        /// Which.
        id: ConnectionId,
        /// Why.
        reason: RejectReason,
    },
    /// The peer did not answer.
    TimedOut {
        /// Which.
        id: ConnectionId,
    },
    /// It has ended, at our wish or at the peer's.
    Disconnected {
        /// Which.
        id: ConnectionId,
    },
}
