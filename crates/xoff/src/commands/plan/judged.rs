//! `--validate`: the small validation of the design and of each alternative that a fabric file can
//! describe, so that a step's time stands beside its price.
//!
//! It only asks `xoff_validate` for its experiments, runs them and shows the verdict; what is judged
//! and how is decided there.

use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::pool;
use indicatif::ProgressBar;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use xoff_fabric::{catalogue::Catalogue, load_fabric};
use xoff_plan::{Network, Plan, Prices, plan};
use xoff_report::{Unit, Verdict};
use xoff_validate::suite::TRAINING_STEP;
use xoff_validate::{Choice, Evidence, MeasureError, Measurement, judge, measure, suite};

/// A design and what its validation found.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Judged {
    /// `planned`, or what is different.
    pub(super) name: String,
    /// The worst of all checks.
    verdict: Option<Verdict>,
    /// Checks that fail.
    failed: u64,
    /// How long a training step took, and without a network's troubles.
    step_us: Option<(f64, f64)>,
    /// Why there is no verdict.
    refused: Option<String>,
}

/// A figure of a validated design, by its name.
type Figure = (&'static str, fn(&Judged) -> String);

impl Judged {
    /// What stands beside the figures of designs.
    pub(super) const FIGURES: [Figure; 3] = [
        ("verdict", |judged| match judged.verdict {
            Some(Verdict::Fail) => format!("fail ({})", judged.failed),
            Some(verdict) => verdict.name().to_owned(),
            None => "-".to_owned(),
        }),
        ("step time", |judged| {
            judged.step_us.map_or("-".to_owned(), |(time, _)| Unit::Seconds.show(time / 1e6))
        }),
        ("of the ideal", |judged| {
            let times = judged.step_us.filter(|(_, ideal)| *ideal > 0.0);
            times.map_or("-".to_owned(), |(time, ideal)| format!("{:.2} x", time / ideal))
        }),
    ];

    fn without(name: &str, why: String) -> Self {
        let name = name.to_owned();
        Self { name, verdict: None, failed: 0, step_us: None, refused: Some(why) }
    }
}

/// Validates a plan and its alternatives, one after the other.
pub(super) fn judge_all(made: &Plan, prices: &Prices) -> Result<Vec<Judged>, Failure> {
    let interrupt = Interrupt::listen();
    let catalogue = Catalogue::built_in();
    let mut list = vec![one("planned", &made.fabric_toml(), &interrupt)?];
    for other in &made.alternatives {
        let Some(design) = &other.design else { continue };
        if design.network == Network::Infiniband {
            let why = "its fabric file would need settings that are not planned".to_owned();
            list.push(Judged::without(&other.change, why));
            continue;
        }
        match plan(&other.wish, made.floor, &catalogue, prices) {
            Ok(other_plan) => list.push(one(&other.change, &other_plan.fabric_toml(), &interrupt)?),
            Err(refusal) => list.push(Judged::without(&other.change, refusal.message)),
        }
    }
    Ok(list)
}

fn one(name: &str, text: &str, interrupt: &Interrupt) -> Result<Judged, Failure> {
    let Some(setup) = load_fabric(text).value else {
        return Ok(Judged::without(name, "its fabric file is refused by `xoff check`".to_owned()));
    };
    let choice = Choice { quick: true, ..Choice::default() };
    let experiments = suite(&setup.fabric, &choice);
    let unchanged = toml::Table::new();
    let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(experiments.len() as u64));
    let results = pool::each(&experiments, None, |experiment| {
        if let Some(bar) = &bar {
            bar.set_message(format!("{name}: {}", experiment.title));
            bar.inc(1);
        }
        let mut go_on = |_: &_| !interrupt.requested();
        match measure(experiment, text, 1, &unchanged, &mut go_on) {
            Err(MeasureError::Interrupted) => ControlFlow::Break(None),
            Ok(measured) => ControlFlow::Continue(Some(Ok(measured))),
            Err(error) => ControlFlow::Continue(Some(Err(error.to_string()))),
        }
    });
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    if interrupt.requested() {
        return Err(Failure::silent(Exit::Interrupted));
    }
    let mut measured: BTreeMap<String, Measurement> = BTreeMap::new();
    let mut refused: BTreeMap<String, String> = BTreeMap::new();
    for (experiment, result) in results {
        let id = experiment.id.clone();
        match result {
            Some(Ok(figures)) => drop(measured.insert(id, figures)),
            Some(Err(why)) => drop(refused.insert(id, why)),
            None => {}
        }
    }
    let evidence = Evidence { setup: &setup, text, measured: &measured, refused: &refused };
    let checks = judge(&evidence, &choice);
    // Steps under failures are no measure of a design's speed.
    let healthy = measured.iter().filter(|(id, _)| id.as_str() == TRAINING_STEP);
    let steps = healthy.flat_map(|(_, figures)| &figures.steps);
    Ok(Judged {
        name: name.to_owned(),
        verdict: Verdict::worst(checks.iter().map(|check| check.verdict)),
        failed: checks.iter().filter(|check| check.verdict == Verdict::Fail).count() as u64,
        step_us: { steps }.next().map(|step| (step.time_us, step.ideal_us)),
        refused: None,
    })
}
