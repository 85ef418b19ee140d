//! The engine: all state of a run and the loop that handles its events.
//!
//! The state is divided by what owns it: wires and switches ([`Net`]), hosts and what they send ([`Hosts`]), faults,
//! counts, and what watches the run. What happens to it is in a module per concern: [`crate::forward`] (a packet
//! arrives at a switch), [`crate::route`] (by which port it leaves), [`crate::transmit`] (a port sends), [`crate::drop`],
//! [`crate::pause`] (PFC), [`crate::nic`] (the ends), [`crate::watchdog`], [`crate::deadlock`], [`crate::fault`] and what
//! follows from faults: [`crate::link`], [`crate::convergence`], [`crate::setting`]. Everything is in tables by id, so
//! that an event is a few loads and stores and nothing is allocated while the loop runs.

use crate::account::Accounts;
use crate::event::{Event, EventQueue, Key, Kind, MAX_ID, Word};
use crate::fault::state::Faults;
use crate::fluid::state::Fluid;
use crate::hosts::Hosts;
use crate::id::{EndpointId, FlowId, PacketId, PlaneId, Slot};
use crate::lookahead::Lookahead;
use crate::net::Net;
use crate::observe::{Look, Observation};
use crate::parallel::border::{Border, Told};
use crate::report::{Outcome, Progress, Sections, Trace, TraceKind};
use crate::switch::port::port_flag;
use crate::wheel::Wheel;
use xoff_fabric::model::{Fabric, PortId, SwitchId};
use xoff_units::{Instant, Span};

/// Ends of windows, which are no events of the fabric: before all events of the instant, and where a sample is taken.
pub(crate) const WINDOW_END: Key = Key::new(Kind::End, 1);
pub(crate) const WINDOW_END_AT_SAMPLE: Key = Key::new(Kind::Sample, MAX_ID);

/// All state of a run.
pub(crate) struct Engine<'a, Q> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) now: Instant,
    pub(crate) events: Q,
    /// Wires and switches.
    pub(crate) net: Net,
    /// NICs, queue pairs, and what they carry.
    pub(crate) hosts: Hosts,
    /// What breaks and is mended.
    pub(crate) faults: Faults,
    pub(crate) accounts: Accounts,
    pub(crate) observation: Observation<'a>,
    /// Traffic as flows, where it is not packets.
    pub(crate) fluid: Option<Box<Fluid<'a>>>,
    /// What leaves for other threads, while there are any.
    pub(crate) border: Border,
    /// The event that is being handled.
    pub(crate) handling: Key,
    pub(crate) sections: Sections,
    lookahead: Lookahead,
    /// The run ends here.
    horizon: Instant,
    /// How the run ends after the present event, if it does.
    stop: Option<Outcome>,
    window_is_over: bool,
}

impl<'a, Q: EventQueue> Engine<'a, Q> {
    pub(crate) fn new(
        fabric: &'a Fabric,
        events: Q,
        (net, hosts): (Net, Hosts),
        faults: Faults,
        observation: Observation<'a>,
        horizon: Instant,
    ) -> Self {
        let accounts = Accounts::new(net.pauses.slots());
        let (now, stop, lookahead) = (Instant::ZERO, None, Lookahead::new());
        Self {
            fabric,
            now,
            events,
            net,
            hosts,
            faults,
            accounts,
            observation,
            fluid: None,
            border: Border::default(),
            handling: Key(0),
            sections: Sections::default(),
            lookahead,
            horizon,
            stop,
            window_is_over: false,
        }
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet that leaves by a port with these flags will arrive where it was sent.
    #[inline(always)]
    pub(crate) fn schedule_arrival(&mut self, at: Instant, key: Key, flags: u8, index: PacketId) {
        debug_assert!(at >= self.now, "a packet would arrive in the past");
        if flags & port_flag::BORDER != 0 {
            return self.cross_border(at, key, index);
        }
        self.events.push(Event { at, key, data: index.0 });
    }

    #[inline(always)]
    pub(crate) fn schedule(&mut self, at: Instant, kind: Kind, id: impl Word, data: impl Word) {
        debug_assert!(at >= self.now, "{kind:?} would lie in the past");
        self.events.push(Event { at, key: Key::new(kind, id.word()), data: data.word() });
    }

    /// Handles events until the traffic is done, time is up, or the observer ends the run.
    pub(crate) fn run(&mut self) -> Outcome {
        if !self.begin_run() {
            return Outcome::Completed;
        }
        loop {
            if let Some(outcome) = self.run_stretch() {
                return outcome;
            }
        }
    }

    /// Schedules what a run begins with; whether there is anything to run.
    pub(crate) fn begin_run(&mut self) -> bool {
        if self.hosts.unfinished == 0 && (self.horizon.is_never() || self.faults.is_empty()) {
            return false;
        }
        self.schedule(self.now + self.observation.patience, Kind::StallCheck, 0, 0);
        self.schedule_start();
        self.schedule_jobs();
        self.schedule_faults();
        Look::ALL.into_iter().for_each(|look| self.schedule_look(look));
        if !self.horizon.is_never() {
            // What happens at the horizon still counts.
            self.schedule(self.horizon + Span::from_ps(1), Kind::End, 0, 0);
        }
        true
    }

    /// Handles the events of one stretch: how the run ends, if it does with it.
    pub(crate) fn run_stretch(&mut self) -> Option<Outcome> {
        loop {
            let Some(event) = self.next_event() else {
                let done = self.hosts.unfinished == 0;
                return Some(if done { Outcome::Completed } else { Outcome::Stalled });
            };
            self.now = event.at;
            self.handle(event);
            if self.observation.count_event() {
                return self.end_stretch();
            }
        }
    }

    /// Handles the events before the end of a window: how the run ends, if it does.
    pub(crate) fn run_window(&mut self, (at, key): (Instant, Key)) -> Option<Outcome> {
        debug_assert!(key == WINDOW_END || key == WINDOW_END_AT_SAMPLE, "no end of a window");
        self.events.push(Event { at, key, data: 0 });
        self.window_is_over = false;
        while !self.window_is_over {
            if let Some(outcome) = self.run_stretch() {
                return Some(outcome);
            }
        }
        None
    }

    /// The next event. Prefetches what the events after it need.
    #[inline(always)]
    fn next_event(&mut self) -> Option<Event> {
        let (lookahead, net, hosts) = (&mut self.lookahead, &self.net, &self.hosts);
        self.events.pop_and_show(|ahead| lookahead.prefetch(ahead, net, hosts))
    }

    #[inline(always)]
    fn handle(&mut self, event: Event) {
        let id = event.key.id();
        self.handling = event.key;
        if event.key.is(Kind::Arrive) {
            self.arrive(PortId(id), PacketId(event.data));
        } else if event.key.is(Kind::Deliver) {
            self.receive(PortId(id), PacketId(event.data));
        } else if event.key.is(Kind::Transmit) {
            self.wake(PortId(id));
        } else {
            self.handle_rare(event);
        }
    }

    #[inline(never)]
    fn handle_rare(&mut self, event: Event) {
        let id = event.key.id();
        match event.key.kind() {
            Some(Kind::End) if event.key == WINDOW_END => self.end_window(),
            Some(Kind::End) => self.end(),
            Some(Kind::Pause) => self.obey_pause(PortId(id), event.data),
            Some(Kind::PauseExpiry) => self.expire_pauses(PortId(id)),
            Some(Kind::PauseRefresh) => self.refresh_pauses(PortId(id)),
            Some(Kind::Deadline) => self.endpoint_deadline(EndpointId(id)),
            Some(Kind::Start) => self.start_flows(),
            Some(Kind::Fault) => self.change_fault(id),
            Some(Kind::Drain) => match id.checked_sub(self.hosts.nics.len() as u32) {
                None => self.drain_receiver(PlaneId(id)),
                Some(port) => self.leave_fabric(PortId(port), PacketId(event.data)),
            },
            Some(Kind::Watchdog) => self.watch(Slot(id)),
            Some(Kind::Deadlock) => self.search_for_deadlock(),
            Some(Kind::Sample) if event.key == WINDOW_END_AT_SAMPLE => self.end_window(),
            Some(Kind::Sample) if id == Look::Sample as u32 => self.take_sample(),
            Some(Kind::Sample) if id == Look::Scrape as u32 => self.take_scrape(),
            Some(Kind::Sample) => match id.checked_sub(Look::Adapt as u32 + 1) {
                None => self.adapt(),
                Some(switch) => self.set_thresholds(SwitchId(switch)),
            },
            Some(Kind::StallCheck) => self.check_for_stall(),
            Some(Kind::Job) => self.go_on(),
            Some(Kind::Arrive | Kind::Deliver | Kind::Transmit) | None => {
                unreachable!("handled before")
            }
        }
    }

    /// The window of [`Engine::run_window`] is over, which is no event of the fabric.
    fn end_window(&mut self) {
        self.window_is_over = true;
        self.observation.end_stretch();
        self.observation.forget_event();
    }

    /// Ends the run after the present event.
    pub(crate) fn stop(&mut self, outcome: Outcome) {
        self.stop = Some(outcome);
        self.observation.end_stretch();
    }

    /// A flow or a job has ended: the run ends with the last of them.
    pub(crate) fn finish_one(&mut self) {
        self.hosts.unfinished -= 1;
        if self.hosts.unfinished == 0 {
            self.stop(Outcome::Completed);
        }
    }

    /// Time is up.
    fn end(&mut self) {
        self.now = self.horizon;
        let done = self.hosts.unfinished == 0;
        self.stop(if done { Outcome::Completed } else { Outcome::TimeUp });
        // This was no event of the fabric, and does not count as one.
        self.observation.forget_event();
    }

    /// Between two stretches of events: how the run ends, if it does.
    #[cold]
    fn end_stretch(&mut self) -> Option<Outcome> {
        self.observation.begin_stretch();
        debug_assert!(
            self.window_is_over || self.net.balance.is_true_of(&self.net.ports),
            "a change was not seen"
        );
        if self.stop.is_some() {
            return self.stop.take();
        }
        (!self.window_is_over && !self.report_progress()).then_some(Outcome::Interrupted)
    }

    /// Ends the run as stalled if nothing was delivered since the last time, and neither a flow, a fault or
    /// its repair, nor the start or computation of a job is scheduled.
    fn check_for_stall(&mut self) {
        let progress = self.observation.has_progressed(self.accounts.totals.delivered);
        let nothing_comes = self.hosts.flows.next_start().is_none()
            && !self.faults.are_to_come()
            && !self.hosts.jobs.has_scheduled();
        if !progress && self.hosts.unfinished > 0 && nothing_comes {
            return self.stop(Outcome::Stalled);
        }
        self.schedule(self.now + self.observation.patience, Kind::StallCheck, 0, 0);
    }

    /// Schedules the next sample or scrape, if there are any.
    fn schedule_look(&mut self, look: Look) {
        let period = self.observation.period(look);
        if !period.is_zero() {
            self.schedule(self.now + period, Kind::Sample, look as u32, 0);
        }
    }

    /// A sample or a scrape was taken: schedules the next one, unless nothing else is left to happen.
    pub(crate) fn look_again(&mut self, look: Look) {
        if !self.only_observation_is_left(Some(look)) {
            self.schedule_look(look);
        }
    }

    /// Whether nothing is left to happen but events that only look at the run. The one that is being handled is no
    /// longer among those that wait.
    pub(crate) fn only_observation_is_left(&self, handled: Option<Look>) -> bool {
        let ends = !self.horizon.is_never();
        let waits = |look: Look| handled != Some(look) && !self.observation.period(look).is_zero();
        let search = self.net.deadlocks.search_is_scheduled();
        let looks = Look::ALL.into_iter().filter(|&look| waits(look)).count();
        // The search for a stall always waits.
        self.events.at_most(1 + looks + usize::from(ends) + usize::from(search))
    }

    /// Packets sent over links so far.
    pub(crate) fn packet_hops(&self) -> u64 {
        self.net.packet_hops()
    }

    pub(crate) fn report_progress(&mut self) -> bool {
        let progress = self.progress();
        self.observation.observer.progress(&progress)
    }

    /// How far the run is.
    pub(crate) fn progress(&mut self) -> Progress {
        let (flows, jobs) = (&self.hosts.flows, &self.hosts.jobs);
        let all = flows.len() + jobs.count();
        Progress {
            now: self.now,
            events: self.observation.events(),
            packet_hops: self.observation.hops(|| self.net.packet_hops()),
            flows_finished: (all - self.hosts.unfinished) as u64,
            flows: all as u64,
            packets_alive: self.packets_alive(),
        }
    }

    /// Reports to the observer that something rare happened.
    pub(crate) fn trace(&mut self, kind: TraceKind, slot: Slot) {
        self.trace_packet(kind, slot, None, 0);
    }

    pub(crate) fn trace_packet(
        &mut self,
        kind: TraceKind,
        slot: Slot,
        flow: Option<FlowId>,
        bytes: u32,
    ) {
        let (port, class) = (slot.port(), slot.class().0);
        let flow = flow.map(|flow| flow.0);
        let trace = Trace { at: self.now, kind, port, class, flow, bytes };
        match &mut self.border.told {
            // Other threads do not know yet what came before it.
            Some(told) => told.push((self.handling, Told::Trace(trace))),
            None => self.observation.observer.trace(&trace),
        }
    }

    /// Packets somewhere in the fabric.
    fn packets_alive(&self) -> u64 {
        self.net.headers.written - self.accounts.totals.delivered - self.accounts.dropped()
    }

    fn schedule_start(&mut self) {
        if let Some(start) = self.hosts.flows.next_start() {
            self.schedule(start, Kind::Start, 0, 0);
        }
    }

    /// Starts every flow whose time has come.
    fn start_flows(&mut self) {
        while let Some(flow) = self.hosts.flows.take_started(self.now) {
            self.open(flow);
        }
        self.schedule_start();
    }
}

impl Engine<'_, Wheel> {
    /// Handles the events before this one: how the run ends, if it does.
    pub(crate) fn run_before(&mut self, end: (Instant, Key)) -> Option<Outcome> {
        // The queue does not turn to what lies beyond: sooner events may still come.
        while self.events.earliest() < end.0 {
            let event = self.next_event()?;
            if (event.at, event.key) >= end {
                self.events.push(event);
                return None;
            }
            self.now = event.at;
            self.handle(event);
            if self.observation.count_event()
                && let Some(outcome) = self.end_stretch()
            {
                return Some(outcome);
            }
        }
        None
    }
}
