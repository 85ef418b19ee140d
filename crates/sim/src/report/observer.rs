//! What a run tells while it is under way, to its [`Observer`].

use super::{ClassResult, Drop, PortHealth};
use xoff_fabric::model::PortId;
use xoff_units::{Instant, Rate};

/// Something rare that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceKind {
    /// A port decided to pause its peer.
    Xoff,
    /// A port decided to let its peer go on.
    Xon,
    /// A port obeyed a pause.
    PauseStart,
    /// A pause ended.
    PauseEnd,
    /// A packet was dropped.
    Drop(Drop),
    /// A packet was lost on a cable.
    Loss,
    /// The watchdog declared a queue stuck.
    WatchdogDetect,
    /// The watchdog gave a queue back.
    WatchdogRestore,
    /// The queue is part of a deadlock.
    Deadlock,
    /// A queue pair heard nothing for too long.
    Timeout,
    /// A queue pair failed.
    QueuePairError,
    /// The fault of this number in the scenario has begun here.
    Fault(u32),
    /// It is over.
    FaultEnd(u32),
}

/// A [`TraceKind`] with its time and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// When.
    pub at: Instant,
    /// What.
    pub kind: TraceKind,
    /// Where.
    pub port: PortId,
    /// Which class.
    pub class: u8,
    /// Whose packet, if one was involved.
    pub flow: Option<u32>,
    /// Its size; of a pause or its end what the ingress holds.
    pub bytes: u32,
}

/// One queue at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Which port.
    pub port: PortId,
    /// Which class.
    pub class: u8,
    /// Bytes in the egress queue.
    pub queue: u32,
    /// Bytes this port took in and its switch still holds.
    pub ingress: u64,
    /// Whether the peer has paused the class.
    pub paused: bool,
    /// Bytes sent since the run began, from Ethernet header to FCS.
    pub tx_bytes: u64,
    /// The same with preamble and gap.
    pub wire_bytes: u64,
}

/// What a NIC has sent by an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// The NIC's port.
    pub port: PortId,
    /// Which class.
    pub class: u8,
    /// Bytes since the run began.
    pub bytes: u64,
}

/// All counters at one instant, as a collector that scrapes every device finds them.
#[derive(Debug, Clone, Copy)]
pub struct Scrape<'a> {
    /// When.
    pub at: Instant,
    /// By port, then class. Greatest lengths are those since the scrape before; all else adds up from the
    /// beginning of the run.
    pub ports: &'a [[ClassResult; 8]],
    /// By port: what it counted beside its queues.
    pub health: &'a [PortHealth],
    /// By port: its link.
    pub links: &'a [LinkState],
}

/// The link at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// Whether its carrier is up; a link that only swallows packets is.
    pub up: bool,
    /// The rate at which it runs.
    pub rate: Rate,
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Simulated time.
    pub now: Instant,
    /// Events handled.
    pub events: u64,
    /// Packets sent over links, a moment ago.
    pub packet_hops: u64,
    /// Flows that have ended.
    pub flows_finished: u64,
    /// Flows in all.
    pub flows: u64,
    /// Packets somewhere in the fabric.
    pub packets_alive: u64,
}

/// An observer of a run. Observing never changes what happens.
pub trait Observer: Send {
    /// Something rare happened.
    fn trace(&mut self, _trace: &Trace) {}

    /// A queue was sampled.
    fn sample(&mut self, _sample: &Sample) {}

    /// How much a NIC has sent by now, of a class in which it has: asked whenever queues are sampled.
    fn sent(&mut self, _sent: &Sent) {}

    /// Every counter was read.
    fn scrape(&mut self, _scrape: &Scrape<'_>) {}

    /// Called now and then; false stops the run.
    fn progress(&mut self, _progress: &Progress) -> bool {
        true
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
