//! The type of a key, in words that link to where they are explained.

use super::{Tables, resolve, target};
use serde_json::Value;

/// Schemas with a name of their own: quantities and words.
pub(super) struct Kinds<'p, 's> {
    root: &'s Value,
    tables: &'p Tables<'s>,
}

/// A choice of words that keys take.
pub(super) struct Words<'s> {
    pub(super) heading: String,
    pub(super) about: &'s str,
    /// Each word and its meaning.
    pub(super) words: Vec<(&'s str, &'s str)>,
}

/// Quantities, by the name of their definition, as the page calls them.
const QUANTITIES: [(&str, &str); 9] = [
    ("Span", "time"),
    ("Bytes", "size"),
    ("Rate", "rate"),
    ("Length", "length"),
    ("Ratio", "ratio"),
    ("HeadroomSetting", "size, `\"auto\"` or text like `\"3 delays\"`"),
    ("ResponseSetting", "time or `\"standard\"`"),
    ("SizeRange", "two sizes, like `\"1MiB..8GiB\"`"),
    ("SlotSetting", "text like `\"gen5 x16\"`"),
];

impl<'p, 's> Kinds<'p, 's> {
    pub(super) fn new(root: &'s Value, tables: &'p Tables<'s>) -> Self {
        Self { root, tables }
    }

    /// The type that a schema asks for.
    pub(super) fn describe(&self, schema: &Value) -> String {
        if let Some(name) = reference(schema) {
            if name == "FabricFile" {
                return "table: [fabric file](fabric-file.md)".to_owned();
            }
            if let Some((_, words)) = QUANTITIES.iter().find(|(known, _)| *known == name) {
                return (*words).to_owned();
            }
            let Some(named) = target(self.root, schema) else { return name.to_owned() };
            if let Some(words) = words_of(named) {
                let listed: Vec<_> =
                    words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
                let heading = heading(name);
                // A single word explains itself; of several the meaning is at the end of the page.
                return match listed.as_slice() {
                    [one] => one.clone(),
                    many => format!("{} ([meaning](#{}))", many.join(", "), slug(&heading)),
                };
            }
            return self.table(named).unwrap_or_else(|| self.describe(named));
        }
        if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
            let null = |one: &&Value| one.get("type").is_some_and(|kind| kind == "null");
            let real = choices.iter().filter(|one| !null(one));
            return real.map(|one| self.describe(one)).collect::<Vec<_>>().join(" or ");
        }
        if let Some(word) = schema.get("const").and_then(Value::as_str) {
            return format!("`\"{word}\"`");
        }
        self.simple(schema)
    }

    /// A link to the section of a table.
    fn table(&self, schema: &Value) -> Option<String> {
        let table = self.tables.list.iter().find(|table| std::ptr::eq(table.schema, schema))?;
        Some(format!("[table](#{})", slug(&table.heading())))
    }

    fn simple(&self, schema: &Value) -> String {
        let kinds = match schema.get("type") {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(one)) => vec![one.as_str()],
            _ => Vec::new(),
        };
        let kind = kinds.into_iter().find(|kind| *kind != "null").unwrap_or("anything");
        match kind {
            "integer" => format!("integer{}", range(schema)),
            "number" => format!("number{}", range(schema)),
            "boolean" => "`true` or `false`".to_owned(),
            "string" => "text".to_owned(),
            "array" => match schema.get("items") {
                Some(items) => self.list(items, schema),
                None => "list".to_owned(),
            },
            "object" => match schema.get("additionalProperties").filter(|v| v.is_object()) {
                Some(values) => format!("{} by name", self.describe(values)),
                None => self.table(schema).unwrap_or_else(|| "table".to_owned()),
            },
            other => other.to_owned(),
        }
    }

    fn list(&self, items: &Value, schema: &Value) -> String {
        let item = self.describe(items);
        if self.table(resolve(self.root, items)).is_some() {
            return item.replacen("[table]", "[tables]", 1);
        }
        match schema.get("maxItems").and_then(Value::as_u64) {
            Some(count) if schema.get("minItems") == schema.get("maxItems") => {
                format!("list of {count}: {item}")
            }
            _ => format!("list: {item}"),
        }
    }

    /// Every set of words on the page.
    pub(super) fn words(&self) -> Vec<Words<'s>> {
        let used = self.used();
        let definitions = self.root.get("$defs").and_then(Value::as_object);
        let sets = definitions.into_iter().flatten().filter(|(name, _)| used.contains(name));
        let sets = sets.filter_map(|(name, schema)| {
            let words = words_of(schema).filter(|words| words.len() > 1)?;
            let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            Some(Words { heading: heading(name), about, words })
        });
        sets.collect()
    }

    /// Names of the definitions that keys on the page refer to.
    fn used(&self) -> Vec<&String> {
        let mut used = Vec::new();
        let mut open: Vec<&Value> =
            self.tables.list.iter().flat_map(|t| t.keys.iter().map(|key| key.schema)).collect();
        while let Some(schema) = open.pop() {
            let definitions = self.root.get("$defs").and_then(Value::as_object);
            let named = reference(schema).and_then(|name| definitions?.get_key_value(name));
            if let Some((name, schema)) = named
                && name != "FabricFile"
                && !used.contains(&name)
            {
                used.push(name);
                open.push(schema);
            }
            let choices = schema.get("anyOf").and_then(Value::as_array);
            open.extend(choices.into_iter().flatten());
            open.extend(schema.get("items"));
        }
        used
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}

/// The words of a schema that is a choice of words.
fn words_of(schema: &Value) -> Option<Vec<(&str, &str)>> {
    let word = |one| -> Option<(&str, &str)> {
        let one: &Value = one;
        let what = one.get("description").and_then(Value::as_str).unwrap_or_default();
        Some((one.get("const")?.as_str()?, what))
    };
    schema.get("oneOf")?.as_array()?.iter().map(word).collect()
}

/// The bounds of a number, where they are tighter than those of its 32 or 64 bits.
fn range(schema: &Value) -> String {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    match (bound("minimum"), bound("maximum")) {
        (Some(low), Some(high)) => format!(", {low} to {high}"),
        (Some(low), None) if low > 0.0 => format!(", {low} or more"),
        _ => String::new(),
    }
}

/// `BalancingName` as a heading: `Balancing name`.
fn heading(name: &str) -> String {
    let mut text = String::new();
    for (at, c) in name.char_indices() {
        if at > 0 && c.is_ascii_uppercase() {
            text.push(' ');
            text.push(c.to_ascii_lowercase());
        } else {
            text.push(c);
        }
    }
    text
}

/// The anchor that Markdown viewers give a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
