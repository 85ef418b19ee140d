//! `xoff audit --simulate`: what the mistakes do, measured. The fabric is run as it is configured
//! and as it is meant, and both are put side by side.

use crate::exit::{Failure, Level, say};
use crate::output::number::microseconds;
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{self, stdout_width};
use serde::Serialize;
use xoff_config::{Device, Intent};
use xoff_fabric::FabricSetup;
use xoff_fabric::scenario::{Fault, NodeRef, Workload};
use xoff_validate::configured::{AsConfigured, as_configured};
use xoff_validate::measure::measure_on;
use xoff_validate::suite::{Choice, suite};
use xoff_validate::{Experiment, Measurement, Phase};

/// What mistakes cost.
#[derive(Debug, Serialize)]
pub(super) struct Effects {
    /// Differences that were run.
    applied: Vec<String>,
    /// Differences that the model does not have.
    left_out: Vec<String>,
    rows: Vec<Row>,
}

/// One experiment, both ways.
#[derive(Debug, Serialize)]
struct Row {
    experiment: String,
    configured: Figures,
    meant: Figures,
}

#[derive(Debug, Serialize)]
struct Figures {
    complete: bool,
    last_us: f64,
    pauses: u64,
    marks: u64,
    drops: u64,
    retransmitted: u64,
}

impl Figures {
    fn of(measured: &Measurement) -> Self {
        let totals = measured.totals;
        Self {
            complete: measured.is_complete(),
            last_us: measured.last_flow_us(),
            pauses: totals.xoff,
            marks: totals.marks,
            drops: totals.lossless_drops + totals.lossy_drops + totals.wire_drops,
            retransmitted: totals.retransmitted,
        }
    }
}

/// Experiments that show what misconfiguration does: load, incast, and senders that do not slow
/// down.
const SHOWN: [&str; 4] = ["permutation", "incast-8", "incast-64", "flood"];

/// Runs the fabric as it is configured and as it is meant.
pub(super) fn effects(
    setup: &FabricSetup,
    intent: &Intent,
    devices: &[Device],
) -> Result<Effects, Failure> {
    let AsConfigured { beside, applied, left_out, .. } =
        as_configured(&setup.fabric, intent, devices);
    let target = beside.map(|nic| NodeRef::Name(setup.fabric.nics[nic.index()].name.clone()));
    let choice = Choice { phases: vec![Phase::Synthetic], quick: true };
    let mut rows = Vec::new();
    for mut experiment in suite(&setup.fabric, &choice) {
        if !SHOWN.contains(&experiment.id.as_str()) || applied.is_empty() {
            continue;
        }
        for workload in &mut experiment.scenario.workloads {
            if let Workload::Incast(incast) = workload {
                incast.target = target.clone();
            }
        }
        say(Level::Note, &format!("running {}, as configured and as meant", experiment.id));
        // What an experiment changes lies below what is wrong with the devices.
        let meant = setup.overridden(&experiment.scenario.overrides).map_err(|found| {
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            Failure::rule(found.join("; "))
        })?;
        let real = as_configured(&meant.fabric, intent, devices);
        let mut configured = meant.clone();
        configured.fabric = real.fabric;
        rows.push(Row {
            experiment: experiment.id.clone(),
            configured: run(&experiment, &configured, &real.faults)?,
            meant: run(&experiment, &meant, &[])?,
        });
    }
    Ok(Effects { applied, left_out, rows })
}

fn run(experiment: &Experiment, setup: &FabricSetup, faults: &[Fault]) -> Result<Figures, Failure> {
    let mut scenario = experiment.scenario.clone();
    scenario.faults.extend_from_slice(faults);
    let mut no_files = |_: &str| Err(std::io::Error::other("experiments have no files"));
    let measured = measure_on(experiment, &scenario, setup, 1, &mut no_files, &mut |_| true);
    measured
        .map(|measured| Figures::of(&measured))
        .map_err(|error| Failure::rule(error.to_string()))
}

/// Shows them.
pub(super) fn show(effects: &Effects) -> Result<(), Failure> {
    let style = Style::stdout();
    let mut text = format!("\n{}\n", style.bold("What it does, simulated"));
    for what in effects.applied.iter().take(10) {
        text += &format!("  {}\n", output::printable(what));
    }
    if effects.applied.len() > 10 {
        text += &format!("  and {} more\n", effects.applied.len() - 10);
    }
    if !effects.left_out.is_empty() {
        text +=
            &format!("  not in the model: {}\n", output::printable(&effects.left_out.join("; ")));
    }
    if effects.applied.is_empty() {
        text += "  nothing that the model has differs from what is meant\n";
        return output::stdout(&text);
    }
    let columns = [
        ("experiment", Align::Left),
        ("", Align::Left),
        ("last flow", Align::Right),
        ("pauses", Align::Right),
        ("marks", Align::Right),
        ("drops", Align::Right),
        ("sent again", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for row in &effects.rows {
        table.row(cells(&row.experiment, "as configured", &row.configured));
        table.row(cells("", "as meant", &row.meant));
    }
    text.push('\n');
    text += &table.render(stdout_width(), style);
    output::stdout(&text)
}

fn cells(experiment: &str, which: &str, figures: &Figures) -> Vec<String> {
    let last = match figures.complete {
        true => microseconds(figures.last_us),
        false => "never".to_owned(),
    };
    let counts = [figures.pauses, figures.marks, figures.drops, figures.retransmitted];
    let words = [experiment.to_owned(), which.to_owned(), last];
    words.into_iter().chain(counts.map(|count| count.to_string())).collect()
}
