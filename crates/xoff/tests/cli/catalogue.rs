//! `xoff catalogue`.

use super::{code, json, output, stdout, xoff};
use std::path::Path;
use std::process::Stdio;

#[test]
fn lists_all_or_one_part() {
    let here = Path::new(".");
    let all = output(here, &["catalogue"]);
    let text = stdout(&all);
    assert!(
        text.contains("tomahawk-5") && text.contains("connectx-7") && text.contains("400g-dr4")
    );
    let nics = output(here, &["catalogue", "nics"]);
    assert!(stdout(&nics).contains("connectx-7") && !stdout(&nics).contains("tomahawk-5"));
    let media = json(&output(here, &["catalogue", "media", "--json"]));
    let dac = media["media"].as_array().unwrap().iter().find(|m| m["name"] == "dac").unwrap();
    assert_eq!(dac["reach_mm"], 2000);
    assert!(media.get("silicon").is_none());
}

#[test]
fn fits_a_narrow_terminal() {
    let output = xoff(Path::new(".")).arg("catalogue").env("COLUMNS", "60").output().unwrap();
    let text = stdout(&output);
    for line in text.lines() {
        assert!(line.chars().count() <= 60, "{line:?}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = xoff(Path::new("."))
        .args(["schema", "fabric"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_code_3() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = xoff(Path::new(".")).args(["schema", "fabric"]).stdout(full).output().unwrap();
    assert_eq!(code(&output), Some(3));
    assert!(super::stderr(&output).contains("cannot write to standard output"));
}
