//! ARCHITECTURE.md and the manifests agree: the table of crates lists every crate, its `uses`
//! column is what the crate's Cargo.toml depends on, and no crate uses one below it in the table.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// A crate as the table has it: its name and the crates it uses.
type Row = (String, Vec<String>);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the table whose heading is `| crate | holds | uses |`.
fn table(text: &str) -> Vec<Row> {
    let mut lines = text.lines().skip_while(|line| *line != "| crate | holds | uses |").skip(2);
    let mut rows: Vec<Row> = Vec::new();
    while let Some(line) = lines.next().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, uses] = cells[..] else { panic!("three cells: {line}") };
        let above = || rows.iter().map(|(name, _)| name.clone());
        let mut uses: Vec<String> = match uses {
            "all" => above().collect(),
            _ => uses.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        };
        uses.sort();
        rows.push((name.trim_matches('`').to_owned(), uses));
    }
    rows
}

/// The `xoff-` crates in `[dependencies]`, by crate; what tests alone use is no arrow.
fn manifests() -> BTreeMap<String, Vec<String>> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let manifest = |folder: PathBuf| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = text.parse().unwrap();
        let own = manifest["dependencies"].as_table().into_iter().flat_map(toml::Table::keys);
        let mut uses: Vec<String> =
            own.filter_map(|name| Some(name.strip_prefix("xoff-")?.to_owned())).collect();
        uses.sort();
        (folder.file_name().unwrap().to_string_lossy().into_owned(), uses)
    };
    folders.map(manifest).collect()
}

/// What is wrong with a table.
fn mistakes(rows: &[Row], manifests: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, (name, uses)) in rows.iter().enumerate() {
        match manifests.get(name) {
            None => wrong.push(format!("{name} is in the table and has no folder")),
            Some(real) if real != uses => {
                wrong.push(format!("{name}: the table says {uses:?}, Cargo.toml {real:?}"));
            }
            Some(_) => {}
        }
        let above = |other: &String| rows[..at].iter().any(|(name, _)| name == other);
        let down = uses.iter().filter(|other| !above(other));
        wrong.extend(down.map(|other| format!("{name} uses {other}, which is not above it")));
    }
    let listed = |name: &String| rows.iter().any(|(row, _)| row == name);
    let missing = manifests.keys().filter(|name| !listed(name));
    wrong.extend(missing.map(|name| format!("{name} is not in the table")));
    wrong
}

#[test]
fn the_table_of_crates_is_what_the_manifests_say() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let wrong = mistakes(&table(&text), &manifests());
    assert!(wrong.is_empty(), "ARCHITECTURE.md: {wrong:#?}");
}

#[test]
fn every_wrong_arrow_is_found() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (rows, manifests) = (table(&text), manifests());
    for at in 0..rows.len() {
        for arrow in 0..rows[at].1.len() {
            let mut fewer = rows.clone();
            fewer[at].1.remove(arrow);
            assert_eq!(mistakes(&fewer, &manifests).len(), 1, "{:?}", fewer[at]);
        }
        let mut without = rows.clone();
        without.remove(at);
        assert!(!mistakes(&without, &manifests).is_empty(), "without {}", rows[at].0);
    }
    let mut upside_down = rows;
    upside_down.reverse();
    assert!(!mistakes(&upside_down, &manifests).is_empty());
}
