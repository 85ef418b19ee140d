//! How fast the engine is where nothing fits the caches: permutations on 8,192 NICs of 400G, which switches spread packet by
//! packet, as `xoff plan` has it, or hash.
//!
//! `cargo bench -p xoff-sim --bench large [NAME]` runs those whose name has NAME in it, one on 1,024 hosts of 100G for
//! comparison.

#![expect(clippy::disallowed_methods, reason = "a benchmark asks the clock")]

use std::error::Error;
use std::time::Instant;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{Permutation, Workload};
use xoff_sim::{Settings, Silent};
use xoff_units::{Bytes, Span};

/// As the program has it.
#[path = "../../xoff/src/memory.rs"]
#[allow(dead_code, unused_imports, reason = "the program uses and tests more of it")]
mod memory;

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// More than any NIC sends in the time of a run.
const FLOW: Bytes = Bytes::new(150_000_000);

const HASHED: &str = "[cluster]\ngpus = 8192\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n\
     leaves = 128\nspines = 64\n[links.host]\nlength = '10m'\n\
     [links.leaf-spine]\nrate = '400Gbps'\nlength = '40m'\nmedia = '800g-2xsr4'\n";
const SPRAYED: &str = "[switch.balancing]\nkind = 'dlb'\nper = 'packet'\n\
     [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n";
const POD: &str = include_str!("../../../examples/bench-1024.toml");

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo says `--bench`.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let wanted = wanted.unwrap_or_default();
    let sprayed = format!("{HASHED}{SPRAYED}");
    let cases = [
        ("sprayed-8192", sprayed.as_str(), 30),
        ("hashed-8192", HASHED, 30),
        ("hashed-1024", POD, 200),
    ];
    println!("{:<16}{:>14}{:>8}{:>10}{:>16}  result", "", "packet-hops", "events", "s", "per s");
    for (name, fabric, us) in cases.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        let fabric = Fabric::from_toml(fabric).map_err(|found| format!("{name}: {found:?}"))?;
        memory::suit(fabric.nics.len());
        let workload = Workload::Permutation(Permutation::new(FLOW));
        let mut no_files = |name: &str| Err(std::io::Error::other(name.to_owned()));
        let flows = xoff_workload::expand(&[workload], &fabric, 1, &mut no_files)
            .map_err(|errors| format!("{name}: {errors:?}"))?;
        let until = Some(xoff_units::Instant::ZERO + Span::from_us(us));
        let settings = Settings { until, ..Settings::default() };
        let started = Instant::now();
        let report = xoff_sim::run(&fabric, &flows, &[], &settings, &mut Silent)?;
        let seconds = started.elapsed().as_secs_f64();
        let hops = report.packet_hops as f64;
        println!(
            "{name:<16}{:>14}{:>8.2}{seconds:>10.2}{:>14.2} M  {:016x}",
            report.packet_hops,
            report.events as f64 / hops,
            hops / seconds / 1e6,
            report.hash
        );
    }
    Ok(())
}
