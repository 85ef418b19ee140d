//! Attributes of nodes: a name and a value of any of fifteen types and lists of them.

use super::super::error::Outcome;
use super::proto::{Fields, Wire};

/// A value, as far as any attribute needs it. The same attribute is written as one type by one
/// producer and as another by the next (`is_cpu_op` as bool and as int32, `comm_size` as int64 and as
/// uint64), so that all whole numbers are one.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// There is none: proto3 leaves out what is never set.
    Absent,
    Number(i128),
    Float(f64),
    Text(String),
    /// The first flags of a list.
    Flags(Vec<bool>),
    /// Something that no attribute of interest has.
    Other,
}

/// Most flags of a list that are looked at.
pub(super) const MOST_FLAGS: usize = 64;

/// Reads an attribute; the stream is at its length.
pub(super) fn read(fields: &mut Fields<'_, '_>, buffer: &mut Vec<u8>) -> Outcome<(String, Value)> {
    let outer = fields.enter()?;
    let mut name = String::new();
    let mut value = Value::Absent;
    while let Some(field) = fields.next()? {
        match (field.number, field.wire) {
            (1, Wire::Length) => name = fields.text(buffer)?.unwrap_or_default(),
            (2, wire) => fields.skip(wire)?,
            (number, wire) => value = read_value(fields, number, wire, buffer)?,
        }
    }
    fields.leave(outer)?;
    Ok((name, value))
}

/// The numbers of the fields are those of Chakra's schema, `AttributeProto`.
fn read_value(
    fields: &mut Fields<'_, '_>,
    number: u64,
    wire: Wire,
    buffer: &mut Vec<u8>,
) -> Outcome<Value> {
    Ok(match (number, wire) {
        (3, Wire::Fixed64) => Value::Float(f64::from_bits(fields.fixed(8)?)),
        (5, Wire::Fixed32) => Value::Float(f64::from(f32::from_bits(fields.fixed(4)? as u32))),
        // A negative int32 is written like an int64.
        (7 | 9, Wire::Varint) => Value::Number(i128::from(fields.varint()? as i64)),
        (11 | 13 | 27, Wire::Varint) => Value::Number(i128::from(fields.varint()?)),
        (15 | 17, Wire::Varint) => {
            let zigzag = fields.varint()?;
            Value::Number(i128::from((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)))
        }
        (19, Wire::Fixed32) => Value::Number(i128::from(fields.fixed(4)?)),
        (21, Wire::Fixed64) => Value::Number(i128::from(fields.fixed(8)?)),
        (23, Wire::Fixed32) => Value::Number(i128::from(fields.fixed(4)? as u32 as i32)),
        (25, Wire::Fixed64) => Value::Number(i128::from(fields.fixed(8)? as i64)),
        (28, Wire::Length) => read_flags(fields)?,
        (29, Wire::Length) => match fields.text(buffer)? {
            Some(text) => Value::Text(text),
            None => Value::Other,
        },
        (_, wire) => {
            fields.skip(wire)?;
            Value::Other
        }
    })
}

fn read_flags(fields: &mut Fields<'_, '_>) -> Outcome<Value> {
    let outer = fields.enter()?;
    let mut flags = Vec::new();
    while let Some(field) = fields.next()? {
        match (field.number, field.wire) {
            (1, Wire::Varint) => flags.push(fields.varint()? != 0),
            (1, Wire::Length) => {
                let list = fields.enter()?;
                while fields.more() && flags.len() < MOST_FLAGS {
                    flags.push(fields.varint()? != 0);
                }
                fields.leave(list)?;
            }
            (_, wire) => fields.skip(wire)?,
        }
        flags.truncate(MOST_FLAGS);
    }
    fields.leave(outer)?;
    Ok(Value::Flags(flags))
}
