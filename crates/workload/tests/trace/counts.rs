//! Fixtures whose counts other decoders agree with.
//!
//! The files that these functions write were decoded once by other means: the Chakra file by Google's
//! protobuf for Python with Chakra's own schema, the profile by Python's `json`, and the texts by
//! regular expressions. The constants below are what those counted.

use super::{
    chakra as proto, goal as schedule, kineto as profile, nccl as log, read, simai as layers,
};
use xoff_units::Bytes;
use xoff_workload::stream::Stream;
use xoff_workload::trace::{Kind, Trace};

/// A Chakra file of so many nodes.
pub(crate) fn chakra(nodes: u64) -> Vec<u8> {
    let mut random = Stream::new(1, 0, "chakra");
    let mut messages = vec![proto::metadata()];
    for id in 0..nodes {
        let kind = [1, 2, 4, 4, 4, 5, 6, 7, 7, 7][random.below(10) as usize];
        let mut node = proto::Proto::default().number(1, id * 3).bytes(2, b"node").number(3, kind);
        for _ in 0..random.below(4) {
            if id > 0 {
                node = node.number(4 + random.below(2), random.below(id) * 3);
            }
        }
        node = node.number(6, 1000 + id).number(7, random.below(5000));
        let size = random.below(1 << 30);
        node = match kind {
            5 | 6 => node
                .attribute("comm_size", 9, size)
                .attribute("comm_src", 7, random.below(8))
                .attribute("comm_dst", 7, random.below(8))
                .attribute("comm_tag", 7, id),
            7 => {
                let node = node.attribute("is_cpu_op", [27, 7][random.below(2) as usize], 0);
                let node =
                    node.attribute("comm_type", 9, [0, 2, 5, 6, 7][random.below(5) as usize]);
                let node = node.text_attribute("pg_name", &random.below(3).to_string());
                if random.below(10) == 0 { node } else { node.attribute("comm_size", 13, size) }
            }
            _ => node.attribute("num_ops", 9, size).attribute("tensor_size", 13, size / 2),
        };
        messages.push(node.attribute("rf_id", 9, id).attribute("mystery", 7, 1));
    }
    proto::file(&messages)
}

/// A schedule of so many statements per rank.
pub(crate) fn goal(statements: u64) -> String {
    schedule::fixed(statements)
}

/// A workload of so many layers.
pub(crate) fn simai(count: u64) -> String {
    layers::fixed(count)
}

/// A profile of so many calls.
pub(crate) fn kineto(calls: u64) -> String {
    let mut random = Stream::new(1, 0, "kineto");
    let mut events = Vec::new();
    for at in 0..calls {
        let elements = (random.below(1 << 30), random.below(1 << 30));
        let name = random.below(profile::NAMES.len() as u64) as usize;
        let element = random.below(profile::TYPES.len() as u64) as usize;
        let call = profile::call(name, elements, element, random.below(2) as u32);
        events.extend(profile::event(at as usize, &call));
    }
    profile::file(events)
}

/// A log of so many calls of six ranks.
pub(crate) fn nccl(calls: u64) -> String {
    let mut random = Stream::new(1, 0, "nccl");
    let mut all = Vec::new();
    for _ in 0..calls {
        let name = random.below(log::NAMES.len() as u64) as usize;
        let (count, datatype) = (random.below(1 << 30), random.below(12) as usize);
        all.push(log::call(name, count, datatype, random.below(2) == 0));
    }
    log::write(&all)
}

/// Kinds with their counts, bytes and how many have no size.
fn counted(trace: &Trace) -> Vec<(String, u64, u64, u64)> {
    let line = |kind: &Kind, tally: &xoff_workload::trace::Tally| {
        (kind.to_string(), tally.count, tally.bytes.get(), tally.unsized_count)
    };
    trace.summary().kinds.iter().map(|one| line(&one.kind, &one.tally)).collect()
}

/// Writes the fixtures into a folder, for other decoders to read.
#[test]
#[ignore = "writes files for other decoders into the folder that XOFF_FIXTURES names"]
fn write_fixtures() {
    let folder = std::env::var_os("XOFF_FIXTURES").expect("XOFF_FIXTURES names a folder");
    let folder = std::path::Path::new(&folder);
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    write("t.0.et", &chakra(2000));
    write("s.goal", goal(500).as_bytes());
    write("w.txt", simai(500).as_bytes());
    write("p.json", kineto(500).as_bytes());
    write("n.log", nccl(200).as_bytes());
}

fn check(name: &str, bytes: &[u8], expected: &[(&str, u64, u64, u64)]) -> Trace {
    let trace = read(name, bytes).unwrap();
    let found = counted(&trace);
    let found: Vec<_> =
        found.iter().map(|(kind, count, bytes, none)| (&**kind, *count, *bytes, *none)).collect();
    assert_eq!(found, expected, "{name}");
    let total: Bytes = trace.summary().kinds.iter().map(|one| one.tally.bytes).sum();
    assert_eq!(total.get(), expected.iter().map(|one| one.2).sum::<u64>());
    trace
}

/// How long computation takes in all, and the rest in the recorded run, in nanoseconds.
fn nanoseconds(trace: &Trace) -> (u64, u64) {
    let (compute, rest): (Vec<_>, Vec<_>) =
        trace.summary().kinds.into_iter().partition(|one| one.kind == Kind::Compute);
    let sum = |lines: &[xoff_workload::trace::KindLine]| {
        lines.iter().map(|one| one.tally.span.as_ps()).sum::<u64>() / 1000
    };
    (sum(&compute), sum(&rest))
}

#[test]
fn chakra_counts() {
    let trace = check(
        "t.0.et",
        &chakra(2000),
        &[
            ("AllReduce", 105, 56_496_693_971, 5),
            ("AllGather", 110, 57_069_578_647, 10),
            ("ReduceScatter", 104, 54_981_875_171, 11),
            ("AllToAll", 123, 60_090_690_310, 12),
            ("Broadcast", 110, 47_781_378_518, 10),
            ("send", 201, 102_798_312_890, 0),
            ("receive", 197, 103_167_689_039, 0),
            ("compute", 633, 167_189_568_902, 0),
            ("memory", 211, 57_439_566_836, 0),
            ("nothing", 206, 0, 0),
        ],
    );
    assert_eq!(trace.dependencies(), 3012);
    assert_eq!(nanoseconds(&trace).0, 1_565_118_000);
    assert_eq!(trace.groups.len(), 3);
    let count = |what: &str| {
        trace.notes.iter().filter(|note| note.what.contains(what)).map(|note| note.count).sum()
    };
    let noted: [u64; 3] = [count("`mystery`"), count("`rf_id`"), count("without a size")];
    assert_eq!(noted, [2000, 2000, 48]);
}

#[test]
fn goal_counts() {
    let trace = check(
        "s.goal",
        goal(500).as_bytes(),
        &[
            ("send", 820, 460_587_599_812, 0),
            ("receive", 842, 457_468_224_226, 0),
            ("compute", 838, 0, 0),
        ],
    );
    assert_eq!(trace.dependencies(), 2495);
    assert_eq!(nanoseconds(&trace).0, 4_141_325);
}

#[test]
fn simai_counts() {
    let trace = check(
        "w.txt",
        simai(500).as_bytes(),
        &[
            ("AllReduce", 272, 141_661_245_837, 0),
            ("AllGather", 259, 143_048_225_537, 0),
            ("ReduceScatter", 238, 125_402_901_363, 0),
            ("AllToAll", 246, 120_606_853_798, 0),
            ("compute", 1822, 0, 0),
        ],
    );
    assert_eq!(nanoseconds(&trace).0, 7_444_645);
    let summary = trace.summary();
    let mut groups: Vec<(&str, u64)> = summary
        .groups
        .iter()
        .map(|line| (&*trace.group(line.group).name, line.tally.count))
        .collect();
    groups.sort_unstable();
    let expected = [
        ("data parallel", 99),
        ("data parallel of experts", 348),
        ("expert parallel", 354),
        ("tensor parallel", 214),
    ];
    assert_eq!(groups, expected);
}

#[test]
fn kineto_counts() {
    let trace = check(
        "p.json",
        kineto(500).as_bytes(),
        &[
            ("AllReduce", 74, 204_433_995_390, 0),
            ("AllGather", 69, 207_520_852_559, 0),
            ("ReduceScatter", 95, 230_023_002_948, 0),
            ("AllToAll", 86, 210_558_473_473, 0),
            ("Broadcast", 87, 228_442_639_715, 0),
            ("Barrier", 89, 0, 0),
        ],
    );
    assert_eq!(nanoseconds(&trace), (0, 10_125_000));
    // Of 1,500 events 500 are calls and 500 their kernels.
    let skipped: u64 =
        trace.notes.iter().filter(|n| n.what.contains("cpu_op")).map(|n| n.count).sum();
    assert_eq!(skipped, 500);
}

#[test]
fn nccl_counts() {
    let trace = check(
        "n.log",
        nccl(200).as_bytes(),
        &[
            ("AllReduce", 276, 559_914_154_614, 0),
            ("AllGather", 156, 340_020_516_768, 0),
            ("ReduceScatter", 246, 350_075_619_996, 0),
            ("AllToAll", 276, 500_875_324_686, 0),
            ("Broadcast", 246, 577_555_235_586, 0),
        ],
    );
    let by_rank: Vec<u64> =
        trace.summary().ranks.iter().map(|line| line.communication.count).collect();
    assert_eq!(by_rank, [200; 6]);
}
