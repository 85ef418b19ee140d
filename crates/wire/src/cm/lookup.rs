//! SIDR_REQ and SIDR_REP: which queue pair serves datagrams, and with which key (IBTA 12.11).

use super::{CommId, Data, PrivateData, ServiceId};
use crate::Qpn;
use crate::bth::Pkey;
use crate::bytes::{field, put, put_u24, u16_at, u24_at, u32_at, u64_at};
use crate::mad::DATA_LEN;
use std::fmt;

const N: usize = DATA_LEN;

/// Who serves this?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// The asker's name for the question.
    pub local_id: CommId,
    /// The partition that the datagrams are to have.
    pub pkey: Pkey,
    /// What is to be served.
    pub service: ServiceId,
    /// What the application adds; with rdma_cm its addresses come first.
    pub private_data: PrivateData<216>,
}

impl Lookup {
    pub(super) fn parse(data: &Data) -> Self {
        Self {
            local_id: CommId(u32_at::<0, N>(data)),
            pkey: Pkey(u16_at::<4, N>(data)),
            service: ServiceId(u64_at::<8, N>(data)),
            private_data: PrivateData::read::<16>(data),
        }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = [0; N];
        put::<0, 4, N>(&mut out, self.local_id.0.to_be_bytes());
        put::<4, 2, N>(&mut out, self.pkey.0.to_be_bytes());
        put::<8, 8, N>(&mut out, self.service.0.to_be_bytes());
        put::<16, 216, N>(&mut out, self.private_data.0);
        out
    }
}

/// What came of a lookup. Those that rdma_cm meets have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookupStatus(pub u8);

impl LookupStatus {
    /// Queue pair and key are good.
    pub const FOUND: Self = Self(0);
    /// No listener serves that service.
    pub const INVALID_SERVICE_ID: Self = Self(1);
    /// The application does not want to.
    pub const CONSUMER: Self = Self(2);
    /// No queue pair to be had.
    pub const NO_QP: Self = Self(3);
}

impl fmt::Display for LookupStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::FOUND => "found",
            Self::INVALID_SERVICE_ID => "nobody listens",
            Self::CONSUMER => "refused by the application",
            Self::NO_QP => "no queue pair",
            Self(other) => return write!(f, "status {other}"),
        };
        f.write_str(text)
    }
}

/// The answer to a [`Lookup`]: the queue pair that serves the service, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookedUp {
    /// The asker's name for the question.
    pub remote_id: CommId,
    /// Whether there is one.
    pub status: LookupStatus,
    /// Bytes of [`LookedUp::info`] that mean something.
    pub info_len: u8,
    /// The queue pair that takes the datagrams.
    pub qpn: Qpn,
    /// What was asked for.
    pub service: ServiceId,
    /// The key that the datagrams must carry.
    pub qkey: u32,
    /// More on why not: for instance where else to ask.
    pub info: [u8; 72],
    /// What the application adds.
    pub private_data: PrivateData<136>,
}

impl LookedUp {
    pub(super) fn parse(data: &Data) -> Self {
        Self {
            remote_id: CommId(u32_at::<0, N>(data)),
            status: LookupStatus(data[4]),
            info_len: data[5],
            qpn: Qpn::new(u24_at::<8, N>(data)),
            service: ServiceId(u64_at::<12, N>(data)),
            qkey: u32_at::<20, N>(data),
            info: field::<24, 72, N>(data),
            private_data: PrivateData::read::<96>(data),
        }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = [0; N];
        put::<0, 4, N>(&mut out, self.remote_id.0.to_be_bytes());
        out[4] = self.status.0;
        out[5] = self.info_len;
        put_u24::<8, N>(&mut out, self.qpn.get());
        put::<12, 8, N>(&mut out, self.service.0.to_be_bytes());
        put::<20, 4, N>(&mut out, self.qkey.to_be_bytes());
        put::<24, 72, N>(&mut out, self.info);
        put::<96, 136, N>(&mut out, self.private_data.0);
        out
    }
}
