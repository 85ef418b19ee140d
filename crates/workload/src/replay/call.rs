//! From a collective of a trace to a program of its own.

use crate::collective::{self, Algorithm, Collective, CollectiveError, Settings, tuner};
use crate::layout::Layout;
use crate::program::Program;
use xoff_units::Bytes;

/// What a group does together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// As it is.
    Plain(Collective),
    /// An AllReduce of four bytes, as PyTorch does it.
    Barrier,
}

/// Which algorithm a collective takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// What NCCL's tuner would.
    #[default]
    Auto,
    /// This one, for the collectives that have it.
    Always(Algorithm),
}

impl What {
    /// The collective that it is.
    pub(super) const fn shown(self) -> Collective {
        match self {
            What::Plain(collective) => collective,
            What::Barrier => Collective::AllReduce,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            What::Plain(collective) => collective.name(),
            What::Barrier => "barrier",
        }
    }

    /// How it is done.
    pub(super) fn algorithm(self, size: Bytes, layout: &Layout, by: Choice) -> Algorithm {
        let plain = self.shown();
        if let Choice::Always(algorithm) = by
            && (Algorithm::of(plain).contains(&algorithm) || algorithm.is_pat_for(plain, layout))
        {
            return algorithm;
        }
        let tuned = tuner::choose(plain, size, layout).filter(|_| by == Choice::Auto);
        tuned.map_or(Algorithm::of(plain)[0], |choice| choice.algorithm)
    }

    /// The program over the ranks of a layout.
    pub(super) fn program(
        self,
        size: Bytes,
        layout: &Layout,
        settings: &Settings,
        by: Choice,
    ) -> Result<Program, CollectiveError> {
        let algorithm = self.algorithm(size, layout, by);
        collective::program(self.shown(), algorithm, size, layout, settings)
    }
}
