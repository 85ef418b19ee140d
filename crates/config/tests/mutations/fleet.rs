//! What a whole fleet has alike and is wrong all the same.

use crate::pod::Pod;
use xoff_config::SystemId;

/// Thresholds that no queue reaches, however many ports send into it, on every switch: there is no majority to be held
/// against, and it is found without a fabric file. SONiC says how large its buffer is; of the others it is no larger than any.
#[test]
fn marks_that_no_queue_reaches() {
    let far = [
        (
            SystemId::Eos,
            [
                ("minimum-threshold 800 kbytes", "minimum-threshold 4000 mbytes"),
                ("minimum-threshold 400 kbytes", "minimum-threshold 4000 mbytes"),
                ("maximum-threshold 3200 kbytes", "maximum-threshold 6000 mbytes"),
                ("maximum-threshold 1600 kbytes", "maximum-threshold 6000 mbytes"),
            ],
        ),
        (
            SystemId::Sonic,
            [
                ("min_threshold\": \"800000", "min_threshold\": \"400000000"),
                ("min_threshold\": \"400000\"", "min_threshold\": \"400000000\""),
                ("max_threshold\": \"3200000", "max_threshold\": \"600000000"),
                ("max_threshold\": \"1600000", "max_threshold\": \"600000000"),
            ],
        ),
        (
            SystemId::Cumulus,
            [
                ("min-threshold 800000", "min-threshold 400000000"),
                ("min-threshold 400000\n", "min-threshold 400000000\n"),
                ("max-threshold 3200000", "max-threshold 600000000"),
                ("max-threshold 1600000", "max-threshold 600000000"),
            ],
        ),
        (
            SystemId::CumulusYaml,
            [
                ("min-threshold: 800000", "min-threshold: 400000000"),
                ("min-threshold: 400000\n", "min-threshold: 400000000\n"),
                ("max-threshold: 3200000", "max-threshold: 600000000"),
                ("max-threshold: 1600000", "max-threshold: 600000000"),
            ],
        ),
    ];
    for (system, edits) in far {
        let pod = Pod::of(system);
        let mut texts = pod.clean.clone();
        for (from, to) in edits {
            assert!(texts.values().any(|text| text.contains(from)), "{system}: {from}");
            texts.values_mut().for_each(|text| *text = text.replace(from, to));
        }
        for with_fabric in [false, true] {
            let report = pod.audit(&texts, with_fabric);
            let found = |f: &&xoff_config::audit::Finding| f.rule.id == "ecn-above-xoff";
            let devices: Vec<&str> =
                report.findings.iter().filter(found).map(|f| f.device.as_str()).collect();
            let all = ["leaf0", "leaf1", "spine0", "spine1"];
            assert_eq!(devices, all, "{system}, {with_fabric}: {:#?}", report.findings);
            assert!(
                with_fabric || report.findings.iter().all(|f| found(&f)),
                "{:#?}",
                report.findings
            );
        }
    }
}
