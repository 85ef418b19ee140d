//! Other ways to mark and to notify lose, make and reorder nothing.

use crate::random::{load, plan};
use crate::{cases, check_complete, settings, simulate};
use proptest::prelude::*;
use proptest::sample::select;
use xoff_sim::{QueueKind, Settings};

proptest! {
    #![proptest_config(cases(48))]

    /// Conservation is asserted at the end of every run.
    #[test]
    fn marking_at_enqueue_and_notifying_switches_keep_the_books(
        mut plan in plan(),
        load in load(&[3]),
        mark in select(vec!["dequeue", "enqueue"]),
        interval in select(vec!["0", "'1us'", "'50us'"]),
    ) {
        plan.ecn = true;
        plan.transport.notification = "cnp";
        plan.transport.congestion = "dcqcn";
        let more = format!("[ecn]\nmark = '{mark}'\nnotify = 'switch'\nnotify-interval = {interval}\n");
        let fabric = plan.fabric_of(&plan.text().replace("[ecn]\n", &more));
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
        prop_assert_eq!(report.marks(), 0);
        prop_assert!(report.cnps <= report.switch_cnps);
        let heap = Settings { queue: QueueKind::Heap, ..settings() };
        prop_assert_eq!(simulate(&fabric, &flows, &heap).hash, report.hash);
    }
}
