//! Where the bytes of a capture come from: counted, and given up when a signal says so.

use crate::interrupt::Interrupt;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// A source whose bytes are counted. After a signal it fails, so that not even a skipped block of
/// gigabytes or a pipe that is silent keeps the program.
pub(super) struct Tracked<R> {
    inner: R,
    count: Rc<Cell<u64>>,
    interrupt: Interrupt,
    wait: fn(&Interrupt),
}

impl<R> Tracked<R> {
    /// A file.
    pub(super) fn file(inner: R, interrupt: &Interrupt) -> Self {
        Self { inner, count: Rc::default(), interrupt: interrupt.clone(), wait: |_| {} }
    }

    /// The bytes read so far, here and by whoever has it.
    pub(super) fn count(&self) -> Rc<Cell<u64>> {
        self.count.clone()
    }
}

impl Tracked<io::StdinLock<'static>> {
    /// Standard input, which may be silent for long.
    pub(super) fn stdin(interrupt: &Interrupt) -> Self {
        let inner = io::stdin().lock();
        Self { wait: wait_for_stdin, ..Tracked::file(inner, interrupt) }
    }
}

impl<R: Read> Read for Tracked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (self.wait)(&self.interrupt);
        if self.interrupt.requested() {
            return Err(io::Error::other("interrupted"));
        }
        let read = self.inner.read(out)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Waits until there is something to read, or a signal came.
#[cfg(unix)]
fn wait_for_stdin(interrupt: &Interrupt) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let step = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    let stdin = io::stdin();
    while !interrupt.requested() {
        let mut own = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut own, Some(&step)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // Readable, at its end, or something that only reading will tell.
            _ => return,
        }
    }
}

#[cfg(not(unix))]
fn wait_for_stdin(_: &Interrupt) {}
