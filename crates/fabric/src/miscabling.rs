//! Cables that were plugged into the wrong ports.

use crate::model::{Fabric, PortId};
use crate::names::Names;
use crate::scenario::{Fault, Scenario};

impl Fabric {
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

    /// Swaps the second ends of two cables.
    fn swap(&mut self, a: (PortId, PortId), b: (PortId, PortId)) {
        for (near, far) in [(a.0, b.1), (b.0, a.1)] {
            let cable = self.ports[near.index()].cable;
            self.ports[near.index()].peer = far;
            self.ports[far.index()].peer = near;
            self.ports[far.index()].cable = cable;
        }
    }

    /// The fabric as it was really cabled, by the `miscabling` faults of a scenario that has been
    /// checked.
    pub(crate) fn miscabled(mut self, scenario: &Scenario) -> Fabric {
        for fault in &scenario.faults {
            let Fault::Miscabling(fault) = fault else { continue };
            let names = Names::of(&self);
            let [a, b] = fault.links.each_ref().map(|link| names.cable_ends(link));
            if let (Ok(a), Ok(b)) = (a, b)
                && self.can_swap(a, b).is_ok()
            {
                self.swap(a, b);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_scenario;
    use crate::model::NodeId;

    const POD: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n";

    fn swapped(links: &str) -> Result<Fabric, String> {
        let text = format!("fabric = 'a.toml'\n[[fault]]\nkind = 'miscabling'\nlinks = {links}\n");
        let loaded = load_scenario(&text, POD);
        let found: Vec<String> = loaded.diagnostics.iter().map(|d| d.to_string()).collect();
        loaded.value.map(|value| value.setup.fabric).ok_or(found.join("\n"))
    }

    #[test]
    fn two_rails_are_swapped() {
        let straight = Fabric::from_toml(POD).unwrap();
        let fabric = swapped("['server0-nic0 leaf0', 'server0-nic1 leaf1']").unwrap();
        let leaf_of = |fabric: &Fabric, nic: usize| {
            let port = &fabric.ports[fabric.nics[nic].ports.start as usize];
            fabric.node_name(fabric.ports[port.peer.index()].node).to_owned()
        };
        assert_eq!(
            (leaf_of(&straight, 0), leaf_of(&straight, 1)),
            ("leaf0".into(), "leaf1".into())
        );
        assert_eq!((leaf_of(&fabric, 0), leaf_of(&fabric, 1)), ("leaf1".into(), "leaf0".into()));
        for (id, port) in fabric.ports.iter().enumerate() {
            let peer = &fabric.ports[port.peer.index()];
            assert_eq!(peer.peer, PortId(id as u32));
            assert_eq!(peer.cable, port.cable);
            assert_ne!(port.node, peer.node);
            let own = &straight.ports[id];
            assert_eq!((port.node, &port.classes), (own.node, &own.classes));
        }
        assert_eq!(fabric.ports[0].node, NodeId(0));
    }

    #[test]
    fn impossible_swaps_are_refused() {
        for (links, why) in [
            ("['server0-nic0 leaf0', 'leaf1 server0-nic1']", "a NIC into a NIC"),
            ("['server0-nic0 leaf0', 'server0-nic0 leaf0']", "with itself"),
            ("['server0-nic0 leaf0', 'leaf0 server0-nic0']", "with itself"),
            ("['server0-nic0 leaf0', 'server0-nic9 leaf1']", "server0-nic"),
            ("['server0-nic0 leaf0', 'leaf0 spine0']", "different rates"),
            ("['server0-nic0 leaf0', 'leaf0']", "two nodes"),
        ] {
            let found = swapped(links).unwrap_err();
            assert!(found.contains(why), "{links}: {found}");
        }
    }
}
