//! [`Groups`]: the trees of switches that add up for a job.
//!
//! A job has a group for every rail, more exactly for every place of a rank in its server. The tree of a group
//! has as its root the switch with the shortest ways to all leaves of the group; where several are as near, groups take
//! them in turn. Switches on the ways that have more than one child in the tree are its other nodes; what has one
//! child would add nothing up and is left out, and so are switches that only forward.
//!
//! A job holds its groups from its start to its end, whatever it does in between, as jobs of SHARP do.

use crate::layout::{Layout, RankId};
use std::collections::{BTreeMap, VecDeque};
use xoff_fabric::model::{Fabric, NicId, PortId, SwitchId};
use xoff_units::{Bytes, Span};

/// The trees of switches that add up for a job, one for every place of a rank in its server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    pub(super) groups: Vec<Group>,
    /// Slots that every switch of the trees has for a group.
    pub slots: u32,
    /// Bytes that fit into a slot of every one.
    pub piece: Bytes,
    /// From the death of a switch of the trees to the job going on by rings.
    pub fallback: Span,
}

/// One tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) nodes: Vec<Place>,
    /// By server: the node that its NIC sends to.
    pub(super) members: Vec<u32>,
}

/// A switch of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) switch: SwitchId,
    pub(super) nic: NicId,
    pub(super) parent: Option<u32>,
}

/// Why switches do not add up for a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Servers with different numbers of ranks have no shares to add up.
    #[error("in-network aggregation needs as many ranks in every server")]
    Uneven,
    /// No switch on the ways between the ranks adds up.
    #[error("no switch between the servers of the job adds up data")]
    NoSwitch,
    /// All groups of a switch are in use.
    #[error("`{switch}` serves {groups} groups already, and has no more")]
    NoGroup {
        /// The switch.
        switch: String,
        /// What it has.
        groups: u32,
    },
}

/// The groups of all switches that are in use.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    used: BTreeMap<SwitchId, u32>,
    /// Groups ever given out: roots are taken in turn.
    given: usize,
}

impl Ledger {
    /// The trees of a job, whose groups are in use from now on; none are if it cannot have all.
    pub fn allot(&mut self, fabric: &Fabric, layout: &Layout) -> Result<Groups, Refusal> {
        let columns = layout.ranks_per_domain().ok_or(Refusal::Uneven)?;
        let graph = Graph::new(fabric);
        let mut after = self.clone();
        let mut groups = Vec::with_capacity(columns as usize);
        for column in 0..columns as usize {
            let ranks = layout.domains().iter().map(|ranks| ranks[column]);
            let nics: Vec<NicId> = ranks.map(|rank: RankId| layout.seat(rank).nic).collect();
            let group = graph.group(&nics, after.given).ok_or(Refusal::NoSwitch)?;
            after.given += 1;
            for place in &group.nodes {
                after.take(fabric, place.switch)?;
            }
            groups.push(group);
        }
        *self = after;
        let places = groups.iter().flat_map(|group| &group.nodes);
        let all = places.filter_map(|place| fabric.switches[place.switch.index()].aggregation);
        Ok(Groups {
            slots: all.clone().map(|one| one.slots).min().unwrap_or(2),
            piece: all.clone().map(|one| one.piece).min().unwrap_or(Bytes::new(1)),
            fallback: all.map(|one| one.fallback).max().unwrap_or(Span::ZERO),
            groups,
        })
    }

    fn take(&mut self, fabric: &Fabric, id: SwitchId) -> Result<(), Refusal> {
        let switch = &fabric.switches[id.index()];
        let groups = switch.aggregation.map_or(0, |aggregation| aggregation.groups);
        let used = self.used.entry(id).or_default();
        if *used >= groups {
            return Err(Refusal::NoGroup { switch: switch.name.clone(), groups });
        }
        *used += 1;
        Ok(())
    }
}

impl Groups {
    /// All switches of the trees, in their order.
    pub fn switches(&self) -> Vec<SwitchId> {
        let places = self.groups.iter().flat_map(|group| &group.nodes);
        let mut switches: Vec<SwitchId> = places.map(|place| place.switch).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    }

    /// Queue pairs between a member and the root of its tree, on the longest way.
    pub fn depth(&self) -> u32 {
        let depths = self.groups.iter().flat_map(|group| {
            group.members.iter().map(|&at| {
                let up = |&at: &u32| group.nodes[at as usize].parent;
                std::iter::successors(Some(at), up).count() as u32
            })
        });
        depths.max().unwrap_or(0)
    }
}

/// Which switches are next to each other, and which add up.
struct Graph<'a> {
    fabric: &'a Fabric,
    next: Vec<Vec<u32>>,
    /// The aggregation node of each switch.
    nodes: Vec<Option<NicId>>,
}

impl<'a> Graph<'a> {
    fn new(fabric: &'a Fabric) -> Self {
        let mut next = vec![Vec::new(); fabric.switches.len()];
        for port in &fabric.ports {
            let peer = fabric.ports[port.peer.index()].node;
            let ends = (fabric.node_switch(port.node), fabric.node_switch(peer));
            if let (Some(this), Some(other)) = ends {
                next[this.index()].push(other.0);
            }
        }
        next.iter_mut().for_each(|all: &mut Vec<u32>| {
            all.sort_unstable();
            all.dedup();
        });
        let mut nodes = vec![None; fabric.switches.len()];
        for (nic, id) in fabric.nics.iter().zip(0..) {
            if let Some(switch) = nic.aggregates {
                nodes[switch.index()] = Some(NicId(id));
            }
        }
        Self { fabric, next, nodes }
    }

    /// The switch that a NIC is plugged into, by its first port.
    fn leaf(&self, nic: NicId) -> Option<u32> {
        let port = PortId(self.fabric.nics[nic.index()].ports.start);
        let peer = self.fabric.ports[port.index()].peer;
        self.fabric.node_switch(self.fabric.ports[peer.index()].node).map(|switch| switch.0)
    }

    /// How far every switch is from one of them.
    fn distances(&self, root: u32) -> Vec<u32> {
        let mut far = vec![u32::MAX; self.next.len()];
        far[root as usize] = 0;
        let mut queue = VecDeque::from([root]);
        while let Some(at) = queue.pop_front() {
            for &next in &self.next[at as usize] {
                if far[next as usize] == u32::MAX {
                    far[next as usize] = far[at as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        far
    }

    /// The tree over these NICs; `turn` chooses among what is as near.
    fn group(&self, nics: &[NicId], turn: usize) -> Option<Group> {
        let leaves: Option<Vec<u32>> = nics.iter().map(|&nic| self.leaf(nic)).collect();
        let leaves = leaves?;
        let able = (0..self.next.len() as u32).filter(|&at| self.nodes[at as usize].is_some());
        let reach = |root: u32| {
            let far = self.distances(root);
            let ways = leaves.iter().map(|&leaf| far[leaf as usize]);
            let most = ways.clone().max().filter(|&most| most < u32::MAX)?;
            Some(((most, ways.map(u64::from).sum::<u64>()), root))
        };
        let reaches: Vec<((u32, u64), u32)> = able.filter_map(reach).collect();
        let best = reaches.iter().map(|(cost, _)| *cost).min()?;
        let near: Vec<u32> =
            reaches.iter().filter(|(cost, _)| *cost == best).map(|&(_, root)| root).collect();
        let root = near[turn % near.len()];
        Some(self.tree(root, &leaves, turn))
    }

    /// The tree of the ways from the leaves to a root.
    fn tree(&self, root: u32, leaves: &[u32], turn: usize) -> Group {
        let far = self.distances(root);
        // Towards the root by one of the switches that are nearer; leaves with the same neighbours meet.
        let up = |at: u32| {
            let nearer = |&&next: &&u32| far[next as usize] < far[at as usize];
            let all: Vec<u32> = self.next[at as usize].iter().filter(nearer).copied().collect();
            (!all.is_empty()).then(|| all[turn % all.len()])
        };
        let adds = |at: u32| self.nodes[at as usize].is_some();
        let above = |at: u32| std::iter::successors(up(at), |&at| up(at)).find(|&at| adds(at));
        let at_leaf = |leaf: u32| if adds(leaf) { Some(leaf) } else { above(leaf) };
        let mut children: BTreeMap<u32, u32> = BTreeMap::new();
        let mut parents: BTreeMap<u32, Option<u32>> = BTreeMap::new();
        for &leaf in leaves {
            let mut at = at_leaf(leaf);
            at.iter().for_each(|&at| *children.entry(at).or_default() += 1);
            while let Some(this) = at {
                if parents.contains_key(&this) {
                    break;
                }
                at = above(this);
                parents.insert(this, at);
                at.iter().for_each(|&up| *children.entry(up).or_default() += 1);
            }
        }
        Self::pruned(&parents, &children, leaves.iter().filter_map(|&leaf| at_leaf(leaf)))
            .into_group(&self.nodes)
    }

    /// Leaves out what has one child: that one goes to the next above, or is the root itself.
    fn pruned(
        parents: &BTreeMap<u32, Option<u32>>,
        children: &BTreeMap<u32, u32>,
        members: impl Iterator<Item = u32>,
    ) -> Pruned {
        let kept = |at: &u32| children.get(at).is_some_and(|&count| count > 1);
        let up = |at: &u32| parents.get(at).copied().flatten();
        let settle = |at: u32| std::iter::successors(Some(at), up).find(kept);
        let mut switches: Vec<u32> = parents.keys().copied().filter(kept).collect();
        let members: Vec<u32> = members.collect();
        // One member alone: nothing is added up, and it still needs a node to answer it.
        if switches.is_empty() {
            switches.extend(members.first());
        }
        let only = switches[0];
        let parents = switches.iter().map(|at| up(at).and_then(settle)).collect();
        let members = members.iter().map(|&at| settle(at).unwrap_or(only)).collect();
        Pruned { switches, parents, members }
    }
}

/// A tree by switches.
struct Pruned {
    switches: Vec<u32>,
    parents: Vec<Option<u32>>,
    members: Vec<u32>,
}

impl Pruned {
    fn into_group(self, nodes: &[Option<NicId>]) -> Group {
        let number = |switch: u32| self.switches.partition_point(|&at| at < switch) as u32;
        let place = |(&switch, parent): (&u32, &Option<u32>)| Place {
            switch: SwitchId(switch),
            nic: nodes[switch as usize].unwrap_or(NicId(u32::MAX)),
            parent: parent.map(number),
        };
        Group {
            nodes: self.switches.iter().zip(&self.parents).map(place).collect(),
            members: self.members.iter().map(|&at| number(at)).collect(),
        }
    }
}
