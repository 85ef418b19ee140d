//! The schema of counters: every metric an operator needs of a RoCE fabric, once.
//!
//! A [`Metric`] has a name in Prometheus' style, a unit, the [`Scope`] that says which labels its series carry, and
//! the names it goes by at each [`Source`]: what an exporter reads, what a query asks for and what a detector looks
//! at is the same value of the same type. `docs/metrics.md` is generated from [`METRICS`].
//!
//! What it is not: it holds no values (that is [`Recording`](crate::Recording)) and reads nothing.

mod alias;
mod facts;

pub use alias::{Alias, Source};
pub use facts::METRICS;

/// What is counted or measured. The order is that of [`METRICS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Metric {
    /// Bytes sent.
    TxBytes,
    /// Bytes received.
    RxBytes,
    /// Packets sent.
    TxPackets,
    /// Packets received.
    RxPackets,
    /// Rate of the link.
    Speed,
    /// Whether the link is up.
    Up,
    /// Times the link went down.
    LinkDowns,
    /// PFC frames received that pause a priority.
    PfcReceived,
    /// PFC frames sent that pause a priority.
    PfcSent,
    /// Time for which received pauses kept a priority from sending.
    PausedTime,
    /// Time for which sent pauses kept the peer from sending.
    PausingTime,
    /// Changes from paused to not paused.
    PauseTransitions,
    /// Queues that the PFC watchdog declared stuck.
    WatchdogEvents,
    /// Packets dropped by the PFC watchdog.
    WatchdogDrops,
    /// Packets marked with ECN on their way out.
    EcnMarked,
    /// Marked packets received by a NIC.
    EcnReceived,
    /// Congestion notifications sent by the receiving NIC.
    CnpSent,
    /// Congestion notifications that the sending NIC obeyed.
    CnpHandled,
    /// Congestion notifications that the sending NIC ignored.
    CnpIgnored,
    /// Packets dropped for want of buffer.
    BufferDrops,
    /// Packets dropped because there was no route.
    RouteDrops,
    /// Packets dropped because they were longer than the MTU.
    MtuDrops,
    /// Greatest length of an egress queue since the last scrape.
    QueueWatermark,
    /// Most shared buffer that an ingress priority group held since the last scrape.
    IngressWatermark,
    /// Most headroom that an ingress priority group held since the last scrape.
    HeadroomWatermark,
    /// Time that packets waited in a queue, 99th percentile.
    QueueDelay,
    /// Packets received damaged.
    CrcErrors,
    /// Code words that FEC corrected.
    FecCorrected,
    /// Code words that FEC could not correct.
    FecUncorrected,
    /// Symbols received in error.
    SymbolErrors,
    /// Temperature of the optical module.
    ModuleTemperature,
    /// Optical power received.
    ModuleRxPower,
    /// Packets sent again.
    Retransmitted,
    /// Times a queue pair waited for an acknowledgement in vain.
    Timeouts,
    /// Packets that arrived with others missing before them.
    OutOfSequence,
    /// Requests that were received a second time.
    Duplicates,
    /// NAKs for a receiver that was not ready.
    ReceiverNotReady,
    /// Queue pairs that gave up.
    QueuePairErrors,
    /// Packets dropped because the NIC had no receive buffer.
    OutOfBuffer,
    /// Share of time for which PCIe kept the NIC from writing to its host.
    PcieStalled,
    /// Bus bandwidth of a collective.
    BusBandwidth,
    /// Time of a collective.
    CollectiveTime,
    /// Time for which a GPU computed.
    GpuBusy,
    /// Time for which a GPU waited for its peers.
    GpuWait,
    /// Time of a training step.
    StepTime,
    /// Share of time for which a GPU ran kernels.
    GpuBusyShare,
    /// Packets that a GPU's PCIe link sent again.
    GpuPcieReplays,
    /// Packets that a GPU's NVLinks sent again.
    GpuNvlinkReplays,
}

/// Whether values add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Grows with traffic or time: its rate is what matters.
    Counter,
    /// Grows by one for each of a few events.
    Events,
    /// A value of the moment.
    Gauge,
    /// The greatest value since the last scrape.
    Watermark,
}

impl Kind {
    /// Whether a value is the sum of all that happened, so that only differences mean anything.
    pub const fn is_cumulative(self) -> bool {
        matches!(self, Kind::Counter | Kind::Events)
    }
}

/// What a value is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Frames.
    Frames,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Events, operations, code words: no unit.
    Count,
    /// A share of one.
    Ratio,
    /// Degrees Celsius.
    Celsius,
    /// Decibels over a milliwatt.
    Dbm,
}

impl Unit {
    /// In a table.
    pub const fn word(self) -> &'static str {
        match self {
            Unit::Packets => "packets",
            Unit::Frames => "frames",
            Unit::Bytes => "bytes",
            Unit::BitsPerSecond => "bits/s",
            Unit::BytesPerSecond => "bytes/s",
            Unit::Seconds => "s",
            Unit::Count => "",
            Unit::Ratio => "ratio",
            Unit::Celsius => "degrees C",
            Unit::Dbm => "dBm",
        }
    }
}

/// What one series of a metric belongs to: which labels it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A port of a switch or a NIC.
    Port,
    /// A priority of a port.
    Priority,
    /// A NIC.
    Nic,
    /// A rank of a job.
    Rank,
    /// A job.
    Job,
    /// A GPU of a host.
    Gpu,
}

impl Scope {
    /// The labels of its series, beside `fabric`.
    pub const fn labels(self) -> &'static [&'static str] {
        match self {
            Scope::Port | Scope::Nic => {
                &["device", "port", "peer", "tier", "peer_tier", "host", "rail"]
            }
            Scope::Priority => {
                &["device", "port", "peer", "tier", "peer_tier", "host", "rail", "priority"]
            }
            // `job` is what Prometheus calls a group of targets.
            Scope::Rank => &["job_name", "rank"],
            Scope::Job => &["job_name"],
            Scope::Gpu => &["host", "gpu"],
        }
    }
}

/// What is known of a metric.
#[derive(Debug)]
pub struct Facts {
    /// Which.
    pub metric: Metric,
    /// Its name, in base units, `_total` at the end of what adds up.
    pub name: &'static str,
    /// Whether it adds up.
    pub kind: Kind,
    /// What it is counted in.
    pub unit: Unit,
    /// Which labels it has.
    pub scope: Scope,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// Its names elsewhere.
    pub aliases: &'static [Alias],
}

impl Metric {
    /// What is known of it.
    pub fn facts(self) -> &'static Facts {
        &METRICS[self as usize]
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The metric of this name.
    pub fn named(name: &str) -> Option<Self> {
        METRICS.iter().find(|facts| facts.name == name).map(|facts| facts.metric)
    }

    /// All metrics.
    pub fn all() -> impl Iterator<Item = Self> {
        METRICS.iter().map(|facts| facts.metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_in_the_order_of_the_metrics() {
        for (at, facts) in METRICS.iter().enumerate() {
            assert_eq!(facts.metric as usize, at, "{}", facts.name);
            assert_eq!(Metric::named(facts.name), Some(facts.metric));
        }
    }

    /// What `promtool check metrics` asks of names.
    #[test]
    fn names_follow_the_style_of_prometheus() {
        let names: BTreeSet<&str> = METRICS.iter().map(|facts| facts.name).collect();
        assert_eq!(names.len(), METRICS.len(), "a name twice");
        for facts in METRICS {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(facts.name.starts_with("xoff_") && facts.name.chars().all(plain));
            let total = facts.name.ends_with("_total");
            assert_eq!(total, facts.kind.is_cumulative(), "{}", facts.name);
            assert!(facts.help.ends_with('.') && facts.help.len() < 160, "{}", facts.help);
        }
    }

    #[test]
    fn no_source_has_a_name_for_two_metrics() {
        let mut seen = BTreeSet::new();
        for facts in METRICS {
            for alias in facts.aliases {
                assert!(seen.insert((alias.source, alias.name)), "{alias:?}");
                let per_priority = matches!(facts.scope, Scope::Priority);
                assert!(!alias.name.contains("{p}") || per_priority, "{alias:?}");
            }
        }
    }
}
