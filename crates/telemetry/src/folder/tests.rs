use super::*;
use crate::Outcome;
use crate::flow::tests::flow;
use tempfile::tempdir;

#[test]
fn a_new_folder_says_that_it_runs() {
    let temp = tempdir().unwrap();
    let path = temp.path().join("deep/er/run");
    let folder = RunFolder::create(&path).unwrap();
    assert_eq!(RunFolder::read_summary(&path).unwrap().outcome, Outcome::Running);
    let mut summary = Summary::new(7);
    summary.outcome = Outcome::Completed;
    folder.write_summary(&summary).unwrap();
    assert_eq!(RunFolder::read_summary(&path).unwrap(), summary);
    assert!(!path.join("summary.json.partial").exists());
}

#[test]
fn a_strangers_folder_is_left_alone() {
    let temp = tempdir().unwrap();
    for (name, text) in [("thesis.tex", "years of work"), ("summary.json", "{\"tool\":\"other\"}")]
    {
        let path = temp.path().join(name.replace('.', "-"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join(name), text).unwrap();
        let error = RunFolder::create(&path).unwrap_err();
        assert!(matches!(error, RunError::NotARunFolder { .. }), "{error}");
        assert!(error.to_string().contains("--out"));
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), text);
    }
}

#[test]
fn an_earlier_run_is_replaced_and_other_files_stay() {
    let temp = tempdir().unwrap();
    let path = temp.path();
    let folder = RunFolder::create(path).unwrap();
    let mut table = folder.table::<crate::FlowRow>().unwrap();
    table.push(&flow(0, 0, None)).unwrap();
    table.finish().unwrap();
    fs::write(path.join("notes.txt"), "keep").unwrap();
    RunFolder::create(path).unwrap();
    assert!(!path.join("flows.parquet").exists());
    assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "keep");
}

#[test]
fn a_file_in_the_way_is_named() {
    let temp = tempdir().unwrap();
    let path = temp.path().join("file");
    fs::write(&path, "x").unwrap();
    for path in [path.clone(), path.join("run")] {
        let text = RunFolder::create(&path).unwrap_err().to_string();
        assert!(text.contains("file") && text.contains("in the way"), "{text}");
    }
}

#[test]
fn an_unwritable_folder_is_named() {
    // Not even root may make a folder here.
    let text = RunFolder::create("/proc/xoff-run").unwrap_err().to_string();
    assert!(text.contains("/proc/xoff-run") && text.contains("; c"), "{text}");
}

#[test]
fn inputs_are_copied_with_their_hash() {
    let temp = tempdir().unwrap();
    let (one, two) = (temp.path().join("a.toml"), temp.path().join("other/a.toml"));
    fs::create_dir(temp.path().join("other")).unwrap();
    fs::write(&one, "abc").unwrap();
    fs::write(&two, "").unwrap();
    let mut folder = RunFolder::create(temp.path().join("run")).unwrap();
    let kept = folder.keep_input(&one).unwrap().clone();
    assert_eq!((kept.copy.as_str(), kept.bytes), ("input/a.toml", 3));
    // The example of FIPS 180-2, appendix B.1.
    assert_eq!(kept.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(folder.keep_input(&two).unwrap().copy, "input/a-2.toml");
    assert_eq!(fs::read_to_string(temp.path().join("run/input/a.toml")).unwrap(), "abc");
    assert_eq!(folder.inputs().len(), 2);
    let missing = folder.keep_input(Path::new("nowhere.csv")).unwrap_err().to_string();
    assert!(missing.contains("nowhere.csv"), "{missing}");
}

#[test]
fn a_run_repeated_from_its_own_folder_keeps_its_input() {
    let temp = tempdir().unwrap();
    let file = temp.path().join("s.toml");
    fs::write(&file, "abc").unwrap();
    let run = temp.path().join("run");
    RunFolder::create(&run).unwrap().keep_input(&file).unwrap();
    let copy = run.join("input/s.toml");
    let mut again = RunFolder::create(&run).unwrap();
    assert_eq!(again.keep_input(&copy).unwrap().bytes, 3);
    assert_eq!(fs::read_to_string(&copy).unwrap(), "abc");
}

/// Long, because it holds the whole file as docs/results.md describes it.
#[test]
fn the_summary_is_written_as_documented() {
    let mut tally = crate::FlowTally::default();
    tally.add(&flow(0, 0, Some(250)));
    let mut summary = Summary::new(1);
    summary.version = "0.1.0".into();
    summary.outcome = Outcome::Failed { reasons: vec!["class 3 dropped 1 packet".into()] };
    summary.result_hash = crate::Digest::new().to_hex();
    summary.simulated_ps = 250_000_000;
    summary.flows = tally.finish(xoff_units::Instant::MAX);
    let mut ports = crate::PortTally::new(xoff_units::Span::from_us(1));
    ports.add(&crate::port::tests::port(0, "leaf", &[(3, 250)]));
    ports.finish(&mut summary);
    summary.drops.push(crate::DropSummary {
        class: 3,
        lossless: true,
        reason: "headroom".into(),
        packets: 1,
        bytes: 4096,
    });
    summary.collectives.push(crate::CollectiveSummary {
        name: "all-reduce".into(),
        ranks: 8,
        algorithm: "ring".into(),
        size_bytes: 1 << 20,
        finished: 1,
        asked: 1,
        mean_us: 50.0,
        algbw_gbps: 21.0,
        busbw_gbps: 36.75,
        cost: "measured".into(),
        connections: "fresh".into(),
        ends_us: Some(crate::EndsSummary { first: 40.0, median: 47.5, last: 50.0 }),
        apart_us: None,
        most_apart_us: Some(3.5),
    });
    summary.workloads.push(crate::WorkloadSummary {
        name: "kv-cache".into(),
        kind: "kv-cache".into(),
        tenant: Some("chat".into()),
        transport: None,
        unit: "requests".into(),
        begun: 2,
        finished: 1,
        time_us: 500.0,
        bytes: 1_000_000,
        gbytes_per_second: 2.0,
        per_second: 2000.0,
        objective_us: Some(1000.0),
        within_objective: Some(0.5),
        alone_us: Some(100.0),
        slowdown: Some(2.5),
        serving: None,
        rank_ends: Some(crate::RankEndsSummary {
            median_us: 8.5,
            last_rank: 3,
            last_us: 9.5,
            ..Default::default()
        }),
        latency_us: summary.flows.fct_us,
    });
    summary.tenants = crate::TenantSummary::of(&summary.workloads);
    summary.steps.push(crate::StepSummary {
        name: "training-step".into(),
        ranks: 64,
        finished: 1,
        asked: 1,
        mean_us: 500.0,
        compute_us: 250.0,
        bubble_us: 125.0,
        exposed_us: 125.0,
        idle: 0.5,
        tokens_per_second: 1_000_000.0,
        samples: false,
        mfu: 0.25,
        critical: Some(crate::CriticalSummary {
            last_rank: 63,
            compute_us: 250.0,
            waits: vec![crate::DimensionWait { dimension: "data".into(), wait_us: 250.0 }],
            longest: Some(crate::LongestWait {
                dimension: "data".into(),
                wait_us: 125.0,
                ranks: vec![7, 15],
                held_by: 15,
                link: Some("leaf0→n0".into()),
                link_utilisation: 0.5,
                link_paused_us: 2.5,
            }),
        }),
    });
    summary.transfers = crate::TransferSummary {
        retransmitted_packets: 1,
        timeouts: 0,
        cnps: 2,
        out_of_sequence: 3,
    };
    summary.links.push(crate::LinkSpread {
        between: "leaf→spine".into(),
        links: 4,
        used: 3,
        tx_bytes: 4096,
        mean: 0.25,
        max: 0.5,
        max_over_mean: 2.0,
        gini: 0.375,
        at_worst: 2.0,
        busiest: "leaf0→spine1".into(),
    });
    summary.notes.push("no host memory".into());
    summary.fidelity = "packet".into();
    let temp = tempdir().unwrap();
    let mut folder = RunFolder::create(temp.path()).unwrap();
    fs::write(temp.path().join("input/s.toml"), "abc").unwrap();
    folder.keep_input(&temp.path().join("input/s.toml")).unwrap();
    summary.inputs = folder.inputs().to_vec();
    summary.inputs[0].path = "s.toml".into();
    folder.write_summary(&summary).unwrap();
    let written = fs::read_to_string(temp.path().join("summary.json")).unwrap();
    let golden = include_str!("summary.json");
    assert_eq!(written, golden, "the snapshot beside this test has the documented form");
}
