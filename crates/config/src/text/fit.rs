//! Steps and ranges that systems put on values.

use crate::device::{Balancing, Device, Port};
use crate::number::Priority;
use crate::place::{Place, Said};
use crate::qos::{GroupSettings, Levels, QueueSettings, WatchdogSettings};
use std::sync::Arc;
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::{Bytes, Ratio, Span};

/// A probability in whole percent, at least one.
pub(crate) fn percent(ratio: Ratio) -> u64 {
    let scaled = u128::from(ratio.numerator()) * 100 + u128::from(ratio.denominator()) / 2;
    u64::try_from(scaled / u128::from(ratio.denominator())).unwrap_or(100).clamp(1, 100)
}

/// The power of two at or below `alpha`, as an exponent between `low` and `high`.
pub(crate) fn exponent(alpha: Ratio, low: i32, high: i32) -> i32 {
    let fits = |exponent: i32| power(exponent) <= alpha;
    (low..=high).rev().find(|exponent| fits(*exponent)).unwrap_or(low)
}

/// Two to the power of `exponent`.
pub(crate) fn power(exponent: i32) -> Ratio {
    let size = 1u64 << exponent.unsigned_abs().min(63);
    if exponent < 0 { Ratio::new(1, size) } else { Ratio::new(size, 1) }
}

/// A time in whole milliseconds, within a range.
pub(crate) fn millis(span: Span, low: u64, high: u64) -> u64 {
    const PS: u64 = 1_000_000_000;
    (span.as_ps() / PS).clamp(low, high)
}

/// Changes all queues of all ports.
pub(crate) fn queues(device: &mut Device, change: impl Fn(&mut QueueSettings)) {
    for port in device.ports.values_mut() {
        Arc::make_mut(&mut port.queues).iter_mut().for_each(&change);
    }
}

/// Changes all priority groups of all ports.
pub(crate) fn groups(device: &mut Device, change: impl Fn(&mut GroupSettings)) {
    for port in device.ports.values_mut() {
        Arc::make_mut(&mut port.groups).iter_mut().for_each(&change);
    }
}

/// Marking probability in whole percent.
pub(crate) fn whole_percent(queue: &mut QueueSettings) {
    queue.wred = queue.wred.map(|mut wred| {
        if let Levels::Sizes(ecn) = &mut wred.levels {
            ecn.pmax = Ratio::new(percent(ecn.pmax), 100);
        }
        wred
    });
}

/// Dynamic thresholds as powers of two.
pub(crate) fn power_of_two(group: &mut GroupSettings, low: i32, high: i32) {
    group.threshold = group.threshold.map(|threshold| match threshold {
        Threshold::Dynamic(alpha) => Threshold::Dynamic(power(exponent(alpha, low, high))),
        other => other,
    });
}

/// What most systems size themselves: the shared buffer and the pool of headroom.
pub(crate) fn own_buffers(device: &mut Device) {
    device.shared_buffer = Said::Absent;
    device.headroom_pool = Said::Absent;
}

/// Groups, cable, watchdog and balancing of all ports as the box has them: for systems of which no
/// verified statement about them is known. True if a watchdog was wanted.
pub(crate) fn bare_ports(device: &mut Device) -> bool {
    let mut watched = false;
    for port in device.ports.values_mut() {
        port.groups = Arc::new([GroupSettings::default(); 8]);
        port.cable = Said::Absent;
        watched |= port.watchdog.on.get() == Some(true);
        port.watchdog = WatchdogSettings::default();
        port.balancing = Said::Absent;
    }
    watched
}

/// Flows are spread by their hash; `otherwise` is said where something else was wanted.
pub(crate) fn hash_only(device: &mut Device, otherwise: &str, limits: &mut Vec<String>) {
    if device.balancing.get().is_some_and(|balancing| balancing != Balancing::Hash) {
        limits.push(otherwise.to_owned());
    }
    device.balancing = Said::Default(Balancing::Hash);
}

/// Flows are spread by their hash unless something else is said.
pub(crate) fn hash_by_default(device: &mut Device) {
    if device.balancing.get().is_none_or(|balancing| balancing == Balancing::Hash) {
        device.balancing = Said::Default(Balancing::Hash);
    }
}

/// A watchdog that is only on or off. True if times of it were wanted.
pub(crate) fn untimed_watchdogs(device: &mut Device) -> bool {
    let mut timed = false;
    for port in device.ports.values_mut() {
        timed |= port.watchdog.detect.is_said();
        port.watchdog = WatchdogSettings { on: port.watchdog.on, ..Default::default() };
    }
    timed
}

/// A packet size within what a system allows.
pub(crate) fn mtu_at_most(device: &mut Device, most: Bytes, limits: &mut Vec<String>) {
    let mut cut = false;
    for port in device.ports.values_mut() {
        port.mtu = port.mtu.map(|mtu| {
            cut |= mtu > most;
            mtu.min(most)
        });
    }
    if cut {
        limits.push(format!("an MTU of more than {} cannot be set", most.get()));
    }
}

/// Strict queues of a port as it is meant, where a queue that takes turns must not stand above them.
pub(crate) enum Top {
    /// Nothing that takes turns is above a strict queue.
    Fine,
    /// From this queue on all are strict, or take turns and do without: they have the least share, mark nothing and pause
    /// nothing.
    Idle(usize),
    /// A queue that is needed takes turns above a strict one.
    Needed,
}

/// What stands above the strict queues of a port. What devices have is left as it is: only an intent is looked at.
pub(crate) fn top_of(port: &Port) -> Top {
    let turns = port.queues.map(|queue| match queue.scheduling {
        Said::At(turn, place) if place == Place::INTENT => Some(turn),
        _ => None,
    });
    let is_strict = |queue: &usize| turns[*queue] == Some(Scheduling::Strict);
    let weight = |queue: usize| match turns[queue] {
        Some(Scheduling::Weighted(weight)) => Some(weight),
        _ => None,
    };
    let Some(lowest) = (0..8).find(is_strict) else { return Top::Fine };
    let least = (0..8).filter_map(weight).min();
    let idle = |queue: usize| {
        let pauses = Priority::new(queue as u8).zip(port.pfc.get());
        weight(queue) == least
            && !port.queues[queue].wred.is_said()
            && !pauses.is_some_and(|(priority, set)| set.has(priority))
    };
    let above = || (lowest..8).filter(|queue| weight(*queue).is_some());
    match above().count() {
        0 => Top::Fine,
        _ if above().all(idle) => Top::Idle(lowest),
        _ => Top::Needed,
    }
}

/// Weights as whole percentages that add up to 100, in proportion, none of them zero.
pub(crate) fn shares(turns: &mut [Option<Scheduling>; 8]) {
    shares_of(turns, 100);
}

/// Weights that add up to `sum`, in proportion, none of them zero. As they are, if there are more of them than that.
pub(crate) fn shares_of(turns: &mut [Option<Scheduling>; 8], sum: u32) {
    let sum = u128::from(sum);
    let weights: [u128; 8] = turns.map(|turn| match turn {
        Some(Scheduling::Weighted(weight)) => u128::from(weight).max(1),
        _ => 0,
    });
    let total: u128 = weights.iter().sum();
    let weighted = weights.iter().filter(|weight| **weight > 0).count();
    if total == 0 || sum < weighted as u128 {
        return;
    }
    let exact = |index: usize| weights[index] * sum;
    let mut shares: [u128; 8] = std::array::from_fn(|index| match weights[index] {
        0 => 0,
        _ => (exact(index) / total).max(1),
    });
    // What rounding took goes to those that lost most; what the least share of one took
    // comes from the largest.
    while shares.iter().sum::<u128>() < sum {
        let lost = |index: &usize| exact(*index) as i128 - (shares[*index] * total) as i128;
        let weighted = (0..8).rev().filter(|index| weights[*index] > 0);
        let Some(most) = weighted.max_by_key(lost) else { break };
        shares[most] += 1;
    }
    while shares.iter().sum::<u128>() > sum {
        let Some(largest) = (0..8).max_by_key(|index| shares[*index]) else { break };
        shares[largest] -= 1;
    }
    assert_eq!(shares.iter().sum::<u128>(), sum, "shares of {weights:?} do not add up");
    for (turn, share) in turns.iter_mut().zip(shares) {
        if let Some(Scheduling::Weighted(weight)) = turn {
            *weight = share as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alphas_become_powers_of_two() {
        assert_eq!(exponent(Ratio::new(1, 8), -8, 7), -3);
        assert_eq!(exponent(Ratio::new(1, 5), -8, 7), -3);
        assert_eq!(exponent(Ratio::new(9, 1), -8, 7), 3);
        assert_eq!(exponent(Ratio::new(1, 1000), -8, 7), -8);
        assert_eq!(power(-3), Ratio::new(1, 8));
    }

    #[test]
    fn percentages() {
        assert_eq!(percent(Ratio::new(1, 5)), 20);
        assert_eq!(percent(Ratio::new(1, 1000)), 1);
        assert_eq!(percent(Ratio::new(7, 1)), 100);
    }

    #[test]
    fn equal_weights_get_equal_shares() {
        let weights = [50, 1, 1, 50, 1, 1, 0, 1];
        let mut turns = weights.map(|w| Some(Scheduling::Weighted(w)).filter(|_| w > 0));
        shares(&mut turns);
        let shares = turns.map(|turn| match turn {
            Some(Scheduling::Weighted(share)) => share,
            _ => 0,
        });
        assert_eq!(shares, [48, 1, 1, 47, 1, 1, 0, 1]);
    }

    proptest! {
        #[test]
        fn shares_add_up(weights in prop::array::uniform8(prop::option::of(0u32..100_000))) {
            let mut turns = weights.map(|w| w.map(Scheduling::Weighted));
            shares(&mut turns);
            let sum: u32 = turns.iter().map(|turn| match turn {
                Some(Scheduling::Weighted(share)) => { assert!(*share > 0); *share }
                _ => 0,
            }).sum();
            prop_assert!(sum == 100 || weights.iter().all(Option::is_none));
        }
    }
}
