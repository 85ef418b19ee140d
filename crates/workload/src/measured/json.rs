//! The JSON that nccl-tests writes with `-J`.
//!
//! It says of itself that `env` holds the whole environment of the process: nothing of that is read.

use super::{Kind, Measured, MeasuredError, Notes, Row, Sample, Series, sample};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use xoff_units::Bytes;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    args: Value,
    #[serde(default)]
    devices: Vec<Value>,
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    size: Value,
    #[serde(default)]
    redop: Value,
    #[serde(default)]
    root: Value,
    out_of_place: Option<Half>,
    in_place: Option<Half>,
}

#[derive(Deserialize)]
struct Half {
    time: Value,
    #[serde(default)]
    alg_bw: Value,
    bus_bw: Value,
    #[serde(default)]
    nwrong: Value,
}

pub(super) fn read(text: &str) -> Result<Measured, MeasuredError> {
    let file: File = serde_json::from_str(text).map_err(|error| {
        MeasuredError(format!(
            "line {}: no JSON of nccl-tests ({error}): expected what `-J FILE` writes, with `results`",
            error.line()
        ))
    })?;
    let mut notes = Notes::default();
    let mut series = Series::new();
    series.collective = program(&file.args).as_deref().and_then(Kind::named);
    let hosts: BTreeSet<&str> = file
        .devices
        .iter()
        .filter_map(|device| device.get("host").or(device.get("hostname"))?.as_str())
        .collect();
    series.ranks = u32::try_from(file.devices.len()).ok().filter(|&ranks| ranks > 0);
    series.hosts = u32::try_from(hosts.len()).ok().filter(|&hosts| hosts > 0);
    let (mut reduces, mut rooted) = (false, false);
    for entry in &file.results {
        let Some(size) = number(&entry.size).filter(|size| *size >= 1.0) else { continue };
        let size = Bytes::new(size as u64);
        reduces |= entry.redop.as_str().is_some_and(|redop| redop.trim() != "none");
        rooted |= number(&entry.root).is_some_and(|root| root >= 0.0);
        let half = |half: &Option<Half>| half.as_ref().and_then(|half| half.sample(size));
        let (out_of_place, in_place) = (half(&entry.out_of_place), half(&entry.in_place));
        if [out_of_place, in_place].into_iter().flatten().any(|s| s.wrong.unwrap_or(0) > 0) {
            notes.add("a row with wrong values", None);
        }
        match (out_of_place, in_place) {
            (None, None) => {
                notes.add("a row whose time and bandwidths contradict each other", None)
            }
            _ => series.rows.push(Row { size, out_of_place, in_place }),
        }
    }
    series.recognise(reduces, rooted);
    Ok(Measured { series: vec![series], notes: notes.0 })
}

impl Half {
    fn sample(&self, size: Bytes) -> Option<Sample> {
        let wrong = number(&self.nwrong).filter(|wrong| *wrong >= 0.0).map(|wrong| wrong as u64);
        sample(size, number(&self.time)?, number(&self.alg_bw), number(&self.bus_bw)?, wrong)
    }
}

/// A number, or a text that is one: roots are padded with blanks, NaN is a word.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        _ => value.as_f64(),
    }
}

/// The program of a list of arguments, or of a line of them.
fn program(args: &Value) -> Option<String> {
    let first = match args {
        Value::Array(all) => all.first()?.as_str()?,
        Value::String(line) => line.split_whitespace().next()?,
        _ => return None,
    };
    first.rsplit('/').next().map(str::to_owned)
}
