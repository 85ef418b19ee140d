//! Several threads give what one gives, to the bit, however the fabric is cut, and tell observers the same in the same order.

use crate::cases;
use crate::faults::{Any, any, faults, scene};
use crate::random::{Link, Load, Plan, Switches, Transport, Wiring, load, plan};
use crate::until;
use proptest::prelude::*;
use proptest::sample::select;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Fault;
use xoff_sim::{Job, Observer, QueueKind, Report, Sample, Scrape, Sent, Settings, Threads, Trace};
use xoff_units::Span;
use xoff_workload::Flow;

/// Writes everything down.
#[derive(Debug, Default, PartialEq)]
struct Clerk {
    traces: Vec<Trace>,
    others: Vec<String>,
}

impl Observer for Clerk {
    fn trace(&mut self, trace: &Trace) {
        self.traces.push(*trace);
    }

    fn sample(&mut self, sample: &Sample) {
        self.others.push(format!("{sample:?}"));
    }

    fn sent(&mut self, sent: &Sent) {
        self.others.push(format!("{sent:?}"));
    }

    fn scrape(&mut self, scrape: &Scrape<'_>) {
        self.others.push(format!("{scrape:?}"));
    }
}

/// What a run gives, but for what is known to depend on threads.
fn outcome(report: Report) -> String {
    let same = Report { most_packets: 0, sections: Default::default(), ..report };
    format!("{same:?}")
}

/// Runs on one thread and on several; the sections of the one with most.
fn compare(
    fabric: &Fabric,
    (flows, jobs): (&[Flow], &[xoff_workload::Job]),
    faults: &[Fault],
    settings: &Settings,
    after: u64,
) -> Result<u64, TestCaseError> {
    let run = |count: usize| {
        let settings = Settings { threads: Threads { count, after }, ..settings.clone() };
        let jobs = jobs.iter().map(|job| Job::of(job).expect("programs")).collect();
        let mut clerk = Clerk::default();
        let report = xoff_sim::run_jobs(fabric, flows, jobs, faults, &settings, &mut clerk);
        let report = report.expect("a sound fabric");
        (report.hash, report.sections.count, outcome(report), clerk)
    };
    let (hash, none, report, told) = run(1);
    prop_assert_eq!(none, 0);
    let mut sections = 0;
    for count in [2, 3, 8] {
        let (other_hash, count_of, other_report, other_told) = run(count);
        prop_assert_eq!(hash, other_hash, "on {} threads", count);
        prop_assert_eq!(&report, &other_report, "on {} threads", count);
        prop_assert_eq!(&told, &other_told, "on {} threads", count);
        sections = sections.max(count_of);
    }
    Ok(sections)
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn any_load(plan in plan(), load in load(&[3, 4, 0]), seed in 0u64..4, loss in select(vec!["0", "0.001"])) {
        let plan = Plan { loss, ..plan };
        let (fabric, flows) = scene(plan, &load);
        let settings = Settings { seed, ..until(Span::from_ms(5)) };
        compare(&fabric, (&flows, &[]), &[], &settings, 40)?;
    }

    /// Whatever breaks, and whoever looks.
    #[test]
    fn any_faults(
        plan in plan(),
        load in load(&[3, 4]),
        any in prop::collection::vec(any(), 1..6),
        periods in select(vec![(0, 0), (9_300, 37_100), (1_000, 0), (700, 0)]),
    ) {
        let (fabric, flows) = scene(plan, &load);
        let faults = faults(&fabric, &any);
        let settings = Settings {
            sample_period: Span::from_ns(periods.0),
            scrape_period: Span::from_ns(periods.1),
            ..until(Span::from_ms(3))
        };
        compare(&fabric, (&flows, &[]), &faults, &settings, 40)?;
    }

    /// Pauses everywhere, and searches for deadlocks all the time.
    #[test]
    fn crowded_buffers(plan in plan(), target: u32, packets in 200u64..1500, any in prop::collection::vec(any(), 0..2)) {
        let mut plan = plan;
        plan.transport.congestion = "none";
        plan.switches.slack = 300_000;
        let load = Load::Incast { target, packets, class: 3 };
        let (fabric, flows) = scene(plan, &load);
        let faults = faults(&fabric, &any);
        compare(&fabric, (&flows, &[]), &faults, &until(Span::from_ms(3)), 200)?;
    }

    /// Collectives, alone and beside each other, with and without faults.
    #[test]
    fn any_collectives(
        kinds in prop::collection::vec(
            select(vec!["all-reduce", "all-gather", "reduce-scatter", "all-to-all-collective", "broadcast"]),
            1..3,
        ),
        kib in 1u64..3000,
        congestion in select(vec!["none", "dcqcn", "hpcc"]),
        balancing in select(vec!["ecmp", "spray", "dlb"]),
        faulty in proptest::bool::ANY,
        fault in any(),
        seed in 0u64..4,
    ) {
        let fabric = format!(
            "[cluster]\ngpus = 32\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n\
             spines = 2\n[transport]\nreorder-window = 1000\n[transport.congestion]\nkind = '{congestion}'\n[switch.balancing]\nkind = '{balancing}'\n"
        );
        let workloads: String = kinds
            .iter()
            .map(|kind| format!("[[workload]]\nkind = '{kind}'\nsize = '{kib}KiB'\nrepeat = 2\n"))
            .collect();
        let text = format!("fabric = 'f.toml'\n{workloads}");
        let setup = xoff_fabric::load_scenario(&text, &fabric).into_result().expect("a sound scenario");
        let fabric = setup.setup.fabric;
        let jobs = xoff_workload::programs(&setup.scenario.workloads, &fabric, seed).expect("jobs");
        let faults = if faulty { faults(&fabric, &[fault]) } else { Vec::new() };
        let sample_period = Span::from_ns(if seed == 0 { 5_000 } else { 0 });
        let settings = Settings { seed, sample_period, ..until(Span::from_ms(4)) };
        compare(&fabric, (&[], &jobs), &faults, &settings, 300)?;
    }
}

/// The comparisons above would hold if threads never worked side by side.
#[test]
fn threads_do_work_side_by_side() {
    let text = "[cluster]\nhosts = 32\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\n\
                leaf = 'trident-3'\nhosts-per-leaf = 8\nspines = 4\n";
    let fabric = crate::common::fabric(text);
    let load = Load::Permutation {
        shift: 9,
        packets: 300,
        class: 3,
        operation: xoff_fabric::scenario::Operation::Write,
    };
    let flows = load.flows(&fabric);
    let settings = until(Span::from_ms(50));
    let sections = compare(&fabric, (&flows, &[]), &[], &settings, 1000).expect("equal");
    assert!(sections > 0, "no section");
    // Samples are no reason to meet.
    for sample_period in [Span::ZERO, Span::from_us(2)] {
        let threads = Threads { count: 3, after: 1000 };
        let settings = Settings { threads, sample_period, ..settings.clone() };
        let report = crate::simulate(&fabric, &flows, &settings);
        let done = report.sections;
        assert!(done.events * 10 > report.events * 9, "{done:?} of {} events", report.events);
        assert!(done.critical * 10 < done.events * 9, "one thread does it all: {done:?}");
        assert!(done.count < 10, "{done:?}");
    }
}

/// Small packets on many fast ports make wheels dense, those of two parts, too, as thousands of NICs do: what is shown ahead of its
/// time changes nothing.
#[test]
fn a_dense_fabric() {
    let text = "[cluster]\nhosts = 1024\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-5'\n\
                hosts-per-leaf = 64\nspines = 8\n[links.leaf-spine]\nrate = '800Gbps'\n\
                [switch.balancing]\nkind = 'dlb'\nper = 'packet'\n[transport]\nmtu = '64B'\n\
                recovery = 'selective-repeat'\nreorder-window = 256\n";
    let fabric = crate::common::fabric(text);
    let operation = xoff_fabric::scenario::Operation::Write;
    let load = Load::Permutation { shift: 77, packets: 80, class: 3, operation };
    let flows = load.flows(&fabric);
    let settings = until(Span::from_ms(1));
    let heap = Settings { queue: QueueKind::Heap, ..settings.clone() };
    let hash = |settings| crate::simulate(&fabric, &flows, settings).hash;
    assert_eq!(hash(&settings), hash(&heap));
    let sections = compare(&fabric, (&flows, &[]), &[], &settings, 1000).expect("equal");
    assert!(sections > 0, "no section");
}

/// Routes that change for a while, with packets paused on both ways.
#[test]
fn a_route_that_changes_and_comes_back_in_a_crowd() {
    let switches = Switches {
        cell: 0,
        forwarding: "cut-through",
        latency_ns: 0,
        nic_latency_ns: 0,
        discipline: "wrr",
        balancing: ("ecmp", "flowlet"),
        alpha: "1/8",
        reserved: 0,
        xon_offset: 0,
        quanta: "65535",
        response: "0s",
        two_lossless: false,
        slack: 300_000,
    };
    let transport = Transport {
        mtu: 1024,
        ack_every: 1,
        recovery: "go-back-n",
        congestion: "none",
        notification: "cnp",
        cnp_delay_ns: 0,
        cnp_scope: "queue-pair",
        ack: "\"data\"",
    };
    let links = [Link(400, 39), Link(200, 14), Link(100, 30)];
    let plan = Plan { wiring: Wiring::FatTree, links, switches, transport, ecn: false, loss: "0" };
    let any = Any {
        kind: 6,
        what: 4_048_593_109,
        at_ns: 52_596,
        long_ns: 2_635,
        converge_ns: 1,
        late_ns: 100_000,
        number: 1,
        ends: true,
    };
    let load = Load::Incast { target: 2_530_956_802, packets: 319, class: 3 };
    let (fabric, flows) = scene(plan, &load);
    let faults = faults(&fabric, &[any]);
    compare(&fabric, (&flows, &[]), &faults, &until(Span::from_ms(3)), 200).expect("equal");
}
