//! Workloads and tenants: what the summary says about each.

use crate::distribution::{Distribution, Percentiles};
use serde::{Deserialize, Serialize};

/// One `[[workload]]` of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkloadSummary {
    /// Its name.
    pub name: String,
    /// Its kind, as the scenario writes it.
    pub kind: String,
    /// Whose it is, if the scenario says so.
    pub tenant: Option<String>,
    /// The transport that carried it, where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// What it is counted in: `flows`, `requests`, `rounds` or `runs`.
    pub unit: String,
    /// How many of them were begun.
    pub begun: u64,
    /// How many finished.
    pub finished: u64,
    /// From the first start to the last end, or to the end of the run if something is unfinished.
    pub time_us: f64,
    /// Payload that those that finished moved over the network.
    pub bytes: u64,
    /// Those bytes over that time, in gigabytes per second.
    pub gbytes_per_second: f64,
    /// Those that finished over that time: IOPS, requests per second.
    pub per_second: f64,
    /// What one takes, in microseconds.
    pub latency_us: Option<Distribution>,
    /// What one may take.
    pub objective_us: Option<f64>,
    /// The share of all that were begun that took no longer.
    pub within_objective: Option<f64>,
    /// What one takes on average when its tenant is alone, if that was measured.
    pub alone_us: Option<f64>,
    /// The mean together over the mean alone.
    pub slowdown: Option<f64>,
    /// What requests took to their tokens, if they were served to their last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<ServingSummary>,
    /// When the first and the last rank of a trace were done, in the replay in which they were furthest apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_ends: Option<RankEndsSummary>,
}

/// When ranks were done with all they had to do, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankEndsSummary {
    /// The rank that was done first.
    pub first_rank: u32,
    /// When, in microseconds.
    pub first_us: f64,
    /// When half of the ranks were.
    pub median_us: f64,
    /// The rank that was done last.
    pub last_rank: u32,
    /// When, in microseconds.
    pub last_us: f64,
}

/// What requests took to their first token and for each other one, of those that came as far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServingSummary {
    /// Time to first token: from arrival to the first token, in microseconds.
    pub ttft_us: Option<Percentiles>,
    /// Time per output token: for each token after the first, on average over a request, in microseconds.
    pub tpot_us: Option<Percentiles>,
    /// What a first token may take.
    pub ttft_objective_us: Option<f64>,
    /// What each other one may take.
    pub tpot_objective_us: Option<f64>,
    /// The share of all requests that came that kept to both, if either is given.
    pub within: Option<f64>,
    /// The share that must.
    pub wanted: Option<f64>,
}

impl WorkloadSummary {
    /// Whether it has more to say than its flows or collectives do.
    pub fn has_own_figures(&self) -> bool {
        let kinds = ["checkpoint", "background", "trace"];
        let own = matches!(self.unit.as_str(), "requests" | "rounds");
        let compared = self.tenant.is_some() || self.slowdown.is_some() || self.transport.is_some();
        own || compared || kinds.contains(&self.kind.as_str())
    }
}

/// All workloads of a tenant.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TenantSummary {
    /// Its name.
    pub name: String,
    /// How many workloads are its own.
    pub workloads: u32,
    /// The longest time of any of them.
    pub time_us: f64,
    /// Payload that they moved over the network.
    pub bytes: u64,
    /// The greatest slowdown of any of them, if they were run alone, too.
    pub slowdown: Option<f64>,
}

impl TenantSummary {
    /// The tenants of some workloads, in the order in which they come.
    pub fn of(rows: &[WorkloadSummary]) -> Vec<Self> {
        let mut tenants: Vec<Self> = Vec::new();
        for row in rows {
            let Some(name) = &row.tenant else { continue };
            let at = tenants.iter().position(|tenant| tenant.name == *name);
            let at = at.unwrap_or_else(|| {
                tenants.push(Self { name: name.clone(), ..Self::default() });
                tenants.len() - 1
            });
            let tenant = &mut tenants[at];
            tenant.workloads += 1;
            tenant.time_us = tenant.time_us.max(row.time_us);
            tenant.bytes = tenant.bytes.saturating_add(row.bytes);
            tenant.slowdown = match (tenant.slowdown, row.slowdown) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
        }
        tenants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_as_slow_as_their_slowest_workload() {
        let row = |tenant: Option<&str>, time_us, slowdown| WorkloadSummary {
            tenant: tenant.map(str::to_owned),
            time_us,
            slowdown,
            bytes: 5,
            ..WorkloadSummary::default()
        };
        let rows = [
            row(Some("b"), 3.0, Some(1.5)),
            row(None, 9.0, None),
            row(Some("a"), 2.0, None),
            row(Some("b"), 1.0, Some(1.25)),
        ];
        let found = TenantSummary::of(&rows);
        let tenant = |name: &str, workloads, time_us, bytes, slowdown| TenantSummary {
            name: name.to_owned(),
            workloads,
            time_us,
            bytes,
            slowdown,
        };
        assert_eq!(found, [tenant("b", 2, 3.0, 10, Some(1.5)), tenant("a", 1, 2.0, 5, None)]);
    }
}
