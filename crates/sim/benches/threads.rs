//! What several threads are worth: the permutation of `xoff bench` on 1,024 hosts, in turns with one and with two threads, and
//! the speedup that more threads could have at most, by the events that the busiest one handles in each step.
//!
//! `cargo bench -p xoff-sim --bench threads`

#![expect(clippy::disallowed_methods, reason = "a benchmark asks the clock")]

use std::error::Error;
use std::time::Instant;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{Permutation, Workload};
use xoff_sim::{Report, Settings, Silent, Threads};
use xoff_units::Bytes;
use xoff_workload::Flow;

/// As the program has it.
#[path = "../../xoff/src/memory.rs"]
#[allow(dead_code, unused_imports, reason = "the program uses and tests more of it")]
mod memory;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What each flow moves.
const FLOW: Bytes = Bytes::new(4_000_000);

/// Turns of one and two threads.
const TURNS: usize = 8;

/// Thread counts of which only the work is counted.
const COUNTED: [usize; 5] = [3, 4, 8, 16, 64];

fn main() -> Result<(), Box<dyn Error>> {
    let fabric = Fabric::from_toml(include_str!("../../../examples/bench-1024.toml"))
        .map_err(|found| format!("{found:?}"))?;
    memory::suit(fabric.nics.len());
    let workload = Workload::Permutation(Permutation::new(FLOW));
    let mut no_files = |name: &str| Err(std::io::Error::other(name.to_owned()));
    let flows = xoff_workload::expand(&[workload], &fabric, 1, &mut no_files)
        .map_err(|errors| format!("{errors:?}"))?;
    let mut ratios = Vec::new();
    println!("{:>8}{:>16}{:>16}{:>9}  result", "threads", "seconds", "packet-hops/s", "faster");
    for _ in 0..TURNS {
        let (one, alone) = run(&fabric, &flows, 1)?;
        let (two, both) = run(&fabric, &flows, 2)?;
        assert_eq!(one.hash, two.hash, "threads change the result");
        for (threads, report, seconds) in [(1, &one, alone), (2, &two, both)] {
            let speed = report.packet_hops as f64 / seconds / 1e6;
            let (faster, hash) = (alone / seconds, report.hash);
            println!("{threads:>8}{seconds:>16.3}{speed:>14.2} M{faster:>9.2}  {hash:016x}");
        }
        ratios.push(alone / both);
    }
    ratios.sort_by(f64::total_cmp);
    println!("median {:.2}, best {:.2}\n", ratios[TURNS / 2], ratios[TURNS - 1]);
    println!("{:>8}{:>16}{:>16}{:>10}", "threads", "side by side", "at most", "steps");
    for threads in [2].into_iter().chain(COUNTED) {
        let (report, _) = run(&fabric, &flows, threads)?;
        let did = report.sections;
        let share = did.events as f64 / report.events as f64;
        let most = did.events as f64 / did.critical as f64;
        println!("{threads:>8}{share:>16.2}{most:>16.2}{:>10}", did.steps);
    }
    Ok(())
}

fn run(fabric: &Fabric, flows: &[Flow], threads: usize) -> Result<(Report, f64), Box<dyn Error>> {
    let settings = Settings { threads: Threads::up_to(threads), ..Settings::default() };
    let started = Instant::now();
    let report = xoff_sim::run(fabric, flows, &[], &settings, &mut Silent)?;
    Ok((report, started.elapsed().as_secs_f64()))
}
