//! Both kinds of JSON, and that they say what the `.et` file says.

use super::super::super::{
    Basis, CollectiveKind, Edge, Format, Message, NoteKind, OperationId, Options, Rank, Tag, Trace,
    TraceError, Work, read_stream,
};
use xoff_units::{Bytes, Span};

fn parse(name: &str, text: &str) -> Result<Trace, TraceError> {
    read_stream(name, text.as_bytes(), Options::default())
}

/// As the feeder takes it.
const GRAPH: &str = r#"{
  "workload_graph": [
    {"Id": 216, "Name": "aten::add(0)", "NodeType": 4, "ctrlDeps": [3], "data_deps": [], "runtime": 318, "is_cpu_op": true},
    {"Id": 430, "Name": "record_param_comms", "NodeType": 7, "data_deps": [216], "is_cpu_op": false,
     "comm_type": 2, "comm_size": 4096, "pg_name": "0"},
    {"Id": 431, "Name": "send", "NodeType": 5, "data_deps": [216, 430], "comm_size": 100, "comm_dst": 3, "comm_tag": 9},
    {"Id": 432, "Name": "ncclKernel_Broadcast_RING_LL", "NodeType": 7, "data_deps": [], "is_cpu_op": false}
  ],
  "workload_name": "w", "ngpus": 8
}"#;

/// As `chakra_jsonizer` writes it.
const JSONIZED: &str = r#"{
  "version": "0.0.4"
}{
  "id": "216",
  "name": "aten::add(0)",
  "type": "COMP_NODE",
  "ctrlDeps": ["3"],
  "durationMicros": "318",
  "inputs": {"values": "[]", "shapes": "[]", "types": "[]"},
  "attr": [{"name": "is_cpu_op", "boolVal": true}, {"name": "rf_id", "int64Val": "5"}]
}{
  "id": "430",
  "name": "record_param_comms",
  "type": "COMM_COLL_NODE",
  "dataDeps": ["216"],
  "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "comm_type", "int64Val": "2"},
           {"name": "comm_size", "int64Val": "4096"}, {"name": "pg_name", "stringVal": "0"}]
}{
  "id": "431",
  "name": "send",
  "type": "COMM_SEND_NODE",
  "dataDeps": ["216", "430"],
  "attr": [{"name": "comm_size", "uint64Val": "100"}, {"name": "comm_dst", "int32Val": 3},
           {"name": "comm_tag", "int32Val": 9}]
}{
  "id": "432",
  "name": "ncclKernel_Broadcast_RING_LL",
  "type": "COMM_COLL_NODE",
  "attr": [{"name": "is_cpu_op", "boolVal": false}]
}
"#;

#[test]
fn both_kinds_are_the_same_trace() {
    let graph = parse("chakra.2.json", GRAPH).unwrap();
    let jsonized = parse("chakra.2.json", JSONIZED).unwrap();
    assert_eq!((graph.format, graph.ranks), (Format::Chakra, 4));
    assert_eq!(graph.operations, jsonized.operations);
    for id in (0..4).map(OperationId) {
        assert_eq!(graph.needs(id), jsonized.needs(id));
        assert_eq!(graph.origin(id), jsonized.origin(id));
    }
    let [compute, gather, send, cast] = &graph.operations[..] else {
        panic!("{:?}", graph.operations)
    };
    assert!(matches!(compute.work, Work::Compute(effort) if effort.span == Span::from_us(318)));
    let Work::Collective(gather) = gather.work else { panic!("{gather:?}") };
    assert_eq!((gather.kind, gather.basis), (CollectiveKind::AllGather, Basis::Share));
    assert_eq!(gather.bytes, Some(Bytes::new(4096)));
    assert_eq!(graph.group(gather.group).name, "0");
    let peer = Some(Rank(3));
    let message = Message { peer, bytes: Some(Bytes::new(100)), tag: Some(Tag(9)) };
    assert_eq!(send.work, Work::Send(message));
    let Work::Collective(cast) = cast.work else { panic!("{cast:?}") };
    assert_eq!((cast.kind, cast.bytes), (CollectiveKind::Broadcast, None));
    let needs: Vec<u32> = graph.needs(OperationId(2)).iter().map(|need| need.on.0).collect();
    assert_eq!(needs, [0, 1]);
    assert!(graph.needs(OperationId(2)).iter().all(|need| need.edge == Edge::Data));
}

#[test]
fn what_is_not_used_is_noted() {
    let graph = parse("chakra.0.json", GRAPH).unwrap();
    let whats: Vec<&str> = graph.notes.iter().map(|note| &*note.what).collect();
    for what in ["`ngpus` of the file", "dependency on a node that is not there"] {
        assert!(whats.contains(&what), "{whats:?}");
    }
    let odd = r#"{"workload_graph": [{"Id": 1, "NodeType": "COMP_NODE", "mystery": [1, 2]},
        {"Id": 2, "NodeType": "TELEPORT_NODE"}, {"Id": 3, "NodeType": 7, "comm_type": "ALL_TO_ALL",
        "comm_size": "64"}]}"#;
    let trace = parse("t.0.json", odd).unwrap();
    let unknown = trace.notes.iter().filter(|note| note.kind == NoteKind::Unknown);
    let unknown: Vec<&str> = unknown.map(|note| &*note.what).collect();
    assert!(unknown.contains(&"attribute `mystery`"), "{unknown:?}");
    assert!(unknown.contains(&"node of type `TELEPORT_NODE`"), "{unknown:?}");
    let Work::Collective(one) = trace.operations[2].work else { panic!("{:?}", trace.operations) };
    assert_eq!((one.kind, one.bytes), (CollectiveKind::AllToAll, Some(Bytes::new(64))));
}

#[test]
fn damaged_ones_are_refused_with_a_line() {
    let cut = parse("t.0.json", &GRAPH[..GRAPH.len() - 4]).unwrap_err();
    assert!(cut.message.contains("ends early"), "{cut}");
    let wrong = parse("t.0.json", &JSONIZED.replace("}{", "},{")).unwrap_err();
    assert!(wrong.to_string().contains("line 3"), "{wrong}");
    let circle = r#"{"workload_graph": [{"Id": 1, "NodeType": 4, "data_deps": [2]},
        {"Id": 2, "NodeType": 4, "data_deps": [1]}]}"#;
    let circle = parse("t.0.json", circle).unwrap_err();
    assert!(circle.message.contains("waits for"), "{circle}");
}
