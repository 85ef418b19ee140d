//! Collectives on packets: they finish, they move what they should, and where there is no network between their ranks
//! they take the time of the ideal one.

use xoff_fabric::model::Fabric;
use xoff_sim::{Job, Outcome, QueueKind, Report, Settings, Silent};
use xoff_units::{Bytes, Instant};
use xoff_workload::Turn;
use xoff_workload::collective::{Algorithm, Collective, Settings as CollectiveSettings, program};
use xoff_workload::ideal::{self, Paths};
use xoff_workload::layout::{GpuId, Layout, Placement};
use xoff_workload::program::{GraphBuilder, Program, Work};

/// Servers of 8 GPUs with a 400G NIC each, a leaf per rail.
fn pod(gpus: u32) -> Fabric {
    let text = format!(
        "[cluster]\ngpus = {gpus}\nnic = \"connectx-7\"\n[fabric]\nkind = \"rail\"\nleaf = \"tomahawk-5\"\n"
    );
    Fabric::from_toml(&text).expect("a sound fabric")
}

fn job(fabric: &Fabric, collective: Collective, algorithm: Algorithm, size: Bytes) -> Job {
    let layout = Layout::new(fabric, None, &Placement::Packed).expect("a layout");
    let settings = CollectiveSettings::without_cost();
    let program = program(collective, algorithm, size, &layout, &settings).expect("a program");
    let class = fabric.data_class;
    Job {
        start: Instant::ZERO,
        class,
        clear_to_send: class,
        programs: vec![Turn::alone(program, 1)],
        vxlan: false,
        identity: None,
    }
}

/// The jobs of a scenario's workloads on a fabric.
fn jobs_of(fabric: &str, workloads: &str) -> (Fabric, Vec<xoff_workload::Job>) {
    let text = format!("fabric = 'f.toml'\n{workloads}");
    let setup = xoff_fabric::load_scenario(&text, fabric).into_result().expect("a sound scenario");
    let fabric = setup.setup.fabric;
    let jobs = xoff_workload::programs(&setup.scenario.workloads, &fabric, 1).expect("jobs");
    (fabric, jobs)
}

/// The times of a scenario's runs, in microseconds.
fn times(fabric: &str, workloads: &str) -> Vec<f64> {
    seeded_times(fabric, workloads, 1)
}

fn seeded_times(fabric: &str, workloads: &str, seed: u64) -> Vec<f64> {
    let (fabric, jobs) = jobs_of(fabric, workloads);
    let jobs = jobs.iter().map(|job| Job::of(job).expect("programs")).collect();
    let report = run(&fabric, jobs, &Settings { seed, ..Settings::default() });
    assert_eq!(report.outcome, Outcome::Completed);
    let runs = report.jobs.iter().flat_map(|job| &job.runs);
    runs.map(|run| run.time().expect("it ended").as_us_f64()).collect()
}

const POD_32: &str = "[cluster]\ngpus = 32\nnic = 'connectx-7'\n\
                      [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";

fn run(fabric: &Fabric, jobs: Vec<Job>, settings: &Settings) -> Report {
    let report = xoff_sim::run_jobs(fabric, &[], jobs, &[], settings, &mut Silent);
    report.expect("a run")
}

/// Payload that NICs sent, as packets of the data class say.
fn sent(fabric: &Fabric, report: &Report) -> u64 {
    let nics = fabric.nics.iter().map(|nic| nic.ports.start as usize);
    nics.map(|port| report.ports[port].iter().map(|class| class.tx_bytes).sum::<u64>()).sum()
}

#[test]
fn a_ring_moves_what_it_should_and_ends() {
    let fabric = pod(32);
    let size = Bytes::new(64 << 20);
    let job = job(&fabric, Collective::AllReduce, Algorithm::Ring, size);
    let report = run(&fabric, vec![job], &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
    let time = report.jobs[0].runs[0].time().expect("it ended");
    // 4 servers: each of 16 channels crosses 4 server borders with 2 (n - 1) / n of its share.
    let payload = 4 * 2 * size.get() * 31 / 32;
    let on_wire = sent(&fabric, &report);
    assert!(on_wire >= payload, "{on_wire} bytes sent where {payload} are to be moved");
    assert!(on_wire < payload * 105 / 100, "{on_wire} bytes sent for {payload}");
    // A server's NICs together carry 2 (n - 1) / n of the size out.
    let bus = size.get() as f64 * 2.0 * 31.0 / 32.0 / time.as_us_f64() / 1e3;
    assert!((200.0..400.0).contains(&bus), "{bus} GB/s on 8 NICs of 50 GB/s");
    assert_eq!(report.jobs[0].counters.retransmitted, 0);
    assert_eq!(report.jobs[0].counters.timeouts, 0);
}

#[test]
fn every_collective_ends_on_packets() {
    let fabric = pod(16);
    let all = [
        Collective::AllReduce,
        Collective::AllGather,
        Collective::ReduceScatter,
        Collective::AllToAll,
        Collective::SendRecv,
    ];
    for collective in all {
        for &algorithm in Algorithm::of(collective) {
            for size in [1, 4097, 1 << 20] {
                let job = job(&fabric, collective, algorithm, Bytes::new(size));
                let report = run(&fabric, vec![job], &Settings::default());
                assert_eq!(
                    report.outcome,
                    Outcome::Completed,
                    "{collective:?} {algorithm:?} of {size} bytes"
                );
                assert!(report.jobs[0].runs[0].end.is_some());
            }
        }
    }
}

#[test]
fn jobs_repeat_whatever_the_queue() {
    let fabric = pod(16);
    let jobs = || {
        let size = Bytes::new(4 << 20);
        let mut one = job(&fabric, Collective::AllReduce, Algorithm::Ring, size);
        one.programs[0].repeat = 2;
        let two = job(&fabric, Collective::AllToAll, Algorithm::Pxn, Bytes::new(1 << 20));
        vec![one, two]
    };
    let wheel = run(&fabric, jobs(), &Settings::default());
    let heap = run(&fabric, jobs(), &Settings { queue: QueueKind::Heap, ..Settings::default() });
    assert_eq!(wheel.hash, heap.hash);
    assert_eq!(wheel.jobs[0].runs.len(), 2);
    assert_eq!(wheel.jobs[0].runs[1].start, wheel.jobs[0].runs[0].end.expect("an end"));
}

/// Four leaves with four servers of one GPU each, four spines.
fn leaf_spine() -> Fabric {
    let text = "[cluster]\nhosts = 16\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\n\
                leaf = 'trident-3'\nhosts-per-leaf = 4\nspines = 4\n";
    Fabric::from_toml(text).expect("a sound fabric")
}

/// Bytes that each port between switches sent in the class of data.
fn carried(fabric: &Fabric, report: &Report) -> Vec<u64> {
    let of_switch = |port: u32| fabric.node_switch(fabric.ports[port as usize].node).is_some();
    let peer = |port: u32| fabric.ports[port as usize].peer.0;
    let between = (0..fabric.ports.len() as u32).filter(|&p| of_switch(p) && of_switch(peer(p)));
    let class = usize::from(fabric.data_class.0);
    between.map(|port| report.ports[port as usize][class].tx_bytes).collect()
}

#[test]
fn another_seed_hashes_the_queue_pairs_of_a_job_to_other_paths() {
    let fabric = leaf_spine();
    let paths = |seed: u64, identity: Option<u32>| {
        let mut job = job(&fabric, Collective::AllReduce, Algorithm::Ring, Bytes::new(1 << 20));
        job.identity = identity;
        carried(&fabric, &run(&fabric, vec![job], &Settings { seed, ..Settings::default() }))
    };
    for identity in [None, Some(7)] {
        let all: Vec<Vec<u64>> = (1..=8).map(|seed| paths(seed, identity)).collect();
        assert_eq!(all[0], paths(1, identity), "the same seed goes the same ways");
        let mut distinct = all.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() >= 7, "{} results of 8 seeds", distinct.len());
    }
}

#[test]
fn a_job_with_an_identity_keeps_its_paths_when_another_job_comes() {
    let fabric = leaf_spine();
    let own = || {
        let mut job = job(&fabric, Collective::AllReduce, Algorithm::Ring, Bytes::new(1 << 20));
        job.identity = Some(7);
        job
    };
    let mut other = job(&fabric, Collective::AllToAll, Algorithm::Pairwise, Bytes::new(64 << 10));
    other.class = xoff_fabric::model::ClassId(0);
    other.clear_to_send = other.class;
    for seed in [1, 2] {
        let settings = Settings { seed, ..Settings::default() };
        let used = |jobs| -> Vec<bool> {
            carried(&fabric, &run(&fabric, jobs, &settings)).iter().map(|&b| b > 100_000).collect()
        };
        assert_eq!(used(vec![own()]), used(vec![other.clone(), own()]), "seed {seed}");
    }
}

#[test]
fn a_job_that_starts_after_six_seconds_runs() {
    let fabric = leaf_spine();
    let mut late = job(&fabric, Collective::AllReduce, Algorithm::Ring, Bytes::new(1 << 20));
    late.start = Instant::ZERO + xoff_units::Span::from_ms(16_000);
    let report = run(&fabric, vec![late], &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
    assert!(report.end > Instant::ZERO + xoff_units::Span::from_ms(16_000));
}

/// 8 GPUs of one server use no NIC: to the picosecond what the ideal network says, whose times have equations.
#[test]
fn inside_a_server_jobs_take_what_the_ideal_network_says() {
    let fabric = pod(8);
    let paths = Paths::new(&fabric);
    for collective in [Collective::AllReduce, Collective::AllGather, Collective::AllToAll] {
        for &algorithm in Algorithm::of(collective) {
            for size in [1u64 << 10, 12_345, 1 << 20, 16 << 20] {
                let mut job = job(&fabric, collective, algorithm, Bytes::new(size));
                let layout = Layout::new(&fabric, None, &Placement::Packed).expect("a layout");
                let settings = CollectiveSettings::default();
                let program = program(collective, algorithm, Bytes::new(size), &layout, &settings);
                let mut program = program.expect("a program");
                job.programs[0].program = program.clone();
                let ideal = ideal::run_on_paths(&mut program, &paths).expect("an end").end;
                let report = run(&fabric, vec![job], &Settings::default());
                let time = report.jobs[0].runs[0].time();
                let expected = Some(ideal.since(Instant::ZERO));
                assert_eq!(time, expected, "{collective:?} {algorithm:?} {size}");
            }
        }
    }
}

/// Published for 8 H100: 16.9 us at 1 KiB, 27.4 us at 1 MiB, 124 us at 16 MiB. It took 4 ns, 4 us and 73 us.
#[test]
fn a_small_all_reduce_inside_a_server_takes_microseconds() {
    let fabric = POD_32.replace("gpus = 32", "gpus = 8");
    let times = times(&fabric, "[[workload]]\nkind = 'all-reduce'\nsizes = '1KiB..16MiB'\n");
    for (at, published) in [(0, 16.9), (6, 19.5), (10, 27.4), (14, 124.0)] {
        let off = times[at] / published - 1.0;
        assert!(off.abs() < 0.45, "{} us for {published} us", times[at]);
    }
}

/// A transfer over NVLink, by GPU.
fn nvlink(from: u32, to: u32, bytes: u64) -> Work {
    Work::Nvlink { from: GpuId(from), to: GpuId(to), bytes: Bytes::new(bytes) }
}

/// GPUs 0 and 1 send to GPU 2, which takes one after the other; GPU 1 sends to GPU 3 as well. Its port has nothing
/// else to do then, so GPU 3 has its data while GPU 2 still receives.
#[test]
fn a_busy_receiver_does_not_stop_a_sender() {
    // 450 GB/s: 4.5 MB take 10 us.
    let (bytes, wire, latency) = (4_500_000, 10_000_000, 400_000);
    let fabric = pod(8);
    let end = |works: &[Work]| {
        let mut builder = GraphBuilder::new();
        for &work in works {
            builder.node(work);
        }
        let program = Program::Graph(builder.build().expect("a graph"));
        let ideal = ideal::run_on_paths(&mut program.clone(), &Paths::new(&fabric));
        let class = fabric.data_class;
        let job = Job {
            start: Instant::ZERO,
            class,
            clear_to_send: class,
            programs: vec![Turn::alone(program, 1)],
            vxlan: false,
            identity: None,
        };
        let report = run(&fabric, vec![job], &Settings::default());
        let time = report.jobs[0].runs[0].time().expect("it ended").as_ps();
        assert_eq!(time, ideal.expect("an end").end.as_ps());
        time
    };
    // Two into one port, and two out of one.
    assert_eq!(end(&[nvlink(0, 2, bytes), nvlink(1, 2, bytes)]), 2 * wire + latency);
    assert_eq!(end(&[nvlink(0, 1, bytes), nvlink(0, 2, bytes)]), 2 * wire + latency);
    // Both directions of a pair have nothing to do with each other.
    assert_eq!(end(&[nvlink(0, 1, bytes), nvlink(1, 0, bytes)]), wire + latency);
    // The second transfer of GPU 1 goes when the first has left, not when it was received: 20 us and not 30.
    let crossed = [nvlink(0, 2, bytes), nvlink(1, 2, bytes), nvlink(1, 3, bytes)];
    assert_eq!(end(&crossed), 2 * wire + latency);
    // A ring of eight that all send and receive at once keeps every port busy.
    let ring: Vec<Work> = (0..8).map(|gpu| nvlink(gpu, (gpu + 1) % 8, bytes)).collect();
    assert_eq!(end(&ring), wire + latency);
}

/// Queue pairs that congestion control has cut do not carry the sizes after: each is as fast as alone.
#[test]
fn sizes_of_a_sweep_do_not_remember_each_other() {
    let entry = |size: &str| format!("[[workload]]\nkind = 'all-reduce'\n{size}\n");
    let sweep = times(POD_32, &entry("sizes = '16MiB..128MiB'"));
    for (sweep, size) in sweep.iter().zip(["16MiB", "32MiB", "64MiB", "128MiB"]) {
        // Trees meet at NICs, and chance decides which packets are marked there: other seeds show how much
        // that is worth.
        let text = entry(&format!("size = '{size}'"));
        let alone = (1..=6).map(|seed| seeded_times(POD_32, &text, seed)[0]);
        let (low, high) = alone.fold((f64::MAX, 0.0f64), |(l, h), us| (l.min(us), h.max(us)));
        println!("{size}: {sweep} us in a sweep, {low} to {high} us alone");
        assert!((low * 0.98..high * 1.02).contains(sweep), "{sweep} us, {low} to {high} us alone");
    }
    // Kept on request, and then the same queue pairs for all sizes of an algorithm.
    let kept =
        times(POD_32, &entry("sizes = '16MiB..32MiB'\nconnections = 'kept'\nalgorithm = 'ring'"));
    assert_eq!(kept.len(), 2);
}

/// A closed queue pair's place is used again, and nothing that is still under way reaches its successor: every
/// header survives the wire, nothing is sent again, and memory does not grow with the sizes.
#[test]
fn late_packets_do_not_reach_a_new_queue_pair() {
    let workload =
        "[[workload]]\nkind = 'all-to-all-collective'\nsizes = '64B..64KiB'\nrepeat = 3\n";
    let (fabric, jobs) = jobs_of(POD_32, workload);
    let jobs = jobs.iter().map(|job| Job::of(job).expect("programs")).collect();
    let settings = Settings { check_wire: true, ..Settings::default() };
    let report = run(&fabric, jobs, &settings);
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!(report.jobs[0].runs.len(), 33);
    let counters = report.jobs[0].counters;
    assert_eq!((counters.retransmitted, counters.naks, counters.out_of_sequence), (0, 0, 0));
    assert!(report.packets.2 > 0, "acknowledgements of the sizes before come late");
}

/// On packets as on the ideal network: more bytes never take less time.
#[test]
fn more_bytes_never_take_less_time_on_packets() {
    for kind in ["all-to-all-collective", "gather", "all-gather", "all-reduce"] {
        let text = format!("[[workload]]\nkind = '{kind}'\nsizes = '64B..1MiB'\n");
        let times = times(&POD_32.replace("32", "64"), &text);
        for pair in times.windows(2) {
            // Turns of packets at a port are the noise.
            assert!(pair[1] > pair[0] * 0.995, "{kind}: {times:?}");
        }
    }
}
