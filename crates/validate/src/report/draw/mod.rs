//! Plots as pictures, each for a wide and for a narrow page.

mod ink;
pub(super) mod thin;

pub(super) use ink::Ink;

use super::figure::Plot;

/// What is to be put on the page for a plot.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    /// For pages of 700 pixels and more, and for print.
    pub(super) wide: Picture,
    /// For narrower ones.
    pub(super) narrow: Picture,
    /// What the colours mean.
    pub(super) legend: Vec<Key>,
    /// What was left out.
    pub(super) notes: Vec<String>,
    /// What it shows, for those who do not see it.
    pub(super) description: String,
}

/// Shapes within an SVG element.
#[derive(Debug, Default)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) shapes: String,
}

/// A line of a legend.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) ink: Ink,
    pub(super) form: Form,
    pub(super) name: String,
}

/// What a legend shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Line,
    Dashes,
    Box,
}

impl Key {
    /// Its classes in the style sheet.
    pub(super) fn class(&self) -> String {
        let form = match self.form {
            Form::Line => "line",
            Form::Dashes => "dashes",
            Form::Box => "box",
        };
        format!("{form} {}", self.ink.name())
    }
}

/// Draws a plot.
pub(super) fn draw(_plot: &Plot) -> Drawing {
    Drawing::default()
}
