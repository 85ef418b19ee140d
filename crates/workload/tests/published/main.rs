//! Every published series beside what the model says of it, with one profile per system.
//!
//! The tables of `docs/collectives.md` are made here: a test that finds others there fails. Sizes that take long are taken from the
//! document, and checked by the tests that are ignored otherwise. To write the tables anew:
//! `XOFF_WRITE_TABLES=1 cargo test -p xoff-workload --test published -- --include-ignored`.

mod page;
mod series;

use page::Page;
use series::{Row, SERIES, Series, Unit};
use std::path::PathBuf;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Workload;
use xoff_units::{Bytes, Instant};
use xoff_workload::calibrate::{self, PROFILE_ERRORS, ProfileError, Task};
use xoff_workload::collective::{Collective, Figures};
use xoff_workload::ideal::{self, Paths};
use xoff_workload::programs;

/// Errors that are asked for: a factor below 1 MiB, shares from there to 64 MiB and above.
const GOALS: [f64; 3] = [1.5, 0.25, 0.10];

/// What the model says of a row.
#[derive(Debug, Clone, PartialEq)]
struct Answer {
    /// The algorithm that was taken.
    by: String,
    /// In the unit of the series, as it is printed.
    ours: String,
}

impl Series {
    fn fabric(&self, gpus: u32) -> Fabric {
        // `cluster` may end with other tables.
        let text = format!(
            "[collectives]\nprofile = '{}'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n\
             [cluster]\ngpus = {gpus}\n{}",
            self.profile, self.cluster
        );
        let fabric = Fabric::from_toml(&text).expect("a sound fabric");
        fabric.with_aggregators().expect("ports for sums")
    }

    fn workloads(&self, size: u64) -> Vec<Workload> {
        let text = format!("[[workload]]\nkind = '{}'\nsize = '{size}B'\n", self.kind);
        let table: toml::Table = toml::from_str(&(text + self.workload)).expect("a workload");
        table["workload"].clone().try_into().expect("a workload")
    }

    /// As `xoff run` would do it on this fabric, with the network at rest.
    fn answer(&self, row: &Row) -> Answer {
        let fabric = self.fabric(row.gpus);
        let jobs = programs(&self.workloads(row.size), &fabric, 1).expect("a job");
        let run = jobs[0].runs[0];
        let mut program = jobs[0].program(&run).expect("a program");
        let outcome = ideal::run_on_paths(&mut program, &Paths::new(&fabric)).expect("an end");
        let time = outcome.end.since(Instant::ZERO);
        let ours = match self.unit {
            Unit::Time => time.as_us_f64(),
            Unit::Bandwidth => {
                Figures::new(run.collective, run.size, row.gpus, time).bus_bandwidth / 1e9
            }
        };
        Answer { by: run.algorithm.name().to_owned(), ours: digits(ours) }
    }

    fn is_slow(&self, row: &Row) -> bool {
        u64::from(row.gpus) * row.size > 64 << 30
    }

    /// The mean error of each band, where it has rows.
    fn errors(&self, answers: &[Answer]) -> [Option<f64>; 3] {
        let mut sums = [(0.0, 0u32); 3];
        for (row, answer) in self.rows.iter().zip(answers) {
            let ratio = answer.ours.parse::<f64>().expect("a number") / row.published;
            let band = band(row.size);
            let error = if band == 0 { ratio.ln().abs() } else { (ratio - 1.0).abs() };
            sums[band].0 += error;
            sums[band].1 += 1;
        }
        let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
        let [small, middle, large] = sums.map(mean);
        [small.map(f64::exp), middle, large]
    }
}

/// Below 1 MiB, up to 64 MiB, above.
fn band(size: u64) -> usize {
    usize::from(size >= 1 << 20) + usize::from(size > 64 << 20)
}

/// Three digits: more are not published.
fn digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// All answers; those that take long are the document's unless `slow`.
fn answers(page: &Page, slow: bool) -> Vec<Vec<Answer>> {
    let of = |series: &Series| {
        let answer = |row: &Row| match series.is_slow(row) && !slow {
            true => page.answer(series, row).expect("a row of the document"),
            false => series.answer(row),
        };
        series.rows.iter().map(answer).collect()
    };
    SERIES.iter().map(of).collect()
}

fn document() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/collectives.md")
}

fn check(slow: bool) {
    let writes = std::env::var_os("XOFF_WRITE_TABLES").is_some();
    // Both tests at once: one of them writes.
    if writes && !slow {
        return;
    }
    let page = Page::read(&document());
    let answers = answers(&page, slow);
    let tables = page::tables(&answers);
    if writes {
        page.write(&document(), &tables);
    } else {
        for (line, own) in page.tables().lines().zip(tables.lines()) {
            assert_eq!(line, own, "the document says what the model does not");
        }
        assert_eq!(page.tables(), tables);
    }
    check_catalogue(&answers);
    let mut wrong = Vec::new();
    for (series, answers) in SERIES.iter().zip(&answers) {
        for ((error, goal), bound) in series.errors(answers).iter().zip(GOALS).zip(series.bounds) {
            let Some(error) = *error else { continue };
            let name = series.name;
            match bound {
                Some(_) if error <= goal => wrong.push(format!("{name}: {error} meets {goal}")),
                Some(bound) if error <= bound => {}
                None if error <= goal => {}
                _ => wrong.push(format!("{name}: {error} is more than {bound:?} of {goal}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The errors that `xoff catalogue collectives` shows are these.
fn check_catalogue(answers: &[Vec<Answer>]) {
    let own = SERIES.iter().zip(answers).map(|(series, answers)| {
        let [small, middle, large] = series.errors(answers);
        let rounded =
            |error: Option<f64>, digits: f64| error.map(|e| (e * digits).round() / digits);
        ProfileError {
            profile: series.profile,
            series: series.name,
            small: rounded(small, 100.0),
            middle: rounded(middle, 1000.0),
            large: rounded(large, 1000.0),
        }
    });
    let own: Vec<ProfileError> = own.collect();
    assert_eq!(PROFILE_ERRORS.as_slice(), own, "calibrate/shipped.rs says what the model does not");
}

/// A profile is shipped with its error.
#[test]
fn every_profile_of_the_catalogue_has_an_error() {
    let catalogue = xoff_fabric::catalogue::Catalogue::built_in();
    for name in catalogue.collectives.keys() {
        let bands = |error: &ProfileError| [error.small, error.middle, error.large];
        assert!(ProfileError::of(name).any(|e| bands(e).iter().any(Option::is_some)), "{name}");
    }
}

/// Each band of each series meets its goal, or has no more than the error that it is known to have.
#[test]
fn errors_are_those_of_the_document() {
    check(false);
}

#[test]
#[ignore = "takes minutes"]
fn errors_are_those_of_the_document_also_where_it_takes_long() {
    check(true);
}

/// The mean error of the sizes of a series that a [fit to half of them](calibrate::is_of_the_half) has not seen. Sizes above
/// `most` are left out.
fn error_of_unseen(series: &Series, most: u64) -> f64 {
    let gpus = series.rows[0].gpus;
    let fabric = series.fabric(gpus);
    let own = series.rows.iter().filter(|row| row.gpus == gpus && row.size <= most);
    let rows: Vec<(Bytes, f64)> =
        own.map(|row| (Bytes::new(row.size), time(series, row))).collect();
    let is_seen = |at: usize| calibrate::is_of_the_half(at, rows.len());
    let (known, unseen): (Vec<_>, Vec<_>) =
        rows.iter().copied().enumerate().partition(|(at, _)| is_seen(*at));
    let known: Vec<(Bytes, f64)> = known.into_iter().map(|(_, row)| row).collect();
    let collective = programs(&series.workloads(1 << 20), &fabric, 1).expect("a job");
    let collective = collective[0].runs[0].collective;
    let task = Task { fabric: &fabric, collective, ranks: gpus, hosts: None, times: &known };
    let fit = calibrate::fit(&task, &mut |_| true).expect("a fit");
    let mut errors = Vec::new();
    for &(_, (size, measured)) in &unseen {
        let (ours, _) = calibrate::time(&task, size, fit.cost, fit.channels).expect("a time");
        let error = ours / measured - 1.0;
        println!("{size}: {ours:.1} us for {measured:.1} us, {:+.1} %", error * 100.0);
        errors.push(error.abs());
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    println!("{}: {mean:.3} predicted, {:.3} fitted", series.name, fit.error().1);
    mean
}

/// Fitted to every other size, the rest is predicted.
#[test]
fn sizes_that_were_not_seen_are_predicted() {
    let series = SERIES.iter().find(|series| series.profile == "a100-roce").expect("a series");
    let mean = error_of_unseen(series, 16 << 20);
    assert!(mean < 0.1, "{mean}");
}

/// The same of every series with enough sizes.
#[test]
#[ignore = "takes minutes"]
fn sizes_of_every_series_that_were_not_seen_are_predicted() {
    let only = std::env::var("XOFF_SERIES").unwrap_or_default();
    for series in SERIES.iter().filter(|series| series.name.contains(&only)) {
        let gpus = series.rows[0].gpus;
        if series.rows.iter().filter(|row| row.gpus == gpus && row.size <= 1 << 30).count() >= 6 {
            let mean = error_of_unseen(series, 1 << 30);
            assert!(mean < 0.1, "{}: {mean}", series.name);
        }
    }
}

/// Prints costs that explain a series, for the catalogue: `XOFF_FIT="part of its name"`.
#[test]
#[ignore = "prints a profile; takes minutes"]
fn fitted() {
    let Some(name) = std::env::var_os("XOFF_FIT") else { return };
    let name = name.to_string_lossy();
    for series in SERIES.iter().filter(|series| series.name.contains(&*name)) {
        let gpus = series.rows[0].gpus;
        let fabric = series.fabric(gpus);
        let rows = series.rows.iter().filter(|row| row.gpus == gpus && row.size <= 1 << 30);
        let times: Vec<(Bytes, f64)> =
            rows.map(|row| (Bytes::new(row.size), time(series, row))).collect();
        let task = Task {
            fabric: &fabric,
            collective: Collective::AllReduce,
            ranks: gpus,
            hosts: Some(gpus / 8),
            times: &times,
        };
        let fit = calibrate::fit(&task, &mut |_| true).expect("a fit");
        println!("{}: {:?}\n{:#?} {:?}", series.name, fit.error(), fit.cost, fit.channels);
        for row in &fit.rows {
            println!("{} {} {:.1} {:.1}", row.size, row.algorithm.name(), row.measured, row.fitted);
        }
    }
}

/// Microseconds of a published row of an AllReduce.
fn time(series: &Series, row: &Row) -> f64 {
    let n = f64::from(row.gpus);
    match series.unit {
        Unit::Time => row.published,
        Unit::Bandwidth => row.size as f64 * 2.0 * (n - 1.0) / n / row.published / 1e3,
    }
}
