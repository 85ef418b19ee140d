//! The shared buffer: where the dynamic threshold stands.

use crate::model::Threshold;
use xoff_units::{Bytes, Rate, Ratio};

/// Occupancy at which each of `queues` equally loaded ingress queues is paused.
///
/// With a dynamic threshold every queue may hold `alpha x (shared - used)`; when all of them stand
/// at it, `used = queues x T`, so `T = alpha x shared / (1 + queues x alpha)`.
pub fn xoff(threshold: Threshold, shared: Bytes, queues: u64) -> Bytes {
    match threshold {
        Threshold::Static(size) => size,
        Threshold::Dynamic(alpha) => {
            let (a, b) = (u128::from(alpha.numerator()), u128::from(alpha.denominator()));
            let crowd = b.saturating_add(a.saturating_mul(u128::from(queues)));
            let limit = (a * u128::from(shared.get())) / crowd.max(1);
            let fits =
                limit.checked_mul(queues.into()).is_some_and(|all| all <= shared.get().into());
            assert!(fits, "{queues} queues at their threshold exceed the shared {shared}");
            Bytes::new(u64::try_from(limit).unwrap_or(u64::MAX))
        }
    }
}

/// The fewest ingresses, of at most `most`, that together fill an egress queue beyond `length` before PFC
/// pauses them, and what each holds when it is paused: `n x (reserved + T(n)) > length`, with `T` of
/// [`xoff`]. None if not even `most` do.
///
/// ECN looks at an egress queue, which holds what several ingresses sent; XOFF looks at an ingress. So Kmin may
/// lie above XOFF, and marking still comes first where enough ingresses feed the queue.
pub fn ingresses_to_fill(
    length: Bytes,
    (reserved, threshold, shared): (Bytes, Threshold, Bytes),
    most: u64,
) -> Option<(u64, Bytes)> {
    let each = |ingresses| reserved + xoff(threshold, shared, ingresses);
    let fills = |ingresses: &u64| {
        u128::from(each(*ingresses).get()) * u128::from(*ingresses) > u128::from(length.get())
    };
    (1..=most).find(fills).map(|ingresses| (ingresses, each(ingresses)))
}

/// Alpha of a port whose rate lies above `reference`: doubled for every doubling, up to one. Slower
/// ports keep `alpha` (the rule of the ns-3 line).
pub(crate) fn alpha_at(alpha: Ratio, reference: Rate, rate: Rate) -> Ratio {
    let mut alpha = alpha;
    let mut rate = rate.bps();
    while rate > reference.bps() && alpha < Ratio::ONE {
        alpha = double(alpha);
        rate /= 2;
    }
    alpha
}

fn double(alpha: Ratio) -> Ratio {
    if alpha.denominator().is_multiple_of(2) {
        Ratio::new(alpha.numerator(), alpha.denominator() / 2)
    } else {
        Ratio::new(alpha.numerator().saturating_mul(2), alpha.denominator())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thresholds_of_one_and_of_many() {
        let eighth = Threshold::Dynamic(Ratio::new(1, 8));
        assert_eq!(xoff(eighth, Bytes::new(9_000), 1), Bytes::new(1_000));
        assert_eq!(xoff(eighth, Bytes::new(9_000), 64), Bytes::new(125));
        assert_eq!(xoff(Threshold::Static(Bytes::new(7)), Bytes::ZERO, 9), Bytes::new(7));
    }

    #[test]
    fn several_ingresses_fill_a_queue_that_one_does_not() {
        // 1/8 of what is free: one is paused at 1,000, two at 900 each, three at 818 each.
        let rules = (Bytes::ZERO, Threshold::Dynamic(Ratio::new(1, 8)), Bytes::new(9_000));
        let fill = |length, most| ingresses_to_fill(Bytes::new(length), rules, most);
        assert_eq!(fill(999, 64), Some((1, Bytes::new(1_000))));
        assert_eq!(fill(1_000, 64), Some((2, Bytes::new(900))));
        assert_eq!(fill(1_800, 64), Some((3, Bytes::new(818))));
        assert_eq!(fill(8_001, 64), None, "64 are paused at 125 each: 8,000 together");
        let fixed = (Bytes::new(10), Threshold::Static(Bytes::new(90)), Bytes::ZERO);
        assert_eq!(ingresses_to_fill(Bytes::new(350), fixed, 31), Some((4, Bytes::new(100))));
        assert_eq!(ingresses_to_fill(Bytes::new(350), fixed, 3), None);
    }

    #[test]
    fn alpha_doubles_with_the_rate() {
        let (eighth, nic) = (Ratio::new(1, 8), Rate::from_gbps(100));
        assert_eq!(alpha_at(eighth, nic, nic), eighth);
        assert_eq!(alpha_at(eighth, nic, Rate::from_gbps(25)), eighth);
        assert_eq!(alpha_at(eighth, nic, Rate::from_gbps(400)), Ratio::new(1, 2));
        assert_eq!(alpha_at(eighth, nic, Rate::from_gbps(6400)), Ratio::ONE);
    }

    proptest! {
        #[test]
        fn queues_at_their_threshold_fit_the_pool(
            a in 1u64..1000, b in 1u64..1000, shared in 0u64..1 << 40, queues in 1u64..512
        ) {
            let limit = xoff(Threshold::Dynamic(Ratio::new(a, b)), Bytes::new(shared), queues);
            prop_assert!(limit.get() * queues <= shared);
        }

        #[test]
        fn no_number_overflows(a: u64, b in 1u64.., shared: u64, queues: u64) {
            let _ = xoff(Threshold::Dynamic(Ratio::new(a, b)), Bytes::new(shared), queues);
            let _ = alpha_at(Ratio::new(a, b), Rate::from_bps(queues), Rate::from_bps(shared));
        }
    }
}
