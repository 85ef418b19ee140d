//! `xoff sweep`: one table of many runs, the same whatever ran them.

use super::{INCAST, code, folder_with, json, output, stderr, stdout, xoff};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// 24 settings with two seeds each.
pub(super) const SWEEP: &str = "scenario = \"s.toml\"\nseeds = 2\n\n\
    [[axis]]\nkey = \"scenario.workload[0].size\"\nvalues = [\"10KB\", \"40KB\"]\n\n\
    [[axis]]\nname = \"kmin\"\nkey = \"fabric.ecn.kmin\"\nfrom = \"10KB\"\nto = \"160KB\"\nsteps = 4\nscale = \"log\"\n\n\
    [[axis]]\nkeys = [\"fabric.ecn.kmax\", \"fabric.ecn.pmax\"]\n\
    values = [[\"200KB\", 0.1], [\"400KB\", 0.5], [\"800KB\", 1.0]]\n";

/// A folder with a small scenario and a sweep over it.
fn folder(sweep: &str) -> tempfile::TempDir {
    let folder = folder_with(INCAST);
    fs::write(folder.path().join("sweep.toml"), sweep).unwrap();
    folder
}

/// The rows of a table, by column.
fn rows(path: &Path) -> Vec<BTreeMap<String, Field>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let row = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect()
    };
    reader.get_row_iter(None).unwrap().map(|one| row(one.unwrap())).collect()
}

fn table(folder: &Path, out: &str) -> Vec<u8> {
    fs::read(folder.join(out).join("sweep.parquet")).unwrap()
}

#[test]
fn a_sweep_is_one_table_and_a_page() {
    let folder = folder(SWEEP);
    let ran = output(folder.path(), &["sweep", "sweep.toml", "--json"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let summary = json(&ran);
    assert_eq!((&summary["points"], &summary["failed"]), (&48.into(), &0.into()), "{summary}");
    assert_eq!(summary["result"], "fct_p99_us");
    let path = folder.path().join("sweeps/sweep");
    let rows = rows(&path.join("sweep.parquet"));
    assert_eq!(rows.len(), 48);
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row["point"], Field::Long(at as i64));
        assert_eq!(row["setting"], Field::Long(at as i64 / 2));
        assert_eq!(row["seed"], Field::Long(1 + at as i64 % 2));
        assert_eq!(row["outcome"], Field::Str("completed".into()));
        assert_eq!(row["flows_finished"], row["flows"]);
    }
    let first = &rows[0];
    assert_eq!(first["scenario.workload[0].size_bytes"], Field::Long(10_000));
    assert_eq!(first["kmin_bytes"], Field::Long(10_000));
    assert_eq!(rows[6]["kmin_bytes"], Field::Long(25_198), "10 KB x 16^(1/3)");
    assert_eq!(first["fabric.ecn.kmax_bytes"], Field::Long(200_000));
    assert_eq!(first["fabric.ecn.pmax"], Field::Double(0.1));
    let page = fs::read_to_string(path.join("sweep.html")).unwrap();
    for part in ["What one result costs", "Sensitivity", "kmin", "xoff sweep sweep.toml --point"] {
        assert!(page.contains(part), "no {part}");
    }
    // The same sweep is not run again by accident, and nothing is lost by asking.
    let again = output(folder.path(), &["sweep", "sweep.toml"]);
    assert_eq!(code(&again), Some(3));
    assert!(stderr(&again).contains("has 48 of 48 points"), "{}", stderr(&again));
    let before = table(folder.path(), "sweeps/sweep");
    let resumed = output(folder.path(), &["sweep", "sweep.toml", "--resume"]);
    assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
    for part in ["48 points", "best", "fct_p99_us", "matters", "sweep.parquet", "--point N"] {
        assert!(stdout(&resumed).contains(part), "no {part} in {}", stdout(&resumed));
    }
    assert!(before == table(folder.path(), "sweeps/sweep"));
}

/// One command repeats a point, and gets the very result of the table.
#[test]
fn every_point_can_be_run_alone() {
    let folder = folder(SWEEP);
    let ran = output(folder.path(), &["sweep", "sweep.toml", "--out", "all"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let rows = rows(&folder.path().join("all/sweep.parquet"));
    for point in [0, 29, 47] {
        let number = point.to_string();
        let alone = output(
            folder.path(),
            &["sweep", "sweep.toml", "--point", &number, "--out", &format!("p{point}"), "--json"],
        );
        assert_eq!(code(&alone), Some(0), "{}", stderr(&alone));
        let hash = json(&alone)["result_hash"].as_str().unwrap().to_owned();
        assert_eq!(rows[point]["result_hash"], Field::Str(hash.clone()));
        // And so does `xoff run` with the files that it keeps.
        let kept = format!("p{point}/input/sweep-point-{point}.toml");
        let run = output(folder.path(), &["run", &kept, "--out", "again", "--json"]);
        assert_eq!(json(&run)["result_hash"], hash.as_str(), "{}", stderr(&run));
    }
    let none = output(folder.path(), &["sweep", "sweep.toml", "--point", "48"]);
    assert_eq!(code(&none), Some(2));
    assert!(stderr(&none).contains("the 48 points are 0 to 47"), "{}", stderr(&none));
}

#[test]
fn a_dry_run_says_what_would_be_run() {
    let folder = folder(SWEEP);
    let dry = output(folder.path(), &["sweep", "sweep.toml", "--dry-run", "--threads", "2"]);
    assert_eq!(code(&dry), Some(0), "{}", stderr(&dry));
    for part in
        ["48 points", "24 settings", "2 seeds each", "seed 1", "and 43 more", "on 2 threads"]
    {
        assert!(stdout(&dry).contains(part), "no {part} in {}", stdout(&dry));
    }
    assert!(!folder.path().join("sweeps").exists());
    let dry = output(folder.path(), &["sweep", "sweep.toml", "--dry-run", "--json"]);
    assert_eq!(json(&dry)["points"], 48);
    assert!(json(&dry)["estimate_seconds"].as_f64().unwrap() > 0.0);
}

#[allow(clippy::disallowed_methods, reason = "how long a sweep takes is wall time")]
fn now() -> Instant {
    Instant::now()
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = xoff(folder);
    command.args(["sweep", "sweep.toml"]).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn shards(folder: &Path, out: &str) -> usize {
    fs::read_dir(folder.join(out).join("shards")).map_or(0, |entries| {
        entries
            .flatten()
            .filter(|entry| entry.path().extension().is_some_and(|e| e == "jsonl"))
            .count()
    })
}

/// Whatever the threads and wherever it is killed, the table is the same, byte for byte.
#[test]
#[cfg(unix)]
fn threads_and_kills_do_not_show_in_the_table() {
    let folder = folder(SWEEP);
    let run = |out: &str, threads: &str| {
        let ran =
            output(folder.path(), &["sweep", "sweep.toml", "--out", out, "--threads", threads]);
        assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
        table(folder.path(), out)
    };
    let expected = run("one", "1");
    assert!(expected == run("three", "3"));
    let mut kills = 0;
    for step in 0u32.. {
        let done = shards(folder.path(), "killed");
        let mut child = start(folder.path(), &["--out", "killed", "--resume", "--threads", "2"]);
        // After some more points, at a place that moves.
        let clock = now();
        while child.try_wait().unwrap().is_none()
            && shards(folder.path(), "killed") < done + 5
            && clock.elapsed() < Duration::from_secs(60)
        {
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_micros(u64::from(step) * 1_700 % 11_000));
        let signal = if step.is_multiple_of(3) { "-INT" } else { "-KILL" };
        if child.try_wait().unwrap().is_none() {
            kills += 1;
            drop(Command::new("kill").args([signal, &child.id().to_string()]).status());
        }
        let ended = child.wait_with_output().unwrap();
        if ended.status.success() {
            break;
        }
        if signal == "-INT" && ended.status.code() == Some(130) {
            let text = stderr(&ended);
            assert!(text.contains("of 48 points") && text.contains("--resume"), "{text}");
        }
    }
    assert!(kills >= 3, "{kills} kills");
    assert!(expected == table(folder.path(), "killed"));
    // Nothing of the interruptions is left.
    let names = fs::read_dir(folder.path().join("killed/shards")).unwrap().flatten();
    let names: Vec<String> = names.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    let odd = names.iter().filter(|name| !name.ends_with(".jsonl") && !name.ends_with(".new"));
    assert_eq!(odd.count(), 0, "{names:?}");
}

/// A shard that is damaged is run again.
#[test]
fn damaged_shards_are_run_again() {
    let folder = folder(SWEEP);
    let sweep = |more: &[&str]| {
        output(folder.path(), &[&["sweep", "sweep.toml", "--out", "o"], more].concat())
    };
    assert_eq!(code(&sweep(&[])), Some(0));
    let expected = table(folder.path(), "o");
    let shard = |number: u32| folder.path().join(format!("o/shards/{number:06}.jsonl"));
    let text = fs::read_to_string(shard(3)).unwrap();
    fs::write(shard(3), &text[..text.len() - 9]).unwrap();
    fs::write(shard(4), text).unwrap();
    fs::write(shard(5), [0xff; 200]).unwrap();
    fs::remove_file(shard(6)).unwrap();
    let resumed = sweep(&["--resume"]);
    assert_eq!(code(&resumed), Some(0), "{}", stderr(&resumed));
    assert!(expected == table(folder.path(), "o"));
    // Another scenario is another sweep, whose points are not mixed with these.
    fs::write(
        folder.path().join("s.toml"),
        format!("fabric = \"fabric.toml\"\n{INCAST}senders = 2\n"),
    )
    .unwrap();
    let other = sweep(&["--resume"]);
    assert_eq!(code(&other), Some(3));
    assert!(stderr(&other).contains("has another sweep"), "{}", stderr(&other));
    fs::write(shard(999_999), "of a longer sweep").unwrap();
    let fresh = sweep(&["--fresh"]);
    assert!(!shard(999_999).exists());
    assert_eq!(code(&fresh), Some(0), "{}", stderr(&fresh));
    assert!(expected != table(folder.path(), "o"));
}

/// Points that are refused or fail are rows that say so.
#[test]
fn points_that_fail_are_rows() {
    let folder = folder(
        "scenario = \"s.toml\"\n[[axis]]\nkey = \"fabric.ecn.kmin\"\nvalues = [\"10KB\", \"500KB\"]\n\
         [[axis]]\nkey = \"fabric.ecn.kmax\"\nvalues = [\"100KB\", \"900KB\"]\n\
         [[axis]]\nkey = \"scenario.duration\"\nvalues = [\"1ns\", \"1s\"]\n",
    );
    let ran = output(folder.path(), &["sweep", "sweep.toml", "--out", "o"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let rows = rows(&folder.path().join("o/sweep.parquet"));
    let outcome = |at: usize| match &rows[at]["outcome"] {
        Field::Str(text) => text.clone(),
        other => panic!("{other}"),
    };
    let all: Vec<String> = (0..8).map(outcome).collect();
    assert_eq!(all[4..6], ["refused", "refused"], "Kmin above Kmax");
    assert_eq!([&all[1], &all[3], &all[7]], ["completed", "completed", "completed"]);
    assert_eq!([&all[0], &all[2], &all[6]], ["failed", "failed", "failed"], "unfinished flows");
    assert!(
        matches!(&rows[4]["reason"], Field::Str(why) if why.contains("kmin")),
        "{:?}",
        rows[4]["reason"]
    );
    assert_eq!(rows[4]["fct_p99_us"], Field::Null);
    assert!(stdout(&ran).contains("refused"), "{}", stdout(&ran));
}

/// Mistakes are reported with file, line and cure before anything runs.
#[test]
fn mistakes_in_a_sweep_file_are_shown_on_their_lines() {
    let axis = |lines: &str| format!("scenario = \"s.toml\"\n[[axis]]\n{lines}\n");
    let cases: Vec<(String, u32, &str)> = vec![
        (String::new(), 1, "no scenario is named"),
        ("scenario = \"s.toml\"\n".into(), 1, "nothing changes"),
        (
            "scenario = \"s.toml\"\nseeds = 2\nsampel = \"grid\"\n".into(),
            3,
            "did you mean `sample`?",
        ),
        ("scenario = \"s.toml\"\nseeds = 2\nsample = \"gird\"\n".into(), 3, "known here: `grid`"),
        ("scenario = \"none.toml\"\nseeds = 2\n".into(), 1, "cannot read `none.toml`"),
        ("scenario = \"s.toml\"\nseeds = 0\n".into(), 2, "a number of seeds"),
        ("scenario = \"s.toml\"\nseeds = [1, 1]\n".into(), 2, "twice"),
        (
            "scenario = \"s.toml\"\nseeds = 2\nresults = [\"fct_p98_us\"]\n".into(),
            3,
            "did you mean `fct_p99_us`?",
        ),
        ("scenario = \"s.toml\"\nseeds = 2\nsample = \"sobol\"\n".into(), 3, "a number of points"),
        ("scenario = 7\nseeds = \n".into(), 2, "sweep.toml:2"),
        (axis("key = \"fabric.ecn.kmn\"\nvalues = [\"1KB\"]"), 3, "did you mean `kmin`?"),
        (axis("key = \"ecn.kmin\"\nvalues = [\"1KB\"]"), 3, "begins with `fabric.`"),
        (axis("key = \"fabric.ecn.kmin\"\nvalues = [\"100KB\", \"5Gbps\"]"), 4, "not a unit of"),
        (
            axis("key = \"fabric.ecn.kmin\"\nvalues = [100]"),
            4,
            "`fabric.ecn.kmin = 100` is refused",
        ),
        (axis("key = \"fabric.ecn.kmin\"\nvalues = []"), 4, "no values"),
        (axis("key = \"fabric.ecn.kmin\"\nvalues = [\"1KB\", \"1KB\"]"), 4, "twice"),
        (axis("key = \"fabric.ecn.kmin\""), 2, "an axis without values"),
        (axis("values = [1]"), 2, "an axis without `key`"),
        (
            axis("key = \"fabric.ecn.kmin\"\nfrom = \"1KB\"\nto = \"2us\"\nsteps = 3"),
            4,
            "nothing lies between",
        ),
        (axis("key = \"fabric.ecn.kmin\"\nfrom = \"1KB\"\nto = \"2KB\""), 3, "`steps = 5`"),
        (
            axis("key = \"fabric.ecn.kmin\"\nfrom = \"1B\"\nto = \"3B\"\nsteps = 9"),
            6,
            "fewer `steps`",
        ),
        (axis("key = \"scenario.seed\"\nvalues = [1]"), 3, "use `seeds"),
        (axis("key = \"scenario.workload[1].size\"\nvalues = [\"1KB\"]"), 3, "from `[0]` to `[0]`"),
        (axis("key = \"scenario.workload[0].senders\"\nvalues = [2, 900]"), 4, "900"),
        (axis("key = \"scenario.fabric\"\nvalues = [\"gone.toml\"]"), 4, "cannot read `gone.toml`"),
        (
            axis("name = \"point\"\nkey = \"fabric.ecn.pmax\"\nvalues = [0.1]"),
            4,
            "another column `point`",
        ),
        (
            axis(&format!(
                "key = \"fabric.ecn.pmax\"\nfrom = 0.1\nto = 0.9\nsteps = 100000\n[[axis]]\n\
            key = \"fabric.pfc.alpha\"\nfrom = 0.1\nto = 0.9\nsteps = {}",
                100_000
            )),
            1,
            "more than can be counted\u{0}",
        ),
    ];
    let folder = folder("");
    for (text, line, part) in cases {
        // A sweep with too many points says how many there are.
        let part = if part.ends_with('\u{0}') { "10000000000 points are too many" } else { part };
        fs::write(folder.path().join("sweep.toml"), &text).unwrap();
        let ran = output(folder.path(), &["sweep", "sweep.toml"]);
        assert_eq!(code(&ran), Some(2), "{text}\n{}", stderr(&ran));
        let place = format!("sweep.toml:{line}:");
        assert!(stderr(&ran).contains(&place), "no {place} for\n{text}\n{}", stderr(&ran));
        assert!(
            stderr(&ran).replace(['\n', ' '], "").contains(&part.replace(' ', "")),
            "no `{part}` for\n{text}\n{}",
            stderr(&ran)
        );
        assert!(!folder.path().join("sweeps").exists(), "{text}");
    }
}

#[test]
fn a_sweep_file_is_recognised_by_other_commands() {
    let folder = folder(SWEEP);
    let checked = output(folder.path(), &["check", "sweep.toml"]);
    assert_eq!(code(&checked), Some(0), "{}", stderr(&checked));
    assert!(stdout(&checked).contains("48 points"), "{}", stdout(&checked));
    let run = output(folder.path(), &["run", "sweep.toml"]);
    assert_eq!(code(&run), Some(2));
    assert!(stderr(&run).contains("`xoff sweep sweep.toml`"), "{}", stderr(&run));
}

/// Entries of lists, other fabrics, and traffic in the sweep file itself.
#[test]
fn any_key_of_both_files_can_change() {
    let folder = folder(
        "fabric = \"fabric.toml\"\nsample = \"latin-hypercube\"\npoints = 6\nsample-seed = 3\n\
         [[workload]]\nkind = \"incast\"\nsize = \"10KB\"\n\
         [[axis]]\nkey = \"scenario.workload[0].size\"\nfrom = \"1KB\"\nto = \"100KB\"\nscale = \"log\"\n\
         [[axis]]\nkey = \"scenario.fabric\"\nvalues = [\"fabric.toml\", \"two.toml\"]\n\
         [[axis]]\nkey = \"fabric.transport.congestion.kind\"\nvalues = [\"none\", \"dcqcn\", \"swift\"]\n",
    );
    let two = "[cluster]\nhosts = 8\nnic = \"generic-100g\"\n[fabric]\nkind = \"single\"\n[[class]]\nid = 3\n";
    fs::write(folder.path().join("two.toml"), two).unwrap();
    let ran = output(folder.path(), &["sweep", "sweep.toml", "--out", "o", "--json"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    assert_eq!(json(&ran)["failed"], 0, "{}", stdout(&ran));
    let rows = rows(&folder.path().join("o/sweep.parquet"));
    let count = |column: &str, value: &str| {
        rows.iter().filter(|row| row[column] == Field::Str(value.into())).count()
    };
    assert_eq!(rows.len(), 6);
    assert_eq!(count("scenario.fabric", "two.toml"), 3);
    assert_eq!(count("fabric.transport.congestion.kind", "swift"), 2);
    let flows: Vec<&Field> = rows.iter().map(|row| &row["flows"]).collect();
    assert!(flows.contains(&&Field::Long(3)) && flows.contains(&&Field::Long(7)), "{flows:?}");
}

/// What a process has had of the cores, and what its threads wanted of them, in seconds: on a machine that others use,
/// too, the second says whether the sweep keeps its cores busy.
#[cfg(target_os = "linux")]
fn used_and_wanted(process: u32) -> Option<(f64, f64)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let each =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("schedstat")).ok());
    let (mut used, mut waited) = (0.0, 0.0);
    for text in each {
        let mut numbers = text.split(' ').filter_map(|number| number.trim().parse::<f64>().ok());
        used += numbers.next()? / 1e9;
        waited += numbers.next()? / 1e9;
    }
    Some((used, used + waited))
}

/// 10,000 short points: all cores busy, memory that does not grow with the points. Run it with
/// `cargo test -p xoff --test cli sweep::ten_thousand -- --ignored --nocapture`.
#[test]
#[ignore = "takes a minute or more, and all cores"]
#[cfg(target_os = "linux")]
fn ten_thousand_points_keep_all_cores_busy_in_bounded_memory() {
    let sweep = |steps: u32| {
        format!(
            "scenario = \"s.toml\"\nseeds = 10\n[[axis]]\nkey = \"scenario.workload[0].size\"\n\
             from = \"1KB\"\nto = \"20KB\"\nsteps = {steps}\n\
             [[axis]]\nkey = \"fabric.ecn.kmin\"\nfrom = \"10KB\"\nto = \"90KB\"\nsteps = 10\n"
        )
    };
    let cores = std::thread::available_parallelism().unwrap().get() as f64;
    let mut peaks = Vec::new();
    for steps in [10, 100] {
        let folder = folder(&sweep(steps));
        let clock = now();
        let mut child = start(folder.path(), &["--out", "o"]);
        // When points began, and the last time that threads were seen to run them.
        let (mut begun, mut last) = (None, (0.0, (0.0, 0.0)));
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            peak = super::peak(child.id()).unwrap_or(peak);
            let done = folder.path().join("o/sweep.parquet.partial").exists();
            if let Some(used) = used_and_wanted(child.id())
                && !done
                && shards(folder.path(), "o") > 0
            {
                let at = clock.elapsed().as_secs_f64();
                let first = *begun.get_or_insert((at, used));
                if used.0 >= last.1.0 || last.0 == 0.0 {
                    last = (at - first.0, (used.0 - first.1.0, used.1 - first.1.1));
                }
            }
            sleep(Duration::from_millis(50));
        }
        let seconds = clock.elapsed().as_secs_f64();
        let [used, wanted] = [last.1.0, last.1.1].map(|of| of / last.0.max(1e-9) / cores);
        println!(
            "{} points: {seconds:.1} s, {:.0} % of {cores} cores used and {:.0} % wanted, {} MB",
            steps * 100,
            used * 100.0,
            wanted * 100.0,
            peak / 1_000_000
        );
        assert!(child.wait().unwrap().success());
        assert_eq!(rows(&folder.path().join("o/sweep.parquet")).len(), steps as usize * 100);
        peaks.push(peak);
        assert!(steps < 100 || wanted > 0.9, "{wanted}");
    }
    assert!(peaks[1] < peaks[0] + 20_000_000, "{peaks:?}");
}
