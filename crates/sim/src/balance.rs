//! Switches that choose among equal ports by something else than the hash of the flow.
//!
//! A [`Balancer`](state::Balancer) remembers the port of each flowlet in a table of fixed size, as hardware does: flows
//! with the same place share their port. A new choice takes the ports of the best quality and draws
//! one of them at random. As in switch silicon, quality is coarse: the queue falls into one of
//! [`BANDS`] bands that double in width, and for flowlets the load of the link, measured over whole
//! periods, counts in eighths among equal queues. Coarse bands and the draw keep senders apart. A finer rule (any idle
//! port before any busy one) lets every flow of a steady load find the port that it used before free again:
//! flows then keep their ports as if they were hashed, and meet at the next switch.
//!
//! Global balancing adds the quality that the best port of the next switch had when that switch last reported
//! it ([`Reports`](state::Reports)). Where ways are pinned, the place of the destination on its leaf decides, and
//! nothing else.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::FlowHash;
use crate::switch::packet::Packet;
use crate::switch::port::Port;
use state::{BANDS, LOAD_STEP, pick};
use xoff_fabric::model::{Choice, ClassId, PortId, SwitchId};

impl<Q: EventQueue> Engine<'_, Q> {
    /// The port by which a packet leaves a switch that balances; nothing if it does not, or if no
    /// port leads there.
    pub(crate) fn balance(
        &mut self,
        switch: SwitchId,
        packet: &Packet,
        hash: FlowHash,
        class: ClassId,
    ) -> Option<PortId> {
        let balancer = self.net.balance.balancers.get_mut(switch)?.as_mut()?;
        let choices = self.net.routing.choices(switch, packet.dst);
        if let Some(port) = balancer.recall(hash, self.now, choices) {
            return Some(port);
        }
        let Some(choice) = balancer.choice else {
            let place = self.net.balance.places.get(packet.dst).copied().unwrap_or(0) as usize;
            return choices.get(place.checked_rem(choices.len())?).copied();
        };
        let drawn = balancer.stream.next_u64();
        let port = match choice {
            Choice::Random => *choices.get(pick(drawn, choices.len()))?,
            Choice::Local => self.best_port(packet, class, false, drawn, switch)?,
            Choice::Global { .. } => {
                self.net.balance.reports.update(&self.net.ports, self.now);
                self.best_port(packet, class, true, drawn, switch)?
            }
        };
        let balancer = self.net.balance.balancers[switch].as_mut()?;
        balancer.remember(hash, self.now, port);
        Some(port)
    }

    /// The best of a switch's equal ports; `drawn` decides where several are.
    fn best_port(
        &mut self,
        packet: &Packet,
        class: ClassId,
        global: bool,
        drawn: u64,
        switch: SwitchId,
    ) -> Option<PortId> {
        let balancer = self.net.balance.balancers[switch].as_ref()?;
        // Flowlets last long enough for the load of the last microseconds to matter; where every packet
        // chooses, the same least loaded port would get all of them until its queue shows.
        let weighs_load = !balancer.flowlets.is_empty();
        if global || weighs_load {
            self.least_loaded(packet, class, (global, weighs_load), drawn, switch)
        } else {
            self.least_queued(packet, class, drawn, switch)
        }
    }

    /// One of the ports with the shortest queues, by bands. Most packets of a fabric that balances come here, at every switch.
    fn least_queued(
        &self,
        packet: &Packet,
        class: ClassId,
        drawn: u64,
        switch: SwitchId,
    ) -> Option<PortId> {
        let choices = self.net.routing.choices(switch, packet.dst);
        // Mostly the ports of a switch that lead to a place follow each other, and several are compared at a time.
        let place = match self.net.balance.qualities.in_row(choices) {
            Some(qualities) => one_of_best(qualities.iter().map(|own| own.band(class)), drawn),
            None => one_of_best(choices.iter().map(|&port| self.band(port, class)), drawn),
        };
        choices.get(place?).copied()
    }

    /// The same, where what comes after the next switch counts (`global`), or what ports sent of late (`weighs_load`).
    fn least_loaded(
        &mut self,
        packet: &Packet,
        class: ClassId,
        (global, weighs_load): (bool, bool),
        drawn: u64,
        switch: SwitchId,
    ) -> Option<PortId> {
        let mut best = (u32::MAX, u64::MAX);
        let mut equals = std::mem::take(&mut self.net.balance.equals);
        for at in 0..self.net.routing.choices(switch, packet.dst).len() {
            let port = self.net.routing.choices(switch, packet.dst)[at];
            let mut band = self.band(port, class);
            let here = &self.net.ports[port];
            if global {
                band += self.band_beyond(here, packet, class);
            }
            let load = if weighs_load {
                let sent = self.net.balance.uses[port].measured(here.tx_bytes(), self.now);
                here.byte_time.times(sent.min(1 << 24) as u32).as_ps() / LOAD_STEP
            } else {
                0
            };
            if (band, load) < best {
                best = (band, load);
                equals.clear();
            }
            if (band, load) == best {
                equals.push(port);
            }
        }
        let port = equals.get(pick(drawn, equals.len())).copied();
        equals.clear();
        self.net.balance.equals = equals;
        port
    }

    /// The band of a port as it is now, for a class.
    #[inline(always)]
    fn band(&self, port: PortId, class: ClassId) -> u32 {
        self.net.balance.qualities[port].band(class)
    }

    /// The band of the best port by which a packet could go on after the next switch.
    fn band_beyond(&self, here: &Port, packet: &Packet, class: ClassId) -> u32 {
        let peer = &self.net.ports[here.peer()];
        if peer.is_nic() {
            return 0;
        }
        let onward = self.net.routing.choices(peer.switch(), packet.dst);
        let band = |port: &PortId| match self.net.balance.reports.refresh.is_zero() {
            true => self.band(*port, class),
            false => self.net.balance.reports.band(*port, class, here.flight, self.now),
        };
        onward.iter().map(band).min().unwrap_or(2 * BANDS)
    }
}

/// The place of one of the lowest of these bands; `drawn` decides which.
#[inline(always)]
fn one_of_best(bands: impl Iterator<Item = u32> + Clone, drawn: u64) -> Option<usize> {
    let best = bands.clone().min()?;
    let equals = bands.clone().filter(|&band| band == best).count();
    let is_best = |(_, band): &(usize, u32)| *band == best;
    bands.enumerate().filter(is_best).nth(pick(drawn, equals)).map(|(place, _)| place)
}
