//! Which port of a NIC is which sender, and which of them are up.

use crate::id::{FlowHash, PlaneId};
use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::rules::hash;

/// The planes of all NICs.
#[derive(Debug, Default)]
pub(crate) struct Planes {
    pub(super) nics: u32,
    /// The first of a NIC's further planes, by NIC; empty if no NIC has any.
    pub(super) more: Vec<PlaneId>,
    /// The NIC of each further plane.
    pub(super) homes: Vec<NicId>,
    /// Planes that their NIC takes to be down.
    pub(super) down: Vec<PlaneId>,
}

/// By what a queue pair's port is chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pick {
    /// The hash of a flow.
    Hash(FlowHash),
    /// Queue pairs that do one thing together take the ports in turn.
    Turn(u32),
}

impl Pick {
    /// Which of so many.
    pub(super) fn among(self, count: usize) -> usize {
        match self {
            _ if count < 2 => 0,
            Pick::Hash(hash) => hash::pick_mixed(hash.0, SEED, count),
            Pick::Turn(turn) => turn as usize % count,
        }
    }
}

/// The hash by which NICs choose is none that a switch uses.
pub(super) const SEED: u32 = hash::mixed(hash::seed_of(u32::MAX));

/// The port by which an end of a flow sends when all are up, counted from 0.
pub(crate) fn preferred(ports: usize, hash: FlowHash) -> usize {
    Pick::Hash(hash).among(ports)
}

impl Planes {
    pub(crate) fn of(fabric: &Fabric) -> Self {
        let nics = fabric.nics.len() as u32;
        let mut planes = Self { nics, ..Self::default() };
        if fabric.nics.iter().all(|nic| nic.ports.len() < 2) {
            return planes;
        }
        for (nic, state) in fabric.nics.iter().enumerate() {
            planes.more.push(PlaneId(nics + planes.homes.len() as u32));
            planes.homes.extend(state.ports.clone().skip(1).map(|_| NicId(nic as u32)));
        }
        planes
    }

    /// The plane of a NIC's port, counted from 0 at the NIC.
    pub(crate) fn plane(&self, nic: NicId, port: usize) -> PlaneId {
        match (port as u32).checked_sub(1) {
            None => PlaneId::first_of(nic),
            Some(further) => PlaneId(self.more[nic.index()].0 + further),
        }
    }

    /// The NIC of a plane.
    pub(crate) fn home(&self, plane: PlaneId) -> NicId {
        match plane.0.checked_sub(self.nics) {
            None => NicId(plane.0),
            Some(further) => self.homes[further as usize],
        }
    }

    /// All planes of a NIC.
    pub(crate) fn of_nic(&self, nic: NicId) -> impl Iterator<Item = PlaneId> + use<> {
        let end = self.nics + self.homes.len() as u32;
        let first_further = |nic: usize| self.more.get(nic).map_or(end, |plane| plane.0);
        let further = first_further(nic.index())..first_further(nic.index() + 1);
        std::iter::once(PlaneId::first_of(nic)).chain(further.map(PlaneId))
    }

    pub(super) fn is_up(&self, plane: PlaneId) -> bool {
        !self.down.contains(&plane)
    }

    /// The plane by which a NIC sends the packets of a queue pair.
    pub(crate) fn choose(&self, nic: NicId, pick: Pick) -> PlaneId {
        let count = self.of_nic(nic).count();
        let first = self.plane(nic, pick.among(count));
        if count < 2 || self.is_up(first) {
            return first;
        }
        let up: Vec<PlaneId> = self.of_nic(nic).filter(|&plane| self.is_up(plane)).collect();
        up.get(pick.among(up.len())).copied().unwrap_or(first)
    }

    /// A NIC hears how a plane is. Whether that is news, and of any use.
    pub(super) fn hear(&mut self, plane: PlaneId, is_down: bool) -> bool {
        if self.is_up(plane) != is_down || self.of_nic(self.home(plane)).count() < 2 {
            return false;
        }
        if is_down {
            self.down.push(plane);
        } else {
            self.down.retain(|&other| other != plane);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(ports: [u32; 3]) -> Fabric {
        let mut text = "[fabric]\nkind = 'custom'\nleaf = 'ideal'\n".to_owned();
        for name in ["s", "t", "u"] {
            text += &format!("[[node]]\nname = '{name}'\nkind = 'switch'\n");
        }
        text += "[[link]]\nends = 's t'\n[[link]]\nends = 't u'\n";
        for (nic, count) in ports.into_iter().enumerate() {
            text += &format!("[[node]]\nname = 'n{nic}'\nkind = 'nic'\n");
            for switch in ["s", "t", "u"].into_iter().take(count as usize) {
                text += &format!("[[link]]\nends = 'n{nic} {switch}'\n");
            }
        }
        Fabric::from_toml(&text).unwrap_or_else(|errors| panic!("{errors:#?}"))
    }

    #[test]
    fn planes_are_numbered_behind_the_nics() {
        let planes = Planes::of(&fabric([2, 1, 3]));
        let of = |nic| planes.of_nic(NicId(nic)).map(|plane| plane.0).collect::<Vec<_>>();
        assert_eq!((of(0), of(1), of(2)), (vec![0, 3], vec![1], vec![2, 4, 5]));
        assert_eq!(
            (0..6).map(|plane| planes.home(PlaneId(plane)).0).collect::<Vec<_>>(),
            [0, 1, 2, 0, 2, 2]
        );
        let plane = |nic, port| planes.plane(NicId(nic), port).0;
        assert_eq!((plane(2, 0), plane(2, 2), plane(0, 1)), (2, 5, 3));
        let single = Planes::of(&fabric([1, 1, 1]));
        let (nic, only) = (NicId(2), PlaneId(2));
        assert_eq!(single.of_nic(nic).collect::<Vec<_>>(), [only]);
        assert_eq!(single.choose(nic, Pick::Hash(FlowHash(12_345))), only);
        assert_eq!(single.choose(nic, Pick::Turn(1)), only);
    }

    #[test]
    fn flows_spread_and_move_to_what_is_up() {
        let mut planes = Planes::of(&fabric([2, 1, 3]));
        let share = |planes: &Planes, plane| {
            let pick = |n: u32| Pick::Hash(FlowHash(n.wrapping_mul(0x9e37_79b9)));
            (0..3000).filter(|&n| planes.choose(NicId(2), pick(n)) == PlaneId(plane)).count()
        };
        for plane in [2, 4, 5] {
            assert!((900..1100).contains(&share(&planes, plane)), "{}", share(&planes, plane));
        }
        assert!(planes.hear(PlaneId(4), true) && !planes.hear(PlaneId(4), true));
        assert_eq!(share(&planes, 4), 0);
        assert!(planes.hear(PlaneId(2), true));
        assert_eq!(share(&planes, 5), 3000);
        // With nothing up a flow stays where it would be.
        assert!(planes.hear(PlaneId(5), true));
        assert!(share(&planes, 2) > 900 && share(&planes, 5) > 900);
        assert!(planes.hear(PlaneId(4), false));
        assert_eq!(share(&planes, 4), 3000);
        assert!(!planes.hear(PlaneId(1), true), "a NIC with one port has no choice");
        // In turn, over what is up.
        let turns =
            |planes: &Planes| [0, 1, 2, 3].map(|turn| planes.choose(NicId(2), Pick::Turn(turn)).0);
        assert_eq!(turns(&planes), [4; 4]);
        assert!(planes.hear(PlaneId(2), false));
        // The third would take plane 5, which is down: its turn among the two that are up is the first.
        assert_eq!(turns(&planes), [2, 4, 2, 2]);
        assert!(planes.hear(PlaneId(5), false));
        assert_eq!(turns(&planes), [2, 4, 5, 2]);
    }
}
