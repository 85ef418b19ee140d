//! What a tuning says on the terminal and for machines.

use super::advised::Advised;
use super::arguments::Args;
use super::folder::{Folder, PAGE, TABLE};
use super::source::Source;
use crate::exit::{Exit, Failure};
use crate::output::number::{count, counted};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{self, printable, stdout_width};
use serde::Serialize;
use std::path::PathBuf;
use xoff_tune::answer::{Profile, Worth};
use xoff_tune::page::{headline, interval, percent};
use xoff_tune::{Answer, Knob};

#[derive(Debug, Serialize)]
struct DryRun {
    name: String,
    cases: Vec<DryCase>,
    knobs: Vec<DryKnob>,
    budget: u64,
    seeds: u64,
    unseen_seeds: u64,
    threads: usize,
    estimate_seconds: f64,
}

#[derive(Debug, Serialize)]
struct DryCase {
    case: String,
    weight: f64,
    objective: &'static str,
    bounds: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DryKnob {
    knob: String,
    keys: Vec<String>,
    present: String,
    values: String,
    what: &'static str,
}

fn values(knob: &Knob) -> String {
    match knob.axis.levels() {
        Some(levels) => {
            let place = |level: usize| (level as f64 + 0.5) / levels as f64;
            let all: Vec<String> = (0..levels).map(|at| knob.value(Some(place(at)))).collect();
            all.join(", ")
        }
        None => {
            let log = if knob.axis.is_log() { " (log)" } else { "" };
            format!("{} to {}{log}", knob.value(Some(0.0)), knob.value(Some(1.0)))
        }
    }
}

/// Says what would be tuned, and how long it takes by the present setting.
pub(super) fn dry_run(args: &Args, source: &Source) -> Result<Exit, Failure> {
    let (plan, threads) = (&source.plan, args.threads.unwrap_or_else(crate::pool::cores));
    let knob = |knob: &Knob| DryKnob {
        knob: knob.name().to_owned(),
        keys: knob.axis.keys.iter().map(ToString::to_string).collect(),
        present: knob.value(None),
        values: values(knob),
        what: knob.words,
    };
    let case = |case: &xoff_tune::Case| DryCase {
        case: case.name.clone(),
        weight: case.weight,
        objective: case.goal.figure.name,
        bounds: case.goal.bounds.iter().map(|own| own.words()).collect(),
    };
    let own = DryRun {
        name: source.name.clone(),
        cases: plan.cases.iter().map(case).collect(),
        knobs: plan.knobs.iter().map(knob).collect(),
        budget: source.budget,
        seeds: plan.options.seeds,
        unseen_seeds: plan.options.unseen,
        threads,
        estimate_seconds: source.seconds * source.budget as f64 / threads.max(1) as f64,
    };
    if args.json {
        output::stdout_json(&own)?;
        return Ok(Exit::Fine);
    }
    let style = Style::stdout();
    let mut text = format!(
        "{}  {}, {}\n",
        style.bold(&printable(&own.name)),
        counted(own.cases.len() as u64, "workload", "workloads"),
        counted(own.knobs.len() as u64, "knob", "knobs"),
    );
    let left = |name| (name, Align::Left);
    let mut table =
        Table::new(&[left("workload"), ("weight", Align::Right), left("aims at"), left("bounds")]);
    for case in &own.cases {
        let weight = format!("{:.2}", case.weight);
        let bounds = case.bounds.join(", ");
        table.row([case.case.clone(), weight, case.objective.to_owned(), bounds]);
    }
    text += &table.render(stdout_width(), style);
    text.push('\n');
    let mut table = Table::new(&[left("knob"), left("key"), left("present"), left("values")]);
    for knob in &own.knobs {
        let keys = knob.keys.join(", ");
        table.row([knob.knob.clone(), keys, knob.present.clone(), knob.values.clone()]);
    }
    text += &table.render(stdout_width(), style);
    text += &format!(
        "\nAt most {} on {} and {} unseen ones, about {:.0} s on {}.\n",
        counted(own.budget, "run", "runs"),
        counted(own.seeds, "seed", "seeds"),
        own.unseen_seeds,
        own.estimate_seconds.max(1.0),
        counted(threads as u64, "thread", "threads"),
    );
    output::stdout(&text)?;
    Ok(Exit::Fine)
}

/// What a tuning found.
#[derive(Debug, Serialize)]
pub(super) struct Summary<'a> {
    tool: &'static str,
    version: &'static str,
    name: &'a str,
    key: &'a str,
    summary: String,
    answer: &'a Answer,
    advised: Advised,
    table: PathBuf,
    page: PathBuf,
}

impl<'a> Summary<'a> {
    pub(super) fn new(
        source: &'a Source,
        folder: &Folder,
        answer: &'a Answer,
        advised: Advised,
    ) -> Self {
        Self {
            tool: "xoff tune",
            version: env!("CARGO_PKG_VERSION"),
            name: &source.name,
            key: &source.key,
            summary: headline(&source.plan, answer),
            answer,
            advised,
            table: folder.path.join(TABLE),
            page: folder.path.join(PAGE),
        }
    }

    /// On standard output.
    pub(super) fn show(&self, json: bool) -> Result<(), Failure> {
        if json {
            return output::stdout_json(self);
        }
        let (style, width) = (Style::stdout(), stdout_width());
        let answer = self.answer;
        let mut text = format!(
            "{}  {}, {}\n",
            style.bold(&printable(self.name)),
            counted(answer.settings, "setting", "settings"),
            counted(answer.runs, "run", "runs")
        );
        for line in output::wrap(&self.summary, width) {
            text += &format!("{line}\n");
        }
        text += &self.tables(width, style);
        let mut line = |name: &str, words: &str| {
            for (at, part) in output::wrap(words, width.saturating_sub(12)).iter().enumerate() {
                let name = if at == 0 { name } else { "" };
                text += &format!("{}{part}\n", style.dim(&format!("{name:<12}")));
            }
        };
        let alike = answer.profiles.iter().filter(|own| own.everything);
        let alike: Vec<&str> = alike.map(|own: &Profile| own.knob.as_str()).collect();
        if !alike.is_empty() {
            line("any value", &format!("{} (within 1 %, by the model)", alike.join(", ")));
        }
        for file in &self.advised.files {
            line("advised", &file.display().to_string());
        }
        if let Some(path) = &self.advised.configuration {
            if self.advised.devices > 0 {
                let devices = counted(self.advised.devices, "device changes", "devices change");
                line("devices", &format!("{devices}: {}", path.display()));
                let advised = self.advised.files.first().map(|own| own.display().to_string());
                let advised = advised.unwrap_or_default();
                line("as running", &format!("xoff config {advised} --diff RUNNING"));
            }
            if !self.advised.by_hand.is_empty() {
                line("by hand", &self.advised.by_hand.join(", "));
            }
        }
        line("page", &self.page.display().to_string());
        line("table", &self.table.display().to_string());
        output::stdout(&text)
    }

    fn tables(&self, width: usize, style: Style) -> String {
        let answer = self.answer;
        let left = |name| (name, Align::Left);
        let right = |name| (name, Align::Right);
        let mut text = String::new();
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
        let mut cases = Table::new(&[
            left("unseen seeds"),
            left("result"),
            right("present"),
            right("best"),
            left("time"),
            right("paused"),
            right("then (us)"),
        ]);
        for own in &answer.cases {
            cases.row([
                own.case.clone(),
                own.objective.to_owned(),
                number(own.present),
                number(own.advised),
                own.change.as_ref().map(interval).unwrap_or_default(),
                number(own.paused_us[0]),
                number(own.paused_us[1]),
            ]);
        }
        text += &format!("\n{}", cases.render(width, style));
        let mut table =
            Table::new(&[left("knob"), left("present"), left("advised"), left("worth")]);
        let worth = |knob: &str| {
            let own = answer.worth.iter().find(|own: &&Worth| own.knobs.iter().any(|k| k == knob));
            // Knobs that matter least come last, and go unmeasured where the budget ends.
            own.map_or("not run: beyond --budget".to_owned(), |own| {
                let together = match own.knobs.len() {
                    1 => String::new(),
                    _ => format!(", {} together", own.knobs.join(" and ")),
                };
                let bounds = if own.violates { ", bounds not kept" } else { "" };
                let back = own.back.as_ref().map(interval).unwrap_or_default();
                format!("{back} without it{together}{bounds}")
            })
        };
        for own in answer.values.iter().filter(|own| own.advised.is_some()) {
            let advised = own.advised.clone().unwrap_or_default();
            table.row([own.knob.clone(), own.present.clone(), advised, worth(&own.knob)]);
        }
        if !table.is_empty() {
            text += &format!("\n{}", table.render(width, style));
        }
        if answer.front.len() > 1 {
            let mut front = Table::new(&[right("time"), right("paused (us)"), right("setting")]);
            for own in answer.front.iter().take(6) {
                front.row([
                    percent(own.change),
                    format!("{:.1}", own.paused_us),
                    count(own.setting as u64),
                ]);
            }
            text += &format!("\n{}", front.render(width, style));
        }
        text.push('\n');
        text
    }
}
