//! [`Node`]: what of a node is kept.

use super::super::error::{Outcome, Place};
use super::super::model::Edge;
use super::super::note::{At, Notes};
use super::attribute::{self, Value};
use super::proto::{Fields, Wire};
use xoff_units::{Bytes, Span};

/// A node of a trace. What it does not say is none or zero, as in proto3.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) kind: u64,
    pub(super) start: Span,
    pub(super) duration: Span,
    pub(super) attributes: Attributes,
}

/// The attributes that mean something here.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Attributes {
    pub(super) on_host: Option<bool>,
    pub(super) operations: u64,
    pub(super) tensor: Bytes,
    pub(super) collective: Option<u64>,
    pub(super) bytes: Option<Bytes>,
    pub(super) source: Option<u64>,
    pub(super) destination: Option<u64>,
    pub(super) tag: Option<u64>,
    pub(super) root: Option<u64>,
    pub(super) group: Option<String>,
    /// The dimensions of the network that take part, of an older way to name a group.
    pub(super) dimensions: Vec<bool>,
    pub(super) stream: Option<u64>,
}

/// Attributes that say nothing about traffic: where an operator was called and with what.
const OF_NO_USE: [&str; 16] = [
    "rf_id",
    "fw_parent",
    "seq_id",
    "scope",
    "tid",
    "fw_tid",
    "op_schema",
    "pg_desc",
    "comm_priority",
    "tensor_loc",
    "runtime",
    "kernel_backend",
    "kernel_file",
    "num_inputs",
    "num_outputs",
    "name",
];

/// Reads nodes.
#[derive(Debug, Default)]
pub(super) struct NodeReader {
    buffer: Vec<u8>,
    what: String,
}

impl NodeReader {
    /// Reads a node's fields. Its dependencies are given to `depend`, one by one.
    pub(super) fn read(
        &mut self,
        fields: &mut Fields<'_, '_>,
        notes: &mut Notes,
        at: At<'_>,
        depend: &mut dyn FnMut(u64, Edge) -> Outcome<()>,
    ) -> Outcome<Node> {
        let mut node = Node::default();
        while let Some(field) = fields.next()? {
            match (field.number, field.wire) {
                (1, Wire::Varint) => node.id = fields.varint()?,
                (2, Wire::Length) => {
                    node.name = fields.text(&mut self.buffer)?.unwrap_or_default();
                }
                (3, Wire::Varint) => node.kind = fields.varint()?,
                (4, wire) => each(fields, wire, &mut |id| depend(id, Edge::Control))?,
                (5, wire) => each(fields, wire, &mut |id| depend(id, Edge::Data))?,
                (6, Wire::Varint) => node.start = microseconds(fields.varint()?),
                (7, Wire::Varint) => node.duration = microseconds(fields.varint()?),
                // Inputs, outputs and storage: values, shapes and types of tensors, as text.
                (8 | 9 | 11, wire) => fields.skip(wire)?,
                (10, Wire::Length) => {
                    let (name, value) = attribute::read(fields, &mut self.buffer)?;
                    self.take(&mut node.attributes, &name, value, notes, at);
                }
                (number, wire) => {
                    notes.unknown(&format!("field {number} of a node"), at);
                    fields.skip(wire)?;
                }
            }
        }
        Ok(node)
    }

    /// Takes an attribute, or notes what is the matter with it.
    pub(super) fn take(
        &mut self,
        attributes: &mut Attributes,
        name: &str,
        value: Value,
        notes: &mut Notes,
        at: At<'_>,
    ) {
        let (kind, text) = (value_kind(&value), name);
        let taken = attributes.set(name, value);
        self.what.clear();
        match taken {
            Taken::Yes => return,
            Taken::Unwanted => self.what.extend(["attribute `", text, "`"]),
            Taken::Wrong => self.what.extend(["attribute `", text, "` ", kind]),
        }
        match taken {
            Taken::Unwanted if OF_NO_USE.contains(&name) => notes.skipped(&self.what, at),
            Taken::Wrong if kind == NO_VALUE => notes.assumed(&self.what, at),
            _ => notes.unknown(&self.what, at),
        }
    }
}

const NO_VALUE: &str = "without a value";

const fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Absent => NO_VALUE,
        Value::Number(_) => "with a number that does not fit",
        Value::Float(_) => "with a fraction",
        Value::Text(_) => "with a text",
        Value::Flags(_) => "with a list of flags",
        Value::Other => "with a value that does not fit",
    }
}

/// What became of an attribute.
enum Taken {
    Yes,
    /// Its value is not of a kind that fits.
    Wrong,
    /// It means nothing here.
    Unwanted,
}

impl Attributes {
    fn set(&mut self, name: &str, value: Value) -> Taken {
        let whole = match &value {
            Value::Number(number) => u64::try_from(*number).ok(),
            Value::Float(float) if *float >= 0.0 && *float < 1e18 && float.fract() == 0.0 => {
                Some(*float as u64)
            }
            _ => None,
        };
        let place = match name {
            "comm_type" => &mut self.collective,
            "comm_src" => &mut self.source,
            "comm_dst" => &mut self.destination,
            "comm_tag" => &mut self.tag,
            "root_rank" | "root" => &mut self.root,
            "stream" => &mut self.stream,
            _ => return self.set_other(name, value, whole),
        };
        *place = whole;
        if whole.is_some() { Taken::Yes } else { Taken::Wrong }
    }

    fn set_other(&mut self, name: &str, value: Value, whole: Option<u64>) -> Taken {
        match (name, value, whole) {
            ("is_cpu_op", _, Some(number)) => self.on_host = Some(number != 0),
            // A bool that is false may be written as nothing at all.
            ("is_cpu_op", Value::Absent, _) => self.on_host = Some(false),
            ("comm_size", _, Some(number)) => self.bytes = Some(Bytes::new(number)),
            ("num_ops", _, Some(number)) => self.operations = number,
            ("tensor_size", _, Some(number)) => self.tensor = Bytes::new(number),
            ("pg_name", Value::Text(text), _) => self.group = Some(text),
            ("pg_name", _, Some(number)) => self.group = Some(number.to_string()),
            ("involved_dim", Value::Flags(flags), _) => self.dimensions = flags,
            (
                "is_cpu_op" | "comm_size" | "num_ops" | "tensor_size" | "pg_name" | "involved_dim",
                ..,
            ) => return Taken::Wrong,
            _ => return Taken::Unwanted,
        }
        Taken::Yes
    }
}

/// Gives every number of a repeated field, packed or not.
fn each(
    fields: &mut Fields<'_, '_>,
    wire: Wire,
    take: &mut dyn FnMut(u64) -> Outcome<()>,
) -> Outcome<()> {
    match wire {
        Wire::Varint => take(fields.varint()?),
        Wire::Length => {
            let outer = fields.enter()?;
            while fields.more() {
                take(fields.varint()?)?;
            }
            fields.leave(outer)
        }
        other => fields.skip(other),
    }
}

pub(super) fn microseconds(count: u64) -> Span {
    Span::from_us(1) * count
}

/// Where a message begins.
pub(super) const fn place(byte: u64) -> Place {
    Place::Byte(byte)
}
