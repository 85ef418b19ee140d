//! The part of `docs/collectives.md` that is made of the series.

use super::series::{Row, SERIES, Series, Unit};
use super::{Answer, GOALS, digits};
use std::path::Path;
use xoff_units::Bytes;

const BEGIN: &str = "<!-- written by crates/workload/tests/published: begin -->\n";
const END: &str = "<!-- written by crates/workload/tests/published: end -->\n";

/// The document.
pub(crate) struct Page {
    text: String,
}

impl Page {
    pub(crate) fn read(path: &Path) -> Self {
        Self { text: std::fs::read_to_string(path).expect("the document") }
    }

    /// What is before the tables, the tables, and what is behind them.
    fn parts(&self) -> (&str, &str, &str) {
        let begin = self.text.find(BEGIN).expect("a mark where the tables begin") + BEGIN.len();
        let end = self.text.find(END).expect("a mark where they end");
        (&self.text[..begin], &self.text[begin..end], &self.text[end..])
    }

    pub(crate) fn tables(&self) -> &str {
        self.parts().1
    }

    pub(crate) fn write(&self, path: &Path, tables: &str) {
        let (before, _, after) = self.parts();
        std::fs::write(path, [before, tables, after].concat()).expect("the document is written");
    }

    /// What the document says of a row.
    pub(crate) fn answer(&self, series: &Series, row: &Row) -> Option<Answer> {
        let (_, own) = self.tables().split_once(&heading(series))?;
        let start = start(row);
        let line = own.lines().take_while(|line| !line.starts_with('#'));
        let mut cells = line.into_iter().find_map(|line| line.strip_prefix(&start))?.split(" | ");
        let (_published, ours, _error) = (cells.next()?, cells.next()?, cells.next()?);
        let by = cells.next()?.trim_end_matches(" |");
        Some(Answer { by: by.to_owned(), ours: ours.to_owned() })
    }
}

fn heading(series: &Series) -> String {
    format!("#### {}\n", series.name)
}

/// How the line of a row begins.
fn start(row: &Row) -> String {
    format!("| {} | {} | ", row.gpus, Bytes::new(row.size))
}

/// The tables: one of all series, then one of each.
pub(crate) fn tables(answers: &[Vec<Answer>]) -> String {
    let all: Vec<(&Series, &Vec<Answer>)> = SERIES.iter().zip(answers).collect();
    let mut text = "\n| series | profile | below 1 MiB, factor | 1 to 64 MiB | above 64 MiB |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for (series, answers) in &all {
        let bands = series.errors(answers);
        let cells: Vec<String> = (0..3).map(|band| cell(band, bands[band])).collect();
        text += &format!("| {} | `{}` | {} |\n", series.name, series.profile, cells.join(" | "));
    }
    for (series, answers) in all {
        text += &format!("\n{}\n{}.\n\n", heading(series), series.source);
        let unit = match series.unit {
            Unit::Time => "us",
            Unit::Bandwidth => "GB/s",
        };
        text += &format!(
            "| GPUs | size | published, {unit} | ours | error | by |\n\
             | --- | --- | --- | --- | --- | --- |\n"
        );
        for (row, answer) in series.rows.iter().zip(answers) {
            let ours: f64 = answer.ours.parse().expect("a number");
            text += &format!(
                "{}{} | {} | {:+.1} % | {} |\n",
                start(row),
                digits(row.published),
                answer.ours,
                (ours / row.published - 1.0) * 100.0,
                answer.by
            );
        }
    }
    text + "\n"
}

/// An error, in bold where it misses its goal.
fn cell(band: usize, error: Option<f64>) -> String {
    let Some(error) = error else { return String::new() };
    let text = match band {
        0 => format!("{error:.2}"),
        _ => format!("{:.1} %", error * 100.0),
    };
    if error <= GOALS[band] { text } else { format!("**{text}**") }
}
