//! Captures of every kind, whole and hostile.

use super::*;
use proptest::prelude::*;
use std::io::Read;

fn packet(ns: u64, bytes: &[u8]) -> Packet<'_> {
    Packet {
        timestamp: Timestamp::from_ns(ns),
        link_type: LinkType::ETHERNET,
        interface: 0,
        wire_len: bytes.len() as u32 + 10,
        bytes,
    }
}

type Read1 = (u64, u32, u32, Vec<u8>);

fn read(source: impl Read) -> (Vec<Read1>, Result<(), CaptureError>) {
    let mut packets = Vec::new();
    let result = (|| {
        let mut reader = Reader::new(source)?;
        while let Some(packet) = reader.next_packet()? {
            let bytes = packet.bytes.to_vec();
            packets.push((packet.timestamp.as_ns(), packet.link_type.0, packet.wire_len, bytes));
        }
        Ok(())
    })();
    (packets, result)
}

/// A stream that gives one byte at a time.
struct Drip<'a>(&'a [u8]);

impl Read for Drip<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = out.len().min(1);
        self.0.read(&mut out[..len])
    }
}

fn pcap(packets: &[Packet<'_>]) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    for packet in packets {
        writer.write(packet).unwrap();
    }
    writer.finish().unwrap()
}

fn pcapng(packets: &[Packet<'_>]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    for packet in packets {
        writer.write(packet).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn what_is_written_is_read() {
    let packets =
        [packet(1_700_000_000_123_456_789, b"hello"), packet(5, b""), packet(6, &[7; 99])];
    for bytes in [pcap(&packets), pcapng(&packets)] {
        let (found, result) = read(&bytes[..]);
        result.unwrap();
        assert_eq!(found.len(), 3);
        for (found, packet) in found.iter().zip(&packets) {
            assert_eq!(found.0, packet.timestamp.as_ns());
            assert_eq!((found.2, &found.3[..]), (packet.wire_len, packet.bytes));
        }
        assert_eq!(read(Drip(&bytes)).0, found, "however it comes");
    }
}

#[test]
fn all_four_kinds_of_pcap() {
    for (magic, unit) in [(0xa1b2_c3d4_u32, 1000), (0xa1b2_3c4d, 1)] {
        for big in [true, false] {
            let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
            let mut bytes = Vec::new();
            for value in [magic, 0x0002_0004, 0, 0, 65535, 0xf000_0065, 3, 7, 2, 4] {
                bytes.extend(word(value));
            }
            bytes.extend([0xab, 0xcd]);
            let (found, result) = read(&bytes[..]);
            result.unwrap();
            // The high half of the link type is about check sequences.
            assert_eq!(found, [(3_000_000_000 + 7 * unit, 101, 4, vec![0xab, 0xcd])]);
        }
    }
}

fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len() as u32).to_be_bytes();
    [&kind.to_be_bytes()[..], &len, body, &len].concat()
}

/// A section of big-endian blocks: header, an interface that keeps eight bytes, then `blocks`.
fn section(blocks: &[Vec<u8>]) -> Vec<u8> {
    let magic = [&[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0][..], &[0xff; 8]].concat();
    let interface = block(1, &[0, 113, 0, 0, 0, 0, 0, 8]);
    [&block(0x0a0d_0d0a, &magic)[..], &interface, &blocks.concat()].concat()
}

#[test]
fn blocks_of_every_kind() {
    let simple = block(3, &[0, 0, 0, 20, 1, 2, 3, 4, 5, 6, 7, 8]);
    let enhanced =
        block(6, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 9, 0xaa, 0, 0, 0]);
    let old =
        block(2, &[0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 2, 0xbb, 0xcc, 0, 0]);
    let unknown = block(0x0bad, &[0; 400]);
    let bytes = section(&[unknown.clone(), simple, enhanced, unknown, old]);
    // A second section in the other byte order.
    let both = [bytes, pcapng(&[packet(77, b"xyz")])].concat();
    let (found, result) = read(&both[..]);
    result.unwrap();
    let expected = [
        (0, 113, 20, vec![1, 2, 3, 4, 5, 6, 7, 8]),
        (5000, 113, 9, vec![0xaa]),
        (6000, 113, 2, vec![0xbb, 0xcc]),
        (77, 1, 13, b"xyz".to_vec()),
    ];
    assert_eq!(found, expected);
    let mut reader = Reader::new(&both[..]).unwrap();
    while reader.next_packet().unwrap().is_some() {}
    assert_eq!((reader.format(), reader.skipped_blocks()), (Format::Pcapng, 2));
    assert_eq!(reader.position(), both.len() as u64);
}

#[test]
fn what_is_no_capture_is_refused() {
    assert!(matches!(read(&[][..]).1, Err(CaptureError::Empty)));
    assert!(matches!(read(&b"ab"[..]).1, Err(CaptureError::NotACapture([b'a', b'b', 0, 0]))));
    assert!(matches!(read(&b"GIF89a..."[..]).1, Err(CaptureError::NotACapture(_))));
    let bytes = pcap(&[packet(1, b"hello")]);
    assert!(matches!(read(&bytes[..20]).1, Err(CaptureError::Cut { at: 0 })));
}

#[test]
fn a_file_that_breaks_off_gives_what_it_has() {
    for bytes in [pcap(&[packet(1, b"one"), packet(2, b"two")]), pcapng(&[packet(1, b"one")])] {
        for cut in 1..4 {
            let (found, result) = read(&bytes[..bytes.len() - cut]);
            assert!(found.len() < 2);
            assert!(matches!(result, Err(CaptureError::Cut { at }) if at > 20));
        }
    }
}

#[test]
fn hostile_lengths_are_refused() {
    let mut huge = pcap(&[packet(1, b"hello")]);
    huge[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(read(&huge[..]).1, Err(CaptureError::Damaged { at: 24, .. })));
    let damaged = |blocks: &[Vec<u8>]| {
        matches!(read(&section(blocks)[..]).1, Err(CaptureError::Damaged { .. }))
    };
    let with_len =
        |kind: u32, len: u32| [&kind.to_be_bytes()[..], &len.to_be_bytes(), &[0; 64]].concat();
    for kind in [1, 2, 3, 6, 0x0bad] {
        for len in [0, 8, 11, 13] {
            assert!(damaged(&[with_len(kind, len)]), "block {kind} of {len} bytes");
        }
    }
    for kind in [1, 2, 3, 6] {
        assert!(damaged(&[with_len(kind, 0x7fff_fffc)]), "block {kind} of 2 GiB");
    }
    assert!(damaged(&[block(6, &[0; 16])]), "no room for its fields");
    assert!(damaged(&[block(6, &[0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])]));
    assert!(damaged(&[block(6, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])]));
    assert!(damaged(&[block(1, &[0; 4])]), "an interface without link type");
    let many: Vec<_> = (0..5000).map(|_| block(1, &[0; 8])).collect();
    assert!(damaged(&many), "interfaces without end");
    // A block we do not know may be as long as it likes; it is not kept.
    let long = block(0x0bad, &vec![0; 3 << 20]);
    read(&section(&[long])[..]).1.unwrap();
}

proptest! {
    #[test]
    fn any_packets_come_back(
        packets in proptest::collection::vec(
            (0u64..1 << 60, proptest::collection::vec(any::<u8>(), 0..200)), 0..20),
    ) {
        let packets: Vec<_> = packets.iter().map(|(ns, bytes)| packet(*ns, bytes)).collect();
        for bytes in [pcap(&packets), pcapng(&packets)] {
            let (found, result) = read(&bytes[..]);
            prop_assert!(result.is_ok());
            prop_assert_eq!(found.len(), packets.len());
            for (found, packet) in found.iter().zip(&packets) {
                prop_assert_eq!(found.0, packet.timestamp.as_ns());
                prop_assert_eq!(&found.3[..], packet.bytes);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        start in 0usize..3,
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let prefix = [vec![], pcap(&[]), section(&[])];
        let _ = read(&[&prefix[start][..], &bytes].concat()[..]);
    }
}
