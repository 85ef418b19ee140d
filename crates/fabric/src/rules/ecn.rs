//! ECN thresholds in proportion to the rate of the port.

use crate::model::Ecn;
use xoff_units::{Bytes, Rate, Ratio};

/// `ecn` as given for ports of rate `at`, for a port of rate `rate`: the same queueing *time*
/// before marking starts.
pub(crate) fn scaled(ecn: Ecn, at: Rate, rate: Rate) -> Ecn {
    if at.bps() == 0 || at == rate {
        return ecn;
    }
    let factor = Ratio::new(rate.bps(), at.bps());
    let size = |bytes: Bytes| Bytes::new(factor.of(bytes.get()));
    let scaled = Ecn { kmin: size(ecn.kmin), kmax: size(ecn.kmax), pmax: ecn.pmax };
    let ordered = ecn.kmin > ecn.kmax || scaled.kmin <= scaled.kmax;
    assert!(ordered, "scaling from {at} to {rate} put kmin above kmax");
    scaled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_times_the_rate_four_times_the_queue() {
        let at_100g =
            Ecn { kmin: Bytes::new(400_000), kmax: Bytes::new(1_600_000), pmax: Ratio::new(1, 5) };
        let at_400g = scaled(at_100g, Rate::from_gbps(100), Rate::from_gbps(400));
        assert_eq!(at_400g.kmin, Bytes::new(1_600_000));
        assert_eq!(at_400g.kmax, Bytes::new(6_400_000));
        assert_eq!(at_400g.pmax, at_100g.pmax);
        assert_eq!(scaled(at_100g, Rate::ZERO, Rate::from_gbps(400)), at_100g);
    }
}
