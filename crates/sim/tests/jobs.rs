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
