//! NICs that trouble others: they pause their switch, send again, or wait in vain.

use super::first_of_each;
use crate::clean;
use xoff_diagnose::fabric::Scene;
use xoff_fabric::model::{NicId, PortId};
use xoff_telemetry::Metric;

/// NICs that are kept for each order.
const MOST: usize = 100;
/// A NIC that pauses its switch for a smaller share of every step is not worth a line.
const PAUSES: f64 = 0.0005;

/// A NIC that troubles others, or is troubled. What no series says is missing.
#[derive(Debug, Clone)]
pub struct Offender {
    /// Its name.
    pub name: String,
    /// The share of the worst step for which it paused its switch's port.
    pub pausing: Option<f64>,
    /// Packets that it sent again.
    pub retransmitted: Option<f64>,
    /// Times a queue pair waited for an acknowledgement in vain.
    pub timeouts: Option<f64>,
    /// Packets that arrived with others missing before them.
    pub out_of_sequence: Option<f64>,
    /// Congestion notifications that it sent.
    pub notified: Option<f64>,
}

/// By what NICs are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NicOrder {
    /// What pauses most, then what times out, then what sends again.
    #[default]
    Worst,
    /// Packets sent again.
    Retransmitted,
    /// Timeouts.
    Timeouts,
}

impl NicOrder {
    /// All of them, in the order of the key that changes them.
    pub const ALL: [NicOrder; 3] = [NicOrder::Worst, NicOrder::Retransmitted, NicOrder::Timeouts];

    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            NicOrder::Worst => "pauses",
            NicOrder::Retransmitted => "retransmitted",
            NicOrder::Timeouts => "timeouts",
        }
    }

    fn value(self, nic: &Offender) -> f64 {
        let known = |value: Option<f64>| value.unwrap_or(-1.0);
        match self {
            NicOrder::Retransmitted => known(nic.retransmitted),
            NicOrder::Timeouts => known(nic.timeouts),
            NicOrder::Worst => {
                // Below one each, so that the first that differs decides.
                let count = |value: Option<f64>| {
                    let value = value.unwrap_or(0.0);
                    value / (value + 1.0)
                };
                known(nic.pausing) * 100.0 + count(nic.timeouts) * 10.0 + count(nic.retransmitted)
            }
        }
    }

    /// The NICs in this order.
    pub fn sort(self, nics: &[Offender]) -> Vec<&Offender> {
        let mut sorted: Vec<&Offender> = nics.iter().collect();
        let by_value = |a: &&Offender, b: &&Offender| {
            self.value(b).total_cmp(&self.value(a)).then_with(|| a.name.cmp(&b.name))
        };
        sorted.sort_by(by_value);
        sorted
    }
}

/// NICs that pause, send again or time out; and how many of all have counters.
pub(super) fn offenders(scene: &Scene<'_>) -> (Vec<Offender>, (usize, usize)) {
    let all = scene.fabric.nics.len();
    let nics = (0..all as u32).map(NicId);
    let watched = nics.clone().filter(|nic| scene.is_watched(scene.fabric.nic_node(*nic))).count();
    let found: Vec<Offender> = nics.filter_map(|nic| offender(scene, nic)).collect();
    let values = NicOrder::ALL.map(|order| move |nic: &Offender| order.value(nic));
    let orders: Vec<&dyn Fn(&Offender) -> f64> = values.iter().map(|f| f as _).collect();
    let chosen = first_of_each(&found, MOST, &orders);
    (chosen.into_iter().map(|number| found[number].clone()).collect(), (watched, all))
}

fn offender(scene: &Scene<'_>, nic: NicId) -> Option<Offender> {
    let ports: Vec<PortId> = scene.fabric.node_ports(scene.fabric.nic_node(nic)).collect();
    let sum = |metric| {
        ports.iter().filter_map(|port| scene.sum(*port, metric)).reduce(|one, other| one + other)
    };
    let paused = ports.iter().filter_map(|port| scene.paused(scene.peer(*port)));
    let pausing = paused.reduce(f64::max);
    let (retransmitted, timeouts) = (sum(Metric::Retransmitted), sum(Metric::Timeouts));
    let some = |value: Option<f64>| value.is_some_and(|value| value > 0.5);
    let out_of_sequence = sum(Metric::OutOfSequence);
    let troubles = pausing.is_some_and(|share| share > PAUSES)
        || [retransmitted, timeouts, out_of_sequence].into_iter().any(some);
    let name = || clean(scene.fabric.node_name(scene.fabric.nic_node(nic)));
    troubles.then(|| Offender {
        name: name(),
        pausing,
        retransmitted,
        timeouts,
        out_of_sequence,
        notified: sum(Metric::CnpSent),
    })
}
