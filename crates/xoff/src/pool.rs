//! Work on several threads: one item at a time each, results in the order of the items.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

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
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.unwrap_or(cores).clamp(1, items.len().max(1));
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
}
