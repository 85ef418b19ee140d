//! How a switch chooses among equal paths.

use xoff_units::Span;

/// How flows are spread over equal paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcmpHash {
    /// What goes into the hash.
    pub fields: HashFields,
    /// Seed of this switch. Equal seeds along a path polarise.
    pub seed: u32,
}

/// What goes into the ECMP hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashFields {
    /// Source and destination address.
    pub addresses: bool,
    /// UDP source port (RoCEv2's entropy; the destination port is always 4791).
    pub source_port: bool,
    /// Destination queue pair.
    pub dest_qp: bool,
}

/// How a switch chooses among ports that lead equally near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Balancing {
    /// By the hash of the flow, which always takes the same port (ECMP).
    #[default]
    Hash,
    /// By the hash of the flow, and a controller that knows all flows gives them source ports by which
    /// they take the paths that it wants (centralised traffic engineering).
    Engineered,
    /// By the hash of the packet, to which its sender gives an entropy of its own: one that came back
    /// unmarked before, or a drawn one (spraying with recycled entropy).
    Recycled,
    /// By the hash of the packet, to which its sender gives one entropy of a set in turn, leaving out those that
    /// came back marked or trimmed (as in Ultra Ethernet).
    Paths,
    /// By where the destination is attached to its leaf: what is for the first NIC takes the first port,
    /// whichever NIC sends it (static path pinning).
    Pinned,
    /// A flow keeps its port while its packets follow each other closely. After a pause of `gap` the
    /// next packet may take another; with a gap of zero every packet may.
    Adaptive {
        /// What decides then.
        choice: Choice,
        /// The pause after which packets sent before cannot be overtaken any more.
        gap: Span,
        /// Entries of the table that remembers flows by their hash.
        table: u32,
    },
}

impl Balancing {
    /// Whether the hash of a packet decides.
    pub const fn hashes(self) -> bool {
        matches!(
            self,
            Balancing::Hash | Balancing::Engineered | Balancing::Recycled | Balancing::Paths
        )
    }

    /// Whether all packets of a flow take the port that its hash says.
    pub const fn keeps_paths(self) -> bool {
        matches!(self, Balancing::Hash | Balancing::Engineered)
    }

    /// Whether packets of one flow can overtake each other on a healthy fabric.
    pub const fn reorders(self) -> bool {
        match self {
            Balancing::Hash | Balancing::Engineered | Balancing::Pinned => false,
            Balancing::Recycled | Balancing::Paths => true,
            Balancing::Adaptive { gap, .. } => gap.is_zero(),
        }
    }
}

/// What decides among equal ports, where it is not the hash of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A draw (flowlet switching, packet spraying).
    Random,
    /// The shortest queue, then the least used link (dynamic load balancing).
    Local,
    /// The same, and what waits beyond the next switch counts, too (global load balancing).
    Global {
        /// How often switches report the quality of their ports to their neighbours; zero is at once.
        refresh: Span,
    },
}
