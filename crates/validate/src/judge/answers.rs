//! The three answers at the top: lossless, performance, resilience; each one sentence with its figures.

use super::Evidence;
use super::failures::{CRAWLS, FailureCost, failure_costs};
use super::words::{percent, some, time};
use super::workload::{COLLECTIVES, longer, median, share};
use crate::check::{Aspect, Check};
use std::collections::BTreeMap;
use xoff_report::Verdict;

/// The answers that the evidence gives; an aspect that nothing was measured of has none.
pub fn answers(evidence: &Evidence<'_>, checks: &[Check]) -> BTreeMap<Aspect, String> {
    let mut all = BTreeMap::new();
    let mut put = |aspect, answer: Option<String>| {
        if let Some(answer) = answer {
            all.insert(aspect, answer);
        }
    };
    put(Aspect::Lossless, lossless(checks));
    put(Aspect::Performance, performance(evidence, checks));
    put(Aspect::Resilience, resilience(evidence));
    all
}

/// Checks of an aspect that did not pass, the worst first.
fn unhappy(checks: &[Check], aspect: Aspect) -> Vec<&Check> {
    let mut all: Vec<&Check> = checks
        .iter()
        .filter(|check| check.aspect == aspect && check.verdict != Verdict::Pass)
        .collect();
    all.sort_by_key(|check| std::cmp::Reverse((check.verdict, check.headline)));
    all
}

fn lossless(checks: &[Check]) -> Option<String> {
    let worst = unhappy(checks, Aspect::Lossless);
    let measured = checks.iter().find(|check| check.id == "synthetic.lossless")?;
    Some(match worst.first() {
        None => format!("yes: {}", measured.measured),
        Some(check) if check.verdict == Verdict::Warn => {
            format!("yes in these experiments, but: {}", check.measured)
        }
        Some(check) => format!("no: {}", check.measured),
    })
}

fn performance(evidence: &Evidence<'_>, checks: &[Check]) -> Option<String> {
    let mut words = Vec::new();
    for (id, name) in [COLLECTIVES[0], COLLECTIVES[3]] {
        let rows = evidence.get(id).map(|measured| measured.collectives.as_slice());
        if let Some(row) = rows.and_then(|rows| median(rows, |row| 1.0 - share(row))) {
            words.push(match row.finished {
                true => {
                    format!("{name} {:.0} GB/s ({} of ideal)", row.busbw / 1e9, percent(share(row)))
                }
                false => format!("{name} does not finish"),
            });
        }
    }
    let steps = evidence.get("training-step").map(|measured| measured.steps.as_slice());
    if let Some(step) = steps.and_then(|steps| median(steps, longer)) {
        words.push(match step.finished {
            true => lost(evidence, step.time_us, step.ideal_us),
            false => "a training step does not finish".to_owned(),
        });
    }
    if words.is_empty() {
        return None;
    }
    let unhappy = unhappy(checks, Aspect::Performance);
    let limits: Vec<String> = unhappy.iter().map(|check| format!("\"{}\"", check.title)).collect();
    let mut answer = words.join(", ");
    if !limits.is_empty() {
        // Titles say what is to be.
        answer += &format!("; expected and not met: {}", some(&limits));
    }
    Some(answer)
}

/// A step against its ideal, and what the difference costs in a day.
fn lost(evidence: &Evidence<'_>, time_us: f64, ideal_us: f64) -> String {
    let gpus: u64 = evidence.setup.fabric.servers.iter().map(|server| u64::from(server.gpus)).sum();
    let hours = 24.0 * gpus as f64;
    let lost = hours * (1.0 - ideal_us / time_us.max(f64::MIN_POSITIVE)).max(0.0);
    // The ideal sends whole transfers in turn, so that packets can be a little faster.
    let longer = (time_us / ideal_us.max(f64::MIN_POSITIVE)).max(1.0);
    format!(
        "a training step takes {}, {longer:.2} times its ideal ({lost:.0} of {hours:.0} GPU-hours a day lost to the \
         network)",
        time(time_us),
    )
}

/// What failures cost: the longest standstill, the worst slowdown, and what kills the job.
fn resilience(evidence: &Evidence<'_>) -> Option<String> {
    let costs = failure_costs(evidence);
    if costs.is_empty() {
        return None;
    }
    let deadly: Vec<String> = costs
        .iter()
        .filter_map(|cost| Some((cost, cost.died.as_ref()?)))
        .map(|(cost, (after, _))| format!("{} (after {})", cost.what, time(after * 1e6)))
        .collect();
    let survived = costs.len() - deadly.len();
    let mut words = vec![format!("the job survives {survived} of {} failures", costs.len())];
    let longest = costs.iter().filter(|cost| cost.died.is_none());
    let longest = longest.filter_map(|cost| Some((cost.interruption?, &cost.what)));
    if let Some((seconds, what)) = longest.max_by(|a, b| a.0.total_cmp(&b.0)) {
        words.push(format!("{what} stops it for {}, the longest", time(seconds * 1e6)));
    }
    let crawls = |cost: &&FailureCost| cost.slowdown.is_some_and(|times| times > CRAWLS);
    let crawling = costs.iter().filter(crawls);
    let crawling: Vec<String> = crawling
        .map(|cost| format!("{} ({:.0} times as long)", cost.what, cost.slowdown.unwrap_or(1.0)))
        .collect();
    if !crawling.is_empty() {
        let link = if crawling.len() == 1 { "that link has" } else { "those links have" };
        words.push(format!(
            "it all but stops under {}: {link} to be taken out of service",
            some(&crawling)
        ));
    }
    let slower = costs.iter().filter(|cost| !crawls(cost));
    let slower = slower.filter_map(|cost| Some((cost.slowdown?, &cost.what)));
    if let Some((times, what)) = slower.max_by(|a, b| a.0.total_cmp(&b.0)) {
        words.push(format!("{what} makes it {times:.2} times as long, the most"));
    }
    if !deadly.is_empty() {
        words.push(format!("it dies of {}", some(&deadly)));
    }
    Some(words.join("; "))
}
