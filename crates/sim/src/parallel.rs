//! A run on several threads, with the result of one.
//!
//! The fabric is [cut](cut) into parts, one for each thread: the first has all hosts, and all have switches. Each
//! [part](part) is an engine with an event queue of its own. What goes over a cable from one part to another is
//! [mail](border), and takes a known time at least, which is how far parts may be apart: they go in
//! [steps](section) of half of it. Within an instant, events of different parts cannot touch each other, and those of one
//! part come in the order that they always have; so the result is the same to the bit, whatever the number of threads.
//!
//! Threads work side by side in *sections*, from one thing that concerns all parts (a fault, a scrape, a search for
//! deadlocks) to the next. In between, and in runs with anything that acts beyond cables (see [`OneThread`]), there is one
//! engine on one thread, as if there had never been others.
//!
//! When other programs want the cores, threads that wait for each other are slower than one: [time](effort) says whether the next section
//! is for all of them, and how much of the fabric is whose. Nothing else depends on it.
//!
//! What it is not: hosts are one part, because what queue pairs, flows and jobs do to each other takes no time. They are a third
//! of the work or more, so that more than three or four threads gain little.

pub(crate) mod border;
mod clock;
mod cut;
mod effort;
mod part;
mod section;

use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key, Kind};
use crate::id::Table;
use crate::observe::Look;
use crate::report::{OneThread, Outcome};
use crate::wheel::Wheel;
use crate::{Settings, build};
use cut::{Cut, PartId};
use effort::{Busy, Effort, Stopwatch, Tempo};
use part::part_of;
use section::{Section, Terms};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use xoff_fabric::model::{Fabric, PortId};
use xoff_units::{Instant, Span};

/// Events of the hosts' part in one section: enough for what parting and meeting costs. In the first ones, which show how much
/// of the work is the hosts', fewer.
const SECTION: u64 = 1 << 20;
const FIRST_SECTION: u64 = 1 << 18;

/// Observers hear how far the run is after so many events of one thread.
const STRETCH: u64 = 1 << 18;

/// Windows are no longer than this: a search for a deadlock, which concerns all parts, is scheduled 20 us ahead.
const LONGEST_WINDOW: Span = Span::from_us(4);

/// Queues are sampled, which every part does for itself.
const SAMPLE: Key = Key::new(Kind::Sample, Look::Sample as u32);

/// A section of fewer windows is not worth it.
const FEWEST_WINDOWS: u64 = 4;

/// On how many threads packets are simulated. The result does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threads {
    /// So many at most.
    pub count: usize,
    /// The others join after so many events, and again after so many whenever it was not worth it: runs that end soon need no
    /// threads.
    pub after: u64,
}

impl Threads {
    /// One thread.
    pub const ONE: Self = Self { count: 1, after: 0 };

    /// Up to so many, where a run is long enough.
    pub const fn up_to(count: usize) -> Self {
        Self { count, after: 1 << 18 }
    }
}

/// A queue of events for one of so many parts of such a fabric, that reaches as far ahead as mail from other threads comes.
pub(crate) fn wheel(fabric: &Fabric, settings: &Settings, parts: usize) -> Wheel {
    let (density, horizon) = build::event_density(fabric);
    let ahead = if settings.threads.count > 1 { LONGEST_WINDOW * 3 } else { Span::ZERO };
    Wheel::new(density / parts as u64, horizon + ahead)
}

type Part<'a> = Mutex<Engine<'a, Wheel>>;

fn lock<'m, 'a>(part: &'m Part<'a>) -> MutexGuard<'m, Engine<'a, Wheel>> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the whole run keeps of its parts from one section to the next.
struct Crew<'m, 'a> {
    parts: &'m [Part<'a>],
    /// To each thread but this one.
    orders: Vec<mpsc::Sender<Arc<Section>>>,
    done: mpsc::Receiver<()>,
    /// What ports had sent when the fabric was last cut.
    sent: Table<PortId, u64>,
    effort: Effort,
    /// Events of the hosts' part in the next section.
    section: u64,
}

impl<'a> Engine<'a, Wheel> {
    /// Why parts of this run do more than send each other packets and pauses over cables, if they do.
    fn indivisible(&self) -> Option<OneThread> {
        let net = &self.net;
        let notifies = self.fabric.marking.notify.is_some();
        let hashes = net.hashing.has_rows() && self.hosts.jobs.count() > 0;
        [
            (self.fluid.is_some(), OneThread::Flows),
            (!net.credits.is_empty(), OneThread::Credits),
            (!net.voqs.is_empty(), OneThread::Voqs),
            (notifies, OneThread::Notifications),
            (net.balance.sees_beyond_cables(), OneThread::GlobalBalancing),
            (hashes, OneThread::Hashing),
            (self.fabric.switches.is_empty(), OneThread::NoSwitches),
        ]
        .into_iter()
        .find_map(|(holds, reason)| holds.then_some(reason))
    }

    /// Runs on up to so many threads, this one included.
    pub(crate) fn run_on_threads(&mut self, settings: &Settings) -> Outcome {
        let most = self.fabric.switches.len() + 1;
        let threads = settings.threads.count.min(most).min(PartId::MOST);
        self.sections.one = self.indivisible();
        if threads < 2 || self.sections.one.is_some() {
            return self.run();
        }
        self.sections.one = Some(OneThread::TooShort);
        if !self.begin_run() {
            return Outcome::Completed;
        }
        // Runs that end soon are spared the parts.
        let patience = settings.threads.after.max(1);
        let mut tempo = Tempo::default();
        if let Some(outcome) = self.run_alone(patience, &mut tempo) {
            return outcome;
        }
        self.sections.one = Some(OneThread::TooBusy);
        let part = |_| Mutex::new(self.part(settings));
        let parts: Vec<Part<'a>> = (1..threads).map(part).collect();
        thread::scope(|scope| {
            let (finished, done) = mpsc::channel();
            let mut orders = Vec::new();
            for (part, index) in parts.iter().zip(1..) {
                let (order, sections) = mpsc::channel::<Arc<Section>>();
                let finished = finished.clone();
                orders.push(order);
                scope.spawn(move || {
                    for section in sections {
                        section.run(&mut lock(part), index);
                        // The other end is gone only when its thread has panicked.
                        let _ = finished.send(());
                    }
                });
            }
            let (sent, effort, section) = (Table::new(), Effort::default(), FIRST_SECTION);
            let mut crew = Crew { parts: &parts, orders, done, sent, effort, section };
            self.run_with(&mut crew, patience, tempo)
        })
    }

    /// Goes on with the crew while it is worth it, and in between alone.
    fn run_with(&mut self, crew: &mut Crew<'_, 'a>, patience: u64, mut tempo: Tempo) -> Outcome {
        loop {
            let (before, watch) = (self.observation.events(), Stopwatch::started());
            let outcome = self.section(crew);
            // What concerns all parts comes next.
            let next = (self.now + Span::from_ps(1), Key(0));
            if let Some(outcome) = outcome.or_else(|| self.run_before(next)) {
                return outcome;
            }
            let events = self.observation.events() - before;
            let alone = if events < patience / 8 {
                patience
            } else if tempo.is_slower_together(events, watch.elapsed()) {
                crew.section = FIRST_SECTION;
                tempo.retreat(patience)
            } else {
                continue;
            };
            if let Some(outcome) = self.run_alone(alone, &mut tempo) {
                return outcome;
            }
        }
    }

    /// Handles so many events on this thread: how the run ends, if it does with them.
    fn run_alone(&mut self, events: u64, tempo: &mut Tempo) -> Option<Outcome> {
        let (before, watch) = (self.observation.events(), Stopwatch::started());
        self.observation.shorten_stretch(events.min(STRETCH));
        while self.observation.events() < before + events {
            if let Some(outcome) = self.run_stretch() {
                return Some(outcome);
            }
        }
        tempo.alone(self.observation.events() - before, watch.elapsed());
        None
    }

    /// A section on all threads, if there is time for one: how the run ends, if it does with it.
    fn section(&mut self, crew: &mut Crew<'_, 'a>) -> Option<Outcome> {
        let threads = crew.parts.len() + 1;
        let cut = self.cut_into(threads, &mut crew.sent, &crew.effort);
        let window = Span::from_ps(cut.lookahead.as_ps() / 2).min(LONGEST_WINDOW);
        let mut events = self.events.take_all();
        let is_sample = |event: &Event| event.key == SAMPLE;
        let common = |event: &&Event| part_of(event.key, &cut).is_none() && !is_sample(event);
        let limit = events.iter().filter(common).map(|event| event.at).min();
        let limit = limit.unwrap_or(Instant::MAX);
        if window.is_zero() || limit < self.now + window * FEWEST_WINDOWS {
            events.into_iter().for_each(|event| self.events.push(event));
            return None;
        }
        let common = events.iter().filter(common).count();
        let sample = events.iter().position(is_sample).map(|place| events.swap_remove(place));
        let terms = Terms {
            start: self.now,
            limit,
            window,
            next_sample: sample.map_or(Instant::MAX, |sample| sample.at),
            sample_period: self.observation.period(Look::Sample),
            common,
            events: crew.section,
        };
        self.part_with(crew.parts, &cut, events);
        let section = Arc::new(Section::new(threads, terms));
        for order in &crew.orders {
            order.send(section.clone()).expect("threads wait for orders");
        }
        let ended = section.run(self, 0);
        for _ in crew.parts {
            crew.done.recv().expect("threads end what they began");
        }
        self.sections.add(&ended.tally);
        self.sections.one = None;
        let busy: Vec<_> = section.busy.iter().map(Busy::get).collect();
        crew.effort.learn(cut.by_hosts, &cut.by_switches, &busy);
        crew.section = (crew.section * 4).min(SECTION);
        if let Some(sample) = sample {
            self.events.push(Event { at: ended.next_sample, ..sample });
        }
        self.meet(crew.parts, &cut, ended.outcome)
    }

    /// Hands their switches over to the parts.
    fn part_with(&mut self, parts: &[Part<'a>], cut: &Cut, events: Vec<Event>) {
        let mut parts: Vec<_> = parts.iter().map(lock).collect();
        for (part, index) in parts.iter_mut().zip(1..) {
            part.take_over(self, cut, index);
        }
        self.open_border(cut);
        let own = |port: &PortId| cut.owners.of(*port) == PartId::HOSTS;
        self.net.pauses.list(&self.net.ports, self.net.ports.ids().filter(own));
        for event in events {
            let part = part_of(event.key, cut).map_or(0, PartId::index);
            match part.checked_sub(1) {
                None => self.events.push(event),
                Some(part) => {
                    let event = parts[part].adopt(event, &mut self.net);
                    parts[part].events.push(event);
                }
            }
        }
    }

    /// Takes everything back, and tells what was to be told. The run may have ended with an event of the hosts'
    /// part: what the others have before it is done first.
    fn meet(
        &mut self,
        parts: &[Part<'a>],
        cut: &Cut,
        ended: Option<(Outcome, Key)>,
    ) -> Option<Outcome> {
        for (part, index) in parts.iter().zip(1..) {
            let mut part = lock(part);
            part.give_back(self, cut, index);
        }
        self.net.pauses.list(&self.net.ports, self.net.ports.ids());
        if let Some((_, last)) = ended.filter(|(outcome, _)| *outcome != Outcome::Interrupted) {
            let more = self.run_before((self.now, last));
            assert_eq!(more, None, "only hosts end a run");
        }
        self.close_border();
        ended.map(|(outcome, _)| outcome)
    }
}
