//! The shipped schemas are those of this version, and examples keep to them. Run with
//! `XOFF_WRITE_SCHEMAS=1` to write them.

use super::validator::violations;
use super::{code, json, output, repository, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Compares a shipped file with what the program prints, or writes it.
pub(crate) fn is_current(path: &Path, arguments: &[&str]) {
    let output = output(Path::new("."), arguments);
    assert_eq!(code(&output), Some(0));
    let current = stdout(&output);
    if std::env::var_os("XOFF_WRITE_SCHEMAS").is_some() {
        std::fs::write(path, current).unwrap();
    }
    let shipped = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        shipped == current,
        "{} is out of date; run this test with XOFF_WRITE_SCHEMAS=1",
        path.display()
    );
}

#[test]
fn the_shipped_schemas_are_current() {
    for file in ["fabric", "scenario"] {
        let path = repository("schema").join(format!("{file}.schema.json"));
        is_current(&path, &["schema", file]);
    }
}

#[test]
fn schemas_know_the_keys_that_examples_use() {
    let schema = schema("fabric");
    for key in ["cluster", "fabric", "links", "switch", "pfc", "ecn", "transport", "class"] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
}

pub(crate) fn schema(file: &str) -> Value {
    json(&output(Path::new("."), &["schema", file]))
}

fn examples() -> Vec<PathBuf> {
    let folders = [repository("examples"), repository("examples/bad")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    assert!(files.len() > 90, "{} examples", files.len());
    files
}

#[test]
fn examples_name_their_schema_and_keep_to_it() {
    let schemas = [("fabric", schema("fabric")), ("scenario", schema("scenario"))];
    for path in examples() {
        let text = std::fs::read_to_string(&path).unwrap();
        // Sweep and tune files name keys of both kinds and have no schema of their own.
        if text.contains("\n[[axis]]") || text.contains("\n[[case]]") {
            continue;
        }
        let named = text.lines().next().and_then(|line| line.strip_prefix("#:schema "));
        let named = path.with_file_name("").join(named.expect("`#:schema` in the first line"));
        let value: toml::Table = toml::from_str(&text).unwrap();
        let kind = if value.get("fabric").is_some_and(toml::Value::is_str) { 1 } else { 0 };
        let (file, schema) = &schemas[kind];
        let expected = repository("schema").join(format!("{file}.schema.json"));
        assert_eq!(named.canonicalize().unwrap(), expected.canonicalize().unwrap(), "{path:?}");
        let found = violations(schema, &serde_json::to_value(value).unwrap());
        assert!(found.is_empty(), "{}: {found:#?}", path.display());
    }
}

#[test]
fn a_key_that_no_workload_has_is_against_the_schema() {
    let schema = schema("scenario");
    let judge = |keys: &str| {
        let text = format!("fabric = 'pod.toml'\n{keys}");
        let value: toml::Table = toml::from_str(&text).unwrap();
        violations(&schema, &serde_json::to_value(value).unwrap())
    };
    let reduce = "[[workload]]\nkind = 'all-reduce'\nsize = '1MiB'\n";
    assert_eq!(judge(&format!("{reduce}qps = 4\nname = 'x'\n")), [""; 0]);
    assert!(!judge(&format!("{reduce}queue-pairs = 4\n")).is_empty());
    let fault = "[[fault]]\nat = '1ms'\nkind = 'link-down'\nlink = 'leaf0 spine0'\n";
    assert_eq!(judge(fault), [""; 0]);
    assert!(!judge(&format!("{fault}lnk = 'leaf0 spine1'\n")).is_empty());
}

#[test]
fn a_quantity_without_its_unit_is_against_the_schema() {
    let schema = schema("fabric");
    let wrong = [
        "[cluster]\nnic-rate = '400GB/s'",
        "[cluster]\nnic-rate = 400",
        "[links]\nlength = '3 feet'",
        "[ecn]\nkmin = '150 kb'",
        "[ecn]\npmax = 'high'",
        "[ecn]\npmax = -0.5",
        "[pfc]\nheadroom = 'automatic'",
        "[pfc]\nheadroom = '3 delay lines'",
        "[pfc]\nresponse = 'soon'",
        "[nic.pcie]\nslot = 'gen7 x16'",
    ];
    let right = [
        "[cluster]\nnic-rate = '400Gbps'\nnvlink = 0",
        "[links]\nlength = '3 m'",
        "[ecn]\nkmin = '150KB'\nkmax = 0\npmax = '20%'",
        "[pfc]\nheadroom = '3 delays'\nresponse = '2us'\nalpha = 0.125",
        "[pfc]\nheadroom = ' 1/2 delay'\nresponse = 'standard'",
        "[pfc]\nheadroom = '50KB'",
        "[nic.pcie]\nslot = 'Gen5 x16'",
    ];
    let judge = |text: &str| {
        let value: toml::Table = toml::from_str(text).unwrap();
        violations(&schema, &serde_json::to_value(value).unwrap())
    };
    for text in wrong {
        assert_eq!(judge(text).len(), 1, "{text}: {:?}", judge(text));
    }
    for text in right {
        assert!(judge(text).is_empty(), "{text}: {:?}", judge(text));
    }
}

#[test]
fn tags_do_not_stand_beside_references() {
    // Editors that follow draft 7 would pass over them, and find that every alternative fits.
    let mut open = vec![schema("fabric"), schema("scenario")];
    while let Some(part) = open.pop() {
        assert!(part.get("$ref").is_none() || part.get("properties").is_none(), "{part}");
        match part {
            Value::Object(map) => open.extend(map.into_iter().map(|(_, part)| part)),
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
}
