//! `[goals]`.

use crate::goals::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Ratio, Span};

/// What the fabric is meant to achieve, for verdicts. Each goal is the bound at which a figure passes, or a table
/// with `pass` and `fail`; between the two it warns. Without `fail` the bounds are as far apart as the default ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct GoalSettings {
    /// Share of its ideal bus bandwidth that a collective reaches (default: pass 80%, fail 60%).
    pub collective: Option<GoalEntry<Ratio>>,
    /// Time of a training step over that on an ideal network (default: pass 1.3, fail 2).
    pub step: Option<GoalEntry<Ratio>>,
    /// Share of line rate that uniform or rail-aligned all-to-all traffic gets (default: pass 80%, fail 50%).
    pub all_to_all: Option<GoalEntry<Ratio>>,
    /// Mean share of line rate in a permutation (default: pass 80%, fail 50%).
    pub permutation: Option<GoalEntry<Ratio>>,
    /// Time of an incast over the time that its receiver's line rate takes (default: pass 2, fail 10).
    pub incast: Option<GoalEntry<Ratio>>,
    /// Longest interruption of a job by a failure that heals (default: pass 10s, fail 60s).
    pub failure: Option<GoalEntry<Span>>,
    /// Host bandwidth over uplink bandwidth that the design means to have, like `"3:1"`: shares of line rate
    /// between leaves are then judged against a third (default 1:1).
    pub oversubscription: Option<Ratio>,
    /// Failures that a job has to survive (default link, spine, optic, flap, receiver and storm). A design with one
    /// spine leaves `"spine"` out, one with servers on two leaves may add `"leaf"` and `"nic"`.
    pub survive: Option<Vec<Failure>>,
}

/// A goal as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "GoalEntryOf{T}")]
pub(crate) enum GoalEntry<T> {
    /// Where it passes.
    Pass(T),
    /// Both bounds.
    Bounds(Bounds<T>),
}

/// The bounds of a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "BoundsOf{T}")]
pub(crate) struct Bounds<T> {
    /// As good as this passes (default: the key's).
    pub pass: Option<T>,
    /// Worse than this fails (default: as far from `pass` as the key's defaults are).
    pub fail: Option<T>,
}

impl<T: Copy> GoalEntry<T> {
    /// The bounds, as far as they are written.
    pub(crate) fn bounds(&self) -> Bounds<T> {
        match *self {
            GoalEntry::Pass(pass) => Bounds { pass: Some(pass), fail: None },
            GoalEntry::Bounds(bounds) => bounds,
        }
    }
}
