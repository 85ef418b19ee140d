use super::*;
use proptest::prelude::*;

/// A table as a run of two servers with two GPUs each prints it; times by a formula.
fn table(name: Option<&str>, ranks: u32, rows: &[u64]) -> String {
    let mut text =
        String::from("# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor)\n#\n");
    if let Some(name) = name {
        text = format!("# Collective test starting: {name}\n{text}");
    }
    text += "# Using devices\n";
    for rank in 0..ranks {
        let host = rank / 2;
        text += &format!(
            "#  Rank {rank:2} Group  0 Pid {} on gpu{host} device {} [0x0a] Some GPU\n",
            100 + rank,
            rank % 2
        );
    }
    text += "#\n#                                out-of-place            in-place\n\
             #       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n\
             #        (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)\n";
    for &size in rows {
        text += &row(size, ranks);
        text.push('\n');
    }
    text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.0\n"
}

fn time(size: u64) -> f64 {
    20.0 + size as f64 / 100e3
}

/// The figures of one half.
fn half(size: u64, ranks: u32) -> String {
    let time = time(size);
    let moved = size as f64 / time / 1e3;
    let bus = moved * 2.0 * f64::from(ranks - 1) / f64::from(ranks);
    format!("{time:.2} {moved:.2} {bus:.2} 0")
}

fn row(size: u64, ranks: u32) -> String {
    format!("{size:12} {:8} float sum -1 {} {}", size / 4, half(size, ranks), half(size, ranks))
}

const SIZES: [u64; 4] = [8, 65_536, 1 << 20, 1 << 28];

fn one(text: &str) -> Series {
    let measured = read(text).unwrap();
    assert_eq!(measured.notes, [], "{text}");
    let [series] = &measured.series[..] else { panic!("{measured:?}") };
    series.clone()
}

#[test]
fn a_table_is_read() {
    for name in [Some("all_reduce_perf"), None] {
        let series = one(&table(name, 4, &SIZES));
        assert_eq!(series.collective, Some(Kind::AllReduce));
        assert_eq!((series.ranks, series.hosts), (Some(4), Some(2)));
        let expected: Vec<(Bytes, f64)> =
            SIZES.iter().map(|&size| (Bytes::new(size), time(size))).collect();
        for ((size, time, times), (expected, about)) in series.medians().into_iter().zip(expected) {
            assert_eq!((size, times), (expected, 1));
            assert!((time - about).abs() < 0.01);
        }
        assert_eq!(series.rows[0].in_place.unwrap().wrong, Some(0));
    }
}

#[test]
fn launchers_put_words_before_every_line() {
    let plain = table(None, 4, &SIZES);
    for prefix in [
        "[1,0]<stdout>:",
        "0: ",
        " 0: ",
        "[0] ",
        "[1,12]<stdout>: ",
        "2026-07-09T16:03:21.123456789Z ",
        "2026-07-09T16:03:21Z [1,0]<stdout>:",
        "[pod/nccl-launcher-x7/launcher] ",
        "nccl-launcher-x7: [1,0]<stdout>: ",
    ] {
        let tagged: String = plain.lines().map(|line| format!("{prefix}{line}\n")).collect();
        assert_eq!(one(&tagged), one(&plain), "{prefix}");
    }
}

#[test]
fn logs_inside_a_row_do_not_tear_it() {
    let log = "node1:4978:4978 [0] NCCL INFO 1048576 Bytes -> Algo 1 proto 2 time 66.1";
    let (described, figures) = ("     1048576   262144   float  sum  -1", half(1 << 20, 4));
    let shapes = [
        // The log on the row's line, without and with a blank, and on lines of its own.
        format!("{described}{log}\n{log}\n   {figures}   {figures}\n"),
        format!("{described} {log}\n   {figures}   {figures}\n"),
        format!("{described}\n{log}\n   {figures}\n{log}\n   {figures}\n"),
        format!("{described}   {figures}{log}\n   {figures}\n"),
    ];
    let head = table(None, 4, &[]);
    for shape in shapes {
        let series = one(&format!("{head}{shape}"));
        assert_eq!(series.rows, one(&table(None, 4, &[1 << 20])).rows, "{shape}");
    }
}

#[test]
fn other_columns_are_other_columns() {
    // Before there were roots, errors instead of counts of wrong values.
    let text = "#  size  count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n\
                1048576 262144 float sum 100.0 10.49 18.35 1e-07 99.0 10.59 18.54 5e-01\n";
    let measured = read(text).unwrap();
    let row = measured.series[0].rows[0];
    assert_eq!(row.out_of_place.unwrap().wrong, Some(0));
    assert_eq!(row.in_place.unwrap().wrong, Some(1));
    assert_eq!(measured.notes[0].text, "a row with wrong values");
    // Times of the CPU, statistics of repetitions, a time of day.
    let text = "# size count type redop root cputime algbw busbw #wrong i_min i_max i_p99 i_cv% \
                cputime algbw busbw #wrong i_min i_max i_p99 i_cv% timestamp\n\
                1048576 262144 float sum -1 100.0 10.49 18.35 N/A 90 110 109 3.1 99.0 10.59 18.54 0 90 110 109 3.1 12:00:01\n";
    let measured = read(text).unwrap();
    let row = measured.series[0].rows[0];
    assert_eq!((row.out_of_place.unwrap().time_us, row.out_of_place.unwrap().wrong), (100.0, None));
    assert_eq!((row.in_place.unwrap().time_us, row.in_place.unwrap().wrong), (99.0, Some(0)));
}

#[test]
fn a_file_may_hold_several_calls() {
    let text =
        table(Some("all_reduce_perf"), 4, &SIZES) + &table(Some("all_reduce_perf"), 8, &SIZES[..2]);
    let measured = read(&text).unwrap();
    let shape: Vec<_> =
        measured.series.iter().map(|s| (s.collective, s.ranks, s.rows.len())).collect();
    assert_eq!(shape, [(Some(Kind::AllReduce), Some(4), 4), (Some(Kind::AllReduce), Some(8), 2)]);
}

#[test]
fn processes_that_do_not_know_of_each_other_are_noticed() {
    let text = table(None, 4, &SIZES).replace("Rank  2", "Rank  0");
    let notes = read(&text).unwrap().notes;
    assert!(notes[0].text.contains("without MPI"), "{notes:?}");
}

#[test]
fn repeated_sizes_have_a_median() {
    let text = "1048576 262144 float sum -1 100.0 10.49 18.35 0 1.0 1048.58 1835.01 0\n\
                1048576 262144 float sum -1 900.0 1.17 2.04 0 1.0 1048.58 1835.01 0\n\
                1048576 262144 float sum -1 110.0 9.53 16.68 0 1.0 1048.58 1835.01 0\n";
    assert_eq!(read(text).unwrap().series[0].medians(), [(Bytes::new(1 << 20), 110.0, 3)]);
}

#[test]
fn json_is_read() {
    let text = r#"{"version": 1, "args": ["./build/all_gather_perf_mpi", "-b", "8"], "env": {"SECRET": "x"},
        "devices": [{"host": "a"}, {"host": "b"}],
        "results": [{"size": 1048576, "count": 1, "type": "float", "redop": "none", "root": " -1",
            "out_of_place": {"time": 100.0, "alg_bw": 10.49, "bus_bw": 5.24, "nwrong": null},
            "in_place": {"time": "nan", "alg_bw": "nan", "bus_bw": "nan", "nwrong": "0"}}]}"#;
    let series = one(text);
    assert_eq!(
        (series.collective, series.ranks, series.hosts),
        (Some(Kind::AllGather), Some(2), Some(2))
    );
    assert_eq!(series.medians(), [(Bytes::new(1 << 20), 100.0, 1)]);
    assert!(series.rows[0].in_place.is_none());
    let broken = read(&text[..60]).unwrap_err().to_string();
    assert!(broken.contains("line 1") && broken.contains("-J FILE"), "{broken}");
}

#[test]
fn param_is_read() {
    let text = "[rank 0] COMMS-RES-all_reduce-float32 total-size (B) nElementsPerRank Time p50 p75 p95 Min Max\n\
                [rank 0] COMMS-RES-all_reduce-float32 1048576 262144 100.0 101.0 105.0 99.0 110.0 10.49 18.35 200.0\n\
                [rank 0] COMMS-RES-all_to_all-float32 1048576 262144 100.0 101.0 105.0 99.0 110.0 10.49 9.18 200.0\n";
    let measured = read(text).unwrap();
    let kinds: Vec<_> = measured.series.iter().map(|series| series.collective).collect();
    assert_eq!(kinds, [Some(Kind::AllReduce), Some(Kind::AllToAll)]);
}

#[test]
fn what_cannot_be_is_left_out_and_said() {
    // Ten times the bandwidth that size and time give.
    let text = "1048576 262144 float sum -1 100.0 104.90 183.50 0 100.0 104.90 183.50 0\n\
                2097152 524288 float sum -1 100.0 20.97 36.70 0 100.0 20.97 36.70 0\n";
    let measured = read(text).unwrap();
    assert_eq!(measured.series[0].rows.len(), 1);
    assert_eq!(
        measured.notes[0].to_string(),
        "a row whose time and bandwidths contradict each other, line 1"
    );
    // Half a row, then the next.
    let text = format!("1048576 262144 float sum -1\n{}\n", row(1 << 21, 4));
    let measured = read(&text).unwrap();
    assert_eq!(measured.notes[0].to_string(), "a row that has no end, line 1");
    for nothing in ["", "# nThread 1\n", "hello\n", "{}", "COMMS-RES\n", "[1,0]<stdout>:\n"] {
        let why = read(nothing).unwrap_err().to_string();
        assert!(why.contains("expected"), "{nothing:?}: {why}");
    }
}

#[test]
fn names_of_collectives_are_known_however_written() {
    for (text, kind) in [
        ("all_reduce_perf", Kind::AllReduce),
        ("AllReduce", Kind::AllReduce),
        ("alltoall_perf_mpi", Kind::AllToAll),
        ("sendrecv", Kind::SendRecv),
        ("reduce_scatter", Kind::ReduceScatter),
    ] {
        assert_eq!(Kind::named(text), Some(kind), "{text}");
        assert_eq!(Kind::named(kind.name()), Some(kind));
    }
    assert_eq!(Kind::named("hypercube"), None);
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(text in "[-0-9a-z#:<>\\[\\]{}\",. \n]{0,400}") {
        let _ = read(&text);
    }

    #[test]
    fn a_table_in_pieces_does_not_make_it_panic(cut in 0usize..2000, insert in "[ -~\n]{0,40}") {
        let text = table(Some("all_reduce_perf"), 4, &SIZES);
        let cut = cut.min(text.len());
        let _ = read(&format!("{}{insert}{}", &text[..cut], &text[cut..]));
    }
}
