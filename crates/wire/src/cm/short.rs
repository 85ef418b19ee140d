//! The short messages: MRA (IBTA 12.6.6), REJ (12.6.7), RTU (12.6.9), DREQ (12.6.10) and DREP
//! (12.6.11).

use super::{CommId, Data, PrivateData};
use crate::Qpn;
use crate::bytes::{field, put, put_u24, u16_at, u24_at, u32_at};
use crate::mad::DATA_LEN;
use std::fmt;

const N: usize = DATA_LEN;

fn ids(data: &Data) -> (CommId, CommId) {
    (CommId(u32_at::<0, N>(data)), CommId(u32_at::<4, N>(data)))
}

/// The two names at the front of every message but the request.
fn with_ids(local: CommId, remote: CommId) -> Data {
    let mut out = [0; N];
    put::<0, 4, N>(&mut out, local.0.to_be_bytes());
    put::<4, 4, N>(&mut out, remote.0.to_be_bytes());
    out
}

/// Ready to use: the requester has seen the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The sender's name for the connection.
    pub local_id: CommId,
    /// The receiver's.
    pub remote_id: CommId,
    /// What the application adds.
    pub private_data: PrivateData<224>,
}

impl Ready {
    pub(super) fn parse(data: &Data) -> Self {
        let (local_id, remote_id) = ids(data);
        Self { local_id, remote_id, private_data: PrivateData::read::<8>(data) }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = with_ids(self.local_id, self.remote_id);
        put::<8, 224, N>(&mut out, self.private_data.0);
        out
    }
}

/// Wait: the answer takes longer than agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The sender's name for the connection.
    pub local_id: CommId,
    /// The receiver's.
    pub remote_id: CommId,
    /// Which message it is about.
    pub about: Rejected,
    /// The coded time it takes, five bits.
    pub service_timeout: u8,
    /// What the application adds.
    pub private_data: PrivateData<222>,
}

impl Delay {
    pub(super) fn parse(data: &Data) -> Self {
        let (local_id, remote_id) = ids(data);
        Self {
            local_id,
            remote_id,
            about: Rejected::from_raw(data[8] >> 6),
            service_timeout: data[9] >> 3,
            private_data: PrivateData::read::<10>(data),
        }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = with_ids(self.local_id, self.remote_id);
        out[8] = (self.about as u8) << 6;
        out[9] = self.service_timeout << 3;
        put::<10, 222, N>(&mut out, self.private_data.0);
        out
    }
}

/// The message that a rejection or delay is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Rejected {
    /// The request.
    Request = 0,
    /// The reply.
    Reply = 1,
    /// None: a timeout, or a path that was proposed.
    Other = 2,
    /// Not defined.
    Reserved = 3,
}

impl Rejected {
    const fn from_raw(raw: u8) -> Self {
        match raw & 3 {
            0 => Self::Request,
            1 => Self::Reply,
            2 => Self::Other,
            _ => Self::Reserved,
        }
    }
}

/// Why not (IBTA 12.6.7.2). Those that rdma_cm meets have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RejectReason(pub u16);

impl RejectReason {
    /// No queue pair to be had.
    pub const NO_QP: Self = Self(1);
    /// No resources.
    pub const NO_RESOURCES: Self = Self(3);
    /// The answer took too long.
    pub const TIMEOUT: Self = Self(4);
    /// The names of the connection are not known.
    pub const INVALID_COMM_ID: Self = Self(6);
    /// No listener serves that service.
    pub const INVALID_SERVICE_ID: Self = Self(8);
    /// A transport that is not supported.
    pub const INVALID_TRANSPORT: Self = Self(9);
    /// The connection is stale: an older one with these numbers has not ended.
    pub const STALE_CONNECTION: Self = Self(10);
    /// A path MTU that is not supported.
    pub const INVALID_PATH_MTU: Self = Self(26);
    /// The application does not want to.
    pub const CONSUMER: Self = Self(28);
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::NO_QP => "no queue pair",
            Self::NO_RESOURCES => "no resources",
            Self::TIMEOUT => "timeout",
            Self::INVALID_COMM_ID => "unknown connection",
            Self::INVALID_SERVICE_ID => "nobody listens",
            Self::INVALID_TRANSPORT => "unsupported transport",
            Self::STALE_CONNECTION => "stale connection",
            Self::INVALID_PATH_MTU => "unsupported path MTU",
            Self::CONSUMER => "refused by the application",
            Self(other) => return write!(f, "reason {other}"),
        };
        f.write_str(text)
    }
}

/// No.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reject {
    /// The sender's name for the connection; zero if it has none.
    pub local_id: CommId,
    /// The receiver's.
    pub remote_id: CommId,
    /// Which message it is about.
    pub about: Rejected,
    /// Why.
    pub reason: RejectReason,
    /// Bytes of [`Reject::info`] that mean something, seven bits.
    pub info_len: u8,
    /// More on why: for instance the path MTU that would do.
    pub info: [u8; 72],
    /// What the application adds.
    pub private_data: PrivateData<148>,
}

impl Reject {
    pub(super) fn parse(data: &Data) -> Self {
        let (local_id, remote_id) = ids(data);
        Self {
            local_id,
            remote_id,
            about: Rejected::from_raw(data[8] >> 6),
            reason: RejectReason(u16_at::<10, N>(data)),
            info_len: data[9] >> 1,
            info: field::<12, 72, N>(data),
            private_data: PrivateData::read::<84>(data),
        }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = with_ids(self.local_id, self.remote_id);
        out[8] = (self.about as u8) << 6;
        out[9] = self.info_len << 1;
        put::<10, 2, N>(&mut out, self.reason.0.to_be_bytes());
        put::<12, 72, N>(&mut out, self.info);
        put::<84, 148, N>(&mut out, self.private_data.0);
        out
    }
}

/// Let us part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disconnect {
    /// The sender's name for the connection.
    pub local_id: CommId,
    /// The receiver's.
    pub remote_id: CommId,
    /// The receiver's queue pair.
    pub remote_qpn: Qpn,
    /// What the application adds.
    pub private_data: PrivateData<220>,
}

impl Disconnect {
    pub(super) fn parse(data: &Data) -> Self {
        let (local_id, remote_id) = ids(data);
        let remote_qpn = Qpn::new(u24_at::<8, N>(data));
        Self { local_id, remote_id, remote_qpn, private_data: PrivateData::read::<12>(data) }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = with_ids(self.local_id, self.remote_id);
        put_u24::<8, N>(&mut out, self.remote_qpn.get());
        put::<12, 220, N>(&mut out, self.private_data.0);
        out
    }
}

/// Parted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disconnected {
    /// The sender's name for the connection.
    pub local_id: CommId,
    /// The receiver's.
    pub remote_id: CommId,
    /// What the application adds.
    pub private_data: PrivateData<224>,
}

impl Disconnected {
    pub(super) fn parse(data: &Data) -> Self {
        let (local_id, remote_id) = ids(data);
        Self { local_id, remote_id, private_data: PrivateData::read::<8>(data) }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = with_ids(self.local_id, self.remote_id);
        put::<8, 224, N>(&mut out, self.private_data.0);
        out
    }
}
