//! [`Figure`]: a plot with its words, and the plots there are.
//!
//! All values are in the base unit of their axis ([`Unit`]): seconds, bytes, bits per second,
//! shares. Values that are not finite are left out, and so are those below or at zero on a
//! logarithmic axis.

use super::{Number, Unit};

/// A plot with its words.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its name in links and the name of its CSV.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What to see in it.
    pub caption: String,
    /// The plot.
    pub plot: Plot,
}

impl Figure {
    /// Rows of data that the CSV keeps: longer series are thinned to their extremes.
    pub const KEPT: usize = 5_000;

    /// A figure without a caption.
    pub fn new(id: impl Into<String>, title: impl Into<String>, plot: Plot) -> Self {
        Self { id: id.into(), title: title.into(), caption: String::new(), plot }
    }

    /// With a caption.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Its data as CSV, at most [`Figure::KEPT`] rows, in base units.
    pub fn csv(&self) -> String {
        super::csv::figure(self).0
    }
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Plot {
    /// Lines from point to point.
    Lines(Chart),
    /// Values that stay until the next one: a queue's depth.
    Steps(Chart),
    /// Bars in groups.
    Bars(Bars),
    /// Cumulative distributions: the share of values up to each value.
    Cdf(Cdf),
    /// A colour for each row and column.
    Heat(Heat),
    /// What was the case from when to when, lane by lane.
    Timeline(Timeline),
    /// Nodes in tiers with their links.
    Topology(Topology),
}

/// How an axis grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scale {
    /// By adding.
    #[default]
    Linear,
    /// By multiplying.
    Log,
}

/// What an axis shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Axis {
    /// What it is.
    pub label: String,
    /// What it counts.
    pub unit: Unit,
    /// How it grows.
    pub scale: Scale,
    /// Least and greatest value to show, if the data should not decide. The data still widens it.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>, unit: Unit) -> Self {
        Self { label: label.into(), unit, ..Self::default() }
    }

    /// Logarithmic.
    pub fn log(mut self) -> Self {
        self.scale = Scale::Log;
        self
    }

    /// Showing at least this much.
    pub fn from_to(mut self, from: f64, to: f64) -> Self {
        self.range = Some((from, to));
        self
    }
}

/// Series over a common axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// To the right.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// What is drawn. The first eight have colours of their own.
    pub series: Vec<Series>,
    /// Values of y that matter: a threshold.
    pub marks: Vec<Mark>,
    /// Stretches of x that matter: a fault.
    pub shades: Vec<Shade>,
}

impl Chart {
    /// A chart with nothing in it.
    pub fn new(x: Axis, y: Axis) -> Self {
        Self { x, y, ..Self::default() }
    }
}

/// One line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// What it is.
    pub name: String,
    /// Its points, in order of x.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// A series of bare values in the axes' base units.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points }
    }

    /// A series of quantities.
    pub fn of<X: Into<Number>, Y: Into<Number>>(
        name: impl Into<String>,
        points: impl IntoIterator<Item = (X, Y)>,
    ) -> Self {
        let points = points.into_iter().map(|(x, y)| (x.into().value, y.into().value));
        Self::new(name, points.collect())
    }
}

/// A value that matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// What it is.
    pub label: String,
    /// Where it is.
    pub value: f64,
}

impl Mark {
    /// A threshold.
    pub fn new(label: impl Into<String>, value: impl Into<Number>) -> Self {
        Self { label: label.into(), value: value.into().value }
    }
}

/// A stretch of an axis that matters.
#[derive(Debug, Clone, PartialEq)]
pub struct Shade {
    /// What was the case.
    pub label: String,
    /// From where.
    pub from: f64,
    /// To where; to the end of the axis if it did not end.
    pub to: Option<f64>,
}

/// Bars in groups.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    /// How long bars are.
    pub y: Axis,
    /// The groups, from left to right.
    pub groups: Vec<String>,
    /// One bar in each group.
    pub series: Vec<BarSeries>,
    /// What each group's bars are held against.
    pub reference: Option<Reference>,
}

/// One bar in each group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarSeries {
    /// What it is.
    pub name: String,
    /// Its value in each group, if it has one.
    pub values: Vec<Option<f64>>,
}

/// A mark across each group of bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reference {
    /// What it is: `ideal`.
    pub name: String,
    /// Its value in each group, if it has one.
    pub values: Vec<Option<f64>>,
}

/// Cumulative distributions: the share of values up to each value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cdf {
    /// The values' axis.
    pub x: Axis,
    /// One curve each.
    pub series: Vec<Samples>,
    /// Values that matter: an ideal, a limit.
    pub marks: Vec<Mark>,
}

/// Values in any order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// What they are.
    pub name: String,
    /// The values.
    pub values: Vec<f64>,
}

/// A colour for each row and column. Large ones are drawn by the greatest value of neighbours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heat {
    /// What the rows are.
    pub row_label: String,
    /// What the columns are.
    pub column_label: String,
    /// Names of the rows, from the top.
    pub rows: Vec<String>,
    /// Names of the columns, from the left.
    pub columns: Vec<String>,
    /// Values by row, then column; where there is none nothing is drawn.
    pub values: Vec<Vec<Option<f64>>>,
    /// What the values are.
    pub value_label: String,
    /// What the values count.
    pub unit: Unit,
    /// Values of the coldest and hottest colour; the data's own if not given.
    pub range: Option<(f64, f64)>,
}

/// What was the case from when to when.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timeline {
    /// Time.
    pub x: Axis,
    /// From the top.
    pub lanes: Vec<Lane>,
    /// Stretches of time that matter for all lanes: a fault.
    pub shades: Vec<Shade>,
}

/// One lane of a timeline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lane {
    /// Whose it is.
    pub name: String,
    /// What it belongs to, the colour of its stretches: a tier, a distance. Lanes of a group stand
    /// together.
    pub group: String,
    /// When it was the case.
    pub stretches: Vec<Stretch>,
}

/// From when to when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// From when.
    pub from: f64,
    /// To when; to the end of the axis if it did not end.
    pub to: Option<f64>,
}

impl Stretch {
    /// From one quantity to another.
    pub fn new(from: impl Into<Number>, to: Option<impl Into<Number>>) -> Self {
        Self { from: from.into().value, to: to.map(|to| to.into().value) }
    }
}

/// Nodes in tiers with their links. Large ones are folded: neighbours of a tier are drawn as one
/// node, their links as one link that has the load and the state of the worst.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Topology {
    /// From the hosts upwards.
    pub tiers: Vec<Tier>,
    /// The links.
    pub links: Vec<Link>,
}

/// Nodes of the same height.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tier {
    /// What they are, in the plural: `leaves`.
    pub name: String,
    /// From the left.
    pub nodes: Vec<Node>,
}

/// A switch, a server or a NIC.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The rail it belongs to, whose colour it gets.
    pub rail: Option<u32>,
    /// Whether it is broken.
    pub down: bool,
}

/// A node's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeRef {
    /// Which tier, from the hosts upwards.
    pub tier: usize,
    /// Which of its nodes.
    pub node: usize,
}

/// A link between two nodes. One that names no node is not drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// One end.
    pub from: NodeRef,
    /// The other.
    pub to: NodeRef,
    /// How busy it is, from 0 to 1.
    pub load: f64,
    /// How it does.
    pub state: LinkState,
}

/// How a link does, worst last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkState {
    /// Nothing is known of what it carries: it is planned, or was not recorded. Its load does not count.
    Unmeasured,
    /// As it should.
    #[default]
    Up,
    /// A place where traffic waits.
    Hot,
    /// Not at all.
    Down,
}

impl Topology {
    /// A node by its place.
    pub fn node(&self, at: NodeRef) -> Option<&Node> {
        self.tiers.get(at.tier)?.nodes.get(at.node)
    }
}
