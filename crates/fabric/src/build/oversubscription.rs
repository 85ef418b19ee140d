//! Whether the uplinks that a file counts carry what comes from below.
//!
//! `oversubscription` says how much less the uplinks may carry. Numbers of spines, cores and parallel
//! cables decide it, too: where they leave less than the file asks for, the arithmetic is shown.

use super::terms::Terms;
use super::wiring::{End, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, Step, keys};
use crate::file::Kind;
use crate::model::Tier;
use crate::rules::uplinks::links_above;
use xoff_units::{Rate, Ratio};

/// Links of one switch: how many, and their bandwidth together.
#[derive(Debug, Clone, Copy, Default)]
struct Bundle {
    links: u64,
    bps: u64,
}

impl Bundle {
    fn add(&mut self, rate: Rate) {
        self.links += 1;
        self.bps = self.bps.saturating_add(rate.bps());
    }

    /// `16 x 400Gbps`.
    fn text(self) -> String {
        let each = Rate::from_bps(self.bps / self.links.max(1));
        format!("{} x {each}", self.links)
    }
}

/// Warns, once per tier, of switches whose uplinks carry less than the file says.
pub(super) fn check(terms: &Terms<'_>, wiring: &Wiring, report: &mut Report<'_>) {
    // A fat tree follows from its radix, and a custom fabric is what its links say.
    if !matches!(terms.file.fabric.kind, Kind::LeafSpine | Kind::Rail | Kind::ThreeTier) {
        return;
    }
    let bundles = bundles(wiring);
    for tier in [Tier::Leaf, Tier::Spine] {
        let switches = (0..wiring.switches.len()).filter(|&at| wiring.tier(at as u32) == tier);
        let ratio = |at: usize| {
            let [down, up] = bundles[at];
            (up.bps > 0).then(|| Ratio::new(down.bps, up.bps))
        };
        let Some(worst) = switches.max_by_key(|&at| (ratio(at), std::cmp::Reverse(at))) else {
            continue;
        };
        let meant = meant(terms, tier);
        if ratio(worst).is_some_and(|ratio| ratio > meant) {
            complain(terms, wiring, worst, bundles[worst], report);
        }
    }
}

/// The ratio that the file asks for at a tier.
fn meant(terms: &Terms<'_>, tier: Tier) -> Ratio {
    let layout = &terms.file.fabric;
    let given = match tier {
        Tier::Leaf => layout.oversubscription,
        Tier::Spine | Tier::Core => layout.spine_oversubscription,
    };
    given.filter(|ratio| !ratio.is_zero()).unwrap_or(Ratio::ONE)
}

/// Links of every switch to the hosts and away from them.
fn bundles(wiring: &Wiring) -> Vec<[Bundle; 2]> {
    let mut bundles = vec![[Bundle::default(); 2]; wiring.switches.len()];
    let tier = |end: End| match end {
        End::Nic(_) => None,
        End::Switch(switch) => Some(wiring.tier(switch)),
    };
    for link in &wiring.links {
        let rate = wiring.cables[link.cable].rate;
        for (end, other) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
            if let End::Switch(switch) = end {
                let up = tier(other) > tier(end);
                bundles[switch as usize][usize::from(up)].add(rate);
            }
        }
    }
    bundles
}

fn complain(
    terms: &Terms<'_>,
    wiring: &Wiring,
    switch: usize,
    [down, up]: [Bundle; 2],
    report: &mut Report<'_>,
) {
    let links = &terms.file.links;
    let tier = wiring.tier(switch as u32);
    let (uppers, level, key, parallel, rate) = match tier {
        Tier::Leaf => {
            let rate = terms.leaf_spine_cable.rate;
            ("spines", "leaf-spine", "oversubscription", links.leaf_spine.parallel, rate)
        }
        Tier::Spine | Tier::Core => {
            let rate = terms.spine_core_cable.rate;
            ("cores", "spine-core", "spine-oversubscription", links.spine_core.parallel, rate)
        }
    };
    let [is, asked] = [Ratio::new(down.bps, up.bps), meant(terms, tier)].map(text);
    let below = Rate::from_bps(down.bps / down.links.max(1));
    let needed = links_above(down.links, meant(terms, tier), (below, rate));
    // The uplinks of a switch go to different upper switches, `parallel` to each.
    let count = (up.links / u64::from(parallel.unwrap_or(1).max(1))).max(1);
    let candidates: [&[Step<'_>]; 6] = [
        keys!["fabric", uppers],
        keys!["links", level, "parallel"],
        keys!["links", level, "rate"],
        keys!["fabric", "hosts-per-leaf"],
        keys!["fabric", "leaves"],
        keys!["fabric", "kind"],
    ];
    report.warn(
        code::OVERSUBSCRIBED,
        super::buffers::first_written(&candidates, report),
        format!(
            "`{}` has {} down ({}) and {} up to the {uppers} ({}): oversubscribed {is}, and the \
             file asks for {asked}",
            wiring.switches[switch].name,
            down.text(),
            Rate::from_bps(down.bps),
            up.text(),
            Rate::from_bps(up.bps),
        ),
        format!(
            "{needed} uplinks carry it: `[links.{level}] parallel = {}`, or more {uppers}; \
             `{key} = \"{is}\"` accepts it",
            needed.div_ceil(count)
        ),
    );
}

/// `4:1`, or `25.8:1` with one decimal, rounded up: so that a file which asks for it accepts it.
fn text(ratio: Ratio) -> String {
    let (up, down) = (u128::from(ratio.numerator()), u128::from(ratio.denominator()));
    let tenths = (up * 10).div_ceil(down.max(1));
    match tenths % 10 {
        0 => format!("{}:1", tenths / 10),
        tenth => format!("{}.{tenth}:1", tenths / 10),
    }
}
