//! [`Scale`]: how long loads last and how much collectives move.
//!
//! Loads last as long in every fabric, so that a design is put to the same test at every number of GPUs.

use super::Choice;
use xoff_units::{Bytes, Span};

/// How much an experiment does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scale {
    /// How long a load lasts that all NICs send.
    pub(crate) load: Span,
    /// When such a load has settled that does not get what it is to get at once.
    pub(crate) steady: Span,
    /// How long a load lasts that a few NICs send: congestion control has settled by then.
    pub(crate) settled: Span,
    /// Draws of what a hash decides.
    pub(crate) draws: u32,
    /// What AllReduce, AllGather and ReduceScatter work on, for each NIC of a server.
    pub(crate) reduced: Bytes,
    /// Whether there is a ReduceScatter: it and an AllGather are the two halves of an AllReduce along a ring.
    pub(crate) scatters: bool,
    /// What AllToAll works on.
    pub(crate) exchanged: Bytes,
    /// Layers of the training step.
    pub(crate) layers: u32,
    /// Hidden size of its model. Computation, gradients and tokens that change servers all grow with it, so that a
    /// narrower model waits for the network for the same share of its time, and takes less to simulate.
    pub(crate) hidden: u32,
    /// Whether collectives whose packets would take most of the time are flows. An AllReduce always has packets: it shows what
    /// queues do to a collective.
    pub(crate) flows: bool,
}

/// Above so many NICs, packets are for what depends on queues.
const ALL_PACKETS: usize = 4_096;

impl Scale {
    /// What was chosen, for a fabric of so many NICs: beyond some hundreds collectives are smaller, and still of full
    /// chunks.
    pub(crate) fn of(choice: &Choice, nics: usize) -> Self {
        let mib = |number: u64| Bytes::new(number << 20);
        let exchanged = mib(match nics {
            ..=512 => 128,
            513..=2_048 => 64,
            2_049..=4_096 => 32,
            _ => 16,
        });
        let hidden = match nics {
            ..=1_024 => 4_096,
            1_025..=2_048 => 2_048,
            _ => 1_024,
        };
        if choice.quick {
            return Self {
                load: Span::from_us(500),
                steady: Span::from_us(1_500),
                settled: Span::from_ms(3),
                draws: 1,
                reduced: mib(16),
                scatters: false,
                exchanged,
                layers: 1,
                hidden,
                flows: nics > ALL_PACKETS,
            };
        }
        Self {
            load: Span::from_us(500),
            steady: Span::from_us(1_500),
            settled: Span::from_ms(3),
            // So many flows are a fair draw by themselves.
            draws: if nics > 2_048 { 1 } else { 3 },
            reduced: mib(match nics {
                ..=512 => 128,
                513..=2_048 => 64,
                _ => 16,
            }),
            scatters: nics <= 4_096,
            exchanged,
            layers: if nics > 2_048 { 1 } else { 2 },
            hidden,
            flows: nics > ALL_PACKETS,
        }
    }
}
