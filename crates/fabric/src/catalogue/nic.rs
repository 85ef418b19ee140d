//! NICs.

use super::{Milliwatts, Source};
use xoff_units::{Rate, Span};

/// A NIC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NicModel {
    /// Name in files.
    pub name: String,
    /// Who makes it.
    pub vendor: String,
    /// Rate of its port.
    pub rate: Rate,
    /// Time between a doorbell or an arriving packet and what follows from it.
    pub latency: Span,
    /// What it draws at load, without optics: always an estimate.
    pub power: Milliwatts,
    /// How sure the figures are.
    pub source: Source,
}

/// Rates are published; latencies are estimates from round-trip tests between two NICs,
/// and watts are estimates, too.
const ROWS: [(&str, &str, u64, u64, u32, Source); 17] = [
    ("connectx-5", "NVIDIA", 100, 500, 16, Source::Published),
    ("connectx-6", "NVIDIA", 200, 500, 22, Source::Published),
    ("connectx-6-dx", "NVIDIA", 100, 500, 20, Source::Published),
    ("connectx-7", "NVIDIA", 400, 500, 25, Source::Published),
    ("connectx-8", "NVIDIA", 800, 500, 45, Source::Published),
    ("bluefield-2", "NVIDIA", 200, 600, 60, Source::Published),
    ("bluefield-3", "NVIDIA", 400, 600, 75, Source::Published),
    ("thor-2", "Broadcom", 400, 600, 25, Source::Published),
    ("pollara-400", "AMD", 400, 700, 35, Source::Published),
    ("e810", "Intel", 100, 800, 20, Source::Published),
    ("generic-10g", "none", 10, 500, 5, Source::Invented),
    ("generic-25g", "none", 25, 500, 8, Source::Invented),
    ("generic-40g", "none", 40, 500, 10, Source::Invented),
    ("generic-100g", "none", 100, 500, 16, Source::Invented),
    ("generic-200g", "none", 200, 500, 20, Source::Invented),
    ("generic-400g", "none", 400, 500, 25, Source::Invented),
    ("generic-800g", "none", 800, 500, 45, Source::Invented),
];

pub(super) fn built_in() -> impl Iterator<Item = NicModel> {
    ROWS.iter().map(|&(name, vendor, gbps, latency_ns, watts, source)| NicModel {
        name: name.to_owned(),
        vendor: vendor.to_owned(),
        rate: Rate::from_gbps(gbps),
        latency: Span::from_ns(latency_ns),
        power: Milliwatts::from_watts(watts),
        source,
    })
}
