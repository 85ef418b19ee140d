//! `xoff trace`.

use super::{code, json, output, stderr, stdout, xoff};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const GOAL: &str = "num_ranks 3\nrank 0 {\nl1: calc 1500\nl2: send 1000000b to 1\nl2 requires l1\n}\n\
     rank 1 {\nl1: recv 1000000b from 0\n}\n";

const LOG: &str = "\
loading
a:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 2 cudaDev 0 busId 1000 commId 0x77 - Init COMPLETE
b:1:1 [0] NCCL INFO comm 0xa rank 1 nranks 2 cudaDev 0 busId 1000 commId 0x77 - Init COMPLETE
a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
a:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 1000 datatype 7 op 0 root 0 comm 0xa [nranks=2] stream 0x5
b:1:1 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 1000 datatype 7 op 0 root 0 comm 0xa [nranks=2] stream 0x5
b:1:1 [0] NCCL INFO Frob\u{1b}[31m: opCount 1 sendbuff 0x1 recvbuff 0x2 count 1 datatype 7 op 0 root 0 comm 0xa [nranks=2] stream 0x5
";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[test]
fn a_schedule_as_people_see_it() {
    let folder = folder(&[("s.goal", GOAL)]);
    let output = output(folder.path(), &["trace", "s.goal"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let expected = "\
s.goal  goal: 3 ranks, 3 operations, 1 dependency

Operations
  kind     count  bytes  without size     time
  send         1   1 MB
  receive      1   1 MB
  compute      1                       1.50 us

Ranks
  rank  communication  bytes  other     time
     0              1   1 MB      1  1.50 us
     1              1   1 MB      0

Notes
  assumed  1 x rank without statements: does nothing  (s.goal)
";
    assert_eq!(stdout(&output), expected);
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_log_and_what_is_wrong_with_it() {
    let folder = folder(&[("n.log", LOG)]);
    let found = output(folder.path(), &["trace", "n.log"]);
    assert_eq!(code(&found), Some(0), "{}", stderr(&found));
    let text = stdout(&found);
    for line in [
        "n.log  nccl: 2 ranks, 2 operations, 0 dependencies",
        "  AllReduce      2   8 KB",
        "  0x77       2  all              2   8 KB",
        "     0   1  NET/IB/0/GDRDMA      1",
        "  unknown  1 x call `Frob\u{fffd}[31m`  (n.log line 7)",
        "  skipped  1 x line that is not NCCL's  (n.log line 1)",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    let strict = output(folder.path(), &["trace", "n.log", "--strict"]);
    assert_eq!(code(&strict), Some(1));
}

#[test]
fn the_same_for_machines() {
    let folder = folder(&[("n.log", LOG)]);
    let found = json(&output(folder.path(), &["trace", "n.log", "--json"]));
    assert_eq!(found["format"], "nccl");
    assert_eq!((&found["ranks"], &found["operations"]), (&2.into(), &2.into()));
    assert_eq!(found["kinds"][0]["kind"], "AllReduce");
    assert_eq!(found["kinds"][0]["bytes"], 8000);
    assert_eq!(found["groups"][0]["size"], 2);
    assert_eq!(found["by_rank"][1]["communication"]["count"], 1);
    assert_eq!(found["connections"][0]["via"], "NET/IB/0/GDRDMA");
    assert_eq!(found["notes"][0]["kind"], "unknown");
    assert_eq!(found["notes"][0]["line"], 7);
}

#[test]
fn standard_input_and_a_format() {
    let mut child = xoff(Path::new("."))
        .args(["trace", "-", "--json", "--format", "nccl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let late = ["loading\n".repeat(20_000), LOG.to_owned()].concat();
    child.stdin.take().unwrap().write_all(late.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(json(&output)["operations"], 2);
}

#[test]
fn what_is_no_trace_is_code_2_with_a_cure() {
    let folder = folder(&[
        ("hello", "hello world"),
        ("empty", ""),
        ("far.goal", "num_ranks 1000000000000\n"),
        ("cut.goal", "num_ranks 1\nrank 0 {\n"),
        ("s.goal", GOAL),
    ]);
    for (arguments, words) in [
        (&["trace", "hello"][..], "hello: not recognised as a trace; known are Chakra"),
        (&["trace", "empty"], "nothing in it"),
        (&["trace", "far.goal"], "far.goal line 1: 1000000000000 ranks"),
        (&["trace", "cut.goal"], "cut.goal line 2: rank 0 is opened here"),
        (&["trace", "nowhere"], "nowhere: cannot be read"),
        (&["trace", "."], "there is another goal file"),
        (&["trace", "hello", "--format", "xml"], "xml"),
        (&["trace"], "Usage"),
    ] {
        let output = output(folder.path(), arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn fits_a_narrow_terminal() {
    let folder = folder(&[("n.log", LOG)]);
    for columns in ["40", "60"] {
        let mut command = xoff(folder.path());
        let output = command.args(["trace", "n.log"]).env("COLUMNS", columns).output().unwrap();
        let tables = stdout(&output).split("\nNotes").next().unwrap();
        let limit: usize = columns.parse().unwrap();
        for line in tables.lines().skip(1) {
            assert!(line.chars().count() <= limit, "{line:?}");
        }
    }
}

fn fabric() -> String {
    super::repository("examples/rail-64.toml").to_str().unwrap().to_owned()
}

/// The time and the bytes of the only workload of a run.
fn figures(output: &std::process::Output) -> (f64, u64) {
    assert_eq!(code(output), Some(0), "{}", stderr(output));
    let workload = &json(output)["workloads"][0];
    (workload["time_us"].as_f64().unwrap(), workload["bytes"].as_u64().unwrap())
}

#[test]
fn a_trace_is_replayed_with_and_without_a_scenario() {
    let text = GOAL.replace("to 1", "to 9").replace("rank 1 {", "rank 9 {");
    let text = text.replace("num_ranks 3", "num_ranks 10");
    let scenario =
        format!("fabric = '{}'\n[[workload]]\nkind = 'trace'\npath = 's.goal'\n", fabric());
    let folder = folder(&[("s.goal", &text), ("s.toml", &scenario)]);
    let run = |arguments: &[&str]| output(folder.path(), arguments);
    let one = figures(&run(&["trace", "s.goal", "--replay", &fabric(), "--out", "a", "--json"]));
    let other = figures(&run(&["run", "s.toml", "--out", "b", "--json"]));
    assert_eq!(one, other);
    // 1.5 us of computing, and a megabyte at 400 Gbit/s.
    assert!(one.0 > 21.5 && one.0 < 30.0, "{one:?}");
    assert_eq!(one.1, 1_000_000);
    assert!(folder.path().join("a/input/s.goal").is_file(), "the trace is kept with the run");
    let slow = ["trace", "s.goal", "--replay", &fabric(), "--out", "c", "--json"];
    let slow = [&slow[..], &["--compute-scale", "101", "--replicas", "4"]].concat();
    let (time, bytes) = figures(&run(&slow));
    assert!((time - one.0 - 150.0).abs() < 1.0, "{time} for {}", one.0);
    assert_eq!(bytes, 4_000_000);
}

/// Two ranks that compute for 10 and 30 us before they meet, and for 5 and 1 us after that; as Chakra's JSON.
#[test]
fn how_far_apart_ranks_are_is_in_the_results() {
    let graph = |before: u32, after: u32| {
        format!(
            r#"{{"workload_graph": [{{"Id": 1, "NodeType": 4, "data_deps": [], "runtime": {before}}},
            {{"Id": 2, "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 65536}},
            {{"Id": 3, "NodeType": 4, "data_deps": [2], "runtime": {after}}}]}}"#
        )
    };
    let folder = folder(&[("t.0.json", &graph(10, 5)), ("t.1.json", &graph(30, 1))]);
    let replay = ["trace", ".", "--replay", &fabric(), "--out", "a"];
    let found = json(&output(folder.path(), &[&replay[..], &["--json"]].concat()));
    let ends = &found["workloads"][0]["rank_ends"];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert_eq!((&ends["first_rank"], &ends["last_rank"]), (&1.into(), &0.into()), "{ends}");
    let apart = number(&ends["last_us"]) - number(&ends["first_us"]);
    assert!((apart - 4.0).abs() < 1e-6, "{ends}");
    assert!(number(&ends["last_us"]) - number(&found["workloads"][0]["time_us"]) < 1e-6);
    let met = &found["collectives"][0];
    assert!((number(&met["apart_us"]) - 20.0).abs() < 1e-6, "{met}");
    assert!((number(&met["most_apart_us"]) - 20.0).abs() < 1e-6, "{met}");
    let again = ["trace", ".", "--replay", &fabric(), "--out", "b"];
    let shown = output(folder.path(), &again);
    let text = stdout(&shown);
    for heading in ["Ends of ranks", "Rank skew", "arrival skew"] {
        assert!(text.contains(heading), "{text}");
    }
    let page = std::fs::read_to_string(folder.path().join("b/report.html")).unwrap();
    assert!(page.contains("When the ranks of traces are done"));
}

#[test]
fn what_a_replay_leaves_out_is_said() {
    let alone = "num_ranks 2\nrank 0 {\nl1: calc 5\nl2: recv 8b from 1\n}\n";
    let folder = folder(&[("s.goal", alone)]);
    let replay = ["trace", "s.goal", "--replay", &fabric(), "--out", "a"];
    let refused = output(folder.path(), &replay);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("s.goal line 4 (rank 0"), "{}", stderr(&refused));
    let lenient = output(folder.path(), &[&replay[..], &["--lenient"]].concat());
    assert_eq!(code(&lenient), Some(0), "{}", stderr(&lenient));
    let said = stderr(&lenient);
    assert!(
        said.contains("left out: receive without a send (1 times, first at s.goal line 4)"),
        "{said}"
    );
    for wrong in [&["--out", "x"][..], &["--lenient"], &["--replay", "none.toml"]] {
        let output = output(folder.path(), &[&["trace", "s.goal"], wrong].concat());
        assert_eq!(code(&output), Some(2), "{wrong:?}: {}", stderr(&output));
    }
}

/// Rings over four servers, whose messages stay on their rails in the schedule, too.
#[test]
fn a_collective_is_written_and_replayed() {
    let scenario = |workload: &str| {
        format!(
            "fabric = '{}'\n[[workload]]\n{workload}\ncost = 'none'\nalgorithm = 'ring'\n",
            fabric()
        )
    };
    let own = scenario("kind = 'all-reduce'\nsize = '64MiB'\nranks = 32");
    let folder = folder(&[("own.toml", &own)]);
    let run = |arguments: &[&str]| output(folder.path(), arguments);
    let (own, _) = figures(&run(&["run", "own.toml", "--out", "own", "--json"]));
    for format in ["chakra", "goal"] {
        let written = run(&["trace", "own.toml", "--write", format, "--out", format]);
        assert_eq!(code(&written), Some(0), "{}", stderr(&written));
        let again = scenario(&format!("kind = 'trace'\npath = '{format}'"));
        std::fs::write(folder.path().join("again.toml"), again).unwrap();
        let results = format!("{format}-run");
        let (time, _) = figures(&run(&["run", "again.toml", "--out", &results, "--json"]));
        assert!((time / own - 1.0).abs() < 0.02, "{format}: {time} us for {own} us");
    }
}

#[test]
fn a_step_is_written_and_replayed() {
    let step = format!(
        "fabric = '{}'\n[[workload]]\nkind = 'training-step'\nmodel = {{ layers = 1, hidden = 2048, heads = 16, \
         ffn = 8192, vocabulary = 8192 }}\nsequence = 4096\ntp = 8\ndp = 2\ncost = 'none'\n",
        fabric()
    );
    let folder = folder(&[("step.toml", &step)]);
    let run = |arguments: &[&str]| output(folder.path(), arguments);
    let (own, _) = figures(&run(&["run", "step.toml", "--out", "own", "--json"]));
    for format in ["chakra", "goal"] {
        let written = run(&["trace", "step.toml", "--write", format]);
        assert_eq!(code(&written), Some(0), "{}", stderr(&written));
        assert!(stdout(&written).contains("of 16 ranks"), "{}", stdout(&written));
        let again = format!(
            "fabric = '{}'\n[[workload]]\nkind = 'trace'\npath = 'step-{format}'\ncost = 'none'\n\
             algorithm = 'ring'\n",
            fabric()
        );
        std::fs::write(folder.path().join("again.toml"), again).unwrap();
        let (time, _) = figures(&run(&["run", "again.toml", "--out", format, "--json"]));
        assert!((time / own - 1.0).abs() < 0.02, "{format}: {time} us for {own} us");
    }
    let none = run(&[
        "trace",
        &super::repository("examples/incast.toml").display().to_string(),
        "--write",
        "goal",
    ]);
    assert_eq!(code(&none), Some(2), "{}", stderr(&none));
}
