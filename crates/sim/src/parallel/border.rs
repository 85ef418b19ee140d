//! What leaves a part of the fabric for another: packets on cables between them, and pause frames.

use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key};
use crate::id::PacketId;
use crate::parallel::cut::{Owners, PartId};
use crate::report::{Observer, Sample, Sent, Trace};
use crate::switch::header::{Extras, PacketHeader};
use crate::switch::packet::Packet;
use xoff_fabric::model::PortId;
use xoff_units::Instant;

/// A packet on its way to another part.
#[derive(Debug, Clone)]
pub(super) struct Parcel {
    pub(super) header: PacketHeader,
    pub(super) packet: Packet,
    pub(super) at: Instant,
    pub(super) key: Key,
}

/// What one part sends to another in one step.
#[derive(Debug, Default)]
pub(super) struct Mail {
    pub(super) parcels: Vec<Parcel>,
    /// As many as parcels, in runs whose packets have any.
    pub(super) extras: Vec<Extras>,
    pub(super) pauses: Vec<Event>,
}

impl Mail {
    /// When the first of it happens.
    pub(super) fn earliest(&self) -> Instant {
        let parcels = self.parcels.iter().map(|parcel| parcel.at);
        parcels.chain(self.pauses.iter().map(|pause| pause.at)).min().unwrap_or(Instant::MAX)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parcels.is_empty() && self.pauses.is_empty()
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
        self.out[part.index()].pauses.push(event);
    }

    /// A search for a deadlock concerns all parts. Whether there are several, which will see to it.
    pub(crate) fn takes_search(&mut self, at: Instant) -> bool {
        if self.told.is_none() {
            return false;
        }
        self.search = Some(self.search.map_or(at, |search| search.min(at)));
        true
    }

    fn parcel(&mut self, parcel: Parcel, extras: Option<Extras>) {
        let part: PartId = self.owners.of(PortId(parcel.key.id()));
        let mail = &mut self.out[part.index()];
        mail.parcels.push(parcel);
        mail.extras.extend(extras);
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet leaves for a port of another part.
    #[inline(never)]
    pub(crate) fn cross_border(&mut self, at: Instant, key: Key, index: PacketId) {
        let extras = self.net.headers.extras(index);
        let header = *self.net.headers.get(index);
        let packet = self.net.packets.take(index);
        self.border.parcel(Parcel { header, packet, at, key }, extras);
    }

    /// Takes in what other parts have sent, all of which lies ahead.
    pub(super) fn take_mail(&mut self, mail: &mut Mail) {
        let mut extras = mail.extras.drain(..);
        for parcel in mail.parcels.drain(..) {
            assert!(parcel.at >= self.now, "a packet from another thread comes too late");
            let index = self.net.packets.add(&parcel.packet);
            self.net.headers.put(index, &parcel.header, extras.next().as_ref());
            self.events.push(Event { at: parcel.at, key: parcel.key, data: index.0 });
        }
        for pause in mail.pauses.drain(..) {
            assert!(pause.at >= self.now, "a pause from another thread comes too late");
            self.events.push(pause);
        }
    }
}
