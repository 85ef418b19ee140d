//! [`Knob`]: a key that may be changed, the values it may take, and where it is now.

use toml::{Table, Value};
use xoff_sweep::{Axis, File, Key, Measure, Setting, shown};

/// Where a knob is set to.
///
/// `None` leaves the key as the files have it. That is not the same as writing the value there that is in force: a key
/// may not be in the file at all, and what is in force may differ from port to port.
pub type Place = Option<f64>;

/// A key that may be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Knob {
    /// The key, and the values it may take.
    pub axis: Axis,
    /// The value that is in force now, as far as it is known and one value.
    pub present: Option<Value>,
    /// What it does, in a few words; empty for knobs that a user named.
    pub words: &'static str,
}

impl Knob {
    /// A knob of an axis on a fabric that reads like `file`, its file with all defaults.
    pub fn of(axis: Axis, file: &Table) -> Self {
        let present = match &axis.keys[..] {
            [key] => present(key, file).map(|value| beside(&axis, value)),
            _ => None,
        };
        Self { axis, present, words: "" }
    }

    /// The same with words.
    pub fn words(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.axis.name
    }

    /// Where the present value is among those it may take; none if it is elsewhere or not known.
    pub fn present_place(&self) -> Option<f64> {
        self.axis.place(std::slice::from_ref(self.present.as_ref()?))
    }

    /// Where a model sees it, from 0 to 1; below 0 for a name that is not among those it may take.
    pub(crate) fn coordinate(&self, place: Place) -> f64 {
        let nearest = || {
            let measure = self.axis.measure(0);
            let number = |value: &Value| measure.number(value);
            let own = self.present.as_ref().and_then(number);
            let ends =
                [0.0, 1.0].map(|end| self.axis.at(end).first().and_then(|e| number(&e.value)));
            match (own, ends) {
                (Some(own), [Some(low), _]) if own <= low => 0.0,
                (Some(own), [_, Some(high)]) if own >= high => 1.0,
                // Headroom that is computed is the least there is.
                _ if self.present == Some("auto".into()) => 0.0,
                _ => 0.5,
            }
        };
        let unknown = || if self.is_ordered() { nearest() } else { -1.0 };
        place.or_else(|| self.present_place()).unwrap_or_else(unknown)
    }

    /// Whether its values have an order, so that near ones may be expected to do alike.
    pub fn is_ordered(&self) -> bool {
        match self.axis.levels() {
            None => true,
            Some(_) => self.axis.keys.len() == 1 && self.axis.measure(0) != Measure::Words,
        }
    }

    /// What its keys get at a place; nothing where they stay as they are.
    pub fn settings(&self, place: Place) -> Vec<Setting<'_>> {
        place.map_or(Vec::new(), |place| self.axis.at(place))
    }

    /// Its value at a place, in words.
    pub fn value(&self, place: Place) -> String {
        match place {
            None => self.present.as_ref().map_or("as it is".to_owned(), plainly),
            Some(place) => {
                let all = self.axis.at(place);
                all.iter().map(|own| shown(&own.value)).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// The number that is compared with other knobs at a place, if there is one.
    fn number(&self, place: Place) -> Option<f64> {
        let measure = self.axis.measure(0);
        match place {
            None => measure.number(self.present.as_ref()?),
            Some(place) => measure.number(&self.axis.at(place).first()?.value),
        }
    }
}

/// A value as people write it: ratios without powers of ten.
fn plainly(value: &Value) -> String {
    let text = shown(value);
    match Measure::Ratio.number(value).filter(|_| text.contains('e')) {
        Some(number) => xoff_sweep::numeric::digits(number, 3).to_string(),
        None => text,
    }
}

/// A ratio that the file has as text is a number beside numbers.
fn beside(axis: &Axis, value: Value) -> Value {
    let numbers = matches!(axis.measure(0), Measure::Real | Measure::Whole);
    match &value {
        Value::String(text) if numbers => {
            match Measure::Ratio.number(&Value::from(text.as_str())) {
                Some(number) => Value::Float(number),
                None => value,
            }
        }
        _ => value,
    }
}

/// What a key of the fabric has in a file with all defaults, or by rule where the file has nothing.
fn present(key: &Key, file: &Table) -> Option<Value> {
    if key.file() != File::Fabric {
        return None;
    }
    let found = key.get(file).cloned();
    let found = found.filter(|value| !value.is_table() && !value.is_array());
    found.or_else(|| by_rule(key)).or_else(|| present(&of_all_tiers(key)?, file))
}

/// The key that counts for a tier whose own table says nothing: `fabric.ecn.kmax` for `fabric.switch.spine.ecn.kmax`.
fn of_all_tiers(key: &Key) -> Option<Key> {
    let text = key.to_string();
    let (tier, own) = text.strip_prefix("fabric.switch.")?.split_once('.')?;
    let known = ["leaf", "spine", "core"].contains(&tier);
    known.then(|| Key::parse(&format!("fabric.{own}")).ok()).flatten()
}

/// Defaults that follow from no key of the file.
fn by_rule(key: &Key) -> Option<Value> {
    let text = key.to_string();
    let value: Value = match text.as_str() {
        "fabric.ecn.kmin" => "400KB".into(),
        "fabric.ecn.kmax" => "1.6MB".into(),
        "fabric.ecn.pmax" => "0.2".into(),
        "fabric.pfc.alpha" => "1/8".into(),
        "fabric.transport.queue-pairs" => 1.into(),
        "fabric.switch.balancing.kind" => "ecmp".into(),
        _ => return None,
    };
    Some(value)
}

/// Keys of which the first must stay below the second.
const ORDERED: [(&str, &str); 2] = [("kmin", "kmax"), ("t-low", "t-high")];

/// Pairs of knobs of which the first must stay below the second.
pub fn ordered_pairs(knobs: &[Knob]) -> Vec<(usize, usize)> {
    let split = |knob: &Knob| match &knob.axis.keys[..] {
        [key] => {
            let text = key.to_string();
            text.rsplit_once('.').map(|(table, last)| (table.to_owned(), last.to_owned()))
        }
        _ => None,
    };
    let mut pairs = Vec::new();
    for (low, a) in knobs.iter().enumerate() {
        for (high, b) in knobs.iter().enumerate() {
            let (Some((table_a, a)), Some((table_b, b))) = (split(a), split(b)) else { continue };
            if table_a == table_b && ORDERED.contains(&(a.as_str(), b.as_str())) {
                pairs.push((low, high));
            }
        }
    }
    pairs
}

/// Whether a setting keeps the order of such pairs, as far as it can be known.
pub fn in_order(knobs: &[Knob], pairs: &[(usize, usize)], places: &[Place]) -> bool {
    pairs.iter().all(|&(low, high)| {
        match (knobs[low].number(places[low]), knobs[high].number(places[high])) {
            (Some(low), Some(high)) => low <= high,
            _ => true,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knob(key: &str, from: &str, to: &str) -> Knob {
        let axis = Axis::between(Key::parse(key).unwrap(), from.into(), to.into(), true).unwrap();
        Knob::of(axis, &"[ecn]\nkmin = '100KB'\n".parse().unwrap())
    }

    #[test]
    fn the_present_value_is_the_files_or_the_rules() {
        assert_eq!(knob("fabric.ecn.kmin", "10KB", "1MB").present, Some("100KB".into()));
        assert_eq!(knob("fabric.ecn.kmax", "10KB", "1MB").present, Some("1.6MB".into()));
        assert_eq!(knob("fabric.x.y", "10KB", "1MB").present, None);
        let place = knob("fabric.ecn.kmin", "10KB", "1MB").present_place().unwrap();
        assert!((place - 0.5).abs() < 1e-12, "{place}");
        assert_eq!(knob("fabric.ecn.kmax", "10KB", "1MB").present_place(), None, "beyond the end");
    }

    #[test]
    fn thresholds_keep_their_order() {
        let knobs =
            [knob("fabric.ecn.kmax", "10KB", "10MB"), knob("fabric.ecn.kmin", "10KB", "10MB")];
        let pairs = ordered_pairs(&knobs);
        assert_eq!(pairs, [(1, 0)]);
        assert!(in_order(&knobs, &pairs, &[Some(0.6), Some(0.4)]));
        assert!(!in_order(&knobs, &pairs, &[Some(0.4), Some(0.6)]));
        // The present Kmin is 100 KB, the present Kmax 1.6 MB.
        assert!(in_order(&knobs, &pairs, &[Some(0.4), None]));
        assert!(!in_order(&knobs, &pairs, &[Some(0.1), None]));
        assert!(!in_order(&knobs, &pairs, &[None, Some(0.9)]));
    }
}
