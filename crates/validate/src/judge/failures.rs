//! What each failure costs, and whether the fabric comes back.

use super::words::{count, percent, time};
use super::{Evidence, advice};
use crate::check::{Advice, Check};
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::suite::{DEAD_SPINE, UNDISTURBED, Victims};
use xoff_fabric::model::{Fabric, PortId};
use xoff_report::Verdict;
use xoff_units::Span;

/// Experiments and what they show.
pub(super) const FAILURES: [(&str, &str); 9] = [
    ("failure-link", "A dead link"),
    ("failure-leaf", "A leaf that resets"),
    ("failure-spine", "A dead spine"),
    ("failure-reset", "A spine that resets"),
    ("failure-flap", "A flapping link"),
    ("failure-optic", "A dirty optic"),
    ("failure-receiver", "A slow receiver"),
    ("failure-storm", "A pause storm"),
    ("failure-route", "A route change"),
];

/// A failure may delay the last flow by this much beyond the outage: a few timeouts.
const PATIENCE_US: f64 = 10_000.0;
/// The bandwidth that is left may differ from what was predicted by this share.
const CLOSE: f64 = 0.1;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let Some(base) = evidence.get(UNDISTURBED) else { return Vec::new() };
    let one =
        |(id, title): &(&str, &str)| Some(failure(evidence, id, title, base, evidence.get(id)?));
    let mut checks: Vec<Check> = FAILURES.iter().filter_map(one).collect();
    checks.extend(dead_spine(evidence));
    checks
}

fn failure(
    evidence: &Evidence<'_>,
    id: &str,
    title: &str,
    base: &Measurement,
    measured: &Measurement,
) -> Check {
    let totals = measured.totals;
    let complete = measured.is_complete();
    let later = measured.last_flow_us() - base.last_flow_us();
    let failed: u64 = measured.groups.iter().map(|group| group.failed).sum();
    // What is lost at the end of a message comes again when the NIC's timeout is over, which no fabric
    // can shorten.
    let first = evidence.setup.fabric.nics.first().and_then(|nic| nic.qp.first_timeout());
    let timeout = if totals.timeouts > 0 { first.map_or(0.0, Span::as_us_f64) } else { 0.0 };
    let verdict = match () {
        () if !complete || totals.lossless_drops > 0 || !measured.deadlock.is_empty() => {
            Verdict::Fail
        }
        () if later > PATIENCE_US + timeout => Verdict::Warn,
        () => Verdict::Pass,
    };
    let mut seen = match (complete, later) {
        (true, later) if later > 0.0 => {
            format!(
                "all flows done, the last {} later ({})",
                time(later),
                grown(base.last_flow_us(), later)
            )
        }
        (true, _) => "all flows done, none later than undisturbed".to_owned(),
        (false, _) if failed > 0 => format!("{} gave up", count(failed, "flow", "flows")),
        (false, _) => format!("not all flows were done ({})", measured.outcome),
    };
    if totals.fault_drops + totals.wire_drops > 0 {
        let lost = count(totals.fault_drops + totals.wire_drops, "packet", "packets");
        seen += &format!("; {lost} lost in it, {} sent again", totals.retransmitted);
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
    let no_dog = evidence.setup.fabric.switches.iter().any(|switch| switch.watchdog.is_none());
    let advice = match id {
        "failure-storm" if no_dog => advice::watchdog(),
        _ => Advice::words(
            "look at the losses of this run: give flows a second way, or shorten convergence",
        ),
    };
    Check::new(Phase::Failures, id.trim_start_matches("failure-"), format!("{title} is survived"))
        .from([id, UNDISTURBED])
        .done("broke it while every NIC was sending to four others")
        .seen(seen, "all flows done, nothing lossless lost but what was in it, no deadlock")
        .verdict(verdict)
        .advise(Some(advice))
}

fn grown(base: f64, later: f64) -> String {
    if base > 0.0 { format!("+{}", percent(later / base)) } else { String::new() }
}

/// The share of all-to-all bandwidth that must be left when a spine is gone: what is left of a leaf's
/// uplinks, over what its hosts send to other leaves.
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
        "A dead spine costs its share, and no more",
    )
    .from([DEAD_SPINE, "all-to-all"])
    .done("sent everything to everybody with and without a spine")
    .seen(
        format!("{} of the bandwidth is left", percent(left)),
        format!("{}: what its leaves' other uplinks carry", percent(predicted)),
    )
    .verdict(verdict)
    .advise(Some(Advice::words(if predicted > 0.0 {
        "look at how the remaining links share the load"
    } else {
        "there is one switch above the leaves, and everything stops with it: build two or more"
    })));
    Some(check)
}

fn goodput(measured: &Measurement) -> f64 {
    measured.groups.iter().map(|group| group.goodput_bps).sum()
}
