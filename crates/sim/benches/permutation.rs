//! How fast the engine is and what it holds, without the program around it: the permutation of `xoff bench` on
//! 128 and on 1,024 hosts, side by side.
//!
//! `cargo bench -p xoff-sim`. Each run is a process of its own, whose memory is counted from zero.

#![expect(clippy::disallowed_methods, reason = "a benchmark asks the clock")]

use std::env;
use std::error::Error;
use std::process::Command;
use std::time::Instant;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{Permutation, Workload};
use xoff_sim::{Settings, Silent};
use xoff_units::Bytes;

/// As the program has it.
#[path = "../../xoff/src/memory.rs"]
#[allow(dead_code, unused_imports, reason = "the program uses and tests more of it")]
mod memory;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [(&str, &str); 2] = [
    ("128", include_str!("../../../examples/bench-128.toml")),
    ("1024", include_str!("../../../examples/bench-1024.toml")),
];

/// Runs of each size; the fastest counts.
const RUNS: u32 = 4;

/// Says which size a process is to run.
const SIZE: &str = "XOFF_BENCH_HOSTS";

/// The figures of one size.
struct Figures {
    hops: f64,
    seconds: f64,
    memory: f64,
    hash: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Ok(size) = env::var(SIZE) {
        return run(&size);
    }
    let [small, large] = [measure(SIZES[0].0)?, measure(SIZES[1].0)?];
    let row = |name: &str, text: &dyn Fn(&Figures) -> String, ratio: Option<f64>| {
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        println!("{name:<24}{:>18}{:>18}{ratio:>8}", text(&small), text(&large));
    };
    println!("A permutation of 2 MB flows on fat trees of 100 Gb/s, every model on\n");
    println!("{:<24}{:>18}{:>18}{:>8}", "hosts", SIZES[0].0, SIZES[1].0, "ratio");
    row("packet-hops", &|of| of.hops.to_string(), None);
    row("packet-hops/s", &|of| format!("{:.2} M", of.hops / of.seconds / 1e6), None);
    let time = |of: &Figures| of.seconds / of.hops * 1e9;
    row("time/packet-hop", &|of| format!("{:.0} ns", time(of)), Some(time(&large) / time(&small)));
    row("peak memory", &|of| format!("{:.1} MB", of.memory / 1e6), None);
    let memory = |of: &Figures| of.memory / of.hops;
    let ratio = Some(memory(&small) / memory(&large));
    row("memory/packet-hop", &|of| format!("{:.1} B", memory(of)), ratio);
    row("result", &|of| of.hash.clone(), None);
    Ok(())
}

/// Runs a size again and again: the shortest time, and the most memory.
fn measure(size: &str) -> Result<Figures, Box<dyn Error>> {
    let mut all = (0..RUNS).map(|_| once(size));
    let first = all.next().ok_or("no runs")??;
    all.try_fold(first, |best, next| {
        let next = next?;
        assert_eq!(best.hash, next.hash, "two runs differ");
        let (seconds, memory) = (best.seconds.min(next.seconds), best.memory.max(next.memory));
        Ok(Figures { seconds, memory, ..best })
    })
}

/// Has a process of its own run a size.
fn once(size: &str) -> Result<Figures, Box<dyn Error>> {
    let output = Command::new(env::current_exe()?).env(SIZE, size).output()?;
    let text = String::from_utf8(output.stdout)?;
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [hops, seconds, memory, hash] = fields[..] else {
        return Err(format!("{size} hosts: {}", String::from_utf8_lossy(&output.stderr)).into());
    };
    let (hops, seconds, memory) = (hops.parse()?, seconds.parse()?, memory.parse()?);
    Ok(Figures { hops, seconds, memory, hash: hash.to_owned() })
}

/// Runs a size and prints its figures.
fn run(size: &str) -> Result<(), Box<dyn Error>> {
    memory::begin_with_small_pages();
    let (_, text) = SIZES.iter().find(|(name, _)| *name == size).ok_or("no such size")?;
    let fabric = Fabric::from_toml(text).map_err(|found| format!("{found:?}"))?;
    memory::suit(fabric.nics.len());
    let (settings, size) = (Settings::default(), Bytes::new(2_000_000));
    let workload = Workload::Permutation(Permutation::new(size));
    let mut no_files = |name: &str| Err(std::io::Error::other(name.to_owned()));
    let flows = xoff_workload::expand(&[workload], &fabric, settings.seed, &mut no_files)
        .map_err(|errors| format!("{errors:?}"))?;
    let started = Instant::now();
    let report = xoff_sim::run(&fabric, &flows, &[], &settings, &mut Silent)?;
    let seconds = started.elapsed().as_secs_f64();
    let memory = memory::peak().ok_or("the system does not tell how much memory was used")?;
    println!("{} {seconds} {} {:016x}", report.packet_hops, memory.get(), report.hash);
    Ok(())
}
