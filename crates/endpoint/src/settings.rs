//! What can be set about a device and its queue pairs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;
use xoff_transport::config::{Congestion, Dcqcn, QpConfig};
use xoff_transport::{ProtectionDomain, Qkey};
use xoff_units::{Bytes, Rate, Ratio, Span};
use xoff_wire::Service;
use xoff_wire::ip::{Ecn, TrafficClass};
use xoff_wire::udp::Port;

use crate::clock::Clock;
use crate::socket::USUAL_CLASS;
use crate::{Completions, SharedReceives};

/// How much of a packet's ICRC is verified before the packet is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// As much as a UDP socket allows: everything over IPv6. Over IPv4 the identification, which
    /// the ICRC covers, is not shown; the ICRC has to be that of *some* identification, which one
    /// corrupted packet in 65,536 would pass.
    #[default]
    Socket,
    /// Everything, over IPv4 too: packets are taken from a packet socket, which needs
    /// `CAP_NET_RAW`.
    Full,
    /// Nothing. The UDP checksum is all there is, if the peer sends one.
    Off,
}

/// How a device waits for packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// Sleeps until something arrives or is due. Only the last microseconds before a paced packet
    /// are spent polling.
    #[default]
    Sleep,
    /// Polls for this long after the last packet, and then sleeps: streams are not slowed down by
    /// sleeping between packets, and an idle device costs nothing. While it polls it yields the
    /// processor to other threads.
    Linger(Span),
    /// Never sleeps: the shortest latency, at the price of a core.
    Spin,
}

/// Settings of a [`Device`](crate::Device).
#[derive(Debug, Clone)]
pub struct DeviceSettings {
    /// The device's address: one of this machine's, not a wildcard.
    pub address: IpAddr,
    /// The interface of a link-local IPv6 address, by index: such an address is one of an interface,
    /// not of the machine. Zero for every other address.
    pub scope: u32,
    /// The UDP port: 4791, the port of RoCEv2, everywhere but in tests.
    pub port: Port,
    /// How much of the ICRC is checked.
    pub verify: Verify,
    /// How [`Device::wait`](crate::Device::wait) waits for packets.
    pub waiting: Waiting,
    /// Send runs of packets with one call (UDP segmentation offload). Turned off automatically
    /// where the kernel refuses.
    pub segmentation: bool,
    /// Receive runs of packets with one call (UDP receive offload).
    pub coalescing: bool,
    /// Every queue pair sends from a UDP port of its own, so that switches spread them over their
    /// links. Otherwise all send from [`DeviceSettings::port`].
    pub entropy: bool,
    /// Acknowledgements wait for the next call, because what the caller posts meanwhile leaves with
    /// them in one piece: much less work for a caller that answers messages with messages. Only for
    /// callers that never stop calling [`Device::progress`](crate::Device::progress) or
    /// [`Device::wait`](crate::Device::wait) as long as peers expect anything.
    pub hold_answers: bool,
    /// Traffic class of congestion notification packets.
    pub cnp_class: TrafficClass,
    /// The rate of the port, for pacing.
    pub line_rate: Rate,
    /// The round-trip time of the idle network, for congestion control.
    pub base_rtt: Span,
    /// Where its time comes from.
    pub clock: Clock,
    /// Size of the socket's send buffer and of its receive buffer.
    pub socket_buffer: Bytes,
    /// The most that all reliable connections to one peer have in flight together, as long as there are several: what
    /// they send waits in one receive buffer there. They take turns. A packet counts for 1024 bytes at least, and may be
    /// the one that goes beyond. By default as much as a Linux
    /// socket holds that was made without rights; [`Bytes::MAX`] for none. Data of reads is not held back by this.
    pub in_flight: Bytes,
    /// How many queue pairs, regions and queues may exist at a time.
    pub limits: Limits,
}

/// How much of everything a device holds at a time, so that its memory is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Queue pairs, at most 16,384.
    pub pairs: usize,
    /// Memory regions.
    pub regions: usize,
    /// Work requests of all queue pairs together, and as many receives.
    pub posted: usize,
    /// Completion queues, and shared receive queues.
    pub queues: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pairs: 4096, regions: 1 << 16, posted: 1 << 18, queues: 4096 }
    }
}

impl DeviceSettings {
    /// A device at `address`, everything else by default.
    pub fn new(address: impl Into<IpAddr>) -> Self {
        Self {
            address: address.into(),
            scope: 0,
            port: Port::ROCE_V2,
            verify: Verify::default(),
            waiting: Waiting::default(),
            segmentation: true,
            coalescing: true,
            entropy: false,
            hold_answers: false,
            cnp_class: TrafficClass::new(48, Ecn::NotCapable),
            line_rate: Rate::from_gbps(100),
            base_rtt: Span::from_us(50),
            clock: Clock::Wall,
            socket_buffer: Bytes::new(4 << 20),
            in_flight: KEPT,
            limits: Limits::default(),
        }
    }

    /// The same at another UDP port.
    #[must_use]
    pub fn port(mut self, port: Port) -> Self {
        self.port = port;
        self
    }

    /// The same with the interface of a link-local address.
    #[must_use]
    pub fn scope(mut self, scope: u32) -> Self {
        self.scope = scope;
        self
    }

    /// Address and port, and the interface of a link-local address.
    pub(crate) fn socket_address(&self) -> SocketAddr {
        match self.address {
            IpAddr::V4(_) => SocketAddr::new(self.address, self.port.0),
            IpAddr::V6(v6) => SocketAddrV6::new(v6, self.port.0, 0, self.scope).into(),
        }
    }
}

impl Default for DeviceSettings {
    fn default() -> Self {
        Self::new(Ipv4Addr::LOCALHOST)
    }
}

/// Settings of a queue pair.
#[derive(Debug, Clone)]
pub struct PairSettings {
    /// Reliable connection, unreliable connection or datagrams.
    pub service: Service,
    /// The protection domain of its memory.
    pub domain: ProtectionDomain,
    /// The queue in which its work completes.
    pub send_completions: Completions,
    /// The queue in which its receives complete.
    pub receive_completions: Completions,
    /// A receive queue that it shares with other queue pairs; otherwise it has its own.
    pub shared: Option<SharedReceives>,
    /// Its transport settings. [`Remote::mtu`](crate::Remote::mtu) overrides the MTU given here.
    pub config: Arc<QpConfig>,
    /// DSCP and ECN of what it sends.
    pub class: TrafficClass,
    /// The key datagrams must carry.
    pub qkey: Qkey,
}

impl PairSettings {
    /// A queue pair of this service whose work and receives complete in `completions`.
    pub fn new(service: Service, domain: ProtectionDomain, completions: Completions) -> Self {
        Self {
            service,
            domain,
            send_completions: completions,
            receive_completions: completions,
            shared: None,
            config: Arc::new(host_config()),
            class: USUAL_CLASS,
            qkey: Qkey(0x1111_1111),
        }
    }
}

/// What a Linux socket made without rights (416 KiB) holds for certain of packets that are not alike: the system counts up
/// to twice their bytes, and gives back what was read when it is a quarter of the whole.
const KEPT: Bytes = Bytes::new(128 << 10);

/// Transport settings for a host without an RDMA NIC: timers that a scheduler can keep, and no more
/// in flight than a peer's socket holds by default, which also fits the caches.
pub fn host_config() -> QpConfig {
    QpConfig {
        timeout: Span::from_ms(67),
        // A NIC gives up after 7 retries, which is half a second here. The process of a software
        // peer can be kept from running for longer than that.
        retry_limit: 150,
        // As long as silence: a peer that answers and never posts a receive is no better.
        rnr_time_limit: Span::from_ms(10_000),
        rnr_delay: Span::from_us(640),
        window: Bytes::new(256 << 10),
        cnp_interval: Span::from_us(50),
        congestion: Congestion::Dcqcn(Dcqcn {
            g: Ratio::new(1, 256),
            initial_alpha: Ratio::ONE,
            byte_counter: Bytes::ZERO,
            alpha_interval: Span::from_us(55),
            decrease_interval: Span::from_us(50),
            additive_increase: Rate::from_bps(40_000_000),
            hyper_increase: Rate::from_bps(400_000_000),
            ..Dcqcn::default()
        }),
        ..QpConfig::default()
    }
}

/// A wall-clock duration as the transport counts time.
pub(crate) fn span(duration: Duration) -> Span {
    Span::from_ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 1000))
}
