//! What is plugged in: the lanes of a level's links, and the medium of each length.
//!
//! How many links of a level share a cage at either end is settled for the whole level ([`Mode`]),
//! by the lanes that take the fewest cages. Which [`Medium`] carries a cable follows from its length: the one
//! with the least reach that does. Whether two ends link is for [`xoff_fabric::catalogue::link`]
//! to say.

use super::shape::Level;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use xoff_fabric::catalogue::{
    Catalogue, Connector, Family, Form, Lane, Lanes, Make, Media, Milliwatts, Mismatch, Optics,
    Plugged, Port, Silicon, link,
};
use xoff_units::{Length, Rate};

/// Silicon of one kind of network, by name.
pub(super) fn silicon(catalogue: &Catalogue, infiniband: bool) -> BTreeMap<String, Silicon> {
    let mut all = catalogue.silicon.clone();
    all.retain(|_, silicon| silicon.infiniband == infiniband);
    all
}

/// The smallest InfiniBand switch with ports of this rate.
pub(super) fn infiniband_for(catalogue: &Catalogue, rate: Rate) -> Option<&str> {
    let fits = |silicon: &&Silicon| silicon.infiniband && silicon.port_rate >= rate;
    let all = catalogue.silicon.values().filter(fits);
    all.min_by_key(|silicon| silicon.capacity).map(|silicon| silicon.name.as_str())
}

/// A switch as cables see it.
#[derive(Debug, Clone)]
pub(super) struct Switch {
    pub(super) silicon: Silicon,
    /// Each of its cages.
    pub(super) port: Port,
    /// Cages.
    pub(super) cages: u64,
}

impl Switch {
    /// `None` if the form of its ports is not known.
    pub(super) fn new(silicon: Silicon) -> Option<Self> {
        let port = Port::of_switch(&silicon)?;
        let cages = u64::from(silicon.ports / u32::from(port.shared.max(1)));
        Some(Self { silicon, port, cages })
    }

    /// Links at most, when each cage carries so many.
    pub(super) fn links(&self, ways: u64) -> u64 {
        self.cages.saturating_mul(ways).min(u64::from(self.silicon.max_ports))
    }
}

/// The lanes of a level's links, and how many links share a cage at either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Lanes of each link on its medium.
    pub lanes: Lanes,
    /// Links that share a cage at the lower end.
    pub lower: u64,
    /// Links that share a cage at the upper end.
    pub upper: u64,
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.lanes)
    }
}

/// One end of a medium.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Plug {
    /// The transceiver, or the cable that it is a part of.
    pub part: String,
    /// Its form factor.
    #[serde(serialize_with = "form_name")]
    pub form: Form,
    /// What it carries: the rate of all links that share it.
    pub rate: Rate,
    /// Links that share it.
    pub ways: u64,
    /// What it draws, in thousandths of a watt.
    pub milliwatts: u64,
}

/// The rate of the cable ends whose power the catalogue has; that of slower ones is a share of it.
const POWER_RATE: u64 = 800_000_000_000;

fn lanes_text<S: Serializer>(lanes: &Lanes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(lanes)
}

fn form_name<S: Serializer>(form: &Form, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(form.name())
}

/// A fibre cable between transceivers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Patch {
    /// `MPO-12 to MPO-12`, or `MPO-16 to 8 x LC duplex`.
    pub ends: String,
    /// `OM4` or `OS2`.
    pub fibre: String,
    /// Links in one: more than 1 in a cable that fans out.
    pub ways: u64,
}

/// What carries a cable, with both its ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Medium {
    /// The catalogue's name for what carries a link.
    pub name: String,
    /// Lanes of each link.
    #[serde(serialize_with = "lanes_text")]
    pub lanes: Lanes,
    /// Whether the ends are part of the cable.
    pub attached: bool,
    /// The lower end.
    pub lower: Plug,
    /// The upper end.
    pub upper: Plug,
    /// The fibre between transceivers.
    pub patch: Option<Patch>,
}

impl Medium {
    /// Links in one cable: more than 1 in one that fans out.
    pub fn ways(&self) -> u64 {
        match &self.patch {
            Some(patch) => patch.ways,
            None => self.lower.ways.max(self.upper.ways),
        }
    }

    /// Ends of one cable.
    pub fn ends(&self) -> u64 {
        self.ways() + 1
    }

    /// What the ends of a cable draw together, in thousandths of a watt; fibre draws nothing.
    pub fn milliwatts(&self) -> u64 {
        match self.attached {
            true => {
                self.lower.milliwatts * self.upper.ways + self.upper.milliwatts * self.lower.ways
            }
            false => 0,
        }
    }

    /// The form factors of a cable with its ends attached: `OSFP to 2 x QSFP112`.
    pub fn forms(&self) -> String {
        let (lower, upper) = (self.lower.form.name(), self.upper.form.name());
        match (self.lower.ways, self.upper.ways) {
            (1, 1) => format!("{upper} to {lower}"),
            (ways, 1) => format!("{lower} to {ways} x {upper}"),
            (_, ways) => format!("{upper} to {ways} x {lower}"),
        }
    }

    /// What a cable carries in all.
    pub fn rate(&self) -> Rate {
        self.lower.rate.max(self.upper.rate)
    }
}

/// Two ports that a level's cables connect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends {
    pub(super) lower: Port,
    pub(super) upper: Port,
    /// Whether the lower end is a NIC, whose port nobody shares.
    pub(super) nic: bool,
}

/// Lane counts that are in use.
const COUNTS: [u8; 4] = [1, 2, 4, 8];

impl Ends {
    /// The lanes on which `rate` takes the fewest cages; of equal ones those that copper carries,
    /// then the fewest lanes. `None`: nothing in the catalogue links these ports at this rate.
    pub(super) fn mode(&self, catalogue: &Catalogue, rate: Rate) -> Option<Mode> {
        let mut best: Option<((u64, bool), Mode)> = None;
        for lanes in COUNTS.into_iter().filter_map(|count| Lanes::of(rate, count)) {
            // By rate, not by lanes: a gearbox may put other lanes on the fibre than the port has.
            let most = |port: Port| (port.lanes.rate().bps() / rate.bps().max(1)).min(8);
            let below = if self.nic { 1 } else { most(self.lower) };
            for lower in ways(below) {
                for upper in ways(most(self.upper)) {
                    let mode = Mode { lanes, lower, upper };
                    if best.is_some_and(|((cages, copper), _)| {
                        (lower * upper, true) <= (cages, copper)
                    }) {
                        continue;
                    }
                    let Some((.., medium)) = self.medium_on(catalogue, mode, Length::from_mm(1))
                    else {
                        continue;
                    };
                    let rank = (lower * upper, medium.attached);
                    if best.is_none_or(|(known, _)| rank > known) {
                        best = Some((rank, mode));
                    }
                }
            }
        }
        best.map(|(_, mode)| mode)
    }

    /// The medium with the least reach and power for a cable of this length. Other lanes than those
    /// of the level will do, if as many links share a cage: transceivers bring their own.
    pub(super) fn medium(
        &self,
        catalogue: &Catalogue,
        mode: Mode,
        length: Length,
    ) -> Option<Medium> {
        let rate = mode.lanes.rate();
        let modes = COUNTS.into_iter().filter_map(|count| Lanes::of(rate, count));
        let modes = modes.map(|lanes| Mode { lanes, ..mode });
        let found = modes.filter_map(|mode| self.medium_on(catalogue, mode, length));
        found.min_by_key(|(reach, power, _)| (*reach, *power)).map(|(.., medium)| medium)
    }

    /// The same on the lanes of a mode, with its reach and power.
    fn medium_on(
        &self,
        catalogue: &Catalogue,
        mode: Mode,
        length: Length,
    ) -> Option<(Length, Milliwatts, Medium)> {
        let attached = catalogue.media.values().filter(|media| media.attached() && !media.ideal);
        let cables = attached.filter_map(|media| {
            let medium = self.cable(media, mode, length)?;
            Some((reach(media, mode.lanes.each), media.power, medium))
        });
        let optics = FAMILIES.into_iter().filter_map(|family| {
            let (reach, medium) = self.transceivers(catalogue, family, mode, length)?;
            Some((reach, Milliwatts(medium.lower.milliwatts as u32), medium))
        });
        cables.chain(optics).min_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)))
    }

    fn plugged<'a>(
        &self,
        lower: &'a Media,
        upper: &'a Media,
        mode: Mode,
    ) -> (Plugged<'a>, Plugged<'a>) {
        (
            Plugged { media: lower, port: self.lower, ways: mode.lower as u8 },
            Plugged { media: upper, port: self.upper, ways: mode.upper as u8 },
        )
    }

    fn links(
        &self,
        lower: &Media,
        upper: &Media,
        mode: Mode,
        length: Length,
    ) -> Result<Lanes, Mismatch> {
        let (lower, upper) = self.plugged(lower, upper, mode);
        link(lower, upper, mode.lanes, length)
    }

    fn cable(&self, media: &Media, mode: Mode, length: Length) -> Option<Medium> {
        self.links(media, media, mode, length).ok()?;
        let plug = |form, ways| {
            let rate = times(mode.lanes.rate(), ways);
            let milliwatts = u64::from(media.power.0) * rate.bps() / POWER_RATE;
            Plug { part: media.name.clone(), form, rate, ways, milliwatts }
        };
        Some(Medium {
            name: media.name.clone(),
            lanes: mode.lanes,
            attached: true,
            lower: plug(self.lower.form, mode.lower),
            upper: plug(self.upper.form, mode.upper),
            patch: None,
        })
    }

    /// Transceivers of a family, and how far they reach.
    fn transceivers(
        &self,
        catalogue: &Catalogue,
        family: Family,
        mode: Mode,
        length: Length,
    ) -> Option<(Length, Medium)> {
        // Those that could be one end: the rest need not be tried in pairs.
        let fit = |port: Port, ways: u64| -> Vec<&Media> {
            let shares = |optics: &Optics| {
                let some = ways == 1 && optics.lights(mode.lanes);
                some || optics.share(ways as u8) == Some(mode.lanes)
            };
            let fits = |media: &&Media| {
                let optics = media.optics().filter(|optics| shares(optics));
                media.family == family && optics.is_some_and(|optics| port.module(optics).is_some())
            };
            catalogue.media.values().filter(fits).collect()
        };
        // A connector for each link needs no cable that fans out; then the smallest module.
        let rank = |media: &Media, ways: u64| {
            let own = media.optics().is_some_and(|optics| u64::from(optics.connectors) == ways);
            (!own, media.rate, media.power)
        };
        let (below, above) = (fit(self.lower, mode.lower), fit(self.upper, mode.upper));
        let pairs = below.iter().flat_map(|lower| above.iter().map(move |upper| (*lower, *upper)));
        let pairs = pairs.filter(|(lower, upper)| self.links(lower, upper, mode, length).is_ok());
        let (lower, upper) = pairs
            .min_by_key(|(lower, upper)| (rank(lower, mode.lower), rank(upper, mode.upper)))?;
        let plug = |media: &Media, port: Port, ways: u64| {
            let (form, _) = port.module(media.optics()?)?;
            let milliwatts = u64::from(media.power.0);
            Some(Plug { part: media.name.clone(), form, rate: media.rate, ways, milliwatts })
        };
        let medium = Medium {
            name: name(lower, upper, mode),
            lanes: mode.lanes,
            attached: false,
            patch: Some(patch((lower, mode.lower), (upper, mode.upper))?),
            lower: plug(lower, self.lower, mode.lower)?,
            upper: plug(upper, self.upper, mode.upper)?,
        };
        Some((lower.reach.min(upper.reach), medium))
    }
}

/// Families of transceivers.
const FAMILIES: [Family; 6] =
    [Family::Sr, Family::Dr, Family::Fr, Family::Lr, Family::Er, Family::Zr];

/// The name that a fabric file gives to a link of these transceivers: that of the end which is not
/// shared.
fn name(lower: &Media, upper: &Media, mode: Mode) -> String {
    if mode.upper < mode.lower { upper.name.clone() } else { lower.name.clone() }
}

/// Numbers of links that may share a cage, most first.
fn ways(most: u64) -> impl Iterator<Item = u64> {
    COUNTS.into_iter().rev().map(u64::from).filter(move |ways| *ways <= most)
}

fn times(rate: Rate, count: u64) -> Rate {
    Rate::from_bps(rate.bps().saturating_mul(count))
}

/// The longest cable at a lane rate.
fn reach(media: &Media, lane: Lane) -> Length {
    match media.make {
        Make::Attached(reach) => {
            let found = reach.iter().find(|(known, _)| *known == lane);
            Length::from_m(found.map_or(0, |(_, metres)| *metres))
        }
        _ => media.reach,
    }
}

/// The fibre between two transceivers that are shared by so many links.
fn patch(lower: (&Media, u64), upper: (&Media, u64)) -> Option<Patch> {
    let fan = |(media, ways): (&Media, u64)| {
        let optics = media.optics()?;
        Some((optics.connector, ways / u64::from(optics.connectors)))
    };
    let fibre = lower.0.optics()?.fibre.name().to_owned();
    let ((below, below_ways), (above, above_ways)) = (fan(lower)?, fan(upper)?);
    let fanned = |one: Connector, many: Connector, ways: u64| match ways {
        1 => format!("{} to {}", one.name(), many.name()),
        _ => format!("{} to {ways} x {}", one.name(), many.name()),
    };
    let (ends, ways) = match below_ways > above_ways {
        true => (fanned(below, above, below_ways), below_ways),
        false => (fanned(above, below, above_ways), above_ways),
    };
    Some(Patch { ends, fibre, ways })
}

/// The two ports of a level.
pub(super) fn ends(level: Level, nic: Port, switches: [&Switch; 3]) -> Ends {
    let [leaf, spine, core] = switches.map(|switch| switch.port);
    match level {
        Level::Host => Ends { lower: nic, upper: leaf, nic: true },
        Level::LeafSpine => Ends { lower: leaf, upper: spine, nic: false },
        Level::SpineCore => Ends { lower: spine, upper: core, nic: false },
    }
}
