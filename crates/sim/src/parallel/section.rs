//! A stretch of a run on several threads: the steps that all of them take, and what each does in one.
//!
//! Time is divided into windows of half the lookahead. In one step the hosts' part simulates a window, and all others the
//! window before it. What is sent in a window arrives after the end of the next one, so that everything that arrives in a
//! window is known before the window is simulated, at either end. The hosts are ahead because they decide when
//! the run ends: the others then go exactly as far, and nobody has gone too far.

use crate::engine::Engine;
use crate::event::Key;
use crate::parallel::border::Mail;
use crate::parallel::clock::{Clock, News};
use crate::report::{Outcome, Sections};
use crate::wheel::Wheel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use xoff_units::{Instant, Span};

/// Events of the hosts' part after which observers hear how far the run is.
const REPORT_EVERY: u64 = 1 << 18;

/// What all threads know of a section.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) clock: Clock,
    /// Mail that was sent in steps with even and with odd numbers, by sender and receiver.
    post: Vec<[Mutex<Mail>; 2]>,
    parts: usize,
    pub(super) start: Instant,
    /// Something happens then that concerns all parts.
    pub(super) limit: Instant,
    pub(super) window: Span,
    /// The section ends when the hosts' part has handled so many events.
    pub(super) events: u64,
}

/// How a section ended for the hosts' part.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ended {
    /// The run is over, with the event that was handled last.
    pub(super) outcome: Option<(Outcome, Key)>,
    pub(super) tally: Sections,
}

impl Section {
    pub(super) fn new(
        parts: usize,
        (start, limit): (Instant, Instant),
        window: Span,
        events: u64,
    ) -> Self {
        let post = (0..parts * parts).map(|_| Default::default()).collect();
        Self { clock: Clock::new(parts), post, parts, start, limit, window, events }
    }

    fn mail(&self, from: usize, to: usize, step: usize) -> MutexGuard<'_, Mail> {
        let mail = &self.post[from * self.parts + to][step % 2];
        mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what was sent to a part in the step before this one.
    fn receive(&self, engine: &mut Engine<'_, Wheel>, me: usize, step: usize) {
        for from in (0..self.parts).filter(|&from| from != me) {
            engine.take_mail(&mut self.mail(from, me, step + 1));
        }
    }

    /// Sends what a part has for others. When the first of it happens.
    fn send(&self, engine: &mut Engine<'_, Wheel>, me: usize, step: usize) -> Instant {
        let mut earliest = Instant::MAX;
        for (to, out) in engine.border.out.iter_mut().enumerate() {
            earliest = earliest.min(out.earliest());
            if !out.is_empty() {
                let mut mail = self.mail(me, to, step);
                debug_assert!(mail.is_empty(), "mail was not fetched");
                std::mem::swap(out, &mut mail);
            }
        }
        earliest
    }

    /// Simulates the section on one thread.
    pub(super) fn run(&self, engine: &mut Engine<'_, Wheel>, me: usize) -> Ended {
        let _watch = self.clock.watch();
        let leads = me == 0;
        let (mut limit, mut ended) = (self.limit, Ended::default());
        // How far the hosts' part is, and where it goes.
        let mut lead = self.start;
        let mut target = limit.min(self.start + self.window);
        let (first, mut reported) = (engine.observation.events(), 0);
        let mut before = 0;
        for step in 0.. {
            self.receive(engine, me, step);
            let mut own_limit = Instant::MAX;
            if let Some(outcome) = engine.run_window(if leads { target } else { lead }) {
                assert!(leads, "only hosts end a run");
                ended.outcome = Some((outcome, engine.handling));
                own_limit = engine.now;
            }
            let handled = engine.observation.events() - first;
            if leads && ended.outcome.is_none() && handled >= reported + REPORT_EVERY {
                reported = handled;
                if !engine.report_progress() {
                    ended.outcome = Some((Outcome::Interrupted, Key(0)));
                    own_limit = target;
                }
            }
            if leads && handled >= self.events {
                own_limit = own_limit.min(target);
            }
            let search = engine.border.search.unwrap_or(Instant::MAX);
            let sent = self.send(engine, me, step);
            let earliest = sent.min(engine.events.earliest());
            let events = handled - std::mem::replace(&mut before, handled);
            let news = News { earliest, limit: own_limit.min(search), events, most: events };
            let all = self.clock.end_step(me, step, news);
            ended.tally.add(&Sections {
                count: 0,
                steps: 1,
                events: all.events,
                critical: all.most,
            });
            limit = limit.min(all.limit);
            lead = target;
            if limit <= lead {
                self.receive(engine, me, step + 1);
                if !leads {
                    engine.run_window(limit);
                }
                ended.tally.count = 1;
                break;
            }
            target = limit.min(lead.max(all.earliest) + self.window);
        }
        ended
    }
}
