//! Ctrl-C.

use super::{is_parquet, stderr, xoff};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Traffic for hours.
const ENDLESS: &str =
    "[[workload]]\nkind = \"permutation\"\nsize = \"10TB\"\n[record]\nperiod = \"1ms\"\n";

/// Waits, but not for ever.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..600 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(50));
    }
    panic!("waited in vain for {what}");
}

fn start(folder: &Path) -> Child {
    let child = xoff(folder)
        .args(["run", "s.toml", "--out", "run", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the run to begin", || folder.join("run/queues.parquet").exists());
    sleep(Duration::from_millis(300));
    child
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_writes_what_it_has() {
    for signal in ["-INT", "-TERM"] {
        let folder = super::folder_with(ENDLESS);
        let mut child = start(folder.path());
        send(signal, &child);
        wait_until("the run to end", || child.try_wait().unwrap().is_some());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("interrupted after "), "{}", stderr(&output));
        let summary = super::json(&output);
        assert_eq!(summary["outcome"]["kind"], "interrupted");
        assert!(summary["packet_hops"].as_u64().unwrap() > 0);
        for table in ["flows", "ports", "queues", "events"] {
            assert!(is_parquet(&folder.path().join("run").join(table).with_extension("parquet")));
        }
    }
}

#[test]
#[cfg(unix)]
fn a_run_that_is_killed_leaves_readable_files() {
    let folder = super::folder_with(ENDLESS);
    let mut child = start(folder.path());
    send("-KILL", &child);
    child.wait().unwrap();
    let summary = std::fs::read_to_string(folder.path().join("run/summary.json")).unwrap();
    assert!(summary.contains("\"running\""), "{summary}");
    for table in ["queues", "events"] {
        assert!(is_parquet(&folder.path().join("run").join(table).with_extension("parquet")));
    }
}
