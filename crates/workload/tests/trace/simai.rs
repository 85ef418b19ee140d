//! SimAI: a writer, and layers that come back.

use super::{read, read_as};
use proptest::prelude::*;
use std::fmt::Write;
use xoff_units::{Bytes, Span};
use xoff_workload::trace::{CollectiveKind, Format, Members, Trace, Who, Work};

/// Time, collective with the ending of its name, size.
type Pass = (u64, Option<(usize, usize)>, u64);

#[derive(Debug, Clone)]
pub(crate) struct Layer {
    forward: Pass,
    input: Pass,
    weight: Pass,
    update: u64,
}

const NAMES: [(&str, CollectiveKind); 4] = [
    ("ALLREDUCE", CollectiveKind::AllReduce),
    ("ALLGATHER", CollectiveKind::AllGather),
    ("REDUCESCATTER", CollectiveKind::ReduceScatter),
    ("ALLTOALL", CollectiveKind::AllToAll),
];

const ENDINGS: [(&str, &str); 3] =
    [("", ""), ("_EP", "expert parallel"), ("_DP_EP", "data parallel of experts")];

pub(crate) fn write(layers: &[Layer], long: bool) -> String {
    let more = if long { "ep: 2 pp: 2 vpp: 1 ga: 1 all_gpus: 64 " } else { "" };
    let mut text = format!(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 {more}checkpoints: 0 \
         checkpoint_initiates: 0\n{}\n",
        layers.len()
    );
    for layer in layers {
        text += "layer\t-1";
        for (time, collective, size) in [layer.forward, layer.input, layer.weight] {
            let name = match collective {
                Some((name, ending)) => [NAMES[name].0, ENDINGS[ending].0].concat(),
                None => "NONE".to_owned(),
            };
            let size = if collective.is_some() { size } else { 0 };
            let _ = write!(text, "\t{time}\t{name}   {size}");
        }
        let _ = writeln!(text, "\t{}", layer.update);
    }
    text
}

fn pass() -> impl Strategy<Value = Pass> {
    let collective = proptest::option::of((0..NAMES.len(), 0..ENDINGS.len()));
    (0u64..1 << 50, collective, any::<u64>())
}

pub(crate) fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let layer = (pass(), pass(), pass(), 0u64..1 << 50);
    let layer =
        layer.prop_map(|(forward, input, weight, update)| Layer { forward, input, weight, update });
    prop::collection::vec(layer, 0..20)
}

/// What a pass becomes: its computation, then its collective.
fn expected(pass: Pass, plain: &str, list: &mut Vec<String>) {
    let (time, collective, size) = pass;
    if time > 0 {
        list.push(format!("compute {}", Span::from_ns(1) * time));
    }
    if let Some((name, ending)) = collective {
        let group = if ending == 0 { plain } else { ENDINGS[ending].1 };
        list.push(format!("{} {} {group}", NAMES[name].1, Bytes::new(size)));
    }
}

fn found(trace: &Trace) -> Vec<String> {
    let one = |work: &Work| match work {
        Work::Compute(effort) => format!("compute {}", effort.span),
        Work::Collective(one) => {
            let group = &trace.group(one.group).name;
            format!("{} {} {group}", one.kind, one.bytes.unwrap())
        }
        other => format!("{other:?}"),
    };
    trace.operations.iter().map(|operation| one(&operation.work)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn layers_come_back(layers in layers(), long in any::<bool>()) {
        let trace = read("w.txt", write(&layers, long).as_bytes())
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(trace.format, Format::SimAi);
        prop_assert_eq!(trace.ranks, if long { 64 } else { 4 });
        let mut wanted = Vec::new();
        for layer in &layers {
            expected(layer.forward, "tensor parallel", &mut wanted);
        }
        for layer in layers.iter().rev() {
            expected(layer.input, "tensor parallel", &mut wanted);
            expected(layer.weight, "data parallel", &mut wanted);
            if layer.weight.1.is_some() {
                expected((layer.update, None, 0), "", &mut wanted);
            }
        }
        prop_assert_eq!(found(&trace), wanted);
        prop_assert!(trace.operations.iter().all(|one| one.who == Who::Every));
        let tensor = trace.groups.iter().find(|group| group.name == "tensor parallel").unwrap();
        prop_assert_eq!(&tensor.members, &Members::Every { size: 4, stride: 1 });
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[A-Z_0-9 \t:\n\\-]{0,200}") {
        let _ = read_as(Format::SimAi, "w", text.as_bytes());
        let framed = format!("DATA\n2\n{text}\n");
        let _ = read("w", framed.as_bytes());
    }
}

/// A fixed workload, for tests that count.
pub(crate) fn fixed(count: u64) -> String {
    let mut random = xoff_workload::stream::Stream::new(1, 0, "simai");
    let mut pass = || {
        let collective = (random.below(3) > 0).then(|| {
            (random.below(NAMES.len() as u64) as usize, random.below(ENDINGS.len() as u64) as usize)
        });
        (1 + random.below(10_000), collective, random.below(1 << 30))
    };
    let layer = |_| Layer { forward: pass(), input: pass(), weight: pass(), update: 100 };
    let layers: Vec<Layer> = (0..count).map(layer).collect();
    write(&layers, true)
}
