//! [`page`]: a tuning as a [`Report`]: the values, what each is worth, what is indifferent, what speed costs in pauses,
//! and the check.

use crate::answer::{Answer, Verdict};
use crate::plan::Plan;
use crate::search::Found;
use crate::statistics::Interval;
use xoff_report::{
    Axis, BarSeries, Bars, Block, Cell, Chart, Column, Fact, Figure as Drawing, Number, Plot,
    Report, Section, Series, Table, Tile, Unit, Verdict as Colour, counted,
};

/// What the page is made from.
#[derive(Debug)]
pub struct Material<'a> {
    /// What the tuning is called.
    pub name: &'a str,
    /// What was searched.
    pub plan: &'a Plan,
    /// What was found.
    pub found: &'a Found,
    /// What that means.
    pub answer: &'a Answer,
    /// The command that repeats it.
    pub command: &'a str,
    /// What tells it from other tunings.
    pub key: &'a str,
    /// Version of xoff.
    pub version: &'a str,
}

/// A relative change in words: `-12.3 %`.
pub fn percent(change: f64) -> String {
    if !change.is_finite() || change.abs() > 1e4 {
        return "any".to_owned();
    }
    format!("{:+.1} %", change * 100.0)
}

/// A change with its interval in words.
pub fn interval(own: &Interval) -> String {
    format!("{} ({} to {})", percent(own.mean), percent(own.low), percent(own.high))
}

/// The answer in one sentence.
pub fn headline(plan: &Plan, answer: &Answer) -> String {
    let seeds = plan.options.unseen;
    let change = answer.change.as_ref().map(interval).unwrap_or_default();
    let violates =
        if answer.present_violates { " The present setting does not keep the bounds." } else { "" };
    match answer.verdict {
        Verdict::Better if answer.present_violates => {
            format!(
                "A setting keeps the bounds, {change} of time on {seeds} unseen seeds.{violates}"
            )
        }
        Verdict::Better => format!("A better setting: {change} of time on {seeds} unseen seeds."),
        Verdict::Uncertain => format!(
            "A setting looks better, but {seeds} unseen seeds do not agree: {change} of time."
        ),
        Verdict::AsGood => format!(
            "The present setting is as good as the best found, within 2 %: {change} on {seeds} unseen seeds."
        ),
        Verdict::NoneFound => {
            format!("No setting was found that keeps the bounds on all seeds.{violates}")
        }
    }
}

/// The page of a tuning.
pub fn page(material: &Material<'_>) -> Report {
    let answer = material.answer;
    let mut report =
        Report::new(format!("Tuning {}", material.name), headline(material.plan, answer));
    report.tiles = tiles(answer);
    report.facts = facts(material);
    report.sections.push(values(answer));
    report.sections.extend(worth(answer));
    report.sections.extend(profiles(answer));
    report.sections.push(check(answer));
    report.sections.extend(front(answer));
    report.sections.extend(progress(material));
    report
}

fn tiles(answer: &Answer) -> Vec<Tile> {
    let mut tiles = Vec::new();
    if let Some(change) = &answer.change {
        let colour = match answer.verdict {
            Verdict::Better | Verdict::AsGood => Colour::Pass,
            _ => Colour::Warn,
        };
        let tile = Tile::words("Change of time", percent(change.mean)).verdict(colour);
        let range = format!("{} to {}", percent(change.low), percent(change.high));
        tiles.push(tile.note(range).link("check"));
    }
    let turned = answer.values.iter().filter(|own| own.advised.is_some()).count() as u64;
    tiles.push(Tile::new("Knobs turned", Number::count(turned)).link("values"));
    tiles.push(Tile::new("Settings run", Number::count(answer.settings)));
    tiles.push(Tile::new("Runs", Number::count(answer.runs)));
    if answer.violating > 0 {
        tiles.push(Tile::new("Settings that broke a bound", Number::count(answer.violating)));
    }
    tiles
}

fn facts(material: &Material<'_>) -> Vec<Fact> {
    let (plan, answer) = (material.plan, material.answer);
    let goals: Vec<String> = plan
        .cases
        .iter()
        .map(|case| {
            let bounds: Vec<String> = case.goal.bounds.iter().map(|own| own.words()).collect();
            let bounds =
                if bounds.is_empty() { String::new() } else { format!(" ({})", bounds.join(", ")) };
            format!("{}: {}{bounds}", case.name, case.goal.figure.words)
        })
        .collect();
    let ended = if answer.converged { "nothing more to gain" } else { "the budget" };
    vec![
        Fact::code("command", material.command),
        Fact::new("goal", goals.join("; ")),
        Fact::new("bounds", "no drop of a lossless class and no failed run, always"),
        Fact::new(
            "search",
            format!(
                "{} on {} (the best on as many again), checked on {} others; ended by {ended}",
                counted(answer.settings, "setting", "settings"),
                counted(plan.options.seeds, "seed", "seeds"),
                plan.options.unseen
            ),
        ),
        Fact::new("version", material.version),
        Fact::code("tuning", material.key),
    ]
}

fn values(answer: &Answer) -> Section {
    let mut section = Section::new("values", "Values");
    let columns = ["knob", "key", "present", "advised"].map(Column::text);
    let mut table = Table::new("value-table", "Every knob", columns);
    for own in &answer.values {
        let advised = own.advised.clone().unwrap_or_else(|| "stays".to_owned());
        table.push([
            Cell::from(own.knob.as_str()),
            own.keys.join(", ").as_str().into(),
            own.present.as_str().into(),
            advised.as_str().into(),
        ]);
    }
    section.blocks.push(table.into());
    section
}

fn worth(answer: &Answer) -> Option<Section> {
    if answer.worth.is_empty() {
        return None;
    }
    let mut section = Section::new("worth", "What each is worth");
    section.lead = Some(
        "What becomes of the advised setting when one knob goes back to its present value, on the unseen seeds."
            .to_owned(),
    );
    let columns = ["knob", "time, with it back", "95 % interval", "bounds"].map(Column::text);
    let mut table = Table::new("worth-table", "One knob back at a time", columns);
    for own in &answer.worth {
        let (mean, range) = own.back.map_or(Default::default(), |back| {
            (percent(back.mean), format!("{} to {}", percent(back.low), percent(back.high)))
        });
        let bounds = if own.violates { "not kept" } else { "kept" };
        table.push([own.knobs.join(" and "), mean, range, bounds.to_owned()].map(Cell::from));
    }
    let bars = Bars {
        y: Axis::new("slower, with it back", Unit::Share),
        groups: answer.worth.iter().map(|own| own.knobs.join(" and ")).collect(),
        series: vec![BarSeries {
            name: "slower".to_owned(),
            values: answer.worth.iter().map(|own| own.back.map(|back| back.mean)).collect(),
        }],
        reference: None,
    };
    section.blocks.push(Drawing::new("worth-bars", "What each is worth", Plot::Bars(bars)).into());
    section.blocks.push(table.into());
    Some(section)
}

fn profiles(answer: &Answer) -> Option<Section> {
    if answer.profiles.is_empty() {
        return None;
    }
    let mut section = Section::new("indifferent", "What is indifferent");
    section.lead = Some(
        "By the model of the search: the values of each knob that stay within one percent, all other knobs as advised."
            .to_owned(),
    );
    let columns = ["knob", "within 1 %", "worst value"].map(Column::text);
    let mut table = Table::new("profile-table", "How far each knob may move", columns);
    for own in &answer.profiles {
        let alike = if own.everything {
            "any value".to_owned()
        } else if own.alike.is_empty() {
            "this value alone".to_owned()
        } else {
            own.alike.join(" to ")
        };
        table.push([own.knob.clone(), alike, percent(own.spread)].map(Cell::from));
    }
    section.blocks.push(table.into());
    if !answer.indifferent.is_empty() {
        let each = answer.indifferent.iter();
        let words: Vec<String> =
            each.map(|(knob, cost)| format!("{knob} ({})", percent(*cost))).collect();
        let text = format!(
            "Turned back to their present values because they gain nothing, with what that changed on the seeds of the \
             search: {}.",
            words.join(", ")
        );
        section.blocks.push(Block::Text(text));
    }
    Some(section)
}

fn check(answer: &Answer) -> Section {
    let mut section = Section::new("check", "On seeds that the search has not seen");
    let columns = [
        "workload",
        "objective",
        "present",
        "advised",
        "change of time",
        "paused, present (us)",
        "paused, advised (us)",
    ];
    let mut table =
        Table::new("check-table", "Means over the unseen seeds", columns.map(Column::text));
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    for own in &answer.cases {
        table.push(
            [
                own.case.clone(),
                own.objective.to_owned(),
                number(own.present),
                number(own.advised),
                own.change.as_ref().map(interval).unwrap_or_default(),
                number(own.paused_us[0]),
                number(own.paused_us[1]),
            ]
            .map(Cell::from),
        );
    }
    section.blocks.push(table.into());
    if let Some(change) = &answer.change_on_search_seeds {
        let text = format!("On the seeds of the search: {}.", interval(change));
        section.blocks.push(Block::Text(text));
    }
    section
}

fn front(answer: &Answer) -> Option<Section> {
    if answer.front.is_empty() {
        return None;
    }
    let mut section = Section::new("front", "What speed costs in pauses");
    section.lead = Some("Settings than which no other is both faster and less paused.".to_owned());
    if answer.front.len() > 1 {
        let x = Axis::new("time, relative to the present setting", Unit::Share);
        let mut chart = Chart::new(x, Axis::new("time paused", Unit::Seconds));
        let points: Vec<(f64, f64)> =
            answer.front.iter().map(|own| (1.0 + own.change, own.paused_us * 1e-6)).collect();
        chart.series.push(Series::new("Pareto front", points));
        section.blocks.push(Drawing::new("pareto", "Pareto front", Plot::Lines(chart)).into());
    } else {
        let text = "One setting is best in both: there is nothing to choose.";
        section.blocks.push(Block::Text(text.to_owned()));
    }
    let columns = ["setting", "change of time", "paused (us)", "values"].map(Column::text);
    let mut table = Table::new("front-table", "Settings of the front", columns);
    for own in &answer.front {
        let values: Vec<String> =
            own.values.iter().map(|(knob, value)| format!("{knob} {value}")).collect();
        let values = if values.is_empty() { "present".to_owned() } else { values.join(", ") };
        let row =
            [own.setting.to_string(), percent(own.change), format!("{:.1}", own.paused_us), values];
        table.push(row.map(Cell::from));
    }
    section.blocks.push(table.into());
    Some(section)
}

/// The best so far, setting by setting.
fn progress(material: &Material<'_>) -> Option<Section> {
    let (plan, found) = (material.plan, material.found);
    let mut best = f64::INFINITY;
    let mut points = Vec::new();
    for (score, point) in found.scores(plan) {
        if score.is_feasible() && score.seeds >= plan.options.seeds && score.value < best {
            best = score.value;
        }
        if best.is_finite() {
            points.push((point as f64, xoff_sweep::numeric::exp(best)));
        }
    }
    if points.len() < 2 {
        return None;
    }
    let mut section = Section::new("progress", "The search");
    let y = Axis::new("best time so far, relative to the present setting", Unit::Share);
    let mut chart = Chart::new(Axis::new("setting", Unit::Count), y);
    chart.series.push(Series::new("best so far", points));
    section.blocks.push(Drawing::new("progress", "Best so far", Plot::Lines(chart)).into());
    Some(section)
}
