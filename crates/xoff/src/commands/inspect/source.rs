//! Where the bytes of a capture come from: counted, and given up when a signal says so.

use crate::interrupt::Interrupt;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// A source whose bytes are counted. After a signal it fails, so that not even a skipped block of
/// gigabytes keeps the program.
pub(super) struct Tracked<R> {
    inner: R,
    count: Rc<Cell<u64>>,
    interrupt: Interrupt,
}

impl<R> Tracked<R> {
    pub(super) fn new(inner: R, interrupt: &Interrupt) -> Self {
        Self { inner, count: Rc::default(), interrupt: interrupt.clone() }
    }

    /// The bytes read so far, here and by whoever has it.
    pub(super) fn count(&self) -> Rc<Cell<u64>> {
        self.count.clone()
    }
}

impl<R: Read> Read for Tracked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.interrupt.requested() {
            return Err(interrupted());
        }
        let read = self.inner.read(out)?;
        self.count.set(self.count.get() + read as u64);
        Ok(read)
    }
}

/// Not the kind that readers take for a reason to try again.
fn interrupted() -> io::Error {
    io::Error::other("interrupted")
}

/// Standard input, which may be silent for long: a signal ends the waiting.
pub(super) struct Stdin(pub(super) Interrupt);

#[cfg(unix)]
impl Read for Stdin {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::io::Errno;
        let step = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        // Without a buffer of its own: bytes in that would not wake us.
        let stdin = io::stdin();
        while !self.0.requested() {
            match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&step)) {
                Ok(0) | Err(Errno::INTR) => continue,
                // Readable, at its end, or something that only reading will tell.
                _ => {}
            }
            match rustix::io::read(&stdin, &mut *out) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                other => return Ok(other?),
            }
        }
        Err(interrupted())
    }
}

#[cfg(not(unix))]
impl Read for Stdin {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        io::stdin().lock().read(out)
    }
}
