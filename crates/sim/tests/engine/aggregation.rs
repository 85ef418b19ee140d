//! Sums that switches make, on packets: what NICs send, how long it takes, and what becomes of a job whose switch dies.

use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::scenario::Fault;
use xoff_sim::{Job, Outcome, QueueKind, Report, Settings, Silent};
use xoff_units::{Bytes, Instant, Ratio, Span};
use xoff_workload::collective::{Algorithm, Collective, Network, bound};
use xoff_workload::ideal::Paths;

/// Hosts with a 100G NIC each, four to a leaf, and two spines.
const HOSTS: &str = "[cluster]\nhosts = 16\nnic = 'generic-100g'\n\
    [fabric]\nkind = 'leaf-spine'\nhosts-per-leaf = 4\nspines = 2\n\
    [switch]\naggregation = { fallback = '500us' }\n";

struct Case {
    fabric: Fabric,
    jobs: Vec<xoff_workload::Job>,
    faults: Vec<Fault>,
}

fn case(fabric: &str, scenario: &str) -> Case {
    let text = format!("fabric = 'f.toml'\n{scenario}");
    let setup = xoff_fabric::load_scenario(&text, fabric).into_result().expect("a sound scenario");
    let fabric = setup.setup.fabric;
    let jobs = xoff_workload::programs(&setup.scenario.workloads, &fabric, 1).expect("jobs");
    Case { fabric, jobs, faults: setup.scenario.faults }
}

impl Case {
    fn run(&self, queue: QueueKind) -> Report {
        let jobs = self.jobs.iter().map(|job| Job::of(job).expect("programs")).collect();
        let settings = Settings { queue, check_wire: true, ..Settings::default() };
        let report =
            xoff_sim::run_jobs(&self.fabric, &[], jobs, &self.faults, &settings, &mut Silent);
        report.expect("a run")
    }
}

fn all_reduce(size: &str, algorithm: &str) -> String {
    format!(
        "[[workload]]\nkind = 'all-reduce'\nsize = '{size}'\nalgorithm = '{algorithm}'\ncost = 'none'\n"
    )
}

/// Bytes that each host's NIC sent, with headers and acknowledgements.
fn sent(case: &Case, report: &Report) -> Vec<u64> {
    let nics = case.fabric.nics[..case.fabric.hosts() as usize].iter();
    let port = |port: u32| report.ports[port as usize].iter().map(|class| class.tx_bytes).sum();
    nics.map(|nic| port(nic.ports.start)).collect()
}

/// A NIC sends its data once, where a ring sends it nearly twice; the rest is headers and acknowledgements.
#[test]
fn a_nic_sends_half_of_what_it_sends_in_a_ring() {
    let size = 16u64 << 20;
    let switched = case(HOSTS, &all_reduce("16MiB", "in-network"));
    let report = switched.run(QueueKind::Wheel);
    assert_eq!(report.outcome, Outcome::Completed);
    for bytes in sent(&switched, &report) {
        assert!((size..size * 105 / 100).contains(&bytes), "{bytes} sent for {size}");
    }
    let ring = case(HOSTS, &all_reduce("16MiB", "ring"));
    let report = ring.run(QueueKind::Wheel);
    let twice = 2 * size * 15 / 16;
    for bytes in sent(&ring, &report) {
        assert!((twice..twice * 105 / 100).contains(&bytes), "{bytes} sent for {twice}");
    }
}

/// The delay of a queue pair of the tree, in the mean over the ways up and down, and what NICs carry.
fn network(case: &Case) -> Network {
    let paths = Paths::new(&case.fabric);
    let node = |name: &str| {
        let at = case.fabric.nics.iter().position(|nic| nic.name == name);
        NicId(at.expect("an aggregation node") as u32)
    };
    let (leaf, spine) = (node("leaf0-aggregation"), node("spine0-aggregation"));
    let piece = Bytes::new(32 << 10);
    let hops = [(NicId(0), leaf), (leaf, spine), (spine, leaf), (leaf, NicId(0))];
    let sum: u64 = hops.iter().map(|&(a, b)| paths.latency(a, b, piece).as_ps()).sum();
    let rate = paths.rate(NicId(0));
    Network {
        latency: Span::from_ps(sum / hops.len() as u64),
        nic_share: Ratio::new(rate.bps(), 100_000_000_000),
        ..Network::default()
    }
}

#[test]
fn an_idle_fabric_takes_the_time_of_the_closed_form() {
    for size in ["64MiB", "128MiB"] {
        let case = case(HOSTS, &all_reduce(size, "in-network"));
        let report = case.run(QueueKind::Wheel);
        assert_eq!(report.outcome, Outcome::Completed);
        let time = report.jobs[0].runs[0].time().expect("it ended");
        let job = &case.jobs[0];
        let run = &job.runs[0];
        assert_eq!(run.algorithm, Algorithm::InNetwork);
        let bound = bound(
            Collective::AllReduce,
            Algorithm::InNetwork,
            run.size,
            &job.layout,
            &job.settings,
            &network(&case),
        );
        let bound = bound.expect("a bound").time;
        let ratio = time.as_us_f64() / bound.as_us_f64();
        assert!((0.98..1.02).contains(&ratio), "{size}: {time} where {bound} is the closed form");
        assert_eq!(report.jobs[0].counters.retransmitted, 0);
        assert_eq!(report.dropped.iter().flatten().sum::<u64>(), 0);
    }
}

#[test]
fn it_takes_about_half_the_time_of_a_ring() {
    let time = |algorithm: &str| {
        let report = case(HOSTS, &all_reduce("32MiB", algorithm)).run(QueueKind::Wheel);
        report.jobs[0].runs[0].time().expect("it ended").as_us_f64()
    };
    let (ring, switched) = (time("ring"), time("in-network"));
    let gain = ring / switched;
    assert!((1.7..2.1).contains(&gain), "{ring} us by a ring, {switched} us by switches");
}

#[test]
fn both_event_queues_give_the_same_result() {
    let case = case(HOSTS, &all_reduce("2MiB", "in-network"));
    let hashes = [QueueKind::Wheel, QueueKind::Heap].map(|queue| case.run(queue).hash);
    assert_eq!(hashes[0], hashes[1]);
}

/// The root dies in the middle: the job notices after half a millisecond, begins anew by a ring, and its time is
/// what was lost, the time to notice, and a ring. The run after that begins with a ring.
#[test]
fn a_job_whose_switch_dies_goes_on_by_a_ring() {
    let twice = all_reduce("32MiB", "in-network").replace("cost", "repeat = 2\ncost");
    let fault = "[[fault]]\nkind = 'switch-down'\nat = '1ms'\nswitch = 'SPINE'\n\
                 converge = '50us'\nlate = '200us'\n";
    let spine = |case: &Case| {
        let groups = case.jobs[0].layout.aggregation().expect("switches");
        let root = groups.switches().into_iter().max().expect("a root");
        case.fabric.switches[root.index()].name.clone()
    };
    let name = spine(&case(HOSTS, &twice));
    assert!(name.starts_with("spine"), "{name}");
    let dying = case(HOSTS, &format!("{twice}{}", fault.replace("SPINE", &name)));
    let report = dying.run(QueueKind::Wheel);
    assert_eq!(report.outcome, Outcome::Completed);
    let job = &report.jobs[0];
    assert_eq!(job.failure, None);
    let noticed = Instant::ZERO + Span::from_us(1500);
    assert_eq!(job.fallbacks, [(1, noticed)]);
    let times: Vec<f64> = job.runs.iter().map(|run| run.time().unwrap().as_us_f64()).collect();
    let ring = case(HOSTS, &all_reduce("32MiB", "ring").replace("cost", "repeat = 2\ncost"));
    let ring = ring.run(QueueKind::Wheel).jobs[0].runs[0].time().unwrap().as_us_f64();
    // Half of the spines is left for the ring, which crosses them with an eighth of its traffic.
    let cost = times[0] - 1500.0;
    assert!((0.95 * ring..1.5 * ring).contains(&cost), "{times:?} where a ring takes {ring}");
    assert!((0.95 * ring..1.5 * ring).contains(&times[1]), "{times:?}, {ring}");
}

/// Without switches that notice in time the queue pairs fail first, and the job goes on all the same.
#[test]
fn a_job_goes_on_when_its_queue_pairs_fail_before_the_switch_is_missed() {
    let slow = HOSTS.replace("500us", "10s");
    let slow = format!("{slow}[transport]\ntimeout = '100us'\nretry-limit = 2\n");
    let name = "spine0";
    let fault = format!("[[fault]]\nkind = 'switch-down'\nat = '1ms'\nswitch = '{name}'\n");
    let case = case(&slow, &format!("{}{fault}", all_reduce("32MiB", "in-network")));
    let report = case.run(QueueKind::Wheel);
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(report.jobs[0].fallbacks.len(), 1);
    assert!(report.jobs[0].fallbacks[0].1 < Instant::ZERO + Span::from_ms(100));
}

#[test]
fn a_job_without_a_group_runs_by_a_ring() {
    let few = HOSTS.replace("fallback = '500us'", "groups = 1");
    let one = all_reduce("1MiB", "in-network");
    let case = case(&few, &format!("{one}{one}"));
    assert!(case.jobs[0].refused.is_none());
    assert_eq!(case.jobs[1].runs[0].algorithm, Algorithm::Ring);
    let said = case.jobs[1].refused.as_ref().expect("a reason").to_string();
    assert!(said.contains("serves 1 groups already"), "{said}");
    let report = case.run(QueueKind::Wheel);
    assert_eq!(report.outcome, Outcome::Completed);
    assert!(report.jobs.iter().all(|job| job.runs[0].end.is_some()));
}
