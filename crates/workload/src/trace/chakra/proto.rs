//! Protocol-buffer fields straight from a stream.
//!
//! Written by hand because most of a trace is skipped: a node carries the values and shapes of its
//! tensors as text, which can be megabytes and need not be UTF-8. A generated decoder would read,
//! check and keep all of that; this one passes over it, and a node costs what is kept of it.

use super::super::error::{Outcome, Place, TraceError};
use super::super::source::Source;

/// Longest text that is taken; what is longer is skipped.
pub(super) const LONGEST_TEXT: u64 = 4096;

/// Longest message: far above what any trace holds.
const LONGEST_MESSAGE: u64 = 1 << 30;

/// How a field is written (its wire type).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Varint,
    Fixed64,
    Length,
    Fixed32,
}

/// A field's number and how it is written; its value is next in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) wire: Wire,
}

/// The messages of a file.
pub(super) struct Fields<'a, 's> {
    pub(super) source: &'a mut Source<'s>,
    /// Where the message that is being read ends.
    end: u64,
}

impl<'a, 's> Fields<'a, 's> {
    pub(super) fn new(source: &'a mut Source<'s>) -> Self {
        Self { source, end: u64::MAX }
    }

    /// Enters the next message of the file, and gives its place; none at the end.
    pub(super) fn message(&mut self) -> Outcome<Option<u64>> {
        let start = self.source.offset();
        self.end = u64::MAX;
        let Some(first) = self.source.byte()? else { return Ok(None) };
        let length = self.varint_from(first)?;
        if length > LONGEST_MESSAGE {
            let text = format!("a message of {length} bytes: the file is damaged or no .et file");
            return Err(self.error(start, text));
        }
        self.end = self.source.offset() + length;
        Ok(Some(start))
    }

    /// The next field of the message; none at its end.
    pub(super) fn next(&mut self) -> Outcome<Option<Field>> {
        let start = self.source.offset();
        if start >= self.end {
            return Ok(None);
        }
        let key = self.varint()?;
        let wire = match key & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Length,
            5 => Wire::Fixed32,
            other => {
                let text = format!("a field of wire type {other}: the file is damaged");
                return Err(self.error(start, text));
            }
        };
        Ok(Some(Field { number: key >> 3, wire }))
    }

    /// The next byte, which stays where it is.
    pub(super) fn peek(&mut self) -> Outcome<u8> {
        match self.source.peek()? {
            Some(byte) => Ok(byte),
            None => Err(self.cut()),
        }
    }

    /// Reads a varint.
    pub(super) fn varint(&mut self) -> Outcome<u64> {
        let first = self.byte()?;
        self.varint_from(first)
    }

    fn varint_from(&mut self, first: u8) -> Outcome<u64> {
        let start = self.source.offset() - 1;
        let mut value = u64::from(first & 0x7f);
        let (mut byte, mut shift) = (first, 7);
        while byte & 0x80 != 0 {
            if shift > 63 {
                let text = "a number of more than ten bytes: the file is damaged";
                return Err(self.error(start, text));
            }
            byte = self.byte()?;
            // Bits beyond the 64th are dropped, as every decoder does.
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        Ok(value)
    }

    fn byte(&mut self) -> Outcome<u8> {
        if self.source.offset() >= self.end {
            return Err(self.past_end());
        }
        match self.source.byte()? {
            Some(byte) => Ok(byte),
            None => Err(self.cut()),
        }
    }

    /// Reads 4 or 8 bytes as a number.
    pub(super) fn fixed(&mut self, bytes: u32) -> Outcome<u64> {
        let mut value = 0;
        for at in 0..bytes {
            value |= u64::from(self.byte()?) << (8 * at);
        }
        Ok(value)
    }

    /// Reads the length of a text, list or inner message, which must fit what is around it.
    pub(super) fn length(&mut self) -> Outcome<u64> {
        let length = self.varint()?;
        match self.source.offset().checked_add(length) {
            Some(end) if end <= self.end => Ok(length),
            _ => Err(self.past_end()),
        }
    }

    /// Enters an inner message; [`Fields::leave`] with what this returns gets out again.
    pub(super) fn enter(&mut self) -> Outcome<u64> {
        let length = self.length()?;
        let outer = self.end;
        self.end = self.source.offset() + length;
        Ok(outer)
    }

    /// Skips what is left of an inner message.
    pub(super) fn leave(&mut self, outer: u64) -> Outcome<()> {
        self.pass(self.end.saturating_sub(self.source.offset()))?;
        self.end = outer;
        Ok(())
    }

    /// Whether there is more in this message.
    pub(super) fn more(&self) -> bool {
        self.source.offset() < self.end
    }

    /// Reads a text; none if it is too long to be of interest.
    pub(super) fn text(&mut self, buffer: &mut Vec<u8>) -> Outcome<Option<String>> {
        let length = self.length()?;
        if length > LONGEST_TEXT {
            self.pass(length)?;
            return Ok(None);
        }
        if self.source.bytes(length, buffer)? < length {
            return Err(self.cut());
        }
        Ok(Some(String::from_utf8_lossy(buffer).into_owned()))
    }

    /// Skips the value of a field.
    pub(super) fn skip(&mut self, wire: Wire) -> Outcome<()> {
        match wire {
            Wire::Varint => self.varint().map(drop),
            Wire::Fixed64 => self.fixed(8).map(drop),
            Wire::Fixed32 => self.fixed(4).map(drop),
            Wire::Length => {
                let length = self.length()?;
                self.pass(length)
            }
        }
    }

    fn pass(&mut self, count: u64) -> Outcome<()> {
        if self.source.skip(count)? < count { Err(self.cut()) } else { Ok(()) }
    }

    fn cut(&self) -> TraceError {
        let at = self.source.offset();
        self.error(at, "the file ends in the middle of a message; write or copy it again")
    }

    fn past_end(&self) -> TraceError {
        let at = self.source.offset();
        self.error(at, "a field goes past the end of its message: the file is damaged")
    }

    fn error(&self, at: u64, text: impl Into<String>) -> TraceError {
        self.source.error(Place::Byte(at), text)
    }
}
