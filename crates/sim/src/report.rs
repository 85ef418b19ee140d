//! What a run reports: while it runs to its [`Observer`], and at its end as a [`Report`].

mod observer;

pub use observer::{LinkState, Observer, Progress, Sample, Scrape, Sent, Silent, Trace, TraceKind};

use crate::fluid::refusal::Refusal;
use xoff_fabric::model::{NicId, PortId};
use xoff_fabric::scenario::Fidelity;
use xoff_transport::Status;
use xoff_units::{Bytes, Instant, Rate, Span};
use xoff_workload::replay::{CallFigures, RankEnds};
use xoff_workload::service::Served;
use xoff_workload::training::CriticalPath;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All traffic is done.
    Completed,
    /// The scenario's duration is over.
    TimeUp,
    /// Queues wait for each other in a ring and no watchdog would break it.
    Deadlock,
    /// Traffic is left and nothing will ever happen again.
    Stalled,
    /// The observer wanted to stop.
    Interrupted,
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Drop {
    /// A lossless class ran out of headroom.
    Headroom,
    /// A lossy class used up its share of the buffer.
    IngressLimit,
    /// A lossy class's egress queue was too long.
    EgressLimit,
    /// The watchdog had declared the queue stuck.
    Watchdog,
    /// Lost or damaged on the cable.
    Wire,
    /// No route to its NIC.
    NoRoute,
    /// It went round in circles.
    Loop,
    /// It arrived at the wrong NIC.
    NotMine,
    /// The host's receive buffer was full.
    HostBuffer,
    /// The link was down, as a fault asked, or links that are left no way.
    LinkDown,
    /// It was in a switch that went down.
    NodeDown,
}

impl Drop {
    /// How many reasons there are.
    pub const COUNT: usize = 11;

    /// All reasons.
    pub const ALL: [Drop; Self::COUNT] = [
        Drop::Headroom,
        Drop::IngressLimit,
        Drop::EgressLimit,
        Drop::Watchdog,
        Drop::Wire,
        Drop::NoRoute,
        Drop::Loop,
        Drop::NotMine,
        Drop::HostBuffer,
        Drop::LinkDown,
        Drop::NodeDown,
    ];

    /// The word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Drop::Headroom => "headroom",
            Drop::IngressLimit => "ingress-limit",
            Drop::EgressLimit => "egress-limit",
            Drop::Watchdog => "watchdog",
            Drop::Wire => "wire",
            Drop::NoRoute => "no-route",
            Drop::Loop => "loop",
            Drop::NotMine => "not-mine",
            Drop::HostBuffer => "host-buffer",
            Drop::LinkDown => "link-down",
            Drop::NodeDown => "node-down",
        }
    }

    /// Whether there was no buffer for the packet, in a switch or a NIC.
    pub const fn is_full_buffer(self) -> bool {
        matches!(self, Drop::Headroom | Drop::IngressLimit | Drop::EgressLimit | Drop::HostBuffer)
    }

    /// Whether a lossless class must not lose packets for this reason. What a cable or something that
    /// broke on purpose takes is no failure of flow control; everything else is, also while
    /// something is broken.
    pub const fn breaks_lossless(self) -> bool {
        !matches!(self, Drop::Wire | Drop::LinkDown | Drop::NodeDown)
    }
}

/// Why a run that might have had several threads had one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OneThread {
    /// Traffic is no packets.
    #[error("flows share links, and all of them are looked at together")]
    Flows,
    /// Links have credits.
    #[error("switches with credits look into each other")]
    Credits,
    /// There are virtual output queues.
    #[error("virtual output queues look into each other")]
    Voqs,
    /// Switches notify senders.
    #[error("notifications by switches reach senders at once")]
    Notifications,
    /// Switches know the state of others.
    #[error("switches that balance globally look into each other")]
    GlobalBalancing,
    /// Every tier hashes in its own way, and jobs open queue pairs.
    #[error("switches with hash functions of their own look at queue pairs as jobs open them")]
    Hashing,
    /// There are no switches.
    #[error("there are no switches")]
    NoSwitches,
    /// Threads were not worth it.
    #[error("it ended too soon for others to join")]
    TooShort,
    /// Cables are too short, or what concerns all threads comes too often.
    #[error("threads would have met too often")]
    TooBusy,
}

/// What several threads did of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sections {
    /// How often they worked side by side.
    pub count: u64,
    /// How often they waited for each other.
    pub steps: u64,
    /// Events that they handled together.
    pub events: u64,
    /// Of these, what the thread with most handled in each step: with as many cores as threads nothing takes longer.
    pub critical: u64,
    /// Why none of this was done, where several threads were allowed.
    pub one: Option<OneThread>,
}

impl Sections {
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.steps += other.steps;
        self.events += other.events;
        self.critical += other.critical;
    }
}

/// What became of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowResult {
    /// When it started.
    pub start: Instant,
    /// When its initiator knew that it was done.
    pub end: Option<Instant>,
    /// How much it moved.
    pub bytes: Bytes,
    /// The time it would take on an idle fabric.
    pub ideal: Span,
    /// Why and when its queue pair failed, if it did.
    pub failure: Option<Failure>,
    /// What its queue pairs counted, both ends together.
    pub counters: FlowCounters,
}

impl FlowResult {
    /// Completion time.
    pub fn completion(&self) -> Option<Span> {
        self.end.map(|end| end - self.start)
    }
}

/// The end of a queue pair that gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// When.
    pub at: Instant,
    /// How its oldest work ended.
    pub status: Status,
    /// The NIC of the queue pair that failed.
    pub from: NicId,
    /// The NIC of its peer.
    pub to: NicId,
    /// Number of the queue pair within the run: packets to it carry this number.
    pub queue_pair: u32,
    /// How long its sender had been silent for: what its timeout and its retries add up to.
    pub after: Span,
}

/// What the queue pairs of a flow counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowCounters {
    /// Bytes of payload that arrived, each once and in its place.
    pub delivered: u64,
    /// Packets sent again.
    pub retransmitted: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Sequence errors reported.
    pub naks: u64,
    /// Packets that arrived with others missing before them.
    pub out_of_sequence: u64,
    /// Congestion notifications that reached the sender.
    pub cnps: u64,
    /// Times the rate or window was cut.
    pub rate_decreases: u64,
    /// Data packets that arrived marked.
    pub marked: u64,
}

/// What one class did at one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ClassResult {
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, from Ethernet header to FCS.
    pub tx_bytes: u64,
    /// The same with preamble and gap: what the packets took of the wire.
    pub wire_bytes: u64,
    /// Packets marked on their way out.
    pub marked: u64,
    /// Packets dropped here.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Of those packets, the ones for which there was no buffer.
    pub buffer_drops: u64,
    /// Pause frames sent that stop the class.
    pub xoff_sent: u64,
    /// Pause frames sent that let it go on.
    pub xon_sent: u64,
    /// Pause frames obeyed.
    pub pauses_received: u64,
    /// Time the class could not send because its peer had paused it.
    pub paused: Span,
    /// Longest egress queue.
    pub deepest_queue: Bytes,
    /// Most headroom used at ingress.
    pub deepest_headroom: Bytes,
}

impl ClassResult {
    /// Whether anything happened.
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

/// What one port counted beside its queues, each from its own source: what the counters of a switch or NIC
/// show of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortHealth {
    /// Times its link went down.
    pub link_downs: u64,
    /// Queues that its watchdog declared stuck.
    pub watchdog: u64,
    /// Packets dropped here, by reason. Those lost on the wire count where they were sent.
    pub dropped: [u64; Drop::COUNT],
    /// Packets that left here and did not arrive at the other end, for whatever reason.
    pub lost: u64,
    /// At NICs: timeouts of queue pairs that send by this port.
    pub timeouts: u64,
    /// At NICs: queue pairs that gave up.
    pub failures: u64,
    /// At NICs: packets sent again.
    pub retransmitted: u64,
    /// At NICs: packets that arrived with others missing before them.
    pub out_of_sequence: u64,
    /// At NICs: congestion notifications that reached the sender and were obeyed.
    pub cnps: u64,
    /// At NICs: congestion notifications that reached a sender without congestion control.
    pub cnps_ignored: u64,
    /// At NICs: congestion notifications sent.
    pub cnps_sent: u64,
    /// At NICs: packets that arrived marked.
    pub marked_received: u64,
    /// At NICs: packets that had arrived before.
    pub duplicates: u64,
    /// At NICs: "receiver not ready" received.
    pub not_ready: u64,
}

impl PortHealth {
    /// Packets dropped here for this reason.
    pub fn drops(&self, reason: Drop) -> u64 {
        self.dropped[reason as usize]
    }
}

/// What a run found.
#[derive(Debug, Clone)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// What was simulated of the traffic.
    pub fidelity: Fidelity,
    /// Why it is packets throughout, where `fast` was asked for.
    pub instead_of_fast: Option<Refusal>,
    /// What was not simulated, at the fidelity `fast`.
    pub shortcuts: Option<Shortcuts>,
    /// Simulated time.
    pub end: Instant,
    /// Events handled.
    pub events: u64,
    /// Packets sent over links.
    pub packet_hops: u64,
    /// Packets made, delivered and late (their flow had ended).
    pub packets: (u64, u64, u64),
    /// Most packets alive at once.
    pub most_packets: u64,
    /// What threads did side by side; all zero where there was one.
    pub sections: Sections,
    /// Congestion notifications delivered.
    pub cnps: u64,
    /// Congestion notifications that switches made.
    pub switch_cnps: u64,
    /// Packets that lost their payload to a full queue and went on.
    pub trimmed: u64,
    /// Flows in the order they were given.
    pub flows: Vec<FlowResult>,
    /// Jobs in the order they were given.
    pub jobs: Vec<JobResult>,
    /// By port, then class.
    pub ports: Vec<[ClassResult; 8]>,
    /// By port: what it counted beside its queues.
    pub health: Vec<PortHealth>,
    /// Packets dropped, by class and reason.
    pub dropped: [[u64; Drop::COUNT]; 8],
    /// Rings of queues that waited for each other.
    pub deadlocks: Vec<Cycle>,
    /// What became of thresholds that move, where they do.
    pub adaptation: Option<Adaptation>,
    /// A number that differs when anything in the result does.
    pub hash: u64,
}

impl Report {
    /// Bytes of the flows that ended, over the time from first start to last end.
    pub fn goodput(&self) -> Rate {
        let done = self.flows.iter().filter(|flow| flow.end.is_some());
        let bytes: Bytes = done.clone().map(|flow| flow.bytes).sum();
        let first = self.flows.iter().map(|flow| flow.start).min().unwrap_or(Instant::ZERO);
        let last = done.filter_map(|flow| flow.end).max().unwrap_or(first);
        Rate::of(bytes, last.since(first))
    }

    /// Packets of lossless classes that were dropped, other than on the wire or by a fault.
    pub fn lossless_drops(&self, lossless: &[bool; 8]) -> u64 {
        let classes = self.dropped.iter().zip(lossless).filter(|(_, lossless)| **lossless);
        let counts = Drop::ALL.into_iter().filter(|reason| reason.breaks_lossless());
        classes.flat_map(|(reasons, _)| counts.clone().map(|reason| reasons[reason as usize])).sum()
    }

    /// Pause frames sent that stop a class.
    pub fn xoff_frames(&self) -> u64 {
        self.ports.iter().flatten().map(|class| class.xoff_sent).sum()
    }

    /// Packets marked.
    pub fn marks(&self) -> u64 {
        self.ports.iter().flatten().map(|class| class.marked).sum()
    }
}

/// What a run at the fidelity `fast` simulated, and what it did not need to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shortcuts {
    /// Collectives and messages that crowded nothing, and took what they take on a network without queues.
    pub plain: u64,
    /// Episodes that were simulated packet by packet.
    pub simulated: u64,
    /// Episodes that were like one simulated before.
    pub remembered: u64,
    /// Packet-hops that were simulated.
    pub hops_simulated: u64,
}

/// What controllers did with thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adaptation {
    /// How often the thresholds of a queue changed.
    pub changes: u64,
    /// The lowest and the highest Kmin that one was given.
    pub kmin: Option<(Bytes, Bytes)>,
}

impl Adaptation {
    pub(crate) fn note(&mut self, kmin: Bytes) {
        self.changes += 1;
        let (lowest, highest) = self.kmin.unwrap_or((kmin, kmin));
        self.kmin = Some((lowest.min(kmin), highest.max(kmin)));
    }
}

/// A ring of queues: each waits for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// When it was found.
    pub at: Instant,
    /// Port and class of each queue.
    pub queues: Vec<(PortId, u8)>,
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobResult {
    /// Its programs, as far as they began.
    pub runs: Vec<JobRun>,
    /// Its requests in the order in which they began, if its programs have any.
    pub requests: Vec<JobRun>,
    /// Where the time of its training steps went, step by step.
    pub paths: Vec<CriticalPath>,
    /// What the collectives of a trace took, replay by replay.
    pub calls: Vec<Vec<CallFigures>>,
    /// When the ranks of a trace were done, replay by replay, since its start.
    pub ends: Vec<RankEnds>,
    /// What its requests took to their first token and for each other one, if it serves any: as many as `requests`.
    pub served: Vec<Served>,
    /// The end of the queue pair that ended it, if one did.
    pub failure: Option<Failure>,
    /// What it asked to be sent over the network.
    pub posted: Bytes,
    /// What its queue pairs counted.
    pub counters: FlowCounters,
    /// Runs that went on by another program because a switch died that added up for them: the number of each, from 1,
    /// and when the other program began.
    pub fallbacks: Vec<(u32, Instant)>,
}

/// One program of a job, or one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobRun {
    /// When it began.
    pub start: Instant,
    /// When it finished.
    pub end: Option<Instant>,
}

impl JobRun {
    /// How long it took.
    pub fn time(&self) -> Option<Span> {
        self.end.map(|end| end - self.start)
    }

    /// The mean time of those that finished; zero if none did.
    pub fn mean(runs: &[Self]) -> Span {
        let times: Vec<Span> = runs.iter().filter_map(Self::time).collect();
        let total: u64 = times.iter().map(|time| time.as_ps()).sum();
        Span::from_ps(total / times.len().max(1) as u64)
    }

    /// How many finished.
    pub fn finished(runs: &[Self]) -> u32 {
        runs.iter().filter(|run| run.end.is_some()).count() as u32
    }
}
