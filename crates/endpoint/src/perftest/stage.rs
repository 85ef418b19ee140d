//! A device with its connection manager, turned by one hand, and a watch on the peer.

use super::error::PerfError;
use super::link::has_hung_up;
use crate::clock::until;
use crate::cm::{Agent, ConnectionId, Event};
use crate::{Device, PairId};
use std::collections::VecDeque;
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use xoff_transport::{Discard, Status};
use xoff_units::{Instant, Span};

/// Longest sleep before the stop flag is checked again.
const NAP: Duration = Duration::from_millis(100);

/// Turns between two polls of another descriptor, each of which costs a system call.
const TURNS: usize = 32;

/// Turns between two looks at the peer, of a side that never rests.
const LOOK_EVERY: u32 = 256;
/// Time between two looks.
const BETWEEN_LOOKS: Span = Span::from_ms(50);
/// How long packets of a peer that has hung up may still be on their way: its last
/// acknowledgements, and those that had to be repeated.
const GRACE: Span = Span::from_ms(500);
/// The same if packets keep coming.
const LONGEST_GRACE: Span = Span::from_ms(3000);
/// Looks in a row that found messages for which there is no receive any more.
const STRIKES: u32 = 8;
/// Events that nobody has taken; more are of a peer that floods us.
const MOST_EVENTS: usize = 1024;

/// A device with what moves it on.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) device: Device,
    pub(super) agent: Option<Agent>,
    /// When a packet arrived last.
    heard: Instant,
    patience: Duration,
    stop: Arc<AtomicBool>,
    turns: u32,
    /// When the peer was looked at last, and when it was found to have hung up.
    looked: Instant,
    hung_up: Option<Instant>,
    watched: Watched,
    surplus: Option<Surplus>,
    events: VecDeque<Event>,
    ended: Vec<ConnectionId>,
}

/// What says that the peer is still there.
#[derive(Debug, Default)]
enum Watched {
    /// Nothing: it is not there yet, or not needed any more.
    #[default]
    Nothing,
    Tcp(TcpStream),
    Connection(ConnectionId),
}

/// After the last message: whether more come.
#[derive(Debug)]
struct Surplus {
    pairs: Vec<PairId>,
    expected: u64,
    refused: u64,
    strikes: u32,
}

impl Stage {
    pub(super) fn new(device: Device, patience: Duration, stop: Arc<AtomicBool>) -> Self {
        let heard = device.now();
        Self {
            device,
            agent: None,
            heard,
            patience,
            stop,
            turns: 0,
            looked: heard,
            hung_up: None,
            watched: Watched::Nothing,
            surplus: None,
            events: VecDeque::new(),
            ended: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.device.now()
    }

    /// Does all there is to do, and says whether there was nothing.
    pub(super) fn turn(&mut self) -> Result<bool, PerfError> {
        let progress = self.device.progress();
        if let Some(agent) = &mut self.agent {
            agent.turn(&mut self.device)?;
        }
        if progress.delivered > 0 {
            self.heard = self.device.now();
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(PerfError::Interrupted);
        }
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(LOOK_EVERY) {
            self.look()?;
        }
        Ok(progress.is_idle())
    }

    /// Moves data, and sleeps if there is none, until `other` is due to be polled.
    pub(super) fn attend(&mut self, other: BorrowedFd<'_>) -> Result<(), PerfError> {
        for _ in 0..TURNS {
            if self.turn()? && self.rest(Some(other))? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits for packets, for what is due, or until `other` can be read, and says whether it slept.
    /// It is an error if nothing has come for too long, or if the peer has gone.
    pub(super) fn rest(&mut self, other: Option<BorrowedFd<'_>>) -> Result<bool, PerfError> {
        self.look()?;
        let now = self.device.now();
        let agent = self.agent.as_ref().map_or(Instant::MAX, Agent::deadline);
        Ok(self.device.wait_or(NAP.min(until(now, agent)), other))
    }

    /// Something came by another way.
    pub(super) fn heard(&mut self) {
        self.heard = self.device.now();
    }

    /// From now on the peer may be silent for this long.
    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
        self.heard();
    }

    /// From now on the end of this connection is the end of the peer.
    pub(super) fn watch_tcp(&mut self, stream: &TcpStream) {
        self.watched = stream.try_clone().map_or(Watched::Nothing, Watched::Tcp);
    }

    /// The same with a connection of rdma_cm.
    pub(super) fn watch_connection(&mut self, id: ConnectionId) {
        self.watched = Watched::Connection(id);
    }

    /// The test is over: the peer may go.
    pub(super) fn release_peer(&mut self) {
        self.watched = Watched::Nothing;
        self.surplus = None;
    }

    /// All `expected` messages of each of these queue pairs have come; `None` if more may.
    pub(super) fn expect_no_more(&mut self, last: Option<(Vec<PairId>, u64)>) {
        self.surplus = last.map(|(pairs, expected)| {
            let refused = not_ready(&self.device, &pairs);
            Surplus { pairs, expected, refused, strikes: 0 }
        });
    }

    /// Looks, now and then, whether the peer is there and behaves.
    fn look(&mut self) -> Result<(), PerfError> {
        let now = self.device.now();
        if now.since(self.looked) < BETWEEN_LOOKS {
            return Ok(());
        }
        self.looked = now;
        // Here and not only where this rests: a flood of strangers' packets leaves no rest.
        if until(self.heard, now) > self.patience {
            return Err(PerfError::Silence(self.patience));
        }
        self.look_for_surplus()?;
        let why = match &self.watched {
            Watched::Nothing => return Ok(()),
            Watched::Tcp(stream) if has_hung_up(stream) => "it closed the control connection",
            Watched::Tcp(_) => return Ok(()),
            Watched::Connection(id) => {
                let id = *id;
                if !self.has_ended(id) {
                    return Ok(());
                }
                "it disconnected (DREQ)"
            }
        };
        let since = *self.hung_up.get_or_insert(now);
        let quiet = now.since(since.max(self.heard)) > GRACE;
        if quiet || now.since(since) > LONGEST_GRACE {
            return Err(PerfError::Gone(why));
        }
        Ok(())
    }

    /// A peer that sends more than was agreed gets "receiver not ready" for ever, and would try
    /// for ever.
    fn look_for_surplus(&mut self) -> Result<(), PerfError> {
        let Some(surplus) = &mut self.surplus else { return Ok(()) };
        let refused = not_ready(&self.device, &surplus.pairs);
        if refused > surplus.refused {
            (surplus.refused, surplus.strikes) = (refused, surplus.strikes + 1);
        }
        if surplus.strikes >= STRIKES { Err(PerfError::More(surplus.expected)) } else { Ok(()) }
    }

    /// The next event of the connection manager.
    pub(super) fn event(&mut self) -> Option<Event> {
        self.take_events();
        self.events.pop_front()
    }

    /// Whether a connection that stood has been ended.
    pub(super) fn has_ended(&mut self, id: ConnectionId) -> bool {
        self.take_events();
        self.ended.contains(&id)
    }

    fn take_events(&mut self) {
        let Some(agent) = &mut self.agent else { return };
        while let Some(event) = agent.manager().poll_event() {
            self.heard = self.device.now();
            if let Event::Disconnected { id } = event {
                self.ended.push(id);
            }
            if self.events.len() < MOST_EVENTS {
                self.events.push_back(event);
            }
        }
    }

    /// Ends connections without waiting for an answer: the test has failed, and the peer should not
    /// have to find out by silence.
    pub(super) fn hang_up(&mut self, connections: impl Iterator<Item = ConnectionId>) {
        let now = self.device.now();
        let Some(agent) = &mut self.agent else { return };
        for id in connections {
            agent.manager().disconnect(now, id);
        }
        // The first puts them into the queue pair, the second onto the wire.
        for _ in 0..2 {
            let _ = agent.turn(&mut self.device);
            self.device.progress();
        }
    }
}

impl Stage {
    /// Why a test of these queue pairs really failed with `error`: if the peer left because we refused something, that is
    /// the reason. The refusal leaves, if it has not yet.
    pub(super) fn blame(
        &mut self,
        mut pairs: impl Iterator<Item = PairId>,
        error: PerfError,
    ) -> PerfError {
        self.device.progress();
        self.device.flush();
        let left = matches!(
            error,
            PerfError::Gone(_)
                | PerfError::Exchange(_)
                | PerfError::Silence(_)
                | PerfError::Failed { status: Status::Flushed, .. }
        );
        let refused = pairs.find_map(|pair| {
            let counters = self.device.counters(pair).ok()?;
            let reason = counters.discards.iter().map(|(reason, _)| reason).find(is_refusal)?;
            Some(PerfError::Refused { qpn: pair.qpn().get(), reason })
        });
        refused.filter(|_| left).unwrap_or(error)
    }
}

/// Whether a packet dropped for this reason was a request that was refused with an answer.
fn is_refusal(reason: &Discard) -> bool {
    matches!(
        reason,
        Discard::AccessDenied
            | Discard::Misaligned
            | Discard::ReceiveTooShort
            | Discard::TooManyReads
            | Discard::BadLength
            | Discard::OutOfOrderOpcode
    )
}

/// How often queue pairs had no receive for a message.
fn not_ready(device: &Device, pairs: &[PairId]) -> u64 {
    let of = |pair: &PairId| device.counters(*pair).ok();
    pairs.iter().filter_map(of).map(|counters| counters.rnr_sent).sum()
}
