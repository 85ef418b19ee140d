//! The progress bar of a run: on a terminal, for runs that take longer than a moment.

use super::number::{count, large, time};
use crate::clock::Stopwatch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;
use xoff_sim::Progress;
use xoff_units::{Instant, Span};

/// A run shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The bar's length: progress in thousandths.
const STEPS: u64 = 1000;

/// How much there is to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// The scenario's own end, if it has one.
    pub(crate) until: Option<Instant>,
    /// Packets over links that the traffic needs, roughly; zero if unknown.
    pub(crate) packet_hops: u64,
}

/// A bar on standard error.
#[derive(Debug)]
pub(crate) struct Bar {
    work: Work,
    clock: Stopwatch,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// A bar that appears when the run takes long enough.
    pub(crate) fn new(work: Work) -> Self {
        Self { work, clock: Stopwatch::start(), bar: None }
    }

    /// Shows how far the run is.
    pub(crate) fn update(&mut self, progress: &Progress) {
        let elapsed = self.clock.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        let share = share(&self.work, progress);
        let bar = self.bar.get_or_insert_with(make);
        bar.set_message(message(progress, elapsed, share));
        bar.set_position((share * STEPS as f64) as u64);
    }

    /// Takes the bar off the screen.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn make() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    // The template is ours and valid; without it the bar only looks plainer.
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3}%  {wide_msg}") {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}

/// How much of the work is done, 0 to 1: whichever end comes first.
fn share(work: &Work, progress: &Progress) -> f64 {
    let of = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    let time = work.until.map_or(0.0, |end| of(progress.now.as_ps(), end.as_ps()));
    // Flows that are sent again or take detours need more hops than they were thought to.
    let hops = of(progress.packet_hops, work.packet_hops).min(0.99);
    let flows = of(progress.flows_finished, progress.flows);
    time.max(hops).max(flows).min(1.0)
}

fn message(progress: &Progress, elapsed: Duration, share: f64) -> String {
    let seconds = elapsed.as_secs_f64();
    let speed = large(progress.events as f64 / seconds);
    let simulated = time(Span::from_ps(progress.now.as_ps()));
    let flows = format!("{}/{} flows", count(progress.flows_finished), count(progress.flows));
    let left = remaining(seconds, share).map_or(String::new(), |left| format!(" · {left} left"));
    format!("{simulated} · {speed} events/s · {flows}{left}")
}

/// Time until the end at the speed so far, once there is enough to judge by.
fn remaining(seconds: f64, share: f64) -> Option<String> {
    if share < 0.01 {
        return None;
    }
    let left = (seconds / share - seconds).round() as u64;
    Some(match (left / 3600, left / 60 % 60, left % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(us: u64, packet_hops: u64, flows_finished: u64) -> Progress {
        let now = Instant::ZERO + Span::from_us(us);
        Progress {
            now,
            events: 3 * packet_hops,
            packet_hops,
            flows_finished,
            flows: 10,
            packets_alive: 0,
        }
    }

    #[test]
    fn the_nearest_end_counts() {
        let until = Some(Instant::ZERO + Span::from_us(100));
        let work = Work { until, packet_hops: 1000 };
        assert_eq!(share(&work, &progress(50, 100, 0)), 0.5);
        assert_eq!(share(&work, &progress(50, 700, 0)), 0.7);
        assert_eq!(share(&work, &progress(50, 9000, 0)), 0.99);
        assert_eq!(share(&work, &progress(500, 0, 10)), 1.0);
        assert_eq!(share(&Work { until: None, packet_hops: 0 }, &progress(1, 1, 0)), 0.0);
    }

    #[test]
    fn estimates_once_it_can() {
        assert_eq!(remaining(10.0, 0.001), None);
        assert_eq!(remaining(10.0, 0.5).unwrap(), "10 s");
        assert_eq!(remaining(60.0, 0.02).unwrap(), "49 min 00 s");
        assert_eq!(remaining(360.0, 0.05).unwrap(), "1 h 54 min");
    }
}
