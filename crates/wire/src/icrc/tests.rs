//! Known answers (computed from the definition with zlib's CRC-32, by another program) and the
//! agreement of the two ways to compute an ICRC.

use super::*;
use crate::bytes::field;
use crate::capture::LinkType;
use crate::frame::{Builder, Frame, Network, Route};
use crate::grh::Gid;
use crate::{Extension, Header, Opcode, Psn, Qpn, Reth, Rkey, Service};
use proptest::prelude::*;

/// A write of "hello" with the backward congestion bit set.
const BODY: [u8; 36] = [
    0x0a, 0x70, 0xff, 0xff, 0x40, 0, 0x11, 0xd3, 0x80, 0xab, 0xcd, 0xef, 0x7f, 0, 0x11, 0x22, 0x33,
    0x44, 0x55, 0x66, 0, 0, 0, 7, 0, 0, 0, 5, b'h', b'e', b'l', b'l', b'o', 0, 0, 0,
];
const UDP: [u8; 8] = [0xc1, 0x23, 0x12, 0xb7, 0, 0x30, 0x12, 0x34];
const V4: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 7));
const V6: (Ipv6Addr, Ipv6Addr) = (
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
);
const GIDS: (Gid, Gid) = (
    Gid(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1)),
    Gid(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2)),
);
const PORT: Port = Port(0xc123);

fn ipv6(len: u8, next: u8, (source, destination): (Ipv6Addr, Ipv6Addr)) -> [u8; 40] {
    let mut ip = [0; 40];
    ip[..8].copy_from_slice(&[0x66, 0xb1, 0x23, 0x45, 0, len, next, 0x3d]);
    ip[8..24].copy_from_slice(&source.octets());
    ip[24..].copy_from_slice(&destination.octets());
    ip
}

#[test]
fn known_answer_over_ipv4() {
    let ip = [
        0x45, 0x6b, 0, 0x44, 0xbe, 0xef, 0x40, 0, 0x3f, 0x11, 0x55, 0x55, 192, 0, 2, 1, 198, 51,
        100, 7,
    ];
    let expected = Icrc(0x140d_1c3d);
    assert_eq!(of_ipv4(&ip, &UDP, &BODY), expected);
    let flow = Flow::v4((V4.0, PORT), V4.1, Fragment::WHOLE);
    assert_eq!(flow.icrc(0xbeef, &BODY[..28], &[&BODY[28..33], &BODY[33..]]), expected);
    assert_eq!(flow.icrc(0xbeef, &BODY, &[]), expected);
    assert_ne!(flow.icrc(0, &BODY, &[]), expected, "the identification counts");
    assert_eq!(expected.to_bytes(), [0x3d, 0x1c, 0x0d, 0x14]);
}

#[test]
fn known_answer_over_ipv6() {
    let expected = Icrc(0x9207_d9a3);
    assert_eq!(of_ipv6(&ipv6(0x30, 17, V6), Some(&UDP), &BODY), expected);
    let flow = Flow::v6((V6.0, PORT), V6.1);
    assert_eq!(flow.icrc(0x7777, &BODY[..12], &[&BODY[12..]]), expected);
}

#[test]
fn known_answer_of_roce_v1() {
    let expected = Icrc(0x03e1_dd1b);
    assert_eq!(of_ipv6(&ipv6(0x28, 0x1b, (GIDS.0.0, GIDS.1.0)), None, &BODY), expected);
    assert_eq!(Flow::v1(GIDS.0, GIDS.1).icrc(0, &BODY, &[]), expected);
}

fn header(payload: usize) -> Header {
    let reth = Reth { address: 1 << 40, rkey: Rkey(9), length: payload as u32 };
    Header {
        service: Service::Reliable,
        opcode: Opcode::WriteOnly,
        ack_request: true,
        becn: false,
        dest_qp: Qpn::new(3),
        psn: Psn::new(4),
        extension: Extension::Reth(reth),
        payload: payload as u32,
    }
}

proptest! {
    /// What a flow computes from lengths and identification is what stands in a whole frame.
    #[test]
    fn a_flow_agrees_with_whole_frames(
        a in any::<[u8; 16]>(),
        b in any::<[u8; 16]>(),
        port in any::<u16>(),
        identification in any::<u16>(),
        payload in proptest::collection::vec(any::<u8>(), 0..300),
        class in any::<u8>(),
    ) {
        let v4 = |bytes: [u8; 16]| Ipv4Addr::from(field::<3, 4, 16>(&bytes));
        let v6 = |bytes: [u8; 16]| Ipv6Addr::from(bytes);
        let port = Port(port);
        let routes = [
            (
                Route::V4 { source: v4(a), destination: v4(b), identification },
                Flow::v4((v4(a), port), v4(b), Fragment::WHOLE),
            ),
            (Route::V6 { source: v6(a), destination: v6(b) }, Flow::v6((v6(a), port), v6(b))),
            (
                Route::V1 { source: Gid(v6(a)), destination: Gid(v6(b)) },
                Flow::v1(Gid(v6(a)), Gid(v6(b))),
            ),
        ];
        for (route, flow) in routes {
            let mut builder = Builder::new(route);
            builder.source_port = port;
            builder.class.0 = class;
            let mut out = [0; 1024];
            let len = builder.write(&header(payload.len()), &payload, &mut out).unwrap();
            let bytes = &mut out[..len];
            let frame = Frame::parse(bytes, LinkType::ETHERNET);
            let icrc = frame.roce().unwrap().icrc;
            prop_assert!(icrc.is_some());
            let start = frame.payload().start - 28;
            let found = flow.icrc(identification, &bytes[start..len - 4], &[]);
            prop_assert_eq!(icrc, Some(found));
            prop_assert_eq!(frame.expected_icrc(bytes), icrc);

            // Whatever a router may change, the ICRC stays.
            let at = |offset: usize| 14 + offset;
            match frame.network {
                Network::Ipv4(_) => {
                    for offset in [1, 8, 10, 11, 26, 27] { bytes[at(offset)] ^= 0xa5; }
                }
                _ => {
                    bytes[at(0)] ^= 0x05;
                    for offset in [1, 2, 3, 7] { bytes[at(offset)] ^= 0xa5; }
                }
            }
            bytes[start + 4] ^= 0xff;
            let changed = Frame::parse(bytes, LinkType::ETHERNET);
            prop_assert_eq!(changed.expected_icrc(bytes), icrc);
            // Whatever else changes, it does not.
            bytes[start + 5] ^= 0x10;
            let changed = Frame::parse(bytes, LinkType::ETHERNET);
            prop_assert_ne!(changed.expected_icrc(bytes), icrc);
        }
    }
}

proptest! {
    #[test]
    fn packets_that_are_equally_long_have_the_same_sums(
        packet in proptest::collection::vec(any::<u8>(), FRONT + bth::LEN..700),
        identification in any::<u16>(),
    ) {
        let flows = [
            Flow::v4((V4.0, PORT), V4.1, Fragment::WHOLE),
            Flow::v6((V6.0, PORT), V6.1),
            Flow::v1(GIDS.0, GIDS.1),
        ];
        for flow in flows {
            let mut changed = packet.clone();
            let sum = flow.equally_long(packet.len() - FRONT).icrc(identification, &mut changed);
            prop_assert_eq!(sum, flow.icrc(identification, &packet[FRONT..], &[]));
            prop_assert_eq!(&changed[FRONT..], &packet[FRONT..]);
        }
    }
}
