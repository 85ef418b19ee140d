//! How fast the engine is when PFC does all the work: incasts without congestion control, in which queues stay
//! paused for milliseconds and buffers stay full.
//!
//! `cargo bench -p xoff-sim --bench incast`.
//!
//! - `incast`: 240 NICs send to one over a leaf-spine fabric.
//! - `storm`: 15 NICs on different leaves receive from all others at once; uplinks and downlinks are paused
//!   everywhere, so that pauses alone do not rule a deadlock out.
//! - `routes`: the same with a link that fails: routes no longer rule it out either, and packets are read.

#![expect(clippy::disallowed_methods, reason = "a benchmark asks the clock")]

use std::error::Error;
use std::time::Instant;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{
    Common, Fault, Incast, LinkChoice, LinkDown, NodeRef, Reaction, Workload,
};
use xoff_sim::{Outcome, Settings, Silent};
use xoff_units::{Bytes, Span};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FABRIC: &str = "[cluster]\nhosts = 256\nnic = 'generic-100g'\n\
    [fabric]\nkind = 'leaf-spine'\nleaf = 'trident-3'\nhosts-per-leaf = 16\nspines = 8\n\
    [ecn]\nenabled = false\n[transport]\ntimeout = '500ms'\n[transport.congestion]\nkind = 'none'\n";

/// Runs of each case; the fastest counts.
const RUNS: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let fabric = Fabric::from_toml(FABRIC).map_err(|found| format!("{found:?}"))?;
    let one = [incast(0, 240, 1_000_000)];
    let storm: Vec<Workload> = (0..15).map(|leaf| incast(leaf * 16, 255, 256_000)).collect();
    let links = LinkChoice { link: Some("leaf15 spine7".to_owned()), ..LinkChoice::default() };
    let (at, reaction) = (Span::from_us(10), Reaction::after(Span::from_us(50), Span::from_ms(10)));
    let broken =
        [Fault::LinkDown(LinkDown { links, at, restore_after: None, silent: false, reaction })];
    println!("PFC only, no congestion control, 256 hosts at 100 Gb/s\n");
    println!(
        "{:<10}{:>14}{:>16}{:>14}{:>20}",
        "case", "packet-hops", "packet-hops/s", "XOFF", "result"
    );
    measure("incast", &fabric, &one, &[])?;
    measure("storm", &fabric, &storm, &[])?;
    measure("routes", &fabric, &storm, &broken)
}

/// So many NICs that send so many bytes each to one.
fn incast(target: u32, senders: u32, bytes: u64) -> Workload {
    Workload::Incast(Incast {
        size: Bytes::new(bytes),
        senders: Some(senders),
        target: Some(NodeRef::Number(target)),
        common: Common::default(),
    })
}

/// Runs a case and prints its row.
fn measure(
    name: &str,
    fabric: &Fabric,
    workloads: &[Workload],
    faults: &[Fault],
) -> Result<(), Box<dyn Error>> {
    let settings = Settings::default();
    let mut no_files = |name: &str| Err(std::io::Error::other(name.to_owned()));
    let flows = xoff_workload::expand(workloads, fabric, settings.seed, &mut no_files)
        .map_err(|errors| format!("{errors:?}"))?;
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..RUNS {
        let started = Instant::now();
        let report = xoff_sim::run(fabric, &flows, faults, &settings, &mut Silent)?;
        best = best.min(started.elapsed().as_secs_f64());
        last = Some(report);
    }
    let report = last.ok_or("no runs")?;
    assert_eq!(report.outcome, Outcome::Completed, "{name}");
    let (hops, rate) = (report.packet_hops, report.packet_hops as f64 / best / 1e6);
    let (pauses, hash) = (report.xoff_frames(), format!("{:016x}", report.hash));
    println!("{name:<10}{hops:>14}{:>16}{pauses:>14}{hash:>20}", format!("{rate:.2} M"));
    Ok(())
}
