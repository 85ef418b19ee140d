//! Where is it broken? Answered from counters alone, by rules that know of no experiment.
//!
//! [`PortCounters`] are what an operator scrapes of a port, each counter from its own source; [`Inventory`] is the
//! cabling plan. [`diagnose`] ranks what may be the cause, each with a place: a device, a NIC, a server or a
//! link. It is given the counters of an interval and, where there are any, those of a usual one.
//!
//! What it is not: it knows no simulator, no scenario and no fault, and draws no conclusion from names.

mod counters;
mod inventory;
mod rules;

pub use counters::PortCounters;
pub use inventory::Inventory;
pub use rules::diagnose;

/// What may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// All links of a switch went down.
    SwitchDown,
    /// All links of a server went down.
    ServerDown,
    /// A NIC pauses its link without end.
    PauseStorm,
    /// A link went down.
    LinkDown,
    /// A link went down again and again.
    LinkFlaps,
    /// A link damages packets.
    Optic,
    /// A link swallows packets, though its carrier is up.
    BlackHole,
    /// A NIC takes less than its link brings.
    SlowReceiver,
    /// A switch uses some of its links up no longer, though they are up.
    Routes,
    /// A queue was full.
    Discards,
    /// NICs wait for answers, and nothing else is to be seen.
    Timeouts,
}

impl Cause {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::SwitchDown => "the switch was down",
            Cause::ServerDown => "the server was down",
            Cause::PauseStorm => "a pause storm from this NIC",
            Cause::LinkDown => "the link went down",
            Cause::LinkFlaps => "the link flaps",
            Cause::Optic => "a bad optic or cable",
            Cause::BlackHole => "the link swallows packets",
            Cause::SlowReceiver => "the host takes less than its link brings",
            Cause::Routes => "routes lead around links that are up",
            Cause::Discards => "a queue was full",
            Cause::Timeouts => "NICs time out",
        }
    }

    /// What to alert on, with the names of SONiC and ConnectX.
    pub const fn alert(self) -> &'static str {
        match self {
            Cause::SwitchDown | Cause::ServerDown | Cause::LinkDown => {
                "any link that goes down (link_down_events_phy, oper status)"
            }
            Cause::LinkFlaps => "a link that goes down twice in ten minutes (link_down_events_phy)",
            Cause::PauseStorm => {
                "any queue that the watchdog declares stuck (PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED), or \
                 a port paused for more than half of a minute (PFC_3_RX_PAUSE_DURATION)"
            }
            Cause::Optic => {
                "any FEC or CRC error after correction (rx_crc_errors_phy, FEC uncorrectable)"
            }
            Cause::BlackHole => "packets out at one end of a link and not in at the other",
            Cause::SlowReceiver => "pause frames from a NIC above its usual rate (PFC_3_RX_PKTS)",
            Cause::Routes => "links up of one switch whose shares of its traffic change",
            Cause::Discards => "any discard in a lossless queue (SAI_QUEUE_STAT_DROPPED_PACKETS)",
            Cause::Timeouts => "timeouts on any NIC (local_ack_timeout_err)",
        }
    }
}

/// A cause with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What.
    pub cause: Cause,
    /// Where: a device, a server, a NIC, or a link like `leaf0→spine1#2`.
    pub place: String,
    /// The counters that say so.
    pub evidence: String,
    /// How much of it there is, to order findings of one cause.
    pub weight: u64,
}
