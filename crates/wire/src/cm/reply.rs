//! REP: the other side agrees (IBTA 12.6.8).

use super::{CommId, Data, PrivateData};
use crate::bytes::{put, put_u24, u24_at, u32_at, u64_at};
use crate::mad::DATA_LEN;
use crate::{Psn, Qpn};

const N: usize = DATA_LEN;

/// The other side agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The sender's name for the connection.
    pub local_id: CommId,
    /// The requester's.
    pub remote_id: CommId,
    /// The key of a datagram service.
    pub qkey: u32,
    /// The sender's queue pair.
    pub qpn: Qpn,
    /// The sender's end of a reliable datagram context; RoCE has none.
    pub local_eecn: u32,
    /// The first sequence number that the *receiver* of this message is to use.
    pub starting_psn: Psn,
    /// Reads and atomics at once that the sender can answer.
    pub responder_resources: u8,
    /// Reads and atomics at once that the sender will ask for.
    pub initiator_depth: u8,
    /// The coded time the sender takes to acknowledge, five bits.
    pub target_ack_delay: u8,
    /// What came of the alternate path, two bits.
    pub failover: u8,
    /// End-to-end credits are used.
    pub flow_control: bool,
    /// How often to retry when the receiver is not ready, three bits.
    pub rnr_retry_count: u8,
    /// The sender's queue pair has a shared receive queue.
    pub srq: bool,
    /// The sender's adapter.
    pub ca_guid: u64,
    /// What the application adds.
    pub private_data: PrivateData<196>,
}

impl Reply {
    pub(super) fn parse(data: &Data) -> Self {
        let [flow, retry] = [data[26], data[27]];
        Self {
            local_id: CommId(u32_at::<0, N>(data)),
            remote_id: CommId(u32_at::<4, N>(data)),
            qkey: u32_at::<8, N>(data),
            qpn: Qpn::new(u24_at::<12, N>(data)),
            local_eecn: u24_at::<16, N>(data),
            starting_psn: Psn::new(u24_at::<20, N>(data)),
            responder_resources: data[24],
            initiator_depth: data[25],
            target_ack_delay: flow >> 3,
            failover: flow >> 1 & 3,
            flow_control: flow & 1 != 0,
            rnr_retry_count: retry >> 5,
            srq: retry & 0x10 != 0,
            ca_guid: u64_at::<28, N>(data),
            private_data: PrivateData::read::<36>(data),
        }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = [0; N];
        put::<0, 4, N>(&mut out, self.local_id.0.to_be_bytes());
        put::<4, 4, N>(&mut out, self.remote_id.0.to_be_bytes());
        put::<8, 4, N>(&mut out, self.qkey.to_be_bytes());
        put_u24::<12, N>(&mut out, self.qpn.get());
        put_u24::<16, N>(&mut out, self.local_eecn);
        put_u24::<20, N>(&mut out, self.starting_psn.get());
        out[24] = self.responder_resources;
        out[25] = self.initiator_depth;
        out[26] = self.target_ack_delay << 3 | (self.failover & 3) << 1 | self.flow_control as u8;
        out[27] = self.rnr_retry_count << 5 | (self.srq as u8) << 4;
        put::<28, 8, N>(&mut out, self.ca_guid.to_be_bytes());
        put::<36, 196, N>(&mut out, self.private_data.0);
        out
    }
}
