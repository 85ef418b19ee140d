//! The fabric as a map: a row for each tier of switches and each rail of NICs, a cell for each device.

use super::link::Measure;
use std::collections::{BTreeMap, BTreeSet};
use xoff_diagnose::fabric::Scene;
use xoff_fabric::model::{NodeId, SwitchId, Tier};

/// Paused for so much of a step: worth a letter, and standing still.
const HELD: f64 = 0.02;
const STOPPED: f64 = 0.5;
/// A link that sends less than this share of its rate is idle.
const IDLE: f64 = 0.01;

/// How a device, or the worst of several, does. The order is that of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It sends next to nothing.
    Idle,
    /// Its busiest port sent so many eighths of its rate in its busiest step: 1 to 8.
    Used(u8),
    /// It has no counters.
    Unknown,
    /// A port of it was paused for 2 % of a step or more.
    Held,
    /// A port of it was paused for half of a step or more.
    Stopped,
    /// A NIC that pauses its switch for 2 % of a step or more.
    Pausing,
    /// Some of its links are down.
    PartlyDown,
    /// All its links are down.
    Down,
}

impl State {
    /// The character of a cell.
    pub const fn symbol(self) -> char {
        match self {
            State::Idle => '·',
            State::Used(0 | 1) => '▁',
            State::Used(2) => '▂',
            State::Used(3) => '▃',
            State::Used(4) => '▄',
            State::Used(5) => '▅',
            State::Used(6) => '▆',
            State::Used(7) => '▇',
            State::Used(_) => '█',
            State::Unknown => '?',
            State::Held => 'p',
            State::Stopped => 'P',
            State::Pausing => 'S',
            State::PartlyDown => 'd',
            State::Down => 'D',
        }
    }

    /// The word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Used(_) => "used",
            State::Unknown => "unknown",
            State::Held => "held",
            State::Stopped => "stopped",
            State::Pausing => "pausing",
            State::PartlyDown => "partly_down",
            State::Down => "down",
        }
    }
}

/// A device on the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// How it does.
    pub state: State,
    /// Whether a finding is about it.
    pub accused: bool,
}

/// A tier of switches, or a rail of NICs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `spine`, `leaf`, `rail 3` or `nic`.
    pub label: String,
    /// Whether it is of NICs.
    pub nics: bool,
    /// Its devices.
    pub cells: Vec<Cell>,
}

impl Row {
    /// In at most so many cells: each is the worst of as many neighbours as every other. Gives how many that is, too.
    pub fn cells_in(&self, room: usize) -> (usize, Vec<Cell>) {
        let group = self.cells.len().div_ceil(room.max(1)).max(1);
        let worst = |cells: &[Cell]| Cell {
            state: cells.iter().map(|cell| cell.state).max().unwrap_or(State::Unknown),
            accused: cells.iter().any(|cell| cell.accused),
        };
        (group, self.cells.chunks(group).map(worst).collect())
    }

    /// How many devices are in each state, the worst first.
    pub fn tally(&self) -> Vec<(&'static str, usize)> {
        let mut counts: BTreeMap<State, usize> = BTreeMap::new();
        for cell in &self.cells {
            // Levels of use are one state here.
            let state = if let State::Used(_) = cell.state { State::Used(8) } else { cell.state };
            *counts.entry(state).or_default() += 1;
        }
        counts.into_iter().rev().map(|(state, count)| (state.word(), count)).collect()
    }
}

/// Rows from the top tier down to the NICs.
pub(super) fn rows(
    scene: &Scene<'_>,
    measures: &[Measure],
    accused: impl Iterator<Item = NodeId>,
) -> Vec<Row> {
    let accused: BTreeSet<NodeId> = accused.collect();
    let cell = |node: NodeId| Cell {
        state: state(scene, measures, node),
        accused: accused.contains(&node),
    };
    let fabric = scene.fabric;
    let mut rows = Vec::new();
    for tier in [Tier::Core, Tier::Spine, Tier::Leaf] {
        let switches = (0..fabric.switches.len() as u32).map(SwitchId);
        let here = switches.filter(|switch| fabric.switches[switch.index()].tier == tier);
        let cells: Vec<Cell> = here.map(|switch| cell(fabric.switch_node(switch))).collect();
        if !cells.is_empty() {
            rows.push(Row { label: tier.name().to_owned(), nics: false, cells });
        }
    }
    let mut rails: BTreeMap<Option<u32>, Vec<Cell>> = BTreeMap::new();
    for (nic, node) in fabric.nics.iter().zip(0..) {
        rails.entry(nic.rail).or_default().push(cell(NodeId(node)));
    }
    rows.extend(rails.into_iter().map(|(rail, cells)| {
        let label = rail.map_or("nic".to_owned(), |rail| format!("rail {rail}"));
        Row { label, nics: true, cells }
    }));
    rows
}

/// The worst that is known of a device's ports.
fn state(scene: &Scene<'_>, measures: &[Measure], node: NodeId) -> State {
    let ports: Vec<_> = scene.fabric.node_ports(node).collect();
    let of = || ports.iter().map(|port| &measures[port.index()]);
    let down = of().filter(|measure| measure.up == Some(false)).count();
    if down > 0 {
        return if down == ports.len() { State::Down } else { State::PartlyDown };
    }
    let most = |shares: &mut dyn Iterator<Item = f64>| shares.fold(0.0, f64::max);
    let paused = most(&mut of().filter_map(|measure| measure.paused));
    let is_nic = scene.fabric.node_switch(node).is_none();
    let peers = ports.iter().map(|port| &measures[scene.peer(*port).index()]);
    let pausing = most(&mut peers.filter_map(|measure| measure.paused));
    let used = of().filter_map(|measure| measure.peak).reduce(f64::max);
    match used {
        _ if is_nic && pausing >= HELD => State::Pausing,
        _ if paused >= STOPPED => State::Stopped,
        _ if paused >= HELD => State::Held,
        None => State::Unknown,
        Some(share) if share < IDLE => State::Idle,
        Some(share) => State::Used(((share * 8.0).ceil() as u8).clamp(1, 8)),
    }
}
