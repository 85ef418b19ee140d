//! [`Device`]: one address and everything behind it.

use crate::clock::{Running, until};
use crate::completion::{Completions, Queue, SharedReceives};
use crate::discard::Reasons;
use crate::error::{Error, OpenError};
use crate::flight::Flights;
use crate::inbox::Inbox;
use crate::memory::{Memory, Store};
use crate::moderation::Moderation;
use crate::outbox::Outbox;
use crate::pair::Pairs;
use crate::posted::Posted;
use crate::schedule::Schedule;
use crate::settings::{DeviceSettings, Verify, Waiting};
use crate::socket::Socket;
use crate::tap::Tap;
use crate::verify::Verification;
use crate::work::Completion;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_recv_buffer_size;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;
use xoff_transport::{Access, PathInfo, ProtectionDomain, ReceiveQueue, Slack};
use xoff_units::{Bytes, Instant, Span};

/// How far packets may deviate from their time: far enough that a run of them leaves with one call,
/// and that a thread which wakes late keeps its rate.
pub(crate) const SLACK: Slack = Slack { ahead: Span::from_us(20), behind: Span::from_us(100) };

/// What is due sooner than this is not worth going to sleep for: the system wakes us later.
const TOO_SHORT_TO_SLEEP: Duration = Duration::from_micros(60);

/// A pause between two polls of a stream is slept through if it is as long as this.
const WORTH_SLEEPING: Duration = Duration::from_micros(15);

/// Messages taken before what they caused is sent.
pub(crate) const ROUNDS: usize = 4;

/// A RoCEv2 endpoint: one IP address, its memory, queue pairs and completions.
///
/// [`Device::wait`] sleeps until there is something to do. A caller with an event loop of its own
/// waits for the device's descriptor instead, and for [`Device::next_due`]:
///
/// ```
/// use std::os::fd::AsFd;
/// use xoff_endpoint::{Device, DeviceSettings, PairSettings, PairState, Service, Span};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut device = Device::open(DeviceSettings::new([127, 93, 2, 1]))?;
/// let completions = device.create_completions(16)?;
/// let domain = device.create_domain();
/// let settings = PairSettings::new(Service::Datagram, domain, completions);
/// let pair = device.create_pair(settings)?;
///
/// // One turn of the loop: all that can be done now, and how long there is nothing more.
/// while !device.progress().is_idle() {}
/// let idle_for = device.next_due().since(device.now());
/// assert!(idle_for > Span::from_us(1_000_000), "until a packet arrives at the descriptor");
/// let _descriptor = device.as_fd();
///
/// // Packets that were not accepted are counted, by reason.
/// for (reason, count) in device.discards().iter() {
///     eprintln!("{count} packets: {}", reason.name());
/// }
/// assert_eq!(device.discards().total(), 0);
///
/// // A queue pair that is taken out of use flushes what is posted.
/// device.fail(pair)?;
/// assert_eq!(device.state(pair)?, PairState::Error);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Device {
    pub(crate) settings: DeviceSettings,
    pub(crate) address: SocketAddr,
    pub(crate) clock: Running,
    pub(crate) socket: Socket,
    /// Where packets are taken from instead, if their identification must be seen.
    pub(crate) tap: Option<Tap>,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    pub(crate) store: Store,
    pub(crate) pairs: Pairs,
    pub(crate) posted: Posted,
    pub(crate) shared: Vec<ReceiveQueue>,
    pub(crate) schedule: Schedule,
    pub(crate) flights: Flights,
    /// Connections that packets came to since they were answered last.
    pub(crate) touched: Vec<u32>,
    pub(crate) reasons: Reasons,
    pub(crate) verification: Verification,
    moderation: Moderation,
    domains: u32,
    packets_in: u64,
    /// Of them, those that queue pairs took.
    pub(crate) taken: u64,
    bytes_in: u64,
    /// When anything moved last.
    active: Instant,
    /// The time of the last call of [`Device::progress`]. What is posted until the next goes by it, because asking the
    /// clock for each message takes a tenth of the time of a short one: nothing leaves before that call, and what pacing
    /// holds back until after this time has an alarm.
    pub(crate) last_progress: Instant,
}

/// What a call of [`Device::progress`] moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Packets that arrived, accepted or not.
    pub received: u64,
    /// Of them, those that came from the peer of a queue pair, or as datagrams to one: not those of
    /// strangers, nor of connection management.
    pub delivered: u64,
    /// Packets made to be sent.
    pub sent: u64,
}

impl Progress {
    /// Whether nothing moved.
    pub fn is_idle(self) -> bool {
        self == Self::default()
    }
}

impl Device {
    /// Opens a device.
    pub fn open(settings: DeviceSettings) -> Result<Self, OpenError> {
        let ip = settings.address;
        if ip.is_unspecified() || ip.is_multicast() {
            return Err(OpenError::Address(ip));
        }
        let buffer = usize::try_from(settings.socket_buffer.get()).unwrap_or(usize::MAX);
        let (runs, bundles) = (settings.segmentation, settings.coalescing);
        let socket = Socket::open(settings.socket_address(), buffer, runs, bundles)?;
        let address = socket.address().map_err(|error| OpenError::Socket {
            what: "cannot read the socket's address",
            error,
        })?;
        // Not a secret to rely on, but other numbers each time, so that a peer that does not know a
        // key or a queue pair will hardly guess one.
        let secret = RandomState::new().hash_one(address) | 1;
        let limits = settings.limits;
        let tap = match address {
            // Without the rights it works all the same, and says what it cannot check.
            SocketAddr::V4(v4) if settings.verify == Verify::Full => Tap::open(v4, buffer).ok(),
            _ => None,
        };
        if tap.is_some() {
            socket.ignore_arrivals();
        }
        Ok(Self {
            address,
            clock: Running::start(&settings.clock),
            inbox: Inbox::new(),
            outbox: Outbox::new(),
            store: Store::new(secret, limits.regions),
            pairs: Pairs::new((secret >> 32) as u32, limits.pairs),
            posted: Posted::new(limits.posted),
            shared: Vec::new(),
            schedule: Schedule::default(),
            flights: Flights::new(settings.in_flight),
            touched: Vec::new(),
            reasons: Reasons::default(),
            verification: Verification::of(settings.verify, socket.is_v6(), tap.is_some()),
            moderation: Moderation::new(),
            domains: 0,
            packets_in: 0,
            taken: 0,
            bytes_in: 0,
            active: Instant::ZERO,
            last_progress: Instant::ZERO,
            tap,
            socket,
            settings,
        })
    }

    /// Its address and UDP port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How far packets are verified: less than [`DeviceSettings::verify`] asks for if the process
    /// has no right to see whole packets.
    pub fn verification(&self) -> Verification {
        self.verification
    }

    /// Whether runs of packets leave with one call.
    pub fn sends_runs(&self) -> bool {
        self.socket.segmentation
    }

    /// Packets that reached no queue pair or could not be sent, by reason.
    pub fn discards(&self) -> &Reasons {
        &self.reasons
    }

    /// Packets, or runs of them that receive offload put together, that arrived and that the system
    /// dropped because the receive buffer was full: they came faster than [`Device::progress`] took them.
    pub fn overflows(&self) -> u64 {
        self.tap.as_ref().map_or_else(|| self.socket.overflows(), Tap::overflows)
    }

    /// Sets the poll interval under load: while more than 10 Gbit/s come in or go out and hardly
    /// anything goes the other way, [`Device::wait`] lets this much time pass before it returns, even
    /// if it [lingers](Waiting::Linger), unless something is due. That is less work for both sides, but
    /// it adds as much latency, and windows have to cover it. A new device has no such interval. The
    /// thread that calls this is the one that waits.
    pub(crate) fn moderate(&mut self, pause: Span) {
        // Sleeps are as long as they are asked to be, and not 50 us longer. Without it pauses are longer than wanted.
        let _ = rustix::thread::set_current_timer_slack(NonZero::new(1));
        self.moderation.set(pause);
    }

    /// Changes [`DeviceSettings::in_flight`]: for a caller that hears from its peers how much they keep.
    pub fn bound_in_flight(&mut self, most: Bytes) {
        self.flights.set_limit(most);
    }

    /// How much of what arrives the kernel keeps until [`Device::progress`] takes it: the size of
    /// the receive buffer.
    pub(crate) fn arrivals_kept(&self) -> Bytes {
        Bytes::new(socket_recv_buffer_size(self).unwrap_or(0) as u64)
    }

    /// The time that the device's queue pairs go by.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Makes a new protection domain.
    pub fn create_domain(&mut self) -> ProtectionDomain {
        self.domains = self.domains.wrapping_add(1);
        ProtectionDomain(self.domains)
    }

    /// Registers memory, which becomes the device's. Peers name its bytes by their address: `base`
    /// is that of the first, or without it the real one.
    pub fn register(
        &mut self,
        domain: ProtectionDomain,
        bytes: impl Into<Box<[u8]>>,
        access: Access,
        base: Option<u64>,
    ) -> Result<Memory, Error> {
        self.store.register(domain, bytes.into(), access, base)
    }

    /// Gives memory back. Posted work that still needs it fails, and peers reach it no more.
    pub fn deregister(&mut self, memory: Memory) -> Result<Box<[u8]>, Error> {
        debug_assert!(!self.outbox.is_bound());
        self.store.deregister(memory)
    }

    /// The address of the memory's first byte, as peers name it.
    pub fn base(&self, memory: Memory) -> Result<u64, Error> {
        self.store.base(memory)
    }

    /// The bytes of registered memory.
    pub fn bytes(&self, memory: Memory) -> Result<&[u8], Error> {
        self.store.bytes(memory)
    }

    /// The bytes of registered memory, to be changed.
    pub fn bytes_mut(&mut self, memory: Memory) -> Result<&mut [u8], Error> {
        debug_assert!(!self.outbox.is_bound());
        self.store.bytes_mut(memory)
    }

    /// A completion queue for at most `capacity` pieces of work and receives that are posted, or
    /// done and not yet polled.
    pub fn create_completions(&mut self, capacity: usize) -> Result<Completions, Error> {
        if self.posted.queues.len() >= self.settings.limits.queues {
            return Err(Error::Limit("completion queues"));
        }
        self.posted.queues.push(Queue::new(capacity));
        Ok(Completions(self.posted.queues.len() as u32 - 1))
    }

    /// A receive queue for several queue pairs.
    pub fn create_shared_receives(&mut self) -> Result<SharedReceives, Error> {
        if self.shared.len() >= self.settings.limits.queues {
            return Err(Error::Limit("receive queues"));
        }
        self.shared.push(ReceiveQueue::default());
        Ok(SharedReceives(self.shared.len() as u32 - 1))
    }

    /// The next work or receive that has ended.
    pub fn poll(&mut self, completions: Completions) -> Option<Completion> {
        self.posted.queue(completions)?.pop()
    }

    /// Whether nothing has ended that was not polled.
    pub(crate) fn has_no_completions(&self, completions: Completions) -> bool {
        self.posted.queues.get(completions.0 as usize).is_none_or(Queue::is_empty)
    }

    pub(crate) fn path(&self) -> PathInfo {
        PathInfo { line_rate: self.settings.line_rate, base_rtt: self.settings.base_rtt }
    }

    /// Takes what has arrived, does what is due, sends what may be sent. Never blocks.
    ///
    /// With [`DeviceSettings::hold_answers`] acknowledgements may be held back until the next call
    /// of this or of [`Device::wait`]; [`Progress::is_idle`] says when nothing is left.
    pub fn progress(&mut self) -> Progress {
        let (received, taken, sent) = (self.packets_in, self.taken, self.outbox.packets);
        let (bytes_in, bytes_out) = (self.bytes_in, self.outbox.bytes);
        let waited = !self.outbox.is_empty();
        let mut now = self.clock.now();
        for _ in 0..ROUNDS {
            if !self.receive(now) {
                break;
            }
            now = self.clock.now();
        }
        self.last_progress = now;
        self.answer_touched(now);
        self.alarms(now);
        let answers = self.outbox.packets;
        self.transmit(now);
        let talks = self.outbox.packets > answers;
        if !self.settings.hold_answers || waited || talks {
            self.flush();
        }
        let progress = Progress {
            received: self.packets_in - received,
            delivered: self.taken - taken,
            sent: self.outbox.packets - sent,
        };
        let (came, went) = (self.bytes_in - bytes_in, self.outbox.bytes - bytes_out);
        self.moderation.polled(now, came, went);
        if !progress.is_idle() {
            self.active = now;
        }
        progress
    }

    /// Sends what is ready.
    pub(crate) fn flush(&mut self) {
        self.outbox.flush(&mut self.socket, &self.store, &mut self.reasons);
    }

    /// Counts packets that arrived, and their bytes.
    pub(crate) fn count_received(&mut self, packets: usize, bytes: usize) {
        self.packets_in += packets as u64;
        self.bytes_in += bytes as u64;
    }

    /// Sleeps until a packet arrives, something is due, or `timeout` is over; not at all if there
    /// is something to do, or by the device's settings.
    pub fn wait(&mut self, timeout: Duration) {
        self.wait_or(timeout, None);
    }

    /// The same, and wakes when `other` can be read. Says whether it slept.
    pub(crate) fn wait_or(&mut self, timeout: Duration, other: Option<BorrowedFd<'_>>) -> bool {
        self.flush();
        if self.settings.waiting == Waiting::Spin {
            std::hint::spin_loop();
            return false;
        }
        let now = self.clock.now();
        if let Waiting::Linger(time) = self.settings.waiting
            && now.since(self.active) < time
        {
            let end = self.schedule.due().min(now + self.moderation.pause());
            loop {
                let left = until(self.clock.now(), end);
                if left >= WORTH_SLEEPING {
                    thread::sleep(left);
                } else {
                    thread::yield_now();
                }
                if self.clock.now() >= end {
                    return false;
                }
            }
        }
        let left = until(now, self.schedule.due());
        if left.is_zero() || (left < TOO_SHORT_TO_SLEEP && self.next_is_paced()) {
            return false;
        }
        let left = left.min(timeout);
        let mut flags = PollFlags::IN;
        flags.set(PollFlags::OUT, !self.outbox.is_empty());
        let own = PollFd::from_borrowed_fd(self.as_fd(), flags);
        let mut both =
            [own, PollFd::from_borrowed_fd(other.unwrap_or(self.socket.fd()), PollFlags::IN)];
        let count = if other.is_some() { 2 } else { 1 };
        let time = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        // An error is no reason to stop: the caller polls again in any case.
        let _ = poll(&mut both[..count], Some(&time));
        true
    }

    /// Calls [`Device::progress`] and [`Device::wait`] until something ends in `completions`, or
    /// time is over.
    pub fn poll_until(
        &mut self,
        completions: Completions,
        timeout: Duration,
    ) -> Option<Completion> {
        let end = self.clock.now() + crate::settings::span(timeout);
        loop {
            self.progress();
            if let Some(completion) = self.poll(completions) {
                return Some(completion);
            }
            let left = until(self.clock.now(), end);
            if left.is_zero() {
                return None;
            }
            self.wait(left);
        }
    }
}

impl AsFd for Device {
    /// What packets arrive at, to wait for it together with other things. [`Device::next_due`] says
    /// for how long.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tap.as_ref().map_or(self.socket.fd(), Tap::fd)
    }
}
