//! Quantities as regular expressions, for editors that check a file against its schema.
//!
//! A pattern accepts the text that the parser accepts, whatever its magnitude: that a number is
//! too large or too fine for its type only the parser can tell. Patterns keep to what ECMA 262 (the
//! dialect of JSON schema) and Rust's `regex` read alike.

use crate::parse::Unit;

/// Digits with at least one before the dot, or else behind it; `_` anywhere between them.
const MANTISSA: &str = r"(?:_*[0-9][0-9_]*(?:\.[0-9_]*)?|_*\._*[0-9][0-9_]*)";

/// The same of a zero, which needs no unit.
const ZERO: &str = r"(?:_*0[0_]*(?:\.[0_]*)?|_*\._*0[0_]*)";

/// The same of a number that is not zero.
const NOT_ZERO: &str = r"(?:[0_]*[1-9][0-9_]*(?:\.[0-9_]*)?|[0_]*\.[0_]*[1-9][0-9_]*)";

const EXPONENT: &str = r"(?:[eE][+-]?[0-9]+)?";

/// A number with one of these units, or zero.
pub(crate) fn quantity(units: &[Unit]) -> String {
    let names: Vec<&str> = units.iter().map(|unit| unit.name).collect();
    let names = names.join("|");
    format!(r"^\s*(?:{MANTISSA}{EXPONENT}\s*(?:{names})|{ZERO}{EXPONENT})\s*$")
}

/// A fraction like `1/5` or `2:1`, a decimal number, or a percentage.
pub(crate) fn ratio() -> String {
    let number = format!("{MANTISSA}{EXPONENT}");
    let fraction = format!(r"{number}\s*[/:]\s*{NOT_ZERO}{EXPONENT}");
    format!(r"^\s*(?:{fraction}|{number}\s*%?)\s*$")
}

#[cfg(test)]
mod tests {
    use crate::{Bytes, Length, ParseError, Rate, Ratio, Span};
    use proptest::prelude::*;
    use regex::Regex;
    use schemars::{JsonSchema, SchemaGenerator};
    use std::str::FromStr;

    fn pattern<T: JsonSchema>() -> Regex {
        let schema = T::json_schema(&mut SchemaGenerator::default());
        let pattern = schema.get("pattern").and_then(|value| value.as_str());
        Regex::new(pattern.expect("a quantity has a pattern")).expect("the pattern is one")
    }

    /// Asserts that pattern and parser agree on `text`, unless only its magnitude is wrong.
    fn agree<T: JsonSchema + FromStr<Err = ParseError>>(pattern: &Regex, text: &str) {
        match text.parse::<T>() {
            Err(error) if error.to_string().contains("too fine") => {}
            parsed => assert_eq!(pattern.is_match(text), parsed.is_ok(), "{text:?}"),
        }
    }

    #[test]
    fn wrong_units_are_refused() {
        let wrong =
            ["400GB/s", "400", "400 gbps", "Gbps", "-1Gbps", "1Gbps!", "1..2Gbps", "1e", ""];
        for text in wrong {
            assert!(!pattern::<Rate>().is_match(text), "{text}");
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert!(!pattern::<Bytes>().is_match("150kb"));
        assert!(!pattern::<Span>().is_match("2 lightyears"));
        assert!(!pattern::<Length>().is_match("30 feet"));
        for text in ["half", "1/0", "1/0.0", "1/", "-0.5", "20 % of it", "1:2:3"] {
            assert!(!pattern::<Ratio>().is_match(text), "{text}");
        }
    }

    #[test]
    fn what_people_write_is_accepted() {
        for text in ["400Gbps", "1.6Tbps", "40 Mb/s", "400G", "0", "0.0", "1e3Mbps", "1_000Mbps"] {
            assert!(pattern::<Rate>().is_match(text) && text.parse::<Rate>().is_ok(), "{text}");
        }
        assert!(pattern::<Span>().is_match("2µs"));
        assert!(pattern::<Bytes>().is_match(" 1 MiB "));
        for text in ["0.2", "20%", "20 %", "1/5", "2:1", "2 : 1", "1e-4", ".5", "1.5:1", "1/0.5"] {
            assert!(pattern::<Ratio>().is_match(text) && text.parse::<Ratio>().is_ok(), "{text}");
        }
    }

    /// Pieces of quantities in any order: most are wrong in some way, some are right.
    fn pieces() -> impl Strategy<Value = String> {
        let number = prop_oneof![
            "[0-9]{1,3}",
            "[0-9]{1,2}\\.[0-9]{0,2}",
            "\\.[0-9]{1,2}",
            "[0-9_.]{1,4}",
            Just("0".to_owned()),
        ];
        let exponent = prop_oneof![3 => Just(String::new()), 1 => "[eE][+-]?[0-3]?"];
        let blank = prop_oneof![2 => Just(String::new()), 1 => " {1,2}"];
        let unit = prop_oneof![
            "(|K|M|G|T|k|Ki|Mi)(bps|b/s|B|B/s)",
            "(k|c|m|u|µ|n|p|)(m|s)",
            "(G|T|%| %|/[0-9]|:[0-9])",
            "[a-zA-Z%/]{0,4}",
        ];
        (blank.clone(), number, exponent, blank.clone(), unit, blank).prop_map(
            |(a, number, exponent, b, unit, c)| format!("{a}{number}{exponent}{b}{unit}{c}"),
        )
    }

    #[test]
    fn patterns_accept_what_the_parser_accepts() {
        let (rate, bytes, span) = (pattern::<Rate>(), pattern::<Bytes>(), pattern::<Span>());
        let (length, ratio) = (pattern::<Length>(), pattern::<Ratio>());
        proptest!(ProptestConfig::with_cases(4096), |(text in prop_oneof![pieces(), ".{0,12}"])| {
            agree::<Rate>(&rate, &text);
            agree::<Bytes>(&bytes, &text);
            agree::<Span>(&span, &text);
            agree::<Length>(&length, &text);
            agree::<Ratio>(&ratio, &text);
        });
    }

    #[test]
    fn what_is_displayed_matches() {
        let (rate, bytes, span) = (pattern::<Rate>(), pattern::<Bytes>(), pattern::<Span>());
        let (length, ratio) = (pattern::<Length>(), pattern::<Ratio>());
        proptest!(|(n in any::<u64>(), d in 1..=u64::MAX)| {
            prop_assert!(rate.is_match(&Rate::from_bps(n).to_string()));
            prop_assert!(bytes.is_match(&Bytes::new(n).to_string()));
            prop_assert!(span.is_match(&Span::from_ps(n).to_string()));
            prop_assert!(length.is_match(&Length::from_mm(n).to_string()));
            prop_assert!(ratio.is_match(&Ratio::new(n, d).to_string()));
        });
    }
}
