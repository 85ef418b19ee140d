//! Workers and links of each algorithm.

use super::link::Way;
use super::machine::Machine;
use super::part::{Effect, LOCAL, MAIN, Op, Part, Place};
use super::path::Path;
use super::tree;
use crate::layout::{Layout, RankId};

/// Ring collectives: one worker per rank and channel.
pub(super) fn rings(
    machine: &mut Machine,
    layout: &Layout,
    channels: u32,
    part: impl Fn(Place) -> Part,
) {
    let of = layout.ranks();
    for channel in 0..channels {
        let path = Path::new(layout, channel, None);
        let ranks: Vec<_> = path.ranks().collect();
        let first = machine.workers.len() as u32;
        for (&(_, rank), at) in ranks.iter().zip(0..) {
            machine.worker(layout.seat(rank).gpu, channel, part(Place { at, of }));
        }
        for at in 0..of {
            let next = (at + 1) % of;
            let queue = queue(machine, channel, 0);
            let way = path.way(layout, ranks[at as usize], ranks[next as usize], queue);
            machine.link((first + at, 0), (first + next, 0), way);
        }
    }
}

/// Broadcast along a chain that begins at the root.
pub(super) fn chains(machine: &mut Machine, layout: &Layout, channels: u32, root: RankId) {
    for channel in 0..channels {
        let path = Path::new(layout, channel, Some(root));
        let ranks: Vec<_> = path.ranks().collect();
        let first = machine.workers.len() as u32;
        for (at, &(_, rank)) in ranks.iter().enumerate() {
            let takes = if at == 0 { 0 } else { MAIN };
            let gives = if at + 1 == ranks.len() { 0 } else { MAIN };
            let part = Part::Same(pass(takes, gives));
            machine.worker(layout.seat(rank).gpu, channel, part);
        }
        for (pair, at) in ranks.windows(2).zip(first..) {
            let queue = queue(machine, channel, 0);
            machine.link((at, 0), (at + 1, 0), path.way(layout, pair[0], pair[1], queue));
        }
    }
}

/// Reduce along a ring that is cut after the root: every server is entered at the channel's NIC, that of the root, too.
pub(super) fn sums(machine: &mut Machine, layout: &Layout, channels: u32, root: RankId) {
    for channel in 0..channels {
        let path = Path::new(layout, channel, None);
        let mut ranks: Vec<_> = path.ranks().collect();
        let place = ranks.iter().position(|&(_, rank)| rank == root).unwrap_or(0);
        ranks.rotate_left(place + 1);
        let first = machine.workers.len() as u32;
        for (at, &(_, rank)) in ranks.iter().enumerate() {
            let last = at + 1 == ranks.len();
            let (takes, effect) = if at == 0 { (0, Effect::Own) } else { (MAIN, Effect::Combine) };
            let gives = if last { 0 } else { MAIN };
            let op = Op { takes, gives, chunk: 0, effect, keeps: last };
            machine.worker(layout.seat(rank).gpu, channel, Part::Same(op));
        }
        for (pair, at) in ranks.windows(2).zip(first..) {
            let queue = queue(machine, channel, 0);
            machine.link((at, 0), (at + 1, 0), path.way(layout, pair[0], pair[1], queue));
        }
    }
}

/// Hands on what came in, or the own data where nothing comes in.
fn pass(takes: u8, gives: u8) -> Op {
    let effect = if takes == 0 { Effect::Own } else { Effect::Forward };
    Op { takes, gives, chunk: 0, effect, keeps: true }
}

/// The tree of one channel over all ranks: in every server a chain, the heads of the chains in a
/// binary tree.
struct Tree {
    path: Path,
    /// Rank by rank along the path: parent and children as places on it.
    parent: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    ranks: Vec<(usize, RankId)>,
}

impl Tree {
    fn new(layout: &Layout, channel: u32, second: bool, root: Option<RankId>) -> Self {
        let path = Path::new(layout, channel, root);
        let ranks: Vec<_> = path.ranks().collect();
        let count = path.stops.len();
        let branches = tree::branches(count as u32, second, root.is_some());
        // The head of a server is the rank that owns the channel's NIC. Only a root may stand
        // before it, and has it next.
        let mut parent = vec![None; ranks.len()];
        let mut heads = vec![0; count];
        let mut begin = 0;
        for (stop, entry) in path.stops.iter().enumerate() {
            let chain = begin..begin + entry.ranks.len();
            let head = chain.clone().find(|&at| ranks[at].1 == entry.port).unwrap_or(begin);
            heads[stop] = head;
            let mut last = head;
            if head != begin {
                parent[head] = Some(begin);
            }
            for at in chain.filter(|&at| at != head && (at != begin || head == begin)) {
                parent[at] = Some(last);
                last = at;
            }
            begin += entry.ranks.len();
        }
        for (stop, branch) in branches.iter().enumerate() {
            if let Some(up) = branch.parent {
                parent[heads[stop]] = Some(heads[up as usize]);
            }
        }
        let mut children = vec![Vec::new(); ranks.len()];
        for (at, up) in parent.iter().enumerate() {
            up.iter().for_each(|&up| children[up].push(at));
        }
        Self { path, parent, children, ranks }
    }

    /// Workers that pass everything down from the root, and their links.
    fn down(&self, machine: &mut Machine, layout: &Layout, channel: u32, workers: &[u32]) {
        for (at, children) in self.children.iter().enumerate() {
            for (out, &child) in children.iter().enumerate() {
                let queue = queue(machine, channel, 1);
                let way = self.path.way(layout, self.ranks[at], self.ranks[child], queue);
                machine.link((workers[at], out), (workers[child], 0), way);
            }
        }
    }

    fn all_children(&self, at: usize) -> u8 {
        (1 << self.children[at].len()) - 1
    }
}

/// AllReduce up and down two trees. Every rank has a worker for each direction; the root's two are
/// one.
pub(super) fn trees(machine: &mut Machine, layout: &Layout, channels: u32) {
    for channel in 0..channels {
        let tree = Tree::new(layout, channel, is_second(channel, channels), None);
        let mut up = Vec::with_capacity(tree.ranks.len());
        let mut down = Vec::with_capacity(tree.ranks.len());
        for (at, &(_, rank)) in tree.ranks.iter().enumerate() {
            let gpu = layout.seat(rank).gpu;
            let children = tree.all_children(at);
            let effect = if children == 0 { Effect::Own } else { Effect::Combine };
            let root = tree.parent[at].is_none();
            let gives = if root { children } else { MAIN };
            let op = Op { takes: children, gives, chunk: 0, effect, keeps: root };
            up.push(machine.worker(gpu, channel, Part::Same(op)));
            down.push(match root {
                true => up[at],
                false => machine.worker(gpu, channel, Part::Same(pass(MAIN, children))),
            });
        }
        for (at, children) in tree.children.iter().enumerate() {
            for (into, &child) in children.iter().enumerate() {
                let queue = queue(machine, channel, 0);
                let way = tree.path.way(layout, tree.ranks[child], tree.ranks[at], queue);
                machine.link((up[child], 0), (up[at], into), way);
            }
        }
        tree.down(machine, layout, channel, &down);
    }
}

/// Broadcast down two trees that share their root.
pub(super) fn broadcast_trees(machine: &mut Machine, layout: &Layout, channels: u32, root: RankId) {
    for channel in 0..channels {
        let tree = Tree::new(layout, channel, is_second(channel, channels), Some(root));
        let worker = |machine: &mut Machine, at: usize, rank: RankId| {
            let takes = if tree.parent[at].is_none() { 0 } else { MAIN };
            let part = Part::Same(pass(takes, tree.all_children(at)));
            machine.worker(layout.seat(rank).gpu, channel, part)
        };
        let workers: Vec<u32> =
            tree.ranks.iter().enumerate().map(|(at, r)| worker(machine, at, r.1)).collect();
        tree.down(machine, layout, channel, &workers);
    }
}

/// The second half of the channels goes by the second tree.
pub(super) fn is_second(channel: u32, channels: u32) -> bool {
    channel >= channels.div_ceil(2)
}

/// AllReduce in three stages that run at once: ReduceScatter in the server, AllReduce along every
/// rail, AllGather in the server. `columns` is the number of ranks in every server.
pub(super) fn rails(machine: &mut Machine, layout: &Layout, channels: u32, columns: u32) {
    let rows = layout.domains().len() as u32;
    for channel in 0..channels {
        let first = machine.workers.len() as u32;
        for (ranks, at) in layout.domains().iter().zip(0..) {
            let row = Place { at, of: rows };
            for (&rank, at) in ranks.iter().zip(0..) {
                let column = Place { at, of: columns };
                let gpu = layout.seat(rank).gpu;
                for part in [
                    Part::Scatter { column, row },
                    Part::Rail { column, row },
                    Part::Gather { column, row },
                ] {
                    machine.worker(gpu, channel, part);
                }
            }
        }
        let worker =
            |row: u32, column: u32, stage: u32| first + (row * columns + column) * 3 + stage;
        for row in 0..rows {
            for column in 0..columns {
                let [scatter, rail, gather] = [0, 1, 2].map(|stage| worker(row, column, stage));
                let seat = |row: u32, column: u32| {
                    layout.seat(layout.domains()[row as usize][column as usize])
                };
                let local = LOCAL.ilog2() as usize;
                machine.link((scatter, local), (rail, local), Way::Local);
                machine.link((rail, local), (gather, local), Way::Local);
                if columns > 1 {
                    let next = (column + 1) % columns;
                    let way = Way::Nvlink { from: seat(row, column).gpu, to: seat(row, next).gpu };
                    machine.link((scatter, 0), (worker(row, next, 0), 0), way);
                    machine.link((gather, 0), (worker(row, next, 2), 0), way);
                }
                if rows > 1 {
                    let next = (row + 1) % rows;
                    let (from, to) = (seat(row, column).nic, seat(next, column).nic);
                    let queue = queue(machine, channel, column);
                    let way = Way::Network { from, to, queue, relay: None };
                    machine.link((rail, 0), (worker(next, column, 1), 0), way);
                }
            }
        }
    }
}

/// The first queue of a link between two NICs, apart from those of other channels and of other
/// links of the channel between the same NICs.
fn queue(machine: &Machine, channel: u32, lane: u32) -> u32 {
    let lanes = machine.lanes;
    (channel * lanes + lane) * machine.terms.queues
}
