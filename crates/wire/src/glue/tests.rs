//! Packets glued together come apart again.

use super::*;
use crate::capture::LinkType;
use crate::frame::{Builder, Route};
use crate::{Extension, Header, Opcode, Psn, Qpn, Reth, Rkey, Service};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

fn header(opcode: Opcode, psn: u32, payload: u32) -> Header {
    let reth = Reth { address: 0, rkey: Rkey(1), length: payload };
    Header {
        service: Service::Reliable,
        opcode,
        ack_request: true,
        becn: false,
        dest_qp: Qpn::new(17),
        psn: Psn::new(psn),
        extension: if opcode.has_reth() { Extension::Reth(reth) } else { Extension::None },
        payload,
    }
}

/// The packets as they are on the wire, and the datagram that a tap on the sender shows.
fn glue(v6: bool, opcode: Opcode, sizes: &[usize], fill: u8) -> (Vec<Vec<u8>>, Vec<u8>) {
    let mut packets = Vec::new();
    let mut whole = Vec::new();
    let mut headers = 0;
    for (at, size) in sizes.iter().enumerate() {
        let route = if v6 {
            Route::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::UNSPECIFIED }
        } else {
            Route::V4 {
                source: Ipv4Addr::new(10, 0, 0, 1),
                destination: Ipv4Addr::new(10, 0, 0, 2),
                identification: 0xfffe_u16.wrapping_add(at as u16),
            }
        };
        let mut out = vec![0; 8192];
        let header = header(opcode, 0xff_fffe + at as u32, *size as u32);
        let len = Builder::new(route).write(&header, &vec![fill; *size], &mut out).unwrap();
        out.truncate(len);
        headers = if v6 { 62 } else { 42 };
        if at == 0 {
            whole.extend_from_slice(&out[..headers]);
        }
        whole.extend_from_slice(&out[headers..]);
        packets.push(out);
    }
    let udp = (whole.len() - headers + 8) as u16;
    let (ip, at) = if v6 { (udp, 18) } else { (udp + 20, 16) };
    whole[at..at + 2].copy_from_slice(&ip.to_be_bytes());
    let at = headers - 4;
    whole[at..at + 2].copy_from_slice(&udp.to_be_bytes());
    (packets, whole)
}

/// What comes out of a datagram.
fn apart(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let frame = Frame::parse(bytes, LinkType::ETHERNET);
    let glued = Glued::find(&frame, bytes)?;
    let piece = |at| {
        let mut out = vec![0; ROOM];
        let len = glued.write(&frame, bytes, at, Numbering::Counted, &mut out).unwrap();
        out.truncate(len);
        out
    };
    Some((0..glued.count()).map(piece).collect())
}

proptest! {
    #[test]
    fn any_row_comes_apart(
        v6: bool,
        opcode in prop::sample::select(vec![
            Opcode::WriteMiddle, Opcode::SendOnly, Opcode::WriteOnly, Opcode::ReadResponseMiddle,
        ]),
        size in 0usize..=4096,
        count in 2usize..15,
        last in 0usize..=4096,
        fill: u8,
    ) {
        let mut sizes = vec![size; count];
        // The last may be shorter, never longer.
        sizes[count - 1] = last.min(size);
        let (packets, whole) = glue(v6, opcode, &sizes, fill);
        prop_assert_eq!(apart(&whole), Some(packets));
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..600), at in 0usize..600) {
        let (_, mut whole) = glue(false, Opcode::SendOnly, &[200, 200], 0);
        for (byte, noise) in whole.iter_mut().skip(at).zip(&bytes) {
            *byte = *noise;
        }
        let _ = apart(&whole);
        let _ = apart(&bytes);
    }
}

#[test]
fn one_packet_is_no_row() {
    for size in [0, 64, 4096] {
        let (packets, _) = glue(false, Opcode::SendOnly, &[size], 0);
        assert_eq!(apart(&packets[0]), None);
    }
}

#[test]
fn a_length_that_udp_gives_away_is_believed() {
    let (packets, mut whole) = glue(false, Opcode::SendOnly, &[100, 100, 40], 7);
    let udp = (8 + packets[0].len() - 42) as u16;
    whole[38..40].copy_from_slice(&udp.to_be_bytes());
    assert_eq!(apart(&whole), Some(packets));
}

#[test]
fn a_row_whose_icrcs_are_wrong_still_comes_apart() {
    let (mut packets, mut whole) = glue(false, Opcode::WriteMiddle, &[1024, 1024, 1024], 7);
    for at in [100, 1200, 2200] {
        whole[at] ^= 1;
    }
    packets[0][100] ^= 1;
    let found = apart(&whole).unwrap();
    assert_eq!((found.len(), &found[0]), (3, &packets[0]));
}
