//! What a port does with packets: maps, queues, priority groups, watchdog. Ports that are configured
//! alike share these values.

use crate::number::{Class, Dscp, Group, Priority, Queue};
use crate::place::Said;
use xoff_fabric::model::{Ecn, Scheduling, Threshold, WatchdogAction};
use xoff_units::{Bytes, Ratio, Span};

/// What a port believes of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Its DSCP.
    Dscp,
    /// Its VLAN priority.
    Pcp,
    /// The VLAN priority of what is not IP, the DSCP of what is.
    Both,
    /// Nothing: everything is in the port's own class.
    Nothing,
}

impl Trust {
    /// Whether the class of an IP packet follows from its DSCP.
    pub const fn reads_dscp(self) -> bool {
        matches!(self, Trust::Dscp | Trust::Both)
    }

    /// The word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Trust::Dscp => "dscp",
            Trust::Pcp => "pcp",
            Trust::Both => "pcp and dscp",
            Trust::Nothing => "nothing",
        }
    }
}

/// From a packet's DSCP to the queue it waits in, the buffer it is charged to, and the pause that
/// protects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maps {
    /// Class of each DSCP.
    pub dscp_to_class: [Said<Class>; Dscp::COUNT],
    /// Egress queue of each class.
    pub class_to_queue: [Said<Queue>; Class::COUNT],
    /// Ingress priority group of each class.
    pub class_to_group: [Said<Group>; Class::COUNT],
    /// Queue that a received pause of each priority stops.
    pub pfc_to_queue: [Said<Queue>; Priority::COUNT],
    /// Priority group for which a pause of each priority is sent.
    pub pfc_to_group: [Said<Group>; Priority::COUNT],
}

impl Default for Maps {
    fn default() -> Self {
        Self {
            dscp_to_class: [Said::Absent; Dscp::COUNT],
            class_to_queue: [Said::Absent; Class::COUNT],
            class_to_group: [Said::Absent; Class::COUNT],
            pfc_to_queue: [Said::Absent; Priority::COUNT],
            pfc_to_group: [Said::Absent; Priority::COUNT],
        }
    }
}

impl Maps {
    /// What is not said of queues, groups and pauses has its own number by default: so most systems
    /// work.
    pub(crate) fn identity_by_default(&mut self) {
        fn fill<T: Copy>(map: &mut [Said<T>; 8], make: fn(u8) -> Option<T>) {
            for (number, entry) in (0u8..).zip(map.iter_mut()) {
                if let Some(value) = make(number) {
                    *entry = entry.or_default(value);
                }
            }
        }
        fill(&mut self.class_to_queue, Queue::new);
        fill(&mut self.class_to_group, Group::new);
        fill(&mut self.pfc_to_queue, Queue::new);
        fill(&mut self.pfc_to_group, Group::new);
    }

    /// Systems that map neither groups nor pauses: both have the number of the class.
    pub(crate) fn number_by_class(&mut self) {
        self.class_to_group = [Said::Absent; 8];
        self.pfc_to_queue = [Said::Absent; 8];
        self.pfc_to_group = [Said::Absent; 8];
        self.identity_by_default();
    }

    /// The same, where a pause stops the queue that its class waits in.
    pub(crate) fn pause_by_class(&mut self) {
        self.number_by_class();
        for (pause, queue) in self.pfc_to_queue.iter_mut().zip(self.class_to_queue) {
            if let Some(queue) = queue.get() {
                *pause = Said::Default(queue);
            }
        }
    }

    /// Puts what no entry says into class 0: so most systems work.
    pub(crate) fn unmatched_in_class_0(&mut self) {
        let zero = Class::all().next();
        for entry in &mut self.dscp_to_class {
            if let Some(zero) = zero {
                *entry = entry.or_default(zero);
            }
        }
    }

    /// DSCPs that are said to be of a class.
    pub(crate) fn dscps_of(&self, class: Class) -> Vec<usize> {
        let numbered = self.dscp_to_class.iter().enumerate();
        numbered.filter(|(_, to)| to.said() == Some(&class)).map(|(dscp, _)| dscp).collect()
    }

    /// Queue of a DSCP.
    pub fn queue_of(&self, dscp: Dscp) -> Option<Queue> {
        let class = self.dscp_to_class[dscp.index()].get()?;
        self.class_to_queue[class.index()].get()
    }

    /// Priority group of a DSCP.
    pub fn group_of(&self, dscp: Dscp) -> Option<Group> {
        let class = self.dscp_to_class[dscp.index()].get()?;
        self.class_to_group[class.index()].get()
    }
}

/// An egress queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueSettings {
    /// Its turn at the wire. A weight is a share in percent.
    pub scheduling: Said<Scheduling>,
    /// Random early detection.
    pub wred: Said<Wred>,
}

impl QueueSettings {
    /// Whether anything is said of it.
    pub fn is_said(&self) -> bool {
        self.scheduling.is_said() || self.wred.is_said()
    }
}

/// Random early detection of a queue: marking, or dropping where marking was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wred {
    /// Where it acts.
    pub levels: Levels,
    /// Whether it marks packets that allow it. Otherwise it drops them.
    pub marks: bool,
}

/// Thresholds of random early detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Levels {
    /// As queue lengths.
    Sizes(Ecn),
    /// As shares of the queue's own limit, which only the device knows.
    Fill {
        /// Fill at which marking starts.
        min: Ratio,
        /// Fill above which every packet is marked.
        max: Ratio,
        /// Probability just below `max`.
        pmax: Ratio,
    },
    /// As numbers in a unit that is not known: they can be compared with those of other ports only.
    Counts {
        /// Where it starts to act.
        min: u64,
        /// Where it acts on every packet.
        max: u64,
        /// Probability just below `max`.
        pmax: Ratio,
    },
}

impl Levels {
    /// The thresholds as sizes, for a queue that may hold `limit`.
    pub fn sizes(self, limit: Option<Bytes>) -> Option<Ecn> {
        match self {
            Levels::Sizes(ecn) => Some(ecn),
            Levels::Fill { min, max, pmax } => limit.map(|limit| Ecn {
                kmin: Bytes::new(min.of(limit.get())),
                kmax: Bytes::new(max.of(limit.get())),
                pmax,
            }),
            Levels::Counts { .. } => None,
        }
    }
}

/// An ingress priority group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GroupSettings {
    /// Buffer of its own.
    pub reserved: Said<Bytes>,
    /// When it pauses.
    pub threshold: Said<Threshold>,
    /// How far below it resumes.
    pub xon_offset: Said<Bytes>,
    /// Buffer for what arrives after a pause.
    pub headroom: Said<Bytes>,
}

impl GroupSettings {
    /// Whether nothing is said of it.
    pub fn is_absent(&self) -> bool {
        *self == Self::default()
    }
}

/// The PFC watchdog of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchdogSettings {
    /// Whether it watches.
    pub on: Said<bool>,
    /// A queue paused this long is stuck.
    pub detect: Said<Span>,
    /// After this long without pauses it is lossless again.
    pub restore: Said<Span>,
    /// What happens to a stuck queue.
    pub reaction: Said<Reaction>,
}

/// What a watchdog does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Frees the queue.
    Act(WatchdogAction),
    /// Only raises an alert.
    Alert,
}

impl Reaction {
    /// The word for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Reaction::Act(WatchdogAction::Drop) => "drop",
            Reaction::Act(WatchdogAction::Forward) => "forward",
            Reaction::Alert => "alert",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dscp_finds_its_queue_through_both_maps() {
        let mut maps = Maps::default();
        let dscp = Dscp::new(26).unwrap();
        assert_eq!(maps.queue_of(dscp), None);
        maps.dscp_to_class[26] = Said::meant(Class::new(3).unwrap());
        maps.identity_by_default();
        assert_eq!(maps.queue_of(dscp), Queue::new(3));
        maps.class_to_queue[3] = Said::meant(Queue::new(5).unwrap());
        assert_eq!(maps.queue_of(dscp), Queue::new(5));
        assert_eq!(maps.group_of(dscp), Group::new(3));
    }

    #[test]
    fn fill_needs_a_limit() {
        let half = Levels::Fill { min: Ratio::new(1, 2), max: Ratio::ONE, pmax: Ratio::ONE };
        assert_eq!(half.sizes(None), None);
        assert_eq!(half.sizes(Some(Bytes::new(1000))).unwrap().kmin, Bytes::new(500));
    }
}
