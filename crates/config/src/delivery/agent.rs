//! What an agent on a switch needs that moves ECN thresholds: a JSON file per switch with the readings' pace, the constants of the
//! rule and a table of thresholds for each queue, in integers. `docs/adaptive.md` has the rule.
//!
//! The tables have the very values that the switch model of the simulator takes at each step. The static thresholds, step
//! 0, are in the switch's own file as well: that is what it has without an agent.

use super::NOT_READ;
use crate::intent::names;
use crate::system::{Rendered, SystemId};
use serde::Serialize;
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Adaptive, Ecn, Fabric, Switch};
use xoff_fabric::rules::adaptive::{Bounds, Level};
use xoff_units::{Rate, Ratio, Span};

/// The folder of the files.
pub const FOLDER: &str = "agent";

/// What files of this form are called. Another number here: an agent for these does not understand them.
const FORM: &str = "xoff ECN agent 1";

/// The file of a switch.
#[derive(Debug, Serialize)]
struct Document<'a> {
    form: &'static str,
    note: &'static str,
    switch: &'a str,
    system: &'static str,
    /// Between two readings.
    interval_ns: u64,
    /// From a reading until all queues have their new thresholds, at most.
    within_ns: u64,
    /// Counters that are older than this say nothing: static thresholds.
    stale_after_ns: u64,
    rule: Rule,
    queues: Vec<Queues>,
}

/// The constants of the rule.
#[derive(Debug, Serialize)]
struct Rule {
    utilisation_permille: u64,
    marks_permille: u64,
    up: u8,
    down: u8,
    overload: u8,
    hold: u8,
    quiet: u8,
}

/// Queues with the same thresholds.
#[derive(Debug, Serialize)]
struct Queues {
    ports: Vec<String>,
    #[serde(flatten)]
    table: Table,
}

/// Where the thresholds of a queue may be.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Table {
    class: usize,
    rate_bps: u64,
    /// By step, the lowest first; step 0 has the static ones.
    thresholds: Vec<Thresholds>,
    /// The same of the probability.
    probabilities: Vec<Probability>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Thresholds {
    step: i8,
    kmin_bytes: u64,
    kmax_bytes: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Probability {
    step: i8,
    pmax_ppm: u64,
}

/// The files of all switches that mark; none if the fabric has no controller. `choose` says what system a switch runs.
pub fn files(setup: &FabricSetup, choose: impl Fn(&Switch) -> SystemId) -> Vec<Rendered> {
    let fabric = &setup.fabric;
    let Some(adaptive) = &fabric.adaptive else { return Vec::new() };
    let names = names(setup, &choose);
    let mut files = Vec::new();
    for switch in &fabric.switches {
        let port = |port: u32| names[port as usize].port.as_str().to_owned();
        let queues = queues(fabric, switch, Bounds::new(adaptive), port);
        if !queues.is_empty() {
            let document = document(adaptive, switch, choose(switch), queues);
            // Plain data with text keys always has a form in JSON.
            let text = serde_json::to_string_pretty(&document).unwrap_or_default() + "\n";
            files.push(Rendered { name: format!("{FOLDER}/{}.json", switch.name), text });
        }
    }
    files
}

fn document<'a>(
    adaptive: &Adaptive,
    switch: &'a Switch,
    system: SystemId,
    queues: Vec<Queues>,
) -> Document<'a> {
    let ns = |span: Span| span.as_ps() / 1_000;
    let marking: usize = queues.iter().map(|queues| queues.ports.len()).sum();
    let each = ns(adaptive.cost).saturating_mul(marking as u64);
    let permille = |share: Ratio| share.of(1_000);
    let policy = &adaptive.policy;
    Document {
        form: FORM,
        note: NOT_READ,
        switch: &switch.name,
        system: system.name(),
        interval_ns: ns(adaptive.interval),
        within_ns: ns(adaptive.delay).saturating_add(each),
        stale_after_ns: ns(adaptive.interval).saturating_mul(2),
        rule: Rule {
            utilisation_permille: permille(policy.utilisation),
            marks_permille: permille(policy.marks),
            up: policy.up,
            down: policy.down,
            overload: policy.overload,
            hold: policy.hold,
            quiet: policy.quiet,
        },
        queues,
    }
}

/// The queues of a switch that mark.
fn queues(
    fabric: &Fabric,
    switch: &Switch,
    bounds: Bounds,
    name: impl Fn(u32) -> String,
) -> Vec<Queues> {
    let mut all: Vec<Queues> = Vec::new();
    for number in switch.ports.clone() {
        let port = &fabric.ports[number as usize];
        for (class, settings) in port.classes.iter().enumerate() {
            let Some(ecn) = settings.ecn else { continue };
            let rate = fabric.cables[port.cable.index()].rate;
            let table = Table::of(class, rate, ecn, bounds);
            match all.iter_mut().find(|queues| queues.table == table) {
                Some(queues) => queues.ports.push(name(number)),
                None => all.push(Queues { ports: vec![name(number)], table }),
            }
        }
    }
    all
}

impl Table {
    fn of(class: usize, rate: Rate, ecn: Ecn, bounds: Bounds) -> Self {
        let thresholds = |level: Level| {
            let Ecn { kmin, kmax, .. } = level.applied(ecn);
            Thresholds { step: level.thresholds, kmin_bytes: kmin.get(), kmax_bytes: kmax.get() }
        };
        let probability = |level: Level| Probability {
            step: level.pmax,
            pmax_ppm: level.applied(ecn).pmax.of(1_000_000),
        };
        Self {
            class,
            rate_bps: rate.bps(),
            thresholds: bounds.thresholds().map(thresholds).collect(),
            probabilities: bounds.pmax().map(probability).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_fabric::load_fabric;

    const FABRIC: &str = "[cluster]\nhosts = 4\nnic = \"generic-100g\"\n\
                          [fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
                          [ecn]\nat = \"100Gbps\"\nkmin = \"100KB\"\nkmax = \"400KB\"\npmax = 0.2\n";

    fn made(more: &str) -> Vec<Rendered> {
        let setup = load_fabric(&format!("{FABRIC}{more}")).into_result().unwrap();
        files(&setup, |_| SystemId::Sonic)
    }

    #[test]
    fn an_agent_gets_the_thresholds_of_every_queue_that_marks() {
        assert!(made("").is_empty(), "thresholds that stay need no agent");
        let more = "[ecn.adaptive]\ninterval = \"1ms\"\nlowest = \"1/2\"\nhighest = 2\nhold = 5\n";
        let files = made(more);
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names.len(), 4, "{names:?}");
        let leaf = files.iter().find(|file| file.name == "agent/leaf0.json").unwrap();
        assert!(leaf.text.lines().take(5).any(|line| line.contains(NOT_READ)), "{}", leaf.text);
        let leaf: serde_json::Value = serde_json::from_str(&leaf.text).unwrap();
        assert_eq!(
            (&leaf["interval_ns"], &leaf["stale_after_ns"]),
            (&1_000_000.into(), &2_000_000.into())
        );
        assert_eq!(
            (&leaf["rule"]["hold"], &leaf["rule"]["marks_permille"]),
            (&5.into(), &50.into())
        );
        let queues = leaf["queues"].as_array().unwrap();
        let ports: usize = queues.iter().map(|own| own["ports"].as_array().unwrap().len()).sum();
        // 50 us, and one more for each queue.
        assert_eq!(leaf["within_ns"], 50_000 + 1_000 * ports as u64);
        let to_hosts = queues.iter().find(|own| own["rate_bps"] == 100_000_000_000_u64).unwrap();
        let thresholds = to_hosts["thresholds"].as_array().unwrap();
        let kmin: Vec<(i64, u64)> = thresholds
            .iter()
            .map(|own| (own["step"].as_i64().unwrap(), own["kmin_bytes"].as_u64().unwrap()))
            .collect();
        assert_eq!(kmin, [(-2, 50_000), (-1, 70_710), (0, 100_000), (1, 141_421), (2, 200_000)]);
        let pmax = to_hosts["probabilities"].as_array().unwrap();
        let pmax: Vec<u64> = pmax.iter().map(|own| own["pmax_ppm"].as_u64().unwrap()).collect();
        assert_eq!(pmax, [50_000, 100_000, 200_000, 400_000, 800_000, 1_000_000]);
    }
}
