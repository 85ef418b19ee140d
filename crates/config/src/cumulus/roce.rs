//! What `nv set qos roce` stands for, mode by mode (NVIDIA's Cumulus Linux guide, RDMA over Converged
//! Ethernet, releases 5.0 to 5.19).

use crate::number::{Class, Dscp, Priorities, Priority, Queue};
use crate::place::{Place, Said};
use crate::qos::{Levels, Maps, QueueSettings, Wred};
use xoff_fabric::model::{Ecn, Scheduling};
use xoff_units::{Bytes, Length, Ratio};

/// Thresholds of marking that a traffic class has when nothing else is said.
pub(super) const USUAL_ECN: Ecn =
    Ecn { kmin: Bytes::new(150_000), kmax: Bytes::new(1_500_000), pmax: Ratio::ONE };

/// Cable length that RoCE mode sizes headroom for when nothing is said.
pub(super) const USUAL_CABLE: Length = Length::from_m(100);

/// A mode of RoCE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// With PFC and ECN, whatever pools its buffer is in.
    Lossless,
    /// With ECN alone.
    Lossy,
    /// With ECN and packet trimming, a queue for each class.
    LossyMultiTc,
    /// Class 3 with PFC inside a data center, class 4 with ECN between two.
    Dci1,
}

impl Mode {
    /// The mode of that name.
    pub(super) fn read(word: &str) -> Option<Self> {
        match word {
            "lossless" | "lossless-single-ipool" => Some(Mode::Lossless),
            "lossy" => Some(Mode::Lossy),
            "lossy-multi-tc" => Some(Mode::LossyMultiTc),
            "dci-1" => Some(Mode::Dci1),
            _ => None,
        }
    }

    /// The priorities it pauses.
    pub(super) fn pauses(self) -> Option<Priorities> {
        match self {
            Mode::Lossless | Mode::Dci1 => Priority::new(3).map(Priorities::only),
            Mode::Lossy | Mode::LossyMultiTc => None,
        }
    }

    /// Fills what is not said of the box's queues.
    pub(super) fn fill_queues(self, place: Place, maps: &mut Maps) {
        for (number, entry) in (0u8..).zip(&mut maps.class_to_queue) {
            if let (Said::Absent, Some(queue)) = (*entry, Queue::new(self.queue(number))) {
                *entry = Said::At(queue, place);
            }
        }
    }

    /// Fills what ports do not say of their classes.
    pub(super) fn fill_classes(self, place: Place, maps: &mut Maps) {
        if self == Mode::LossyMultiTc {
            for dscp in Dscp::all() {
                let entry = &mut maps.dscp_to_class[dscp.index()];
                if let (Said::Absent, Some(class)) = (*entry, Class::new(trimmed(dscp.get()))) {
                    *entry = Said::At(class, place);
                }
            }
        }
    }

    /// The queue of a class: all but data and notifications are in queue 0.
    fn queue(self, class: u8) -> u8 {
        match (self, class) {
            (Mode::LossyMultiTc, class) => class,
            (Mode::Dci1, 4) | (_, 3 | 6) => class,
            _ => 0,
        }
    }

    /// The queues of a port.
    pub(super) fn queues(self, place: Place) -> [QueueSettings; 8] {
        let shares: [u32; 8] = match self {
            Mode::Lossless | Mode::Lossy => [50, 0, 0, 50, 0, 0, 0, 0],
            Mode::Dci1 => [33, 0, 0, 33, 33, 0, 0, 0],
            Mode::LossyMultiTc => [4, 8, 18, 22, 22, 22, 4, 0],
        };
        let marked: &[usize] = if self == Mode::Dci1 { &[0, 3, 4] } else { &[0, 3] };
        let wred = Wred { levels: Levels::Sizes(USUAL_ECN), marks: true };
        let mut queues: [QueueSettings; 8] = std::array::from_fn(|queue| QueueSettings {
            scheduling: match shares[queue] {
                0 => Said::Absent,
                share => Said::At(Scheduling::Weighted(share), place),
            },
            wred: if marked.contains(&queue) { Said::At(wred, place) } else { Said::Absent },
        });
        if self != Mode::LossyMultiTc {
            queues[6].scheduling = Said::At(Scheduling::Strict, place);
        }
        queues
    }
}

/// The class of a DSCP where packets are trimmed.
const fn trimmed(dscp: u8) -> u8 {
    match dscp {
        1 | 2 => 1,
        3 | 4 => 2,
        5 | 6 => 3,
        11..=40 => 4,
        41..=50 => 5,
        _ => 0,
    }
}
