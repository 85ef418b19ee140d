//! Damaged files: every reader reads them, refuses them, or notes what it does not understand, and
//! always in little time and memory.

use super::{chakra, counts, gzip};
use crate::entries::trace as check;
use xoff_workload::stream::Stream;
use xoff_workload::trace::Format;

/// Changes a few bytes, cuts, repeats or moves a piece.
fn damage(bytes: &[u8], random: &mut Stream) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let length = bytes.len() as u64;
        if length == 0 {
            return bytes;
        }
        let at = random.below(length) as usize;
        match random.below(6) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next_u64() as u8,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, [0xff, 0, b'9', b'"', b'}', b'\n'][random.below(6) as usize]),
            4 => {
                let end = (at + random.below(20) as usize).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let end = (at + random.below(200) as usize).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(length) as usize;
                bytes.splice(to..to, piece);
            }
        }
    }
    bytes
}

fn mutate(format: Format, bytes: &[u8], purpose: &'static str, rounds: u64) {
    check(Some(format), bytes);
    for round in 0..rounds {
        let mut random = Stream::new(7, round, purpose);
        check(Some(format), &damage(bytes, &mut random));
    }
    // Every place where a small file can be cut.
    for end in (0..bytes.len().min(1500)).rev() {
        check(Some(format), &bytes[..end]);
    }
}

#[test]
fn chakra_files() {
    mutate(Format::Chakra, &counts::chakra(3)[..3000.min(counts::chakra(3).len())], "et", 1500);
    let small = chakra::file(&[chakra::metadata(), chakra::Proto::default().number(1, 1)]);
    mutate(Format::Chakra, &small, "small et", 1500);
}

#[test]
fn chakra_files_as_json() {
    let graph = r#"{"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 4, "data_deps": [], "runtime": 5},
        {"Id": 2, "NodeType": 7, "ctrlDeps": [1], "data_deps": [1], "comm_type": 0, "comm_size": 64}], "ngpus": 8}"#;
    mutate(Format::Chakra, graph.as_bytes(), "graph", 1500);
    let jsonized = r#"{"version": "0.0.4"}{"id": "1", "type": "COMM_COLL_NODE", "dataDeps": ["2"],
        "attr": [{"name": "comm_size", "int64Val": "64"}, {"name": "involved_dim", "boolList": {"values": [true]}}]}{}"#;
    mutate(Format::Chakra, jsonized.as_bytes(), "jsonized", 1500);
}

#[test]
fn schedules() {
    mutate(Format::Goal, counts::goal(4).as_bytes(), "goal", 1500);
}

#[test]
fn workloads() {
    mutate(Format::SimAi, counts::simai(6).as_bytes(), "simai", 1500);
}

#[test]
fn profiles() {
    mutate(Format::Kineto, counts::kineto(6).as_bytes(), "kineto", 1500);
}

#[test]
fn logs() {
    mutate(Format::NcclLog, counts::nccl(3).as_bytes(), "nccl", 1000);
}

#[test]
fn packed_files() {
    mutate(Format::Kineto, &gzip(counts::kineto(6).as_bytes()), "gzip", 500);
    mutate(Format::Chakra, &gzip(&counts::chakra(3)), "gzip et", 500);
}
