//! Fidelity `flow` beside `packet`: the same scenarios both ways, and how far their times are apart.
//!
//! `cargo test --release -p xoff-sim --test fidelity -- --ignored --nocapture` prints the table of `docs/fidelity.md`.
#![allow(clippy::print_stdout, reason = "the table is for readers")]
#![allow(clippy::disallowed_methods, reason = "the table says how long each took")]

use std::time::Instant as Clock;
use xoff_fabric::model::{Fabric, PortId};
use xoff_fabric::scenario::Fidelity;
use xoff_sim::{Job, Outcome, Refusal, Report, Settings, Silent, SimError};

/// A scenario of the table: its name, its fabric, and what runs on it.
type Row = (&'static str, String, String);

fn rail(gpus: u32, per_leaf: u32) -> String {
    format!(
        "[cluster]\ngpus = {gpus}\nnic = 'connectx-7'\n\
         [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\nhosts-per-leaf = {per_leaf}\n"
    )
}

/// The same with NVSwitches that add up.
fn rail_nvls(gpus: u32, per_leaf: u32) -> String {
    rail(gpus, per_leaf).replace("[fabric]", "nvls = true\n[fabric]")
}

/// 32 hosts with 100G on four leaves.
fn leaf_spine(spines: u32) -> String {
    format!(
        "[cluster]\nhosts = 32\nnic = 'generic-100g'\n\
         [fabric]\nkind = 'leaf-spine'\nleaf = 'trident-3'\nhosts-per-leaf = 8\nspines = {spines}\n"
    )
}

const NO_CONTROL: &str = "[transport]\ncongestion = { kind = 'none' }\n";
const HPCC: &str = "[transport]\ncongestion = { kind = 'hpcc' }\n";
const AGGREGATION: &str = "[switch]\naggregation = {}\n";
const SPRAY: &str = "[switch.balancing]\nkind = 'spray'\n\
                     [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n";

fn collective(kind: &str, size: &str, more: &str) -> String {
    format!("[[workload]]\nkind = '{kind}'\nsize = '{size}'\n{more}\n")
}

fn step(text: &str) -> String {
    format!("[[workload]]\nkind = 'training-step'\n{text}\n")
}

fn rows() -> Vec<Row> {
    let ring = "algorithm = 'ring'";
    let two = |size: &str| {
        let one = collective(
            "all-reduce",
            size,
            "algorithm = 'ring'\nranks = 128\nplacement = 'fragmented'",
        );
        one + &collective(
            "all-reduce",
            size,
            "algorithm = 'ring'\nranks = 64\nplacement = 'fragmented'",
        )
    };
    let fragmented = "algorithm = 'ring'\nranks = 128\nplacement = 'fragmented'";
    let mixtral = "model = 'mixtral-8x7b'\ngpu = 'h100'\ntp = 8\ncp = 4\nep = 4\ndp = 2\nmicro-batches = 1\nlayers = 4";
    let pipeline = "model = 'llama-3-70b'\ntp = 8\npp = 4\ndp = 2\nmicro-batches = 4\nlayers = 8";
    let sharded = "model = 'llama-3-8b'\ndp = 64\nmicro-batches = 1\nlayers = 2";
    vec![
        ("ring AllReduce, 64 GPUs, 64 MiB", rail(64, 32), collective("all-reduce", "64MiB", ring)),
        (
            "ring AllReduce, 64 GPUs, 256 MiB",
            rail(64, 32),
            collective("all-reduce", "256MiB", ring),
        ),
        (
            "ring AllReduce, 256 GPUs, 256 MiB",
            rail(256, 8),
            collective("all-reduce", "256MiB", ring),
        ),
        (
            "tree AllReduce, 64 GPUs, 16 MiB",
            rail(64, 32),
            collective("all-reduce", "16MiB", "algorithm = 'tree'"),
        ),
        (
            "tree AllReduce, 256 GPUs, 64 MiB",
            rail(256, 8),
            collective("all-reduce", "64MiB", "algorithm = 'tree'"),
        ),
        (
            "rail AllReduce, 256 GPUs, 64 MiB",
            rail(256, 8),
            collective("all-reduce", "64MiB", "algorithm = 'rail'"),
        ),
        ("AllReduce, 64 GPUs, 64 KiB", rail(64, 32), collective("all-reduce", "64KiB", "")),
        ("AllReduce, 64 GPUs, 1 MiB", rail(64, 32), collective("all-reduce", "1MiB", "")),
        ("AllGather, 64 GPUs, 64 MiB", rail(64, 32), collective("all-gather", "64MiB", "")),
        ("ReduceScatter, 64 GPUs, 64 MiB", rail(64, 32), collective("reduce-scatter", "64MiB", "")),
        ("Broadcast, 64 GPUs, 64 MiB", rail(64, 32), collective("broadcast", "64MiB", "")),
        ("Gather, 32 GPUs, 32 MiB", rail(32, 32), collective("gather", "32MiB", "")),
        ("send-recv, 64 GPUs, 16 MiB", rail(64, 32), collective("send-recv", "16MiB", "")),
        (
            "PAT AllGather, 8 GPUs, 4 MiB",
            rail(64, 32),
            collective(
                "all-gather",
                "4MiB",
                "algorithm = 'pat'\nplacement = [0, 8, 16, 24, 32, 40, 48, 56]",
            ),
        ),
        (
            "AllToAll, 64 GPUs, 64 MiB",
            rail(64, 32),
            collective("all-to-all-collective", "64MiB", ""),
        ),
        (
            "AllToAll, 256 GPUs, 64 MiB",
            rail(256, 8),
            collective("all-to-all-collective", "64MiB", ""),
        ),
        (
            "AllToAll, skewed, 64 GPUs",
            rail(64, 32),
            collective("all-to-all-collective", "32MiB", "skew = 2.0"),
        ),
        (
            "direct AllToAll, 64 GPUs, 8 MiB",
            rail(64, 32),
            collective("all-to-all-collective", "8MiB", "algorithm = 'direct'"),
        ),
        (
            "one fragmented ring, 16 MiB",
            rail(256, 8),
            collective("all-reduce", "16MiB", fragmented),
        ),
        (
            "one fragmented ring, 64 MiB",
            rail(256, 8),
            collective("all-reduce", "64MiB", fragmented),
        ),
        ("two fragmented rings, 16 MiB", rail(256, 8), two("16MiB")),
        ("two fragmented rings, 64 MiB", rail(256, 8), two("64MiB")),
        ("the same, HPCC", rail(256, 8) + HPCC, two("64MiB")),
        ("the same, no control", rail(256, 8) + NO_CONTROL, two("64MiB")),
        (
            "NVLS AllReduce, 8 GPUs, 64 MiB",
            rail_nvls(8, 32),
            collective("all-reduce", "64MiB", "algorithm = 'nvls'"),
        ),
        (
            "NVLS tree, 64 GPUs, 64 MiB",
            rail_nvls(64, 32),
            collective("all-reduce", "64MiB", "algorithm = 'nvls-tree'"),
        ),
        (
            "NVLS tree, 256 GPUs, 64 MiB",
            rail_nvls(256, 8),
            collective("all-reduce", "64MiB", "algorithm = 'nvls-tree'"),
        ),
        (
            "in-network, 32 hosts, 16 MiB",
            leaf_spine(8) + AGGREGATION,
            collective("all-reduce", "16MiB", "algorithm = 'in-network'"),
        ),
        (
            "in-network, 64 GPUs, 64 MiB",
            rail(64, 4) + AGGREGATION,
            collective("all-reduce", "64MiB", "algorithm = 'in-network'"),
        ),
        ("the same, sprayed", rail(256, 8) + SPRAY, two("64MiB")),
        ("Mixtral step, 4 layers, 64 GPUs", rail(64, 32), step(mixtral)),
        ("70B step, 8 layers, 64 GPUs, PP 4", rail(64, 32), step(pipeline)),
        ("8B step, 2 layers, 64 GPUs, DP 64", rail(64, 32), step(sharded)),
        (
            "permutation, no control",
            leaf_spine(8) + NO_CONTROL,
            collective("permutation", "4MB", ""),
        ),
        ("permutation, HPCC", leaf_spine(8) + HPCC, collective("permutation", "4MB", "")),
        ("permutation, DCQCN", leaf_spine(8), collective("permutation", "4MB", "")),
        (
            "incast 16 to 1, no control",
            leaf_spine(8) + NO_CONTROL,
            collective("incast", "2MB", "senders = 16"),
        ),
        ("incast 16 to 1, DCQCN", leaf_spine(8), collective("incast", "2MB", "senders = 16")),
        (
            "all to all, no control",
            leaf_spine(8) + NO_CONTROL,
            collective("all-to-all", "200KB", ""),
        ),
    ]
}

fn run(row: &Row, fidelity: Fidelity, seed: u64) -> (Report, Fabric, f64) {
    let (name, fabric, workloads) = row;
    let text = format!("fabric = 'f.toml'\n{workloads}");
    let setup = xoff_fabric::load_scenario(&text, fabric).into_result();
    let setup = setup.unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    let fabric = setup.setup.fabric;
    let workloads = &setup.scenario.workloads;
    let mut none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let flows = xoff_workload::expand(workloads, &fabric, seed, &mut none).expect("flows");
    let jobs = xoff_workload::programs(workloads, &fabric, seed).expect("jobs");
    let jobs = jobs.iter().map(|job| Job::of(job).expect("programs")).collect();
    let settings = Settings { fidelity, seed, ..Settings::default() };
    let clock = Clock::now();
    let report = xoff_sim::run_jobs(&fabric, &flows, jobs, &[], &settings, &mut Silent);
    let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(report.outcome, Outcome::Completed, "{name}");
    (report, fabric, clock.elapsed().as_secs_f64())
}

/// Times of all runs and flows, in microseconds.
fn times(report: &Report) -> Vec<f64> {
    let runs = report.jobs.iter().flat_map(|job| &job.runs).filter_map(|run| run.time());
    let flows = report.flows.iter().filter_map(|flow| flow.completion());
    runs.chain(flows).map(|time| time.as_us_f64()).collect()
}

/// How far the times of flows are from those of packets: in the mean, without and with their sign.
fn errors(packet: &Report, flow: &Report) -> (f64, f64) {
    let (meant, found) = (times(packet), times(flow));
    assert_eq!(meant.len(), found.len());
    let errors = meant.iter().zip(&found).map(|(meant, found)| found / meant - 1.0);
    let count = meant.len() as f64;
    (errors.clone().map(f64::abs).sum::<f64>() / count, errors.sum::<f64>() / count)
}

#[test]
#[ignore = "minutes: the table of docs/fidelity.md"]
fn table() {
    let only = std::env::var("XOFF_ROW").unwrap_or_default();
    let (mut sum, mut count) = (0.0, 0);
    println!(
        "| scenario | packet | flow | mean error | | wall | | |\n|---|---|---|---|---|---|---|---|"
    );
    for row in rows().iter().filter(|row| row.0.contains(&only)) {
        let (packet, _, packet_wall) = run(row, Fidelity::Packet, 1);
        let (flow, _, flow_wall) = run(row, Fidelity::Flow, 1);
        let last = |report: &Report| times(report).into_iter().fold(0.0, f64::max);
        let (mean, signed) = errors(&packet, &flow);
        if !packet.jobs.is_empty() {
            (sum, count) = (sum + mean, count + 1);
        }
        println!(
            "| {} | {:.1} us | {:.1} us | {:.1} % | {:+.1} % | {:.2} s | {:.3} s | {:.0}x |",
            row.0,
            last(&packet),
            last(&flow),
            100.0 * mean,
            100.0 * signed,
            packet_wall,
            flow_wall,
            packet_wall / flow_wall
        );
    }
    println!(
        "mean error of {count} collectives and steps: {:.2} %",
        100.0 * sum / f64::from(count)
    );
}

fn row(name: &str) -> Row {
    rows().into_iter().find(|row| row.0 == name).expect("a row of that name")
}

/// Both ways, and the error of the times.
fn compared(name: &str) -> (Report, Report, f64) {
    let row = row(name);
    let (packet, ..) = run(&row, Fidelity::Packet, 1);
    let (flow, ..) = run(&row, Fidelity::Flow, 1);
    let (mean, _) = errors(&packet, &flow);
    (packet, flow, mean)
}

/// Sums inside NVSwitches, in trees of servers, and in the switches of the network.
#[test]
fn sums_that_switches_make_take_the_same_time() {
    let rows = [
        ("NVLS AllReduce, 8 GPUs, 64 MiB", 0.005),
        ("NVLS tree, 64 GPUs, 64 MiB", 0.03),
        ("in-network, 32 hosts, 16 MiB", 0.01),
    ];
    for (name, most) in rows {
        let (packet, flow, error) = compared(name);
        assert!(error < most, "{name}: {:?} {:?}", times(&packet), times(&flow));
    }
}

#[test]
fn collectives_that_nothing_is_in_the_way_of_take_the_same_time() {
    let rows = [
        ("AllReduce, 64 GPUs, 64 KiB", 0.005),
        ("AllReduce, 64 GPUs, 1 MiB", 0.005),
        ("PAT AllGather, 8 GPUs, 4 MiB", 0.025),
    ];
    for (name, most) in rows {
        let (packet, flow, error) = compared(name);
        assert!(error < most, "{name}: {:?} {:?}", times(&packet), times(&flow));
    }
}

/// Source ports are given out in the same order, so every link carries the same bytes.
#[test]
fn every_link_carries_what_it_carries_as_packets() {
    let row = (
        "",
        rail(128, 4),
        collective("all-reduce", "64MiB", "algorithm = 'ring'\nplacement = 'fragmented'"),
    );
    let (packet, fabric, _) = run(&row, Fidelity::Packet, 3);
    let (flow, ..) = run(&row, Fidelity::Flow, 3);
    let bytes = |report: &Report, port: usize| -> f64 {
        report.ports[port].iter().map(|class| class.wire_bytes as f64).sum()
    };
    let mut used = 0;
    for port in 0..fabric.ports.len() {
        let (meant, found) = (bytes(&packet, port), bytes(&flow, port));
        // Acknowledgements and clear-to-sends are no flows. A queue pair on another link would be half of all.
        let peer = fabric.ports[port].peer;
        let slack = 0.08 * (meant + bytes(&packet, peer.index()));
        assert!(
            (meant - found).abs() <= slack + 4096.0,
            "port {}: {meant} {found}",
            PortId(port as u32)
        );
        used += u32::from(found > 0.0);
    }
    assert!(used > 128, "{used}");
    assert!(errors(&packet, &flow).0 < 0.05, "{:?} {:?}", times(&packet), times(&flow));
}

#[test]
fn flows_without_congestion_control_take_the_time_of_fair_shares() {
    for name in ["permutation, no control", "all to all, no control"] {
        let (packet, flow, error) = compared(name);
        assert!(error < 0.05, "{name}: {error}");
        let last = |report: &Report| times(report).into_iter().fold(0.0, f64::max);
        assert!((last(&flow) / last(&packet) - 1.0).abs() < 0.01, "{name}");
    }
}

/// Two senders over a cable of 40G, with NICs of 100G: what follows the last byte is no more than the latency of the way.
#[test]
fn links_slower_than_the_nics_cost_their_time_once() {
    let fabric = "[[node]]\nname = 'a'\nkind = 'nic'\n[[node]]\nname = 'b'\nkind = 'nic'\n\
        [[node]]\nname = 'c'\nkind = 'nic'\n[[node]]\nname = 'near'\nkind = 'switch'\n\
        [[node]]\nname = 'far'\nkind = 'switch'\n\
        [[link]]\nends = 'a near'\n[[link]]\nends = 'b near'\n[[link]]\nends = 'c far'\n\
        [[link]]\nends = 'near far'\nrate = '40Gbps'\n\
        [cluster]\nnic = 'generic-100g'\n[fabric]\nkind = 'custom'\n[ecn]\nenabled = false\n";
    let fabric = format!("{fabric}{NO_CONTROL}");
    for (from, about) in [("a", 8e6 / 40e3), ("a b", 16e6 / 40e3)] {
        let flow = |from| format!("{{ source = '{from}', destination = 'c', size = '1MB' }}");
        let flows = from.split(' ').map(flow).collect::<Vec<_>>().join(", ");
        let flows = format!("[[workload]]\nkind = 'flows'\nlist = [{flows}]\n");
        let row = ("", fabric.clone(), flows);
        let (packet, flow) = (run(&row, Fidelity::Packet, 1).0, run(&row, Fidelity::Flow, 1).0);
        let (packet, flow) = (times(&packet), times(&flow));
        for (packet, flow) in packet.iter().zip(&flow) {
            assert!((flow / packet - 1.0).abs() < 0.01, "{packet} {flow}");
            assert!((about..about * 1.2).contains(flow), "{flow} for {about}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_one_another() {
    let row = row("two fragmented rings, 16 MiB");
    let hash = |seed| run(&row, Fidelity::Flow, seed).0.hash;
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

/// A larger message never takes less time, and more that competes never makes anything faster.
#[test]
fn more_is_never_faster() {
    let time = |size: u32, others: u32| {
        let mut text = collective(
            "all-reduce",
            &format!("{size}MiB"),
            "algorithm = 'ring'\nranks = 64\nplacement = 'fragmented'",
        );
        for _ in 0..others {
            text += &collective(
                "all-reduce",
                "64MiB",
                "algorithm = 'ring'\nranks = 128\nplacement = 'fragmented'",
            );
        }
        times(&run(&("", rail(256, 8), text), Fidelity::Flow, 1).0)[0]
    };
    let sizes: Vec<f64> = [1, 4, 16, 64].map(|size| time(size, 0)).to_vec();
    assert!(sizes.is_sorted(), "{sizes:?}");
    let others: Vec<f64> = [0, 1, 2].map(|others| time(16, others)).to_vec();
    assert!(others.is_sorted_by(|one, more| *more >= one * 0.999), "{others:?}");
}

#[test]
fn what_flows_cannot_show_is_refused_by_name() {
    let refused = |fabric: String, workloads: &str, settings: Settings| {
        let text = format!("fabric = 'f.toml'\n{workloads}");
        let setup = xoff_fabric::load_scenario(&text, &fabric).into_result().expect("sound files");
        let (fabric, scenario) = (setup.setup.fabric, setup.scenario);
        let mut none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
        let flows =
            xoff_workload::expand(&scenario.workloads, &fabric, 1, &mut none).expect("flows");
        let settings = Settings { fidelity: Fidelity::Flow, ..settings };
        match xoff_sim::run(&fabric, &flows, &scenario.faults, &settings, &mut Silent) {
            Err(SimError::Flow(refusal)) => Some(refusal),
            Ok(_) => None,
            Err(other) => panic!("{other}"),
        }
    };
    let pairs = "[[workload]]\nkind = 'permutation'\nsize = '1MB'\n";
    let fault =
        format!("{pairs}[[fault]]\nkind = 'link-down'\nat = '1us'\nlink = 'leaf0 spine0'\n");
    let scraped = Settings { scrape_period: xoff_units::Span::from_us(10), ..Settings::default() };
    let lossy = leaf_spine(8) + "[pfc]\nenabled = false\n";
    let none = Settings::default;
    assert_eq!(refused(leaf_spine(8), pairs, none()), None);
    assert_eq!(refused(leaf_spine(8), &fault, none()), Some(Refusal::Faults));
    assert_eq!(refused(leaf_spine(8), pairs, scraped), Some(Refusal::Counters));
    assert_eq!(refused(lossy, pairs, none()), Some(Refusal::Lossy));
}
