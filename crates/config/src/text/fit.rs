//! Steps and ranges that systems put on values.

use crate::device::Device;
use crate::qos::{GroupSettings, Levels, QueueSettings};
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

/// Weights as whole percentages that add up to 100, in proportion, none of them zero.
pub(crate) fn shares(turns: &mut [Option<Scheduling>; 8]) {
    let weight = |turn: &Option<Scheduling>| match turn {
        Some(Scheduling::Weighted(weight)) => Some(u64::from(*weight).max(1)),
        _ => None,
    };
    let total: u64 = turns.iter().filter_map(weight).sum();
    let weighted = turns.iter().filter_map(weight).count() as u64;
    if weighted == 0 {
        return;
    }
    // Everyone gets one percent, and the rest in proportion; what rounding leaves over goes to the
    // heaviest, which notices it least.
    let rest = 100 - weighted;
    let mut given = 0;
    let mut heaviest: Option<(u64, usize)> = None;
    for (index, turn) in turns.iter_mut().enumerate() {
        let Some(own) = weight(turn) else { continue };
        let share = 1 + rest * own / total;
        given += share;
        if heaviest.is_none_or(|(most, _)| own > most) {
            heaviest = Some((own, index));
        }
        *turn = Some(Scheduling::Weighted(share as u32));
    }
    if let Some(Some(Scheduling::Weighted(share))) = heaviest.map(|(_, i)| &mut turns[i]) {
        *share += (100 - given) as u32;
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
