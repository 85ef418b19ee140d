//! REQ: one side wants a connection (IBTA 12.6.5).

use super::{CommId, Data, PrivateData, ServiceId};
use crate::bth::Pkey;
use crate::bytes::{field, put, put_u24, u16_at, u24_at, u32_at, u64_at};
use crate::grh::Gid;
use crate::ip::TrafficClass;
use crate::mad::DATA_LEN;
use crate::{Psn, Qpn};
use std::net::Ipv6Addr;

const PATH_LEN: usize = 44;
const N: usize = DATA_LEN;

/// The most payload of a packet along a path, as the standard codes it: 1 for 256 bytes up to 5
/// for 4096.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathMtu(pub u8);

impl PathMtu {
    /// The code for `bytes`, if there is one.
    ///
    /// ```
    /// use xoff_wire::cm::PathMtu;
    ///
    /// assert_eq!(PathMtu::from_bytes(4096), Some(PathMtu(5)));
    /// assert_eq!(PathMtu::from_bytes(1500), None);
    /// ```
    pub const fn from_bytes(bytes: u32) -> Option<Self> {
        Some(Self(match bytes {
            256 => 1,
            512 => 2,
            1024 => 3,
            2048 => 4,
            4096 => 5,
            _ => return None,
        }))
    }

    /// The bytes, if the code is a known one.
    pub const fn bytes(self) -> Option<u32> {
        match self.0 {
            1..=5 => Some(128 << self.0),
            _ => None,
        }
    }
}

/// A path between two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// The sender's local identifier; 0xffff where there are none, as in RoCE.
    pub local_lid: u16,
    /// The receiver's.
    pub remote_lid: u16,
    /// The sender's address.
    pub local_gid: Gid,
    /// The receiver's address.
    pub remote_gid: Gid,
    /// Twenty bits.
    pub flow_label: u32,
    /// The coded rate limit, six bits.
    pub packet_rate: u8,
    /// DSCP and ECN.
    pub class: TrafficClass,
    /// Routers on the way.
    pub hop_limit: u8,
    /// The service level, four bits.
    pub service_level: u8,
    /// Both ends are in one subnet.
    pub subnet_local: bool,
    /// The coded timeout for acknowledgements, five bits: 4.096 us times two to its power.
    pub ack_timeout: u8,
}

impl Path {
    /// No path, as the alternate of a request that has none.
    pub const NONE: Self = Self {
        local_lid: 0,
        remote_lid: 0,
        local_gid: Gid(Ipv6Addr::UNSPECIFIED),
        remote_gid: Gid(Ipv6Addr::UNSPECIFIED),
        flow_label: 0,
        packet_rate: 0,
        class: TrafficClass(0),
        hop_limit: 0,
        service_level: 0,
        subnet_local: false,
        ack_timeout: 0,
    };

    fn parse(bytes: &[u8; PATH_LEN]) -> Self {
        const P: usize = PATH_LEN;
        Self {
            local_lid: u16_at::<0, P>(bytes),
            remote_lid: u16_at::<2, P>(bytes),
            local_gid: Gid(field::<4, 16, P>(bytes).into()),
            remote_gid: Gid(field::<20, 16, P>(bytes).into()),
            flow_label: u32_at::<36, P>(bytes) >> 12,
            packet_rate: bytes[39] & 0x3f,
            class: TrafficClass(bytes[40]),
            hop_limit: bytes[41],
            service_level: bytes[42] >> 4,
            subnet_local: bytes[42] & 0x08 != 0,
            ack_timeout: bytes[43] >> 3,
        }
    }

    fn emit(&self) -> [u8; PATH_LEN] {
        let mut out = [0; PATH_LEN];
        put::<0, 2, _>(&mut out, self.local_lid.to_be_bytes());
        put::<2, 2, _>(&mut out, self.remote_lid.to_be_bytes());
        put::<4, 16, _>(&mut out, self.local_gid.0.octets());
        put::<20, 16, _>(&mut out, self.remote_gid.0.octets());
        let word = self.flow_label << 12 | u32::from(self.packet_rate & 0x3f);
        put::<36, 4, _>(&mut out, word.to_be_bytes());
        out[40] = self.class.0;
        out[41] = self.hop_limit;
        out[42] = self.service_level << 4 | (self.subnet_local as u8) << 3;
        out[43] = self.ack_timeout << 3;
        out
    }
}

/// One side wants a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The sender's name for it.
    pub local_id: CommId,
    /// With whom: which service.
    pub service: ServiceId,
    /// The sender's adapter.
    pub ca_guid: u64,
    /// The key of a datagram service.
    pub qkey: u32,
    /// The sender's queue pair.
    pub qpn: Qpn,
    /// Reads and atomics at once that the sender can answer.
    pub responder_resources: u8,
    /// Reads and atomics at once that the sender will ask for.
    pub initiator_depth: u8,
    /// The sender's end of a reliable datagram context; RoCE has none.
    pub local_eecn: u32,
    /// The receiver's.
    pub remote_eecn: u32,
    /// The coded time the receiver has to answer, five bits.
    pub remote_response_timeout: u8,
    /// The transport: 0 RC, 1 UC, 2 RD, 3 as [`Request::extended_transport`] says.
    pub transport: u8,
    /// End-to-end credits are used.
    pub flow_control: bool,
    /// The first sequence number that the *receiver* of this message is to use.
    pub starting_psn: Psn,
    /// The coded time the sender takes to answer, five bits.
    pub local_response_timeout: u8,
    /// How often to retry, three bits.
    pub retry_count: u8,
    /// The partition.
    pub pkey: Pkey,
    /// The most payload of a packet, four bits.
    pub path_mtu: PathMtu,
    /// A reliable datagram channel exists.
    pub rdc_exists: bool,
    /// How often to retry when the receiver is not ready, three bits; 7 means for ever.
    pub rnr_retry_count: u8,
    /// How often to repeat these messages, four bits.
    pub max_cm_retries: u8,
    /// The sender's queue pair has a shared receive queue.
    pub srq: bool,
    /// More transports, three bits.
    pub extended_transport: u8,
    /// The path.
    pub primary: Path,
    /// Another path, or [`Path::NONE`].
    pub alternate: Path,
    /// What the application adds; of rdma_cm the first 36 bytes are [`super::Addressing`].
    pub private_data: PrivateData<92>,
}

impl Request {
    pub(super) fn parse(data: &Data) -> Self {
        let [flow, retry, mtu, cm] = [data[43], data[47], data[50], data[51]];
        Self {
            local_id: CommId(u32_at::<0, N>(data)),
            service: ServiceId(u64_at::<8, N>(data)),
            ca_guid: u64_at::<16, N>(data),
            qkey: u32_at::<28, N>(data),
            qpn: Qpn::new(u24_at::<32, N>(data)),
            responder_resources: data[35],
            local_eecn: u24_at::<36, N>(data),
            initiator_depth: data[39],
            remote_eecn: u24_at::<40, N>(data),
            remote_response_timeout: flow >> 3,
            transport: flow >> 1 & 3,
            flow_control: flow & 1 != 0,
            starting_psn: Psn::new(u24_at::<44, N>(data)),
            local_response_timeout: retry >> 3,
            retry_count: retry & 7,
            pkey: Pkey(u16_at::<48, N>(data)),
            path_mtu: PathMtu(mtu >> 4),
            rdc_exists: mtu & 0x08 != 0,
            rnr_retry_count: mtu & 7,
            max_cm_retries: cm >> 4,
            srq: cm & 0x08 != 0,
            extended_transport: cm & 7,
            primary: Path::parse(&field::<52, PATH_LEN, N>(data)),
            alternate: Path::parse(&field::<96, PATH_LEN, N>(data)),
            private_data: PrivateData::read::<140>(data),
        }
    }

    pub(super) fn emit(&self) -> Data {
        let mut out = [0; N];
        put::<0, 4, N>(&mut out, self.local_id.0.to_be_bytes());
        put::<8, 8, N>(&mut out, self.service.0.to_be_bytes());
        put::<16, 8, N>(&mut out, self.ca_guid.to_be_bytes());
        put::<28, 4, N>(&mut out, self.qkey.to_be_bytes());
        put_u24::<32, N>(&mut out, self.qpn.get());
        out[35] = self.responder_resources;
        put_u24::<36, N>(&mut out, self.local_eecn);
        out[39] = self.initiator_depth;
        put_u24::<40, N>(&mut out, self.remote_eecn);
        out[43] =
            self.remote_response_timeout << 3 | (self.transport & 3) << 1 | self.flow_control as u8;
        put_u24::<44, N>(&mut out, self.starting_psn.get());
        out[47] = self.local_response_timeout << 3 | self.retry_count & 7;
        put::<48, 2, N>(&mut out, self.pkey.0.to_be_bytes());
        out[50] = self.path_mtu.0 << 4 | (self.rdc_exists as u8) << 3 | self.rnr_retry_count & 7;
        out[51] = self.max_cm_retries << 4 | (self.srq as u8) << 3 | self.extended_transport & 7;
        put::<52, PATH_LEN, N>(&mut out, self.primary.emit());
        put::<96, PATH_LEN, N>(&mut out, self.alternate.emit());
        put::<140, 92, N>(&mut out, self.private_data.0);
        out
    }
}
