//! Collectives as NCCL runs them: [`program`] makes a [`Program`] of a [`Collective`].
//!
//! | collective | algorithms | what is cut how |
//! | --- | --- | --- |
//! | AllReduce | ring, tree, rail, nvls, nvls-tree, in-network | ring: laps of one chunk per rank, at most 4 steps of 512 KiB, in 2 slices; tree: pieces of 1 step; rail: as a ring on every rail; nvls, in-network: steps, and between switches pieces that fit their slots |
//! | AllGather, ReduceScatter | ring, pat | ring: as AllReduce; pat: laps of one chunk per rank of at most a step, as many chunks in a message as a buffer holds |
//! | Broadcast | ring (a chain), tree | pieces of 1 step |
//! | Reduce | ring (a chain) | pieces of 1 step |
//! | AllToAll, SendRecv, Gather, Scatter | pairwise, PXN | pieces of 128 KiB |
//! | AllToAll | direct | messages |
//!
//! AllToAll may be uneven ([`uneven`]), and ranks may come late ([`Lateness`]).
//!
//! Each channel has its share of the data and its own way through the servers ([`Layout`]). Over the
//! network every piece waits for the receiver's clear-to-send, of which at most a buffer of 8 steps
//! is outstanding. Small amounts of rings and trees: fewer channels (each is filled with 16 KiB of traffic before
//! the next is used), then smaller chunks, then slices of 32 KiB and a rest; trees cut pieces so that there are
//! four times as many as levels, from 32 KiB up to a step. Between pairs all channels are used, so that
//! peers are served side by side however small their messages.
//!
//! What GPUs and proxies take for it is in [`Cost`].
//!
//! What it is not: pieces are those of the Simple protocol. LL and LL128 are in the [`tuner`]'s estimates and, as the
//! lesser cost of small pieces, in [`Cost`], not on the wire. Read [`Settings`] first.

mod aggregate;
mod bound;
mod build;
mod cost;
mod direct;
mod ends;
pub(crate) mod exchange;
mod figures;
mod late;
pub(crate) mod link;
pub(crate) mod machine;
mod matrix;
mod pairs;
pub(crate) mod part;
mod pat;
mod path;
mod rounds;
pub(crate) mod shape;
mod traffic;
mod tree;
pub mod tuner;

#[cfg(test)]
mod tests;

use crate::layout::{Layout, RankId};
use crate::program::Program;
use ends::Ends;
use link::MOST_WINDOW;
use machine::Terms;
use part::Part;
use rounds::{Amounts, Pattern, Rounds};
use shape::Shape;
use std::sync::Arc;
use xoff_units::{Bytes, Rate};

pub use aggregate::{Aggregate, Groups, Ledger, Refusal};
pub use bound::{Bound, Network, bound};
pub use cost::{Cost, Flags};
pub use direct::Direct;
pub use exchange::Exchange;
pub use figures::Figures;
pub use late::Lateness;
pub use machine::Machine;
pub(crate) use machine::Places;
pub use matrix::{Matrix, Uneven};
pub use pat::Pat;
pub use traffic::{Loads, loads};

/// What ranks do together. The size that goes with it is counted as nccl-tests counts: of the
/// larger buffer of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Collective {
    /// Everybody ends with the sum of everybody's data.
    AllReduce,
    /// Everybody ends with everybody's data; the size is that of the result.
    AllGather,
    /// Everybody ends with its share of the sum; the size is that of the input.
    ReduceScatter,
    /// Everybody has a piece for everybody; the size is that of all pieces of a rank.
    AllToAll,
    /// Everybody ends with the data of one.
    Broadcast {
        /// The one.
        root: RankId,
    },
    /// One ends with everybody's data; the size is that of the result, less what does not divide by the
    /// ranks. As many send at once as there are channels, and only what the one has asked for.
    Gather {
        /// The one.
        root: RankId,
    },
    /// One ends with the sum of everybody's data.
    Reduce {
        /// The one.
        root: RankId,
    },
    /// One has a piece for everybody; the size is that of all pieces, less what does not divide by the ranks.
    Scatter {
        /// The one.
        root: RankId,
    },
    /// Everybody sends to the rank after it.
    SendRecv,
}

impl Collective {
    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all-reduce",
            Collective::AllGather => "all-gather",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::AllToAll => "all-to-all",
            Collective::Broadcast { .. } => "broadcast",
            Collective::Gather { .. } => "gather",
            Collective::Reduce { .. } => "reduce",
            Collective::Scatter { .. } => "scatter",
            Collective::SendRecv => "send-recv",
        }
    }
}

/// How it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Along a ring through all ranks; a chain for Broadcast and Reduce.
    Ring,
    /// Along two binary trees over the servers, and chains inside them.
    Tree,
    /// Scattered inside the server, along a ring per rail, gathered inside the server.
    Rail,
    /// From rank to rank, each by its own NIC.
    Pairwise,
    /// From rank to rank, by the NIC of the sender's server that is on the receiver's rail (PXN).
    Pxn,
    /// Everybody writes to everybody at once, each by its own NIC, as low-latency kernels for mixtures of experts do.
    Direct,
    /// Inside one server by its NVSwitches, which add up and copy.
    Nvls,
    /// The same in every server, and along two trees between them.
    NvlsTree,
    /// Up and down trees of switches that add up what they are sent.
    InNetwork,
    /// Along the trees of all chunks at once, several chunks in a message (NCCL's parallel aggregated trees); one rank per server.
    Pat,
}

impl Algorithm {
    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::Tree => "tree",
            Algorithm::Rail => "rail",
            Algorithm::Pairwise => "pairwise",
            Algorithm::Pxn => "pxn",
            Algorithm::Direct => "direct",
            Algorithm::Nvls => "nvls",
            Algorithm::NvlsTree => "nvls-tree",
            Algorithm::InNetwork => "in-network",
            Algorithm::Pat => "pat",
        }
    }

    /// Whether switches add up.
    const fn is_aggregate(self) -> bool {
        matches!(self, Algorithm::Nvls | Algorithm::NvlsTree | Algorithm::InNetwork)
    }

    /// Whether every rank sends to every other by itself.
    pub(crate) const fn is_between_pairs(self) -> bool {
        matches!(self, Algorithm::Pairwise | Algorithm::Pxn | Algorithm::Direct)
    }

    /// Whether it is one for a collective over the ranks of a layout, beside those that every fabric can run.
    pub(crate) fn is_pat_for(self, collective: Collective, layout: &Layout) -> bool {
        self == Algorithm::Pat && has_pat(collective) && pat::fits(layout)
    }

    /// The algorithms for a collective that every fabric can run, the usual one first.
    pub const fn of(collective: Collective) -> &'static [Algorithm] {
        match collective {
            Collective::AllReduce => &[Algorithm::Ring, Algorithm::Tree, Algorithm::Rail],
            Collective::AllGather | Collective::ReduceScatter => &[Algorithm::Ring],
            Collective::Broadcast { .. } => &[Algorithm::Ring, Algorithm::Tree],
            Collective::Reduce { .. } => &[Algorithm::Ring],
            Collective::AllToAll => &[Algorithm::Pxn, Algorithm::Pairwise, Algorithm::Direct],
            Collective::SendRecv | Collective::Gather { .. } | Collective::Scatter { .. } => {
                &[Algorithm::Pxn, Algorithm::Pairwise]
            }
        }
    }
}

/// How collectives are cut and paced. The defaults are NCCL's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Channels; by rule if not set: for rings and trees two per NIC of a server, along a rail two,
    /// between pairs one for every 14 GB/s of a NIC; at most 64.
    pub channels: Option<u32>,
    /// Queue pairs of a connection, used in turn.
    pub queues: u32,
    /// One step: an eighth of a connection's buffer.
    pub step: Bytes,
    /// Most bytes of a piece between pairs.
    pub pair_piece: Bytes,
    /// Bytes of a clear-to-send.
    pub clear_to_send: Bytes,
    /// What it costs beside the network.
    pub cost: Cost,
    /// How late ranks come to it.
    pub lateness: Lateness,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            channels: None,
            queues: 1,
            step: Bytes::new(512 << 10),
            pair_piece: Bytes::new(128 << 10),
            clear_to_send: Bytes::new(64),
            cost: Cost::MEASURED,
            lateness: Lateness::NONE,
        }
    }
}

impl Settings {
    /// The defaults, with nothing that counts but the network.
    pub fn without_cost() -> Self {
        Self { cost: Cost::NONE, ..Self::default() }
    }
}

/// Steps of a connection's buffer, of a ring's chunk and of a ring's slice.
const STEPS: u32 = 8;
const CHUNK_STEPS: u32 = 4;
const SLICE_STEPS: u32 = 2;
/// Most channels.
pub const MOST_CHANNELS: u32 = 64;
/// Most queue pairs of a connection.
pub const MOST_QUEUES: u32 = 128;
/// A channel with less traffic than this is not worth having (NCCL's least traffic per channel).
const LEAST_TRAFFIC: u64 = 16 << 10;
/// Network bandwidth that one channel between pairs is good for.
const PAIR_CHANNEL: Rate = Rate::from_gbps(14 * 8);
/// Channels that NCCL uses with NVLS on the Hopper generation.
const NVLS_CHANNELS: u64 = 16;
/// Least piece of a tree.
const LEAST_PIECE: u64 = 32 << 10;
/// Largest step: pieces are counted in 32 bits.
const MOST_STEP: u64 = 64 << 20;

/// Why a collective cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CollectiveError {
    /// An algorithm of another collective.
    #[error("{} has no algorithm `{}`", .0.name(), .1.name())]
    NoAlgorithm(Collective, Algorithm),
    /// Rail needs as many ranks in every server.
    #[error("algorithm `rail` or `in-network` needs as many ranks in every server")]
    Uneven,
    /// No switches add up for this job.
    #[error("algorithm `in-network` needs switches that add up for the job")]
    NoSwitches,
    /// Nothing to move.
    #[error("a collective of no bytes")]
    Empty,
    /// A size whose pieces cannot be counted.
    #[error("{0} make more pieces than can be counted; use fewer bytes or larger steps")]
    TooLarge(Bytes),
    /// No NVSwitches that add up, or ranks in several servers.
    #[error(
        "algorithm `nvls` needs ranks in one server whose NVSwitches add up (`nvls` under `[cluster]`)"
    )]
    NoNvls,
    /// The same, in one server or in several that differ.
    #[error(
        "algorithm `nvls-tree` needs as many ranks in each of several servers whose NVSwitches add up (`nvls` under `[cluster]`)"
    )]
    NoNvlsTree,
    /// Several ranks in a server, or one server.
    #[error(
        "algorithm `pat` needs several servers with one rank each; use `ring`, or a placement of one GPU per server"
    )]
    NoPat,
    /// A root that is not there.
    #[error("rank {root} is the root, and there are {ranks} ranks")]
    NoRoot {
        /// The root.
        root: u32,
        /// Ranks there are.
        ranks: u32,
    },
    /// A matrix for another number of ranks.
    #[error("the matrix has {rows} rows, and there are {ranks} ranks")]
    Matrix {
        /// Rows of the matrix.
        rows: u32,
        /// Ranks there are.
        ranks: u32,
    },
    /// A setting out of its range.
    #[error("`{name}` is {value}; it goes from 1 to {most}")]
    Setting {
        /// Which.
        name: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        most: u64,
    },
}

impl Settings {
    fn check(&self) -> Result<(), CollectiveError> {
        let ranges = [
            ("channels", u64::from(self.channels.unwrap_or(1)), u64::from(MOST_CHANNELS)),
            ("queues", u64::from(self.queues), u64::from(MOST_QUEUES)),
            ("step", self.step.get(), MOST_STEP),
            ("pair-piece", self.pair_piece.get(), MOST_STEP),
            ("clear-to-send", self.clear_to_send.get(), MOST_STEP),
            ("copy-rate", self.cost.copy_rate.map_or(1, Rate::bps), u64::MAX),
            ("pair-rate", self.cost.pair_rate.map_or(1, Rate::bps), u64::MAX),
            ("flag-rate", self.cost.flags.map_or(1, |flags| flags.rate.bps()), u64::MAX),
            ("ll128-rate", self.cost.lines.map_or(1, |lines| lines.rate.bps()), u64::MAX),
        ];
        let wrong = ranges.into_iter().find(|&(_, value, most)| value == 0 || value > most);
        match wrong {
            Some((name, value, most)) => Err(CollectiveError::Setting { name, value, most }),
            None => Ok(()),
        }
    }
}

/// A collective with everything about its cut decided.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    pub(crate) channels: u32,
    /// By channel; none between pairs.
    pub(crate) shapes: Vec<Shape>,
    /// Pieces in a buffer.
    pub(crate) window: u32,
}

impl Cut {
    fn new(
        collective: Collective,
        algorithm: Algorithm,
        size: Bytes,
        layout: &Layout,
        settings: &Settings,
    ) -> Result<Self, CollectiveError> {
        check(collective, algorithm, size, layout, settings)?;
        let bytes = size.get();
        let most = settings.channels.unwrap_or_else(|| channels_by_rule(algorithm, layout));
        let ranks = layout.ranks();
        if algorithm.is_between_pairs() {
            u32::try_from(bytes / settings.pair_piece.get())
                .map_err(|_| CollectiveError::TooLarge(size))?;
            // Peers are spread over the channels however little they are sent.
            let peers = if collective == Collective::SendRecv { 1 } else { ranks.max(2) - 1 };
            return Ok(Self { channels: most.min(peers), shapes: Vec::new(), window: STEPS });
        }
        let (channels, share) = shares(collective, bytes, most);
        let step = settings.step.get();
        let chunk = step * u64::from(CHUNK_STEPS);
        let slices = CHUNK_STEPS / SLICE_STEPS;
        let chain = matches!(collective, Collective::Broadcast { .. } | Collective::Reduce { .. });
        let shape = |channel| {
            let bytes = match share {
                Some(share) => shape::ragged(bytes, share, channel),
                None => shape::part(bytes, channels, channel),
            };
            match algorithm {
                Algorithm::Ring if !chain => Shape::new(bytes, ranks, chunk, slices),
                Algorithm::Rail => Shape::full(bytes, ranks, chunk, slices),
                Algorithm::Pat => Shape::full(bytes, ranks, step, 1),
                Algorithm::Ring => Shape::pipeline(bytes, ranks, LEAST_PIECE, step),
                _ => Shape::pipeline(bytes, levels(layout), LEAST_PIECE, step),
            }
        };
        let window = match algorithm {
            Algorithm::Ring if !chain => STEPS / SLICE_STEPS,
            Algorithm::Rail => STEPS / SLICE_STEPS,
            _ => STEPS,
        };
        debug_assert!(window <= MOST_WINDOW);
        let shapes: Option<Vec<_>> = (0..channels).map(shape).collect();
        let shapes = shapes.ok_or(CollectiveError::TooLarge(size))?;
        Ok(Self { channels, shapes, window })
    }
}

fn check(
    collective: Collective,
    algorithm: Algorithm,
    size: Bytes,
    layout: &Layout,
    settings: &Settings,
) -> Result<(), CollectiveError> {
    settings.check()?;
    let switched = algorithm.is_aggregate() && collective == Collective::AllReduce;
    let gathered = algorithm == Algorithm::Pat && has_pat(collective);
    if !switched && !gathered && !Algorithm::of(collective).contains(&algorithm) {
        return Err(CollectiveError::NoAlgorithm(collective, algorithm));
    }
    if size.is_zero() {
        return Err(CollectiveError::Empty);
    }
    let inside = layout.domains().len() == 1 && layout.nvls().is_some();
    if algorithm == Algorithm::Nvls && !inside {
        return Err(CollectiveError::NoNvls);
    }
    if algorithm == Algorithm::NvlsTree && !has_nvls_trees(layout) {
        return Err(CollectiveError::NoNvlsTree);
    }
    if gathered && !pat::fits(layout) {
        return Err(CollectiveError::NoPat);
    }
    let even = matches!(algorithm, Algorithm::Rail | Algorithm::InNetwork);
    if even && layout.ranks_per_domain().is_none() {
        return Err(CollectiveError::Uneven);
    }
    match collective {
        Collective::Gather { .. } | Collective::Scatter { .. }
            if size.get() < u64::from(layout.ranks()) =>
        {
            Err(CollectiveError::Empty)
        }
        Collective::Broadcast { root }
        | Collective::Gather { root }
        | Collective::Reduce { root }
        | Collective::Scatter { root }
            if root.0 >= layout.ranks() =>
        {
            Err(CollectiveError::NoRoot { root: root.0, ranks: layout.ranks() })
        }
        _ => Ok(()),
    }
}

/// Whether servers add up by their NVSwitches, and there are trees between them.
fn has_nvls_trees(layout: &Layout) -> bool {
    let even = layout.ranks_per_domain().is_some_and(|ranks| ranks > 1);
    layout.domains().len() > 1 && even && layout.nvls().is_some()
}

/// Whether the collective has an algorithm `pat`.
const fn has_pat(collective: Collective) -> bool {
    matches!(collective, Collective::AllGather | Collective::ReduceScatter)
}

/// Channels by NCCL's habits: rings are doubled so that a NIC always has one to send for.
fn channels_by_rule(algorithm: Algorithm, layout: &Layout) -> u32 {
    let channels = match algorithm {
        Algorithm::Ring | Algorithm::Tree | Algorithm::InNetwork | Algorithm::Pat => {
            u64::from(layout.rails()) * 2
        }
        Algorithm::Rail => 2,
        Algorithm::Nvls | Algorithm::NvlsTree => NVLS_CHANNELS,
        Algorithm::Pairwise | Algorithm::Pxn | Algorithm::Direct => {
            layout.nic_rate().bps().div_ceil(PAIR_CHANNEL.bps())
        }
    };
    channels.clamp(1, u64::from(MOST_CHANNELS)) as u32
}

/// Levels of a tree: those of the servers, and the chain in each.
fn levels(layout: &Layout) -> u32 {
    let servers = layout.domains().len() as u32;
    let chain = layout.domains().iter().map(Vec::len).max().unwrap_or(1) as u32;
    servers.next_power_of_two().ilog2() + chain
}

/// How many of the channels are used, and what each has but the last, if they are not cut evenly: channels are filled
/// one after the other with the least that is worth one, and shared by all when there is more than that.
/// (NCCL does the same with cells of that size.) So no channel gets less because there is more to send.
fn shares(collective: Collective, bytes: u64, most: u32) -> (u32, Option<u64>) {
    let share = match collective {
        Collective::AllReduce => LEAST_TRAFFIC / 2,
        _ => LEAST_TRAFFIC,
    };
    match bytes.div_ceil(share) {
        used if used <= u64::from(most) => (used as u32, Some(share)),
        _ => (most, None),
    }
}

/// The program of a collective over the ranks of a layout.
pub fn program(
    collective: Collective,
    algorithm: Algorithm,
    size: Bytes,
    layout: &Layout,
    settings: &Settings,
) -> Result<Program, CollectiveError> {
    if algorithm.is_aggregate() {
        check(collective, algorithm, size, layout, settings)?;
        return aggregate::program(algorithm, size, layout, settings).map(Program::Aggregate);
    }
    let cut = Cut::new(collective, algorithm, size, layout, settings)?;
    if algorithm == Algorithm::Pat {
        let gather = collective == Collective::AllGather;
        return pat::program(gather, size, layout, settings, cut).map(Program::Pat);
    }
    let Cut { channels, shapes, window } = cut;
    let terms = Terms::new(settings, window);
    let alone = layout.ranks() == 1;
    if !alone && algorithm.is_between_pairs() {
        let pattern = match collective {
            Collective::SendRecv => Pattern::Next,
            Collective::Gather { root } => Pattern::To(root.0),
            Collective::Scatter { root } => Pattern::From(root.0),
            _ => Pattern::All,
        };
        let rounds = Rounds::new(layout, pattern, Amounts::Even(size.get()));
        let ends = Ends::new(layout);
        return Ok(exchange(rounds, channels, algorithm, settings, (terms, ends)));
    }
    let columns = layout.ranks_per_domain().unwrap_or(1);
    let lanes = if algorithm == Algorithm::Rail { columns } else { 2 };
    let mut machine = Machine::new(terms, lanes, shapes, Ends::new(layout));
    if !alone {
        match (algorithm, collective) {
            (Algorithm::Ring, Collective::Broadcast { root }) => {
                build::chains(&mut machine, layout, channels, root);
            }
            (_, Collective::Broadcast { root }) => {
                build::broadcast_trees(&mut machine, layout, channels, root);
            }
            (_, Collective::Reduce { root }) => {
                build::sums(&mut machine, layout, channels, root);
            }
            (Algorithm::Tree, _) => build::trees(&mut machine, layout, channels),
            (Algorithm::Rail, _) => build::rails(&mut machine, layout, channels, columns),
            (_, Collective::AllGather) => {
                build::rings(&mut machine, layout, channels, Part::AllGather);
            }
            (_, Collective::ReduceScatter) => {
                build::rings(&mut machine, layout, channels, Part::ReduceScatter);
            }
            _ => build::rings(&mut machine, layout, channels, Part::AllReduce),
        }
    }
    machine.complete().map(Program::Machine).ok_or(CollectiveError::TooLarge(size))
}

/// Rounds between pairs, cut by the settings.
fn exchange(
    rounds: Rounds,
    channels: u32,
    algorithm: Algorithm,
    settings: &Settings,
    (terms, ends): (Terms, Ends),
) -> Program {
    if algorithm == Algorithm::Direct {
        return Program::Direct(Direct::new(rounds, terms, ends));
    }
    let by_rail = algorithm == Algorithm::Pxn;
    let rounds = rounds.with(channels, settings.pair_piece.get(), by_rail);
    Program::Exchange(Exchange::new(rounds, terms, ends))
}

/// The program of an AllToAll in which every rank has its own amount for every other.
pub fn uneven(
    matrix: &Arc<Matrix>,
    algorithm: Algorithm,
    layout: &Layout,
    settings: &Settings,
) -> Result<Program, CollectiveError> {
    let all = Collective::AllToAll;
    if matrix.ranks() != layout.ranks() {
        return Err(CollectiveError::Matrix { rows: matrix.ranks(), ranks: layout.ranks() });
    }
    let cut = Cut::new(all, algorithm, matrix.busiest(), layout, settings)?;
    let rounds = Rounds::new(layout, Pattern::All, Amounts::Each(Arc::clone(matrix)));
    let terms = Terms::new(settings, cut.window);
    Ok(exchange(rounds, cut.channels, algorithm, settings, (terms, Ends::new(layout))))
}
