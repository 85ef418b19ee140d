//! How pauses spread, hop by hop.

use crate::clean;
use xoff_diagnose::fabric::{Root, Scene, spreads};

/// Trees that are kept, and branches of each.
const MOST_TREES: usize = 50;
const MOST_BRANCHES: usize = 200;

/// A root of pauses and the ports that wait for it.
#[derive(Debug, Clone)]
pub struct PauseTree {
    /// What the pauses come from, in words.
    pub root: String,
    /// The ports that wait, each after the one that it waits for.
    pub branches: Vec<Branch>,
    /// Ports that wait and are not among them.
    pub more: usize,
}

/// A port that waits.
#[derive(Debug, Clone)]
pub struct Branch {
    /// From where to where, like `leaf0→spine1`.
    pub port: String,
    /// Hops from the root.
    pub hops: usize,
    /// The share of its worst step for which it was paused.
    pub share: f64,
}

pub(super) fn trees(scene: &Scene<'_>) -> Vec<PauseTree> {
    let spreads = spreads(scene);
    let tree = |spread: &xoff_diagnose::fabric::Spread| {
        let branch = |victim: &xoff_diagnose::fabric::Victim| Branch {
            port: clean(&scene.fabric.port_name(victim.port)),
            hops: victim.hops,
            share: victim.share,
        };
        let branches: Vec<Branch> = spread.victims.iter().take(MOST_BRANCHES).map(branch).collect();
        let more = spread.victims.len() - branches.len();
        PauseTree { root: root(scene, &spread.root), branches, more }
    };
    spreads.iter().take(MOST_TREES).map(tree).collect()
}

fn root(scene: &Scene<'_>, root: &Root) -> String {
    match root {
        Root::Nic(port) => format!("{} pauses its switch", clean(scene.device(scene.peer(*port)))),
        Root::Port(port) => format!("{} is full", clean(&scene.fabric.port_name(*port))),
        Root::Ring(ports) => format!("{} ports wait for each other in a ring", ports.len()),
    }
}
