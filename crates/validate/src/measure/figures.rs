//! The figures that are kept of a run. Times are in microseconds, rates in bits per second, sizes
//! in bytes: plain numbers, because they are written to files and drawn.

use crate::blind::PortCounters;
use serde::{Deserialize, Serialize};
use xoff_fabric::scenario::Fidelity;
use xoff_telemetry::Distribution;

/// What is kept of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measurement {
    /// The experiment.
    pub experiment: String,
    /// What it does, in words.
    pub title: String,
    /// What was simulated of its traffic.
    pub fidelity: Fidelity,
    /// A number that differs when anything in the result does.
    pub hash: String,
    /// How it ended: completed, time-up, deadlock, stalled.
    pub outcome: String,
    /// Simulated time.
    pub end_us: f64,
    /// Packets sent over links.
    pub packet_hops: u64,
    /// Its traffic, by name.
    pub groups: Vec<GroupFigures>,
    /// Single flows, of experiments with few.
    pub flows: Vec<FlowFigure>,
    /// Its collectives, size by size.
    pub collectives: Vec<CollectiveFigures>,
    /// Its training steps.
    pub steps: Vec<TrainingFigures>,
    /// Owners of its traffic, together and each alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<OwnerFigures>,
    /// What all ports counted together.
    pub totals: Counters,
    /// Links by tier and direction.
    pub tiers: Vec<TierFigures>,
    /// Ports where most happened.
    pub ports: Vec<PortFigures>,
    /// Load between neighbours, parallel cables and both directions together.
    pub loads: Vec<PairLoad>,
    /// Queues over time.
    pub series: Vec<Series>,
    /// What NICs sent over time: the rates of flows, where each NIC sends one.
    pub rates: Vec<RateSeries>,
    /// Pauses as they were obeyed.
    pub pauses: Vec<PauseSpan>,
    /// First pause and first drop in a lossless class.
    pub first_pause_us: Option<f64>,
    /// The first packet that a lossless class lost, and where.
    pub first_lossless_drop: Option<(f64, String)>,
    /// Queues that waited for each other.
    pub deadlock: Vec<String>,
    /// Cores that the transport kept busy at the server with most to do; zero where NICs do the
    /// work.
    pub cores: f64,
    /// Jobs with the times of their repetitions.
    pub jobs: Vec<JobFigures>,
    /// Counters of ports as an operator scrapes them, of ports where anything happened. Kept of
    /// experiments that break something, and of their reference.
    pub counters: Vec<PortCounters>,
    /// What was broken.
    pub fault: Option<FaultFigures>,
}

/// A job with the times of its repetitions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobFigures {
    /// Its name.
    pub name: String,
    /// When each repetition began and, if it did, ended.
    pub runs: Vec<(f64, Option<f64>)>,
    /// How many there should be.
    pub asked: u32,
    /// Why it ended before.
    pub failure: Option<QueuePairFailure>,
}

/// A queue pair that gave up, and a job with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct QueuePairFailure {
    /// When.
    pub at_us: f64,
    /// After how long without an answer.
    pub after_us: f64,
    /// Its status.
    pub reason: String,
    /// The NIC that gave up.
    pub from: String,
    /// The NIC that did not answer.
    pub to: String,
    /// Number of the queue pair within the run.
    pub queue_pair: u32,
}

/// What was broken, and when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultFigures {
    /// Devices, or links like `leaf0→spine1#2`.
    pub places: Vec<String>,
    /// From when.
    pub begin_us: f64,
    /// To when, if it ended.
    pub end_us: Option<f64>,
}

impl Measurement {
    /// Whether queues, pauses and losses would be in it.
    pub fn has_queues(&self) -> bool {
        self.fidelity != Fidelity::Flow
    }

    /// How its traffic was simulated, in words.
    pub fn way(&self) -> &'static str {
        match self.fidelity {
            Fidelity::Packet => "packet by packet",
            Fidelity::Fast => {
                "packet by packet where links are crowded (fidelity `fast`), what repeats once"
            }
            Fidelity::Flow => {
                "as flows with fair shares of links (fidelity `flow`: no queues, pauses or losses)"
            }
        }
    }

    /// The traffic of a name.
    pub fn group(&self, name: &str) -> Option<&GroupFigures> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The owner of a name.
    pub fn owner(&self, name: &str) -> Option<&OwnerFigures> {
        self.owners.iter().find(|owner| owner.name == name)
    }

    /// When the last flow was done, in microseconds; zero without flows.
    pub fn last_flow_us(&self) -> f64 {
        self.groups.iter().map(|group| group.completion.of.max).fold(0.0, f64::max)
    }

    /// When the last flow, collective or training step was done, in microseconds.
    pub fn last_us(&self) -> f64 {
        let jobs = self.collectives.iter().map(|row| row.time_us);
        let steps = self.steps.iter().map(|step| step.time_us);
        jobs.chain(steps).fold(self.last_flow_us(), f64::max)
    }

    /// Whether all traffic was done.
    pub fn is_complete(&self) -> bool {
        let flows = self.groups.iter().all(|group| group.finished == group.flows);
        let steps = self.steps.iter().all(|step| step.finished);
        flows && steps && self.collectives.iter().all(|row| row.finished)
    }
}

/// Flows of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupFigures {
    /// Their name.
    pub name: String,
    /// How many.
    pub flows: u64,
    /// How many finished.
    pub finished: u64,
    /// How many queue pairs gave up.
    pub failed: u64,
    /// Mean size.
    pub bytes_per_flow: f64,
    /// What they moved over the time from first start to last end.
    pub goodput_bps: f64,
    /// Mean over flows of what each got, as a share of what its idle path gives.
    pub share_of_ideal: f64,
    /// What each receiving NIC got of them over the whole run, as a share of its line rate.
    pub received: Curve,
    /// Completion times.
    pub completion: Curve,
    /// Completion times over what they would be on an idle fabric.
    pub slowdown: Curve,
}

/// A distribution, and points of its curve to draw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Mean and percentiles; all zero of no values.
    #[serde(flatten)]
    pub of: Distribution,
    /// At most a few hundred values, evenly spread over the ranks.
    pub points: Vec<f64>,
}

impl Curve {
    const POINTS: usize = 200;

    /// Of values in any order.
    pub fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let Some(of) = Distribution::of_sorted(&values) else { return Self::default() };
        let at = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values[rank.clamp(1, values.len()) - 1]
        };
        let count = values.len().min(Self::POINTS);
        let points = (1..=count).map(|point| at(point as f64 / count as f64)).collect();
        Self { of, points }
    }
}

/// One flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowFigure {
    /// Who sends.
    pub from: String,
    /// Who receives.
    pub to: String,
    /// How much.
    pub bytes: u64,
    /// How long it took.
    pub completion_us: Option<f64>,
    /// How long it would take on an idle fabric.
    pub ideal_us: f64,
}

/// One size of a collective.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveFigures {
    /// Its name.
    pub name: String,
    /// How it was done.
    pub algorithm: String,
    /// Ranks that took part.
    pub ranks: u32,
    /// Its size, as nccl-tests counts it.
    pub bytes: u64,
    /// Whether it came to its end.
    pub finished: bool,
    /// How long it took.
    pub time_us: f64,
    /// Its bus bandwidth, in bytes per second.
    pub busbw: f64,
    /// What the same program takes without a network's troubles.
    pub ideal_us: f64,
    /// Its bus bandwidth then.
    pub ideal_busbw: f64,
}

/// A training step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingFigures {
    /// Its name.
    pub name: String,
    /// GPUs that took part.
    pub ranks: u32,
    /// Whether it came to its end.
    pub finished: bool,
    /// How long it took.
    pub time_us: f64,
    /// How long a GPU computes of it, on average.
    pub compute_us: f64,
    /// The share of the time in which a GPU does not compute.
    pub idle: f64,
    /// Model FLOPs utilisation.
    pub mfu: f64,
    /// What the same program takes without a network's troubles.
    pub ideal_us: f64,
    /// The share of that in which a GPU does not compute.
    pub ideal_idle: f64,
}

/// Traffic of one owner beside that of others, and alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnerFigures {
    /// Its name.
    pub name: String,
    /// With all others.
    pub together: OwnerTimes,
    /// By itself, with the same paths and draws.
    pub alone: OwnerTimes,
}

/// What flows, requests or runs took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnerTimes {
    /// How many there were.
    pub begun: u64,
    /// How many came to their end.
    pub finished: u64,
    /// From the first beginning to the last end.
    pub whole_us: f64,
    /// What each took.
    pub each_us: Distribution,
    /// 95 % of them took at most this: of the hundred or so that an experiment has, the slowest is no figure of the fabric.
    pub p95_us: f64,
}

impl OwnerTimes {
    /// Whether all came to their end.
    pub fn is_complete(&self) -> bool {
        self.begun > 0 && self.finished == self.begun
    }
}

/// What ports and queue pairs counted together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Pause frames that stop a class.
    pub xoff: u64,
    /// Time that ports spent paused, all together.
    pub paused_us: f64,
    /// Packets marked.
    pub marks: u64,
    /// Congestion notifications.
    pub cnps: u64,
    /// Packets of lossless classes dropped, other than on the wire.
    pub lossless_drops: u64,
    /// Packets of lossy classes dropped.
    pub lossy_drops: u64,
    /// Packets lost or damaged on cables.
    pub wire_drops: u64,
    /// Packets lost in links and switches that went down.
    pub fault_drops: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Packets that lost their payload to a full queue and went on.
    #[serde(default)]
    pub trimmed: u64,
    /// Packets that arrived with others missing before them.
    pub out_of_sequence: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Queues that a watchdog declared stuck.
    pub watchdog: u64,
}

/// Links of one tier in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TierFigures {
    /// Like `leaf→spine`.
    pub name: String,
    /// How many.
    pub links: u64,
    /// How many carried data.
    pub used: u64,
    /// What they carried together.
    pub bytes: u64,
    /// Mean share of the time that they sent.
    pub mean: f64,
    /// The same, of the busiest.
    pub max: f64,
    /// How unequal they are: 0 equal, towards 1 all on one.
    pub gini: f64,
    /// The busiest.
    pub busiest: String,
    /// The share of each link, thinned to a few hundred, in their order.
    pub shares: Vec<f64>,
}

/// A port where something happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PortFigures {
    /// Like `leaf0→spine1`.
    pub name: String,
    /// Pause frames it sent.
    pub xoff_sent: u64,
    /// Pause frames it obeyed.
    pub pauses_received: u64,
    /// Time it was paused.
    pub paused_us: f64,
    /// Packets marked.
    pub marked: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Longest egress queue of any class.
    pub deepest_bytes: u64,
    /// Share of the time that it sent.
    pub used: f64,
}

/// Load between two neighbours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairLoad {
    /// The lower one; of NICs their server.
    pub from: String,
    /// The upper one.
    pub to: String,
    /// Share of the time that the busiest cable sent, in either direction.
    pub load: f64,
}

/// A queue over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The port, like `leaf0→server0-nic0`.
    pub port: String,
    /// The class.
    pub class: u8,
    /// Where ECN starts to mark there.
    pub kmin: Option<u64>,
    /// Where every packet is marked.
    pub kmax: Option<u64>,
    /// Time and depth.
    pub points: Vec<Depth>,
}

/// What a NIC sent over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RateSeries {
    /// The NIC.
    pub nic: String,
    /// Time in microseconds and bits per second since the point before.
    pub points: Vec<(f64, f64)>,
}

/// A queue at a time: microseconds and bytes.
pub type Depth = (f64, u64);

/// A port that was paused from when to when.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PauseSpan {
    /// The port that could not send.
    pub port: String,
    /// The class.
    pub class: u8,
    /// From when.
    pub from_us: f64,
    /// To when.
    pub to_us: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_values_that_occurred() {
        let all = Curve::new((1..=1000).rev().map(f64::from).collect());
        assert_eq!(
            (all.of.mean, all.of.p50, all.of.p99, all.of.max),
            (500.5, 500.0, 990.0, 1000.0)
        );
        assert_eq!((all.points.len(), all.points[0]), (200, 5.0));
        assert_eq!(all.points.last(), Some(&1000.0));
        let one = Curve::new(vec![7.0]);
        assert_eq!((one.of.mean, one.of.p50, one.of.p99, one.of.max), (7.0, 7.0, 7.0, 7.0));
        assert_eq!(Curve::new(Vec::new()), Curve::default());
    }
}
