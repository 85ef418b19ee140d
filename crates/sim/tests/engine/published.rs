//! Published bus bandwidths beside those of collectives on packets, with one set of parameters:
//! `cargo test -p xoff-sim --release --test engine published -- --ignored --nocapture` prints the table of
//! `docs/collectives.md`, where the parameters are argued.

use xoff_fabric::model::Fabric;
use xoff_sim::{Job, Outcome, Settings, Silent};
use xoff_units::{Bytes, Instant};
use xoff_workload::Turn;
use xoff_workload::collective::{self, Algorithm, Collective, Figures, program};
use xoff_workload::layout::{Layout, Placement};

/// Servers of 8 GPUs with a 400G NIC each on rails, as files have them by default.
fn pod(gpus: u32) -> Fabric {
    let text = format!(
        "[cluster]\ngpus = {gpus}\nnic = \"connectx-7\"\n\
         [fabric]\nkind = \"rail\"\nleaf = \"tomahawk-5\"\n"
    );
    Fabric::from_toml(&text).expect("a sound fabric")
}

/// Our bus bandwidth in GB/s, and packet-hops.
fn measure(gpus: u32, collective: Collective, algorithm: Algorithm, size: u64) -> (f64, u64) {
    let fabric = pod(gpus);
    let layout = Layout::new(&fabric, None, &Placement::Packed).expect("a layout");
    let (settings, size) = (collective::Settings::default(), Bytes::new(size));
    let program = program(collective, algorithm, size, &layout, &settings).expect("a program");
    let class = fabric.data_class;
    let job = Job {
        start: Instant::ZERO,
        class,
        clear_to_send: class,
        vxlan: false,
        identity: None,
        programs: vec![Turn::alone(program, 1)],
    };
    let report =
        xoff_sim::run_jobs(&fabric, &[], vec![job], &[], &Settings::default(), &mut Silent);
    let report = report.expect("a run");
    assert_eq!(report.outcome, Outcome::Completed);
    let time = report.jobs[0].runs[0].time().expect("it ended");
    (Figures::new(collective, size, gpus, time).bus_bandwidth / 1e9, report.packet_hops)
}

/// Prints a row, and gives the error.
fn row(
    gpus: u32,
    (collective, algorithm): (Collective, Algorithm),
    size: u64,
    published: f64,
) -> f64 {
    let (ours, hops) = measure(gpus, collective, algorithm, size);
    let error = ours / published - 1.0;
    println!(
        "| {gpus:>4} | {:<10} | {:>5} MiB | {published:>6.1} | {ours:>6.1} | {:>+6.1} % | {:>5.0} M |",
        collective.name(),
        size >> 20,
        error * 100.0,
        hops as f64 / 1e6
    );
    error
}

const RING: (Collective, Algorithm) = (Collective::AllReduce, Algorithm::Ring);
const GATHER: (Collective, Algorithm) = (Collective::AllGather, Algorithm::Ring);
const PAIRS: (Collective, Algorithm) = (Collective::AllToAll, Algorithm::Pxn);

/// What fits a minute: a lap of a ring with full chunks is 32 MiB per rank, and larger sizes are
/// more of the same laps.
#[test]
#[ignore = "takes a minute or two"]
fn beside_the_published() {
    println!("| GPUs | collective | size | published | ours | error | packet-hops |");
    for (gpus, published) in [(32, 356.99), (64, 355.36)] {
        let error = row(gpus, RING, u64::from(gpus) * (32 << 20), published);
        assert!(error.abs() < 0.10, "{gpus} GPUs: {error}");
    }
    for (gpus, published) in [(32, 330.92), (64, 293.71)] {
        row(gpus, GATHER, 2 << 30, published);
    }
    row(32, PAIRS, 2 << 30, 54.07);
    row(64, PAIRS, 1 << 30, 49.63);
}

/// That size says all: twice the laps, the same bandwidth.
#[test]
#[ignore = "takes a minute"]
fn bandwidth_is_flat_from_a_lap_on() {
    let of = |laps: u64| measure(32, RING.0, RING.1, laps << 30).0;
    let (one, two) = (of(1), of(2));
    println!("32 GPUs: {one:.1} GB/s at 1 GiB, {two:.1} GB/s at 2 GiB");
    assert!((two / one - 1.0).abs() < 0.05, "{one} and {two} GB/s");
}

/// More GPUs: minutes each.
#[test]
#[ignore = "takes many minutes"]
fn beside_the_published_at_scale() {
    for (gpus, published) in [(128, 356.27), (256, 321.10)] {
        let error = row(gpus, RING, u64::from(gpus) * (32 << 20), published);
        assert!(error.abs() < 0.10, "{gpus} GPUs: {error}");
    }
    for (gpus, published) in [(128, 265.15), (256, 262.77)] {
        row(gpus, GATHER, 2 << 30, published);
    }
}

/// The same between all pairs, whose packets grow with the square of the ranks: smaller sizes.
#[test]
#[ignore = "takes minutes"]
fn pairs_beside_the_published_at_scale() {
    row(128, PAIRS, 512 << 20, 44.23);
    row(256, PAIRS, 256 << 20, 40.78);
}
