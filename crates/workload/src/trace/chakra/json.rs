//! Chakra traces as JSON, of which there are two kinds.
//!
//! - The graph that Chakra's feeder takes (`{"workload_graph": [{"Id": 1, "NodeType": 4, …}]}`), whose nodes have their
//!   attributes beside their other fields.
//! - What `chakra_jsonizer` makes of an `.et` file: an object for the metadata and one for every node, one after the
//!   other, with the names of the schema in camel case, numbers of 64 bits as texts and zeros left out.
//!
//! Both become the [`Node`]s of an `.et` file. Fields of either kind are taken in both, since tools between them mix
//! them.

use super::super::error::{Outcome, TraceError};
use super::super::json::{self, Guard};
use super::super::source::Source;
use super::attribute::{MOST_FLAGS, Value};
use super::node::{Node, microseconds};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use std::fmt;

/// Words that only Chakra's nodes have, as the jsonizer spells them.
const OF_NODES: [&str; 8] = [
    "\"workload_graph\"",
    "\"COMM_COLL_NODE\"",
    "\"COMM_SEND_NODE\"",
    "\"COMM_RECV_NODE\"",
    "\"COMP_NODE\"",
    "\"MEM_LOAD_NODE\"",
    "\"METADATA_NODE\"",
    "\"durationMicros\"",
];

/// Most dependencies and attributes of one node.
const MOST_DEPENDENCIES: usize = 1 << 24;
const MOST_ATTRIBUTES: usize = 1 << 10;

/// Longest text of an attribute that is kept. None of interest is near that.
const LONGEST: usize = 1 << 16;

/// The names of `NodeType` and of `CollectiveCommType` in the schema, in the order of their numbers.
const TYPES: [&str; 8] = [
    "INVALID_NODE",
    "METADATA_NODE",
    "MEM_LOAD_NODE",
    "MEM_STORE_NODE",
    "COMP_NODE",
    "COMM_SEND_NODE",
    "COMM_RECV_NODE",
    "COMM_COLL_NODE",
];
const COLLECTIVES: [&str; 10] = [
    "ALL_REDUCE",
    "REDUCE",
    "ALL_GATHER",
    "GATHER",
    "SCATTER",
    "BROADCAST",
    "ALL_TO_ALL",
    "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
    "BARRIER",
];

/// Whether a text has nodes of Chakra in it.
pub(in super::super) fn has_nodes(text: &[u8]) -> bool {
    let contains = |word: &&str| text.windows(word.len()).any(|window| window == word.as_bytes());
    OF_NODES.iter().any(contains)
}

/// An object of the file: a node, the metadata, or what stands around a list of nodes.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) node: Node,
    pub(super) control: Vec<u64>,
    pub(super) data: Vec<u64>,
    /// Attributes, and whatever else has a name and a value.
    pub(super) attributes: Vec<(String, Value)>,
    /// A type that the schema does not have.
    pub(super) other_type: Option<String>,
    pub(super) is_node: bool,
}

/// Reads a file and gives its objects to `take`, nodes within a list before what stands around it.
pub(super) fn read(source: Source<'_>, take: &mut dyn FnMut(Item) -> Outcome<()>) -> Outcome<()> {
    let Source { name, reader, .. } = source;
    let mut items = Items { take, refused: None };
    let read = json::read_each(&name, Guard::new(reader), &mut items);
    read.map_err(|error| items.refused.unwrap_or(error))
}

struct Items<'t> {
    take: &'t mut dyn FnMut(Item) -> Outcome<()>,
    /// Why no more is wanted.
    refused: Option<TraceError>,
}

impl<'de> DeserializeSeed<'de> for &mut Items<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Items<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nodes of a Chakra trace")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut item = Item::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "workload_graph" | "nodes" => map.next_value_seed(&mut *self)?,
                _ => item.field(key, &mut map)?,
            }
        }
        (self.take)(item).map_err(|error| {
            self.refused = Some(error);
            de::Error::custom("refused")
        })
    }
}

impl Item {
    fn field<'de, A: MapAccess<'de>>(&mut self, key: String, map: &mut A) -> Result<(), A::Error> {
        match key.as_str() {
            "id" | "Id" => self.node.id = map.next_value::<Number>()?.0,
            "name" | "Name" => self.node.name = text(map.next_value::<Value>()?),
            "type" | "NodeType" => match map.next_value::<Value>()? {
                Value::Number(number) => self.node.kind = u64::try_from(number).unwrap_or(0),
                Value::Text(name) => match TYPES.iter().position(|known| *known == name) {
                    Some(number) => self.node.kind = number as u64,
                    None => self.other_type = Some(name),
                },
                _ => {}
            },
            "ctrlDeps" | "ctrl_deps" => self.control = map.next_value::<Numbers>()?.0,
            "dataDeps" | "data_deps" => self.data = map.next_value::<Numbers>()?.0,
            "startTimeMicros" | "start_time_micros" => {
                self.node.start = microseconds(map.next_value::<Number>()?.0);
            }
            "durationMicros" | "duration_micros" | "runtime" => {
                self.node.duration = microseconds(map.next_value::<Number>()?.0);
            }
            "inputs" | "outputs" => {
                map.next_value::<IgnoredAny>()?;
            }
            "attr" => {
                for attribute in map.next_value::<Attributes>()?.0 {
                    self.attribute(attribute.name, attribute.value)?;
                }
            }
            _ => {
                let value = map.next_value::<Value>()?;
                let value = if key == "pg_name" { value } else { value.counted() };
                return self.attribute(key, value);
            }
        }
        self.is_node |= matches!(key.as_str(), "id" | "Id" | "type" | "NodeType");
        Ok(())
    }

    fn attribute<E: de::Error>(&mut self, name: String, value: Value) -> Result<(), E> {
        if self.attributes.len() >= MOST_ATTRIBUTES {
            return Err(E::custom(format!("more than {MOST_ATTRIBUTES} attributes of a node")));
        }
        let value = match value {
            Value::Text(text) if name == "comm_type" => {
                let number = COLLECTIVES.iter().position(|known| *known == text);
                number.map_or(Value::Text(text), |number| Value::Number(number as i128))
            }
            other => other,
        };
        self.attributes.push((name, value));
        Ok(())
    }
}

fn text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

/// A whole number, also as a text; anything else is zero, as what is left out.
struct Number(u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Number(match Value::deserialize(deserializer)?.counted() {
            Value::Number(number) => u64::try_from(number).unwrap_or(0),
            // A cast saturates, and takes what is no number for zero.
            Value::Float(number) => number as u64,
            _ => 0,
        }))
    }
}

/// A list of whole numbers.
struct Numbers(Vec<u64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumbersVisitor)
    }
}

struct NumbersVisitor;

impl<'de> Visitor<'de> for NumbersVisitor {
    type Value = Numbers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Numbers, A::Error> {
        let mut numbers = Vec::new();
        while let Some(Number(number)) = list.next_element()? {
            if numbers.len() >= MOST_DEPENDENCIES {
                let text = format!("more than {MOST_DEPENDENCIES} dependencies of a node");
                return Err(de::Error::custom(text));
            }
            numbers.push(number);
        }
        Ok(Numbers(numbers))
    }

    /// One of them without a list around it.
    fn visit_u64<E>(self, number: u64) -> Result<Numbers, E> {
        Ok(Numbers(vec![number]))
    }

    fn visit_unit<E>(self) -> Result<Numbers, E> {
        Ok(Numbers(Vec::new()))
    }
}

/// The attributes of the schema: `{"name": "comm_size", "int64Val": "4096"}`.
struct Attributes(Vec<Attribute>);

struct Attribute {
    name: String,
    value: Value,
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AttributesVisitor)
    }
}

struct AttributesVisitor;

impl<'de> Visitor<'de> for AttributesVisitor {
    type Value = Attributes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of attributes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Attributes, A::Error> {
        let mut attributes = Vec::new();
        while let Some(attribute) = list.next_element()? {
            // One more than a node may have, which is then said of the node.
            if attributes.len() <= MOST_ATTRIBUTES {
                attributes.push(attribute);
            }
        }
        Ok(Attributes(attributes))
    }
}

impl<'de> Deserialize<'de> for Attribute {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AttributeVisitor)
    }
}

struct AttributeVisitor;

impl<'de> Visitor<'de> for AttributeVisitor {
    type Value = Attribute;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute with a name and a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Attribute, A::Error> {
        let mut attribute = Attribute { name: String::new(), value: Value::Absent };
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value::<Value>()?;
            match key.as_str() {
                "name" => attribute.name = text(value),
                "docString" | "doc_string" => {}
                "stringVal" | "string_val" => attribute.value = value,
                _ => attribute.value = value.counted(),
            }
        }
        Ok(attribute)
    }
}

impl Value {
    /// Numbers of 64 bits are written as texts.
    fn counted(self) -> Self {
        match self {
            Value::Text(text) => match text.trim().parse() {
                Ok(number) => Value::Number(number),
                Err(_) => Value::Text(text),
            },
            other => other,
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Number(flag.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(if text.len() > LONGEST { Value::Other } else { Value::Text(text.to_owned()) })
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Absent)
    }

    /// Flags are the only list of interest.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut flags = Vec::new();
        while let Some(value) = list.next_element::<Value>()? {
            if let Value::Number(flag) = value
                && flags.len() < MOST_FLAGS
            {
                flags.push(flag != 0);
            }
        }
        Ok(Value::Flags(flags))
    }

    /// A list of the schema: `{"values": [true, false]}`.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut found = Value::Other;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "values" => found = map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
