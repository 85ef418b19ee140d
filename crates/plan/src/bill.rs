//! The bill of materials: every part with its number, spares, power and price.

use super::floor::Hall;
use super::parts::{Medium, Mode, Plug};
use super::price::{Price, Prices};
use super::shape::{Level, Shape};
use super::spares::Spares;
use super::wiring::Wiring;
use super::wish::Ask;
use serde::Serialize;
use std::collections::BTreeMap;
use xoff_fabric::catalogue::{Catalogue, Milliwatts, Optics};
use xoff_fabric::model::Tier;
use xoff_units::{Length, Rate};

/// What a part is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A switch at the hosts.
    Leaf,
    /// A switch above the leaves.
    Spine,
    /// A switch above the spines.
    Core,
    /// A NIC.
    Nic,
    /// A transceiver.
    Transceiver,
    /// A cable with its ends attached; one that fans out is one cable.
    Cable,
    /// A fibre cable between transceivers; one that fans out is one cable.
    Fibre,
}

impl Role {
    /// The word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Leaf => "leaf",
            Role::Spine => "spine",
            Role::Core => "core",
            Role::Nic => "nic",
            Role::Transceiver => "transceiver",
            Role::Cable => "cable",
            Role::Fibre => "fibre",
        }
    }
}

/// Which network a part is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// GPUs to GPUs.
    #[default]
    Compute,
    /// GPUs to storage.
    Storage,
    /// Servers to users and services.
    Frontend,
    /// Management controllers and switch consoles.
    Management,
}

impl Purpose {
    /// The word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Compute => "compute",
            Purpose::Storage => "storage",
            Purpose::Frontend => "frontend",
            Purpose::Management => "management",
        }
    }
}

/// What is ordered: two lines never have the same item for the same purpose and role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Item {
    /// The part, by its name in the catalogue; of fibre, its connectors.
    pub part: String,
    /// What it carries; of a switch the rate of a port.
    pub rate: Rate,
    /// Its form factor, of cables those of both ends.
    pub form: String,
    /// Lanes, connectors, fibre.
    pub detail: String,
    /// How long a cable is.
    pub length: Option<Length>,
    /// How far a transceiver or a cable of this kind reaches.
    pub reach: Option<Length>,
}

/// A part and its quantity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// Which network it is for.
    pub purpose: Purpose,
    /// What it is for.
    pub role: Role,
    /// Which part.
    pub item: Item,
    /// How many are installed.
    pub quantity: u64,
    /// How many more are ordered as spares.
    pub spares: u64,
    /// Power of each.
    pub power: Milliwatts,
    /// Whether the power is an estimate.
    pub power_estimate: bool,
    /// Price of each.
    pub price: Price,
}

impl Line {
    /// How many are ordered.
    pub const fn ordered(&self) -> u64 {
        self.quantity.saturating_add(self.spares)
    }
}

/// The cables of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LevelCables {
    /// Between what.
    pub level: Level,
    /// Links.
    pub links: u64,
    /// Cables: one that fans out is one.
    pub cables: u64,
    /// Rate of each link.
    pub rate: Rate,
    /// Lanes of each link.
    #[serde(rename = "lanes")]
    pub mode: Mode,
    /// The longest.
    pub longest: Length,
    /// What carries them, by length.
    pub media: Vec<MediumUse>,
}

/// A medium and how much of it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MediumUse {
    /// The medium.
    pub medium: Medium,
    /// Cables of it.
    pub cables: u64,
    /// Links in them.
    pub links: u64,
    /// The longest of them.
    pub longest: Length,
}

/// Everything to be bought, servers excepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bill {
    /// The parts.
    pub lines: Vec<Line>,
    /// Power of all that is installed, in thousandths of a watt.
    pub milliwatts: u64,
    /// Price of all, spares included.
    pub price: Price,
}

impl Bill {
    /// The sums of lines.
    pub(super) fn new(lines: Vec<Line>) -> Self {
        let add = |sum: Price, line: &Line| sum + line.price.times(line.ordered());
        let watts = |line: &Line| u64::from(line.power.0).saturating_mul(line.quantity);
        Self {
            milliwatts: lines.iter().map(watts).fold(0, u64::saturating_add),
            price: lines.iter().fold(Price::default(), add),
            lines,
        }
    }

    /// How many parts of this role are installed.
    pub fn quantity(&self, role: Role) -> u64 {
        self.lines.iter().filter(|line| line.role == role).map(|line| line.quantity).sum()
    }

    /// How many spares there are of all parts.
    pub fn spares(&self) -> u64 {
        self.lines.iter().map(|line| line.spares).sum()
    }
}

/// Switches of each tier.
pub(super) fn tiers(shape: &Shape) -> [u64; 3] {
    [Tier::Leaf, Tier::Spine, Tier::Core].map(|tier| shape.switches(tier))
}

/// The cables of every level, with what carries them.
pub(super) fn cables(shape: &Shape, hall: &Hall, wiring: &Wiring) -> Vec<LevelCables> {
    let level = |level: Level| {
        let mode = wiring.mode(level)?;
        Some(LevelCables {
            level,
            links: shape.cables(level),
            cables: 0,
            rate: shape.rate(level),
            mode,
            longest: wiring.longest(level),
            media: Vec::new(),
        })
    };
    let mut levels: Vec<LevelCables> = shape.levels().filter_map(level).collect();
    let mut uses: BTreeMap<(Level, usize), MediumUse> = BTreeMap::new();
    wiring.for_each(shape, hall, |link| {
        let used = uses.entry((link.run.level, link.medium_at)).or_insert_with(|| MediumUse {
            medium: link.medium.clone(),
            cables: 0,
            links: 0,
            longest: Length::default(),
        });
        used.cables += u64::from(link.opens_cable());
        used.links += 1;
        used.longest = used.longest.max(link.length);
    });
    for level in &mut levels {
        let own = uses.iter().filter(|((at, _), _)| *at == level.level);
        level.media = own.map(|(_, used)| used.clone()).collect();
        level.cables = level.media.iter().map(|used| used.cables).sum();
        level.media.sort_by(|a, b| (a.longest, &a.medium.name).cmp(&(b.longest, &b.medium.name)));
    }
    levels
}

/// The bill of a fabric.
pub(super) fn bill(
    ask: &Ask,
    shape: &Shape,
    hall: &Hall,
    wiring: &Wiring,
    catalogue: &Catalogue,
    prices: &Prices,
) -> Bill {
    let mut lines = devices(ask, shape, prices);
    let mut count = Count { catalogue, parts: BTreeMap::new() };
    let mut cables: BTreeMap<(Level, usize, Length), (u64, &Medium)> = BTreeMap::new();
    let mut plugs: BTreeMap<(Level, usize), ([u64; 2], &Medium)> = BTreeMap::new();
    wiring.for_each(shape, hall, |link| {
        let (level, medium) = (link.run.level, link.medium);
        if link.opens_cable() {
            let key = (level, link.medium_at, link.length);
            cables.entry(key).or_insert((0, medium)).0 += 1;
        }
        if !medium.attached {
            let [lower, upper] =
                &mut plugs.entry((level, link.medium_at)).or_insert(([0; 2], medium)).0;
            *lower += u64::from(link.from_port.first());
            *upper += u64::from(link.to_port.first());
        }
    });
    for ((_, _, length), (quantity, medium)) in cables {
        count.cable(medium, length, quantity);
    }
    for ([lower, upper], medium) in plugs.into_values() {
        count.transceiver(&medium.lower, lower);
        count.transceiver(&medium.upper, upper);
    }
    lines.extend(count.parts.into_iter().map(|((role, item), (quantity, milliwatts))| Line {
        purpose: Purpose::Compute,
        role,
        quantity,
        spares: 0,
        power: Milliwatts(u32::try_from(milliwatts).unwrap_or(u32::MAX)),
        power_estimate: false,
        price: match role {
            Role::Fibre => prices.fibre(item.length.unwrap_or_default()),
            Role::Cable => prices.cable(&item.part, item.rate),
            _ => prices.media(&item.part),
        },
        item,
    }));
    Spares::of(ask.spares).add(&mut lines);
    Bill::new(lines)
}

fn devices(ask: &Ask, shape: &Shape, prices: &Prices) -> Vec<Line> {
    let tiers = [
        (Role::Leaf, Tier::Leaf, &ask.leaf),
        (Role::Spine, Tier::Spine, &ask.spine),
        (Role::Core, Tier::Core, &ask.core),
    ];
    let line = |role, quantity, item: Item, power, price| Line {
        purpose: Purpose::Compute,
        role,
        item,
        quantity,
        spares: 0,
        power,
        power_estimate: true,
        price,
    };
    let switches = tiers.iter().map(|(role, tier, switch)| {
        let silicon = &switch.silicon;
        let (cages, form) = (switch.cages, switch.port.form.name());
        let item = Item {
            part: silicon.name.clone(),
            rate: silicon.port_rate,
            form: format!("{cages} x {form}"),
            detail: format!("{} per cage", switch.port.lanes),
            length: None,
            reach: None,
        };
        let price = prices.switch(&silicon.name);
        line(*role, shape.switches(*tier), item, silicon.power, price)
    });
    let nic = Item {
        part: ask.nic.name.clone(),
        rate: ask.nic.rate,
        form: match shape.homing {
            1 => ask.nic_port.form.name().to_owned(),
            ports => format!("{ports} x {}", ask.nic_port.form.name()),
        },
        detail: ask.nic_port.lanes.to_string(),
        length: None,
        reach: None,
    };
    let nics = line(Role::Nic, shape.nics(), nic, ask.nic.power, prices.nic(&ask.nic.name));
    switches.filter(|line| line.quantity > 0).chain([nics]).collect()
}

/// Parts while they are counted, with their number and power.
struct Count<'a> {
    catalogue: &'a Catalogue,
    parts: BTreeMap<(Role, Item), (u64, u64)>,
}

impl Count<'_> {
    fn add(&mut self, role: Role, item: Item, milliwatts: u64, quantity: u64) {
        let part = self.parts.entry((role, item)).or_insert((0, milliwatts));
        part.0 += quantity;
    }

    fn cable(&mut self, medium: &Medium, length: Length, quantity: u64) {
        let modulation = medium.lanes.each.modulation();
        let each = medium.lanes.each.gbps();
        let item = match &medium.patch {
            None => Item {
                part: medium.name.clone(),
                rate: medium.rate(),
                form: medium.forms(),
                detail: format!("lanes of {each}G {modulation}, {} ends", medium.ends()),
                length: Some(length),
                reach: None,
            },
            Some(patch) => Item {
                part: patch.ends.clone(),
                rate: Rate::ZERO,
                form: String::new(),
                detail: format!("{}, {} ends", patch.fibre, medium.ends()),
                length: Some(length),
                reach: None,
            },
        };
        let role = if medium.attached { Role::Cable } else { Role::Fibre };
        self.add(role, item, medium.milliwatts(), quantity);
    }

    fn transceiver(&mut self, plug: &Plug, quantity: u64) {
        let media = self.catalogue.media.get(&plug.part);
        let item = Item {
            part: plug.part.clone(),
            rate: plug.rate,
            form: plug.form.name().to_owned(),
            detail: media.and_then(|media| media.optics()).map_or(String::new(), describe),
            length: None,
            reach: media.map(|media| media.reach),
        };
        self.add(Role::Transceiver, item, plug.milliwatts, quantity);
    }
}

/// `8 x 100G PAM4 parallel, 2 x MPO-12, OS2`.
fn describe(optics: &Optics) -> String {
    let connector = match optics.connectors {
        1 => optics.connector.name().to_owned(),
        many => format!("{many} x {}", optics.connector.name()),
    };
    format!(
        "{} {} {}, {connector}, {}",
        optics.lanes,
        optics.lanes.each.modulation(),
        optics.scheme.name(),
        optics.fibre.name()
    )
}
