//! A server that waits: of all that connect, the first that greets as a client of the test does.
//!
//! Others come, too: port scanners, health checks, a browser. None of them ends the wait, and none
//! holds it up.

use super::error::PerfError;
use super::message::Greeting;
use super::outcome::Ignored;
use super::pingpong::{LINE, Place};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a caller may be silent. The stock clients say nothing for a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest greeting.
const LONGEST: usize = LINE;
/// Callers at a time; the one that has waited longest makes room.
const MOST: usize = 64;
/// Callers that were not clients and are remembered, to be reported.
const REMEMBERED: usize = 16;
/// Longest sleep before the stop flag is checked again.
const NAP: Duration = Duration::from_millis(200);
/// The same while a part of a greeting is there: it makes the socket readable.
const SHORT_NAP: Duration = Duration::from_millis(20);

/// Callers that have not greeted yet.
#[derive(Debug)]
struct Reception {
    port: u16,
    greets: Greets,
    listener: TcpListener,
    callers: Vec<(TcpStream, IpAddr, Instant)>,
    ignored: Vec<Ignored>,
    /// Somebody has begun to greet.
    partial: bool,
}

/// How clients greet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Greets {
    /// With perftest's version.
    Perftest,
    /// With the place of their queue pair.
    Pingpong,
}

impl Greets {
    /// Whether a client says this first; `None` if that cannot be told yet.
    fn is_client(self, said: &[u8]) -> Option<bool> {
        match self {
            // A greeting begins with a version number.
            Self::Perftest => match said.first_chunk() {
                Some(whole) => Some(Greeting::parse(whole).is_ok()),
                None => said.first().filter(|byte| !byte.is_ascii_digit()).map(|_| false),
            },
            Self::Pingpong => match said.first_chunk() {
                Some(whole) => Some(Place::parse(whole).is_ok()),
                None => said.first().filter(|byte| !byte.is_ascii_hexdigit()).map(|_| false),
            },
        }
    }
}

/// What a caller turned out to be.
enum Caller {
    Client,
    Waiting,
    Partial,
    Stray(&'static str),
}

/// Waits for a client at all our addresses. Nothing of its greeting is read. Says who else called.
pub(super) fn answer(
    port: u16,
    greets: Greets,
    stop: &Arc<AtomicBool>,
) -> Result<(TcpStream, Vec<Ignored>), PerfError> {
    let any = [
        SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port),
        SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port),
    ];
    // The first takes both families where there are both.
    let listener =
        TcpListener::bind(&any[..]).map_err(|error| PerfError::Listen { port, error })?;
    listener.set_nonblocking(true)?;
    let (callers, ignored) = (Vec::new(), Vec::new());
    let mut reception = Reception { port, greets, listener, callers, ignored, partial: false };
    loop {
        reception.accept()?;
        if let Some(client) = reception.hear() {
            return Ok((client, reception.ignored));
        }
        if stop.load(Ordering::Relaxed) {
            return Err(PerfError::Interrupted);
        }
        reception.sleep();
    }
}

impl Reception {
    /// Lets in whoever is at the door.
    fn accept(&mut self) -> Result<(), PerfError> {
        loop {
            match self.listener.accept() {
                Ok((stream, from)) => {
                    if self.callers.len() >= MOST {
                        let (_, from, _) = self.callers.remove(0);
                        self.ignore(from, "it was silent and others called");
                    }
                    if stream.set_nonblocking(true).is_ok() {
                        self.callers.push((stream, from.ip().to_canonical(), Instant::now()));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The caller hung up before it was let in, or a signal came.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::ConnectionAborted
                            | ErrorKind::ConnectionReset
                            | ErrorKind::Interrupted
                    ) => {}
                Err(error) => return Err(PerfError::Listen { port: self.port, error }),
            }
        }
    }

    /// The caller that has greeted, if one has. Those that never will are sent away.
    fn hear(&mut self) -> Option<TcpStream> {
        self.partial = false;
        let mut at = 0;
        while let Some((stream, from, since)) = self.callers.get(at) {
            let from = *from;
            match look(stream, self.greets, since.elapsed()) {
                Caller::Client => return Some(self.callers.remove(at).0),
                Caller::Waiting => at += 1,
                Caller::Partial => {
                    self.partial = true;
                    at += 1;
                }
                Caller::Stray(why) => {
                    self.callers.remove(at);
                    self.ignore(from, why);
                }
            }
        }
        None
    }

    fn ignore(&mut self, from: IpAddr, why: &'static str) {
        if self.ignored.len() < REMEMBERED {
            self.ignored.push(Ignored { from, why });
        }
    }

    fn sleep(&self) {
        let nap = if self.partial { SHORT_NAP } else { NAP };
        let time = Timespec { tv_sec: 0, tv_nsec: nap.subsec_nanos().into() };
        let mut wanted = vec![PollFd::new(&self.listener, PollFlags::IN)];
        if !self.partial {
            wanted
                .extend(self.callers.iter().map(|(stream, ..)| PollFd::new(stream, PollFlags::IN)));
        }
        let _ = poll(&mut wanted, Some(&time));
    }
}

/// Looks at what a caller has said so far, without taking it.
fn look(stream: &TcpStream, greets: Greets, waited: Duration) -> Caller {
    const NOT_OURS: &str = "it does not speak the protocol of this test";
    let mut said = [0; LONGEST];
    let late = waited > PATIENCE;
    match stream.peek(&mut said) {
        Ok(0) => Caller::Stray("it hung up without a word"),
        Ok(count) => match greets.is_client(&said[..count]) {
            Some(true) => Caller::Client,
            None if !late => Caller::Partial,
            Some(false) | None => Caller::Stray(NOT_OURS),
        },
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            if late {
                Caller::Stray("it said nothing")
            } else {
                Caller::Waiting
            }
        }
        Err(_) => Caller::Stray("it hung up without a word"),
    }
}
