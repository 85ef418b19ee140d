//! [`Layout`]: what of a fabric decides which experiments make sense on it.

use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::route::Routes;

/// What decides which experiments make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Servers have several NICs, on different switches.
    pub(crate) has_rails: bool,
    /// All servers have as many NICs, and there are two or more servers.
    pub(crate) alike: bool,
    /// NICs of different rails reach each other over the fabric (in a rail-only one they do not).
    pub(crate) crosses_rails: bool,
}

impl Layout {
    /// Of a fabric.
    pub(crate) fn of(fabric: &Fabric) -> Self {
        let leaf = |nic: u32| {
            let port = fabric.nics[nic as usize].ports.start as usize;
            fabric.ports.get(port).map(|port| fabric.ports[port.peer.index()].node)
        };
        let spread = |server: &xoff_fabric::model::Server| {
            let mut own = server.nics.clone();
            let first = own.next().and_then(leaf);
            own.any(|nic| leaf(nic) != first)
        };
        let has_rails = fabric.servers.iter().any(spread);
        // The last NIC is on the last rail of the last server.
        let last = fabric.nics.len().saturating_sub(1) as u32;
        let crosses_rails = last > 0 && {
            let routes = Routes::towards(fabric, &[NicId(last)]);
            routes.shortest_path(fabric, NicId(0), NicId(last)).is_some()
        };
        let nics = |server: &xoff_fabric::model::Server| server.nics.len();
        let alike = fabric.servers.len() > 1
            && fabric.servers.windows(2).all(|pair| nics(&pair[0]) == nics(&pair[1]));
        Self { has_rails, alike, crosses_rails }
    }
}
