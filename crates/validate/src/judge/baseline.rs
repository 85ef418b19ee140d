//! One flow at a time.

use super::Evidence;
use super::words::{count, percent, time};
use crate::check::{Advice, Check};
use crate::phase::Phase;
use crate::suite::{LONG, SHORT, pairs};
use xoff_report::Verdict;
use xoff_units::Bytes;

const EXPERIMENT: &str = "baseline-pairs";

/// A flow alone on its path takes no longer than this, over the idle fabric's bound.
const LINE_RATE: f64 = 1.02;
/// A short message may take this much longer: it waits for nothing.
const LATENCY: f64 = 1.02;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let Some(measured) = evidence.get(EXPERIMENT) else { return Vec::new() };
    let pairs = pairs(&evidence.setup.fabric);
    let check =
        |name: &str, title: &str| Check::new(Phase::Baseline, name, title).from([EXPERIMENT]);
    // Long and short flows in the order of the pairs.
    let rows = |size: Bytes| {
        let flows = measured.flows.iter().filter(move |flow| flow.bytes == size.get());
        flows.zip(&pairs).map(|(flow, pair)| {
            let slower = flow.completion_us.map_or(f64::INFINITY, |time| time / flow.ideal_us);
            (pair, flow, slower)
        })
    };
    let worst = |size| rows(size).map(|row| row.2).fold(0.0, f64::max);
    let rate_words = rows(LONG).map(|(pair, _, slower)| {
        format!("{} over {} links {}", pair.relation.name(), pair.links, percent(1.0 / slower))
    });
    let late = |limit: f64, size| {
        let late = rows(size).filter(move |row| row.2 > limit);
        late.map(|(_, flow, _)| format!("{} to {}", flow.from, flow.to))
    };
    let latency_words = rows(SHORT).map(|(pair, flow, _)| {
        let time = flow.completion_us.map_or("never".to_owned(), time);
        format!("{} over {} links {time}", pair.relation.name(), pair.links)
    });
    let judged = |good: bool| if good { Verdict::Pass } else { Verdict::Fail };
    let counters = measured.totals;
    let quiet = [counters.xoff, counters.marks, counters.lossless_drops, counters.retransmitted];
    let clean =
        "clean or replace the optics on these paths, or raise the rate of their slowest link";
    vec![
        check("line-rate", "One flow gets line rate between every class of pairs")
            .done("sent 8 MB alone between each class of pairs")
            .seen(
                rate_words.collect::<Vec<_>>().join(", "),
                "98 % of the slowest link's rate or more",
            )
            .verdict(judged(worst(LONG) <= LINE_RATE))
            .places(late(LINE_RATE, LONG))
            .advise(Some(Advice::words(clean))),
        check("latency", "A short message takes what its path takes, and no longer")
            .done("wrote 64 bytes alone, and waited for the acknowledgement")
            .seen(
                latency_words.collect::<Vec<_>>().join(", "),
                "within 2 % of cables, switches and NICs",
            )
            .verdict(judged(worst(SHORT) <= LATENCY))
            .places(late(LATENCY, SHORT))
            .advise(Some(Advice::words(clean))),
        check("at-rest", "No pauses, marks, drops or retransmissions at rest")
            .done("counted them while one flow at a time was under way")
            .seen(
                format!(
                    "{}, {}, {}, {}",
                    count(counters.xoff, "pause", "pauses"),
                    count(counters.marks, "mark", "marks"),
                    count(counters.lossless_drops + counters.wire_drops, "drop", "drops"),
                    count(counters.retransmitted, "retransmission", "retransmissions"),
                ),
                "none",
            )
            .verdict(judged(quiet.iter().all(|&number| number == 0) && counters.wire_drops == 0))
            .advise(Some(Advice::words(clean))),
    ]
}
