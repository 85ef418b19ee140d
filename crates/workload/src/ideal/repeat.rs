//! [`Repeats`]: finds that a run does again what it did before, and skips that.
//!
//! Nothing is lost: if a machine, its ports and all that is to happen stand to each other as they did at an earlier moment, and its workers have to do
//! what they did since then, the run repeats itself to the picosecond. It is moved on by whole periods, with all of its counters.
//! One moment is remembered and compared with those after it; it is moved on when it was too early or the period too long
//! (R. P. Brent, "An improved Monte Carlo factorization algorithm", 1980).

use super::{Executor, What};
use crate::collective::{Machine, Places};
use crate::ports::Moved;
use crate::program::Program;
use xoff_units::{Instant, Span};

/// A moment of a run.
struct Moment {
    at: Instant,
    posture: Vec<u64>,
    places: Places,
    nics: Vec<Moved>,
    gpus: Vec<Moved>,
    actions: u64,
    clear_to_sends: u64,
}

/// Looks for repetitions: of steps within a lap, and of whole laps.
pub(super) struct Repeats {
    /// A worker that goes on as long as any, and the step and the lap that it was at when it was last looked.
    worker: usize,
    pace: (u64, u32),
    steps: Search,
    laps: Search,
    /// Kept for its memory.
    posture: Vec<u64>,
}

impl Repeats {
    /// For programs that may repeat themselves.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let Program::Machine(machine) = program else { return None };
        let worker = machine.longest().filter(|_| machine.may_repeat())?;
        let (steps, laps) = (Search::new(), Search::new());
        Some(Self { worker, pace: machine.pace(worker), steps, laps, posture: Vec::new() })
    }

    /// Something has been done: looks whether all has been like this before, and if so skips what comes again.
    pub(super) fn look(
        &mut self,
        now: Instant,
        machine: &mut Machine,
        executor: &mut Executor<'_>,
    ) {
        let pace = machine.pace(self.worker);
        if pace == self.pace {
            return;
        }
        self.posture.clear();
        machine.posture(&mut self.posture);
        executor.posture(now, &mut self.posture);
        let lap_ends = pace.1 != self.pace.1;
        if !(lap_ends && self.laps.look(now, &self.posture, machine, executor)) {
            self.steps.look(now, &self.posture, machine, executor);
        }
        self.pace = machine.pace(self.worker);
    }
}

/// Compares moments of one kind.
struct Search {
    remembered: Option<Moment>,
    /// Looks since a moment was remembered, and how many it is good for.
    looks: u32,
    patience: u32,
}

impl Search {
    fn new() -> Self {
        Self { remembered: None, looks: 0, patience: 2 }
    }

    /// Skips what comes again, if all has been like this before; whether it did.
    fn look(
        &mut self,
        now: Instant,
        posture: &[u64],
        machine: &mut Machine,
        executor: &mut Executor<'_>,
    ) -> bool {
        self.looks += 1;
        if let Some(before) = &self.remembered
            && before.posture == posture
        {
            let period = (now - before.at).as_ps();
            let most = (u64::MAX >> 2).saturating_sub(now.as_ps()) / period.max(1);
            let times = machine.repetitions(&before.places, most);
            if times > 0 {
                skip(now, machine, executor, before, times);
                *self = Self::new();
                return true;
            }
        }
        if self.looks >= self.patience || self.remembered.is_none() {
            (self.looks, self.patience) = (0, self.patience.saturating_mul(2));
            self.remembered = Some(Moment {
                at: now,
                posture: posture.to_vec(),
                places: machine.places(),
                nics: executor.nics.moved().to_vec(),
                gpus: executor.gpus.moved().to_vec(),
                actions: executor.actions,
                clear_to_sends: executor.clear_to_sends,
            });
        }
        false
    }
}

/// Does so many times again what was done since a moment.
fn skip(
    now: Instant,
    machine: &mut Machine,
    executor: &mut Executor<'_>,
    since: &Moment,
    times: u64,
) {
    let span = Span::from_ps((now - since.at).as_ps() * times);
    machine.repeat(&since.places, times);
    executor.events.postpone(span);
    for (ports, moved) in [(&mut executor.nics, &since.nics), (&mut executor.gpus, &since.gpus)] {
        ports.postpone(span);
        ports.repeat_moved(moved, times);
    }
    executor.actions += (executor.actions - since.actions) * times;
    executor.clear_to_sends += (executor.clear_to_sends - since.clear_to_sends) * times;
}

impl Executor<'_> {
    /// All that decides what happens next on the network, as it is seen from an instant. A token says which transfer it is: of its size the
    /// machine's links know.
    fn posture(&self, now: Instant, out: &mut Vec<u64>) {
        for (at, what) in self.events.in_order() {
            let (kind, of) = match what {
                What::Done(token) => (0, token.word()),
                What::Arrives(kind, transfer) => (2 + kind as u64, transfer.token.word()),
                What::Free(kind, port) => (4 + kind as u64, port.into()),
            };
            out.extend([at.since(now).as_ps() << 3 | kind, of]);
        }
        out.push(u64::MAX);
        self.nics.posture(now, out);
        self.gpus.posture(now, out);
        out.push(self.under_way);
    }
}
