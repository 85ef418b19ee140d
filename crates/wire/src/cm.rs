//! Communication management: how connections are made and ended (IBTA 12.6), with what rdma_cm
//! puts into it (annex A11).
//!
//! A [`Message`] is a management datagram of class 7, version 2. One side sends a [`Request`], the
//! other a [`Reply`] or [`Reject`], the first [`Ready`]; later either side a [`Disconnect`], which
//! the other answers with [`Disconnected`]. Who wants to send datagrams asks with a [`Lookup`] where
//! to, and a [`LookedUp`] says it. Reserved bits are ignored when reading and zero when writing.

mod address;
mod lookup;
mod reply;
mod request;
mod short;

pub use address::{Addressing, ServiceId};
pub use lookup::{LookedUp, Lookup, LookupStatus};
pub use reply::Reply;
pub use request::{Path, PathMtu, Request};
pub use short::{Delay, Disconnect, Disconnected, Ready, Reject, RejectReason, Rejected};

use crate::bytes::field;
use crate::mad::{self, Mad, TransactionId};
use std::fmt;

/// The class of communication management.
pub const CLASS: u8 = 7;
/// Its version.
pub(crate) const CLASS_VERSION: u8 = 2;
/// The one method: send.
const SEND: u8 = 3;

const REQUEST: u16 = 0x10;
const DELAY: u16 = 0x11;
const REJECT: u16 = 0x12;
const REPLY: u16 = 0x13;
const READY: u16 = 0x14;
const DISCONNECT: u16 = 0x15;
const DISCONNECTED: u16 = 0x16;
const LOOKUP: u16 = 0x17;
const LOOKED_UP: u16 = 0x18;

/// The bytes behind a datagram's common header.
type Data = [u8; mad::DATA_LEN];

/// One side's name for a connection in the making.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CommId(pub u32);

/// What the application adds to a message: always this many bytes, zeros behind what it has to
/// say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrivateData<const N: usize>(pub [u8; N]);

impl<const N: usize> PrivateData<N> {
    /// Nothing.
    pub const NONE: Self = Self([0; N]);

    /// These bytes and zeros; `None` if they are too many.
    pub fn new(data: &[u8]) -> Option<Self> {
        let mut bytes = [0; N];
        bytes.get_mut(..data.len())?.copy_from_slice(data);
        Some(Self(bytes))
    }

    /// What stands at `AT` up to the end of a message.
    fn read<const AT: usize>(data: &Data) -> Self {
        Self(field::<AT, N, { mad::DATA_LEN }>(data))
    }
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// REQ: let us connect.
    Request(Request),
    /// MRA: wait, the answer takes time.
    Delay(Delay),
    /// REJ: no.
    Reject(Reject),
    /// REP: yes.
    Reply(Reply),
    /// RTU: ready to use.
    Ready(Ready),
    /// DREQ: let us part.
    Disconnect(Disconnect),
    /// DREP: parted.
    Disconnected(Disconnected),
    /// SIDR_REQ: who serves this?
    Lookup(Lookup),
    /// SIDR_REP: this queue pair does, or none.
    LookedUp(LookedUp),
}

/// Why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CmError {
    /// Fewer bytes than a management datagram has.
    Short,
    /// Another class, version or method.
    NotCm,
    /// A kind of message we do not speak.
    Attribute(u16),
}

impl fmt::Display for CmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("the management datagram is cut off"),
            Self::NotCm => f.write_str("not communication management, class 7 version 2"),
            Self::Attribute(raw) => write!(f, "unknown message 0x{raw:04x}"),
        }
    }
}

impl std::error::Error for CmError {}

impl Message {
    /// Reads the payload of a packet to queue pair 1.
    pub fn parse(bytes: &[u8]) -> Result<(TransactionId, Self), CmError> {
        let bytes: &[u8; mad::LEN] = bytes.first_chunk().ok_or(CmError::Short)?;
        let mad = Mad::parse(bytes).ok_or(CmError::Short)?;
        let version = (mad.base_version, mad.class, mad.class_version, mad.method);
        if version != (1, CLASS, CLASS_VERSION, SEND) {
            return Err(CmError::NotCm);
        }
        let data: Data = field::<{ mad::HEADER_LEN }, { mad::DATA_LEN }, { mad::LEN }>(bytes);
        let message = match mad.attribute {
            REQUEST => Self::Request(Request::parse(&data)),
            DELAY => Self::Delay(Delay::parse(&data)),
            REJECT => Self::Reject(Reject::parse(&data)),
            REPLY => Self::Reply(Reply::parse(&data)),
            READY => Self::Ready(Ready::parse(&data)),
            DISCONNECT => Self::Disconnect(Disconnect::parse(&data)),
            DISCONNECTED => Self::Disconnected(Disconnected::parse(&data)),
            LOOKUP => Self::Lookup(Lookup::parse(&data)),
            LOOKED_UP => Self::LookedUp(LookedUp::parse(&data)),
            other => return Err(CmError::Attribute(other)),
        };
        Ok((mad.transaction, message))
    }

    /// The payload of a packet to queue pair 1.
    pub fn emit(&self, transaction: TransactionId) -> [u8; mad::LEN] {
        let (attribute, data) = match self {
            Self::Request(message) => (REQUEST, message.emit()),
            Self::Delay(message) => (DELAY, message.emit()),
            Self::Reject(message) => (REJECT, message.emit()),
            Self::Reply(message) => (REPLY, message.emit()),
            Self::Ready(message) => (READY, message.emit()),
            Self::Disconnect(message) => (DISCONNECT, message.emit()),
            Self::Disconnected(message) => (DISCONNECTED, message.emit()),
            Self::Lookup(message) => (LOOKUP, message.emit()),
            Self::LookedUp(message) => (LOOKED_UP, message.emit()),
        };
        let header = Mad {
            base_version: 1,
            class: CLASS,
            class_version: CLASS_VERSION,
            method: SEND,
            status: 0,
            class_specific: 0,
            transaction,
            attribute,
            reserved: 0,
            modifier: 0,
        };
        let mut out = [0; mad::LEN];
        out[..mad::HEADER_LEN].copy_from_slice(&header.emit());
        out[mad::HEADER_LEN..].copy_from_slice(&data);
        out
    }

    /// The sender's name for the connection or question; zero in the answer to a lookup, of which
    /// nothing is kept.
    pub const fn local_id(&self) -> CommId {
        match self {
            Self::Request(message) => message.local_id,
            Self::Delay(message) => message.local_id,
            Self::Reject(message) => message.local_id,
            Self::Reply(message) => message.local_id,
            Self::Ready(message) => message.local_id,
            Self::Disconnect(message) => message.local_id,
            Self::Disconnected(message) => message.local_id,
            Self::Lookup(message) => message.local_id,
            Self::LookedUp(_) => CommId(0),
        }
    }

    /// The receiver's name for the connection, as the sender knows it; requests and lookups do not.
    pub const fn remote_id(&self) -> Option<CommId> {
        match self {
            Self::Request(_) | Self::Lookup(_) => None,
            Self::Delay(message) => Some(message.remote_id),
            Self::Reject(message) => Some(message.remote_id),
            Self::Reply(message) => Some(message.remote_id),
            Self::Ready(message) => Some(message.remote_id),
            Self::Disconnect(message) => Some(message.remote_id),
            Self::Disconnected(message) => Some(message.remote_id),
            Self::LookedUp(message) => Some(message.remote_id),
        }
    }
}

#[cfg(test)]
mod tests;
