//! A stretch of a run on several threads: the steps that all of them take, and what each does in one.
//!
//! Time is divided into windows of half the lookahead. In one step the hosts' part simulates a window, and all others the
//! window before it. What is sent in a window arrives after the end of the next one, so that everything that arrives in a
//! window is known before the window is simulated, at either end. The hosts are ahead because they decide when
//! the run ends: the others then go exactly as far, and nobody has gone too far.
//!
//! A window ends where queues are sampled: each part samples its own when it has come there.

use crate::engine::{Engine, WINDOW_END, WINDOW_END_AT_SAMPLE};
use crate::event::{EventQueue, Key};
use crate::parallel::border::Mail;
use crate::parallel::clock::{Clock, News};
use crate::parallel::effort::{Busy, Stopwatch};
use crate::report::{Outcome, Sections};
use crate::wheel::Wheel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use xoff_units::{Instant, Span};

/// Events of the hosts' part after which observers hear how far the run is.
const REPORT_EVERY: u64 = 1 << 18;

/// A section ends when a part has so much to tell.
const MOST_TOLD: usize = 1 << 20;

/// How a section goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) start: Instant,
    /// Something happens then that concerns all parts.
    pub(super) limit: Instant,
    pub(super) window: Span,
    /// Queues are sampled then; [`Instant::MAX`] is never.
    pub(super) next_sample: Instant,
    pub(super) sample_period: Span,
    /// So many events wait with the hosts' part that concern all.
    pub(super) common: usize,
    /// The section ends when the hosts' part has handled so many events.
    pub(super) events: u64,
}

impl Terms {
    /// Where a window ends whose end is `at`, or the next sample.
    fn end(&self, at: Instant, next_sample: Instant) -> (Instant, Key) {
        if next_sample <= at && next_sample < self.limit {
            (next_sample, WINDOW_END_AT_SAMPLE)
        } else {
            (at, WINDOW_END)
        }
    }
}

/// What all threads know of a section.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) clock: Clock,
    /// Mail that was sent in steps with even and with odd numbers, by sender and receiver.
    post: Vec<[Mutex<Mail>; 2]>,
    parts: usize,
    terms: Terms,
    /// By part.
    pub(super) busy: Vec<Busy>,
}

/// How a section ended for the hosts' part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    /// The run is over, with the event that was handled last.
    pub(super) outcome: Option<(Outcome, Key)>,
    pub(super) tally: Sections,
    /// Queues are sampled next then.
    pub(super) next_sample: Instant,
}

impl Section {
    pub(super) fn new(parts: usize, terms: Terms) -> Self {
        let post = (0..parts * parts).map(|_| Default::default()).collect();
        let busy = (0..parts).map(|_| Busy::default()).collect();
        Self { clock: Clock::new(parts), post, parts, terms, busy }
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
            earliest = earliest.min(out.earliest);
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
        let (terms, leads) = (&self.terms, me == 0);
        let mut own = Own { handled: 0, first: engine.observation.events(), reported: 0 };
        let (mut limit, mut next_sample) = (terms.limit, terms.next_sample);
        let (mut outcome, mut tally, mut sample_is_due) = (None, Sections::default(), false);
        // How far the hosts' part is, and where it goes.
        let mut lead = (terms.start, WINDOW_END);
        let mut target = terms.end(limit.min(terms.start + terms.window), next_sample);
        let mut watch = Stopwatch::started();
        for step in 0.. {
            watch.start();
            self.receive(engine, me, step);
            let ended = engine.run_window(if leads { target } else { lead });
            if std::mem::take(&mut sample_is_due) {
                engine.sample_part(me);
            }
            assert!(leads || ended.is_none(), "only hosts end a run");
            let mut news = own.news(engine, target.0);
            if leads {
                outcome = ended.map(|outcome| (outcome, engine.handling));
                let goes_on = outcome.is_none() && own.goes_on(engine);
                if outcome.is_some() {
                    news.limit = engine.now;
                } else if !goes_on {
                    outcome = Some((Outcome::Interrupted, Key(0)));
                }
                // Whether anything is left that keeps samples coming, only all together know.
                let alone = target.1 == WINDOW_END_AT_SAMPLE && engine.events.at_most(terms.common);
                if !goes_on || alone || own.handled >= terms.events {
                    news.limit = news.limit.min(target.0);
                }
            }
            news.earliest = self.send(engine, me, step).min(engine.events.earliest());
            watch.stop();
            let all = self.clock.end_step(me, step, news);
            tally.add(&Sections {
                steps: 1,
                events: all.events,
                critical: all.most,
                ..Sections::default()
            });
            limit = limit.min(all.limit);
            lead = target;
            if limit <= lead.0 {
                self.receive(engine, me, step + 1);
                if !leads {
                    engine.run_window((limit, WINDOW_END));
                }
                tally.count = 1;
                break;
            }
            if lead.1 == WINDOW_END_AT_SAMPLE {
                next_sample += terms.sample_period;
                match leads {
                    true => engine.sample_part(me),
                    false => sample_is_due = true,
                }
            }
            let next = limit.min(lead.0.max(all.earliest) + terms.window);
            target = terms.end(next, next_sample);
        }
        self.busy[me].set(watch.total);
        Ended { outcome, tally, next_sample }
    }
}

/// What a part has done of a section.
struct Own {
    handled: u64,
    /// Events before the section.
    first: u64,
    reported: u64,
}

impl Own {
    /// What there is to tell of a step, but for when something happens next.
    fn news(&mut self, engine: &Engine<'_, Wheel>, target: Instant) -> News {
        let handled = engine.observation.events() - self.first;
        let events = handled - std::mem::replace(&mut self.handled, handled);
        let mut limit = engine.border.search.unwrap_or(Instant::MAX);
        if engine.border.told.as_ref().is_some_and(|told| told.len() > MOST_TOLD) {
            limit = limit.min(target);
        }
        News { earliest: Instant::MAX, limit, events, most: events }
    }

    /// Reports how far the run is, now and then. Whether it goes on.
    fn goes_on(&mut self, engine: &mut Engine<'_, Wheel>) -> bool {
        if self.handled < self.reported + REPORT_EVERY {
            return true;
        }
        self.reported = self.handled;
        engine.report_progress()
    }
}
