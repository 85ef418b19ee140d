//! Parts: engines that have some of the switches while threads work side by side, and nothing in between.
//!
//! A part is an engine like the whole one, with tables of the same ids, of which it uses its own rows. What
//! belongs to its switches is copied over when threads part and back when they meet; packets and events move. What only the first
//! part may do, because it concerns all (faults, samples, searches for deadlocks), it does when all have met.

use crate::Settings;
use crate::account::Accounts;
use crate::adapt::state::Adaptation;
use crate::convergence::state::Convergence;
use crate::deadlock::state::Deadlocks;
use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key, Kind};
use crate::fault::state::Faults;
use crate::hosts::Hosts;
use crate::id::{PacketId, Slot, Table};
use crate::net::Net;
use crate::observe::Observation;
use crate::parallel::border::Mail;
use crate::parallel::cut::{Cut, PartId};
use crate::report::Silent;
use crate::switch::packet::Packets;
use crate::switch::trail::Trails;
use crate::wheel::Wheel;
use std::sync::Arc;
use xoff_fabric::model::PortId;
use xoff_units::Instant;

/// Packets that a part has room for at first.
const PACKETS: usize = 1 << 12;

impl<'a> Engine<'a, Wheel> {
    /// A part without switches so far, for the same run.
    pub(super) fn part(&self, settings: &Settings) -> Self {
        let net = Net {
            headers: self.net.headers.elsewhere(),
            packets: Packets::new(PACKETS),
            ports: self.net.ports.clone(),
            profiles: self.net.profiles.clone(),
            schedulers: self.net.schedulers.clone(),
            turns: Table::new(),
            switches: self.net.switches.clone(),
            links: self.net.links.clone(),
            pauses: self.net.pauses.clone(),
            credits: Table::new(),
            voqs: Table::new(),
            routing: self.net.routing.clone(),
            hashing: self.net.hashing.clone(),
            trails: Trails::new(self.net.trails.are_kept()),
            balance: self.net.balance.like(),
            marking: self.net.marking.clone(),
            adaptation: Adaptation::default(),
            deadlocks: Deadlocks::new(false, false),
            convergence: Convergence::default(),
            gap: self.net.gap,
        };
        // Nothing is ever said to it, and it takes no memory.
        let silent = Box::leak(Box::new(Silent));
        let observation = Observation::new(self.fabric, silent, settings);
        let faults = Faults::new(self.fabric, Vec::new());
        let hosts = Hosts::none(&self.hosts.flows);
        let events = super::wheel(self.fabric, settings, settings.threads.count);
        Engine::new(self.fabric, events, (net, hosts), faults, observation, Instant::MAX)
    }

    /// This part of the run begins to work beside others.
    pub(super) fn open_border(&mut self, cut: &Cut) {
        self.border.owners = cut.owners.clone();
        self.border.out.resize_with(cut.switches.len(), Mail::default);
        self.border.told = Some(Vec::new());
        self.border.search = None;
        self.net.deadlocks.stirred = false;
    }

    /// Takes over the switches of a part, with all that is in them, but for their events.
    pub(super) fn take_over(&mut self, whole: &mut Self, cut: &Cut, part: usize) {
        let fabric = self.fabric;
        self.now = whole.now;
        self.events.begin_at(whole.now);
        self.net.profiles.clone_from(&whole.net.profiles);
        self.net.links.clone_from(&whole.net.links);
        if !Arc::ptr_eq(&self.net.routing, &whole.net.routing) {
            self.net.trails.forget_like(&whole.net.trails);
            self.net.routing = Arc::clone(&whole.net.routing);
        }
        self.net.convergence.disturbed = whole.net.convergence.is_disturbed();
        self.move_switches(whole, cut, part);
        self.net.pauses.list(&self.net.ports, cut.ports(fabric, part));
        self.open_border(cut);
        for port in cut.ports(fabric, part) {
            let peer = self.net.ports[port].peer();
            if cut.owners.of(peer) == PartId::new(part) {
                continue;
            }
            self.net.ports[port].set_border(true);
            if cut.owners.of(peer) == PartId::HOSTS {
                whole.net.ports[peer].set_border(true);
            }
        }
    }

    /// Gives everything back that [`Engine::take_over`] has taken, events included, and what was counted meanwhile.
    pub(super) fn give_back(&mut self, whole: &mut Self, cut: &Cut, part: usize) {
        let fabric = self.fabric;
        whole.move_switches(self, cut, part);
        for port in cut.ports(fabric, part) {
            whole.net.ports[port].set_border(false);
            let peer = whole.net.ports[port].peer();
            whole.net.ports[peer].set_border(false);
            whole.net.links.take_draws(port, &self.net.links);
        }
        for event in self.events.take_all() {
            let event = whole.adopt(event, &mut self.net);
            whole.events.push(event);
        }
        whole.accounts.take_in(&mut self.accounts);
        whole.observation.count_more(self.observation.take_events());
        let stirred = std::mem::take(&mut self.net.deadlocks.stirred);
        whole.net.deadlocks.stirred |= stirred;
        let search = self.border.search.take();
        whole.border.search = [search, whole.border.search].into_iter().flatten().min();
        // What the last window sent: whoever it was for has nothing of its own any more.
        let mut out = std::mem::take(&mut self.border.out);
        out.iter_mut().for_each(|mail| whole.take_mail(mail));
        let told = self.border.told.take().unwrap_or_default();
        whole.border.told.get_or_insert_default().extend(told);
        debug_assert_eq!(self.net.packets.live(), 0, "a packet was left on a thread");
    }

    /// Copies the switches of a part, with their ports, from where they were simulated last, and moves their packets.
    fn move_switches(&mut self, from: &mut Self, cut: &Cut, part: usize) {
        let fabric = self.fabric;
        for &switch in &cut.switches[part] {
            self.net.switches[switch] = from.net.switches[switch].clone();
            self.net.balance.take_switch(&mut from.net.balance, switch);
        }
        for port in cut.ports(fabric, part) {
            self.net.ports[port].clone_from(&from.net.ports[port]);
            self.net.schedulers[port].clone_from(&from.net.schedulers[port]);
            self.net.pauses.copy_port(&from.net.pauses, port);
            self.net.marking.copy_port(&from.net.marking, port);
            self.net.balance.copy_port(&from.net.balance, port);
            self.move_queues(&mut from.net, port);
        }
    }

    /// Moves the packets that wait at a port, whose state is here already.
    fn move_queues(&mut self, from: &mut Net, port: PortId) {
        for class in 0..self.net.ports[port].lanes.len() {
            let mut queue = self.net.ports[port].lanes[class].queue;
            let (mut old, deepest) = (queue, queue.deepest);
            queue.clear();
            while !old.is_empty() {
                let (index, packet) = old.pop(&mut from.packets);
                let size = packet.size;
                let index = self.net.take_packet(from, index);
                queue.push(&mut self.net.packets, index, size);
            }
            queue.deepest = deepest;
            self.net.ports[port].lanes[class].queue = queue;
        }
    }

    /// An event of another part, with the packet that it is about.
    pub(super) fn adopt(&mut self, event: Event, from: &mut Net) -> Event {
        if !event.key.is(Kind::Arrive) && !event.key.is(Kind::Deliver) {
            return event;
        }
        let index = self.net.take_packet(from, PacketId(event.data));
        Event { data: index.0, ..event }
    }

    /// Samples the queues of a part.
    pub(super) fn sample_part(&mut self, part: usize) {
        let (owners, part) = (self.border.owners.clone(), PartId::new(part));
        self.sample_ports(|port| owners.of(port) == part);
        // All parts together handle one event.
        self.observation.count_more((part == PartId::HOSTS).into());
    }

    /// All parts have met: does what was asked for that concerns all of them, and tells what happened in its order.
    pub(super) fn close_border(&mut self) {
        let mut told = self.border.told.take().unwrap_or_default();
        told.sort_by_key(|(key, told)| {
            let (at, port) = told.place();
            (at, *key, port)
        });
        told.iter().for_each(|(_, told)| told.tell(self.observation.observer));
        // Packets have other places now.
        self.net.deadlocks.forget_all();
        if std::mem::take(&mut self.net.deadlocks.stirred) {
            self.net.deadlocks.stir();
        }
        if let Some(at) = self.border.search.take() {
            self.search_at(at);
        }
    }
}

/// The part that an event happens in; nothing if it concerns all.
pub(super) fn part_of(key: Key, cut: &Cut) -> Option<PartId> {
    let id = key.id();
    match key.kind()? {
        Kind::End | Kind::Fault | Kind::Deadlock | Kind::Sample | Kind::StallCheck => None,
        Kind::Start | Kind::Job | Kind::Deadline | Kind::Drain => Some(PartId::HOSTS),
        Kind::Pause | Kind::PauseExpiry | Kind::PauseRefresh => Some(cut.owners.of(PortId(id))),
        Kind::Deliver | Kind::Arrive | Kind::Transmit => Some(cut.owners.of(PortId(id))),
        Kind::Watchdog => Some(cut.owners.of(Slot(id).port())),
    }
}

impl Accounts {
    /// Adds what was counted elsewhere, which is zero from now on.
    fn take_in(&mut self, other: &mut Self) {
        self.totals.take_in(std::mem::take(&mut other.totals));
        for (own, other) in self.classes.iter_mut().zip(other.classes.iter_mut()) {
            own.take_in(std::mem::take(other));
        }
        for (own, other) in self.health.iter_mut().zip(other.health.iter_mut()) {
            own.add_all(&std::mem::take(other));
        }
    }
}
