//! The progress line of many runs of about the same size: how many of them are there.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Runs that are done, on a terminal.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Of so many things, like `points`, of which some are there.
    pub(crate) fn new(things: &str, all: u64, done: u64, quiet: bool) -> Self {
        let shown = !quiet && std::io::stderr().is_terminal();
        let make = || {
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            let template = format!(
                "{{bar:20}} {{pos}} of {{len}} {things}  {{wide_msg}} {{elapsed}}, about {{eta}} left"
            );
            // The template is ours and valid; without it the bar only looks plainer.
            if let Ok(style) = ProgressStyle::with_template(&template) {
                bar.set_style(style.progress_chars("━━─"));
            }
            bar.set_position(done);
            bar.reset_eta();
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        };
        Self { bar: shown.then(make) }
    }

    /// One more is there.
    pub(crate) fn one(&self) {
        self.bar.iter().for_each(|bar| bar.inc(1));
    }

    /// So many are there, and this is to be said about it.
    pub(crate) fn reach(&self, done: u64, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(message.to_owned());
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}
