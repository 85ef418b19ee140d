//! Threads that go in step: nobody begins a step before all have ended the one before, and all know what each has to tell.
//!
//! Steps take microseconds, so that waiting threads look again and again before they sleep.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use xoff_units::Instant;

/// Looks before a thread that waits sleeps, if there is a core for each.
const LOOKS: u32 = 1 << 12;

/// Sleeping threads look this often whether another one has panicked.
const SLEEP: Duration = Duration::from_millis(20);

/// What one thread tells the others at the end of a step, or what all have told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct News {
    /// Nothing happens before.
    pub(super) earliest: Instant,
    /// The threads go no further than this.
    pub(super) limit: Instant,
    /// Events that were handled in the step by all together, and by the thread that had most.
    pub(super) events: u64,
    pub(super) most: u64,
}

/// The news of a thread, in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Board {
    earliest: AtomicU64,
    limit: AtomicU64,
    events: AtomicU64,
}

/// Where threads meet.
#[derive(Debug)]
pub(super) struct Clock {
    arrived: AtomicUsize,
    /// Steps that all have ended.
    steps: AtomicUsize,
    /// Threads that wait and look no more.
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
    /// A thread has panicked.
    broken: AtomicBool,
    /// See [`LOOKS`].
    looks: u32,
    /// By thread, of steps with even and with odd numbers: a thread may write the news of its next step while
    /// others read those of the last one.
    boards: Vec<[Board; 2]>,
}

impl Clock {
    pub(super) fn new(threads: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            looks: if threads <= cores { LOOKS } else { 1 },
            arrived: AtomicUsize::new(0),
            steps: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
            broken: AtomicBool::new(false),
            boards: (0..threads).map(|_| Default::default()).collect(),
        }
    }

    /// A thread has ended its step `step`. When all have, the news of all: the earliest times.
    pub(super) fn end_step(&self, thread: usize, step: usize, news: News) -> News {
        let board = &self.boards[thread][step % 2];
        board.earliest.store(news.earliest.as_ps(), Ordering::Relaxed);
        board.limit.store(news.limit.as_ps(), Ordering::Relaxed);
        board.events.store(news.events, Ordering::Relaxed);
        self.meet(step);
        let mut all = News { earliest: Instant::MAX, limit: Instant::MAX, events: 0, most: 0 };
        for board in self.boards.iter().map(|boards| &boards[step % 2]) {
            let instant = |word: &AtomicU64| Instant::from_ps(word.load(Ordering::Relaxed));
            all.earliest = all.earliest.min(instant(&board.earliest));
            all.limit = all.limit.min(instant(&board.limit));
            let events = board.events.load(Ordering::Relaxed);
            (all.events, all.most) = (all.events + events, all.most.max(events));
        }
        all
    }

    fn meet(&self, step: usize) {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.boards.len() {
            self.arrived.store(0, Ordering::Relaxed);
            // Either this sees who sleeps, or who is about to sees this.
            self.steps.store(step + 1, Ordering::SeqCst);
            if self.sleepers.load(Ordering::SeqCst) > 0 {
                drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
                self.bell.notify_all();
            }
            return;
        }
        for _ in 0..self.looks {
            if self.has_ended(step) {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleep_until(step);
    }

    /// Whether all have ended this step.
    fn has_ended(&self, step: usize) -> bool {
        assert!(!self.broken.load(Ordering::Relaxed), "another thread of the run has panicked");
        self.steps.load(Ordering::SeqCst) > step
    }

    #[cold]
    fn sleep_until(&self, step: usize) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while !self.has_ended(step) {
            let woken = self.bell.wait_timeout(bed, SLEEP);
            (bed, _) = woken.unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }

    /// While this lives, a panic of the thread that holds it ends the wait of all others.
    pub(super) fn watch(&self) -> Watch<'_> {
        Watch(self)
    }
}

/// See [`Clock::watch`].
pub(super) struct Watch<'a>(&'a Clock);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_hear_the_earliest_of_every_step() {
        const THREADS: usize = 3;
        let clock = Clock::new(THREADS);
        let clock = &clock;
        let heard = |thread: usize| {
            let step = move |step: usize| {
                let own = (step * 10 + (thread + step) % THREADS) as u64;
                let news = News {
                    earliest: Instant::from_ps(own),
                    limit: Instant::from_ps(10_000 - own),
                    events: own,
                    most: own,
                };
                clock.end_step(thread, step, news)
            };
            (0..200).map(step).collect::<Vec<_>>()
        };
        let all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || heard(n))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        for heard in all {
            for (step, news) in heard.iter().enumerate() {
                assert_eq!(news.earliest.as_ps(), step as u64 * 10);
                assert_eq!(news.limit.as_ps(), 10_000 - (step as u64 * 10 + 2));
                assert_eq!((news.events, news.most), (step as u64 * 30 + 3, step as u64 * 10 + 2));
            }
        }
    }

    #[test]
    fn a_panic_ends_the_wait_of_the_others() {
        let clock = Clock::new(2);
        let news = News { earliest: Instant::ZERO, limit: Instant::ZERO, events: 0, most: 0 };
        let ended = std::thread::scope(|scope| {
            let waits = scope.spawn(|| clock.end_step(0, 0, news));
            let panics = scope.spawn(|| {
                let _watch = clock.watch();
                panic!("on purpose");
            });
            [waits.join().is_err(), panics.join().is_err()]
        });
        assert_eq!(ended, [true, true]);
    }
}
