//! A fabric from a number of GPUs: parts, cables, racks, and the designs that compete with it.
//!
//! [`plan`] takes a [`Wish`] and gives a [`Plan`], or a [`Refusal`] that says what would make the
//! wish possible. A plan has a [`Design`] (counts, bill, bisection, failures), [`Alternative`]s
//! that each change one thing, and the documents to build it from: [`Plan::fabric_toml`],
//! [`Plan::bill_csv`], [`Plan::cabling_csv`], [`Plan::racks_text`].
//!
//! What it is not: a model of traffic. It sizes, counts and prices; whether the fabric carries its
//! load is for a simulation to show. Tests compare every plan with the fabric that `fabric`
//! resolves from its file. Read [`Wish`] first, then [`Shape`].

mod alternatives;
mod bill;
mod cabling;
mod cure;
mod design;
mod file;
mod floor;
mod parts;
mod price;
mod racks;
mod refusal;
mod shape;
mod size;
#[cfg(test)]
mod tests;
mod wish;

pub use alternatives::Alternative;
pub use bill::{Bill, LevelCables, Line, Role};
pub use cabling::{Cable, End, PortNumber};
pub use design::{Design, Failure, Part};
pub use floor::Floor;
pub use parts::Medium;
pub use price::{Money, Price, PriceError, Prices};
pub use racks::{Device, Rack};
pub use refusal::Refusal;
pub use shape::{Level, Shape};
pub use wish::{Network, Wish};

use design::Inputs;
use floor::Hall;
use serde::Serialize;
use std::fmt::Write;
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
    /// The design that fulfils the wish.
    pub design: Design,
    /// Designs that each change one thing.
    pub alternatives: Vec<Alternative>,
    #[serde(skip)]
    hall: Hall,
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
    let (design, hall) = inputs.design(wish)?;
    within_limits(&design)?;
    let ask = wish.settle(catalogue)?;
    Ok(Plan {
        wish: wish.clone(),
        floor,
        currency: prices.currency.clone(),
        alternatives: alternatives::alternatives(&inputs, wish, &design),
        design,
        hall,
        silicon: [ask.leaf, ask.spine, ask.core],
        catalogue: catalogue.clone(),
    })
}

/// Refuses a plan that is larger than a fabric file can describe.
fn within_limits(design: &Design) -> Result<(), Refusal> {
    let switches: u64 = bill::tiers(&design.shape).iter().sum();
    let cables = design.all_cables();
    if cables <= limit::LINKS && switches <= limit::SWITCHES {
        return Ok(());
    }
    Err(Refusal::new(
        format!(
            "this takes {cables} cables and {switches} switches, and a fabric file describes up to {} \
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
    /// The bill of materials as CSV.
    pub fn bill_csv(&self) -> String {
        let mut text = String::from(
            "role,part,length_m,quantity,unit_watts,watts,watts_source,unit_price,price,\
             price_source,currency\n",
        );
        for line in &self.design.bill.lines {
            let length = line.length.map_or(String::new(), |length| {
                let metres = length.as_mm() / 1_000;
                metres.to_string()
            });
            let source = |estimate| if estimate { "estimate" } else { "catalogue" };
            let watts = |mw: u64| format!("{}.{}", mw / 1_000, mw % 1_000 / 100);
            let each = u64::from(line.power.0);
            let _ = writeln!(
                text,
                "{},{},{length},{},{},{},{},{},{},{},{}",
                line.role.name(),
                line.part,
                line.quantity,
                watts(each),
                watts(each.saturating_mul(line.quantity)),
                source(line.power_estimate),
                line.price.amount,
                line.price.times(line.quantity).amount,
                if line.price.estimate { "estimate" } else { "file" },
                self.currency
            );
        }
        text
    }

    /// The media that a fabric file without a name for them means.
    fn media_for(&self, rate: Rate, length: Length) -> Option<&str> {
        self.catalogue.media_for(rate, length).map(|media| media.name.as_str())
    }
}
