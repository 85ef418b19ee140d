//! A thread that makes views, so that keys are answered while a large fabric is diagnosed or a store does not answer.

use super::source::{Recorded, Source, Stored};
use crate::clock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;
use xoff_telemetry::recording::Timestamp;
use xoff_watch::header::Trouble;
use xoff_watch::model::{View, Watcher};

/// The longest that a source which does not answer is left alone.
const LONGEST: Duration = Duration::from_secs(60);

/// What is asked of the thread.
pub(crate) enum Order {
    /// A view of a recording after so many steps.
    Show(usize),
    /// What a store has now.
    Refresh,
}

/// What it found.
pub(crate) enum News {
    /// Something to show; and when the newest sample was taken, where a store says so.
    View(Box<View>, Option<Timestamp>),
    /// The store does not answer.
    Trouble(Trouble),
}

/// Both ends of the way to the thread.
pub(crate) struct Worker {
    pub(crate) orders: Sender<Order>,
    pub(crate) news: Receiver<News>,
}

impl Worker {
    /// Starts it. It ends with the program, or when nobody listens any more.
    pub(crate) fn start(source: Source) -> Self {
        let (orders, received) = channel();
        let (told, news) = channel();
        thread::spawn(move || match source {
            Source::Recorded(recorded) => play(&recorded, &received, &told),
            Source::Stored(stored) => follow(stored, &received, &told),
        });
        Self { orders, news }
    }
}

/// Shows what is asked for last: what was asked for meanwhile has passed.
fn play(recorded: &Recorded, orders: &Receiver<Order>, news: &Sender<News>) {
    let mut watcher = Watcher::default();
    while let Ok(first) = orders.recv() {
        let last = orders.try_iter().last().unwrap_or(first);
        let Order::Show(at) = last else { continue };
        let view = recorded.look(&mut watcher, at);
        if news.send(News::View(Box::new(view), None)).is_err() {
            return;
        }
    }
}

/// Asks a store every interval; one that does not answer more and more rarely.
fn follow(mut stored: Stored, orders: &Receiver<Order>, news: &Sender<News>) {
    let mut watcher = Watcher::default();
    let mut trouble: Option<(Timestamp, u32)> = None;
    loop {
        let (wait, told) = match stored.look(&mut watcher) {
            // Without a single series there is nothing to draw, and it may come.
            Ok(looked) if looked.view.series > 0 => {
                trouble = None;
                (stored.interval, News::View(Box::new(looked.view), looked.newest))
            }
            Ok(_) => failed(&stored, &mut trouble, stored.nothing()),
            Err(error) => failed(&stored, &mut trouble, error.to_string()),
        };
        if news.send(told).is_err() {
            return;
        }
        match orders.recv_timeout(wait) {
            Ok(_) => orders.try_iter().for_each(drop),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Since when, why, and when it is asked again: after the interval, then twice as long every time.
fn failed(
    stored: &Stored,
    trouble: &mut Option<(Timestamp, u32)>,
    reason: String,
) -> (Duration, News) {
    let now = clock::now();
    let (since, tries) = trouble.map_or((now, 1), |(since, tries)| (since, tries + 1));
    *trouble = Some((since, tries));
    let wait = backoff(stored.interval, tries);
    let next = Timestamp(now.0.saturating_add(wait.as_nanos() as i64));
    (wait, News::Trouble(Trouble { since, reason, next, tries }))
}

fn backoff(interval: Duration, tries: u32) -> Duration {
    let twice = 1u32.checked_shl(tries.saturating_sub(1).min(16)).unwrap_or(1);
    interval.saturating_mul(twice).min(LONGEST.max(interval))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_does_not_answer_is_asked_more_and_more_rarely() {
        let five = Duration::from_secs(5);
        let waits: Vec<u64> = (1..7).map(|tries| backoff(five, tries).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
        assert_eq!(backoff(five, u32::MAX), LONGEST);
        let long = Duration::from_secs(300);
        assert_eq!(backoff(long, 3), long, "never more often than it was asked for");
    }
}
