//! A paused class stands still, and no other class waits for it.

use crate::random::{Load, Message, load, plan};
use crate::{cases, check_complete, settings, simulate, until};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId, PortId};
use xoff_fabric::scenario::{Fault, NodeRef, Operation};
use xoff_sim::{Observer, Report, Sample, Settings, Silent, Trace, TraceKind};
use xoff_units::{Bytes, Instant, Span};

/// Checks that classes stand still while they are paused.
#[derive(Debug, Default)]
pub(crate) struct Watcher {
    /// Paused queues: since when, and what they had sent when that was last seen.
    paused: BTreeMap<(PortId, u8), (Instant, Option<u64>)>,
    total: BTreeMap<(PortId, u8), Span>,
    wrong: Vec<String>,
}

impl Watcher {
    /// Whether nothing was wrong.
    pub(crate) fn is_content(&self) -> bool {
        self.wrong.is_empty()
    }
}

impl Observer for Watcher {
    fn trace(&mut self, trace: &Trace) {
        let slot = (trace.port, trace.class);
        match trace.kind {
            TraceKind::PauseStart => {
                let before = self.paused.insert(slot, (trace.at, None));
                self.wrong.extend(before.map(|_| format!("{slot:?} was paused twice")));
            }
            TraceKind::PauseEnd => match self.paused.remove(&slot) {
                Some((since, _)) => *self.total.entry(slot).or_default() += trace.at - since,
                None => self.wrong.push(format!("{slot:?} was not paused")),
            },
            _ => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        let slot = (sample.port, sample.class);
        let Some((_, sent)) = self.paused.get_mut(&slot) else {
            if sample.paused {
                self.wrong.push(format!("{slot:?} is paused and nobody said so"));
            }
            return;
        };
        if !sample.paused || sent.is_some_and(|sent| sent != sample.tx_bytes) {
            self.wrong.push(format!("{slot:?} moved while it was paused"));
        }
        *sent = Some(sample.tx_bytes);
    }
}

/// Time all wires were in use, pause frames included.
fn wire_time(fabric: &Fabric, report: &Report) -> Span {
    let gap = fabric.nics[0].qp.framing.gap;
    let mut sum = Span::ZERO;
    for (port, classes) in report.ports.iter().enumerate() {
        let rate = fabric.cable(PortId(port as u32)).rate;
        for class in classes {
            let frames = fabric.pause.frame * (class.xoff_sent + class.xon_sent);
            sum += rate.time_for(Bytes::new(class.tx_bytes) + gap * class.tx_packets + frames);
            // Every packet's time is rounded up on its own.
            sum += Span::from_ps(class.tx_packets + class.xoff_sent + class.xon_sent + 1);
        }
    }
    sum
}

fn storm(nic: u32, duration: Option<Span>) -> [Fault; 1] {
    [Fault::PauseStorm { nic: NodeRef::Number(nic), at: Span::ZERO, duration }]
}

proptest! {
    #![proptest_config(cases(96))]

    /// A paused class sends nothing, and the time it stood still is reported.
    #[test]
    fn a_paused_class_stands_still(plan in plan(), load in load(&[3, 4])) {
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let mut watcher = Watcher::default();
        // Without buffer to share a lossy class 4 may never get through.
        let settings = Settings { sample_period: Span::from_ns(700), ..until(Span::from_ms(5)) };
        let report = xoff_sim::run(&fabric, &flows, &[], &settings, &mut watcher).unwrap();
        prop_assert!(watcher.wrong.is_empty(), "{:?}", watcher.wrong);
        for (&slot, &(since, _)) in &watcher.paused {
            *watcher.total.entry(slot).or_default() += report.end - since;
        }
        for (port, classes) in report.ports.iter().enumerate() {
            for (class, result) in classes.iter().enumerate() {
                let seen = watcher.total.get(&(PortId(port as u32), class as u8));
                prop_assert_eq!(seen.copied().unwrap_or(Span::ZERO), result.paused);
            }
        }
    }

    /// A NIC that pauses one class without end does not hold up another: a flow of that one over
    /// the same links takes no longer than alone, but for the wire time that others really used.
    #[test]
    fn other_classes_do_not_wait(
        mut plan in plan(),
        packets in (1u64..300, 1u64..300),
        source: u32,
        start_ns in 0u64..200_000,
        class in select(vec![0u8, 4, 5]),
        operation in select(vec![Operation::Write, Operation::Send]),
    ) {
        plan.switches.slack = 1_000_000_000;
        plan.transport.congestion = "none";
        // Packets that avoid the queues of other classes overtake each other.
        plan.switches.balancing.0 = "ecmp";
        let mut overlay = plan.fabric().into_overlay();
        for id in (0..overlay.nics.len() as u32).map(NicId) {
            overlay.nic(id, |nic| nic.qp.timeout = Span::from_ms(10_000));
        }
        let fabric = overlay.finish();
        let nics = fabric.nics.len() as u32;
        let source = 1 + source % (nics - 1);
        let size = (packets.0, 17);
        let message = Message { start_ns, source, destination: 0, size, class, operation };
        let own = Load::Mixed(vec![message]).flows(&fabric);
        let alone = simulate(&fabric, &own, &settings());
        let mut flows = Load::Incast { target: 0, packets: packets.1, class: 3 }.flows(&fabric);
        flows.extend(own);
        let both = xoff_sim::run(&fabric, &flows, &storm(0, None), &until(Span::from_ms(50)), &mut Silent);
        let both = both.unwrap();
        prop_assert!(both.ports[0][3].pauses_received == 0 && both.ports[0][3].xoff_sent > 0);
        let needed = alone.flows[0].completion().expect("nothing is in the way");
        let Some(taken) = both.flows[flows.len() - 1].completion() else {
            return Err(TestCaseError::fail("the flow never completed"));
        };
        let others = wire_time(&fabric, &both).saturating_sub(wire_time(&fabric, &alone));
        prop_assert!(taken <= needed + others, "{} alone, {} with a storm, others {}", needed, taken, others);
    }

    /// When the storm is over everything arrives, and nothing was lost.
    #[test]
    fn storms_lose_nothing(plan in plan(), load in load(&[3]), us in 1u64..1500, nic: u32) {
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let faults = storm(nic % fabric.nics.len() as u32, Some(Span::from_us(us)));
        let report = xoff_sim::run(&fabric, &flows, &faults, &settings(), &mut Silent).unwrap();
        check_complete(&fabric, &flows, &report)?;
    }
}
