//! Rows of PARAM: `COMMS-RES-all_reduce-float32  SIZE  ELEMENTS  p50 p75 p95 Min Max AlgBW BusBW ...`, with a head that
//! begins with `COMMS-RES`, too.

use super::{Kind, Measured, Notes, Row, Series, sample};
use xoff_units::Bytes;

pub(super) fn read(text: &str) -> Measured {
    let mut notes = Notes::default();
    let mut all: Vec<Series> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some(at) = line.find("COMMS-RES") else { continue };
        let words: Vec<&str> = line[at..].split_whitespace().collect();
        // The head has words where rows have figures.
        let figures: Option<Vec<f64>> = words[1..].iter().map(|word| word.parse().ok()).collect();
        let Some(figures) = figures.filter(|figures| !figures.is_empty()) else { continue };
        let (Some(kind), [size, _, median, _, _, _, _, algorithm, bus, ..]) =
            (kind(words[0]), &figures[..])
        else {
            notes.add("a row of a collective or with columns that are not known", Some(number));
            continue;
        };
        let size = Bytes::new(*size as u64);
        let Some(sample) = sample(size, *median, Some(*algorithm), *bus, None) else {
            notes.add("a row whose time and bandwidths contradict each other", Some(number));
            continue;
        };
        if all.last().is_none_or(|series| series.collective != Some(kind)) {
            all.push(Series { collective: Some(kind), ..Series::new() });
        }
        if let Some(series) = all.last_mut() {
            series.rows.push(Row { size, out_of_place: Some(sample), in_place: None });
        }
    }
    Measured { series: all, notes: notes.0 }
}

/// The collective of `COMMS-RES-all_reduce-float32`.
fn kind(tag: &str) -> Option<Kind> {
    Kind::named(tag.strip_prefix("COMMS-RES-")?.split('-').next()?)
}
