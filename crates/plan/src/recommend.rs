//! RoCE or InfiniBand: what speaks for which, and what follows.
//!
//! Each argument has a weight, all of them are shown, and the sum decides: the price (2 where it
//! differs by more than 10 %, 1 above 3 %), the power (1 above 10 %), what the people who will run
//! it know (2, if it is said), what is there already (2 for the network that keeps more of it, by
//! price), and the choice of vendors (1, for Ethernet). A tie is a tie: then both are named.
//!
//! What is not weighed: speed. Whether one carries a job better is for `xoff compare` to measure.

use super::design::Design;
use super::wish::Network;
use serde::Serialize;
use std::cmp::Ordering;

/// What the people who will run a network know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skills {
    /// Ethernet.
    Ethernet,
    /// InfiniBand.
    Infiniband,
    /// Both alike.
    Both,
}

/// An argument for one of two networks, or for none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What it is about.
    pub about: String,
    /// What it says of RoCE.
    pub roce: String,
    /// What it says of InfiniBand.
    pub infiniband: String,
    /// For which it speaks.
    pub favours: Option<Network>,
    /// How much.
    pub weight: u64,
}

/// Two networks side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recommendation {
    /// The one that is recommended; none on a tie.
    pub network: Option<Network>,
    /// The sums of both.
    pub weights: (u64, u64),
    /// All arguments.
    pub reasons: Vec<Reason>,
}

/// What of an inventory each network could keep, in hundredths of the currency.
pub(super) type Kept = Option<(u64, u64)>;

/// Holds two designs of the same cluster against each other.
pub(super) fn recommend(
    roce: &Design,
    infiniband: &Design,
    skills: Option<Skills>,
    kept: Kept,
) -> Recommendation {
    let prices = (roce.bill.price.amount.0, infiniband.bill.price.amount.0);
    let powers = (roce.bill.milliwatts, infiniband.bill.milliwatts);
    let money = |cents: u64| match cents {
        0..100_000_000 => format!("{} K", cents / 100_000),
        _ => format!("{:.2} M", cents as f64 / 1e8),
    };
    let watts = |milliwatts: u64| format!("{:.1} kW", milliwatts as f64 / 1e6);
    let text = |about: &str, roce: String, infiniband: String, (favours, weight)| Reason {
        about: about.to_owned(),
        roce,
        infiniband,
        favours,
        weight,
    };
    let price = match apart(prices) {
        0..=3 => (None, 0),
        4..=10 => (Some(less(prices)), 1),
        _ => (Some(less(prices)), 2),
    };
    let power = if apart(powers) > 10 { (Some(less(powers)), 1) } else { (None, 0) };
    let known = match skills {
        Some(Skills::Ethernet) => (Some(Network::Roce), 2),
        Some(Skills::Infiniband) => (Some(Network::Infiniband), 2),
        Some(Skills::Both) | None => (None, 0),
    };
    let unsaid = if skills.is_none() { "not said: --skills" } else { "" };
    let knows = |network| match known.0 {
        Some(favoured) if favoured == network => "known".to_owned(),
        Some(_) => "to be learned".to_owned(),
        None if skills.is_some() => "known".to_owned(),
        None => unsaid.to_owned(),
    };
    let mut reasons = vec![
        text("price of parts", money(prices.0), money(prices.1), price),
        text("power", watts(powers.0), watts(powers.1), power),
        text("skills", knows(Network::Roce), knows(Network::Infiniband), known),
        text(
            "vendors",
            "several, interchangeable".to_owned(),
            "one".to_owned(),
            (Some(Network::Roce), 1),
        ),
        text(
            "lossless",
            "by PFC and ECN, to be set and watched".to_owned(),
            "by credits, nothing to set".to_owned(),
            (None, 0),
        ),
    ];
    if let Some(kept) = kept {
        let more = match kept.0.cmp(&kept.1) {
            Ordering::Equal => (None, 0),
            Ordering::Greater => (Some(Network::Roce), 2),
            Ordering::Less => (Some(Network::Infiniband), 2),
        };
        let of = |cents| format!("what is worth {} stays", money(cents));
        reasons.insert(3, text("what is there", of(kept.0), of(kept.1), more));
    }
    weighed(reasons)
}

/// The recommendation that follows from its reasons.
fn weighed(reasons: Vec<Reason>) -> Recommendation {
    let sum = |network| {
        let own = reasons.iter().filter(|reason| reason.favours == Some(network));
        own.map(|reason| reason.weight).sum::<u64>()
    };
    let weights = (sum(Network::Roce), sum(Network::Infiniband));
    let network = match weights.0.cmp(&weights.1) {
        Ordering::Greater => Some(Network::Roce),
        Ordering::Less => Some(Network::Infiniband),
        Ordering::Equal => None,
    };
    Recommendation { network, weights, reasons }
}

/// By how many percent of the smaller two figures differ.
fn apart((a, b): (u64, u64)) -> u64 {
    a.abs_diff(b).saturating_mul(100) / a.min(b).max(1)
}

fn less((roce, infiniband): (u64, u64)) -> Network {
    if roce <= infiniband { Network::Roce } else { Network::Infiniband }
}

impl Recommendation {
    /// The sentence that says it.
    pub fn sentence(&self) -> String {
        let (roce, infiniband) = self.weights;
        let Some(network) = self.network else {
            return format!(
                "RoCE or InfiniBand: {roce} to {infiniband}, decide by what is not weighed here"
            );
        };
        let name = |reason: &&Reason| reason.favours == Some(network);
        let about: Vec<&str> =
            self.reasons.iter().filter(name).map(|reason| reason.about.as_str()).collect();
        let (own, other) = match network {
            Network::Roce => (roce, infiniband),
            Network::Infiniband => (infiniband, roce),
        };
        format!("{}, {own} to {other}, for {}", network.name(), about.join(", "))
    }
}
