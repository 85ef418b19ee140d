//! Loads that every NIC sends for a while: what arrives in that time is the steady throughput, whatever the number of
//! NICs, and no straggler at the end decides. Where that is less than the goal it may be what congestion control has not
//! found yet: then they go on, and the time after it counts.

use super::Scale;
use super::layout::Layout;
use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{Common, Permutation, RailPattern, Workload};
use xoff_units::{Bytes, Span};

/// Every NIC sends to one on its own rail.
pub(crate) const ALONG_RAILS: &str = "permutation-rail";
/// Every NIC sends to one on another rail, or to any where there are no rails.
pub(crate) const PERMUTATION: &str = "permutation";
/// Every NIC sends to many others at once.
pub(crate) const ALL_TO_ALL: &str = "all-to-all";

/// Destinations that stand for all others.
const DESTINATIONS: u32 = 16;

pub(super) fn experiments(fabric: &Fabric, scale: Scale) -> Vec<Experiment> {
    let layout = Layout::of(fabric);
    let mut all = Vec::new();
    if layout.has_rails && fabric.servers.len() > 1 {
        let title = "Every NIC sends to the same rail of another server";
        all.push(permutation(fabric, scale, ALONG_RAILS, title, RailPattern::Same));
    }
    if layout.crosses_rails {
        let (title, pattern) = match layout.has_rails && layout.alike {
            true => ("Every NIC sends to another rail of another server", RailPattern::Other),
            false => ("Every NIC sends to one other", RailPattern::Any),
        };
        let one = permutation(fabric, scale, PERMUTATION, title, pattern);
        all.extend((0..scale.draws).map(|draw| one.clone().drawn(draw)));
        all.push(all_to_all(fabric, scale));
    }
    all
}

fn permutation(
    fabric: &Fabric,
    scale: Scale,
    id: &str,
    title: &str,
    rails: RailPattern,
) -> Experiment {
    let queue_pairs = queue_pairs(fabric);
    let load = Permutation {
        rails,
        queue_pairs,
        common: named(PERMUTATION),
        ..Permutation::new(endless(fabric, scale.steady))
    };
    let by =
        if queue_pairs > 1 { format!(", by {queue_pairs} queue pairs") } else { String::new() };
    Experiment::new(id, Phase::Synthetic, format!("{title}{by}"))
        .with(Workload::Permutation(load))
        .within(scale.load)
        .settling(scale.steady)
}

/// All-to-all traffic as a sample: each NIC sends to some others at once, and as many send to it.
pub(crate) fn all_to_all(fabric: &Fabric, scale: Scale) -> Experiment {
    let destinations = DESTINATIONS.min(fabric.nics.len() as u32 - 1);
    let load = Permutation {
        destinations,
        queue_pairs: queue_pairs(fabric),
        common: named(ALL_TO_ALL),
        ..Permutation::new(endless(fabric, scale.steady))
    };
    let title = format!("Every NIC sends to {destinations} others at once");
    Experiment::new(ALL_TO_ALL, Phase::Synthetic, title)
        .with(Workload::Permutation(load))
        .within(scale.load)
        .settling(scale.steady)
}

/// Queue pairs that a connection has on this fabric. A queue pair keeps to one port of its NIC by a hash: to fill several
/// ports takes several for each.
pub(super) fn queue_pairs(fabric: &Fabric) -> u32 {
    let ports = fabric.nics.iter().map(|nic| nic.ports.len() as u32).max().unwrap_or(1);
    let filling = if ports > 1 { 8 * ports } else { 1 };
    fabric.queue_pairs.max(filling)
}

/// More than any NIC can send in a time.
pub(super) fn endless(fabric: &Fabric, time: Span) -> Bytes {
    let rates = fabric.nics.iter().map(|nic| fabric.nic_rate(nic).bps()).max();
    let bits = u128::from(rates.unwrap_or(0)) * u128::from(time.as_ps()) / 1_000_000_000_000;
    Bytes::new((bits / 4).min(1 << 40) as u64 + 1)
}

pub(super) fn named(name: &str) -> Common {
    Common { name: Some(name.into()), ..Common::default() }
}
