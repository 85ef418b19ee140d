//! The progress line of a validation: packet-hops simulated of all that are estimated, and the time that the rest takes.
//!
//! Experiments differ in size by a factor of ten thousand: the share of those that are done says nothing about time.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt::Write;
use std::io::IsTerminal;
use std::time::Duration;
use xoff_validate::suite::budget::HOPS_PER_SECOND;

/// The progress of experiments that run side by side; shown on a terminal only.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
}

/// An experiment under way.
pub(super) struct Part<'a> {
    progress: &'a Progress,
    /// What it takes, by estimate, and how much of that is counted.
    hops: u64,
    counted: u64,
}

impl Progress {
    /// Of experiments that take so many packet-hops together.
    pub(super) fn new(hops: u64, quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        Self { bar: shown.then(|| bar(hops)) }
    }

    /// An experiment begins.
    pub(super) fn begin(&self, title: &str, hops: u64) -> Part<'_> {
        if let Some(bar) = &self.bar {
            bar.set_message(title.to_owned());
        }
        Part { progress: self, hops, counted: 0 }
    }

    /// So much need not be simulated: it was measured before.
    pub(super) fn spare(&self, hops: u64) {
        if let Some(bar) = &self.bar {
            bar.dec_length(hops);
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Part<'_> {
    /// So many packet-hops are simulated. One that takes more than was estimated stands at its end until it is there.
    pub(super) fn reach(&mut self, hops: u64) {
        let new = hops.min(self.hops).saturating_sub(self.counted);
        self.counted += new;
        if let Some(bar) = &self.progress.bar {
            bar.inc(new);
        }
    }

    /// It is over, whatever it took.
    pub(super) fn end(mut self) {
        self.reach(self.hops);
    }
}

fn bar(hops: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(hops), ProgressDrawTarget::stderr());
    let template = "{bar:20} {percent:>3} %  {wide_msg} {elapsed}, about {left} left";
    // The template is ours and valid; without it the bar only looks plainer.
    if let Ok(style) = ProgressStyle::with_template(template) {
        let left = |state: &ProgressState, out: &mut dyn Write| {
            let all = state.len().unwrap_or(0);
            // Nothing is to be done where the terminal does not take it.
            let _ = out.write_str(&words(left(state.pos(), all, state.elapsed())));
        };
        bar.set_style(style.with_key("left", left).progress_chars("━━─"));
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// Time that the rest takes: at the rate so far, or at the usual one while there is none to go by.
fn left(done: u64, all: u64, elapsed: Duration) -> Duration {
    let rest = all.saturating_sub(done) as f64;
    let known = done.saturating_mul(100) >= all && done > 0;
    let per_hop =
        if known { elapsed.as_secs_f64() / done as f64 } else { 1.0 / HOPS_PER_SECOND as f64 };
    Duration::from_secs_f64(rest * per_hop)
}

fn words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let seconds = |done, all, elapsed| left(done, all, Duration::from_secs(elapsed)).as_secs();
        assert_eq!(seconds(500, 1_000, 60), 60);
        assert_eq!(seconds(250, 1_000, 60), 180);
        assert_eq!(seconds(1_000, 1_000, 60), 0);
        // Nothing to go by yet.
        assert_eq!(seconds(0, 60 * HOPS_PER_SECOND, 5), 60);
        assert_eq!(seconds(0, 0, 5), 0);
        // More than estimated was done.
        assert_eq!(seconds(1_200, 1_000, 60), 0);
    }

    #[test]
    fn times_are_written_as_people_say_them() {
        let said = |seconds| words(Duration::from_secs(seconds));
        assert_eq!(said(59), "59 s");
        assert_eq!(said(121), "3 min");
        assert_eq!(said(7_260), "2 h 1 min");
    }
}
