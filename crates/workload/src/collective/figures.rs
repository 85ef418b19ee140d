//! [`Figures`]: what nccl-tests would print.

use super::Collective;
use xoff_units::{Bytes, Span};

/// Time and bandwidths of a collective, as nccl-tests counts them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// From start to end.
    pub time: Span,
    /// Size over time, in bytes per second.
    pub algorithm_bandwidth: f64,
    /// What that asks of the slowest link if it is used as well as it can be: comparable between
    /// collectives and rank counts.
    pub bus_bandwidth: f64,
}

impl Figures {
    /// The figures of a collective of `size` over `ranks` that took `time`.
    pub fn new(collective: Collective, size: Bytes, ranks: u32, time: Span) -> Self {
        let seconds = time.as_s_f64();
        let algorithm_bandwidth = if seconds > 0.0 { size.get() as f64 / seconds } else { 0.0 };
        let bus_bandwidth = algorithm_bandwidth * bus_factor(collective, ranks);
        Self { time, algorithm_bandwidth, bus_bandwidth }
    }
}

/// The bus bandwidth over the algorithm's bandwidth (nccl-tests, PERFORMANCE.md).
fn bus_factor(collective: Collective, ranks: u32) -> f64 {
    let n = f64::from(ranks.max(1));
    match collective {
        Collective::AllReduce => 2.0 * (n - 1.0) / n,
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Gather { .. }
        | Collective::Scatter { .. } => (n - 1.0) / n,
        Collective::Broadcast { .. } | Collective::Reduce { .. } | Collective::SendRecv => 1.0,
    }
}
