//! The same seed gives the same result.

use crate::pauses::Watcher;
use crate::random::{load, plan};
use crate::{cases, simulate, until};
use proptest::prelude::*;
use proptest::sample::select;
use xoff_sim::{QueueKind, Settings};
use xoff_units::Span;

proptest! {
    #![proptest_config(cases(96))]

    /// With either event queue, checked or not, watched or not.
    #[test]
    fn the_same_seed_gives_the_same_result(
        mut plan in plan(),
        load in load(&[3, 4, 0]),
        seed: u64,
        loss in select(vec!["0", "0.001"]),
    ) {
        plan.loss = loss;
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let base = Settings { seed, ..until(Span::from_ms(5)) };
        let report = simulate(&fabric, &flows, &base);
        let again = simulate(&fabric, &flows, &Settings { check_wire: true, ..base.clone() });
        prop_assert_eq!((report.hash, report.events), (again.hash, again.events));
        let heap = Settings { queue: QueueKind::Heap, ..base.clone() };
        let heap = simulate(&fabric, &flows, &heap);
        prop_assert_eq!((report.hash, report.events), (heap.hash, heap.events));
        let mut watcher = Watcher::default();
        let (sample_period, scrape_period) = (Span::from_ns(1300), Span::from_ns(7100));
        let watched = Settings { sample_period, scrape_period, ..base };
        let watched = xoff_sim::run(&fabric, &flows, &[], &watched, &mut watcher).unwrap();
        prop_assert_eq!(report.hash, watched.hash);
        prop_assert_eq!(report.outcome, watched.outcome);
    }
}
