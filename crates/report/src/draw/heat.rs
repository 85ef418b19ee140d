//! A colour for each row and column.

use super::frame::{Colour, Frame, Side};
use super::ink::Ink;
use super::names::Names;
use super::panel::{ADVANCE, Drawn, Extras, Layout, Panel, fit, picture};
use super::ruler::{Ruler, can_be_drawn};
use super::{Drawing, Form, Key, Picture, Width};
use crate::{Axis, Heat, Scale};
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::SVGBackend;

/// Rows that are drawn; more are folded.
const ROWS: usize = 32;

/// Height of a row in pixels.
const ROW: f64 = 17.0;

/// What is drawn: neighbours folded into one.
struct Cells {
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<Vec<Option<f64>>>,
    /// Rows and columns of the data in a cell.
    each: (usize, usize),
}

pub(super) fn heat(heat: &Heat) -> Drawing {
    let (from, to) = bounds(heat);
    let wide = fold(heat, 96);
    let narrow = fold(heat, 40);
    let mut notes = Vec::new();
    if wide.each != (1, 1) {
        let (rows, columns) = (heat.rows.len(), heat.columns.len());
        notes.push(format!(
            "{rows} rows and {columns} columns are drawn as {} and {}: of neighbours the greatest.",
            wide.rows.len(),
            wide.columns.len()
        ));
    }
    let label = &heat.value_label;
    let (least, most) = (heat.unit.show(from), heat.unit.show(to));
    let ramp = |name: String, form| Key { ink: Ink::Grid, form, name };
    Drawing {
        wide: whole(heat, &wide, Width::Wide, (from, to)),
        narrow: whole(heat, &narrow, Width::Narrow, (from, to)),
        legend: vec![ramp(format!("{label}, from {least} to {most}"), Form::Ramp)],
        notes,
        description: format!(
            "{label} by {} and {}, from {least} to {most}.",
            heat.row_label, heat.column_label
        ),
    }
}

/// Values of the coldest and the hottest colour.
fn bounds(heat: &Heat) -> (f64, f64) {
    if let Some((from, to)) = heat.range
        && from < to
        && can_be_drawn(from, Scale::Linear)
        && can_be_drawn(to, Scale::Linear)
    {
        return (from, to);
    }
    let values = heat.values.iter().flatten().flatten().copied();
    let values = values.filter(|v| can_be_drawn(*v, Scale::Linear));
    let (from, to) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    if from < to { (from, to) } else { (0.0, if to > 0.0 { to } else { 1.0 }) }
}

fn fold(heat: &Heat, columns: usize) -> Cells {
    let down = heat.rows.len().div_ceil(ROWS).max(1);
    let across = heat.columns.len().div_ceil(columns).max(1);
    let name = |names: &[String]| match names {
        [only] => only.clone(),
        [first, .., last] => format!("{first} … {last}"),
        [] => String::new(),
    };
    let value = |row: usize, column: usize| -> Option<f64> {
        let rows = heat.values.iter().skip(row * down).take(down);
        let cells = rows.flat_map(|cells| cells.iter().skip(column * across).take(across));
        let cells = cells.flatten().copied().filter(|v| can_be_drawn(*v, Scale::Linear));
        cells.fold(None, |most, v| Some(most.map_or(v, |m: f64| m.max(v))))
    };
    let rows: Vec<String> = heat.rows.chunks(down).map(name).collect();
    // The first name of folded columns says where they begin; both would never fit.
    let heads = heat.columns.chunks(across).map(|names| names[0].clone());
    let columns: Vec<String> = heads.collect();
    let values = (0..rows.len())
        .map(|row| (0..columns.len()).map(|column| value(row, column)).collect())
        .collect();
    Cells { rows, columns, values, each: (down, across) }
}

fn whole(heat: &Heat, cells: &Cells, width: Width, bounds: (f64, f64)) -> Picture {
    let names = Names::new(&cells.rows, width, ROW);
    picture(width.pixels(), names.height() + 76.0, |root| {
        draw(root, heat, (cells, &names), width, bounds)
    })
}

fn draw(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    heat: &Heat,
    (cells, names): (&Cells, &Names<'_>),
    width: Width,
    (from, to): (f64, f64),
) -> Drawn<Extras> {
    let rows = names.ruler();
    let longest = cells.columns.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let room = width.pixels() - rows.longest() as f64 * ADVANCE - 30.0;
    let label = ((longest + 2) as f64 * ADVANCE).min(room / 2.0);
    let every = (label * cells.columns.len() as f64 / room).ceil().max(1.0) as usize;
    let columns = Ruler::names(&cells.columns, every, label, false);
    let layout = Layout {
        top: fit(&heat.row_label, width.pixels()),
        bottom: fit(&heat.column_label, width.pixels() - 80.0),
        upright: false,
        level: false,
        right: (columns.longest() as f64 * ADVANCE / 2.0).max(8.0) + 4.0,
    };
    let mut panel = Panel::new(root, &layout, columns, rows)?;
    names.draw(root, &panel)?;
    for (row, values) in cells.values.iter().enumerate() {
        let ink = |value: &Option<f64>| value.map(|v| Ink::heat((v - from) / (to - from)));
        let mut left = 0;
        // Neighbours of one colour are one box.
        for run in values.chunk_by(|a, b| ink(a) == ink(b)) {
            let right = left + run.len();
            if let Some(ink) = run.first().and_then(ink) {
                let (top, bottom) = (names.place(row, 0.04), names.place(row, 0.96));
                panel.area((left as f64, top), (right as f64, bottom), ink, 1.0)?;
            }
            left = right;
        }
    }
    let side = |label: &String, names: &[String]| Side::Names {
        label: label.clone(),
        names: names.to_vec(),
    };
    let frame = Frame {
        kind: "heat",
        area: panel.inside(),
        x: side(&heat.column_label, &cells.columns),
        y: side(&heat.row_label, &cells.rows),
        colour: Some(Colour {
            axis: Axis::new(&heat.value_label, heat.unit),
            each: cells.each,
            all: (heat.rows.len(), heat.columns.len()),
        }),
        inset: names.inset(),
    };
    Ok(Extras { frame: Some(frame), ..Extras::default() })
}
