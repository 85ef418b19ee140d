//! `report.html`: a run as a page. `xoff_report` draws it; here is what a run has to say: verdict,
//! traffic, congestion, fabric.

mod congestion;
mod culprit;
mod fabric;
mod traffic;
mod workloads;

use crate::watch::{Pauses, Series};
use crate::{Breach, Results, Verdict};
use xoff_report::{
    Block, Check, Fact, Number, Report, Section, Tile, Unit, Verdict as Mark, counted, ranked,
};
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
    report.tiles = headline_tiles(material);
    report.points = culprit::points(material);
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
    let mut text = ending(material);
    let open = flows.count.saturating_sub(flows.finished);
    if flows.count > 0 {
        let (done, all) = (Number::count(flows.finished), Number::count(flows.count));
        text += &format!(": {done} of {all} flows finished");
        // Of one flow the median says nothing.
        if let Some(slowdown) = flows.slowdown.as_ref().filter(|_| flows.finished > 1) {
            let (median, worst) = (Number::plain(slowdown.p50), Number::plain(slowdown.max));
            text += &format!(", the median {median} and the slowest {worst} times its ideal time");
        }
    }
    let sound = matches!(summary.outcome, Outcome::Completed | Outcome::DurationReached);
    let quiet = sound && open == 0 && summary.drops.is_empty();
    text + if quiet { "; nothing was dropped." } else { "." }
}

/// How the run ended and when, in the words of its outcome: only what completed has completed.
fn ending(material: &Material<'_>) -> String {
    let time = Number::from(material.elapsed());
    match &material.summary.outcome {
        Outcome::Completed => format!("Completed in {time}"),
        Outcome::DurationReached => format!("Ran for {time}"),
        Outcome::Interrupted => format!("Interrupted after {time}"),
        Outcome::Deadlock { cycle } => {
            let queues = counted(cycle.len() as u64, "queue", "queues");
            format!("Deadlocked: after {time} {queues} wait for each other and nothing moves")
        }
        Outcome::Stalled => format!("Stalled after {time} with traffic left"),
        Outcome::Failed { .. } => format!("Failed after {time}"),
        _ => format!("Did not end, {time} simulated"),
    }
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
        Fact::new("Fidelity", summary.fidelity.clone()),
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

/// The figures that matter most to whoever pays for the cluster.
fn headline_tiles(material: &Material<'_>) -> Vec<Tile> {
    let (summary, flows) = (material.summary, &material.summary.flows);
    let seconds = |us: f64| Number::new(us * 1e-6, Unit::Seconds);
    let mut tiles = Vec::new();
    let steps = summary.steps.iter().filter(|step| step.finished > 0 && step.mean_us > 0.0);
    if let Some(step) = steps.max_by_key(|step| step.ranks) {
        let waits = step.exposed_us / step.mean_us;
        let time = Tile::new("Step time", seconds(step.mean_us));
        let note = format!("{} GPUs, {} computing", step.ranks, seconds(step.compute_us));
        tiles.push(time.note(note).link("traffic"));
        let lost = Number::new(24.0 * f64::from(step.ranks) * waits, Unit::Other("GPU-h"));
        let all = Number::count(24 * u64::from(step.ranks));
        let note = format!("of {all}: {} of a step", Number::share(waits));
        tiles.push(Tile::new("GPUs wait for transfers, a day", lost).note(note).link("traffic"));
    }
    let by_rate = |a: &&_, b: &&_| {
        let rate = |row: &xoff_telemetry::CollectiveSummary| row.busbw_gbps;
        rate(a).total_cmp(&rate(b))
    };
    let done = summary.collectives.iter().filter(|row| row.busbw_gbps > 0.0);
    if let Some(best) = done.max_by(by_rate) {
        let busbw = Number::new(best.busbw_gbps * 1e9, Unit::BytesPerSecond);
        let size = Number::new(best.size_bytes as f64, Unit::Bytes);
        let note = format!("{}, {} ranks, at {size}", best.name, best.ranks);
        tiles.push(Tile::new("Bus bandwidth", busbw).note(note).link("traffic"));
    }
    if flows.count > 0 {
        let finished = Tile::new("Flows finished", Number::count(flows.finished));
        let finished = finished.note(format!("of {}", Number::count(flows.count)));
        let good = if flows.finished == flows.count { Mark::Pass } else { Mark::Warn };
        tiles.push(finished.verdict(good));
    }
    if let Some(times) = &flows.fct_us {
        let note = format!("median {}", seconds(times.p50));
        tiles.push(Tile::new("Completion, p99", seconds(times.p99)).note(note).link("traffic"));
    }
    let dropped: u64 = summary.drops.iter().filter(|d| d.lossless).map(|d| d.packets).sum();
    let drops = Tile::new("Lossless drops", Number::count(dropped)).note("packets");
    tiles.push(drops.verdict(if dropped == 0 { Mark::Pass } else { Mark::Fail }));
    tiles
}

/// How it ended, in a few numbers, and each rule that was broken.
fn outcome(material: &Material<'_>) -> Section {
    let (summary, flows) = (material.summary, &material.summary.flows);
    let mut section = Section::new("outcome", "How it ended");
    section.verdict = Some(mark(material));
    section.blocks.extend(ranked(material.verdict.breaches.iter().map(breach)));
    let mut tiles = vec![Tile::new("Simulated", Number::from(material.elapsed()))];
    if flows.count > 0 {
        let goodput = Number::from(Rate::from_bps(flows.goodput_bps));
        tiles.push(Tile::new("Goodput", goodput).note("of all flows together"));
    }
    let pauses: u64 = summary.tiers.iter().map(|tier| tier.pause_frames_sent).sum();
    let marks: u64 = summary.tiers.iter().map(|tier| tier.ecn_marked).sum();
    tiles.push(Tile::new("Pauses", Number::count(pauses)).note("XOFF frames").link("congestion"));
    tiles.push(Tile::new("ECN marks", Number::count(marks)).note("packets").link("congestion"));
    section.blocks.push(Block::Tiles(tiles));
    section
}

/// A rule that was broken: its first line, and the others, which list places, as evidence.
fn breach(breach: &Breach) -> Check {
    let mut lines = breach.message.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let (name, rest) = match first.split_once(": ") {
        Some((name, rest)) if !name.contains('(') => (name, rest),
        // What is in brackets is the detail.
        _ => first.trim_end_matches(')').split_once(" (").unwrap_or((first, "")),
    };
    let places: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    Check {
        measured: rest.trim_end_matches(':').to_owned(),
        expected: if breach.allowed { "allowed by the scenario" } else { "none" }.to_owned(),
        evidence: if places.is_empty() { Vec::new() } else { vec![Block::List(places)] },
        ..Check::new(sentence(name), if breach.allowed { Mark::Warn } else { Mark::Fail })
    }
}
