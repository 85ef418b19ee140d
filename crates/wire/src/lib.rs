//! RoCEv2 on the wire: header *values* and their byte formats.
//!
//! A value ([`Header`] and what it holds) is what the transport speaks; [`Header::encode`] and
//! [`Header::decode`] turn it into the bytes between UDP and payload. Nothing here allocates, and
//! no input makes it panic.
//!
//! What it is not, yet: Ethernet, IP and UDP framing, ICRC and capture files. Read [`Header`] first.

mod codec;
mod header;
mod numbers;
mod opcode;

pub use codec::{DecodeError, MAX_HEADER_LEN};
pub use header::{Aeth, Deth, Extension, Header, Immediate, Reth, Syndrome};
pub use numbers::{Psn, Qpn, Rkey};
pub use opcode::{Opcode, Operation, Position, Service};
