//! One flow at a time.

use super::Evidence;
use super::words::{count, percent, time};
use crate::advice::Advice;
use crate::check::Check;
use crate::measure::{FlowFigure, Measurement};
use crate::phase::Phase;
use crate::suite::{LONG, Pair, SHORT, pairs};
use xoff_report::Verdict;
use xoff_transport::config::Congestion;
use xoff_units::Bytes;

const EXPERIMENT: &str = "baseline-pairs";

/// A flow alone on its path gets this share of the bound of the idle fabric, or more.
const LINE_RATE: f64 = 0.98;
/// The same where the sender keeps to a window of what the path holds: acknowledgements come for several packets at once.
const BY_WINDOW: f64 = 0.95;
/// A short message may take this much longer: nothing delays it.
const LATENCY: f64 = 1.02;

/// What to do where a single flow is slow.
const CLEAN: &str =
    "clean or replace the optics on these paths, or raise the rate of their slowest link";

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let Some(measured) = evidence.get(EXPERIMENT) else { return Vec::new() };
    let pairs = pairs(&evidence.setup.fabric);
    vec![line_rate(evidence, measured, &pairs), latency(measured, &pairs), at_rest(measured)]
}

fn check(name: &str, title: &str, good: bool) -> Check {
    Check::new(Phase::Baseline, name, title).from([EXPERIMENT]).verdict(if good {
        Verdict::Pass
    } else {
        Verdict::Fail
    })
}

/// A flow of a pair, and its time over the bound of the idle fabric.
type Row<'a> = (&'a Pair, &'a FlowFigure, f64);

/// The flows of a size; they are in the order of the pairs.
fn rows<'a>(measured: &'a Measurement, pairs: &'a [Pair], size: Bytes) -> Vec<Row<'a>> {
    let flows = measured.flows.iter().filter(|flow| flow.bytes == size.get());
    let row = |(flow, pair): (&'a FlowFigure, &'a Pair)| {
        let slower = flow.completion_us.map_or(f64::INFINITY, |time| time / flow.ideal_us);
        (pair, flow, slower)
    };
    flows.zip(pairs).map(row).collect()
}

fn worst(rows: &[Row<'_>]) -> f64 {
    rows.iter().map(|row| row.2).fold(0.0, f64::max)
}

/// The pairs whose flow took longer than it may.
fn late(rows: &[Row<'_>], limit: f64) -> Vec<String> {
    let late = rows.iter().filter(|row| row.2 > limit);
    late.map(|(_, flow, _)| format!("{} to {}", flow.from, flow.to)).collect()
}

/// The share of line rate that congestion control means to give a flow that is alone.
fn meant(evidence: &Evidence<'_>) -> f64 {
    let nics = evidence.setup.fabric.nics.iter();
    let shares = nics.map(|nic| match &nic.qp.congestion {
        // The target utilisation, which a fabric without a queue never exceeds, and reports of hops that are rounded.
        Congestion::Hpcc(hpcc) => BY_WINDOW * BY_WINDOW * hpcc.eta.as_f64().clamp(0.85, 1.0),
        Congestion::Dctcp(_) | Congestion::Swift(_) => BY_WINDOW,
        _ => LINE_RATE,
    });
    shares.fold(LINE_RATE, f64::min)
}

fn line_rate(evidence: &Evidence<'_>, measured: &Measurement, pairs: &[Pair]) -> Check {
    let meant = meant(evidence);
    let rows = rows(measured, pairs, LONG);
    let words = rows.iter().map(|(pair, _, slower)| {
        format!("{} over {} links {}", pair.relation.name(), pair.links, percent(1.0 / slower))
    });
    let title = "One flow runs at line rate between every class of pairs";
    check("line-rate", title, worst(&rows) <= 1.0 / meant)
        .done("sent 8 MB alone between each class of pairs")
        .seen(
            words.collect::<Vec<_>>().join(", "),
            format!("{} of the slowest link's rate or more", percent(meant)),
        )
        .places(late(&rows, 1.0 / meant))
        .advise(Some(Advice::words(CLEAN)))
}

fn latency(measured: &Measurement, pairs: &[Pair]) -> Check {
    let rows = rows(measured, pairs, SHORT);
    let words = rows.iter().map(|(pair, flow, _)| {
        let time = flow.completion_us.map_or("never".to_owned(), time);
        format!("{} over {} links {time}", pair.relation.name(), pair.links)
    });
    let title = "A short message takes the latency of its path, and no longer";
    check("latency", title, worst(&rows) <= LATENCY)
        .done("wrote 64 bytes alone, and waited for the acknowledgement")
        .seen(words.collect::<Vec<_>>().join(", "), "within 2 % of cables, switches and NICs")
        .places(late(&rows, LATENCY))
        .advise(Some(Advice::words(CLEAN)))
}

fn at_rest(measured: &Measurement) -> Check {
    let counters = measured.totals;
    let drops = counters.lossless_drops + counters.wire_drops;
    let quiet = [counters.xoff, counters.marks, drops, counters.retransmitted] == [0; 4];
    check("at-rest", "No pauses, marks, drops or retransmissions at rest", quiet)
        .done("counted them while flows ran one at a time")
        .seen(
            format!(
                "{}, {}, {}, {}",
                count(counters.xoff, "pause", "pauses"),
                count(counters.marks, "mark", "marks"),
                count(drops, "drop", "drops"),
                count(counters.retransmitted, "retransmission", "retransmissions"),
            ),
            "none",
        )
        .advise(Some(Advice::words(CLEAN)))
}
