//! The progress bar of reading a file.

use crate::clock::Stopwatch;
use crate::output::number::{bytes, large};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use xoff_units::Bytes;

/// Reading that is quicker shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error.
#[derive(Debug)]
pub(super) struct Bar {
    size: Option<u64>,
    clock: Stopwatch,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar for a file of this size; a pipe has none.
    pub(super) fn new(size: Option<u64>) -> Self {
        Self { size, clock: Stopwatch::start(), bar: None }
    }

    /// Shows how far it is.
    pub(super) fn update(&mut self, position: u64, packets: u64) {
        let elapsed = self.clock.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        let size = self.size;
        let bar = self.bar.get_or_insert_with(|| make(size));
        let seconds = elapsed.as_secs_f64();
        let speed = bytes(Bytes::new((position as f64 / seconds) as u64));
        let read = bytes(Bytes::new(position));
        bar.set_message(format!("{read} · {} packets · {speed}/s", large(packets as f64)));
        bar.set_position(position);
    }

    /// Takes the bar off the screen.
    pub(super) fn clear(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

fn make(size: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::stderr());
    let template = match size {
        Some(_) => "{bar:20} {percent:>3}%  {wide_msg}",
        None => "{spinner}  {wide_msg}",
    };
    // The templates are ours and valid; without one the bar only looks plainer.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}
