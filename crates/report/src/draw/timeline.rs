//! What was the case from when to when, lane by lane.

use super::chart::{range, shade_keys};
use super::frame::{Frame, Side};
use super::ink::Ink;
use super::names::Names;
use super::panel::{ADVANCE, Drawn, Extras, Layout, Panel, fit, picture};
use super::ruler::Ruler;
use super::{Drawing, Form, Key, Picture, Width};
use crate::{Axis, Lane, Scale, Stretch, Timeline};
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::prelude::SVGBackend;

/// Lanes that are drawn.
const LANES: usize = 40;

/// Height of a lane in pixels.
const LANE: f64 = 17.0;

/// Stretches that are drawn in all; nearer neighbours become one.
const STRETCHES: usize = 3_000;

pub(super) fn timeline(timeline: &Timeline) -> Drawing {
    let mut notes = Vec::new();
    if timeline.lanes.len() > LANES {
        notes.push(format!("Drawn: the first {LANES} of {} lanes.", timeline.lanes.len()));
    }
    let groups = groups(timeline);
    let key = |(at, name): (usize, &&str)| Key {
        ink: Ink::series(at),
        form: Form::Box,
        name: (*name).to_owned(),
    };
    let named = groups.iter().enumerate().filter(|(_, name)| !name.is_empty());
    let mut legend: Vec<Key> = named.map(key).collect();
    legend.extend(shade_keys(&timeline.shades));
    let names: Vec<&str> = lanes(timeline).iter().map(|lane| lane.name.as_str()).collect();
    Drawing {
        wide: whole(timeline, &groups, Width::Wide),
        narrow: whole(timeline, &groups, Width::Narrow),
        legend,
        notes,
        description: format!(
            "{}; lanes: {}.",
            range(&timeline.x, times(timeline)),
            names.join(", ")
        ),
    }
}

fn lanes(timeline: &Timeline) -> &[Lane] {
    &timeline.lanes[..timeline.lanes.len().min(LANES)]
}

/// The groups in the order in which they come.
fn groups(timeline: &Timeline) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for lane in lanes(timeline) {
        if !groups.contains(&lane.group.as_str()) {
            groups.push(&lane.group);
        }
    }
    groups
}

fn times(timeline: &Timeline) -> impl Iterator<Item = f64> {
    let stretches = lanes(timeline).iter().flat_map(|lane| &lane.stretches);
    let stretches = stretches.flat_map(|stretch| [Some(stretch.from), stretch.to]);
    let shades = timeline.shades.iter().flat_map(|shade| [Some(shade.from), shade.to]);
    stretches.chain(shades).flatten()
}

fn whole(timeline: &Timeline, groups: &[&str], width: Width) -> Picture {
    let names: Vec<String> = lanes(timeline).iter().map(|lane| lane.name.clone()).collect();
    let rows = Names::new(&names, width, LANE);
    picture(width.pixels(), rows.height() + 64.0, |root| {
        let (axis, panel) = draw(root, timeline, groups, width, &rows)?;
        let x = Side::values(&axis, &panel.x);
        let y = Side::Names { label: String::new(), names: names.clone() };
        let (area, inset) = (panel.inside(), rows.inset());
        let frame = Frame { kind: "timeline", area, x, y, colour: None, inset };
        Ok(Extras { frame: Some(frame), ..Extras::default() })
    })
}

fn draw<'a, 'b>(
    root: &'a DrawingArea<SVGBackend<'b>, Shift>,
    timeline: &Timeline,
    groups: &[&str],
    width: Width,
    rows: &Names<'_>,
) -> Drawn<(Axis, Panel<'a, 'b>)> {
    let lanes = lanes(timeline);
    let axis = Axis { scale: Scale::Linear, ..timeline.x.clone() };
    let ticks = if width == Width::Wide { 8 } else { 3 };
    let x = Ruler::new(&axis, times(timeline), None, ticks);
    let layout = Layout {
        top: String::new(),
        bottom: fit(&x.title(&axis.label), width.pixels() - 80.0),
        upright: true,
        level: false,
        right: (x.longest() as f64 * ADVANCE / 2.0).max(8.0) + 4.0,
    };
    let mut panel = Panel::new(root, &layout, x, rows.ruler())?;
    rows.draw(root, &panel)?;
    let (from, to) = (panel.x.from(), panel.x.to());
    for shade in &timeline.shades {
        let end = shade.to.unwrap_or(to);
        panel.area((shade.from, 0.0), (end, lanes.len() as f64), Ink::Shade, 0.18)?;
    }
    let slots = (STRETCHES / lanes.len().max(1)).clamp(60, 440);
    let least = (to - from) / slots as f64;
    for (at, lane) in lanes.iter().enumerate() {
        let group = groups.iter().position(|group| *group == lane.group).unwrap_or_default();
        let (top, bottom) = (rows.place(at, 0.14), rows.place(at, 0.86));
        panel.area((from, top), (to, bottom), Ink::Grid, 0.35)?;
        for (start, end) in joined(&lane.stretches, to, least) {
            // What is too short to see is drawn all the same, as wide as one can see.
            let end = end.max(start + (to - from) / width.pixels());
            panel.area((start, top), (end, bottom), Ink::series(group), 1.0)?;
        }
    }
    Ok((axis, panel))
}

/// Stretches in order of time, those with less than `least` between them as one.
fn joined(stretches: &[Stretch], open: f64, least: f64) -> Vec<(f64, f64)> {
    let ends = stretches.iter().map(|s| (s.from, s.to.unwrap_or(open)));
    let mut all: Vec<(f64, f64)> = ends.filter(|(a, b)| a.is_finite() && b.is_finite()).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (from, to) in all {
        match joined.last_mut() {
            Some(last) if from - last.1 < least => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_neighbours_become_one() {
        let stretch = |from, to| Stretch { from, to };
        let all = [stretch(5.0, Some(6.0)), stretch(0.0, Some(1.0)), stretch(1.05, None)];
        assert_eq!(joined(&all, 4.0, 0.1), [(0.0, 4.0), (5.0, 6.0)]);
        assert_eq!(joined(&[stretch(f64::NAN, None)], 1.0, 0.1), []);
    }
}
