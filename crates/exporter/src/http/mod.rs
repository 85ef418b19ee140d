//! A small HTTP server for one page. So many clients at a time, so many bytes and so much time for each; `GET` and `HEAD` of
//! `/metrics` and of `/`, and nothing else. Every connection is closed after its answer.

mod access;
mod request;

pub use access::{Access, AccessError, Token, tls};

use request::{Refusal, Request, Timed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Clients that are served at a time; more are told to come back. Prometheus is one.
const MOST: usize = 16;
/// How long the server waits for a client before it looks whether it shall end.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

const HOME: &str = "<!doctype html>\n<title>xoff exporter</title>\n<p>Counters for Prometheus: <a href=\"/metrics\">/metrics</a></p>\n";

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    access: Access,
    /// How long a client may take, all in all.
    patience: Duration,
}

/// What a server needs while it serves.
#[derive(Clone, Copy)]
pub struct Service<'a> {
    /// Makes the page.
    pub page: &'a (dyn Fn() -> String + Sync),
    /// Time since some moment; it only grows.
    pub now: &'a (dyn Fn() -> Duration + Sync),
    /// Set when the server shall end.
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for Service<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service").field("stop", self.stop).finish_non_exhaustive()
    }
}

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// It must not.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// It cannot.
    #[error("cannot listen on {0}: {1}; choose another address with --listen")]
    Bind(SocketAddr, io::Error),
}

impl Server {
    /// Listens, if its address may be listened on.
    pub fn listen(
        address: SocketAddr,
        access: Access,
        patience: Duration,
    ) -> Result<Self, ListenError> {
        access.check(address)?;
        let listen = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let listener = listen().map_err(|error| ListenError::Bind(address, error))?;
        Ok(Self { listener, access, patience })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it shall end, and then those that it has begun with.
    pub fn serve(&self, service: Service<'_>) -> io::Result<()> {
        let busy = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            while !service.stop.load(Ordering::Relaxed) {
                let Some(stream) = self.accept()? else { continue };
                if busy.fetch_add(1, Ordering::Relaxed) >= MOST {
                    busy.fetch_sub(1, Ordering::Relaxed);
                    turn_away(&stream);
                    continue;
                }
                let busy = &busy;
                let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                    let _leaving = Leaving(busy);
                    // A client that goes away hurts nobody but itself.
                    let _ = self.client(&stream, service);
                });
                if spawned.is_err() {
                    busy.fetch_sub(1, Ordering::Relaxed);
                }
            }
            Ok(())
        })
    }

    /// The next client, if one comes within a nap.
    fn accept(&self) -> io::Result<Option<TcpStream>> {
        let mut wait = [PollFd::new(&self.listener, PollFlags::IN)];
        match poll(&mut wait, Some(&NAP)) {
            Ok(0) => return Ok(None),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        match self.listener.accept() {
            Ok((stream, _)) => Ok(Some(stream)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            // The client has gone again, or there are no more descriptors: both pass.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(10));
                Ok(None)
            }
        }
    }

    fn client(&self, stream: &TcpStream, service: Service<'_>) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        let until = (service.now)() + self.patience;
        let mut timed = Timed { stream, now: service.now, until };
        let Some(config) = &self.access.tls else {
            self.exchange(&mut timed, service)?;
            return hang_up(stream, service.now);
        };
        let session = rustls::ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        let mut session = rustls::StreamOwned::new(session, timed);
        self.exchange(&mut session, service)?;
        session.conn.send_close_notify();
        session.flush()?;
        hang_up(stream, service.now)
    }

    fn exchange(&self, stream: &mut (impl Read + Write), service: Service<'_>) -> io::Result<()> {
        let answer = match request::read(stream) {
            Ok(request) => self.answer(&request, service),
            Err(Refusal::Gone) => return Ok(()),
            Err(Refusal::BadRequest) => Answer::plain("400 Bad Request"),
            Err(Refusal::Timeout) => Answer::plain("408 Request Timeout"),
            Err(Refusal::TooLarge) => Answer::plain("431 Request Header Fields Too Large"),
        };
        stream.write_all(answer.head().as_bytes())?;
        if answer.with_body {
            stream.write_all(answer.body.as_bytes())?;
        }
        stream.flush()
    }

    fn answer(&self, request: &Request, service: Service<'_>) -> Answer {
        let token = self.access.token.as_ref();
        if !token.is_none_or(|token| token.admits(request.authorization.as_deref())) {
            let header = "WWW-Authenticate: Bearer\r\n";
            return Answer { header, ..Answer::plain("401 Unauthorized") };
        }
        let with_body = match request.method.as_str() {
            "GET" => true,
            "HEAD" => false,
            _ => {
                let header = "Allow: GET, HEAD\r\n";
                return Answer { header, ..Answer::plain("405 Method Not Allowed") };
            }
        };
        let (kind, body) = match request.path.as_str() {
            "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", (service.page)()),
            "/" => ("text/html; charset=utf-8", HOME.to_owned()),
            _ => return Answer { with_body, ..Answer::plain("404 Not Found") },
        };
        Answer { status: "200 OK", kind, header: "", body, with_body }
    }
}

/// One client less, also when its thread panics.
struct Leaving<'a>(&'a AtomicUsize);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ends a connection so that its answer arrives: a socket that is closed with bytes unread resets the connection, and the client
/// may lose what it was sent. So the rest of its request is read, for a moment.
fn hang_up(stream: &TcpStream, now: &(dyn Fn() -> Duration + Sync)) -> io::Result<()> {
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut timed = Timed { stream, now, until: now() + Duration::from_millis(300) };
    let mut rest = [0; 4096];
    for _ in 0..64 {
        if timed.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}

/// Says that there are too many, without waiting for anything.
fn turn_away(mut stream: &TcpStream) {
    let answer = Answer::plain("503 Service Unavailable");
    let _ = stream.set_nonblocking(true);
    let _ = stream.write_all((answer.head() + &answer.body).as_bytes());
}

struct Answer {
    status: &'static str,
    kind: &'static str,
    /// A header of its own, with the end of its line.
    header: &'static str,
    body: String,
    with_body: bool,
}

impl Answer {
    fn plain(status: &'static str) -> Self {
        let kind = "text/plain; charset=utf-8";
        Self { status, kind, header: "", body: format!("{status}\n"), with_body: true }
    }

    fn head(&self) -> String {
        let Self { status, kind, header, body, .. } = self;
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{header}\
             X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
            body.len()
        )
    }
}
