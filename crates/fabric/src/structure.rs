//! The shape of a document against the schema of its types: unknown keys, wrong types and units,
//! missing keys, all at once and each at its place.
//!
//! What is wrong is taken out of the document, so that the rest can still be read and checked.

mod leaf;

use crate::diagnostic::{Code, Diagnostic, Origin, Severity, code};
use crate::document::{Node, Place, Value};
use crate::suggest;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Walks `root` along `schema`; returns what is wrong, having removed it.
pub(crate) fn prune(root: &mut Node, schema: &Json, home: Origin) -> Vec<Diagnostic> {
    let mut walk = Walk { schema, home, found: Vec::new() };
    walk.node(root, schema);
    walk.found
}

struct Walk<'s> {
    schema: &'s Json,
    home: Origin,
    found: Vec<Diagnostic>,
}

/// What an object schema allows once references and alternatives are resolved.
#[derive(Default)]
struct Shape<'s> {
    properties: BTreeMap<&'s str, &'s Json>,
    required: Vec<&'s str>,
    /// Schema of keys that are not listed, for maps.
    others: Option<&'s Json>,
}

impl<'s> Walk<'s> {
    fn error(&mut self, code: Code, place: &Place, message: String, help: String) {
        self.found.push(Diagnostic {
            severity: Severity::Error,
            code,
            message,
            help: if help.is_empty() { None } else { Some(help) },
            origin: place.origin.unwrap_or(self.home),
            span: place.span.clone(),
        });
    }

    /// Whether `node` may stay.
    fn node(&mut self, node: &mut Node, schema: &'s Json) -> bool {
        let schema = self.resolve(schema);
        if let Some(verdict) = self.quantity(node, schema) {
            return verdict;
        }
        match &mut node.value {
            Value::Table(_) if describes(self, schema, "object") => self.table(node, schema),
            Value::Array(_) if describes(self, schema, "array") => self.list(node, schema),
            _ => self.scalar(node, schema),
        }
    }

    /// Follows a reference, unless it carries more than the reference.
    fn resolve(&self, schema: &'s Json) -> &'s Json {
        let mut schema = schema;
        for _ in 0..16 {
            let only_reference =
                schema.get("properties").is_none() && schema.get("oneOf").is_none();
            match self.target(schema).filter(|_| only_reference) {
                Some(target) => schema = target,
                None => break,
            }
            if leaf::name_of(schema).is_some() {
                break;
            }
        }
        // An optional value is one alternative beside null.
        let alternatives = schema.get("anyOf").and_then(Json::as_array);
        let real = alternatives.map(|list| {
            list.iter().filter(|s| s.get("type") != Some(&Json::from("null"))).collect::<Vec<_>>()
        });
        match real.as_deref() {
            Some([only]) => self.resolve(only),
            _ => schema,
        }
    }

    fn target(&self, schema: &'s Json) -> Option<&'s Json> {
        let name = schema.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
        self.schema.get("$defs")?.get(name)
    }

    /// Quantities are text with a unit: they are parsed here, where their place is known.
    fn quantity(&mut self, node: &Node, schema: &'s Json) -> Option<bool> {
        let name = leaf::name_of(schema)?;
        match leaf::check(name, &node.value) {
            Ok(()) => Some(true),
            Err(message) => {
                self.error(code::WRONG_VALUE, &node.place, message, String::new());
                Some(false)
            }
        }
    }

    fn scalar(&mut self, node: &Node, schema: &'s Json) -> bool {
        let options = self.options(schema);
        if options.iter().any(|option| leaf::accepts(&node.value, option)) || options.is_empty() {
            return true;
        }
        let words: Vec<&str> = options.iter().filter_map(|o| o.get("const")?.as_str()).collect();
        let expected = leaf::expectation(&options, &words);
        if let (Value::Text(text), false) = (&node.value, words.is_empty()) {
            let message = format!("`{text}` is not known here; {expected} is expected");
            self.error(code::WRONG_VALUE, &node.place, message, suggest::help(text, words));
        } else {
            let message = format!("this is {}, and {expected} is expected", node.value.kind());
            let message = leaf::range_message(&node.value, &options).unwrap_or(message);
            let message = leaf::quantity_message(&node.value, &options).unwrap_or(message);
            self.error(code::WRONG_VALUE, &node.place, message, String::new());
        }
        false
    }

    /// The schemas a scalar may match: alternatives laid flat.
    fn options(&self, schema: &'s Json) -> Vec<Json> {
        let mut flat = Vec::new();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            let schema = self.resolve(schema);
            let alternatives =
                ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.as_array());
            if let Some(list) = alternatives {
                open.extend(list.iter().rev());
            } else if let Some(words) = schema.get("enum").and_then(Json::as_array) {
                flat.extend(words.iter().map(|word| serde_json::json!({ "const": word })));
            } else if schema.as_bool() != Some(true) && schema.get("type") != Some(&"null".into()) {
                flat.push(schema.clone());
            } else if schema.as_bool() == Some(true) {
                return Vec::new();
            }
            if flat.len() > 256 {
                break;
            }
        }
        flat
    }

    fn list(&mut self, node: &mut Node, schema: &'s Json) -> bool {
        let (Value::Array(list), Some(items)) = (&mut node.value, schema.get("items")) else {
            return true;
        };
        list.retain_mut(|item| self.node(item, items));
        true
    }

    fn table(&mut self, node: &mut Node, schema: &'s Json) -> bool {
        if schema.as_bool() == Some(true) {
            return true;
        }
        let place = node.key.clone();
        let Value::Table(table) = &mut node.value else { return true };
        let Ok(shape) = self.shape(schema, table, &place) else { return false };
        if shape.properties.is_empty() && shape.others.is_none() {
            return true;
        }
        let mut wrong = Vec::new();
        for (key, child) in table.iter_mut() {
            let known = shape.properties.get(key.as_str()).copied().or(shape.others);
            match known {
                Some(schema) => {
                    let other = self.other_form(key, child, schema, &shape);
                    if let Some(help) = other {
                        let message = form_message(&child.value);
                        self.error(code::WRONG_VALUE, &child.key, message, help);
                        wrong.push(key.clone());
                    } else if !self.node(child, schema) {
                        wrong.push(key.clone());
                    }
                }
                None => {
                    let known = shape.properties.keys().copied();
                    let message = format!("there is no key `{key}` here");
                    let help = suggest::help(key, known);
                    self.error(code::UNKNOWN_KEY, &child.key, message, help);
                    wrong.push(key.clone());
                }
            }
        }
        let missing: Vec<&str> =
            shape.required.iter().copied().filter(|key| !table.contains_key(*key)).collect();
        for key in &missing {
            let message = format!("`{key}` is missing here");
            let help = format!("add `{key} = …`");
            self.error(code::MISSING_KEY, &place, message, help);
        }
        let broken = wrong.iter().any(|key| shape.required.contains(&key.as_str()));
        for key in wrong {
            table.remove(&key);
        }
        missing.is_empty() && !broken
    }

    /// What to write instead of a table where a list of tables is expected, or the reverse: another
    /// key, like `[links.host]` for `[link.host]`, or the other brackets.
    fn other_form(
        &self,
        key: &str,
        child: &Node,
        schema: &'s Json,
        shape: &Shape<'s>,
    ) -> Option<String> {
        let schema = self.resolve(schema);
        let (is_table, is_list) =
            (describes(self, schema, "object"), describes(self, schema, "array"));
        let singular = key.strip_suffix('s').unwrap_or(key).to_owned();
        let others = [format!("{key}s"), singular];
        let like = |kind: &str| {
            let known =
                others.iter().filter_map(|name| shape.properties.get_key_value(name.as_str()));
            let mut fits = known.filter(|(name, _)| **name != key);
            fits.find(|(_, schema)| describes(self, self.resolve(schema), kind))
                .map(|(name, _)| *name)
        };
        match &child.value {
            Value::Table(table) if is_list && !is_table => {
                let items = self.resolve(schema.get("items")?);
                let inner = table.iter().find(|(_, node)| node.table().is_some());
                match (like("object"), inner) {
                    (Some(name), Some((sub, _))) => Some(format!("did you mean `[{name}.{sub}]`?")),
                    (Some(name), None) => Some(format!("did you mean `[{name}]`, or `[[{key}]]`?")),
                    (None, _) if describes(self, items, "object") => {
                        Some(format!("write `[[{key}]]`: the file may have several"))
                    }
                    (None, _) => None,
                }
            }
            Value::Array(list) if is_table && !is_list => {
                list.first()?.table()?;
                Some(match like("array") {
                    Some(name) => format!("did you mean `[[{name}]]`, or `[{key}]`?"),
                    None => format!("write `[{key}]`: a file has one"),
                })
            }
            _ => None,
        }
    }

    /// The keys of a table: those of its schema, of what that refers to, and of the alternative
    /// that its tag selects.
    fn shape(
        &mut self,
        schema: &'s Json,
        table: &BTreeMap<String, Node>,
        place: &Place,
    ) -> Result<Shape<'s>, ()> {
        let mut shape = Shape::default();
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            open.extend(self.target(schema));
            open.extend(schema.get("allOf").and_then(Json::as_array).into_iter().flatten());
            if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
                shape
                    .properties
                    .extend(properties.iter().map(|(key, value)| (key.as_str(), value)));
            }
            let required = schema.get("required").and_then(Json::as_array);
            shape.required.extend(required.into_iter().flatten().filter_map(Json::as_str));
            shape.others = shape.others.or(map_values(schema));
            if let Some(alternatives) = schema.get("oneOf").and_then(Json::as_array) {
                open.push(self.alternative(alternatives, table, place)?);
            }
            open.extend(self.only_table(schema));
        }
        Ok(shape)
    }

    /// The one alternative without a tag that is a table, as in a setting that is a word or a table.
    fn only_table(&self, schema: &'s Json) -> Option<&'s Json> {
        let alternatives = schema.get("anyOf")?.as_array()?;
        let mut tables = alternatives.iter().filter(|s| describes(self, self.resolve(s), "object"));
        tables.next().filter(|_| tables.next().is_none())
    }

    /// The alternative whose tag the table carries.
    fn alternative(
        &mut self,
        alternatives: &'s [Json],
        table: &BTreeMap<String, Node>,
        place: &Place,
    ) -> Result<&'s Json, ()> {
        let tags: Vec<(&str, &str, &Json)> =
            alternatives.iter().filter_map(|s| tag(s).map(|(key, word)| (key, word, s))).collect();
        let Some(key) = tags.first().map(|(key, _, _)| *key) else { return Err(()) };
        let words = || tags.iter().map(|(_, word, _)| *word);
        let Some(node) = table.get(key) else {
            let listed: Vec<String> = words().map(|word| format!("`{word}`")).collect();
            let message = format!("`{key}` is missing here");
            let help = format!("it is one of {}", listed.join(", "));
            self.error(code::MISSING_KEY, place, message, help);
            return Err(());
        };
        let text = node.value.as_text().unwrap_or_default();
        if let Some((_, _, schema)) = tags.iter().find(|(_, word, _)| *word == text) {
            return Ok(schema);
        }
        let message = match node.value.as_text() {
            Some(text) => format!("there is no {key} `{text}`"),
            None => format!("`{key}` is {}, and text is expected", node.value.kind()),
        };
        self.error(code::WRONG_VALUE, &node.place, message, suggest::help(text, words()));
        Err(())
    }
}

/// What is wrong with a table or a list in the place of the other.
fn form_message(value: &Value) -> String {
    let expected = if matches!(value, Value::Table(_)) { "a list of tables" } else { "a table" };
    format!("this is {}, and {expected} is expected", value.kind())
}

/// The constant that marks one alternative of a tagged enum.
fn tag(schema: &Json) -> Option<(&str, &str)> {
    let properties: &Map<String, Json> = schema.get("properties")?.as_object()?;
    properties.iter().find_map(|(key, value)| Some((key.as_str(), value.get("const")?.as_str()?)))
}

/// The schema of a map's values.
fn map_values(schema: &Json) -> Option<&Json> {
    schema.get("additionalProperties").filter(|value| value.as_bool() != Some(false))
}

/// Whether a schema can describe values of this JSON type.
fn describes<'s>(walk: &Walk<'s>, schema: &'s Json, kind: &str) -> bool {
    if schema.as_bool() == Some(true) {
        return true;
    }
    if let Some(declared) = schema.get("type") {
        return leaf::type_is(declared, kind);
    }
    let alternatives =
        ["oneOf", "anyOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array());
    match alternatives {
        Some(list) => list.iter().any(|s| describes(walk, walk.resolve(s), kind)),
        None => walk.target(schema).is_some_and(|target| describes(walk, target, kind)),
    }
}

#[cfg(test)]
mod tests;
