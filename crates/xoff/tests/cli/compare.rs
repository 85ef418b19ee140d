//! `xoff compare`: one scenario, several networks or rules.

use super::{code, example, json, output, stderr, stdout};
use std::path::Path;

const ALL: &str = "roce,roce-tuned,infiniband,uet,tcp,iwarp";

/// When the last traffic of each variant was done, in microseconds.
fn last_of_each(scenario: &str) -> Vec<(String, f64)> {
    let rows =
        output(Path::new("."), &["compare", &example(scenario), "--transports", ALL, "--json"]);
    assert_eq!(code(&rows), Some(0), "{}", stderr(&rows));
    let rows = json(&rows);
    let rows = rows.as_array().expect("a row per network");
    let greatest = |values: &serde_json::Value, of: &[&str]| {
        let values = values.as_array().into_iter().flatten();
        let value =
            |row: &serde_json::Value| of.iter().fold(row.clone(), |at, key| at[key].clone());
        values.filter_map(|row| value(row).as_f64()).fold(0.0, f64::max)
    };
    let last = |row: &serde_json::Value| {
        let measured = &row["measured"];
        let flows = greatest(&measured["groups"], &["completion", "max"]);
        flows.max(greatest(&measured["collectives"], &["time_us"]))
    };
    rows.iter().map(|row| (row["variant"].as_str().unwrap_or("").to_owned(), last(row))).collect()
}

#[test]
fn six_networks_carry_the_same_workloads() {
    for scenario in ["rivals-permutation.toml", "rivals-incast.toml", "rivals-all-reduce.toml"] {
        let rows = last_of_each(scenario);
        let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.join(","), ALL, "{scenario}");
        let time = |wanted: &str| rows.iter().find(|(name, _)| name == wanted).unwrap().1;
        // Credits and adaptive routing come nearest to the least there is; the host's stack costs TCP.
        assert!(time("infiniband") > 0.0, "{scenario}: {rows:?}");
        for rival in ["roce", "roce-tuned", "uet", "tcp", "iwarp"] {
            assert!(time("infiniband") <= time(rival) * 1.01, "{scenario}: {rows:?}");
        }
        assert!(time("uet") < time("tcp"), "{scenario}: {rows:?}");
        // RDMA is never slower than the kernel's stack, and tuned comes close to InfiniBand.
        assert!(time("roce") < time("tcp"), "{scenario}: {rows:?}");
        assert!(time("roce-tuned") <= time("roce") * 1.01, "{scenario}: {rows:?}");
        assert!(time("roce-tuned") < 1.15 * time("infiniband"), "{scenario}: {rows:?}");
        if scenario == "rivals-all-reduce.toml" {
            assert!(time("tcp") > 1.5 * time("roce-tuned"), "{scenario}: {rows:?}");
        }
    }
}

#[test]
fn they_stand_side_by_side() {
    let table = output(
        Path::new("."),
        &["compare", &example("rivals-permutation.toml"), "--transports", ALL],
    );
    let text = stdout(&table);
    let heading = text.lines().find(|line| line.contains("variant")).expect("a table");
    assert!(heading.contains("last") && heading.contains("cores"), "{text}");
    // Nothing is dropped or trimmed there, so there is no column for it.
    assert!(!heading.contains("drops") && !heading.contains("trimmed"), "{text}");
    for network in ALL.split(',') {
        assert!(text.lines().any(|line| line.trim_start().starts_with(network)), "{text}");
    }
}

#[test]
fn a_network_that_cannot_be_is_refused_by_name() {
    let folder = Path::new(".");
    let scenario = example("rivals-incast.toml");
    let refused = output(folder, &["compare", &scenario, "--transports", "roce,roce-v1"]);
    assert_eq!(code(&refused), Some(1), "{}", stderr(&refused));
    assert!(stdout(&refused).contains("roce-v1 is refused: "), "{}", stdout(&refused));
    let unknown = output(folder, &["compare", &scenario, "--transports", "rocce"]);
    assert_eq!(code(&unknown), Some(2));
    assert!(
        stderr(&unknown).contains("there are roce, roce-tuned, infiniband"),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn a_comparison_has_a_page_with_winners() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = example("rivals-incast.toml");
    let compare = |out: &str| {
        let arguments = ["compare", &scenario, "--transports", "tcp,roce,infiniband", "--out", out];
        output(folder.path(), &arguments)
    };
    let done = compare("a");
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("report  a/report.html"), "{}", stdout(&done));
    let page = std::fs::read_to_string(folder.path().join("a/report.html")).unwrap();
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    for part in [
        // The headline names the fastest and how much faster than the first it is.
        "<code>infiniband</code> is done first",
        "times as fast as <code>tcp</code>",
        "Best by each figure",
        "id=\"t-candidates\"",
        "id=\"f-times\"",
        "id=\"f-completion\"",
        "--transports tcp,roce,infiniband --seed",
        // The keys of a candidate, to be copied.
        "<pre tabindex=\"0\"><code>[",
    ] {
        assert!(page.contains(part), "no `{part}`");
    }
    let rows = std::fs::read_to_string(folder.path().join("a/comparison.json")).unwrap();
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows.as_array().map(Vec::len), Some(3));
    // The same again, in its own place and in another, is the same page.
    for out in ["a", "b"] {
        assert_eq!(code(&compare(out)), Some(0));
        assert_eq!(
            std::fs::read_to_string(folder.path().join(out).join("report.html")).unwrap(),
            page
        );
    }
}
