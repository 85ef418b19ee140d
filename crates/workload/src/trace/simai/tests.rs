//! Workloads, right and wrong.

use super::super::{Format, Options, Trace, TraceError, read_stream};
use super::*;
use crate::trace::{CollectiveKind, Group, OperationId, Rank};

fn parse(text: &str) -> Result<Trace, TraceError> {
    let options = Options { format: Some(Format::SimAi), ..Options::default() };
    read_stream("w.txt", text.as_bytes(), options)
}

const LONG: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 2 vpp: 8 ga: 24 \
     all_gpus: 64 checkpoints: 0 checkpoint_initiates: 0 pp_comm 251658240\n";

const SHORT: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 8 checkpoints: 0 checkpoint_initiates: 0\n";

fn collectives(trace: &Trace) -> Vec<(CollectiveKind, u64, &Group)> {
    let one = |work: &Work| match work {
        Work::Collective(one) => Some((one.kind, one.bytes.unwrap().get(), trace.group(one.group))),
        _ => None,
    };
    trace.operations.iter().filter_map(|operation| one(&operation.work)).collect()
}

#[test]
fn a_layer_and_its_groups() {
    let text = format!(
        "{LONG}2\nattention\t-1\t10\tALLGATHER\t100\t20\tREDUCESCATTER\t200\t30\tALLREDUCE\t300\t5\n\
         moe -1 40   ALLTOALL_EP 400\t50 NONE 0 60 ALLGATHER_DP_EP 600 7\n"
    );
    let trace = parse(&text).unwrap();
    assert_eq!(trace.ranks, 64);
    let found = collectives(&trace);
    let kinds: Vec<_> =
        found.iter().map(|(kind, bytes, group)| (*kind, *bytes, &*group.name)).collect();
    use CollectiveKind as K;
    assert_eq!(
        kinds,
        [
            (K::AllGather, 100, "tensor parallel"),
            (K::AllToAll, 400, "expert parallel"),
            (K::AllGather, 600, "data parallel of experts"),
            (K::ReduceScatter, 200, "tensor parallel"),
            (K::AllReduce, 300, "data parallel"),
        ]
    );
    // 64 GPUs = 2 tensor x 2 pipeline x 16 data, of which 4 expert x 4.
    let member = |at: usize, index| found[at].2.member(Rank(5), index);
    assert_eq!([member(0, 0), member(0, 1)], [Some(Rank(4)), Some(Rank(5))]);
    assert_eq!([member(4, 0), member(4, 1)], [Some(Rank(1)), Some(Rank(3))]);
    assert_eq!([member(1, 0), member(1, 3)], [Some(Rank(1)), Some(Rank(7))]);
    assert_eq!([member(2, 0), member(2, 3)], [Some(Rank(5)), Some(Rank(29))]);
    assert_eq!(
        found.iter().map(|one| one.2.size()).collect::<Vec<_>>(),
        [Some(2), Some(4), Some(4), Some(2), Some(16)]
    );
    assert!(trace.operations.iter().all(|operation| operation.who == Who::Every));
}

/// The gradient of a weight is reduced while the backward pass goes on.
#[test]
fn the_order_is_that_of_training() {
    let text = format!(
        "{LONG}2\na -1 1 NONE 0 2 NONE 0 3 ALLREDUCE 8 4\nb -1 5 NONE 0 6 NONE 0 7 ALLREDUCE 9 8\n"
    );
    let trace = parse(&text).unwrap();
    let spans: Vec<u64> = trace
        .operations
        .iter()
        .map(|operation| match operation.work {
            Work::Compute(effort) => effort.span.as_ps() / 1000,
            _ => 0,
        })
        .collect();
    assert_eq!(spans, [1, 5, 6, 7, 0, 8, 2, 3, 0, 4]);
    let needs: Vec<Option<u32>> =
        (0..10).map(|at| trace.needs(OperationId(at)).first().map(|need| need.on.0)).collect();
    let some = |at| Some(at);
    assert_eq!(
        needs,
        [None, some(0), some(1), some(2), some(3), some(4), some(3), some(6), some(7), some(8)]
    );
}

#[test]
fn the_short_header_knows_no_number_of_ranks() {
    let text = format!("{SHORT}1\nmicro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t4096\t1");
    let trace = parse(&text).unwrap();
    assert_eq!(trace.ranks, 8);
    assert_eq!(collectives(&trace)[0].2.size(), None);
    assert!(trace.notes.iter().any(|note| note.what.contains("short header")));
    let micro = parse("MICRO\n1\nx -1 1 NONE 0 1 NONE 0 1 ALLGATHER 4096 1\n").unwrap();
    assert_eq!(collectives(&micro).len(), 1);
    assert!(micro.notes.iter().any(|note| note.what.contains("policy MICRO")));
}

#[test]
fn policies_of_one_group_are_of_all_ranks() {
    let text = |policy: &str| {
        format!("{policy}\n1\nmlp -1 9 ALLGATHER 4096 9 ALLREDUCE 4096 9 NONE 0 1\n")
    };
    let model = parse(&text("MODEL")).unwrap();
    let groups: Vec<_> = collectives(&model).iter().map(|one| one.2.name.clone()).collect();
    assert_eq!(groups, ["all ranks", "all ranks"]);
    let options = crate::replay::Options::default();
    let refused = crate::replay::Replay::new(&model, &options).unwrap_err();
    assert!(refused.message.contains("give the number of `replicas`"), "{refused}");
    let four = crate::replay::Options { replicas: 4, ..options };
    let plan = crate::replay::Replay::new(&model, &four).unwrap();
    assert_eq!((plan.ranks(), plan.left_out().len()), (4, 0));
    // One whose layers are reordered is read as any other.
    assert_eq!(collectives(&parse(&text("DATA_REORDER")).unwrap()).len(), 2);
}

#[test]
fn what_is_not_understood_is_noted() {
    let text = format!(
        "{LONG}2\na -1 1 SCAN 9 1 NONE 5 1 ALLREDUCEALLTOALL 8 1\nb 3 1 NONE 0 1 NONE 0 1 NONE 0 1 extra\nmore\n"
    );
    let trace = parse(&text).unwrap();
    assert!(collectives(&trace).is_empty());
    let mut notes: Vec<_> =
        trace.notes.iter().map(|note| (note.what.as_str(), note.place)).collect();
    notes.retain(|(what, _)| !what.contains("pipeline"));
    use crate::trace::Place::Line;
    assert_eq!(
        notes,
        [
            ("collective `ALLREDUCEALLTOALL`", Line(3)),
            ("collective `SCAN`", Line(3)),
            ("columns of a layer after the twelfth", Line(4)),
            ("line after the last layer", Line(5)),
            ("dependency in the reserved second column", Line(4)),
            ("size without a collective", Line(3)),
        ]
    );
}

#[test]
fn mistakes_are_named_with_their_line() {
    let header =
        |text: &str| format!("HYBRID_TRANSFORMER {text}\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n");
    for (text, words) in [
        (header("model_parallel_NPU_group: x"), "line 1: expected a number"),
        (header("ep: 1"), "`model_parallel_NPU_group: N` is missing"),
        (header("model_parallel_NPU_group: 0"), "1 or more"),
        (header("model_parallel_NPU_group: 3 all_gpus: 64"), "line 1: 64 GPUs cannot be cut"),
        (header("model_parallel_NPU_group: 2 ep: 5 all_gpus: 64"), "groups of 5"),
        (header("model_parallel_NPU_group: 2 ep: 0 all_gpus: 64"), "groups of 0"),
        (header("model_parallel_NPU_group: 0 all_gpus: 64"), "groups of 0"),
        (header("model_parallel_NPU_group: 8 all_gpus: 1000000000000"), "at most 1048576"),
        (header("model_parallel_NPU_group: 1000000000000"), "at most 1048576"),
        (
            header("model_parallel_NPU_group: 18446744073709551615 pp: 2 all_gpus: 8"),
            "cannot be cut",
        ),
        (format!("{LONG}x\n"), "line 2: expected the number of layers"),
        (
            format!("{LONG}3\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
            "line 4: the file ends after 1 of the 3 layers",
        ),
        (format!("{LONG}18446744073709551615\n"), "after 0 of the 18446744073709551615 layers"),
        (format!("{LONG}1\na -1 1 NONE 0 1 NONE 0\n"), "line 3: 8 columns; a layer has 12"),
        (format!("{LONG}1\na -1 fast NONE 0 1 NONE 0 1 NONE 0 1\n"), "`fast` is not a time"),
        (format!("{LONG}1\na -1 1 ALLREDUCE -5 1 NONE 0 1 NONE 0 1\n"), "`-5` is not a size"),
        (String::new(), "ends where the header should be"),
    ] {
        let message = parse(&text).unwrap_err().to_string();
        assert!(message.contains(words), "{text:?}: {message}");
    }
}

#[test]
fn reordered_data_is_not_sent() {
    let text =
        format!("{SHORT}1\nembedding -1 10 DATA_REORDER 4096 20 NONE 0 30 ALLREDUCE 300 5\n");
    let trace = parse(&text).unwrap();
    assert_eq!(collectives(&trace).len(), 1);
    let skipped = "data reordered on each GPU, which sends nothing";
    assert!(trace.notes.iter().any(|note| note.what == skipped));
    assert!(!trace.notes.iter().any(|note| note.what.contains("DATA_REORDER")));
}
