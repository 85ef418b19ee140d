//! The same where switches have virtual output queues: some of them, or all.

use crate::random::{burst, load, plan};
use crate::{cases, check_complete, settings, simulate};
use proptest::prelude::*;
use xoff_fabric::model::{Fabric, Switch, SwitchId, Voq};
use xoff_sim::{QueueKind, Settings};
use xoff_units::{Ratio, Span};

/// Gives virtual output queues to every switch whose bit is set.
pub(crate) fn deepen(
    fabric: Fabric,
    which: u8,
    credit_ns: u64,
    fabric_ns: u64,
    speed_up: u64,
) -> Fabric {
    let voq = Voq {
        credit_latency: Span::from_ns(credit_ns),
        fabric_latency: Span::from_ns(fabric_ns),
        speed_up: Ratio::new(speed_up, 10),
    };
    let mut overlay = fabric.into_overlay();
    for id in (0..overlay.switches.len() as u32).map(SwitchId) {
        if which & 1 << (id.0 % 8) != 0 {
            let edit = |switch: &mut Switch| (switch.cut_through, switch.voq) = (false, Some(voq));
            overlay.switch(id, edit).unwrap();
        }
    }
    overlay.finish()
}

proptest! {
    #![proptest_config(cases(96))]

    /// Whatever is sent arrives, and both event queues agree on how. Classes that may lose packets are
    /// among it.
    #[test]
    fn everything_arrives_through_virtual_output_queues(
        mut plan in plan(),
        load in load(&[3, 3, 4, 0, 1]),
        (which, credit, cells, speed_up) in (1u8.., 0u64..3000, 0u64..3000, 10u64..20),
    ) {
        plan.switches.slack = 32_000_000;
        let fabric = deepen(plan.fabric(), which, credit, cells, speed_up);
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &Settings { check_wire: true, ..settings() });
        check_complete(&fabric, &flows, &report)?;
        let heap = simulate(&fabric, &flows, &Settings { queue: QueueKind::Heap, ..settings() });
        prop_assert_eq!(heap.hash, report.hash);
    }

    /// Headroom is enough where packets wait at ingress, too.
    #[test]
    fn headroom_is_enough_before_virtual_output_queues(
        mut plan in plan(),
        load in burst(&[3]),
        which in 1u8..,
    ) {
        plan.transport.congestion = "none";
        let fabric = deepen(plan.fabric(), which, 1000, 1000, 12);
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
    }
}
