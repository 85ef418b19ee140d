//! Tests of the rules for `promtool test rules`: series as they are scraped, and the alerts that are to fire with their labels and
//! annotations.

use super::select::quoted;
use super::{Alert, INTERVAL, Links};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names and values of labels.
pub type Labels = BTreeMap<String, String>;

/// A series: a value for each scrape, or none.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its metric.
    pub metric: &'static str,
    /// Its labels.
    pub labels: Labels,
    /// Its values, [`INTERVAL`] seconds apart.
    pub values: Vec<Option<f64>>,
}

/// What is expected of an alert at a time.
#[derive(Debug, Clone)]
pub struct Check {
    /// When, in seconds from the first scrape on.
    pub at: u32,
    /// The alert.
    pub alert: &'static str,
    /// The labels of its scope, for every place where it fires.
    pub fires: Vec<Labels>,
}

/// One test.
#[derive(Debug, Clone)]
pub struct Test {
    /// What happens.
    pub name: String,
    /// What is scraped.
    pub series: Vec<Series>,
    /// What is expected.
    pub checks: Vec<Check>,
}

/// The beginning of a file of tests of the rules in `rules.yml`.
pub fn head() -> String {
    format!("rule_files: [rules.yml]\nevaluation_interval: {INTERVAL}s\ntests:\n")
}

/// A test, to follow the [`head`].
pub fn test(test: &Test, alerts: &[Alert], links: &Links) -> String {
    // Writing to a string cannot fail.
    let mut text = format!("- name: {}\n  interval: {INTERVAL}s\n", quoted(&test.name));
    text.push_str("  input_series:\n");
    for series in &test.series {
        let labels = series.labels.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let labels = labels.collect::<Vec<_>>().join(",");
        let _ = write!(
            text,
            "  - series: {}\n    values: {}\n",
            single(&format!("{}{{{labels}}}", series.metric)),
            single(&values(&series.values))
        );
    }
    text.push_str("  alert_rule_test:\n");
    for check in &test.checks {
        let Some(alert) = alerts.iter().find(|alert| alert.name == check.alert) else { continue };
        let _ = write!(text, "  - eval_time: {}s\n    alertname: {}\n", check.at, alert.name);
        if !check.fires.is_empty() {
            text.push_str("    exp_alerts:\n");
        }
        for labels in &check.fires {
            text.push_str(&expected(alert, links, labels));
        }
    }
    text
}

/// An alert that is expected to fire.
fn expected(alert: &Alert, links: &Links, labels: &Labels) -> String {
    let mut all = labels.clone();
    all.insert("severity".into(), alert.severity.word().into());
    all.insert("owner".into(), alert.owner.into());
    let mut text = String::from("    - exp_labels:\n");
    for (name, value) in &all {
        let _ = writeln!(text, "        {name}: {}", quoted(value));
    }
    text.push_str("      exp_annotations:\n");
    for (name, value) in links.annotations(alert) {
        let _ = writeln!(text, "        {name}: {}", quoted(&filled(&value, labels)));
    }
    text
}

/// A text with the values of labels in their places.
fn filled(text: &str, labels: &Labels) -> String {
    let mut text = text.to_owned();
    for (name, value) in labels {
        text = text.replace(&format!("{{{{ $labels.{name} }}}}"), value);
        text = text.replace(&format!("{{{{ $labels.{name} | urlquery }}}}"), &query(value));
    }
    text
}

/// As Go's templates escape a value in the query of an address.
fn query(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let escape = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// In single quotes, as YAML reads it: only they are escaped.
fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Values as promtool reads them: `a+bxn` is a and n more values, each greater by b; `_xn` are n gaps.
fn values(values: &[Option<f64>]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = values;
    while let Some(first) = rest.first() {
        let run = match first {
            None => rest.iter().take_while(|value| value.is_none()).count(),
            Some(first) => rest.iter().take_while(|value| **value == Some(*first)).count(),
        };
        parts.push(match first {
            None => format!("_x{run}"),
            Some(first) if run > 2 => format!("{}+0x{}", number(*first), run - 1),
            Some(first) => vec![number(*first); run].join(" "),
        });
        rest = &rest[run..];
    }
    parts.join(" ")
}

/// A number with as many digits as a counter needs.
fn number(value: f64) -> String {
    if value.abs() >= 1e3 || value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let text = format!("{value:.9}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::tests::fabric;

    #[test]
    fn values_are_short_and_whole() {
        assert_eq!(values(&[Some(0.0); 5]), "0+0x4");
        assert_eq!(values(&[Some(1.0), None, None, Some(2.5e-6)]), "1 _x2 0.0000025");
        assert_eq!(values(&[Some(1.0), Some(1.0), Some(12_345.6)]), "1 1 12346");
        assert_eq!(values(&[]), "");
    }

    #[test]
    fn annotations_are_those_of_the_place() {
        let all = crate::alerts::alerts(&fabric(), "pod");
        let links = Links { runbooks: "r".into(), dashboards: Some("https://g".into()) };
        let labels: Labels =
            [("fabric", "pod"), ("device", "leaf0"), ("port", "leaf0→a"), ("peer", "a")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        let check = Check { at: 60, alert: "XoffLinkDown", fires: vec![labels.clone()] };
        let series = Series { metric: "xoff_port_up", labels, values: vec![Some(1.0)] };
        let one = Test { name: "it's".into(), series: vec![series], checks: vec![check] };
        let text = test(&one, &all, &links);
        assert!(text.contains("summary: \"leaf0→a of leaf0 is down\""), "{text}");
        assert!(text.contains("runbook_url: \"r/XoffLinkDown.md\""), "{text}");
        assert!(text.contains("var-port=leaf0%E2%86%92a"), "{text}");
    }
}
