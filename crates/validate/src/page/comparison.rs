//! [`comparison`]: one scenario under several rules as a [`Report`]: who wins by which figure, all
//! candidates in one table, charts, and the keys that make each candidate.

use crate::compare::{FigureKind, Figures, Variant, winners};
use crate::measure::Measurement;
use xoff_report::{
    Axis, BarSeries, Bars, Block, Cdf, Cell, Check, Column, Fact, Figure, Fold, Number, Plot,
    Report, Samples, Section, Table, Tile, Unit, Verdict, counted,
};

/// One candidate, and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its rules.
    pub variant: &'a Variant,
    /// What was measured, or why it was refused.
    pub outcome: Result<&'a Measurement, &'a str>,
}

/// What the page is made from.
#[derive(Debug, Clone)]
pub struct Material<'a> {
    /// The scenario's name.
    pub scenario: &'a str,
    /// Ratios are to the first.
    pub candidates: Vec<Candidate<'a>>,
    /// Seed of every random draw.
    pub seed: u64,
    /// The command that repeats it.
    pub command: &'a str,
    /// Version of xoff.
    pub version: &'a str,
}

/// A candidate that was measured, with its figures.
struct Row<'a> {
    name: &'a str,
    measured: &'a Measurement,
    figures: Figures,
}

/// The report of a comparison.
pub fn comparison(material: &Material<'_>) -> Report {
    let rows: Vec<Row<'_>> = material.candidates.iter().filter_map(row).collect();
    let mut report = Report::new(format!("Comparison on {}", material.scenario), headline(&rows));
    let broken =
        rows.len() < material.candidates.len() || rows.iter().any(|row| !row.figures.complete);
    report.verdict = broken.then_some(Verdict::Fail);
    report.tiles = tiles(&rows);
    report.facts = vec![
        Fact::code("command", material.command),
        Fact::new("seed", material.seed.to_string()),
        Fact::new("version", material.version),
        Fact::new("left out", super::LEFT_OUT),
    ];
    report.sections.extend(trouble(material, &rows));
    report.sections.push(side_by_side(&rows));
    report.sections.extend(charts(&rows));
    report.sections.push(rules(material));
    report
}

fn row<'a>(candidate: &Candidate<'a>) -> Option<Row<'a>> {
    let measured = candidate.outcome.ok()?;
    let figures = Figures::of(measured);
    Some(Row { name: &candidate.variant.name, measured, figures })
}

/// Who is done first, and how much sooner than the first that was named.
fn headline(rows: &[Row<'_>]) -> String {
    let Some(first) = rows.first() else { return "No candidate could be run.".to_owned() };
    let last = |row: &Row<'_>| row.figures.last_us.unwrap_or(f64::INFINITY);
    let done = rows.iter().filter(|row| row.figures.complete && row.figures.last_us.is_some());
    let Some(best) = done.min_by(|a, b| last(a).total_cmp(&last(b))) else {
        return "No candidate finished all of its traffic.".to_owned();
    };
    let time = seconds(last(best));
    let mut text = format!("`{}` is done first, after {time}", best.name);
    if best.name != first.name && first.figures.complete && last(first).is_finite() {
        let times = Number::plain(last(first) / last(best));
        text += &format!(": {times} times as fast as `{}`", first.name);
    }
    text + "."
}

fn seconds(us: f64) -> Number {
    Number::new(us / 1e6, Unit::Seconds)
}

/// The best value of each figure that a reader asks for first, and whose it is.
fn tiles(rows: &[Row<'_>]) -> Vec<Tile> {
    let figures: Vec<&Figures> = rows.iter().map(|row| &row.figures).collect();
    let wanted = ["last", "p99", "bus bandwidth", "pauses", "sent again"];
    let all = winners(&figures);
    let tile = |name: &&str| {
        let win = all.iter().find(|win| win.figure.name == *name)?;
        let value = win.figure.value(figures[win.first()])?;
        Some(
            Tile::new(format!("Best: {}", win.figure.words), value)
                .note(names(rows, &win.of))
                .link("candidates"),
        )
    };
    wanted.iter().filter_map(tile).collect()
}

/// The names of winners, or that there is nothing to win.
fn names(rows: &[Row<'_>], of: &[usize]) -> String {
    if of.len() == rows.len() && rows.len() > 1 {
        return "all alike".to_owned();
    }
    of.iter().map(|at| rows[*at].name).collect::<Vec<_>>().join(", ")
}

/// Candidates that were refused, or did not finish.
fn trouble(material: &Material<'_>, rows: &[Row<'_>]) -> Option<Section> {
    let mut section = Section::new("trouble", "What could not be compared");
    section.verdict = Some(Verdict::Fail);
    for candidate in &material.candidates {
        if let Err(why) = candidate.outcome {
            let check = Check::new(format!("{} is refused", candidate.variant.name), Verdict::Fail);
            section.blocks.push(Check { measured: why.to_owned(), ..check }.into());
        }
    }
    for row in rows.iter().filter(|row| !row.figures.complete) {
        let groups = &row.measured.groups;
        let (done, all) = groups
            .iter()
            .fold((0, 0), |(done, all), group| (done + group.finished, all + group.flows));
        let flows = format!("{} of {} flows finished", Number::count(done), Number::count(all));
        let check = Check::new(format!("{} did not finish", row.name), Verdict::Fail);
        let measured = format!("{flows}; it ended: {}", row.measured.outcome);
        let expected = "all traffic done; it wins nothing until then".to_owned();
        section.blocks.push(Check { measured, expected, ..check }.into());
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn side_by_side(rows: &[Row<'_>]) -> Section {
    let mut section = Section::new("candidates", "Side by side");
    section.blocks.push(candidates(rows).into());
    let figures: Vec<&Figures> = rows.iter().map(|row| &row.figures).collect();
    let columns = ["figure", "best", "value", "first named", "better is"].map(Column::text);
    let mut table = Table::new("winners", "Best by each figure", columns);
    for win in winners(&figures) {
        let value = |at: usize| {
            figures.get(at).and_then(|own| win.figure.value(own)).map(|n| n.to_string())
        };
        table.push([
            Cell::from(win.figure.words),
            names(rows, &win.of).into(),
            value(win.first()).into(),
            value(0).into(),
            if win.figure.more { "more" } else { "less" }.into(),
        ]);
    }
    section.blocks.push(table.into());
    section
}

/// Every candidate with every figure that any of them has.
fn candidates(rows: &[Row<'_>]) -> Table {
    let has = |figure: &&FigureKind| {
        let values = rows.iter().filter_map(|row| figure.value(&row.figures));
        values.into_iter().any(|number| number.value != 0.0)
    };
    let kinds: Vec<_> = Figures::KINDS.iter().filter(has).collect();
    let mut columns =
        vec![Column::text("candidate"), Column::number("times the first", Unit::Plain)];
    columns.extend(kinds.iter().map(|kind| Column::number(kind.words, kind.unit)));
    columns.push(Column::text("traffic"));
    let mut table = Table::new("candidates", "All candidates", columns);
    let first = rows.first().and_then(|row| row.figures.last_us);
    for row in rows {
        let speed = first.zip(row.figures.last_us).filter(|_| row.figures.complete);
        let mut cells = vec![Cell::from(row.name), speed.map(|(a, b)| Number::plain(a / b)).into()];
        cells.extend(kinds.iter().map(|kind| Cell::from(kind.value(&row.figures))));
        cells.push(if row.figures.complete { "complete" } else { "unfinished" }.into());
        table.push(cells);
    }
    table
}

fn charts(rows: &[Row<'_>]) -> Option<Section> {
    let mut section = Section::new("charts", "Charts");
    let bars = |id: &str, title: &str, names: &[&str]| {
        let kinds: Vec<_> =
            Figures::KINDS.iter().filter(|kind| names.contains(&kind.name)).collect();
        let of = |kind: &FigureKind| BarSeries {
            name: kind.words.to_owned(),
            values: rows
                .iter()
                .map(|row| kind.value(&row.figures).map(|number| number.value))
                .collect(),
        };
        // What no candidate has is left out, also of the axis's words.
        let some = |(_, series): &(_, BarSeries)| series.values.iter().flatten().any(|v| *v > 0.0);
        let kinds = kinds.into_iter().map(|kind| (kind, of(kind))).filter(some);
        let (kinds, series): (Vec<&FigureKind>, Vec<BarSeries>) = kinds.unzip();
        let label = match kinds[..] {
            [] => return None,
            [only] => only.words,
            [first, ..] if first.unit == Unit::Seconds => "time",
            _ => "packets",
        };
        let groups = rows.iter().map(|row| row.name.to_owned()).collect();
        let y = Axis::new(label, kinds[0].unit);
        let plot = Plot::Bars(Bars { y, groups, series, reference: None });
        Some(Block::from(Figure::new(id, title, plot)))
    };
    section.blocks.extend(bars("times", "Completion times", &["last", "p99", "mean"]));
    section.blocks.extend(bars("bandwidth", "Bus bandwidth", &["bus bandwidth"]));
    section.blocks.extend(curves(rows).map(Block::from));
    section.blocks.extend(bars(
        "counters",
        "Pauses, marks and packets sent again",
        &["pauses", "marks", "sent again"],
    ));
    section.blocks.extend(bars("cores", "Host cores that the transport keeps busy", &["cores"]));
    (!section.blocks.is_empty()).then_some(section)
}

/// How many flows were done after how long, of each candidate.
fn curves(rows: &[Row<'_>]) -> Option<Figure> {
    let curve = |row: &Row<'_>| {
        let points = row.measured.groups.iter().flat_map(|group| &group.completion.points);
        Samples { name: row.name.to_owned(), values: points.map(|us| us / 1e6).collect() }
    };
    let series: Vec<Samples> =
        rows.iter().map(curve).filter(|own| !own.values.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let x = Axis::new("completion time", Unit::Seconds).log();
    let plot = Plot::Cdf(Cdf { x, series, marks: Vec::new() });
    let caption = "How many flows are complete after how long; further left is faster.";
    Some(Figure::new("completion", "Completion times of flows", plot).caption(caption))
}

/// What each candidate means, and the keys that make it.
fn rules(material: &Material<'_>) -> Section {
    let mut section = Section::new("rules", "What the candidates are");
    section.lead =
        Some("Keys to lay over the fabric file, or under `[override]` of the scenario.".to_owned());
    for Candidate { variant, .. } in &material.candidates {
        let mut blocks: Vec<Block> = Vec::new();
        if let Some(note) = &variant.note {
            blocks.push(Block::Text(format!("It {note}.")));
        }
        let keys = toml::to_string(&variant.change).unwrap_or_default();
        let count = keys.lines().filter(|line| line.contains('=')).count() as u64;
        blocks.push(Block::Code(keys));
        let title = format!("{}: {}", variant.name, counted(count, "key", "keys"));
        section.blocks.push(Fold::new(title, blocks).into());
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Curve, GroupFigures};

    fn variant(name: &str) -> Variant {
        let change =
            "[switch.balancing]\nkind = \"dlb\"\n[transport]\nack-every = 1".parse().unwrap();
        Variant { name: name.into(), change, note: None }
    }

    fn measured(times: Vec<f64>, flows: u64, marks: u64) -> Measurement {
        let group = GroupFigures {
            name: "flows".into(),
            flows,
            finished: times.len() as u64,
            completion: Curve::new(times),
            ..GroupFigures::default()
        };
        let mut all = Measurement { groups: vec![group], ..Measurement::default() };
        all.totals.marks = marks;
        all.outcome = "time-up".into();
        all
    }

    fn page() -> Report {
        let [slow, fast, stuck, none] = ["slow", "fast", "stuck", "none"].map(variant);
        let all = [
            measured(vec![10.0, 40.0], 2, 7),
            measured(vec![10.0, 20.0], 2, 0),
            measured(vec![1.0], 2, 0),
        ];
        let candidates = vec![
            Candidate { variant: &slow, outcome: Ok(&all[0]) },
            Candidate { variant: &fast, outcome: Ok(&all[1]) },
            Candidate { variant: &stuck, outcome: Ok(&all[2]) },
            Candidate { variant: &none, outcome: Err("no such silicon") },
        ];
        comparison(&Material {
            scenario: "s.toml",
            candidates,
            seed: 1,
            command: "xoff compare s.toml",
            version: "0",
        })
    }

    #[test]
    fn the_fastest_of_those_that_finish_wins() {
        let report = page();
        assert_eq!(
            report.headline,
            "`fast` is done first, after 20 us: 2 times as fast as `slow`."
        );
        assert_eq!(report.verdict, Some(Verdict::Fail));
        let page = report.html();
        for part in
            ["none is refused", "no such silicon", "stuck did not finish", "1 of 2 flows finished"]
        {
            assert!(page.contains(part), "no {part}");
        }
    }

    /// What is drawn is what the axis says: here nobody paused, and some marked.
    #[test]
    fn axes_say_what_is_drawn() {
        let report = page();
        let blocks = report.sections.iter().flat_map(|section| &section.blocks);
        let figures = blocks.filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        });
        let counters = figures.into_iter().find(|figure| figure.id == "counters").unwrap();
        assert!(
            counters.csv().starts_with("group,series,ECN marks\r\nslow,ECN marks,7\r\n"),
            "{}",
            counters.csv()
        );
    }

    #[test]
    fn keys_of_candidates_can_be_pasted() {
        let page = page().html();
        let blocks = page.split("<pre tabindex=\"0\"><code>").skip(1);
        let blocks = blocks.map(|rest| rest.split("</code>").next().unwrap_or_default());
        let blocks: Vec<String> = blocks.map(|text| text.replace("&quot;", "\"")).collect();
        assert_eq!(blocks.len(), 4);
        for block in blocks {
            assert_eq!(block.parse::<toml::Table>().unwrap(), variant("").change);
        }
    }
}
