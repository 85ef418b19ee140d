//! Help texts and usage.

use super::{code, output, stderr, stdout};
use std::path::Path;

const COMMANDS: [&str; 23] = [
    "tune",
    "compare",
    "sweep",
    "validate",
    "plan",
    "run",
    "check",
    "schema",
    "catalogue",
    "import",
    "inspect",
    "trace",
    "config",
    "collect",
    "audit",
    "diagnose",
    "alerts",
    "watch",
    "exporter",
    "perf",
    "bench",
    "completions",
    "man",
];

fn help(arguments: &[&str]) -> String {
    let output = output(Path::new("."), arguments);
    assert_eq!(code(&output), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output).to_owned()
}

#[test]
fn every_command_has_help_with_examples() {
    let all = help(&["--help"]);
    for command in COMMANDS {
        assert!(all.contains(command), "`{command}` is not in\n{all}");
        for flag in ["--help", "-h"] {
            let text = help(&[command, flag]);
            assert!(text.contains("Examples:\n  xoff "), "{command} {flag}:\n{text}");
            assert!(!text.contains('\u{1b}'), "colour in a pipe");
        }
    }
    assert!(help(&["import", "ns3", "--help"]).contains("--topology"));
}

#[test]
fn exit_codes_are_documented() {
    for command in [&["--help"][..], &["run", "--help"], &["check", "--help"]] {
        let text = help(command);
        for line in ["0    fine", "1    the run", "2    bad", "3    results", "130  interrupted"] {
            assert!(text.contains(line), "no `{line}` in\n{text}");
        }
    }
}

#[test]
fn options_stand_under_their_headings() {
    let text = help(&["plan", "--help"]);
    let (options, floor) = text.split_once("\nFloor:\n").expect("the measures of the floor");
    let (floor, _) = floor.split_once("\nExamples:").expect("examples");
    for option in ["--out", "--force", "--json", "--prices", "--help"] {
        assert!(options.contains(option) && !floor.contains(option), "{option} in\n{text}");
    }
    assert!(floor.contains("--rack-pitch") && floor.contains("--drop"), "{text}");
}

#[test]
fn bad_usage_is_code_2() {
    let wrong: [&[&str]; 6] = [
        &[],
        &["rum"],
        &["run"],
        &["run", "--seed", "x", "f"],
        &["schema", "nic"],
        &["bench", "--runs", "0"],
    ];
    for arguments in wrong {
        let output = output(Path::new("."), arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(!stderr(&output).is_empty() && output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_version_is_told() {
    assert_eq!(help(&["--version"]), format!("xoff {}\n", env!("CARGO_PKG_VERSION")));
}
