//! A view for machines: one object, its keys and lists always in the same order.

use crate::header::Header;
use crate::model::{Active, Branch, Link, LinkOrder, NicOrder, Offender, Row, Since, View};
use serde::Serialize;
use std::collections::BTreeMap;

/// Rows of each table.
const MOST: usize = 20;

/// A view for machines. What no series says is `null`.
#[derive(Debug, Serialize)]
pub struct Answer<'a> {
    source: &'a str,
    fabric: &'a str,
    /// `fresh`, `stale`, `unreachable`, `waiting` or `recorded`.
    state: &'static str,
    nics: usize,
    switches: usize,
    series: usize,
    window: AnswerWindow,
    findings: Vec<AnswerFinding<'a>>,
    ruled_out: &'a [&'static str],
    missing: &'a [String],
    map: Vec<AnswerRow<'a>>,
    links: Vec<AnswerLink<'a>>,
    pauses: Vec<AnswerTree<'a>>,
    offenders: Vec<AnswerNic<'a>>,
}

/// Moments are RFC 3339, or seconds since the run began.
#[derive(Debug, Serialize)]
struct AnswerWindow {
    from: String,
    to: String,
    newest: Option<String>,
    steps: usize,
    step_seconds: f64,
}

#[derive(Debug, Serialize)]
struct AnswerFinding<'a> {
    cause: &'static str,
    place: &'a str,
    confidence: &'static str,
    text: &'static str,
    since: String,
    /// Whether it may have begun earlier.
    or_earlier: bool,
    evidence: &'a [String],
}

#[derive(Debug, Serialize)]
struct AnswerRow<'a> {
    tier: &'a str,
    devices: usize,
    /// How many are in each state.
    states: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Serialize)]
struct AnswerLink<'a> {
    link: &'a str,
    rate_bits_per_second: u64,
    up: Option<bool>,
    mean: Option<f64>,
    peak: Option<f64>,
    paused: Option<f64>,
    marks_per_second: Option<f64>,
    drops: Option<f64>,
    damaged: Option<f64>,
}

#[derive(Debug, Serialize)]
struct AnswerTree<'a> {
    root: &'a str,
    victims: Vec<AnswerVictim<'a>>,
    more: usize,
}

#[derive(Debug, Serialize)]
struct AnswerVictim<'a> {
    port: &'a str,
    hops: usize,
    paused: f64,
}

#[derive(Debug, Serialize)]
struct AnswerNic<'a> {
    nic: &'a str,
    pausing: Option<f64>,
    timeouts: Option<f64>,
    retransmitted: Option<f64>,
    out_of_sequence: Option<f64>,
    cnps_sent: Option<f64>,
}

impl<'a> Answer<'a> {
    /// Of a view.
    pub fn new(header: &'a Header, view: &'a View) -> Self {
        let clock = header.clock();
        let window = AnswerWindow {
            from: clock.exact(view.window.from),
            to: clock.exact(view.window.to),
            newest: header.newest(Some(view)).map(|at| clock.exact(at)),
            steps: view.window.steps,
            step_seconds: view.window.step,
        };
        let finding = |finding: &'a Active| AnswerFinding {
            cause: finding.cause.name(),
            place: &finding.place,
            confidence: finding.confidence.words(),
            text: finding.cause.words(),
            since: clock.exact(finding.since.moment()),
            or_earlier: matches!(finding.since, Since::Before(_)),
            evidence: &finding.evidence,
        };
        let links = LinkOrder::default().sort(&view.links);
        let nics = NicOrder::default().sort(&view.offenders);
        Self {
            source: &header.source,
            fabric: &header.fabric,
            state: header.state(Some(view)).word(),
            nics: view.nics,
            switches: view.switches,
            series: view.series,
            window,
            findings: view.findings.iter().map(finding).collect(),
            ruled_out: &view.ruled_out,
            missing: &view.missing,
            map: view.map.iter().map(row).collect(),
            links: links.into_iter().take(MOST).map(link).collect(),
            pauses: view.pauses.iter().take(MOST).map(tree).collect(),
            offenders: nics.into_iter().take(MOST).map(nic).collect(),
        }
    }
}

fn row(row: &Row) -> AnswerRow<'_> {
    let states = row.tally().into_iter().collect();
    AnswerRow { tier: &row.label, devices: row.cells.len(), states }
}

fn link(link: &Link) -> AnswerLink<'_> {
    AnswerLink {
        link: &link.name,
        rate_bits_per_second: link.rate.bps(),
        up: link.up,
        mean: link.mean,
        peak: link.peak,
        paused: link.paused,
        marks_per_second: link.marks,
        drops: link.drops,
        damaged: link.damaged,
    }
}

fn tree(tree: &crate::model::PauseTree) -> AnswerTree<'_> {
    let victims = tree.branches.iter().map(|branch| {
        let Branch { port, hops, share } = branch;
        AnswerVictim { port, hops: *hops, paused: *share }
    });
    AnswerTree { root: &tree.root, victims: victims.collect(), more: tree.more }
}

fn nic(nic: &Offender) -> AnswerNic<'_> {
    AnswerNic {
        nic: &nic.name,
        pausing: nic.pausing,
        timeouts: nic.timeouts,
        retransmitted: nic.retransmitted,
        out_of_sequence: nic.out_of_sequence,
        cnps_sent: nic.notified,
    }
}
