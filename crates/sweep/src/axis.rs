//! [`Axis`]: keys that change together, and the values they take.

use crate::key::Key;
use crate::problem::Problem;
use crate::read::{Item, Reader};
use crate::value::{Between, Measure, Scale, shown};
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Value;

/// A key and the value it gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<'a> {
    /// The key.
    pub key: &'a Key,
    /// Its value.
    pub value: Value,
}

/// Keys that change together: mostly one.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it is called in tables and on pages.
    pub name: String,
    /// The keys.
    pub keys: Vec<Key>,
    values: Values,
    /// Where its key stands in the file.
    pub(crate) key_span: Range<usize>,
}

/// What an axis takes.
#[derive(Debug, Clone, PartialEq)]
enum Values {
    /// One of these; each has a value for every key.
    Levels(Vec<Level>),
    /// Anything between two values.
    Range(Between, Range<usize>),
}

/// One of the values that are listed.
#[derive(Debug, Clone, PartialEq)]
struct Level {
    values: Vec<Value>,
    span: Range<usize>,
}

/// Values that an axis may list.
const MOST_VALUES: u64 = 100_000;

/// Keys of an axis.
const KNOWN: [&str; 8] = ["key", "keys", "name", "values", "from", "to", "steps", "scale"];

impl Axis {
    /// Reads an `[[axis]]`.
    pub fn read(mut table: Reader<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let before = problems.len();
        let place = table.span.clone();
        let (keys, key_span, named) = keys(&mut table, problems);
        let name = table.text("name", "kmin", problems);
        let values = table.list("values", "[\"100KB\", \"400KB\"]", problems);
        let [from, to] = ["from", "to"].map(|name| table.take(name, problems));
        let steps = table.number("steps", MOST_VALUES, problems);
        let scale = table.text("scale", "log", problems);
        let span = table.span.clone();
        table.finish(&KNOWN, problems);
        let several = named > 1;
        let values = match (values, from, to) {
            (Some((items, span)), None, None) => {
                if let Some((_, span)) = &steps {
                    problems.push(Problem::value(
                        span.clone(),
                        "`steps` divides `from` and `to`, and here are `values`",
                        "take `steps` out",
                    ));
                }
                listed(items, span, named, problems)
            }
            (None, Some(from), Some(to)) if !several => between(from, to, steps, scale, problems),
            (None, Some(from), Some(_)) => {
                let help = "list `values` of it, each with one value for every key";
                problems.push(Problem::value(from.span, "several keys have no range", help));
                None
            }
            (Some(_), Some(item), _) | (Some(_), _, Some(item)) => {
                let help = "keep `values`, or `from` and `to`";
                problems.push(Problem::value(item.span, "`values` and a range at once", help));
                None
            }
            _ => {
                let help = "add `values = [\"100KB\", \"400KB\"]`, or `from`, `to` and `steps`";
                problems.push(Problem::missing(place, "an axis without values", help));
                None
            }
        };
        let name = name.map(|(name, _)| name).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| {
            keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ")
        });
        let key_span = key_span.unwrap_or(span);
        let values = values.filter(|_| problems.len() == before && !keys.is_empty())?;
        Some(Self { name, keys, values, key_span })
    }

    /// Everything from one value to another of the same unit; what is wrong with them, and the cure, otherwise.
    pub fn between(
        key: Key,
        from: Value,
        to: Value,
        logarithmic: bool,
    ) -> Result<Self, (String, String)> {
        let scale = if logarithmic { Scale::Log } else { Scale::Linear };
        let values = Values::Range(Between::new(from, to, scale)?, 0..0);
        Ok(Self { name: key.to_string(), keys: vec![key], values, key_span: 0..0 })
    }

    /// One of these values. There must be one at least.
    pub fn one_of(key: Key, values: Vec<Value>) -> Self {
        assert!(!values.is_empty(), "an axis has values");
        let level = |value| Level { values: vec![value], span: 0..0 };
        let values = Values::Levels(values.into_iter().map(level).collect());
        Self { name: key.to_string(), keys: vec![key], values, key_span: 0..0 }
    }

    /// The same under a name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Where its key stands in the file.
    pub fn key_span(&self) -> Range<usize> {
        self.key_span.clone()
    }

    /// Where a value is, from 0 to 1: the inverse of [`Axis::at`]. None if it is not on the axis.
    pub fn place(&self, values: &[Value]) -> Option<f64> {
        match &self.values {
            Values::Range(between, _) => between.place(values.first()?),
            Values::Levels(levels) => {
                let same = |level: &Level| {
                    level.values.len() == values.len()
                        && level.values.iter().zip(values).all(|(a, b)| alike(a, b))
                };
                let level = levels.iter().position(same)?;
                Some((level as f64 + 0.5) / levels.len() as f64)
            }
        }
    }

    /// The place of the nearest value that has two digits, as people write it; a listed value's own.
    pub fn rounded(&self, place: f64) -> f64 {
        match &self.values {
            Values::Range(between, _) => between.rounded(place),
            Values::Levels(levels) => {
                let count = levels.len() as f64;
                ((place * count).floor().clamp(0.0, count - 1.0) + 0.5) / count
            }
        }
    }

    /// How many values it lists; none if it takes anything of a range.
    pub fn levels(&self) -> Option<usize> {
        match &self.values {
            Values::Levels(levels) => Some(levels.len()),
            Values::Range(..) => None,
        }
    }

    /// What its keys get at one of the listed values.
    pub(crate) fn level(&self, level: usize) -> Vec<Setting<'_>> {
        match &self.values {
            Values::Levels(levels) => {
                let values = levels[level.min(levels.len() - 1)].values.iter().cloned();
                self.keys.iter().zip(values).map(|(key, value)| Setting { key, value }).collect()
            }
            Values::Range(between, _) => {
                vec![Setting { key: &self.keys[0], value: between.at(level as f64) }]
            }
        }
    }

    /// What its keys get at a place from 0 to 1.
    pub fn at(&self, place: f64) -> Vec<Setting<'_>> {
        match &self.values {
            Values::Levels(levels) => {
                // The last place belongs to the last value.
                self.level((place.clamp(0.0, 1.0) * levels.len() as f64) as usize)
            }
            Values::Range(between, _) => {
                vec![Setting { key: &self.keys[0], value: between.at(place) }]
            }
        }
    }

    /// Every value that is written in the file, with its place there, and what its keys get.
    pub fn written(&self) -> Vec<(Range<usize>, Vec<Setting<'_>>)> {
        match &self.values {
            Values::Levels(levels) => {
                let of = |(at, level): (usize, &Level)| (level.span.clone(), self.level(at));
                levels.iter().enumerate().map(of).collect()
            }
            Values::Range(_, span) => {
                [0.0, 1.0].map(|place| (span.clone(), self.at(place))).to_vec()
            }
        }
    }

    /// Whether its values are meant to follow each other by multiplying.
    pub fn is_log(&self) -> bool {
        match &self.values {
            Values::Range(between, _) => between.is_log(),
            Values::Levels(levels) => {
                let measure = self.measure(0);
                let number = |level: &Level| measure.number(level.values.first()?);
                let numbers: Option<Vec<f64>> = levels.iter().map(number).collect();
                let least = |numbers: &[f64]| numbers.iter().copied().fold(f64::MAX, f64::min);
                let most = |numbers: &[f64]| numbers.iter().copied().fold(0.0, f64::max);
                numbers.is_some_and(|all| least(&all) > 0.0 && most(&all) >= 8.0 * least(&all))
            }
        }
    }

    /// What the values of one of its keys measure.
    pub fn measure(&self, key: usize) -> Measure {
        match &self.values {
            Values::Levels(levels) => {
                let values: Vec<&Value> = levels.iter().map(|level| &level.values[key]).collect();
                Measure::of(values)
            }
            Values::Range(between, _) => Measure::of(between.ends()),
        }
    }
}

/// Whether two values mean the same: equal, or equal quantities in other words (`0.25` and `1/4`).
fn alike(a: &Value, b: &Value) -> bool {
    let measure = Measure::of([a, b]);
    a == b || measure.number(a).is_some_and(|number| measure.number(b) == Some(number))
}

/// The keys of an axis, where they stand, and how many are named, also where one is wrong.
fn keys(
    table: &mut Reader<'_>,
    problems: &mut Vec<Problem>,
) -> (Vec<Key>, Option<Range<usize>>, usize) {
    let one = table.text("key", "fabric.ecn.kmin", problems);
    let several = table.list("keys", "[\"fabric.ecn.kmin\", \"fabric.ecn.kmax\"]", problems);
    let (texts, span) = match (one, several) {
        (Some((text, span)), None) => (vec![(text, span.clone())], span),
        (None, Some((items, span))) => {
            let text = |item: Item| match item.value {
                Value::String(text) => (text, item.span),
                other => (other.to_string(), item.span),
            };
            (items.into_iter().map(text).collect(), span)
        }
        (Some((_, span)), Some(_)) => {
            problems.push(Problem::value(
                span.clone(),
                "`key` and `keys` at once",
                "keep one of them",
            ));
            return (Vec::new(), Some(span), 1);
        }
        (None, None) => {
            let help = "say what changes: `key = \"fabric.ecn.kmin\"`";
            problems.push(Problem::missing(table.span.clone(), "an axis without `key`", help));
            return (Vec::new(), None, 1);
        }
    };
    if texts.is_empty() {
        problems.push(Problem::value(span.clone(), "`keys` is empty", "name the keys that change"));
    }
    let named = texts.len().max(1);
    let mut keys: Vec<Key> = Vec::new();
    for (text, span) in texts {
        match Key::parse(&text) {
            Ok(key) if keys.contains(&key) => {
                problems.push(Problem::value(span, format!("`{text}` is there twice"), "keep one"));
            }
            Ok(key) => keys.push(key),
            Err(message) => {
                let help = "`fabric.ecn.kmin` is `kmin` under `[ecn]` of the fabric file, \
                            `scenario.workload[0].size` a key of the scenario's first `[[workload]]`";
                problems.push(Problem::unknown(span, message, help));
            }
        }
    }
    (keys, Some(span), named)
}

fn listed(
    items: Vec<Item>,
    span: Range<usize>,
    keys: usize,
    problems: &mut Vec<Problem>,
) -> Option<Values> {
    if items.is_empty() || items.len() as u64 > MOST_VALUES {
        let message = match items.len() {
            0 => "no values".to_owned(),
            count => format!("{count} values are too many"),
        };
        problems.push(Problem::limit(span, message, format!("give 1 to {MOST_VALUES} of them")));
        return None;
    }
    let (mut levels, mut seen) = (Vec::new(), BTreeSet::new());
    for Item { value, span } in items {
        let values = match (keys, value) {
            (1, value) => vec![value],
            (keys, Value::Array(values)) if values.len() == keys => values,
            (keys, other) => {
                let message = format!("{other} has not one value for each of the {keys} keys");
                let help = "write lists in the list: `values = [[\"100KB\", \"400KB\"], [\"200KB\", \"800KB\"]]`";
                problems.push(Problem::value(span, message, help));
                continue;
            }
        };
        if !seen.insert(format!("{values:?}")) {
            let text: Vec<String> = values.iter().map(shown).collect();
            let message = format!("`{}` is there twice", text.join(", "));
            problems.push(Problem::value(span, message, "keep one of them"));
            continue;
        }
        levels.push(Level { values, span });
    }
    Some(Values::Levels(levels))
}

fn between(
    from: Item,
    to: Item,
    steps: Option<(u64, Range<usize>)>,
    scale: Option<(String, Range<usize>)>,
    problems: &mut Vec<Problem>,
) -> Option<Values> {
    let scale = match scale {
        None => Scale::Linear,
        Some((word, span)) => match word.as_str() {
            "linear" => Scale::Linear,
            "log" => Scale::Log,
            _ => {
                let message = format!("`{word}` is no scale");
                problems.push(Problem::value(span, message, "use \"linear\" or \"log\""));
                return None;
            }
        },
    };
    let span = from.span.clone();
    let between = match Between::new(from.value, to.value, scale) {
        Ok(between) => between,
        Err((message, help)) => {
            problems.push(Problem::value(span, message, help));
            return None;
        }
    };
    let Some((steps, at)) = steps else { return Some(Values::Range(between, span)) };
    if steps < 2 {
        let help = "give 2 or more; one value alone goes under `values`";
        problems.push(Problem::value(at, "`steps` counts `from` and `to`, too", help));
        return None;
    }
    let place = |step: u64| step as f64 / (steps - 1) as f64;
    let mut levels: Vec<Level> = Vec::new();
    for step in 0..steps {
        let values = vec![between.at(place(step))];
        if levels.last().is_some_and(|last| last.values == values) {
            let message = format!("there are no {steps} different values between `from` and `to`");
            problems.push(Problem::value(at, message, "give fewer `steps`"));
            return None;
        }
        levels.push(Level { values, span: span.clone() });
    }
    Some(Values::Levels(levels))
}
