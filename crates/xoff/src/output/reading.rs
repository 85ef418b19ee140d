//! The progress bar of reading a file.

use super::number::{bytes, large};
use crate::clock::Stopwatch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use xoff_units::Bytes;

/// Reading that is quicker shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error.
#[derive(Debug)]
pub(crate) struct Bar {
    size: Option<u64>,
    clock: Stopwatch,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar for a file of this size; a pipe has none.
    pub(crate) fn new(size: Option<u64>) -> Self {
        Self { size, clock: Stopwatch::start(), bar: None }
    }

    /// Shows how far it is, and how many things have been found (`packets`), if they are counted.
    pub(crate) fn update(&mut self, position: u64, found: Option<(u64, &str)>) {
        let elapsed = self.clock.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        let size = self.size;
        let bar = self.bar.get_or_insert_with(|| make(size));
        let seconds = elapsed.as_secs_f64();
        let speed = bytes(Bytes::new((position as f64 / seconds) as u64));
        let read = bytes(Bytes::new(position));
        let found = found
            .map_or(String::new(), |(count, what)| format!(" · {} {what}", large(count as f64)));
        bar.set_message(format!("{read}{found} · {speed}/s"));
        bar.set_position(position);
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(self) {
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
