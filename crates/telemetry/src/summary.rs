//! [`Summary`]: the whole run on one page, as `summary.json`.

use crate::{
    FlowSummary, InputFile, LinkUse, QueueDepth, TenantSummary, TierSummary, WorkloadSummary,
};
use serde::{Deserialize, Serialize};

/// The program's name in every summary, by which a run folder is recognised.
pub const TOOL: &str = "xoff";

/// The whole run on one page. Fields that a reader does not find have their default, so that
/// summaries of older versions can be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Always [`TOOL`].
    pub tool: String,
    /// Version of the program.
    pub version: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// What was simulated of the traffic: `packet` or `flow`.
    pub fidelity: String,
    /// The files the run was made from.
    pub inputs: Vec<InputFile>,
    /// How it ended.
    pub outcome: Outcome,
    /// Digest of completion times and counters: equal results have equal digests.
    pub result_hash: String,
    /// Simulated time.
    pub simulated_ps: u64,
    /// Time it took.
    pub wall_seconds: f64,
    /// Simulator events.
    pub events: u64,
    /// Packets times links they crossed.
    pub packet_hops: u64,
    /// Those per second of wall time.
    pub packet_hops_per_second: f64,
    /// Most memory in use.
    pub peak_memory_bytes: u64,
    /// All flows.
    pub flows: FlowSummary,
    /// Workload by workload.
    pub workloads: Vec<WorkloadSummary>,
    /// Tenant by tenant.
    pub tenants: Vec<TenantSummary>,
    /// Collectives, size by size.
    pub collectives: Vec<CollectiveSummary>,
    /// Training steps.
    pub steps: Vec<StepSummary>,
    /// What the queue pairs of collectives and training steps counted.
    pub transfers: TransferSummary,
    /// How evenly links were used, by the tiers that they join.
    pub links: Vec<LinkSpread>,
    /// Pauses, marks and drops by tier.
    pub tiers: Vec<TierSummary>,
    /// Congestion notification packets sent by receivers.
    pub cnps_sent: u64,
    /// What became of ECN thresholds that move, where they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptation: Option<AdaptationSummary>,
    /// What a run at fidelity `fast` did not need to simulate; nothing at others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortcuts: Option<ShortcutsSummary>,
    /// How far the run is from the same one packet by packet, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationSummary>,
    /// Drops by class and reason.
    pub drops: Vec<DropSummary>,
    /// The deepest queues, deepest first.
    pub deepest_queues: Vec<QueueDepth>,
    /// The busiest links, busiest first.
    pub busiest_links: Vec<LinkUse>,
    /// The idlest links, idlest first.
    pub idlest_links: Vec<LinkUse>,
    /// Events beyond the limit, counted and not kept in `events.parquet`.
    pub events_left_out: u64,
    /// What the model leaves out, and anything else a reader must know.
    pub notes: Vec<String>,
}

impl Summary {
    /// An empty summary of this version.
    pub fn new(seed: u64) -> Self {
        Self {
            tool: TOOL.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed,
            ..Self::default()
        }
    }
}

/// What controllers of `[ecn.adaptive]` did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdaptationSummary {
    /// How often the thresholds of a queue changed.
    pub changes: u64,
    /// The lowest Kmin that one was given; zero without a change.
    pub lowest_kmin_bytes: u64,
    /// The highest.
    pub highest_kmin_bytes: u64,
}

/// What a run for which fidelity `fast` was asked for simulated, and what not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortcutsSummary {
    /// Why it was simulated packet by packet throughout after all; the rest is zero then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
    /// Collectives and messages that nothing was in the way of.
    pub plain: u64,
    /// Episodes of collectives that crowd links, simulated packet by packet.
    pub simulated: u64,
    /// Episodes that were like one simulated before.
    pub remembered: u64,
    /// Packet-hops that were simulated, of all in the result.
    pub hops_simulated: u64,
}

/// How far a run at another fidelity is from packets. Errors are shares: 0.01 is one per cent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerificationSummary {
    /// Times that were compared: of flows, runs of jobs, and requests.
    pub times: u64,
    /// Their error in the mean.
    pub mean_error: f64,
    /// The error that one in a hundred of them exceeds.
    pub p99_error: f64,
    /// The largest.
    pub largest_error: f64,
    /// The largest difference in the bytes of a link, of those that carried one per cent of what the busiest did.
    pub link_error: f64,
    /// ECN marks: by packets, and in this run.
    pub marks: [u64; 2],
    /// Pauses sent: by packets, and in this run.
    pub pauses: [u64; 2],
}

/// How a run ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// It has not: it still runs, or was killed.
    #[default]
    Running,
    /// All traffic was delivered.
    Completed,
    /// The user stopped it.
    Interrupted,
    /// Paused queues waited for each other in a cycle.
    Deadlock {
        /// The queues of the cycle.
        cycle: Vec<String>,
    },
    /// Traffic was left, and nothing would ever have happened again.
    Stalled,
    /// The duration of the scenario was over.
    DurationReached,
    /// Something happened that the scenario does not allow.
    Failed {
        /// What.
        reasons: Vec<String>,
    },
}

/// One size of a collective, as nccl-tests reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectiveSummary {
    /// The workload's name.
    pub name: String,
    /// Ranks that take part.
    pub ranks: u32,
    /// How it is done.
    pub algorithm: String,
    /// How much.
    pub size_bytes: u64,
    /// Repetitions that finished.
    pub finished: u32,
    /// Repetitions requested.
    pub asked: u32,
    /// Mean time of those that finished.
    pub mean_us: f64,
    /// Size over time, in gigabytes per second.
    pub algbw_gbps: f64,
    /// The load of the slowest link that corresponds to it, in gigabytes per second.
    pub busbw_gbps: f64,
    /// What it cost beside the network: `measured`, `none` or `own`.
    #[serde(default)]
    pub cost: String,
    /// What queue pairs the size began with: `fresh` or `kept` ones.
    #[serde(default)]
    pub connections: String,
    /// When its ranks were done, since its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_us: Option<EndsSummary>,
    /// Of a trace: how much later the last rank came to it than the first, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart_us: Option<f64>,
    /// The same of the one whose ranks came furthest apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_apart_us: Option<f64>,
}

/// When the ranks of a collective were done, in microseconds since its start; the means of its repetitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndsSummary {
    /// The first of them.
    pub first: f64,
    /// Half of them.
    pub median: f64,
    /// The last, which is the time of the collective.
    pub last: f64,
}

/// A training step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSummary {
    /// The workload's name.
    pub name: String,
    /// GPUs that take part.
    pub ranks: u32,
    /// Steps that finished.
    pub finished: u32,
    /// Steps requested.
    pub asked: u32,
    /// Mean time of those that finished.
    pub mean_us: f64,
    /// Of it, computing, on average over the GPUs.
    pub compute_us: f64,
    /// Of it, the pipeline's bubble, by its formula.
    pub bubble_us: f64,
    /// Of it, the rest: waiting for transfers.
    pub exposed_us: f64,
    /// The share of time in which a GPU does not compute, on average.
    pub idle: f64,
    /// Tokens trained on, per second; samples, if `samples` is true.
    pub tokens_per_second: f64,
    /// Whether the model is no transformer, so that samples are counted and not tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub samples: bool,
    /// Model FLOPs utilisation.
    pub mfu: f64,
    /// What held the longest of them back.
    #[serde(default)]
    pub critical: Option<CriticalSummary>,
}

/// The critical path of a training step: parts that add up to its time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CriticalSummary {
    /// The rank that was through last.
    pub last_rank: u32,
    /// Computing along the path.
    pub compute_us: f64,
    /// Waiting along the path, by dimension.
    pub waits: Vec<DimensionWait>,
    /// The longest wait.
    pub longest: Option<LongestWait>,
}

/// Waiting for the transfers of one dimension.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DimensionWait {
    /// `tensor`, `context`, `pipeline`, `expert` or `data`.
    pub dimension: String,
    /// How long.
    pub wait_us: f64,
}

/// The longest wait of a critical path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LongestWait {
    /// What for.
    pub dimension: String,
    /// How long.
    pub wait_us: f64,
    /// The ranks that took part.
    pub ranks: Vec<u32>,
    /// The rank that came last, or that sent.
    pub held_by: u32,
    /// Of the links that packets between these ranks can take, the busiest; none if they share a
    /// server.
    pub link: Option<String>,
    /// How busy that link was over the whole run.
    pub link_utilisation: f64,
    /// For how long it was paused, all classes together.
    pub link_paused_us: f64,
}

/// What queue pairs of collectives and training steps counted, all together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransferSummary {
    /// Packets sent again.
    pub retransmitted_packets: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Congestion notifications handled.
    pub cnps: u64,
    /// Packets that came out of sequence.
    pub out_of_sequence: u64,
}

/// How evenly the links from one tier to another were used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkSpread {
    /// Like `leaf→spine`.
    pub between: String,
    /// How many.
    pub links: u64,
    /// How many carried anything.
    pub used: u64,
    /// What they sent together.
    pub tx_bytes: u64,
    /// Mean share of the run for which a link sent.
    pub mean: f64,
    /// The same, of the busiest.
    pub max: f64,
    /// The busiest over the mean.
    pub max_over_mean: f64,
    /// The Gini coefficient: 0 equal, towards 1 all on one.
    pub gini: f64,
    /// The fullest link of a node over the mean of that node's, at the worst node.
    pub at_worst: f64,
    /// The busiest.
    pub busiest: String,
}

/// Drops of one class for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropSummary {
    /// The class.
    pub class: u8,
    /// Whether PFC protects the class: then the run has failed unless the scenario allows it.
    pub lossless: bool,
    /// Why.
    pub reason: String,
    /// How many packets.
    pub packets: u64,
    /// How many bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_wrote() {
        let mut summary = Summary::new(u64::MAX);
        summary.outcome = Outcome::Deadlock { cycle: vec!["leaf0→spine1".into()] };
        summary.drops.push(DropSummary {
            class: 3,
            lossless: true,
            reason: "headroom".into(),
            packets: 1,
            bytes: 4096,
        });
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), summary);
    }

    #[test]
    fn reads_summaries_with_fewer_or_more_fields() {
        let old = r#"{"tool":"xoff","outcome":{"kind":"failed","reasons":["x"]},"later":1}"#;
        let summary: Summary = serde_json::from_str(old).unwrap();
        assert_eq!(summary.outcome, Outcome::Failed { reasons: vec!["x".into()] });
    }
}
