//! JSON from a stream, within limits.
//!
//! The parser keeps a byte per level of nesting and the text of every string it hands out, so that a
//! file of brackets, or one endless string, would fill the memory. [`Guard`] stands before it and
//! refuses both.

use super::error::{Outcome, Place, TraceError};
use super::source::unreadable;
use serde::de::DeserializeSeed;
use std::fmt;
use std::io::{self, Read};
use std::marker::PhantomData;

/// Deepest nesting taken. Profiler traces have five levels.
const DEEPEST: u32 = 100;

/// Longest string taken, in bytes.
const LONGEST: u64 = 1 << 24;

/// A reader that inspects the JSON that passes through it.
pub(super) struct Guard<R> {
    inner: R,
    depth: u32,
    /// Bytes of the string or number that is being read.
    length: u64,
    in_string: bool,
    escaped: bool,
}

/// What the guard refuses.
#[derive(Debug)]
struct Refused(&'static str);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

impl<R: Read> Guard<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, depth: 0, length: 0, in_string: false, escaped: false }
    }

    fn look(&mut self, byte: u8) -> Result<(), Refused> {
        if self.in_string {
            self.length += 1;
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => (self.in_string, self.length) = (true, 0),
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => self.depth = self.depth.saturating_sub(1),
                b',' | b':' => self.length = 0,
                _ => self.length += 1,
            }
        }
        if self.depth > DEEPEST {
            return Err(Refused("JSON nested more than 100 deep, which no profiler writes"));
        }
        if self.length > LONGEST {
            return Err(Refused("a value of more than 16 MiB, which no profiler writes"));
        }
        Ok(())
    }
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for &byte in &buffer[..count] {
            self.look(byte).map_err(io::Error::other)?;
        }
        Ok(count)
    }
}

/// Reads a value.
pub(super) fn read<T: serde::de::DeserializeOwned>(
    name: &str,
    from: Guard<impl Read>,
) -> Outcome<T> {
    read_seed(name, from, PhantomData)
}

/// Reads a value with a seed.
pub(super) fn read_seed<T, S>(name: &str, from: Guard<impl Read>, seed: S) -> Outcome<T>
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    let reader = io::BufReader::with_capacity(1 << 16, from);
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    let value = seed.deserialize(&mut deserializer).map_err(|error| failed(name, error))?;
    deserializer.end().map_err(|error| failed(name, error))?;
    Ok(value)
}

/// Reads the values of a file that has them one after the other, with nothing around them.
pub(super) fn read_each<T>(name: &str, from: Guard<impl Read>, each: &mut T) -> Outcome<()>
where
    for<'a, 'de> &'a mut T: DeserializeSeed<'de, Value = ()>,
{
    let reader = io::BufReader::with_capacity(1 << 16, from);
    let mut deserializer = serde_json::Deserializer::from_reader(reader);
    loop {
        match deserializer.end() {
            Ok(()) => return Ok(()),
            // There is more.
            Err(error) if error.is_syntax() => {}
            Err(error) => return Err(failed(name, error)),
        }
        each.deserialize(&mut deserializer).map_err(|error| failed(name, error))?;
    }
}

fn failed(name: &str, error: serde_json::Error) -> TraceError {
    use serde_json::error::Category;
    let (line, column) = (error.line() as u64, error.column());
    let place = Place::Line(line);
    match error.classify() {
        Category::Io => {
            let error = io::Error::from(error);
            match error.get_ref().and_then(|inner| inner.downcast_ref::<Refused>()) {
                Some(refused) => TraceError::new(name, place, refused.0),
                None => unreadable(name, place, &error),
            }
        }
        Category::Eof => {
            TraceError::new(name, place, "the file ends early; write or copy it again")
        }
        Category::Syntax | Category::Data => {
            // The parser's message names line and column again; the line is ours to say.
            let text = error.to_string();
            let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
            TraceError::new(name, place, format!("not as expected in column {column}: {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IgnoredAny;

    fn check(text: &[u8]) -> Outcome<IgnoredAny> {
        read("f", Guard::new(text))
    }

    #[test]
    fn ordinary_json_passes() {
        check(br#"{"a": ["\"[[[[", {"b\\": 1e3}], "c": "\u00e9"}"#).unwrap();
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = check(&b"[".repeat(5_000_000)).unwrap_err();
        assert!(deep.message.contains("100 deep"), "{deep}");
        let long = [b"[\"".to_vec(), vec![b'x'; 20 << 20], b"\"]".to_vec()].concat();
        assert!(check(&long).unwrap_err().message.contains("16 MiB"));
        let number = vec![b'1'; 20 << 20];
        assert!(check(&number).unwrap_err().message.contains("16 MiB"));
        // Brackets in a string are not nesting.
        let quoted = [b"\"".to_vec(), vec![b'['; 1000], b"\"".to_vec()].concat();
        check(&quoted).unwrap();
    }

    #[test]
    fn mistakes_have_a_line() {
        let error = check(b"{\n\"a\": 1,\n}").unwrap_err();
        assert_eq!(error.place, Place::Line(3));
        assert!(error.to_string().starts_with("f line 3: not as expected in column 1"), "{error}");
        assert!(check(b"[1, 2").unwrap_err().message.contains("ends early"));
        assert!(check(b"[] []").is_err());
    }
}
