//! The memory of a test: what is sent from, what the peer reaches, what messages arrive in.

use super::message::Keys;
use super::pattern::Body;
use super::settings::{Measure, Role, Settings, Verb};
use crate::{Device, Error, Memory, RemoteSlice, Slice};
use xoff_transport::{Access, ProtectionDomain};
use xoff_units::Bytes;
use xoff_wire::Rkey;

/// Bytes within which messages move on, so that not each is at the address of the one before.
pub(super) const CYCLE: u32 = 4096;
/// The step that addresses are rounded up to.
pub(super) const CACHE_LINE: u32 = 64;
/// Most that is posted beyond a window, unless two messages are more: more would wait in vain and
/// leave the caches.
const BEYOND: u64 = 256 << 10;
/// Most that waits for messages of the peer, unless a few messages are more. Of a peer that says what
/// it has in flight, twice that is enough for each queue pair: more would leave the caches.
const WAITING: u64 = 32 << 20;
/// Receives posted at a time.
const RECEIVES: u64 = 512;
/// Where peers find our memory. Any address does that is a multiple of eight.
const BASE: u64 = 0x5_0000_0000;

/// How messages of one size move through a stretch of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    /// From one message to the next.
    pub(super) stride: u64,
    /// Messages until it begins anew.
    pub(super) count: u64,
}

impl Steps {
    /// Where message `number` begins.
    pub(super) const fn offset(self, number: u64) -> u64 {
        // Most often a power of two, and this is asked several times for each message.
        let turn = match self.count & (self.count - 1) {
            0 => number & (self.count - 1),
            _ => number % self.count,
        };
        turn * self.stride
    }
}

/// A size rounded up to whole cache lines.
fn rounded(size: u64, line: u64) -> u64 {
    size.div_ceil(line).max(1) * line
}

/// How big things are and how messages move through them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    cycle: u64,
    line: u64,
    depth: u64,
    pairs: u64,
    /// Bytes that are posted at a time.
    posted: u64,
    /// Bytes of receives that are posted at a time.
    waiting: u64,
    latency: bool,
}

impl Layout {
    /// The layout of a test whose sides agreed on a cycle and a cache line, for queue pairs that
    /// have `window` in flight, and those of the peer `theirs`; zero if the peer does not say.
    pub(super) fn new(
        settings: &Settings,
        (cycle, line): (u64, u64),
        window: Bytes,
        theirs: Bytes,
    ) -> Self {
        let latency = settings.measure == Measure::Latency;
        let (depth, pairs) = (settings.depth as u64, settings.pairs as u64);
        let enough = (2 * (theirs.get() + BEYOND)).saturating_mul(pairs).min(WAITING);
        let waiting = if theirs > Bytes::ZERO { enough } else { WAITING };
        Self { cycle, line, depth, pairs, posted: window.get() + BEYOND, waiting, latency }
    }

    /// Bytes that one queue pair alone posts at a time.
    pub(super) fn posted(&self) -> Bytes {
        Bytes::new(self.posted)
    }

    /// Bytes within which small messages move on.
    pub(super) const fn cycle(&self) -> u64 {
        self.cycle
    }

    /// How messages to be sent, or read, follow each other. So many may be in flight.
    pub(super) fn out_steps(&self, size: u64) -> Steps {
        let stride = rounded(size, self.line);
        let count = (self.posted / self.pairs / stride).clamp(2, self.depth.max(2));
        Steps { stride, count }
    }

    /// How messages that arrive follow each other.
    pub(super) fn inbox_steps(&self, size: u64) -> Steps {
        let stride = rounded(size, self.line);
        Steps { stride, count: (self.waiting / self.pairs / stride).clamp(4, RECEIVES) }
    }

    /// How messages follow each other at the target: as perftest has it, small ones move on.
    pub(super) fn target_steps(&self, size: u64) -> Steps {
        let stride = rounded(size, self.line);
        if self.latency || size > self.cycle / 2 {
            return Steps { stride, count: 1 };
        }
        Steps { stride, count: self.cycle / stride }
    }
}

/// The memory of a test.
#[derive(Debug)]
pub(super) struct Area {
    pub(super) layout: Layout,
    /// What is sent from, and what reads arrive in.
    out: Memory,
    out_each: u64,
    /// What the peer reaches.
    target: Memory,
    target_each: u64,
    /// What messages arrive in.
    inbox: Memory,
    inbox_each: u64,
    /// The size under way and its steps, of what is sent and at the target: what takes divisions is
    /// not computed for every message.
    current: (u64, Steps, Steps),
}

impl Area {
    /// Memory for messages of all these sizes.
    pub(super) fn new(
        device: &mut Device,
        domain: ProtectionDomain,
        layout: Layout,
        settings: &Settings,
        sizes: &[u64],
    ) -> Result<Self, Error> {
        let most = |of: &dyn Fn(u64) -> Steps| {
            let all = sizes.iter().map(|&size| of(size)).map(|steps| steps.stride * steps.count);
            all.max().unwrap_or(0)
        };
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let out_each = most(&|size| layout.out_steps(size));
        let target_each = rounded(largest.max(layout.cycle), 4096);
        let inbox_each =
            if settings.verb == Verb::Send { most(&|size| layout.inbox_steps(size)) } else { 8 };
        let room = |each: u64| vec![0; (each * layout.pairs) as usize];
        Ok(Self {
            layout,
            out: device.register(domain, room(out_each), Access::LOCAL_WRITE, None)?,
            out_each,
            target: device.register(domain, room(target_each), rights(settings), Some(BASE))?,
            target_each,
            inbox: device.register(domain, room(inbox_each), Access::LOCAL_WRITE, None)?,
            inbox_each,
            current: (0, layout.out_steps(0), layout.target_steps(0)),
        })
    }

    /// From now on messages have this size.
    pub(super) fn set_size(&mut self, size: u64) {
        self.current = (size, self.layout.out_steps(size), self.layout.target_steps(size));
    }

    fn out_steps(&self, size: u64) -> Steps {
        let (current, steps, _) = self.current;
        if size == current { steps } else { self.layout.out_steps(size) }
    }

    /// The place of message `number`, to be sent or read.
    pub(super) fn out(&self, pair: usize, number: u64, size: u64) -> Slice {
        let at = pair as u64 * self.out_each + self.out_steps(size).offset(number);
        Slice::new(self.out, at, size)
    }

    /// The place where message `number` arrives.
    pub(super) fn inbox(&self, pair: usize, number: u64, size: u64) -> Slice {
        let at = pair as u64 * self.inbox_each + self.layout.inbox_steps(size).offset(number);
        Slice::new(self.inbox, at, size)
    }

    /// The place of message `number` at us, as the target.
    pub(super) fn target(&self, pair: usize, number: u64, size: u64) -> Slice {
        let at = pair as u64 * self.target_each + self.layout.target_steps(size).offset(number);
        Slice::new(self.target, at, size)
    }

    /// All that is the target of one queue pair.
    pub(super) fn whole_target(&self, pair: usize) -> Slice {
        Slice::new(self.target, pair as u64 * self.target_each, self.target_each)
    }

    /// The place of message `number` at the peer.
    pub(super) fn remote(&self, keys: &Keys, number: u64, size: u64) -> RemoteSlice {
        let (current, _, steps) = self.current;
        let steps = if size == current { steps } else { self.layout.target_steps(size) };
        let address = keys.address.wrapping_add(steps.offset(number));
        RemoteSlice { address, key: keys.rkey }
    }

    /// The key and address that the peer gets.
    pub(super) fn address(&self, pair: usize) -> (Rkey, u64) {
        (self.target.key(), BASE + pair as u64 * self.target_each)
    }

    /// Fills what messages are sent from, to be stamped.
    pub(super) fn fill_out(
        &self,
        device: &mut Device,
        pair: usize,
        size: u64,
        body: &Body,
    ) -> Result<(), Error> {
        for number in 0..self.layout.out_steps(size).count {
            body.fill(part_mut(device, self.out(pair, number, size))?);
        }
        Ok(())
    }
}

/// What the peer may do with our memory: no more than the test needs, so that another test, or
/// another program, reaches nothing.
fn rights(settings: &Settings) -> Access {
    let answers = settings.verb == Verb::Write && settings.measure == Measure::Latency;
    if settings.role() == Role::Client && !settings.duplex && !answers {
        return Access::LOCAL_WRITE;
    }
    match settings.verb {
        Verb::Write => Access::LOCAL_WRITE | Access::REMOTE_WRITE,
        Verb::Read => Access::LOCAL_WRITE | Access::REMOTE_READ,
        Verb::Atomic(_) => Access::LOCAL_WRITE | Access::REMOTE_ATOMIC,
        Verb::Send => Access::LOCAL_WRITE,
    }
}

/// The bytes of a slice.
pub(super) fn part(device: &Device, slice: Slice) -> Result<&[u8], Error> {
    let (at, length) = (slice.offset.get() as usize, slice.length.get() as usize);
    device.bytes(slice.memory)?.get(at..at + length).ok_or(Error::OutOfRange)
}

/// The bytes of a slice, to be changed.
pub(super) fn part_mut(device: &mut Device, slice: Slice) -> Result<&mut [u8], Error> {
    let (at, length) = (slice.offset.get() as usize, slice.length.get() as usize);
    device.bytes_mut(slice.memory)?.get_mut(at..at + length).ok_or(Error::OutOfRange)
}
