//! Files that somebody or something has damaged: whatever is in them, nothing panics.

use super::repository;
use proptest::prelude::*;
use std::path::Path;
use xoff_fabric::{ScenarioSetup, load_fabric, load_scenario};
use xoff_sim::{Observer, Progress, Settings};
use xoff_units::{Instant, Span};

/// One change to a text.
#[derive(Debug, Clone)]
enum Change {
    Delete,
    Repeat,
    Swap(usize),
    Value(&'static str),
    Character(usize, char),
    Truncate,
}

/// Values that are likely to be wrong, or right and extreme.
const VALUES: [&str; 28] = [
    "0",
    "1",
    "-1",
    "7",
    "8",
    "65535",
    "4294967295",
    "9223372036854775807",
    "1e300",
    "nan",
    "-0.0",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"0B\"",
    "\"1B\"",
    "\"1ps\"",
    "\"0Gbps\"",
    "\"1bps\"",
    "\"18446744073709551615B\"",
    "\"18446744073709551615ps\"",
    "\"1000Tbps\"",
    "\"1/1000000000\"",
    "\"1000000:1\"",
    "\"ideal\"",
    "\"fat-tree\"",
    "\"leaf0 leaf0\"",
];

fn change() -> impl Strategy<Value = (usize, Change)> {
    let kind = prop_oneof![
        1 => Just(Change::Delete),
        1 => Just(Change::Repeat),
        1 => any::<usize>().prop_map(Change::Swap),
        4 => prop::sample::select(&VALUES[..]).prop_map(Change::Value),
        1 => (any::<usize>(), any::<char>()).prop_map(|(at, c)| Change::Character(at, c)),
        1 => Just(Change::Truncate),
    ];
    (any::<usize>(), kind)
}

fn apply(text: &str, (at, change): &(usize, Change)) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    let at = at % lines.len();
    match change {
        Change::Delete => {
            lines.remove(at);
        }
        Change::Repeat => lines.insert(at, lines[at].clone()),
        Change::Swap(other) => {
            let other = other % lines.len();
            lines.swap(at, other);
        }
        Change::Value(value) => {
            if let Some((key, _)) = lines[at].split_once('=') {
                lines[at] = format!("{key}= {value}");
            }
        }
        Change::Character(place, with) => {
            let mut characters: Vec<char> = lines[at].chars().collect();
            let place = place % (characters.len() + 1);
            characters.insert(place, *with);
            lines[at] = characters.into_iter().collect();
        }
        Change::Truncate => lines.truncate(at),
    }
    lines.join("\n")
}

/// The examples, and a file in which every section is used.
fn texts(scenarios: bool) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(repository("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            if text.contains("\nfabric = ") == scenarios {
                texts.push(text);
            }
        }
    }
    texts.push(if scenarios { SCENARIO } else { FABRIC }.to_owned());
    texts
}

const FABRIC: &str = include_str!("everything.toml");

const SCENARIO: &str = "fabric = \"x.toml\"\nseed = 3\nduration = \"30us\"\n\
    [[workload]]\nkind = \"permutation\"\nsize = \"100KB\"\nclass = 3\nstart = \"1us\"\n\
    [[workload]]\nkind = \"incast\"\nsize = \"10KB\"\nsenders = 3\ntarget = 0\n\
    operation = \"read\"\n\
    [[workload]]\nkind = \"all-to-all\"\nsize = \"1KB\"\noperation = \"send\"\n\
    [[workload]]\nkind = \"poisson\"\nload = 0.3\nsizes = \"websearch\"\nfor = \"10us\"\n\
    [[workload]]\nkind = \"flows\"\n\
    list = [{ source = 0, destination = 1, size = \"1B\", start = \"2us\" }]\n\
    [[fault]]\nkind = \"pause-storm\"\nnic = 1\nat = \"3us\"\nfor = \"5us\"\n\
    [[fault]]\nkind = \"slow-receiver\"\nnic = 0\nat = \"4us\"\nrate = \"1Gbps\"\n\
    [record]\nperiod = \"5us\"\nmax-events = 10\n\
    [override.switch]\nlatency = \"500ns\"\n";

/// Stops a run that would take too long for a test.
struct Brief(u32);

impl Observer for Brief {
    fn progress(&mut self, _: &Progress) -> bool {
        self.0 += 1;
        self.0 < 4
    }
}

/// Runs what can be run, for a moment.
fn run(setup: &ScenarioSetup) {
    let fabric = &setup.setup.fabric;
    if fabric.nics.len() > 300 {
        return;
    }
    let mut open = xoff_workload::folder(Path::new("/nonexistent"));
    let workloads = &setup.scenario.workloads;
    let Ok(flows) = xoff_workload::expand(workloads, fabric, setup.scenario.seed, &mut open) else {
        return;
    };
    // The binary refuses flows of more than 64 TiB.
    if flows.len() > 200_000 || flows.iter().any(|flow| flow.bytes.get() > 1 << 46) {
        return;
    }
    let settings = Settings {
        until: Some(Instant::ZERO + Span::from_us(50)),
        sample_period: setup.scenario.record.period.max(Span::from_us(1)),
        check_wire: true,
        ..Settings::default()
    };
    let _ = xoff_sim::run(fabric, &flows, &setup.scenario.faults, &settings, &mut Brief(0));
}

/// A few cases every time; `PROPTEST_CASES=10000` looks harder.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 96 };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damaged_fabrics_never_panic(
        which in any::<usize>(), changes in prop::collection::vec(change(), 1..4),
    ) {
        let texts = texts(false);
        let text = texts[which % texts.len()].clone();
        let text = changes.iter().fold(text, |text, change| apply(&text, change));
        if load_fabric(&text).value.is_some() {
            let loaded = load_scenario(SCENARIO, &text);
            loaded.value.iter().for_each(run);
        }
    }

    #[test]
    fn damaged_scenarios_never_panic(
        which in any::<usize>(), changes in prop::collection::vec(change(), 1..4),
    ) {
        let texts = texts(true);
        let text = texts[which % texts.len()].clone();
        let text = changes.iter().fold(text, |text, change| apply(&text, change));
        for fabric in ["[cluster]\nhosts = 8\n[fabric]\nkind = \"single\"\n", FABRIC] {
            let loaded = load_scenario(&text, fabric);
            loaded.value.iter().for_each(run);
        }
    }
}
