//! Folders: a file per rank, and what else lies about.

use super::chakra::{Proto, file, metadata};
use super::{counts, gzip};
use std::fs;
use std::path::Path;
use xoff_workload::trace::{
    Format, Limits, Members, NoteKind, Options, Rank, Trace, TraceError, Who, Work, read,
};

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).expect("a file");
    }
    folder
}

fn open(path: &Path) -> Result<Trace, TraceError> {
    read(path, Options::default())
}

fn all_reduce(group: &str) -> Vec<u8> {
    let node = Proto::default().number(1, 1).number(3, 7);
    let node = node.attribute("comm_type", 9, 0).attribute("comm_size", 9, 1000);
    let node = if group.is_empty() { node } else { node.text_attribute("pg_name", group) };
    file(&[metadata(), node])
}

fn members(trace: &Trace, at: usize) -> &Members {
    let Work::Collective(one) = trace.operations[at].work else { panic!() };
    &trace.group(one.group).members
}

fn list(ranks: &[u32]) -> Members {
    Members::List(ranks.iter().copied().map(Rank).collect())
}

#[test]
fn a_file_per_rank_and_its_groups() {
    let files: Vec<(String, Vec<u8>)> = (0..12)
        .map(|rank| {
            let bytes = all_reduce(if rank % 2 == 0 { "even" } else { "odd" });
            let name = format!("t.{rank}.et");
            if rank == 3 { (format!("{name}.gz"), gzip(&bytes)) } else { (name, bytes) }
        })
        .collect();
    let mut all: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    all.push(("README.md", b"about this trace"));
    all.push(("empty", b""));
    let groups = br#"{"even": [0, 2, 4, 6, 8, 10], "odd": [1, 3, 5, 7, 9, 11]}"#;
    all.push(("comm_groups.json", groups));
    let place = folder(&all);
    let trace = open(place.path()).unwrap();
    assert_eq!((trace.format, trace.ranks, trace.operations.len()), (Format::Chakra, 12, 12));
    let order: Vec<Who> = trace.operations.iter().map(|one| one.who).collect();
    let by_length = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 3];
    assert_eq!(order, by_length.map(|rank| Who::One(Rank(rank))));
    assert_eq!(members(&trace, 1), &list(&[1, 3, 5, 7, 9, 11]));
    assert_eq!(trace.groups.len(), 2);
    let notes: Vec<_> = trace.notes.iter().map(|note| (&*note.what, &*note.file)).collect();
    assert_eq!(notes, [("empty file", "empty"), ("file that is no trace", "README.md")]);
    assert_eq!(trace.notes[0].kind, NoteKind::Skipped);
}

/// The extractor's way to write groups; a group that it does not have is told by who uses it.
#[test]
fn groups_written_otherwise() {
    let groups = br#"{"communicators": [{"communicatorId": 7, "type": "x", "collImpl": [],
        "nodes": [{"globalRank": 1, "rank": 0, "commList": []}, {"globalRank": 0, "rank": 1}]}]}"#;
    let place = folder(&[
        ("a.0.et", &all_reduce("7")),
        ("a.1.et", &all_reduce("9")),
        ("a.2.et", &all_reduce("9")),
        ("a.3.et", &all_reduce("")),
        ("g.json", groups),
    ]);
    let trace = open(place.path()).unwrap();
    assert_eq!(members(&trace, 0), &list(&[1, 0]));
    assert_eq!(members(&trace, 1), &list(&[1, 2]));
    assert_eq!(members(&trace, 3), &Members::All { ranks: 4 });
    let assumed: Vec<_> = trace.notes.iter().map(|note| &*note.what).collect();
    assert_eq!(
        assumed,
        [
            "collective without a group: all ranks",
            "group without a list of ranks: those that use it",
        ]
    );
}

#[test]
fn profiles_and_logs_of_many_ranks() {
    let one = counts::kineto(3);
    let other = one.replace("\"rank\":2", "\"rank\":5");
    let place = folder(&[("a.json", one.as_bytes()), ("b.json.gz", &gzip(other.as_bytes()))]);
    let trace = open(place.path()).unwrap();
    let summary = trace.summary();
    let ranks: Vec<_> = summary.ranks.iter().map(|line| line.rank).collect();
    assert_eq!(ranks, [Some(Rank(2)), Some(Rank(5))]);
    let log = counts::nccl(4);
    let (hosts, mut files) = (["node0", "node1", "node2"], Vec::new());
    for host in hosts {
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(host)).collect();
        files.push((host, lines.join("\n").into_bytes()));
    }
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    let trace = open(folder(&files).path()).unwrap();
    let whole = super::read("nccl.log", log.as_bytes()).unwrap();
    assert_eq!(trace.operations, whole.operations);
    assert_eq!(trace.groups, whole.groups);
}

#[test]
fn what_is_wrong_with_a_folder() {
    let et = all_reduce("");
    let goal = b"num_ranks 1\nrank 0 {\n}\n";
    let groups = br#"{"0": [0]}"#;
    let wild = br#"{"0": [0, 1000000000000]}"#;
    for (files, words) in [
        (&[("README", &b"hello"[..])][..], "none of its 1 files is a trace"),
        (&[], "none of its 0 files"),
        (&[("a.0.et", &et), ("b.goal", goal)], "chakra and goal files in one folder"),
        (&[("a.0.et", &et), ("b.0.et", &et)], "another file of rank 0"),
        (&[("a.goal", goal), ("b.goal", goal)], "another goal file"),
        (&[("a.0.et", &et), ("g.json", wild)], "at most 1048576"),
        (&[("g.json", groups)], "none of its 1 files"),
    ] {
        let message = open(folder(files).path()).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    let place = folder(&[("g.json", groups), ("e", b"")]);
    let alone = open(&place.path().join("g.json")).unwrap_err();
    assert!(alone.message.contains("name the folder"), "{alone}");
    assert!(open(&place.path().join("e")).unwrap_err().message.contains("nothing in it"));
    assert!(open(&place.path().join("nowhere")).unwrap_err().message.contains("cannot be read"));
}

#[test]
fn a_format_can_be_said() {
    let late = ["loading\n".repeat(20_000), counts::nccl(1)].concat();
    let place = folder(&[("train.log", late.as_bytes())]);
    let path = place.path().join("train.log");
    assert!(open(&path).unwrap_err().message.contains("its format is nccl"));
    let options = || Options { format: Some(Format::NcclLog), ..Options::default() };
    assert_eq!(read(&path, options()).unwrap().operations.len(), 6);
    assert_eq!(read(place.path(), options()).unwrap().operations.len(), 6);
}

#[test]
fn limits_hold() {
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    let few = limits(|limits| limits.operations = 5);
    let narrow = limits(|limits| limits.ranks = 3);
    let lonely = limits(|limits| limits.members = 2);
    let loose = limits(|limits| limits.dependencies = 3);
    let texts = [counts::goal(4), counts::simai(6), counts::kineto(9), counts::nccl(3)];
    for text in &texts {
        let options = |limits| Options { limits, ..Options::default() };
        let stream = |limits| {
            xoff_workload::trace::read_stream("x", text.as_bytes(), options(limits)).unwrap_err()
        };
        assert!(stream(few).message.contains("5"), "{}", stream(few));
        assert!(stream(narrow).message.contains("3"), "{}", stream(narrow));
        assert!(stream(loose).message.contains("3 dependencies"), "{}", stream(loose));
        if !text.contains("num_ranks") {
            assert!(stream(lonely).message.contains("more than 2"), "{}", stream(lonely));
        }
    }
    let et = counts::chakra(50);
    for limits in [few, loose] {
        let options = Options { limits, ..Options::default() };
        assert!(xoff_workload::trace::read_stream("x.0.et", &et[..], options).is_err());
    }
}
