//! RoCEv2 on the wire: header *values* and their byte formats.
//!
//! Two ways in. The transport speaks [`Header`], a small value that [`Header::encode`] and
//! [`Header::decode`] turn into the bytes between UDP and payload. For whole packets there is
//! [`frame::Frame`], which takes a packet apart through all its layers and writes it again byte for
//! byte; each layer is a module with the value of its header. [`icrc::Flow`] computes the invariant
//! CRC, [`cm`] has the messages that make and end connections, [`capture`] reads and writes capture
//! files.
//!
//! ```
//! use xoff_wire::{Extension, Header, MAX_HEADER_LEN, Opcode, Psn, Qpn, Service};
//!
//! let header = Header {
//!     service: Service::Reliable,
//!     opcode: Opcode::SendOnly,
//!     ack_request: true,
//!     becn: false,
//!     dest_qp: Qpn::new(17),
//!     psn: Psn::new(0xff_ffff),
//!     extension: Extension::None,
//!     payload: 64,
//! };
//! let mut out = [0; MAX_HEADER_LEN];
//! let len = header.encode(&mut out);
//! assert_eq!(Header::decode(&out[..len], 64), Ok((header, len)));
//! ```
//!
//! Nothing here allocates (but for the one buffer of a capture's reader), and no input makes it
//! panic. What it is not: anything that keeps state between packets. Read [`Header`] first, then
//! [`frame`].

mod bytes;
mod codec;
mod cooked;
mod extended;
mod header;
mod numbers;
mod opcode;

pub mod bth;
pub mod capture;
pub mod cm;
pub mod ethernet;
pub mod frame;
pub mod glue;
pub mod grh;
pub mod icrc;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod mad;
pub mod pause;
pub mod roce;
pub mod tunnel;
pub mod udp;

pub use codec::{DecodeError, MAX_HEADER_LEN};
pub use header::{Aeth, Deth, Extension, Header, Immediate, Reth, Syndrome};
pub use numbers::{Psn, Qpn, Rkey};
pub use opcode::{Opcode, Operation, Position, Service};
