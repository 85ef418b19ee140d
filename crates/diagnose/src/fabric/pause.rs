//! Pauses, followed from what suffers to what causes them.
//!
//! A port that is paused waits for the device it leads to. That device pauses because one of its own ports does not get
//! rid of packets: that port is paused, too, and the way goes on from there; or it is not, and is the root. A NIC that
//! pauses is a root by itself.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene, gpu, usually};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::PortId;
use xoff_telemetry::Metric;

/// A port that was paused for a smaller share of every step is not worth following.
const HELD: f64 = 0.02;
/// NICs hardly ever pause: of a port that leads to one less is worth it, too.
const HELD_BY_NIC: f64 = 0.0005;
/// A port that was paused for so much of a step and was not let go on once is the victim of a storm: a slow receiver resumes
/// again and again.
const STORM: f64 = 0.8;
/// A NIC pauses more than usual when it does so for so many times as long.
const UNUSUAL: f64 = 3.0;

/// Where pauses come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Root {
    /// A NIC pauses the switch's port that leads to it.
    Nic(PortId),
    /// A switch's port that is not paused itself and holds up others.
    Port(PortId),
    /// These ports wait for each other.
    Ring(Vec<PortId>),
}

/// A root, and the ports that wait for it, those that were paused most first.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: Root,
    pub(super) victims: Vec<PortId>,
    /// Shares of time for which they were paused, together.
    pub(super) weight: f64,
}

/// A pause tree hop by hop.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Where the pauses come from.
    pub root: Root,
    /// The ports that wait for it: every port after the one that it waits for, its nearest kin first.
    pub victims: Vec<Victim>,
}

/// A port that waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Victim {
    /// The port.
    pub port: PortId,
    /// Hops from the root: the port that a root NIC pauses has none.
    pub hops: usize,
    /// The share of its worst step for which it was paused.
    pub share: f64,
}

pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let trees = trees(scene);
    let found = trees.iter().filter_map(|tree| match &tree.root {
        Root::Nic(port) => nic(scene, *port, tree),
        Root::Ring(ports) => Some(ring(scene, ports, tree)),
        // Why a port is full is a matter of congestion.
        Root::Port(_) => None,
    });
    found.collect()
}

/// How pauses spread from their roots, hop by hop, the worst root first.
pub fn spreads(scene: &Scene<'_>) -> Vec<Spread> {
    let map = Map::of(scene);
    let spread = |tree: Tree| {
        let held: BTreeSet<PortId> = tree.victims.iter().copied().collect();
        // By the port they wait for; those of a ring wait for each other, so that there is no first one.
        let mut waiting: BTreeMap<Option<PortId>, Vec<PortId>> = BTreeMap::new();
        for port in &tree.victims {
            let before = match map.next(*port) {
                Next::Port(next) if held.contains(&next) => Some(next),
                _ => None,
            };
            waiting.entry(before.filter(|_| !tree.root.holds(*port))).or_default().push(*port);
        }
        let mut victims = Vec::new();
        let roots = waiting.remove(&None).unwrap_or_default();
        let mut todo: Vec<(PortId, usize)> =
            roots.into_iter().rev().map(|port| (port, 0)).collect();
        while let Some((port, hops)) = todo.pop() {
            victims.push(Victim { port, hops, share: map.paused(port) });
            let behind = waiting.remove(&Some(port)).unwrap_or_default();
            todo.extend(behind.into_iter().rev().map(|port| (port, hops + 1)));
        }
        Spread { root: tree.root, victims }
    };
    trees_of(&map).into_iter().map(spread).collect()
}

impl Root {
    /// Whether a port is part of the root itself, and waits for nothing but that.
    fn holds(&self, port: PortId) -> bool {
        matches!(self, Root::Ring(ports) if ports.contains(&port))
    }
}

/// The roots of all pauses that are worth following, the worst first.
pub(super) fn trees(scene: &Scene<'_>) -> Vec<Tree> {
    trees_of(&Map::of(scene))
}

fn trees_of(map: &Map<'_>) -> Vec<Tree> {
    let mut trees: BTreeMap<PortId, Tree> = BTreeMap::new();
    for port in map.scene.ports().filter(|port| map.is_held(*port)) {
        let root = map.root(port);
        let key = match &root {
            Root::Nic(port) | Root::Port(port) => *port,
            Root::Ring(ports) => ports.iter().copied().min().unwrap_or(port),
        };
        let tree = trees.entry(key).or_insert_with(|| Tree { root, victims: vec![], weight: 0.0 });
        tree.victims.push(port);
        tree.weight += map.paused(port);
    }
    let mut trees: Vec<Tree> = trees.into_values().collect();
    for tree in &mut trees {
        let by_share = |a: &PortId, b: &PortId| map.paused(*b).total_cmp(&map.paused(*a));
        tree.victims.sort_by(|a, b| by_share(a, b).then(a.cmp(b)));
    }
    trees.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    trees
}

/// What a paused port waits for: another one that is paused, or the end of the way.
enum Next {
    Port(PortId),
    Root(Root),
}

/// What is asked of ports again and again, computed once for each.
struct Map<'a> {
    scene: &'a Scene<'a>,
    /// By port: the share of its worst step for which it was paused.
    paused: Vec<f64>,
    /// By port: its longest queue.
    queues: Vec<f64>,
}

impl<'a> Map<'a> {
    fn of(scene: &'a Scene<'a>) -> Self {
        let queue = |port| scene.peak(port, Metric::QueueWatermark).unwrap_or(0.0);
        Self {
            scene,
            paused: scene.ports().map(|port| scene.paused(port).unwrap_or(0.0)).collect(),
            queues: scene.ports().map(queue).collect(),
        }
    }

    fn paused(&self, port: PortId) -> f64 {
        self.paused[port.index()]
    }

    /// Whether a port was paused for long enough.
    fn is_held(&self, port: PortId) -> bool {
        let least = if self.scene.leads_to_nic(port) { HELD_BY_NIC } else { HELD };
        self.paused(port) > least
    }

    /// Follows a pause to its root.
    fn root(&self, victim: PortId) -> Root {
        let mut way = vec![victim];
        loop {
            let next = match self.next(way[way.len() - 1]) {
                Next::Root(root) => return root,
                Next::Port(next) => next,
            };
            if let Some(at) = way.iter().position(|seen| *seen == next) {
                return Root::Ring(way.split_off(at));
            }
            way.push(next);
        }
    }

    /// What a paused port waits for.
    fn next(&self, port: PortId) -> Next {
        let pausing = self.scene.peer(port);
        if self.scene.is_nic(pausing) {
            return Next::Root(Root::Nic(port));
        }
        match self.blocked(pausing) {
            None => Next::Root(Root::Port(port)),
            Some(next) if self.paused(next) <= HELD => Next::Root(Root::Port(next)),
            Some(next) => Next::Port(next),
        }
    }

    /// The port by which a switch gets rid of packets worst, other than the one they came by: the one that is paused most
    /// or, if none is, has the longest queue.
    fn blocked(&self, pausing: PortId) -> Option<PortId> {
        let ports = self.scene.fabric.node_ports(self.scene.node(pausing));
        let others: Vec<PortId> = ports.filter(|port| *port != pausing).collect();
        let most = |of: &[f64]| {
            let by_value = |a: &PortId, b: &PortId| of[a.index()].total_cmp(&of[b.index()]);
            others.iter().copied().max_by(by_value)
        };
        let held = most(&self.paused).filter(|port| self.paused(*port) > HELD);
        held.or_else(|| most(&self.queues).filter(|port| self.queues[port.index()] > 0.0))
    }
}

/// A NIC pauses the port that leads to it.
fn nic(scene: &Scene<'_>, port: PortId, tree: &Tree) -> Option<Finding> {
    let nic = scene.peer(port);
    let share = scene.paused(port)?;
    let usual = scene.usually_paused(port).unwrap_or(0.0);
    if share < UNUSUAL * usual {
        return None;
    }
    let watchdog = scene.sum(port, Metric::WatchdogEvents).unwrap_or(0.0);
    let storm = watchdog > 0.5 || (share >= STORM && is_held_without_end(scene, port));
    let cause = if storm { Cause::PauseStorm } else { Cause::SlowReceiver };
    let name = scene.fabric.port_name(port);
    let mut finding = Finding::new(cause, scene.device(nic), vec![scene.node(nic)])
        .because(format!(
            "{name} was paused for {:.0} % of its worst step{}",
            share * 100.0,
            usually(scene, format_args!("{:.0} %", usual * 100.0))
        ))
        .weighing(tree.weight)
        .sure(if storm { Confidence::Certain } else { Confidence::Likely });
    if watchdog > 0.5 {
        finding = finding.because(format!("the PFC watchdog of {name} acted {watchdog:.0} times"));
    }
    if let Some(stalled) = scene.peak(nic, Metric::PcieStalled).filter(|share| *share > 0.05) {
        finding = finding.because(format!("PCIe stalled for {:.0} % of the time", stalled * 100.0));
    }
    let server = scene.fabric.nics[scene.node(nic).index()].server;
    for words in gpu::pcie_replays(scene, server) {
        finding = finding.because(words);
    }
    Some(spread(scene, finding, tree))
}

fn ring(scene: &Scene<'_>, ports: &[PortId], tree: &Tree) -> Finding {
    let names: Vec<String> = ports.iter().map(|port| scene.fabric.port_name(*port)).collect();
    let nodes = ports.iter().map(|port| scene.node(*port)).collect();
    let finding = Finding::new(Cause::Deadlock, names[0].clone(), nodes)
        .because(format!("these ports wait for each other: {}", names.join(", ")))
        .weighing(tree.weight);
    let stuck = ports.iter().all(|port| scene.paused(*port).unwrap_or(0.0) > STORM);
    finding.sure(if stuck { Confidence::Likely } else { Confidence::Possible })
}

/// How far the pauses of a root have spread.
pub(super) fn spread(scene: &Scene<'_>, finding: Finding, tree: &Tree) -> Finding {
    let shown = tree.victims.iter().take(4).map(|port| {
        let share = scene.paused(*port).unwrap_or(0.0) * 100.0;
        format!("{} ({share:.0} %)", scene.fabric.port_name(*port))
    });
    let shown: Vec<String> = shown.collect();
    let more = tree.victims.len().saturating_sub(shown.len());
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    finding.because(format!("paused because of it: {}{rest}", shown.join(", ")))
}

/// Whether a port was not let go on once after the step in which it was first held.
fn is_held_without_end(scene: &Scene<'_>, port: PortId) -> bool {
    let paused = scene.series(port, Metric::PausedTime);
    let paused = paused.or_else(|| scene.series(scene.peer(port), Metric::PausingTime));
    let Some(paused) = paused else { return true };
    let limit = (STORM * scene.step()) as f32;
    let go_on = scene.series(port, Metric::PauseTransitions).or_else(|| scene.utilisation(port));
    let go_on = go_on.or_else(|| scene.series(scene.peer(port), Metric::RxPackets));
    let Some(go_on) = go_on else { return true };
    let held = paused.iter().position(|paused| *paused >= limit);
    let after = held.map_or(&[][..], |held| go_on.get(held + 1..).unwrap_or(&[]));
    after.iter().filter(|value| !value.is_nan()).all(|went_on| *went_on < f32::MIN_POSITIVE)
}
