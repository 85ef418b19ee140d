//! [`Pending`]: the result of a call on another thread, to be waited for or awaited.
//!
//! The standard library has no one-shot channel that serves both, nor has any crate that is in use
//! here already; a new dependency would save some fifty lines without unsafe code.

use crate::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What a call to an [`Endpoint`](crate::Endpoint) will return. [`wait`](Pending::wait) for it, or
/// `.await` it in any executor. The call is under way already; dropping this does not take it back.
#[derive(Debug)]
#[must_use = "the call is under way, and its result is dropped"]
pub struct Pending<T> {
    shared: Arc<Shared<T>>,
}

/// The other end of a [`Pending`]. Dropped, it says that the device is gone.
#[derive(Debug)]
pub(crate) struct Promise<T> {
    /// Until it is kept.
    shared: Option<Arc<Shared<T>>>,
}

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    value: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

/// Both ends.
pub(crate) fn pending<T>() -> (Promise<T>, Pending<T>) {
    let state = Mutex::new(State { value: None, waker: None });
    let shared = Arc::new(Shared { state, changed: Condvar::new() });
    (Promise { shared: Some(shared.clone()) }, Pending { shared })
}

impl<T> Shared<T> {
    /// Ignores poisoning: the state is consistent whenever the lock is released, even by a panic.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, value: Result<T, Error>) {
        let mut state = self.lock();
        state.value = Some(value);
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Promise<T> {
    /// Gives the value.
    pub(crate) fn keep(mut self, value: Result<T, Error>) {
        if let Some(shared) = self.shared.take() {
            shared.set(value);
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.set(Err(Error::Gone));
        }
    }
}

impl<T> Pending<T> {
    /// Blocks until it is there.
    pub fn wait(self) -> Result<T, Error> {
        let mut state = self.shared.lock();
        loop {
            if let Some(value) = state.value.take() {
                return value;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Blocks until it is there, or time is over; then this can be tried again.
    pub fn wait_for(self, time: Duration) -> Result<Result<T, Error>, Self> {
        let end = Instant::now() + time;
        let mut state = self.shared.lock();
        loop {
            if let Some(value) = state.value.take() {
                return Ok(value);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(state);
                return Err(self);
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.lock();
        match state.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn kept_broken_and_late() {
        let (promise, value) = pending();
        promise.keep(Ok(5));
        assert_eq!(value.wait(), Ok(5));
        let (promise, value) = pending::<u8>();
        drop(promise);
        assert_eq!(value.wait(), Err(Error::Gone));
        let (promise, value) = pending();
        let value = value.wait_for(Duration::from_millis(1)).expect_err("it was not kept yet");
        let other = thread::spawn(move || value.wait());
        promise.keep(Ok("late"));
        assert_eq!(other.join().unwrap(), Ok("late"));
    }
}
