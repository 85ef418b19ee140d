//! `[transport]` and `[credits]`.

use crate::network::Network;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_transport::config::QpConfig;
use xoff_units::Bytes;

/// The network that carries the traffic, and its queue pairs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct TransportSection {
    /// The network (default `roce`). The others bring settings of their own, in this table and elsewhere,
    /// which the file can change: see `docs/rivals.md`.
    pub kind: Network,
    /// Queue pairs of a connection between two ranks, used in turn, as NCCL_IB_QPS_PER_CONNECTION sets them
    /// (default 1). Collectives, training steps and key-value caches use them unless their workload gives `qps`;
    /// a flow of any other kind has one.
    #[schemars(range(min = 1, max = 128))]
    pub queue_pairs: Option<u32>,
    /// Queue pairs.
    #[serde(flatten)]
    pub qp: QpConfig,
}

/// Credit-based flow control of links, as InfiniBand has it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Credits {
    /// Whether a packet is only sent into a switch that has room for it. All classes are lossless then.
    pub enabled: bool,
    /// Buffer behind one port, for all classes; half of it belongs to the data class (default: what the
    /// switch has, divided by its ports).
    pub share: Option<Bytes>,
}
