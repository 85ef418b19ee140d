//! Copper cables and optics.

use super::Source;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Length, Rate, Span};

/// Electrical power in thousandths of a watt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Milliwatts(pub u32);

impl Milliwatts {
    /// Whole watts.
    pub(crate) const fn from_watts(watts: u32) -> Self {
        Self(watts.saturating_mul(1000))
    }
}

/// What both ends of a link have in common. Transceivers of one family and different rates understand
/// each other lane by lane, so a fast one may be split between slower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// A cable with its ends attached: copper or active optical.
    Cable,
    /// Parallel multimode fibre, short reach.
    Sr,
    /// Parallel single-mode fibre.
    Dr,
    /// Wavelengths on one pair of single-mode fibres, 2 km.
    Fr,
    /// Wavelengths on one pair of single-mode fibres, 10 km.
    Lr,
    /// Wavelengths on one pair of single-mode fibres, 40 km.
    Er,
    /// Coherent.
    Zr,
}

impl Family {
    /// The family in the name of a transceiver, as in `400g-dr4`.
    fn of(name: &str) -> Self {
        let known = [
            ("sr", Self::Sr),
            ("dr", Self::Dr),
            ("fr", Self::Fr),
            ("lr", Self::Lr),
            ("er", Self::Er),
            ("zr", Self::Zr),
        ];
        let tail = name.rsplit('-').next().filter(|_| name.contains('-')).unwrap_or("");
        let tail = tail.trim_start_matches(|c: char| c.is_ascii_digit() || c == 'x');
        let found = known.iter().find(|(start, _)| tail.starts_with(start));
        found.map_or(Self::Cable, |(_, family)| *family)
    }
}

/// A cable, or a pair of transceivers with fibre between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Name in files.
    pub name: String,
    /// Fastest rate it carries.
    pub rate: Rate,
    /// Longest cable.
    pub reach: Length,
    /// Latency of forward error correction, both ends together.
    pub fec: Span,
    /// Power at each end.
    pub power: Milliwatts,
    /// What understands it.
    pub family: Family,
    /// Any rate and reach, which no real cable has; never chosen unasked.
    pub ideal: bool,
    /// How sure the figures are.
    pub source: Source,
}

/// Name, rate (Gb/s), reach (m), FEC (ns), power per end (mW). Reach and power as in the optics'
/// specifications; FEC latency within the 50 to 150 ns that RS(544,514) costs.
const ROWS: [(&str, u64, u64, u64, u32); 18] = [
    ("dac", 1600, 2, 100, 100),
    ("aec", 800, 7, 120, 8_000),
    ("aoc", 800, 30, 100, 9_000),
    ("100g-sr4", 100, 100, 90, 2_500),
    ("100g-dr", 100, 500, 100, 4_500),
    ("100g-fr", 100, 2_000, 100, 4_500),
    ("100g-lr4", 100, 10_000, 90, 4_500),
    ("200g-fr4", 200, 2_000, 100, 6_500),
    ("400g-sr8", 400, 100, 100, 10_000),
    ("400g-dr4", 400, 500, 100, 10_000),
    ("400g-fr4", 400, 2_000, 100, 12_000),
    ("400g-lr4", 400, 10_000, 100, 12_000),
    ("400g-er8", 400, 40_000, 100, 14_000),
    ("800g-sr8", 800, 50, 100, 14_000),
    ("800g-dr8", 800, 500, 100, 16_000),
    ("800g-2xfr4", 800, 2_000, 100, 17_000),
    ("1.6t-dr8", 1600, 500, 120, 25_000),
    ("1.6t-2xfr4", 1600, 2_000, 120, 28_000),
];

/// The same for coherent optics between sites. Reach is that of an amplified line, as the OIF's 400ZR and
/// 800ZR agreements and OpenZR+ give it (without amplifiers about 40 km of the first, 80 km with a strong
/// transmitter); latency of their FEC and power are estimates.
const COHERENT: [(&str, u64, u64, u64, u32); 4] = [
    ("100g-zr", 100, 120_000, 4_000, 6_000),
    ("400g-zr", 400, 120_000, 4_000, 20_000),
    ("400g-zr+", 400, 480_000, 5_000, 23_000),
    ("800g-zr", 800, 120_000, 5_000, 30_000),
];

pub(super) fn built_in() -> impl Iterator<Item = Media> {
    let ideal = Media {
        name: "ideal".to_owned(),
        rate: Rate::from_bps(u64::MAX),
        reach: Length::from_mm(u64::MAX),
        fec: Span::ZERO,
        power: Milliwatts(0),
        family: Family::Cable,
        ideal: true,
        source: Source::Invented,
    };
    let published = ROWS.iter().map(|row| (row, Source::Published));
    let all = published.chain(COHERENT.iter().map(|row| (row, Source::Estimated)));
    let real = all.map(|(&(name, gbps, reach, fec, power), source)| Media {
        name: name.to_owned(),
        rate: Rate::from_gbps(gbps),
        reach: Length::from_m(reach),
        fec: Span::from_ns(fec),
        power: Milliwatts(power),
        family: Family::of(name),
        ideal: false,
        source,
    });
    real.chain(std::iter::once(ideal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_by_names() {
        let family = |name| built_in().find(|media| media.name == name).unwrap().family;
        assert_eq!([family("dac"), family("aec"), family("aoc")], [Family::Cable; 3]);
        assert_eq!([family("100g-dr"), family("400g-dr4"), family("1.6t-dr8")], [Family::Dr; 3]);
        assert_eq!([family("400g-fr4"), family("800g-2xfr4")], [Family::Fr; 2]);
        assert_eq!([family("100g-sr4"), family("800g-sr8")], [Family::Sr; 2]);
        assert_eq!([family("400g-lr4"), family("400g-zr")], [Family::Lr, Family::Zr]);
        assert_eq!([family("400g-er8"), family("400g-zr+")], [Family::Er, Family::Zr]);
    }
}
