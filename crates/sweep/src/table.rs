//! The table of a sweep: one row per point, with what went in and what came out.

use crate::axis::Axis;
use crate::plan::{Plan, Point};
use crate::row::{Figure, Row};
use crate::value::{Measure, shown};
use std::path::Path;
use std::rc::Rc;
use xoff_telemetry::{Cells, Column, Kind, Name, RunError, Table};

/// A table that is being written, point by point.
pub struct Writer<'a> {
    plan: &'a Plan,
    measures: Rc<[Measure]>,
    table: Table<Cell<'a>>,
}

/// A point with its inputs and what it gave.
struct Cell<'a> {
    point: Point<'a>,
    measures: Rc<[Measure]>,
    row: Row,
}

/// Columns before those of the axes.
const BEFORE: [(&str, Kind); 3] =
    [("point", Kind::Growing), ("setting", Kind::Growing), ("seed", Kind::Integer)];

/// Columns between those of the axes and the figures.
const AFTER: [&str; 3] = ["outcome", "reason", "result_hash"];

/// The names of the columns that every table has.
pub(crate) fn fixed_columns() -> Vec<&'static str> {
    let before = BEFORE.iter().map(|(name, _)| *name);
    let figures = Figure::ALL.iter().map(|figure| figure.name);
    before.chain(AFTER).chain(figures).collect()
}

/// The names of the columns of an axis: one for each key, by the axis's own name if it has one, with
/// the unit at the end.
pub fn axis_columns(axis: &Axis) -> Vec<String> {
    let column = |(at, key): (usize, &crate::key::Key)| {
        let name = if axis.keys.len() == 1 { axis.name.clone() } else { key.to_string() };
        name + axis.measure(at).suffix()
    };
    axis.keys.iter().enumerate().map(column).collect()
}

fn measures(plan: &Plan) -> Vec<Measure> {
    let of = |axis: &Axis| (0..axis.keys.len()).map(|key| axis.measure(key)).collect::<Vec<_>>();
    plan.axes().iter().flat_map(of).collect()
}

fn columns(plan: &Plan) -> Vec<Column> {
    let before = BEFORE.map(|(name, kind)| Column::new(name, kind));
    let axes = plan.axes().iter().flat_map(axis_columns).zip(measures(plan));
    let axes = axes.map(|(name, measure)| Column::named(name, measure.kind()));
    let figures = Figure::ALL.iter().map(|figure| {
        let kind = if figure.whole { Kind::Integer } else { Kind::Real };
        Column::nullable(figure.name, kind)
    });
    let after = [Column::new(AFTER[0], Kind::Text)]
        .into_iter()
        .chain(AFTER[1..].iter().map(|name| Column::nullable(name, Kind::Text)));
    before.into_iter().chain(axes).chain(after).chain(figures).collect()
}

impl<'a> Writer<'a> {
    /// Begins a table at this path.
    pub fn create(path: &Path, plan: &'a Plan) -> Result<Self, RunError> {
        let table = Table::with_columns(path, &columns(plan))?;
        Ok(Self { plan, measures: measures(plan).into(), table })
    }

    /// Adds a row. Rows come in the order of their points.
    pub fn push(&mut self, row: Row) -> Result<(), RunError> {
        let Some(point) = self.plan.point(row.point) else { return Ok(()) };
        debug_assert_eq!(row.point, self.table.rows(), "rows in the order of points");
        self.table.push(&Cell { point, measures: self.measures.clone(), row })
    }

    /// Writes what is left. Returns the number of rows.
    pub fn finish(self) -> Result<u64, RunError> {
        self.table.finish()
    }
}

impl xoff_telemetry::Row for Cell<'_> {
    const TABLE: &'static str = "sweep";
    const COLUMNS: &'static [Column] = &[];

    fn fill(&self, cells: &mut Cells) {
        cells.integer(self.point.number);
        cells.integer(self.point.setting);
        cells.integer(self.point.seed);
        for (setting, measure) in self.point.settings.iter().zip(self.measures.iter()) {
            let number = measure.number(&setting.value);
            match measure.kind() {
                Kind::Text => cells.text(&Name::from(shown(&setting.value))),
                Kind::Real => cells.real(number),
                _ => cells.integer(number.map(|number| number as u64)),
            }
        }
        cells.text(&Name::from(self.row.outcome.as_str()));
        for text in [&self.row.reason, &self.row.result_hash] {
            cells.text(text.as_deref().map(Name::from).as_ref());
        }
        for (figure, value) in Figure::ALL.iter().zip(&self.row.figures) {
            match figure.whole {
                true => cells.integer(value.map(|value| value as u64)),
                false => cells.real(*value),
            }
        }
    }
}
