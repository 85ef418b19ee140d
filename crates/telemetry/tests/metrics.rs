//! `docs/metrics.md` is what the schema says.

use std::fmt::Write;
use xoff_telemetry::metric::{Kind, METRICS, Scope, Source};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");

const HEAD: &str = "# Metrics

Every counter that xoff reads, writes or draws conclusions from, with its unit, its labels and its names at each source.
This page is generated from the schema (`crates/telemetry/src/metric`); `XOFF_WRITE_TABLES=1 cargo test -p xoff-telemetry --test
metrics` writes it anew.

All series have the label `fabric`; `host` and `rail` are those of NICs. Times are seconds, sizes bytes, shares between 0 and 1. What ends in `_total` adds up:
its increase over time is what counts. A *watermark* is the greatest value since the last scrape. In names of other sources
`{p}` is a priority from 0 to 7; `x 1e-6` is what a value there is multiplied by.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (scope, title) in [
        (Scope::Port, "Ports"),
        (Scope::Priority, "Priorities of ports"),
        (Scope::Nic, "NICs"),
        (Scope::Rank, "Ranks of jobs"),
        (Scope::Job, "Jobs"),
        (Scope::Gpu, "GPUs"),
    ] {
        let labels: Vec<String> = scope.labels().iter().map(|label| format!("`{label}`")).collect();
        let _ = write!(page, "\n## {title}\n\nLabels: {}.\n\n", labels.join(", "));
        page.push_str("| metric | kind | unit | what it is |\n| --- | --- | --- | --- |\n");
        for facts in METRICS.iter().filter(|facts| facts.scope == scope) {
            let kind = match facts.kind {
                Kind::Counter => "counter",
                Kind::Events => "events",
                Kind::Gauge => "gauge",
                Kind::Watermark => "watermark",
            };
            let (name, unit, help) = (facts.name, facts.unit.word(), facts.help);
            let _ = writeln!(page, "| `{name}` | {kind} | {unit} | {help} |");
        }
    }
    page.push_str("\n## Names elsewhere\n");
    for source in Source::ALL {
        let names = METRICS.iter().flat_map(|facts| {
            let aliases = facts.aliases.iter().filter(move |alias| alias.source == source);
            aliases.map(move |alias| (alias, facts.name))
        });
        let names: Vec<_> = names.collect();
        if names.is_empty() {
            continue;
        }
        let _ = write!(page, "\n### {}\n\n| there | here |\n| --- | --- |\n", source.words());
        for (alias, name) in names {
            let scale = match alias.scale {
                1.0 => String::new(),
                scale if !(1e-3..=1e3).contains(&scale) => format!(" x {scale:e}"),
                scale => format!(" x {scale}"),
            };
            let _ = writeln!(page, "| `{}`{scale} | `{name}` |", alias.name);
        }
    }
    page
}

#[test]
fn the_page_is_what_the_schema_says() {
    let page = page();
    if std::env::var_os("XOFF_WRITE_TABLES").is_some() {
        std::fs::write(PAGE, &page).expect("docs/metrics.md can be written");
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(written == page, "docs/metrics.md is not what the schema says; see its head");
}
