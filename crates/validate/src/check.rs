//! [`Check`]: one property of the fabric, with what was measured, what is expected and what to
//! change.

use crate::phase::Phase;
use serde::{Deserialize, Serialize};
use xoff_fabric::Network;
use xoff_report::Verdict;

/// One property of the fabric, checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Its name, which is stable between versions: `synthetic.incast`.
    pub id: String,
    /// The phase it belongs to.
    pub phase: Phase,
    /// What is checked, in words.
    pub title: String,
    /// What was done.
    pub done: String,
    /// What was measured.
    pub measured: String,
    /// What is expected.
    pub expected: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Devices, ports, cables or settings that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Experiments that it judges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<String>,
    /// What to change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

impl Check {
    /// A check that passes until a verdict is set.
    pub fn new(phase: Phase, name: &str, title: impl Into<String>) -> Self {
        Self {
            id: format!("{}.{name}", phase.name()),
            phase,
            title: title.into(),
            done: String::new(),
            measured: String::new(),
            expected: String::new(),
            verdict: Verdict::Pass,
            places: Vec::new(),
            experiments: Vec::new(),
            advice: None,
        }
    }

    /// What was done.
    pub fn done(mut self, done: impl Into<String>) -> Self {
        self.done = done.into();
        self
    }

    /// What was measured, and what is expected.
    pub fn seen(mut self, measured: impl Into<String>, expected: impl Into<String>) -> Self {
        (self.measured, self.expected) = (measured.into(), expected.into());
        self
    }

    /// Its verdict.
    pub fn verdict(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    /// What it is about.
    pub fn places(mut self, places: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.places = places.into_iter().map(Into::into).collect();
        self
    }

    /// What it judges.
    pub fn from(mut self, experiments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.experiments = experiments.into_iter().map(Into::into).collect();
        self
    }

    /// What to change, unless it passed.
    pub fn advise(mut self, advice: Option<Advice>) -> Self {
        self.advice = advice.filter(|_| self.verdict != Verdict::Pass);
        self
    }
}

/// What to change about the fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// In words.
    pub text: String,
    /// As keys of the fabric file, to be laid over it; empty if no key can express it.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub change: toml::Table,
}

impl Advice {
    /// Advice in words only.
    pub fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), change: toml::Table::new() }
    }

    /// Advice with keys of the fabric file, which must be valid TOML.
    pub fn change(text: impl Into<String>, keys: &str) -> Self {
        let change = keys.parse();
        debug_assert!(change.is_ok(), "{keys}");
        Self { text: text.into(), change: change.unwrap_or_default() }
    }

    /// The keys as lines of a fabric file.
    pub fn lines(&self) -> String {
        toml::to_string(&self.change).unwrap_or_default()
    }
}

/// Lays one set of keys over another, table by table; anything else is replaced.
pub fn overlay(base: &mut toml::Table, top: &toml::Table) {
    for (key, value) in top {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if !changes_network(key, below, above) =>
            {
                overlay(below, above);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Whether two `[transport]` tables are of different networks: then the upper one stands alone.
fn changes_network(key: &str, below: &toml::Table, above: &toml::Table) -> bool {
    fn kind(table: &toml::Table) -> Option<&str> {
        table.get("kind").and_then(toml::Value::as_str)
    }
    key == "transport" && !Network::same_kind(kind(below), kind(above))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_another_network_do_not_count() {
        let mut base: toml::Table = "[transport]\nack-every = 7".parse().unwrap();
        overlay(&mut base, &"[transport]\nkind = 'roce'".parse().unwrap());
        assert!(base["transport"].as_table().unwrap().contains_key("ack-every"));
        let tcp: toml::Table = "[transport]\nkind = 'tcp'".parse().unwrap();
        overlay(&mut base, &tcp);
        assert_eq!(base, tcp);
        overlay(&mut base, &"[transport.congestion]\nkind = 'dctcp'".parse().unwrap());
        assert_eq!(base["transport"].as_table().unwrap().len(), 2);
    }

    #[test]
    fn advice_is_lines_of_a_file() {
        let advice = Advice::change("turn it on", "[pfc]\nenabled = true");
        assert_eq!(advice.lines(), "[pfc]\nenabled = true\n");
        assert_eq!(Advice::words("think").lines(), "");
    }

    #[test]
    fn keys_are_laid_over_table_by_table() {
        let mut base: toml::Table = "[pfc]\nenabled = false\nalpha = '1/8'".parse().unwrap();
        overlay(&mut base, &"[pfc]\nenabled = true\n[ecn]\nkmin = '1KB'".parse().unwrap());
        let expected: toml::Table =
            "[pfc]\nenabled = true\nalpha = '1/8'\n[ecn]\nkmin = '1KB'".parse().unwrap();
        assert_eq!(base, expected);
    }
}
