//! [`Check`]: one property of the fabric, with what was measured, what is expected and what to
//! change.

use crate::advice::Advice;
use crate::phase::Phase;
use serde::{Deserialize, Serialize};
use xoff_fabric::Network;
use xoff_fabric::goals::{Better, Goal};
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
    /// What might help, as far as the evidence goes, the likeliest first. What is tried and gains nothing is dropped.
    #[serde(skip)]
    pub candidates: Vec<Advice>,
    /// What the check speaks of.
    pub aspect: Aspect,
    /// How good it is, from 0 to 1: 1 cannot be better.
    pub quality: f64,
    /// Whether a verdict of the whole fabric hangs on it, and not only a setting.
    pub headline: bool,
}

/// The three things that a user wants to know of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aspect {
    /// Whether it loses packets that it must not lose.
    Lossless,
    /// What share of the ideal a job gets.
    Performance,
    /// What failures cost, and which kill the job.
    Resilience,
}

impl Aspect {
    /// All, in order.
    pub const ALL: [Aspect; 3] = [Aspect::Lossless, Aspect::Performance, Aspect::Resilience];

    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Aspect::Lossless => "lossless",
            Aspect::Performance => "performance",
            Aspect::Resilience => "resilience",
        }
    }
}

/// The quality of a check that is only good, doubtful or bad.
const fn quality(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Pass => 1.0,
        Verdict::Warn => 0.6,
        Verdict::Fail => 0.2,
    }
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
            candidates: Vec::new(),
            aspect: match phase {
                Phase::Laboratory | Phase::Baseline | Phase::Synthetic | Phase::Workload => {
                    Aspect::Performance
                }
                Phase::Failures | Phase::Operations => Aspect::Resilience,
            },
            quality: quality(Verdict::Pass),
            headline: false,
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
        self.quality = quality(verdict);
        self
    }

    /// Its verdict from a share of what is ideal, 1 being ideal: from `pass` on it passes, below `fail` it fails.
    /// The quality grows with the share, so that of two fabrics the better one has the higher score.
    pub fn graded(mut self, share: f64, pass: f64, fail: f64) -> Self {
        debug_assert!(0.0 <= fail && fail <= pass && pass <= 1.0, "{fail} to {pass}");
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        let between = |low: f64, high: f64| {
            if high > low { ((share - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 }
        };
        (self.verdict, self.quality) = match share {
            _ if share >= pass => (Verdict::Pass, 0.9 + 0.1 * between(pass, 1.0)),
            _ if share >= fail => (Verdict::Warn, 0.5 + 0.3 * between(fail, pass)),
            _ => (Verdict::Fail, 0.4 * between(0.0, fail)),
        };
        self
    }

    /// Its verdict from a figure that the fabric has a goal for: a share, or times the ideal.
    pub fn held_against(self, value: f64, goal: &Goal) -> Self {
        match goal.better {
            Better::Higher => self.graded(value, goal.pass, goal.fail),
            Better::Lower => self.graded(1.0 / value, 1.0 / goal.pass, 1.0 / goal.fail),
        }
    }

    /// At best this verdict.
    pub fn at_best(mut self, verdict: Verdict) -> Self {
        if verdict > self.verdict {
            self.verdict = verdict;
            self.quality = self.quality.min(quality(verdict));
        }
        self
    }

    /// What it speaks of.
    pub fn about(mut self, aspect: Aspect) -> Self {
        self.aspect = aspect;
        self
    }

    /// One of the checks that a verdict hangs on.
    pub fn headline(mut self) -> Self {
        self.headline = true;
        self
    }

    /// What might help, unless it passed.
    pub fn consider(mut self, candidates: impl IntoIterator<Item = Advice>) -> Self {
        if self.verdict != Verdict::Pass {
            self.candidates = candidates.into_iter().collect();
            self.advice = self.candidates.first().cloned();
        }
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

    /// Its title for one that may not have passed. Titles say what is to be, and some ask.
    pub fn heading(&self) -> String {
        match self.verdict {
            Verdict::Pass => self.title.clone(),
            _ if self.title.starts_with("What ") => self.title.clone(),
            Verdict::Warn | Verdict::Fail => format!("not met: {}", self.title),
        }
    }

    /// What to change, unless it passed.
    pub fn advise(self, advice: Option<Advice>) -> Self {
        self.consider(advice)
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
    fn keys_are_laid_over_table_by_table() {
        let mut base: toml::Table = "[pfc]\nenabled = false\nalpha = '1/8'".parse().unwrap();
        overlay(&mut base, &"[pfc]\nenabled = true\n[ecn]\nkmin = '1KB'".parse().unwrap());
        let expected: toml::Table =
            "[pfc]\nenabled = true\nalpha = '1/8'\n[ecn]\nkmin = '1KB'".parse().unwrap();
        assert_eq!(base, expected);
    }
}
