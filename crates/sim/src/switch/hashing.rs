//! What switches hash of a packet's header, where not all of them hash the same fields.
//!
//! Mostly all switches hash the same fields: then a packet carries that hash ([`Packet::entropy`]), and each switch
//! adds its seed. Where tiers hash different fields a packet carries the number of a row instead, in which
//! the hash of each set of fields stands, and a switch looks up its own. Packets that follow a
//! [trail](crate::switch::trail) need neither.
//!
//! [`Packet::entropy`]: crate::switch::packet::Packet::entropy

use crate::id::{Entropy, FlowHash};
use xoff_fabric::model::{Balancing, Fabric, HashFields, NicId, SwitchId};
use xoff_fabric::rules::hash;

/// Sets of fields that there can be.
const MOST: usize = 8;

/// What the fields of a packet give, set by set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hashes([FlowHash; MOST]);

impl Hashes {
    /// All of them.
    pub(crate) fn words(&self) -> impl Iterator<Item = u64> + use<> {
        self.0.map(|hash| hash.0.into()).into_iter()
    }
}

/// The fields that each switch hashes, and the hashes of packets where that differs.
#[derive(Debug, Clone)]
pub(crate) struct Hashing {
    /// The sets of fields in use, the first switch's first.
    sets: Vec<HashFields>,
    /// The set of each switch; empty where there is one.
    set_of: Vec<u8>,
    /// Hash by hash, where there are several sets: a row for each.
    rows: Vec<FlowHash>,
}

impl Hashing {
    /// How the switches of a fabric hash. Where senders choose the entropy of every packet that is
    /// all that counts, and fields do not.
    pub(crate) fn of(fabric: &Fabric) -> Self {
        let plain = HashFields { addresses: true, source_port: true, dest_qp: false };
        let first = fabric.switches.first().map_or(plain, |switch| switch.hash.fields);
        let mut hashing = Self { sets: vec![first], set_of: Vec::new(), rows: Vec::new() };
        let recycles = fabric.switches.iter().any(|s| s.balancing == Balancing::Recycled);
        if recycles || fabric.switches.iter().all(|switch| switch.hash.fields == first) {
            return hashing;
        }
        for switch in &fabric.switches {
            let known = hashing.sets.iter().position(|set| *set == switch.hash.fields);
            hashing.set_of.push(known.unwrap_or(hashing.sets.len()) as u8);
            if known.is_none() {
                hashing.sets.push(switch.hash.fields);
            }
        }
        hashing
    }

    /// The hashes of a packet's fields. Addresses stand for the NICs' numbers.
    pub(crate) fn hashes(&self, from: NicId, to: NicId, source_port: u16, dest_qp: u32) -> Hashes {
        let mut hashes = Hashes::default();
        for (hash, &fields) in hashes.0.iter_mut().zip(&self.sets) {
            *hash = FlowHash(hash::flow_entropy(fields, from.0, to.0, source_port, dest_qp));
        }
        hashes
    }

    /// What packets with these hashes carry.
    pub(crate) fn entropy(&mut self, hashes: &Hashes) -> Entropy {
        if self.set_of.is_empty() {
            return Entropy(hashes.0[0].0);
        }
        let row = self.rows.len() / self.sets.len();
        self.rows.extend(&hashes.0[..self.sets.len()]);
        Entropy(row as u32)
    }

    /// Whether packets carry the number of a row, which are added as queue pairs are opened.
    pub(crate) fn has_rows(&self) -> bool {
        !self.set_of.is_empty()
    }

    /// The hash that a switch makes of a packet.
    #[inline(always)]
    pub(crate) fn at(&self, switch: SwitchId, entropy: Entropy) -> FlowHash {
        match self.set_of.is_empty() {
            true => FlowHash(entropy.0),
            false => self.look_up(switch, entropy),
        }
    }

    #[inline(never)]
    fn look_up(&self, switch: SwitchId, entropy: Entropy) -> FlowHash {
        let set = usize::from(self.set_of[switch.index()]);
        self.rows[entropy.0 as usize * self.sets.len() + set]
    }

    /// The hash that a switch makes of a packet with these hashes.
    pub(crate) fn at_switch(&self, switch: SwitchId, hashes: &Hashes) -> FlowHash {
        let set = self.set_of.get(switch.index()).copied().unwrap_or(0);
        hashes.0[usize::from(set)]
    }

    /// The hash by which a NIC chooses among its ports.
    pub(crate) fn at_nic(&self, entropy: Entropy) -> FlowHash {
        match self.set_of.is_empty() {
            true => FlowHash(entropy.0),
            false => self.rows[entropy.0 as usize * self.sets.len()],
        }
    }

    /// The same of hashes.
    pub(crate) fn of_nic(hashes: &Hashes) -> FlowHash {
        hashes.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(more: &str) -> Fabric {
        let text = format!(
            "[cluster]\nhosts = 8\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\n\
             leaf = 'trident-3'\nhosts-per-leaf = 4\nspines = 4\n{more}"
        );
        Fabric::from_toml(&text).expect("a sound fabric")
    }

    #[test]
    fn each_switch_hashes_its_own_fields() {
        let fabric = fabric("[switch.spine.hash]\nfields = ['addresses']\n");
        let mut hashing = Hashing::of(&fabric);
        let spine = SwitchId(fabric.switches.len() as u32 - 1);
        let leaf = SwitchId(0);
        let [one, two] = [0xc000, 0xc001].map(|port| hashing.hashes(NicId(1), NicId(2), port, 7));
        let [a, b] = [one, two].map(|hashes| hashing.entropy(&hashes));
        assert_ne!(hashing.at(leaf, a), hashing.at(leaf, b), "leaves hash the source port");
        assert_eq!(hashing.at(spine, a), hashing.at(spine, b), "spines do not");
        for (entropy, hashes) in [(a, one), (b, two)] {
            for switch in [leaf, spine] {
                let same = hashing.at_switch(switch, &hashes);
                assert_eq!(hashing.at(switch, entropy), same);
            }
            assert_eq!(hashing.at_nic(entropy), Hashing::of_nic(&hashes));
        }
    }

    #[test]
    fn where_all_hash_alike_packets_carry_the_hash() {
        let fabric = fabric("");
        let mut hashing = Hashing::of(&fabric);
        let fields = fabric.switches[0].hash.fields;
        let hashes = hashing.hashes(NicId(1), NicId(2), 0xc003, 9);
        let entropy = hashing.entropy(&hashes);
        assert_eq!(entropy.0, hash::flow_entropy(fields, 1, 2, 0xc003, 9));
        let hash = FlowHash(entropy.0);
        assert_eq!((hashing.at(SwitchId(3), entropy), hashing.at_nic(entropy)), (hash, hash));
    }
}
