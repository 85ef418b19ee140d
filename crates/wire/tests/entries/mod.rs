//! The entrances that bytes from outside come through, with what must hold for any of them. The
//! fuzz targets and the mutation test both call these.

use xoff_wire::capture::{LinkType, PcapWriter, PcapngWriter, Reader};
use xoff_wire::cm::{Addressing, Message};
use xoff_wire::frame::Frame;
use xoff_wire::roce::Datagram;
use xoff_wire::{DecodeError, Header, MAX_HEADER_LEN};

const LINK_TYPES: [LinkType; 6] = [
    LinkType::ETHERNET,
    LinkType::RAW_IP,
    LinkType::COOKED_V1,
    LinkType::COOKED_V2,
    LinkType::IPV6,
    LinkType(147),
];

/// A packet as an interface gives it: comes back byte for byte, whatever the link.
pub(crate) fn frame(bytes: &[u8]) {
    let mut out = vec![0; bytes.len()];
    for link_type in LINK_TYPES {
        let frame = Frame::parse(bytes, link_type);
        assert_eq!(frame.emit(bytes, &mut out), Some(bytes.len()));
        assert_eq!(out, bytes);
        let payload = frame.payload();
        assert!(payload.start <= payload.end && payload.end <= bytes.len());
        let expected = frame.expected_icrc(bytes);
        if let Some(roce) = frame.roce() {
            assert_eq!(expected.is_some(), roce.icrc.is_some());
            header(roce.header(), roce.payload);
            let _ = (roce.reth(), roce.aeth(), roce.deth(), roce.atomic(), roce.atomic_ack());
            let _ = (roce.immediate(), roce.invalidated());
        }
    }
}

/// What UDP carries.
pub(crate) fn datagram(bytes: &[u8]) {
    if let Ok(datagram) = Datagram::parse(bytes) {
        header(Ok(datagram.header), datagram.payload.len() as u32);
        assert!(datagram.payload.len() < bytes.len());
    }
}

/// A header that was read gives one that reads the same.
fn header(header: Result<Header, DecodeError>, payload: u32) {
    let Ok(header) = header else { return };
    let mut out = [0; MAX_HEADER_LEN];
    let len = header.encode(&mut out);
    assert_eq!(Header::decode(&out[..len], payload), Ok((header, len)));
}

/// What comes to queue pair 1.
pub(crate) fn management(bytes: &[u8]) {
    if let Ok((transaction, message)) = Message::parse(bytes) {
        let again = message.emit(transaction);
        assert_eq!(Message::parse(&again), Ok((transaction, message)));
        let data: &[u8] = match &message {
            Message::Request(request) => &request.private_data.0,
            Message::Lookup(lookup) => &lookup.private_data.0,
            _ => &[],
        };
        if let Some(addressing) = Addressing::parse(data) {
            let again = addressing.emit().expect("both addresses are of one family");
            assert_eq!(Addressing::parse(&again), Some(addressing));
        }
    }
    let _ = Addressing::parse(bytes);
}

/// A capture file: ends, and what was read can be written and read again.
pub(crate) fn capture(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    let mut pcap = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    let mut pcapng = PcapngWriter::new(Vec::new()).unwrap();
    let mut kept = Vec::new();
    while let Ok(Some(packet)) = reader.next_packet() {
        pcap.write(&packet).unwrap();
        pcapng.write(&packet).unwrap();
        kept.push((packet.timestamp, packet.link_type, packet.wire_len, packet.bytes.to_vec()));
    }
    assert!(reader.position() <= bytes.len() as u64);
    let pcap = pcap.finish().unwrap();
    let pcapng = pcapng.finish().unwrap();
    let mut pcap = Reader::new(&pcap[..]).unwrap();
    let mut pcapng = Reader::new(&pcapng[..]).unwrap();
    for (timestamp, link_type, wire_len, bytes) in &kept {
        let packet = pcapng.next_packet().unwrap().unwrap();
        assert_eq!((packet.timestamp, packet.link_type), (*timestamp, *link_type));
        assert_eq!((packet.wire_len, packet.bytes), (*wire_len, &bytes[..]));
        let packet = pcap.next_packet().unwrap().unwrap();
        assert_eq!((packet.wire_len, packet.bytes), (*wire_len, &bytes[..]));
    }
    assert!(pcapng.next_packet().unwrap().is_none());
    assert!(pcap.next_packet().unwrap().is_none());
}
