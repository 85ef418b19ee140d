//! The table of all runs of a search: `tune.parquet`.

use crate::plan::Plan;
use crate::search::{Found, Point, Run};
use std::collections::BTreeSet;
use std::path::Path;
use xoff_sweep::{Axis, Figure, Key, Measure, Row, shown};
use xoff_telemetry::{Cells, Column, Kind, Name, RunError, Table};

/// Columns before those of the knobs.
const BEFORE: [(&str, Kind); 4] = [
    ("setting", Kind::Growing),
    ("stage", Kind::Text),
    ("case", Kind::Text),
    ("seed", Kind::Integer),
];

/// Columns between those of the knobs and the figures.
const AFTER: [(&str, Kind); 5] = [
    ("violation", Kind::Real),
    ("change", Kind::Real),
    ("outcome", Kind::Text),
    ("reason", Kind::Text),
    ("result_hash", Kind::Text),
];

/// A run with its inputs and what it gave.
struct Line<'a> {
    plan: &'a Plan,
    found: &'a Found,
    run: Run,
    row: &'a Row,
}

/// The columns of a knob: one for each key, with the unit at the end. They are empty where the key is as in the files.
fn knob_columns(axis: &Axis) -> Vec<(String, Measure)> {
    let column = |(at, key): (usize, &Key)| {
        let measure = axis.measure(at);
        (key.to_string() + measure.suffix(), measure)
    };
    axis.keys.iter().enumerate().map(column).collect()
}

fn columns(plan: &Plan) -> Vec<Column> {
    let before = BEFORE.map(|(name, kind)| Column::new(name, kind)).into_iter();
    let mut seen = BTreeSet::new();
    let knobs = plan.knobs.iter().flat_map(|knob| knob_columns(&knob.axis));
    // Keys are different, so that only a unit could make two names the same.
    let knobs = knobs.map(|(mut name, measure)| {
        while !seen.insert(name.clone()) {
            name.push('_');
        }
        Column::named(name, measure.kind())
    });
    let after = AFTER.map(|(name, kind)| Column::nullable(name, kind)).into_iter();
    let figures = Figure::ALL.iter().map(|figure| {
        let kind = if figure.whole { Kind::Integer } else { Kind::Real };
        Column::nullable(figure.name, kind)
    });
    before.chain(knobs).chain(after).chain(figures).collect()
}

/// Writes the table of all runs, by setting, case and seed. Returns the number of rows.
pub fn write(path: &Path, plan: &Plan, found: &Found) -> Result<u64, RunError> {
    let mut table = Table::with_columns(path, &columns(plan))?;
    for (run, row) in &found.rows {
        table.push(&Line { plan, found, run: *run, row })?;
    }
    table.finish()
}

impl xoff_telemetry::Row for Line<'_> {
    const TABLE: &'static str = "tune";
    const COLUMNS: &'static [Column] = &[];

    fn fill(&self, cells: &mut Cells) {
        let Self { plan, found, run, row } = *self;
        let point: &Point = &found.points[run.point];
        cells.integer(run.point as u64);
        cells.text(&Name::from(point.stage.word()));
        cells.text(&Name::from(plan.cases[run.case].name.as_str()));
        cells.integer(plan.seed(run.case, run.seed));
        for (knob, place) in plan.knobs.iter().zip(&point.places) {
            let settings = knob.settings(*place);
            for (at, (_, measure)) in knob_columns(&knob.axis).into_iter().enumerate() {
                let value = settings.get(at).map(|setting| &setting.value);
                let number = value.and_then(|value| measure.number(value));
                match measure.kind() {
                    Kind::Text => {
                        let text = value.map(shown);
                        cells.text(text.as_deref().map(Name::from).as_ref());
                    }
                    Kind::Real => cells.real(number),
                    _ => cells.integer(number.map(|number| number as u64)),
                }
            }
        }
        let judged = found.judged(plan, run);
        cells.real(judged.map(|judged| judged.violation));
        let change = found.ratio(plan, run).map(|log| xoff_sweep::numeric::exp(log) - 1.0);
        cells.real(change);
        cells.text(Some(&Name::from(row.outcome.as_str())));
        for text in [&row.reason, &row.result_hash] {
            cells.text(text.as_deref().map(Name::from).as_ref());
        }
        for (figure, value) in Figure::ALL.iter().zip(&row.figures) {
            match figure.whole {
                true => cells.integer(value.map(|value| value as u64)),
                false => cells.real(*value),
            }
        }
    }
}
