//! Quantities in files: text with a unit, through [`FromStr`](std::str::FromStr) and `Display`.

use crate::{Bytes, Length, PacketRate, Rate, Ratio, Span};
use crate::{bytes, length, packet_rate, pattern, rate, time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

macro_rules! as_text {
    ($type:ident, $units:expr, $what:literal, $example:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        write!(f, "{} as text with a unit, like \"{}\"", $what, $example)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: Error>(self, value: i64) -> Result<$type, E> {
                        if value == 0 {
                            return Ok($type::default());
                        }
                        Err(E::invalid_type(Unexpected::Signed(value), &self))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        as_text!(out $type);

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                // The bounds hold for numbers only: of those, zero alone needs no unit.
                json_schema!({
                    "type": ["string", "integer"],
                    "pattern": pattern::quantity(&$units),
                    "minimum": 0,
                    "maximum": 0,
                    "description": concat!($what, ", like \"", $example, "\""),
                    "examples": [$example]
                })
            }
        }
    };
    (out $type:ident) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    };
}

as_text!(Span, time::UNITS, "a time", "2us");
as_text!(Bytes, bytes::UNITS, "a size", "150KB");
as_text!(Rate, rate::UNITS, "a rate", "400Gbps");
as_text!(Length, length::UNITS, "a length", "30m");
as_text!(PacketRate, packet_rate::UNITS, "a packet rate", "200Mpps");
as_text!(out Ratio);

impl JsonSchema for Ratio {
    fn schema_name() -> Cow<'static, str> {
        "Ratio".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "number"],
            "pattern": pattern::ratio(),
            "minimum": 0,
            "description": "a ratio, like 0.2, \"20%\" or \"1/5\"",
            "examples": ["0.2"]
        })
    }
}

/// A ratio may also be a bare number: `0.2`.
impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Ratio;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a ratio, like 0.2, \"20%\" or \"1/5\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Ratio, E> {
                let value = u64::try_from(value)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))?;
                Ok(Ratio::new(value, 1))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Ratio, E> {
                Ok(Ratio::new(value, 1))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Ratio, E> {
                // The shortest decimal that reads back as this float is what the file said.
                format!("{value}").parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Number)
    }
}
