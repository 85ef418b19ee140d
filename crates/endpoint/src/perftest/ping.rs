//! `rping` of librdmacm: over one connection made by rdma_cm, the client offers its memory, the
//! server reads it and writes it back.
//!
//! A round is six messages: the client sends where its text is; the server reads it and says go on;
//! the client sends where the echo goes; the server writes it and says go on. Every message is an
//! address, a key and a length, 16 bytes, of which a "go on" means nothing.

use super::error::PerfError;
use super::link::{Control, Link, failed};
use super::meeting::Meeting;
use super::message::Garbled;
use super::outcome::{Latency, Rounds};
use super::settings::{Extent, Role, Settings};
use super::stage::Stage;
use crate::cm::ConnectionId;
use crate::{Memory, RemoteSlice, Slice, Work};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use xoff_transport::Access;
use xoff_units::Span;
use xoff_wire::Rkey;

/// Bytes of a message.
const CARD: usize = 16;
/// The longest text that a server takes, as the stock server.
const LONGEST: usize = 64 << 10;
/// The first and the last letter of the text.
const LETTERS: (u8, u8) = (b'A', b'z');
/// How long the end of the connection is waited for.
const PARTING: Span = Span::from_ms(1000);

/// Memory as one side offers it to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Card {
    at: RemoteSlice,
    length: u32,
}

impl Card {
    fn bytes(self) -> [u8; CARD] {
        let mut out = [0; CARD];
        out[..8].copy_from_slice(&self.at.address.to_be_bytes());
        out[8..12].copy_from_slice(&self.at.key.0.to_be_bytes());
        out[12..].copy_from_slice(&self.length.to_be_bytes());
        out
    }

    fn parse(bytes: [u8; CARD]) -> Self {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte))
        };
        let (address, key) = (number(0..8), Rkey(number(8..12) as u32));
        Self { at: RemoteSlice { address, key }, length: number(12..16) as u32 }
    }
}

/// The text of a round, with a NUL at its end.
fn text(round: u64, size: usize) -> Vec<u8> {
    let (first, last) = LETTERS;
    let letters = usize::from(last - first) + 1;
    let mut text = format!("rdma-ping-{round}: ").into_bytes();
    let start = (round % letters as u64) as usize;
    let fill = (start..).map(|at| first + (at % letters) as u8);
    text.extend(fill.take(size.saturating_sub(text.len())));
    text.truncate(size);
    if let Some(end) = text.last_mut() {
        *end = 0;
    }
    text
}

/// Runs `rping`'s protocol to its end: as the client for so many rounds, as the server until the
/// client disconnects. `met` is called when there is a connection, with the peer's address.
pub fn ping(
    settings: &Settings,
    stop: &Arc<AtomicBool>,
    met: impl FnOnce(std::net::IpAddr),
) -> Result<Rounds, PerfError> {
    if !(32..LONGEST as u64).contains(&settings.size) {
        return Err(PerfError::Settings("the text of a ping has 32 to 65535 bytes"));
    }
    let Extent::Iterations(count) = settings.extent else {
        return Err(PerfError::Settings("pings are counted: give -n, not -D"));
    };
    let Meeting { stage, link, control, .. } = Meeting::new(settings, stop)?;
    let (Link::Control(link), Some((id, peer))) = (link, control) else {
        return Err(PerfError::Settings("pings need rdma_cm"));
    };
    met(peer);
    let mut side = Side::new(stage, link, settings.size as usize)?;
    let result = match settings.role() {
        Role::Client => side.call(count),
        Role::Server => side.answer(),
    };
    side.part(id);
    result?;
    Ok(side.rounds())
}

/// One side of a connection.
struct Side {
    stage: Stage,
    link: Control,
    size: usize,
    /// What is offered or read, and what comes back.
    text: Memory,
    echo: Memory,
    times: Vec<Duration>,
    wrong: u64,
}

impl Side {
    fn new(mut stage: Stage, link: Control, size: usize) -> Result<Self, PerfError> {
        let device = &mut stage.device;
        let readable = Access::LOCAL_WRITE | Access::REMOTE_READ;
        let text = device.register(link.domain, vec![0; LONGEST], readable, None)?;
        let writable = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
        let echo = device.register(link.domain, vec![0; LONGEST], writable, None)?;
        Ok(Self { stage, link, size, text, echo, times: Vec::new(), wrong: 0 })
    }

    fn card(&self, memory: Memory) -> Result<Card, PerfError> {
        let at = RemoteSlice { address: self.stage.device.base(memory)?, key: memory.key() };
        Ok(Card { at, length: self.size as u32 })
    }

    fn say(&mut self, card: Card) -> Result<(), PerfError> {
        self.link.send(&mut self.stage, &card.bytes())
    }

    fn hear(&mut self) -> Result<Card, PerfError> {
        let mut bytes = [0; CARD];
        self.link.receive(&mut self.stage, &mut bytes)?;
        Ok(Card::parse(bytes))
    }

    fn call(&mut self, count: u64) -> Result<(), PerfError> {
        for round in 0..count {
            let sent = text(round, self.size);
            self.stage.device.bytes_mut(self.text)?[..self.size].copy_from_slice(&sent);
            let start = self.stage.now();
            self.say(self.card(self.text)?)?;
            self.hear()?;
            self.say(self.card(self.echo)?)?;
            self.hear()?;
            self.note(start);
            self.wrong += u64::from(self.stage.device.bytes(self.echo)?[..self.size] != sent[..]);
        }
        Ok(())
    }

    fn answer(&mut self) -> Result<(), PerfError> {
        loop {
            let card = match self.hear() {
                // Between two rounds the client may go.
                Err(PerfError::Gone(_)) if !self.times.is_empty() => return Ok(()),
                card => card?,
            };
            let start = self.stage.now();
            let length = card.length as usize;
            if !(1..=LONGEST).contains(&length) {
                return Err(Garbled.into());
            }
            let whole = Slice::new(self.text, 0, length as u64);
            self.work(Work::read(whole, card.at))?;
            self.say(self.card(self.text)?)?;
            let back = self.hear()?;
            // As much as there is text, and the NUL behind it.
            let read = &self.stage.device.bytes(self.text)?[..length];
            let end = read.iter().position(|&byte| byte == 0);
            self.wrong += u64::from(end.is_none() || !read.starts_with(b"rdma-ping-"));
            let echo = end.map_or(length, |end| end + 1).min(back.length as usize);
            self.work(Work::write(Slice::new(self.text, 0, echo as u64), back.at))?;
            self.say(self.card(self.text)?)?;
            self.note(start);
        }
    }

    fn note(&mut self, start: xoff_units::Instant) {
        let time = self.stage.now().since(start);
        self.times.push(Duration::from_nanos(time.as_ps() / 1000));
    }

    /// Does work on the connection and waits for its end.
    fn work(&mut self, work: Work) -> Result<(), PerfError> {
        let (stage, link) = (&mut self.stage, &self.link);
        stage.device.post(link.pair, work)?;
        loop {
            let idle = stage.turn()?;
            if let Some(done) = stage.device.poll(link.sends) {
                let number = self.times.len() as u64;
                return if done.is_ok() {
                    Ok(())
                } else {
                    Err(failed(link.pair, number, done.status))
                };
            }
            if idle {
                stage.rest(None)?;
            }
        }
    }

    /// Ends the connection, and waits a while for the peer to agree.
    fn part(&mut self, id: ConnectionId) {
        self.stage.release_peer();
        if !self.stage.has_ended(id) {
            self.stage.hang_up(std::iter::once(id));
        }
        let end = self.stage.now() + PARTING;
        while !self.stage.has_ended(id) && self.stage.now() < end {
            match self.stage.turn() {
                Ok(true) if self.stage.rest(None).is_err() => return,
                Err(_) => return,
                _ => {}
            }
        }
    }

    fn rounds(&mut self) -> Rounds {
        let counters = self.stage.device.counters(self.link.pair).unwrap_or_default();
        Rounds {
            size: self.size as u64,
            count: self.times.len() as u64,
            elapsed: self.times.iter().sum(),
            each: Latency::of(&mut self.times),
            wrong: self.wrong,
            clamped: false,
            retransmitted: counters.retransmitted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_look_like_the_stock_client_s() {
        let first = text(0, 64);
        assert_eq!(first.len(), 64);
        assert!(first.starts_with(b"rdma-ping-0: ABCDEFGHIJ"), "{first:?}");
        assert_eq!((first[63], first.iter().filter(|&&byte| byte == 0).count()), (0, 1));
        assert!(text(1, 64).starts_with(b"rdma-ping-1: BCDEF"));
        assert!(text(57, 64).starts_with(b"rdma-ping-57: zABC"));
    }

    #[test]
    fn cards_survive() {
        let at = RemoteSlice { address: 0x1234_5678_9abc_def0, key: Rkey(0xdead_beef) };
        let card = Card { at, length: 64 };
        assert_eq!(Card::parse(card.bytes()), card);
        assert_eq!(card.bytes()[12..], [0, 0, 0, 64]);
    }
}
