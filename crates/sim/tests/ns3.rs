//! The recorded runs of an ns-3 RoCE model, reproduced under its rules. Prints ours beside theirs.
//!
//! Every folder under `tests/data/ns3` (or under the folder named by `XOFF_NS3`) with a
//! `topology.txt`, a `flows.txt` and `VARIANT.fct.csv` files is a scenario.

mod common;

use common::fabric;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use xoff_fabric::model::Fabric;
use xoff_sim::{Report, Settings, Silent};
use xoff_units::{Instant, Span};
use xoff_workload::{Flow, Pinned};

/// A row of `summary.csv`.
#[derive(Debug, Clone)]
struct Recorded {
    mean_ns: f64,
    xoff: f64,
    marks: f64,
    decreases: f64,
    flows_ns: Vec<f64>,
}

fn data() -> PathBuf {
    match std::env::var_os("XOFF_NS3") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ns3"),
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The fabric file of a topology under the recorded model's rules.
fn fabric_file(topology: &str, variant: &str) -> String {
    let mut lines = topology.lines();
    let counts: Vec<usize> = numbers(lines.next().unwrap());
    let switches: Vec<usize> = numbers(lines.next().unwrap());
    let mut file = String::from("profile = \"ns3-hpcc\"\n[fabric]\nkind = \"custom\"\n");
    match variant.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches("_seed") {
        "none" => file += "[transport.congestion]\nkind = \"none\"\n",
        "dcqcn_step" => file += "[ecn]\nkmin = \"400KB\"\nkmax = \"400KB\"\n",
        "dcqcn" => {}
        "hpcc" => {
            file += "[transport.framing]\nheader = \"90B\"\nack = \"88B\"\n\
                     [transport.congestion]\nkind = \"hpcc\"\n";
        }
        other => panic!("unknown variant {other}"),
    }
    for node in 0..counts[0] {
        let kind = if switches.contains(&node) { "switch" } else { "nic" };
        write!(file, "[[node]]\nname = \"n{node}\"\nkind = \"{kind}\"\n").unwrap();
    }
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [a, b, rate, delay, ..] = words[..] else { panic!("{line}") };
        write!(file, "[[link]]\nends = \"n{a} n{b}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"\n")
            .unwrap();
    }
    file
}

fn numbers(line: &str) -> Vec<usize> {
    line.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn flows(folder: &Path, fabric: &Fabric) -> Vec<Flow> {
    let text = read(&folder.join("flows.txt"));
    let rows: Vec<Vec<String>> = text
        .lines()
        .skip(1)
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.split_whitespace().map(str::to_string).collect())
        .collect();
    let seconds = |row: &[String]| row[5].parse::<f64>().unwrap();
    let first = rows.iter().map(|row| seconds(row)).fold(f64::MAX, f64::min);
    let paths = std::fs::read_to_string(folder.join("paths.txt")).unwrap_or_default();
    let mut flows: Vec<Flow> = rows
        .iter()
        .map(|row| {
            let (source, destination) = (row[0].parse().unwrap(), row[1].parse().unwrap());
            let mut flow = common::flow(fabric, source, destination, row[4].parse().unwrap());
            let after = ((seconds(row) - first) * 1e9).round() as u64;
            flow.start = Instant::ZERO + Span::from_ns(after);
            flow.path = pinned(&paths, source, destination, fabric);
            flow
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    flows
}

/// The path a flow took in the recorded run.
fn pinned(paths: &str, source: u32, destination: u32, fabric: &Fabric) -> Option<Box<Pinned>> {
    let nodes = |kind: &str| {
        let line = paths.lines().find(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words[0] == kind
                && words[1] == source.to_string()
                && words[2] == destination.to_string()
        })?;
        let nodes = numbers(line.split_once(':')?.1);
        let inner = &nodes[1..nodes.len() - 1];
        let name = |&node: &usize| {
            let at = fabric.switches.iter().position(|switch| switch.name == format!("n{node}"));
            xoff_fabric::model::SwitchId(at.unwrap() as u32)
        };
        Some(inner.iter().map(name).collect::<Vec<_>>())
    };
    Some(Box::new(Pinned { data: nodes("data")?, ack: nodes("ack")? }))
}

fn recorded(folder: &Path, scenario: &str, variant: &str) -> Recorded {
    let fct = read(&folder.join(format!("{variant}.fct.csv")));
    let flows_ns: Vec<f64> = fct
        .lines()
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(|line| line.rsplit(',').next().unwrap().trim().parse().unwrap())
        .collect();
    let summary = std::fs::read_to_string(data().join("summary.csv")).unwrap_or_default();
    let prefix = format!("{scenario},{variant},");
    let row = summary.lines().find(|line| line.starts_with(&prefix)).unwrap_or("");
    let cell = |at: usize| row.split(',').nth(at).and_then(|c| c.parse().ok()).unwrap_or(f64::NAN);
    let mean_ns = flows_ns.iter().sum::<f64>() / flows_ns.len() as f64;
    Recorded { mean_ns, xoff: cell(6), marks: cell(7), decreases: cell(8), flows_ns }
}

fn simulate(folder: &Path, variant: &str, seed: u64) -> (Report, Vec<usize>) {
    let fabric = fabric(&fabric_file(&read(&folder.join("topology.txt")), variant));
    let flows = flows(folder, &fabric);
    let settings = Settings { seed, check_wire: true, ..Settings::default() };
    let report = xoff_sim::run(&fabric, &flows, &[], &settings, &mut Silent).unwrap();
    assert_eq!(report.dropped.iter().flatten().sum::<u64>(), 0, "{variant} lost packets");
    // The recorded completions are in the order of the flow file.
    let order = (0..flows.len()).collect();
    (report, order)
}

fn ns(report: &Report, flow: usize) -> f64 {
    report.flows[flow].completion().expect("unfinished").as_ps() as f64 / 1000.0
}

fn percent(ours: f64, theirs: f64) -> f64 {
    (ours / theirs - 1.0) * 100.0
}

/// Everything that must be close: what it is, ours, theirs, the tolerance in percent.
struct Check(String, f64, f64, f64);

fn check_run(scenario: &str, variant: &str, folder: &Path) -> Vec<Check> {
    let theirs = recorded(folder, scenario, variant);
    let mut checks = Vec::new();
    let mut add = |what: &str, ours: f64, theirs: f64, tolerance: f64| {
        checks.push(Check(format!("{scenario} {variant} {what}"), ours, theirs, tolerance));
    };
    let (report, order) = simulate(folder, variant, 1);
    let worst = order
        .iter()
        .map(|&i| (ns(&report, i), theirs.flows_ns[i]))
        .max_by(|a, b| percent(a.0, a.1).abs().total_cmp(&percent(b.0, b.1).abs()))
        .unwrap();
    let mean = common::mean_ns(&report);
    let decreases: u64 = report.flows.iter().map(|flow| flow.counters.rate_decreases).sum();
    let single = theirs.flows_ns.len() == 1;
    match variant {
        "none" => {
            let (each, all, pauses) = if single { (0.05, 0.05, 2.0) } else { (1.0, 0.5, 10.0) };
            add("worst flow, ns", worst.0, worst.1, each);
            add("mean, ns", mean, theirs.mean_ns, all);
            add("pauses", report.xoff_frames() as f64, theirs.xoff, pauses);
        }
        "dcqcn_step" => {
            add("worst flow, ns", worst.0, worst.1, 2.0);
            add("mean, ns", mean, theirs.mean_ns, 1.0);
            add("marks", report.marks() as f64, theirs.marks, 5.0);
            add("decreases", decreases as f64, theirs.decreases, 5.0);
        }
        "hpcc" => {
            add("worst flow, ns", worst.0, worst.1, 5.0);
            add("mean, ns", mean, theirs.mean_ns, 3.0);
        }
        other => panic!("unknown variant {other}"),
    }
    checks
}

/// The random variant: the mean over ten of our seeds against the mean over theirs.
fn check_random(scenario: &str, folder: &Path, variants: &[String]) -> Vec<Check> {
    let theirs: Vec<Recorded> =
        variants.iter().map(|variant| recorded(folder, scenario, variant)).collect();
    let average = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
    let reports: Vec<Report> = (1..=10).map(|seed| simulate(folder, "dcqcn", seed).0).collect();
    let mean = average(reports.iter().map(common::mean_ns).collect());
    let marks = average(reports.iter().map(|report| report.marks() as f64).collect());
    let name = format!("{scenario} dcqcn");
    vec![
        Check(
            format!("{name} mean, ns"),
            mean,
            average(theirs.iter().map(|r| r.mean_ns).collect()),
            3.0,
        ),
        Check(
            format!("{name} marks"),
            marks,
            average(theirs.iter().map(|r| r.marks).collect()),
            15.0,
        ),
    ]
}

fn checks() -> Vec<Check> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(data())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("topology.txt").exists())
        .collect();
    folders.sort();
    let mut checks = Vec::new();
    for folder in folders {
        let scenario = folder.file_name().unwrap().to_str().unwrap().to_string();
        let mut variants: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().to_str().map(str::to_string))
            .filter_map(|name| name.strip_suffix(".fct.csv").map(str::to_string))
            .collect();
        variants.sort();
        let (random, fixed): (Vec<String>, Vec<String>) =
            variants.into_iter().partition(|v| v == "dcqcn" || v.starts_with("dcqcn_seed"));
        for variant in &fixed {
            checks.extend(check_run(&scenario, variant, &folder));
        }
        if !random.is_empty() {
            checks.extend(check_random(&scenario, &folder, &random));
        }
    }
    checks
}

#[test]
fn the_recorded_runs_are_reproduced() {
    let mut table = format!(
        "{:<52} {:>14} {:>14} {:>9} {:>9}\n",
        "scenario, variant, figure", "ours", "theirs", "differs", "allowed"
    );
    let mut wrong = Vec::new();
    let checks = checks();
    assert!(checks.len() > 10, "no recorded runs under {}", data().display());
    for Check(what, ours, theirs, tolerance) in checks {
        if theirs.is_nan() {
            continue;
        }
        let difference = if ours == theirs { 0.0 } else { percent(ours, theirs) };
        writeln!(
            table,
            "{what:<52} {ours:>14.1} {theirs:>14.1} {difference:>8.3}% {tolerance:>8.2}%"
        )
        .unwrap();
        if difference.abs() > tolerance {
            wrong.push(what);
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "out of tolerance: {wrong:#?}\n{table}");
}
