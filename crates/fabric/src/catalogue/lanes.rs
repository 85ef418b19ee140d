//! Lanes: what decides whether two ends can link.
//!
//! A [`Port`] has electrical lanes and a cage of some [`Form`]. What is plugged in takes some of
//! these lanes and puts lanes on copper or fibre. Two ends link if they put the same number of lanes
//! of the same rate on the same kind of medium: transceivers do not convert between lane rates, so
//! eight lanes of 50G and four of 100G are both 400G and never link. [`link`] is the one place that
//! decides it; a planner chooses by it, and says its [`Mismatch`] where nothing fits.
//!
//! A module may be shared by several links ("ways"). Parallel lanes can be divided by whole lanes.
//! Wavelengths on one pair of fibres cannot be divided at all: such a module has as many ways as it
//! has connectors.

use super::{Family, Media, NicModel, Silicon};
use std::fmt;
use xoff_units::{Length, Rate};

/// Rate of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// 10G, NRZ.
    G10,
    /// 25G, NRZ.
    G25,
    /// 50G, PAM4.
    G50,
    /// 100G, PAM4.
    G100,
    /// 200G, PAM4.
    G200,
}

impl Lane {
    /// All lane rates, slowest first.
    pub const ALL: [Lane; 5] = [Lane::G10, Lane::G25, Lane::G50, Lane::G100, Lane::G200];

    /// In Gb/s.
    pub const fn gbps(self) -> u64 {
        match self {
            Lane::G10 => 10,
            Lane::G25 => 25,
            Lane::G50 => 50,
            Lane::G100 => 100,
            Lane::G200 => 200,
        }
    }

    /// How bits are put on the lane.
    pub const fn modulation(self) -> &'static str {
        match self {
            Lane::G10 | Lane::G25 => "NRZ",
            _ => "PAM4",
        }
    }
}

/// Several lanes of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lanes {
    /// How many.
    pub count: u8,
    /// The rate of each.
    pub each: Lane,
}

impl Lanes {
    /// So many lanes.
    pub const fn new(count: u8, each: Lane) -> Self {
        Self { count, each }
    }

    /// What they carry together.
    pub const fn rate(self) -> Rate {
        Rate::from_gbps(self.each.gbps() * self.count as u64)
    }

    /// `rate` on this many lanes, if there is a lane rate for it.
    pub fn of(rate: Rate, count: u8) -> Option<Self> {
        let each = Lane::ALL.into_iter().find(|each| Lanes::new(count, *each).rate() == rate)?;
        Some(Self { count, each })
    }

    /// Whether these lanes are among `port`, as they are or slowed down.
    const fn within(self, port: Lanes) -> bool {
        self.count <= port.count && self.each as u8 <= port.each as u8
    }
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {}G", self.count, self.each.gbps())
    }
}

/// Form factor of a cage or of what is plugged into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// One lane of 25G.
    Sfp28,
    /// Four lanes of 25G.
    Qsfp28,
    /// Four lanes of 50G.
    Qsfp56,
    /// Four lanes of 100G.
    Qsfp112,
    /// Eight lanes of 50G.
    QsfpDd,
    /// Eight lanes of 100G.
    Osfp,
    /// Eight lanes of 200G.
    Osfp224,
}

impl Form {
    /// As it is ordered.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Sfp28 => "SFP28",
            Form::Qsfp28 => "QSFP28",
            Form::Qsfp56 => "QSFP56",
            Form::Qsfp112 => "QSFP112",
            Form::QsfpDd => "QSFP-DD",
            Form::Osfp => "OSFP",
            Form::Osfp224 => "OSFP224",
        }
    }

    /// Whether a cage of this form takes a plug of another: QSFP cages take the older QSFP plugs,
    /// an OSFP224 cage takes OSFP; OSFP and QSFP are of different width.
    pub const fn takes(self, plug: Form) -> bool {
        use Form::{Osfp, Osfp224, Qsfp28, Qsfp56, Qsfp112, QsfpDd, Sfp28};
        match self {
            Sfp28 => matches!(plug, Sfp28),
            Qsfp28 => matches!(plug, Qsfp28),
            Qsfp56 => matches!(plug, Qsfp28 | Qsfp56),
            Qsfp112 => matches!(plug, Qsfp28 | Qsfp56 | Qsfp112),
            QsfpDd => matches!(plug, Qsfp28 | Qsfp56 | QsfpDd),
            Osfp => matches!(plug, Osfp),
            Osfp224 => matches!(plug, Osfp | Osfp224),
        }
    }
}

/// A cage with its electrical lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Its form.
    pub form: Form,
    /// Its lanes at their fastest; they also run at every slower lane rate.
    pub lanes: Lanes,
    /// Ports of the switch that share the cage: 2 in the twin-port cages of InfiniBand switches.
    pub shared: u8,
}

impl Port {
    /// The cages of a switch. Vendors sell a rate in several forms; this is the usual one.
    pub fn of_switch(silicon: &Silicon) -> Option<Self> {
        let gbps = silicon.port_rate.bps() / 1_000_000_000;
        let (form, count, shared) = match (gbps, silicon.infiniband) {
            (400, true) => (Form::Osfp, 8, 2),
            (800, true) => (Form::Osfp224, 8, 2),
            (1_600, _) => (Form::Osfp224, 8, 1),
            (800, _) => (Form::Osfp, 8, 1),
            (400, _) => (Form::QsfpDd, 8, 1),
            (200, _) => (Form::Qsfp56, 4, 1),
            (100 | 40, _) => (Form::Qsfp28, 4, 1),
            (25 | 10, _) => (Form::Sfp28, 1, 1),
            _ => return None,
        };
        let all = Rate::from_gbps(gbps * u64::from(shared));
        Some(Self { form, lanes: Lanes::of(all, count)?, shared })
    }

    /// A cage of a NIC that uses so many of them: all of its rate in one, or halves in two. A card
    /// that the catalogue has with one cage is sold with two like it.
    pub fn of_nic(nic: &NicModel, cages: u8) -> Option<Self> {
        let shares = if nic.ports >= cages { u64::from(cages.max(1)) } else { 1 };
        let lanes = Lanes::of(Rate::from_bps(nic.rate.bps() / shares), nic.lanes)?;
        let form = match (lanes.count, lanes.each) {
            (1, Lane::G10 | Lane::G25) => Form::Sfp28,
            (2..=4, Lane::G10 | Lane::G25) => Form::Qsfp28,
            (2..=4, Lane::G50) => Form::Qsfp56,
            (2..=4, Lane::G100) => Form::Qsfp112,
            (5..=8, Lane::G50) => Form::QsfpDd,
            (5..=8, Lane::G100) => Form::Osfp,
            (2..=8, Lane::G200) => Form::Osfp224,
            _ => return None,
        };
        Some(Self { form, lanes, shared: 1 })
    }

    /// Links of `lanes` each that its lanes suffice for.
    pub const fn ways(self, lanes: Lanes) -> u8 {
        match lanes.within(self.lanes) {
            true => self.lanes.count / lanes.count,
            false => 0,
        }
    }

    /// The module of these optics that fits, with its electrical lanes.
    pub fn module(self, optics: &Optics) -> Option<(Form, Lanes)> {
        let fits =
            |(form, lanes): &&(Form, Lanes)| self.form.takes(*form) && lanes.within(self.lanes);
        optics.modules.iter().rfind(fits).copied()
    }
}

/// How lanes share fibres.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// A fibre for each lane and direction.
    Parallel,
    /// A wavelength for each lane, on one pair of fibres.
    Wavelengths,
    /// One coherent carrier on one pair of fibres; its lanes are those of the electrical side.
    Coherent,
}

impl Scheme {
    /// A phrase for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Scheme::Parallel => "parallel",
            Scheme::Wavelengths => "wavelengths",
            Scheme::Coherent => "coherent",
        }
    }
}

/// Kind of fibre.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fibre {
    /// OM4.
    Multimode,
    /// OS2.
    SingleMode,
}

impl Fibre {
    /// As it is ordered.
    pub const fn name(self) -> &'static str {
        match self {
            Fibre::Multimode => "OM4",
            Fibre::SingleMode => "OS2",
        }
    }
}

/// Where fibre is plugged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Connector {
    /// Twelve fibres, of which up to eight are used.
    Mpo12,
    /// Sixteen fibres.
    Mpo16,
    /// Two fibres.
    LcDuplex,
}

impl Connector {
    /// As it is ordered.
    pub const fn name(self) -> &'static str {
        match self {
            Connector::Mpo12 => "MPO-12",
            Connector::Mpo16 => "MPO-16",
            Connector::LcDuplex => "LC duplex",
        }
    }
}

/// The optical side of a transceiver, and the forms it is sold in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Optics {
    /// Lanes on the fibre.
    pub lanes: Lanes,
    /// How they share it.
    pub scheme: Scheme,
    /// Which fibre.
    pub fibre: Fibre,
    /// What is plugged in.
    pub connector: Connector,
    /// How many of them.
    pub connectors: u8,
    /// Forms with the electrical lanes of each. A module whose electrical lanes are slower than its
    /// optical ones has a gearbox.
    pub modules: &'static [(Form, Lanes)],
}

impl Optics {
    /// Fibres in use.
    pub const fn fibres(&self) -> u8 {
        match self.scheme {
            Scheme::Parallel => self.lanes.count * 2,
            _ => self.connectors * 2,
        }
    }

    /// Most links that can share one.
    pub const fn most_ways(&self) -> u8 {
        match self.scheme {
            Scheme::Parallel => self.lanes.count,
            _ => self.connectors,
        }
    }

    /// Whether it can light these lanes and leave its others dark.
    pub fn lights(&self, lanes: Lanes) -> bool {
        let some = lanes.each == self.lanes.each && lanes.count <= self.lanes.count;
        some && self.scheme == Scheme::Parallel
    }

    /// Lanes of each of so many links that share one; `None` if it cannot be divided so.
    pub const fn share(&self, ways: u8) -> Option<Lanes> {
        let whole = ways > 0 && self.lanes.count.is_multiple_of(ways);
        // A link that needed two connectors would need a cable of two into one.
        let own = whole && ways.is_multiple_of(self.connectors) && ways <= self.most_ways();
        if own { Some(Lanes::new(self.lanes.count / ways, self.lanes.each)) } else { None }
    }
}

/// How ends are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Make {
    /// Attached to their cable, lane by lane; the longest such cable for each lane rate, in metres.
    Attached(&'static [(Lane, u64)]),
    /// Transceivers with fibre between them.
    Transceivers(Optics),
    /// Not known: a user's own, or an ideal cable.
    Unknown,
}

/// One end of a link: what is plugged in, and how many links share it.
#[derive(Debug, Clone, Copy)]
pub struct Plugged<'a> {
    /// What is plugged in.
    pub media: &'a Media,
    /// Into which port.
    pub port: Port,
    /// How many links share it.
    pub ways: u8,
}

/// Why two ends cannot link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// The lanes differ.
    Lanes(Lanes, Lanes),
    /// One is a cable, or their light differs.
    Kind(String, String),
    /// What is plugged in cannot be shared so.
    Ways(String, u8, u8),
    /// It does not fit the port.
    Port(String, &'static str, Lanes),
    /// It does not reach.
    Reach(String, Length),
    /// A cable that fans out at both ends.
    Both(String),
    /// Nothing is known of its lanes.
    Unknown(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Lanes(a, b) => {
                write!(f, "{a} against {b}: the number and rate of lanes must be the same")
            }
            Mismatch::Kind(a, b) => write!(f, "`{a}` and `{b}` send differently"),
            Mismatch::Ways(name, ways, 1) => {
                write!(
                    f,
                    "`{name}` cannot be shared by {ways} links: its lanes share one fibre pair"
                )
            }
            Mismatch::Ways(name, ways, most) => {
                write!(
                    f,
                    "`{name}` cannot be shared by {ways} links, only by up to {most} of whole lanes"
                )
            }
            Mismatch::Port(name, form, lanes) => {
                write!(f, "`{name}` does not fit a {form} port of {lanes}")
            }
            Mismatch::Reach(name, reach) => write!(f, "`{name}` reaches {reach}"),
            Mismatch::Both(name) => write!(f, "no `{name}` fans out at both ends"),
            Mismatch::Unknown(name) => write!(f, "the lanes of `{name}` are not known"),
        }
    }
}

impl Plugged<'_> {
    /// Lanes that each link gets here of those it wants. A parallel module that is not shared may
    /// light only some of its lanes: a 400G module makes a 200G link of two of its four.
    fn lanes(&self, optics: &Optics, wanted: Lanes) -> Result<Lanes, Mismatch> {
        let name = || self.media.name.clone();
        if self.port.module(optics).is_none() {
            return Err(Mismatch::Port(name(), self.port.form.name(), self.port.lanes));
        }
        if self.ways == 1 && optics.connectors == 1 && optics.lights(wanted) {
            return Ok(wanted);
        }
        let share = optics.share(self.ways);
        share.ok_or_else(|| Mismatch::Ways(name(), self.ways, optics.most_ways()))
    }
}

/// The lanes of a link of `rate` between two ends, or why there is none.
pub fn link(
    a: Plugged<'_>,
    b: Plugged<'_>,
    lanes: Lanes,
    length: Length,
) -> Result<Lanes, Mismatch> {
    let (first, second) = (&a.media.name, &b.media.name);
    match (a.media.make, b.media.make) {
        (Make::Attached(reach), Make::Attached(_)) if first == second => {
            for end in [a, b] {
                if end.port.ways(lanes) < end.ways {
                    let (form, all) = (end.port.form.name(), end.port.lanes);
                    return Err(Mismatch::Port(first.clone(), form, all));
                }
            }
            if a.ways > 1 && b.ways > 1 {
                return Err(Mismatch::Both(first.clone()));
            }
            let reach = reach.iter().find(|(lane, _)| *lane == lanes.each);
            let reach = Length::from_m(reach.map_or(0, |(_, metres)| *metres));
            if length > reach || reach == Length::default() {
                return Err(Mismatch::Reach(first.clone(), reach));
            }
            Ok(lanes)
        }
        (Make::Transceivers(left), Make::Transceivers(right)) => {
            let kind = |media: &Media, optics: &Optics| (media.family, optics.scheme, optics.fibre);
            if kind(a.media, &left) != kind(b.media, &right) {
                return Err(Mismatch::Kind(first.clone(), second.clone()));
            }
            let (mine, other) = (a.lanes(&left, lanes)?, b.lanes(&right, lanes)?);
            if mine != other || mine != lanes {
                return Err(Mismatch::Lanes(mine, if mine == other { lanes } else { other }));
            }
            let fans = |end: &Plugged<'_>, optics: &Optics| end.ways > optics.connectors;
            if fans(&a, &left) && fans(&b, &right) {
                return Err(Mismatch::Both(first.clone()));
            }
            let short = if a.media.reach < b.media.reach { a.media } else { b.media };
            match length > short.reach {
                true => Err(Mismatch::Reach(short.name.clone(), short.reach)),
                false => Ok(mine),
            }
        }
        (Make::Unknown, _) => Err(Mismatch::Unknown(first.clone())),
        (_, Make::Unknown) => Err(Mismatch::Unknown(second.clone())),
        _ => Err(Mismatch::Kind(first.clone(), second.clone())),
    }
}

impl Media {
    /// The longest cable at a rate. Of cables with their ends attached it depends on the rate of a
    /// lane: four lanes up to 200G, eight above.
    pub fn reach_at(&self, rate: Rate) -> Length {
        let Make::Attached(reach) = self.make else { return self.reach };
        if rate == Rate::ZERO {
            return self.reach;
        }
        let count = if rate > Rate::from_gbps(200) { 8 } else { 4 };
        let holds = |(lane, _): &&(Lane, u64)| Lanes::new(count, *lane).rate() >= rate;
        let found = reach.iter().find(holds);
        Length::from_m(found.map_or(0, |(_, metres)| *metres))
    }

    /// Its optics, if it is a transceiver.
    pub const fn optics(&self) -> Option<&Optics> {
        match &self.make {
            Make::Transceivers(optics) => Some(optics),
            _ => None,
        }
    }

    /// Whether its ends are attached.
    pub fn attached(&self) -> bool {
        self.family == Family::Cable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    /// A transceiver's lanes make its rate, on the fibre and at every electrical side, and its
    /// connectors have fibres for them.
    #[test]
    fn lanes_make_the_rate() {
        for media in Catalogue::built_in().media.values() {
            let Some(optics) = media.optics() else { continue };
            assert_eq!(optics.lanes.rate(), media.rate, "{}", media.name);
            let holds = match optics.connector {
                Connector::Mpo12 => 12,
                Connector::Mpo16 => 16,
                Connector::LcDuplex => 2,
            };
            assert!(optics.fibres() <= holds * optics.connectors, "{}", media.name);
            for (form, lanes) in optics.modules {
                assert_eq!(lanes.rate(), media.rate, "{} {}", media.name, form.name());
            }
            assert!(optics.share(optics.most_ways()).is_some(), "{}", media.name);
            assert_eq!(optics.share(0), None);
        }
    }

    #[test]
    fn copper_reaches_less_with_faster_lanes() {
        for media in Catalogue::built_in().media.values() {
            let Make::Attached(reach) = media.make else { continue };
            assert!(reach.is_sorted_by(|a, b| a.0 < b.0 && a.1 >= b.1), "{}", media.name);
        }
        let dac = Catalogue::built_in().media["dac"].clone();
        let reach = |gbps| dac.reach_at(Rate::from_gbps(gbps)).as_mm() / 1_000;
        assert_eq!([100, 200, 400, 800, 1_600].map(reach), [5, 3, 3, 2, 1]);
    }

    #[test]
    fn every_switch_and_nic_has_a_port() {
        let catalogue = Catalogue::built_in();
        for silicon in catalogue.silicon.values().filter(|silicon| !silicon.unlimited()) {
            let port = Port::of_switch(silicon).unwrap_or_else(|| panic!("{}", silicon.name));
            let all = port.lanes.rate().bps() / u64::from(port.shared);
            assert_eq!(all, silicon.port_rate.bps(), "{}", silicon.name);
        }
        for nic in catalogue.nics.values() {
            let port = Port::of_nic(nic, 1).unwrap_or_else(|| panic!("{}", nic.name));
            assert_eq!(port.lanes.rate(), nic.rate, "{}", nic.name);
        }
    }

    /// Newer cages take older plugs of their width, never the other way round.
    #[test]
    fn cages_take_older_plugs() {
        use Form::{Osfp, Osfp224, Qsfp28, Qsfp56, Qsfp112, QsfpDd, Sfp28};
        let all = [Sfp28, Qsfp28, Qsfp56, Qsfp112, QsfpDd, Osfp, Osfp224];
        for cage in all {
            assert!(cage.takes(cage));
            for plug in all.into_iter().filter(|plug| *plug != cage && cage.takes(*plug)) {
                assert!(!plug.takes(cage), "{} {}", cage.name(), plug.name());
            }
        }
        assert!(!Osfp.takes(Qsfp112) && !QsfpDd.takes(Osfp));
    }
}
