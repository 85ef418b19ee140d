//! Thresholds that a controller on each switch moves while traffic runs.

use xoff_units::{Ratio, Span};

/// The controller of every switch: an agent beside the chip. Every interval it reads the counters of each port and class that
/// marks, decides, and its new thresholds are in force some time later. It moves in steps of half an octave from the
/// static thresholds, never beyond its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adaptive {
    /// Between two readings.
    pub interval: Span,
    /// From a reading until new thresholds are in force, whatever the number of ports.
    pub delay: Span,
    /// The same, for every port and class that marks.
    pub cost: Span,
    /// The lowest thresholds, as a share of the static ones. At most 1.
    pub lowest: Ratio,
    /// The highest. At least 1.
    pub highest: Ratio,
    /// How it decides.
    pub policy: Policy,
}

/// The constants by which a controller decides, which can be learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The share of its rate that a queue with marks is to send.
    pub utilisation: Ratio,
    /// Marks, as a share of packets, that tell of many senders.
    pub marks: Ratio,
    /// Steps up where few marks slow senders down more than the link asks for.
    pub up: u8,
    /// Steps down where the link is full.
    pub down: u8,
    /// Steps down where every packet gets a mark and the queue stays long.
    pub overload: u8,
    /// Readings with marks before a step down; after a step up they double each time.
    pub hold: u8,
    /// Readings without a mark after which thresholds return to the static ones.
    pub quiet: u8,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            utilisation: Ratio::new(95, 100),
            marks: Ratio::new(5, 100),
            up: 1,
            down: 1,
            overload: 2,
            hold: 8,
            quiet: 2,
        }
    }
}
