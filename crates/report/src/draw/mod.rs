//! Plots as pictures, each for a wide and for a narrow page.

mod bars;
mod chart;
mod frame;
mod heat;
mod ink;
mod names;
mod panel;
mod ruler;
pub(super) mod thin;
mod timeline;
mod topology;

pub(super) use frame::Frame;
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
    /// What it shows, for screen readers.
    pub(super) description: String,
}

/// Shapes within an SVG element.
#[derive(Debug, Default)]
pub(super) struct Picture {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) shapes: String,
    /// Its axes, if it has any that can be read and zoomed.
    pub(super) frame: Option<Frame>,
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
    /// A mark across bars.
    Upright,
    Thick,
    /// From cold to hot.
    Ramp,
}

/// What page a picture is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Wide,
    Narrow,
}

impl Width {
    /// Width of the picture in pixels of the page.
    fn pixels(self) -> f64 {
        match self {
            Width::Wide => 860.0,
            Width::Narrow => 350.0,
        }
    }
}

impl Key {
    /// Its classes in the style sheet.
    pub(super) fn class(&self) -> String {
        let form = match self.form {
            Form::Line => "line",
            Form::Dashes => "dashes",
            Form::Box => "box",
            Form::Upright => "upright",
            Form::Thick => "thick",
            Form::Ramp => "ramp",
        };
        format!("{form} {}", self.ink.name())
    }
}

/// Draws a plot.
pub(super) fn draw(plot: &Plot) -> Drawing {
    match plot {
        Plot::Lines(lines) => chart::chart(lines, false),
        Plot::Steps(steps) => chart::chart(steps, true),
        Plot::Bars(bars) => bars::bars(bars),
        Plot::Cdf(curves) => chart::cdf(curves),
        Plot::Heat(heat) => heat::heat(heat),
        Plot::Timeline(timeline) => timeline::timeline(timeline),
        Plot::Topology(topology) => topology::topology(topology),
    }
}
