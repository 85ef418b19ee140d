//! [`Pending`]: the result of a call on another thread, to be waited for or awaited, with a deadline
//! or without.
//!
//! The standard library has no one-shot channel that serves both, nor has any crate that is in use
//! here already; a new dependency would save some fifty lines without unsafe code.

use crate::awaited::Awaited;
use crate::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What a call to an [`Endpoint`](crate::Endpoint) will return. [`wait`](Pending::wait) for it, or
/// `.await` it in any executor.
///
/// # Deadlines
///
/// [`wait_for`](Pending::wait_for) and [`wait_until`](Pending::wait_until) block no longer than they
/// are told; [`within`](Pending::within) and [`until`](Pending::until) do the same for `.await`. What
/// comes then is [`Error::TimedOut`], which names what was waited for, and *only the wait* has ended:
/// the `Pending` is still there and can be waited for again.
///
/// # Giving up
///
/// Dropping a `Pending` (or [`cancel`](Pending::cancel), which is the same with a word for it) is
/// safe at any time. What becomes of the call depends on what it is:
///
/// - **Posted work and receives stay posted.** RDMA cannot take work back: packets may be on their
///   way, and the peer may have acted on them. A write or send may still reach the peer, a read still
///   fills its slice, and a receive still takes the next message, which nobody is then told of. The
///   memory stays registered until the work has ended, even if its
///   [`Region`](crate::Region) is dropped meanwhile; so nothing is ever written to memory that is used
///   for something else. Until then the bytes of the slice may change.
///   To get all of it back at once, end the queue pair:
///   [`Connection::abort`](crate::Connection::abort).
/// - **A request for a connection is withdrawn**: a peer that accepts it later is told so, and the
///   queue pair is destroyed.
/// - **An accepted connection** that the peer has not confirmed is disconnected.
/// - **A wait for the next request of a listener** takes nothing: the request goes to the next who
///   waits.
/// - **Anything else** is carried out, and its result dropped: a region is deregistered, a connection
///   destroyed.
#[must_use = "the call is under way, and its result is dropped"]
pub struct Pending<T> {
    shared: Arc<Shared<T>>,
    /// When `.await` and `wait` end without a result.
    deadline: Option<Deadline>,
    /// What wakes an executor at the deadline.
    alarm: Option<Arc<dyn Alarm>>,
    /// What is done if the caller goes away without the result, with the result if it is there.
    undo: Option<Undo<T>>,
}

#[derive(Debug, Clone, Copy)]
struct Deadline {
    /// When it was set.
    since: Instant,
    end: Instant,
    /// The alarm was told of it.
    alarmed: bool,
}

/// What becomes of a result that nobody takes.
pub(crate) type Undo<T> = Box<dyn FnOnce(Option<Result<T, Error>>) + Send + Sync>;

/// Something that wakes sleepers at a time.
pub(crate) trait Alarm: Send + Sync {
    /// Wakes the sleeper at this time, or soon after. It may be woken without need.
    fn set(&self, at: Instant, sleeper: Arc<dyn Sleeper>);
}

/// Something that can be woken.
pub(crate) trait Sleeper: Send + Sync {
    /// Wakes it.
    fn wake(&self);
}

/// The other end of a [`Pending`]. Dropped, it says that the device is gone.
#[derive(Debug)]
pub(crate) struct Promise<T> {
    /// Until it is kept.
    shared: Option<Arc<Shared<T>>>,
}

#[derive(Debug)]
struct Shared<T> {
    what: Awaited,
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    value: Value<T>,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Value<T> {
    /// Not there yet.
    Awaited,
    There(Result<T, Error>),
    /// The caller has it.
    Taken,
    /// Not there yet, and the caller has gone.
    Unwanted,
}

/// Both ends.
pub(crate) fn pending<T>(what: Awaited) -> (Promise<T>, Pending<T>) {
    let state = Mutex::new(State { value: Value::Awaited, waker: None });
    let shared = Arc::new(Shared { what, state, changed: Condvar::new() });
    let pending = Pending { shared: shared.clone(), deadline: None, alarm: None, undo: None };
    (Promise { shared: Some(shared) }, pending)
}

/// One whose call has failed already.
pub(crate) fn failed<T>(what: Awaited, error: Error) -> Pending<T> {
    let (promise, pending) = pending(what);
    promise.keep(Err(error));
    pending
}

impl<T> Shared<T> {
    /// Ignores poisoning: the state is consistent whenever the lock is released, even by a panic.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the value, or gives it back if nobody wants it.
    fn set(&self, value: Result<T, Error>) -> Result<(), Result<T, Error>> {
        let mut state = self.lock();
        if matches!(state.value, Value::Unwanted) {
            return Err(value);
        }
        state.value = Value::There(value);
        let waker = state.waker.take();
        drop(state);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }
}

impl<T> State<T> {
    /// The value, once.
    fn take(&mut self) -> Option<Result<T, Error>> {
        match std::mem::replace(&mut self.value, Value::Taken) {
            Value::There(value) => Some(value),
            Value::Taken => Some(Err(Error::Taken)),
            other => {
                self.value = other;
                None
            }
        }
    }
}

impl<T: Send> Sleeper for Shared<T> {
    fn wake(&self) {
        let waker = self.lock().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Promise<T> {
    /// Gives the value. If nobody wants it, it is dropped.
    pub(crate) fn keep(mut self, value: Result<T, Error>) {
        if let Some(shared) = self.shared.take() {
            let _ = shared.set(value);
        }
    }

    /// Gives the value, or gets it back if nobody wants it.
    pub(crate) fn offer(mut self, value: T) -> Result<(), T> {
        let Some(shared) = self.shared.take() else { return Err(value) };
        match shared.set(Ok(value)) {
            Err(Ok(value)) => Err(value),
            _ => Ok(()),
        }
    }

    /// Whether nobody wants it any more.
    pub(crate) fn is_unwanted(&self) -> bool {
        let unwanted = |shared: &Arc<Shared<T>>| matches!(shared.lock().value, Value::Unwanted);
        self.shared.as_ref().is_none_or(unwanted)
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            let _ = shared.set(Err(Error::Gone));
        }
    }
}

impl<T> Pending<T> {
    /// The same with something that wakes executors at deadlines.
    pub(crate) fn alarmed(mut self, alarm: Arc<dyn Alarm>) -> Self {
        self.alarm = Some(alarm);
        self
    }

    /// The same with what is done if nobody takes the result.
    pub(crate) fn or_else(mut self, undo: Undo<T>) -> Self {
        self.undo = Some(undo);
        self
    }

    /// What it stands for.
    pub fn awaited(&self) -> Awaited {
        self.shared.what
    }

    /// Blocks until it is there, or the deadline of [`within`](Pending::within) has passed.
    pub fn wait(mut self) -> Result<T, Error> {
        let since = self.deadline.map_or_else(Instant::now, |deadline| deadline.since);
        self.block(since, self.deadline.map(|deadline| deadline.end))
    }

    /// Blocks until it is there, or so much time has passed: then it is [`Error::TimedOut`], and
    /// this can be waited for again. The result is given once; after that it is [`Error::Taken`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use xoff_endpoint::{Access, DeviceSettings, Endpoint, Error};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::open(DeviceSettings::new([127, 93, 5, 1]))?;
    /// let room = endpoint.register(vec![0; 64], Access::LOCAL_WRITE).wait()?;
    /// let connection = endpoint.connection().wait()?;
    /// let mut message = connection.receive(room.all());
    /// let Err(error) = message.wait_for(Duration::from_millis(5)) else { unreachable!() };
    /// assert!(matches!(error, Error::TimedOut { .. }));
    /// assert!(error.to_string().starts_with("timed out after 5 ms, waiting for a message"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait_for(&mut self, time: Duration) -> Result<T, Error> {
        // A time that the clock cannot express does not end.
        let start = Instant::now();
        self.block(start, start.checked_add(time))
    }

    /// The same with a point in time.
    pub fn wait_until(&mut self, deadline: Instant) -> Result<T, Error> {
        self.block(Instant::now(), Some(deadline))
    }

    /// The result if it is there. Never blocks.
    pub fn try_take(&mut self) -> Option<Result<T, Error>> {
        self.shared.lock().take()
    }

    /// The same with a deadline from now on, for `.await` and [`wait`](Pending::wait).
    pub fn within(mut self, time: Duration) -> Self {
        let since = Instant::now();
        let deadline = |end| Deadline { since, end, alarmed: false };
        self.deadline = since.checked_add(time).map(deadline);
        self
    }

    /// The same with a deadline, for `.await` and [`wait`](Pending::wait).
    ///
    /// The device's thread wakes the executor then. So `.await` may end late if a call of
    /// [`Endpoint::with`](crate::Endpoint::with) keeps that thread busy.
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(Deadline { since: Instant::now(), end: deadline, alarmed: false });
        self
    }

    /// Gives up, and says what came of it if that is known already. [What becomes of the
    /// call](Pending#giving-up) if not is the same as when this is dropped.
    pub fn cancel(mut self) -> Option<Result<T, Error>> {
        self.try_take()
    }

    fn block(&mut self, since: Instant, end: Option<Instant>) -> Result<T, Error> {
        let shared = &*self.shared;
        let mut state = shared.lock();
        loop {
            if let Some(value) = state.take() {
                return value;
            }
            let Some(end) = end else {
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let after = end.saturating_duration_since(since);
                return Err(Error::TimedOut { what: shared.what, after });
            }
            let waited = shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl<T: Send + 'static> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.lock();
        if let Some(value) = state.take() {
            return Poll::Ready(value);
        }
        state.waker = Some(context.waker().clone());
        drop(state);
        let Some(Deadline { since, end, alarmed }) = self.deadline else { return Poll::Pending };
        if end <= Instant::now() {
            let (what, after) = (self.shared.what, end.saturating_duration_since(since));
            return Poll::Ready(Err(Error::TimedOut { what, after }));
        }
        if !alarmed && let Some(alarm) = &self.alarm {
            alarm.set(end, self.shared.clone());
            self.deadline = Some(Deadline { since, end, alarmed: true });
        }
        Poll::Pending
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let value = match std::mem::replace(&mut state.value, Value::Taken) {
            Value::There(value) => Some(value),
            Value::Taken => return,
            Value::Awaited | Value::Unwanted => {
                state.value = Value::Unwanted;
                None
            }
        };
        drop(state);
        if let Some(undo) = self.undo.take() {
            undo(value);
        }
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("what", &self.shared.what).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    const WHAT: Awaited = Awaited::Call("count");
    const SHORT: Duration = Duration::from_millis(1);

    #[test]
    fn kept_broken_and_late() {
        let (promise, value) = pending(WHAT);
        promise.keep(Ok(5));
        assert_eq!(value.wait(), Ok(5));
        let (promise, value) = pending::<u8>(WHAT);
        drop(promise);
        assert_eq!(value.wait(), Err(Error::Gone));
        let (promise, mut value) = pending(WHAT);
        let late = Err(Error::TimedOut { what: WHAT, after: SHORT });
        assert_eq!(value.wait_for(SHORT), late);
        assert!(value.wait_until(Instant::now()).is_err());
        let other = thread::spawn(move || value.wait());
        promise.keep(Ok("late"));
        assert_eq!(other.join().unwrap(), Ok("late"));
    }

    #[test]
    fn a_result_is_given_once() {
        let (promise, mut value) = pending(WHAT);
        assert_eq!(value.try_take(), None);
        promise.keep(Ok(5));
        assert_eq!(value.try_take(), Some(Ok(5)));
        assert_eq!(value.wait_for(SHORT), Err(Error::Taken));
        assert_eq!(value.wait(), Err(Error::Taken));
    }

    #[test]
    fn times_that_no_clock_has_are_no_deadline() {
        let (promise, mut value) = pending(WHAT);
        promise.keep(Ok(5));
        assert_eq!(value.wait_for(Duration::MAX), Ok(5));
        let (promise, value) = pending(WHAT);
        promise.keep(Ok(5));
        assert_eq!(value.within(Duration::MAX).wait(), Ok(5));
    }

    #[test]
    fn the_deadline_of_a_wait_is_that_of_the_call() {
        let (_promise, value) = pending::<u8>(WHAT);
        let late = value.within(SHORT).wait();
        assert!(matches!(late, Err(Error::TimedOut { what: WHAT, after }) if after >= SHORT));
    }

    #[test]
    fn what_nobody_takes_is_undone_once() {
        static UNDONE: AtomicU32 = AtomicU32::new(0);
        let note = |value: Option<Result<u32, Error>>| {
            let count = value.map_or(1, |value| value.unwrap());
            UNDONE.fetch_add(count, Ordering::Relaxed);
        };
        let (promise, value) = pending(WHAT);
        assert!(!promise.is_unwanted());
        drop(value.or_else(Box::new(note)));
        assert!(promise.is_unwanted());
        assert_eq!(promise.offer(5), Err(5));
        assert_eq!(UNDONE.load(Ordering::Relaxed), 1);
        let (promise, value) = pending(WHAT);
        assert_eq!(promise.offer(10), Ok(()));
        drop(value.or_else(Box::new(note)));
        assert_eq!(UNDONE.load(Ordering::Relaxed), 11);
        let (promise, value) = pending(WHAT);
        promise.keep(Ok(100));
        assert_eq!(value.or_else(Box::new(note)).cancel(), Some(Ok(100)));
        assert_eq!(UNDONE.load(Ordering::Relaxed), 11);
    }
}
