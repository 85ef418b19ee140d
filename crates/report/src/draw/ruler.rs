//! [`Ruler`]: how values of an axis become places, and which of them are written.

use super::panel::fit;
use crate::unit::{Unit, digits};
use crate::{Axis, Scale};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// An axis that is ready to be drawn.
#[derive(Debug, Clone)]
pub(super) struct Ruler {
    from: f64,
    to: f64,
    kind: Kind,
    ticks: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Kind {
    /// Values in a prefix of this size, whose name the axis's title says.
    Linear { size: f64, name: &'static str },
    /// Values that each say their own prefix.
    Log { unit: Unit },
    /// Names, one in the middle of each step.
    Names(Vec<String>),
}

/// Values beyond this are not drawn: their differences would not be finite.
const LARGEST: f64 = 1e250;

/// Whether a value has a place on such an axis.
pub(super) fn can_be_drawn(value: f64, scale: Scale) -> bool {
    match scale {
        Scale::Linear => value.abs() <= LARGEST,
        Scale::Log => (1.0 / LARGEST..=LARGEST).contains(&value),
    }
}

impl Ruler {
    /// A ruler for an axis and the values on it, with about so many ticks. `ground` is a value that
    /// a linear axis shows in any case: the zero of a depth.
    pub(super) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        ground: Option<f64>,
        ticks: usize,
    ) -> Self {
        let asked = axis.range.into_iter().flat_map(|(from, to)| [from, to]);
        let ground = ground.filter(|_| axis.scale == Scale::Linear);
        let all = values.chain(asked).chain(ground).filter(|v| can_be_drawn(*v, axis.scale));
        let (from, to) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, greatest), v| {
            (least.min(v), greatest.max(v))
        });
        let nothing = if axis.scale == Scale::Linear { (0.0, 0.0) } else { (1.0, 1.0) };
        let (from, to) = if from <= to { (from, to) } else { nothing };
        match axis.scale {
            Scale::Linear => Self::linear(axis.unit, from, to, ground.is_some(), ticks),
            Scale::Log => Self::log(axis.unit, from, to, ticks),
        }
    }

    fn linear(unit: Unit, from: f64, to: f64, round: bool, wanted: usize) -> Self {
        let largest = from.abs().max(to.abs());
        // A range that is no range is widened, so that its only value stands in the middle.
        let (from, mut to) = match to - from {
            width if width > largest * 1e-9 => (from, to),
            _ if largest == 0.0 => (0.0, 1.0),
            _ => (from - largest / 2.0, to + largest / 2.0),
        };
        let (size, name) = unit.scale(from.abs().max(to.abs()));
        let step = nice((to - from) / size / wanted.max(1) as f64) * size;
        if round {
            to = (to / step - 1e-9).ceil() * step;
        }
        let first = (from / step - 1e-9).ceil();
        let count = (((to / step + 1e-9).floor() - first).clamp(0.0, 40.0) as usize) + 1;
        let ticks = (0..count).map(|at| (first + at as f64) * step).collect();
        Self { from, to, kind: Kind::Linear { size, name }, ticks }
    }

    fn log(unit: Unit, from: f64, to: f64, wanted: usize) -> Self {
        let (from, to) = if to / from < 1.2 { (from / 2.0, to * 2.0) } else { (from, to) };
        let (low, high) = (from.log10().floor() as i32, to.log10().ceil() as i32);
        let decades = (high - low).max(1) as usize;
        let stride = decades.div_ceil(wanted.max(1)).max(1);
        let within: &[f64] = match wanted / decades {
            0..=1 => &[1.0],
            2 => &[1.0, 3.0],
            _ => &[1.0, 2.0, 5.0],
        };
        let powers = (low..=high).step_by(stride).map(|power| 10f64.powi(power));
        let all = powers.flat_map(|power| within.iter().map(move |part| part * power));
        let near = |v: &f64| *v >= from * 0.999 && *v <= to * 1.001;
        let mut ticks: Vec<f64> = all.filter(near).collect();
        if ticks.len() < 3 && to / from < 100.0 {
            // Less than a decade or so: as on a linear axis.
            ticks = Self::linear(unit, from, to, false, wanted).ticks;
        }
        // Towards the upper end equal steps come closer: their labels keep apart.
        let apart = (to / from).log10() / (1.3 * wanted.max(1) as f64);
        let mut last = f64::NEG_INFINITY;
        ticks.retain(|tick| {
            let place = tick.log10();
            let kept = place - last >= apart;
            last = if kept { place } else { last };
            kept
        });
        Self { from, to, kind: Kind::Log { unit }, ticks }
    }

    /// Names from the top, or from the left, of which each `every`th is written, at most `width`
    /// pixels wide.
    pub(super) fn names(names: &[String], every: usize, width: f64, downwards: bool) -> Self {
        let count = names.len().max(1) as f64;
        let (from, to) = if downwards { (count, 0.0) } else { (0.0, count) };
        let ticks = (0..names.len()).step_by(every.max(1)).map(|at| at as f64 + 0.5).collect();
        let names = names.iter().map(|name| fit(name, width)).collect();
        Self { from, to, kind: Kind::Names(names), ticks }
    }

    /// The title of its axis, with its unit.
    pub(super) fn title(&self, label: &str) -> String {
        match &self.kind {
            Kind::Linear { name, .. } if !name.is_empty() => match label {
                "" => (*name).to_owned(),
                label => format!("{label} ({name})"),
            },
            _ => label.to_owned(),
        }
    }

    /// Its lower end.
    pub(super) fn from(&self) -> f64 {
        self.from
    }

    /// Its upper end.
    pub(super) fn to(&self) -> f64 {
        self.to
    }

    /// The value or, beyond an end, that end.
    pub(super) fn clamp(&self, value: f64) -> f64 {
        value.clamp(self.from.min(self.to), self.to.max(self.from))
    }

    /// The longest label in characters.
    pub(super) fn longest(&self) -> usize {
        self.ticks.iter().map(|tick| self.label(*tick).chars().count()).max().unwrap_or(0)
    }

    fn label(&self, value: f64) -> String {
        match &self.kind {
            // What is left of zero after the arithmetic of ticks is zero.
            Kind::Linear { size, .. } => {
                let width = (self.to - self.from).abs();
                let value = if value.abs() < width * 1e-9 { 0.0 } else { value / size };
                plain(value)
            }
            Kind::Log { unit } => unit.show(value),
            Kind::Names(names) => names.get(value as usize).cloned().unwrap_or_default(),
        }
    }

    /// How far along the axis a value is, from 0 to 1.
    fn share(&self, value: f64) -> f64 {
        match self.kind {
            Kind::Log { .. } => (value / self.from).ln() / (self.to / self.from).ln(),
            _ => (value - self.from) / (self.to - self.from),
        }
    }
}

/// A number of a tick: four digits, because ticks are round and neighbours differ.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    match value.abs() {
        size if size != 0.0 && !(0.01..1e6).contains(&size) => digits(value),
        _ => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// The next larger of 1, 2, 2.5 and 5 times a power of ten.
fn nice(step: f64) -> f64 {
    if !(step > 0.0 && step.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powi(step.log10().floor() as i32);
    let part = [1.0, 2.0, 2.5, 5.0].into_iter().find(|part| part * power >= step * 0.9999);
    part.unwrap_or(10.0) * power
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = self.share(*value);
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ruler: &Ruler) -> Vec<String> {
        ruler.ticks.iter().map(|tick| ruler.label(*tick)).collect()
    }

    #[test]
    fn ticks_are_round_in_the_unit_that_is_shown() {
        let depth = Axis::new("depth", Unit::Bytes);
        let ruler = Ruler::new(&depth, [1.0e3, 183_000.0].into_iter(), Some(0.0), 4);
        assert_eq!(labels(&ruler), ["0", "50", "100", "150", "200"]);
        assert_eq!(ruler.title("depth"), "depth (KB)");
        let size = Axis::new("size", Unit::Bytes).log();
        let ruler = Ruler::new(&size, [1e3, 1e9].into_iter(), None, 6);
        assert_eq!(labels(&ruler), ["1 KB", "10 KB", "100 KB", "1 MB", "10 MB", "100 MB", "1 GB"]);
        let time = Axis::new("t", Unit::Seconds);
        let ruler = Ruler::new(&time, [0.0, 2e-3].into_iter(), None, 4);
        assert_eq!(labels(&ruler), ["0", "0.5", "1", "1.5", "2"]);
    }

    proptest! {
        #[test]
        fn any_values_make_a_ruler(
            values in prop::collection::vec(any::<f64>(), 0..6),
            log in any::<bool>(),
            ticks in 0usize..12,
        ) {
            let mut axis = Axis::new("a", Unit::Seconds);
            if log {
                axis = axis.log();
            }
            let ruler = Ruler::new(&axis, values.iter().copied(), Some(0.0), ticks);
            prop_assert!(ruler.from < ruler.to, "{ruler:?}");
            prop_assert!(ruler.ticks.len() <= 60, "{ruler:?}");
            for value in values.into_iter().chain([f64::NAN, f64::INFINITY, 0.0]) {
                prop_assert!((10..=90).contains(&ruler.map(&value, (10, 90))));
                ruler.label(value);
            }
        }
    }
}
