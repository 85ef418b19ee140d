//! [`page`]: a validation as a [`Report`]: the verdict and the figures that matter most, then what
//! fails, what warns and what to change; then phase by phase what was done, what passed folded away,
//! with figures drawn from what was measured.

pub mod comparison;
mod figures;
mod headline;
mod topology;

pub use headline::sentence;

use crate::advice::Advice;
use crate::check::Check;
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::validation::{PhaseResult, Proposal, Validation};
use std::collections::BTreeMap;
use std::path::Path;
use xoff_fabric::FabricSetup;
use xoff_report::{
    Block, Cell, Check as CheckBlock, Column, Fact, Figure, Fold, Number, Report, Section, Table,
    Unit, Verdict, counted, ranked,
};

/// What a reader must know about how it was made.
const LEFT_OUT: &str = "PCIe and host memory take no time, NVLink only its rate; bit errors take whole \
    packets; devices are audited only if their configurations are given. See docs/model.md.";

/// What a page is made from.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The verdict.
    pub validation: &'a Validation,
    /// The fabric, if it could be built.
    pub setup: Option<&'a FabricSetup>,
    /// What was measured.
    pub measured: &'a BTreeMap<String, Measurement>,
    /// The command that repeats it.
    pub command: &'a str,
}

/// The report of a validation.
pub fn page(material: &Material<'_>) -> Report {
    let validation = material.validation;
    // The command has the whole path.
    let file = Path::new(&validation.fabric).file_name().unwrap_or_default().to_string_lossy();
    let mut report = Report::new(format!("Validation of {file}"), sentence(validation));
    report.verdict = Some(validation.verdict);
    report.tiles = headline::tiles(validation, material.measured);
    report.points = headline::answers(validation);
    report.points.extend(headline::not_covered(validation));
    report.facts = vec![
        Fact::code("command", material.command),
        Fact::new("seed", validation.seed.to_string()),
        Fact::new("version", validation.version.clone()),
        Fact::code("fabric file, SHA-256", validation.fabric_sha256.clone()),
        Fact::new("left out", LEFT_OUT),
    ];
    for (id, title, verdict) in
        [("fails", "What fails", Verdict::Fail), ("warns", "What warns", Verdict::Warn)]
    {
        report.sections.extend(not_passed(validation, id, title, verdict));
    }
    if !validation.changes.is_empty() {
        report.sections.push(changes(validation));
    }
    report.sections.push(overview(material));
    report.sections.extend(validation.phases.iter().map(|result| phase(material, result)));
    report.sections.push(all(validation));
    report
}

/// The checks of a verdict, unless there are none.
fn not_passed(validation: &Validation, id: &str, title: &str, verdict: Verdict) -> Option<Section> {
    let checks = validation.checks.iter().filter(|check| check.verdict == verdict);
    let mut section = Section::new(id, title);
    section.verdict = Some(verdict);
    section.blocks = checks.map(|own| Block::Check(check(own))).collect();
    (!section.blocks.is_empty()).then_some(section)
}

/// A phase: its figures, in sight if a check of it did not pass, and the checks that passed.
fn phase(material: &Material<'_>, result: &PhaseResult) -> Section {
    let phase = result.phase;
    let mut section = Section::new(phase.name(), phase.title());
    section.verdict = Some(result.verdict);
    section.lead = Some(phase.question().to_owned());
    let checks: Vec<&Check> =
        material.validation.checks.iter().filter(|check| check.phase == phase).collect();
    let open = checks.iter().filter(|check| check.verdict != Verdict::Pass);
    let open: Vec<String> = open.map(|check| check.title.clone()).collect();
    if !open.is_empty() {
        let text = format!("Above, because they did not pass: {}.", open.join("; "));
        section.blocks.push(Block::Text(text));
    }
    let figures: Vec<Block> =
        figures::of(phase, material.measured).into_iter().map(Block::from).collect();
    if open.is_empty() && !figures.is_empty() {
        let title = counted(figures.len() as u64, "figure", "figures");
        section.blocks.push(Fold::new(title, figures).into());
    } else {
        section.blocks.extend(figures);
    }
    let passed = checks.into_iter().filter(|check| check.verdict == Verdict::Pass);
    section.blocks.extend(ranked(passed.map(check)));
    section
}

fn overview(material: &Material<'_>) -> Section {
    let validation = material.validation;
    let mut section = Section::new("overview", "Overview");
    section.blocks.push(phases(validation).into());
    if let Some(setup) = material.setup {
        let load = material.measured.get("permutation").or(material.measured.values().next());
        section.blocks.extend(topology::figure(&setup.fabric, load).map(Block::from));
    }
    section
}

/// One row per phase.
fn phases(validation: &Validation) -> Table {
    let count = |name| Column::number(name, Unit::Count);
    let columns = [
        Column::text("phase"),
        Column::text("verdict"),
        count("pass"),
        count("warn"),
        count("fail"),
        Column::number("score", Unit::Plain),
    ];
    let caption = format!("Verdict by phase: score {} of 100", validation.score);
    let mut table = Table::new("phases", caption, columns);
    for result in &validation.phases {
        let phase = result.phase;
        let counts = result.counts.map(|count| Cell::from(Number::count(count.into())));
        let cells = [Cell::link(phase.title(), phase.name()), result.verdict.into()];
        let score = Number::plain(f64::from(result.score)).into();
        table.push(cells.into_iter().chain(counts).chain([score]));
    }
    table
}

/// One row per check, to search and for spreadsheets.
fn all(validation: &Validation) -> Section {
    let mut section = Section::new("checks", "All checks");
    section.blocks.push(Block::Table(all_checks(validation)));
    section
}

fn all_checks(validation: &Validation) -> Table {
    let columns = ["phase", "check", "verdict", "seen", "expected"].map(Column::text);
    let mut table = Table::new("every-check", "Every check", columns);
    for check in &validation.checks {
        table.push([
            Cell::link(check.phase.title(), check.phase.name()),
            Cell::link(check.title.clone(), check.id.clone()),
            Cell::from(check.verdict),
            Cell::from(check.measured.clone()),
            Cell::from(check.expected.clone()),
        ]);
    }
    table
}

/// What to change, what helps most first.
fn changes(validation: &Validation) -> Section {
    let mut section = Section::new("changes", "What to change");
    let tried = validation.changes.iter().any(|change| change.effect.is_some());
    section.lead = Some(if tried {
        "Each change was tried, on top of those before it; what gained nothing is left out."
            .to_owned()
    } else {
        "What the checks that did not pass advise; none of it was tried.".to_owned()
    });
    for (change, number) in validation.changes.iter().zip(1..) {
        let mut words = change.advice.text.chars();
        let first = words.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        let (rest, checks) = (words.as_str(), change.checks.join(", "));
        let text = format!("{number}. {first}{rest}. Advised by {checks}.");
        section.blocks.push(Block::Text(text));
        let lines = change.advice.lines();
        if !lines.is_empty() {
            section.blocks.push(Block::Code(lines));
        }
        section.blocks.extend(effect(change, number, validation.score));
    }
    section
}

fn effect(change: &Proposal, number: usize, score: u32) -> Option<Block> {
    let effect = change.effect.as_ref()?;
    let columns = ["check", "before", "after", "seen before", "seen after"].map(Column::text);
    let caption = format!("Tried: the score of {score} becomes {}", effect.score);
    let mut table = Table::new(format!("change-{number}"), caption, columns);
    for turn in effect.better.iter().chain(&effect.worse) {
        table.push([
            Cell::link(turn.check.clone(), turn.check.clone()),
            Cell::from(turn.verdicts.0),
            Cell::from(turn.verdicts.1),
            Cell::from(turn.measured.0.clone()),
            Cell::from(turn.measured.1.clone()),
        ]);
    }
    Some(Block::Table(table))
}

fn check(check: &Check) -> CheckBlock {
    let mut evidence = Vec::new();
    if !check.places.is_empty() {
        evidence.push(Block::Text(format!("About: {}.", check.places.join(", "))));
    }
    if !check.experiments.is_empty() {
        let runs = check.experiments.iter().map(|id| format!("xoff run experiments/{id}.toml"));
        evidence.push(Block::Code(runs.collect::<Vec<_>>().join("\n")));
    }
    CheckBlock {
        id: check.id.clone(),
        done: check.done.clone(),
        measured: check.measured.clone(),
        expected: check.expected.clone(),
        evidence,
        advice: check.advice.as_ref().map(|advice| advice.text.clone()),
        lines: check.advice.as_ref().map(Advice::lines).filter(|lines| !lines.is_empty()),
        ..CheckBlock::new(check.title.clone(), check.verdict)
    }
}

/// Figures of a phase, by what was measured.
type Figures = Vec<Figure>;

impl Phase {
    /// Whether its experiments have the name of one of these.
    fn owns(self, experiment: &str) -> bool {
        match self {
            Phase::Failures => experiment.starts_with("failure-") || experiment == "dead-spine",
            Phase::Workload => {
                ["all-reduce", "all-gather", "reduce-scatter", "all-to-all-collective"]
                    .contains(&experiment)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
