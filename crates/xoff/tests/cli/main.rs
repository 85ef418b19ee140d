//! The built binary, used as people and scripts use it. `XOFF=/usr/bin/xoff` tests another one, which is taken for a release
//! build: limits of time that only such a build keeps are asserted then.

mod alerts;
mod approval;
mod arrays;
mod case;
mod catalogue;
mod collect;
mod collected;
mod compare;
mod config;
mod deliver;
mod diagnose;
mod disk;
mod exporter;
mod faults;
mod files;
mod gnmi;
mod help;
mod import;
mod inspect;
mod mutation;
mod otlp;
mod out;
mod perf;
mod plan;
mod prometheus;
mod reference;
mod report;
mod run;
mod scale;
mod schema;
mod shell;
mod signals;
mod simulate;
mod slurm;
mod store;
mod sweep;
mod trace;
mod traffic;
mod tune;
mod tune_pairs;
mod validate;
mod validator;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock};
use std::{fs, io};

/// The program under test.
fn program() -> PathBuf {
    std::env::var_os("XOFF").map_or_else(|| env!("CARGO_BIN_EXE_xoff").into(), PathBuf::from)
}

/// Whether the program is built to be quick.
fn is_release_build() -> bool {
    !cfg!(debug_assertions) || std::env::var_os("XOFF").is_some()
}

/// The program, in `folder`, with an environment that does not depend on the terminal.
fn xoff(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command.current_dir(folder).env_remove("COLUMNS").env_remove("NO_COLOR");
    command
}

/// Runs it with these arguments.
fn output(folder: &Path, arguments: &[&str]) -> Output {
    xoff(folder).args(arguments).output().expect("the binary runs")
}

/// The most memory that a process has had, in bytes; `None` once it has ended.
fn peak(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

/// Runs an example with counters, once for all tests: each has a copy.
fn run_with_counters(folder: &Path, name: &str, period: &str) {
    static RUNS: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let key = format!("{name}-{period}");
    let run = RUNS.lock().expect("no test failed with it").entry(key.clone()).or_default().clone();
    let made = run.get_or_init(|| {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("counters").join(key);
        drop(fs::remove_dir_all(&place));
        fs::create_dir_all(&place).expect("a folder that can be made");
        let (scenario, out) = (example(name), place.join("out"));
        let made = output(
            &place,
            &["run", &scenario, "--counters", period, "--quiet", "--no-report", "--out", "out"],
        );
        assert!(out.join("counters.parquet").exists(), "{}", stderr(&made));
        out
    });
    copy_folder(made, &folder.join(name)).expect("a copy");
}

/// Copies a folder with all in it.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &to)?,
            false => drop(fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("UTF-8 on standard output")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("UTF-8 on standard error")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(stdout(output)).expect("JSON on standard output")
}

/// A file of the repository.
fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn example(name: &str) -> String {
    repository("examples").join(name).to_str().expect("UTF-8 path").to_owned()
}

/// A folder of its own with a small fabric and the given scenario on it.
fn folder_with(scenario: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fabric = "[cluster]\nhosts = 4\nnic = \"generic-100g\"\n[fabric]\nkind = \"single\"\n";
    std::fs::write(folder.path().join("fabric.toml"), fabric).expect("a fabric file");
    let scenario = format!("fabric = \"fabric.toml\"\n{scenario}");
    std::fs::write(folder.path().join("s.toml"), scenario).expect("a scenario file");
    folder
}

/// A small incast.
const INCAST: &str = "[[workload]]\nkind = \"incast\"\nsize = \"100KB\"\n";

/// Whether a file ends like a complete Parquet file.
fn is_parquet(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    bytes.len() > 8 && bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1")
}
