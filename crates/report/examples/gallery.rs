//! Prints a report with every kind of block and figure, to look at and for the browser test:
//! `cargo run -p xoff-report --example gallery > gallery.html`. The figures are made up.

use std::f64::consts::PI;
use xoff_report::*;
use xoff_units::{Bytes, Span};

fn main() -> std::io::Result<()> {
    use std::io::Write;
    std::io::stdout().lock().write_all(report().html().as_bytes())
}

pub(crate) fn report() -> Report {
    let headline = "Lossless under every load, but one spine carries twice its share.";
    let mut report = Report::new("Gallery of a report", headline);
    report.verdict = Some(Verdict::Warn);
    report.tiles = vec![
        Tile::words("Lossless", "yes")
            .note("no packet of a lossless class dropped")
            .verdict(Verdict::Pass),
        Tile::new("Step time", Span::from_ms(412))
            .note("1.21 times the ideal network")
            .verdict(Verdict::Warn),
        Tile::new("AllReduce", Number::new(46.1e9, Unit::BytesPerSecond))
            .note("92 % of ideal")
            .link("load"),
        Tile::new("GPU-hours lost a day", Number::count(1_234))
            .note("of 24,576")
            .link("failures.optic"),
    ];
    report.points = vec!["A dirty optic on `leaf1→spine2` halves its rail.".into()];
    report.facts = vec![
        Fact::code("To repeat", "xoff validate examples/pod-256.toml --seed 7"),
        Fact::new("Seed", "7"),
        Fact::new("Version", env!("CARGO_PKG_VERSION")),
        Fact::code(
            "SHA-256 of pod-256.toml",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
        Fact::new("Left out", "PCIe and host memory take no time; bit errors take whole packets."),
        Fact::new("Hostile <b>name</b>", "\"><script>alert(1)</script>\u{202e}"),
    ];
    report.sections = vec![summary(), queues(), load(), failures(), topologies(), hostile()];
    report
}

fn summary() -> Section {
    let mut section = Section::new("summary", "What came out");
    section.verdict = Some(Verdict::Warn);
    section.lead = Some("Six phases, 41 checks, 96 seconds.".to_owned());
    section.blocks.push(Block::Tiles(vec![
        Tile::new("Checks passed", Number::count(38)).note("of 41").verdict(Verdict::Warn),
        Tile::new("Lossless drops", Number::count(0)).verdict(Verdict::Pass),
        Tile::new("p99 completion", Span::from_us(412)).note("ideal 171 us"),
        Tile::new("AllReduce busbw", Number::new(46.1e9, Unit::BytesPerSecond))
            .note("ideal 50 GB/s")
            .verdict(Verdict::Pass),
    ]));
    let columns = [
        Column::text("phase"),
        Column::text("verdict"),
        Column::number("checks", Unit::Count),
        Column::number("score", Unit::Share),
        Column::text("what stands out"),
    ];
    let mut table = Table::new("phases", "Verdict by phase", columns);
    let rows = [
        ("Laboratory", "queues", Verdict::Pass, 12, 1.0, ""),
        ("Synthetic", "load", Verdict::Warn, 14, 0.93, "ECMP: spine2 carries twice its share"),
        ("Failures", "failures", Verdict::Fail, 9, 0.78, "a dirty optic halves its rail"),
    ];
    for (name, section, verdict, checks, score, remark) in rows {
        table.push([
            Cell::link(name, section),
            verdict.into(),
            Number::count(checks).into(),
            Number::share(score).into(),
            remark.into(),
        ]);
    }
    section.blocks.push(table.into());
    section
}

/// A reproducible stand-in for noise, from 0 to 1.
fn noise(at: u32) -> f64 {
    f64::from((at ^ (at >> 3)).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24)
}

fn queues() -> Section {
    let mut section = Section::new("queues", "Queues and pauses");
    section.lead = Some("A 32:1 incast with a pause storm at 1 ms.".to_owned());
    let time = Axis::new("time", Unit::Seconds);
    let depth = |scale: f64, phase: f64| {
        let depth = move |i: u32| {
            let x = f64::from(i) / 40_000.0;
            let wave = (x * 9.0 * PI + phase).sin().max(0.0);
            (x * 2e-3, scale * (wave * 0.9 + 0.1 * noise(i / 60)) * (1.0 - x * 0.5))
        };
        (0..40_000).map(depth).collect::<Vec<_>>()
    };
    let mut chart = Chart::new(time.clone(), Axis::new("queue depth", Unit::Bytes));
    chart.series.push(Series::new("leaf0→server3-nic0", depth(900e3, 0.0)));
    chart.series.push(Series::new("spine1→leaf0", depth(500e3, 1.2)));
    chart.marks.push(Mark::new("ECN Kmin", Bytes::new(400_000)));
    chart.marks.push(Mark::new("ECN Kmax", Bytes::new(450_000)));
    chart.marks.push(Mark::new("XOFF", Bytes::new(1_100_000)));
    chart.marks.push(Mark::new("buffer", Bytes::new(64_000_000)));
    chart.shades.push(Shade { label: "pause storm".into(), from: 1e-3, to: Some(1.2e-3) });
    let caption = "The queue to the storming NIC stands at XOFF; ECN marks come first.";
    let figure = Figure::new("queue-depth", "Queue depth", Plot::Steps(chart)).caption(caption);
    section.blocks.push(figure.into());
    let mut lanes = Vec::new();
    for (at, (name, group)) in [
        ("server3-nic0", "host"),
        ("leaf0→server3-nic0", "leaf"),
        ("spine0→leaf0", "spine"),
        ("spine1→leaf0", "spine"),
        ("leaf1→spine0", "far leaf"),
        ("leaf1→spine1", "far leaf"),
        ("server9-nic0→leaf1", "sender"),
        ("server10-nic0→leaf1 with a very long name of its own", "sender"),
    ]
    .into_iter()
    .enumerate()
    {
        let begin = 1e-3 + at as f64 * 2.5e-5;
        let stretch = |i: u32| Stretch {
            from: begin + f64::from(i) * 6e-5,
            to: Some(begin + f64::from(i) * 6e-5 + 2e-5 + 3e-5 * noise(i + at as u32)),
        };
        let stretches = (0..(8 - at as u32)).map(stretch).collect();
        lanes.push(Lane { name: name.into(), group: group.into(), stretches });
    }
    let shades = vec![Shade { label: "pause storm".into(), from: 1e-3, to: Some(1.2e-3) }];
    let timeline = Timeline { x: time, lanes, shades };
    let figure = Figure::new("pauses", "How pauses spread", Plot::Timeline(timeline))
        .caption("From the storming NIC outwards: who was paused from when to when.");
    section.blocks.push(figure.into());
    section
}

fn load() -> Section {
    let mut section = Section::new("load", "Under load");
    section.verdict = Some(Verdict::Warn);
    section
        .blocks
        .push(Block::Text("Every host sends to another one.\n\nThen all at once.".into()));
    let values =
        |shift: f64| (0..3_000).map(|i| 171e-6 * (1.0 + shift * noise(i).powi(4))).collect();
    let samples = |name: &str, shift| Samples { name: name.into(), values: values(shift) };
    let curves = Cdf {
        x: Axis::new("completion time", Unit::Seconds).log(),
        series: vec![samples("ECMP", 6.0), samples("flowlets", 2.0), samples("spraying", 0.4)],
        marks: vec![Mark::new("ideal", Span::from_us(171))],
    };
    let figure = Figure::new("completion", "Completion times", Plot::Cdf(curves));
    section.blocks.push(figure.caption("Further left is faster.").into());
    let size = Axis::new("size", Unit::Bytes).log();
    let mut chart = Chart::new(size, Axis::new("busbw", Unit::BytesPerSecond));
    let busbw = |top: f64, half: f64| {
        (10..31).map(|p| 2f64.powi(p)).map(|s| (s, top * s / (s + half))).collect::<Vec<_>>()
    };
    chart.series.push(Series::new("AllReduce", busbw(46e9, 2e6)));
    chart.series.push(Series::new("AllGather", busbw(44e9, 1e6)));
    chart.series.push(Series::new("AllToAll", busbw(31e9, 8e6)));
    chart.marks.push(Mark::new("ideal", Number::new(50e9, Unit::BytesPerSecond)));
    let figure = Figure::new("busbw", "Bus bandwidth over size", Plot::Lines(chart));
    section.blocks.push(figure.caption("As nccl-tests counts it.").into());
    let heat = Heat {
        row_label: "port".into(),
        column_label: "time".into(),
        rows: (0..12).map(|i| format!("leaf{}→spine{}", i / 4, i % 4)).collect(),
        columns: (0..100).map(|i| format!("{} us", i * 20)).collect(),
        values: (0..12u32)
            .map(|row| {
                let hot = if row % 4 == 2 { 0.5 } else { 0.15 };
                (0..100u32).map(|c| Some(hot + 0.5 * noise(row * 100 + c / 3))).collect()
            })
            .collect(),
        value_label: "utilisation".into(),
        unit: Unit::Share,
        range: Some((0.0, 1.0)),
    };
    let figure = Figure::new("links", "Links from leaves to spines", Plot::Heat(heat));
    section.blocks.push(figure.caption("spine2 carries twice its share.").into());
    section
}

fn failures() -> Section {
    let mut section = Section::new("failures", "Failures");
    section.verdict = Some(Verdict::Fail);
    let names =
        ["a link", "a leaf", "a spine", "a flapping link", "a dirty optic", "a slow receiver"];
    let bars = Bars {
        y: Axis::new("goodput", Unit::BitsPerSecond),
        groups: names.map(str::to_owned).to_vec(),
        series: vec![
            BarSeries {
                name: "during".into(),
                values: [97.0, 50.0, 74.0, 91.0, 48.0, 88.0].map(|v| Some(v * 1e9)).to_vec(),
            },
            BarSeries {
                name: "after".into(),
                values: [100.0, 100.0, 99.0, 100.0, 51.0, 99.0].map(|v| Some(v * 1e9)).to_vec(),
            },
        ],
        reference: Some(Reference {
            name: "expected during".into(),
            values: [96.9, 50.0, 75.0, 93.0, 96.0, 90.0].map(|v| Some(v * 1e9)).to_vec(),
        }),
    };
    let figure = Figure::new("degradation", "Goodput under each failure", Plot::Bars(bars))
        .caption("A dirty optic costs more than a dead one: go-back-N repeats what was not lost.");
    let mut table = Table::new(
        "losses",
        "Packets lost on the wire",
        [
            Column::text("port"),
            Column::number("lost", Unit::Count),
            Column::number("share", Unit::Share),
        ],
    );
    for port in 0..250u32 {
        let lost = Number::count(u64::from(port * port % 97));
        let share = Number::share(f64::from(port * port % 97) / 1e5);
        table.push([
            Cell::from(format!("leaf{}→spine{}", port / 4, port % 4)),
            lost.into(),
            share.into(),
        ]);
    }
    section.blocks.push(figure.into());
    section.blocks.push(Block::Check(Check {
        id: "failures.optic".into(),
        lines: Some("[transport]\nrecovery = \"selective-repeat\"\nreorder-window = 256\n".into()),
        name: "Traffic survives a dirty optic".into(),
        verdict: Verdict::Fail,
        done: "Loss of 0.1 % on leaf1→spine2 from 1 ms on, permutation traffic on all hosts."
            .into(),
        measured: "48.2 Gb/s per flow, 51 % below the bound".into(),
        expected: "at least 90 % of what the same fabric does without that link".into(),
        evidence: vec![
            table.into(),
            Block::Code("xoff run examples/lossy-link.toml --seed 7".into()),
        ],
        advice: Some("Turn on selective retransmission, or take the link out at 1e-5 loss.".into()),
    }));
    section.blocks.extend(ranked([Check {
        id: "failures.spine".into(),
        lines: None,
        name: "A dead spine costs its share and no more".into(),
        verdict: Verdict::Pass,
        done: "spine1 dead from 1 ms on.".into(),
        measured: "74 % of the goodput".into(),
        expected: "75 %, for one of four spines".into(),
        evidence: vec![Block::List(vec!["No lossless drop.".into(), "Back after 80 us.".into()])],
        advice: None,
    }]));
    section
}

fn topologies() -> Section {
    let mut section = Section::new("topology", "The fabric");
    let small = topology(64, 8, 4);
    let figure = Figure::new("fabric", "A small fabric and its load", Plot::Topology(small));
    section.blocks.push(figure.caption("One hot link, one that is down.").into());
    let large = topology(1024, 64, 32);
    let figure = Figure::new("large-fabric", "1,024 NICs", Plot::Topology(large));
    section.blocks.push(figure.into());
    let largest = topology(8192, 256, 128);
    let figure = Figure::new("largest-fabric", "8,192 NICs", Plot::Topology(largest));
    section.blocks.push(figure.into());
    section
}

fn topology(hosts: usize, leaves: usize, spines: usize) -> Topology {
    let node = |name: &str, at: usize, rail: Option<u32>| Node {
        name: format!("{name}{at}"),
        rail,
        down: name == "spine" && at + 1 == spines,
    };
    let rail = |leaf: usize| Some((leaf % 8) as u32);
    let tiers = vec![
        Tier {
            name: "NICs".into(),
            nodes: (0..hosts).map(|at| node("nic", at, rail(at))).collect(),
        },
        Tier {
            name: "leaves".into(),
            nodes: (0..leaves).map(|at| node("leaf", at, rail(at))).collect(),
        },
        Tier {
            name: "spines".into(),
            nodes: (0..spines).map(|at| node("spine", at, None)).collect(),
        },
    ];
    let place = |tier, node| NodeRef { tier, node };
    let mut links = Vec::new();
    for host in 0..hosts {
        let (from, to) = (place(0, host), place(1, host % leaves));
        links.push(Link { from, to, load: 0.3 + 0.4 * noise(host as u32), state: LinkState::Up });
    }
    for leaf in 0..leaves {
        for spine in 0..spines {
            let state = match (leaf, spine) {
                (2, 1) => LinkState::Hot,
                (_, spine) if spine + 1 == spines => LinkState::Down,
                _ => LinkState::Up,
            };
            let load =
                if state == LinkState::Down { 0.0 } else { 0.9 * noise((leaf * 7 + spine) as u32) };
            links.push(Link { from: place(1, leaf), to: place(2, spine), load, state });
        }
    }
    Topology { tiers, links }
}

/// Names chosen to break the page, and plots with nothing in them.
fn hostile() -> Section {
    let bad =
        "</title></svg></style><script>alert('x')</script>\"' onload=alert(1) &amp; \u{202e}\0";
    let mut section = Section::new(bad, "Odd data");
    section.lead = Some(format!("Names that break out: {bad}"));
    let axis = |label: &str| Axis::new(label, Unit::Seconds);
    let mut chart = Chart::new(axis(bad), axis(bad).log());
    chart.series.push(Series::new(
        bad,
        vec![(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, -1.0), (3.0, 3.0)],
    ));
    chart.marks.push(Mark { label: bad.into(), value: 2.0 });
    section.blocks.push(Figure::new(bad, bad, Plot::Lines(chart)).caption(bad).into());
    let empty = Chart::new(axis("time"), axis("nothing"));
    section.blocks.push(Figure::new("empty", "Nothing to draw", Plot::Steps(empty)).into());
    let mut table =
        Table::new(bad, bad, [Column::text(bad), Column::number("number", Unit::Plain)]);
    table.push([Cell::from(bad), Number::plain(f64::NAN).into()]);
    section.blocks.push(table.into());
    section.blocks.push(Block::Code(bad.into()));
    section
}
