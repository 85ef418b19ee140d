//! NICs: their rates, and how their transport behaves unless a file says otherwise.

use super::fact::{self, Fact};
use super::{Milliwatts, Source};
use xoff_units::{Rate, Span};

/// A NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicModel {
    /// Name in files.
    pub name: String,
    /// Who makes it.
    pub vendor: String,
    /// Rate of all its ports together.
    pub rate: Rate,
    /// Ports of the usual card.
    pub ports: u8,
    /// Electrical lanes of one port.
    pub lanes: u8,
    /// Time between a doorbell or an arriving packet and what follows from it.
    pub latency: Span,
    /// What it draws at load, without optics: always an estimate.
    pub power: Milliwatts,
    /// How sure the figures above are.
    pub source: Source,
    /// Whether packets may arrive out of order.
    pub placement: OutOfOrder,
    /// How its queue pairs behave: defaults of `[transport]`, each with its source.
    pub transport: Vec<Fact>,
}

/// What a NIC does with packets of a reliable connection that overtake each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutOfOrder {
    /// It takes them for a loss.
    Unable,
    /// It can place them, if firmware and software of both ends are set so; it does not by itself.
    Switchable,
    /// It places them.
    Able,
}

impl OutOfOrder {
    /// A phrase for tables.
    pub const fn name(self) -> &'static str {
        match self {
            OutOfOrder::Unable => "no",
            OutOfOrder::Switchable => "when switched on",
            OutOfOrder::Able => "yes",
        }
    }
}

impl NicModel {
    /// Its transport defaults as the text of a fabric file.
    pub(crate) fn text(&self) -> String {
        fact::text(&self.transport)
    }
}

/// What NCCL sets on every queue pair: the software of a GPU cluster, not the NIC, chooses these.
const NCCL: [Fact; 4] = [
    Fact::documented(
        "timeout",
        "'4.294967296s'",
        "ACK timeout 20 (4.096 us x 2^20): NCCL from 2.23 on; 18 from 2.14, 14 before and in perftest (67 ms)",
    ),
    Fact::documented("retry-limit", "7", "NCCL, perftest and UCX; hardware counts to it"),
    Fact::documented("rnr-retry-limit", "7", "NCCL and perftest; 7 is without end here"),
    Fact::documented("rnr-delay", "'640us'", "RNR timer 12: NCCL"),
];

/// ConnectX-5 and later.
const CONNECTX: [Fact; 8] = [
    Fact::reported(
        "adaptive-retransmission",
        "true",
        "on in a public register dump. First timeouts of 4 to 6 ms were measured at ACK timeout 14: a \
         sixteenth; documentation has up to four doublings from there",
    ),
    Fact::documented(
        "recovery",
        "'go-back-n'",
        "selective_repeat_forced 0 in a public register dump",
    ),
    Fact::documented("notification", "'cnp'", "ROCE_CC_PRIO_MASK 255: on for all priorities"),
    Fact::documented(
        "cnp-scope",
        "'port'",
        "help text and kernel say that the interval counts from the port; measured so on ConnectX-5 and -6 Dx",
    ),
    Fact::documented(
        "cnp-interval",
        "'4us'",
        "MIN_TIME_BETWEEN_CNPS 4 in newer dumps; 0 in old ones",
    ),
    Fact::estimated(
        "cnp-delay",
        "'1us'",
        "as long as NICs take to answer with a NAK; not published",
    ),
    Fact::estimated(
        "reaction-delay",
        "'1us'",
        "as long as NICs take to act on a NAK; not published",
    ),
    Fact::documented(
        "congestion",
        "{ kind = 'dcqcn', preset = 'connectx' }",
        "public configuration dumps",
    ),
];

/// Broadcom publishes that there are some sixty settings, and no numbers.
const THOR: [Fact; 6] = [
    Fact::estimated("recovery", "'go-back-n'", "not published"),
    Fact::estimated("cnp-scope", "'queue-pair'", "not published"),
    Fact::estimated("cnp-interval", "'4us'", "not published; as ConnectX"),
    Fact::estimated("cnp-delay", "'1us'", "not published"),
    Fact::estimated("reaction-delay", "'1us'", "not published"),
    Fact::estimated(
        "congestion",
        "{ kind = 'dcqcn', preset = 'connectx' }",
        "a probabilistic variant of DCQCN without published numbers",
    ),
];

const POLLARA: [Fact; 7] = [
    Fact::reported("recovery", "'selective-repeat'", "product brief: selective retransmission"),
    Fact::estimated(
        "reorder-window",
        "1024",
        "packets are sprayed and placed out of order; the depth is ours",
    ),
    Fact::estimated("cnp-scope", "'queue-pair'", "not published"),
    Fact::estimated("cnp-interval", "'4us'", "not published; as ConnectX"),
    Fact::estimated("cnp-delay", "'1us'", "not published"),
    Fact::estimated("reaction-delay", "'1us'", "not published"),
    Fact::documented("congestion", "{ kind = 'dcqcn', preset = 'ionic' }", "AMD's ionic driver"),
];

const E810: [Fact; 6] = [
    Fact::estimated("recovery", "'go-back-n'", "not published"),
    Fact::reported("cnp-scope", "'queue-pair'", "measured"),
    Fact::reported("cnp-interval", "'50us'", "measured: a hidden interval of about 50 us"),
    Fact::estimated("cnp-delay", "'1us'", "not published"),
    Fact::estimated("reaction-delay", "'1us'", "not published"),
    Fact::documented("congestion", "{ kind = 'dcqcn', preset = 'irdma' }", "Intel's irdma driver"),
];

/// One row of the table below.
struct Row {
    name: &'static str,
    vendor: &'static str,
    gbps: u64,
    /// Ports of the usual card and lanes of each.
    ports: (u8, u8),
    latency_ns: u64,
    watts: u32,
    source: Source,
    placement: OutOfOrder,
    transport: &'static [Fact],
}

/// Rates, ports and lanes are published; latencies are estimates from round-trip tests between two NICs,
/// and watts are estimates, too. A generic NIC behaves as ConnectX does, which most clusters have.
const ROWS: [Row; 17] = [
    nvidia("connectx-5", 100, (1, 4), 500, 16, OutOfOrder::Switchable),
    nvidia("connectx-6", 200, (1, 4), 500, 22, OutOfOrder::Switchable),
    nvidia("connectx-6-dx", 100, (2, 2), 500, 20, OutOfOrder::Switchable),
    nvidia("connectx-7", 400, (1, 4), 500, 25, OutOfOrder::Switchable),
    nvidia("connectx-8", 800, (1, 8), 500, 45, OutOfOrder::Switchable),
    nvidia("bluefield-2", 200, (2, 4), 600, 60, OutOfOrder::Switchable),
    nvidia("bluefield-3", 400, (2, 4), 600, 75, OutOfOrder::Switchable),
    Row {
        name: "thor-2",
        vendor: "Broadcom",
        gbps: 400,
        ports: (1, 4),
        latency_ns: 600,
        watts: 25,
        source: Source::Published,
        placement: OutOfOrder::Unable,
        transport: &THOR,
    },
    Row {
        name: "pollara-400",
        vendor: "AMD",
        gbps: 400,
        ports: (1, 4),
        latency_ns: 700,
        watts: 35,
        source: Source::Published,
        placement: OutOfOrder::Able,
        transport: &POLLARA,
    },
    Row {
        name: "e810",
        vendor: "Intel",
        gbps: 100,
        ports: (1, 4),
        latency_ns: 800,
        watts: 20,
        source: Source::Published,
        placement: OutOfOrder::Unable,
        transport: &E810,
    },
    generic("generic-10g", 10, (1, 1), 5),
    generic("generic-25g", 25, (1, 1), 8),
    generic("generic-40g", 40, (1, 4), 10),
    generic("generic-100g", 100, (1, 4), 16),
    generic("generic-200g", 200, (1, 4), 20),
    generic("generic-400g", 400, (1, 4), 25),
    generic("generic-800g", 800, (1, 8), 45),
];

const fn nvidia(
    name: &'static str,
    gbps: u64,
    ports: (u8, u8),
    latency_ns: u64,
    watts: u32,
    placement: OutOfOrder,
) -> Row {
    Row {
        name,
        vendor: "NVIDIA",
        gbps,
        ports,
        latency_ns,
        watts,
        source: Source::Published,
        placement,
        transport: &CONNECTX,
    }
}

const fn generic(name: &'static str, gbps: u64, ports: (u8, u8), watts: u32) -> Row {
    Row {
        name,
        vendor: "none",
        gbps,
        ports,
        latency_ns: 500,
        watts,
        source: Source::Invented,
        placement: OutOfOrder::Switchable,
        transport: &CONNECTX,
    }
}

pub(super) fn built_in() -> impl Iterator<Item = NicModel> {
    ROWS.iter().map(|row| NicModel {
        name: row.name.to_owned(),
        vendor: row.vendor.to_owned(),
        rate: Rate::from_gbps(row.gbps),
        ports: row.ports.0,
        lanes: row.ports.1,
        latency: Span::from_ns(row.latency_ns),
        power: Milliwatts::from_watts(row.watts),
        source: row.source,
        placement: row.placement,
        transport: NCCL.iter().chain(row.transport).copied().collect(),
    })
}
