//! The thread that owns a device and moves it, whatever its users do meanwhile.

use crate::completion::Completions;
use crate::device::Device;
use crate::error::Error;
use crate::pending::{Pending, Promise, pending};
use crate::slab::Slab;
use crate::work::{Completion, WorkId};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use xoff_transport::ProtectionDomain;

/// Longest sleep. Nothing depends on it: whatever happens wakes the thread.
const NAP: Duration = Duration::from_secs(1);

/// Pieces of work that end in the driver's queue at a time.
const CAPACITY: usize = 1 << 16;

/// Something to be done by the thread.
type Command = Box<dyn FnOnce(&mut Engine) + Send>;

/// The device on its thread, and the promises for work under way.
pub(crate) struct Engine {
    pub(crate) device: Device,
    pub(crate) completions: Completions,
    pub(crate) domain: ProtectionDomain,
    waiters: Slab<Promise<Completion>>,
}

impl Engine {
    fn new(mut device: Device) -> Result<Self, Error> {
        let completions = device.create_completions(CAPACITY)?;
        let domain = device.create_domain();
        Ok(Self { device, completions, domain, waiters: Slab::new(CAPACITY) })
    }

    /// Posts something whose end `promise` waits for.
    pub(crate) fn post(
        &mut self,
        promise: Promise<Completion>,
        post: impl FnOnce(&mut Device, WorkId) -> Result<(), Error>,
    ) {
        // A full table drops the promise, which then says so; but it is as large as the queue,
        // which refuses first.
        let Some(place) = self.waiters.insert(promise) else { return };
        if let Err(error) = post(&mut self.device, WorkId(place))
            && let Some(promise) = self.waiters.remove(place)
        {
            promise.keep(Err(error));
        }
    }

    /// Moves the device, and keeps the promises of the work that has ended.
    fn turn(&mut self) {
        self.device.progress();
        while let Some(completion) = self.device.poll(self.completions) {
            if let Some(promise) = self.waiters.remove(completion.id.0) {
                promise.keep(Ok(completion));
            }
        }
    }
}

/// Commands from users to the thread.
struct Mailbox {
    queue: Mutex<Queue>,
    /// Wakes the thread when it sleeps in the device's poll.
    wake: OwnedFd,
}

#[derive(Default)]
struct Queue {
    commands: VecDeque<Command>,
    /// The last user is gone: no more commands will come.
    closed: bool,
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
}

/// Ends the thread when its last user is gone.
pub(crate) struct Driver {
    mailbox: Arc<Mailbox>,
}

impl Driver {
    /// Gives a device to a thread of its own.
    pub(crate) fn start(device: Device) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let mailbox = Arc::new(Mailbox { queue: Mutex::default(), wake });
        let engine = Engine::new(device).map_err(io::Error::other)?;
        let own = mailbox.clone();
        thread::Builder::new().name("xoff-device".into()).spawn(move || run(engine, &own))?;
        Ok(Self { mailbox })
    }

    /// Has the thread run a command.
    pub(crate) fn submit(&self, command: impl FnOnce(&mut Engine) + Send + 'static) {
        self.mailbox.lock().commands.push_back(Box::new(command));
        self.mailbox.wake();
    }

    /// Has the thread call something, and returns its result when there is one.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        function: impl FnOnce(&mut Engine) -> Result<T, Error> + Send + 'static,
    ) -> Pending<T> {
        let (promise, pending) = pending();
        self.submit(move |engine| promise.keep(function(engine)));
        pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.mailbox.lock().closed = true;
        self.mailbox.wake();
    }
}

fn run(mut engine: Engine, mailbox: &Mailbox) {
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
            engine.device.wait_or(NAP, Some(mailbox.wake.as_fd()));
            let _ = read(&mailbox.wake, &mut [0; 8]);
        }
    }
    // Dropping commands drops their promises, which report that the device is gone.
    mailbox.lock().commands.clear();
}
