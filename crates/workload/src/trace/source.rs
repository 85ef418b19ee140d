//! [`Source`]: a file as the readers see it: decompressed, with a place for messages, in bounded
//! memory.

use super::error::{Outcome, Place, TraceError};
use flate2::read::MultiGzDecoder;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// How much of a file is looked at to tell what it is.
const HEAD: u64 = 1 << 16;

/// Bytes read at once.
const BUFFER: usize = 1 << 17;

/// Longest line of a text format.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// Gets the number of bytes read so far, returns whether to go on.
pub type Watcher<'w> = &'w mut dyn FnMut(u64) -> bool;

/// Bytes read of all files of a trace, and the callback that they are reported to.
pub(super) struct Watch<'w> {
    read: u64,
    watcher: Option<Watcher<'w>>,
}

impl<'w> Watch<'w> {
    pub(super) fn new(watcher: Option<Watcher<'w>>) -> Self {
        Self { read: 0, watcher }
    }
}

/// The error that ends reading when the callback asked to stop.
#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Stopped {}

/// A reader that is watched.
struct Watched<'s, 'w, R> {
    inner: R,
    watch: &'s mut Watch<'w>,
}

impl<R: Read> Read for Watched<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.watch.read += count as u64;
        let read = self.watch.read;
        let go_on = self.watch.watcher.as_mut().is_none_or(|watcher| watcher(read));
        if go_on { Ok(count) } else { Err(io::Error::other(Stopped)) }
    }
}

/// A file, decompressed.
pub(super) struct Source<'s> {
    /// As messages name it.
    pub(super) name: String,
    /// Its first bytes.
    pub(super) head: Vec<u8>,
    pub(super) reader: Box<dyn BufRead + 's>,
    offset: u64,
    line: u64,
}

/// What came of reading a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// It is in the buffer, without its end.
    Whole,
    /// It is longer than [`LONGEST_LINE`]: its beginning is in the buffer, the rest was skipped.
    TooLong,
    /// There is none.
    End,
}

impl<'s> Source<'s> {
    /// Reads the beginning of a file and decompresses it if need be.
    pub(super) fn open<'w: 's>(
        name: &str,
        file: impl Read + 's,
        watch: &'s mut Watch<'w>,
    ) -> Outcome<Self> {
        let failed = |error: &io::Error| unreadable(name, Place::File, error);
        let mut raw = BufReader::with_capacity(BUFFER, Watched { inner: file, watch });
        let magic = take(&mut raw, 4).map_err(|error| failed(&error))?;
        let raw = Cursor::new(magic.clone()).chain(raw);
        let mut plain: Box<dyn Read + 's> = match magic.as_slice() {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(raw)),
            [0x28, 0xb5, 0x2f, 0xfd] => return Err(packed(name, "zstd -d")),
            [b'P', b'K', 3, 4] => return Err(packed(name, "unzip")),
            [b'B', b'Z', b'h', _] => return Err(packed(name, "bunzip2")),
            [0xfd, b'7', b'z', b'X'] => return Err(packed(name, "unxz")),
            _ => Box::new(raw),
        };
        let head = take(&mut plain, HEAD).map_err(|error| failed(&error))?;
        let reader = BufReader::with_capacity(BUFFER, Cursor::new(head.clone()).chain(plain));
        Ok(Self { name: name.to_owned(), head, reader: Box::new(reader), offset: 0, line: 0 })
    }

    /// The number of the line read last.
    pub(super) fn line_place(&self) -> Place {
        Place::Line(self.line)
    }

    /// The number of bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads a line, without its end.
    pub(super) fn line(&mut self, buffer: &mut Vec<u8>) -> Outcome<Line> {
        buffer.clear();
        self.line += 1;
        let limit = LONGEST_LINE as u64 + 1;
        let read = (&mut self.reader).take(limit).read_until(b'\n', buffer);
        if read.map_err(|error| self.failed(self.line_place(), &error))? == 0 {
            return Ok(Line::End);
        }
        let whole = buffer.pop_if(|byte| *byte == b'\n').is_some();
        if !whole && buffer.len() > LONGEST_LINE {
            self.skip_line()?;
            return Ok(Line::TooLong);
        }
        let _ = buffer.pop_if(|byte| *byte == b'\r');
        Ok(Line::Whole)
    }

    fn skip_line(&mut self) -> Outcome<()> {
        loop {
            let bytes = self.reader.fill_buf();
            let place = Place::Line(self.line);
            let bytes = bytes.map_err(|error| unreadable(&self.name, place, &error))?;
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let (count, done) = match end {
                Some(at) => (at + 1, true),
                None => (bytes.len(), bytes.is_empty()),
            };
            self.reader.consume(count);
            if done {
                return Ok(());
            }
        }
    }

    /// The next byte, which stays where it is; none at the end.
    pub(super) fn peek(&mut self) -> Outcome<Option<u8>> {
        let bytes = self.reader.fill_buf();
        let place = Place::Byte(self.offset);
        let bytes = bytes.map_err(|error| unreadable(&self.name, place, &error))?;
        Ok(bytes.first().copied())
    }

    /// Reads one byte; none at the end.
    pub(super) fn byte(&mut self) -> Outcome<Option<u8>> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.reader.consume(1);
            self.offset += 1;
        }
        Ok(byte)
    }

    /// Skips up to `count` bytes and says how many there were.
    pub(super) fn skip(&mut self, count: u64) -> Outcome<u64> {
        let mut left = count;
        while left > 0 {
            let bytes = self.reader.fill_buf();
            let place = Place::Byte(self.offset);
            let bytes = bytes.map_err(|error| unreadable(&self.name, place, &error))?;
            let step = (bytes.len() as u64).min(left);
            if step == 0 {
                break;
            }
            self.reader.consume(step as usize);
            self.offset += step;
            left -= step;
        }
        Ok(count - left)
    }

    /// Reads up to `count` bytes into the buffer, and says how many there were.
    pub(super) fn bytes(&mut self, count: u64, buffer: &mut Vec<u8>) -> Outcome<u64> {
        buffer.clear();
        let read = (&mut self.reader).take(count).read_to_end(buffer);
        let read = read.map_err(|error| self.failed(Place::Byte(self.offset), &error))? as u64;
        self.offset += read;
        Ok(read)
    }

    /// Something is wrong with this file.
    pub(super) fn error(&self, place: Place, message: impl Into<String>) -> TraceError {
        TraceError::new(&self.name, place, message)
    }

    /// Something is wrong on the line read last.
    pub(super) fn line_error(&self, message: impl Into<String>) -> TraceError {
        self.error(self.line_place(), message)
    }

    pub(super) fn failed(&self, place: Place, error: &io::Error) -> TraceError {
        unreadable(&self.name, place, error)
    }
}

fn take(reader: &mut impl Read, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn packed(name: &str, command: &str) -> TraceError {
    let message = format!("compressed in a way that is not read here; `{command}` it first");
    TraceError::new(name, Place::File, message)
}

/// The file cannot be read on.
pub(super) fn unreadable(name: &str, place: Place, error: &io::Error) -> TraceError {
    if error.get_ref().is_some_and(|inner| inner.is::<Stopped>()) {
        let message = "interrupted".to_owned();
        return TraceError { file: name.to_owned(), place, message, interrupted: true };
    }
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            "the compressed file ends early; write or copy it again".to_owned()
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            format!("the compressed file is damaged ({error}); write or copy it again")
        }
        _ => format!("cannot be read: {error}"),
    };
    TraceError::new(name, place, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn lines(bytes: &[u8]) -> Outcome<Vec<(Line, usize)>> {
        let mut watch = Watch::new(None);
        let mut source = Source::open("f", bytes, &mut watch)?;
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        loop {
            match source.line(&mut buffer)? {
                Line::End => return Ok(found),
                line => found.push((line, buffer.len())),
            }
        }
    }

    #[test]
    fn lines_of_any_length() {
        let mut text = b"a\r\n\nbcd\n".to_vec();
        text.extend(vec![b'x'; LONGEST_LINE]);
        text.push(b'\n');
        text.extend(vec![b'y'; 3 * LONGEST_LINE]);
        text.extend(b"\nlast");
        let found = lines(&text).unwrap();
        let long = (Line::TooLong, LONGEST_LINE + 1);
        let whole = [1, 0, 3, LONGEST_LINE].map(|length| (Line::Whole, length));
        assert_eq!(found, [&whole[..], &[long, (Line::Whole, 4)]].concat());
    }

    #[test]
    fn gzip_whole_cut_and_damaged() {
        let text = "a line\n".repeat(100_000);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        assert_eq!(lines(&packed).unwrap().len(), 100_000);
        // Two members in one file are one text.
        assert_eq!(lines(&[packed.clone(), packed.clone()].concat()).unwrap().len(), 200_000);
        let cut = lines(&packed[..packed.len() / 2]).unwrap_err();
        assert!(cut.message.contains("ends early"), "{cut}");
        let mut damaged = packed.clone();
        damaged[packed.len() - 6] ^= 1;
        assert!(lines(&damaged).is_err());
        assert!(lines(&[0x1f, 0x8b]).is_err());
    }

    #[test]
    fn other_packers_are_named() {
        for (magic, command) in [(&b"\x28\xb5\x2f\xfdxx"[..], "zstd"), (b"PK\x03\x04x", "unzip")] {
            assert!(lines(magic).unwrap_err().message.contains(command));
        }
    }

    #[test]
    fn whoever_watches_can_stop_it() {
        let mut calls = 0;
        let mut watcher = |_: u64| {
            calls += 1;
            calls < 3
        };
        let mut watch = Watch::new(Some(&mut watcher));
        let text = vec![b'\n'; 10 * BUFFER];
        let mut source = Source::open("f", text.as_slice(), &mut watch).unwrap();
        let error = source.skip(u64::MAX).unwrap_err();
        assert!(error.interrupted, "{error}");
    }
}
