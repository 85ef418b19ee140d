//! Mistakes in files, and `xoff check`.

use super::{code, example, folder_with, json, output, stderr, stdout, xoff};
use std::path::Path;

const WRONG: &str = "seed = \"x\"\n[[workload]]\nkind = \"incast\"\nsize = \"1XB\"\nsendrs = 3\n";

#[test]
fn every_mistake_is_shown_at_once_on_its_line() {
    let folder = folder_with(WRONG);
    for command in ["check", "run"] {
        let output = output(folder.path(), &[command, "s.toml"]);
        assert_eq!(code(&output), Some(2));
        assert!(output.stdout.is_empty(), "{}", stdout(&output));
        let text = stderr(&output);
        for part in ["s.toml:2:", "s.toml:5:", "s.toml:6:", "did you mean `senders`?", "3 errors"] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "colour in a pipe");
        assert!(!folder.path().join("runs").exists(), "a run folder for a file that is wrong");
    }
}

#[test]
fn mistakes_of_the_fabric_are_shown_in_the_fabric() {
    let folder = folder_with(super::INCAST);
    let fabric = "[cluster]\nhosts = 0\n[fabric]\nkind = \"single\"\nleef = \"generic\"\n";
    std::fs::write(folder.path().join("fabric.toml"), fabric).unwrap();
    let output = output(folder.path(), &["run", "s.toml"]);
    assert_eq!(code(&output), Some(2));
    let text = stderr(&output);
    assert!(text.contains("fabric.toml:2:") && text.contains("fabric.toml:5:"), "{text}");
}

#[test]
fn a_missing_fabric_is_shown_where_it_is_named() {
    let folder = folder_with(WRONG);
    std::fs::remove_file(folder.path().join("fabric.toml")).unwrap();
    let output = output(folder.path(), &["check", "s.toml"]);
    assert_eq!(code(&output), Some(2));
    let text = stderr(&output);
    for part in ["s.toml:1:", "cannot read `fabric.toml`", "s.toml:6:"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn mistakes_in_a_flow_list_name_its_lines() {
    let folder = folder_with("[[workload]]\nkind = \"flows\"\nfile = \"f.csv\"\n");
    let flows = "start,source,destination,bytes\n0s,0,1,100\n1,0,9,1KB\n";
    std::fs::write(folder.path().join("f.csv"), flows).unwrap();
    let output = output(folder.path(), &["check", "s.toml"]);
    assert_eq!(code(&output), Some(2));
    let text = stderr(&output);
    assert!(text.contains("s.toml:2:") && text.contains("`f.csv` line 3"), "{text}");
}

#[test]
fn a_flow_that_is_too_long_is_refused() {
    let folder = folder_with("[[workload]]\nkind = \"incast\"\nsize = \"100TB\"\n");
    let output = output(folder.path(), &["run", "s.toml"]);
    assert_eq!(code(&output), Some(2));
    let text = stderr(&output);
    assert!(text.contains("s.toml:2:") && text.contains("at most 64TiB long"), "{text}");
}

#[test]
fn files_that_cannot_be_read() {
    let folder = folder_with("");
    std::fs::write(folder.path().join("latin1.toml"), b"seed = 1\n# caf\xe9\n").unwrap();
    let cases = [
        (&["run", "nothere.toml"][..], "cannot read `nothere.toml`"),
        (&["check", "."], "it is a folder"),
        (&["run", "latin1.toml"], "line 2 is not UTF-8"),
        (&["run", "fabric.toml"], "is a fabric file"),
    ];
    for (arguments, expected) in cases {
        let output = output(folder.path(), arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn a_file_without_a_fabric_is_refused_wherever_it_comes_from() {
    let folder = folder_with(super::INCAST);
    std::fs::write(folder.path().join("comments.toml"), "# nothing yet\n").unwrap();
    std::fs::write(folder.path().join("fabric.toml"), "").unwrap();
    let cases = [["check", "/dev/null"], ["check", "comments.toml"], ["run", "s.toml"]];
    for arguments in cases {
        let output = output(folder.path(), &arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        let text = stderr(&output);
        assert!(text.contains("describes no fabric") && text.contains("gpus = 256"), "{text}");
        assert!(!stdout(&output).contains("64 GPUs"), "{}", stdout(&output));
    }
}

#[test]
fn spines_that_oversubscribe_are_said_by_check_and_run() {
    let folder = folder_with(super::INCAST);
    let fabric = "[cluster]\nhosts = 16\nnic = \"generic-100g\"\n[fabric]\nleaf = \"trident-3\"\n\
                  hosts-per-leaf = 8\nspines = 2\n";
    std::fs::write(folder.path().join("fabric.toml"), fabric).unwrap();
    for arguments in [["check", "fabric.toml"], ["run", "s.toml"]] {
        let output = output(folder.path(), &arguments);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
        let text = stderr(&output);
        for part in ["fabric.toml:7:", "8 x 100Gbps down", "2 x 100Gbps up", "oversubscribed 4:1"] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
    }
}

#[test]
fn check_shows_what_holds_a_host_back() {
    let output = output(Path::new("."), &["check", &example("pcie-hosts.toml")]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let (said, shown) = (stderr(&output), stdout(&output));
    for part in ["gen4 x16", "230.5Gbps", "gen5 x16 would carry 400Gbps", "strict ordering"] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
    for part in ["how NICs reach memory", "gen4 x16", "the IOMMU"] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
}

#[test]
fn check_shows_what_follows() {
    let output = output(Path::new("."), &["check", &example("pod-256.toml")]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "256 GPUs",
        "ports used",
        "oversubscription",
        "headroom",
        "Kmin",
        "XOFF",
        "BDP",
        "base RTT",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn check_answers_machines_too() {
    let good = json(&output(Path::new("."), &["check", &example("incast.toml"), "--json"]));
    assert_eq!((&good["kind"], &good["usable"]), (&"scenario".into(), &true.into()));
    assert_eq!(good["traffic"]["flows"], 16);
    assert_eq!(good["derived"]["nics"], 64);
    let folder = folder_with(WRONG);
    let output = output(folder.path(), &["check", "s.toml", "--json"]);
    assert_eq!(code(&output), Some(2));
    let bad = json(&output);
    assert_eq!(bad["usable"], false);
    let lines: Vec<_> = bad["diagnostics"].as_array().unwrap().iter().map(|d| &d["line"]).collect();
    assert_eq!(lines, [2, 5, 6]);
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
}

/// Runs `xoff` with a file on standard input.
fn with_input(arguments: &[&str], folder: &Path, text: &str) -> std::process::Output {
    let input = folder.join("input");
    std::fs::write(&input, text).unwrap();
    let input = std::fs::File::open(input).unwrap();
    xoff(folder).args(arguments).stdin(input).output().unwrap()
}

#[test]
fn check_reads_standard_input() {
    let folder = folder_with(super::INCAST);
    let fabric = std::fs::read_to_string(folder.path().join("fabric.toml")).unwrap();
    let good = with_input(&["check", "-"], folder.path(), &fabric);
    assert_eq!(code(&good), Some(0), "{}", stderr(&good));
    assert!(stdout(&good).starts_with("standard input  fabric\n"), "{}", stdout(&good));
    // A scenario finds its fabric in the current folder.
    let scenario = std::fs::read_to_string(folder.path().join("s.toml")).unwrap();
    let good = with_input(&["check", "-", "--json"], folder.path(), &scenario);
    assert_eq!((code(&good), &json(&good)["kind"]), (Some(0), &"scenario".into()));
    let bad = with_input(&["check", "-"], folder.path(), "[cluster]\ngpus = 'many'\n");
    assert_eq!(code(&bad), Some(2));
    assert!(stderr(&bad).contains("standard input:2:"), "{}", stderr(&bad));
    let bad = xoff(folder.path()).args(["check", "-"]).stdin(std::process::Stdio::null()).output();
    assert!(stderr(&bad.unwrap()).contains("describes no fabric"));
}

#[test]
fn one_mistake_is_one_error() {
    let folder = folder_with("[[workload]]\nkind = \"incast\"\nsize = \"1MB\"\ntarget = 3\n");
    let fabric = "[cluster]\nhosts = \"many\"\n[fabric]\nleaves = 2\nhosts-per-leaf = 4\n";
    std::fs::write(folder.path().join("fabric.toml"), fabric).unwrap();
    for file in ["fabric.toml", "s.toml"] {
        let answer = json(&output(folder.path(), &["check", file, "--json"]));
        let found = answer["diagnostics"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{file}: {found:#?}");
        assert_eq!(found[0]["line"], 2);
    }
}

#[test]
fn tables_with_the_name_of_a_list_are_explained() {
    let folder = folder_with("[workload]\nkind = \"incast\"\nsize = \"1MB\"\n");
    let fabric =
        "[cluster]\nhosts = 4\n[fabric]\nkind = \"single\"\n[link.host]\nlength = \"3m\"\n";
    std::fs::write(folder.path().join("links.toml"), fabric).unwrap();
    for (file, help) in [("links.toml", "[links.host]"), ("s.toml", "[[workload]]")] {
        let answer = json(&output(folder.path(), &["check", file, "--json"]));
        let found = answer["diagnostics"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{file}: {found:#?}");
        assert!(found[0]["help"].as_str().unwrap().contains(help), "{found:#?}");
    }
}

#[test]
fn files_of_the_other_kind_are_named() {
    let folder = folder_with(super::INCAST);
    let validate = output(folder.path(), &["validate", "s.toml"]);
    assert_eq!(code(&validate), Some(2));
    let text = stderr(&validate);
    for part in ["`s.toml` is a scenario file", "`xoff validate fabric.toml`"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(!folder.path().join("validations").exists());
    for command in [&["run", "fabric.toml"][..], &["compare", "fabric.toml", "--transports", "tcp"]]
    {
        let output = output(folder.path(), command);
        assert_eq!(code(&output), Some(2));
        assert!(stderr(&output).contains("is a fabric file"), "{}", stderr(&output));
    }
}

#[test]
fn one_of_something_is_singular() {
    let folder = folder_with("[[workload]]\nkind = \"incast\"\nsenders = 1\nsize = \"1MB\"\n");
    let text = output(folder.path(), &["check", "s.toml"]);
    assert!(stdout(&text).contains("\n1 flow, "), "{}", stdout(&text));
    let plan = output(folder.path(), &["plan", "64"]);
    assert!(stdout(&plan).contains("1 leaf ("), "{}", stdout(&plan));
}

#[test]
fn a_file_cannot_control_the_terminal() {
    let folder = folder_with("seed = \"\u{1b}[31mred\"\n\"k\\u001b[2J\" = 1\n");
    let output = output(folder.path(), &["check", "s.toml"]);
    assert_eq!(code(&output), Some(2));
    assert!(!stderr(&output).contains('\u{1b}'), "{:?}", stderr(&output));
}

#[test]
fn narrow_terminals_are_respected() {
    let run = |file: &str| {
        let mut command = xoff(Path::new("."));
        command.args(["check", &example(file)]).env("COLUMNS", "60").output().unwrap()
    };
    for file in ["pod-256.toml", "permutation.toml"] {
        let output = run(file);
        // The first line is the path as it was given.
        for line in stdout(&output).lines().skip(1) {
            assert!(line.chars().count() <= 60, "{line:?}");
        }
    }
}
