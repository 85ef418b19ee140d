//! The rival networks: credits never overflow a buffer, trimmed and dropped packets come again.
//!
//! The engine asserts at the end of every run that no credit was lost or made.

use crate::random::{Load, load, plan};
use crate::{cases, check_complete, settings, simulate};
use proptest::prelude::*;
use proptest::sample::select;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Operation;
use xoff_sim::{QueueKind, Report, Settings};

/// Data of reads has to come in order, which these networks do not promise.
fn without_reads(mut load: Load) -> Load {
    match &mut load {
        Load::Permutation { operation, .. } if *operation == Operation::Read => {
            *operation = Operation::Write;
        }
        Load::Mixed(messages) => {
            for message in messages.iter_mut().filter(|m| m.operation == Operation::Read) {
                message.operation = Operation::Send;
            }
        }
        _ => {}
    }
    load
}

fn pauses(report: &Report) -> u64 {
    report.ports.iter().flatten().map(|class| class.pauses_received + class.xoff_sent).sum()
}

fn drops(report: &Report) -> u64 {
    report.dropped.iter().flatten().sum()
}

fn fabric(text: &str) -> Fabric {
    crate::common::fabric(text)
}

proptest! {
    #![proptest_config(cases(64))]

    /// With credits nothing is dropped, paused or sent again, however little buffer there is; trees do
    /// not deadlock, and both event queues tell the same story.
    #[test]
    fn credits_lose_nothing(
        plan in plan(),
        load in load(&[3, 3, 0, 6]),
        share in 160_000u64..400_000,
    ) {
        let share = format!("[credits]\nshare = \"{share}B\"\n[switch.balancing]\nkind = \"ecmp\"\n");
        let fabric = fabric(&plan.rival_text("infiniband", &share));
        let flows = without_reads(load).flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
        prop_assert_eq!((drops(&report), pauses(&report)), (0, 0));
        let heap = Settings { queue: QueueKind::Heap, ..settings() };
        prop_assert_eq!(simulate(&fabric, &flows, &heap).hash, report.hash);
    }

    /// Adaptive routing on top of that: packets overtake each other, and none is taken for lost.
    #[test]
    fn packets_that_overtake_are_not_lost(plan in plan(), load in load(&[3])) {
        let fabric = fabric(&plan.rival_text("infiniband", ""));
        let flows = without_reads(load).flows(&fabric);
        let report = simulate(&fabric, &flows, &Settings { check_wire: true, ..settings() });
        check_complete(&fabric, &flows, &report)?;
        let again: u64 = report.flows.iter().map(|flow| flow.counters.retransmitted).sum();
        prop_assert_eq!((drops(&report), pauses(&report), again), (0, 0, 0));
    }

    /// What is trimmed or dropped arrives in the end, and nobody is paused for it.
    #[test]
    fn losses_are_made_good(
        plan in plan(),
        load in load(&[3]),
        kind in select(vec!["uet", "tcp", "iwarp"]),
        buffer in 200_000u64..2_000_000,
    ) {
        let text = plan.rival_text(kind, "timeout = \"5ms\"\n");
        let text = text.replace("[switch]\n", &format!("[switch]\nbuffer = \"{buffer}B\"\n"));
        let fabric = fabric(&text);
        let flows = without_reads(load).flows(&fabric);
        let report = simulate(&fabric, &flows, &Settings { check_wire: true, ..settings() });
        check_complete(&fabric, &flows, &report)?;
        prop_assert_eq!(pauses(&report), 0);
        prop_assert!(kind == "uet" || report.trimmed == 0);
    }
}
