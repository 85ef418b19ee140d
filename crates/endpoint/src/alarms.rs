//! The deadlines of awaited calls, which the device's thread keeps: executors have no common timer.

use crate::pending::Sleeper;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Who is to be woken when.
#[derive(Default)]
pub(crate) struct Alarms {
    heap: BinaryHeap<Reverse<Entry>>,
    /// With more than this, those that nobody waits for are taken out.
    many: usize,
}

struct Entry {
    at: Instant,
    sleeper: Weak<dyn Sleeper>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl Alarms {
    /// Wakes the sleeper at this time. Nothing happens then if it is gone.
    pub(crate) fn set(&mut self, at: Instant, sleeper: &Arc<dyn Sleeper>) {
        self.heap.push(Reverse(Entry { at, sleeper: Arc::downgrade(sleeper) }));
        // Most calls end long before their deadline; their alarms must not add up until then.
        if self.heap.len() > self.many.max(64) {
            self.heap.retain(|Reverse(entry)| entry.sleeper.strong_count() > 0);
            self.many = 2 * self.heap.len();
        }
    }

    /// Wakes those whose time has come.
    pub(crate) fn ring(&mut self) {
        if self.heap.is_empty() {
            return;
        }
        let now = Instant::now();
        while let Some(Reverse(entry)) = self.heap.peek()
            && entry.at <= now
        {
            let sleeper = self.heap.pop().and_then(|Reverse(entry)| entry.sleeper.upgrade());
            if let Some(sleeper) = sleeper {
                sleeper.wake();
            }
        }
    }

    /// How long the thread may sleep, `most` at most.
    pub(crate) fn left(&self, most: Duration) -> Duration {
        let first = self.heap.peek().map(|Reverse(entry)| entry.at);
        first.map_or(most, |at| most.min(at.saturating_duration_since(Instant::now())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Sleeper for Count {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_living_are_woken_in_time() {
        let mut alarms = Alarms::default();
        let (early, late) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let now = Instant::now();
        alarms.set(now + Duration::from_secs(100), &(late.clone() as Arc<dyn Sleeper>));
        alarms.set(now, &(early.clone() as Arc<dyn Sleeper>));
        alarms.ring();
        assert_eq!((early.0.load(Ordering::Relaxed), late.0.load(Ordering::Relaxed)), (1, 0));
        let left = alarms.left(Duration::from_secs(1000));
        assert!(left > Duration::from_secs(50) && left <= Duration::from_secs(100), "{left:?}");
    }

    #[test]
    fn those_of_ended_calls_do_not_add_up() {
        let mut alarms = Alarms::default();
        let end = Instant::now() + Duration::from_secs(1000);
        let living: Arc<dyn Sleeper> = Arc::new(Count::default());
        alarms.set(end, &living);
        for _ in 0..10_000 {
            alarms.set(end, &(Arc::new(Count::default()) as Arc<dyn Sleeper>));
        }
        assert!(alarms.heap.len() <= 65, "{}", alarms.heap.len());
    }
}
