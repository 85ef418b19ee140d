//! Cables that were plugged into the wrong ports.

use crate::model::Overlay;
use crate::names::Names;
use crate::scenario::{Fault, Miscabling, Scenario};

/// The cables that a scenario plugs into the wrong ports.
pub(crate) fn of(scenario: &Scenario) -> Vec<Miscabling> {
    let swaps = scenario.faults.iter().filter_map(|fault| match fault {
        Fault::Miscabling(swap) => Some(swap.clone()),
        _ => None,
    });
    swaps.collect()
}

/// Plugs cables as they really are. What cannot be swapped is in the diagnostics of the scenario's
/// check, and stays as it is.
pub(crate) fn apply(overlay: &mut Overlay, swaps: &[Miscabling]) {
    for fault in swaps {
        let names = Names::of(overlay);
        let [a, b] = fault.links.each_ref().map(|link| names.cable_ends(link));
        if let (Ok(a), Ok(b)) = (a, b) {
            // The check has reported a refusal already.
            let _ = overlay.swap(a, b);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::load_scenario;
    use crate::model::{Fabric, NodeId, PortId};

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
