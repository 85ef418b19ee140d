//! A TOML document that remembers where everything was written, in layers: a profile at the
//! bottom, the fabric file on it, a scenario's overrides on top.

mod merge;
mod place;

pub(crate) use place::{Path, Report, Step, keys};

use crate::diagnostic::{Code, Diagnostic, Origin, Severity, code};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// `None`: in a built-in profile, which has no text to show.
    pub(crate) origin: Option<Origin>,
    pub(crate) span: Range<usize>,
}

/// A value and where it and its key were written.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
    pub(crate) key: Place,
}

/// A TOML value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Date(toml::value::Datetime),
    Array(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

impl Value {
    /// What a message calls it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "true or false",
            Value::Date(_) => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Node {
    pub(crate) fn table(&self) -> Option<&BTreeMap<String, Node>> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The plain value, for serde.
    pub(crate) fn plain(&self) -> toml::Value {
        match &self.value {
            Value::Text(text) => toml::Value::String(text.clone()),
            Value::Integer(number) => toml::Value::Integer(*number),
            Value::Float(number) => toml::Value::Float(*number),
            Value::Boolean(truth) => toml::Value::Boolean(*truth),
            Value::Date(date) => toml::Value::Datetime(*date),
            Value::Array(nodes) => toml::Value::Array(nodes.iter().map(Node::plain).collect()),
            Value::Table(table) => toml::Value::Table(
                table.iter().map(|(key, node)| (key.clone(), node.plain())).collect(),
            ),
        }
    }

    fn empty(place: Place) -> Node {
        Node { value: Value::Table(BTreeMap::new()), key: place.clone(), place }
    }
}

/// A parsed document; what could not be parsed is in the diagnostics and absent here.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) root: Node,
}

/// More text than any real file has; reading it would only take memory.
const MAX_TEXT: usize = 64 << 20;

impl Document {
    /// Parses `text`, collecting every syntax error.
    pub(crate) fn parse(text: &str, origin: Option<Origin>) -> (Document, Vec<Diagnostic>) {
        let place = Place { origin, span: 0..0 };
        let mut reader = Reader { origin, diagnostics: Vec::new() };
        if text.len() > MAX_TEXT {
            reader.error(code::LIMIT, 0..0, "the file is larger than 64 MiB".to_owned());
            return (Document { root: Node::empty(place) }, reader.diagnostics);
        }
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            reader.error(code::SYNTAX, span, error.message().trim().replace('\n', "; "));
        }
        let value = reader.table(table.into_inner());
        (Document { root: Node { value, key: place.clone(), place } }, reader.diagnostics)
    }
}

struct Reader {
    origin: Option<Origin>,
    diagnostics: Vec<Diagnostic>,
}

impl Reader {
    fn place(&self, span: Range<usize>) -> Place {
        Place { origin: self.origin, span }
    }

    fn error(&mut self, code: Code, span: Range<usize>, message: String) {
        self.diagnostics.push(Diagnostic {
            severity: Severity::Error,
            code,
            message,
            help: None,
            origin: self.origin.unwrap_or(Origin::Fabric),
            span,
        });
    }

    fn table(&mut self, table: DeTable<'_>) -> Value {
        let mut result = BTreeMap::new();
        for (key, value) in table {
            let key_span = key.span();
            if let Some(node) = self.node(value, key_span) {
                result.insert(key.into_inner().into_owned(), node);
            }
        }
        Value::Table(result)
    }

    fn node(&mut self, value: Spanned<DeValue<'_>>, key_span: Range<usize>) -> Option<Node> {
        let span = value.span();
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Value::Integer(number),
                    Err(_) => {
                        let message = format!("`{}` is too large a number", number.as_str());
                        self.error(code::WRONG_VALUE, span, message);
                        return None;
                    }
                }
            }
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => Value::Float(number),
                Err(_) => {
                    let message = format!("`{}` is not a number", number.as_str());
                    self.error(code::WRONG_VALUE, span, message);
                    return None;
                }
            },
            DeValue::Boolean(truth) => Value::Boolean(truth),
            DeValue::Datetime(date) => Value::Date(date),
            DeValue::Array(values) => {
                let nodes = values.into_iter().filter_map(|v| {
                    let key_span = v.span();
                    self.node(v, key_span)
                });
                Value::Array(nodes.collect())
            }
            DeValue::Table(table) => self.table(table),
        };
        Some(Node { value, place: self.place(span), key: self.place(key_span) })
    }
}

#[cfg(test)]
mod tests;
