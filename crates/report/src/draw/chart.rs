//! Lines and steps over a common axis, and distributions.

use super::frame::{Frame, Side};
use super::ink::Ink;
use super::panel::{ADVANCE, Drawn, Extras, LETTER, Layout, Panel, fit, picture, units, words};
use super::ruler::{Ruler, can_be_drawn};
use super::{Drawing, Form, Key, Picture, Width, thin};
use crate::{Axis, Cdf, Chart, Mark, Samples, Scale, Shade, Unit};
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::Text;
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, VPos};

/// A series of more points is thinned.
const POINTS: usize = 2_000;

/// Series of no more points have dots.
const DOTS: usize = 24;

/// A mark this many times beyond the data is named and not drawn: it would flatten everything else.
const FAR: f64 = 4.0;

/// What the two kinds of chart have in common.
struct Plan<'a> {
    /// What the page's script calls it.
    kind: &'static str,
    x: &'a Axis,
    y: &'a Axis,
    series: Vec<(&'a str, Vec<(f64, f64)>)>,
    stepwise: bool,
    /// Marks across y, and across x.
    level: Vec<&'a Mark>,
    upright: Vec<&'a Mark>,
    shades: &'a [Shade],
}

pub(super) fn chart(chart: &Chart, stepwise: bool) -> Drawing {
    let mut notes = Vec::new();
    let shown = chart.series.iter().take(usize::from(Ink::SERIES));
    let series: Vec<_> = shown.map(|s| (s.name.as_str(), &s.points)).collect();
    if chart.series.len() > series.len() {
        notes.push(format!("Drawn: the first {} of {} series.", series.len(), chart.series.len()));
    }
    if series.iter().any(|(_, points)| points.len() > POINTS) {
        notes.push("Long series are thinned: of each stretch the extremes are drawn.".to_owned());
    }
    let fits =
        |(x, y): &(f64, f64)| can_be_drawn(*x, chart.x.scale) && can_be_drawn(*y, chart.y.scale);
    let left_out: usize = series.iter().map(|(_, p)| p.iter().filter(|p| !fits(p)).count()).sum();
    if left_out > 0 {
        notes.push(format!("{left_out} points have no place on these axes."));
    }
    let keep = |points: &Vec<(f64, f64)>| points.iter().copied().filter(fits).collect();
    let series = series.into_iter().map(|(name, points)| (name, keep(points))).collect();
    let mut plan = Plan {
        kind: if stepwise { "steps" } else { "lines" },
        x: &chart.x,
        y: &chart.y,
        series,
        stepwise,
        level: chart.marks.iter().collect(),
        upright: Vec::new(),
        shades: &chart.shades,
    };
    let greatest = plan.series.iter().flat_map(|(_, p)| p).map(|p| p.1).fold(0.0, f64::max);
    let far = |mark: &&Mark| greatest > 0.0 && mark.value > greatest * FAR;
    for mark in plan.level.iter().filter(|mark| far(mark)) {
        let value = chart.y.unit.show(mark.value);
        notes.push(format!("{} is at {value}, above the drawing.", mark.label));
    }
    plan.level.retain(|mark| !far(mark) && can_be_drawn(mark.value, chart.y.scale));
    plan.drawing(notes)
}

pub(super) fn cdf(curves: &Cdf) -> Drawing {
    let y = Axis::new("share up to here", Unit::Share).from_to(0.0, 1.0);
    let shown: Vec<&Samples> = curves.series.iter().take(usize::from(Ink::SERIES)).collect();
    let mut notes = Vec::new();
    if curves.series.len() > shown.len() {
        notes.push(format!("Drawn: the first {} of {} series.", shown.len(), curves.series.len()));
    }
    let scale = curves.x.scale;
    let curve = |samples: &&'_ Samples| {
        let fits = samples.values.iter().copied().filter(|v| can_be_drawn(*v, scale));
        let mut points = thin::cumulative(&fits.collect::<Vec<_>>());
        // The curve rises from the ground.
        if let Some(first) = points.first().copied() {
            points.insert(0, (first.0, 0.0));
        }
        points
    };
    let series = shown.iter().map(|s| (s.name.as_str(), curve(s))).collect();
    let upright = curves.marks.iter().filter(|mark| can_be_drawn(mark.value, scale)).collect();
    let plan = Plan {
        kind: "cdf",
        x: &curves.x,
        y: &y,
        series,
        stepwise: true,
        level: Vec::new(),
        upright,
        shades: &[],
    };
    plan.drawing(notes)
}

impl Plan<'_> {
    fn drawing(&self, mut notes: Vec<String>) -> Drawing {
        if self.values(|p| p.0).next().is_none() {
            notes.push("There is nothing to draw.".to_owned());
        }
        Drawing {
            wide: self.picture(Width::Wide),
            narrow: self.picture(Width::Narrow),
            legend: self.legend(),
            notes,
            description: self.description(),
        }
    }

    fn legend(&self) -> Vec<Key> {
        let key = |(at, (name, _)): (usize, &(&str, _))| Key {
            ink: Ink::series(at),
            form: Form::Line,
            name: (*name).to_owned(),
        };
        let mut keys: Vec<Key> = self.series.iter().enumerate().map(key).collect();
        keys.extend(shade_keys(self.shades));
        keys
    }

    fn description(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|(name, _)| *name).collect();
        let (x, y) = (range(self.x, self.values(|p| p.0)), range(self.y, self.values(|p| p.1)));
        format!("{} over {}: {}. {x}; {y}.", self.y.label, self.x.label, names.join(", "))
    }

    fn values<'s>(
        &'s self,
        part: impl Fn(&(f64, f64)) -> f64 + 's,
    ) -> impl Iterator<Item = f64> + 's {
        self.series.iter().flat_map(|(_, points)| points).map(part)
    }

    fn picture(&self, width: Width) -> Picture {
        let height = if width == Width::Wide { 300.0 } else { 260.0 };
        picture(width.pixels(), height, |root| self.draw(root, width))
    }

    fn draw(&self, root: &DrawingArea<SVGBackend<'_>, Shift>, width: Width) -> Drawn<Extras> {
        let (across, up) = if width == Width::Wide { (8, 5) } else { (4, 4) };
        let marks = self.upright.iter().map(|mark| mark.value);
        let x = Ruler::new(self.x, self.values(|p| p.0).chain(marks), None, across);
        let marks = self.level.iter().map(|mark| mark.value);
        let ground = (self.y.scale == Scale::Linear).then_some(0.0);
        let y = Ruler::new(self.y, self.values(|p| p.1).chain(marks), ground, up);
        let layout = Layout {
            top: fit(&y.title(&self.y.label), width.pixels()),
            bottom: fit(&x.title(&self.x.label), width.pixels() - 80.0),
            upright: false,
            level: true,
            right: (x.longest() as f64 * ADVANCE / 2.0).max(8.0) + 4.0,
        };
        let mut panel = Panel::new(root, &layout, x, y)?;
        self.shade(&mut panel)?;
        let most = if width == Width::Wide { POINTS } else { POINTS / 3 };
        for (at, (_, points)) in self.series.iter().enumerate() {
            let points = thin::extremes(points, most);
            let ink = Ink::series(at);
            if points.len() <= DOTS && !self.stepwise {
                for point in &points {
                    panel.dot(*point, 2.5, ink)?;
                }
            }
            let points = if self.stepwise { steps(&points) } else { points };
            panel.path(points, ink, 1.5)?;
        }
        self.marks(root, &mut panel)?;
        let (x, y) = (Side::values(self.x, &panel.x), Side::values(self.y, &panel.y));
        let area = panel.inside();
        let frame = Frame { kind: self.kind, area, x, y, colour: None, inset: 0.0 };
        // Where nothing is drawn there is nothing to read under a pointer.
        let frame = self.values(|p| p.0).next().is_some().then_some(frame);
        Ok(Extras { frame, ..Extras::default() })
    }

    fn shade(&self, panel: &mut Panel<'_, '_>) -> Drawn {
        let (bottom, top) = (panel.y.from(), panel.y.to());
        for shade in self.shades {
            let to = shade.to.unwrap_or(panel.x.to());
            if shade.from <= panel.x.to() && to >= panel.x.from() {
                panel.area((shade.from, top), (to, bottom), Ink::Shade, 0.18)?;
            }
        }
        Ok(())
    }

    /// Thresholds with their names, which stand above their lines and above each other.
    fn marks(&self, root: &DrawingArea<SVGBackend<'_>, Shift>, panel: &mut Panel<'_, '_>) -> Drawn {
        let (left, right) = (panel.x.from(), panel.x.to());
        let mut level = self.level.clone();
        level.sort_by(|a, b| a.value.total_cmp(&b.value));
        for mark in &level {
            panel.path(vec![(left, mark.value), (right, mark.value)], Ink::Mark, 1.25)?;
        }
        let places: Vec<(i32, i32)> = level.iter().map(|m| panel.place(right, m.value)).collect();
        let near = units(2.0 * LETTER + 6.0);
        let (ground, mut highest) = (panel.place(right, panel.y.from()).1, i32::MAX);
        for (at, mark) in level.iter().enumerate() {
            let (x, y) = places[at];
            let text = format!("{} {}", fit(&mark.label, 200.0), self.y.unit.show(mark.value));
            // Of two that are near each other the lower one's name stands below its line.
            let crowded = places.get(at + 1).is_some_and(|next| y - next.1 < near);
            let room = ground.min(highest) - y > units(LETTER + 6.0);
            let (y, side) = if crowded && room {
                (y + units(4.0), VPos::Top)
            } else {
                ((y - units(3.0)).min(highest.saturating_sub(units(LETTER + 2.0))), VPos::Bottom)
            };
            highest = y;
            root.draw(&Text::new(text, (x, y), words(Ink::Mark, HPos::Right, side)))?;
        }
        let (bottom, top) = (panel.y.from(), panel.y.to());
        let middle = (panel.place(left, top).0 + panel.place(right, top).0) / 2;
        for (row, mark) in self.upright.iter().enumerate() {
            panel.path(vec![(mark.value, bottom), (mark.value, top)], Ink::Mark, 1.25)?;
            let (x, y) = panel.place(mark.value, top);
            let (x, side) = if x > middle {
                (x - units(4.0), HPos::Right)
            } else {
                (x + units(4.0), HPos::Left)
            };
            let y = y + units(2.0 + row as f64 * (LETTER + 3.0));
            let text = format!("{} {}", fit(&mark.label, 140.0), self.x.unit.show(mark.value));
            root.draw(&Text::new(text, (x, y), words(Ink::Mark, side, VPos::Top)))?;
        }
        Ok(())
    }
}

/// Each shade's words once.
pub(super) fn shade_keys(shades: &[Shade]) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for shade in shades {
        if keys.len() < 3 && keys.iter().all(|key| key.name != shade.label) {
            keys.push(Key { ink: Ink::Shade, form: Form::Box, name: shade.label.clone() });
        }
    }
    keys
}

/// What an axis spans, in words.
pub(super) fn range(axis: &Axis, values: impl Iterator<Item = f64>) -> String {
    let bounds = values.fold(None, |bounds: Option<(f64, f64)>, v| match bounds {
        Some((from, to)) => Some((from.min(v), to.max(v))),
        None => Some((v, v)),
    });
    match bounds {
        Some((from, to)) => {
            format!("{} from {} to {}", axis.label, axis.unit.show(from), axis.unit.show(to))
        }
        None => format!("{}: no data", axis.label),
    }
}

/// A corner between each two points: a value stays until the next one.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut stairs = Vec::with_capacity(points.len() * 2);
    for (at, point) in points.iter().enumerate() {
        if at > 0 && points[at - 1].1 != point.1 {
            stairs.push((point.0, points[at - 1].1));
        }
        stairs.push(*point);
    }
    stairs
}
