//! [`page`]: a validation as a [`Report`]: the verdict first, then phase by phase what was done,
//! seen and advised, with figures drawn from what was measured.

mod figures;
mod topology;

use crate::check::Check;
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::validation::{Proposal, Validation};
use std::collections::BTreeMap;
use xoff_fabric::FabricSetup;
use xoff_report::{
    Block, Cell, Check as CheckBlock, Column, Fact, Figure, Number, Report, Section, Table, Tile,
    Unit, Verdict,
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
    let mut report =
        Report::new(format!("Validation of {}", validation.fabric), headline(validation));
    report.verdict = Some(validation.verdict);
    report.facts = vec![
        Fact::code("command", material.command),
        Fact::new("seed", validation.seed.to_string()),
        Fact::new("version", validation.version.clone()),
        Fact::code("fabric file, SHA-256", validation.fabric_sha256.clone()),
        Fact::new("left out", LEFT_OUT),
    ];
    report.sections.push(overview(material));
    if !validation.changes.is_empty() {
        report.sections.push(changes(validation));
    }
    for result in &validation.phases {
        let phase = result.phase;
        let mut section = Section::new(phase.name(), phase.title());
        section.verdict = Some(result.verdict);
        section.lead = Some(phase.question().to_owned());
        section.blocks.extend(figures::of(phase, material.measured).into_iter().map(Block::from));
        let checks = validation.checks.iter().filter(|check| check.phase == phase);
        section.blocks.extend(checks.map(check));
        report.sections.push(section);
    }
    report.sections.push(all(validation));
    report
}

fn headline(validation: &Validation) -> String {
    let count = |verdict| validation.checks.iter().filter(|check| check.verdict == verdict).count();
    let (failed, warned, all) =
        (count(Verdict::Fail), count(Verdict::Warn), validation.checks.len());
    match (failed, warned) {
        (0, 0) => format!("All {all} checks pass."),
        (0, _) => {
            format!("The fabric passes {all} checks; {warned} of them advise an improvement.")
        }
        _ => format!("{failed} of {all} checks fail and {warned} warn: what to change is below."),
    }
}

fn overview(material: &Material<'_>) -> Section {
    let validation = material.validation;
    let mut section = Section::new("overview", "Overview");
    let score = Tile::new("score", Number::new(f64::from(validation.score), Unit::Plain))
        .note("of 100")
        .verdict(validation.verdict);
    let tile = |phase: &crate::validation::PhaseResult| {
        let [passed, warned, failed] = phase.counts;
        Tile::new(phase.phase.title(), Number::new(f64::from(phase.score), Unit::Plain))
            .note(format!("{passed} pass, {warned} warn, {failed} fail"))
            .verdict(phase.verdict)
    };
    let tiles = [score].into_iter().chain(validation.phases.iter().map(tile)).collect();
    section.blocks.push(Block::Tiles(tiles));
    if let Some(setup) = material.setup {
        let load = material.measured.get("permutation").or(material.measured.values().next());
        section.blocks.extend(topology::figure(&setup.fabric, load).map(Block::from));
    }
    section
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
            Cell::from(check.title.clone()),
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
        "Each change was tried by itself; what helps most comes first.".to_owned()
    } else {
        "What the checks that did not pass advise. `--what-if` tries each change and reports its \
         effect."
            .to_owned()
    });
    for (change, number) in validation.changes.iter().zip(1..) {
        section.blocks.push(Block::Text(format!("{number}. {}", change.advice.text)));
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
            Cell::from(turn.check.clone()),
            Cell::from(turn.verdicts.0),
            Cell::from(turn.verdicts.1),
            Cell::from(turn.measured.0.clone()),
            Cell::from(turn.measured.1.clone()),
        ]);
    }
    Some(Block::Table(table))
}

fn check(check: &Check) -> Block {
    let mut evidence = Vec::new();
    if !check.places.is_empty() {
        evidence.push(Block::Text(format!("About: {}.", check.places.join(", "))));
    }
    if !check.experiments.is_empty() {
        let runs = check.experiments.iter().map(|id| format!("xoff run experiments/{id}.toml"));
        evidence.push(Block::Code(runs.collect::<Vec<_>>().join("\n")));
    }
    let advice = check.advice.as_ref().map(|advice| match advice.lines() {
        lines if lines.is_empty() => advice.text.clone(),
        lines => {
            let keys = lines.lines().filter(|line| !line.is_empty());
            format!("{}: {}", advice.text, keys.collect::<Vec<_>>().join(" "))
        }
    });
    Block::Check(CheckBlock {
        id: check.id.clone(),
        name: check.title.clone(),
        verdict: check.verdict,
        done: check.done.clone(),
        measured: check.measured.clone(),
        expected: check.expected.clone(),
        evidence,
        advice,
        lines: None,
    })
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
