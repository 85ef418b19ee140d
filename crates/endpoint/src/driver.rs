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

/// The device on its thread, and who waits for what.
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
        // A full table drops the promise, which then says so; but it is as large as the queue, which
        // refuses first.
        let Some(place) = self.waiters.insert(promise) else { return };
        if let Err(error) = post(&mut self.device, WorkId(place))
            && let Some(promise) = self.waiters.remove(place)
        {
            promise.keep(Err(error));
        }
    }

    /// Moves the device, and tells those whose work has ended.
    fn turn(&mut self) {
        self.device.progress();
        while let Some(completion) = self.device.poll(self.completions) {
            if let Some(promise) = self.waiters.remove(completion.id.0) {
                promise.keep(Ok(completion));
            }
        }
    }
}

/// What users and thread share.
struct Mailbox {
    letters: Mutex<Letters>,
    bell: OwnedFd,
}

#[derive(Default)]
struct Letters {
    commands: VecDeque<Command>,
    /// Nobody will write any more.
    closed: bool,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread. If the bell is too full to ring, it is ringing.
    fn ring(&self) {
        let _ = write(&self.bell, &1u64.to_ne_bytes());
    }
}

/// Ends the thread when its last user is gone.
pub(crate) struct Driver {
    mailbox: Arc<Mailbox>,
}

impl Driver {
    /// Gives a device to a thread of its own.
    pub(crate) fn start(device: Device) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let mailbox = Arc::new(Mailbox { letters: Mutex::default(), bell });
        let engine = Engine::new(device).map_err(io::Error::other)?;
        let own = mailbox.clone();
        thread::Builder::new().name("xoff-device".into()).spawn(move || run(engine, &own))?;
        Ok(Self { mailbox })
    }

    /// Has the thread do something.
    pub(crate) fn tell(&self, command: impl FnOnce(&mut Engine) + Send + 'static) {
        self.mailbox.lock().commands.push_back(Box::new(command));
        self.mailbox.ring();
    }

    /// Has the thread do something, and gives what comes of it.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Engine) -> Result<T, Error> + Send + 'static,
    ) -> Pending<T> {
        let (promise, pending) = pending();
        self.tell(move |engine| promise.keep(question(engine)));
        pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.mailbox.lock().closed = true;
        self.mailbox.ring();
    }
}

fn run(mut engine: Engine, mailbox: &Mailbox) {
    let mut closed = false;
    while !closed {
        loop {
            let mut letters = mailbox.lock();
            closed = letters.closed;
            let Some(command) = letters.commands.pop_front() else { break };
            drop(letters);
            command(&mut engine);
        }
        engine.turn();
        if !closed {
            engine.device.wait_or(NAP, Some(mailbox.bell.as_fd()));
            let _ = read(&mailbox.bell, &mut [0; 8]);
        }
    }
    // What is still in the mailbox goes with it, and tells so.
    mailbox.lock().commands.clear();
}
