//! How fast the engine is on what users run: collectives and training steps on 64 to 2,048 GPUs.
//!
//! `cargo bench -p xoff-sim --bench workloads [NAME]` runs those whose name has NAME in it. For instructions instead of
//! seconds, the program that cargo built under `valgrind --tool=callgrind`.

#![expect(clippy::disallowed_methods, reason = "a benchmark asks the clock")]

use std::error::Error;
use std::time::Instant;
use xoff_fabric::model::Fabric;
use xoff_sim::{Job, Settings, Silent};

/// As the program has it.
#[path = "../../xoff/src/memory.rs"]
#[allow(dead_code, unused_imports, reason = "the program uses and tests more of it")]
mod memory;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RAIL: &str = include_str!("../../../examples/rail-64.toml");
const POD: &str = include_str!("../../../examples/pod-1024.toml");

/// A workload on a fabric of so many GPUs.
struct Case {
    name: &'static str,
    fabric: &'static str,
    gpus: u32,
    workload: &'static str,
}

const CASES: [Case; 9] = [
    Case { name: "ring-64", fabric: POD, gpus: 64, workload: RING_64 },
    Case { name: "ring-256", fabric: POD, gpus: 256, workload: RING },
    Case { name: "ring-1024", fabric: POD, gpus: 1024, workload: RING },
    Case { name: "tree-256", fabric: POD, gpus: 256, workload: TREE },
    Case { name: "all-to-all-256", fabric: POD, gpus: 256, workload: ALL_TO_ALL },
    Case { name: "small-256", fabric: POD, gpus: 256, workload: SMALL },
    Case { name: "mixtral-64", fabric: RAIL, gpus: 64, workload: MIXTRAL_64 },
    Case { name: "mixtral-512", fabric: POD, gpus: 512, workload: MIXTRAL_512 },
    Case { name: "405b-2048", fabric: POD, gpus: 2048, workload: LLAMA_2048 },
];

const RING: &str = "kind = 'all-reduce'\nalgorithm = 'ring'\nsize = '256MiB'";
const RING_64: &str = "kind = 'all-reduce'\nalgorithm = 'ring'\nsize = '64MiB'";
const TREE: &str = "kind = 'all-reduce'\nalgorithm = 'tree'\nsize = '128MiB'";
const ALL_TO_ALL: &str = "kind = 'all-to-all-collective'\nsize = '64MiB'";
const SMALL: &str = "kind = 'all-reduce'\nsize = '64KiB'\nrepeat = 20";
const MIXTRAL_64: &str = "kind = 'training-step'\nmodel = 'mixtral-8x7b'\ngpu = 'h100'\ntp = 8\ncp = 4\nep = 4\ndp = 2\n\
     micro-batches = 1\nlayers = 2";
const MIXTRAL_512: &str = "kind = 'training-step'\nmodel = 'mixtral-8x7b'\ngpu = 'h100'\ntp = 8\ncp = 4\nep = 4\ndp = 16\n\
     micro-batches = 1\nlayers = 1";
const LLAMA_2048: &str = "kind = 'training-step'\nmodel = 'llama-3-405b'\ntp = 8\npp = 16\ndp = 16\nmicro-batches = 4\n\
     layers = 14";

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo says `--bench`.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let wanted = wanted.unwrap_or_default();
    println!(
        "{:<16}{:>14}{:>10}{:>10}{:>16}{:>12}  result",
        "", "packet-hops", "events", "seconds", "packet-hops/s", "most alive"
    );
    for case in CASES.iter().filter(|case| case.name.contains(&wanted)) {
        run(case)?;
    }
    Ok(())
}

fn run(case: &Case) -> Result<(), Box<dyn Error>> {
    let Case { name, fabric, gpus, workload } = case;
    let fabric: Vec<String> = fabric
        .lines()
        .map(|line| match line.starts_with("gpus") {
            true => format!("gpus = {gpus}"),
            false => line.to_owned(),
        })
        .collect();
    let scenario = format!("fabric = 'f.toml'\n[[workload]]\n{workload}");
    let loaded = xoff_fabric::load_scenario(&scenario, &fabric.join("\n")).into_result();
    let loaded = loaded.map_err(|found| format!("{name}: {found:?}"))?;
    let (fabric, scenario): (Fabric, _) = (loaded.setup.fabric, loaded.scenario);
    memory::suit(fabric.nics.len());
    let programs = xoff_workload::programs(&scenario.workloads, &fabric, 1)
        .map_err(|errors| format!("{name}: {errors:?}"))?;
    let jobs = programs.iter().map(Job::of).collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    let report = xoff_sim::run_jobs(&fabric, &[], jobs, &[], &Settings::default(), &mut Silent)?;
    let seconds = started.elapsed().as_secs_f64();
    let hops = report.packet_hops as f64;
    println!(
        "{name:<16}{:>14}{:>10.2}{seconds:>10.2}{:>14.2} M{:>12}  {:016x}",
        report.packet_hops,
        report.events as f64 / hops,
        hops / seconds / 1e6,
        report.most_packets,
        report.hash
    );
    Ok(())
}
