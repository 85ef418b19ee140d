//! The fuzz targets' entrances with mutations of real packets: a bounded, repeatable run for
//! machines without a fuzzer. `XOFF_MUTATIONS=100000000` makes it longer.

#[path = "../entries/mod.rs"]
mod entries;

use std::path::Path;
use xoff_wire::bth::Pkey;
use xoff_wire::capture::{PcapngWriter, Reader};
use xoff_wire::cm::{
    Addressing, CommId, Message, Path as IbPath, PathMtu, PrivateData, Ready, Request, ServiceId,
};
use xoff_wire::mad::TransactionId;
use xoff_wire::udp::Port;
use xoff_wire::{Psn, Qpn};

/// A small generator (splitmix64): the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Numbers that break things.
const NASTY: [u32; 8] = [0, 1, 3, 0x7f, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff];

/// Changes a few places: bits, bytes, words with nasty numbers, cuts, repeats, parts of another.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            bytes.push(random.next() as u8);
        }
        // Headers are at the front: most changes go there.
        let reach = if random.below(4) == 0 { bytes.len() } else { bytes.len().min(96) };
        let at = random.below(reach);
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => {
                let value = NASTY[random.below(NASTY.len())];
                let value =
                    if random.below(2) == 0 { value.to_be_bytes() } else { value.to_le_bytes() };
                let len = 4.min(bytes.len() - at);
                bytes[at..at + len].copy_from_slice(&value[..len]);
            }
            3 => bytes.truncate(at),
            4 => {
                let len = random.below(32).min(bytes.len() - at);
                let part = bytes[at..at + len].to_vec();
                bytes.splice(at..at, part);
            }
            5 => {
                let len = random.below(64).min(bytes.len() - at);
                bytes.drain(at..at + len);
            }
            _ => {
                let from = random.below(other.len());
                let len = random.below(64).min(other.len() - from);
                bytes.splice(at..at, other[from..from + len].iter().copied());
            }
        }
    }
}

fn run(corpus: &[Vec<u8>], share: u64, seed: u64, entry: fn(&[u8])) {
    let rounds = std::env::var("XOFF_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let rounds = rounds.unwrap_or(1_000_000u64) / share;
    for bytes in corpus {
        entry(bytes);
    }
    let mut random = Random(seed);
    let mut bytes = Vec::new();
    for _ in 0..rounds {
        bytes.clear();
        bytes.extend_from_slice(&corpus[random.below(corpus.len())]);
        let other = &corpus[random.below(corpus.len())];
        mutate(&mut random, &mut bytes, other);
        entry(&bytes);
    }
}

fn files() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pcap");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// The packets of all captures, long ones cut: what is in them matters less than that there are
/// many tries.
fn packets() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for file in files() {
        let mut reader = Reader::new(&file[..]).unwrap();
        while let Some(packet) = reader.next_packet().unwrap() {
            let len = if all.len() % 8 == 0 { packet.bytes.len() } else { 200 };
            all.push(packet.bytes[..len.min(packet.bytes.len())].to_vec());
        }
    }
    all
}

#[test]
fn frames() {
    run(&packets(), 1, 1, entries::frame);
}

#[test]
fn datagrams() {
    // The UDP payloads, over IPv4 at least; the others are as good as noise.
    let corpus: Vec<_> =
        packets().iter().filter_map(|bytes| Some(bytes.get(42..)?.to_vec())).collect();
    run(&corpus, 1, 2, entries::datagram);
}

#[test]
fn management() {
    let addressing = Addressing {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        source_port: Port(7),
    };
    let request = Request {
        local_id: CommId(1),
        service: ServiceId::tcp(Port(18515)),
        ca_guid: 2,
        qkey: 3,
        qpn: Qpn::new(4),
        responder_resources: 5,
        initiator_depth: 6,
        local_eecn: 0,
        remote_eecn: 0,
        remote_response_timeout: 7,
        transport: 0,
        flow_control: true,
        starting_psn: Psn::new(8),
        local_response_timeout: 9,
        retry_count: 7,
        pkey: Pkey::DEFAULT,
        path_mtu: PathMtu(5),
        rdc_exists: false,
        rnr_retry_count: 7,
        max_cm_retries: 15,
        srq: false,
        extended_transport: 0,
        primary: IbPath::NONE,
        alternate: IbPath::NONE,
        private_data: PrivateData::new(&addressing.emit().unwrap()).unwrap(),
    };
    let ready =
        Ready { local_id: CommId(1), remote_id: CommId(2), private_data: PrivateData::NONE };
    let mut corpus = vec![
        Message::Request(request).emit(TransactionId(1)).to_vec(),
        Message::Ready(ready).emit(TransactionId(2)).to_vec(),
    ];
    for attribute in 0x11..=0x18 {
        let mut bytes = corpus[0].clone();
        bytes[17] = attribute;
        corpus.push(bytes);
    }
    run(&corpus, 1, 3, entries::management);
}

#[test]
fn captures() {
    let mut corpus = Vec::new();
    for file in files() {
        // Short files, so that there are many tries: the first packets of each.
        corpus.push(file[..file.len().min(1500)].to_vec());
        let mut reader = Reader::new(&file[..]).unwrap();
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        for _ in 0..6 {
            writer.write(&reader.next_packet().unwrap().unwrap()).unwrap();
        }
        corpus.push(writer.finish().unwrap());
    }
    run(&corpus, 10, 4, entries::capture);
}
