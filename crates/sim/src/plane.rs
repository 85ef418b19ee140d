//! NICs with several ports: which flow uses which, and what happens when one of them is down.
//!
//! Every port of a NIC takes its turns by itself ([`crate::nic::state::NicState`]): a *plane*. A NIC's first
//! plane has the NIC's number, further ones have numbers behind those of all NICs, so that nothing
//! changes for NICs with one port. Each end of a queue pair sends by one plane, chosen among those whose
//! link the NIC takes to be up ([`Pick`]); packets to a NIC come by whatever plane the switches choose.
//! When the NIC hears that a link went down or came up, the queue pairs choose again.

pub(crate) mod state;

use crate::connection::state::Way;
use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{EndpointId, FlowId, PlaneId};
use state::Pick;
use xoff_fabric::model::PortId;

impl<Q: EventQueue> Engine<'_, Q> {
    /// The plane by which an end of a connection sends.
    pub(crate) fn plane_of(&self, way: &Way, end: usize) -> PlaneId {
        let nic = way.nics[end];
        let flow = self.hosts.flows.get(way.flow).filter(|_| way.pinned);
        match flow.and_then(|flow| flow.pins.as_ref()) {
            Some(pins) => {
                let own = self.fabric.nics[nic.index()].ports.start;
                self.hosts.planes.plane(nic, (pins.first[end].0 - own) as usize)
            }
            None => {
                let hash = Pick::Hash(self.net.hashing.at_nic(way.entropy[end]));
                self.hosts.planes.choose(nic, way.turn.map_or(hash, Pick::Turn))
            }
        }
    }

    /// A NIC hears how the link of one of its ports is: its flows choose again.
    pub(crate) fn nic_learns(&mut self, port: PortId, is_down: bool) {
        let plane = self.net.ports[port].plane();
        if !self.hosts.planes.hear(plane, is_down) {
            return;
        }
        let home = self.hosts.planes.home(plane);
        for connection in self.hosts.connections.ids() {
            let state = &self.hosts.connections[connection];
            let (live, turn) = (state.flow != FlowId::NONE, state.carried.as_ref().map(|c| c.turn));
            for end in (0..2).filter(|_| live) {
                let state = &self.hosts.connections[connection].ends[end];
                let now = state.member.plane;
                let hashed = || state.hashed().map(|e| Pick::Hash(self.net.hashing.at_nic(e)));
                let pick = turn.map(Pick::Turn).or_else(hashed);
                if self.hosts.planes.home(now) == home
                    && let Some(pick) = pick
                    && self.hosts.planes.choose(home, pick) != now
                {
                    self.move_to(connection.end(end), self.hosts.planes.choose(home, pick));
                }
            }
        }
    }

    /// An end of a flow sends by another plane from now on. Answers that wait at the old one stay there.
    fn move_to(&mut self, endpoint: EndpointId, plane: PlaneId) {
        self.leave(endpoint);
        let port = self.hosts.nics[plane].port;
        self.end_mut(endpoint).move_to(plane, port);
        self.begin_trail_anew(endpoint);
        self.join(endpoint);
        self.after_input(endpoint);
    }
}
