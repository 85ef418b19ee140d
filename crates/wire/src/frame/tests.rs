//! Frames taken apart and put together again.

use super::*;
use crate::ethernet::{MacAddr, Tag};
use crate::grh::Gid;
use crate::ipv4::Fragment;
use crate::pause::Quanta;
use crate::{
    Aeth, Deth, Extension, Header, Immediate, Opcode, Operation, Psn, Qpn, Reth, Rkey, Service,
    Syndrome,
};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const ROUTES: [Route; 3] = [
    Route::V4 {
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        identification: 7,
    },
    Route::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::UNSPECIFIED },
    Route::V1 { source: Gid(Ipv6Addr::LOCALHOST), destination: Gid(Ipv6Addr::UNSPECIFIED) },
];

fn header(service: Service, opcode: Opcode, payload: u32) -> Header {
    let reth = Reth { address: 1, rkey: Rkey(2), length: 3 };
    let deth = Deth { qkey: 0x8001_0000, source: Qpn::new(1) };
    let aeth = Aeth { syndrome: Syndrome::Ack { credits: 31 }, msn: 5 };
    let imm = Immediate([1, 2, 3, 4]);
    let extension = match (service, opcode.operation(), opcode.has_immediate()) {
        (Service::Datagram, _, true) => Extension::DethImm(deth, imm),
        (Service::Datagram, _, false) => Extension::Deth(deth),
        (_, Operation::Atomic, _) => {
            Extension::Atomic { address: 8, rkey: Rkey(2), operand: 3, compare: 4 }
        }
        (_, Operation::AtomicAcknowledge, _) => Extension::AtomicAck(aeth, 99),
        (_, _, true) if opcode.has_reth() => Extension::RethImm(reth, imm),
        (_, _, true) => Extension::Imm(imm),
        _ if opcode.has_reth() => Extension::Reth(reth),
        _ if opcode.has_aeth() => Extension::Aeth(aeth),
        _ if opcode.has_invalidate() => Extension::Ieth(Rkey(7)),
        _ => Extension::None,
    };
    Header {
        service,
        opcode,
        ack_request: false,
        becn: opcode == Opcode::Cnp,
        dest_qp: Qpn::new(0x12_3456),
        psn: Psn::new(0xab_cdef),
        extension,
        payload: if opcode.has_payload() { payload } else { 0 },
    }
}

fn same_again(bytes: &[u8], link_type: LinkType) -> Frame {
    let frame = Frame::parse(bytes, link_type);
    let mut again = vec![0xee; bytes.len()];
    assert_eq!(frame.emit(bytes, &mut again), Some(bytes.len()), "{frame:?}");
    assert_eq!(again, bytes, "{frame:?}");
    if !bytes.is_empty() {
        assert_eq!(frame.emit(bytes, &mut again[1..]), None);
    }
    frame
}

#[test]
fn every_kind_of_packet_comes_through_every_route() {
    let data = [0x5a; 64];
    for (service, opcode) in (0..=255).filter_map(Opcode::from_raw) {
        for route in ROUTES {
            for size in [0, 1, 2, 3, 64] {
                let header = header(service, opcode, size);
                let payload = &data[..header.payload as usize];
                let mut out = [0; 256];
                let len = Builder::new(route).write(&header, payload, &mut out).unwrap();
                let frame = same_again(&out[..len], LinkType::ETHERNET);
                let roce = frame.roce().unwrap();
                assert_eq!(roce.header(), Ok(header));
                assert_eq!(frame.problem, None);
                assert_eq!(&out[frame.payload()], payload);
                assert_eq!(frame.expected_icrc(&out[..len]), roce.icrc);
                if let Network::Ipv4(ip) = frame.network {
                    assert_eq!(ip.checksum, ip.expected_checksum());
                }
            }
        }
    }
}

#[test]
fn tags_and_link_types_lead_to_the_same_packet() {
    let header = header(Service::Reliable, Opcode::WriteOnly, 5);
    let mut builder = Builder::new(ROUTES[0]);
    let mut plain = [0; 128];
    let len = builder.write(&header, b"12345", &mut plain).unwrap();
    let ip = &plain[14..len];
    let tag =
        Tag { protocol: EtherType::CUSTOMER_TAG, priority: 3, drop_eligible: false, vlan: 100 };
    builder.tag = Some(tag);
    let mut tagged = [0; 128];
    let tagged_len = builder.write(&header, b"12345", &mut tagged).unwrap();
    assert_eq!(tagged_len, len + 4);
    let v1 = [&[0; 14][..], &[8, 0], ip].concat();
    let v2 = [&[8, 0][..], &[0; 18], ip].concat();
    let all: [(&[u8], LinkType); 6] = [
        (&plain[..len], LinkType::ETHERNET),
        (&tagged[..tagged_len], LinkType::ETHERNET),
        (&v1, LinkType::COOKED_V1),
        (&v2, LinkType::COOKED_V2),
        (ip, LinkType::RAW_IP),
        (ip, LinkType::IPV4),
    ];
    for (bytes, link_type) in all {
        let frame = same_again(bytes, link_type);
        assert_eq!(frame.roce().unwrap().header(), Ok(header));
        assert_eq!(frame.expected_icrc(bytes), frame.roce().unwrap().icrc);
    }
    let frame = same_again(&plain[..len], LinkType(147));
    assert_eq!((frame.link, frame.network), (Link::None, Network::None));
}

#[test]
fn ethernet_padding_is_no_payload() {
    let mut out = [0; 256];
    let header = header(Service::Reliable, Opcode::Acknowledge, 0);
    let len = Builder::new(ROUTES[0]).write(&header, &[], &mut out).unwrap();
    let frame = same_again(&out[..len + 9], LinkType::ETHERNET);
    assert_eq!(frame.payload().len(), 0);
    assert_eq!(frame.expected_icrc(&out[..len + 9]), frame.roce().unwrap().icrc);
    assert_eq!(frame.problem, None);
}

#[test]
fn a_short_capture_keeps_what_the_headers_say() {
    let mut out = [0; 2048];
    let header = header(Service::Reliable, Opcode::SendOnly, 1000);
    let len = Builder::new(ROUTES[1]).write(&header, &[9; 1000], &mut out).unwrap();
    let frame = same_again(&out[..96], LinkType::ETHERNET);
    assert_eq!(frame.problem, Some(Problem::Truncated));
    assert_eq!(frame.missing as usize, len - 96);
    let roce = frame.roce().unwrap();
    assert_eq!((roce.payload, roce.icrc), (1000, None));
    assert_eq!(frame.expected_icrc(&out[..96]), None);
    assert_eq!(frame.payload().len(), 96 - 14 - 40 - 8 - 12);
}

#[test]
fn contradictions_go_no_deeper() {
    let mut out = [0; 128];
    let header = header(Service::Reliable, Opcode::Acknowledge, 0);
    let len = Builder::new(ROUTES[0]).write(&header, &[], &mut out).unwrap();
    let with = |at: usize, value: u8| {
        let mut bytes = out[..len].to_vec();
        bytes[at] = value;
        same_again(&bytes, LinkType::ETHERNET)
    };
    assert_eq!(with(14 + 3, 19).problem, Some(Problem::Malformed), "shorter than its header");
    assert_eq!(with(14 + 3, 40).problem, Some(Problem::Malformed), "UDP does not fit");
    assert_eq!(with(14 + 6, Fragment::WHOLE.0 as u8 | 0x20).problem, Some(Problem::Fragment));
    assert_eq!(with(14 + 24 + 1, 99).problem, Some(Problem::Malformed), "UDP too long");
    let padded = with(14 + 28 + 1, 0x30);
    assert_eq!(padded.problem, Some(Problem::Malformed), "padding of what is not there");
    assert!(matches!(padded.transport, Transport::Udp(_)));
    let unknown = with(14 + 28, 0xff);
    assert_eq!(unknown.problem, None);
    assert_eq!(unknown.roce().unwrap().kind(), None);
}

#[test]
fn pauses_are_seen() {
    let mut out = [0; 60];
    let pause = Pause::Priorities { enabled: 8, quanta: [Quanta(0xffff); 8] };
    let len = Builder::write_pause(MacAddr([2; 6]), &pause, &mut out).unwrap();
    assert_eq!(len, 60);
    assert_eq!(same_again(&out, LinkType::ETHERNET).network, Network::Pause(pause));
}

fn likely() -> impl Strategy<Value = Vec<u8>> {
    let kinds: Vec<_> = (0..=255).filter_map(Opcode::from_raw).collect();
    let flips = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let kind = (proptest::sample::select(kinds), proptest::sample::select(ROUTES.to_vec()));
    (kind, 0u32..32, flips, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(((service, opcode), route), size, flips, cut, whole)| {
            let header = header(service, opcode, size);
            let payload = vec![1; header.payload as usize];
            let mut out = vec![0; 256];
            let len = Builder::new(route).write(&header, &payload, &mut out).unwrap();
            out.truncate(if whole { len } else { cut.index(len) });
            for (at, value) in flips {
                if !out.is_empty() {
                    let at = at.index(out.len());
                    out[at] = value;
                }
            }
            out
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_come_back(
        bytes in proptest::collection::vec(any::<u8>(), 0..128),
        link in proptest::sample::select(vec![0u32, 1, 12, 101, 113, 228, 229, 276]),
    ) {
        same_again(&bytes, LinkType(link));
    }

    #[test]
    fn damaged_packets_come_back(bytes in likely()) {
        let frame = same_again(&bytes, LinkType::ETHERNET);
        let _ = frame.expected_icrc(&bytes);
        if let Some(roce) = frame.roce() {
            let _ = (roce.header(), roce.reth(), roce.aeth(), roce.deth(), roce.atomic());
            let _ = (roce.atomic_ack(), roce.immediate(), roce.invalidated());
        }
    }
}
