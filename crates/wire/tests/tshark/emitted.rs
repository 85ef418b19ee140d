//! Captures of our own: every opcode, connections, pauses.

use crate::run::{Tshark, scratch};
use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use xoff_wire::bth::Pkey;
use xoff_wire::capture::{LinkType, Packet, PcapWriter, PcapngWriter, Timestamp};
use xoff_wire::cm::{
    Addressing, CommId, Delay, Disconnect, Disconnected, Message, Path, PathMtu, PrivateData,
    Ready, Reject, RejectReason, Rejected, Reply, Request, ServiceId,
};
use xoff_wire::ethernet::{EtherType, MacAddr, Tag};
use xoff_wire::frame::{Builder, Route};
use xoff_wire::grh::Gid;
use xoff_wire::ip::TrafficClass;
use xoff_wire::mad::{self, TransactionId};
use xoff_wire::pause::{Pause, Quanta};
use xoff_wire::udp::Port;
use xoff_wire::{
    Aeth, Deth, Extension, Header, Immediate, Opcode, Operation, Psn, Qpn, Reth, Rkey, Service,
    Syndrome,
};

const V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
];
const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];

fn routes() -> [Route; 3] {
    [
        Route::V4 { source: V4[0], destination: V4[1], identification: 0x1234 },
        Route::V6 { source: V6[0], destination: V6[1] },
        Route::V1 { source: Gid(V6[0]), destination: Gid(V6[1]) },
    ]
}

fn packet(number: u64, bytes: &[u8]) -> Packet<'_> {
    Packet {
        timestamp: Timestamp::from_ns(1_700_000_000_000_000_000 + number * 1000),
        link_type: LinkType::ETHERNET,
        interface: 0,
        wire_len: bytes.len() as u32,
        bytes,
    }
}

fn extension(service: Service, opcode: Opcode, syndrome: Syndrome) -> Extension {
    let reth = Reth { address: 0x7f12_3456_789a_bcde, rkey: Rkey(0x0102_0304), length: 0x8765 };
    let deth = Deth { qkey: 0x1111_1111, source: Qpn::new(0x4321) };
    let aeth = Aeth { syndrome, msn: 0x12_3456 };
    let imm = Immediate([0xde, 0xad, 0xbe, 0xef]);
    match (service, opcode.operation(), opcode.has_immediate()) {
        (Service::Datagram, _, true) => Extension::DethImm(deth, imm),
        (Service::Datagram, _, false) => Extension::Deth(deth),
        (_, Operation::Atomic, _) => Extension::Atomic {
            address: 0x7f12_3456_789a_bcd0,
            rkey: Rkey(0x0a0b_0c0d),
            operand: 0x1122_3344_5566_7788,
            compare: 0x99aa_bbcc_ddee_ff00,
        },
        (_, Operation::AtomicAcknowledge, _) => Extension::AtomicAck(aeth, 0x0123_4567_89ab_cdef),
        (_, _, true) if opcode.has_reth() => Extension::RethImm(reth, imm),
        (_, _, true) => Extension::Imm(imm),
        _ if opcode.has_reth() => Extension::Reth(reth),
        _ if opcode.has_aeth() => Extension::Aeth(aeth),
        _ if opcode.has_invalidate() => Extension::Ieth(Rkey(0xcafe_f00d)),
        _ => Extension::None,
    }
}

/// One packet of each opcode and service over each network, and acknowledgements of every kind.
pub(crate) fn packets() -> (PathBuf, usize) {
    let file = scratch("emitted.pcapng");
    let mut writer = PcapngWriter::new(BufWriter::new(File::create(&file).unwrap())).unwrap();
    let ack = Syndrome::Ack { credits: 31 };
    let mut kinds: Vec<_> =
        (0..=255).filter_map(Opcode::from_raw).map(|(s, o)| (s, o, ack)).collect();
    for syndrome in [
        Syndrome::RnrNak { timer: 12 },
        Syndrome::SequenceError,
        Syndrome::InvalidRequest,
        Syndrome::RemoteAccessError,
        Syndrome::RemoteOperationalError,
    ] {
        kinds.push((Service::Reliable, Opcode::Acknowledge, syndrome));
    }
    let mut count = 0;
    for route in routes() {
        for (number, (service, opcode, syndrome)) in kinds.iter().enumerate() {
            let mut builder = Builder::new(route);
            builder.class = TrafficClass(106);
            builder.tag = (number % 2 == 1).then_some(Tag {
                protocol: EtherType::CUSTOMER_TAG,
                priority: 3,
                drop_eligible: false,
                vlan: 7,
            });
            let payload = if opcode.has_payload() { 33 + number as u32 % 4 } else { 0 };
            let header = Header {
                service: *service,
                opcode: *opcode,
                ack_request: number % 3 == 0,
                becn: *opcode == Opcode::Cnp,
                dest_qp: Qpn::new(0x00ab_0000 + number as u32),
                psn: Psn::new(0x00fe_dc00 + number as u32),
                extension: extension(*service, *opcode, *syndrome),
                payload,
            };
            let data = vec![0xa5; payload as usize];
            let mut out = [0; 256];
            let len = builder.write(&header, &data, &mut out).unwrap();
            writer.write(&packet(count, &out[..len])).unwrap();
            count += 1;
        }
    }
    writer.finish().unwrap();
    (file, count as usize)
}

fn request(route: &Route) -> Request {
    let (source, destination) = match route {
        Route::V4 { source, destination, .. } => (IpAddr::V4(*source), IpAddr::V4(*destination)),
        _ => (IpAddr::V6(V6[0]), IpAddr::V6(V6[1])),
    };
    let gid = |address| match address {
        IpAddr::V4(v4) => Gid(v4.to_ipv6_mapped()),
        IpAddr::V6(v6) => Gid(v6),
    };
    let primary = Path {
        local_lid: 0xffff,
        remote_lid: 0xffff,
        local_gid: gid(source),
        remote_gid: gid(destination),
        flow_label: 0x12345,
        packet_rate: 3,
        class: TrafficClass(106),
        hop_limit: 64,
        service_level: 3,
        subnet_local: true,
        ack_timeout: 18,
    };
    let addressing = Addressing { source, destination, source_port: Port(0xabcd) };
    Request {
        local_id: CommId(0x1111_0001),
        service: ServiceId::tcp(Port(18515)),
        ca_guid: 0x0200_00ff_fe00_0001,
        qkey: 0,
        qpn: Qpn::new(0x012345),
        responder_resources: 16,
        initiator_depth: 15,
        local_eecn: 0,
        remote_eecn: 0,
        remote_response_timeout: 20,
        transport: 0,
        flow_control: true,
        starting_psn: Psn::new(0x0abcde),
        local_response_timeout: 19,
        retry_count: 7,
        pkey: Pkey::DEFAULT,
        path_mtu: PathMtu(3),
        rdc_exists: false,
        rnr_retry_count: 6,
        max_cm_retries: 15,
        srq: false,
        extended_transport: 0,
        primary,
        alternate: Path::NONE,
        private_data: PrivateData::new(&addressing.emit().unwrap()).unwrap(),
    }
}

fn reply() -> Reply {
    Reply {
        local_id: CommId(0x2222_0002),
        remote_id: CommId(0x1111_0001),
        qkey: 0,
        qpn: Qpn::new(0x054321),
        local_eecn: 0,
        starting_psn: Psn::new(0x0edcba),
        responder_resources: 9,
        initiator_depth: 8,
        target_ack_delay: 15,
        failover: 0,
        flow_control: true,
        rnr_retry_count: 5,
        srq: true,
        ca_guid: 0x0200_00ff_fe00_0002,
        private_data: PrivateData::NONE,
    }
}

/// Field and value that tshark must show, of the message in front.
fn messages(route: &Route) -> Vec<(Message, Vec<(&'static str, u64)>)> {
    let (local_id, remote_id) = (CommId(0x1111_0001), CommId(0x2222_0002));
    let about = Rejected::Request;
    vec![
        (
            Message::Request(request(route)),
            vec![
                ("infiniband.cm.req", 0x1111_0001),
                ("infiniband.cm.req.localqpn", 0x012345),
                ("infiniband.cm.req.startpsn", 0x0abcde),
                ("infiniband.cm.req.responderres", 16),
                ("infiniband.cm.req.initdepth", 15),
                ("infiniband.cm.req.remoteresptout", 20),
                ("infiniband.cm.req.localresptout", 19),
                ("infiniband.cm.req.e2eflowctrl", 1),
                ("infiniband.cm.req.retrcount", 7),
                ("infiniband.cm.req.rnrretrcount", 6),
                ("infiniband.cm.req.pppmtu", 3),
                ("infiniband.cm.req.maxcmretr", 15),
                ("infiniband.cm.req.pkey", 0xffff),
                ("infiniband.cm.req.prim_locallid", 0xffff),
                // Not the flow label and packet rate: tshark 4.0 takes three bytes of the word
                // they share for the one and its first byte for the other.
                ("infiniband.cm.req.prim_hoplim", 64),
                ("infiniband.cm.req.prim_sl", 3),
                ("infiniband.cm.req.prim_subnetlocal", 1),
                ("infiniband.cm.req.prim_localacktout", 18),
                ("infiniband.cm.req.serviceid.protocol", 6),
                ("infiniband.cm.req.serviceid.dport", 18515),
                ("infiniband.cm.req.ip_cm.sport", 0xabcd),
            ],
        ),
        (
            Message::Reply(reply()),
            vec![
                ("infiniband.cm.rep", 0x2222_0002),
                ("infiniband.cm.rep.remotecommid", 0x1111_0001),
                ("infiniband.cm.rep.localqpn", 0x054321),
                ("infiniband.cm.rep.startpsn", 0x0edcba),
                ("infiniband.cm.rep.respres", 9),
                ("infiniband.cm.rep.initdepth", 8),
                ("infiniband.cm.rep.tgtackdelay", 15),
                ("infiniband.cm.rep.e2eflowctrl", 1),
                ("infiniband.cm.rep.rnrretrcount", 5),
                ("infiniband.cm.rep.srq", 1),
            ],
        ),
        (
            Message::Ready(Ready { local_id, remote_id, private_data: PrivateData::NONE }),
            vec![
                ("infiniband.cm.rtu.localcommid", 0x1111_0001),
                ("infiniband.cm.rtu.remotecommid", 0x2222_0002),
            ],
        ),
        (
            Message::Delay(Delay {
                local_id,
                remote_id,
                about,
                service_timeout: 9,
                private_data: PrivateData::NONE,
            }),
            vec![("infiniband.mad.attributeid", 0x11)],
        ),
        (
            Message::Disconnect(Disconnect {
                local_id,
                remote_id,
                remote_qpn: Qpn::new(0x054321),
                private_data: PrivateData::NONE,
            }),
            vec![
                ("infiniband.cm.dreq.localcommid", 0x1111_0001),
                ("infiniband.cm.dreq.remotecommid", 0x2222_0002),
                ("infiniband.cm.req.remoteqpneecn", 0x054321),
            ],
        ),
        (
            Message::Disconnected(Disconnected {
                local_id: remote_id,
                remote_id: local_id,
                private_data: PrivateData::NONE,
            }),
            vec![
                ("infiniband.cm.drsp.localcommid", 0x2222_0002),
                ("infiniband.cm.drsp.remotecommid", 0x1111_0001),
            ],
        ),
        (
            Message::Reject(Reject {
                local_id: remote_id,
                remote_id: local_id,
                about,
                reason: RejectReason::CONSUMER,
                info_len: 3,
                info: [0; 72],
                private_data: PrivateData::NONE,
            }),
            vec![
                ("infiniband.cm.rej.localcommid", 0x2222_0002),
                ("infiniband.cm.rej.remotecommid", 0x1111_0001),
                ("infiniband.cm.rej.msgrej", 0),
                ("infiniband.cm.rej.rejinfolen", 3),
                ("infiniband.cm.rej.reason", 28),
            ],
        ),
    ]
}

/// The messages of a connection, over IPv4 and IPv6.
pub(crate) fn connection(tshark: &Tshark) {
    for route in &routes()[..2] {
        let messages = messages(route);
        let file = scratch(match route {
            Route::V4 { .. } => "connection-v4.pcap",
            _ => "connection-v6.pcap",
        });
        let out = BufWriter::new(File::create(&file).unwrap());
        let mut writer = PcapWriter::new(out, LinkType::ETHERNET).unwrap();
        for (number, (message, _)) in messages.iter().enumerate() {
            let header = Header {
                service: Service::Datagram,
                opcode: Opcode::SendOnly,
                ack_request: true,
                becn: false,
                dest_qp: mad::QPN,
                psn: Psn::new(number as u32),
                extension: Extension::Deth(mad::DETH),
                payload: mad::LEN as u32,
            };
            let mut bytes = [0; 512];
            let payload = message.emit(TransactionId(number as u64));
            let len = Builder::new(*route).write(&header, &payload, &mut bytes).unwrap();
            writer.write(&packet(number as u64, &bytes[..len])).unwrap();
        }
        writer.finish().unwrap();
        let names: Vec<_> =
            messages.iter().flat_map(|(_, fields)| fields.iter().map(|(name, _)| *name)).collect();
        let rows = tshark.fields(&file, &names);
        let mut at = 0;
        for (row, (message, fields)) in rows.iter().zip(&messages) {
            assert_eq!(row.complaint, None, "{message:?}");
            for (name, value) in fields {
                assert_eq!(row.values[at], Some(*value), "{name}");
                at += 1;
            }
        }
        assert_eq!((rows.len(), at), (messages.len(), names.len()));
    }
}

/// Pauses of both kinds.
pub(crate) fn pauses(tshark: &Tshark) {
    let file = scratch("pauses.pcap");
    let out = BufWriter::new(File::create(&file).unwrap());
    let mut writer = PcapWriter::new(out, LinkType::ETHERNET).unwrap();
    let quanta = [0, 1, 2, 0xffff, 4, 5, 6, 7].map(Quanta);
    let all = [Pause::Link(Quanta(0x1234)), Pause::Priorities { enabled: 0b0001_1000, quanta }];
    for (number, pause) in all.iter().enumerate() {
        let mut bytes = [0; 60];
        let len = Builder::write_pause(MacAddr([2; 6]), pause, &mut bytes).unwrap();
        writer.write(&packet(number as u64, &bytes[..len])).unwrap();
    }
    writer.finish().unwrap();
    let rows = tshark.fields(
        &file,
        &[
            "macc.opcode",
            "macc.pause_time",
            "macc.cbfc.enbv",
            "macc.cbfc.enbv.c3",
            "macc.cbfc.enbv.c5",
            "macc.cbfc.pause_time.c3",
            "macc.cbfc.pause_time.c7",
        ],
    );
    assert!(rows.iter().all(|row| row.complaint.is_none()), "{rows:?}");
    assert_eq!(rows[0].values[..2], [Some(1), Some(0x1234)]);
    assert_eq!(rows[1].values[0], Some(0x0101));
    let expected = [0x18, 1, 0, 0xffff, 7].map(Some);
    assert_eq!(rows[1].values[2..], expected);
}
