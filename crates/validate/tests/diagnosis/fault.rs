//! [`Fault`]: what breaks, and which answers are right.

use xoff_diagnose::fabric::Cause;

/// What breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Nothing,
    PauseStorm,
    SlowReceiver,
    LinkDown,
    HostLinkDown,
    Flap,
    SlowLink,
    BitErrors,
    BlackHole,
    SpineDown,
    LeafDown,
    ServerDown,
    RouteChange,
    PfcOff,
    EcnOff,
    EcnEarly,
    NoCongestionControl,
    Incast,
    LateRanks,
    Miscabled,
    ShortHeadroom,
    WrongClass,
    NoNotifications,
    NoisyTenant,
    StorageBurst,
}

impl Fault {
    /// The fault of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        Self::ALL[(seed / 2) as usize % Self::ALL.len()]
    }

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    pub(crate) const ALL: [Fault; 25] = [
        Fault::Nothing,
        Fault::PauseStorm,
        Fault::SlowReceiver,
        Fault::LinkDown,
        Fault::HostLinkDown,
        Fault::Flap,
        Fault::SlowLink,
        Fault::BitErrors,
        Fault::BlackHole,
        Fault::SpineDown,
        Fault::LeafDown,
        Fault::ServerDown,
        Fault::RouteChange,
        Fault::PfcOff,
        Fault::EcnOff,
        Fault::EcnEarly,
        Fault::NoCongestionControl,
        Fault::Incast,
        Fault::LateRanks,
        Fault::Miscabled,
        Fault::ShortHeadroom,
        Fault::WrongClass,
        Fault::NoNotifications,
        Fault::NoisyTenant,
        Fault::StorageBurst,
    ];

    pub(crate) fn is_fault(self) -> bool {
        self != Fault::Nothing
    }

    /// The answers that are right.
    pub(crate) fn causes(self) -> &'static [Cause] {
        match self {
            Fault::Nothing => &[],
            Fault::PauseStorm => &[Cause::PauseStorm],
            Fault::SlowReceiver => &[Cause::SlowReceiver],
            Fault::LinkDown | Fault::HostLinkDown => &[Cause::LinkDown],
            Fault::Flap => &[Cause::LinkFlaps],
            Fault::SlowLink => &[Cause::SlowLink],
            Fault::BitErrors => &[Cause::BadOptic],
            Fault::BlackHole => &[Cause::BlackHole],
            Fault::SpineDown | Fault::LeafDown => &[Cause::SwitchDown],
            Fault::ServerDown => &[Cause::ServerDown, Cause::LinkDown],
            Fault::RouteChange => &[Cause::Routes, Cause::UnevenLinks],
            Fault::PfcOff => &[Cause::PfcOff],
            Fault::EcnOff => &[Cause::EcnOff],
            Fault::EcnEarly => &[Cause::EcnTooEarly],
            Fault::NoCongestionControl => &[Cause::CongestionControlOff],
            Fault::Incast => &[Cause::Incast],
            Fault::LateRanks => &[Cause::Straggler],
            Fault::Miscabled => &[Cause::Miscabled],
            Fault::ShortHeadroom => &[Cause::HeadroomTooSmall],
            Fault::WrongClass => &[Cause::WrongClass],
            Fault::NoNotifications => &[Cause::NotificationOff],
            Fault::NoisyTenant => &[Cause::NoisyTenant],
            Fault::StorageBurst => &[Cause::StorageBurst],
        }
    }
}
