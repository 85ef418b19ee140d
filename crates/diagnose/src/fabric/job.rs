//! Jobs that got slower while the network shows nothing: not the network.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene, gpu};
use xoff_telemetry::Metric;

/// A job is slower than usual if its steps take so many times as long.
const SLOWER: f64 = 1.15;
/// The network does no worse than usual if it marks and pauses at most so many times as much.
const WORSE: f64 = 1.5;
/// Or if that is less than this share of all packets, or of all time.
const NOTABLE: f64 = 0.005;

/// Collectives are slow if they have less than this share of the bus bandwidth that they have on the fabric at rest: the model of
/// that is further from what was published at few sizes only (`docs/collectives.md`).
const SLOW: f64 = 0.7;

/// What of a job is slower than usual, in words.
pub(super) fn slower(scene: &Scene<'_>) -> Vec<(String, String)> {
    let jobs = scene.slowdowns().into_iter().filter(|(_, _, ratio)| *ratio > SLOWER);
    let words = jobs.map(|(job, metric, ratio)| {
        let what = if metric == Metric::StepTime { "steps" } else { "collectives" };
        let words = format!("the {what} of `{job}` take {ratio:.2} times as long as usual");
        (job.to_owned(), words)
    });
    words.collect()
}

/// What of a job is slower than the fabric would let it be, in words.
pub(super) fn slow(scene: &Scene<'_>) -> Vec<(String, String)> {
    let jobs = scene.bandwidths().into_iter().filter(|(_, now, at_rest)| *now < SLOW * at_rest);
    jobs.map(|(job, now, at_rest)| (job.to_owned(), share(job, now, at_rest))).collect()
}

/// What was measured of collectives, slow or not.
pub(super) fn measured(scene: &Scene<'_>) -> Vec<String> {
    let all = scene.bandwidths().into_iter().map(|(job, now, at_rest)| {
        let same = |(other, _, _): &(&str, Metric, f64)| *other == job;
        let words = share(job, now, at_rest);
        match scene.slowdowns().into_iter().find(same) {
            Some((_, _, ratio)) => format!("{words}, and take {ratio:.2} times as long as usual"),
            None => words,
        }
    });
    all.collect()
}

fn share(job: &str, now: f64, at_rest: f64) -> String {
    let (now, share) = (now / 1e9, 100.0 * now / at_rest.max(f64::MIN_POSITIVE));
    format!(
        "the collectives of `{job}` have {now:.1} GB/s of bus bandwidth, {share:.0} % of what the fabric gives at rest"
    )
}

/// What is slower though `found` holds nothing that would explain it.
pub(super) fn findings(scene: &Scene<'_>, found: &[Finding]) -> Vec<Finding> {
    let explained = found.iter().any(|finding| finding.confidence >= Confidence::Likely);
    let (sent, _) = scene.total(Metric::TxPackets);
    let time = scene.seconds() * scene.fabric.ports.len() as f64;
    let kinds =
        [(Metric::EcnMarked, sent), (Metric::Retransmitted, sent), (Metric::PausedTime, time)];
    let worse = kinds.iter().any(|(metric, of)| {
        let (now, usual) = scene.total(*metric);
        now > WORSE * usual && now > NOTABLE * of
    });
    if explained || worse {
        return Vec::new();
    }
    let gpus = gpu::remarks(scene);
    let network = match scene.has_usual() {
        true => "the network marks, pauses and retransmits no more than usual",
        false => "the network hardly marks, pauses or retransmits",
    };
    let finding = |(job, words): (String, String)| {
        let finding =
            Finding::new(Cause::Straggler, job, Vec::new()).because(words).because(network);
        gpus.iter().fold(finding, |finding, words| finding.because(words))
    };
    let mut all: Vec<Finding> = slower(scene).into_iter().map(finding).collect();
    for (job, words) in slow(scene) {
        match all.iter_mut().find(|finding| finding.place == job) {
            Some(finding) => finding.evidence.insert(1, words),
            // A model says so, and no measurement of another time.
            None => all.push(finding((job, words)).sure(Confidence::Possible)),
        }
    }
    all
}
