//! `xoff import` and `xoff calibrate`, from foreign files to a run.

use super::{code, json, output, stderr, stdout};
use std::path::Path;

const TOPOLOGY: &str = "5 2 4\n3 4\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1000ns 0\n\
                        2 4 100Gbps 1000ns 0\n3 4 100Gbps 1000ns 0\n";
const FLOWS: &str = "2\n0 2 3 100 1000000 2.000000000\n1 2 3 100 1000000 2.000000000\n";
const PATHS: &str = "data 0 2 10000 100 1000000 : 0 3 4 2\nack 0 2 10000 100 1000000 : 2 4 3 0\n\
                     data 1 2 10000 100 1000000 : 1 3 4 2\nack 1 2 10000 100 1000000 : 2 4 3 1\n";

fn folder(topology: &str, flows: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("t.txt", topology), ("f.txt", flows), ("p.txt", PATHS)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn import(folder: &Path, more: &[&str]) -> std::process::Output {
    let arguments = ["import", "ns3", "--topology", "t.txt", "--flows", "f.txt"];
    output(folder, &[&arguments, more].concat())
}

#[test]
fn imported_files_run() {
    let folder = folder(TOPOLOGY, FLOWS);
    for congestion in ["none", "dcqcn", "dcqcn-step", "hpcc"] {
        let out = ["--paths", "p.txt", "--congestion", congestion, "--out", congestion];
        let imported = import(folder.path(), &out);
        assert_eq!(code(&imported), Some(0), "{}", stderr(&imported));
        assert_eq!(stdout(&imported), format!("{congestion}/scenario.toml\n"));
        let scenario = format!("{congestion}/scenario.toml");
        let run = output(folder.path(), &["run", &scenario, "--json"]);
        assert_eq!(code(&run), Some(0), "{}", stderr(&run));
        let summary = json(&run);
        assert_eq!(summary["flows"]["finished"], 2);
        // Fabric, scenario and the flow list.
        assert_eq!(summary["inputs"].as_array().unwrap().len(), 3);
        // 2 MB at 100 Gb/s through the one link between the switches.
        assert!(summary["flows"]["fct_us"]["max"].as_f64().unwrap() >= 160.0);
    }
}

#[test]
fn mistakes_name_file_and_line() {
    let folder = folder(&TOPOLOGY.replace("1 3 100Gbps", "1 3 100Gbs"), "1\n0 3 3 100 1 2.0\n");
    let output = import(folder.path(), &["--out", "x"]);
    assert_eq!(code(&output), Some(2));
    let text = stderr(&output);
    assert!(text.contains("t.txt:4: `Gbs`") && text.contains("f.txt:2: 3 is a switch"), "{text}");
    assert!(!folder.path().join("x").exists());
}

#[test]
fn nothing_is_overwritten() {
    let folder = folder(TOPOLOGY, FLOWS);
    assert_eq!(code(&import(folder.path(), &["--out", "x"])), Some(0));
    let again = import(folder.path(), &["--out", "x"]);
    assert_eq!(code(&again), Some(3));
    assert!(stderr(&again).contains("already there"), "{}", stderr(&again));
}

const NCCL_TESTS: &str = "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 2097152 step: 2(factor)\n\
    #  Rank  0 Group  0 Pid 1 on a device 0 [0x0a] GPU\n#  Rank  1 Group  0 Pid 2 on a device 1 [0x0b] GPU\n\
    #  Rank  2 Group  0 Pid 3 on b device 0 [0x0a] GPU\n#  Rank  3 Group  0 Pid 4 on b device 1 [0x0b] GPU\n\
    # size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n\
    1048576 262144 float sum -1 100.0 10.49 15.73 0 99.0 10.59 15.89 0\n\
    2097152 524288 float sum -1 150.0 13.98 20.97 0 N/A N/A N/A N/A\n";

#[test]
fn measurements_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("log"), NCCL_TESTS).unwrap();
    let shown = output(folder.path(), &["import", "nccl-tests", "log"]);
    assert_eq!(code(&shown), Some(0), "{}", stderr(&shown));
    let text = stdout(&shown);
    assert!(text.starts_with("all-reduce, 4 GPUs on 2 hosts\n"), "{text}");
    assert!(text.contains("150 us") && text.contains("20.97"), "{text}");
    let answer = json(&output(folder.path(), &["import", "nccl-tests", "log", "--json"]));
    let rows = &answer["series"][0]["rows"];
    assert_eq!(rows[0]["out_of_place"]["time_us"], 100.0);
    assert!(rows[1]["in_place"].is_null());
    let other = ["import", "nccl-tests", "log", "--json", "--collective", "reduce_scatter"];
    assert_eq!(json(&output(folder.path(), &other))["series"][0]["collective"], "reduce-scatter");
    std::fs::write(folder.path().join("none"), "hello\n").unwrap();
    let refused = output(folder.path(), &["import", "nccl-tests", "none"]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("`none`: no measurements in it"), "{}", stderr(&refused));
}

#[test]
fn costs_are_fitted_to_measurements_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("log"), NCCL_TESTS).unwrap();
    let fabric = "[cluster]\ngpus = 4\ngpus-per-server = 2\nnic = 'connectx-7'\n\
                  [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
    std::fs::write(at("fabric.toml"), fabric).unwrap();
    let calibrate = ["calibrate", "fabric.toml", "--from", "log"];
    let shown = output(folder.path(), &calibrate);
    assert_eq!(code(&shown), Some(0), "{}", stderr(&shown));
    assert!(stdout(&shown).contains("Mean error:"), "{}", stdout(&shown));
    let answer = json(&output(folder.path(), &[&calibrate[..], &["--json"]].concat()));
    let series = &answer["series"][0];
    assert!(series["error_fitted"].as_f64().unwrap() < 0.02, "{series:#}");
    // What it prints is a table of the fabric file, and with it a run takes what was measured.
    let keys = series["keys"].as_str().unwrap();
    std::fs::write(at("fitted.toml"), format!("{fabric}{keys}\n")).unwrap();
    let time = |fabric: &str| {
        let scenario =
            format!("fabric = '{fabric}'\n[[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\n");
        std::fs::write(at("s.toml"), scenario).unwrap();
        let run = output(folder.path(), &["run", "s.toml", "--json"]);
        assert_eq!(code(&run), Some(0), "{}", stderr(&run));
        json(&run)["collectives"][0]["mean_us"].as_f64().unwrap()
    };
    let (usual, fitted) = (time("fabric.toml"), time("fitted.toml"));
    assert!((fitted / 100.0 - 1.0).abs() < 0.1, "{fitted} us, {usual} us without");
    assert!((usual / 100.0 - 1.0).abs() > 0.1, "{usual} us is measured already");
    let halves = json(&output(folder.path(), &[&calibrate[..], &["--json", "--holdout"]].concat()));
    let fitted_to = |row: usize| halves["series"][0]["rows"][row]["fitted_to"].as_bool();
    assert_eq!([fitted_to(0), fitted_to(1)], [Some(false), Some(true)]);
    let many = output(folder.path(), &[&calibrate[..], &["--gpus", "64"]].concat());
    assert_eq!(code(&many), Some(2), "{}", stderr(&many));
}
