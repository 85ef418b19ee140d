//! [`Agent`]: a [`Manager`] behind queue pair 1 of a device.

use super::manager::Manager;
use crate::{
    Completions, DatagramWork, Device, Error, Memory, PairId, PairSettings, Slice, WorkId,
};
use std::net::SocketAddr;
use xoff_transport::{Access, Qkey};
use xoff_units::Instant;
use xoff_wire::{Service, mad};

/// Datagrams that may arrive between two turns.
const RECEIVES: u64 = 64;
/// Datagrams on their way out.
const SENDS: u64 = 64;
/// Room for one; what is longer is no management datagram.
const ROOM: u64 = 512;
/// The name of a datagram on its way out; receives are named by their place.
const SENT: u64 = 1 << 32;

/// Connection management for a device: call [`Agent::turn`] after [`Device::progress`].
#[derive(Debug)]
pub struct Agent {
    manager: Manager,
    pair: PairId,
    completions: Completions,
    memory: Memory,
    /// Places for datagrams to be sent that are not in use.
    free: Vec<u64>,
}

impl Agent {
    /// Opens queue pair 1 of the device.
    pub fn open(device: &mut Device, seed: u64) -> Result<Self, Error> {
        let domain = device.create_domain();
        let completions = device.create_completions((RECEIVES + SENDS) as usize)?;
        let bytes = vec![0; ((RECEIVES + SENDS) * ROOM) as usize];
        let memory = device.register(domain, bytes, Access::LOCAL_WRITE, None)?;
        let settings = PairSettings::new(Service::Datagram, domain, completions);
        let pair = device.open_management_pair(settings)?;
        for place in 0..RECEIVES {
            device.post_receive(pair, WorkId(place), slice(memory, place, ROOM))?;
        }
        let manager = Manager::new(device.address().ip(), seed);
        let free = (RECEIVES..RECEIVES + SENDS).collect();
        Ok(Self { manager, pair, completions, memory, free })
    }

    /// The manager: request connections from it, and read its events.
    pub fn manager(&mut self) -> &mut Manager {
        &mut self.manager
    }

    /// When [`Agent::turn`] has something to do, even if nothing arrives.
    pub fn deadline(&self) -> Instant {
        self.manager.deadline()
    }

    /// Hands over what has arrived, does what is due, and sends what there is to be sent.
    pub fn turn(&mut self, device: &mut Device) -> Result<(), Error> {
        let now = device.now();
        while let Some(completion) = device.poll(self.completions) {
            if completion.id.0 & SENT != 0 {
                self.free.push(completion.id.0 & !SENT);
                continue;
            }
            let place = completion.id.0;
            if let Some(arrival) = completion.arrival()
                && let Some((from, source)) = arrival.from
                && source == mad::QPN
            {
                let at = (place * ROOM) as usize;
                let end = at + arrival.length.get().min(ROOM) as usize;
                let bytes = device.bytes(self.memory)?.get(at..end).unwrap_or_default();
                self.manager.handle(now, from.ip(), bytes);
            }
            device.post_receive(self.pair, completion.id, slice(self.memory, place, ROOM))?;
        }
        self.manager.handle_deadline(now);
        self.send(device)
    }

    fn send(&mut self, device: &mut Device) -> Result<(), Error> {
        // Peers listen at our own port, whichever they send from.
        let port = device.address().port();
        while let Some(place) = self.free.pop() {
            let Some((to, bytes)) = self.manager.poll_transmit() else {
                self.free.push(place);
                return Ok(());
            };
            let at = (place * ROOM) as usize;
            if let Some(room) = device.bytes_mut(self.memory)?.get_mut(at..at + mad::LEN) {
                room.copy_from_slice(&bytes);
            }
            let work = DatagramWork {
                id: WorkId(place | SENT),
                local: slice(self.memory, place, mad::LEN as u64),
                to: SocketAddr::new(to, port),
                qpn: mad::QPN,
                qkey: Qkey(mad::QKEY),
                immediate: None,
                signaled: true,
            };
            // An address that cannot be sent to is not reported: the message is repeated a few
            // times and then times out.
            if device.post_datagram(self.pair, work).is_err() {
                self.free.push(place);
            }
        }
        Ok(())
    }
}

fn slice(memory: Memory, place: u64, length: u64) -> Slice {
    Slice::new(memory, place * ROOM, length)
}
