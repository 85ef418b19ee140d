//! `docs/alerts.md` is what the rules and drills say, and every alert has a drill.

use std::collections::BTreeSet;
use std::fmt::Write;
use xoff_diagnose::alerts::{alerts, recorded};
use xoff_fabric::model::Fabric;
use xoff_validate::drill::{Drill, drill};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/alerts.md");

/// The fabric of `examples/leaf-spine-64.toml`.
fn fabric() -> Fabric {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/leaf-spine-64.toml");
    let text = std::fs::read_to_string(path).expect("the example");
    xoff_fabric::load_fabric(&text).into_result().expect("a fabric").fabric
}

/// The part of the page between two marks is this table; written there where tables are to be written.
fn check(mark: &str, table: &str) {
    let page = std::fs::read_to_string(PAGE).expect("docs/alerts.md");
    let (from, to) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let begin = page.find(&from).expect("a mark") + from.len();
    let end = page.find(&to).expect("a mark");
    if std::env::var_os("XOFF_WRITE_TABLES").is_some() {
        let page = format!("{}{table}{}", &page[..begin], &page[end..]);
        return std::fs::write(PAGE, page).expect("docs/alerts.md can be written");
    }
    assert!(
        page[begin..end] == *table,
        "docs/alerts.md: {mark} are not what the rules say; XOFF_WRITE_TABLES=1 writes them anew"
    );
}

/// One test, because both write the same file.
#[test]
fn the_page_is_what_the_rules_say() {
    let mut table = String::from(
        "| alert | severity | owner | within | threshold | fired by |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for alert in alerts(&fabric(), "pod") {
        let by = Drill::ALL.into_iter().filter(|drill| drill.alert() == Some(alert.name));
        let by: Vec<String> = by.map(|drill| format!("`{}`", drill.name())).collect();
        assert!(!by.is_empty(), "no drill fires {}", alert.name);
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} s | {} | {} |",
            alert.name,
            alert.severity.word(),
            alert.owner,
            alert.stated(),
            alert.threshold,
            by.join(", ")
        );
    }
    check("alerts", &table);
    let mut table = String::from("| series | what it is |\n| --- | --- |\n");
    for record in recorded(&fabric(), "pod") {
        let _ = writeln!(table, "| `{}` | {} |", record.name, record.meaning);
    }
    check("records", &table);
}

/// A drill of a large fabric keeps what it is about, and its fault is in its counters.
#[test]
fn a_drill_of_a_large_fabric_is_small() {
    let text = "[cluster]\ngpus = 1024\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n";
    let fabric = xoff_fabric::load_fabric(text).into_result().expect("a fabric").fabric;
    let drilled = drill(&fabric, Drill::PauseStorm, &mut |_| true).expect("a drill");
    let ports: BTreeSet<_> =
        drilled.readings.list.iter().map(|reading| reading.key.place).collect();
    assert!(ports.len() < fabric.ports.len() / 4, "{} of {}", ports.len(), fabric.ports.len());
    assert_eq!(drilled.site.len(), 1);
    assert_eq!(drilled.fires[0]["peer"], fabric.nics[0].name);
}
