//! What each failure costs, and whether the fabric recovers.

use super::words::{count, percent, time};
use super::{Evidence, advice};
use crate::advice::Advice;
use crate::check::Check;
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::suite::{DEAD_SPINE, UNDISTURBED, Victims};
use xoff_fabric::model::{Fabric, PortId};
use xoff_report::Verdict;
use xoff_units::Span;

/// Experiments and what they show.
pub(super) const FAILURES: [(&str, &str); 9] = [
    ("failure-link", "a dead link"),
    ("failure-leaf", "a leaf that resets"),
    ("failure-spine", "a dead spine"),
    ("failure-reset", "a spine that resets"),
    ("failure-flap", "a flapping link"),
    ("failure-optic", "a dirty optic"),
    ("failure-receiver", "a slow receiver"),
    ("failure-storm", "a pause storm"),
    ("failure-route", "a route change"),
];

/// A failure may delay the last flow by this much: the outage and a few timeouts.
const PATIENCE_US: f64 = 10_000.0;
/// The bandwidth that is left may differ from what was predicted by this share.
const CLOSE: f64 = 0.1;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let Some(base) = evidence.get(UNDISTURBED) else { return Vec::new() };
    let one =
        |(id, what): &(&str, &str)| Some(failure(evidence, id, what, base, evidence.get(id)?));
    let mut checks: Vec<Check> = FAILURES.iter().filter_map(one).collect();
    checks.extend(dead_spine(evidence));
    checks
}

fn failure(
    evidence: &Evidence<'_>,
    id: &str,
    what: &str,
    base: &Measurement,
    measured: &Measurement,
) -> Check {
    let totals = measured.totals;
    let later = measured.last_flow_us() - base.last_flow_us();
    // A packet lost at the end of a message is retransmitted after the NIC's timeout, which no
    // fabric can shorten.
    let first = evidence.setup.fabric.nics.first().and_then(|nic| nic.qp.first_timeout());
    let timeout = if totals.timeouts > 0 { first.map_or(0.0, Span::as_us_f64) } else { 0.0 };
    let lost = totals.lossless_drops > 0 || !measured.deadlock.is_empty();
    let verdict = match () {
        () if !measured.is_complete() || lost => Verdict::Fail,
        () if later > PATIENCE_US + timeout => Verdict::Warn,
        () => Verdict::Pass,
    };
    let no_dog = evidence.setup.fabric.switches.iter().any(|switch| switch.watchdog.is_none());
    let advice = match id {
        "failure-storm" if no_dog => advice::watchdog(),
        _ => Advice::words(
            "check where this run lost packets: give flows a second path, or shorten convergence",
        ),
    };
    let name = id.trim_start_matches("failure-");
    Check::new(Phase::Failures, name, format!("Traffic survives {what}"))
        .from([id, UNDISTURBED])
        .done("injected it while every NIC was sending to four others")
        .seen(
            consequences(base, measured, timeout),
            "all flows finish, no lossless drop but by the failure itself, no deadlock",
        )
        .verdict(verdict)
        .advise(Some(advice))
}

/// What a failure did, in words. `timeout` is the NICs' timeout in microseconds, if one expired.
fn consequences(base: &Measurement, measured: &Measurement, timeout: f64) -> String {
    let totals = measured.totals;
    let failed: u64 = measured.groups.iter().map(|group| group.failed).sum();
    let (before, after) = (base.last_flow_us(), measured.last_flow_us());
    let later = after - before;
    let mut seen = match measured.is_complete() {
        true if later > 0.0 => {
            let share = grown(before, later);
            format!("all flows finished, the last {} later ({share})", time(later))
        }
        true => "all flows finished, none later than without the failure".to_owned(),
        false if failed > 0 => format!("{} failed", count(failed, "flow", "flows")),
        false => format!("not all flows finished ({})", measured.outcome),
    };
    if totals.fault_drops + totals.wire_drops > 0 {
        let lost = count(totals.fault_drops + totals.wire_drops, "packet", "packets");
        seen += &format!("; {lost} lost to it, {} retransmitted", totals.retransmitted);
    }
    if timeout > 0.0 {
        let waits = count(totals.timeouts, "timeout", "timeouts");
        seen += &format!("; {waits} of at least {} at NICs", time(timeout));
    }
    if totals.lossless_drops > 0 {
        seen += &format!("; {} lossless packets dropped elsewhere", totals.lossless_drops);
    }
    if totals.xoff > base.totals.xoff {
        seen += &format!("; {} pauses", totals.xoff);
    }
    seen
}

fn grown(base: f64, later: f64) -> String {
    if base > 0.0 { format!("+{}", percent(later / base)) } else { String::new() }
}

/// The share of all-to-all bandwidth that must be left when a spine is gone: what is left of a
/// leaf's uplinks, over what its hosts send to other leaves.
pub fn predicted_left(fabric: &Fabric) -> Option<f64> {
    let victims = Victims::of(fabric)?;
    let spine = fabric.switch_node(victims.spine?);
    let (mut hosts, mut down, mut up, mut gone) = (0u32, 0.0, 0.0, 0.0);
    for port in fabric.switches[victims.leaf.index()].ports.clone().map(PortId) {
        let peer = fabric.ports[fabric.ports[port.index()].peer.index()].node;
        let rate = fabric.cable(port).rate.bps() as f64;
        match fabric.node_switch(peer) {
            None => {
                hosts += 1;
                down += rate;
            }
            Some(_) => {
                up += rate;
                gone += if peer == spine { rate } else { 0.0 };
            }
        }
    }
    let others = fabric.nics.len().checked_sub(1)? as f64;
    let leaving = down * (others - f64::from(hosts.saturating_sub(1))) / others;
    if leaving <= 0.0 {
        return None;
    }
    let before = (up / leaving).min(1.0);
    Some(((up - gone) / leaving).min(1.0) / before)
}

fn dead_spine(evidence: &Evidence<'_>) -> Option<Check> {
    let measured = evidence.get(DEAD_SPINE)?;
    let whole = evidence.get("all-to-all").map(goodput).filter(|whole| *whole > 0.0)?;
    let predicted = predicted_left(&evidence.setup.fabric)?;
    let left = goodput(measured) / whole;
    let near = (left / predicted - 1.0).abs() <= CLOSE || left > predicted;
    let verdict = match () {
        () if !measured.is_complete() => Verdict::Fail,
        () if predicted <= 0.0 => Verdict::Fail,
        () if near => Verdict::Pass,
        () => Verdict::Warn,
    };
    let check = Check::new(
        Phase::Failures,
        "bandwidth",
        "A dead spine costs its share of the bandwidth, and no more",
    )
    .from([DEAD_SPINE, "all-to-all"])
    .done("ran all-to-all with and without a spine")
    .seen(
        format!("{} of the bandwidth remains", percent(left)),
        format!("{}: what its leaves' other uplinks carry", percent(predicted)),
    )
    .verdict(verdict)
    .advise(Some(Advice::words(if predicted > 0.0 {
        "check how the remaining links share the load"
    } else {
        "there is one switch above the leaves, and everything stops with it: build two or more"
    })));
    Some(check)
}

fn goodput(measured: &Measurement) -> f64 {
    measured.groups.iter().map(|group| group.goodput_bps).sum()
}
