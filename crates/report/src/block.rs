//! [`Block`]: what sections are made of.

use super::figure::Figure;
use super::{Number, Unit, Verdict, counted};

/// One piece of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph. An empty line begins another.
    Text(String),
    /// Several short points.
    List(Vec<String>),
    /// A few figures that matter most, large.
    Tiles(Vec<Tile>),
    /// A table.
    Table(Table),
    /// A figure.
    Figure(Figure),
    /// A check with its verdict and evidence.
    Check(Check),
    /// Text to be copied as it is.
    Code(String),
    /// Blocks behind one line, to be opened.
    Fold(Fold),
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Block::Table(table)
    }
}

impl From<Figure> for Block {
    fn from(figure: Figure) -> Self {
        Block::Figure(figure)
    }
}

impl From<Check> for Block {
    fn from(check: Check) -> Self {
        Block::Check(check)
    }
}

impl From<Fold> for Block {
    fn from(fold: Fold) -> Self {
        Block::Fold(fold)
    }
}

/// Blocks behind one line. It opens without a script, prints open, and opens by itself for a link
/// to something in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fold {
    /// The line that stands for them: what is in it, and how much.
    pub title: String,
    /// Whether it is open at first.
    pub open: bool,
    /// What is folded.
    pub blocks: Vec<Block>,
}

impl Fold {
    /// Closed at first.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { title: title.into(), open: false, blocks }
    }
}

/// What a tile shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Number(Number),
    /// A word or two.
    Words(String),
}

/// One large number, or a word.
#[derive(Debug, Clone, PartialEq)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// How much.
    pub value: Value,
    /// What to compare it with.
    pub note: Option<String>,
    /// Whether it is as it should be.
    pub verdict: Option<Verdict>,
    /// The section or check that explains it, by its id.
    pub link: Option<String>,
}

impl Tile {
    /// A number without a judgement.
    pub fn new(name: impl Into<String>, value: impl Into<Number>) -> Self {
        Self::of(name, Value::Number(value.into()))
    }

    /// A word or two without a judgement.
    pub fn words(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self::of(name, Value::Words(value.into()))
    }

    fn of(name: impl Into<String>, value: Value) -> Self {
        Self { name: name.into(), value, note: None, verdict: None, link: None }
    }

    /// With a link to the section or check of this id.
    pub fn link(mut self, id: impl Into<String>) -> Self {
        self.link = Some(id.into());
        self
    }

    /// With something to compare it with.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// With a judgement.
    pub fn verdict(mut self, verdict: Verdict) -> Self {
        self.verdict = Some(verdict);
        self
    }
}

/// A table, to be sorted and filtered. The page shows [`Table::SHOWN`] rows at a time, the CSV, from
/// which the page takes the others, has [`Table::KEPT`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Its name in links and the name of its CSV.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows. Cells that are missing are empty; cells beyond the last column are not shown.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Rows that the page shows at a time.
    pub const SHOWN: usize = 200;
    /// Rows that the CSV keeps.
    pub const KEPT: usize = 5_000;

    /// An empty table.
    pub fn new(
        id: impl Into<String>,
        caption: impl Into<String>,
        columns: impl Into<Vec<Column>>,
    ) -> Self {
        Self { id: id.into(), caption: caption.into(), columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The whole table as CSV, up to [`Table::KEPT`] rows: numbers in their base unit, which the
    /// heading names.
    pub fn csv(&self) -> String {
        super::csv::table(self)
    }
}

/// A column of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// What its numbers count; numbers align to the right.
    pub unit: Option<Unit>,
}

impl Column {
    /// A column of words.
    pub fn text(name: impl Into<String>) -> Self {
        Self { name: name.into(), unit: None }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>, unit: Unit) -> Self {
        Self { name: name.into(), unit: Some(unit) }
    }
}

/// One cell of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Cell {
    /// Nothing.
    #[default]
    Empty,
    /// Words.
    Text(String),
    /// A number.
    Number(Number),
    /// A badge.
    Verdict(Verdict),
    /// Words that lead to a section or a check, by its id.
    Link {
        /// The words.
        text: String,
        /// The id of the section or check.
        section: String,
    },
}

impl Cell {
    /// Words that lead to a section or a check.
    pub fn link(text: impl Into<String>, section: impl Into<String>) -> Self {
        Cell::Link { text: text.into(), section: section.into() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl From<Verdict> for Cell {
    fn from(verdict: Verdict) -> Self {
        Cell::Verdict(verdict)
    }
}

impl From<Number> for Cell {
    fn from(number: Number) -> Self {
        Cell::Number(number)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(cell: Option<T>) -> Self {
        cell.map_or(Cell::Empty, Into::into)
    }
}

/// A check: what was done, what came out, what should have, and what to do about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its name in links, as it is: `synthetic.incast` is `#synthetic.incast`. Without one nothing
    /// leads to it.
    pub id: String,
    /// What is checked.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
    /// What was done.
    pub done: String,
    /// What was measured.
    pub measured: String,
    /// What it is held against.
    pub expected: String,
    /// What shows it. Folded away where all is well.
    pub evidence: Vec<Block>,
    /// What to change.
    pub advice: Option<String>,
    /// The same as lines of a file, to be copied.
    pub lines: Option<String>,
}

impl Check {
    /// A check of which only the outcome is known.
    pub fn new(name: impl Into<String>, verdict: Verdict) -> Self {
        Self {
            id: String::new(),
            name: name.into(),
            verdict,
            done: String::new(),
            measured: String::new(),
            expected: String::new(),
            evidence: Vec::new(),
            advice: None,
            lines: None,
        }
    }
}

/// Checks in the order in which they matter: those that fail, those that warn, and those that pass
/// folded to one line.
pub fn ranked(checks: impl IntoIterator<Item = Check>) -> Vec<Block> {
    let (passed, mut open): (Vec<Check>, Vec<Check>) =
        checks.into_iter().partition(|check| check.verdict == Verdict::Pass);
    open.sort_by_key(|check| std::cmp::Reverse(check.verdict));
    let mut blocks: Vec<Block> = open.into_iter().map(Block::Check).collect();
    if !passed.is_empty() {
        let title = counted(passed.len() as u64, "check passes", "checks pass");
        blocks.push(Fold::new(title, passed.into_iter().map(Block::Check).collect()).into());
    }
    blocks
}
