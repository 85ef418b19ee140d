//! Values of keys: what they measure, and those between two of them.

use crate::numeric::{digits, exp, ln};
use std::str::FromStr;
use toml::Value;
use xoff_telemetry::Kind;
use xoff_units::{Bytes, Length, PacketRate, Rate, Ratio, Span};

/// What the values of a key measure, as far as the values show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Whole numbers from zero.
    Whole,
    /// Numbers.
    Real,
    /// `150KB`.
    Bytes,
    /// `400Gbps`.
    Rate,
    /// `2us`.
    Time,
    /// `30m`.
    Length,
    /// `10Mpps`.
    PacketRate,
    /// `20%`, `1/5`, `2:1`.
    Ratio,
    /// Names, flags, lists.
    Words,
}

impl Measure {
    const QUANTITIES: [Measure; 6] = [
        Measure::Bytes,
        Measure::Rate,
        Measure::Time,
        Measure::Length,
        Measure::PacketRate,
        Measure::Ratio,
    ];

    /// What all of these values measure.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a Value> + Clone) -> Self {
        let every = |is: &dyn Fn(&Value) -> bool| values.clone().into_iter().all(is);
        if every(&|value| value.as_integer().is_some_and(|number| number >= 0)) {
            return Measure::Whole;
        }
        if every(&|value| number(value).is_some_and(f64::is_finite)) {
            return Measure::Real;
        }
        let quantity =
            |measure: &Measure| every(&|value| measure.number(value).is_some_and(f64::is_finite));
        Self::QUANTITIES.into_iter().find(quantity).unwrap_or(Measure::Words)
    }

    /// A value in the base unit; none if it measures something else.
    pub fn number(self, value: &Value) -> Option<f64> {
        match (self, value) {
            (Measure::Words, _) => None,
            (Measure::Whole | Measure::Real, value) => number(value),
            // A bare zero needs no unit.
            (_, Value::Integer(0)) => Some(0.0),
            (_, Value::String(text)) => self.parse(text),
            _ => None,
        }
    }

    fn parse(self, text: &str) -> Option<f64> {
        fn whole<T: FromStr>(text: &str, get: impl Fn(T) -> u64) -> Option<f64> {
            text.parse().ok().map(|value| get(value) as f64)
        }
        match self {
            Measure::Bytes => whole(text, Bytes::get),
            Measure::Rate => whole(text, Rate::bps),
            Measure::Time => whole(text, Span::as_ps),
            Measure::Length => whole(text, Length::as_mm),
            Measure::PacketRate => whole(text, PacketRate::pps),
            Measure::Ratio => text.parse().ok().map(Ratio::as_f64),
            Measure::Whole | Measure::Real | Measure::Words => None,
        }
    }

    /// The value of a file for a number in the base unit, to six digits.
    pub fn value(self, number: f64) -> Value {
        let number = digits(number, 6);
        let whole = number.round().clamp(0.0, 9e18) as u64;
        match self {
            Measure::Whole => Value::Integer(i64::try_from(whole).unwrap_or(i64::MAX)),
            Measure::Real | Measure::Words => Value::Float(number),
            Measure::Bytes => text(Bytes::new(whole)),
            Measure::Rate => text(Rate::from_bps(whole)),
            Measure::Time => text(Span::from_ps(whole)),
            Measure::Length => text(Length::from_mm(whole)),
            Measure::PacketRate => text(PacketRate::from_pps(whole)),
            Measure::Ratio => Value::String(format!("{number}")),
        }
    }

    /// The end of the name of its column: the unit, as in the tables of a run.
    pub fn suffix(self) -> &'static str {
        match self {
            Measure::Bytes => "_bytes",
            Measure::Rate => "_bps",
            Measure::Time => "_ps",
            Measure::Length => "_mm",
            Measure::PacketRate => "_pps",
            Measure::Whole | Measure::Real | Measure::Ratio | Measure::Words => "",
        }
    }

    /// What its column holds.
    pub fn kind(self) -> Kind {
        match self {
            Measure::Real | Measure::Ratio => Kind::Real,
            Measure::Words => Kind::Text,
            _ => Kind::Integer,
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn text(value: impl std::fmt::Display) -> Value {
    Value::String(value.to_string())
}

/// How values follow each other from the first to the last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    /// By adding.
    #[default]
    Linear,
    /// By multiplying.
    Log,
}

/// Everything from one value to another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Between {
    from: Value,
    to: Value,
    measure: Measure,
    scale: Scale,
}

impl Between {
    /// What is wrong if there is nothing between the two.
    pub(crate) fn new(from: Value, to: Value, scale: Scale) -> Result<Self, (String, String)> {
        let measure = Measure::of([&from, &to]);
        let wrong = |message: String, help: &str| Err((message, help.to_owned()));
        let (Some(low), Some(high)) = (measure.number(&from), measure.number(&to)) else {
            let message = format!("nothing lies between {from} and {to}");
            return wrong(
                message,
                "`from` and `to` are two numbers, or two quantities of the same unit: \"100KB\" and \
                 \"2MB\"; list names under `values`",
            );
        };
        if low >= high {
            return wrong(
                format!("`from` ({from}) is not below `to` ({to})"),
                "exchange the two; one value alone goes under `values`",
            );
        }
        if scale == Scale::Log && low <= 0.0 {
            return wrong(
                format!("a logarithmic scale has no {from}"),
                "begin above zero, or use `scale = \"linear\"`",
            );
        }
        Ok(Self { from, to, measure, scale })
    }

    /// The value at a place from 0, the first, to 1, the last.
    pub(crate) fn at(&self, place: f64) -> Value {
        if place <= 0.0 {
            return self.from.clone();
        }
        if place >= 1.0 {
            return self.to.clone();
        }
        let of = |value| self.measure.number(value).unwrap_or_default();
        let (low, high) = (of(&self.from), of(&self.to));
        let number = match self.scale {
            Scale::Linear => low + (high - low) * place,
            Scale::Log => exp(ln(low) + (ln(high) - ln(low)) * place),
        };
        self.measure.value(number)
    }

    /// Where a value is between the two, from 0 to 1; none if it is not there.
    pub(crate) fn place(&self, value: &Value) -> Option<f64> {
        let number = self.measure.number(value)?;
        let of = |value| self.measure.number(value).unwrap_or_default();
        let (low, high) = (of(&self.from), of(&self.to));
        if !(low..=high).contains(&number) {
            return None;
        }
        Some(match self.scale {
            Scale::Linear => (number - low) / (high - low),
            Scale::Log => (ln(number) - ln(low)) / (ln(high) - ln(low)),
        })
    }

    /// The place of the nearest value that has two digits.
    pub(crate) fn rounded(&self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        let Some(number) = self.measure.number(&self.at(place)) else { return place };
        // Ratios may be written in another unit than the ends; a value beyond an end is the end.
        let rounded = self.measure.value(digits(number, 2));
        self.place(&rounded).unwrap_or(if place < 0.5 { 0.0 } else { 1.0 })
    }

    /// Its two ends.
    pub(crate) fn ends(&self) -> [&Value; 2] {
        [&self.from, &self.to]
    }

    /// Whether values follow each other by multiplying.
    pub(crate) fn is_log(&self) -> bool {
        self.scale == Scale::Log
    }
}

/// A value as people read it: text without its quotes.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Value> {
        format!("v = {text}").parse::<toml::Table>().unwrap()["v"].as_array().unwrap().clone()
    }

    #[test]
    fn values_show_what_they_measure() {
        for (text, measure) in [
            ("[1, 2, 0]", Measure::Whole),
            ("[-1, 2]", Measure::Real),
            ("[1, 2.5]", Measure::Real),
            ("[\"1KB\", \"2MiB\", 0]", Measure::Bytes),
            ("[\"100Gbps\"]", Measure::Rate),
            ("[\"100us\", \"1ms\"]", Measure::Time),
            ("[\"3m\", \"40km\"]", Measure::Length),
            ("[\"20%\", \"1/8\", \"2:1\"]", Measure::Ratio),
            ("[\"1KB\", \"1us\"]", Measure::Words),
            ("[\"dcqcn\", \"none\"]", Measure::Words),
            ("[true, false]", Measure::Words),
            ("[nan]", Measure::Words),
            ("[[1], [2]]", Measure::Words),
        ] {
            assert_eq!(Measure::of(&of(text)), measure, "{text}");
        }
    }

    #[test]
    fn values_between_are_as_people_write_them() {
        let steps = |from: &str, to: &str, scale, count: u32| -> Vec<String> {
            let [from, to] = [from, to].map(|text| of(&format!("[{text}]"))[0].clone());
            let between = Between::new(from, to, scale).unwrap();
            let place = |step| f64::from(step) / f64::from(count - 1);
            (0..count).map(|step| shown(&between.at(place(step)))).collect()
        };
        assert_eq!(
            steps("\"100KB\"", "\"10MB\"", Scale::Log, 5),
            ["100KB", "316.228KB", "1MB", "3.16228MB", "10MB"].map(|text| match text {
                "3.16228MB" => "3162.28KB".to_owned(),
                text => text.to_owned(),
            })
        );
        assert_eq!(steps("1", "9", Scale::Linear, 3), ["1", "5", "9"]);
        assert_eq!(steps("0.1", "0.7", Scale::Linear, 3), ["0.1", "0.4", "0.7"]);
        assert_eq!(steps("\"10%\"", "\"30%\"", Scale::Linear, 3), ["10%", "0.2", "30%"]);
        assert_eq!(steps("0", "\"2us\"", Scale::Linear, 3), ["0", "1us", "2us"]);
    }

    #[test]
    fn what_has_nothing_between_is_refused() {
        for (from, to, scale) in [
            ("\"1KB\"", "\"1us\"", Scale::Linear),
            ("\"a\"", "\"b\"", Scale::Linear),
            ("2", "1", Scale::Linear),
            ("1", "1", Scale::Linear),
            ("0", "1", Scale::Log),
            ("-1", "1", Scale::Log),
            ("nan", "1", Scale::Linear),
            ("1", "inf", Scale::Linear),
        ] {
            let [a, b] = [from, to].map(|text| of(&format!("[{text}]"))[0].clone());
            assert!(Between::new(a, b, scale).is_err(), "{from} {to}");
        }
    }
}
