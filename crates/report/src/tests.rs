//! Whole pages.

use super::*;
use proptest::prelude::*;

/// Text chosen to break the page.
const BAD: &str =
    "</title></style></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\0";

/// A report with one of every kind of block and plot, hence its length.
fn every_kind(name: &str, values: &[f64]) -> Report {
    let axis = |scale| Axis { label: name.to_owned(), unit: Unit::Seconds, scale, range: None };
    let points: Vec<(f64, f64)> = values.iter().map(|v| (v * 2.0, *v)).collect();
    let chart = |scale| Chart {
        x: axis(scale),
        y: axis(scale),
        series: vec![Series::new(name, points.clone())],
        marks: values.iter().take(3).map(|v| Mark { label: name.into(), value: *v }).collect(),
        shades: values
            .iter()
            .take(3)
            .map(|v| Shade { label: name.into(), from: *v, to: values.last().copied() })
            .collect(),
    };
    let some: Vec<Option<f64>> = values.iter().map(|v| Some(*v)).collect();
    let names: Vec<String> = values.iter().map(|v| format!("{name}{v}")).collect();
    let place = |at: usize| NodeRef { tier: at % 3, node: at };
    let plots = vec![
        Plot::Lines(chart(Scale::Linear)),
        Plot::Steps(chart(Scale::Log)),
        Plot::Bars(Bars {
            y: axis(Scale::Log),
            groups: names.clone(),
            series: vec![BarSeries { name: name.into(), values: some.clone() }; 2],
            reference: Some(Reference { name: name.into(), values: some.clone() }),
        }),
        Plot::Cdf(Cdf {
            x: axis(Scale::Linear),
            series: vec![Samples { name: name.into(), values: values.to_vec() }],
            marks: vec![Mark { label: name.into(), value: values.first().copied().unwrap_or(0.0) }],
        }),
        Plot::Heat(Heat {
            row_label: name.into(),
            column_label: name.into(),
            rows: names.clone(),
            columns: names.clone(),
            values: vec![some.clone(), some],
            value_label: name.into(),
            unit: Unit::Share,
            range: values.first().copied().zip(values.last().copied()),
        }),
        Plot::Timeline(Timeline {
            x: axis(Scale::Log),
            lanes: vec![Lane {
                name: name.into(),
                group: name.into(),
                stretches: values.iter().map(|v| Stretch { from: *v, to: Some(-v) }).collect(),
            }],
            shades: vec![Shade { label: name.into(), from: f64::NAN, to: None }],
        }),
        Plot::Topology(Topology {
            tiers: vec![
                Tier {
                    name: name.into(),
                    nodes: names
                        .iter()
                        .map(|n| Node { name: n.clone(), rail: Some(u32::MAX), down: true })
                        .collect(),
                };
                2
            ],
            links: values
                .iter()
                .enumerate()
                .map(|(at, v)| Link {
                    from: place(at),
                    to: place(at + 1),
                    load: *v,
                    state: LinkState::Hot,
                })
                .collect(),
        }),
    ];
    let mut section = Section::new(name, name);
    section.lead = Some(name.to_owned());
    section.verdict = Some(Verdict::Fail);
    for plot in plots {
        section.blocks.push(Figure::new(name, name, plot).caption(name).into());
    }
    let mut table = Table::new(name, name, [Column::text(name), Column::number(name, Unit::Bytes)]);
    for value in values {
        table.push([Cell::link(name, name), Number::plain(*value).into()]);
    }
    section.blocks.push(Block::Tiles(vec![Tile::new(name, Number::count(1)).note(name)]));
    section.blocks.push(Block::List(vec![name.to_owned()]));
    section.blocks.push(Block::Code(name.to_owned()));
    section.blocks.push(Block::Check(Check {
        id: name.into(),
        lines: Some(name.into()),
        name: name.into(),
        verdict: Verdict::Pass,
        done: name.into(),
        measured: name.into(),
        expected: name.into(),
        evidence: vec![table.into(), Block::Text(name.into())],
        advice: Some(name.into()),
    }));
    let inner = Block::Check(Check { id: name.into(), ..Check::new(name, Verdict::Warn) });
    section.blocks.push(Fold::new(name, vec![inner, Block::Text(name.into())]).into());
    let mut report = Report::new(name, name);
    report.tiles = vec![Tile::words(name, name).link(name).note(name).verdict(Verdict::Fail)];
    report.points = vec![name.into()];
    report.verdict = Some(Verdict::Warn);
    report.facts = vec![Fact::new(name, name), Fact::code(name, name)];
    report.sections = vec![section.clone(), section];
    report
}

/// The names of all elements, as a browser would find them outside of styles and script.
fn elements(page: &str) -> Vec<&str> {
    let open = page.split('<').skip(1).filter(|part| !part.starts_with(['/', '!']));
    open.map(|part| part.split([' ', '>', '\n', '/']).next().unwrap_or("")).collect()
}

#[test]
fn no_name_gets_out_of_its_place() {
    // As long as the hostile one: how many labels an axis has depends on their length.
    let plain = every_kind(&"a".repeat(BAD.chars().count()), &[1.0, 2.0, 0.5]).html();
    let hostile = every_kind(BAD, &[1.0, 2.0, 0.5]).html();
    // The same elements in the same order: whatever the names, they are text.
    assert!(elements(&hostile) == elements(&plain), "a name became an element");
    for part in ["\0", "<img", "onerror=alert(1)>"] {
        assert!(!hostile.contains(part), "{part:?} is in the page as it is");
    }
    let ids = hostile.split(" id=\"").skip(1).map(|part| part.split('"').next().unwrap_or(""));
    let ids: Vec<&str> = ids.collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "ids are not unique");
}

#[test]
fn the_same_report_is_the_same_page() {
    let report = every_kind("a", &[3.0, 1.0, 2.0]);
    assert_eq!(report.html(), report.clone().html());
}

#[test]
fn a_plot_without_values_has_nothing_to_read_under_the_pointer() {
    let page = |values: &[f64]| {
        let samples = Samples { name: "a".into(), values: values.to_vec() };
        let x = Axis::new("x", Unit::Seconds).log();
        let plot = Plot::Cdf(Cdf { x, series: vec![samples], marks: Vec::new() });
        let mut section = Section::new("s", "s");
        section.blocks.push(Figure::new("f", "f", plot).into());
        let mut report = Report::new("t", "h");
        report.sections = vec![section];
        report.html()
    };
    assert!(page(&[1.0]).contains(" data-plot="));
    assert!(!page(&[]).contains(" data-plot="));
    assert!(page(&[]).contains("There is nothing to draw."));
}

#[test]
fn nothing_is_fetched() {
    let page = every_kind("a", &[1.0]).html();
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("url("));
    assert!(!page.contains("@import") && !page.contains(" src="));
}

#[test]
fn the_policy_names_the_script_that_the_page_carries() {
    use sha2::Digest;
    let page = Report::default().html();
    let (_, script) = page.split_once("<script>").unwrap();
    let (script, _) = script.split_once("</script>").unwrap();
    let hash = sha2::Sha256::digest(script.as_bytes());
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in hash.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize] as char;
            text.push(if at <= three.len() { digit } else { '=' });
        }
    }
    assert!(page.contains(&format!("script-src 'sha256-{text}'")), "the script's hash is {text}");
}

#[test]
fn links_lead_to_sections_and_unknown_ones_are_words() {
    let mut report = Report::new("t", "h");
    let mut table = Table::new("t", "t", [Column::text("a")]);
    table.push([Cell::link("there", "two")]);
    table.push([Cell::link("nowhere", "three")]);
    let mut one = Section::new("one", "One");
    one.blocks.push(table.into());
    report.sections = vec![one, Section::new("two", "Two"), Section::new("two", "Two again")];
    let page = report.html();
    assert!(page.contains("<a href=\"#s-two\">there</a>"));
    assert!(page.contains("<td>nowhere</td>"));
    assert!(page.contains("id=\"s-two\"") && page.contains("id=\"s-two-2\""));
}

#[test]
fn a_page_is_bounded() {
    let values: Vec<f64> = (0..200_000).map(|i| f64::from(i % 977)).collect();
    let axis = Axis::new("x", Unit::Plain);
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
    let mut chart = Chart::new(axis.clone(), axis.clone());
    chart.series = vec![Series::new("s", points); 40];
    let side: Vec<String> = (0..500).map(|i| i.to_string()).collect();
    let heat = Heat {
        rows: side.clone(),
        columns: side.clone(),
        values: vec![values.iter().take(500).map(|v| Some(*v)).collect(); 500],
        ..Heat::default()
    };
    let lane = |at: usize| Lane {
        name: at.to_string(),
        group: at.to_string(),
        stretches: (0..1_000)
            .map(f64::from)
            .map(|t| Stretch { from: t, to: Some(t + 0.5) })
            .collect(),
    };
    let timeline = Timeline { x: axis, lanes: (0..500).map(lane).collect(), shades: vec![] };
    let tier = |count: usize| Tier {
        name: "n".into(),
        nodes: (0..count).map(|at| Node { name: at.to_string(), ..Node::default() }).collect(),
    };
    let place = |tier, node| NodeRef { tier, node };
    let links = (0..100_000).map(|at| Link {
        from: place(0, at % 5_000),
        to: place(1, at % 997),
        load: 0.5,
        state: LinkState::Up,
    });
    let topology = Topology { tiers: vec![tier(5_000), tier(1_000)], links: links.collect() };
    let plots =
        [Plot::Steps(chart), Plot::Heat(heat), Plot::Timeline(timeline), Plot::Topology(topology)];
    for plot in plots {
        let drawn = draw::draw(&plot);
        let shapes = drawn.wide.shapes.matches("/>").count();
        assert!(shapes < 4_000, "{shapes} shapes");
        assert!(drawn.wide.shapes.len() < 700_000, "{}", drawn.wide.shapes.len());
        assert!(!drawn.notes.is_empty(), "what was left out is said");
        let figure = Figure::new("f", "f", plot);
        assert!(figure.csv().lines().count() <= Figure::KEPT + 1);
    }
}

/// Ports have names of some thirty characters, and the part that is cut is the part that matters.
#[test]
fn names_of_ports_are_not_cut() {
    let name = "leaf127→server1023-nic7#12 class 3";
    let axis = Axis::new("time", Unit::Seconds);
    let stretches = vec![Stretch { from: 0.0, to: Some(1.0) }];
    let plots = [
        Plot::Bars(Bars {
            y: axis.clone(),
            groups: vec![name.into()],
            series: vec![BarSeries { name: "s".into(), values: vec![Some(1.0)] }],
            reference: None,
        }),
        Plot::Timeline(Timeline {
            x: axis,
            lanes: vec![Lane { name: name.into(), group: "g".into(), stretches }],
            shades: vec![],
        }),
        Plot::Heat(Heat {
            rows: vec![name.into()],
            columns: vec!["0".into(), "1".into()],
            values: vec![vec![Some(0.0), Some(1.0)]],
            ..Heat::default()
        }),
    ];
    for plot in plots {
        let drawn = draw::draw(&plot);
        for picture in [&drawn.wide, &drawn.narrow] {
            let texts = picture.shapes.split("<text").skip(1);
            let words: Vec<&str> = texts.filter_map(|text| text.lines().nth(1)).collect();
            assert!(words.contains(&name), "{words:?}");
        }
    }
}

/// The inks by which the script tells shapes apart are those that pictures are drawn with.
#[test]
fn the_script_knows_the_inks() {
    let page = Report::default().html();
    for (name, ink) in [
        ("muted", draw::Ink::Muted),
        ("grid", draw::Ink::Grid),
        ("mark", draw::Ink::Mark),
        ("shade", draw::Ink::Shade),
    ] {
        assert!(page.contains(&format!("{name}: \"{}\"", ink.drawn())), "{name}");
    }
    for (name, ink) in [("series", draw::Ink::series(0)), ("heat", draw::Ink::heat(0.0))] {
        let drawn = ink.drawn();
        assert!(page.contains(&format!("{name}: \"{}\"", &drawn[..5])), "{name}");
    }
}

/// What a reader finds below the picture of a fabric of 8,192 GPUs.
#[test]
fn no_load_is_shown_of_links_that_were_not_measured() {
    let tier = |name: &str, many: &str, count: usize| Tier {
        name: many.to_owned(),
        nodes: (0..count)
            .map(|at| Node { name: format!("{name}{at}"), ..Node::default() })
            .collect(),
    };
    let drawn = |state: LinkState| {
        let link = |leaf: usize, spine: usize, state| Link {
            from: NodeRef { tier: 0, node: leaf },
            to: NodeRef { tier: 1, node: spine },
            load: 0.25,
            state,
        };
        let links = vec![link(0, 0, LinkState::Unmeasured), link(1, 0, state)];
        let tiers = vec![tier("leaf", "leaves", 2), tier("spine", "spines", 1)];
        let drawn = draw::draw(&Plot::Topology(Topology { tiers, links }));
        let keys: Vec<&str> = drawn.legend.iter().map(|key| key.name.as_str()).collect();
        format!("{} {}", drawn.wide.shapes, keys.join(", "))
    };
    let planned = drawn(LinkState::Unmeasured);
    assert!(planned.contains(">2 links<"), "{planned}");
    assert!(!planned.contains("2 links: ") && !planned.contains("load of a link"), "{planned}");
    let half = drawn(LinkState::Up);
    // The mean is that of the link whose load is known.
    assert!(half.contains("2 links, 1 recorded: mean 25 %, worst 25 %"), "{half}");
    assert!(half.contains("load of a link") && half.contains("not recorded"), "{half}");
}

#[test]
fn the_worst_links_of_a_large_fabric_are_named() {
    let node = |name: &str, at: usize| Node { name: format!("{name}{at}"), ..Node::default() };
    let tier = |name: &str, one: &str, count: usize| Tier {
        name: name.into(),
        nodes: (0..count).map(|at| node(one, at)).collect(),
    };
    let place = |tier, node| NodeRef { tier, node };
    let mut links: Vec<Link> = (0..128 * 64)
        .map(|at| Link {
            from: place(0, at / 64),
            to: place(1, at % 64),
            load: 0.25,
            state: LinkState::Up,
        })
        .collect();
    links[64 * 17 + 5].load = 0.75;
    links[64 * 18 + 6].state = LinkState::Down;
    let topology =
        Topology { tiers: vec![tier("leaves", "leaf", 128), tier("spines", "spine", 64)], links };
    let drawn = draw::draw(&Plot::Topology(topology));
    let notes = drawn.notes.join(" ");
    assert!(notes.contains("Down: leaf18–spine6."), "{notes}");
    assert!(notes.contains("Busiest of the others: leaf17–spine5 75 %"), "{notes}");
    for picture in [&drawn.wide, &drawn.narrow] {
        assert!(picture.shapes.contains("8,192 links: mean 25 %, worst 75 %"));
        assert!(
            picture.shapes.contains("busiest: leaf17–spine5") && picture.shapes.contains("1 down")
        );
        assert!(picture.shapes.len() < 40_000, "{}", picture.shapes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn any_data_makes_a_page(
        values in prop::collection::vec(any::<f64>(), 0..70),
        name in any::<String>(),
    ) {
        let page = every_kind(&name, &values).html();
        prop_assert!(page.ends_with("</html>\n"));
        prop_assert!(!page.contains("NaN"), "a place is not a number");
    }
}
