use super::*;

/// Four steps of a minute, of which two are usual.
const STEPS: Steps = Steps { start: Timestamp::from_ms(0), step: Span::from_ms(60_000), count: 4 };
const USUAL: usize = 2;
const MIB: u64 = 1 << 20;

/// An AllReduce of four GPUs in two servers: rows of size and microseconds.
fn output(rows: &[(u64, f64)]) -> String {
    let mut text = "# nThread 1 nGpus 1\n".to_owned();
    for (rank, host) in ["a", "a", "b", "b"].iter().enumerate() {
        text += &format!("#  Rank  {rank} Group  0 Pid 1 on {host} device 0 [0x0a] GPU\n");
    }
    text += "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
    for (size, time) in rows {
        let algorithm = *size as f64 / time / 1e3;
        let bus = algorithm * 1.5;
        text += &format!(
            "{size} {} float sum -1 {time} {algorithm:.2} {bus:.2} 0 N/A N/A N/A N/A\n",
            size / 4
        );
    }
    text
}

fn file(name: &str, written: Option<i64>, rows: &[(u64, f64)]) -> File {
    let measured = xoff_workload::measured::read(&output(rows)).expect("measurements");
    File { name: name.into(), written: written.map(Timestamp::from_ms), measured }
}

/// What is recorded of the time of collectives, and what is not known.
fn recorded(files: &[File], usual: usize) -> (Vec<f32>, Vec<String>) {
    let tests = tests(files);
    assert_eq!(tests.len(), 1, "{tests:?}");
    let mut recorder = Recorder::new(STEPS);
    let unknown = tests[0].add_to(&mut recorder, STEPS, usual);
    let recording = recorder.finish();
    let time = recording.series().find(|(key, _)| key.metric == Metric::CollectiveTime);
    (time.map(|(_, values)| values.to_vec()).unwrap_or_default(), unknown)
}

#[test]
fn files_without_times_are_before_and_after() {
    let rows = [(MIB, 100.0), (4 * MIB, 300.0)];
    let slow = [(MIB, 100.0), (2 * MIB, 220.0), (4 * MIB, 600.0)];
    // The largest size that both have.
    let both = [file("before", None, &rows), file("after", Some(-1), &slow)];
    let (times, unknown) = recorded(&both, USUAL);
    assert_eq!(times, [300e-6, 300e-6, 600e-6, 600e-6]);
    assert_eq!(unknown[0], "when `before` was measured; it counts as what is usual");
    assert!(unknown[1].ends_with("it counts for all of the time that is diagnosed"));
    // What is usual is the mean of several files.
    let three = [&both[..1], &[file("again", None, &[(4 * MIB, 500.0)])], &both[1..]].concat();
    assert_eq!(recorded(&three, USUAL).0, [400e-6, 400e-6, 600e-6, 600e-6]);
    // One alone is what is diagnosed.
    let (times, _) = recorded(&both[..1], USUAL);
    assert!(times[..2].iter().all(|time| time.is_nan()));
    assert_eq!(times[2..], [300e-6, 300e-6]);
    let (times, unknown) = recorded(&both, 0);
    assert_eq!(times, [600e-6; 4]);
    assert!(unknown[0].contains("is not used"), "{unknown:?}");
    let none = [file("before", None, &[(MIB, 100.0)]), file("after", None, &[(2 * MIB, 200.0)])];
    assert!(recorded(&none, USUAL).1[0].contains("no size in common"));
}

#[test]
fn files_written_in_the_time_looked_at_have_their_times() {
    let (fast, slow) = ([(4 * MIB, 300.0)], [(4 * MIB, 600.0)]);
    let at = |before: i64, after: i64| {
        [file("after", Some(after), &slow), file("before", Some(before), &fast)]
    };
    let (times, unknown) = recorded(&at(30_000, 200_000), USUAL);
    assert_eq!((times[0], times[3]), (300e-6, 600e-6));
    assert!(times[1].is_nan() && times[2].is_nan());
    assert!(unknown.is_empty(), "{unknown:?}");
    // Copied together: their order counts.
    let (times, unknown) = recorded(&at(190_000, 200_000), USUAL);
    assert_eq!(times, [600e-6, 600e-6, 300e-6, 300e-6]);
    assert_eq!(unknown.len(), 2);
}

#[test]
fn bandwidths_are_those_of_nccl_tests_and_of_the_fabric() {
    let text = "[cluster]\ngpus = 4\ngpus-per-server = 2\nnic = 'connectx-7'\n\
                [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
    let fabric = Fabric::from_toml(text).expect("a fabric");
    let tests = tests(&[file("log", None, &[(64 * MIB, 1_000.0)])]);
    assert_eq!(tests[0].job, "nccl-tests all-reduce, 4 GPUs");
    let measured = tests[0].bandwidth(Bytes::new(64 * MIB), 1_000.0).expect("a bandwidth");
    assert!((measured / 100.66e9 - 1.0).abs() < 1e-3, "{measured}");
    // Two rails of 400 Gbit/s are 100 GB/s, of which a ring has most at this size.
    let at_rest = tests[0].at_rest(&fabric).expect("a bandwidth");
    assert!((50e9..100e9).contains(&at_rest), "{at_rest}");
    let small = self::tests(&[file("log", None, &[(MIB / 2, 100.0)])]);
    assert!(small[0].at_rest(&fabric).expect_err("too small").contains("no size in it"));
    let text = "[cluster]\nhosts = 1\nnic = 'connectx-7'\n[fabric]\nkind = 'single'\n";
    let other = Fabric::from_toml(text).expect("a fabric");
    let error = tests[0].at_rest(&other).expect_err("too few GPUs");
    assert!(error.starts_with("what the fabric gives `nccl-tests all-reduce, 4 GPUs`"), "{error}");
}
