//! `[ecn.adaptive]`.

use crate::model::{Adaptive, Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Ratio, Span};

/// A controller on every switch that moves Kmin, Kmax and Pmax of each port and class that marks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct AdaptiveSettings {
    /// Whether it does so (default true).
    pub enabled: Option<bool>,
    /// Between two readings of the counters (default 500us).
    pub interval: Option<Span>,
    /// From a reading until new thresholds are in force (default 50us).
    pub delay: Option<Span>,
    /// The same, for each port and class that a switch marks in (default 1us).
    pub cost: Option<Span>,
    /// The lowest thresholds, as a share of the static ones (default 1/16).
    pub lowest: Option<Ratio>,
    /// The highest (default 4).
    pub highest: Option<Ratio>,
    /// The share of its rate that a queue with marks is to send (default 0.95).
    pub utilisation: Option<Ratio>,
    /// Marks, as a share of packets, that tell of many senders (default 0.05).
    pub marks: Option<Ratio>,
    /// Steps up, of half an octave, where few marks slow senders down too much (default 1).
    pub up: Option<u8>,
    /// Steps down where the link is full (default 1).
    pub down: Option<u8>,
    /// Steps down where every packet is marked and the queue stays long (default 2).
    pub overload: Option<u8>,
    /// Readings with marks before a step down; after a step up they double each time (default 8).
    pub hold: Option<u8>,
    /// Readings without a mark after which thresholds return to the static ones (default 2).
    pub quiet: Option<u8>,
}

impl AdaptiveSettings {
    /// Between two readings.
    pub(crate) fn interval(&self) -> Span {
        self.interval.unwrap_or(Span::from_us(500))
    }

    fn cost(&self) -> Span {
        self.cost.unwrap_or(Span::from_us(1))
    }

    fn delay(&self) -> Span {
        self.delay.unwrap_or(Span::from_us(50))
    }

    /// From a reading until new thresholds of so many ports and classes are in force.
    pub(crate) fn reaction(&self, marking: u64) -> Span {
        let all = self.cost().as_ps().saturating_mul(marking);
        Span::from_ps(all.saturating_add(self.delay().as_ps()))
    }

    /// What switches do, if they do anything.
    pub(crate) fn controller(&self) -> Option<Adaptive> {
        let usual = Policy::default();
        let policy = Policy {
            utilisation: self.utilisation.unwrap_or(usual.utilisation),
            marks: self.marks.unwrap_or(usual.marks),
            up: self.up.unwrap_or(usual.up),
            down: self.down.unwrap_or(usual.down),
            overload: self.overload.unwrap_or(usual.overload),
            hold: self.hold.unwrap_or(usual.hold),
            quiet: self.quiet.unwrap_or(usual.quiet),
        };
        (self.enabled != Some(false)).then(|| Adaptive {
            interval: self.interval(),
            delay: self.delay(),
            cost: self.cost(),
            lowest: self.lowest.unwrap_or(Ratio::new(1, 16)),
            highest: self.highest.unwrap_or(Ratio::new(4, 1)),
            policy,
        })
    }
}
