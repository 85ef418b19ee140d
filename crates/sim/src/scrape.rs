//! Scrapes: all counters at a fixed period, as a collector that asks every device finds them.
//!
//! Reading changes nothing of a run. The greatest length of a queue is kept since the last scrape, as switches keep
//! their watermarks; what it was before is remembered here, so that the report at the end still has the greatest of all.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::Slot;
use crate::observe::Look;
use crate::report::{LinkState, Outcome, Scrape};

/// How often queues that will never move again are seen standing still.
const STANDSTILL: usize = 3;

/// The greatest lengths before the last scrape, by slot; empty before the first one.
#[derive(Debug, Default)]
pub(crate) struct Watermarks(Vec<Watermark>);

/// Of one class at one port, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Watermark {
    pub(crate) queue: u64,
    pub(crate) headroom: u64,
}

impl Watermarks {
    /// What there was before the last scrape.
    pub(crate) fn before(&self, slot: Slot) -> Watermark {
        self.0.get(slot.0 as usize).copied().unwrap_or_default()
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// The time of a scrape has come.
    pub(crate) fn take_scrape(&mut self) {
        self.read_counters();
        self.look_again(Look::Scrape);
    }

    /// A collector goes on when the run has ended: its next scrape shows what happened since the last one, and those after it that
    /// nothing moves any more. Where the scenario's time is up, traffic would have gone on, and nobody knows how.
    pub(crate) fn scrape_after(&mut self, outcome: Outcome) {
        let period = self.observation.period(Look::Scrape);
        let scrapes = match outcome {
            _ if period.is_zero() => 0,
            Outcome::Completed => 1,
            Outcome::Deadlock | Outcome::Stalled => STANDSTILL,
            Outcome::TimeUp | Outcome::Interrupted => 0,
        };
        let end = self.now;
        for _ in 0..scrapes {
            let due = self.observation.scraped + period;
            // A run that ends with a scrape has been seen whole.
            if outcome == Outcome::Completed && end == self.observation.scraped {
                break;
            }
            self.now = due;
            self.read_counters();
        }
        self.now = end;
    }

    /// Hands all counters to the observer, and begins new watermarks.
    fn read_counters(&mut self) {
        self.observation.scraped = self.now;
        let before = std::mem::take(&mut self.observation.watermarks);
        let (ports, health) = (self.class_results(), self.healths());
        let links: Vec<LinkState> =
            self.net.ports.ids().map(|port| self.link_state(port)).collect();
        let scrape = Scrape { at: self.now, ports: &ports, health: &health, links: &links };
        self.observation.observer.scrape(&scrape);
        let lengths = ports.iter().flatten().enumerate().map(|(slot, class)| {
            let before = before.0.get(slot).copied().unwrap_or_default();
            Watermark {
                queue: before.queue.max(class.deepest_queue.get()),
                headroom: before.headroom.max(class.deepest_headroom.get()),
            }
        });
        self.observation.watermarks = Watermarks(lengths.collect());
        self.begin_watermarks();
    }

    /// What queues hold now is the greatest length of what comes.
    fn begin_watermarks(&mut self) {
        for port in self.net.ports.iter_mut() {
            for lane in &mut port.lanes {
                lane.queue.deepest = lane.queue.bytes;
                lane.ingress.restart_watermark();
            }
        }
        for voqs in self.net.voqs.iter_mut().filter_map(Option::as_deref_mut) {
            voqs.restart_watermarks();
        }
    }

    fn link_state(&self, port: xoff_fabric::model::PortId) -> LinkState {
        let link = &self.net.links[port];
        LinkState { up: link.carrier, rate: link.rate }
    }
}
