//! The pages that `xoff schema --markdown` writes: current, complete, and with links that lead somewhere.
//! Run with `XOFF_WRITE_SCHEMAS=1` to write them.

use super::schema::{is_current, schema};
use super::{output, repository, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_reference_is_current_with_the_schema() {
    for file in ["fabric", "scenario"] {
        let path = repository("docs").join(format!("{file}-file.md"));
        is_current(&path, &["schema", file, "--markdown"]);
    }
}

/// The keys in each table of a page.
fn sections(page: &str) -> Vec<BTreeSet<&str>> {
    let key = |line| -> Option<&str> {
        let line: &str = line;
        line.strip_prefix("| `")?.split("` |").next()
    };
    let parts = page.split("\n## ").flat_map(|part| part.split("\n### "));
    parts.map(|part| part.lines().filter_map(key).collect()).collect()
}

/// The keys of every table in a schema, alternatives and what they refer to included.
fn tables(schema: &Value) -> Vec<BTreeSet<&str>> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(part) = open.pop() {
        if part["properties"].is_object() {
            let mut keys = BTreeSet::new();
            let mut next = Some(part);
            while let Some(part) = next {
                let own = part["properties"].as_object().into_iter().flatten();
                keys.extend(own.map(|(key, _)| key.as_str()));
                next =
                    part["allOf"][0]["$ref"].as_str().and_then(|name| schema.pointer(&name[1..]));
            }
            found.push(keys);
        }
        match part {
            Value::Object(map) => {
                open.extend(map.iter().filter(|(key, _)| *key != "default").map(|(_, part)| part));
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    found
}

#[test]
fn every_key_of_the_schema_is_in_the_reference() {
    for file in ["fabric", "scenario"] {
        let mut schema = schema(file);
        if let (true, Some(definitions)) = (file == "scenario", schema["$defs"].as_object_mut()) {
            // Overrides are the keys of the fabric file, whose page has them.
            definitions.remove("FabricFile");
        }
        let page = |file| output(Path::new("."), &["schema", file, "--markdown"]);
        let (own, fabric) = (page(file), page("fabric"));
        let mut shown = sections(stdout(&own));
        shown.extend(sections(stdout(&fabric)));
        let tables = tables(&schema);
        assert!(tables.len() > 20, "{} tables", tables.len());
        for keys in tables {
            assert!(shown.iter().any(|section| keys.is_subset(section)), "{file}: {keys:?}");
        }
    }
}

#[test]
fn links_inside_the_reference_lead_to_one_section() {
    for file in ["fabric", "scenario"] {
        let page = stdout(&output(Path::new("."), &["schema", file, "--markdown"])).to_owned();
        let slug = |heading: &str| -> String {
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        };
        let headings = page.lines().filter(|line| line.starts_with("##"));
        let anchors: Vec<String> =
            headings.map(|line| slug(line.trim_start_matches('#').trim())).collect();
        for link in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert_eq!(anchors.iter().filter(|anchor| *anchor == link).count(), 1, "#{link}");
        }
    }
}
