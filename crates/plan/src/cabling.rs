//! The cabling plan: every cable with both ends.
//!
//! Ports of a switch are numbered from 1 as its cages are: first those that lead down, then, in new
//! cages, those that lead up. A port that shares its cage has its place in it behind a slash.
//! Uplinks have the same numbers on every switch of a tier, whether all of its downlinks are used
//! or not.

use super::Plan;
use super::shape::{Level, Shape};
use super::size;
use std::fmt::{self, Write};
use xoff_fabric::catalogue::Silicon;
use xoff_fabric::model::Tier;
use xoff_units::Length;

/// What a cable is plugged into, as the resolved fabric names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// A NIC of a server.
    Nic {
        /// The server.
        server: u64,
        /// Which of its NICs.
        nic: u64,
    },
    /// A switch.
    Switch {
        /// Where it stands.
        tier: Tier,
        /// Which of its tier.
        number: u64,
    },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Nic { server, nic } => write!(f, "server{server}-nic{nic}"),
            End::Switch { tier, number } => write!(f, "{}{number}", tier.name()),
        }
    }
}

/// A port by its cage and, where the cage is split, its place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortNumber {
    /// The cage, from 1.
    pub cage: u64,
    /// The place in a cage that is split, from 1.
    pub leg: Option<u64>,
}

impl fmt::Display for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.leg {
            Some(leg) => write!(f, "{}/{leg}", self.cage),
            None => write!(f, "{}", self.cage),
        }
    }
}

/// A cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// Between what.
    pub level: Level,
    /// Its lower end.
    pub from: End,
    /// The port there.
    pub from_port: PortNumber,
    /// Its upper end.
    pub to: End,
    /// The port there.
    pub to_port: PortNumber,
    /// The rail it belongs to, in a design with rails.
    pub rail: Option<u64>,
    /// Its length.
    pub length: Length,
}

/// Numbers the ports of one tier in one direction.
struct Ports {
    split: u64,
    /// Cages before the first of these.
    before: u64,
    /// Ports given out so far, by switch.
    used: Vec<u64>,
}

impl Ports {
    fn new(silicon: &Silicon, rate: xoff_units::Rate, before: u64, switches: u64) -> Self {
        let split = u64::from(silicon.split(rate).max(1));
        Self { split, before, used: vec![0; switches as usize] }
    }

    fn next(&mut self, switch: u64) -> PortNumber {
        let used = &mut self.used[switch as usize];
        let at = *used;
        *used += 1;
        PortNumber {
            cage: self.before + at / self.split + 1,
            leg: (self.split > 1).then(|| at % self.split + 1),
        }
    }
}

/// The ports of all levels: at the lower ends (NICs have none here) and at the upper ends.
struct Numbering {
    lower: [Option<Ports>; 3],
    upper: [Ports; 3],
}

impl Numbering {
    fn new(shape: &Shape, silicon: &[Silicon; 3]) -> Self {
        let down = [
            shape.hosts_per_leaf,
            shape.leaves_per_pod * shape.leaf_parallel,
            shape.pods() * shape.spine_parallel,
        ];
        let upper = Level::ALL.map(|level| {
            let tier = level.upper();
            Ports::new(&silicon[tier as usize], shape.rate(level), 0, shape.switches(tier))
        });
        let lower = Level::ALL.map(|level| {
            let tier = level.lower()?;
            let below = Level::ALL[tier as usize];
            let silicon = &silicon[tier as usize];
            let before = size::cages(silicon, shape.rate(below), down[tier as usize]).unwrap_or(0);
            Some(Ports::new(silicon, shape.rate(level), before, shape.switches(tier)))
        });
        Self { lower, upper }
    }
}

impl Plan {
    /// Every cable of the chosen design, in the order in which the resolved fabric has them.
    pub fn for_each_cable(&self, mut visit: impl FnMut(Cable)) {
        let shape = &self.design.shape;
        let mut numbers = Numbering::new(shape, &self.silicon);
        shape.for_each_run(|run| {
            let length = self.hall.length(run);
            let at = run.level as usize;
            for _ in 0..run.cables {
                let (from, from_port) = match (run.level.lower(), &mut numbers.lower[at]) {
                    (Some(tier), Some(ports)) => {
                        (End::Switch { tier, number: run.lower }, ports.next(run.lower))
                    }
                    _ => {
                        let (server, nic) =
                            (run.lower / shape.nics_per_server, run.lower % shape.nics_per_server);
                        (End::Nic { server, nic }, PortNumber { cage: 1, leg: None })
                    }
                };
                visit(Cable {
                    level: run.level,
                    from,
                    from_port,
                    to: End::Switch { tier: run.level.upper(), number: run.upper },
                    to_port: numbers.upper[at].next(run.upper),
                    rail: rail(shape, run.level, run.lower),
                    length,
                });
            }
        });
    }

    /// The cabling plan as CSV.
    pub fn cabling_csv(&self) -> String {
        let mut text = String::with_capacity(self.design.all_cables() as usize * 80 + 200);
        text += "cable,from_device,from_port,to_device,to_port,rail,rate,length_m,medium,from_end,\
                 to_end\n";
        let mut number = 0u64;
        let levels = Level::ALL.map(|level| self.design.cables.iter().find(|c| c.level == level));
        let rates = levels.map(|found| found.map_or(String::new(), |c| c.rate.to_string()));
        self.for_each_cable(|cable| {
            number += 1;
            let Some(level) = levels[cable.level as usize] else { return };
            let medium = &level.medium;
            let rail = cable.rail.map_or(String::new(), |rail| rail.to_string());
            let _ = writeln!(
                text,
                "{number},{},{},{},{},{rail},{},{},{},{},{}",
                cable.from,
                cable.from_port,
                cable.to,
                cable.to_port,
                rates[cable.level as usize],
                cable.length.as_mm() / 1_000,
                medium.name,
                medium.lower,
                medium.upper
            );
        });
        text
    }
}

fn rail(shape: &Shape, level: Level, lower: u64) -> Option<u64> {
    match level {
        Level::Host | Level::LeafSpine if shape.rails > 1 => Some(lower % shape.rails),
        _ => None,
    }
}
