//! [`Overlay`]: the one way to make another fabric of a fabric.

use super::{Cable, CableId, ClassId, Fabric, Flaw, Guest, Model, Nic, NicId, PortClass, PortId};
use super::{Switch, SwitchId};
use std::ops::Deref;

/// A fabric that is being edited: its devices as they are really configured, its cables as they are
/// really plugged, its NICs with other transports.
///
/// Each edit is checked when it is made: one that no fabric can have is refused and changes
/// nothing. Names, ports and places of devices cannot be edited.
#[derive(Debug, Clone)]
pub struct Overlay(Model);

/// As edited so far.
impl Deref for Overlay {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.0
    }
}

impl Fabric {
    /// Begins to edit a copy.
    pub fn overlay(&self) -> Overlay {
        Overlay(self.0.clone())
    }

    /// Begins to edit it.
    pub fn into_overlay(self) -> Overlay {
        Overlay(self.0)
    }
}

impl Overlay {
    /// Edits a NIC.
    pub fn nic(&mut self, id: NicId, edit: impl FnOnce(&mut Nic)) {
        let nic = &mut self.0.nics[id.index()];
        let (ports, server) = (nic.ports.clone(), nic.server);
        edit(nic);
        assert_eq!((ports, server), (nic.ports.clone(), nic.server), "an edit moved a NIC");
    }

    /// Edits a switch.
    pub fn switch(&mut self, id: SwitchId, edit: impl FnOnce(&mut Switch)) -> Result<(), Flaw> {
        let mut switch = self.0.switches[id.index()].clone();
        edit(&mut switch);
        assert_eq!(switch.ports, self.0.switches[id.index()].ports, "an edit moved a switch");
        switch.flaw()?;
        self.0.claims_fit(&switch)?;
        self.0.switches[id.index()] = switch;
        Ok(())
    }

    /// Edits what holds for a class at a port.
    pub fn class(
        &mut self,
        port: PortId,
        class: ClassId,
        edit: impl FnOnce(&mut PortClass),
    ) -> Result<(), Flaw> {
        let (node, place) = (self.ports[port.index()].node, usize::from(class.0));
        let before = *self.ports[port.index()].classes.get(place).ok_or(Flaw::Class(class.0))?;
        let mut after = before;
        edit(&mut after);
        after.flaw()?;
        self.0.ports[port.index()].classes[place] = after;
        let Some(switch) = self.node_switch(node) else { return Ok(()) };
        let fits = self.claims_fit(&self.switches[switch.index()]);
        if fits.is_err() {
            self.0.ports[port.index()].classes[place] = before;
        }
        fits
    }

    /// Edits a cable.
    pub fn cable(&mut self, id: CableId, edit: impl FnOnce(&mut Cable)) -> Result<(), Flaw> {
        let mut cable = self.cables[id.index()].clone();
        edit(&mut cable);
        cable.flaw()?;
        self.0.cables[id.index()] = cable;
        Ok(())
    }

    /// Swaps the second ends of two cables. A cable is given by its two ports.
    pub fn swap(&mut self, a: (PortId, PortId), b: (PortId, PortId)) -> Result<(), Flaw> {
        self.can_swap(a, b).map_err(Flaw::Swap)?;
        let ports = &mut self.0.ports;
        for (near, far) in [(a.0, b.1), (b.0, a.1)] {
            let cable = ports[near.index()].cable;
            ports[near.index()].peer = far;
            ports[far.index()].peer = near;
            ports[far.index()].cable = cable;
        }
        Ok(())
    }

    /// Sets the transports that single workloads use beside the fabric's own.
    pub(crate) fn set_guests(&mut self, guests: Vec<Guest>) {
        self.0.guests = guests;
    }

    /// The fabric as edited.
    pub fn finish(self) -> Fabric {
        Fabric::new(self.0)
    }
}

impl Model {
    /// Why the second ends of two cables cannot be swapped, if they cannot. A cable is given by its
    /// two ports.
    pub(crate) fn can_swap(
        &self,
        a: (PortId, PortId),
        b: (PortId, PortId),
    ) -> Result<(), &'static str> {
        let nic = |port: PortId| self.node_switch(self.ports[port.index()].node).is_none();
        let node = |port: PortId| self.ports[port.index()].node;
        if a == b || a.0 == b.1 {
            return Err("a cable is not swapped with itself");
        }
        if self.cable(a.0).rate != self.cable(b.0).rate {
            return Err("cables of different rates do not fit each other's ports");
        }
        if nic(a.0) && nic(b.1) || nic(b.0) && nic(a.1) {
            return Err("this would plug a NIC into a NIC");
        }
        if node(a.0) == node(b.1) || node(b.0) == node(a.1) {
            return Err("this would plug a node into itself");
        }
        Ok(())
    }
}
