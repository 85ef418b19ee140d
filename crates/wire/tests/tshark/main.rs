//! Another dissector agrees: what we write and what a kernel sent, field by field as tshark prints
//! it, without anything malformed.
//!
//! Skipped, visibly, where tshark is not installed.

mod emitted;
mod run;

use run::{Row, Tshark};
use std::path::Path;
use xoff_wire::Opcode;
use xoff_wire::capture::{LinkType, Reader};
use xoff_wire::frame::{Frame, Network, Transport};

/// A field's name, and how we see it.
type Field = (&'static str, fn(&Frame) -> Option<u64>);

/// The fields compared for every packet.
const FIELDS: &[Field] = &[
    ("infiniband.bth.opcode", |frame| Some(frame.roce()?.bth.opcode.0.into())),
    ("infiniband.bth.se", |frame| Some(frame.roce()?.bth.solicited.into())),
    ("infiniband.bth.m", |frame| Some(frame.roce()?.bth.migrated.into())),
    ("infiniband.bth.padcnt", |frame| Some(frame.roce()?.bth.pad.into())),
    ("infiniband.bth.tver", |frame| Some(frame.roce()?.bth.version.into())),
    ("infiniband.bth.p_key", |frame| Some(frame.roce()?.bth.pkey.0.into())),
    ("infiniband.bth.destqp", |frame| Some(frame.roce()?.bth.dest_qp.get().into())),
    ("infiniband.bth.a", |frame| Some(frame.roce()?.bth.ack_request.into())),
    ("infiniband.bth.psn", |frame| Some(frame.roce()?.bth.psn.get().into())),
    ("infiniband.deth.q_key", |frame| Some(frame.roce()?.deth()?.qkey.into())),
    ("infiniband.deth.srcqp", |frame| Some(frame.roce()?.deth()?.source.get().into())),
    ("infiniband.reth.va", |frame| {
        let roce = frame.roce()?;
        // The same place in both headers, and the same field there.
        roce.reth().map(|reth| reth.address).or(roce.atomic().map(|atomic| atomic.address))
    }),
    ("infiniband.reth.r_key", |frame| {
        let roce = frame.roce()?;
        let key = roce.reth().map(|reth| reth.rkey).or(roce.atomic().map(|atomic| atomic.rkey));
        Some(key?.0.into())
    }),
    ("infiniband.reth.dmalen", |frame| Some(frame.roce()?.reth()?.length.into())),
    ("infiniband.atomiceth.swapdt", |frame| Some(frame.roce()?.atomic()?.operand)),
    ("infiniband.atomiceth.cmpdt", |frame| Some(frame.roce()?.atomic()?.compare)),
    ("infiniband.aeth.syndrome", |frame| Some(frame.roce()?.aeth()?.syndrome.raw().into())),
    ("infiniband.aeth.msn", |frame| Some(frame.roce()?.aeth()?.msn.into())),
    ("infiniband.atomicacketh.origremdt", |frame| frame.roce()?.atomic_ack()),
    ("infiniband.immdt", |frame| Some(u32::from_be_bytes(frame.roce()?.immediate()?.0).into())),
    ("infiniband.ieth", |frame| Some(frame.roce()?.invalidated()?.0.into())),
    ("infiniband.invariant.crc", |frame| {
        Some(u32::from_be_bytes(frame.roce()?.icrc?.to_bytes()).into())
    }),
    ("udp.srcport", |frame| match frame.transport {
        Transport::Udp(udp) | Transport::RoceV2(udp, _) => Some(udp.source.0.into()),
        _ => None,
    }),
    ("ip.id", |frame| match frame.network {
        Network::Ipv4(ip) => Some(ip.identification.into()),
        _ => None,
    }),
    ("ip.dsfield", |frame| match frame.network {
        Network::Ipv4(ip) => Some(ip.class.0.into()),
        _ => None,
    }),
    ("ipv6.tclass", |frame| match frame.network {
        Network::Ipv6(ip) => Some(ip.class.0.into()),
        _ => None,
    }),
    ("infiniband.grh.paylen", |frame| match frame.network {
        Network::Grh(grh) => Some(grh.0.payload_length.into()),
        _ => None,
    }),
];

/// Compares every packet of a capture.
fn compare(tshark: &Tshark, file: &Path) -> usize {
    let names: Vec<_> = FIELDS.iter().map(|(name, _)| *name).collect();
    let rows = tshark.fields(file, &names);
    let mut reader = Reader::new(std::fs::File::open(file).unwrap()).unwrap();
    let mut count = 0;
    for (number, row) in rows.iter().enumerate() {
        let packet = reader.next_packet().unwrap().expect("as many packets as tshark sees");
        assert_eq!(packet.link_type, LinkType::ETHERNET);
        let frame = Frame::parse(packet.bytes, packet.link_type);
        check(file, number + 1, row, &frame);
        count += usize::from(frame.roce().is_some());
    }
    assert!(reader.next_packet().unwrap().is_none());
    count
}

fn check(file: &Path, number: usize, row: &Row, frame: &Frame) {
    let place = format!("packet {number} of {}", file.display());
    assert_eq!(row.complaint, None, "{place}: {frame:?}");
    let is_cnp = frame.roce().is_some_and(|roce| roce.bth.opcode.0 == Opcode::Cnp as u8);
    for ((name, ours), theirs) in FIELDS.iter().zip(&row.values) {
        // tshark 4.0 does not know notification packets and shows their ICRC as unknown data.
        if is_cnp && *name == "infiniband.invariant.crc" && theirs.is_none() {
            continue;
        }
        assert_eq!(ours(frame), *theirs, "{name} of {place}: {frame:?}");
    }
}

#[test]
fn a_kernels_packets_are_the_same_to_both() {
    let Some(tshark) = Tshark::find() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pcap");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        count += compare(&tshark, &entry.unwrap().path());
    }
    assert_eq!(count, 126);
}

#[test]
fn every_opcode_and_service_over_every_network() {
    let Some(tshark) = Tshark::find() else { return };
    let (file, count) = emitted::packets();
    assert_eq!(compare(&tshark, &file), count);
}

#[test]
fn connection_messages() {
    let Some(tshark) = Tshark::find() else { return };
    emitted::connection(&tshark);
}

#[test]
fn pause_frames() {
    let Some(tshark) = Tshark::find() else { return };
    emitted::pauses(&tshark);
}
