//! Disks that are full and folders that cannot be written.

use super::{INCAST, code, folder_with, is_parquet, output, program, stderr};
use std::path::Path;
use std::process::{Command, Output};

/// Enough traffic for tables that do not fit a small disk.
const LONG: &str =
    "[[workload]]\nkind = \"incast\"\nsize = \"100MB\"\n[record]\nperiod = \"100ns\"\n";

#[test]
fn a_file_in_the_way_of_the_folder() {
    let folder = folder_with(INCAST);
    std::fs::write(folder.path().join("file"), "").unwrap();
    let output = output(folder.path(), &["run", "s.toml", "--out", "file/run"]);
    assert_eq!(code(&output), Some(3));
    let text = stderr(&output);
    assert!(text.contains("file/run") && text.contains("--out"), "{text}");
}

#[test]
fn only_a_full_disk_asks_for_space() {
    let folder = folder_with(INCAST);
    std::fs::write(folder.path().join("file"), "").unwrap();
    for command in [
        &["run", "s.toml", "--out", "file/run"][..],
        &["plan", "64", "--out", "file/plan"],
        &["man", "--out", "file/man"],
        &["validate", "fabric.toml", "--quick", "--out", "file/v"],
    ] {
        let output = output(folder.path(), command);
        assert_eq!(code(&output), Some(3), "{command:?}");
        let text = stderr(&output);
        assert!(text.contains("--out") && !text.contains("space"), "{command:?}: {text}");
    }
    if !Path::new("/dev/full").exists() {
        eprintln!("SKIPPED only_a_full_disk_asks_for_space: there is no /dev/full here");
        return;
    }
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = super::xoff(folder.path()).args(["plan", "64"]).stdout(full).output().unwrap();
    assert_eq!(code(&output), Some(3));
    assert!(stderr(&output).contains("free some space"), "{}", stderr(&output));
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_cannot_be_made_is_found_before_the_run() {
    // Not even root makes a folder here.
    let folder = folder_with(LONG);
    let output = output(folder.path(), &["run", "s.toml", "--out", "/proc/xoff-run"]);
    assert_eq!(code(&output), Some(3));
    let text = stderr(&output);
    assert!(text.contains("/proc/xoff-run"), "{text}");
    assert!(output.stdout.is_empty(), "it ran before it looked at the folder");
}

/// Runs with a limit on the size of files, which fails writes as a full disk does.
fn with_limit(folder: &Path, blocks: u32) -> Output {
    let script =
        format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" run s.toml --out run --quiet");
    let mut shell = Command::new("sh");
    shell.current_dir(folder).args(["-c", &script]).arg(program());
    shell.output().expect("sh runs")
}

#[test]
#[cfg(unix)]
fn when_writes_fail_what_was_written_stays() {
    let folder = folder_with(LONG);
    let output = with_limit(folder.path(), 128);
    let text = stderr(&output);
    assert_eq!(code(&output), Some(3), "{text}");
    assert!(text.contains("queues.parquet") && text.contains("rows are safe"), "{text}");
    let run = folder.path().join("run");
    for table in ["flows", "ports", "queues", "events"] {
        assert!(is_parquet(&run.join(table).with_extension("parquet")), "{table}: {text}");
    }
    let summary = std::fs::read_to_string(run.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["outcome"]["kind"], "interrupted");
    let notes = summary["notes"].to_string();
    assert!(notes.contains("queues.parquet"), "{notes}");
}

#[test]
#[cfg(unix)]
fn a_disk_without_room_for_anything_is_found_before_the_run() {
    let folder = folder_with(LONG);
    let output = with_limit(folder.path(), 0);
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot "), "{}", stderr(&output));
}

/// A real full disk, where one can be made.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk() {
    let folder = folder_with(LONG);
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=96k", "tmpfs"]).arg(&disk).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED a_full_disk: no small file system can be mounted here");
        return;
    }
    let output = output(folder.path(), &["run", "s.toml", "--out", "disk/run", "--quiet"]);
    let summary = std::fs::read_to_string(disk.join("run/summary.json"));
    let kept = is_parquet(&disk.join("run/queues.parquet"));
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|status| status.success()), "the disk of the test stays mounted");
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("free some space"), "{}", stderr(&output));
    assert!(summary.unwrap().contains("\"tool\": \"xoff\""));
    assert!(kept, "queues.parquet cannot be read");
}
