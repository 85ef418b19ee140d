//! What a sweep says on the terminal and for machines.

use super::folder::{Folder, PAGE, TABLE};
use super::source::Source;
use crate::clock::Stopwatch;
use crate::exit::{Exit, Failure};
use crate::output::number::{count, counted, percent};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{self, printable, stdout_width};
use serde::Serialize;
use std::path::PathBuf;
use xoff_report::Number;
use xoff_sweep::analysis::{Gathered, Observed};
use xoff_sweep::{Point, shown};

/// Points that a dry run lists.
const LISTED: u64 = 5;

/// Seconds that the first point of a dry run may take.
const PATIENCE: f64 = 5.0;

/// A key with its value.
#[derive(Debug, Serialize)]
struct Input {
    key: String,
    value: String,
}

fn inputs(point: &Point<'_>) -> Vec<Input> {
    let input = |setting: &xoff_sweep::Setting<'_>| Input {
        key: setting.key.to_string(),
        value: shown(&setting.value),
    };
    point.settings.iter().map(input).collect()
}

/// The number of points, and what they are made of.
pub(super) fn outline(source: &Source) -> String {
    let plan = &source.plan;
    let seeds = plan.sweep.seeds.count();
    let each = if seeds > 1 { format!(", {seeds} seeds each") } else { String::new() };
    format!(
        "{}: {} ({} of {}{each})",
        source.inputs.name,
        counted(plan.points(), "point", "points"),
        plan.sweep.sample.word(),
        counted(plan.settings(), "setting", "settings"),
    )
}

#[derive(Debug, Serialize)]
struct DryRun {
    name: String,
    points: u64,
    settings: u64,
    seeds: u64,
    sample: &'static str,
    first: Vec<Listed>,
    threads: usize,
    /// What the first point took; none if it took too long.
    point_seconds: Option<f64>,
    /// What all of them take; at least that, if the first one took too long.
    estimate_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Listed {
    point: u64,
    seed: u64,
    inputs: Vec<Input>,
}

/// Says what would be run, and how long it takes by its first point.
pub(super) fn dry_run(json: bool, source: &Source, threads: usize) -> Result<Exit, Failure> {
    let plan = &source.plan;
    let clock = Stopwatch::start();
    let go_on = &mut |_: &xoff_sim::Progress| clock.seconds() < PATIENCE;
    let row = source.base.run(plan, 0, go_on);
    let took = clock.seconds();
    let busy = (threads as u64).min(plan.points()).max(1);
    let estimate = took * plan.points() as f64 / busy as f64;
    let first = (0..plan.points().min(LISTED)).filter_map(|number| plan.point(number));
    if json {
        let listed = first.map(|point| Listed {
            point: point.number,
            seed: point.seed,
            inputs: inputs(&point),
        });
        output::stdout_json(&DryRun {
            name: source.inputs.name.clone(),
            points: plan.points(),
            settings: plan.settings(),
            seeds: plan.sweep.seeds.count(),
            sample: plan.sweep.sample.word(),
            first: listed.collect(),
            threads,
            point_seconds: row.is_some().then_some(took),
            estimate_seconds: estimate,
        })?;
        return Ok(Exit::Fine);
    }
    let style = Style::stdout();
    let mut text = format!("{}\n\n", style.bold(&printable(&outline(source))));
    let mut table = Table::new(&[("point", Align::Right), ("what it changes", Align::Left)]);
    for point in first {
        table.row([count(point.number), point.words()]);
    }
    if plan.points() > LISTED {
        table.row([String::new(), format!("and {} more", count(plan.points() - LISTED))]);
    }
    text += &table.render(stdout_width(), style);
    let on = counted(busy, "thread", "threads");
    text += &match &row {
        Some(row) => format!(
            "\nPoint 0 ended as `{}` after {}; all of them take about {} on {on}.\n",
            row.outcome,
            seconds(took),
            seconds(estimate)
        ),
        None => format!(
            "\nPoint 0 takes more than {}: all of them take more than {} on {on}.\n",
            seconds(took),
            seconds(estimate)
        ),
    };
    output::stdout(&text)?;
    Ok(Exit::Fine)
}

fn seconds(seconds: f64) -> String {
    match seconds {
        small if small < 10.0 => format!("{small:.2} s"),
        some if some < 120.0 => format!("{some:.0} s"),
        many if many < 7200.0 => format!("{:.0} min", many / 60.0),
        more => format!("{:.1} h", more / 3600.0),
    }
}

/// What a sweep gave.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    tool: &'static str,
    version: &'static str,
    name: String,
    key: String,
    points: u64,
    failed: u64,
    outcomes: Vec<Ending>,
    /// The result that settings are ranked by.
    result: Option<&'static str>,
    best: Option<Best>,
    sensitivity: Vec<Share>,
    front: Vec<Best>,
    table: PathBuf,
    page: PathBuf,
    #[serde(skip)]
    words: Words,
}

#[derive(Debug, Serialize)]
struct Ending {
    outcome: String,
    points: u64,
    /// The first that ended so, and why, where it did not go well.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct Best {
    setting: u64,
    point: u64,
    inputs: Vec<Input>,
    results: Vec<Measured>,
}

#[derive(Debug, Serialize)]
struct Measured {
    name: &'static str,
    mean: f64,
}

#[derive(Debug, Serialize)]
struct Share {
    axis: String,
    share: f64,
}

/// The same for people.
#[derive(Debug, Default)]
struct Words {
    best: Option<String>,
    point_command: String,
}

impl Summary {
    pub(super) fn of(
        source: &Source,
        gathered: &Gathered<'_>,
        folder: &Folder,
        point_command: &str,
    ) -> Self {
        let best = |one: &Observed| {
            let point = one.setting * source.plan.sweep.seeds.count();
            let figures = gathered.figures().iter().zip(&one.means);
            Best {
                setting: one.setting,
                point,
                inputs: source.plan.point(point).iter().flat_map(inputs).collect(),
                results: figures
                    .map(|(own, mean)| Measured { name: own.name, mean: *mean })
                    .collect(),
            }
        };
        let ending = |(outcome, points): (&String, &u64)| {
            let trouble = gathered.troubles.get(outcome);
            Ending {
                outcome: outcome.clone(),
                points: *points,
                first: trouble.map(|(first, _)| *first),
                reason: trouble.map(|(_, why)| why.clone()),
            }
        };
        let ranked = gathered.ranked();
        let figure = gathered.figures().first();
        let words = figure.zip(ranked.first()).map(|(figure, one)| {
            let (unit, factor) = figure.unit;
            let value = Number::new(one.means[0] * factor, unit);
            format!("{} {value} with {}", figure.name, xoff_sweep::page::words(gathered, one))
        });
        let share = |own: xoff_sweep::analysis::Share| Share { axis: own.name, share: own.share };
        Self {
            tool: "xoff sweep",
            version: env!("CARGO_PKG_VERSION"),
            name: source.inputs.name.clone(),
            key: source.key.clone(),
            points: gathered.points,
            failed: gathered.failed(),
            outcomes: gathered.outcomes.iter().map(ending).collect(),
            result: figure.map(|figure| figure.name),
            best: ranked.first().map(|one| best(one)),
            sensitivity: gathered.shares().into_iter().map(share).collect(),
            front: gathered.front().into_iter().map(best).collect(),
            table: folder.path().join(TABLE),
            page: folder.path().join(PAGE),
            words: Words { best: words, point_command: point_command.to_owned() },
        }
    }

    /// On standard output.
    pub(super) fn show(&self, json: bool) -> Result<(), Failure> {
        if json {
            return output::stdout_json(self);
        }
        let style = Style::stdout();
        let mut text = format!(
            "{}  {}\n",
            style.bold(&printable(&self.name)),
            counted(self.points, "point", "points")
        );
        let mut line = |name: &str, words: String| {
            for (at, part) in
                output::wrap(&words, stdout_width().saturating_sub(10)).iter().enumerate()
            {
                let name = if at == 0 { name } else { "" };
                text += &format!("{}{part}\n", style.dim(&format!("{name:<10}")));
            }
        };
        if let (Some(words), Some(best)) = (&self.words.best, &self.best) {
            line("best", format!("{words} (point {})", best.point));
        }
        let mut shares: Vec<&Share> = self.sensitivity.iter().collect();
        shares.sort_by(|a, b| b.share.total_cmp(&a.share));
        let shares = shares.iter().map(|own| format!("{} {}", own.axis, percent(own.share)));
        let shares = shares.collect::<Vec<_>>().join(", ");
        if !shares.is_empty() {
            line("matters", format!("{shares} of the variance"));
        }
        for ending in self.outcomes.iter().filter(|ending| ending.first.is_some()) {
            let points = counted(ending.points, "point", "points");
            let (first, why) = (ending.first.unwrap_or_default(), ending.reason.clone());
            let why = why.unwrap_or_default();
            line(&ending.outcome, format!("{points}, first {first}: {why}"));
        }
        line("table", self.table.display().to_string());
        line("page", self.page.display().to_string());
        line("one point", format!("{} N", self.words.point_command));
        output::stdout(&text)
    }
}
