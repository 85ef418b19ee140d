//! Bars in groups. They lie, so that long names have room.

use super::frame::spot;
use super::ink::Ink;
use super::names::Names;
use super::panel::{ADVANCE, Drawn, Extras, Layout, Panel, fit, picture, units, words};
use super::ruler::{Ruler, can_be_drawn};
use super::{Drawing, Form, Key, Picture, Width};
use crate::{Bars, Scale};
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::Text;
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, VPos};

/// Groups that are drawn.
const GROUPS: usize = 40;

/// Height of a bar and between groups, in pixels.
const BAR: f64 = 15.0;
const BETWEEN: f64 = 11.0;

pub(super) fn bars(bars: &Bars) -> Drawing {
    let mut notes = Vec::new();
    if bars.groups.len() > GROUPS {
        notes.push(format!("Drawn: the first {GROUPS} of {} groups.", bars.groups.len()));
    }
    let key = |(at, name): (usize, &String)| Key {
        ink: Ink::series(at),
        form: Form::Box,
        name: name.clone(),
    };
    let mut legend: Vec<Key> = Vec::new();
    if bars.series.len() > 1 || bars.reference.is_some() {
        legend.extend(shown(bars).map(|series| &series.name).enumerate().map(key));
    }
    if let Some(reference) = &bars.reference {
        let name = reference.name.clone();
        legend.push(Key { ink: Ink::Text, form: Form::Upright, name });
    }
    let names: Vec<&str> = bars.groups.iter().take(GROUPS).map(String::as_str).collect();
    Drawing {
        wide: whole(bars, Width::Wide),
        narrow: whole(bars, Width::Narrow),
        legend,
        notes,
        description: format!("{} of {}.", bars.y.label, names.join(", ")),
    }
}

fn shown(bars: &Bars) -> impl Iterator<Item = &crate::BarSeries> {
    bars.series.iter().take(usize::from(Ink::SERIES))
}

fn whole(bars: &Bars, width: Width) -> Picture {
    let groups = &bars.groups[..bars.groups.len().min(GROUPS)];
    let each = shown(bars).count().max(1) as f64 * BAR + BETWEEN;
    let names = Names::new(groups, width, each);
    picture(width.pixels(), names.height() + 60.0, |root| draw(root, bars, width, &names))
}

fn draw(
    root: &DrawingArea<SVGBackend<'_>, Shift>,
    bars: &Bars,
    width: Width,
    names: &Names<'_>,
) -> Drawn<Extras> {
    let groups = &bars.groups[..bars.groups.len().min(GROUPS)];
    let count = shown(bars).count().max(1) as f64;
    // Bars begin at zero, so their axis is never logarithmic.
    let axis = crate::Axis { scale: Scale::Linear, ..bars.y.clone() };
    let drawn = |values: &[Option<f64>]| -> Vec<f64> {
        let values = values.iter().take(GROUPS).flatten().copied();
        values.filter(|v| can_be_drawn(*v, Scale::Linear)).collect()
    };
    let mut values: Vec<f64> = shown(bars).flat_map(|series| drawn(&series.values)).collect();
    values.extend(bars.reference.iter().flat_map(|reference| drawn(&reference.values)));
    let ticks = if width == Width::Wide { 8 } else { 3 };
    let x = Ruler::new(&axis, values.into_iter(), Some(0.0), ticks);
    let layout = Layout {
        top: String::new(),
        bottom: fit(&x.title(&axis.label), width.pixels() - 80.0),
        upright: true,
        level: false,
        right: ADVANCE * 10.0,
    };
    let mut panel = Panel::new(root, &layout, x, names.ruler())?;
    names.draw(root, &panel)?;
    let gap = BETWEEN / (count * BAR + BETWEEN) / 2.0;
    let each = (1.0 - 2.0 * gap) / count;
    for (at, series) in shown(bars).enumerate() {
        for (group, value) in series.values.iter().take(groups.len()).enumerate() {
            let Some(value) = value.filter(|v| can_be_drawn(*v, Scale::Linear)) else { continue };
            let place = |share: f64| names.place(group, gap + (at as f64 + share) * each);
            panel.area((0.0, place(0.06)), (value, place(0.94)), Ink::series(at), 1.0)?;
            let (mut end, middle) = panel.place(value.max(0.0), place(0.5));
            // The number does not stand on the reference's mark.
            let mark = bars.reference.iter().find_map(|r| r.values.get(group).copied().flatten());
            let mark = mark.map(|mark| panel.place(mark, 0.0).0);
            if let Some(mark) = mark.filter(|m| *m > end - units(3.0) && *m < end + units(65.0)) {
                end = mark;
            }
            let style = words(Ink::Muted, HPos::Left, VPos::Center);
            root.draw(&Text::new(axis.unit.show(value), (end + units(5.0), middle), style))?;
        }
    }
    let reference = bars.reference.iter().flat_map(|reference| &reference.values);
    for (group, value) in reference.take(groups.len()).enumerate() {
        let Some(value) = value.filter(|v| can_be_drawn(*v, Scale::Linear)) else { continue };
        let (top, bottom) = (names.place(group, gap * 0.5), names.place(group, 1.0 - gap * 0.5));
        panel.path(vec![(value, top), (value, bottom)], Ink::Text, 2.5)?;
    }
    let [_, _, right, _] = panel.inside();
    let spots = (0..groups.len()).map(|group| {
        let top = panel.place(0.0, group as f64).1;
        let bottom = panel.place(0.0, group as f64 + 1.0).1;
        spot(0, top, right, bottom, &said(bars, group))
    });
    Ok(Extras { spots: spots.collect(), frame: None })
}

/// What a group shows, line by line: its name, then each bar and the reference with its value.
fn said(bars: &Bars, group: usize) -> String {
    let reference = bars.reference.iter().map(|r| (&r.name, &r.values));
    let all = shown(bars).map(|series| (&series.name, &series.values)).chain(reference);
    let line = |(name, values): (&String, &Vec<Option<f64>>)| {
        let value = bars.y.unit.show(values.get(group).copied().flatten()?);
        Some(format!("{name}: {value}"))
    };
    let lines = bars.groups.get(group).cloned().into_iter().chain(all.filter_map(line));
    lines.collect::<Vec<_>>().join("\n")
}
