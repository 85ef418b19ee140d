//! RoCEv2 on the wire: header *values* and their byte formats.
//!
//! Two ways in. The transport speaks [`Header`], a small value that [`Header::encode`] and
//! [`Header::decode`] turn into the bytes between UDP and payload. Whoever has whole packets uses
//! [`frame::Frame`], which takes a packet apart through all its layers and writes it again byte for
//! byte; each layer is a module with a byte view and a value. [`icrc::Flow`] computes the invariant
//! CRC, [`cm`] has the messages that make and end connections, [`capture`] reads and writes capture
//! files.
//!
//! Nothing here allocates (but for the one buffer of a capture's reader), and no input makes it
//! panic. What it is not: anything that keeps state between packets. Read [`Header`] first, then
//! [`frame`].

mod bytes;
mod codec;
mod header;
mod numbers;
mod opcode;

pub mod bth;
pub mod capture;
pub mod cm;
pub mod cooked;
pub mod ethernet;
pub mod extended;
pub mod frame;
pub mod grh;
pub mod icrc;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod mad;
pub mod pause;
pub mod roce;
pub mod udp;

pub use codec::{DecodeError, MAX_HEADER_LEN};
pub use header::{Aeth, Deth, Extension, Header, Immediate, Reth, Syndrome};
pub use numbers::{Psn, Qpn, Rkey};
pub use opcode::{Opcode, Operation, Position, Service};
