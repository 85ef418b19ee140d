//! TOML with places: a table whose keys are taken one by one, so that what is left is not known.

use crate::Problem;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};
use xoff_fabric::suggest;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The value.
    pub value: Value,
    /// Bytes of the file's text.
    pub span: Range<usize>,
}

/// An entry of a table.
struct Entry<'a> {
    name: String,
    key: Range<usize>,
    value: Option<Spanned<DeValue<'a>>>,
}

/// A table that is being read.
pub struct Reader<'a> {
    entries: Vec<Entry<'a>>,
    /// Where the table stands.
    pub span: Range<usize>,
}

impl<'a> Reader<'a> {
    /// Of a whole text; what is no TOML is reported.
    pub fn parse(text: &'a str, problems: &mut Vec<Problem>) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let message = error.message().trim().replace('\n', "; ");
            problems.push(Problem::syntax(error.span().unwrap_or(0..0), message));
        }
        Self::of(table.into_inner(), 0..0)
    }

    fn of(table: DeTable<'a>, span: Range<usize>) -> Self {
        let entry = |(key, value): (Spanned<std::borrow::Cow<'a, str>>, _)| Entry {
            key: key.span(),
            name: key.into_inner().into_owned(),
            value: Some(value),
        };
        Self { entries: table.into_iter().map(entry).collect(), span }
    }

    fn spanned(&mut self, name: &str) -> Option<Spanned<DeValue<'a>>> {
        let entry = self.entries.iter_mut().find(|entry| entry.name == name)?;
        entry.value.take()
    }

    /// Takes a key out of the table.
    pub fn take(&mut self, name: &str, problems: &mut Vec<Problem>) -> Option<Item> {
        let value = self.spanned(name)?;
        let span = value.span();
        Some(Item { value: plain(value, problems), span })
    }

    /// Takes a key that holds text.
    pub fn text(
        &mut self,
        name: &str,
        example: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<(String, Range<usize>)> {
        let item = self.take(name, problems)?;
        match item.value {
            Value::String(text) => Some((text, item.span)),
            other => {
                let message = format!("`{name}` is text, not {other}");
                problems.push(Problem::value(
                    item.span,
                    message,
                    format!("write `{name} = \"{example}\"`"),
                ));
                None
            }
        }
    }

    /// Takes a key that holds a whole number from 0 to `most`.
    pub fn number(
        &mut self,
        name: &str,
        most: u64,
        problems: &mut Vec<Problem>,
    ) -> Option<(u64, Range<usize>)> {
        let item = self.take(name, problems)?;
        let number = item.value.as_integer().and_then(|number| u64::try_from(number).ok());
        match number.filter(|number| *number <= most) {
            Some(number) => Some((number, item.span)),
            None => {
                let message =
                    format!("`{name}` is a whole number from 0 to {most}, not {}", item.value);
                problems.push(Problem::value(item.span, message, format!("write `{name} = 16`")));
                None
            }
        }
    }

    /// Takes a list as values with their places.
    pub fn list(
        &mut self,
        name: &str,
        example: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<(Vec<Item>, Range<usize>)> {
        let value = self.spanned(name)?;
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(list) => {
                let item = |value: Spanned<DeValue<'a>>| {
                    let span = value.span();
                    Item { value: plain(value, problems), span }
                };
                Some((list.into_iter().map(item).collect(), span))
            }
            _ => {
                let message = format!("`{name}` is a list");
                problems.push(Problem::value(span, message, format!("write `{name} = {example}`")));
                None
            }
        }
    }

    /// Takes a list of tables.
    pub fn tables(&mut self, name: &str, problems: &mut Vec<Problem>) -> Vec<Reader<'a>> {
        let Some(value) = self.spanned(name) else { return Vec::new() };
        let span = value.span();
        let entries = match value.into_inner() {
            DeValue::Array(entries) => entries.into_iter().collect(),
            _ => Vec::new(),
        };
        if entries.is_empty() {
            let message = format!("`{name}` is a list of tables");
            problems.push(Problem::value(
                span,
                message,
                format!("write `[[{name}]]` above each of them"),
            ));
        }
        let mut readers = Vec::new();
        for entry in entries {
            let span = entry.span();
            match entry.into_inner() {
                DeValue::Table(table) => readers.push(Reader::of(table, span)),
                _ => {
                    let help = format!("write `[[{name}]]` above each of them");
                    problems.push(Problem::value(
                        span,
                        format!("`{name}` is a list of tables"),
                        help,
                    ));
                }
            }
        }
        readers
    }

    /// Reports the keys that were not taken; `known` are those there are.
    pub fn finish(self, known: &[&str], problems: &mut Vec<Problem>) {
        for entry in self.entries.iter().filter(|entry| entry.value.is_some()) {
            let message = format!("unknown key `{}`", entry.name);
            let help = suggest::help(&entry.name, known.iter().copied());
            problems.push(Problem::unknown(entry.key.clone(), message, help));
        }
    }
}

/// A value without places.
fn plain(value: Spanned<DeValue<'_>>, problems: &mut Vec<Problem>) -> Value {
    let span = value.span();
    match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map(Value::Integer).unwrap_or_else(|_| {
                let message = format!("`{}` is too large a number", number.as_str());
                problems.push(Problem::value(span, message, "give a smaller one"));
                Value::Integer(0)
            })
        }
        DeValue::Float(number) => number.as_str().parse().map(Value::Float).unwrap_or_else(|_| {
            let message = format!("`{}` is not a number", number.as_str());
            problems.push(Problem::value(span, message, "write it like `0.25`"));
            Value::Float(0.0)
        }),
        DeValue::Boolean(truth) => Value::Boolean(truth),
        DeValue::Datetime(date) => {
            // Half a date is one, too, and cannot be shown.
            problems.push(Problem::value(span, "a date has no meaning here", "take it out"));
            Value::String(date.to_string())
        }
        DeValue::Array(list) => {
            Value::Array(list.into_iter().map(|value| plain(value, problems)).collect())
        }
        DeValue::Table(table) => {
            let entry = |(key, value): (Spanned<std::borrow::Cow<'_, str>>, _)| {
                (key.into_inner().into_owned(), plain(value, problems))
            };
            Value::Table(table.into_iter().map(entry).collect())
        }
    }
}
