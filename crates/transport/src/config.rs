//! Everything about a queue pair that can be set, as plain data with defaults.
//!
//! The fabric file is made of these types: what a file says is what the queue pair obeys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Rate, Ratio, Span};

/// How queue pairs of one NIC behave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct QpConfig {
    /// Largest payload of one packet: 256, 512, 1024, 2048 or 4096 bytes on real NICs, anything
    /// from 64 to 9000 bytes in a fabric file.
    pub mtu: Bytes,
    /// The sender requests an acknowledgement every this many packets, and for the last of a
    /// message.
    pub ack_every: u32,
    /// How lost packets are sent again.
    pub recovery: Recovery,
    /// With selective repeat, a missing packet counts as lost when one that was sent this many
    /// packets after it has arrived. Zero takes every gap for a loss, and reports every early packet; networks that spread the
    /// packets of a queue pair over several paths need more.
    pub reorder_window: u32,
    /// Retransmission timeout: the ACK timeout of the queue pair, 4.096 us x 2^n on real NICs (14
    /// is 67 ms, 20 is 4.3 s). Zero turns it off; fabric files cannot, because a lost last packet
    /// would never be sent again. With `rack`, the least timeout: round trips are measured, and it
    /// doubles with every timeout in a row.
    pub timeout: Span,
    /// With `rack`: how long a tail loss probe waits beyond two round trips, because timers are
    /// coarse.
    pub probe_floor: Span,
    /// The first timeout after progress is a sixteenth of `timeout`, and each one that follows
    /// twice as long, up to `timeout`.
    pub adaptive_retransmission: bool,
    /// Retries before the queue pair fails with "retry exceeded": after `retry-limit` + 1 timeouts
    /// without progress. With adaptive retransmission the total time counts instead, which is the
    /// same: `retry-limit` + 1 times `timeout`.
    pub retry_limit: u8,
    /// Times in a row that a receiver may be not ready before the queue pair fails; 7 means never
    /// give up.
    pub rnr_retry_limit: u8,
    /// How long a receiver may be not ready, or request the same packet again and again, without
    /// progress before the queue pair fails, whatever [`QpConfig::rnr_retry_limit`] says; zero means
    /// no limit. Not of fabric files: it is for hosts whose peers may forget to post receives, or
    /// mean harm.
    #[serde(skip)]
    pub rnr_time_limit: Span,
    /// Most reads and atomics outstanding at a time.
    pub max_reads: u8,
    /// The wait that the responder requests when no receive is posted (RNR timer).
    pub rnr_delay: Span,
    /// A repeated NAK for the same expected packet is sent at most once in this time.
    pub nak_interval: Span,
    /// Most unacknowledged bytes a sender may have in flight; zero means no limit.
    pub window: Bytes,
    /// How the receiver notifies the sender of congestion.
    pub notification: Notification,
    /// Shortest time between two congestion notification packets that share a limiter.
    pub cnp_interval: Span,
    /// Which notifications share a limiter.
    pub cnp_scope: CnpScope,
    /// Time the receiver takes to make a congestion notification.
    pub cnp_delay: Span,
    /// Time the sender takes to act on one (a packet, or an echo that DCQCN acts on).
    pub reaction_delay: Span,
    /// Congestion control at the sender.
    pub congestion: Congestion,
    /// Bytes around the payload.
    pub framing: Framing,
}

impl Default for QpConfig {
    fn default() -> Self {
        Self {
            mtu: Bytes::new(4096),
            ack_every: 16,
            recovery: Recovery::GoBackN,
            reorder_window: 0,
            timeout: Span::from_us(1000),
            adaptive_retransmission: false,
            probe_floor: Span::ZERO,
            retry_limit: 7,
            rnr_retry_limit: 7,
            rnr_time_limit: Span::ZERO,
            max_reads: 16,
            rnr_delay: Span::from_us(10),
            nak_interval: Span::from_us(500),
            window: Bytes::ZERO,
            notification: Notification::Cnp,
            cnp_interval: Span::from_us(4),
            cnp_scope: CnpScope::QueuePair,
            cnp_delay: Span::ZERO,
            reaction_delay: Span::ZERO,
            congestion: Congestion::Dcqcn(Dcqcn::default()),
            framing: Framing::default(),
        }
    }
}

impl QpConfig {
    /// How long the first timeout after progress is; none without a timeout.
    pub fn first_timeout(&self) -> Option<Span> {
        // Four doublings lead from the first to the last.
        let first = if self.adaptive_retransmission { 16 } else { 1 };
        (!self.timeout.is_zero()).then(|| Span::from_ps(self.timeout.as_ps().div_ceil(first)))
    }

    /// How long silence lasts before the queue pair fails; none if it never does.
    pub fn silence_limit(&self) -> Option<Span> {
        (!self.timeout.is_zero()).then(|| self.timeout * (u64::from(self.retry_limit) + 1))
    }

    /// Whether a receiver reports every packet that comes early, instead of keeping it without a word and asking for what is
    /// lost. It does where every gap is a loss, and where the sender lives on answers: it asks for one for every packet,
    /// or its congestion control counts them or measures by them.
    pub fn reports_early(&self) -> bool {
        let silent = matches!(self.congestion, Congestion::None | Congestion::Dcqcn(_))
            && self.notification == Notification::Cnp;
        let overtaking = self.recovery == Recovery::SelectiveRepeat && self.reorder_window > 0;
        !(overtaking && silent && self.ack_every > 1)
    }

    /// Packets that may overtake one of the same queue pair before that one is taken for lost.
    pub fn overtaking_allowed(&self) -> u32 {
        match self.recovery {
            Recovery::GoBackN => 0,
            Recovery::SelectiveRepeat => self.reorder_window,
            // By time: a quarter of a round trip, and more where that was too little.
            Recovery::Rack => u32::MAX,
        }
    }
}

/// How lost packets are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Everything from the first missing packet on.
    #[default]
    GoBackN,
    /// Only what is missing (as in IRN): the receiver keeps what arrives out of order.
    SelectiveRepeat,
    /// The same, as TCP does it on Linux (RACK-TLP): losses are detected by time, tail losses are
    /// probed for, and `timeout` is the least retransmission timeout.
    Rack,
}

/// How the receiver notifies the sender of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notification {
    /// Congestion notification packets, at most one per interval, in their own class.
    #[default]
    Cnp,
    /// Every acknowledgement echoes the mark of the packet it answers.
    EchoInAck,
}

/// Which congestion notification packets of a receiving NIC share one `cnp-interval`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CnpScope {
    /// Those of one queue pair: every sender of an incast is notified once per interval.
    #[default]
    QueuePair,
    /// Those to one destination address.
    Destination,
    /// All of one port: at n:1 a sender is notified once in n intervals.
    Port,
}

/// Bytes a packet has beside its payload, and on the wire beside that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Framing {
    /// Ethernet, IP, UDP, BTH, ICRC and FCS around every packet (IPv4: 14 + 20 + 8 + 12 + 4 + 4).
    pub header: Bytes,
    /// Size of an acknowledgement; zero means headers and AETH, at least the 64-byte minimum.
    pub ack: Bytes,
    /// Size of a congestion notification packet; zero means headers and its 16 reserved bytes.
    pub cnp: Bytes,
    /// Whether RETH and AETH are added to the packets that carry them.
    pub extensions: bool,
    /// Preamble, start delimiter and gap, which take wire time and no buffer.
    pub gap: Bytes,
    /// Every data packet is as long as the MTU allows, also the last of a message.
    pub pad_last: bool,
}

impl Default for Framing {
    fn default() -> Self {
        Self {
            header: Bytes::new(62),
            ack: Bytes::ZERO,
            cnp: Bytes::ZERO,
            extensions: true,
            gap: Bytes::new(20),
            pad_last: false,
        }
    }
}

/// Congestion control at the sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Congestion {
    /// Always line rate.
    None,
    /// Rate cut on notifications, recovery by timers and bytes.
    Dcqcn(Dcqcn),
    /// Rate from the load each hop reports.
    Hpcc(Hpcc),
    /// Rate from the gradient of the round-trip time.
    Timely(Timely),
    /// Window from the round-trip time against a target.
    Swift(Swift),
    /// Window from the share of marked packets.
    Dctcp(Dctcp),
    /// TCP's window: slow start, then a cubic of the time since the last loss.
    Cubic(Cubic),
    /// Ultra Ethernet's window: delay and marks together, and a fast cut after trimmed packets.
    Nscc(Nscc),
}

impl Congestion {
    /// Whether its window counts what is really in flight: packets known to have arrived or to be
    /// lost do not count, and what is sent again waits for room like everything else. The others
    /// count from the first unacknowledged packet on.
    pub fn counts_flight(&self) -> bool {
        match self {
            Congestion::Cubic(_) | Congestion::Nscc(_) => true,
            Congestion::Dctcp(dctcp) => !dctcp.initial_window.is_zero(),
            _ => false,
        }
    }

    /// Whether it needs the mark of every packet echoed in acknowledgements: a CNP says that
    /// something was marked, not which share.
    pub fn needs_echo(&self) -> bool {
        matches!(self, Congestion::Dctcp(_) | Congestion::Nscc(_))
    }

    /// Whether senders slow down for ECN marks. The others measure delay or load, or never slow down.
    pub fn obeys_marks(&self) -> bool {
        matches!(self, Congestion::Dcqcn(_) | Congestion::Dctcp(_) | Congestion::Nscc(_))
    }

    /// Whether its packets are ECN-capable. TCP sets that only for schemes that react to marks.
    pub fn takes_marks(&self) -> bool {
        !matches!(self, Congestion::Cubic(_))
    }
}

/// DCQCN's reaction point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Dcqcn {
    /// A named set of constants: those that the file does not give are taken from it.
    pub preset: Option<DcqcnPreset>,
    /// Weight of the newest observation in alpha.
    pub g: Ratio,
    /// Alpha before the first notification.
    pub initial_alpha: Ratio,
    /// Alpha moves once in this time.
    pub alpha_interval: Span,
    /// The rate is cut at most once in this time.
    pub decrease_interval: Span,
    /// The first notification cuts the rate immediately (the paper), or at the next tick (the ns-3
    /// line).
    pub cut_at_once: bool,
    /// Most that one cut may take away.
    pub largest_cut: Ratio,
    /// Time between increases.
    pub increase_timer: Span,
    /// Bytes between increases; zero turns the byte counter off.
    pub byte_counter: Bytes,
    /// Increases of each kind spent in fast recovery.
    pub fast_recovery: u32,
    /// Additive increase.
    pub additive_increase: Rate,
    /// Hyper increase.
    pub hyper_increase: Rate,
    /// Line rate for which the two increases are given: at others they scale in proportion. Zero
    /// takes them as they are at every rate.
    pub increase_at: Rate,
    /// The rate never falls below.
    pub min_rate: Rate,
    /// Every cut moves the target down to the rate, not only the first after an increase.
    pub clamp_target: bool,
}

/// Named sets of DCQCN constants. `xoff catalogue dcqcn` shows their values and sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DcqcnPreset {
    /// ConnectX as shipped: timer and byte counter, increases of 5 and 50 Mb/s at any rate.
    Connectx,
    /// The same without the byte counter.
    ConnectxTimer,
    /// ConnectX with increases that scale with the rate, as operators tune it.
    ConnectxScaled,
    /// The constants of the DCQCN paper (40G).
    Paper,
    /// The constants of the ns-3 models of the HPCC line, scaled to the NIC's rate.
    Hpcc,
    /// AMD's ionic driver.
    Ionic,
    /// Intel's irdma driver, as far as rates can express its windows.
    Irdma,
}

impl Default for Dcqcn {
    /// ConnectX as its public configuration dumps show it. `RPG_BYTE_RESET` counts units of 64
    /// bytes.
    fn default() -> Self {
        Self {
            preset: None,
            g: Ratio::new(5, 1024),
            initial_alpha: Ratio::new(1023, 1024),
            alpha_interval: Span::from_us(1),
            decrease_interval: Span::from_us(4),
            cut_at_once: true,
            largest_cut: Ratio::new(1, 2),
            increase_timer: Span::from_us(300),
            byte_counter: Bytes::new(32_767 * 64),
            fast_recovery: 1,
            additive_increase: Rate::from_bps(5_000_000),
            hyper_increase: Rate::from_bps(50_000_000),
            increase_at: Rate::ZERO,
            min_rate: Rate::from_bps(1_000_000),
            clamp_target: false,
        }
    }
}

/// HPCC's sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Hpcc {
    /// Target utilisation of the busiest hop.
    pub eta: Ratio,
    /// Additive increases before the next multiplicative step.
    pub max_stage: u32,
    /// Additive increase.
    pub additive_increase: Rate,
    /// The rate never falls below.
    pub min_rate: Rate,
    /// React to every acknowledgement, against a reference that moves once per round trip.
    pub fast_react: bool,
    /// Hops report in the units of HPCC's header: nanoseconds, and 128 bytes sent and 80 bytes
    /// queued for every 25G of the NIC's rate.
    pub coarse_reports: bool,
    /// Round-trip time of the idle network; zero means computed from the path.
    pub base_rtt: Span,
}

impl Default for Hpcc {
    fn default() -> Self {
        Self {
            eta: Ratio::new(95, 100),
            max_stage: 0,
            additive_increase: Rate::from_bps(40_000_000),
            min_rate: Rate::from_bps(1_000_000_000),
            fast_react: true,
            coarse_reports: true,
            base_rtt: Span::ZERO,
        }
    }
}

/// TIMELY's sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Timely {
    /// Weight of the newest round-trip difference.
    pub ewma: Ratio,
    /// Multiplicative decrease factor.
    pub beta: Ratio,
    /// Below this the rate always grows.
    pub t_low: Span,
    /// Above this the rate always falls.
    pub t_high: Span,
    /// Additive increase.
    pub additive_increase: Rate,
    /// Good round trips in a row before increases are multiplied.
    pub hyper_after: u32,
    /// The rate never falls below.
    pub min_rate: Rate,
    /// Round-trip time of the idle network; zero means computed from the path.
    pub base_rtt: Span,
}

impl Default for Timely {
    fn default() -> Self {
        Self {
            ewma: Ratio::new(875, 1000),
            beta: Ratio::new(8, 10),
            t_low: Span::from_us(50),
            t_high: Span::from_us(500),
            additive_increase: Rate::from_bps(10_000_000),
            hyper_after: 5,
            min_rate: Rate::from_bps(100_000_000),
            base_rtt: Span::ZERO,
        }
    }
}

/// Swift's sender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Swift {
    /// Target delay above the idle round-trip time.
    pub target: Span,
    /// Window increase per round trip.
    pub additive_increase: Bytes,
    /// Multiplicative decrease factor.
    pub beta: Ratio,
    /// Most that one decrease may take away.
    pub largest_cut: Ratio,
    /// Round-trip time of the idle network; zero means computed from the path.
    pub base_rtt: Span,
}

impl Default for Swift {
    fn default() -> Self {
        Self {
            target: Span::from_us(10),
            additive_increase: Bytes::new(4096),
            beta: Ratio::new(8, 10),
            largest_cut: Ratio::new(1, 2),
            base_rtt: Span::ZERO,
        }
    }
}

/// A DCTCP-style sender: a window cut by the share of marked packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Dctcp {
    /// Weight of the newest share.
    pub g: Ratio,
    /// Window increase per round trip.
    pub additive_increase: Bytes,
    /// Round-trip time of the idle network; zero means computed from the path.
    pub base_rtt: Span,
    /// Start like TCP: slow start from this window, halved by a loss, one packet after a timeout.
    /// Zero starts like a NIC, with the window of the idle path, and ignores losses.
    pub initial_window: Bytes,
}

impl Default for Dctcp {
    fn default() -> Self {
        Self {
            g: Ratio::new(1, 16),
            additive_increase: Bytes::new(4096),
            base_rtt: Span::ZERO,
            initial_window: Bytes::ZERO,
        }
    }
}

/// CUBIC's sender (RFC 9438).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Cubic {
    /// Window before anything is acknowledged; zero means ten packets (RFC 6928).
    pub initial_window: Bytes,
    /// What a loss leaves of the window.
    pub beta: Ratio,
    /// Packets by which the window grows in the first second after a plateau.
    pub c: Ratio,
    /// A loss makes room for newer flows: the plateau is lower if the window had not grown back to
    /// the one before.
    pub fast_convergence: bool,
}

impl Default for Cubic {
    fn default() -> Self {
        Self {
            initial_window: Bytes::ZERO,
            beta: Ratio::new(7, 10),
            c: Ratio::new(4, 10),
            fast_convergence: true,
        }
    }
}

/// A sender in the manner of Ultra Ethernet's NSCC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Nscc {
    /// Target queueing delay; zero means three quarters of the idle round trip.
    pub target: Span,
    /// Share of the idle path's window by which the window grows in a round trip without delay.
    pub proportional_increase: Ratio,
    /// Window increase per round trip above the target, while nothing is marked; zero means one
    /// packet.
    pub fair_increase: Bytes,
    /// Gain of the cut when marked packets are delayed beyond the target.
    pub gamma: Ratio,
    /// Most that one such cut may take away.
    pub largest_cut: Ratio,
    /// Largest window, as a multiple of what the idle path holds.
    pub largest_window: Ratio,
    /// Round-trip time of the idle network; zero means computed from the path.
    pub base_rtt: Span,
}

impl Default for Nscc {
    fn default() -> Self {
        Self {
            target: Span::ZERO,
            proportional_increase: Ratio::new(1, 8),
            fair_increase: Bytes::ZERO,
            gamma: Ratio::new(8, 10),
            largest_cut: Ratio::new(1, 2),
            largest_window: Ratio::new(3, 2),
            base_rtt: Span::ZERO,
        }
    }
}
