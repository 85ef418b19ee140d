//! The data of tables and figures as CSV: one heading, then rows, in base units.
//!
//! Quoting is a few lines of [`Sheet`]; the `csv` crate would save half of them and add its errors,
//! which writing to a string cannot have. Guarding against formulas would stay here in any case.

use super::block::{Cell, Table};
use super::draw::thin;
use super::figure::{Bars, Cdf, Chart, Figure, Heat, LinkState, Plot, Timeline, Topology};
use super::unit::Unit;

/// The table, and nothing beyond [`Table::KEPT`] rows.
pub(super) fn table(table: &Table) -> String {
    let mut sheet = Sheet::new(table.columns.iter().map(|column| match column.unit {
        Some(unit) => heading(&column.name, unit),
        None => column.name.clone(),
    }));
    for row in table.rows.iter().take(Table::KEPT) {
        let cells = row.iter().take(table.columns.len());
        sheet.row(cells.map(|cell| match cell {
            Cell::Empty => Field::Text(""),
            Cell::Text(text) | Cell::Link { text, .. } => Field::Text(text),
            Cell::Number(number) => Field::Number(number.value),
            Cell::Verdict(verdict) => Field::Text(verdict.name()),
        }));
    }
    sheet.text
}

/// The figure's data, and what is to be said about rows that were left out.
pub(super) fn figure(figure: &Figure) -> (String, Option<String>) {
    let (sheet, all) = match &figure.plot {
        Plot::Lines(chart) | Plot::Steps(chart) => return lines(chart),
        Plot::Cdf(curves) => return cdf(curves),
        Plot::Bars(bars) => grouped(bars),
        Plot::Heat(heat) => cells(heat),
        Plot::Timeline(timeline) => stretches(timeline),
        Plot::Topology(topology) => links(topology),
    };
    let note = (all > sheet.rows)
        .then(|| format!("The CSV holds the first {} of {all} rows.", sheet.rows));
    (sheet.text, note)
}

fn heading(name: &str, unit: Unit) -> String {
    match unit.base() {
        "" => name.to_owned(),
        base => format!("{name} [{base}]"),
    }
}

/// How many points each series keeps, if there are this many.
fn share(series: usize) -> usize {
    (Figure::KEPT / series.max(1)).max(4)
}

fn thinned(sheet: &Sheet, all: usize) -> Option<String> {
    let text =
        || format!("The CSV holds {} of {all} points: the extremes of each stretch.", sheet.rows);
    (all > sheet.rows).then(text)
}

fn lines(chart: &Chart) -> (String, Option<String>) {
    let head = ["series".to_owned(), heading(&chart.x.label, chart.x.unit)];
    let mut sheet = Sheet::new(head.into_iter().chain([heading(&chart.y.label, chart.y.unit)]));
    let most = share(chart.series.len());
    for series in &chart.series {
        for (x, y) in thin::extremes(&series.points, most) {
            sheet.row([Field::Text(&series.name), Field::Number(x), Field::Number(y)]);
        }
    }
    let finite = |(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
    let all = chart.series.iter().map(|series| series.points.iter().filter(finite).count()).sum();
    let note = thinned(&sheet, all);
    (sheet.text, note)
}

fn cdf(curves: &Cdf) -> (String, Option<String>) {
    let head = ["series".to_owned(), heading(&curves.x.label, curves.x.unit), "share".to_owned()];
    let mut sheet = Sheet::new(head);
    let most = share(curves.series.len());
    let mut all = 0;
    for series in &curves.series {
        let curve = thin::cumulative(&series.values);
        all += curve.len();
        for (value, share) in thin::extremes(&curve, most) {
            sheet.row([Field::Text(&series.name), Field::Number(value), Field::Number(share)]);
        }
    }
    let note = thinned(&sheet, all);
    (sheet.text, note)
}

fn grouped(bars: &Bars) -> (Sheet, usize) {
    let head = ["group", "series"].map(str::to_owned).into_iter();
    let mut sheet = Sheet::new(head.chain([heading(&bars.y.label, bars.y.unit)]));
    let reference = bars.reference.iter().map(|r| (&r.name, &r.values));
    let series = bars.series.iter().map(|s| (&s.name, &s.values)).chain(reference);
    let mut all = 0;
    for (name, values) in series {
        for (group, value) in bars.groups.iter().zip(values) {
            let Some(value) = value else { continue };
            sheet.row([Field::Text(group), Field::Text(name), Field::Number(*value)]);
            all += 1;
        }
    }
    (sheet, all)
}

fn cells(heat: &Heat) -> (Sheet, usize) {
    let head = [heat.row_label.clone(), heat.column_label.clone()];
    let mut sheet = Sheet::new(head.into_iter().chain([heading(&heat.value_label, heat.unit)]));
    let mut all = 0;
    for (row, values) in heat.rows.iter().zip(&heat.values) {
        for (column, value) in heat.columns.iter().zip(values) {
            let Some(value) = value else { continue };
            sheet.row([Field::Text(row), Field::Text(column), Field::Number(*value)]);
            all += 1;
        }
    }
    (sheet, all)
}

fn stretches(timeline: &Timeline) -> (Sheet, usize) {
    let unit = timeline.x.unit;
    let head = ["lane".to_owned(), "group".to_owned(), heading("from", unit), heading("to", unit)];
    let mut sheet = Sheet::new(head);
    for lane in &timeline.lanes {
        for stretch in &lane.stretches {
            let to = stretch.to.map_or(Field::Text(""), Field::Number);
            let names = [Field::Text(&lane.name), Field::Text(&lane.group)];
            sheet.row(names.into_iter().chain([Field::Number(stretch.from), to]));
        }
    }
    (sheet, timeline.lanes.iter().map(|lane| lane.stretches.len()).sum())
}

fn links(topology: &Topology) -> (Sheet, usize) {
    let mut sheet = Sheet::new(["from", "to", "load", "state"].map(str::to_owned));
    for link in &topology.links {
        let name = |at| topology.node(at).map_or("", |node| node.name.as_str());
        let state = match link.state {
            LinkState::Unmeasured => "unmeasured",
            LinkState::Up => "up",
            LinkState::Hot => "hot",
            LinkState::Down => "down",
        };
        sheet.row([
            Field::Text(name(link.from)),
            Field::Text(name(link.to)),
            Field::Number(link.load),
            Field::Text(state),
        ]);
    }
    (sheet, topology.links.len())
}

enum Field<'a> {
    Text(&'a str),
    Number(f64),
}

/// Text that grows row by row, up to the most that is kept.
struct Sheet {
    text: String,
    rows: usize,
}

impl Sheet {
    fn new(columns: impl IntoIterator<Item = String>) -> Self {
        let mut sheet = Self { text: String::new(), rows: 0 };
        let columns: Vec<String> = columns.into_iter().collect();
        sheet.line(columns.iter().map(|name| Field::Text(name)));
        sheet
    }

    fn row<'a>(&mut self, fields: impl IntoIterator<Item = Field<'a>>) {
        if self.rows < Figure::KEPT {
            self.line(fields);
            self.rows += 1;
        }
    }

    fn line<'a>(&mut self, fields: impl IntoIterator<Item = Field<'a>>) {
        for (at, field) in fields.into_iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            match field {
                Field::Text(text) => self.quoted(text),
                Field::Number(value) => self.text += &number(value),
            }
        }
        self.text += "\r\n";
    }

    /// Text as RFC 4180 wants it. What a spreadsheet would take for a formula gets an apostrophe in
    /// front: names come from files, and opening a table must run nothing.
    fn quoted(&mut self, text: &str) {
        let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
        if !formula && !text.contains([',', '"', '\r', '\n']) {
            self.text += text;
            return;
        }
        self.text.push('"');
        if formula {
            self.text.push('\'');
        }
        self.text += &text.replace('"', "\"\"");
        self.text.push('"');
    }
}

/// All digits of a value; nothing for one that is not finite.
fn number(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => String::new(),
        size if size != 0.0 && !(1e-15..1e17).contains(&size) => format!("{value:e}"),
        _ => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Column, Number, Series, Verdict};

    #[test]
    fn a_table_in_base_units() {
        let columns =
            [Column::text("name"), Column::number("size", Unit::Bytes), Column::text("v")];
        let mut table = Table::new("t", "", columns);
        table.push([Cell::from("a,\"b\""), Number::new(1500.0, Unit::Bytes).into()]);
        let cells = [Cell::from("=1+1"), Cell::Empty, Verdict::Warn.into(), "beyond".into()];
        table.push(cells);
        assert_eq!(table.csv(), "name,size [B],v\r\n\"a,\"\"b\"\"\",1500\r\n\"'=1+1\",,warn\r\n");
    }

    #[test]
    fn long_series_keep_their_extremes_and_say_so() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i), 1.0)).collect();
        points[54_321].1 = 99.0;
        let axis = Axis::new("x", Unit::Plain);
        let mut chart = Chart::new(axis.clone(), axis);
        chart.series.push(Series::new("s", points));
        let (text, note) = figure(&Figure::new("f", "", Plot::Lines(chart)));
        assert!(text.lines().count() <= Figure::KEPT + 1);
        assert!(text.contains("54321,99"));
        assert!(note.is_some_and(|note| note.contains("of 100000 points")));
    }

    #[test]
    fn numbers_read_back() {
        for value in [0.0, 1.5, -2e-9, 1e300, 5e-324, 123_456_789.125] {
            assert_eq!(number(value).parse::<f64>(), Ok(value));
        }
        assert_eq!(number(f64::NAN), "");
    }
}
