//! Profiles, right and wrong.

use super::super::{CollectiveKind, Format, NoteKind, OperationId, Options, Trace, read_stream};
use super::*;
use serde_json::{Value, json};
use xoff_units::Bytes;

fn parse(text: &str) -> Result<Trace, TraceError> {
    let options = Options { format: Some(Format::Kineto), ..Options::default() };
    read_stream("p.json", text.as_bytes(), options)
}

fn call(name: &str, external: u64, elements: [u64; 2], group: &str, ranks: &str) -> Value {
    json!({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1,
        "ts": 100.5 + external as f64, "dur": 3.25, "args": {"External id": external,
        "Collective name": name, "dtype": "BFloat16", "In msg nelems": elements[0],
        "Out msg nelems": elements[1], "Group size": 2, "Process Group Name": group,
        "Process Group Ranks": ranks, "Rank": 0}})
}

fn kernel(name: &str, external: u64, start: f64, arguments: Value) -> Value {
    let mut args = arguments;
    args["External id"] = json!(external);
    args["stream"] = json!(20);
    json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 20, "ts": start, "dur": 50.0,
        "args": args})
}

fn file(events: Vec<Value>) -> String {
    json!({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 4,
        "pg_config": [{"pg_name": "7", "ranks": [1, 3]}, {"pg_name": "8", "ranks": "[1, 2]"}]},
        "traceEvents": events})
    .to_string()
}

fn collectives(trace: &Trace) -> Vec<Collective> {
    let one = |work: Work| if let Work::Collective(one) = work { Some(one) } else { None };
    trace.operations.iter().filter_map(|operation| one(operation.work)).collect()
}

fn whats(trace: &Trace, kind: NoteKind) -> Vec<&str> {
    trace.notes.iter().filter(|note| note.kind == kind).map(|note| &*note.what).collect()
}

#[test]
fn calls_take_the_times_of_their_kernels() {
    let events = vec![
        kernel("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", 2, 900.125, json!({})),
        call("allreduce", 1, [1000, 1000], "7", "[1, 3]"),
        call("_allgather_base", 2, [1000, 2000], "7", "[1, 3]"),
        call("wait", 3, [0, 0], "7", "[1, 3]"),
        json!({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1.0, "dur": 1.0}),
        json!({"ph": "M", "name": "process_name"}),
    ];
    let trace = parse(&file(events)).unwrap();
    assert_eq!((trace.ranks, trace.operations.len()), (4, 2));
    assert!(trace.operations.iter().all(|one| one.who == Who::One(Rank(1))));
    let [reduce, gather] = collectives(&trace)[..] else { panic!() };
    assert_eq!((reduce.kind, reduce.bytes), (CollectiveKind::AllReduce, Some(Bytes::new(2000))));
    assert_eq!((gather.kind, gather.bytes), (CollectiveKind::AllGather, Some(Bytes::new(4000))));
    assert_eq!(reduce.group, gather.group);
    assert_eq!(trace.group(gather.group).members, Members::List(vec![Rank(1), Rank(3)]));
    let measured = trace.operations[1].measured.unwrap();
    // From 101.5 us, when the first call was made, to the kernel at 900.125 us.
    assert_eq!(measured.start, Instant::from_ps(798_625_000));
    assert_eq!(measured.took, Span::from_us(50));
    assert_eq!(whats(&trace, NoteKind::Skipped).len(), 4, "{:?}", trace.notes);
    assert_eq!(whats(&trace, NoteKind::Assumed), ["rank without a file: does nothing"]);
}

/// Profiles of older versions have no calls, or calls without arguments.
#[test]
fn kernels_alone() {
    let events = vec![
        json!({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 1, "dur": 1,
            "args": {"Input Dims": [[4]]}}),
        kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 5, 10.0, json!({})),
        kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", 6, 20.0, json!({})),
        kernel("ampere_sgemm_128x64_tn", 7, 30.0, json!({})),
    ];
    let trace = parse(&file(events)).unwrap();
    assert_eq!(trace.operations.len(), 2);
    let [reduce] = collectives(&trace)[..] else { panic!() };
    assert_eq!((reduce.kind, reduce.bytes), (CollectiveKind::AllReduce, None));
    // It sends and receives, and only its call would say how much to which ranks.
    let message = Message { peer: None, bytes: None, tag: None };
    assert_eq!(trace.operations[1].work, Work::Send(message));
    assert_eq!(trace.operations[0].stream, Some(Stream(20)));
    assert_eq!(trace.needs(OperationId(1))[0].on, OperationId(0));
    let unknown = whats(&trace, NoteKind::Unknown);
    assert_eq!(unknown, ["kernel of sends and receives without their calls: counted as one send"]);
    assert!(whats(&trace, NoteKind::Assumed).contains(&"collective without a size"));
}

/// Profiles before PyTorch 2.1: an annotation names the call, and the kernel is found by its launch.
#[test]
fn annotations_of_older_profiles() {
    let mark = |name: &str, thread: u64, ts: f64, shape: Value, kind: &str| {
        json!({"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": thread, "ts": ts, "dur": 5.0,
            "args": {"External id": 9, "Input Dims": shape, "Input type": [kind]}})
    };
    let launch = |id: u64, thread: u64, ts: f64| {
        json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": thread, "ts": ts,
            "dur": 1.0, "args": {"External id": id, "correlation": id}})
    };
    let exchange = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)";
    let events = vec![
        json!({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 99.0, "dur": 9.0,
            "args": {"Input Dims": [[600]], "Input type": ["float"]}}),
        mark("nccl:all_to_all", 1, 100.0, json!([[600]]), "float"),
        // Another thread, at the same time.
        mark("nccl:_all_gather_base", 2, 101.0, json!([[10, 2]]), "c10::Half"),
        mark("nccl:send 1->3", 1, 200.0, json!([[8]]), "unsigned char"),
        mark("nccl:all_reduce", 1, 300.0, json!([[]]), ""),
        // This rank has nothing to send.
        mark("nccl:all_to_all", 1, 310.0, json!([[0, 8]]), "float"),
        launch(71, 1, 102.0),
        launch(72, 2, 102.0),
        launch(73, 1, 50.0),
        kernel(exchange, 71, 500.0, json!({"correlation": 71})),
        kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t(x)", 72, 400.0, json!({"correlation": 72})),
        // Launched by no call of the profile.
        kernel(exchange, 73, 450.0, json!({"correlation": 73})),
    ];
    let trace = parse(&file(events)).unwrap();
    let works: Vec<Work> = trace.operations.iter().map(|operation| operation.work).collect();
    let [
        Work::Send(send),
        Work::Collective(reduce),
        Work::Collective(none),
        Work::Collective(gather),
        Work::Collective(all),
    ] = works[..]
    else {
        panic!("{works:?}")
    };
    assert_eq!((send.peer, send.bytes), (Some(Rank(3)), Some(Bytes::new(8))));
    assert_eq!((reduce.kind, reduce.bytes), (CollectiveKind::AllReduce, None));
    assert_eq!((none.kind, none.bytes), (CollectiveKind::AllToAll, Some(Bytes::ZERO)));
    // Its input is one rank's share.
    assert_eq!((gather.kind, gather.bytes), (CollectiveKind::AllGather, Some(Bytes::new(40))));
    assert_eq!(gather.basis, Basis::Share);
    assert_eq!((all.kind, all.bytes), (CollectiveKind::AllToAll, Some(Bytes::new(2400))));
    assert_eq!(trace.group(all.group).members, Members::All { ranks: 4 });
    // The kernel's time, from the first of them: the send, whose kernel is not there, at 200 us.
    let measured = trace.operations[4].measured.unwrap();
    assert_eq!((measured.start, measured.took), (Instant::from_ps(300_000_000), Span::from_us(50)));
    assert!(whats(&trace, NoteKind::Assumed).contains(&"collective without a group: all ranks"));
    assert!(whats(&trace, NoteKind::Skipped).contains(&"NCCL kernel of no call in particular"));
}

#[test]
fn a_profile_without_communication_says_so() {
    let trace = parse(&file(vec![kernel("ampere_sgemm_128x64_tn", 7, 30.0, json!({}))])).unwrap();
    let [what] = whats(&trace, NoteKind::Unknown)[..] else { panic!("{:?}", trace.notes) };
    assert!(what.starts_with("no communication calls"), "{what}");
}

/// A kernel that carries the arguments of a call which is not in the profile.
#[test]
fn kernels_that_describe_themselves() {
    let arguments = call("reduce_scatter", 1, [64, 32], "8", "[1, 2]")["args"].clone();
    let events = vec![
        kernel("ncclDevKernel_ReduceScatter_Sum_bf16(x)", 77, 10.0, arguments),
        call("allreduce", 1, [1, 1], "7", ""),
        // Launched for a group of calls: no operation of its own.
        kernel("ncclDevKernel_AllReduce_Sum(x)", 99, 11.0, json!({})),
    ];
    let trace = parse(&file(events)).unwrap();
    let found: Vec<_> = collectives(&trace).iter().map(|one| one.bytes.unwrap().get()).collect();
    assert_eq!(found.len(), 2);
    assert!(found.contains(&128) && found.contains(&2), "{found:?}");
    assert!(whats(&trace, NoteKind::Skipped).contains(&"NCCL kernel of no call in particular"));
}

#[test]
fn groups_from_wherever_they_are_named() {
    let mut strided = call("allreduce", 1, [1, 1], "9", "[0, 2, ..., 6]");
    strided["args"]["Group size"] = json!(4);
    strided["args"]["Global rank start"] = json!(0);
    strided["args"]["Global rank stride"] = json!(2);
    let mut world = call("allreduce", 2, [1, 1], "0", "[]");
    world["args"]["Group size"] = json!(4);
    let mut nowhere = call("allreduce", 3, [1, 1], "5", "[0, ..., 40]");
    nowhere["args"]["Group size"] = json!(41);
    let head = call("allreduce", 4, [1, 1], "8", "[..., 2]");
    let trace = parse(&file(vec![strided, world, nowhere, head])).unwrap();
    let members: Vec<_> =
        collectives(&trace).iter().map(|one| trace.group(one.group).members.clone()).collect();
    let list = |ranks: &[u32]| Members::List(ranks.iter().copied().map(Rank).collect());
    assert_eq!(
        members,
        [
            list(&[0, 2, 4, 6]),
            // The stride goes beyond the four ranks of the head, so that there are more.
            Members::All { ranks: 7 },
            Members::Unknown { size: Some(41) },
            list(&[1, 2]),
        ]
    );
}

#[test]
fn messages_name_the_other_rank() {
    let mut send = call("send", 1, [100, 100], "7", "[1, 3]");
    send["args"]["Dst Rank"] = json!(3);
    let mut receive = call("recv", 2, [100, 100], "7", "[1, 3]");
    receive["args"]["Src Rank"] = json!(3);
    let trace = parse(&file(vec![send, receive, call("recv", 3, [1, 1], "7", "")])).unwrap();
    let message = Message { peer: Some(Rank(3)), bytes: Some(Bytes::new(200)), tag: None };
    assert_eq!(trace.operations[0].work, Work::Send(message));
    assert_eq!(trace.operations[1].work, Work::Receive(message));
    assert!(whats(&trace, NoteKind::Assumed).contains(&"message without the other rank"));
}

#[test]
fn what_is_not_understood_is_noted() {
    let mut strange = call("allreduce", 1, [10, 10], "7", "[1, 3]");
    strange["args"]["dtype"] = json!("Quaternion");
    let events = vec![strange, call("frobnicate", 2, [1, 1], "7", "")];
    let trace = parse(&file(events)).unwrap();
    assert_eq!(
        whats(&trace, NoteKind::Unknown),
        ["call `frobnicate`", "element type `Quaternion`",]
    );
    assert_eq!(trace.notes[0].place, Place::Event(1));
    assert_eq!(collectives(&trace)[0].bytes, None);
}

#[test]
fn other_shapes_of_the_file() {
    let event = call("allreduce", 1, [1, 1], "7", "[1, 3]");
    let list = Value::Array(vec![event.clone()]).to_string();
    assert_eq!(parse(&list).unwrap().operations.len(), 1);
    assert_eq!(rank_in_name("kineto.rank_12_step_4.json"), Some(12));
    assert_eq!(rank_in_name("Rank3.json"), Some(3));
    assert_eq!(rank_in_name("step_4.json"), None);
    assert_eq!(rank_in_name("ranking.json"), None);
    // The head may come last, and anything may be of a type that nobody expects.
    let late = json!({"traceEvents": [event, 5, null, [], {"args": 3, "ts": "x", "name": {}}],
        "distributedInfo": {"rank": "3", "world_size": 8.0, "pg_config": null}});
    let trace = parse(&late.to_string()).unwrap();
    assert_eq!((trace.operations[0].who, trace.ranks), (Who::One(Rank(3)), 8));
}

#[test]
fn mistakes_are_named() {
    let with = |info: Value| json!({"distributedInfo": info, "traceEvents": []}).to_string();
    for (text, words) in [
        ("{}".to_owned(), "no \"traceEvents\""),
        ("{\"traceEvents\": [{}".to_owned(), "ends early"),
        ("{\"traceEvents\": [\n{]}".to_owned(), "line 2: not as expected"),
        ("{\"traceEvents\": 7}".to_owned(), "a list of events"),
        ("{\"traceEvents\": [{\"name\": \"\\ud800\"}]}".to_owned(), "not as expected"),
        (with(json!({"rank": 1_000_000_000_000u64})), "at most 1048576"),
        (with(json!({"rank": 0, "world_size": 1_000_000_000_000u64})), "at most 1048576"),
        ("[".repeat(100_000), "100 deep"),
    ] {
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.contains(words), "{text:.80}: {message}");
    }
    let mut far = call("allreduce", 1, [1, 1], "9", "[0, 999999999999]");
    assert!(parse(&file(vec![far.clone()])).unwrap_err().message.contains("at most"));
    far["args"]["In msg nelems"] = json!(u64::MAX);
    far["args"]["Process Group Ranks"] = json!("[1, 3]");
    far["ts"] = json!(1e300);
    far["dur"] = json!(-5);
    let trace = parse(&file(vec![far])).unwrap();
    assert_eq!(trace.operations[0].measured.unwrap().took, Span::ZERO);
}

/// Calls of PyTorch before 2.2 say the shapes of their tensors and nothing else.
#[test]
fn older_calls_are_named_by_their_kernels() {
    let old = |external: u64, dims: Value, kind: Value| {
        json!({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": external as f64,
            "dur": 1.0, "args": {"External id": external, "Input Dims": dims, "Input type": kind}})
    };
    let events = vec![
        old(1, json!([[1000, 4], [], []]), json!(["float", "Int", ""])),
        old(2, json!([[], [[512], [512]]]), json!(["", "c10::BFloat16"])),
        old(3, json!([[7]]), json!(["float"])),
        old(4, json!([[]]), json!([""])),
        kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWork)", 1, 50.0, json!({})),
        kernel("ncclKernel_AllGather_RING_LL(ncclWork)", 2, 60.0, json!({})),
        kernel("ncclKernel_SendRecv(ncclWork)", 9, 70.0, json!({})),
    ];
    let trace = parse(&file(events)).unwrap();
    assert_eq!(trace.operations.len(), 3);
    let [reduce, gather] = collectives(&trace)[..] else { panic!() };
    assert_eq!((reduce.kind, reduce.bytes), (CollectiveKind::AllReduce, Some(Bytes::new(16_000))));
    assert_eq!((gather.kind, gather.bytes), (CollectiveKind::AllGather, Some(Bytes::new(2_048))));
    assert_eq!((reduce.basis, gather.basis), (Basis::Buffer, Basis::Share));
    assert!(matches!(trace.operations[2].work, Work::Send(Message { bytes: None, .. })));
    let skipped = whats(&trace, NoteKind::Skipped);
    assert!(skipped.contains(&"record_param_comms without a name and a kernel"), "{skipped:?}");
    assert!(skipped.contains(&"record_param_comms without arguments"), "{skipped:?}");
}
