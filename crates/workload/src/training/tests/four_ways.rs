//! The same step four ways: as a program, written for Chakra and replayed, written for GOAL and replayed, and in closed
//! form.

use super::*;
use crate::collective::{Algorithm, Cost, Settings};
use crate::replay::{self, Choice, Replay};
use crate::trace::{self, Trace, write};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use xoff_units::{Instant, Span};

/// Files that are kept in memory.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

struct Writer(Shelf, String);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut files = self.0.0.lock().unwrap();
        files.entry(self.1.clone()).or_default().extend(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shelf {
    fn create(&self) -> impl FnMut(&str) -> io::Result<Box<dyn io::Write>> {
        let shelf = self.clone();
        move |name| Ok(Box::new(Writer(shelf.clone(), name.to_owned())))
    }

    /// Reads them as the trace of a folder.
    fn read(&self) -> Trace {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in self.0.lock().unwrap().iter() {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        trace::read(folder.path(), trace::Options::default()).unwrap()
    }
}

fn little() -> Model {
    Model {
        layers: 2,
        hidden: 2_048,
        heads: 16,
        kv_heads: 16,
        ffn: 8_192,
        gated: false,
        vocabulary: 8_192,
        tied: false,
        latent: None,
        experts: None,
    }
}

/// What it takes, and what is sent.
fn replayed(trace: &Trace, fabric: &Fabric, layout: &Layout) -> (Span, u64) {
    let plan = Arc::new(Replay::new(trace, &replay::Options::default()).unwrap());
    assert!(plan.left_out().is_empty(), "{:?}", plan.left_out());
    let ring = Choice::Always(Algorithm::Ring);
    let program = plan.program(layout, &Settings::without_cost(), ring).unwrap();
    timed(program, fabric)
}

fn timed(mut program: crate::program::Program, fabric: &Fabric) -> (Span, u64) {
    let outcome = ideal::run(&mut program, fabric, &network()).unwrap();
    let moved = outcome.nics.iter().chain(&outcome.gpus).map(|moved| moved.sent.get()).sum();
    (outcome.end - Instant::ZERO, moved)
}

/// A step of four servers, by its parallelism, and how far its four times may be apart.
fn check(spread: Parallelism, micro_batches: u32) {
    let batch = Batch { sequence: 4_096, sequences: micro_batches * spread.data, micro: 1 };
    let gpu = Gpu { peak: FlopRate::from_teraflops(400), ..h100() };
    let step = Step::new(little(), batch, spread, gpu).unwrap().costing(Cost::NONE);
    let fabric = cluster(4);
    let layout = packed(&fabric);
    let (own, moved) = timed(step.program(&layout).unwrap(), &fabric);
    let made = step.trace().unwrap();
    let (chakra, goal) = (Shelf::default(), Shelf::default());
    write::chakra(&made, "step", &mut chakra.create()).unwrap();
    write::goal(&made, &layout, "step", &mut goal.create()).unwrap();
    let (by_chakra, chakra_moved) = replayed(&chakra.read(), &fabric, &layout);
    let (by_goal, goal_moved) = replayed(&goal.read(), &fabric, &layout);
    let bound = step.analytic(&layout, &network()).unwrap().time;
    let compute = step.compute().unwrap();
    // Sending is worth something, so that agreeing means something.
    assert!(own.as_ps() > compute.as_ps() * 105 / 100, "{own}, of it {compute} computing");
    for (name, time) in [("Chakra", by_chakra), ("GOAL", by_goal), ("analysis", bound)] {
        let off = time.as_ps() as f64 / own.as_ps() as f64 - 1.0;
        assert!(off.abs() < 0.02, "{name}: {time} for {own} ({off:.4}) with {spread:?}");
    }
    // Shares are whole bytes.
    for (name, other) in [("Chakra", chakra_moved), ("GOAL", goal_moved)] {
        let off = other as f64 / moved as f64 - 1.0;
        assert!(off.abs() < 1e-4, "{name}: {other} bytes for {moved}");
    }
}

fn spread(tensor: u32, pipeline: u32, data: u32, zero: Zero) -> Parallelism {
    Parallelism { tensor, pipeline, data, zero, ..Parallelism::default() }
}

#[test]
fn tensor_and_data_parallel() {
    check(spread(8, 1, 4, Zero::Optimizer), 2);
    check(spread(8, 1, 4, Zero::Off), 2);
    check(spread(8, 1, 4, Zero::Parameters), 2);
}

#[test]
fn with_a_pipeline() {
    check(spread(8, 2, 2, Zero::Optimizer), 4);
}

#[test]
fn traces_say_what_the_step_does() {
    let batch = Batch { sequence: 512, sequences: 8, micro: 1 };
    let spread = spread(8, 2, 2, Zero::Optimizer);
    let step = Step::new(little(), batch, spread, h100()).unwrap();
    let made = step.trace().unwrap();
    let shelf = Shelf::default();
    let written = write::chakra(&made, "step", &mut shelf.create()).unwrap();
    assert_eq!((written.files, written.operations), (33, made.operations.len() as u64));
    let again = shelf.read();
    assert_eq!((again.ranks, again.operations.len()), (32, made.operations.len()));
    assert_eq!(again.dependencies(), made.dependencies());
    let (one, other) = (made.summary(), again.summary());
    let counts = |summary: &trace::Summary| -> Vec<_> {
        summary.kinds.iter().map(|line| (line.kind, line.tally.count)).collect()
    };
    assert_eq!(counts(&one), counts(&other));
    let unknown = again.notes.iter().filter(|note| note.kind == trace::NoteKind::Unknown);
    assert_eq!(unknown.count(), 0, "{:?}", again.notes);
}

/// Collectives alone, from sizes that delays decide to those that bandwidth does.
#[test]
fn collectives_of_all_sizes() {
    let fabric = cluster(4);
    let sizes: [(&str, &str, &[&str]); 6] = [
        ("all-reduce", "ring", &["1KiB", "1MiB", "16MiB"]),
        ("reduce-scatter", "ring", &["96KiB", "5MB"]),
        ("broadcast", "ring", &["96KiB"]),
        ("all-to-all-collective", "pxn", &["1KiB", "1MiB", "4MiB"]),
        ("gather", "pxn", &["96KiB", "16MiB"]),
        ("scatter", "pxn", &["96KiB"]),
    ];
    for (kind, way, sizes) in sizes {
        for size in sizes {
            let text = format!("kind='{kind}'\nsize='{size}'\nalgorithm='{way}'\ncost='none'");
            let jobs = crate::programs(&crate::testing::workloads(&text), &fabric, 1).unwrap();
            let job = &jobs[0];
            let (own, moved) = timed(job.program(&job.runs[0]).unwrap(), &fabric);
            let shelf = Shelf::default();
            write::goal(&job.trace().unwrap(), &job.layout, "one", &mut shelf.create()).unwrap();
            let (time, goal_moved) = replayed(&shelf.read(), &fabric, &job.layout);
            let off = time.as_ps() as f64 / own.as_ps() as f64 - 1.0;
            assert!(off.abs() < 0.02, "{kind} of {size}: {time} for {own} ({off:.4})");
            assert_eq!(goal_moved, moved, "{kind} of {size}");
        }
    }
}
