//! Settings of a fabric file that must not only be read: what each does to traffic.

use crate::scene::Scene;

/// Four servers of 4 NICs, a server per leaf: all traffic between servers crosses four spines by hash.
const ECMP: &str = "[cluster]\ngpus = 16\ngpus-per-server = 4\nnic = 'connectx-7'\n\
                    [fabric]\nkind = 'leaf-spine'\nleaf = 'tomahawk-4'\nhosts-per-leaf = 4\nspines = 4\n";

const COLLECTIVE: &str = "kind = 'all-reduce'\nsize = '16MiB'\nalgorithm = 'ring'\ncost = 'none'\n";
const STEP: &str = "kind = 'training-step'\n\
    model = { layers = 4, hidden = 512, heads = 8, ffn = 1024, vocabulary = 8192 }\nsequence = 1024\n\
    micro-batches = 4\ntp = 1\npp = 4\ndp = 4\n";
const CACHE: &str = "kind = 'kv-cache'\nprefill = [0, 1]\ndecode = [2, 3]\ntokens = 100\n\
    bytes-per-token = '40KB'\nrequests-per-second = 20000\nrequests = 20\n";
const FLOWS: &str = "kind = 'permutation'\nsize = '4MB'\n";

/// Hash of a run, and connections that it used.
fn run(fabric: &str, workload: &str) -> u64 {
    let scenario = format!("fabric = ''\n[[workload]]\n{workload}");
    Scene::of("settings", &scenario, fabric).run().report.hash
}

#[test]
fn connections_have_the_queue_pairs_of_the_fabric_unless_a_workload_says_otherwise() {
    let four = format!("{ECMP}[transport]\nqueue-pairs = 4\n");
    for workload in [COLLECTIVE, STEP, CACHE] {
        let own = run(ECMP, &format!("{workload}qps = 4\n"));
        assert_ne!(run(ECMP, workload), own, "one and four are not the same: {workload}");
        assert_eq!(run(&four, workload), own, "{workload}");
        assert_eq!(run(&four, &format!("{workload}qps = 1\n")), run(ECMP, workload));
    }
    assert_eq!(run(&four, FLOWS), run(ECMP, FLOWS), "a flow has one queue pair");
}

/// More queue pairs find more of the paths: the mean over seeds, since a hash decides.
#[test]
fn more_queue_pairs_spread_an_all_reduce_better() {
    let time = |pairs: u32| {
        let fabric = format!("{ECMP}[transport]\nqueue-pairs = {pairs}\n");
        let scenario = format!("fabric = ''\n[[workload]]\n{COLLECTIVE}");
        let scene = Scene::of("queue pairs", &scenario, &fabric);
        let total: f64 = (1..=5)
            .map(|seed| {
                let run = scene.run_seeded(seed);
                run.report.jobs[0].runs[0].time().expect("an end").as_us_f64()
            })
            .sum();
        total / 5.0
    };
    let (one, sixteen) = (time(1), time(16));
    println!("one queue pair {one:.0} us, sixteen {sixteen:.0} us");
    assert!(sixteen < 0.9 * one, "{sixteen} us against {one} us");
}
