//! Switch ASICs.

use super::{Milliwatts, Source};
use crate::model::{SiliconPart, Voq};
use xoff_units::{Bytes, Rate, Ratio, Span};

/// A switch ASIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silicon {
    /// Name in files.
    pub name: String,
    /// Who makes it.
    pub vendor: String,
    /// Bandwidth of all ports together, one way.
    pub capacity: Rate,
    /// Ports at full rate.
    pub ports: u32,
    /// The full rate of a port; slower links split it. Zero takes any rate.
    pub port_rate: Rate,
    /// Most ports when full-rate ports are split.
    pub max_ports: u32,
    /// Packet memory.
    pub buffer: Bytes,
    /// Unit of packet memory; zero counts bytes.
    pub cell: Bytes,
    /// Forwarding latency, cut-through. With virtual output queues the part after their fabric.
    pub latency: Span,
    /// Virtual output queues and a credit-scheduled cell fabric; `None` has one shared buffer.
    pub voq: Option<Voq>,
    /// What it adds to headroom.
    pub headroom: SiliconPart,
    /// What a switch with it draws at load, without optics: always an estimate.
    pub power: Milliwatts,
    /// It forwards InfiniBand, and no Ethernet.
    pub infiniband: bool,
    /// How sure the figures are.
    pub source: Source,
}

impl Silicon {
    /// Whether it has ports of any rate without limit, which no real one has.
    pub fn unlimited(&self) -> bool {
        self.port_rate.bps() == 0
    }

    /// How many links of `rate` one full-rate port carries; zero if the rate is too high.
    pub fn split(&self, rate: Rate) -> u32 {
        if self.unlimited() {
            return 1;
        }
        if rate.bps() == 0 {
            return 0;
        }
        // Eight lanes per port, so at most eight links.
        u32::try_from((self.port_rate.bps() / rate.bps()).min(8)).unwrap_or(8)
    }

    /// How many links of `rate` it carries when all are of that rate.
    pub fn links_at(&self, rate: Rate) -> u32 {
        if self.unlimited() {
            return self.max_ports;
        }
        self.ports.saturating_mul(self.split(rate)).min(self.max_ports)
    }
}

/// One row of the table below.
struct Row {
    name: &'static str,
    vendor: &'static str,
    ports: u32,
    gbps: u64,
    max_ports: u32,
    buffer: u64,
    cell: u64,
    latency_ns: u64,
    pipeline_ns: u64,
    step: u64,
    watts: u32,
    source: Source,
}

const MB: u64 = 1_000_000;

/// Ports, buffer sizes and cells as published where marked so. The headroom pipeline of Spectrum-4
/// and later is the 120 ns of its tiles; those of Tomahawk (461 ns) and Teralynx (926 ns) are fitted
/// to shipped 400G/40 m figures of 446,024 and 135,520 bytes. Latencies are typical measured ones.
/// Watts are our estimates for the whole switch, fans and all, with passive copper.
///
/// The Jericho line has virtual output queues in front of a fabric of Ramon chips. Ports and the existence of
/// HBM are published (8 GB beside a Jericho2); the size beside a Jericho-3-AI is an estimate. Its memory
/// holds packets in bundles, so that no cell is wasted. Latency is the part after the fabric: with
/// credits and fabric an idle switch takes 3.5 to 3.8 us, as data sheets of such systems give it. A
/// chassis is a 7800R with 8 or 16 line cards of 36 ports. Packets can only wait in the memory of their own
/// line card, so its buffer is that of one chip.
const ROWS: [Row; 18] = [
    row(
        "tomahawk-3",
        "Broadcom",
        (32, 400, 128),
        64 * MB,
        254,
        800,
        (461, 254),
        450,
        Source::Published,
    ),
    row(
        "tomahawk-4",
        "Broadcom",
        (64, 400, 256),
        113 * MB,
        254,
        800,
        (461, 254),
        700,
        Source::Published,
    ),
    row(
        "tomahawk-5",
        "Broadcom",
        (64, 800, 256),
        165 * MB,
        254,
        750,
        (461, 254),
        1000,
        Source::Published,
    ),
    row(
        "tomahawk-6",
        "Broadcom",
        (64, 1600, 512),
        260 * MB,
        254,
        750,
        (461, 254),
        1900,
        Source::Estimated,
    ),
    row(
        "trident-3",
        "Broadcom",
        (32, 100, 128),
        32 * MB,
        256,
        800,
        (461, 256),
        300,
        Source::Published,
    ),
    row(
        "trident-4",
        "Broadcom",
        (32, 400, 128),
        132 * MB,
        254,
        900,
        (461, 254),
        500,
        Source::Published,
    ),
    row(
        "jericho-2c-plus",
        "Broadcom",
        (18, 400, 144),
        8_000 * MB,
        0,
        1_800,
        (461, 1024),
        700,
        Source::Estimated,
    ),
    row(
        "jericho-3-ai",
        "Broadcom",
        (18, 800, 144),
        16_000 * MB,
        0,
        1_500,
        (461, 1024),
        900,
        Source::Estimated,
    ),
    row(
        "jericho-2c-plus-chassis",
        "Broadcom",
        (288, 400, 2_304),
        8_000 * MB,
        0,
        1_800,
        (461, 1024),
        9_000,
        Source::Estimated,
    ),
    row(
        "jericho-3-ai-chassis",
        "Broadcom",
        (576, 800, 4_608),
        16_000 * MB,
        0,
        1_500,
        (461, 1024),
        28_000,
        Source::Estimated,
    ),
    row(
        "spectrum-2",
        "NVIDIA",
        (32, 200, 128),
        42 * MB,
        144,
        425,
        (0, 1024),
        250,
        Source::Published,
    ),
    row(
        "spectrum-3",
        "NVIDIA",
        (32, 400, 128),
        64 * MB,
        144,
        450,
        (0, 1024),
        450,
        Source::Published,
    ),
    row(
        "spectrum-4",
        "NVIDIA",
        (64, 800, 256),
        160 * MB,
        192,
        500,
        (120, 1024),
        950,
        Source::Published,
    ),
    row(
        "spectrum-5",
        "NVIDIA",
        (64, 800, 256),
        160 * MB,
        192,
        500,
        (120, 1024),
        950,
        Source::Estimated,
    ),
    row(
        "silicon-one-g200",
        "Cisco",
        (64, 800, 512),
        256 * MB,
        256,
        700,
        (461, 256),
        950,
        Source::Estimated,
    ),
    row(
        "teralynx-10",
        "Marvell",
        (64, 800, 512),
        200 * MB,
        0,
        550,
        (926, 80),
        950,
        Source::Estimated,
    ),
    row("generic", "none", (64, 800, 512), 128 * MB, 0, 600, (0, 1024), 1000, Source::Invented),
    row("ideal", "none", (65_536, 0, 65_536), 64 * MB, 0, 0, (0, 0), 0, Source::Invented),
];

/// InfiniBand silicon. Ports and capacity are published: Quantum-2 is sold as 51.2 Tb/s counted both ways, which is
/// 64 x 400G one way, and forwards in less than 150 ns; Quantum-X800 has 144 x 800G. No public text
/// states the buffers. They are estimated from what credits need: 10 us of line rate behind each port,
/// in which a full packet on each of eight lanes and the round trip of 100 m of cable fit several times.
const INFINIBAND: [Row; 3] = [
    row("quantum", "NVIDIA", (40, 200, 80), 10 * MB, 64, 150, (0, 64), 350, Source::Estimated),
    row("quantum-2", "NVIDIA", (64, 400, 128), 32 * MB, 64, 150, (0, 64), 750, Source::Estimated),
    row(
        "quantum-x800",
        "NVIDIA",
        (144, 800, 288),
        144 * MB,
        64,
        150,
        (0, 64),
        2_000,
        Source::Estimated,
    ),
];

#[allow(clippy::too_many_arguments, reason = "one line of the table per ASIC reads best")]
const fn row(
    name: &'static str,
    vendor: &'static str,
    (ports, gbps, max_ports): (u32, u64, u32),
    buffer: u64,
    cell: u64,
    latency_ns: u64,
    (pipeline_ns, step): (u64, u64),
    watts: u32,
    source: Source,
) -> Row {
    Row {
        name,
        vendor,
        ports,
        gbps,
        max_ports,
        buffer,
        cell,
        latency_ns,
        pipeline_ns,
        step,
        watts,
        source,
    }
}

/// Credits and cell fabric of the Jericho line: estimates that make up the latency of data sheets.
const JERICHO: Voq = Voq {
    credit_latency: Span::from_ns(1_000),
    fabric_latency: Span::from_ns(1_000),
    speed_up: Ratio::new(6, 5),
};

pub(super) fn built_in() -> impl Iterator<Item = Silicon> {
    let ethernet = ROWS.iter().map(|row| (row, false));
    let rows = ethernet.chain(INFINIBAND.iter().map(|row| (row, true)));
    rows.map(|(row, infiniband)| Silicon {
        infiniband,
        name: row.name.to_owned(),
        vendor: row.vendor.to_owned(),
        capacity: Rate::from_gbps(row.gbps * u64::from(row.ports)),
        ports: row.ports,
        port_rate: Rate::from_gbps(row.gbps),
        max_ports: row.max_ports,
        buffer: Bytes::new(row.buffer),
        cell: Bytes::new(row.cell),
        latency: Span::from_ns(row.latency_ns),
        voq: row.name.starts_with("jericho").then_some(JERICHO),
        headroom: SiliconPart {
            pipeline: Span::from_ns(row.pipeline_ns),
            step: Bytes::new(row.step),
            ..SiliconPart::default()
        },
        power: Milliwatts::from_watts(row.watts),
        source: row.source,
    })
}

impl Silicon {
    /// Latency of an idle switch, with credits and fabric where it has them.
    pub fn idle_latency(&self) -> Span {
        let transit = self.voq.map_or(Span::ZERO, |voq| voq.credit_latency + voq.fabric_latency);
        self.latency + transit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_buffers_come_with_virtual_output_queues() {
        for silicon in built_in() {
            let deep = silicon.buffer > Bytes::new(1_000 * MB);
            assert_eq!(silicon.voq.is_some(), deep, "{}", silicon.name);
            let slow = silicon.idle_latency() > Span::from_us(3);
            assert_eq!(slow, deep, "{}", silicon.name);
        }
    }

    #[test]
    fn a_51t_switch_splits_into_400g() {
        let tomahawk = built_in().find(|s| s.name == "tomahawk-5").unwrap();
        assert_eq!(tomahawk.links_at(Rate::from_gbps(800)), 64);
        assert_eq!(tomahawk.links_at(Rate::from_gbps(400)), 128);
        assert_eq!(tomahawk.links_at(Rate::from_gbps(100)), 256);
        assert_eq!(tomahawk.links_at(Rate::from_gbps(1600)), 0);
        assert_eq!(tomahawk.capacity, Rate::from_gbps(51_200));
    }

    #[test]
    fn infiniband_silicon_counts_one_way_and_buffers_ten_microseconds() {
        let named = |name: &str| built_in().find(|s| s.name == name).unwrap();
        assert_eq!(named("quantum-2").capacity, Rate::from_gbps(25_600));
        assert_eq!(named("quantum-x800").capacity, Rate::from_gbps(115_200));
        for silicon in built_in().filter(|silicon| silicon.infiniband) {
            let port = Bytes::new(silicon.buffer.get() / u64::from(silicon.ports));
            let held = silicon.port_rate.time_for(port);
            assert!((9..=11).contains(&(held.as_ps() / 1_000_000)), "{}: {held}", silicon.name);
        }
    }
}
