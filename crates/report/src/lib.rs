//! One self-contained page: the verdict first, then what was checked, tables and figures whose data
//! can be downloaded.
//!
//! A [`Report`] is a document: a headline, facts, and [`Section`]s of [`Block`]s (text, tables,
//! checks with their evidence, [`Figure`]s). [`Report::html`] makes one page of it that needs no
//! network, follows light and dark, prints, and is the same bytes for the same report. Plots are
//! read under the pointer and zoomed, tables sorted and filtered, code copied; without a script
//! everything is still there to be read.
//!
//! Text may come from untrusted files: all of it is escaped, ids are made safe, and the page's
//! content security policy runs no script but the one it carries. Data may be large: what is drawn
//! and what is kept as CSV is bounded, and the caption says what was left out.
//!
//! What it is not: it knows nothing of fabrics or simulation, decides no verdict and writes no
//! file. Read [`block`] first, then [`figure`].

pub mod block;
mod csv;
mod draw;
pub mod figure;
mod html;
pub mod unit;

pub use block::{Block, Cell, Check, Column, Fold, Table, Tile, Value, ranked};
pub use figure::{
    Axis, BarSeries, Bars, Cdf, Chart, Figure, Heat, Lane, Link, LinkState, Mark, Node, NodeRef,
    Plot, Reference, Samples, Scale, Series, Shade, Stretch, Tier, Timeline, Topology,
};
pub use unit::{Number, Unit, counted};

use serde::{Deserialize, Serialize};

/// A whole report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// How it ended, if it judges anything.
    pub verdict: Option<Verdict>,
    /// One sentence that says it all.
    pub headline: String,
    /// The figures that matter most, below it.
    pub tiles: Vec<Tile>,
    /// What a reader must not miss, one sentence each: who caused it, and where.
    pub points: Vec<String>,
    /// What a reader needs to trust and repeat it: the command, seed, version, file hashes, what
    /// the model leaves out.
    pub facts: Vec<Fact>,
    /// The rest, in order.
    pub sections: Vec<Section>,
}

impl Report {
    /// An empty report.
    pub fn new(title: impl Into<String>, headline: impl Into<String>) -> Self {
        Self { title: title.into(), headline: headline.into(), ..Self::default() }
    }

    /// The page.
    pub fn html(&self) -> String {
        html::page(self)
    }
}

/// How something ended, worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// Worth a look.
    Warn,
    /// Not as it should be.
    Fail,
}

impl Verdict {
    /// `pass`, `warn` or `fail`.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Warn => "warn",
            Verdict::Fail => "fail",
        }
    }

    /// The worst of many; none of none.
    pub fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Option<Verdict> {
        verdicts.into_iter().max()
    }
}

/// Something a reader needs to trust and repeat a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// What it says.
    pub value: String,
    /// Whether it is to be copied: a command, a hash.
    pub code: bool,
}

impl Fact {
    /// A fact in words.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), code: false }
    }

    /// A fact to be copied: a command, a hash.
    pub fn code(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { code: true, ..Self::new(name, value) }
    }
}

/// A part of a report that the contents list names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    /// Its name in links. Of equal ids the first is linked to.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// How it ended, if it judges anything; shown in the contents list, too.
    pub verdict: Option<Verdict>,
    /// What to know before reading it.
    pub lead: Option<String>,
    /// What it says.
    pub blocks: Vec<Block>,
}

impl Section {
    /// An empty section.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), ..Self::default() }
    }
}

#[cfg(test)]
mod tests;
