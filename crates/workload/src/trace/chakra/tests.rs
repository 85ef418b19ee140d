//! What real traces do to a reader. Whole traces are in the integration tests.

use super::super::{Edge, Format, NoteKind, OperationId, Options, Trace, TraceError, read_stream};
use super::*;
use xoff_units::{Bytes, Span};

fn varint(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn number(field: u64, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(field << 3, &mut bytes);
    varint(value, &mut bytes);
    bytes
}

fn inner(field: u64, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint(field << 3 | 2, &mut bytes);
    varint(value.len() as u64, &mut bytes);
    bytes.extend(value);
    bytes
}

fn attribute(name: &str, value: &[u8]) -> Vec<u8> {
    inner(10, &[inner(1, name.as_bytes()), value.to_vec()].concat())
}

fn node(id: u64, kind: u64, rest: &[Vec<u8>]) -> Vec<u8> {
    [number(1, id), number(3, kind), rest.concat()].concat()
}

fn file(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        varint(message.len() as u64, &mut bytes);
        bytes.extend(message);
    }
    bytes
}

fn parse(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    read_stream(name, bytes, Options { format: Some(Format::Chakra), ..Options::default() })
}

/// A trace of rank 0 with these nodes after an empty version.
fn trace(nodes: &[Vec<u8>]) -> Trace {
    parse("t.0.et", &file(&[&[Vec::new()], nodes].concat())).unwrap()
}

const INT32: u64 = 7;
const INT64: u64 = 9;
const UINT64: u64 = 13;
const BOOL: u64 = 27;

fn collective(id: u64, attributes: &[Vec<u8>]) -> Vec<u8> {
    node(id, 7, attributes)
}

fn only(trace: &Trace) -> Collective {
    match trace.operations[..] {
        [Operation { work: Work::Collective(one), .. }] => one,
        _ => panic!("{:?}", trace.operations),
    }
}

fn whats(trace: &Trace, kind: NoteKind) -> Vec<&str> {
    trace.notes.iter().filter(|note| note.kind == kind).map(|note| &*note.what).collect()
}

#[test]
fn versions_empty_and_missing() {
    let compute = node(1, 4, &[number(7, 5)]);
    let with = file(&[inner(1, b"0.0.4"), compute.clone()]);
    let empty = file(&[Vec::new(), compute.clone()]);
    let attributes = file(&[inner(2, b""), compute.clone()]);
    let without = file(&[compute]);
    for bytes in [with, empty, attributes, without] {
        let trace = parse("t.0.et", &bytes).unwrap();
        let Work::Compute(effort) = trace.operations[0].work else { panic!() };
        assert_eq!((trace.operations.len(), effort.span), (1, Span::from_us(5)));
    }
    assert!(parse("t.0.et", &[0]).unwrap().operations.is_empty());
}

/// The same attribute as any type, and as none.
#[test]
fn attributes_of_any_type() {
    for is_cpu in [number(BOOL, 0), number(INT32, 0), Vec::new()] {
        for size in [number(INT64, 4096), number(UINT64, 4096), number(INT32, 4096)] {
            let attributes = [
                attribute("is_cpu_op", &is_cpu),
                attribute("comm_type", &number(INT64, 2)),
                attribute("comm_size", &size),
            ];
            let one = only(&trace(&[collective(1, &attributes)]));
            assert_eq!((one.kind, one.bytes), (CollectiveKind::AllGather, Some(Bytes::new(4096))));
            assert_eq!(one.basis, Basis::Share);
        }
    }
    let negative = attribute("comm_size", &number(INT64, -1i64 as u64));
    let found = trace(&[collective(1, &[attribute("comm_type", &number(INT64, 0)), negative])]);
    assert_eq!(only(&found).bytes, None);
    assert_eq!(
        whats(&found, NoteKind::Unknown),
        ["attribute `comm_size` with a number that does not fit"]
    );
}

/// A call on the host has no size; the node of the device has.
#[test]
fn collectives_without_a_size() {
    let host = collective(1, &[attribute("is_cpu_op", &number(BOOL, 1))]);
    let found = trace(&[host]);
    assert!(matches!(found.operations[0].work, Work::Compute(_)));
    assert_eq!(whats(&found, NoteKind::Skipped), ["call of a collective on the host"]);
    let device =
        [attribute("is_cpu_op", &number(BOOL, 0)), attribute("comm_type", &number(INT64, 0))];
    let found = trace(&[collective(1, &device)]);
    assert_eq!(only(&found).bytes, None);
    assert!(whats(&found, NoteKind::Assumed).contains(&"collective without a size"));
}

#[test]
fn a_type_told_by_its_name() {
    let name = inner(2, b"ncclDevKernel_AllGather_RING_LL(ncclDevComm*)");
    let found = trace(&[collective(1, &[name, attribute("comm_size", &number(INT64, 8))])]);
    assert_eq!(only(&found).kind, CollectiveKind::AllGather);
    let found = trace(&[collective(1, &[attribute("comm_type", &number(INT64, 77))])]);
    assert_eq!(found.operations[0].work, Work::Nothing);
    assert_eq!(whats(&found, NoteKind::Unknown), ["collective of type 77"]);
}

#[test]
fn unknown_things_are_counted() {
    let nodes = [
        node(1, 99, &[]),
        node(2, 8, &[inner(11, b"")]),
        node(3, 4, &[attribute("colour", &number(INT32, 3)), attribute("tid", &number(INT32, 3))]),
        node(4, 4, &[attribute("colour", &number(INT32, 3)), number(200, 1)]),
        node(5, 1, &[]),
    ];
    let found = trace(&nodes);
    assert_eq!(found.operations.len(), 5);
    assert_eq!(
        whats(&found, NoteKind::Unknown),
        [
            "attribute `colour`",
            "field 200 of a node",
            "node of type 99",
            "storage node: its traffic is not known",
        ]
    );
    assert_eq!(found.notes[0].count, 2);
    // The length of the metadata, and two nodes of five and seven bytes, come before it.
    assert_eq!(found.notes[0].place, Place::Byte(1 + 5 + 7));
    assert_eq!(found.notes[0].rank, Some(Rank(0)));
}

/// Dependencies packed and not, forward and backward, data and control.
#[test]
fn dependencies() {
    let packed = inner(5, &[1, 2]);
    let nodes = [node(3, 4, &[packed, number(4, 2)]), node(2, 4, &[number(5, 1)]), node(1, 4, &[])];
    let found = trace(&nodes);
    let needs: Vec<_> =
        found.needs(OperationId(0)).iter().map(|need| (need.on.0, need.edge)).collect();
    assert_eq!(needs, [(1, Edge::Data), (1, Edge::Control), (2, Edge::Data)]);
    assert_eq!(found.needs(OperationId(1)).len(), 1);
    let dangling = trace(&[node(1, 4, &[number(5, 9)])]);
    assert_eq!(dangling.dependencies(), 0);
    assert_eq!(whats(&dangling, NoteKind::Unknown), ["dependency on a node that is not there"]);
    let twice = trace(&[node(1, 4, &[]), node(1, 4, &[]), node(2, 4, &[number(5, 1)])]);
    assert_eq!(twice.needs(OperationId(2))[0].on, OperationId(0));
    assert_eq!(whats(&twice, NoteKind::Unknown), ["node with the number of another one"]);
    let ring = file(&[Vec::new(), node(7, 4, &[number(5, 8)]), node(8, 4, &[number(5, 7)])]);
    let message = parse("t.0.et", &ring).unwrap_err().to_string();
    assert!(message.contains("node 7 waits for node 8 waits for node 7"), "{message}");
}

/// The call stack of PyTorch as control dependencies, with a circle in it.
#[test]
fn circles_of_control_leave_the_data_dependencies() {
    let nodes = [
        node(7, 4, &[number(4, 8)]),
        node(8, 4, &[number(4, 7), number(5, 7)]),
        node(9, 4, &[number(4, 7), number(5, 8)]),
    ];
    let found = trace(&nodes);
    let needs = |at| found.needs(OperationId(at)).to_vec();
    assert!(needs(0).is_empty());
    assert_eq!(needs(2).len(), 1);
    assert_eq!((needs(1)[0].on, needs(1)[0].edge), (OperationId(0), Edge::Data));
    let assumed = whats(&found, NoteKind::Assumed);
    assert_eq!(assumed, ["control dependencies in a circle: only data dependencies are kept"]);
}

#[test]
fn messages_and_their_ranks() {
    let attributes = [
        attribute("comm_size", &number(INT64, 10)),
        attribute("comm_dst", &number(INT32, 6)),
        attribute("comm_src", &number(INT32, 2)),
        attribute("comm_tag", &number(INT32, 4)),
        attribute("stream", &number(INT64, 20)),
    ];
    let found = trace(&[node(1, 5, &attributes), node(2, 6, &attributes), node(3, 5, &[])]);
    let message =
        |peer| Message { peer: Some(Rank(peer)), bytes: Some(Bytes::new(10)), tag: Some(Tag(4)) };
    assert_eq!(found.operations[0].work, Work::Send(message(6)));
    assert_eq!(found.operations[1].work, Work::Receive(message(2)));
    assert_eq!(found.operations[0].stream, Some(Stream(20)));
    assert_eq!(found.ranks, 7);
    let silent = Message { peer: None, bytes: None, tag: None };
    assert_eq!(found.operations[2].work, Work::Send(silent));
    let far = [attribute("comm_dst", &number(INT64, 1_000_000_000_000))];
    let error = parse("t.0.et", &file(&[Vec::new(), node(1, 5, &far)])).unwrap_err();
    assert!(error.message.contains("at most 1048576"), "{error}");
}

#[test]
fn the_rank_is_in_the_name() {
    for (name, rank) in [
        ("et.12.et", Some(12)),
        ("et.12.et.gz", Some(12)),
        ("rank_3.et", Some(3)),
        ("llama2-7b.5.et", Some(5)),
        ("é7é.et", Some(7)),
        ("trace.et", None),
        ("x.99999999999999999999999.et", None),
        ("", None),
    ] {
        assert_eq!(rank_of(name), rank, "{name}");
    }
    assert!(parse("t.1000000000000.et", &[0]).unwrap_err().message.contains("at most"));
}

#[test]
fn damage_is_named_with_its_byte() {
    let whole = file(&[Vec::new(), node(1, 4, &[inner(8, &[b'x'; 300])])]);
    for (bytes, words) in [
        (whole[..whole.len() - 1].to_vec(), "ends in the middle"),
        (whole[..2].to_vec(), "ends in the middle"),
        (vec![0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], "damaged or no .et"),
        (vec![0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "ten bytes"),
        (vec![0, 2, 0x0b, 0], "wire type 3"),
        (vec![0, 3, 0x12, 0x7f, 0], "past the end"),
        (vec![0, 2, 0x08, 0x80], "past the end"),
        (vec![0, 4, 0x52, 2, 0x0a, 9], "past the end"),
    ] {
        let error = parse("t.0.et", &bytes).unwrap_err();
        assert!(error.message.contains(words), "{bytes:?}: {error}");
        assert!(matches!(error.place, Place::Byte(_)), "{error}");
    }
}

/// Huge texts pass by; wrong UTF-8 is no reason to stop.
#[test]
fn values_of_tensors_are_not_kept() {
    let values = inner(8, &inner(1, &vec![0xff; 3 << 20]));
    let name = inner(2, b"\xff\xfe AllReduce");
    let long = attribute("pg_name", &inner(29, &[b'x'; 10_000]));
    let found = trace(&[collective(1, &[name, values, long])]);
    assert_eq!(only(&found).kind, CollectiveKind::AllReduce);
    let unknown = whats(&found, NoteKind::Unknown);
    assert_eq!(unknown, ["attribute `pg_name` with a value that does not fit"]);
}
