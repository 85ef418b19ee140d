//! One request of a client that is not trusted: so many bytes, in so much time.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Longest head of a request.
const LONGEST: usize = 8 << 10;
/// Most headers.
const HEADERS: usize = 64;

/// A connection that ends at a moment, however slowly its client sends or reads.
pub(super) struct Timed<'a> {
    pub(super) stream: &'a TcpStream,
    pub(super) now: &'a (dyn Fn() -> Duration + Sync),
    pub(super) until: Duration,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Duration> {
        match self.until.checked_sub((self.now)()) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(room).map_err(late)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A socket whose time is up says that it would block.
fn late(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

/// What a client asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without what follows a question mark.
    pub(super) path: String,
    pub(super) authorization: Option<Vec<u8>>,
}

/// Why there is no request, as a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The client went away, and needs no answer.
    Gone,
    BadRequest,
    Timeout,
    TooLarge,
}

/// Reads the head of a request. A body, if one follows, is not read.
pub(super) fn read(stream: &mut impl Read) -> Result<Request, Refusal> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let count = match stream.read(&mut piece) {
            Ok(0) => return Err(Refusal::Gone),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(Refusal::Timeout),
            Err(_) => return Err(Refusal::Gone),
        };
        head.extend_from_slice(&piece[..count]);
        if let Some(request) = parse(&head)? {
            return Ok(request);
        }
        if head.len() >= LONGEST {
            return Err(Refusal::TooLarge);
        }
    }
}

/// The request in a head; `None` if it is not complete.
fn parse(head: &[u8]) -> Result<Option<Request>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::BadRequest),
    }
    let (Some(method), Some(path)) = (request.method, request.path) else {
        return Err(Refusal::BadRequest);
    };
    let named = |header: &&httparse::Header<'_>| header.name.eq_ignore_ascii_case("authorization");
    let authorization = request.headers.iter().find(named).map(|header| header.value.to_vec());
    let path = path.split('?').next().unwrap_or_default().to_owned();
    Ok(Some(Request { method: method.to_owned(), path, authorization }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_read_in_pieces() {
        let text = b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nAUTHORIZATION: Bearer t\r\n\r\n";
        for cut in 0..text.len() {
            let mut pieces = text[..cut].chain(&text[cut..]);
            // A reader of nothing ends the head, which a socket does only when it is closed.
            if cut == 0 {
                pieces = text[..].chain(&[][..]);
            }
            let request = read(&mut pieces).unwrap();
            assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/metrics"));
            assert_eq!(request.authorization.as_deref(), Some(&b"Bearer t"[..]));
        }
        assert_eq!(read(&mut &text[..20]), Err(Refusal::Gone));
    }

    #[test]
    fn heads_that_never_end_are_refused() {
        let long = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; 100_000]].concat();
        assert_eq!(read(&mut &long[..]), Err(Refusal::TooLarge));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
        assert_eq!(read(&mut many.as_bytes()), Err(Refusal::TooLarge));
        assert_eq!(read(&mut &b"\x16\x03\x01\x00\x05hello"[..]), Err(Refusal::BadRequest));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = read(&mut &bytes[..]);
        }
    }
}
