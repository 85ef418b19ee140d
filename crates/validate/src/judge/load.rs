//! Steady loads: permutations along and across rails, all-to-all, and how evenly links carry them.

use super::words::{count, percent};
use super::{Evidence, advice};
use crate::advice::Advice;
use crate::check::Check;
use crate::experiment::draw_id;
use crate::measure::{Measurement, TierFigures};
use crate::phase::Phase;
use crate::suite::{ALL_TO_ALL, ALONG_RAILS, PERMUTATION};
use xoff_fabric::derived::Derived;
use xoff_fabric::goals::Goal;
use xoff_report::Verdict;

/// Links of a tier under hashed load: the busiest over the mean.
const UNEVEN: f64 = 3.0;
/// What congestion control uses of links that are meant to be oversubscribed and stay short of room.
const CONGESTED: f64 = 0.75;

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let goals = &evidence.setup.goals;
    let along = Load {
        name: "rails",
        title: "A permutation along rails runs at line rate",
        experiment: ALONG_RAILS,
        group: PERMUTATION,
        goal: &goals.permutation,
    };
    let across = Load {
        name: "permutation",
        title: "A permutation runs at line rate",
        experiment: PERMUTATION,
        ..along
    };
    let everybody = Load {
        name: "all-to-all",
        title: "The fabric carries all-to-all traffic",
        experiment: ALL_TO_ALL,
        group: ALL_TO_ALL,
        goal: &goals.all_to_all,
    };
    let found = [
        along.check(evidence, derived),
        across.check(evidence, derived),
        everybody.check(evidence, derived),
        evidence.get(PERMUTATION).map(|measured| spread(evidence, derived, measured)),
    ];
    found.into_iter().flatten().collect()
}

/// A load and what it is held against.
#[derive(Clone, Copy)]
struct Load<'a> {
    name: &'a str,
    title: &'a str,
    experiment: &'a str,
    group: &'a str,
    goal: &'a Goal,
}

/// What receivers get, over all draws.
struct Received {
    /// The mean of each draw.
    means: Vec<f64>,
    /// The median of those.
    median: f64,
    /// The 5th percentile of all receivers.
    low: f64,
    draws: Vec<String>,
}

impl Received {
    fn of(evidence: &Evidence<'_>, experiment: &str, group: &str) -> Option<Self> {
        let ids = (0..).map(|draw| draw_id(experiment, draw));
        let draws: Vec<(String, &Measurement)> =
            ids.map_while(|id| evidence.get(&id).map(|found| (id, found))).collect();
        let groups = || draws.iter().filter_map(|(_, measured)| measured.group(group));
        let mut means: Vec<f64> = groups().map(|group| group.received.of.mean).collect();
        means.sort_by(f64::total_cmp);
        let mut all: Vec<f64> =
            groups().flat_map(|group| &group.received.points).copied().collect();
        all.sort_by(f64::total_cmp);
        let median = *means.get(means.len() / 2)?;
        let low = *all.get(all.len() / 20)?;
        Some(Self { means, median, low, draws: draws.into_iter().map(|(id, _)| id).collect() })
    }
}

impl Load<'_> {
    fn check(&self, evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
        let measured = evidence.get(self.experiment)?;
        let received = Received::of(evidence, self.experiment, self.group)?;
        // A design that means to be oversubscribed is held against what it leaves.
        let intended = evidence.setup.goals.intended_share();
        // Links that are short of room all the time are not filled by congestion control.
        let filled = if intended < 1.0 { CONGESTED } else { 1.0 };
        let share = received.median / (intended * filled);
        let draws = match received.means.len() {
            1 => String::new(),
            number => format!(" (median of {number} draws)"),
        };
        let of = if intended < 1.0 { " of what the design leaves" } else { "" };
        let seen = format!(
            "NICs receive {} of line rate{draws}, the slowest twentieth {} or less; busiest tier {}",
            percent(received.median),
            percent(received.low),
            busiest(measured),
        );
        let check = Check::new(Phase::Synthetic, self.name, self.title)
            .from(received.draws.clone())
            .done(format!("{} ({:.1} M packet-hops)", measured.title, hops(measured)))
            .seen(seen, format!("{} of line rate or more{of}", percent(self.goal.pass * filled)))
            .held_against(share, self.goal)
            .headline();
        Some(check.consider(candidates(evidence, derived, measured)))
    }
}

fn hops(measured: &Measurement) -> f64 {
    measured.packet_hops as f64 / 1e6
}

fn busiest(measured: &Measurement) -> String {
    let tier = measured.tiers.iter().max_by(|a, b| a.mean.total_cmp(&b.mean));
    tier.map_or(String::new(), |tier| format!("{} at {}", tier.name, percent(tier.mean)))
}

/// What may help a load that is slow, from what its links and counters show.
pub(super) fn candidates(
    evidence: &Evidence<'_>,
    derived: &Derived,
    measured: &Measurement,
) -> Vec<Advice> {
    let setup = evidence.setup;
    let mut all = Vec::new();
    let between: Vec<&TierFigures> =
        measured.tiers.iter().filter(|tier| !tier.name.contains("nic") && tier.used > 0).collect();
    let ratios = derived.tiers.iter().filter_map(|row| row.oversubscription);
    let oversubscribed = ratios.map(|ratio| ratio.as_f64()).any(|ratio| ratio > 1.001);
    if oversubscribed && !between.is_empty() {
        all.push(advice::non_blocking(setup));
    }
    // The busiest link is full while others are not: flows share links by chance.
    let uneven = between.iter().any(|tier| tier.max > 1.15 * tier.mean && tier.links > 1);
    if uneven {
        all.extend(advice::spread_load(evidence));
    }
    if measured.totals.retransmitted > 0 {
        all.extend(advice::keep_order(evidence));
    }
    if measured.totals.marks > 0 {
        all.extend(advice::thresholds(evidence));
        all.extend(advice::usual_congestion_control(evidence));
        all.extend(advice::faster_recovery(setup));
    }
    if measured.totals.xoff > 0 {
        all.extend(advice::usual_pause(evidence));
    }
    all.extend(advice::limits(evidence));
    all
}

/// How evenly hashing uses the links of a tier: unused links beside busy ones are polarisation.
fn spread(evidence: &Evidence<'_>, derived: &Derived, measured: &Measurement) -> Check {
    let between = |tier: &&TierFigures| !tier.name.contains("nic");
    let uneven = |tier: &TierFigures| if tier.mean > 0.0 { tier.max / tier.mean } else { 0.0 };
    let tiers: Vec<&TierFigures> = measured.tiers.iter().filter(between).collect();
    let idle = |tier: &TierFigures| (tier.links - tier.used) as f64 / tier.links.max(1) as f64;
    // Some idle links are chance: with f flows on n links a share of about exp(-f/n) stays idle,
    // give or take its deviation. As many flows cross a tier as there are, at most.
    let flows = measured.group(PERMUTATION).map_or(0.0, |group| group.flows as f64);
    let nics: f64 =
        measured.tiers.iter().filter(|t| t.name.starts_with("nic")).map(|t| t.bytes as f64).sum();
    let chance = |tier: &TierFigures| {
        let links = tier.links.max(1) as f64;
        let crossing = flows * (tier.bytes as f64 / nics.max(1.0)).min(1.0);
        let idle = (-(crossing / links)).exp();
        idle + 3.0 * (idle * (1.0 - idle) / links).sqrt() + 0.02
    };
    let polarised: Vec<String> = tiers
        .iter()
        .filter(|tier| tier.used > 0 && idle(tier) > chance(tier))
        .map(|tier| {
            format!("{} ({} of {} links idle)", tier.name, tier.links - tier.used, tier.links)
        })
        .collect();
    let worst = tiers.iter().map(|tier| uneven(tier)).fold(0.0, f64::max);
    let words: Vec<String> = tiers
        .iter()
        .map(|tier| {
            format!(
                "{} max/mean {:.2}, Gini {:.2}, {} of {} links used",
                tier.name,
                uneven(tier),
                tier.gini,
                tier.used,
                tier.links
            )
        })
        .collect();
    let verdict = match () {
        () if !polarised.is_empty() => Verdict::Fail,
        () if worst > UNEVEN => Verdict::Warn,
        () => Verdict::Pass,
    };
    let stages = derived.tiers.len();
    Check::new(Phase::Synthetic, "ecmp", "Flows spread over all links")
        .from([PERMUTATION])
        .done(format!(
            "counted what each link carried, in {}",
            count(stages as u64, "tier", "tiers")
        ))
        .seen(
            if words.is_empty() {
                "one switch, nothing to spread".to_owned()
            } else {
                words.join("; ")
            },
            format!("no more idle links than chance explains, and max/mean below {UNEVEN:.0}"),
        )
        .verdict(verdict)
        .places(polarised)
        .consider(advice::spread_load(evidence))
}
