//! [`Exposition`]: series by family, and the text of them in Prometheus' format.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use xoff_telemetry::metric::{self, Metric};

/// Longest name of a family, and of a label's value. Longer ones are cut: a hostile name costs no memory.
const LONGEST: usize = 256;

/// Whether values of a family add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They add up.
    Counter,
    /// They are of the moment.
    Gauge,
    /// It is not known.
    Untyped,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Untyped => "untyped",
        }
    }
}

/// The value of a sample. Counters of 64 bits stay whole, because a double has 53.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A whole number; wide enough for a counter of 64 bits in words of four bytes.
    Whole(u128),
    /// Any number.
    Real(f64),
}

impl Value {
    /// A counter's value, in another unit.
    pub fn scaled(value: u64, scale: f64) -> Self {
        if scale >= 1.0 && scale.fract() == 0.0 {
            return Value::Whole(u128::from(value) * scale as u128);
        }
        // Microseconds are divided by a million, which is exact, and not multiplied by a millionth, which is not.
        let inverse = (1.0 / scale).round();
        Value::Real(value as f64 / inverse)
    }

    fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Value::Whole(a), Value::Whole(b)) => Value::Whole(a.saturating_add(b)),
            (a, b) => Value::Real(a.real() + b.real()),
        }
    }

    /// As a double, which is what Prometheus keeps.
    pub fn real(self) -> f64 {
        match self {
            Value::Whole(value) => value as f64,
            Value::Real(value) => value,
        }
    }
}

/// What series belong to: labels, as they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target(String);

impl Target {
    /// From names and values. Empty values are left out, which is the same to Prometheus.
    pub fn new<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        labels.into_iter().fold(Self::default(), |target, (name, value)| target.with(name, value))
    }

    /// With one label more.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut text = self.0.clone();
        if !value.is_empty() {
            text += if text.is_empty() { "" } else { "," };
            text += name;
            text += "=\"";
            escape(value, true, &mut text);
            text.push('"');
        }
        Self(text)
    }
}

/// The samples of one name.
#[derive(Debug)]
struct Family {
    kind: Kind,
    help: Cow<'static, str>,
    /// By labels.
    samples: BTreeMap<String, Value>,
}

/// Series of one scrape.
#[derive(Debug, Default)]
pub struct Exposition {
    families: BTreeMap<Cow<'static, str>, Family>,
    /// Files and fields that could not be read.
    errors: u64,
}

impl Exposition {
    /// A value of the schema. It is refused where a better source has given the series already, or the same by priority: both
    /// in one sum would count twice.
    pub fn metric(
        &mut self,
        target: &Target,
        metric: Metric,
        priority: Option<u8>,
        value: Value,
    ) -> bool {
        let family = self.schema(metric);
        let comma = if target.0.is_empty() { "" } else { "," };
        let by_priority = format!("{}{comma}priority=\"", target.0);
        let labels = match priority {
            Some(priority) => format!("{by_priority}{priority}\""),
            None => {
                let mut after = family.samples.range(by_priority.clone()..);
                if after.next().is_some_and(|(labels, _)| labels.starts_with(&by_priority)) {
                    return false;
                }
                target.0.clone()
            }
        };
        keep_first(family, labels, value)
    }

    /// Adds to a value of the schema: for parts of it that a device counts apart.
    pub fn add(&mut self, target: &Target, metric: Metric, priority: Option<u8>, value: Value) {
        let target = match priority {
            Some(priority) => target.with("priority", &priority.to_string()),
            None => target.clone(),
        };
        let sample = self.schema(metric).samples.entry(target.0).or_insert(Value::Whole(0));
        *sample = sample.plus(value);
    }

    /// A value that the schema has no name for. The name is made one that Prometheus takes; `false` if the series is there.
    pub fn raw(
        &mut self,
        target: &Target,
        name: &str,
        kind: Kind,
        help: &str,
        value: Value,
    ) -> bool {
        let end = if kind == Kind::Counter { "_total" } else { "" };
        let name = Cow::Owned(format!("{}{end}", sanitize(name)));
        let family = self.families.entry(name).or_insert_with(|| Family {
            kind,
            help: Cow::Owned(help.to_owned()),
            samples: BTreeMap::new(),
        });
        keep_first(family, target.0.clone(), value)
    }

    /// Counts something that could not be read.
    pub fn error(&mut self) {
        self.errors += 1;
    }

    /// Counts so much more that could not be read.
    pub fn skipped(&mut self, count: u64) {
        self.errors += count;
    }

    /// How much could not be read.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// How many series there are.
    pub fn series(&self) -> usize {
        self.families.values().map(|family| family.samples.len()).sum()
    }

    fn schema(&mut self, metric: Metric) -> &mut Family {
        let facts = metric.facts();
        self.families.entry(Cow::Borrowed(facts.name)).or_insert_with(|| Family {
            kind: match facts.kind {
                metric::Kind::Counter | metric::Kind::Events => Kind::Counter,
                metric::Kind::Gauge | metric::Kind::Watermark => Kind::Gauge,
            },
            help: Cow::Borrowed(facts.help),
            samples: BTreeMap::new(),
        })
    }

    /// The text, in Prometheus' format 0.0.4.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(128 * self.series());
        for (name, family) in &self.families {
            let _ = write!(text, "# HELP {name} ");
            escape(&family.help, false, &mut text);
            let _ = writeln!(text, "\n# TYPE {name} {}", family.kind.word());
            for (labels, value) in &family.samples {
                text += name;
                if !labels.is_empty() {
                    let _ = write!(text, "{{{labels}}}");
                }
                let _ = match value {
                    Value::Whole(value) => writeln!(text, " {value}"),
                    Value::Real(value) => writeln!(text, " {value}"),
                };
            }
        }
        text
    }
}

fn keep_first(family: &mut Family, labels: String, value: Value) -> bool {
    let free = !family.samples.contains_key(&labels);
    if free {
        family.samples.insert(labels, value);
    }
    free
}

/// Escapes what the format gives a meaning to, and cuts what is too long.
fn escape(value: &str, quotes: bool, text: &mut String) {
    for c in value.chars().take(LONGEST) {
        match c {
            '\\' => *text += "\\\\",
            '\n' => *text += "\\n",
            '"' if quotes => *text += "\\\"",
            c => text.push(c),
        }
    }
}

/// A name of letters, digits and underscores. What comes in begins with `xoff_`.
fn sanitize(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.chars().take(LONGEST).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_has_help_type_and_escaped_labels() {
        let mut all = Exposition::default();
        let target = Target::new([("device", "a\"b\\c\nd"), ("port", "")]);
        assert!(all.metric(&target, Metric::LinkDowns, None, Value::Whole(3)));
        assert!(all.raw(&target, "xoff_hw_Odd-Name", Kind::Counter, "a\nb\\", Value::Whole(1)));
        assert_eq!(
            all.text(),
            "# HELP xoff_hw_odd_name_total a\\nb\\\\\n# TYPE xoff_hw_odd_name_total counter\n\
             xoff_hw_odd_name_total{device=\"a\\\"b\\\\c\\nd\"} 1\n\
             # HELP xoff_link_down_events_total Times the link went down.\n\
             # TYPE xoff_link_down_events_total counter\n\
             xoff_link_down_events_total{device=\"a\\\"b\\\\c\\nd\"} 3\n"
        );
    }

    #[test]
    fn the_first_source_wins_and_priorities_stand_instead_of_their_sum() {
        let mut all = Exposition::default();
        let (one, other) = (Target::new([("device", "a")]), Target::new([("device", "ab")]));
        let value = Value::Whole;
        assert!(all.metric(&one, Metric::TxBytes, Some(3), value(7)));
        assert!(!all.metric(&one, Metric::TxBytes, Some(3), value(8)));
        assert!(!all.metric(&one, Metric::TxBytes, None, value(9)));
        assert!(all.metric(&other, Metric::TxBytes, None, value(10)));
        let text = all.text();
        assert!(text.contains("xoff_transmit_bytes_total{device=\"a\",priority=\"3\"} 7\n"));
        assert!(text.contains("xoff_transmit_bytes_total{device=\"ab\"} 10\n"));
        assert_eq!(all.series(), 2);
        all.add(&one, Metric::BufferDrops, Some(3), value(2));
        all.add(&one, Metric::BufferDrops, Some(3), value(3));
        assert!(all.text().contains("priority=\"3\"} 5\n"));
    }

    #[test]
    fn values_are_exact() {
        assert_eq!(Value::scaled(u64::MAX, 4.0), Value::Whole(u128::from(u64::MAX) * 4));
        assert_eq!(Value::scaled(3, 1e-6), Value::Real(0.000_003));
        assert_eq!(Value::scaled(25, 0.01), Value::Real(0.25));
        let mut all = Exposition::default();
        all.metric(&Target::default(), Metric::CrcErrors, None, Value::scaled(u64::MAX, 1.0));
        assert!(all.text().ends_with("xoff_crc_errors_total 18446744073709551615\n"));
    }

    proptest! {
        /// Whatever a name holds, a label stays on its line and ends where it ends.
        #[test]
        fn labels_survive_any_name(name in any::<String>()) {
            let text = Target::new([("device", name.as_str())]).0;
            prop_assert!(!text.contains('\n'));
            let kept: String = name.chars().take(LONGEST).collect();
            if !name.is_empty() {
                let inner = text.strip_prefix("device=\"").unwrap().strip_suffix('"').unwrap();
                let mut back = String::new();
                let mut chars = inner.chars();
                while let Some(c) = chars.next() {
                    prop_assert!(c != '"');
                    back.push(match c {
                        '\\' => match chars.next().unwrap() { 'n' => '\n', c => c },
                        c => c,
                    });
                }
                prop_assert_eq!(back, kept);
            }
        }

        #[test]
        fn names_of_families_are_plain(name in any::<String>()) {
            let name = sanitize(&name);
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            prop_assert!(name.chars().all(plain) && name.len() <= LONGEST);
        }
    }
}
