//! What leaves a part of the fabric for another: packets on cables between them, and pause frames.
//!
//! The hosts' part keeps the place and the header of every packet, wherever it is: what travels is what switches read of it,
//! one cache line.

use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key};
use crate::id::PacketId;
use crate::net::Net;
use crate::parallel::cut::{Owners, PartId};
use crate::report::{Observer, Sample, Sent, Trace};
use crate::switch::header::{Away, Extras};
use crate::switch::packet::Packet;
use xoff_fabric::model::PortId;
use xoff_units::Instant;

/// A packet on its way to another part. One cache line.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Parcel {
    packet: Packet,
    at: Instant,
    key: Key,
    away: Away,
}

/// What one part sends to another in one step.
#[derive(Debug)]
pub(super) struct Mail {
    parcels: Vec<Parcel>,
    /// As many as parcels, in runs whose packets have any.
    extras: Vec<Extras>,
    pauses: Vec<Event>,
    /// To the hosts' part: places of packets that were dropped.
    lost: Vec<PacketId>,
    /// When the first of it happens.
    pub(super) earliest: Instant,
}

impl Default for Mail {
    fn default() -> Self {
        let (parcels, extras, pauses, lost) = Default::default();
        Self { parcels, extras, pauses, lost, earliest: Instant::MAX }
    }
}

impl Mail {
    pub(super) fn is_empty(&self) -> bool {
        self.parcels.is_empty() && self.pauses.is_empty() && self.lost.is_empty()
    }
}

/// What an observer is told of one part of the fabric.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told {
    Trace(Trace),
    Sample(Sample),
    Sent(Sent),
}

impl Told {
    pub(crate) fn tell(&self, observer: &mut dyn Observer) {
        match self {
            Self::Trace(trace) => observer.trace(trace),
            Self::Sample(sample) => observer.sample(sample),
            Self::Sent(sent) => observer.sent(sent),
        }
    }

    /// When, and where among what is told of one event.
    pub(super) fn place(&self) -> (Instant, Option<PortId>) {
        match self {
            Self::Trace(trace) => (trace.at, None),
            Self::Sample(Sample { at, port, .. }) | Self::Sent(Sent { at, port, .. }) => {
                (*at, Some(*port))
            }
        }
    }
}

/// The outgoing mail of a part, and what it has to tell that concerns all of them.
#[derive(Debug, Default)]
pub(crate) struct Border {
    pub(super) owners: Owners,
    /// By the part it is for.
    pub(super) out: Vec<Mail>,
    /// What observers are told when all parts have come so far, with the event in which it happened. Nothing while
    /// there is one part: then they are told at once.
    pub(crate) told: Option<Vec<(Key, Told)>>,
    /// The first search for a deadlock that was asked for since the parts are apart.
    pub(super) search: Option<Instant>,
}

impl Border {
    /// A pause frame for a port of another part.
    pub(crate) fn pause(&mut self, event: Event) {
        let part = self.owners.of(PortId(event.key.id()));
        let mail = &mut self.out[part.index()];
        mail.earliest = mail.earliest.min(event.at);
        mail.pauses.push(event);
    }

    /// A packet was dropped whose place is with the hosts.
    pub(crate) fn lose(&mut self, home: PacketId) {
        self.out[PartId::HOSTS.index()].lost.push(home);
    }

    /// A search for a deadlock concerns all parts. Whether there are several, which will see to it.
    pub(crate) fn takes_search(&mut self, at: Instant) -> bool {
        if self.told.is_none() {
            return false;
        }
        self.search = Some(self.search.map_or(at, |search| search.min(at)));
        true
    }

    #[inline(always)]
    fn parcel(&mut self, parcel: Parcel, extras: Option<Extras>) {
        let part = self.owners.of(PortId(parcel.key.id()));
        let mail = &mut self.out[part.index()];
        mail.earliest = mail.earliest.min(parcel.at);
        mail.parcels.push(parcel);
        mail.extras.extend(extras);
    }
}

impl Net {
    /// A packet leaves for another part. With the hosts it keeps its place.
    #[inline(always)]
    fn lend(&mut self, index: PacketId) -> (Packet, Away, Option<Extras>) {
        let extras = self.headers.extras(index);
        match self.headers.away(index) {
            Some(away) => (self.packets.take(index), away, extras),
            None => {
                let away = Away { home: index, flow: self.headers.flow(index) };
                (*self.packets.get(index), away, extras)
            }
        }
    }

    /// A packet comes from another part. Where it is now.
    #[inline(always)]
    fn accept(&mut self, packet: &Packet, away: Away, extras: Option<&Extras>) -> PacketId {
        let index = if self.headers.are_here() {
            self.packets.put(away.home, packet);
            away.home
        } else {
            let index = self.packets.add(packet);
            self.headers.set_away(index, away);
            index
        };
        if let Some(extras) = extras {
            self.headers.put(index, extras);
        }
        index
    }

    /// Moves a packet from another part, while nobody simulates. Where it is now.
    pub(super) fn take_packet(&mut self, from: &mut Self, index: PacketId) -> PacketId {
        let (packet, away, extras) = from.lend(index);
        self.accept(&packet, away, extras.as_ref())
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet leaves for a port of another part.
    #[inline(never)]
    pub(crate) fn cross_border(&mut self, at: Instant, key: Key, index: PacketId) {
        let (packet, away, extras) = self.net.lend(index);
        self.border.parcel(Parcel { packet, at, key, away }, extras);
    }

    /// Takes in what other parts have sent, all of which lies ahead.
    pub(super) fn take_mail(&mut self, mail: &mut Mail) {
        assert!(mail.earliest >= self.now, "mail from another thread comes too late");
        mail.earliest = Instant::MAX;
        let mut extras = mail.extras.drain(..);
        for Parcel { packet, at, key, away } in mail.parcels.drain(..) {
            let index = self.net.accept(&packet, away, extras.next().as_ref());
            self.events.push(Event { at, key, data: index.0 });
        }
        mail.pauses.drain(..).for_each(|pause| self.events.push(pause));
        mail.lost.drain(..).for_each(|home| self.net.packets.release(home));
    }
}
