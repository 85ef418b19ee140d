//! Whatever breaks, and whenever: runs end, repeat, and what is mended works again.

use crate::cases;
use crate::deep::deepen;
use crate::pauses::Watcher;
use crate::random::{Load, Plan, load, plan};
use crate::{settings, until};
use proptest::prelude::*;
use proptest::sample::select;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{
    Among, Degraded, Fault, LinkChoice, LinkDegraded, LinkDown, LinkFlap, NodeRef, Reaction,
    RouteChange, ServerDown, Setting, SwitchDown,
};
use xoff_sim::{Outcome, QueueKind, Settings, Silent};
use xoff_units::{Bytes, Rate, Ratio, Span};

/// A fault in terms of any fabric.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Any {
    pub(crate) kind: u8,
    pub(crate) what: u32,
    pub(crate) at_ns: u64,
    pub(crate) long_ns: u64,
    pub(crate) converge_ns: u64,
    pub(crate) late_ns: u64,
    pub(crate) number: u32,
    pub(crate) ends: bool,
}

pub(crate) fn any() -> impl Strategy<Value = Any> {
    let times = (0u64..150_000, 1u64..200_000, select(vec![0u64, 1, 700, 50_000]));
    let more = (select(vec![0u64, 900, 100_000, 10_000_000]), 1u32..4, proptest::bool::ANY);
    (0u8..8, proptest::num::u32::ANY, times, more).prop_map(|(kind, what, times, more)| Any {
        kind,
        what,
        at_ns: times.0,
        long_ns: times.1,
        converge_ns: times.2,
        late_ns: more.0,
        number: more.1,
        ends: more.2,
    })
}

impl Any {
    fn reaction(self) -> Reaction {
        Reaction::after(Span::from_ns(self.converge_ns), Span::from_ns(self.late_ns))
    }

    fn links(self, fabric: &Fabric) -> LinkChoice {
        let among = [Among::Switches, Among::Hosts, Among::All][self.what as usize % 3];
        let mut links = LinkChoice { among, ..LinkChoice::default() };
        if links.candidates(fabric).is_empty() {
            links.among = Among::All;
        }
        let most = links.candidates(fabric).len() as u32;
        LinkChoice { count: Some(self.number.min(most)), ..links }
    }

    /// A switch and one of its neighbours, by name.
    fn pair(self, fabric: &Fabric) -> (String, String) {
        let switch = &fabric.switches[self.what as usize % fabric.switches.len()];
        let ports: Vec<u32> = switch.ports.clone().collect();
        let peer = fabric.ports[ports[self.number as usize % ports.len()] as usize].peer;
        let peer = fabric.node_name(fabric.ports[peer.index()].node);
        (switch.name.clone(), peer.to_owned())
    }

    fn fault(self, fabric: &Fabric) -> Fault {
        let (at, long) = (Span::from_ns(self.at_ns), Span::from_ns(self.long_ns));
        let duration = self.ends.then_some(long);
        let (links, reaction) = (self.links(fabric), self.reaction());
        let (switch, peer) = self.pair(fabric);
        match self.kind {
            0 | 1 => Fault::LinkDown(LinkDown {
                links,
                at,
                restore_after: duration,
                silent: false,
                reaction,
            }),
            2 => Fault::LinkFlap(LinkFlap {
                links,
                at,
                period: long.max(Span::from_ns(2)),
                duty: Ratio::new(u64::from(self.number), 4),
                times: self.number * 3,
                reaction,
            }),
            3 => {
                let rates = fabric.cables.iter().map(|cable| cable.rate.bps());
                let least = rates.min().unwrap_or(1_000_000_000);
                let rate = Rate::from_bps(least / u64::from(self.number));
                let loss = [Ratio::ZERO, Ratio::new(1, 1000)][self.what as usize % 2];
                let degraded = Degraded { rate: Some(rate), loss, ..Degraded::default() };
                Fault::LinkDegraded(LinkDegraded { links, at, duration, degraded })
            }
            4 => Fault::SwitchDown(SwitchDown {
                switch: Some(switch),
                count: None,
                tier: None,
                at,
                restore_after: duration,
                drain: None,
                reaction,
            }),
            5 => Fault::ServerDown(ServerDown {
                server: None,
                count: Some(1),
                at,
                restore_after: duration,
                reaction,
            }),
            6 => {
                let nic = self.what % fabric.nics.len() as u32;
                let to = (self.number > 1).then_some(NodeRef::Number(nic));
                Fault::RouteChange(RouteChange { switch, to, via: peer, at, duration })
            }
            _ => Fault::Setting(Setting {
                switch: Some(switch),
                pfc: (self.number != 1).then_some(false),
                alpha: (self.number != 2).then_some(Ratio::new(1, 64)),
                kmin: Some(Bytes::new(5_000)),
                kmax: Some(Bytes::new(50_000)),
                pmax: Some(Ratio::new(1, 2)),
                class: Some(3),
                at,
                duration,
                ..Setting::default()
            }),
        }
    }
}

pub(crate) fn faults(fabric: &Fabric, any: &[Any]) -> Vec<Fault> {
    any.iter().map(|any| any.fault(fabric)).collect()
}

pub(crate) fn scene(mut plan: Plan, load: &Load) -> (Fabric, Vec<xoff_workload::Flow>) {
    plan.switches.slack = plan.switches.slack.max(300_000);
    let fabric = plan.fabric();
    let flows = load.flows(&fabric);
    (fabric, flows)
}

proptest! {
    #![proptest_config(cases(64))]

    /// Any faults, together: nothing is lost from the books (the engine asserts it), and the run is
    /// the same with either event queue, watched or not.
    #[test]
    fn any_faults_keep_the_books_and_repeat(
        plan in plan(),
        load in load(&[3, 4]),
        any in prop::collection::vec(any(), 1..6),
        seed in 0u64..4,
    ) {
        let (fabric, flows) = scene(plan, &load);
        let faults = faults(&fabric, &any);
        let base = Settings { seed, ..until(Span::from_ms(3)) };
        let report = xoff_sim::run(&fabric, &flows, &faults, &base, &mut Silent).unwrap();
        let heap = Settings {
            queue: QueueKind::Heap,
            sample_period: Span::from_ns(1300),
            scrape_period: Span::from_ns(7100),
            ..base
        };
        let mut watcher = Watcher::default();
        let again = xoff_sim::run(&fabric, &flows, &faults, &heap, &mut watcher).unwrap();
        prop_assert_eq!(report.hash, again.hash);
        prop_assert_eq!(report.outcome, again.outcome);
        prop_assert!(watcher.is_content(), "{:?}", watcher);
    }

    /// The same where switches have virtual output queues, which faults empty and routes change under.
    #[test]
    fn any_faults_keep_the_books_of_virtual_output_queues(
        plan in plan(),
        load in load(&[3, 4, 1]),
        any in prop::collection::vec(any(), 1..6),
        which in 1u8..,
    ) {
        let (fabric, flows) = scene(plan, &load);
        let fabric = deepen(fabric, which, 700, 900, 12);
        let faults = faults(&fabric, &any);
        let base = until(Span::from_ms(3));
        let report = xoff_sim::run(&fabric, &flows, &faults, &base, &mut Silent).unwrap();
        let heap = Settings {
            queue: QueueKind::Heap,
            sample_period: Span::from_ns(1300),
            scrape_period: Span::from_ns(7100),
            ..base
        };
        let mut watcher = Watcher::default();
        let again = xoff_sim::run(&fabric, &flows, &faults, &heap, &mut watcher).unwrap();
        prop_assert_eq!(report.hash, again.hash);
        prop_assert!(watcher.is_content(), "{:?}", watcher);
    }

    /// What breaks and is mended leaves nothing behind: everything arrives.
    #[test]
    fn what_is_mended_works_again(
        mut plan in plan(),
        load in load(&[3, 3, 0]),
        any in prop::collection::vec(any(), 1..4),
    ) {
        plan.switches.slack = 32_000_000;
        let (fabric, flows) = scene(plan, &load);
        let mended: Vec<Any> = any.iter().map(|any| Any { ends: true, ..*any }).collect();
        let faults = faults(&fabric, &mended);
        let report = xoff_sim::run(&fabric, &flows, &faults, &settings(), &mut Silent).unwrap();
        // Ways around dead links, or forced ones, may run in a ring, and a ring that stands still stays
        // so when they are gone. Nothing else excuses it.
        if report.outcome == Outcome::Deadlock {
            prop_assert!(faults.iter().any(Fault::changes_routes), "{:?}", report.deadlocks);
        } else {
            prop_assert_eq!(report.outcome, Outcome::Completed);
            for flow in &report.flows {
                prop_assert!(flow.failure.is_none() && flow.end.is_some());
            }
        }
    }
}
