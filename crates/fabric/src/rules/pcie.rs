//! PCI Express between a NIC and the memory of its server: how fast packets get out of memory and
//! into it.
//!
//! The rate of a slot is a closed form of its generation, its lanes and the sizes of its transactions.
//! What strict ordering and address translation cost depends on the platform: those figures are fitted
//! to published measurements, and a file can replace them.
//!
//! Left out: requests for reads that share the upstream lanes with writes (up to 5 % of a NIC that
//! sends and receives at full rate), DLLPs and skip sets (below 2 %, estimated), completion queue
//! entries and doorbells, switches between slot and processor, and traffic of other devices.

use std::fmt;
use std::str::FromStr;
use xoff_units::{Bytes, Rate, Span};

/// A slot: generation and lanes as they were negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    generation: u8,
    lanes: u8,
}

/// Generations with their rate per lane in MT/s.
const GENERATIONS: [u64; 6] = [2_500, 5_000, 8_000, 16_000, 32_000, 64_000];
/// Bytes that the link layer puts around a transaction, before flits: framing and sequence number (4)
/// and link CRC (4).
const LINK: u64 = 8;
/// Header of a write with a 64-bit address: four double words.
const WRITE_HEADER: u64 = 16;
/// Header of a completion that carries data: three double words.
const COMPLETION_HEADER: u64 = 12;
/// With flits (generation 6) 236 of 256 bytes are transactions; the rest is link layer, CRC and FEC.
const FLIT: (u64, u64) = (236, 256);

/// Reads that a NIC has under way at a time: eight-bit tags.
const READS: u64 = 256;
/// Strictly ordered writes that a root port has under way. With the usual latency of a write this is
/// the 150 Gb/s that EPYC servers were seen at without relaxed ordering, where they reach 200 with it.
const ORDERED: Bytes = Bytes::new(4096);

impl Slot {
    /// A slot, if there is such a generation and width.
    pub fn new(generation: u8, lanes: u8) -> Option<Self> {
        let known = (1..=GENERATIONS.len()).contains(&usize::from(generation));
        (known && matches!(lanes, 1 | 2 | 4 | 8 | 16)).then_some(Self { generation, lanes })
    }

    /// The oldest x16 slot with room for a NIC of this rate; none if even the newest is too slow.
    pub(crate) fn enough_for(rate: Rate) -> Option<Self> {
        let slots = (1..=GENERATIONS.len() as u8).map(|generation| Self { generation, lanes: 16 });
        let usual = Path::default();
        slots.into_iter().find(|slot| {
            let path = Path { slot: Some(*slot), ..usual };
            path.receive().rate >= rate && path.send().rate >= rate
        })
    }

    /// What the lanes carry one way after line coding.
    pub fn raw(self) -> Rate {
        let transfers = GENERATIONS[usize::from(self.generation) - 1] * u64::from(self.lanes);
        let bps = transfers * 1_000_000;
        // Generations 1 and 2 send 10 bits for 8, 3 to 5 130 for 128; 6 has no code but flits.
        Rate::from_bps(match self.generation {
            1 | 2 => bps / 10 * 8,
            3..=5 => bps / 130 * 128,
            _ => bps,
        })
    }

    /// What it carries of data in transactions of `payload` bytes behind a header of `header`.
    fn data(self, payload: u64, header: u64) -> Rate {
        let (share, link) = if self.generation >= 6 { (FLIT, 0) } else { ((1, 1), LINK) };
        let raw = u128::from(self.raw().bps()) * u128::from(share.0) / u128::from(share.1);
        let bps = raw * u128::from(payload) / u128::from(payload + header + link).max(1);
        Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gen{} x{}", self.generation, self.lanes)
    }
}

impl FromStr for Slot {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let parse = || {
            let (generation, lanes) = lower.strip_prefix("gen")?.split_once('x')?;
            Self::new(generation.trim().parse().ok()?, lanes.trim().parse().ok()?)
        };
        parse().ok_or_else(|| {
            format!(
                "`{text}` is not a PCIe slot; write it like `gen5 x16`: generations 1 to 6, and 1, 2, \
                 4, 8 or 16 lanes"
            )
        })
    }
}

/// Everything between a NIC and the memory of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// The slot; `None` is as fast as the NIC.
    pub slot: Option<Slot>,
    /// Largest payload of a transaction.
    pub max_payload: Bytes,
    /// Largest read that the NIC asks for at a time.
    pub max_read_request: Bytes,
    /// Writes may overtake each other.
    pub relaxed_ordering: bool,
    /// Pages that an IOMMU translates; `None` without translation.
    pub translated: Option<Bytes>,
    /// From a read request to its data.
    pub read_latency: Span,
    /// From a write to its place in the order of memory.
    pub write_latency: Span,
    /// Time that a page the IOMMU does not know takes.
    pub page_walk: Span,
}

impl Default for Path {
    /// As servers are set up for RDMA. Payload and read request are the usual ones of such servers;
    /// the read latency is an estimate, write latency and page walk are fitted: see the module.
    fn default() -> Self {
        Self {
            slot: None,
            max_payload: Bytes::new(256),
            max_read_request: Bytes::new(512),
            relaxed_ordering: true,
            translated: None,
            read_latency: Span::from_ns(700),
            write_latency: Span::from_ns(220),
            page_walk: Span::from_ns(205),
        }
    }
}

/// What holds a path back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bottleneck {
    /// Nothing.
    None,
    /// Lanes, generation and transaction sizes.
    Slot,
    /// Reads under way, and how long they take.
    Reads,
    /// Writes that must not overtake each other.
    Ordering,
    /// Pages that have to be looked up.
    Iommu,
}

impl Bottleneck {
    /// The words for tables and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Bottleneck::None => "nothing",
            Bottleneck::Slot => "the slot",
            Bottleneck::Reads => "reads under way",
            Bottleneck::Ordering => "strict ordering",
            Bottleneck::Iommu => "the IOMMU",
        }
    }
}

/// A rate, and what sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reached {
    /// The rate.
    pub rate: Rate,
    /// What sets it.
    pub by: Bottleneck,
}

impl Path {
    /// How fast packets get out of memory: the NIC asks for them, and completions bring them.
    pub(crate) fn send(&self) -> Reached {
        let payload = self.max_payload.min(self.max_read_request).get();
        let walk = if self.translated.is_some() { self.page_walk } else { Span::ZERO };
        let reads = Bytes::new(self.max_read_request.get() * READS);
        self.slowest([
            (Bottleneck::Slot, self.slot.map(|slot| slot.data(payload, COMPLETION_HEADER))),
            (Bottleneck::Reads, Some(per(reads, self.read_latency + walk))),
            (Bottleneck::Iommu, self.walks()),
        ])
    }

    /// How fast packets get into memory: the NIC writes them.
    pub(crate) fn receive(&self) -> Reached {
        let payload = self.max_payload.get();
        let ordered = (!self.relaxed_ordering).then(|| per(ORDERED, self.write_latency));
        self.slowest([
            (Bottleneck::Slot, self.slot.map(|slot| slot.data(payload, WRITE_HEADER))),
            (Bottleneck::Ordering, ordered),
            (Bottleneck::Iommu, self.walks()),
        ])
    }

    /// Streams touch page after page, and a page that is new is walked once.
    fn walks(&self) -> Option<Rate> {
        self.translated.map(|page| per(page, self.page_walk))
    }

    fn slowest<const N: usize>(&self, limits: [(Bottleneck, Option<Rate>); N]) -> Reached {
        let known = limits.into_iter().filter_map(|(by, rate)| Some(Reached { rate: rate?, by }));
        let free = Reached { rate: Rate::from_bps(u64::MAX), by: Bottleneck::None };
        known.min_by_key(|reached| reached.rate).unwrap_or(free)
    }
}

/// So many bytes in each such time.
fn per(bytes: Bytes, time: Span) -> Rate {
    const BITS_PS: u128 = 8_000_000_000_000;
    let bps = u128::from(bytes.get()) * BITS_PS / u128::from(time.as_ps().max(1));
    Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(slot: &str) -> Path {
        Path { slot: Some(slot.parse().unwrap()), ..Path::default() }
    }

    fn gbps(reached: Reached) -> f64 {
        reached.rate.bps() as f64 / 1e9
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-3, "{value}, not {expected}");
    }

    #[test]
    fn slots_are_written_as_people_write_them() {
        for text in ["gen5 x16", "Gen5x16", " gen5  x16 "] {
            assert_eq!(text.parse::<Slot>().unwrap(), Slot::new(5, 16).unwrap());
        }
        assert_eq!(Slot::new(4, 8).unwrap().to_string(), "gen4 x8");
        for wrong in ["", "gen5", "gen7 x16", "gen0 x16", "gen4 x3", "gen4 x32", "5 x16"] {
            assert!(wrong.parse::<Slot>().unwrap_err().contains("gen5 x16"), "{wrong}");
        }
    }

    /// 16 GT/s x 16 lanes x 128/130 are 252 Gb/s; 24 bytes around 256 of a write, 20 around those of a
    /// completion.
    #[test]
    fn rates_follow_from_code_and_transactions() {
        near(Slot::new(4, 16).unwrap().raw().bps() as f64 / 1e9, 252.06);
        near(gbps(path("gen4 x16").receive()), 252.06 * 256.0 / 280.0);
        near(gbps(path("gen4 x16").send()), 252.06 * 256.0 / 276.0);
        assert_eq!(path("gen5 x8").receive(), path("gen4 x16").receive());
        near(gbps(path("gen3 x16").receive()), 126.03 * 256.0 / 280.0);
        near(gbps(path("gen2 x8").receive()), 32.0 * 256.0 / 280.0);
        // Flits need no framing per transaction.
        near(gbps(path("gen6 x16").receive()), 1024.0 * 236.0 / 256.0 * 256.0 / 272.0);
        let small = Path { max_payload: Bytes::new(128), ..path("gen5 x16") };
        near(gbps(small.receive()), 504.12 * 128.0 / 152.0);
    }

    #[test]
    fn every_nic_has_a_slot_that_does_not_limit_it() {
        let enough = |gbps| Slot::enough_for(Rate::from_gbps(gbps)).map(|slot| slot.to_string());
        assert_eq!(enough(100).as_deref(), Some("gen3 x16"));
        assert_eq!(enough(200).as_deref(), Some("gen4 x16"));
        assert_eq!(enough(400).as_deref(), Some("gen5 x16"));
        assert_eq!(enough(800).as_deref(), Some("gen6 x16"));
        assert_eq!(enough(1600), None);
    }

    #[test]
    fn ordering_and_translation_have_limits_of_their_own() {
        let strict = Path { relaxed_ordering: false, ..path("gen5 x16") };
        near(gbps(strict.receive()), 148.945);
        assert_eq!(strict.receive().by, Bottleneck::Ordering);
        assert_eq!(strict.send(), path("gen5 x16").send());
        let page = |bytes| Path { translated: Some(Bytes::new(bytes)), ..path("gen5 x16") };
        near(gbps(page(4096).receive()), 159.84);
        assert_eq!(page(4096).send().by, Bottleneck::Iommu);
        // Huge pages take the limit away.
        assert_eq!(page(2 << 20).receive(), path("gen5 x16").receive());
        let reads = Path { max_read_request: Bytes::new(128), ..path("gen5 x16") };
        assert_eq!(reads.send().by, Bottleneck::Reads);
    }
}
