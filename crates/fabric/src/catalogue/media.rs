//! Copper cables and optics.

use super::Source;
use super::lanes::{Connector, Fibre, Form, Lane, Lanes, Make, Optics, Scheme};
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

/// What both ends of a link have in common; whether they link is for [`super::link`] to say.
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
    /// What both ends have in common.
    pub family: Family,
    /// How its ends are made: lanes, form factors, connectors.
    pub make: Make,
    /// Whether a file that names no media may get it.
    pub automatic: bool,
    /// Any rate and reach, which no real cable has; never chosen unasked.
    pub ideal: bool,
    /// How sure the figures are.
    pub source: Source,
}

/// One row of the tables below: name, rate (Gb/s), reach (m), FEC (ns), power per end (mW), how its ends are made.
type Row = (&'static str, u64, u64, u64, u32, Make);

/// What a fabric file without a name for its media may get. Reach and power as in the optics' specifications; FEC
/// latency within the 50 to 150 ns that RS(544,514) costs. Copper's reach is that of its lanes (`DAC`, `AEC`), and
/// never more than what is here unless a file names it.
const ROWS: [Row; 18] = [
    ("dac", 1600, 2, 100, 100, Make::Attached(&DAC)),
    ("aec", 1600, 7, 120, 8_000, Make::Attached(&AEC)),
    ("aoc", 800, 30, 100, 9_000, Make::Attached(&AOC)),
    ("100g-sr4", 100, 100, 90, 2_500, sr(X4_25, MPO12, &[(Form::Qsfp28, X4_25)])),
    ("100g-dr", 100, 500, 100, 4_500, dr(X1_100, LC, &[(Form::Qsfp28, X4_25)])),
    ("100g-fr", 100, 2_000, 100, 4_500, wdm(X1_100, 1, &[(Form::Qsfp28, X4_25)])),
    ("100g-lr4", 100, 10_000, 90, 4_500, wdm(X4_25, 1, &[(Form::Qsfp28, X4_25)])),
    ("200g-fr4", 200, 2_000, 100, 6_500, wdm(X4_50, 1, &[(Form::Qsfp56, X4_50)])),
    ("400g-sr8", 400, 100, 100, 10_000, sr(X8_50, MPO16, &[(Form::QsfpDd, X8_50)])),
    ("400g-dr4", 400, 500, 100, 10_000, dr(X4_100, MPO12, &FORMS_400G)),
    ("400g-fr4", 400, 2_000, 100, 12_000, wdm(X4_100, 1, &FORMS_400G)),
    ("400g-lr4", 400, 10_000, 100, 12_000, wdm(X4_100, 1, &FORMS_400G)),
    ("400g-er8", 400, 40_000, 100, 14_000, wdm(X8_50, 1, &[(Form::QsfpDd, X8_50)])),
    ("800g-sr8", 800, 50, 100, 14_000, sr(X8_100, MPO16, &[(Form::Osfp, X8_100)])),
    ("800g-dr8", 800, 500, 100, 16_000, dr(X8_100, MPO16, &[(Form::Osfp, X8_100)])),
    ("800g-2xfr4", 800, 2_000, 100, 17_000, wdm(X8_100, 2, &[(Form::Osfp, X8_100)])),
    ("1.6t-dr8", 1600, 500, 120, 25_000, dr(X8_200, MPO16, &[(Form::Osfp224, X8_200)])),
    ("1.6t-2xfr4", 1600, 2_000, 120, 28_000, wdm(X8_200, 2, &[(Form::Osfp224, X8_200)])),
];

/// The same for what is only there by its name and in a plan, so that files without a name keep their media.
/// Twin-port modules have a connector for each half. Reach and power of the twins, of 400G SR4 and of linear active
/// copper (`acc`) are from LinkX guides; those of 10G to 200G from their multi-source agreements; 200G lanes are
/// young, and theirs are estimates.
const NAMED: [Row; 14] = [
    ("acc", 1600, 5, 100, 1_500, Make::Attached(&ACC)),
    ("10g-sr", 10, 300, 0, 1_000, sr(X1_10, LC, &[(Form::Sfp28, X1_10)])),
    ("10g-lr", 10, 10_000, 0, 1_000, wdm(X1_10, 1, &[(Form::Sfp28, X1_10)])),
    ("25g-sr", 25, 100, 90, 1_200, sr(X1_25, LC, &[(Form::Sfp28, X1_25)])),
    ("25g-lr", 25, 10_000, 90, 1_200, wdm(X1_25, 1, &[(Form::Sfp28, X1_25)])),
    ("40g-sr4", 40, 150, 0, 1_500, sr(X4_10, MPO12, &[(Form::Qsfp28, X4_10)])),
    ("40g-lr4", 40, 10_000, 0, 3_500, wdm(X4_10, 1, &[(Form::Qsfp28, X4_10)])),
    ("200g-sr4", 200, 100, 100, 5_000, sr(X4_50, MPO12, &[(Form::Qsfp56, X4_50)])),
    ("200g-dr4", 200, 500, 100, 6_000, dr(X4_50, MPO12, &[(Form::Qsfp56, X4_50)])),
    ("400g-sr4", 400, 50, 100, 9_000, sr(X4_100, MPO12, &FORMS_4_100)),
    ("800g-2xsr4", 800, 50, 100, 17_000, sr(X8_100, TWIN_MPO12, &[(Form::Osfp, X8_100)])),
    ("800g-2xdr4", 800, 500, 100, 16_000, dr(X8_100, TWIN_MPO12, &[(Form::Osfp, X8_100)])),
    ("800g-dr4", 800, 500, 120, 16_000, dr(X4_200, MPO12, &FORMS_800G)),
    ("800g-fr4", 800, 2_000, 120, 17_000, wdm(X4_200, 1, &FORMS_800G)),
];

/// The same for coherent optics between sites. Reach is that of an amplified line, as the OIF's 400ZR and
/// 800ZR agreements and OpenZR+ give it (without amplifiers about 40 km of the first, 80 km with a strong
/// transmitter); latency of their FEC and power are estimates.
const COHERENT: [Row; 4] = [
    ("100g-zr", 100, 120_000, 4_000, 6_000, coherent(X4_25, &[(Form::Qsfp28, X4_25)])),
    ("400g-zr", 400, 120_000, 4_000, 20_000, coherent(X8_50, &[(Form::QsfpDd, X8_50)])),
    ("400g-zr+", 400, 480_000, 5_000, 23_000, coherent(X8_50, &[(Form::QsfpDd, X8_50)])),
    ("800g-zr", 800, 120_000, 5_000, 30_000, coherent(X8_100, &[(Form::Osfp, X8_100)])),
];

/// Reach of passive copper (m): about 5 m at 25G a lane, 3 m at 50G, 2 m at 100G (3 m of the thickest wire), 1 m at
/// 200G.
const DAC: [(Lane, u64); 5] =
    [(Lane::G10, 5), (Lane::G25, 5), (Lane::G50, 3), (Lane::G100, 2), (Lane::G200, 1)];
/// Of linear active copper: 3 to 5 m at 100G by LinkX guides; at 200G an estimate.
const ACC: [(Lane, u64); 2] = [(Lane::G100, 5), (Lane::G200, 2)];
/// Of retimed copper: 5 to 7 m; at 200G an estimate.
const AEC: [(Lane, u64); 4] = [(Lane::G25, 7), (Lane::G50, 7), (Lane::G100, 7), (Lane::G200, 3)];
/// Of active optical cables; none is sold for lanes of 200G.
const AOC: [(Lane, u64); 4] = [(Lane::G10, 30), (Lane::G25, 30), (Lane::G50, 30), (Lane::G100, 30)];

const X1_10: Lanes = Lanes::new(1, Lane::G10);
const X4_10: Lanes = Lanes::new(4, Lane::G10);
const X1_25: Lanes = Lanes::new(1, Lane::G25);
const X4_25: Lanes = Lanes::new(4, Lane::G25);
const X4_50: Lanes = Lanes::new(4, Lane::G50);
const X8_50: Lanes = Lanes::new(8, Lane::G50);
const X1_100: Lanes = Lanes::new(1, Lane::G100);
const X4_100: Lanes = Lanes::new(4, Lane::G100);
const X8_100: Lanes = Lanes::new(8, Lane::G100);
const X4_200: Lanes = Lanes::new(4, Lane::G200);
const X8_200: Lanes = Lanes::new(8, Lane::G200);

/// 400G with four optical lanes: behind eight electrical ones with a gearbox, or straight.
const FORMS_400G: [(Form, Lanes); 3] =
    [(Form::QsfpDd, X8_50), (Form::Osfp, X4_100), (Form::Qsfp112, X4_100)];
const FORMS_4_100: [(Form, Lanes); 2] = [(Form::Osfp, X4_100), (Form::Qsfp112, X4_100)];
/// 800G with four optical lanes: the same one generation later.
const FORMS_800G: [(Form, Lanes); 2] = [(Form::Osfp, X8_100), (Form::Osfp224, X4_200)];

const MPO12: (Connector, u8) = (Connector::Mpo12, 1);
const TWIN_MPO12: (Connector, u8) = (Connector::Mpo12, 2);
const MPO16: (Connector, u8) = (Connector::Mpo16, 1);
const LC: (Connector, u8) = (Connector::LcDuplex, 1);

type Modules = &'static [(Form, Lanes)];

const fn optics(
    lanes: Lanes,
    scheme: Scheme,
    fibre: Fibre,
    (connector, connectors): (Connector, u8),
    modules: Modules,
) -> Make {
    Make::Transceivers(Optics { lanes, scheme, fibre, connector, connectors, modules })
}

/// Parallel multimode.
const fn sr(lanes: Lanes, plug: (Connector, u8), modules: Modules) -> Make {
    optics(lanes, Scheme::Parallel, Fibre::Multimode, plug, modules)
}

/// Parallel single-mode.
const fn dr(lanes: Lanes, plug: (Connector, u8), modules: Modules) -> Make {
    optics(lanes, Scheme::Parallel, Fibre::SingleMode, plug, modules)
}

/// Wavelengths on one pair of fibres for each connector.
const fn wdm(lanes: Lanes, pairs: u8, modules: Modules) -> Make {
    optics(lanes, Scheme::Wavelengths, Fibre::SingleMode, (Connector::LcDuplex, pairs), modules)
}

const fn coherent(lanes: Lanes, modules: Modules) -> Make {
    optics(lanes, Scheme::Coherent, Fibre::SingleMode, LC, modules)
}

pub(super) fn built_in() -> impl Iterator<Item = Media> {
    let ideal = Media {
        name: "ideal".to_owned(),
        rate: Rate::from_bps(u64::MAX),
        reach: Length::from_mm(u64::MAX),
        fec: Span::ZERO,
        power: Milliwatts(0),
        family: Family::Cable,
        make: Make::Unknown,
        automatic: false,
        ideal: true,
        source: Source::Invented,
    };
    let published = ROWS.iter().map(|row| (row, true, Source::Published));
    let named = NAMED.iter().map(|row| (row, false, named_source(row)));
    let coherent = COHERENT.iter().map(|row| (row, true, Source::Estimated));
    let all = published.chain(named).chain(coherent);
    let real = all.map(|(&(name, gbps, reach, fec, power, make), automatic, source)| Media {
        name: name.to_owned(),
        rate: Rate::from_gbps(gbps),
        reach: Length::from_m(reach),
        fec: Span::from_ns(fec),
        power: Milliwatts(power),
        family: Family::of(name),
        make,
        automatic,
        ideal: false,
        source,
    });
    real.chain(std::iter::once(ideal))
}

/// 800G on four lanes is too young for published figures of many vendors.
const fn named_source(row: &Row) -> Source {
    match row.5 {
        Make::Transceivers(Optics { lanes: Lanes { each: Lane::G200, .. }, .. }) => {
            Source::Estimated
        }
        _ => Source::Published,
    }
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
