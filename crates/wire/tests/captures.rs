//! Captures of a Linux kernel's soft RoCE with perftest: everything parses, comes back byte for
//! byte, and every ICRC is right.

use std::fs::File;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use xoff_wire::capture::{PcapWriter, Reader};
use xoff_wire::frame::{Frame, Network, Transport};
use xoff_wire::icrc::Flow;
use xoff_wire::roce::Datagram;
use xoff_wire::{MAX_HEADER_LEN, Opcode, Service};

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pcap");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 7);
    files
}

fn each_packet(mut visit: impl FnMut(&Path, &[u8], &Frame)) {
    for file in captures() {
        let mut reader = Reader::new(File::open(&file).unwrap()).unwrap();
        while let Some(packet) = reader.next_packet().unwrap() {
            let frame = Frame::parse(packet.bytes, packet.link_type);
            visit(&file, packet.bytes, &frame);
        }
    }
}

#[test]
fn every_frame_comes_back_byte_for_byte() {
    let mut count = 0;
    each_packet(|_, bytes, frame| {
        let mut again = vec![0; bytes.len()];
        assert_eq!(frame.emit(bytes, &mut again), Some(bytes.len()));
        assert_eq!(again, bytes);
        assert_eq!(frame.problem, None);
        count += 1;
    });
    assert_eq!(count, 7 * 40);
}

#[test]
fn every_icrc_matches_both_ways() {
    let mut count = 0;
    each_packet(|_, bytes, frame| {
        let Some(roce) = frame.roce() else { return };
        let icrc = roce.icrc.unwrap();
        assert_eq!(frame.expected_icrc(bytes), Some(icrc));
        let Transport::RoceV2(udp, _) = frame.transport else { panic!("only RoCEv2 here") };
        let (flow, identification) = match frame.network {
            Network::Ipv4(ip) => {
                assert_eq!(ip.checksum, ip.expected_checksum());
                let flow = Flow::v4((ip.source, udp.source), ip.destination, ip.fragment);
                (flow, ip.identification)
            }
            Network::Ipv6(ip) => (Flow::v6((ip.source, udp.source), ip.destination), 0),
            other => panic!("{other:?}"),
        };
        // As the endpoint sees it: what UDP carries.
        let start = frame.payload().start - roce.header_len();
        let datagram = Datagram::parse(&bytes[start..]).unwrap();
        assert_eq!(datagram.icrc, icrc);
        assert_eq!(datagram.expected_icrc(&flow, identification), icrc);
        count += 1;
    });
    assert_eq!(count, 126);
}

/// The transport's header values give the same bytes, but for the path migration bit: the kernel
/// clears it, we set it as hardware does.
#[test]
fn every_header_value_comes_back() {
    let mut seen = Vec::new();
    each_packet(|_, bytes, frame| {
        let Some(roce) = frame.roce() else { return };
        let header = roce.header().unwrap();
        let mut again = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut again);
        assert_eq!(again[1] & 0x40, 0x40);
        again[1] &= !0x40;
        let start = frame.payload().start - len;
        // Solicited events are not in the value either.
        again[1] |= bytes[start + 1] & 0x80;
        assert_eq!(again[..len], bytes[start..start + len]);
        seen.push((header.service, header.opcode));
    });
    for opcode in [
        Opcode::SendFirst,
        Opcode::SendOnly,
        Opcode::WriteMiddle,
        Opcode::ReadRequest,
        Opcode::ReadResponseFirst,
        Opcode::FetchAdd,
        Opcode::Acknowledge,
    ] {
        assert!(seen.contains(&(Service::Reliable, opcode)), "{opcode:?}");
    }
    assert!(seen.contains(&(Service::Datagram, Opcode::SendOnly)));
}

#[test]
fn traffic_classes_and_addresses_are_those_of_the_run() {
    each_packet(|file, _, frame| {
        if frame.roce().is_none() {
            return;
        }
        let name = file.file_name().unwrap().to_str().unwrap();
        let (source, destination) = frame.addresses().unwrap();
        let v6 = name.contains("_v6");
        assert!([source, destination].iter().all(|address| address.is_ipv6() == v6), "{name}");
        let host = |address| match address {
            IpAddr::V4(v4) => v4.octets()[3],
            IpAddr::V6(v6) => v6.octets()[15],
        };
        assert_eq!(host(source) + host(destination), 5, "hosts 2 and 3");
        if name.contains("tclass106") && host(source) == 3 {
            assert_eq!(frame.class().unwrap().0, 106);
        }
    });
}

/// The original files have microseconds; ours have nanoseconds and the same packets.
#[test]
fn captures_are_written_again() {
    for file in captures() {
        let mut reader = Reader::new(File::open(&file).unwrap()).unwrap();
        let link_type = reader.link_type().unwrap();
        let mut writer = PcapWriter::new(Vec::new(), link_type).unwrap();
        let mut packets = Vec::new();
        while let Some(packet) = reader.next_packet().unwrap() {
            writer.write(&packet).unwrap();
            packets.push((packet.timestamp, packet.wire_len, packet.bytes.to_vec()));
        }
        let bytes = writer.finish().unwrap();
        let original = std::fs::read(&file).unwrap();
        assert_eq!(bytes.len(), original.len());
        let mut again = Reader::new(&bytes[..]).unwrap();
        for (timestamp, wire_len, bytes) in packets {
            let packet = again.next_packet().unwrap().unwrap();
            assert_eq!((packet.timestamp, packet.wire_len), (timestamp, wire_len));
            assert_eq!(packet.bytes, bytes);
        }
        assert!(again.next_packet().unwrap().is_none());
    }
}
