//! What `xoff compare` prints.

use super::Row;
use crate::output::number::microseconds;
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{printable, stdout_width};
use xoff_report::Unit;
use xoff_validate::Measurement;
use xoff_validate::compare::Figures;

/// What is said of a variant, and whether it goes with the times or with the counters: together
/// they would be too wide for a terminal.
const COLUMNS: [(&str, bool); 11] = [
    ("mean", true),
    ("p99", true),
    ("last", true),
    ("speed", true),
    ("busbw", true),
    ("cores", true),
    ("pauses", false),
    ("marks", false),
    ("drops", false),
    ("trimmed", false),
    ("sent again", false),
];

/// The tables, of times and of counters.
pub(super) fn page(name: &str, seed: u64, rows: &[Row]) -> String {
    let style = Style::stdout();
    let first = rows.iter().find_map(|row| row.measured.as_ref()).map_or(0.0, Measurement::last_us);
    let measured = rows.iter().filter_map(|row| Some((row, row.measured.as_ref()?)));
    let lines: Vec<(&str, [String; COLUMNS.len()])> =
        measured.map(|(row, measured)| (row.variant.as_str(), cells(measured, first))).collect();
    let mut text = format!("{}  seed {seed}\n", style.bold(name));
    for times in [true, false] {
        // What nothing of this scenario has is left out.
        let says =
            |column: &usize| lines.iter().any(|(_, line)| !["-", "0"].contains(&&*line[*column]));
        let kept: Vec<usize> =
            (0..COLUMNS.len()).filter(|&column| COLUMNS[column].1 == times).filter(says).collect();
        if kept.is_empty() {
            continue;
        }
        let headings = kept.iter().map(|&column| (COLUMNS[column].0, Align::Right));
        let headings: Vec<_> = [("variant", Align::Left)].into_iter().chain(headings).collect();
        let mut table = Table::new(&headings);
        for (variant, line) in &lines {
            let cells = kept.iter().map(|&column| line[column].as_str());
            table.row([*variant].into_iter().chain(cells));
        }
        text += &format!("\n{}", table.render(stdout_width(), style));
    }
    for row in rows {
        if let Some(note) = &row.note {
            text += &format!("\n{} {}\n", row.variant, printable(note));
        }
        if let Some(why) = &row.refused {
            text += &format!("\n{} is refused: {}\n", row.variant, printable(why));
        }
    }
    text
}

fn cells(measured: &Measurement, first: f64) -> [String; COLUMNS.len()] {
    let own = Figures::of(measured);
    let dash = || "-".to_owned();
    let us = |us: Option<f64>| us.map_or_else(dash, microseconds);
    let speed = match own.last_us {
        _ if !own.complete => "unfinished".to_owned(),
        Some(time) => format!("{:.2}x", first / time),
        None => dash(),
    };
    [
        us(own.mean_us),
        us(own.p99_us),
        us(own.last_us),
        speed,
        own.busbw.map_or_else(dash, |busbw| Unit::BytesPerSecond.show(busbw)),
        own.cores.filter(|cores| *cores > 0.0).map_or_else(dash, |cores| format!("{cores:.1}")),
        own.pauses.to_string(),
        own.marks.to_string(),
        own.drops.to_string(),
        own.trimmed.to_string(),
        own.sent_again.to_string(),
    ]
}
