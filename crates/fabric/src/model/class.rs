//! Traffic classes: buffer, pause, marking and scheduling.

use xoff_units::{Bytes, Ratio, Span};

/// A traffic class as the whole fabric sees it.
#[derive(Debug, Clone)]
pub struct Class {
    /// Its name in tables.
    pub name: String,
    /// Whether PFC protects it.
    pub lossless: bool,
    /// DSCP that the NICs write into packets of this class.
    pub dscp: u8,
}

/// One class at one port: buffer, pause, marking and scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortClass {
    /// Whether PFC (or credits) protects the class here: the port sends pauses for it, and obeys them.
    pub lossless: bool,
    /// Buffer that belongs to this port and class alone, at ingress.
    pub reserved: Bytes,
    /// When to pause (lossless) or drop (lossy), at ingress.
    pub threshold: Threshold,
    /// How far below the threshold the occupancy must fall to resume.
    pub xon_offset: Bytes,
    /// Buffer beyond the threshold for what is still on its way; zero on lossy classes.
    pub headroom: Bytes,
    /// Limit of the egress queue, for lossy classes; `None` never drops at egress.
    pub egress_limit: Option<Threshold>,
    /// ECN marking at egress.
    pub ecn: Option<Ecn>,
    /// Turn at egress.
    pub scheduling: Scheduling,
}

/// A limit on the use of shared buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// This share of what is still free: the dynamic threshold alpha.
    Dynamic(Ratio),
    /// A fixed size.
    Static(Bytes),
}

/// ECN marking: never below `kmin`, always above `kmax`, in between with a probability that grows
/// to `pmax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ecn {
    /// Queue length at which marking starts.
    pub kmin: Bytes,
    /// Queue length above which every packet is marked.
    pub kmax: Bytes,
    /// Probability just below `kmax`.
    pub pmax: Ratio,
}

/// When switches mark, and who notifies senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marking {
    /// A packet is marked when it joins its queue, on what waits before it; else when it leaves, on what is
    /// left.
    pub at_enqueue: bool,
    /// The switch notifies senders itself, each flow at most once in this time, instead of marking.
    pub notify: Option<Span>,
}

/// A class's turn at the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// Before all weighted classes; among strict ones the higher class first.
    Strict,
    /// A share in proportion to the weight.
    Weighted(u32),
}

/// How pause frames behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseRules {
    /// Whether PFC is on at all.
    pub enabled: bool,
    /// Bytes of a pause frame on the wire, with preamble and gap.
    pub frame: Bytes,
    /// Pause time in quanta of 512 bit times; `None` pauses until a resume.
    pub quanta: Option<u16>,
}
