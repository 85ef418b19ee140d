//! The designs that compete with the chosen one: one thing changed in each.

use super::design::{Design, Inputs};
use super::parts;
use super::refusal::Refusal;
use super::wish::{Network, Wish};
use serde::Serialize;
use xoff_fabric::catalogue::Catalogue;
use xoff_units::{Rate, Ratio};

/// The change that takes InfiniBand.
pub(super) const INFINIBAND: &str = "InfiniBand";

/// A design that differs in one thing, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// What is different.
    pub change: String,
    /// The design, if it can be built.
    pub design: Option<Design>,
    /// Why it cannot.
    pub refusal: Option<Refusal>,
    /// What it was planned for.
    #[serde(skip)]
    pub wish: Wish,
}

impl Alternative {
    fn new(change: String, wish: Wish, result: Result<Design, Refusal>) -> Self {
        let (design, refusal) = match result {
            Ok(design) => (Some(design), None),
            Err(refusal) => (None, Some(refusal)),
        };
        Self { change, design, refusal, wish }
    }
}

/// What competes with `chosen`, which was made for `wish`.
pub(super) fn alternatives(inputs: &Inputs<'_>, wish: &Wish, chosen: &Design) -> Vec<Alternative> {
    let make = |change: String, wish: Wish| {
        let design = inputs.design(&wish).map(|(design, ..)| design);
        Alternative::new(change, wish, design)
    };
    let shape = &chosen.shape;
    let mut list = vec![rails(&make, wish, chosen)];
    for tiers in [2, 3].into_iter().filter(|tiers| *tiers != shape.tiers) {
        list.push(make(format!("{tiers} tiers"), Wish { tiers: Some(tiers), ..wish.clone() }));
    }
    list.push(rate(&make, wish, shape.host_rate));
    list.push(infiniband(&make, inputs.catalogue, wish, chosen));
    if shape.tiers > 1 && shape.oversubscription().is_some_and(|ratio| ratio <= Ratio::ONE) {
        let wider = Wish { oversubscription: Some(Ratio::new(2, 1)), ..wish.clone() };
        list.push(make("2:1".to_owned(), wider));
    }
    list
}

/// Single-rail against multi-rail.
fn rails(make: &impl Fn(String, Wish) -> Alternative, wish: &Wish, chosen: &Design) -> Alternative {
    let shape = &chosen.shape;
    if shape.nics_per_server == 1 {
        let why = Refusal::new("servers with one NIC have one rail", ["--nics-per-server 8"]);
        return Alternative::new("multi-rail".to_owned(), wish.clone(), Err(why));
    }
    let (change, rails) = match shape.rails {
        1 => ("multi-rail", shape.nics_per_server),
        _ => ("single-rail", 1),
    };
    // One switch has no rails, so the number of tiers is open again.
    let tiers = wish.tiers.filter(|tiers| *tiers > 1);
    let single = rails == 1 && tiers.is_none();
    let tiers = if single { Some(shape.tiers.max(2)) } else { tiers };
    let other = make(change.to_owned(), Wish { rails: Some(rails), tiers, ..wish.clone() });
    if other.design.is_some() || wish.tiers.is_some() {
        return other;
    }
    make(change.to_owned(), Wish { rails: Some(rails), tiers: None, ..wish.clone() })
}

/// 400G against 800G.
fn rate(make: &impl Fn(String, Wish) -> Alternative, wish: &Wish, now: Rate) -> Alternative {
    let (change, nic) = match now == Rate::from_gbps(400) {
        true => ("800G NICs", "connectx-8"),
        false => ("400G NICs", "connectx-7"),
    };
    make(change.to_owned(), Wish { nic: Some(nic.to_owned()), ..wish.clone() })
}

/// InfiniBand at the same bandwidth.
fn infiniband(
    make: &impl Fn(String, Wish) -> Alternative,
    catalogue: &Catalogue,
    wish: &Wish,
    chosen: &Design,
) -> Alternative {
    let rate = chosen.shape.host_rate;
    let change = INFINIBAND.to_owned();
    let nics = ["connectx-5", "connectx-6", "connectx-7", "connectx-8"];
    let same = |name: &&&str| catalogue.nics.get(**name).is_some_and(|nic| nic.rate == rate);
    let parts = nics.iter().find(same).zip(parts::infiniband_for(catalogue, rate));
    let Some((nic, switch)) = parts else {
        let why =
            Refusal::new(format!("no InfiniBand parts of {rate} are known"), ["--nic connectx-7"]);
        return Alternative::new(change, wish.clone(), Err(why));
    };
    let other = Wish {
        network: Network::Infiniband,
        nic: Some((*nic).to_owned()),
        leaf: Some(switch.to_owned()),
        spine: None,
        core: None,
        rails: wish.rails.or((chosen.shape.tiers > 1).then_some(chosen.shape.rails)),
        ..wish.clone()
    };
    make(change, other)
}
