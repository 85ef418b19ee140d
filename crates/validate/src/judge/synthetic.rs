//! Sustained load, incast, bursts and mixed classes.

use super::words::{count, percent, rate, some, time};
use super::{Evidence, advice};
use crate::check::{Advice, Check};
use crate::measure::{Measurement, TierFigures};
use crate::phase::Phase;
use crate::suite::INCASTS;
use xoff_fabric::derived::Derived;
use xoff_fabric::model::Balancing;
use xoff_report::Verdict;

/// All-to-all gets this share of the NICs' rate where nothing is oversubscribed.
const CARRIED: f64 = 0.8;
/// Links of a tier under hashed load: the busiest over the mean.
const UNEVEN: f64 = 3.0;
/// An incast ends within this factor of the receiver's line rate.
const INCAST: f64 = 2.0;

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let found = [
        evidence.get("all-to-all").map(|m| carried(evidence, derived, m)),
        evidence.get("permutation").map(|m| permutation(evidence, m)),
        evidence.get("permutation").map(|m| spread(derived, m)),
        incasts(evidence),
        evidence.get("flood").map(|m| flood(evidence, m)),
        evidence.get("microbursts").map(microbursts),
        evidence.get("mixed").map(mixed),
        lossless(evidence),
    ];
    found.into_iter().flatten().collect()
}

fn check(name: &str, title: &str, experiments: &[&str]) -> Check {
    Check::new(Phase::Synthetic, name, title).from(experiments.iter().copied())
}

/// What all NICs could send together.
fn line_rate(evidence: &Evidence<'_>) -> f64 {
    let fabric = &evidence.setup.fabric;
    let ports = fabric.nics.iter().filter_map(|nic| fabric.ports.get(nic.ports.start as usize));
    ports.map(|port| fabric.cables[port.cable.index()].rate.bps() as f64).sum()
}

fn carried(evidence: &Evidence<'_>, derived: &Derived, measured: &Measurement) -> Check {
    let goodput: f64 = measured.groups.iter().map(|group| group.goodput_bps).sum();
    let share = goodput / line_rate(evidence);
    let complete = measured.is_complete();
    let verdict = if complete && share >= CARRIED { Verdict::Pass } else { Verdict::Fail };
    let tiers = derived.tiers.iter().filter_map(|row| row.oversubscription);
    let narrowest = tiers.map(|ratio| ratio.as_f64()).any(|ratio| ratio > 1.001);
    let marked = measured.totals.marks > 0 && measured.totals.xoff == 0;
    let advice = match (narrowest, marked) {
        (true, _) => advice::non_blocking(evidence.setup),
        (false, true) => advice::ecn_defaults(),
        (false, false) => Advice::words("widen the busiest tier of this run: it is the bottleneck"),
    };
    let busiest = busiest(measured);
    check("all-to-all", "The fabric carries all-to-all traffic", &["all-to-all"])
        .done(measured_title(evidence, "all-to-all"))
        .seen(
            format!(
                "{} of {} ({}); busiest tier {busiest}",
                rate(goodput),
                rate(line_rate(evidence)),
                percent(share)
            ),
            format!("{} of the NICs' line rate or more", percent(CARRIED)),
        )
        .verdict(verdict)
        .places((verdict != Verdict::Pass && marked && !narrowest).then_some("ecn.kmin"))
        .advise(Some(advice))
}

fn measured_title(evidence: &Evidence<'_>, experiment: &str) -> String {
    let hops = evidence.get(experiment).map_or(0, |measured| measured.packet_hops);
    format!("ran `{experiment}` ({:.1} M packet-hops)", hops as f64 / 1e6)
}

fn busiest(measured: &Measurement) -> String {
    let tier = measured.tiers.iter().max_by(|a, b| a.mean.total_cmp(&b.mean));
    tier.map_or(String::new(), |tier| format!("{} at {}", tier.name, percent(tier.mean)))
}

/// What single flows get under hashing: what collisions cost is what better balancing would gain.
fn permutation(evidence: &Evidence<'_>, measured: &Measurement) -> Check {
    let share = measured.group("permutation").map_or(0.0, |group| group.share_of_ideal);
    let slowest = measured.group("permutation").map_or(0.0, |group| group.slowdown.of.max);
    let verdict = match share {
        _ if !measured.is_complete() => Verdict::Fail,
        _ if share >= 0.8 => Verdict::Pass,
        _ if share >= 0.2 => Verdict::Warn,
        _ => Verdict::Fail,
    };
    let hashed = evidence.setup.fabric.switches.iter().any(|s| s.balancing == Balancing::Hash);
    let advice = if hashed {
        advice::balance()
    } else {
        Advice::words("look at the queues and marks of this run")
    };
    check("permutation", "A permutation runs at line rate", &["permutation"])
        .done(measured_title(evidence, "permutation"))
        .seen(
            format!(
                "flows get {} of line rate on average; the slowest takes {slowest:.1} times its \
                 ideal time",
                percent(share)
            ),
            "80 % or more; ECMP puts several flows on one link",
        )
        .verdict(verdict)
        .advise(Some(advice))
}

/// How evenly hashing uses the links of a tier: unused links beside busy ones are polarisation.
fn spread(derived: &Derived, measured: &Measurement) -> Check {
    let between = |tier: &&TierFigures| !tier.name.contains("nic");
    let uneven = |tier: &TierFigures| if tier.mean > 0.0 { tier.max / tier.mean } else { 0.0 };
    let tiers: Vec<&TierFigures> = measured.tiers.iter().filter(between).collect();
    let idle = |tier: &TierFigures| (tier.links - tier.used) as f64 / tier.links.max(1) as f64;
    // Some idle links are chance: with f flows on n links a share of about exp(-f/n) stays idle,
    // give or take its deviation. As many flows cross a tier as its bytes hold.
    let size = measured.group("permutation").map_or(0.0, |group| group.bytes_per_flow);
    let chance = |tier: &TierFigures| {
        let links = tier.links.max(1) as f64;
        let idle = (-(tier.bytes as f64 / size.max(1.0) / links)).exp();
        idle + 3.0 * (idle * (1.0 - idle) / links).sqrt() + 0.02
    };
    let polarised: Vec<String> = tiers
        .iter()
        .filter(|tier| idle(tier) > chance(tier))
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
    let advice = if polarised.is_empty() { advice::balance() } else { advice::hash_seeds() };
    check("ecmp", "Hashing spreads flows over all links", &["permutation"])
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
        .advise(Some(advice))
}

fn incasts(evidence: &Evidence<'_>) -> Option<Check> {
    let rate = evidence.setup.fabric.cables.first()?.rate.bps() as f64;
    let mut rows = Vec::new();
    let mut worst = (0.0, 0);
    let mut names = Vec::new();
    let (mut drops, mut unmarked) = (0, false);
    for senders in INCASTS {
        let name = format!("incast-{senders}");
        let Some(measured) = evidence.get(&name) else { continue };
        let Some(group) = measured.group("incast") else { continue };
        let bound = f64::from(senders) * 1e6 * 8.0 / rate * 1e6;
        let slower =
            if measured.is_complete() { group.completion.of.max / bound } else { f64::INFINITY };
        if slower > worst.0 {
            worst = (slower, senders);
        }
        drops += measured.totals.lossless_drops;
        unmarked |= measured.totals.xoff > 0 && measured.totals.marks == 0;
        rows.push(format!("{senders}:1 {}", time(group.completion.of.max)));
        names.push(name);
    }
    if names.is_empty() {
        return None;
    }
    let verdict = match () {
        () if drops > 0 || unmarked || worst.0.is_infinite() => Verdict::Fail,
        () if worst.0 > INCAST => Verdict::Warn,
        () => Verdict::Pass,
    };
    let measured = format!(
        "last flow done after {}; {:.2} times the receiver's line rate at {}:1{}",
        rows.join(", "),
        worst.0,
        worst.1,
        if unmarked { "; PFC paused where ECN had not marked" } else { "" },
    );
    let advice = match (unmarked, drops > 0) {
        (true, _) => advice::ecn_below_xoff(evidence.setup),
        (false, true) => Some(advice::headroom()),
        (false, false) => Some(advice::faster_recovery(evidence.setup)),
    };
    let check =
        Check::new(Phase::Synthetic, "incast", "Incast uses the receiver's link and loses nothing")
            .from(names)
            .done("sent 1 MB from each of many NICs to one at once")
            .seen(
                measured,
                format!(
                    "no loss, ECN before PFC, and within {INCAST:.0} times the line rate's time"
                ),
            )
            .verdict(verdict);
    Some(check.advise(advice))
}

/// Without congestion control, PFC must act and must suffice.
fn flood(evidence: &Evidence<'_>, measured: &Measurement) -> Check {
    let totals = measured.totals;
    let fabric = &evidence.setup.fabric;
    let short =
        Derived::of(evidence.setup).thresholds.iter().any(|row| row.headroom < row.headroom_needed);
    let dropped = totals.lossless_drops + if fabric.pause.enabled { 0 } else { totals.lossy_drops };
    let verdict = match () {
        () if dropped > 0 || !measured.is_complete() => Verdict::Fail,
        () => Verdict::Pass,
    };
    let first = measured.first_lossless_drop.as_ref();
    let place = first.map(|(at, port)| format!(", first at {port} after {}", time(*at)));
    let advice = match (fabric.pause.enabled, short) {
        (false, _) => advice::pfc_on(),
        (true, true) => advice::headroom(),
        (true, false) => Advice::words(
            "look at the class that lost packets: its buffer or headroom is too small",
        ),
    };
    check("pfc-holds", "PFC alone keeps the RDMA class lossless", &["flood"])
        .done("turned congestion control off and let many NICs send to one")
        .seen(
            format!(
                "{}, {}{}{}",
                count(totals.xoff, "pause", "pauses"),
                count(dropped, "packet lost", "packets lost"),
                place.unwrap_or_default(),
                if measured.is_complete() { "" } else { "; not all traffic was delivered" },
            ),
            "no packet lost, whatever senders do",
        )
        .verdict(verdict)
        .places(first.map(|(_, port)| port.clone()))
        .advise(Some(advice))
}

fn microbursts(measured: &Measurement) -> Check {
    let totals = measured.totals;
    let deepest = measured.ports.iter().map(|port| port.deepest_bytes).max().unwrap_or(0);
    let good = totals.lossless_drops == 0 && measured.is_complete();
    let tail = measured.group("burst").map_or(0.0, |group| group.completion.of.p99);
    check("microbursts", "Short bursts fit the buffers", &["microbursts"])
        .done("sent ten bursts that are over before congestion control can act")
        .seen(
            format!(
                "p99 {}, deepest queue {:.0} KB, {}, {}",
                time(tail),
                deepest as f64 / 1e3,
                count(totals.xoff, "pause", "pauses"),
                count(totals.lossless_drops, "loss", "losses"),
            ),
            "no loss; pauses only if the burst is larger than the buffer",
        )
        .verdict(if good { Verdict::Pass } else { Verdict::Fail })
}

fn mixed(measured: &Measurement) -> Check {
    let rdma = measured.group("rdma");
    let totals = measured.totals;
    let done = rdma.is_some_and(|group| group.finished == group.flows);
    let good = done && totals.lossless_drops == 0;
    let slowdown = rdma.map_or(0.0, |group| group.slowdown.of.p99);
    check("mixed", "RDMA stays lossless beside other classes", &["mixed"])
        .done("ran RDMA beside storage and best effort, each in its class")
        .seen(
            format!(
                "RDMA p99 slowdown {slowdown:.1}, {} in its class, {} in others",
                count(totals.lossless_drops, "loss", "losses"),
                count(totals.lossy_drops, "drop", "drops"),
            ),
            "every RDMA flow finishes, without loss",
        )
        .verdict(if good { Verdict::Pass } else { Verdict::Fail })
}

/// Over all experiments of the phase: no lossless drop, no deadlock.
fn lossless(evidence: &Evidence<'_>) -> Option<Check> {
    let synthetic = ["permutation", "all-to-all", "flood", "microbursts", "mixed"];
    let incasts = INCASTS.map(|senders| format!("incast-{senders}"));
    let names: Vec<String> = synthetic.map(str::to_owned).into_iter().chain(incasts).collect();
    let all: Vec<&Measurement> = names.iter().filter_map(|name| evidence.get(name)).collect();
    if all.is_empty() {
        return None;
    }
    let drops: u64 = all.iter().map(|measured| measured.totals.lossless_drops).sum();
    let rings: Vec<String> = all.iter().flat_map(|measured| measured.deadlock.clone()).collect();
    let first = all.iter().find_map(|measured| measured.first_lossless_drop.clone());
    let good = drops == 0 && rings.is_empty();
    let mut seen = count(drops, "lossless packet dropped", "lossless packets dropped");
    if !rings.is_empty() {
        seen.push_str(&format!("; a deadlock of {}", some(&rings)));
    }
    let short =
        Derived::of(evidence.setup).thresholds.iter().any(|row| row.headroom < row.headroom_needed);
    let advice = short.then(advice::headroom);
    let check = Check::new(
        Phase::Synthetic,
        "lossless",
        "No lossless class drops a packet, and nothing deadlocks",
    )
    .from(all.iter().map(|measured| measured.experiment.clone()))
    .done("summed over all experiments of this phase")
    .seen(seen, "no loss, no deadlock")
    .verdict(if good { Verdict::Pass } else { Verdict::Fail })
    .places(first.map(|(_, port)| port).into_iter().chain(rings));
    Some(check.advise(advice))
}
