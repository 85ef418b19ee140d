//! Our own inventories: TOML with `[[device]]`, groups and defaults.

use super::Found;
use super::fields::{Field, Raw, shown};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What a group, or `[defaults]`, says.
type Values = BTreeMap<Field, (String, u32)>;

/// Lines of places in a text.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(breaks.map(|(at, _)| at).collect())
    }

    fn at(&self, span: Range<usize>) -> u32 {
        self.0.partition_point(|at| *at < span.start) as u32 + 1
    }
}

pub(super) fn read(text: &str) -> Found {
    let mut found = Found::default();
    let lines = Lines::of(text);
    let root = match DeTable::parse(text) {
        Ok(root) => root,
        Err(error) => {
            let line = error.span().map_or(0, |span| lines.at(span));
            found.mistake(
                line,
                error.message().trim(),
                "inventories of xoff are TOML: docs/collect.md",
            );
            return found;
        }
    };
    let mut reader = Reader { lines, found, defaults: Values::new(), groups: BTreeMap::new() };
    let root = root.get_ref();
    for (key, value) in root.iter() {
        reader.top(key, value);
    }
    if let Some(value) = root.get("device") {
        reader.devices(value);
    }
    reader.found
}

struct Reader {
    lines: Lines,
    found: Found,
    defaults: Values,
    groups: BTreeMap<String, Values>,
}

impl Reader {
    fn line<T>(&self, value: &Spanned<T>) -> u32 {
        self.lines.at(value.span())
    }

    fn top(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) {
        match (key.get_ref().as_ref(), value.get_ref()) {
            ("device", _) => {}
            ("defaults", DeValue::Table(table)) => self.defaults = self.values(table, &[]),
            ("group", DeValue::Table(groups)) => {
                for (name, group) in groups.iter() {
                    match group.get_ref() {
                        DeValue::Table(table) => {
                            let values = self.values(table, &[]);
                            self.groups.insert(name.get_ref().to_string(), values);
                        }
                        _ => self.found.mistakes.push(super::Mistake::new(
                            self.lines.at(group.span()),
                            format!("group `{}` is no table", shown(name.get_ref())),
                            "write [group.leaf] and its keys below",
                        )),
                    }
                }
            }
            (other, _) => {
                let line = self.line(key);
                let message = format!("`{}` is not known here", shown(other));
                let cure = "an inventory has [defaults], [group.NAME] and [[device]]";
                self.found.mistake(line, message, cure);
            }
        }
    }

    fn devices(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Array(list) = value.get_ref() else {
            let line = self.line(value);
            return self.found.mistake(line, "`device` is no list", "write [[device]] for each");
        };
        for entry in list.iter() {
            let line = self.line(entry);
            match entry.get_ref() {
                DeValue::Table(table) => self.device(table, line),
                _ => self.found.mistake(line, "a device is a table", "write [[device]] for each"),
            }
        }
    }

    fn device(&mut self, table: &DeTable<'_>, line: u32) {
        let text = |key: &str| match table.get(key).map(Spanned::get_ref) {
            Some(DeValue::String(text)) => Some(text.to_string()),
            _ => None,
        };
        let Some(name) = text("name") else {
            return self.found.mistake(line, "a device has no name", "add name = \"leaf0\"");
        };
        let mut raw = Raw::new(name, table.get("name").map_or(line, |value| self.line(value)));
        raw.fields = self.defaults.clone();
        match (table.get("group"), text("group")) {
            (None, _) => {}
            (Some(_), Some(group)) if self.groups.contains_key(&group) => {
                raw.fields.extend(self.groups[&group].clone());
            }
            (Some(value), _) => {
                let line = self.line(value);
                let message = format!("`{}`: there is no such group", shown(&raw.name));
                self.found.mistake(line, message, "add [group.NAME] with what its devices share");
            }
        }
        raw.fields.extend(self.values(table, &["name", "group"]));
        self.found.device(raw);
    }

    /// The fields that a table sets; `others` are keys that are read elsewhere.
    fn values(&mut self, table: &DeTable<'_>, others: &[&str]) -> Values {
        let mut values = Values::new();
        for (key, value) in table.iter() {
            let line = self.line(value);
            let text = match value.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                DeValue::Integer(number) => Some(number.as_str().to_owned()),
                _ => None,
            };
            let key: &str = key.get_ref();
            match (Field::of_key(key), text) {
                (Some(field), Some(text)) if !text.trim().is_empty() => {
                    values.insert(field, (text.trim().to_owned(), line));
                }
                (Some(_), _) => {
                    let message = format!("`{key}` says nothing that can be used");
                    self.found.mistake(
                        line,
                        message,
                        format!("write {key} = \"…\", or leave it out"),
                    );
                }
                (None, _) if others.contains(&key) => {}
                (None, _) => {
                    let message = format!("`{}` is not known here", shown(key));
                    let cure = format!("keys are {}{}", known(others), Field::keys());
                    self.found.mistake(line, message, cure);
                }
            }
        }
        values
    }
}

fn known(others: &[&str]) -> String {
    others.iter().map(|key| format!("{key}, ")).collect()
}
