//! What a test does.

use crate::settings::span;
use crate::{DeviceSettings, Waiting, host_config};
use std::net::IpAddr;
use std::time::Duration;
use xoff_transport::config::QpConfig;
use xoff_units::{Bytes, Span};
use xoff_wire::Service;
use xoff_wire::udp::Port;

/// How long a test stays awake for what is not there yet.
const LINGER: Span = Span::from_us(50);
/// The exponent of the ACK timeout unless it is given: 67 ms.
const USUAL_TIMEOUT: u8 = 14;
/// The retries of a NIC.
const NIC_RETRIES: u64 = 7;
/// How long a peer may be silent. A NIC gives up after half a second, but the process of a software
/// peer can be kept from running for longer than that.
const PATIENCE: Duration = Duration::from_secs(5);
/// What may be given instead.
const SHORTEST_PATIENCE: Duration = Duration::from_millis(100);
const LONGEST_PATIENCE: Duration = Duration::from_secs(86_400);
/// So many times as long the peer may be silent before the data, when it fills its memory, and one
/// more second for so many bytes of that: a stock tool does it byte by byte.
const PREPARING: u32 = 4;
const FILLED_PER_SECOND: u64 = 32 << 20;
/// The largest of all sizes.
const LARGEST: u64 = 8 << 20;

/// What moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Writes into the peer's memory.
    Write,
    /// Reads from the peer's memory.
    Read,
    /// Sends into buffers that the peer posts.
    Send,
    /// Changes eight bytes of the peer's memory.
    Atomic(AtomicKind),
}

/// Which atomic operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomicKind {
    /// Adds.
    FetchAdd,
    /// Swaps if it finds what it expects.
    CompareSwap,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// How much, with many messages in flight.
    Bandwidth,
    /// How fast, with one message at a time.
    Latency,
}

/// Which end of the test we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// We wait for a client.
    Server,
    /// We call.
    Client,
}

/// How long it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A number of messages on each queue pair.
    Iterations(u64),
    /// So long.
    For(Duration),
}

/// How the two sides find each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendezvous {
    /// By perftest's exchange over TCP.
    Tcp,
    /// By rdma_cm.
    Cm,
}

/// Everything about a test.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What moves the bytes.
    pub verb: Verb,
    /// What is measured.
    pub measure: Measure,
    /// The server, if we are a client.
    pub server: Option<String>,
    /// The port of the exchange.
    pub port: Port,
    /// Our address for the data; otherwise the source address of the route to the peer.
    pub bind: Option<IpAddr>,
    /// The interface of `bind`, by index, if that is a link-local address; zero takes the interface
    /// to the peer.
    pub scope: u32,
    /// Whether the data uses IPv6 or IPv4; either if not given.
    pub v6: Option<bool>,
    /// Bytes of a message; for atomics eight.
    pub size: u64,
    /// All powers of two from 2 to 8 MiB, one after the other, instead of one size.
    pub all_sizes: bool,
    /// How long.
    pub extent: Extent,
    /// Queue pairs.
    pub pairs: usize,
    /// Most payload of a packet; the peer's and the link's may be smaller.
    pub mtu: Option<u16>,
    /// Data moves in both directions at the same time.
    pub duplex: bool,
    /// Which service.
    pub service: Service,
    /// How to meet.
    pub rendezvous: Rendezvous,
    /// Messages in flight on each queue pair.
    pub depth: usize,
    /// Figures are exchanged in Gbit/s instead of MiB/s.
    pub gigabits: bool,
    /// The UDP port of the data: 4791 everywhere but in tests.
    pub device_port: Port,
    /// Whether to sleep while there is nothing to do. By default it polls for a while first; the
    /// stock tools never sleep.
    pub waiting: Waiting,
    /// How long the peer may be silent, or answer without letting us go on. Retries end after this,
    /// but not before those of a NIC; a side that only waits ends a quarter of it later, so that the
    /// side with the better reason says it first.
    pub patience: Duration,
    /// Exchange with another xoff what the stock tools do not know: what each test is, and what was
    /// counted. Without it, as before there was that.
    pub extras: bool,
    /// Size of the socket's send buffer and of its receive buffer, as far as the system gives it.
    pub socket_buffer: Bytes,
    /// How long a queue pair waits for an acknowledgement, 4.096 us x 2^n; 0 is for ever.
    pub ack_timeout: u8,
}

impl Settings {
    /// A test by perftest's defaults.
    pub fn new(verb: Verb, measure: Measure) -> Self {
        let latency = measure == Measure::Latency;
        Self {
            verb,
            measure,
            server: None,
            port: Port(18515),
            bind: None,
            scope: 0,
            v6: None,
            size: match verb {
                Verb::Atomic(_) => 8,
                _ if latency => 2,
                _ => 65_536,
            },
            all_sizes: false,
            extent: Extent::Iterations(match (verb, measure) {
                (Verb::Write, Measure::Bandwidth) => 5000,
                _ => 1000,
            }),
            pairs: 1,
            mtu: None,
            duplex: false,
            service: Service::Reliable,
            rendezvous: Rendezvous::Tcp,
            depth: if latency { 1 } else { 128 },
            gigabits: false,
            device_port: Port::ROCE_V2,
            waiting: Waiting::Linger(LINGER),
            patience: PATIENCE,
            extras: true,
            socket_buffer: DeviceSettings::default().socket_buffer,
            ack_timeout: USUAL_TIMEOUT,
        }
    }

    /// `rping`'s defaults, for [`ping`](super::ping); it has no end by itself, ours has one.
    pub fn ping() -> Self {
        Self {
            port: Port(7174),
            size: 64,
            rendezvous: Rendezvous::Cm,
            ..Self::new(Verb::Send, Measure::Latency)
        }
    }

    /// The defaults of `ibv_rc_pingpong` and its siblings, for [`pingpong`](super::pingpong).
    pub fn pingpong(service: Service) -> Self {
        // Newer versions of the datagram tool have 2048.
        let size = if service == Service::Datagram { 1024 } else { 4096 };
        Self { size, service, ..Self::new(Verb::Send, Measure::Latency) }
    }

    /// The transport settings of the data's queue pairs.
    pub(super) fn transport(&self) -> QpConfig {
        let usual = host_config();
        let timeout = match self.ack_timeout {
            0 => Span::ZERO,
            exponent => Span::from_ns(4_096 << exponent),
        };
        let patience = span(self.patience);
        // Not sooner; the first packet is no retry. And not fewer than a NIC has.
        let retries = patience.as_ps().div_ceil(timeout.as_ps().max(1)).saturating_sub(1);
        let retry_limit = retries.max(NIC_RETRIES).try_into().unwrap_or(u8::MAX);
        QpConfig { timeout, retry_limit, rnr_time_limit: patience, ..usual }
    }

    /// How long a side waits for any sign of its peer: a little longer than retries last.
    pub(super) fn silence(&self) -> Duration {
        let retries = self.transport().silence_limit().map_or(0, |limit| limit.as_ps() / 1000);
        let longest = self.patience.max(Duration::from_nanos(retries));
        longest.saturating_add(longest / 4).saturating_add(self.filling())
    }

    /// How long a side may take to fill its memory: nothing that counts in most tests.
    fn filling(&self) -> Duration {
        let size = if self.all_sizes { LARGEST } else { self.size };
        let memory = size.saturating_mul(self.pairs as u64);
        Duration::from_secs(memory / FILLED_PER_SECOND)
    }

    /// The same while the peer prepares its memory.
    pub(super) fn silence_before_data(&self) -> Duration {
        self.silence().max(self.patience.saturating_mul(PREPARING).saturating_add(self.filling()))
    }

    /// Which end we are.
    pub fn role(&self) -> Role {
        if self.server.is_some() { Role::Client } else { Role::Server }
    }

    /// The sizes to run, in order. Datagrams end at the MTU.
    pub(super) fn sizes(&self, mtu: u16) -> Vec<u64> {
        if !self.all_sizes || matches!(self.verb, Verb::Atomic(_)) {
            return vec![self.size];
        }
        let most = if self.service == Service::Datagram { u64::from(mtu) } else { LARGEST };
        (1..=23).map(|power| 1 << power).take_while(|&size| size <= most).collect()
    }

    /// What is wrong with the settings, in words for the user.
    pub fn mistake(&self) -> Option<&'static str> {
        let atomic = matches!(self.verb, Verb::Atomic(_));
        let latency = self.measure == Measure::Latency;
        Some(match self.service {
            Service::Unreliable if atomic || self.verb == Verb::Read => {
                "reads and atomics need a reliable connection"
            }
            Service::Datagram if self.verb != Verb::Send => "datagrams carry only sends",
            _ if self.pairs == 0 || self.pairs > 1024 => {
                "the number of queue pairs must be 1 to 1024"
            }
            _ if latency && self.pairs > 1 => "latency is measured on one queue pair only",
            _ if latency && self.duplex => "latency is measured in one direction only",
            _ if latency
                && matches!(self.extent, Extent::For(_))
                && matches!(self.verb, Verb::Write | Verb::Send) =>
            {
                "the latency of writes and sends is measured by iterations, not by time"
            }
            _ if self.size == 0 || self.size > 1 << 30 => {
                "the message size must be 1 byte to 1 GiB"
            }
            _ if self.size.saturating_mul(self.pairs as u64) > 1 << 30 => {
                "the messages of all queue pairs together must not exceed 1 GiB"
            }
            _ if self.patience < SHORTEST_PATIENCE || self.patience > LONGEST_PATIENCE => {
                "the peer's silence must be given 0.1 s to a day"
            }
            _ if self.ack_timeout > 31 => "the exponent of the ACK timeout must be 0 to 31",
            _ if self.depth == 0 || self.depth > 1 << 14 => {
                "the number of messages in flight must be 1 to 16384"
            }
            _ if self.extent == Extent::Iterations(0) => {
                "the number of iterations must be at least 1"
            }
            _ if self.all_sizes && matches!(self.extent, Extent::For(_)) => {
                "a run over all sizes is limited by iterations, not by time"
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_ack_timeout_gives_up_no_sooner_and_none_never() {
        let with = |ack_timeout| {
            let settings = Settings::new(Verb::Write, Measure::Bandwidth);
            Settings { ack_timeout, ..settings }.transport()
        };
        let usual = (with(USUAL_TIMEOUT).timeout, host_config().timeout);
        assert!(usual.0 >= usual.1 && usual.0 < usual.1 + Span::from_ms(1), "{usual:?}");
        assert_eq!(with(17).timeout, Span::from_us(536_871) - Span::from_ns(88));
        assert_eq!(with(0).silence_limit(), None);
        let limits: Vec<_> = (1..=31).map(|n| with(n).silence_limit().unwrap()).collect();
        assert!(limits.is_sorted(), "{limits:?}");
        let usual = with(USUAL_TIMEOUT).silence_limit().unwrap();
        assert!(limits[9] < usual && limits[19] > usual);
    }

    #[test]
    fn silence_ends_in_the_time_that_is_given() {
        for seconds in [1, 2, 5, 10, 17] {
            let patience = Duration::from_secs(seconds);
            let settings = Settings::new(Verb::Write, Measure::Bandwidth);
            let settings = Settings { patience, ..settings };
            let limit = settings.transport().silence_limit().unwrap();
            let given = Span::from_ms(seconds * 1000);
            assert!(limit >= given && limit < given + Span::from_ms(68), "{limit} of {given}");
            let waits = settings.silence();
            assert!(
                waits >= patience * 5 / 4 && waits < patience * 5 / 4 + Duration::from_millis(85)
            );
            assert_eq!(settings.transport().rnr_time_limit, given);
        }
        // What is asked for by a longer timeout counts, too, and a NIC's retries are the least.
        let settings = Settings::new(Verb::Write, Measure::Bandwidth);
        let long = Settings { ack_timeout: 20, ..settings.clone() };
        assert!(long.silence() > Duration::from_secs(34));
        let endless = Settings { ack_timeout: 0, ..settings };
        assert_eq!(endless.silence(), PATIENCE + PATIENCE / 4);
        let hasty = Settings { patience: Duration::from_millis(1), ..endless };
        assert!(hasty.mistake().is_some());
    }
}
