//! What a fabric is meant to achieve: the bounds that a verdict on it is measured with.
//!
//! A file states them under `[goals]`; what it leaves out has the defaults of [`Goals::default`]. Nothing here
//! measures or judges anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Ratio;

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// The larger, as with a share of line rate.
    Higher,
    /// The smaller, as with a time.
    Lower,
}

/// Two bounds of one figure. At `pass` or better it passes, worse than `fail` it fails, in between it warns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Goal {
    /// As good as this is good enough.
    pub pass: f64,
    /// What is worse than this is not acceptable. Never better than `pass`.
    pub fail: f64,
    /// Which values are the better ones.
    pub better: Better,
}

impl Goal {
    const fn at_least(pass: f64, fail: f64) -> Self {
        Self { pass, fail, better: Better::Higher }
    }

    const fn at_most(pass: f64, fail: f64) -> Self {
        Self { pass, fail, better: Better::Lower }
    }

    /// Whether a value is good enough. What is not a number never is.
    pub fn met_by(&self, value: f64) -> bool {
        self.reaches(value, self.pass)
    }

    /// Whether a value is not acceptable. What is not a number never is acceptable.
    pub fn missed_by(&self, value: f64) -> bool {
        !self.reaches(value, self.fail)
    }

    fn reaches(&self, value: f64, bound: f64) -> bool {
        match self.better {
            Better::Higher => value >= bound,
            Better::Lower => value <= bound,
        }
    }
}

/// What a fabric is meant to achieve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goals {
    /// Share of its ideal bus bandwidth that a collective reaches.
    pub collective: Goal,
    /// Time of a training step over that of the same step on an ideal network.
    pub step: Goal,
    /// Share of line rate that uniform or rail-aligned all-to-all traffic gets.
    pub all_to_all: Goal,
    /// Mean share of line rate in a permutation.
    pub permutation: Goal,
    /// Time of an incast over the time that its receiver's line rate takes.
    pub incast: Goal,
    /// Longest interruption of a job by a failure that heals, in seconds.
    pub failure: Goal,
    /// Host bandwidth over uplink bandwidth that the design means to have: 1 is full bandwidth.
    pub oversubscription: Ratio,
    /// Failures that a job has to survive.
    pub survive: Vec<Failure>,
}

impl Default for Goals {
    fn default() -> Self {
        Self {
            collective: Goal::at_least(0.8, 0.6),
            step: Goal::at_most(1.3, 2.0),
            all_to_all: Goal::at_least(0.8, 0.5),
            permutation: Goal::at_least(0.8, 0.5),
            incast: Goal::at_most(2.0, 10.0),
            failure: Goal::at_most(10.0, 60.0),
            oversubscription: Ratio::ONE,
            survive: Failure::BY_DEFAULT.to_vec(),
        }
    }
}

impl Goals {
    /// The share of line rate that the design leaves to traffic between leaves: 1 over the oversubscription.
    pub fn intended_share(&self) -> f64 {
        1.0 / self.oversubscription.as_f64()
    }

    /// Whether a job has to survive this failure.
    pub fn survives(&self, failure: Failure) -> bool {
        self.survive.contains(&failure)
    }
}

/// A failure that a job may meet.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// A link between switches goes down.
    Link,
    /// A spine goes down. A fabric with one spine does not survive that.
    Spine,
    /// A leaf goes down. Servers on one leaf do not survive that.
    Leaf,
    /// A switch restarts.
    Reset,
    /// Switches are drained, restarted and returned one by one.
    Upgrade,
    /// An optic gets worse.
    Optic,
    /// A link goes up and down.
    Flap,
    /// A port of a NIC goes down. A NIC with one port does not survive that.
    Nic,
    /// A server goes down.
    Server,
    /// A server takes data in too slowly.
    Receiver,
    /// A NIC sends pause frames without end.
    Storm,
}

impl Failure {
    /// What a job has to survive unless the file says otherwise: everything that a sound fabric with servers on one
    /// leaf can.
    pub const BY_DEFAULT: [Failure; 6] = [
        Failure::Link,
        Failure::Spine,
        Failure::Optic,
        Failure::Flap,
        Failure::Receiver,
        Failure::Storm,
    ];

    /// The word in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Failure::Link => "link",
            Failure::Spine => "spine",
            Failure::Leaf => "leaf",
            Failure::Reset => "reset",
            Failure::Upgrade => "upgrade",
            Failure::Optic => "optic",
            Failure::Flap => "flap",
            Failure::Nic => "nic",
            Failure::Server => "server",
            Failure::Receiver => "receiver",
            Failure::Storm => "storm",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_passed_at_its_bound_and_failed_beyond_it() {
        let share = Goals::default().collective;
        assert!(share.met_by(0.8) && !share.met_by(0.799));
        assert!(!share.missed_by(0.6) && share.missed_by(0.599));
        let times = Goals::default().step;
        assert!(times.met_by(1.3) && !times.met_by(1.301));
        assert!(!times.missed_by(2.0) && times.missed_by(2.001));
        for goal in [share, times] {
            assert!(!goal.met_by(f64::NAN) && goal.missed_by(f64::NAN));
        }
    }
}
