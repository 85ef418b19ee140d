//! What may be wrong.

/// What may be wrong. The order is that of explanation: what comes first causes what comes later, not the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// All links of a switch are or were down.
    SwitchDown,
    /// All links of a server are or were down.
    ServerDown,
    /// A link went down again and again.
    LinkFlaps,
    /// A link is or was down.
    LinkDown,
    /// A link damages packets.
    BadOptic,
    /// A link swallows packets, though its carrier is up.
    BlackHole,
    /// A link runs at less than its rate.
    SlowLink,
    /// Cables are in other ports than the plan says.
    Miscabled,
    /// Queues wait for each other in a ring.
    Deadlock,
    /// A NIC pauses its link without end.
    PauseStorm,
    /// A NIC takes less than its link brings: its host, its PCIe or its memory is slow.
    SlowReceiver,
    /// PFC is off at a port for a priority that it protects elsewhere.
    PfcOff,
    /// Headroom is too small for the cable.
    HeadroomTooSmall,
    /// Marking is off, or begins too late.
    EcnOff,
    /// Marking begins too early.
    EcnTooEarly,
    /// Frames are longer than a port lets through.
    MtuTooSmall,
    /// RDMA travels in another class than it should.
    WrongClass,
    /// A sender ignores congestion notifications.
    CongestionControlOff,
    /// A receiver does not notify senders of congestion.
    NotificationOff,
    /// A switch sends by other links than usual, though all are up.
    Routes,
    /// Traffic of another tenant fills what both share.
    NoisyTenant,
    /// Traffic of storage fills what it shares with the job.
    StorageBurst,
    /// Many senders send to one NIC at once.
    Incast,
    /// A switch uses some of its equal links much more than others.
    UnevenLinks,
    /// Links of a tier are full: the fabric is too narrow for what is sent.
    Oversubscribed,
    /// Packets are lost to full queues.
    Discards,
    /// A job is slower, and the network is as usual: a GPU, its host or the job itself.
    Straggler,
    /// NICs wait for answers, and nothing else is to be seen.
    Timeouts,
}

impl Cause {
    /// Whether a device is configured otherwise than planned: its configuration can say so.
    pub const fn is_a_setting(self) -> bool {
        matches!(
            self,
            Cause::PfcOff
                | Cause::HeadroomTooSmall
                | Cause::EcnOff
                | Cause::EcnTooEarly
                | Cause::MtuTooSmall
                | Cause::WrongClass
                | Cause::CongestionControlOff
                | Cause::NotificationOff
        )
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Cause::SwitchDown => "the switch is down",
            Cause::ServerDown => "the server is down",
            Cause::LinkFlaps => "the link flaps",
            Cause::LinkDown => "the link is down",
            Cause::BadOptic => "a bad optic or cable",
            Cause::BlackHole => "the link swallows packets",
            Cause::SlowLink => "the link runs below its rate",
            Cause::Miscabled => "cables are swapped",
            Cause::Deadlock => "queues wait for each other in a ring",
            Cause::PauseStorm => "a pause storm from this NIC",
            Cause::SlowReceiver => "the host takes less than its link brings",
            Cause::PfcOff => "PFC is off at this port",
            Cause::HeadroomTooSmall => "headroom is too small",
            Cause::EcnOff => "ECN marking is off or begins too late",
            Cause::EcnTooEarly => "ECN marking begins too early",
            Cause::MtuTooSmall => "frames are longer than the MTU",
            Cause::WrongClass => "RDMA travels in the wrong class",
            Cause::CongestionControlOff => "the sender ignores congestion notifications",
            Cause::NotificationOff => "the receiver sends no congestion notifications",
            Cause::Incast => "many senders send to one NIC",
            Cause::NoisyTenant => "another tenant's traffic fills a shared link",
            Cause::StorageBurst => "storage traffic fills a shared link",
            Cause::UnevenLinks => "traffic is spread unevenly over equal links",
            Cause::Routes => "routes lead around links that are up",
            Cause::Oversubscribed => "the links of this tier are full",
            Cause::Discards => "a queue was full",
            Cause::Straggler => "slower, and not because of the network",
            Cause::Timeouts => "NICs time out, and no counter says why",
        }
    }

    /// The word in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::SwitchDown => "switch-down",
            Cause::ServerDown => "server-down",
            Cause::LinkFlaps => "link-flaps",
            Cause::LinkDown => "link-down",
            Cause::BadOptic => "bad-optic",
            Cause::BlackHole => "black-hole",
            Cause::SlowLink => "slow-link",
            Cause::Miscabled => "miscabled",
            Cause::Deadlock => "deadlock",
            Cause::PauseStorm => "pause-storm",
            Cause::SlowReceiver => "slow-receiver",
            Cause::PfcOff => "pfc-off",
            Cause::HeadroomTooSmall => "headroom-too-small",
            Cause::EcnOff => "ecn-off",
            Cause::EcnTooEarly => "ecn-too-early",
            Cause::MtuTooSmall => "mtu-too-small",
            Cause::WrongClass => "wrong-class",
            Cause::CongestionControlOff => "congestion-control-off",
            Cause::NotificationOff => "notification-off",
            Cause::Incast => "incast",
            Cause::NoisyTenant => "noisy-tenant",
            Cause::StorageBurst => "storage-burst",
            Cause::UnevenLinks => "uneven-links",
            Cause::Routes => "routes",
            Cause::Oversubscribed => "oversubscribed",
            Cause::Discards => "discards",
            Cause::Straggler => "straggler",
            Cause::Timeouts => "timeouts",
        }
    }
}
