//! `xoff run`: results, verdicts and exit codes.

use super::{INCAST, code, example, folder_with, is_parquet, json, output, stderr, stdout, xoff};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn a_run_leaves_a_complete_folder() {
    let folder = folder_with(INCAST);
    let output = output(folder.path(), &["run", "s.toml"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).is_empty(), "{}", stderr(&output));
    let run = folder.path().join("runs/s-1");
    for table in ["flows", "ports", "queues", "events"] {
        assert!(is_parquet(&run.join(table).with_extension("parquet")), "{table}");
    }
    for copy in ["s.toml", "fabric.toml"] {
        let original = std::fs::read(folder.path().join(copy)).unwrap();
        assert_eq!(std::fs::read(run.join("input").join(copy)).unwrap(), original);
    }
    let text = std::fs::read_to_string(run.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["outcome"]["kind"], "completed");
    assert_eq!(summary["flows"]["finished"], 3);
    assert_eq!(summary["inputs"].as_array().unwrap().len(), 2);
    assert_eq!(summary["version"], env!("CARGO_PKG_VERSION"));
    assert!(summary["packet_hops"].as_u64().unwrap() > 100);
    assert!(!summary["notes"].as_array().unwrap().is_empty());
}

/// Down a chain the root is done first; both repetitions of a size count.
#[test]
fn when_the_ranks_of_a_collective_are_done() {
    let folder = folder_with(
        "[[workload]]\nkind = 'broadcast'\nalgorithm = 'ring'\n\
         sizes = '64KiB..128KiB'\nrepeat = 2\n",
    );
    let shown = output(folder.path(), &["run", "s.toml", "--out", "a"]);
    let text = stdout(&shown);
    assert!(text.contains("first end") && text.contains("median end"), "{text}{}", stderr(&shown));
    let found = json(&output(folder.path(), &["run", "s.toml", "--out", "b", "--json"]));
    let rows = found["collectives"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let end = |which: &str| row["ends_us"][which].as_f64().unwrap();
        assert!((end("last") - row["mean_us"].as_f64().unwrap()).abs() < 1e-6, "{row}");
        assert!(0.0 < end("first") && end("first") < end("median"), "{row}");
        assert!(end("median") < end("last"), "{row}");
    }
}

#[test]
fn the_table_says_what_happened() {
    let folder = folder_with(INCAST);
    let output = output(folder.path(), &["run", "s.toml", "--seed", "7"]);
    let text = stdout(&output);
    let expected = [
        "s.toml  completed  seed 7",
        "mean",
        "p99",
        "completion",
        "slowdown",
        "3 of 3",
        "goodput",
        "pauses",
        "ECN marks",
        "CNPs",
        "drops",
        "Deepest queues",
        "Busiest links",
        "Idlest links",
        "wall time",
        "packet-hops/s",
        "runs/s-7",
    ];
    for part in expected {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "colour in a pipe");
}

#[test]
fn flows_are_another_fidelity_and_say_so() {
    let folder = folder_with(INCAST);
    let run = |arguments: &[&str]| output(folder.path(), &[&["run", "s.toml"], arguments].concat());
    let flows = run(&["--fidelity", "flow", "--out", "flows"]);
    assert_eq!(code(&flows), Some(0), "{}", stderr(&flows));
    let text = stdout(&flows);
    for part in ["seed 1  fidelity flow", "Not simulated: queues", "Busiest links", "completion"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains("ECN marks") && !text.contains("packet-hops"), "{text}");
    let summary = json(&run(&["--fidelity", "flow", "--json", "--out", "again"]));
    assert_eq!(summary["fidelity"], "flow");
    let notes = summary["notes"].to_string();
    assert!(notes.contains("not simulated, and their counters are zero"), "{notes}");
    let report = std::fs::read_to_string(folder.path().join("flows/report.html")).unwrap();
    for part in ["--seed 1 --fidelity flow", "there are no queues"] {
        assert!(report.contains(part), "no `{part}` in the page");
    }
    // The scenario can say it, too, and the command line has the last word.
    let scenario = std::fs::read_to_string(folder.path().join("s.toml")).unwrap();
    std::fs::write(folder.path().join("s.toml"), format!("fidelity = \"flow\"\n{scenario}"))
        .unwrap();
    assert_eq!(json(&run(&["--json", "--out", "file"]))["result_hash"], summary["result_hash"]);
    assert_eq!(json(&run(&["--json", "--fidelity", "packet", "--out", "p"]))["fidelity"], "packet");
}

/// The second AllReduce is like the first: one of them is simulated. Beside packets nothing differs.
#[test]
fn fast_runs_say_what_they_skipped_and_how_far_they_are_from_packets() {
    let scenario =
        "fabric = 'f.toml'\n[[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\nrepeat = 2\n";
    let fabric =
        "[cluster]\ngpus = 16\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.toml"), fabric).unwrap();
    std::fs::write(folder.path().join("s.toml"), scenario).unwrap();
    let run = |arguments: &[&str]| output(folder.path(), &[&["run", "s.toml"], arguments].concat());
    let fast = run(&["--fidelity", "fast", "--verify", "--out", "fast"]);
    assert_eq!(code(&fast), Some(0), "{}", stderr(&fast));
    let text = stdout(&fast);
    for part in [
        "fidelity fast",
        "episodes simulated",
        "largest 0 % of 2",
        "uncontended collectives",
        "0 (0 by packets)",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let summary = json(&run(&["--fidelity", "fast", "--json", "--out", "again"]));
    let shortcuts = &summary["shortcuts"];
    assert_eq!((&shortcuts["simulated"], &shortcuts["remembered"]), (&1.into(), &1.into()));
    assert_eq!(
        2 * shortcuts["hops_simulated"].as_u64().unwrap(),
        summary["packet_hops"].as_u64().unwrap()
    );
    let report = std::fs::read_to_string(folder.path().join("fast/report.html")).unwrap();
    assert!(report.contains("queues over time are not recorded"));
    // A fault is packets throughout.
    let fault = "[[fault]]\nkind = 'link-down'\nat = '1us'\nlink = 'server0-nic0 leaf0'\nrestore-after = '1us'\n";
    std::fs::write(folder.path().join("s.toml"), format!("{scenario}{fault}")).unwrap();
    let slow = json(&run(&["--fidelity", "fast", "--json", "--out", "slow"]));
    assert_eq!(
        (&slow["fidelity"], &slow["shortcuts"]["instead"]),
        (&"packet".into(), &"faults".into())
    );
}

#[test]
fn what_flows_cannot_show_is_refused() {
    let folder = folder_with(INCAST);
    let run = |arguments: &[&str]| output(folder.path(), &[&["run", "s.toml"], arguments].concat());
    let wrong = run(&["--fidelity", "fluid"]);
    assert_eq!(code(&wrong), Some(2), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("use packet or fast or flow"), "{}", stderr(&wrong));
    let counters = run(&["--fidelity", "flow", "--counters", "1us"]);
    assert_ne!(code(&counters), Some(0));
    assert!(stderr(&counters).contains("cannot simulate counters"), "{}", stderr(&counters));
}

#[test]
fn narrow_terminals_are_respected() {
    let folder = folder_with(INCAST);
    let output = xoff(folder.path()).args(["run", "s.toml"]).env("COLUMNS", "60").output().unwrap();
    for line in stdout(&output).lines() {
        assert!(line.chars().count() <= 60, "{line:?}");
    }
}

#[test]
fn json_is_the_summary_and_nothing_else() {
    let folder = folder_with(INCAST);
    let output = output(folder.path(), &["run", "s.toml", "--json", "--out", "here"]);
    let printed = json(&output);
    let written = std::fs::read_to_string(folder.path().join("here/summary.json")).unwrap();
    assert_eq!(stdout(&output), written);
    assert_eq!(printed["tool"], "xoff");
    assert!(output.stderr.is_empty());
}

#[test]
fn quiet_says_nothing_when_all_is_well() {
    let folder = folder_with(INCAST);
    let output = output(folder.path(), &["run", "s.toml", "--quiet"]);
    assert_eq!(code(&output), Some(0));
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

#[test]
fn the_same_seed_gives_the_same_result_and_another_one_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let hash = |seed: &str, more: &[&str]| {
        let file = example("permutation.toml");
        let arguments = [&["run", &file, "--json", "--seed", seed], more].concat();
        json(&output(folder.path(), &arguments))["result_hash"].as_str().unwrap().to_owned()
    };
    let first = hash("3", &[]);
    assert_eq!(hash("3", &["--check-wire"]), first);
    assert_ne!(hash("4", &[]), first);
    for run in ["permutation-3", "permutation-3-2", "permutation-4"] {
        assert!(folder.path().join("runs").join(run).join("summary.json").exists(), "{run}");
    }
}

#[test]
fn an_earlier_run_is_replaced_and_other_folders_are_not() {
    let folder = folder_with(INCAST);
    let run = |out: &str| output(folder.path(), &["run", "s.toml", "--quiet", "--out", out]);
    assert_eq!(code(&run("a")), Some(0));
    assert_eq!(code(&run("a")), Some(0));
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    std::fs::write(folder.path().join("mine/thesis.tex"), "years of work").unwrap();
    let refused = run("mine");
    assert_eq!(code(&refused), Some(3));
    assert!(stderr(&refused).contains("--out"), "{}", stderr(&refused));
    assert_eq!(std::fs::read_dir(folder.path().join("mine")).unwrap().count(), 1);
}

/// The words in a text column of a table, each once.
fn words(table: &Path, column: usize) -> BTreeSet<String> {
    let reader = SerializedFileReader::new(std::fs::File::open(table).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let text = |row: Row| row.get_string(column).cloned().unwrap_or_default();
    rows.map(|row| text(row.unwrap())).collect()
}

#[test]
fn faults_and_what_they_do_are_events() {
    let storm = "[[fault]]\nkind = \"pause-storm\"\nnic = 0\nat = \"2us\"\nfor = \"5us\"\n";
    let folder = folder_with(&format!("{INCAST}target = 0\n{storm}"));
    let output = output(folder.path(), &["run", "s.toml", "--out", "run"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let events = folder.path().join("run/events.parquet");
    let kinds = words(&events, 1);
    for kind in ["fault", "fault_end", "xoff", "xon", "pause_start", "pause_end"] {
        assert!(kinds.contains(kind), "no `{kind}` in {kinds:?}");
    }
    assert!(words(&events, 7).contains("pause-storm"));
    let queues = words(&folder.path().join("run/queues.parquet"), 1);
    assert!(queues.contains("leaf0→server0-nic0"), "{queues:?}");
}

/// Headroom of nothing under an incast: the lossless class drops.
const LOSSY: &str = "[[workload]]\nkind = \"incast\"\nsize = \"2MB\"\n\
    [override.pfc]\nxoff = \"20KB\"\nxon-offset = \"10KB\"\nheadroom = \"0B\"\n\
    [override.ecn]\nenabled = false\n";

#[test]
fn a_lossless_drop_fails_the_run_and_says_where() {
    let folder = folder_with(LOSSY);
    let output = output(folder.path(), &["run", "s.toml"]);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let text = stderr(&output);
    for part in ["error: lossless drop", "class 3", "headroom", "first at ", "leaf0→"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let page = stdout(&output);
    assert!(page.contains("failed") && page.contains("3 lossless  headroom"), "{page}");
}

#[test]
fn a_drop_that_is_allowed_is_a_note() {
    let folder = folder_with(&format!("{LOSSY}[allow]\nlossless-drops = true\n"));
    let output = output(folder.path(), &["run", "s.toml"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("note: allowed by the scenario: lossless drop"));
    assert!(stdout(&output).contains("completed"));
}

#[test]
fn unfinished_flows_fail_the_run_unless_allowed() {
    let cut = format!("duration = \"2us\"\n{INCAST}");
    let folder = folder_with(&cut);
    let strict = output(folder.path(), &["run", "s.toml", "--json"]);
    assert_eq!(code(&strict), Some(1));
    assert!(stderr(&strict).contains("3 of 3 flows did not finish"), "{}", stderr(&strict));
    assert_eq!(json(&strict)["outcome"]["kind"], "failed");
    let folder = folder_with(&format!("{cut}[allow]\nunfinished = true\n"));
    let allowed = output(folder.path(), &["run", "s.toml", "--json"]);
    assert_eq!(code(&allowed), Some(0));
    assert_eq!(json(&allowed)["outcome"]["kind"], "duration-reached");
    assert_eq!(json(&allowed)["simulated_ps"], 2_000_000);
}

/// Three switches in a ring that send everything on to the next: the textbook deadlock.
fn ring() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut fabric = String::from(
        "[fabric]\nkind = \"custom\"\nleaf = \"ideal\"\n[links]\nrate = \"100Gbps\"\n\
         [switch]\nbuffer = \"2MB\"\n[pfc]\nxoff = \"40KB\"\nxon-offset = \"20KB\"\n\
         [ecn]\nenabled = false\n[transport.congestion]\nkind = \"none\"\n",
    );
    let mut flows = String::from("[[workload]]\nkind = \"flows\"\nlist = [\n");
    for at in 0..3 {
        let (next, after) = ((at + 1) % 3, (at + 2) % 3);
        fabric += &format!(
            "[[node]]\nname = \"s{at}\"\nkind = \"switch\"\n\
             [[node]]\nname = \"h{at}\"\nkind = \"nic\"\n\
             [[node]]\nname = \"g{at}\"\nkind = \"nic\"\n[[link]]\nends = \"h{at} s{at}\"\n\
             [[link]]\nends = \"g{at} s{at}\"\n[[link]]\nends = \"s{at} s{next}\"\n\
             [[route]]\nat = \"s{at}\"\nto = \"h{after}\"\nvia = \"s{next}\"\n"
        );
        for source in ["h", "g"] {
            flows += &format!(
                "{{ source = \"{source}{at}\", destination = \"h{after}\", size = \"3MB\" }},\n"
            );
        }
    }
    std::fs::write(folder.path().join("fabric.toml"), fabric).unwrap();
    let scenario = format!("fabric = \"fabric.toml\"\nduration = \"5ms\"\n{flows}]\n");
    std::fs::write(folder.path().join("s.toml"), scenario).unwrap();
    folder
}

#[test]
fn a_deadlock_is_reported_with_its_ring() {
    let folder = ring();
    let output = output(folder.path(), &["run", "s.toml", "--json"]);
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(text.contains("error: deadlock after "), "{text}");
    for queue in ["s0→s1 class 3", "s1→s2 class 3", "s2→s0 class 3"] {
        assert!(text.contains(queue), "no `{queue}` in\n{text}");
    }
    let outcome = &json(&output)["outcome"];
    assert_eq!(outcome["kind"], "deadlock");
    assert_eq!(outcome["cycle"].as_array().unwrap().len(), 3);
}

#[test]
fn every_example_that_is_a_scenario_can_be_checked() {
    let mut seen = 0;
    for entry in std::fs::read_dir(super::repository("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let output = output(Path::new("."), &["check", path.to_str().unwrap()]);
            assert_eq!(code(&output), Some(0), "{}: {}", path.display(), stderr(&output));
            seen += 1;
        }
    }
    assert!(seen >= 5);
}

#[test]
fn a_workload_with_a_transport_of_its_own_is_named_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = output(folder.path(), &["run", &example("mixed-tcp.toml"), "--out", "mixed"]);
    assert_eq!(code(&run), Some(0), "{}", stderr(&run));
    assert!(stdout(&run).contains("files (tcp)"), "{}", stdout(&run));
    let summary = std::fs::read_to_string(folder.path().join("mixed/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let transports: Vec<_> = summary["workloads"].as_array().unwrap().iter().collect();
    assert_eq!(transports[1]["transport"], "tcp", "{summary}");
}
