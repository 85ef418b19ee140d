//! [`Names`]: where the names of rows stand. On a wide page at the left, with as much room as the
//! longest needs; on a narrow one above their rows, because beside them nothing would be left.

use super::Width;
use super::ink::Ink;
use super::panel::{ADVANCE, Drawn, LETTER, Panel, fit, units, words};
use super::ruler::Ruler;
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::Text;
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, VPos};

/// Names at the left get this many pixels at most, which is 43 characters.
const WIDEST: f64 = 320.0;

/// Height of a line of names above rows, in pixels.
const LINE: f64 = LETTER + 5.0;

/// Where the names of rows stand.
pub(super) struct Names<'a> {
    names: &'a [String],
    width: Width,
    /// Height of a row without its name, in pixels.
    row: f64,
}

impl<'a> Names<'a> {
    pub(super) fn new(names: &'a [String], width: Width, row: f64) -> Self {
        Self { names, width, row }
    }

    /// Height of all rows.
    pub(super) fn height(&self) -> f64 {
        let line = if self.above() { LINE } else { 0.0 };
        self.names.len().max(1) as f64 * (self.row + line)
    }

    /// The vertical axis.
    pub(super) fn ruler(&self) -> Ruler {
        if self.above() {
            let none = vec![String::new(); self.names.len()];
            return Ruler::names(&none, 1, WIDEST, true);
        }
        Ruler::names(self.names, 1, WIDEST, true)
    }

    /// The share of a row that its name takes at its top.
    pub(super) fn inset(&self) -> f64 {
        if self.above() { LINE / (LINE + self.row) } else { 0.0 }
    }

    /// Where, from its top to its bottom, a share of a row's own part is.
    pub(super) fn place(&self, row: usize, share: f64) -> f64 {
        row as f64 + self.inset() + share * (1.0 - self.inset())
    }

    /// Writes the names that the axis does not.
    pub(super) fn draw(
        &self,
        root: &DrawingArea<SVGBackend<'_>, Shift>,
        panel: &Panel<'_, '_>,
    ) -> Drawn {
        if !self.above() {
            return Ok(());
        }
        for (at, name) in self.names.iter().enumerate() {
            let (left, top) = panel.place(panel.x.from(), at as f64);
            let style = words(Ink::Muted, HPos::Left, VPos::Top);
            let text = fit(name, self.width.pixels() - 2.0 * ADVANCE);
            root.draw(&Text::new(text, (left, top + units(1.0)), style))?;
        }
        Ok(())
    }

    fn above(&self) -> bool {
        self.width == Width::Narrow
    }
}
