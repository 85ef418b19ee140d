//! YAML in block style of values that JSON knows.

use serde_json::Value;
use std::fmt::Write;

/// Keys that come first in a table, because they say what it is of.
const FIRST: [&str; 2] = ["name", "id"];

/// A value as a document.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value, 0);
    text
}

/// A string as YAML reads it back.
pub(crate) fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    let inside = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(inside)
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    // A string of JSON is one of YAML.
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}

fn write_value(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            let first = FIRST.iter().filter_map(|key| map.get_key_value(*key));
            let rest = map.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
            for (key, value) in first.chain(rest) {
                let _ = write!(text, "{indent}{}:", scalar(key));
                below(text, value, depth + 1);
            }
        }
        Value::Array(items) => {
            for item in items {
                let mut inner = String::new();
                match item {
                    Value::Object(_) | Value::Array(_) => write_value(&mut inner, item, depth + 1),
                    simple => inner = format!("{indent}  {}\n", word(simple)),
                }
                let _ = write!(text, "{indent}- {}", inner.trim_start());
            }
        }
        simple => {
            let _ = writeln!(text, "{indent}{}", word(simple));
        }
    }
}

/// What stands behind a key.
fn below(text: &mut String, value: &Value, depth: usize) {
    let empty = match value {
        Value::Object(map) if map.is_empty() => Some("{}"),
        Value::Array(items) if items.is_empty() => Some("[]"),
        _ => None,
    };
    match (empty, value) {
        (Some(empty), _) => {
            let _ = writeln!(text, " {empty}");
        }
        (None, Value::Object(_) | Value::Array(_)) => {
            text.push('\n');
            write_value(text, value, depth);
        }
        (None, simple) => {
            let _ = writeln!(text, " {}", word(simple));
        }
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_lists_and_strings() {
        let value = json!({
            "b": [{"mtu": 9214, "name": "Ethernet1/1"}, {"list": ["0 to 1", "on"], "id": 3}],
            "a": {"share": "1/4", "yes": true, "none": [], "time": "0.1"}
        });
        assert_eq!(
            document(&value),
            "a:\n  none: []\n  share: \"1/4\"\n  time: \"0.1\"\n  \"yes\": true\nb:\n  - name: Ethernet1/1\n    \
             mtu: 9214\n  - id: 3\n    list:\n      - \"0 to 1\"\n      - \"on\"\n"
        );
    }
}
