//! Work on several threads: one item at a time each, results in the order of the items.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

/// The argument of `--threads`.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "give a number of threads".to_owned())?;
    match number {
        0 => Err("nothing runs with 0 threads; give 1 or more".to_owned()),
        number => Ok(number),
    }
}

/// How many threads run at a time here.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does `work` on the items on `threads` threads, by default one per core, and returns what came of
/// each with its item. A thread whose work breaks takes no further item: those that no thread takes
/// are missing.
pub(crate) fn each<'a, T: Sync, R: Send>(
    items: &'a [T],
    threads: Option<usize>,
    work: impl Fn(&'a T) -> ControlFlow<R, R> + Sync,
) -> Vec<(&'a T, R)> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let threads = threads.unwrap_or_else(cores).clamp(1, items.len().max(1));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let outcome = work(item);
                    let stop = outcome.is_break();
                    let (ControlFlow::Break(result) | ControlFlow::Continue(result)) = outcome;
                    // A thread that panics ends the scope and with it the program: no lock stays
                    // poisoned.
                    let mut done = done.lock().unwrap_or_else(|lock| lock.into_inner());
                    done.push((index, result));
                    if stop {
                        break;
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|lock| lock.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(index, result)| (&items[index], result)).collect()
}

/// Items that no thread has taken, and the weight of those under way.
struct Waiting {
    items: Vec<usize>,
    under_way: u64,
}

/// Where threads take items from, each when its weight fits beside those under way.
struct Scales<'a> {
    weights: &'a [u64],
    most: u64,
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Scales<'_> {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(|lock| lock.into_inner())
    }

    /// The next item that fits; waits where none does. An item that is too heavy for any company runs alone.
    fn take(&self) -> Option<usize> {
        let mut waiting = self.lock();
        loop {
            let free = self.most.saturating_sub(waiting.under_way);
            let alone = waiting.under_way == 0;
            let fits = |&item: &usize| alone || self.weights[item] <= free;
            if let Some(place) = waiting.items.iter().position(fits) {
                let item = waiting.items.remove(place);
                // Even what weighs nothing is under way.
                waiting.under_way += self.weights[item].max(1);
                return Some(item);
            }
            if waiting.items.is_empty() {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(|lock| lock.into_inner());
        }
    }

    fn put_down(&self, item: usize) {
        self.lock().under_way -= self.weights[item].max(1);
        self.changed.notify_all();
    }
}

/// Like [`each`], with items that must not be too heavy together: one starts only while the weights of all under way
/// stay within `most`, or when none is. Items that come first are taken first where they fit.
pub(crate) fn each_within<'a, T: Sync, R: Send>(
    items: &'a [T],
    threads: Option<usize>,
    weights: &[u64],
    most: u64,
    work: impl Fn(&'a T) -> ControlFlow<R, R> + Sync,
) -> Vec<(&'a T, R)> {
    assert_eq!(items.len(), weights.len(), "every item has a weight");
    let waiting = Mutex::new(Waiting { items: (0..items.len()).collect(), under_way: 0 });
    let scales = Scales { weights, most, waiting, changed: Condvar::new() };
    let workers: Vec<usize> =
        (0..threads.unwrap_or_else(cores).clamp(1, items.len().max(1))).collect();
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    each(&workers, Some(workers.len()), |_| {
        while let Some(item) = scales.take() {
            let outcome = work(&items[item]);
            scales.put_down(item);
            let stop = outcome.is_break();
            let (ControlFlow::Break(result) | ControlFlow::Continue(result)) = outcome;
            done.lock().unwrap_or_else(|lock| lock.into_inner()).push((item, result));
            if stop {
                break;
            }
        }
        ControlFlow::Continue(())
    });
    let mut done = done.into_inner().unwrap_or_else(|lock| lock.into_inner());
    done.sort_by_key(|(item, _)| *item);
    done.into_iter().map(|(item, result)| (&items[item], result)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_items() {
        let items: Vec<u32> = (0..100).collect();
        for threads in [None, Some(0), Some(1), Some(7), Some(1000)] {
            let all = each(&items, threads, |&item| ControlFlow::Continue(item * item));
            let expected: Vec<(&u32, u32)> = items.iter().map(|item| (item, item * item)).collect();
            assert_eq!(all, expected);
        }
        assert!(each(&[] as &[u32], None, |_| ControlFlow::Continue(())).is_empty());
    }

    #[test]
    fn a_thread_that_breaks_takes_no_more() {
        let items: Vec<u32> = (0..100).collect();
        let all = each(&items, Some(1), |&item| match item {
            3 => ControlFlow::Break("stop"),
            _ => ControlFlow::Continue("go on"),
        });
        assert_eq!(all.len(), 4);
        assert_eq!(all[3], (&3, "stop"));
    }

    /// Heavy items never run beside each other, light ones do, and every item is done once.
    #[test]
    fn weights_bound_what_is_under_way() {
        let items: Vec<u64> = vec![9, 9, 2, 2, 20, 1, 0, 7];
        let (now, most_seen) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let all = each_within(&items, Some(4), &items, 10, |&item| {
            now.lock().unwrap().push(item);
            thread::sleep(std::time::Duration::from_millis(5));
            let mut now = now.lock().unwrap();
            let sum: u64 = now.iter().sum();
            assert!(sum <= 10 || now.len() == 1, "{now:?}");
            most_seen.fetch_max(now.len(), Ordering::Relaxed);
            let place = now.iter().position(|&other| other == item).unwrap();
            now.remove(place);
            ControlFlow::Continue(item + 1)
        });
        let expected: Vec<(&u64, u64)> = items.iter().map(|item| (item, item + 1)).collect();
        assert_eq!(all, expected);
        assert!(most_seen.into_inner() > 1, "light items run beside others");
    }
}
