//! The fabric, a character for each device or for the worst of several.

use super::panel::{Panel, cut};
use super::tone::Tone;
use crate::model::{Cell, Row, State, View};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// Columns of labels, and of how many devices a cell is.
const LABEL: usize = 9;
const NOTE: usize = 7;
/// The most lines that a tier or a rail takes.
const MOST_LINES: usize = 6;

const LEGEND: &str =
    "D down  d partly  S pauses  P stopped  p paused  ? no counters  ▁-█ use  · idle";

/// The map in at most so many lines.
pub(crate) fn panel(view: &View, width: usize, room: Option<usize>, colour: bool) -> Panel {
    let rows = rows_in(&view.map, room);
    let each = room.map_or(MOST_LINES, |room| room / rows.len().max(1)).clamp(1, MOST_LINES);
    let mut lines: Vec<Line<'static>> =
        rows.iter().flat_map(|row| row_lines(row, width, each, colour)).collect();
    if room.is_none_or(|room| lines.len() < room) {
        lines.push(Line::styled(cut(LEGEND, width), Tone::Dim.style(colour)));
    }
    Panel { title: "Fabric".to_owned(), head: None, lines }
}

/// Lines that the map needs on a screen of this width, legend included.
pub(super) fn height(view: &View, width: usize) -> usize {
    panel(view, width, None, false).lines.len()
}

/// Rails that do not all fit are one row of NICs.
fn rows_in(map: &[Row], room: Option<usize>) -> Vec<Row> {
    if room.is_none_or(|room| map.len() <= room) {
        return map.to_vec();
    }
    let (nics, mut rows): (Vec<Row>, Vec<Row>) = map.iter().cloned().partition(|row| row.nics);
    let cells = nics.into_iter().flat_map(|row| row.cells).collect();
    rows.push(Row { label: "NICs".to_owned(), nics: true, cells });
    rows
}

fn row_lines(row: &Row, width: usize, most: usize, colour: bool) -> Vec<Line<'static>> {
    let across = width.saturating_sub(LABEL + NOTE).max(1);
    let (group, cells) = row.cells_in(across * most);
    let lines = cells.chunks(across).enumerate().map(|(number, cells)| {
        let label = if number == 0 { cut(&row.label, LABEL - 1) } else { String::new() };
        let mut spans = vec![Span::raw(format!("{label:LABEL$}"))];
        spans.extend(runs(cells, colour));
        if number == 0 && group > 1 {
            spans.push(Span::styled(format!(" x{group}"), Tone::Dim.style(colour)));
        }
        Line::from(spans)
    });
    lines.collect()
}

/// Neighbours that look alike are one piece of text.
fn runs(cells: &[Cell], colour: bool) -> impl Iterator<Item = Span<'static>> {
    let alike = cells.chunk_by(move |a, b| look(a, colour) == look(b, colour));
    alike.map(move |run| {
        let text: String = run.iter().map(|cell| cell.state.symbol()).collect();
        Span::styled(text, look(&run[0], colour))
    })
}

fn look(cell: &Cell, colour: bool) -> Style {
    let tone = match cell.state {
        State::Down | State::PartlyDown | State::Pausing | State::Stopped => Tone::Bad,
        State::Held | State::Used(8) => Tone::Warn,
        State::Used(_) => Tone::Good,
        State::Unknown | State::Idle => Tone::Dim,
    };
    let style = tone.style(colour);
    if cell.accused { style.add_modifier(Modifier::REVERSED) } else { style }
}
