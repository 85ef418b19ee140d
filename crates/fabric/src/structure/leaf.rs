//! Single values: quantities, numbers, words.

use crate::document::Value;
use crate::file::{HeadroomSetting, ResponseSetting, SlotSetting};
use crate::scenario::SizeRange;
use serde_json::Value as Json;
use xoff_units::{Bytes, Length, PacketRate, Rate, Ratio, Span};

/// Quantities are recognised by the example their schema carries.
const QUANTITIES: [&str; 10] = [
    "2us",
    "150KB",
    "400Gbps",
    "30m",
    "200Mpps",
    "0.2",
    "auto",
    "standard",
    "1MiB..8GiB",
    "gen5 x16",
];

/// The quantity that a schema stands for, by its example.
pub(super) fn name_of(schema: &Json) -> Option<&'static str> {
    let example = schema.get("examples")?.get(0)?.as_str()?;
    QUANTITIES.into_iter().find(|name| *name == example)
}

/// Reads a value as the quantity with this example.
pub(super) fn check(example: &str, value: &Value) -> Result<(), String> {
    let ratio = example == "0.2";
    let text = match value {
        Value::Text(text) => text.clone(),
        // A bare zero needs no unit.
        Value::Integer(0) => "0".to_owned(),
        Value::Integer(number) if ratio => number.to_string(),
        Value::Float(number) if ratio => format!("{number}"),
        Value::Integer(number) => {
            return Err(format!("{number} has no unit; write it as text, like \"{example}\""));
        }
        other => {
            return Err(format!(
                "this is {}, and text like \"{example}\" is expected",
                other.kind()
            ));
        }
    };
    fn read<T: std::str::FromStr>(text: &str) -> Result<(), String>
    where
        T::Err: std::fmt::Display,
    {
        text.parse::<T>().map(drop).map_err(|error| error.to_string())
    }
    match example {
        "2us" => read::<Span>(&text),
        "150KB" => read::<Bytes>(&text),
        "400Gbps" => read::<Rate>(&text),
        "30m" => read::<Length>(&text),
        "200Mpps" => read::<PacketRate>(&text),
        "0.2" => read::<Ratio>(&text),
        "1MiB..8GiB" => expect_text(value).and_then(|()| read::<SizeRange>(&text)),
        "gen5 x16" => expect_text(value).and_then(|()| read::<SlotSetting>(&text)),
        "auto" => expect_text(value).and_then(|()| read::<HeadroomSetting>(&text)),
        _ => expect_text(value).and_then(|()| read::<ResponseSetting>(&text)),
    }
}

fn expect_text(value: &Value) -> Result<(), String> {
    match value.as_text() {
        Some(_) => Ok(()),
        None => Err(format!("this is {}; write it as text, like \"0B\" or \"0s\"", value.kind())),
    }
}

/// Whether a `type` of a schema includes this one.
pub(super) fn type_is(declared: &Json, kind: &str) -> bool {
    match declared {
        Json::String(one) => one == kind,
        Json::Array(many) => many.iter().any(|one| one == kind),
        _ => false,
    }
}

/// Whether a value matches a schema without alternatives.
pub(super) fn accepts(value: &Value, schema: &Json) -> bool {
    if let Some(word) = schema.get("const") {
        return value.as_text().is_some() && value.as_text() == word.as_str();
    }
    if let Some(name) = name_of(schema) {
        return check(name, value).is_ok();
    }
    let Some(declared) = schema.get("type") else { return true };
    match value {
        Value::Text(_) => type_is(declared, "string"),
        Value::Boolean(_) => type_is(declared, "boolean"),
        Value::Integer(number) => {
            (type_is(declared, "integer") || type_is(declared, "number"))
                && bounds(schema).contains(number)
        }
        Value::Float(_) => type_is(declared, "number"),
        Value::Array(_) => type_is(declared, "array"),
        Value::Table(_) => type_is(declared, "object"),
        Value::Date(_) => false,
    }
}

/// Smallest and largest whole number of a schema, from its format and its bounds.
fn bounds(schema: &Json) -> std::ops::RangeInclusive<i64> {
    let format = schema.get("format").and_then(Json::as_str);
    let (low, high) = match format {
        Some("uint8") => (0, u8::MAX.into()),
        Some("uint16") => (0, u16::MAX.into()),
        Some("uint32") => (0, u32::MAX.into()),
        Some("uint64" | "uint") => (0, i64::MAX),
        Some("int32") => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    };
    let number = |key: &str| schema.get(key).and_then(Json::as_i64);
    low.max(number("minimum").unwrap_or(low))..=high.min(number("maximum").unwrap_or(high))
}

/// "is out of range", where that is what is wrong.
pub(super) fn range_message(value: &Value, options: &[Json]) -> Option<String> {
    let Value::Integer(number) = value else { return None };
    let whole = options.iter().find(|o| o.get("type").is_some_and(|t| type_is(t, "integer")))?;
    let range = bounds(whole);
    Some(format!("{number} is out of range: it lies between {} and {}", range.start(), range.end()))
}

/// What is wrong with a quantity that may also be a table.
pub(super) fn quantity_message(value: &Value, options: &[Json]) -> Option<String> {
    let mut quantities = options.iter().filter_map(name_of);
    let (Some(only), None) = (quantities.next(), quantities.next()) else { return None };
    check(only, value).err()
}

/// What the schemas ask for, in words.
pub(super) fn expectation(options: &[Json], words: &[&str]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for option in options {
        let declared = option.get("type");
        let part = match declared {
            _ if option.get("const").is_some() => continue,
            _ if name_of(option).is_some() => {
                format!("text like \"{}\"", name_of(option).unwrap_or_default())
            }
            Some(t) if type_is(t, "integer") => "a whole number".to_owned(),
            Some(t) if type_is(t, "number") => "a number".to_owned(),
            Some(t) if type_is(t, "string") => "text".to_owned(),
            Some(t) if type_is(t, "boolean") => "true or false".to_owned(),
            Some(t) if type_is(t, "array") => "a list".to_owned(),
            _ => "a table".to_owned(),
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    parts.extend(words.iter().map(|word| format!("`{word}`")));
    parts.join(" or ")
}
