//! Random faults on random fabrics: whether their counters lead to what was broken.
//!
//! Every case is a function of its seed. Half of the fault is traffic as usual, then something breaks. `campaign` is the long
//! one; `XOFF_CAMPAIGN=500` says how many cases, `XOFF_FAULT=Nothing` takes those of one fault, and `XOFF_SEED=17` runs one and
//! prints what was found.

mod broken;
mod case;
mod fault;
mod table;
mod traffic;

use case::{Case, Data};
use fault::Fault;
use table::Table;
use xoff_telemetry::recording::Place;

/// Detectors were tuned on seeds below this: those from here on are held out.
const HELD_OUT: u64 = 1_000;

/// A table for each kind of data.
fn campaign(seeds: impl Iterator<Item = u64>, data: &[Data]) -> Vec<Table> {
    let mut tables: Vec<Table> = data.iter().map(|_| Table::default()).collect();
    for seed in seeds {
        let case = Case::new(seed);
        let readings = case.readings();
        for (table, data) in tables.iter_mut().zip(data) {
            table.add(&case, &case.diagnose(&readings, *data));
        }
    }
    tables
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A bounded part of the campaign, on seeds that nothing was tuned on.
#[test]
fn counters_lead_to_the_cause() {
    // Four seeds of each fault.
    let tables = campaign(HELD_OUT..HELD_OUT + 100, &[Data::All]);
    println!("{}", tables[0]);
    let (first, all) = tables[0].first(Fault::is_fault);
    assert!(first * 100 >= all * 95, "{first} of {all}");
    let (quiet, sound) = tables[0].first(|fault| !fault.is_fault());
    assert_eq!(quiet, sound, "something was found where nothing is wrong");
}

/// The whole campaign.
#[test]
#[ignore = "takes minutes: run with --release -- --ignored --nocapture"]
fn whole_campaign() {
    if let Some(seed) = number("XOFF_SEED") {
        let case = Case::new(seed);
        println!("{case}");
        let readings = case.readings();
        for reading in &readings.list {
            if let Place::Job { job } = readings.places.get(reading.key.place) {
                println!("{job}: {} {}", reading.key.metric.name(), reading.value);
            }
        }
        let diagnosis = case.diagnose(&readings, Data::All);
        for finding in &diagnosis.findings {
            println!("{} {} {:?}", finding.cause.name(), finding.place, finding.confidence);
            finding.evidence.iter().for_each(|line| println!("    {line}"));
        }
        return;
    }
    let cases = number("XOFF_CAMPAIGN").unwrap_or(500);
    let half = cases / 2;
    let fault = std::env::var("XOFF_FAULT").ok();
    let asked = |seed: &u64| fault.as_ref().is_none_or(|name| *name == Fault::of(*seed).name());
    for (seeds, words) in [(0..half, "tuned on"), (HELD_OUT..HELD_OUT + half, "held out")] {
        for (table, data) in campaign(seeds.filter(asked), &Data::ALL).iter().zip(Data::ALL) {
            println!("{words}: {}\n{table}", data.words());
        }
    }
}
