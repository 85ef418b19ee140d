//! [`Store`]: the latest value of each leaf, as long as it is one. A leaf is kept by its whole path, so that a device can delete it,
//! and only if its dialect has a meaning for it.

use super::json;
use super::paths::Dialect;
use super::proto::{Notification, Path, typed_value};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

/// Most leaves. More are counted and left out.
const MOST: usize = 65_536;
/// Most steps of a path, and bytes of one of them.
const DEEPEST: usize = 24;
const LONGEST: usize = 128;
/// Longest word that stands for a value, like `NOT_PRESENT`.
const WORD: usize = 64;
/// Most deletions with wildcards in one message, each of which looks at every leaf. Beyond them everything is deleted.
const SWEEPS: usize = 64;
/// Between the steps of a path. It sorts before all that a step may have in it.
const BETWEEN: char = '\u{1f}';

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Whole(u64),
    Real(f64),
    Word(Box<str>),
}

#[derive(Debug)]
struct Leaf {
    value: Scalar,
    /// When it was last sent.
    at: Duration,
}

/// What a device has sent.
#[derive(Debug, Default)]
pub(super) struct Store {
    leaves: BTreeMap<Box<str>, Leaf>,
    /// What was left out since it was last asked.
    skipped: u64,
}

impl Store {
    /// Takes a message in.
    pub(super) fn apply(&mut self, message: &Notification, dialect: Dialect, now: Duration) {
        let mut prefix = Vec::new();
        if let Some(path) = &message.prefix
            && !steps(path, dialect, &mut prefix)
        {
            self.skipped += 1;
            return;
        }
        if message.atomic {
            self.delete(&prefix);
        }
        let mut sweeps = 0;
        for path in &message.delete {
            let mut whole = prefix.clone();
            // A path that cannot be read may have meant anything: what is missing is better than what is wrong.
            if !steps(path, dialect, &mut whole) {
                self.skipped += 1;
                whole.clear();
            }
            sweeps += usize::from(whole.iter().any(|step| step.contains('*')));
            if sweeps > SWEEPS {
                whole.clear();
            }
            self.delete(&whole);
        }
        for update in &message.update {
            let mut whole = prefix.clone();
            let readable = update.path.as_ref().is_none_or(|path| steps(path, dialect, &mut whole));
            let value = update.val.as_ref().and_then(|value| value.value.as_ref());
            match value.filter(|_| readable) {
                Some(value) => self.typed(&mut whole, value, dialect, now),
                None => self.skipped += 1,
            }
        }
    }

    fn typed(
        &mut self,
        path: &mut Vec<String>,
        value: &typed_value::Value,
        dialect: Dialect,
        now: Duration,
    ) {
        use typed_value::Value as Typed;
        let scalar = match value {
            Typed::Json(text) | Typed::JsonIetf(text) => {
                match json::read(text) {
                    Some(value) => self.json(path, &value, dialect, now),
                    None => self.skipped += 1,
                }
                return;
            }
            Typed::String(text) | Typed::Ascii(text) => word(text),
            Typed::Int(value) => Some(signed(*value)),
            Typed::Uint(value) => Some(Scalar::Whole(*value)),
            Typed::Bool(value) => word(if *value { "true" } else { "false" }),
            Typed::Float(value) => Some(Scalar::Real((*value).into())),
            Typed::Double(value) => Some(Scalar::Real(*value)),
            Typed::Decimal(value) => {
                let scale = 10f64.powi(i32::try_from(value.precision).unwrap_or(i32::MAX));
                Some(Scalar::Real(value.digits as f64 / scale))
            }
        };
        self.put(path, scalar, dialect, now);
    }

    /// Takes the leaves of an object; in a list, entries by the key that they have.
    fn json(&mut self, path: &mut Vec<String>, value: &Json, dialect: Dialect, now: Duration) {
        let scalar = match value {
            Json::Object(map) => {
                for (name, value) in map {
                    let length = path.len();
                    if push(path, dialect.plain(name)) {
                        self.json(path, value, dialect, now);
                    } else {
                        self.skipped += 1;
                    }
                    path.truncate(length);
                }
                return;
            }
            Json::Array(list) => {
                for entry in list {
                    let Some(key) = dialect.key(entry) else { continue };
                    let length = path.len();
                    if push(path, key) {
                        self.json(path, entry, dialect, now);
                    } else {
                        self.skipped += 1;
                    }
                    path.truncate(length);
                }
                return;
            }
            Json::Null => return,
            Json::Bool(value) => word(if *value { "true" } else { "false" }),
            Json::String(text) => word(text),
            Json::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(value), _) => Some(Scalar::Whole(value)),
                (None, Some(value)) => Some(Scalar::Real(value)),
                (None, None) => None,
            },
        };
        self.put(path, scalar, dialect, now);
    }

    fn put(&mut self, path: &[String], value: Option<Scalar>, dialect: Dialect, at: Duration) {
        let steps: Vec<&str> = path.iter().map(String::as_str).collect();
        if !dialect.wants(&steps) {
            return;
        }
        let finite =
            value.filter(|value| !matches!(value, Scalar::Real(real) if !real.is_finite()));
        let Some(value) = finite else {
            self.skipped += 1;
            return;
        };
        let key = join(path);
        if let Some(leaf) = self.leaves.get_mut(&*key) {
            *leaf = Leaf { value, at };
        } else if self.leaves.len() < MOST {
            self.leaves.insert(key.into(), Leaf { value, at });
        } else {
            self.skipped += 1;
        }
    }

    /// Deletes all that is at a path and below it.
    fn delete(&mut self, path: &[String]) {
        if path.is_empty() {
            self.leaves.clear();
            return;
        }
        if path.iter().any(|step| step.contains('*')) {
            self.leaves.retain(|key, _| !below(key, path));
            return;
        }
        let start = join(path);
        let from = (Bound::Included(start.as_str()), Bound::Unbounded);
        let range = self.leaves.range::<str, _>(from);
        let same = range.map(|(key, _)| key).take_while(|key| below(key, path));
        let gone: Vec<Box<str>> = same.cloned().collect();
        for key in gone {
            self.leaves.remove(&key);
        }
    }

    /// Forgets values that are older than so long; names are no values, and hold as long as the stream.
    pub(super) fn expire(&mut self, now: Duration, longest: Duration) {
        self.leaves.retain(|key, leaf| {
            now.saturating_sub(leaf.at) <= longest || key.rsplit(BETWEEN).next() == Some("alias")
        });
    }

    /// All leaves, by their paths.
    pub(super) fn leaves(&self) -> impl Iterator<Item = (Vec<&str>, &Scalar)> {
        self.leaves.iter().map(|(key, leaf)| (key.split(BETWEEN).collect(), &leaf.value))
    }

    /// How much was left out since the last call.
    pub(super) fn skipped(&mut self) -> u64 {
        std::mem::take(&mut self.skipped)
    }

    /// Counts something that could not be had.
    pub(super) fn skip(&mut self) {
        self.skipped += 1;
    }

    /// Forgets all values.
    pub(super) fn clear(&mut self) {
        self.leaves.clear();
    }
}

/// Appends the steps of a path, keys of lists as steps of their own; `false` if one of them is none.
fn steps(path: &Path, dialect: Dialect, to: &mut Vec<String>) -> bool {
    let plain = if path.elem.is_empty() { path.element.as_slice() } else { &[] };
    plain.iter().all(|name| push(to, dialect.plain(name)))
        && path.elem.iter().all(|elem| {
            push(to, dialect.plain(&elem.name)) && elem.key.values().all(|key| push(to, key))
        })
}

fn push(path: &mut Vec<String>, step: &str) -> bool {
    let fits = path.len() < DEEPEST && !step.is_empty() && step.len() <= LONGEST;
    let fits = fits && !step.chars().any(char::is_control);
    if fits {
        path.push(step.to_owned());
    }
    fits
}

fn join(path: &[String]) -> String {
    path.join(&*BETWEEN.to_string())
}

/// Whether a key is that of a path, or below it. A star at the end of a step stands for anything.
fn below(key: &str, path: &[String]) -> bool {
    let mut steps = key.split(BETWEEN);
    path.iter().all(|want| {
        steps.next().is_some_and(|step| match want.split_once('*') {
            Some((start, _)) => step.starts_with(start),
            None => step == want,
        })
    })
}

/// A number of digits only, or a word; nothing if it is too long for one.
fn word(text: &str) -> Option<Scalar> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Some(Scalar::Whole(number)),
        _ => (text.len() <= WORD).then(|| Scalar::Word(text.into())),
    }
}

fn signed(value: i64) -> Scalar {
    u64::try_from(value).map_or(Scalar::Real(value as f64), Scalar::Whole)
}

#[cfg(test)]
mod tests;
