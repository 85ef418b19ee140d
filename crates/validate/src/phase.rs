//! [`Phase`]: the six steps of a validation, in order.

use serde::{Deserialize, Serialize};

/// A step of a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The file is consistent and follows the rules of the trade.
    Laboratory,
    /// Line rate and latency of one flow at a time.
    Baseline,
    /// Sustained load, incast, bursts, mixed classes.
    Synthetic,
    /// Collectives, and steps made of them.
    Workload,
    /// What each failure costs.
    Failures,
    /// Whether an operator would notice.
    Operations,
}

impl Phase {
    /// All, in order.
    pub const ALL: [Phase; 6] = [
        Phase::Laboratory,
        Phase::Baseline,
        Phase::Synthetic,
        Phase::Workload,
        Phase::Failures,
        Phase::Operations,
    ];

    /// The word for files and arguments.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Laboratory => "laboratory",
            Phase::Baseline => "baseline",
            Phase::Synthetic => "synthetic",
            Phase::Workload => "workload",
            Phase::Failures => "failures",
            Phase::Operations => "operations",
        }
    }

    /// The words for headings.
    pub const fn title(self) -> &'static str {
        match self {
            Phase::Laboratory => "Laboratory",
            Phase::Baseline => "Baseline",
            Phase::Synthetic => "Synthetic load",
            Phase::Workload => "AI workload",
            Phase::Failures => "Failures",
            Phase::Operations => "Operations",
        }
    }

    /// The question it answers.
    pub const fn question(self) -> &'static str {
        match self {
            Phase::Laboratory => {
                "Is the file consistent, and does it follow the rules of the trade?"
            }
            Phase::Baseline => "Does one flow at a time get line rate and the latency of its path?",
            Phase::Synthetic => {
                "Does it hold under sustained load, incast, bursts and mixed classes?"
            }
            Phase::Workload => "How close to an ideal network are collectives and a training step?",
            Phase::Failures => "What does each failure cost, and does the fabric recover?",
            Phase::Operations => "Does each failure show in an operator's counters?",
        }
    }

    /// The phase of a name, or of its number from 1 to 6.
    pub fn named(text: &str) -> Option<Self> {
        let number = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let by_number = number.and_then(|index| Self::ALL.get(index).copied());
        by_number.or_else(|| Self::ALL.into_iter().find(|phase| phase.name() == text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_found_by_name_and_number() {
        for (phase, number) in Phase::ALL.into_iter().zip(1..) {
            assert_eq!(Phase::named(phase.name()), Some(phase));
            assert_eq!(Phase::named(&format!("{number}")), Some(phase));
        }
        assert_eq!(Phase::named("0"), None);
        assert_eq!(Phase::named("7"), None);
        assert_eq!(Phase::named("lab"), None);
    }
}
