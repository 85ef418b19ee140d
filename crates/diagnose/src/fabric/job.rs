//! Jobs that got slower while the network shows nothing: not the network.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene};
use xoff_telemetry::Metric;

/// A job is slower than usual if its steps take so many times as long.
const SLOWER: f64 = 1.15;
/// The network does no worse than usual if it marks and pauses at most so many times as much.
const WORSE: f64 = 1.5;
/// Or if that is less than this share of all packets, or of all time.
const NOTABLE: f64 = 0.005;

/// What of a job is slower, in words.
pub(super) fn slower(scene: &Scene<'_>) -> Vec<(String, String)> {
    let jobs = scene.slowdowns().into_iter().filter(|(_, ratio)| *ratio > SLOWER);
    let words = jobs.map(|(job, ratio)| {
        (job.to_owned(), format!("the steps of `{job}` take {ratio:.2} times as long as usual"))
    });
    words.collect()
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
    let finding = |(job, words): (String, String)| {
        Finding::new(Cause::Straggler, job, Vec::new())
            .because(words)
            .because("the network marks, pauses and retransmits no more than usual")
    };
    slower(scene).into_iter().map(finding).collect()
}
