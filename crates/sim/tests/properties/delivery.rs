//! Everything arrives, and lossless classes lose nothing.

use crate::random::{Load, burst, load, plan};
use crate::{cases, check_complete, settings, simulate};
use proptest::prelude::*;
use proptest::sample::select;
use xoff_sim::Settings;

proptest! {
    #![proptest_config(cases(160))]

    /// Whatever is sent arrives, in lossless classes without a drop.
    #[test]
    fn everything_arrives(mut plan in plan(), load in load(&[3, 3, 4, 0, 1])) {
        plan.switches.slack = 32_000_000;
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &Settings { check_wire: true, ..settings() });
        check_complete(&fabric, &flows, &report)?;
    }

    /// Headroom as computed is always enough, with any rate, length, packet, cell and latency, when
    /// nobody slows down and the switches have hardly any buffer besides.
    #[test]
    fn computed_headroom_is_enough(mut plan in plan(), load in burst(&[3])) {
        plan.transport.congestion = "none";
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
    }
}

proptest! {
    #![proptest_config(cases(96))]

    /// Packets that get lost on cables are sent again, whatever the recovery.
    #[test]
    fn losses_on_cables_recover(
        mut plan in plan(),
        load in load(&[3, 3, 0]),
        loss in select(vec!["0.001", "0.01"]),
    ) {
        plan.switches.slack = 32_000_000;
        plan.loss = loss;
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
    }

    /// A lossy class drops when its buffer is full, recovers, and pauses nobody. Senders that go back
    /// N at full rate get about one packet through per round trip, so they have less to send.
    #[test]
    fn a_lossy_class_recovers(
        mut plan in plan(),
        mut load in burst(&[1]),
        slack in 50_000u64..400_000,
    ) {
        plan.transport.ack = "7";
        plan.switches.slack = slack;
        if let (Load::Incast { packets, .. }, "go-back-n") = (&mut load, plan.transport.recovery) {
            *packets /= 5;
        }
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
        let pauses = report.ports.iter().flatten().map(|class| class.pauses_received);
        prop_assert_eq!(pauses.sum::<u64>(), 0);
    }
}
