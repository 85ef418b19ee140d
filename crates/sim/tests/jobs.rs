//! Collectives on packets: they finish, they move what they should, and on an idle fabric they take
//! the time of their closed form.

use xoff_fabric::model::Fabric;
use xoff_sim::{Job, Outcome, QueueKind, Report, Settings, Silent};
use xoff_units::{Bytes, Instant};
use xoff_workload::collective::{Algorithm, Collective, program};
use xoff_workload::layout::{Layout, Placement};

/// Servers of 8 GPUs with a 400G NIC each, a leaf per rail.
fn pod(gpus: u32) -> Fabric {
    let text = format!(
        "[cluster]\ngpus = {gpus}\nnic = \"connectx-7\"\n[fabric]\nkind = \"rail\"\nleaf = \"tomahawk-5\"\n"
    );
    Fabric::from_toml(&text).expect("a sound fabric")
}

fn job(fabric: &Fabric, collective: Collective, algorithm: Algorithm, size: Bytes) -> Job {
    let layout = Layout::new(fabric, None, &Placement::Packed).expect("a layout");
    let settings = xoff_workload::collective::Settings::default();
    let program = program(collective, algorithm, size, &layout, &settings).expect("a program");
    let class = fabric.data_class;
    Job {
        start: Instant::ZERO,
        class,
        clear_to_send: class,
        programs: vec![(program, 1)],
        vxlan: false,
        identity: None,
    }
}

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
        one.programs[0].1 = 2;
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
