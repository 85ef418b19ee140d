//! `report.html`: a run as a page. `xoff_report` draws it; here is what a run has to say: verdict,
//! traffic, congestion, fabric.

mod congestion;
mod fabric;
mod traffic;
mod workloads;

use crate::watch::{Pauses, Series};
use crate::{Results, Verdict};
use xoff_report::{Block, Check, Fact, Number, Report, Section, Tile, Unit, Verdict as Mark};
use xoff_telemetry::{Outcome, Summary};
use xoff_units::{Rate, Span};

/// What the page of a run is made of.
pub struct Material<'a> {
    /// The run.
    pub results: &'a Results<'a>,
    /// Its summary, complete.
    pub summary: &'a Summary,
    /// Queues over time.
    pub series: &'a Series,
    /// Pauses as they were obeyed.
    pub pauses: &'a Pauses,
    /// Which rules it broke.
    pub verdict: &'a Verdict,
    /// The scenario's name.
    pub title: String,
    /// The command that gives the same results again.
    pub command: String,
}

/// The page.
pub fn page(material: &Material<'_>) -> String {
    let mut report = Report::new(material.title.clone(), headline(material));
    report.verdict = Some(mark(material));
    report.facts = facts(material);
    report.sections = vec![outcome(material)];
    report.sections.extend(traffic::section(material));
    report.sections.extend(congestion::section(material));
    report.sections.push(fabric::section(material));
    report.html()
}

impl Material<'_> {
    fn elapsed(&self) -> Span {
        self.results.elapsed()
    }
}

/// A run that was interrupted, or broke a rule that its scenario relaxes, gets a warning.
fn mark(material: &Material<'_>) -> Mark {
    let finished = matches!(
        material.summary.outcome,
        Outcome::Completed | Outcome::DurationReached | Outcome::Interrupted
    );
    if material.verdict.is_broken() || !finished && material.verdict.breaches.is_empty() {
        return Mark::Fail;
    }
    let interrupted = material.summary.outcome == Outcome::Interrupted;
    if interrupted || !material.verdict.breaches.is_empty() { Mark::Warn } else { Mark::Pass }
}

fn headline(material: &Material<'_>) -> String {
    let (summary, flows) = (material.summary, &material.summary.flows);
    let broken = material.verdict.breaches.iter().find(|breach| !breach.allowed);
    if let Some(breach) = broken {
        return sentence(breach.message.lines().next().unwrap_or_default());
    }
    let time = Number::from(material.elapsed());
    let mut text = match summary.outcome {
        Outcome::Interrupted => format!("Stopped after {time}"),
        Outcome::DurationReached => format!("Ran for {time}"),
        _ => format!("Completed in {time}"),
    };
    if flows.count > 0 {
        let (done, all) = (Number::count(flows.finished), Number::count(flows.count));
        text += &format!(": {done} of {all} flows");
        if let Some(slowdown) = &flows.slowdown {
            let (median, worst) = (Number::plain(slowdown.p50), Number::plain(slowdown.max));
            text += &format!(", the median {median} and the slowest {worst} times its ideal time");
        }
    }
    text + if material.summary.drops.is_empty() { "; nothing was dropped." } else { "." }
}

fn sentence(text: &str) -> String {
    let mut rest = text.trim_end_matches(':').chars();
    let first = rest.next().map(|c| c.to_uppercase().collect::<String>());
    format!("{}{}.", first.unwrap_or_default(), rest.as_str())
}

fn facts(material: &Material<'_>) -> Vec<Fact> {
    let summary = material.summary;
    let mut facts = vec![
        Fact::code("To repeat", &material.command),
        Fact::new("Seed", summary.seed.to_string()),
        Fact::new("Version", format!("{} {}", summary.tool, summary.version)),
        Fact::code("Digest of the results", &summary.result_hash),
    ];
    for input in &summary.inputs {
        facts.push(Fact::code(format!("SHA-256 of {}", input.path), &input.sha256));
    }
    facts.push(Fact::new("Simulated", Number::from(material.elapsed()).to_string()));
    facts.extend(summary.notes.iter().map(|note| Fact::new("The model", note)));
    facts
}

/// How it ended, in a few numbers, and each rule that was broken.
fn outcome(material: &Material<'_>) -> Section {
    let (summary, flows) = (material.summary, &material.summary.flows);
    let mut section = Section::new("outcome", "How it ended");
    section.verdict = Some(mark(material));
    let mut tiles = Vec::new();
    let good = |good| if good { Mark::Pass } else { Mark::Warn };
    if flows.count > 0 {
        let finished = Tile::new("Flows finished", Number::count(flows.finished));
        let finished = finished.note(format!("of {}", Number::count(flows.count)));
        tiles.push(finished.verdict(good(flows.finished == flows.count)));
        let goodput = Number::from(Rate::from_bps(flows.goodput_bps));
        tiles.push(Tile::new("Goodput", goodput).note("of all flows together"));
    }
    if let Some(times) = &flows.fct_us {
        let p99 = Number::new(times.p99 * 1e-6, Unit::Seconds);
        let p50 = Number::new(times.p50 * 1e-6, Unit::Seconds);
        tiles.push(Tile::new("Completion, p99", p99).note(format!("median {p50}")));
    }
    let best = summary.collectives.iter().map(|row| row.busbw_gbps).fold(0.0, f64::max);
    if best > 0.0 {
        let busbw = Number::new(best * 1e9, Unit::BytesPerSecond);
        tiles.push(Tile::new("Bus bandwidth", busbw).note("of the best size"));
    }
    let dropped: u64 = summary.drops.iter().filter(|d| d.lossless).map(|d| d.packets).sum();
    let drops = Tile::new("Lossless drops", Number::count(dropped)).note("packets");
    tiles.push(drops.verdict(if dropped == 0 { Mark::Pass } else { Mark::Fail }));
    let pauses: u64 = summary.tiers.iter().map(|tier| tier.pause_frames_sent).sum();
    let marks: u64 = summary.tiers.iter().map(|tier| tier.ecn_marked).sum();
    tiles.push(Tile::new("Pauses", Number::count(pauses)).note("XOFF frames"));
    tiles.push(Tile::new("ECN marks", Number::count(marks)).note("packets"));
    section.blocks.push(Block::Tiles(tiles));
    for breach in &material.verdict.breaches {
        let mut lines = breach.message.lines().map(str::trim);
        let first = lines.next().unwrap_or_default();
        let (name, rest) = match first.split_once(": ") {
            Some((name, rest)) if !name.contains('(') => (name, rest),
            // What is in brackets is the detail.
            _ => first.trim_end_matches(')').split_once(" (").unwrap_or((first, "")),
        };
        let rest: Vec<&str> = [rest].into_iter().chain(lines).filter(|l| !l.is_empty()).collect();
        section.blocks.push(Block::Check(Check {
            id: String::new(),
            name: sentence(name),
            verdict: if breach.allowed { Mark::Warn } else { Mark::Fail },
            done: String::new(),
            measured: rest.join("; "),
            expected: if breach.allowed { "allowed by the scenario" } else { "none" }.to_owned(),
            evidence: Vec::new(),
            advice: None,
            lines: None,
        }));
    }
    section
}
