//! One flow at a time, between every class of pairs.

use super::nic;
use crate::experiment::Experiment;
use crate::phase::Phase;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId, NodeId};
use xoff_fabric::route::Routes;
use xoff_fabric::scenario::{Common, FlowEntry, Flows, Workload};
use xoff_units::{Bytes, Span};

/// How two NICs are placed relative to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// On one switch.
    SameLeaf,
    /// On the same rail, at different switches.
    SameRail,
    /// On different rails of different servers, at different switches.
    CrossRail,
    /// On different switches of a fabric without rails.
    OtherLeaf,
}

impl Relation {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Relation::SameLeaf => "same leaf",
            Relation::SameRail => "same rail",
            Relation::CrossRail => "cross rail",
            Relation::OtherLeaf => "other leaf",
        }
    }
}

/// Two NICs that stand for all pairs like them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// Where they are relative to each other.
    pub relation: Relation,
    /// Links from one to the other.
    pub links: usize,
    /// Who sends.
    pub from: NicId,
    /// Who receives.
    pub to: NicId,
}

/// NICs whose pairs are searched: enough to find every class of pairs.
const LOOKED_AT: usize = 2_048;

/// One pair for every relation and number of links, seen from the first NIC.
pub fn pairs(fabric: &Fabric) -> Vec<Pair> {
    let routes = Routes::new(fabric);
    let count = fabric.nics.len();
    let step = (count / LOOKED_AT).max(1);
    let mut found = BTreeMap::new();
    for to in (1..count).step_by(step).chain(count.checked_sub(1)) {
        let (from, to) = (NicId(0), NicId(to as u32));
        if from == to {
            continue;
        }
        let Some(path) = routes.shortest_path(fabric, from, to) else { continue };
        let relation = relation(fabric, from, to);
        found.entry((relation, path.len())).or_insert(Pair {
            relation,
            links: path.len(),
            from,
            to,
        });
    }
    found.into_values().collect()
}

fn relation(fabric: &Fabric, from: NicId, to: NicId) -> Relation {
    let (a, b) = (place(fabric, from), place(fabric, to));
    if a.leaf == b.leaf {
        Relation::SameLeaf
    } else if a.rails == 1 {
        Relation::OtherLeaf
    } else if a.rail == b.rail {
        Relation::SameRail
    } else {
        Relation::CrossRail
    }
}

struct Seat {
    leaf: Option<NodeId>,
    rail: u32,
    rails: u32,
}

/// Where a NIC is plugged in. NIC i of a server is on rail i.
fn place(fabric: &Fabric, nic: NicId) -> Seat {
    let card = &fabric.nics[nic.index()];
    let leaf = fabric.ports.get(card.ports.start as usize);
    let leaf = leaf.map(|port| fabric.ports[port.peer.index()].node);
    let server = &fabric.servers[card.server.index()];
    Seat { leaf, rail: nic.0 - server.nics.start, rails: server.nics.len() as u32 }
}

/// A long flow for the rate, a short one for the latency.
pub(crate) const LONG: Bytes = Bytes::new(8_000_000);
pub(crate) const SHORT: Bytes = Bytes::new(64);

pub(super) fn experiments(fabric: &Fabric) -> Vec<Experiment> {
    let pairs = pairs(fabric);
    if pairs.is_empty() {
        return Vec::new();
    }
    // Each flow starts after three times what the one before it takes on the slowest link, and 50
    // us.
    let slowest = fabric.cables.iter().map(|cable| cable.rate).min().unwrap_or_default();
    let turn = Span::from_ps(slowest.time_for(LONG).as_ps().saturating_mul(3)) + Span::from_us(50);
    let flow = |pair: &Pair, size, turn_number: u64| FlowEntry {
        start: Span::from_ps(turn.as_ps().saturating_mul(turn_number)),
        source: nic(fabric, pair.from.index()),
        destination: nic(fabric, pair.to.index()),
        size,
        class: None,
        path: Vec::new(),
        ack_path: Vec::new(),
    };
    let long = pairs.iter().zip(0..).map(|(pair, turn)| flow(pair, LONG, 2 * turn));
    let short = pairs.iter().zip(0..).map(|(pair, turn)| flow(pair, SHORT, 2 * turn + 1));
    let list: Vec<FlowEntry> = long.chain(short).collect();
    let common = Common { name: Some("pairs".into()), ..Common::default() };
    let flows = Workload::Flows(Flows { file: None, list, common });
    let title = "One flow at a time between every class of pairs";
    let whole = Span::from_ps(turn.as_ps().saturating_mul(2 * pairs.len() as u64 + 10));
    vec![Experiment::new("baseline-pairs", Phase::Baseline, title).with(flows).within(whole)]
}
