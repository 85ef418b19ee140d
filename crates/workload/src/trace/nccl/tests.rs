//! Logs, right and wrong.

use super::super::{Format, Members, NoteKind, Options, Trace, TraceError, read_stream};
use super::*;
use crate::trace::{Group, OperationId};
use std::fmt::Write;

fn parse(text: &str) -> Result<Trace, TraceError> {
    let options = Options { format: Some(Format::NcclLog), ..Options::default() };
    read_stream("nccl.log", text.as_bytes(), options)
}

fn init(
    host: &str,
    pid: u32,
    device: u32,
    pointer: &str,
    rank: u32,
    ranks: u32,
    id: &str,
) -> String {
    let id = if id.is_empty() { String::new() } else { format!("commId {id} ") };
    format!(
        "{host}:{pid}:{pid} [{device}] NCCL INFO comm {pointer} rank {rank} nranks {ranks} cudaDev {device} \
         busId 1000 {id}- Init COMPLETE\n"
    )
}

fn call(host: &str, pid: u32, device: u32, name: &str, words: &str) -> String {
    format!(
        "{host}:{pid}:{pid} [{device}] NCCL INFO {name}: opCount 1f sendbuff 0x1 recvbuff (nil) {words} \
         stream 0x9\n"
    )
}

/// Four ranks on two hosts, in one communicator of all and two of pairs across hosts.
fn four() -> String {
    let mut text = String::new();
    for (host, pid, device, rank) in
        [("b", 7, 0, 2), ("b", 8, 1, 3), ("a", 7, 0, 0), ("a", 8, 1, 1)]
    {
        text += &init(host, pid, device, "0xaa", rank, 4, "0x1");
        let pair = if rank % 2 == 0 { "0x2" } else { "0x3" };
        text += &init(host, pid, device, "0xbb", rank / 2, 2, pair);
    }
    for (host, pid, device) in [("a", 7, 0), ("a", 8, 1), ("b", 7, 0), ("b", 8, 1)] {
        let words = "count 100 datatype 9 op 0 root 0 comm 0xaa [nranks=4]";
        text += &call(host, pid, device, "AllReduce", words);
        let words = "count 10 datatype 7 op 0 root 0 comm 0xbb [nranks=2]";
        text += &call(host, pid, device, "AllGather", words);
        let words = "count 10 datatype 7 op 0 root 1 comm 0xbb [nranks=2]";
        text += &call(host, pid, device, "Broadcast", words);
    }
    text + &call("a", 8, 1, "Send", "count 5 datatype 4 op 0 root 1 comm 0xbb [nranks=2]")
}

fn of(trace: &Trace, rank: u32) -> Vec<Work> {
    let mine = trace.operations.iter().filter(|one| one.who == Who::One(Rank(rank)));
    mine.map(|operation| operation.work).collect()
}

#[test]
fn ranks_groups_and_sizes() {
    let trace = parse(&four()).unwrap();
    assert_eq!((trace.ranks, trace.operations.len()), (4, 13));
    let [
        Work::Collective(reduce),
        Work::Collective(gather),
        Work::Collective(cast),
        Work::Send(send),
    ] = of(&trace, 1)[..]
    else {
        panic!("{:?}", of(&trace, 1))
    };
    assert_eq!((reduce.bytes, reduce.basis), (Some(Bytes::new(200)), Basis::Buffer));
    assert_eq!(trace.group(reduce.group).members, Members::All { ranks: 4 });
    assert_eq!((gather.bytes, gather.basis), (Some(Bytes::new(40)), Basis::Share));
    assert_eq!(gather.buffer(trace.group(gather.group)), Some(Bytes::new(80)));
    assert_eq!(trace.group(gather.group).members, Members::List(vec![Rank(1), Rank(3)]));
    // Rank 1 of the pair is rank 3 of the job.
    assert_eq!((cast.root, send.peer), (Some(Rank(3)), Some(Rank(3))));
    assert_eq!(send.bytes, Some(Bytes::new(40)));
    assert_eq!(reduce.root, None);
    assert!(trace.notes.is_empty(), "{:?}", trace.notes);
}

#[test]
fn calls_wait_for_those_of_their_communicator() {
    let trace = parse(&four()).unwrap();
    let needs = |at| trace.needs(OperationId(at)).first().map(|need| need.on.0);
    assert_eq!([needs(0), needs(1), needs(2)], [None, None, Some(1)]);
}

/// One thread calls for all GPUs of its process, whichever is current.
#[test]
fn one_process_with_many_gpus() {
    let mut text = String::new();
    for rank in 0..4 {
        text += &init("h", 1, rank, &format!("0x{rank}"), rank, 4, "0x1");
    }
    for rank in 0..4 {
        let words = format!("count 1 datatype 7 op 0 root 0 comm 0x{rank} [nranks=4]");
        text += &call("h", 1, 3, "AllReduce", &words);
    }
    let trace = parse(&text).unwrap();
    assert_eq!((0..4).map(|rank| of(&trace, rank).len()).collect::<Vec<_>>(), [1; 4]);
}

/// Older versions do not name communicators: those of a size are matched in their order.
#[test]
fn communicators_without_a_name() {
    let trace = parse(&four().replace("commId 0x1 ", "").replace("commId 0x2 ", "")).unwrap();
    let names: Vec<(&str, Option<u32>)> =
        trace.groups.iter().map(|group| (group.name.as_str(), group.size())).collect();
    assert!(names.contains(&("4 ranks #0", Some(4))), "{names:?}");
    assert!(names.contains(&("2 ranks #0", Some(2))), "{names:?}");
    assert_eq!(trace.operations.len(), 13);
}

#[test]
fn only_calls_in_the_log() {
    let calls = four().lines().filter(|line| line.contains("opCount")).fold(
        String::new(),
        |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        },
    );
    let trace = parse(&calls).unwrap();
    assert_eq!((trace.ranks, trace.operations.len()), (4, 13));
    let pair = |group: &Group| group.members == Members::Unknown { size: Some(2) };
    assert!(trace.groups.iter().any(pair), "{:?}", trace.groups);
    assert!(trace.notes.iter().all(|note| note.kind == NoteKind::Assumed), "{:?}", trace.notes);
    assert!(trace.notes.len() >= 3);
}

/// An address is used again after its communicator is gone.
#[test]
fn addresses_are_used_again() {
    let text = init("h", 1, 0, "0xa", 0, 2, "0x1")
        + &call("h", 1, 0, "AllReduce", "count 1 datatype 0 op 0 root 0 comm 0xa [nranks=2]")
        + &init("h", 1, 0, "0xa", 0, 2, "0x2")
        + &init("h", 1, 0, "0xa", 0, 2, "0x2")
        + &call("h", 1, 0, "AllReduce", "count 1 datatype 0 op 0 root 0 comm 0xa [nranks=2]");
    let trace = parse(&text).unwrap();
    let names: Vec<&str> = trace.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["0x1", "0x2"]);
}

#[test]
fn the_rank_of_the_job_as_rccl_says_it() {
    let words = "count 8 datatype 7 op 0 root 0 comm 0xa [nranks=64]";
    let text = call("h", 1, 0, "AllReduce", words)
        .replace("stream 0x9", "stream 0x9 task 0 globalrank 17");
    let trace = parse(&text).unwrap();
    assert_eq!(trace.operations[0].who, Who::One(Rank(17)));
    assert_eq!(trace.ranks, 64);
}

/// Launchers put the number of a process before its lines, on some of them only.
#[test]
fn tags_of_launchers_are_not_part_of_a_process() {
    let plain = parse(&four()).unwrap();
    for tag in
        ["[1,0]<stdout>:", "[1,0]<stderr>:", "[default0]:", "3: ", "(Worker pid=1, ip=10.0.0.1) "]
    {
        let lines = four();
        let tagged = lines.lines().enumerate().map(|(at, line)| {
            if at % 2 == 0 { format!("{tag}{line}\n") } else { format!("{line}\n") }
        });
        let trace = parse(&tagged.collect::<String>()).unwrap();
        assert_eq!(trace.operations, plain.operations, "{tag}");
        assert_eq!(trace.groups, plain.groups, "{tag}");
    }
}

#[test]
fn connections_are_counted() {
    let channel = |text| format!("h:1:1 [0] NCCL INFO Channel {text}\n");
    let text = four()
        + &channel("00/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA")
        + &channel("01/0 : 0[0] -> 2[0] [send] via NET/IB/0/GDRDMA")
        + &channel("00/0 : 0[0] -> 1[1] via P2P/CUMEM")
        + &channel("00/02 :    0   1   2   3");
    let trace = parse(&text).unwrap();
    let found: Vec<_> =
        trace.connections.iter().map(|one| (one.to.0, one.via.as_str(), one.lines)).collect();
    assert_eq!(found, [(1, "P2P/CUMEM", 1), (2, "NET/IB/0/GDRDMA", 2)]);
}

#[test]
fn what_is_not_understood_is_noted() {
    let text = four()
        + "epoch 3\n\n"
        + &call("a", 7, 0, "Frobnicate", "count 1 datatype 7 op 0 root 0 comm 0xaa [nranks=4]")
        + &call("a", 7, 0, "AllReduce", "count 1 datatype 77 op 0 root 0 comm 0xaa [nranks=4]")
        + &call("a", 7, 0, "AllReduce", "count 1")
        + "a:7:7 [0] NCCL WARN Call to ibv_modify_qp failed\n"
        + "a:7:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE\n"
        + "NCCL version 2.21.5+cuda12.4\n"
        + "x: opCount 3 sendbuff\n";
    let trace = parse(&text).unwrap();
    assert_eq!(trace.operations.len(), 14);
    let mut notes: Vec<_> =
        trace.notes.iter().map(|note| (note.what.as_str(), note.count)).collect();
    notes.sort_unstable();
    assert_eq!(
        notes,
        [
            ("call `Frobnicate`", 1),
            ("call that is cut off", 1),
            ("data type 77", 1),
            ("line that is not NCCL's", 1),
            ("message `NET/IB`", 1),
            ("torn line of NCCL", 2),
            ("warning: Call to ibv_modify_qp failed", 1),
        ]
    );
}

#[test]
fn absurd_ranks_are_refused() {
    for text in [
        init("h", 1, 0, "0xa", 5, 4, "0x1"),
        init("h", 1, 0, "0xa", 0, u32::MAX, "0x1"),
        init("h", 1, 0, "0xa", 0, 0, "0x1"),
        call(
            "h",
            1,
            0,
            "AllReduce",
            "count 1 datatype 7 op 0 root 0 comm 0xa [nranks=1000000000000]",
        ),
    ] {
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.contains("nccl.log line 1: "), "{message}");
    }
    // A few ranks of a large communicator cost little.
    let sparse = init("h", 1, 0, "0xa", (1 << 20) - 1, 1 << 20, "0x1");
    assert_eq!(parse(&sparse).unwrap().ranks, 1 << 20);
}
