//! [`page`]: a sweep as a [`Report`]: the best setting, the response to every axis, what matters how much,
//! and what one result costs in another.

use crate::analysis::{Gathered, Group, Observed};
use crate::row::Figure;
use crate::value::{Measure, shown};
use xoff_report::{
    Axis, BarSeries, Bars, Block, Cell, Chart, Column, Fact, Figure as Drawing, Heat, Number, Plot,
    Report, Section, Series, Table, Tile, Unit, Verdict, counted,
};

/// What the page is made from.
#[derive(Debug)]
pub struct Material<'a> {
    /// What the sweep is called.
    pub name: &'a str,
    /// Its rows.
    pub gathered: &'a Gathered<'a>,
    /// The command that repeats it.
    pub command: &'a str,
    /// The command that runs one point, without its number.
    pub point_command: &'a str,
    /// What tells it from other sweeps.
    pub key: &'a str,
    /// Version of xoff.
    pub version: &'a str,
}

/// Settings that tables name.
const NAMED: usize = 20;

/// Rows and columns of a surface.
const SURFACE: usize = 24;

/// The page of a sweep.
pub fn page(material: &Material<'_>) -> Report {
    let gathered = material.gathered;
    let mut report = Report::new(format!("Sweep {}", material.name), headline(gathered));
    report.tiles = tiles(gathered);
    report.facts = facts(material);
    if let Some(figure) = gathered.figures().first() {
        report.sections.push(responses(gathered, figure));
        report.sections.extend(sensitivity(gathered, figure));
        report.sections.extend(front(gathered));
        report.sections.push(best(material, figure));
    }
    report.sections.extend(troubles(material));
    report
}

fn number(figure: &Figure, value: f64) -> Number {
    let (unit, factor) = figure.unit;
    Number::new(value * factor, unit)
}

/// What a setting changes, in words.
pub fn words(gathered: &Gathered<'_>, one: &Observed) -> String {
    let settings = gathered.plan().setting(one.setting);
    let each = settings.iter();
    let words: Vec<String> =
        each.map(|setting| format!("{} = {}", setting.key, shown(&setting.value))).collect();
    if words.is_empty() { "as in the files".to_owned() } else { words.join(", ") }
}

fn headline(gathered: &Gathered<'_>) -> String {
    let ranked = gathered.ranked();
    let (Some(figure), Some(best)) = (gathered.figures().first(), ranked.first()) else {
        return "No setting went well at all of its points.".to_owned();
    };
    let value = number(figure, best.means[0]);
    let seeds = gathered.plan().sweep.seeds.count();
    let average =
        if seeds > 1 { format!(", on average over {seeds} seeds") } else { String::new() };
    format!("Best {}: {value}{average}, with {}.", figure.words, words(gathered, best))
}

fn tiles(gathered: &Gathered<'_>) -> Vec<Tile> {
    let mut tiles = vec![Tile::new("Points", Number::count(gathered.points))];
    let failed = gathered.failed();
    if failed > 0 {
        let tile = Tile::new("Did not go well", Number::count(failed)).verdict(Verdict::Warn);
        tiles.push(tile.link("troubles"));
    }
    let ranked = gathered.ranked();
    if let (Some(figure), [first, .., last]) = (gathered.figures().first(), &ranked[..]) {
        let name = |word: &str| format!("{word} {}", figure.words);
        tiles.push(Tile::new(name("Best"), number(figure, first.means[0])).link("best"));
        tiles.push(Tile::new(name("Worst"), number(figure, last.means[0])));
    }
    let shares = gathered.shares();
    let own = shares.iter().take(gathered.plan().axes().len());
    if let Some(most) = own.max_by(|a, b| a.share.total_cmp(&b.share)) {
        let share = Number::share(most.share).to_string();
        let tile = Tile::words("Matters most", most.name.clone());
        tiles.push(tile.note(format!("{share} of the variance")).link("sensitivity"));
    }
    tiles
}

fn facts(material: &Material<'_>) -> Vec<Fact> {
    let plan = material.gathered.plan();
    let sample = plan.sweep.sample.word();
    let settings = counted(plan.settings(), "setting", "settings");
    let seeds = counted(plan.sweep.seeds.count(), "seed", "seeds");
    vec![
        Fact::code("command", material.command),
        Fact::code("one point", format!("{} N", material.point_command)),
        Fact::new("points", format!("{sample}: {settings}, {seeds} each")),
        Fact::new("version", material.version),
        Fact::code("sweep", material.key),
        Fact::new(
            "left out",
            "Settings at which a point did not go well are in the table and in no plot.",
        ),
    ]
}

/// The unit of an axis's numbers on pages, and how many of it one is.
fn axis_unit(measure: Measure) -> (Unit, f64) {
    match measure {
        Measure::Bytes => (Unit::Bytes, 1.0),
        Measure::Rate => (Unit::BitsPerSecond, 1.0),
        Measure::Time => (Unit::Seconds, 1e-12),
        Measure::Length => (Unit::Other("m"), 1e-3),
        _ => (Unit::Plain, 1.0),
    }
}

fn responses(gathered: &Gathered<'_>, figure: &Figure) -> Section {
    let mut section = Section::new("response", "Response");
    section.lead = Some(format!(
        "{} by the values of each axis, over all settings of the other axes.",
        capital(figure.words)
    ));
    for (at, axis) in gathered.plan().axes().iter().enumerate() {
        let groups = gathered.groups(at);
        if !groups.is_empty() {
            section.blocks.push(
                response(at, &axis.name, axis.is_log(), axis.measure(0), &groups, figure).into(),
            );
        }
    }
    section.blocks.extend(surface(gathered, figure).map(Block::from));
    section
}

fn capital(words: &str) -> String {
    let mut characters = words.chars();
    characters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}

/// A line of a response: its name, and its value for a group.
type Part = (&'static str, fn(&Group) -> f64);

fn response(
    at: usize,
    name: &str,
    log: bool,
    measure: Measure,
    groups: &[Group],
    figure: &Figure,
) -> Drawing {
    let (unit, factor) = figure.unit;
    let y = Axis::new(figure.words, unit);
    let parts: [Part; 3] = [
        ("mean", |group| group.mean),
        ("least", |group| group.least),
        ("greatest", |group| group.greatest),
    ];
    let numbers: Option<Vec<f64>> = groups.iter().map(|group| group.number).collect();
    let plot = match numbers.filter(|numbers| numbers.len() > 1) {
        Some(numbers) => {
            let (x_unit, x_factor) = axis_unit(measure);
            let x = Axis::new(name, x_unit);
            let mut chart = Chart::new(if log { x.log() } else { x }, y);
            for (part, of) in parts {
                let pairs = numbers.iter().zip(groups);
                let mut points: Vec<(f64, f64)> =
                    pairs.map(|(x, group)| (x * x_factor, of(group) * factor)).collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                chart.series.push(Series::new(part, points));
            }
            Plot::Lines(chart)
        }
        None => {
            let series = parts.map(|(part, of)| BarSeries {
                name: part.to_owned(),
                values: groups.iter().map(|group| Some(of(group) * factor)).collect(),
            });
            let groups = groups.iter().map(|group| group.label.clone()).collect();
            Plot::Bars(Bars { y, groups, series: series.to_vec(), reference: None })
        }
    };
    let title = format!("{} by {name}", capital(figure.words));
    Drawing::new(format!("response-{at}"), title, plot)
}

/// The figure over the two axes that matter most.
fn surface(gathered: &Gathered<'_>, figure: &Figure) -> Option<Drawing> {
    let axes = gathered.plan().axes();
    let shares = gathered.shares();
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by(|a, b| {
        let share = |at: &usize| shares.get(*at).map_or(0.0, |share| share.share);
        share(b).total_cmp(&share(a))
    });
    let [across, up, ..] = order[..] else { return None };
    let [columns, rows] = [across, up].map(|axis| gathered.members(axis));
    if columns.len() < 2 || rows.len() < 2 || columns.len() > SURFACE || rows.len() > SURFACE {
        return None;
    }
    let (unit, factor) = figure.unit;
    let place = |groups: &[(String, Option<f64>, Vec<&Observed>)]| {
        let mut places = std::collections::BTreeMap::new();
        for (at, (_, _, members)) in groups.iter().enumerate() {
            places.extend(members.iter().map(|one| (one.setting, at)));
        }
        places
    };
    let (of_column, of_row) = (place(&columns), place(&rows));
    let mut sums = vec![vec![(0.0, 0u32); columns.len()]; rows.len()];
    for one in gathered.settings() {
        if let (Some(column), Some(row)) = (of_column.get(&one.setting), of_row.get(&one.setting)) {
            let cell: &mut (f64, u32) = &mut sums[*row][*column];
            *cell = (cell.0 + one.means[0] * factor, cell.1 + 1);
        }
    }
    let mean = |(sum, count): &(f64, u32)| (*count > 0).then(|| sum / f64::from(*count));
    let names = |groups: Vec<(String, Option<f64>, Vec<&Observed>)>| {
        groups.into_iter().map(|(label, ..)| label).collect()
    };
    let heat = Heat {
        row_label: axes[up].name.clone(),
        column_label: axes[across].name.clone(),
        values: sums.iter().map(|row| row.iter().map(mean).collect()).collect(),
        rows: names(rows),
        columns: names(columns),
        value_label: figure.words.to_owned(),
        unit,
        range: None,
    };
    let title = format!("{} by {} and {}", capital(figure.words), axes[across].name, axes[up].name);
    let caption = "The two axes that matter most; each field is the mean over everything else.";
    Some(Drawing::new("surface", title, Plot::Heat(heat)).caption(caption))
}

fn sensitivity(gathered: &Gathered<'_>, figure: &Figure) -> Option<Section> {
    let shares = gathered.shares();
    if shares.is_empty() {
        return None;
    }
    let mut section = Section::new("sensitivity", "What matters");
    section.lead = Some(format!(
        "The share of the variance of the {} that each axis explains by itself.",
        figure.words
    ));
    let values = shares.iter().map(|share| Some(share.share)).collect();
    let bars = Bars {
        y: Axis::new("share of the variance", Unit::Share).from_to(0.0, 1.0),
        groups: shares.iter().map(|share| share.name.clone()).collect(),
        series: vec![BarSeries { name: "share".to_owned(), values }],
        reference: None,
    };
    section.blocks.push(Drawing::new("shares", "Sensitivity", Plot::Bars(bars)).into());
    Some(section)
}

/// What the first result costs in the second.
fn front(gathered: &Gathered<'_>) -> Option<Section> {
    let [first, second, ..] = gathered.figures()[..] else { return None };
    let front = gathered.front();
    let mut section = Section::new("front", "What one result costs in the other");
    section.lead = Some(format!(
        "Settings than which no other is better in both {} and {}.",
        first.words, second.words
    ));
    let mut points: Vec<(f64, f64)> = front
        .iter()
        .map(|one| (one.means[0] * first.unit.1, one.means[1] * second.unit.1))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.len() > 1 {
        let x = Axis::new(first.words, first.unit.0);
        let y = Axis::new(second.words, second.unit.0);
        let mut chart = Chart::new(x, y);
        chart.series.push(Series::new("Pareto front", points));
        section.blocks.push(Drawing::new("pareto", "Pareto front", Plot::Lines(chart)).into());
    } else {
        let text = "One setting is best in both: there is nothing to choose.";
        section.blocks.push(Block::Text(text.to_owned()));
    }
    let shown = front.iter().take(NAMED).copied();
    section.blocks.push(named(gathered, "front-settings", "Settings of the front", shown).into());
    Some(section)
}

/// Settings with their figures.
fn named<'a>(
    gathered: &Gathered<'_>,
    id: &str,
    caption: &str,
    settings: impl IntoIterator<Item = &'a Observed>,
) -> Table {
    let seeds = gathered.plan().sweep.seeds.count();
    let mut columns = vec![Column::number("point", Unit::Count)];
    columns.extend(gathered.plan().axes().iter().flat_map(|axis| {
        let name = |key: &crate::key::Key| match axis.keys.len() {
            1 => axis.name.clone(),
            _ => key.to_string(),
        };
        axis.keys.iter().map(name).map(Column::text).collect::<Vec<_>>()
    }));
    columns.extend(gathered.figures().iter().map(|own| Column::number(own.words, own.unit.0)));
    let mut table = Table::new(id, caption, columns);
    for one in settings {
        let mut cells = vec![Cell::from(Number::count(one.setting * seeds))];
        let inputs = gathered.plan().setting(one.setting);
        cells.extend(inputs.iter().map(|setting| Cell::from(shown(&setting.value))));
        let figures = gathered.figures().iter().zip(&one.means);
        cells.extend(figures.map(|(figure, mean)| Cell::from(number(figure, *mean))));
        table.push(cells);
    }
    table
}

fn best(material: &Material<'_>, figure: &Figure) -> Section {
    let gathered = material.gathered;
    let mut section = Section::new("best", "Best settings");
    section.lead = Some(format!(
        "By {}; the point is the first of its seeds, which `{} N` runs.",
        figure.words, material.point_command
    ));
    let ranked = gathered.ranked();
    let caption = format!("The best {} of {}", NAMED.min(ranked.len()), ranked.len());
    let shown = ranked.into_iter().take(NAMED);
    section.blocks.push(named(gathered, "best-settings", &caption, shown).into());
    section
}

fn troubles(material: &Material<'_>) -> Option<Section> {
    let gathered = material.gathered;
    if gathered.troubles.is_empty() {
        return None;
    }
    let mut section = Section::new("troubles", "Points that did not go well");
    section.verdict = Some(Verdict::Warn);
    let columns = [
        Column::text("ended"),
        Column::number("points", Unit::Count),
        Column::number("first", Unit::Count),
        Column::text("why"),
    ];
    let mut table = Table::new("endings", "How points ended that did not go well", columns);
    for (outcome, (point, why)) in &gathered.troubles {
        let count = gathered.outcomes.get(outcome).copied().unwrap_or_default();
        table.push([
            Cell::from(outcome.as_str()),
            Number::count(count).into(),
            Number::count(*point).into(),
            why.as_str().into(),
        ]);
    }
    section.blocks.push(table.into());
    Some(section)
}
