//! [`Drill`]: what breaks.

/// What breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drill {
    /// Nothing.
    Healthy,
    /// A spine, or the only switch, dies.
    SwitchDown,
    /// A link between switches, or of a NIC where there is none, goes down.
    LinkDown,
    /// It goes down again and again.
    LinkFlaps,
    /// A NIC's link damages packets.
    BadOptic,
    /// It swallows them.
    BlackHole,
    /// It runs at a fraction of its rate.
    SlowLink,
    /// A NIC pauses its link without end.
    PauseStorm,
    /// The same, and the switch's watchdog acts.
    Watchdog,
    /// A NIC takes less than its link brings.
    SlowReceiver,
    /// A switch's port does not pause a NIC that sends too much.
    PfcOff,
    /// It does, and has no room for what is on its way.
    HeadroomTooSmall,
    /// A leaf does not mark.
    EcnOff,
    /// A leaf marks short queues.
    EcnTooEarly,
    /// A NIC ignores congestion notifications.
    CongestionControlOff,
    /// A NIC sends none.
    NotificationOff,
    /// A NIC sends in a class that is not lossless.
    WrongClass,
    /// All send to one NIC.
    Incast,
    /// A leaf sends all by one of its links up.
    Routes,
    /// Queue pairs time out and go on.
    Timeouts,
    /// Queue pairs give up.
    QueuePairErrors,
    /// Steps take longer, and the network is as usual.
    Straggler,
    /// A switch's counters are no longer scraped.
    DeviceSilent,
    /// No counters are scraped any more.
    AllSilent,
}

impl Drill {
    /// All of them, what is healthy first.
    pub const ALL: [Drill; 24] = [
        Drill::Healthy,
        Drill::SwitchDown,
        Drill::LinkDown,
        Drill::LinkFlaps,
        Drill::BadOptic,
        Drill::BlackHole,
        Drill::SlowLink,
        Drill::PauseStorm,
        Drill::Watchdog,
        Drill::SlowReceiver,
        Drill::PfcOff,
        Drill::HeadroomTooSmall,
        Drill::EcnOff,
        Drill::EcnTooEarly,
        Drill::CongestionControlOff,
        Drill::NotificationOff,
        Drill::WrongClass,
        Drill::Incast,
        Drill::Routes,
        Drill::Timeouts,
        Drill::QueuePairErrors,
        Drill::Straggler,
        Drill::DeviceSilent,
        Drill::AllSilent,
    ];

    /// Its name in arguments and files, and in words.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Drill::Healthy => ("healthy", "nothing is wrong"),
            Drill::SwitchDown => ("switch-down", "a switch dies"),
            Drill::LinkDown => ("link-down", "a link goes down"),
            Drill::LinkFlaps => ("link-flaps", "a link goes down four times in three minutes"),
            Drill::BadOptic => ("bad-optic", "a NIC's link damages 1 % of packets"),
            Drill::BlackHole => ("black-hole", "a NIC's link swallows packets, its carrier up"),
            Drill::SlowLink => ("slow-link", "a NIC's link runs at a quarter of its rate"),
            Drill::PauseStorm => ("pause-storm", "a NIC pauses its link without end"),
            Drill::Watchdog => ("watchdog", "a pause storm that the switch's watchdog ends"),
            Drill::SlowReceiver => ("slow-receiver", "a host takes a tenth of its link's rate"),
            Drill::PfcOff => ("pfc-off", "PFC is off at a switch's port under an incast"),
            Drill::HeadroomTooSmall => {
                ("headroom-too-small", "a switch's port has no headroom under an incast")
            }
            Drill::EcnOff => ("ecn-off", "a leaf does not mark under an incast"),
            Drill::EcnTooEarly => ("ecn-too-early", "a leaf marks from 1 KB on"),
            Drill::CongestionControlOff => {
                ("congestion-control-off", "a sender of an incast ignores notifications")
            }
            Drill::NotificationOff => {
                ("notification-off", "the target of an incast sends no notifications")
            }
            Drill::WrongClass => ("wrong-class", "a NIC sends in a class that is not lossless"),
            Drill::Incast => ("incast", "all NICs send to one for minutes"),
            Drill::Routes => ("routes", "a leaf sends all by one of its links up"),
            Drill::Timeouts => ("timeouts", "queue pairs time out and go on trying"),
            Drill::QueuePairErrors => ("queue-pair-errors", "queue pairs give up"),
            Drill::Straggler => ("straggler", "GPUs compute at half the rate"),
            Drill::DeviceSilent => ("device-silent", "a switch's counters are no longer scraped"),
            Drill::AllSilent => ("all-silent", "no counters are scraped any more"),
        }
    }

    /// Its name in arguments and files.
    pub const fn name(self) -> &'static str {
        self.texts().0
    }

    /// What happens.
    pub const fn words(self) -> &'static str {
        self.texts().1
    }

    /// The drill of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|drill| drill.name() == name)
    }

    /// The alert that it fires.
    pub const fn alert(self) -> Option<&'static str> {
        Some(match self {
            Drill::Healthy => return None,
            Drill::SwitchDown => "XoffSwitchDown",
            Drill::LinkDown => "XoffLinkDown",
            Drill::LinkFlaps => "XoffLinkFlaps",
            Drill::BadOptic => "XoffDamagedPackets",
            Drill::BlackHole => "XoffBlackHole",
            Drill::SlowLink => "XoffSlowLink",
            Drill::PauseStorm => "XoffPauseStorm",
            Drill::Watchdog => "XoffWatchdog",
            Drill::SlowReceiver => "XoffNicPauses",
            Drill::PfcOff | Drill::HeadroomTooSmall => "XoffLosslessDrops",
            Drill::EcnOff => "XoffMarksMissing",
            Drill::EcnTooEarly => "XoffMarksEarly",
            Drill::CongestionControlOff => "XoffNotificationsIgnored",
            Drill::NotificationOff => "XoffNotificationsMissing",
            Drill::WrongClass => "XoffWrongClass",
            Drill::Incast => "XoffIncast",
            Drill::Routes => "XoffUnevenLinks",
            Drill::Timeouts => "XoffTimeouts",
            Drill::QueuePairErrors => "XoffQueuePairErrors",
            Drill::Straggler => "XoffTrainingDegraded",
            Drill::DeviceSilent => "XoffSeriesMissing",
            Drill::AllSilent => "XoffNoData",
        })
    }
}
