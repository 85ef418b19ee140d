//! The thread that owns a device and moves it, whatever its users do meanwhile.

use crate::awaited::Awaited;
use crate::device::Device;
use crate::engine::Engine;
use crate::error::Error;
use crate::pending::{Alarm, Pending, Sleeper, pending};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How long the last user waits for the thread to say goodbye to peers and to close the socket: a
/// call of `Endpoint::with` may keep it busy for longer.
const CLOSING: Duration = Duration::from_secs(1);

/// Something to be done by the thread.
pub(crate) type Command = Box<dyn FnOnce(&mut Engine) + Send>;

/// Commands from users to the thread.
pub(crate) struct Mailbox {
    queue: Mutex<Queue>,
    /// The thread has ended.
    ended: Condvar,
    /// Wakes the thread when it sleeps in the device's poll.
    wake: OwnedFd,
}

#[derive(Default)]
struct Queue {
    commands: VecDeque<Command>,
    /// The last user is gone: no more commands will come.
    closed: bool,
    /// The thread has ended, by itself or by a panic in a caller's function.
    dead: bool,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread.
    fn wake(&self) {
        // The write fails only if the counter of the event is full, and then the thread is awake
        // already.
        let _ = write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Has the thread run a command. Without a thread it is dropped, and its promises say so.
    pub(crate) fn submit(&self, command: Command) {
        let mut queue = self.lock();
        if queue.dead {
            // A command may hold handles that submit another one when they are dropped.
            drop(queue);
            drop(command);
            return;
        }
        queue.commands.push_back(command);
        drop(queue);
        self.wake();
    }
}

impl Alarm for Mailbox {
    fn set(&self, at: Instant, sleeper: Arc<dyn Sleeper>) {
        self.submit(Box::new(move |engine| engine.alarms.set(at, &sleeper)));
    }
}

/// Ends the thread when its last user is gone.
pub(crate) struct Driver {
    mailbox: Arc<Mailbox>,
    thread: ThreadId,
}

impl Driver {
    /// Gives a device to a thread of its own.
    pub(crate) fn start(device: Device) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let mailbox = Arc::new(Mailbox { queue: Mutex::default(), ended: Condvar::new(), wake });
        let engine = Engine::new(device).map_err(io::Error::other)?;
        let own = mailbox.clone();
        let builder = thread::Builder::new().name("xoff-device".into());
        let handle = builder.spawn(move || run(engine, &own))?;
        Ok(Self { mailbox, thread: handle.thread().id() })
    }

    /// Has the thread run a command.
    pub(crate) fn submit(&self, command: impl FnOnce(&mut Engine) + Send + 'static) {
        self.mailbox.submit(Box::new(command));
    }

    /// The thread's mailbox. It does not keep the thread.
    pub(crate) fn mailbox(&self) -> Arc<Mailbox> {
        self.mailbox.clone()
    }

    /// The same with deadlines, and with word to the thread if nobody waits for it any more.
    pub(crate) fn withdrawing<T: Send + Sync + 'static>(&self, pending: Pending<T>) -> Pending<T> {
        let mailbox = self.mailbox();
        let undo = move |value| {
            drop(value);
            mailbox.submit(Box::new(|engine: &mut Engine| engine.drop_unwanted()));
        };
        pending.alarmed(self.alarm()).or_else(Box::new(undo))
    }

    /// What wakes executors at their deadlines.
    pub(crate) fn alarm(&self) -> Arc<dyn Alarm> {
        self.mailbox.clone()
    }

    /// Has the thread call something, and returns its result when there is one.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        what: &'static str,
        function: impl FnOnce(&mut Engine) -> Result<T, Error> + Send + 'static,
    ) -> Pending<T> {
        let (promise, pending) = pending(Awaited::Call(what));
        self.submit(move |engine| promise.keep(function(engine)));
        pending.alarmed(self.alarm())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let mut queue = self.mailbox.lock();
        queue.closed = true;
        self.mailbox.wake();
        // The thread itself may hold the last handle, in a command.
        if thread::current().id() != self.thread {
            let ended = |queue: &mut Queue| !queue.dead;
            drop(self.mailbox.ended.wait_timeout_while(queue, CLOSING, ended));
        }
    }
}

/// Says that the thread has ended, whichever way.
struct Ending<'a>(&'a Mailbox);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.dead = true;
        let left = std::mem::take(&mut queue.commands);
        drop(queue);
        self.0.ended.notify_all();
        // Dropping commands drops their promises, which report that the device is gone.
        drop(left);
    }
}

fn run(engine: Engine, mailbox: &Mailbox) {
    // Dropped last: when users see the end, the socket is closed.
    let _ending = Ending(mailbox);
    let mut engine = engine;
    let mut closed = false;
    while !closed {
        loop {
            let mut queue = mailbox.lock();
            closed = queue.closed;
            let Some(command) = queue.commands.pop_front() else { break };
            // A command may drop a handle of the device, which submits another one.
            drop(queue);
            command(&mut engine);
        }
        engine.turn();
        if !closed {
            let time = engine.idle();
            engine.device.wait_or(time, Some(mailbox.wake.as_fd()));
            let _ = read(&mailbox.wake, &mut [0; 8]);
        }
    }
    // What the last turn had to say to peers leaves with the next.
    engine.turn();
}
