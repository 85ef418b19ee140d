//! rdma_cm without input or output: how connections are made by name and ended (IBTA chapter 12,
//! annex A11 for IP addresses).
//!
//! An [`Agent`] is a [`Manager`] on a device. The manager alone is driven by the owner of queue
//! pair 1:
//!
//! 1. Request a connection with [`connect`](Manager::connect), or [`listen`](Manager::listen) on a
//!    port and answer each [`Event::Requested`] with [`accept`](Manager::accept) or
//!    [`reject`](Manager::reject).
//!    For datagrams there is no connection: [`look_up`](Manager::look_up) where they go, or
//!    [`listen_for_lookups`](Manager::listen_for_lookups) and answer each [`Event::LookedUp`] with
//!    [`serve`](Manager::serve) or [`decline`](Manager::decline).
//! 2. Give every datagram that arrives at queue pair 1 to [`handle`](Manager::handle), from any
//!    peer.
//! 3. After every call, send what [`poll_transmit`](Manager::poll_transmit) has and read
//!    [`poll_event`](Manager::poll_event), until there is no more.
//! 4. At [`deadline`](Manager::deadline) call [`handle_deadline`](Manager::handle_deadline).
//!    Calling early does nothing.
//!
//! What applications add to requests, acceptances, rejections and disconnects goes along with
//! [`connect_with`](Manager::connect_with), [`accept_with`](Manager::accept_with) and so on; what the
//! peer added is in [`Event::Requested`] or [`private_data`](Manager::private_data). It has no length
//! on the wire: behind it are zeros.
//!
//! Messages get lost: each is repeated until it is answered, and an answer is repeated when its
//! request is. A peer may request more time. Invalid messages are counted ([`Counters`]) and, where
//! the standard demands it, rejected; nothing is answered with more than one datagram of the same
//! size, and everything that is kept has a limit.
//!
//! ```
//! use xoff_endpoint::cm::{Agent, Event, Offer};
//! use xoff_endpoint::{Bytes, Device, DeviceSettings, Port, Psn, Qpn, Service};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! const PORT: Port = Port(18515);
//! let mut client = Device::open(DeviceSettings::new([127, 93, 4, 1]))?;
//! let mut server = Device::open(DeviceSettings::new([127, 93, 4, 2]))?;
//! let mut caller = Agent::open(&mut client, 1)?;
//! let mut listener = Agent::open(&mut server, 2)?;
//! let offer = |qpn| Offer {
//!     qpn: Qpn::new(qpn),
//!     psn: Psn::new(0),
//!     service: Service::Reliable,
//!     mtu: Bytes::new(1024),
//!     responder_resources: 16,
//!     initiator_depth: 16,
//! };
//! listener.manager().listen(PORT);
//! caller.manager().connect(client.now(), server.address().ip(), PORT, offer(17)).unwrap();
//! let peer = loop {
//!     server.progress();
//!     listener.turn(&mut server)?;
//!     if let Some(Event::Requested { id, .. }) = listener.manager().poll_event() {
//!         listener.manager().accept(server.now(), id, offer(42));
//!         listener.manager().unlisten(PORT);
//!     }
//!     client.progress();
//!     caller.turn(&mut client)?;
//!     if let Some(Event::Established { peer, .. }) = caller.manager().poll_event() {
//!         break peer;
//!     }
//! };
//! assert_eq!(peer.qpn, Qpn::new(42));
//! # Ok(())
//! # }
//! ```
//!
//! What it is not: address resolution (the kernel routes), queue pairs (the caller connects its own
//! with what an event says) and alternate paths.

mod agent;
mod connection;
mod counters;
mod event;
mod inbound;
mod lookup;
mod manager;

pub use agent::Agent;
pub use connection::ConnectionId;
pub use counters::Counters;
pub use event::{
    ACCEPT_DATA, DISCONNECT_DATA, DatagramService, Event, Extras, Offer, Peer, REJECT_DATA,
    REQUEST_DATA,
};
pub use manager::Manager;

#[cfg(test)]
mod tests;
