//! A fabric from a number of GPUs: parts, cables, racks, and the designs that compete with it.
//!
//! [`plan`] takes a [`Wish`] and gives a [`Plan`], or a [`Refusal`] that says what would make the
//! wish possible. A plan has a [`Design`] (counts, bill, bisection, failures), [`Alternative`]s
//! that each change one thing, the other networks ([`Sides`]), RoCE and InfiniBand weighed
//! ([`Recommendation`]), what becomes of what is there ([`Brownfield`]), and the documents to build
//! it from: [`Plan::fabric_toml`], [`Plan::bill_csv`], [`Plan::cabling_csv`], [`Plan::racks_text`].
//!
//! What it is not: a model of traffic. It sizes, counts and prices; whether the fabric carries its
//! load is for a simulation to show. Tests compare every plan with the fabric that `fabric`
//! resolves from its file. Read [`Wish`] first, then [`Shape`].

mod alternatives;
mod bill;
mod cabling;
mod cure;
mod design;
mod existing;
mod file;
mod floor;
mod management;
mod parts;
mod price;
mod racks;
mod recommend;
mod refusal;
mod shape;
mod side;
mod size;
mod spares;
#[cfg(test)]
mod tests;
mod wiring;
mod wish;

pub use alternatives::Alternative;
pub use bill::{Bill, Item, LevelCables, Line, MediumUse, Purpose, Role};
pub use cabling::{Cable, End};
pub use design::{Design, Failure, Part};
pub use existing::{Brownfield, Fate, InventoryError, Owned, inventory};
pub use floor::Floor;
pub use management::Management;
pub use parts::{Medium, Mode, Patch, Plug};
pub use price::{Money, Price, PriceError, Prices, Provenance};
pub use racks::{Device, Place, Rack};
pub use recommend::{Reason, Recommendation, Skills};
pub use refusal::Refusal;
pub use shape::{Level, Shape};
pub use side::{Side, Sides};
pub use wiring::PortNumber;
pub use wish::{Network, Wish};

use design::Inputs;
use floor::Hall;
use serde::Serialize;
use std::fmt::Write;
use wiring::Wiring;
use xoff_fabric::catalogue::{Catalogue, Silicon};
use xoff_fabric::limit;
use xoff_units::{Length, Rate};

/// A design for a wish, its alternatives, and the documents to build it from.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// What it was planned for.
    pub wish: Wish,
    /// The hall it stands in.
    pub floor: Floor,
    /// What prices are counted in.
    pub currency: String,
    /// Where prices are from, and of when.
    pub prices: Provenance,
    /// The design that fulfils the wish.
    pub design: Design,
    /// Designs that each change one thing.
    pub alternatives: Vec<Alternative>,
    /// The networks beside the one between GPUs.
    pub sides: Sides,
    /// RoCE or InfiniBand, if both can be built.
    pub recommendation: Option<Recommendation>,
    /// What becomes of what is there already, if it was said.
    pub brownfield: Option<Brownfield>,
    #[serde(skip)]
    hall: Hall,
    #[serde(skip)]
    wiring: Wiring,
    #[serde(skip)]
    silicon: [Silicon; 3],
    #[serde(skip)]
    catalogue: Catalogue,
}

/// Plans a fabric.
pub fn plan(
    wish: &Wish,
    floor: Floor,
    catalogue: &Catalogue,
    prices: &Prices,
) -> Result<Plan, Refusal> {
    floor.check()?;
    let inputs = Inputs { catalogue, prices, floor };
    let (design, mut hall, wiring) = inputs.design(wish)?;
    within_limits(&design)?;
    let ask = wish.settle(catalogue)?;
    let sides = side::sides(&inputs, wish, &design.shape, &mut hall)?;
    let alternatives = alternatives::alternatives(&inputs, wish, &design);
    let kept = |design: &Design| {
        let owned = wish.existing.as_ref()?;
        Some(existing::brownfield(owned, &design.bill, catalogue))
    };
    let brownfield = kept(&design);
    let other = alternatives.iter().find(|other| other.change == alternatives::INFINIBAND);
    let recommendation = other.and_then(|other| other.design.as_ref()).map(|other| {
        let saved = brownfield.as_ref().zip(kept(other));
        let saved = saved.map(|(own, other)| (own.saved, other.saved));
        recommend::recommend(&design, other, wish.skills, saved)
    });
    let plan = Plan {
        wish: wish.clone(),
        floor,
        currency: prices.currency.clone(),
        alternatives,
        recommendation,
        brownfield,
        design,
        sides,
        hall,
        wiring,
        silicon: [ask.leaf.silicon, ask.spine.silicon, ask.core.silicon],
        prices: prices.provenance(),
        catalogue: catalogue.clone(),
    };
    plan.check_heights()?;
    Ok(plan)
}

/// Refuses a plan that is larger than a fabric file can describe.
fn within_limits(design: &Design) -> Result<(), Refusal> {
    let switches: u64 = bill::tiers(&design.shape).iter().sum();
    let links = design.all_links();
    if links <= limit::LINKS && switches <= limit::SWITCHES {
        return Ok(());
    }
    Err(Refusal::new(
        format!(
            "this takes {links} links and {switches} switches, and a fabric file describes up to {} \
             and {}",
            limit::LINKS,
            limit::SWITCHES
        ),
        [
            "silicon with faster ports, which needs fewer uplinks",
            "a plan for a part of the cluster",
        ],
    ))
}

impl Plan {
    /// The bill of materials as CSV: a row for each item that is ordered.
    pub fn bill_csv(&self) -> String {
        let mut text = String::from(
            "network,role,part,rate,form_factor,detail,length_m,reach_m,quantity,spares,ordered,\
             unit_watts,watts,watts_source,unit_price,price,price_source,price_date,currency\n",
        );
        for line in self.lines() {
            let item = &line.item;
            let metres = |length: Option<Length>| {
                length.map_or(String::new(), |length| (length.as_mm() / 1_000).to_string())
            };
            let rate = if item.rate == Rate::ZERO { String::new() } else { item.rate.to_string() };
            let watts = |mw: u64| format!("{}.{}", mw / 1_000, mw % 1_000 / 100);
            let each = u64::from(line.power.0);
            let (source, date) = self.prices.of(line.price);
            let _ = writeln!(
                text,
                "{},{},{},{rate},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                line.purpose.name(),
                line.role.name(),
                quoted(&item.part),
                quoted(&item.form),
                quoted(&item.detail),
                metres(item.length),
                metres(item.reach),
                line.quantity,
                line.spares,
                line.ordered(),
                watts(each),
                watts(each.saturating_mul(line.quantity)),
                if line.power_estimate { "estimate" } else { "catalogue" },
                line.price.amount,
                line.price.times(line.ordered()).amount,
                quoted(source),
                quoted(date),
                self.currency
            );
        }
        text
    }

    /// The lines of all bills: of the network between GPUs, then of those beside it.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.bills().flat_map(|bill| &bill.lines)
    }

    /// The bills of all networks.
    fn bills(&self) -> impl Iterator<Item = &Bill> {
        let sides = self.sides.networks.iter().map(|side| &side.bill);
        let management = self.sides.management.iter().map(|management| &management.bill);
        std::iter::once(&self.design.bill).chain(sides).chain(management)
    }

    /// The price of all networks.
    pub fn price(&self) -> Price {
        self.bills().fold(Price::default(), |sum, bill| sum + bill.price)
    }

    /// What all networks draw, in thousandths of a watt.
    pub fn milliwatts(&self) -> u64 {
        self.bills().map(|bill| bill.milliwatts).sum()
    }

    /// The media that a fabric file without a name for them means.
    fn media_for(&self, rate: Rate, length: Length) -> Option<&str> {
        self.catalogue.media_for(rate, length).map(|media| media.name.as_str())
    }
}

/// A field of a CSV file.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
