//! Damaged files: every reader reads them, refuses them, or notes what it does not understand, and
//! always in little time and memory.

use super::{chakra, counts, gzip};
use crate::entries::{aicb, goal_binary, trace as check};
use xoff_workload::stream::Stream;
use xoff_workload::trace::{Format, Options, read_stream};

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
    mutate_through(|bytes| check(Some(format), bytes), bytes, purpose, rounds);
}

fn mutate_through(check: impl Fn(&[u8]), bytes: &[u8], purpose: &'static str, rounds: u64) {
    check(bytes);
    for round in 0..rounds {
        let mut random = Stream::new(7, round, purpose);
        check(&damage(bytes, &mut random));
    }
    // Every place where a small file can be cut.
    for end in (0..bytes.len().min(1500)).rev() {
        check(&bytes[..end]);
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
fn workloads_of_aicb() {
    let rows = "CommType.all_reduce,CommGroup.tp_group,2,100,s,None,0,,None\n\
        CommType.computation,None,None,((1, 2)),s,None,None,,1500\n\
        [ pp_stage1: [rank8, rank9] ]\n\
        CommType.isend,CommGroup.pp_group,2,64,s,1,0,send_next,None\n\
        CommType.broadcast,CommGroup.embedding_group,2,64,s,1,0,,None\n";
    mutate_through(aicb, rows.as_bytes(), "aicb", 1500);
}

#[test]
fn binary_schedules() {
    let whole = read_stream("s.bin", binary().as_slice(), Options::default()).expect("a schedule");
    assert_eq!((whole.ranks, whole.operations.len(), whole.dependencies()), (2, 3, 1));
    mutate_through(goal_binary, &binary()[8..], "goal binary", 3000);
}

/// A schedule of two ranks as LogGOPSim's binary: 500 ns of computing, then a message.
fn binary() -> Vec<u8> {
    let node = |kind: u8, peer: u32, size: u64, followers: u32| {
        let mut bytes = 0u32.to_le_bytes().to_vec();
        bytes.push(kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(9u32.to_le_bytes());
        bytes.extend([0, 0]);
        [followers, 0, 0, 0].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    };
    let words = |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let first: Vec<u8> =
        [words(&[2, 1, 0]), node(3, 0, 500, 1), node(1, 1, 64, 0), words(&[1])].concat();
    let second: Vec<u8> = [words(&[1, 1, 0]), node(2, 0, 64, 0)].concat();
    let mut file = 4223u64.to_le_bytes().to_vec();
    file.extend(2u32.to_le_bytes());
    file.extend([1, 1]);
    let begin = 6 + 16 * 2u64;
    let (middle, end) = (begin + first.len() as u64, begin + (first.len() + second.len()) as u64);
    [begin, middle, middle, end].iter().for_each(|place| file.extend(place.to_le_bytes()));
    [file, first, second].concat()
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
