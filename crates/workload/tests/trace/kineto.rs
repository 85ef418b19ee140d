//! Kineto: a writer, and calls that come back.

use super::{gzip, read, read_as};
use proptest::prelude::*;
use serde_json::{Value, json};
use xoff_units::{Bytes, Span};
use xoff_workload::trace::{CollectiveKind, Format, Members, Rank, Who, Work};

/// A call: name, elements in and out, type, group, and whether its kernel is there.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    name: usize,
    elements: (u64, u64),
    element: usize,
    group: u32,
    kernel: bool,
    noise: u8,
}

pub(crate) const NAMES: [(&str, CollectiveKind); 6] = [
    ("allreduce", CollectiveKind::AllReduce),
    ("_allgather_base", CollectiveKind::AllGather),
    ("_reduce_scatter_base", CollectiveKind::ReduceScatter),
    ("all_to_allv", CollectiveKind::AllToAll),
    ("broadcast", CollectiveKind::Broadcast),
    ("barrier", CollectiveKind::Barrier),
];

pub(crate) const TYPES: [(&str, u64); 4] =
    [("BFloat16", 2), ("Float", 4), ("Long", 8), ("Float8_e4m3fn", 1)];

pub(crate) fn event(index: usize, call: &Call) -> Vec<Value> {
    let ranks: Vec<String> = (0..4).map(|at| (call.group + at * 2).to_string()).collect();
    let arguments = json!({"External id": index + 1, "Record function id": 0,
        "Collective name": NAMES[call.name].0, "dtype": TYPES[call.element].0,
        "In msg nelems": call.elements.0, "Out msg nelems": call.elements.1, "Group size": 4,
        "Process Group Name": call.group.to_string(), "Process Group Description": "x",
        "Process Group Ranks": format!("[{}]", ranks.join(", "))});
    let mut events =
        vec![json!({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1,
        "tid": 2, "ts": 10.0 * index as f64, "dur": 1.5, "args": arguments})];
    if call.kernel {
        let name = format!("ncclDevKernel_{}_RING_LL(x)", NAMES[call.name].1);
        let kernel = json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7,
            "ts": 10.0 * index as f64 + 5.0, "dur": 20.25,
            "args": {"External id": index + 1, "stream": 7, "correlation": index}});
        // Kernels may come before their calls.
        events.insert(index % 2, kernel);
    }
    for at in 0..call.noise {
        events.push(json!({"ph": "X", "cat": "cpu_op", "name": format!("aten::\"op\\{at}"),
            "args": {"Input Dims": [[[1, 2], []]], "Collective": null}}));
    }
    events
}

pub(crate) fn file(events: Vec<Value>) -> String {
    json!({"schemaVersion": 1, "deviceProperties": [{"id": 0}],
        "distributedInfo": {"backend": "nccl", "rank": 2, "world_size": 8},
        "traceEvents": events, "traceName": "x"})
    .to_string()
}

pub(crate) fn calls() -> impl Strategy<Value = Vec<Call>> {
    let elements = (0u64..1 << 40, 0u64..1 << 40);
    let call = (0..NAMES.len(), elements, 0..TYPES.len(), 0u32..2, any::<bool>(), 0u8..3).prop_map(
        |(name, elements, element, group, kernel, noise)| Call {
            name,
            elements,
            element,
            group,
            kernel,
            noise,
        },
    );
    prop::collection::vec(call, 0..20)
}

/// A fixed call, for tests that count.
pub(crate) fn call(name: usize, elements: (u64, u64), element: usize, group: u32) -> Call {
    Call { name, elements, element, group, kernel: true, noise: 1 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn calls_come_back(calls in calls(), packed in any::<bool>()) {
        let events = calls.iter().enumerate().flat_map(|(at, call)| event(at, call)).collect();
        let text = file(events);
        let bytes = if packed { gzip(text.as_bytes()) } else { text.into_bytes() };
        let trace =
            read("p.json", &bytes).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!((trace.format, trace.ranks), (Format::Kineto, 8));
        prop_assert_eq!(trace.operations.len(), calls.len());
        // A call with its kernel is as late as that: five microseconds, half the way to the next.
        for (found, call) in trace.operations.iter().zip(&calls) {
            let Work::Collective(one) = found.work else { panic!("{found:?}") };
            prop_assert_eq!(one.kind, NAMES[call.name].1);
            let elements = call.elements.0.max(call.elements.1);
            prop_assert_eq!(one.bytes, Some(Bytes::new(elements * TYPES[call.element].1)));
            let members: Vec<Rank> = (0..4).map(|at| Rank(call.group + 2 * at)).collect();
            prop_assert_eq!(&trace.group(one.group).members, &Members::List(members));
            let took = if call.kernel { Span::from_ns(20_250) } else { Span::from_ns(1_500) };
            prop_assert_eq!(found.measured.map(|one| one.took), Some(took));
            prop_assert_eq!(found.who, Who::One(Rank(2)));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[\\[\\]{}\":, a-z0-9.\\\\-]{0,200}") {
        let _ = read_as(Format::Kineto, "p", text.as_bytes());
        let framed = format!("{{\"traceEvents\": [{text}]}}");
        let _ = read_as(Format::Kineto, "p", framed.as_bytes());
    }
}
