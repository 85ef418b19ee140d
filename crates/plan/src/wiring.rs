//! Every link with its ports, and which links share a cable.
//!
//! Ports of a switch are numbered from 1 as its cages are: first those that lead down, then, in new
//! cages, those that lead up. A port that shares its cage has its place in it behind a slash.
//! Uplinks have the same numbers on every switch of a tier, whether all of its downlinks are used
//! or not.
//!
//! The links of a cage that is split at one end run in one cable, which is as long as the longest
//! of them needs, or on one transceiver whose medium reaches the farthest. Where both ends are
//! split, cages are woven together, so that a whole level has one medium.

use super::floor::{self, Hall};
use super::parts::{self, Ends, Medium, Mode};
use super::refusal::Refusal;
use super::shape::{Level, Run, Shape};
use super::wish::Ask;
use std::collections::BTreeMap;
use std::fmt;
use xoff_fabric::catalogue::Catalogue;
use xoff_units::Length;

/// A port by its cage and, where the cage is split, its place in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortNumber {
    /// The cage, from 1.
    pub cage: u64,
    /// The place in a cage that is split, from 1.
    pub leg: Option<u64>,
}

impl PortNumber {
    /// Whether it is the first of its cage to be used.
    pub(super) fn first(self) -> bool {
        self.leg.is_none_or(|leg| leg == 1)
    }
}

impl fmt::Display for PortNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.leg {
            Some(leg) => write!(f, "{}/{leg}", self.cage),
            None => write!(f, "{}", self.cage),
        }
    }
}

/// A link with its ports; devices are those of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link<'a> {
    pub(super) run: Run,
    pub(super) from_port: PortNumber,
    pub(super) to_port: PortNumber,
    pub(super) medium: &'a Medium,
    /// Which of its level's media that is.
    pub(super) medium_at: usize,
    /// The length of its cable.
    pub(super) length: Length,
    /// Its place in a cable that fans out, from 1.
    pub(super) leg: Option<u64>,
    /// The number of its cable within the level, from 1.
    pub(super) cable: u64,
}

impl Link<'_> {
    /// Whether it is the first of its cable.
    pub(super) fn opens_cable(&self) -> bool {
        self.leg.is_none_or(|leg| leg == 1)
    }
}

/// Numbers the ports of one tier in one direction.
struct Ports {
    ways: u64,
    /// Cages before the first of these.
    before: u64,
    /// Ports given out so far, by switch.
    used: Vec<u64>,
}

impl Ports {
    fn new(ways: u64, before: u64, switches: u64) -> Self {
        Self { ways, before, used: vec![0; switches as usize] }
    }

    fn next(&mut self, switch: u64) -> PortNumber {
        let used = &mut self.used[switch as usize];
        let at = *used;
        *used += 1;
        PortNumber {
            cage: self.before + at / self.ways + 1,
            leg: (self.ways > 1).then(|| at % self.ways + 1),
        }
    }
}

/// The ports of all levels at both ends; those of NICs are numbered, too.
struct Numbering {
    lower: [Option<Ports>; 3],
    upper: [Option<Ports>; 3],
}

impl Numbering {
    fn new(shape: &Shape, modes: &[Option<Mode>; 3]) -> Self {
        let down = [
            shape.hosts_per_leaf,
            shape.leaves_per_pod * shape.leaf_parallel,
            shape.pods() * shape.spine_parallel,
        ];
        let upper = Level::ALL.map(|level| {
            let mode = modes[level as usize]?;
            Some(Ports::new(mode.upper, 0, shape.switches(level.upper())))
        });
        let lower = Level::ALL.map(|level| {
            let mode = modes[level as usize]?;
            let Some(tier) = level.lower() else { return Some(Ports::new(1, 0, shape.nics())) };
            let below = modes[tier as usize]?;
            let before = down[tier as usize].div_ceil(below.upper);
            Some(Ports::new(mode.lower, before, shape.switches(tier)))
        });
        Self { lower, upper }
    }

    fn next(&mut self, run: Run) -> Option<(PortNumber, PortNumber)> {
        let at = run.level as usize;
        Some((self.lower[at].as_mut()?.next(run.lower), self.upper[at].as_mut()?.next(run.upper)))
    }
}

/// Which links are laid together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    /// None: every link has its own cable and medium.
    None,
    /// Those of a cage at the lower end.
    Lower,
    /// Those of a cage at the upper end.
    Upper,
    /// All of the level have one medium, and every link its own fibre.
    Level,
}

impl Together {
    fn of(mode: Mode) -> Self {
        match (mode.lower > 1, mode.upper > 1) {
            (false, false) => Together::None,
            (true, false) => Together::Lower,
            (false, true) => Together::Upper,
            (true, true) => Together::Level,
        }
    }

    /// The device and cage whose links go together.
    fn cage(self, run: Run, from: PortNumber, to: PortNumber) -> (u64, u64) {
        match self {
            Together::Lower => (run.lower, from.cage),
            Together::Upper => (run.upper, to.cage),
            Together::None | Together::Level => (0, 0),
        }
    }
}

/// The cables of one level.
#[derive(Debug, Clone)]
struct Laid {
    together: Together,
    media: Vec<Medium>,
    /// The medium for each length that was asked for.
    by_length: BTreeMap<Length, usize>,
    /// The longest link of each cage, where links of a cage go together, and of all.
    cages: BTreeMap<(u64, u64), Length>,
    longest: Length,
}

/// The wiring of a shape in a hall.
#[derive(Debug, Clone)]
pub(super) struct Wiring {
    modes: [Option<Mode>; 3],
    laid: [Option<Laid>; 3],
}

impl Wiring {
    /// The cables of a shape, or why one of them cannot be had.
    pub(super) fn new(
        ask: &Ask,
        shape: &Shape,
        hall: &Hall,
        catalogue: &Catalogue,
    ) -> Result<Self, Refusal> {
        let used = |level: Level| shape.cables(level) > 0;
        let modes = Level::ALL
            .map(|level| used(level).then(|| ask.mode(level, shape.rate(level))).flatten());
        let mut laid = modes.map(|mode| {
            mode.map(|mode| Laid {
                together: Together::of(mode),
                media: Vec::new(),
                by_length: BTreeMap::new(),
                cages: BTreeMap::new(),
                longest: Length::default(),
            })
        });
        let mut numbers = Numbering::new(shape, &modes);
        let mut lengths: [std::collections::BTreeSet<Length>; 3] = Default::default();
        shape.for_each_run(|run| {
            let own = hall.length(run);
            let Some(level) = &mut laid[run.level as usize] else { return };
            level.longest = level.longest.max(own);
            lengths[run.level as usize].insert(own);
            for _ in 0..run.cables {
                let Some((from, to)) = numbers.next(run) else { return };
                if matches!(level.together, Together::Lower | Together::Upper) {
                    let cage = level.cages.entry(level.together.cage(run, from, to)).or_default();
                    *cage = own.max(*cage);
                }
            }
        });
        for level in Level::ALL {
            let (Some(mode), Some(laid)) = (modes[level as usize], &mut laid[level as usize])
            else {
                continue;
            };
            let ends = parts::ends(level, ask.nic_port, ask.switches());
            for length in &lengths[level as usize] {
                // A level that is woven together has the medium that reaches the farthest.
                let needed = if laid.together == Together::Level { laid.longest } else { *length };
                laid.choose(&ends, catalogue, mode, (*length, needed), level)?;
            }
        }
        Ok(Self { modes, laid })
    }

    /// The lanes of a level.
    pub(super) fn mode(&self, level: Level) -> Option<Mode> {
        self.modes[level as usize]
    }

    /// The medium of the longest cable of a level.
    pub(super) fn farthest(&self, level: Level) -> Option<&Medium> {
        let laid = self.laid[level as usize].as_ref()?;
        laid.media.get(*laid.by_length.get(&laid.longest)?)
    }

    /// The longest link of a level.
    pub(super) fn longest(&self, level: Level) -> Length {
        self.laid[level as usize].as_ref().map_or(Length::default(), |laid| laid.longest)
    }

    /// Every link, in the order in which the resolved fabric has them.
    pub(super) fn for_each<'a>(
        &'a self,
        shape: &Shape,
        hall: &Hall,
        mut visit: impl FnMut(Link<'a>),
    ) {
        let mut numbers = Numbering::new(shape, &self.modes);
        let mut cables = [0u64; 3];
        let mut known: [BTreeMap<(u64, u64), u64>; 3] = Default::default();
        shape.for_each_run(|run| {
            let at = run.level as usize;
            let Some(laid) = &self.laid[at] else { return };
            let own = hall.length(run);
            for _ in 0..run.cables {
                let Some((from_port, to_port)) = numbers.next(run) else { return };
                let cage = laid.together.cage(run, from_port, to_port);
                let far = laid.cages.get(&cage).copied().unwrap_or(own);
                let Some(medium_at) = laid.by_length.get(&far).copied() else { return };
                let medium = &laid.media[medium_at];
                let shared = medium.ways() > 1;
                let (leg, cable) = if shared {
                    let leg = match laid.together {
                        Together::Lower => from_port.leg,
                        _ => to_port.leg,
                    };
                    // A cage with several connectors has a cable at each.
                    let leg = leg.map_or(1, |leg| (leg - 1) % medium.ways() + 1);
                    if leg == 1 {
                        cables[at] += 1;
                        known[at].insert(cage, cables[at]);
                    }
                    (Some(leg), known[at].get(&cage).copied().unwrap_or(cables[at]))
                } else {
                    cables[at] += 1;
                    (None, cables[at])
                };
                let length = if shared { far } else { own };
                visit(Link { run, from_port, to_port, medium, medium_at, length, leg, cable });
            }
        });
    }
}

impl Laid {
    /// Finds the medium for cables of a length that must reach so far.
    fn choose(
        &mut self,
        ends: &Ends,
        catalogue: &Catalogue,
        mode: Mode,
        (length, needed): (Length, Length),
        level: Level,
    ) -> Result<(), Refusal> {
        let medium = ends.medium(catalogue, mode, needed).ok_or_else(|| {
            Refusal::new(
                format!(
                    "nothing in the catalogue carries {} over the {needed} between {}",
                    mode.lanes,
                    floor::between(level)
                ),
                ["racks that stand closer together", "slower links"],
            )
        })?;
        let at = self.media.iter().position(|known| *known == medium).unwrap_or_else(|| {
            self.media.push(medium);
            self.media.len() - 1
        });
        self.by_length.insert(length, at);
        Ok(())
    }
}
