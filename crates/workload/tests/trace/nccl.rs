//! NCCL logs: a writer, and calls that come back.

use super::{read, read_as};
use proptest::prelude::*;
use std::fmt::Write;
use xoff_units::Bytes;
use xoff_workload::trace::{Basis, CollectiveKind, Format, Members, Rank, Trace, Who, Work};

/// A call of all ranks of a communicator: its name, count, type, and whether in that of all ranks.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    name: usize,
    count: u64,
    datatype: usize,
    world: bool,
}

pub(crate) const NAMES: [(&str, CollectiveKind, Basis); 5] = [
    ("AllReduce", CollectiveKind::AllReduce, Basis::Buffer),
    ("AllGather", CollectiveKind::AllGather, Basis::Share),
    ("ReduceScatter", CollectiveKind::ReduceScatter, Basis::Share),
    ("Broadcast", CollectiveKind::Broadcast, Basis::Buffer),
    ("AlltoAll", CollectiveKind::AllToAll, Basis::Share),
];

/// Sizes of NCCL's types, by their numbers.
const SIZES: [u64; 12] = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1];

/// Ranks, two to a host.
const RANKS: u32 = 6;

pub(crate) fn write(calls: &[Call]) -> String {
    let mut text = "NCCL version 2.21.5+cuda12.4\n".to_owned();
    for rank in 0..RANKS {
        let (host, device) = (rank / 2, rank % 2);
        let head = format!("node{host}:{}:9 [{device}] NCCL INFO", 100 + device);
        let _ = writeln!(
            text,
            "{head} ncclCommInitRank comm 0xa{device} rank {rank} nranks {RANKS} cudaDev {device} \
             nvmlDev {device} busId 1000 commId 0x77 - Init START"
        );
        let _ = writeln!(
            text,
            "{head} comm 0xa{device} rank {rank} nranks {RANKS} cudaDev {device} nvmlDev {device} \
             busId 1000 commId 0x77 - Init COMPLETE"
        );
        let _ = writeln!(
            text,
            "{head} comm 0xb{device} rank {host} nranks {} cudaDev {device} nvmlDev {device} busId \
             1000 commId 0x8{device} - Init COMPLETE",
            RANKS / 2
        );
        let next = (rank + 2) % RANKS;
        let _ = writeln!(
            text,
            "{head} Channel 00/0 : {rank}[{device}] -> {next}[{device}] [send] via NET/IB/{device}"
        );
    }
    for (index, call) in calls.iter().enumerate() {
        for rank in 0..RANKS {
            let (host, device) = (rank / 2, rank % 2);
            let (pointer, ranks) = if call.world { ("0xa", RANKS) } else { ("0xb", RANKS / 2) };
            let _ = writeln!(
                text,
                "[0] node{host}:{}:77 [{device}] NCCL INFO {}: opCount {index:x} sendbuff 0x1 recvbuff \
                 0x2 count {} datatype {} op 0 root 0 comm {pointer}{device} [nranks={ranks}] stream 0x5",
                100 + device,
                NAMES[call.name].0,
                call.count,
                call.datatype
            );
        }
        text += "step done\n";
    }
    text
}

pub(crate) fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = (0..NAMES.len(), 0u64..1 << 60, 0..SIZES.len(), any::<bool>());
    let call =
        call.prop_map(|(name, count, datatype, world)| Call { name, count, datatype, world });
    prop::collection::vec(call, 0..10)
}

/// A fixed call, for tests that count.
pub(crate) fn call(name: usize, count: u64, datatype: usize, world: bool) -> Call {
    Call { name, count, datatype, world }
}

fn check(trace: &Trace, calls: &[Call]) -> Result<(), TestCaseError> {
    prop_assert_eq!((trace.format, trace.ranks), (Format::NcclLog, RANKS));
    prop_assert_eq!(trace.operations.len(), calls.len() * RANKS as usize);
    for (at, found) in trace.operations.iter().enumerate() {
        let rank = (at / calls.len()) as u32;
        let call = &calls[at % calls.len()];
        prop_assert_eq!(found.who, Who::One(Rank(rank)));
        let Work::Collective(one) = found.work else { panic!("{found:?}") };
        let (_, kind, basis) = NAMES[call.name];
        prop_assert_eq!((one.kind, one.basis), (kind, basis));
        // Sizes saturate, as all of them do.
        let bytes = Bytes::new(SIZES[call.datatype]) * call.count;
        prop_assert_eq!(one.bytes, Some(bytes));
        let members = &trace.group(one.group).members;
        if call.world {
            prop_assert_eq!(members, &Members::All { ranks: RANKS });
        } else {
            let others = (0..RANKS / 2).map(|host| Rank(2 * host + rank % 2)).collect();
            prop_assert_eq!(members, &Members::List(others));
        }
    }
    prop_assert_eq!(trace.connections.len(), RANKS as usize);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn calls_come_back(calls in calls()) {
        let trace = read("nccl.log", write(&calls).as_bytes())
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        check(&trace, &calls)?;
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-zA-Z0-9:\\[\\]=> /\\-\n]{0,200}") {
        let _ = read_as(Format::NcclLog, "l", text.as_bytes());
        let framed = format!("h:1:1 [0] NCCL INFO {text}\nh:1:1 [0] NCCL INFO Channel {text}\n");
        let _ = read("l", framed.as_bytes());
    }
}
